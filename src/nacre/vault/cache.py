"""What one session keeps for itself: a small file outside the workspace that lives no longer than the machine runs."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock, duration
from nacre.config.settings import CacheSettings
from nacre.errors import BadInput, NotFound, PathEscape, cannot_write
from nacre.vault import disk
from nacre.vault.lock import hold
from nacre.vault.writing import guarded

LONGEST_KEY = 200  # characters
LARGEST_VALUE, LARGEST_SESSION = 65_536, 1_048_576  # bytes
_LARGEST_FILE = 8 * LARGEST_SESSION  # a file that is larger was not written by us
_PLAIN = re.compile(r"[a-z0-9_-]{1,64}")


class Value(NamedTuple):
    """Something kept, and since when."""

    text: str
    at: dt.datetime


@dataclass(frozen=True)
class Cache:
    """The cache of one session: where it lies, whose it is, and how long a value is kept."""

    folder: Path
    session: str
    clock: Clock
    max_age: dt.timedelta

    @property
    def path(self) -> Path:
        return self.folder / f"session-{_file_name(self.session)}.json"


def open_cache(session: str, settings: CacheSettings, clock: Clock) -> Cache:
    """The cache of a session. Touches nothing; a folder that is not the user's own is refused when it is used."""
    if not session.strip():
        raise BadInput("The session has no name; leave --session out.", "会话名为空；请去掉 --session。")
    return Cache(cache_folder(settings.path), session, clock, duration(settings.max_age))


