"""One daemon for a workspace and a user: its lock and socket, starting it in the background, stopping it."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.daemon import client, fast
from nacre.disk import hold, system_lock
from nacre.errors import CannotWrite, Locked, NacreError
from nacre.model import Workspace

if TYPE_CHECKING:
    import socket

    from nacre.memory import Memory

_READY_WITHIN = 60.0  # seconds; a slow disk reads Python's own files for longer than one thinks
_STOPPED_WITHIN = 40.0
_WARM_WITHIN = 15.0  # where a large memory is read for the first time, that goes on beside the first questions
_STARTED_BY_ANOTHER_WITHIN = 1.0
_BEGUN_WITHIN = 10.0
_COMMAND_VARIABLES = ("NACRE_NOW", "NACRE_SCOPE", "NACRE_AGENT", "NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")
_LOCATION_VARIABLES = ("NACRE_CONFIG_FILE", "NACRE_MODELS_PATH")  # which are no settings themselves


class Endpoint:
    """The lock and the socket of a daemon, held until it leaves. What a dead daemon left behind is replaced."""

    def __init__(self, workspace: Workspace) -> None:
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(hold(_lock_file(workspace), timeout=0))
            except Locked as error:
                raise Locked(
                    f'A daemon is already running for {workspace.root}; "nacre serve --status" shows it, "nacre serve --stop" stops it.',
                    f"{workspace.root} 已有守护进程在运行；“nacre serve --status”可查看，“nacre serve --stop”可停止。",
                ) from error
            self.listener, self.socket = _bind(str(workspace.root))
            self._held = held.pop_all()
        self._files = {path: file_identity(path) for path in (str(_lock_file(workspace)), self.socket)}

    def is_held(self) -> bool:
        """Whether clients still reach us: neither the lock nor the socket has been removed or replaced."""
        return all(file_identity(path) == identity for path, identity in self._files.items())

    def leave(self) -> None:
        if file_identity(self.socket) == self._files[self.socket]:
            with contextlib.suppress(OSError):
                os.unlink(self.socket)
        self._held.close()


def file_identity(path: str) -> tuple[int, int] | None:
    """The device and inode of a file or folder, which another in its place does not share; None where there is none."""
    try:
        about = os.lstat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _lock_file(workspace: Workspace) -> Path:
    return workspace.machine / f"daemon-{os.getuid()}.lock"


def _bind(root: str) -> tuple[socket.socket, str]:
    """A listening socket that only this user reaches, at the first place that can be used."""
    import socket

    reason: OSError | None = None
    for path in fast.socket_paths(root):
        listener, folder = socket.socket(socket.AF_UNIX), os.path.dirname(path)
        mask = os.umask(0o177)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            about = os.lstat(folder)
            in_workspace = path.startswith(os.path.realpath(root) + os.sep)  # which is as its owner made it
            if not stat.S_ISDIR(about.st_mode) or (not in_workspace and about.st_uid != os.getuid()):
                raise PermissionError(f"{folder} is a symbolic link or belongs to another user")
            if not in_workspace:
                os.chmod(folder, 0o700)
            if os.path.lexists(path):
                if not stat.S_ISSOCK(os.lstat(path).st_mode):
                    raise FileExistsError(f"{path} is not a socket")
                os.unlink(path)  # a dead daemon's: we hold the lock
            listener.bind(path)
            listener.listen(512)
        except OSError as error:
            listener.close()
            reason = error
        else:
            return listener, path
        finally:
            os.umask(mask)
    raise CannotWrite(
        f"Could not create a socket for this workspace ({reason}); everything works without the daemon.",
        f"无法为此工作区创建套接字（{reason}）；没有守护进程也能正常使用。",
    )


def daemon_process(workspace: Workspace) -> int | None:
    """The process of the daemon that holds the lock; None where none does."""
    if not hasattr(os, "getuid"):
        return None
    try:
        descriptor = os.open(_lock_file(workspace), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:  # without writing our own process into the file: somebody may be about to stop the one that stands there
        return None if system_lock(descriptor) else int(os.read(descriptor, 20))
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def ask_status(memory: Memory, within: float = 2.0) -> dict[str, Any] | None:
    """The status of the daemon; None without one, and when the command has a fixed time."""
    process = daemon_process(memory.workspace) if memory.clock.fixed is None else None
    if process is None:
        return None
    try:
        with client.Connection(str(memory.workspace.root), within=within, any_version=True) as connection:
            return {**connection.ask("status"), "skew": connection.daemon.get("skew"), "answers": True}
    except (client.NoDaemon, NacreError) as error:
        return {"process": process, "answers": False, "trouble": str(error)}


def start_on_demand(memory: Memory, *, for_agents: bool = False) -> None:
    """Start a daemon that ends when nobody asks any more. Does not wait; where it cannot run, nothing is lost."""
    if daemon_process(memory.workspace) is None:
        with contextlib.suppress(OSError, NotImplementedError):
            _spawn(memory, ["--on-demand"], for_agents=for_agents)


def start_in_background(memory: Memory, *options: str, for_agents: bool = False) -> int:
    """Start a daemon that goes on when we end, and wait until it answers; its process, or that of one that was started at the same moment."""
    try:
        child: int | None = _spawn(memory, [*options], for_agents=for_agents)
    except (OSError, NotImplementedError) as error:
        raise NacreError(f"The daemon could not be started: {error}.", f"无法启动守护进程：{error}。") from error
    until = time.monotonic() + _READY_WITHIN
    while time.monotonic() < until:
        if status := client.daemon_status(str(memory.workspace.root)):
            return int(status["process"])
        if child and os.waitpid(child, os.WNOHANG)[0]:  # another may have been quicker
            child, until = None, time.monotonic() + _STARTED_BY_ANOTHER_WITHIN
        time.sleep(0.02)
    log = memory.workspace.machine / "daemon.log"
    raise NacreError(
        f'The daemon did not start; see {log}, or run "nacre serve" without --background to see why.',
        f"守护进程未能启动；原因见 {log}，也可不加 --background 运行“nacre serve”查看。",
    )


def ensure_running(memory: Memory, *options: str) -> dict[str, Any]:
    """The status of a daemon that answers at once, its models loaded, started where none runs. One that is about to start anew with other
    settings is waited for. Another environment is no matter here: who asks in this way wants the user's daemon."""
    root, began = str(memory.workspace.root), time.monotonic()
    while (waited := time.monotonic() - began) < _READY_WITHIN:
        status = client.daemon_status(root)
        if status is None and daemon_process(memory.workspace) is None:
            start_in_background(memory, *options, for_agents=True)
        elif status and status["skew"] != "other settings" and (status.get("warm", True) or waited > _WARM_WITHIN):
            return status
        time.sleep(0.02)
    raise NacreError(
        'The daemon for this workspace is not responding; stop it with "nacre serve --stop".',
        "此工作区的守护进程没有响应；可用“nacre serve --stop”停止。",
    )


