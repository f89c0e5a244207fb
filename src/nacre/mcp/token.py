"""The word that a client over HTTP has to know: made once for each workspace and listener, readable by its user alone."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

from nacre.errors import CannotWrite, cannot_write
from nacre.i18n import say
from nacre.vault.disk import make_folder

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # of a file system that has no second names
_TRIES = 20
_YOUNG = 0.5  # seconds in which another process may still be writing
_TOKEN = re.compile(rb"[A-Za-z0-9_-]{43}")


def token_file(root: Path, scope: str = "main") -> Path:
    """Where it lies: with the user's own state, not in the workspace, which may be shared, synchronised or cloned.

    A group's is another than the owner's: who was let into a group must not be let into more when the server is started anew.
    """
    return _folder(root) / f"{_name(scope)}.token"


def forget_tokens(root: Path) -> bool:
    """Remove the tokens of a workspace, for every listener; whether there were any. Its servers must have ended."""
    try:
        shutil.rmtree(_folder(root))
    except FileNotFoundError:
        return False
    except OSError as trouble:
        raise cannot_write(_folder(root), trouble) from trouble
    return True


def _folder(root: Path) -> Path:
    from platformdirs import user_state_path

    return user_state_path("nacre", appauthor=False) / "http" / _name(os.path.realpath(root))


def _name(told: str) -> str:
    return hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def token(root: Path, scope: str = "main") -> str:
    """The token, made where there is none; one that others could have read is made anew."""
    path = token_file(root, scope)
    try:
        make_folder(path.parent)
        for _ in range(_TRIES):
            if known := _read(path):
                return known
            if made := _made(path):
                return made  # else another process was first, and its token is the one
        raise FileExistsError(17, os.strerror(17), str(path))
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def watched(root: Path, scope: str = "main") -> Callable[[], str]:
    """Tells the token as it stands in its file at that moment: who removed the file has shut out whoever knew it.

    Where the file is gone nobody is let in until "nacre serve --token" makes another.
    """
    path = token_file(root, scope)
    token(root, scope)
    known: tuple[tuple[int, int, int] | None, str] = (None, "")

    def tell() -> str:
        nonlocal known
        stamp = _stamp(path)
        if stamp != known[0]:
            try:
                known = (stamp, _read(path) or "")
            except (OSError, CannotWrite):
                known = (None, "")
        return known[1]

    return tell


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        return _of(path.lstat())
    except OSError:
        return None


def _of(about: os.stat_result) -> tuple[int, int, int]:
    return about.st_ino, about.st_mtime_ns, about.st_ctime_ns


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as trouble:
        raise CannotWrite(
            say(f"{path} cannot be read; remove it.", f"无法读取 {path}；请将其移除。")  # a link, or somebody else's
        ) from trouble
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        data = file.read(100).strip()
    ours = not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o077)
    if stat.S_ISREG(about.st_mode) and ours and _TOKEN.fullmatch(data):
        return data.decode("ascii")
    if not data and abs(time.time() - about.st_mtime) < _YOUNG:  # somebody writes it in this moment
        time.sleep(_YOUNG / 10)
        return None
    if _stamp(path) == _of(about):  # and not one that another process has put there since
        path.unlink(missing_ok=True)
    return None


def _made(path: Path) -> str | None:
    """A new token in its file, which appears whole or not at all; None where one is there already."""
    made = secrets.token_urlsafe(32)
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        _write(temporary, made)
        try:
            os.link(temporary, path)
        except OSError as trouble:
            if trouble.errno not in _NO_LINKS:
                raise
            _write(path, made)
    except FileExistsError:
        return None
    finally:
        temporary.unlink(missing_ok=True)
    return made


def _write(path: Path, made: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{made}\n")
