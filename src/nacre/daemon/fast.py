"""Plain searches and agents' hooks, answered by the daemon before the command line is loaded: that alone costs more than they do.

Only what surely means the same is taken; everything else goes the ordinary way. A hook never disturbs its agent: whatever goes wrong, it
prints nothing and its exit code is 0, because with any other an agent may stop its user's turn.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from nacre.daemon import client
from nacre.hooks.events import AGENTS, COMPACT, END, PROMPT, SILENCE, START, Fired, read, speaker

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_SEARCH_VALUES = {"-n": "limit", "--limit": "limit", "--mode": "mode", "--workspace": "workspace", "--scope": "scope"}
_SEARCH_FLAGS = {"--json": "as_json", "--all-projects": "all_projects"}
_HOOK_VALUES = {"--workspace": "workspace", "--agent": "agent", "--scope": "scope", "--now": "now"}
_HOOK_FOR_PEOPLE = frozenset(("--help", "-h", "--last", "--json", "--version"))
_HOOK_SWITCHES = {START: "session_start", PROMPT: "prompt"}
_HARMLESS = frozenset(  # variables that a hook may be started with and be answered with the user's own settings
    f"NACRE_{name}" for name in ("WORKSPACE", "SCOPE", "LANGUAGE", "MODELS_PATH", "CONFIG_FILE", "HOOK_DEBUG")
)
_LARGEST_EVENT = 8_000_000  # bytes
_LARGEST_LOG = 100_000
_START_AGAIN = 300.0  # seconds until another daemon is started, should the first not have come up


def _parse(arguments: Iterable[str], values: dict[str, str]) -> tuple[dict[str, Any], list[str], list[str]]:
    options: dict[str, Any] = {}
    words: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, sign, value = argument.partition("=")
        if argument in values:
            options[values[argument]] = next(rest, "")
        elif sign and name in values and name.startswith("--"):
            options[values[name]] = value
        else:
            (others if argument.startswith("-") else words).append(argument)
    return options, words, others


def search(arguments: list[str]) -> int | None:
    """The exit code of a search that a daemon answered; None when the command line has to answer."""
    request = parse_search(arguments)
    if not request or client.is_switched_off():
        return None
    # A moment, agents, options or completion in the environment change what a search means.
    special = ("NACRE_NOW", "NACRE_AGENT", "NACRE_SEARCH_", "_NACRE_")
    if any(name.startswith(special) and os.environ[name] for name in os.environ):
        return None
    if not all(stream is not None and stream.encoding.lower() == "utf-8" for stream in (sys.stdout, sys.stderr)):
        return None
    root = find_workspace(request.pop("workspace", None))
    if not root:
        return None
    scope = request.pop("scope", None) or os.environ.get("NACRE_SCOPE") or "main"
    try:
        request |= {"here": os.getcwd(), "terminal": sys.stdout.isatty()}
        with client.Connection(root, scope) as daemon:
            answer = daemon.ask("search", asked=request)
    except Exception:  # noqa: BLE001 - no daemon, or an error that the ordinary way will say
        return None
    try:
        for kind, text in answer["parts"]:
            if kind != "out":
                sys.stdout.flush()
            (sys.stdout if kind == "out" else sys.stderr).write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has gone with what it wanted
        code = 0
    except OSError as error:
        from nacre.errors import cannot_write
        from nacre.i18n import say

        sys.stderr.write(f"nacre: {cannot_write(say('the output', '输出'), error)}\n")
        code = 1
    else:
        return 0
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def parse_search(arguments: list[str]) -> dict[str, Any] | None:
    """The fields of a search request; None when it is more than a plain search."""
    request, words, others = _parse(arguments, _SEARCH_VALUES)
    limit, query = request.get("limit", "1"), " ".join(words[1:])
    if (
        words[:1] != ["search"]
        or not query
        or "" in request.values()
        or not all(option in _SEARCH_FLAGS for option in others)
        or not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 1000)
        or query.encode("utf-8", "replace").decode() != query
        or request.get("mode", "text") not in ("hybrid", "text", "vector")
    ):
        return None
    if "limit" in request:
        request["limit"] = int(limit)
    return request | {_SEARCH_FLAGS[option]: True for option in others} | {"query": query}


def find_workspace(named: str | None) -> str | None:
    """The workspace that the command line would find; None wherever that takes more than a look."""
    env, home = os.environ, os.path.expanduser("~")
    named = named or env.get("NACRE_WORKSPACE") or env.get("OPENCLAW_WORKSPACE")
    if named:
        path = os.path.join(home, named[2:]) if named == "~" or named.startswith("~/") else os.path.abspath(named)
        return path if os.path.isdir(path) else None
    folder = os.getcwd()
    while folder != os.path.dirname(folder):
        if os.path.isdir(os.path.join(folder, ".nacre")) and os.path.realpath(folder) != os.path.realpath(home):
            data = client.read_file(os.path.join(client.config_folder(), "trusted.json"))
            try:
                trusted = client.loads(data.decode("utf-8", "surrogateescape").strip())["trusted"]
                return folder if os.path.realpath(folder) in trusted else None
            except (ValueError, KeyError, TypeError):
                return None
        folder = os.path.dirname(folder)
    settings = client.user_settings()
    openclaw = None if b"workspace" in settings or b"agents" in settings else _openclaw_workspace(home)
    if openclaw is None:  # a workspace of the user's choice, or several agents
        return None
    return next((path for path in (openclaw, os.path.join(home, ".nacre", "workspace")) if os.path.isdir(path)), None)


def _openclaw_workspace(home: str) -> str | None:
    """The workspace of an OpenClaw that has one agent; None where there are several, or its settings take more than a look."""
    env = os.environ
    state = os.path.expanduser(env.get("OPENCLAW_STATE_DIR") or os.path.join(home, ".openclaw"))
    settings = os.path.expanduser(env.get("OPENCLAW_CONFIG_PATH") or os.path.join(state, "openclaw.json"))
    if env.get("OPENCLAW_PROFILE") or not os.path.isabs(state):
        return None
    try:
        section = client.loads((client.read_file(settings) or b"{}").decode().strip()).get("agents", {})
        entries = section.get("entries")
        agents = section.get("list") or [] if entries is None else list(entries.values())
        own = agents[0].get("workspace") if agents else None
        named = own or section.get("defaults", {}).get("workspace") or os.path.join(state, "workspace")
        path = os.path.expanduser(named)
    except (ValueError, AttributeError, TypeError):  # with comments, or not of the usual form
        return None
    return path if len(agents) < 2 and "$" not in named and os.path.isabs(path) else None


def hook(arguments: list[str]) -> int | None:
    """0 when a hook was dealt with, in whatever way; None when people asked for something."""
    options, words, others = _parse(arguments, _HOOK_VALUES)
    if words[:1] != ["hook"] or not _HOOK_FOR_PEOPLE.isdisjoint(others):
        return None
    if len(words) == 1 and (sys.stdin is None or sys.stdin.isatty()):
        return None
    if os.environ.get(SILENCE, "0") not in ("", "0"):  # an agent that Nacre itself started
        return 0
    fired = _Hook(options, "".join(words[1:2]))
    try:
        fired.run()
    except Exception as error:  # noqa: BLE001 - an agent must never hear of it
        from nacre.errors import error_place

        fired.log(error_place(error))
    except BaseException:  # noqa: BLE001, S110 - interrupted with its agent
        pass
    return 0


class _Hook:
    """One hook; a second thread ends the process when its time is over."""

    def __init__(self, options: dict[str, str], event: str) -> None:
        self.options = options
        self.event = event
        self.agent = speaker(options.get("agent"))
        self.scope = options.get("scope") or os.environ.get("NACRE_SCOPE") or "main"
        self.is_present = not (options.get("now") or os.environ.get("NACRE_NOW"))
        self.settings = _hook_settings()
        self.seconds = self.settings.get("timeout_ms", 1500) / 1000
        self.root: str | None = None
        self.memory: Any = None  # while this process does the work itself
        self.printing = allocate_lock()

    def run(self) -> None:
        start_new_thread(self._give_up, ())
        if self.options.get("workspace"):
            self.options["workspace"] = os.path.abspath(os.path.expanduser(self.options["workspace"]))
        data = sys.stdin.buffer.read(_LARGEST_EVENT + 1) if sys.stdin is not None else b"{}"
        if len(data) > _LARGEST_EVENT:
            raise ValueError("too large")
        event = client.loads(data.decode("utf-8-sig", "replace").strip())
        event = event if isinstance(event, dict) else {}
        fired = read(event, self.event)
        if self.agent not in AGENTS or (fired is None and self.agent != "openclaw"):
            return
        if self.settings.get("enabled") is False or (fired is not None and fired.sub_agent):
            return
        here = fired.here if fired else event.get("cwd")
        if isinstance(here, str) and os.path.isabs(here) and os.path.isdir(here):
            os.chdir(here)  # the session's folder decides about the workspace and the project
        self.root = self._find_root()
        if fired is None or self.agent == "openclaw":  # whose events are its plugin's, and not looked into here
            self._answer(event)
        elif fired.kind in _HOOK_SWITCHES:
            if self.settings.get(_HOOK_SWITCHES[fired.kind]) is not False:
                self._answer(fired.as_plain())
        elif self.settings.get("capture") is not False:
            self._queue(fired)

    def _find_root(self) -> str | None:
        root = find_workspace(self.options.get("workspace")) if os.name == "posix" else None
        signs = (".nacre", "MEMORY.md", "memory", "AGENTS.md")
        return root if root and any(os.path.lexists(os.path.join(root, name)) for name in signs) else None

    def _answer(self, event: dict[str, Any]) -> None:
        reply = self._ask_daemon("hook", of=self.agent, event=event, language=os.environ.get("NACRE_LANGUAGE"))
        if reply is not None:
            self._print(reply.get("answer"))
            return
        from nacre.hooks.events import answer

        with self._open_memory() as self.memory:
            if event.get("prompt"):
                from nacre.hooks.answering import in_a_hurry

                in_a_hurry(self.memory)
            self._print(answer(self.memory, self.agent, event))
            self._start_daemon()

    def _queue(self, fired: Fired) -> None:
        """Note the session for the next capture; one that ended, or is about to be compacted, is captured at once by a daemon."""
        now = fired.kind in (COMPACT, END)
        if self.root and self.is_present:
            from nacre.vault import spool

            queued = spool.queue(self.root, self.agent, fired.session, fired.transcript, at=time.time(), now=now)
        else:
            with self._open_memory() as memory:
                queued = memory.queue(self.agent, fired.session, fired.transcript, now=now)
        if queued and now:
            self._ask_daemon("ended", transcript=fired.transcript)

    def _open_memory(self) -> Any:
        from nacre.memory import Memory

        memory = Memory.open(
            self.options.get("workspace") or self.root, now=self.options.get("now") or None, scope=self.scope
        )
        self.root = str(memory.workspace.root)
        return memory

    def _ask_daemon(self, kind: str, **fields: Any) -> dict[str, Any] | None:
        """The daemon's answer; None when there is none whose answer would be ours."""
        if self.root is None or client.is_switched_off() or not self.is_present:
            return None
        # Who sets something for Nacre in the agent's environment means it; anything else there is the agent's.
        own = any(name.startswith("NACRE_") and name not in _HARMLESS for name in os.environ)
        plugin = None if own else "hook"
        try:  # half of the time is left for doing it ourselves
            with client.Connection(self.root, self.scope, within=self.seconds / 2, plugin=plugin) as daemon:
                return daemon.ask(kind, **fields)
        except (client.NoDaemon, OSError):
            return None

    def _start_daemon(self) -> None:
        config = self.memory.config
        if not (config.hooks.start_daemon or config.serve.auto) or client.is_switched_off() or not self.is_present:
            return
        from nacre.daemon.process import start_on_demand
        from nacre.vault import spool

        folder = os.path.join(str(self.memory.workspace.machine), "hooks")
        try:
            if abs(time.time() - os.stat(os.path.join(folder, "daemon")).st_mtime) < _START_AGAIN:
                return
        except OSError:
            pass
        spool.put(folder, "daemon", b"")
        start_on_demand(self.memory, for_agents=True)

    def _print(self, answer: dict[str, Any] | None) -> None:
        data = client.dumps(answer).encode("ascii") + b"\n" if answer else b""
        with self.printing:
            while data:
                data = data[os.write(1, data) :]

    def _give_up(self) -> None:
        time.sleep(self.seconds)
        try:
            if self.printing.acquire(timeout=self.seconds):
                self.log(f"gave up after {self.seconds * 1000:.0f} ms")
                if self.memory is not None:
                    self._start_daemon()  # who has no time needs one most
        finally:
            os._exit(0)

    def log(self, text: str) -> None:
        """One line: the event, and what went wrong. No word of a prompt, a path or a memory."""
        event = "".join(filter(str.isalnum, self.event))[:40] or "-"
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {self.agent[:20]} {event} {text}"
        try:
            if os.environ.get("NACRE_HOOK_DEBUG", "0") not in ("", "0"):
                os.write(2, f"nacre: {line}\n".encode("utf-8", "replace"))
            if root := self.root or self._find_root():
                from nacre.vault import spool

                spool.add_line(os.path.join(root, ".nacre"), "hooks.log", line, _LARGEST_LOG)
        except OSError:
            pass


def _hook_settings() -> dict[str, Any]:
    """The settings for hooks where a file or the environment speaks of them: four switches and a number."""
    settings: dict[str, Any] = {}
    text = client.user_settings()
    if b"hooks" in text:
        import tomllib

        try:
            settings = dict(tomllib.loads(text.decode("utf-8-sig")).get("hooks", {}))
        except (ValueError, TypeError):  # no TOML, or no table
            settings = {}
    for name in ("enabled", "session_start", "prompt", "capture"):
        if value := os.environ.get(f"NACRE_HOOKS_{name.upper()}", "").strip().lower():
            settings[name] = value not in ("0", "false", "no", "off")
    milliseconds: Any = os.environ.get("NACRE_HOOKS_TIMEOUT_MS", "")
    if milliseconds.isascii() and milliseconds.isdigit():
        settings["timeout_ms"] = int(milliseconds)
    milliseconds = settings.pop("timeout_ms", None)
    usable = isinstance(milliseconds, int) and 50 <= milliseconds <= 60_000
    return settings | ({"timeout_ms": milliseconds} if usable else {})
