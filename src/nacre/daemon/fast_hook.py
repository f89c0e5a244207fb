"""A hook of an agent: answered by the daemon, or by ourselves, before the command line is loaded; and never a trouble to the agent.

Whatever goes wrong, the exit code is 0 and nothing is printed: with any other an agent may stop its user's turn.
"""

from __future__ import annotations

import os
import sys
import time

from nacre.hooks.events import AGENTS, COMPACT, END, PROMPT, SILENCE, START, Fired, read, speaker

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

_VALUES = ("--workspace", "--agent", "--scope", "--now")
_FOR_PEOPLE = ("--help", "-h", "--last", "--json", "--version")
_LARGEST = 8_000_000  # bytes of an event
_SWITCH = {START: "session_start", PROMPT: "prompt"}
_HARMLESS = frozenset(
    ("NACRE_WORKSPACE", "NACRE_SCOPE", "NACRE_LANGUAGE", "NACRE_MODELS_PATH", "NACRE_CONFIG_FILE", "NACRE_HOOK_DEBUG")
)
_SIGNS = (".nacre", "MEMORY.md", "memory", "AGENTS.md")  # of a workspace
_START_AGAIN = 300.0  # seconds until another daemon is started, should the first not have come up
_LOG, _MOST_LOGGED = "hooks.log", 100_000


def fired(arguments: list[str]) -> int | None:
    """0 when a hook was dealt with, in whatever way; None when people asked for something."""
    asked = _asked(arguments)
    if asked is None:
        return None
    if os.environ.get(SILENCE, "0") not in ("", "0"):  # an agent that Nacre itself started
        return 0
    hook = _Hook(asked)
    try:
        hook.run()
    except Exception as trouble:  # noqa: BLE001 - an agent must never hear of it
        hook.log(_place(trouble))
    except BaseException:  # noqa: BLE001, S110 - interrupted with its agent
        pass
    return 0


def _asked(arguments: list[str]) -> dict[str, str] | None:
    """The event and the options; None where the command is another, or is not fired by an agent. What is not known is passed over."""
    found: dict[str, str] = {}
    words: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        one = waiting.pop()
        name, sign, value = one.partition("=")
        if one in _FOR_PEOPLE:
            return None
        if one in _VALUES:
            found[one[2:]] = waiting.pop() if waiting else ""
        elif sign and name in _VALUES:
            found[name[2:]] = value
        elif not one.startswith("-"):
            words.append(one)
    if not words or words[0] != "hook":
        return None
    if len(words) > 1:
        found["event"] = words[1]
    elif sys.stdin is None or sys.stdin.isatty():
        return None
    return found