def _spawn(memory: Memory, options: list[str], *, for_agents: bool) -> int:
    """Start a daemon in a session of its own, which outlives this process and the terminal; its process id.
    It gets our environment without the variables for this command alone. One `for_agents` serves every session, so it takes
    its settings from the user's files and not from the environment of one session."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _COMMAND_VARIABLES
        and not (for_agents and name.startswith("NACRE_") and name not in _LOCATION_VARIABLES)
    }
    machine = memory.workspace.machine
    machine.mkdir(mode=0o700, exist_ok=True)
    output = os.open(machine / "daemon.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, output, 2),
    ]
    root = os.path.realpath(memory.workspace.root)
    command = [sys.executable, "-P", "-m", "nacre", "--workspace", root, "serve", *options]
    try:
        return os.posix_spawn(sys.executable, command, environment, file_actions=actions, setsid=True)
    finally:
        os.close(output)


def stop_on_demand(memory: Memory) -> None:
    """End a daemon that was started on demand, for one that is to stay: it would end when nobody asks, and may not run the jobs. One
    that has just begun, as by "nacre open" beside us, is waited for."""
    until = time.monotonic() + _BEGUN_WITHIN
    while (status := client.daemon_status(str(memory.workspace.root))) is None:
        if daemon_process(memory.workspace) is None or time.monotonic() > until:
            return
        time.sleep(0.02)
    if status.get("onDemand"):
        stop_daemon(memory)


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
            os.kill(pid, signal.SIGCONT)  # one that was suspended hears of it only when it goes on
    until = time.monotonic() + _STOPPED_WITHIN
    while daemon_process(workspace) == pid:
        if time.monotonic() > until:
            raise NacreError(f"The daemon (process {pid}) has not stopped yet.", f"守护进程（进程 {pid}）尚未停止。")
        time.sleep(0.02)
    return pid
