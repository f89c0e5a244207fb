"""Answers an agent's hook in this process, where no daemon does; within its time limit, and silently when it fails."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.config.settings import load
from nacre.daemon.client import pack
from nacre.daemon.fast import is_switched_off
from nacre.errors import NacreError, error_place
from nacre.hooks import PROMPT, START, answer, folder_of, parse_event, read, speaker

if TYPE_CHECKING:
    from nacre.memory import Memory

_LARGEST_LOG = 100_000  # bytes
_START_AGAIN = 300.0  # seconds until another daemon is started, should the first not have come up


def run_hook(options: dict[str, str], name: str, data: bytes) -> None:
    """Print what the agent is to read. A second thread ends the process when the time is over."""
    agent, named = speaker(options.get("agent"), os.environ), options.get("workspace")
    root = Path(named).expanduser().absolute() if named else None  # before the folder is another
    memory: Memory | None = None
    printing = threading.Lock()

    def give_up(seconds: float) -> None:
        time.sleep(seconds)
        if printing.acquire(timeout=seconds):
            _log(root, f"{agent[:20]} {name} gave up after {seconds * 1000:.0f} ms")
            if memory is not None:
                _start_daemon(memory)  # the next hook is then answered in time
        os._exit(0)

    try:
        settings = load().hooks
        threading.Thread(target=give_up, args=[settings.timeout_ms / 1000], daemon=True).start()
        event = parse_event(data, name)
        if not settings.enabled:
            return
        here = folder_of(event)
        if os.path.isabs(here) and os.path.isdir(here):
            os.chdir(here)  # the session's folder decides about the workspace and the project
        from nacre.memory import Memory

        scope = options.get("scope") or os.environ.get("NACRE_SCOPE") or "main"
        with Memory.open(root, now=options.get("now") or None, scope=scope) as memory:
            given = answer(memory, agent, event, in_a_hurry=bool(event.get("prompt")))
            with printing:
                if given:
                    print(pack(given).decode(), flush=True)
            fired = read(event)
            if fired is not None and fired.kind in (START, PROMPT):
                _start_daemon(memory)
    except Exception as error:  # noqa: BLE001 - an agent must never hear of it
        _log(root, f"{agent[:20]} {''.join(filter(str.isalnum, name))[:40] or '-'} {error_place(error)}")


def _start_daemon(memory: Memory) -> None:
    config = memory.config
    if not (config.hooks.start_daemon or config.serve.auto) or is_switched_off() or memory.clock.fixed is not None:
        return
    from nacre.daemon.process import start_on_demand

    sign = memory.workspace.machine / "hooks" / "daemon"
    if sign.exists() and abs(time.time() - sign.stat().st_mtime) < _START_AGAIN:
        return
    sign.parent.mkdir(mode=0o700, exist_ok=True)
    sign.touch(0o600)
    start_on_demand(memory, for_agents=True)


def _log(root: Path | None, text: str) -> None:
    """One line: the event, and what went wrong. No word of a prompt, a path or a memory."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}"
    try:
        if os.environ.get("NACRE_HOOK_DEBUG", "0") not in ("", "0"):
            os.write(2, f"nacre: {line}\n".encode("utf-8", "replace"))
        from nacre.memory import machine_folder
        from nacre.vault.spool import add_line

        add_line(str(machine_folder(root)), "hooks.log", line, _LARGEST_LOG)
    except (OSError, NacreError):
        pass
