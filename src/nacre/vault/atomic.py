"""Replacing a whole file so that at every moment either the old or the new bytes stand there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nacre.errors import NacreError, PathEscape, cannot_write
from nacre.vault.lockfile import host, is_alive
from nacre.words import say

_TEMPORARY = re.compile(r"\.nacre-([0-9a-f]{8})-(\d+)-[0-9a-f]+\.tmp")
_A_DAY = 86400.0
PRIVATE = 0o600  # memory is its owner's alone: every file that we create
_PRIVATE_FOLDER = 0o700


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def real(path: Path) -> Path:
    """The path with every link followed as far as it goes; never raises."""
    return Path(os.path.realpath(path))


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes; None when it does not exist."""
    try:
        # A pipe or a device in the place of a file would keep us waiting for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise NacreError(
                say(f"{path} is not an ordinary file; move it away.", f"{path} 不是普通文件；请将其移走。")
            )
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise NacreError(
            say(
                f"{path} cannot be read: {reason}. Check its permissions.", f"{path} 无法读取：{reason}。请检查其权限。"
            )
        ) from trouble


def write(
    path: Path,
    data: bytes,
    *,
    root: Path | None = None,
    mode: int | None = None,
    still: Callable[[], None] | None = None,
) -> None:
    """Put the bytes into the file: temp file beside it, fsync, rename, fsync of the folder.

    A link is written through to its target, which must lie in `root` where one is given. An existing file keeps its mode
    and owner; a new one is its owner's alone, unless a `mode` is given. `still` is asked just before the rename and may raise.
    """
    target = real_target(path, root)
    try:
        make_folder(target.parent)
        if target.parent not in (_waiting.folders or ()):  # once is enough where many files are written
            clean_stale(target.parent)
        _replace(target, data, mode, still)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def keep_time(path: Path, modified: int) -> None:
    """Give a file the time at which its content was written elsewhere, in nanoseconds since 1970."""
    try:
        os.utime(path, ns=(modified, modified))
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def _replace(target: Path, data: bytes, mode: int | None, still: Callable[[], None] | None) -> None:
    try:
        before = target.stat()
    except FileNotFoundError:
        before = None
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(target))
    _put(_beside(target, data, mode, before), target, still)


def _beside(target: Path, data: bytes, mode: int | None, before: os.stat_result | None) -> Path:
    """A file with the bytes, safe on the disk, in the folder of the one whose name it is to get."""
    temporary = target.parent / f".nacre-{_host()}-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE if before else mode or PRIVATE)
    try:
        try:
            write_all(descriptor, data)
            if before is not None:
                _keep_owner_and_mode(descriptor, before)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return temporary


def _put(temporary: Path, target: Path, still: Callable[[], None] | None) -> None:
    try:
        if still:
            still()
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def stage(path: Path, data: bytes) -> Path:
    """Write the bytes of a file that is still to come, so that only a rename is left for later (`put_staged`)."""
    try:
        make_folder(path.parent)
        clean_stale(path.parent)
        return _beside(path, data, None, None)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def put_staged(staged: Path, path: Path, *, still: Callable[[], None]) -> None:
    """Give a staged file its name. `still` is asked just before and may raise."""
    try:
        _put(staged, path, still)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def _keep_owner_and_mode(descriptor: int, before: os.stat_result) -> None:
    if os.name == "nt":
        return
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def remove(path: Path) -> None:
    """Remove the file (a link itself, not its target) and make that last."""
    try:
        path.unlink()
        sync_folder(path.parent)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def rename(path: Path, to: Path) -> None:
    """Give a file another name, making the folder for it. The caller has seen that nothing stands there."""
    try:
        make_folder(to.parent)
        path.rename(to)
        sync_folder(to.parent)
        sync_folder(path.parent, after=to.parent)
    except OSError as trouble:
        raise cannot_write(path, trouble) from trouble


def make_folder(folder: Path) -> None:
    """The folder with its parents, each known to the disk before anything is put in it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    _sync(folder.parent)


class _Waiting(threading.local):
    """Folders of this thread that are to be synced together, each with those that must come before it."""

    def __init__(self) -> None:
        self.folders: dict[Path, set[Path]] | None = None


_waiting = _Waiting()


@contextlib.contextmanager
def folders_once() -> Iterator[None]:
    """Make what is done to folders last at the end, each folder once: a thousand moves need two syncs, not two thousand.

    A folder that files went to comes before the one they left: after a power cut a file stands in both rather than in none.
    """
    if _waiting.folders is not None:
        yield
        return
    _waiting.folders = {}
    try:
        yield
    finally:
        folders, _waiting.folders = _waiting.folders, None
        for folder in _in_order(folders):
            try:
                _sync(folder)
            except OSError as trouble:
                raise cannot_write(folder, trouble) from trouble


def _in_order(folders: dict[Path, set[Path]]) -> list[Path]:
    from graphlib import CycleError, TopologicalSorter

    try:
        return list(TopologicalSorter(folders).static_order())
    except CycleError:  # files went both ways between two folders: the file system's own journal has to do
        return list(folders)


def sync_folder(folder: Path, *, after: Path | None = None) -> None:
    """Make what was done to the folder last; `after` names the one that has to be synced before it."""
    if _waiting.folders is None:
        _sync(folder)
        return
    before = _waiting.folders.setdefault(folder, set())
    if after is not None and after != folder:
        before.add(after)


def _sync(folder: Path) -> None:
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder that may be written but not read
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def real_target(path: Path, root: Path | None) -> Path:
    """Where a write to the path really goes; `PathEscape` when a link leads out of `root`."""
    target = real(path)
    if root is not None:
        inside = real(root)
        if target != inside and inside not in target.parents:
            raise PathEscape(
                say(
                    f"{path} is a link that leads out of the workspace; Nacre does not write through it.",
                    f"{path} 是指向工作区之外的链接；Nacre 不会通过它写入。",
                )
            )
    return target


def clean_stale(folder: Path) -> int:
    """Remove temp files that a killed process of ours left in the folder; returns how many."""
    removed = 0
    try:
        names = os.listdir(folder)
    except PermissionError:  # a folder that may be written but not read
        return 0
    for name in names:
        if (match := _TEMPORARY.fullmatch(name)) and _is_dead(folder / name, match):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
                removed += 1
    return removed


def _is_dead(path: Path, match: re.Match[str]) -> bool:
    if match[1] == _host():
        return int(match[2]) != os.getpid() and not is_alive(int(match[2]))
    try:
        return time.time() - path.lstat().st_mtime > _A_DAY
    except OSError:
        return False


def _host() -> str:
    return hashlib.sha256(host().encode()).hexdigest()[:8]
