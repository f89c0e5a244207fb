"""One daemon for a workspace and a user: proven by a lock, reached by a socket that nobody else can open."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.daemon import client
from nacre.errors import CannotWrite, Locked, cannot_write
from nacre.vault.lock import NO_LOCKS, system_flock
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    import socket


class Post:
    """The lock and the socket, held from taking the post until leaving it. What a dead daemon left behind is replaced."""

    def __init__(self, workspace: Workspace) -> None:
        self._lock_file = workspace.machine / f"daemon-{os.getuid()}.lock"
        self._lock = self._locked(workspace)
        try:
            self.listener, self.socket = self._bound(str(workspace.root))
        except BaseException:
            os.close(self._lock)
            raise
        self._socket_id = _identity(self.socket)

    def _locked(self, workspace: Workspace) -> int:
        try:
            workspace.machine.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as trouble:
            raise cannot_write(self._lock_file, trouble) from trouble
        try:
            taken = system_flock(descriptor)
        except OSError as trouble:
            os.close(descriptor)
            if trouble.errno in NO_LOCKS:
                raise CannotWrite(
                    say(
                        f"The file system of {workspace.root} has no locks, so no daemon can run there; everything works without.",
                        f"{workspace.root} 所在的文件系统不支持锁，无法运行守护进程；不用它也一切正常。",
                    )
                ) from trouble
            raise cannot_write(self._lock_file, trouble) from trouble
        if not taken:
            os.close(descriptor)
            raise already_runs(workspace)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return descriptor

    def _bound(self, root: str) -> tuple[socket.socket, str]:
        import socket  # who only asks for the holder does not pay for it

        trouble: OSError | None = None
        for place in client.places(root):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                _make_ours(os.path.dirname(place), shared=place.startswith(os.path.realpath(root) + os.sep))
                _clear(place)
                before = os.umask(0o177)
                try:
                    listener.bind(place)
                finally:
                    os.umask(before)
                listener.listen(512)
            except OSError as failed:
                listener.close()
                trouble = failed
            else:
                return listener, place
        raise CannotWrite(
            say(
                f"No socket could be made for this workspace ({trouble}); everything works without a daemon.",
                f"无法为此工作区建立套接字（{trouble}）；不用守护进程也一切正常。",
            )
        )

    def is_held(self) -> bool:
        """Whether we can still be found: neither the lock nor the socket has been removed or replaced."""
        try:
            same = os.path.samestat(os.fstat(self._lock), os.stat(self._lock_file))
        except OSError:
            return False
        return same and _identity(self.socket) == self._socket_id

    def leave(self) -> None:
        """Remove the socket, if it is still ours, then let the next daemon in."""
        if _identity(self.socket) == self._socket_id:
            with contextlib.suppress(OSError):
                os.unlink(self.socket)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def holder(workspace: Workspace) -> int | None:
    """The process that holds the post; None when nobody does."""
    if not hasattr(os, "getuid"):
        return None
    path = workspace.machine / f"daemon-{os.getuid()}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return None if system_flock(descriptor) else int(os.read(descriptor, 20))
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def already_runs(workspace: Workspace) -> Locked:
    return Locked(
        say(
            f'A daemon runs for {workspace.root} already; "nacre serve --status" shows it, "nacre serve --stop" ends it.',
            f"{workspace.root} 已有守护进程在运行；“nacre serve --status”可查看，“nacre serve --stop”可停止。",
        )
    )


def _make_ours(folder: str, *, shared: bool) -> None:
    """The folder of a socket: made if missing, ours alone, and no link. That of a workspace is as its owner made it."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or (not shared and about.st_uid != os.getuid()):
        raise PermissionError(f"{folder} is a link or somebody else's")
    if not shared and about.st_mode & 0o077:
        Path(folder).chmod(0o700)


def _clear(place: str) -> None:
    """Take away what a dead daemon left: we hold the lock, so nobody of ours listens there."""
    try:
        about = os.lstat(place)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(about.st_mode):
        raise FileExistsError(f"{place} is no socket")
    os.unlink(place)


def _identity(place: str) -> tuple[int, int] | None:
    try:
        about = os.lstat(place)
    except OSError:
        return None
    return about.st_dev, about.st_ino