class _Hook:
    """One hook from its start to its end, which comes in time."""

    def __init__(self, asked: dict[str, str]) -> None:
        from _thread import allocate_lock

        self.asked = asked
        self.agent = speaker(asked.get("agent"))
        self.scope = asked.get("scope") or os.environ.get("NACRE_SCOPE") or "main"
        self.settings = _settings()
        self.root: str | None = None
        self.memory: Any = None  # while we do the work ourselves
        self.event = asked.get("event", "")
        self.printing = allocate_lock()
        self.seconds = _number(self.settings.get("timeout_ms"), 1500) / 1000

    def run(self) -> None:
        from _thread import start_new_thread

        start_new_thread(self._give_up, ())
        if self.asked.get("workspace"):
            self.asked["workspace"] = os.path.abspath(os.path.expanduser(self.asked["workspace"]))
        try:
            event = _event()
        except ValueError:
            self.root = self._workspace()  # where it is to be told
            raise
        found = read(event, self.event)
        if self.agent not in AGENTS or (found is None and self.agent != "openclaw"):
            return
        if self.settings.get("enabled") is False or (found is not None and found.sub_agent):
            return
        self._go_to(found.here if found else event.get("cwd"))
        self.root = self._workspace()
        if found is None or self.agent == "openclaw":  # whose events are its plugin's, and not looked into here
            self._answer(event)
        elif found.kind in _SWITCH:
            if self.settings.get(_SWITCH[found.kind]) is not False:
                self._answer(found.as_plain())
        elif self.settings.get("capture") is not False:
            self._queue(found)

    def _go_to(self, here: object) -> None:
        """Work where the session does: its folder decides about the workspace and the project."""
        if isinstance(here, str) and os.path.isabs(here) and os.path.isdir(here):
            os.chdir(here)

    def _workspace(self) -> str | None:
        """The workspace, where a look finds it."""
        if os.name != "posix":
            return None
        from nacre.daemon.fast import workspace

        root = workspace(self.asked.get("workspace"))
        return root if root and any(os.path.lexists(os.path.join(root, name)) for name in _SIGNS) else None

    def _answer(self, event: dict[str, Any]) -> None:
        told = self._by_daemon("hook", of=self.agent, event=event, language=os.environ.get("NACRE_LANGUAGE"))
        if told is not None:
            self._print(told.get("answer"))
            return
        from nacre.hooks.answering import answer

        with self._memory() as memory:
            self.root, self.memory = str(memory.workspace.root), memory
            if event.get("prompt"):
                from nacre.hooks.inject import in_a_hurry

                in_a_hurry(memory)
            self._print(answer(memory, self.agent, event))
            self._start_daemon(memory)

    def _queue(self, found: Fired) -> None:
        """Note the talk for the next capture; one that ended, or is about to be compacted, is captured at once where a daemon can."""
        from nacre.vault import spool

        if self.root is None or self.asked.get("now") or os.environ.get("NACRE_NOW"):
            with self._memory() as memory:
                from nacre.hooks.answering import queue

                self.root = str(memory.workspace.root)
                queued = queue(memory, self.agent, found)
        else:
            now = found.kind in (COMPACT, END)
            queued = spool.queue(self.root, self.agent, found.session, found.transcript, at=time.time(), now=now)
        if queued and found.kind in (COMPACT, END):
            self._by_daemon("ended", transcript=found.transcript)

    def _memory(self) -> Any:
        from nacre.memory import Memory

        return Memory.open(
            self.asked.get("workspace") or self.root, now=self.asked.get("now") or None, scope=self.scope
        )

    def _by_daemon(self, kind: str, **given: Any) -> dict[str, Any] | None:
        """The daemon's answer; None when there is none whose answer would be ours."""
        from nacre.daemon import client

        if self.root is None or client.is_switched_off() or self.asked.get("now") or os.environ.get("NACRE_NOW"):
            return None
        # Who sets something for Nacre in the agent's environment means it; anything else there is the agent's.
        own = any(name.startswith("NACRE_") and name not in _HARMLESS for name in os.environ)
        try:
            with client.Connection(
                self.root, self.scope, within=self.seconds / 2, plugin=None if own else "hook"
            ) as daemon:  # the other half is for doing it ourselves
                return daemon.ask(kind, **given)
        except (client.NoDaemon, OSError):
            return None

    def _start_daemon(self, memory: Any) -> None:
        from nacre.daemon import client

        wanted = memory.config.hooks.start_daemon or memory.config.serve.auto
        if not wanted or client.is_switched_off() or memory.clock.fixed is not None:
            return
        from nacre.vault import spool

        sign = os.path.join(str(memory.workspace.machine), "hooks", "daemon")
        try:
            if abs(time.time() - os.stat(sign).st_mtime) < _START_AGAIN:
                return
        except OSError:
            pass
        spool.put(os.path.dirname(sign), os.path.basename(sign), b"")
        from nacre.daemon.process import start_on_demand

        start_on_demand(memory, for_agents=True)

    def _print(self, told: dict[str, Any] | None) -> None:
        """One object, in one go."""
        if not told:
            return
        from nacre.daemon import client

        data = client.dumps(told).encode("ascii") + b"\n"
        with self.printing:
            while data:
                data = data[os.write(1, data) :]

    def _give_up(self) -> None:
        """End the process when its time is over, but not in the middle of an answer."""
        time.sleep(self.seconds)
        try:
            if self.printing.acquire(timeout=self.seconds):
                self.log(f"gave up after {self.seconds * 1000:.0f} ms")
                if self.memory is not None:
                    self._start_daemon(self.memory)  # who has no time needs one most
        finally:
            os._exit(0)

    def log(self, what: str) -> None:
        """One line: the event, and what went wrong. No word of a prompt, a path or a memory."""
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {self.agent[:20]} {_plain(self.event)} {what}"
        try:
            if os.environ.get("NACRE_HOOK_DEBUG", "0") not in ("", "0"):
                os.write(2, f"nacre: {line}\n".encode("utf-8", "replace"))
            if self.root:
                from nacre.vault import spool

                spool.add_line(os.path.join(self.root, ".nacre"), _LOG, line, _MOST_LOGGED)
        except OSError:
            pass


def _event() -> dict[str, Any]:
    """The object on stdin; an empty one when it is none."""
    from nacre.daemon import client

    if sys.stdin is None:
        return {}
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("too large")
    told = client.loads(data.decode("utf-8-sig", "replace").strip())
    return told if isinstance(told, dict) else {}


def _settings() -> dict[str, Any]:
    """The settings for hooks, as far as they differ from the usual: read only where a file or the environment speaks of them."""
    from nacre.daemon.client import config_folder

    path = os.path.expanduser(os.environ.get("NACRE_CONFIG_FILE") or os.path.join(config_folder(), "config.toml"))
    found: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            text = file.read(1_000_000)
        if b"hooks" in text:
            import tomllib

            table = tomllib.loads(text.decode("utf-8-sig")).get("hooks")
            found = dict(table) if isinstance(table, dict) else {}
    except (OSError, ValueError):
        pass
    for name in ("enabled", "session_start", "prompt", "capture"):
        told = os.environ.get(f"NACRE_HOOKS_{name.upper()}", "").strip().lower()
        if told:
            found[name] = told not in ("0", "false", "no", "off")
    limit = os.environ.get("NACRE_HOOKS_TIMEOUT_MS", "")
    if limit.isascii() and limit.isdigit():
        found["timeout_ms"] = int(limit)
    return found


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 50 <= value <= 60_000 else otherwise


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name))[:40] or "-"


def _place(trouble: BaseException) -> str:
    """What went wrong and where in the code, without its words: they may quote a memory."""
    trace = trouble.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else "?"
    return f"{type(trouble).__name__} at {where}"
