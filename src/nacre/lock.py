"""One writer at a time, of all processes and threads: by a lock on an open file. Re-entrant within a thread."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from nacre import disk
from nacre.errors import Locked, NoWorkspace
from nacre.model.workspace import Workspace

TIMEOUT = 30.0


# Process, thread and lock file: a forked child does not hold the lock of its parent.
_held: set[tuple[int, int, str]] = set()


@contextlib.contextmanager
def lock(workspace: Workspace, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Hold the workspace for writing; `Locked` when another holds it for longer than the timeout."""
    if not workspace.root.is_dir():
        raise NoWorkspace(
            f'{workspace.root} is no workspace. Make it one with "nacre init {workspace.root}".',
            f"{workspace.root} 不是工作区。可用“nacre init {workspace.root}”创建。",
        )
    with hold(workspace.lock, timeout=timeout):
        disk.repair_log(workspace)
        yield


@contextlib.contextmanager
def hold(path: Path, *, timeout: float = TIMEOUT) -> Iterator[None]:
    with disk.writing_to(path.parent):
        disk.make_folder(path.parent)
    key = (os.getpid(), threading.get_ident(), os.path.realpath(path))
    if key in _held:
        yield
        return
    descriptor = _take(path, time.monotonic() + timeout)
    _held.add(key)
    try:
        yield
    finally:
        _held.discard(key)
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        os.close(descriptor)


def _take(path: Path, deadline: float) -> int:
    """The descriptor of the lock file, locked."""
    while True:
        with disk.writing_to(path):
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
            try:
                descriptor = os.open(path, flags, 0o600)
            except FileNotFoundError:  # the folder was removed in this moment
                disk.make_folder(path.parent)
                descriptor = os.open(path, flags, 0o600)
            try:
                taken = system_lock(descriptor)
            except OSError:
                os.close(descriptor)
                raise
        with contextlib.suppress(FileNotFoundError):
            # Somebody may have removed `.nacre` meanwhile: the locked file must be the one that others will open.
            if taken and os.path.samestat(os.fstat(descriptor), path.stat()):
                with contextlib.suppress(OSError):  # only for the message that others see
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        os.close(descriptor)
        if not taken:
            if time.monotonic() >= deadline:
                holder = disk.read_bytes(path) or b""
                pid = holder.decode("ascii", "replace").strip()
                who, who_chinese = (f" (process {pid})", f"(进程 {pid})") if pid else ("", "")
                folder = path.parent.parent
                raise Locked(
                    f"Another command{who} is writing to {folder}. Wait until it is done and run this one again.",
                    f"另一个命令{who_chinese}正在写入 {folder}。请等它完成后重试。",
                )
            # Short and uneven: who has waited long must not lose to who has just come.
            time.sleep(0.0005 + os.urandom(1)[0] / 60_000)


def system_lock(descriptor: int) -> bool:
    """Take the operating system's lock on an open file without waiting; False when another holds it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the holder's pid, which others must be able to read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True
