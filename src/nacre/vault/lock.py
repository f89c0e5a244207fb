"""One writer at a time in a workspace: across processes by a file lock, across threads by a thread lock.

Re-entrant within a thread. Where the file system knows no locks, a file that only its maker may remove stands in.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nacre.errors import NoWorkspace, cannot_write
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import disk

TIMEOUT = 30.0
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})

Flock = Callable[[int], bool]  # takes the lock on an open file without waiting; False when another holds it


def system_flock(descriptor: int) -> bool:
    """The operating system's own lock."""
    try:
        if os.name == "nt":
            return _windows_lock(descriptor)
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as trouble:
        if trouble.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _windows_lock(descriptor: int) -> bool:
    import msvcrt

    os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the holder's pid, which others must be able to read
    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    return True


@dataclass
class _Held:
    """The state of one lock file within this process."""

    thread_lock: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    descriptor: int | None = None
    token: str | None = None


_held: dict[str, _Held] = {}
_registry = threading.Lock()


def _forget_after_fork() -> None:
    """A forked child shares the parent's open lock file but does not hold its lock."""
    global _registry  # noqa: PLW0603 - locks do not survive a fork
    _registry = threading.Lock()
    for held in _held.values():
        if held.descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(held.descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


@contextlib.contextmanager
def lock(workspace: Workspace, *, timeout: float = TIMEOUT, flock: Flock = system_flock) -> Iterator[None]:
    """Hold the workspace for writing; `Locked` when another holds it for longer than the timeout."""
    if not workspace.root.is_dir():
        raise NoWorkspace(
            say(
                f'{workspace.root} is no workspace. Make it one with "nacre init {workspace.root}".',
                f"{workspace.root} 不是工作区。可用“nacre init {workspace.root}”创建。",
            )
        )
    with hold(workspace.lock, timeout=timeout, flock=flock):
        disk.repair_log(workspace)
        yield


@contextlib.contextmanager
def hold(path: Path, *, timeout: float = TIMEOUT, flock: Flock = system_flock) -> Iterator[None]:
    """Hold the lock that a file stands for."""
    try:
        disk.make_folder(path.parent)
    except OSError as trouble:
        raise cannot_write(path.parent, trouble) from trouble
    with _registry:
        held = _held.setdefault(os.path.realpath(path), _Held())
    deadline = time.monotonic() + timeout
    if not held.thread_lock.acquire(timeout=max(timeout, 0)):
        raise disk.locked_error(path, os.getpid())
    try:
        if held.depth == 0:
            _take(held, path, deadline, flock)
        held.depth += 1
        try:
            yield
        finally:
            held.depth -= 1
            if held.depth == 0:
                _give(held, path)
    finally:
        held.thread_lock.release()


def _take(held: _Held, path: Path, deadline: float, flock: Flock) -> None:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as trouble:
            raise cannot_write(path, trouble) from trouble
        try:
            taken = flock(descriptor)
        except OSError as trouble:
            os.close(descriptor)
            if trouble.errno not in NO_LOCKS:
                raise cannot_write(path, trouble) from trouble
            held.token = disk.take_lock_file(path, deadline)
            return
        if taken and _still_there(descriptor, path):
            held.descriptor = descriptor
            _write_holder(descriptor)
            return
        os.close(descriptor)
        if not taken:
            if time.monotonic() >= deadline:
                raise disk.locked_error(path, _holder(path))
            # Short and uneven: who has waited long must not lose to who has just come.
            time.sleep(random.uniform(0.0005, 0.005))


def _still_there(descriptor: int, path: Path) -> bool:
    """Whether the locked file is the one that others will open; somebody may have removed `.nacre` meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _write_holder(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # only for the message that others see
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _give(held: _Held, path: Path) -> None:
    if held.descriptor is not None:
        descriptor, held.descriptor = held.descriptor, None
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):
            os.close(descriptor)
    if held.token is not None:
        token, held.token = held.token, None
        disk.remove_lock_file(path, token)


def lock_problem(workspace: Workspace, *, flock: Flock = system_flock) -> Problem | None:
    """What `doctor` says when the file system of the workspace has no locks of its own."""
    try:
        descriptor = os.open(workspace.lock, os.O_RDWR)
    except OSError:
        return None
    try:
        flock(descriptor)
    except OSError as trouble:
        if trouble.errno not in NO_LOCKS:
            return None
        return Problem(
            "no file locks",
            say(
                "The file system of this workspace has no locks; Nacre uses a lock file instead.",
                "此工作区所在的文件系统不支持锁；Nacre 改用锁文件。",
            ),
            workspace.relative(workspace.lock),
            remedy=say("keep the workspace on a local disk", "请将工作区放在本地磁盘上"),
        )
    finally:
        os.close(descriptor)
    return None
