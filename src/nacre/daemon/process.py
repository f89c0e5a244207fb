"""One daemon for a workspace and a user: its lock and socket, starting it in the background, stopping it."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.daemon import client
from nacre.errors import CannotWrite, Locked, NacreError, cannot_write
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault.lock import NO_LOCKS, system_flock

if TYPE_CHECKING:
    import socket

    from nacre.memory import Memory


class Endpoint:
    """The lock and the socket, held from taking the post until leaving it. What a dead daemon left behind is replaced."""

    def __init__(self, workspace: Workspace) -> None:
        self._lock_file = workspace.machine / f"daemon-{os.getuid()}.lock"
        self._lock = self._locked(workspace)
        try:
            self.listener, self.socket = self._bound(str(workspace.root))
        except BaseException:
            os.close(self._lock)
            raise
        self._socket_id = _file_identity(self.socket)

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
            raise already_running(workspace)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return descriptor

    def _bound(self, root: str) -> tuple[socket.socket, str]:
        import socket  # who only asks for the holder does not pay for it

        trouble: OSError | None = None
        for place in client.socket_paths(root):
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
        return same and _file_identity(self.socket) == self._socket_id

    def leave(self) -> None:
        """Remove the socket, if it is still ours, then let the next daemon in."""
        if _file_identity(self.socket) == self._socket_id:
            with contextlib.suppress(OSError):
                os.unlink(self.socket)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def daemon_process(workspace: Workspace) -> int | None:
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


def already_running(workspace: Workspace) -> Locked:
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


def _file_identity(place: str) -> tuple[int, int] | None:
    try:
        about = os.lstat(place)
    except OSError:
        return None
    return about.st_dev, about.st_ino


# Start a daemon in the background, and stop the one that runs.

_READY_WITHIN = 60.0  # seconds; a slow disk reads Python's own files for longer than one thinks
_STOPPED_WITHIN = 40.0
_PASSING_REASONS = ("another version", "other settings")  # reasons for which a daemon starts anew, if it can
_PASSES_WITHIN = 10.0
_WARM_WITHIN = 15.0  # seconds; where a large memory is read for the first time, that goes on beside the first questions
_SAYS_WITHIN = 1.0
_COMMAND_VARIABLES = ("NACRE_NOW", "NACRE_SCOPE", "NACRE_AGENT", "NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")
_LOCATION_VARIABLES = (
    "NACRE_CONFIG_FILE",
    "NACRE_MODELS_PATH",
)  # where settings and models lie, which is no setting itself


def start_on_demand(memory: Memory, *, for_agents: bool = False) -> None:
    """Start a daemon that ends when nobody asks any more. Does not wait; where it cannot be, nothing is lost."""
    if daemon_process(memory.workspace) is None:
        with contextlib.suppress(OSError, NotImplementedError):
            _spawn(memory, ["--on-demand"], None, _environment(for_agents=for_agents))


def start_in_background(memory: Memory, *options: str, for_agents: bool = False) -> int:
    """Start a daemon that goes on when we end, and wait until it listens; its process."""
    ours, theirs = os.pipe()
    try:
        os.set_inheritable(theirs, True)
        try:
            environment = _environment(for_agents=for_agents)
            pid = _spawn(memory, [*options, "--ready", str(theirs)], theirs, environment)
        except (OSError, NotImplementedError) as trouble:
            raise NacreError(
                say(f"The daemon could not be started: {trouble}.", f"无法启动守护进程：{trouble}。")
            ) from trouble
        finally:
            os.close(theirs)
        told = select.select([ours], [], [], _READY_WITHIN)[0] and os.read(ours, 1)
    finally:
        os.close(ours)
    if not told and (other := _started_by_another(memory)) is not None:
        return other
    if not told:
        log = memory.workspace.machine / "daemon.log"
        raise NacreError(
            say(
                f'The daemon did not come up; {log} says why. "nacre serve" without --background shows it too.',
                f"守护进程未能启动；原因见 {log}。不加 --background 运行“nacre serve”也可查看。",
            )
        )
    return pid


def _started_by_another(memory: Memory) -> int | None:
    """The process of a daemon that another command started at the same moment, which is as good. It may be about to say who it is."""
    until = time.monotonic() + _SAYS_WITHIN
    while (found := daemon_process(memory.workspace)) is None and time.monotonic() < until:
        time.sleep(0.02)
    return found


def ensure_running(memory: Memory, *options: str) -> dict[str, Any]:
    """A daemon that answers at once, its models loaded, started where none runs; how it is.

    One that is about to start anew, being older than we are or of other settings, is waited for. Another environment is no
    matter here: who asks in this way wants the user's daemon, whatever it was started from.
    """
    root, began = str(memory.workspace.root), time.monotonic()
    while (waited := time.monotonic() - began) < _READY_WITHIN:
        found = client.daemon_status(root)
        if found is not None and (found["skew"] not in _PASSING_REASONS or waited > _PASSES_WITHIN):
            if found.get("warm", True) or waited > _WARM_WITHIN:
                return found
            time.sleep(0.2)
        if found is None and daemon_process(memory.workspace) is None:
            try:
                start_in_background(memory, *options, for_agents=True)
            except NacreError:
                if daemon_process(memory.workspace) is None:  # else another was quicker, which is as good
                    raise
        time.sleep(0.02)
    raise NacreError(
        say(
            'The daemon of this workspace does not answer; "nacre serve --stop" ends it.',
            "此工作区的守护进程没有回应；可用“nacre serve --stop”停止。",
        )
    )


def stop_on_demand(memory: Memory) -> None:
    """End a daemon that was started on demand, for one that is to stay: it would end when nobody asks, and may not run the jobs."""
    found = client.daemon_status(str(memory.workspace.root)) if daemon_process(memory.workspace) is not None else None
    if found and found.get("onDemand"):
        stop_daemon(memory)


def _spawn(memory: Memory, options: list[str], inherited: int | None, environment: dict[str, str]) -> int:
    """A process of a session of its own: the end of ours, or of the terminal, does not concern it."""
    root = os.path.realpath(memory.workspace.root)
    command = [sys.executable, "-P", "-m", "nacre", "--workspace", root, "serve", *options]
    memory.workspace.machine.mkdir(mode=0o700, exist_ok=True)
    output = os.open(
        memory.workspace.machine / "daemon.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600
    )
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ]
        if inherited is not None:
            actions.append((os.POSIX_SPAWN_DUP2, inherited, inherited))
        return os.posix_spawn(sys.executable, command, environment, file_actions=actions, setsid=True)
    finally:
        os.close(output)


def _environment(*, for_agents: bool) -> dict[str, str]:
    """Ours, without what only this command was told. One `for_agents` answers every session, so that the settings which the
    environment of one of them names are not its own: it has those of the user's files."""

    def stays(name: str) -> bool:
        if for_agents and name.startswith("NACRE_"):
            return name in _LOCATION_VARIABLES
        return name not in _COMMAND_VARIABLES

    return {name: value for name, value in os.environ.items() if stays(name)}


def stop_daemon(memory: Memory) -> int | None:
    """Stop the daemon of a memory and wait until its work is put away; its process, or None when there was none."""
    workspace = memory.workspace
    pid = daemon_process(workspace)
    if pid is None:
        return None
    try:
        with client.Connection(str(workspace.root), any_version=True) as daemon:
            daemon.ask("stop")
    except client.NoDaemon:  # busy, or of a version that we do not understand
        import signal

        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOPPED_WITHIN
    while daemon_process(workspace) == pid:
        if time.monotonic() > until:
            raise NacreError(say(f"The daemon (process {pid}) is still at work.", f"守护进程（进程 {pid}）仍在工作。"))
        time.sleep(0.02)
    return pid
