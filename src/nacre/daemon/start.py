"""Start a daemon in the background, and stop the one that runs."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from typing import TYPE_CHECKING, Any

from nacre.daemon import client
from nacre.daemon.lifetime import holder
from nacre.errors import NacreError
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory

_READY_WITHIN = 60.0  # seconds; a slow disk reads Python's own files for longer than one thinks
_STOPPED_WITHIN = 40.0
_PASSING = ("another version", "other settings")  # reasons for which a daemon starts anew, if it can
_PASSES_WITHIN = 10.0
_WARM_WITHIN = 15.0  # seconds; where a large memory is read for the first time, that goes on beside the first questions
_SAYS_WITHIN = 1.0
_ONLY_THIS_COMMAND = ("NACRE_NOW", "NACRE_SCOPE", "NACRE_AGENT", "NACRE_WORKSPACE", "OPENCLAW_WORKSPACE")
_PLACES = ("NACRE_CONFIG_FILE", "NACRE_MODELS_PATH")  # where settings and models lie, which is no setting itself


def on_demand(memory: Memory, *, for_agents: bool = False) -> None:
    """Start a daemon that ends when nobody asks any more. Does not wait; where it cannot be, nothing is lost."""
    if holder(memory.workspace) is None:
        with contextlib.suppress(OSError, NotImplementedError):
            _spawn(memory, ["--on-demand"], None, _environment(for_agents=for_agents))


def in_background(memory: Memory, *options: str, for_agents: bool = False) -> int:
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
    if not told and (other := _quicker(memory)) is not None:
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


def _quicker(memory: Memory) -> int | None:
    """The process of a daemon that another command started at the same moment, which is as good. It may be about to say who it is."""
    until = time.monotonic() + _SAYS_WITHIN
    while (found := holder(memory.workspace)) is None and time.monotonic() < until:
        time.sleep(0.02)
    return found


def ensure(memory: Memory, *options: str) -> dict[str, Any]:
    """A daemon that answers at once, its models loaded, started where none runs; how it is.

    One that is about to start anew, being older than we are or of other settings, is waited for. Another environment is no
    matter here: who asks in this way wants the user's daemon, whatever it was started from.
    """
    root, began = str(memory.workspace.root), time.monotonic()
    while (waited := time.monotonic() - began) < _READY_WITHIN:
        found = client.status(root)
        if found is not None and (found["skew"] not in _PASSING or waited > _PASSES_WITHIN):
            if found.get("warm", True) or waited > _WARM_WITHIN:
                return found
            time.sleep(0.2)
        if found is None and holder(memory.workspace) is None:
            try:
                in_background(memory, *options, for_agents=True)
            except NacreError:
                if holder(memory.workspace) is None:  # else another was quicker, which is as good
                    raise
        time.sleep(0.02)
    raise NacreError(
        say(
            'The daemon of this workspace does not answer; "nacre serve --stop" ends it.',
            "此工作区的守护进程没有回应；可用“nacre serve --stop”停止。",
        )
    )


def make_way(memory: Memory) -> None:
    """End a daemon that was started on demand, for one that is to stay: it would end when nobody asks, and may not run the jobs."""
    found = client.status(str(memory.workspace.root)) if holder(memory.workspace) is not None else None
    if found and found.get("onDemand"):
        stop(memory)


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
            return name in _PLACES
        return name not in _ONLY_THIS_COMMAND

    return {name: value for name, value in os.environ.items() if stays(name)}


def stop(memory: Memory) -> int | None:
    """Stop the daemon of a memory and wait until its work is put away; its process, or None when there was none."""
    workspace = memory.workspace
    pid = holder(workspace)
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
    while holder(workspace) == pid:
        if time.monotonic() > until:
            raise NacreError(say(f"The daemon (process {pid}) is still at work.", f"守护进程（进程 {pid}）仍在工作。"))
        time.sleep(0.02)
    return pid