def cache_folder(setting: str | None) -> Path:
    """A folder of our own in the place that is set, or in the user's: others may keep files there, and are not disturbed."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not setting and runtime and os.path.isabs(runtime) and os.path.isdir(runtime):
        return Path(runtime) / "nacre"
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    place = Path(setting).expanduser().absolute() if setting else Path(tempfile.gettempdir())
    return place / f"nacre{user}"


def _file_name(session: str) -> str:
    """A file name for the id: itself where it is plain, else its letters and a hash, so that no two ids fall together.

    Capitals count as changed: some file systems do not tell them from small letters.
    """
    if _PLAIN.fullmatch(session):
        return session
    letters = re.sub(r"[^a-z0-9_-]+", "-", session.lower()).strip("-")[:40]
    return f"{letters or 'id'}.{hashlib.sha256(session.encode()).hexdigest()[:16]}"


def read_values(cache: Cache) -> dict[str, Value]:
    """Everything that the session keeps and that is not too old; nothing after a restart of the machine."""
    return _read(cache) if _is_ours(cache.folder) else {}


def get_value(cache: Cache, key: str) -> Value:
    found = read_values(cache).get(_key(key))
    if found is None:
        raise NotFound(
            f'This session keeps nothing under "{key}"; "nacre cache list" shows what there is.',
            f"此会话没有缓存“{key}”；“nacre cache list”会列出已有内容。",
        )
    return found


def put_value(cache: Cache, key: str, text: str, *, dry_run: bool = False) -> Value:
    """Keep a value for the session, in the place of the one that the key had. A secret is refused."""
    name = _key(key)
    value = Value(guarded(text), cache.clock.now())
    guarded(f"{name}: {value.text}")
    size = len(value.text.encode())
    if size > LARGEST_VALUE:
        raise BadInput(
            f"The value has {size} bytes; a session may keep {LARGEST_VALUE} under one key. Put it into a file instead.",
            f"该值有 {size} 字节；一个键最多 {LARGEST_VALUE} 字节。请改存为文件。",
        )
    with _held(cache, dry_run=dry_run):
        kept = {**read_values(cache), name: value}
        data = _dumped(cache, kept)
        if len(data) > LARGEST_SESSION:
            raise BadInput(
                'This session keeps 1 MB already, which is the most; "nacre cache clear KEY" makes room.',
                "此会话的缓存已达 1 MB 上限；可用“nacre cache clear 键”腾出空间。",
            )
        if not dry_run:
            sweep_cache(cache.folder, cache.max_age, but=cache.path)
            disk.write(cache.path, data)
    return value


def clear_values(cache: Cache, key: str | None = None, *, dry_run: bool = False) -> tuple[str, ...]:
    """Forget one key, or everything; the keys that were there."""
    if not _is_ours(cache.folder):
        return ()
    with _held(cache, dry_run=dry_run):
        kept = read_values(cache)
        gone = tuple(kept) if key is None else tuple(name for name in kept if name == _key(key))
        left = {name: value for name, value in kept.items() if name not in gone}
        if dry_run:
            return gone
        if left:
            disk.write(cache.path, _dumped(cache, left))
        elif os.path.lexists(cache.path):
            disk.remove(cache.path)
    return gone


@contextlib.contextmanager
def _held(cache: Cache, *, dry_run: bool) -> Iterator[None]:
    """Many processes of one session may write at once, and none loses what another wrote."""
    if dry_run:
        yield
        return
    _make_ours(cache.folder)
    with hold(cache.path.with_suffix(".lock")):
        yield


def _key(key: str) -> str:
    from nacre.guard.sanitise import one_line

    name = one_line(key)
    if not name or len(name) > LONGEST_KEY:
        raise BadInput(
            f"A key must have 1 to {LONGEST_KEY} characters; this one has {len(name)}.",
            f"键须为 1 到 {LONGEST_KEY} 个字符；此处为 {len(name)} 个。",
        )
    return name


def _make_ours(folder: Path) -> None:
    try:
        disk.make_folder(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    except OSError as trouble:
        raise cannot_write(folder, trouble) from trouble
    _is_ours(folder)


def _is_ours(folder: Path) -> bool:
    """Whether the folder is there; an error when it is a link, or another user's: what lies in it could be anybody's."""
    try:
        about = os.lstat(folder)
    except FileNotFoundError:
        return False
    except OSError as trouble:
        raise cannot_write(folder, trouble) from trouble
    if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "geteuid") and about.st_uid != os.geteuid()):
        raise PathEscape(
            f'{folder} is a link or belongs to somebody else, so nothing is kept there. Name another place: "nacre config set cache.path PATH".',
            f"{folder} 是链接或属于其他用户，不会使用。请指定其他位置：“nacre config set cache.path 路径”。",
        )
    if os.name != "nt" and about.st_mode & 0o077:
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
    return True


def _read(cache: Cache) -> dict[str, Value]:
    """The values of the file; none when it is damaged, of another session, or of before the restart: it is only a cache."""
    try:
        descriptor = os.open(cache.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return {}
    except OSError as trouble:
        raise _no_file_of_ours(cache.path) from trouble
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or (hasattr(os, "geteuid") and about.st_uid != os.geteuid()):
            raise _no_file_of_ours(cache.path)
        data = file.read(_LARGEST_FILE + 1)
    try:
        told = json.loads(data) if len(data) <= _LARGEST_FILE else None
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict) or told.get("session") != cache.session or not _same_boot(told.get("boot")):
        return {}
    entries = told.get("values")
    found = (
        {name: value for name, one in entries.items() if (value := _value(one))} if isinstance(entries, dict) else {}
    )
    now = cache.clock.now()
    return {name: value for name, value in found.items() if now - value.at <= cache.max_age}


def _value(told: Any) -> Value | None:
    try:
        text, at = told
        moment = dt.datetime.fromisoformat(at)
    except (TypeError, ValueError):
        return None
    return Value(text, moment) if isinstance(text, str) and moment.tzinfo else None


def _dumped(cache: Cache, kept: Mapping[str, Value]) -> bytes:
    entries = {name: [value.text, value.at.isoformat()] for name, value in kept.items()}
    return json.dumps({"session": cache.session, "boot": _boot(), "values": entries}, ensure_ascii=False).encode()


def _boot() -> str:
    """Which run of the machine this is: its id on Linux, else about when it began."""
    if known := disk.boot_id():
        return known
    # Of the clocks that begin with the machine, this one goes on while a Mac sleeps.
    running = time.clock_gettime(time.CLOCK_MONOTONIC) if hasattr(time, "clock_gettime") else time.monotonic()
    return f"{time.time() - running:.0f}"


def _same_boot(told: Any) -> bool:
    now = _boot()
    if told == now:
        return True
    try:  # the clock may have been set a little since
        return abs(float(told) - float(now)) < 300
    except (TypeError, ValueError):
        return False


def sweep_cache(folder: Path, max_age: dt.timedelta, *, but: Path | None = None, dry_run: bool = False) -> int:
    """Take away the files of sessions that are over: nothing in them is young enough to be read. How many there were."""
    oldest = time.time() - max_age.total_seconds()
    gone = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            ours = entry.name.startswith("session-") and entry.name.endswith(".json") and entry.path != str(but)
            if ours and entry.stat(follow_symlinks=False).st_mtime < oldest:
                gone += 1
                with contextlib.suppress(OSError):
                    if not dry_run:
                        os.unlink(entry.path)
    return gone


def _no_file_of_ours(path: Path) -> PathEscape:
    return PathEscape(
        f"{path} is a link, or not a file of yours; remove it, then this session can keep values again.",
        f"{path} 是链接或不属于您；请将其移除，之后此会话才能继续缓存。",
    )
