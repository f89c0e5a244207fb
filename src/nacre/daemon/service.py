"""A daemon from its start to its end: it takes its lock and socket, warms up, answers, watches, runs jobs, and leaves without a trace."""

from __future__ import annotations

import logging
import logging.handlers
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nacre
from nacre import __version__
from nacre.clock import duration
from nacre.config.settings import load, user_config_file
from nacre.daemon import client, fast
from nacre.daemon.client import BadMessage, CannotAnswer
from nacre.daemon.jobs import JobThread
from nacre.daemon.process import Endpoint
from nacre.daemon.requests import Command, RequestHandler
from nacre.daemon.server import Caller, Server
from nacre.daemon.watcher import Watcher
from nacre.errors import BadSetting, NacreError, error_place
from nacre.hooks.events import COMPACT, END, read
from nacre.i18n import language_of
from nacre.memory import Memory, cache_folders
from nacre.model.context import Scope

if TYPE_CHECKING:
    from nacre.mcp.http import Listener

STOPPED, RESTART = "stopped", "renew"
_LARGE_AGAIN = (
    600.0  # seconds of life before memory is a reason to start anew: a limit that is too low must not be a mill
)
_REQUESTS = ("search", "context", "get", "tool", "hook")
_IRRELEVANT = frozenset(
    f"NACRE_{name}" for name in ("WORKSPACE", "AGENT", "SCOPE", "NO_DAEMON", "NOW", "HOOK", "HOOK_DEBUG")
)
_HARMLESS = frozenset(  # variables that a hook may be started with and be answered with the user's own settings
    f"NACRE_{name}" for name in ("WORKSPACE", "SCOPE", "LANGUAGE", "MODELS_PATH", "CONFIG_FILE", "HOOK_DEBUG")
)
_FOLDERS = {  # variables that move a folder, and where it is without them; none of OpenClaw's others changes an answer
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "OPENCLAW_STATE_DIR": ".openclaw",
}
_LOG_BYTES, _OLDER_LOGS = 1_000_000, 2


class Daemon:
    """One workspace served. `on_demand` ends it when nobody has asked for a while; such a one runs the jobs only where
    the user wants that, because nobody asked for it by name. `http` is the port of the command line, 0 for any; without
    it that of the settings, where 0 means none."""

    def __init__(
        self,
        memory: Memory,
        *,
        on_demand: bool = False,
        jobs: bool = True,
        http: int | None = None,
        http_scope: str = "main",
    ) -> None:
        self._memory = memory
        self._root = str(memory.workspace.root)
        self._idle = duration(memory.config.serve.idle).total_seconds() if on_demand else None
        self._settings = self._read_settings()
        self._unreadable: tuple[list[bytes], str] | None = None  # settings that cannot be understood, and why
        self._since = memory.clock.now()
        self._began = time.monotonic()
        self._is_warm = False
        self._outcome = STOPPED
        self._endpoint = Endpoint(memory.workspace)
        self._log = open_log(memory.workspace.machine / "daemon.log")
        self._requests = RequestHandler(memory)
        self._watcher = Watcher(memory, self._log)
        timed = not on_demand or memory.config.jobs.on_demand
        self._jobs = JobThread(memory, self._log, timed=timed) if jobs else None
        self._server = Server(self._endpoint.listener, self._answer, self._carry_out, self._log)
        self._http: Listener | None = None
        self._http_scope = http_scope
        self._http_error: str | None = None
        if http is not None or memory.config.serve.port:
            try:
                self._http = self._open_http(memory.config.serve.port if http is None else http)
            except BaseException as error:
                if http is not None or not isinstance(error, BadSetting):
                    self._endpoint.leave()
                    raise
                self._log.warning("no http: %s", type(error.__cause__).__name__)
                self._http_error = str(error)

    def _open_http(self, port: int) -> Listener:
        from nacre.mcp.http import Listener, read_token, token, token_file
        from nacre.mcp.server import Server as McpServer

        Scope.parse(self._http_scope)
        root, scope = self._memory.workspace.root, self._http_scope
        server = McpServer(lambda: self._requests.memory_of(scope), group=scope != "main")
        token(root, scope)

        def current_token() -> str:
            """As it stands in its file: who removed that has shut out whoever knew it, until "nacre serve --token" makes another."""
            return read_token(token_file(root, scope))

        return Listener(self._memory.config.serve.host, port, server, current_token, self._log)

    @property
    def http(self) -> dict[str, Any] | None:
        """Where we can be reached over HTTP, or why not; None where nobody wants that."""
        if self._http is None:
            return {"trouble": self._http_error} if self._http_error else None
        return {
            "url": self._http.url,
            "scope": self._http_scope,
            "local": self._http.gate.is_local,
            "questions": self._http.questions,
            "trouble": self._http.error,
        }

    def serve(self) -> str:
        """Answer until told to stop; whether to end or to start anew."""
        self._log.info("started, process %d, version %s", os.getpid(), __version__)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._server.stop())
        self._watcher.start()
        threading.Thread(target=self._warm_up, name="warm", daemon=True).start()
        if self._jobs:
            self._jobs.start()
        if self._http:
            if not self._http.gate.is_local:
                self._log.warning("http beyond this machine")
            self._http.start()
        try:
            self._server.serve(self._tick)
        except BaseException as error:
            self._log.critical("ended by %s", error_place(error))
            raise
        finally:
            if self._http:
                self._http.stop()
            self._watcher.stop()
            if self._jobs:
                self._jobs.stop()
            self._watcher.join(10)
            self._requests.close()
            self._endpoint.leave()
            self._log.info("%s after %d questions", self._outcome, self._server.asked)
            close_log(self._log)
        return self._outcome

    def _warm_up(self) -> None:
        try:
            self._memory.ask("warm", 1)
            self._memory.ask("热", 1)
        except Exception as error:  # noqa: BLE001 - the first question then waits, and is told why
            self._log.warning("not warm: %s", error_place(error))
        self._is_warm = True

    def _greet(self, caller: Caller, hello: dict[str, Any]) -> dict[str, Any]:
        """Fix who asks, and whether our answers would be those that the caller would make."""
        scope, environment = hello.get("scope"), hello.get("environment")
        if not isinstance(scope, str) or not scope:
            raise BadMessage("no scope")
        skew = None
        if (hello.get("protocol"), hello.get("version")) != (client.PROTOCOL_VERSION, __version__):
            skew = "another version"
        elif not self._check_settings():
            skew = "other settings"
        elif not hello.get("plugin") and not self._is_same_environment(environment):
            skew = "another environment"  # an agent's plugin has none of its own: ours is the user's
        if not skew:
            Scope.parse(scope)
        caller.scope, caller.skew = scope, skew
        return {"version": __version__, "process": os.getpid()} | ({"skew": skew} if skew else {})

    def _is_same_environment(self, environment: Any) -> bool:
        provider = self._memory.config.embed.provider
        keys = provider != "local" and not (provider == "auto" and self._settings[3:])  # no local models: a key decides
        return isinstance(environment, dict) and meaning_of(environment, keys=keys) == meaning_of(
            fast.environment(), keys=keys
        )

    def _answer(self, caller: Caller, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        if kind == "hello":
            return self._greet(caller, message)
        if kind not in _REQUESTS and caller.scope != "main":
            raise BadMessage("not for groups")
        if kind == "stop":
            self._log.info("told to stop")
            self._server.stop()
            return {"process": os.getpid()}
        if kind == "status":
            return self._status()
        self._must_answer(caller.skew)
        if kind in _REQUESTS:
            return self._requests.answer(caller.scope, kind, message)
        if kind == "ended" and self._jobs and isinstance(transcript := message.get("transcript"), str):
            self._jobs.session_ended(transcript)
            return {}
        raise BadMessage("no such question")

    def _must_answer(self, skew: str | None) -> None:
        if skew or not self._check_settings():
            raise CannotAnswer(skew or "other settings")
        if not self._endpoint.is_held():  # the workspace was moved or deleted: an answer would make its folders anew
            raise CannotAnswer("the workspace is gone")
        if self._jobs:
            self._jobs.active = self._memory.clock.now()

    def _carry_out(self, body: bytes) -> bytes:
        """Do what a search or a hook would do in its own process."""
        command = Command.read(body)
        skew = None if command.version == __version__ else "another version"
        # Who sets something for Nacre in an agent's environment means it; anything else there is the agent's.
        is_own = any(name.startswith("NACRE_") and name not in _HARMLESS for name in command.environment)
        if (is_own or not command.data) and not self._is_same_environment(command.environment):
            skew = "another environment"
        self._must_answer(skew)
        notes, result = self._requests.carry_out(command)
        fired = read(command.event) if command.data and command.scope == "main" else None
        if fired and fired.kind in (COMPACT, END) and fired.transcript and self._jobs:
            self._jobs.session_ended(fired.transcript)
        return fast.DONE + notes.encode() + b"\0" + result.encode()

    def _status(self) -> dict[str, Any]:
        server, watcher = self._server, self._watcher
        if self._unreadable:  # they may be mended by now
            self._check_settings()
        return {
            "process": os.getpid(),
            "version": __version__,
            "workspace": self._root,
            "since": self._since.isoformat(timespec="seconds"),
            "socket": self._endpoint.socket,
            "log": str(self._memory.workspace.machine / "daemon.log"),
            "onDemand": self._idle is not None,
            "warm": self._is_warm,
            "questions": server.asked,
            "failed": server.failed,
            "connections": len(server.connections),
            "memoryMb": round(_resident_memory() / 1e6, 1),
            "descriptors": len(os.listdir("/proc/self/fd")) - 1 if os.path.isdir("/proc/self/fd") else None,
            "watching": watcher.mode,
            "watchingReason": watcher.reason,
            "updates": watcher.updates,
            "jobs": self._jobs.status() if self._jobs else None,
            "http": self.http,
            "settings": self._unreadable[1] if self._unreadable else None,
        }

    def _tick(self) -> None:
        now = time.monotonic()
        http = self._http
        at_work = self._server.busy or (http and http.working) or (self._jobs and self._jobs.at_work)
        last_asked = max(self._server.last_asked, http.last_asked if http else 0.0)
        most = self._memory.config.serve.max_memory_mb * 1_000_000
        if not self._endpoint.is_held() or not os.path.isdir(self._root):
            self._log.warning("the lock or the socket is gone")
            self._server.stop()
        elif self._idle is not None and now - last_asked > self._idle and not at_work:
            self._log.info("nobody asks")
            self._server.stop()
        elif now - self._began > _LARGE_AGAIN and _resident_memory() > most and not at_work:
            self._restart("too much memory")
        else:
            self._check_settings()

    def _check_settings(self) -> bool:
        """Whether we still are what the settings ask for; if not, we start anew. What cannot be understood asks for nothing yet."""
        current = self._read_settings()
        if current == self._settings:
            self._unreadable = None
            return True
        if self._unreadable and self._unreadable[0] == current:
            return True
        try:
            load(Path(self._root))
        except NacreError as error:
            self._unreadable = current, str(error)
            self._log.warning("the settings cannot be understood, those from before hold: %s", error_place(error))
            return True
        self._restart("other settings, models or code")
        return False

    def _read_settings(self) -> list[bytes]:
        """The files that settings come from, our own version as it is installed now, and which models are."""
        contents = []
        for path in (user_config_file(), Path(self._root, ".nacre", "config.toml"), Path(nacre.__file__)):
            try:
                contents.append(path.read_bytes())
            except OSError:
                contents.append(b"")
        try:
            models = sorted(cache_folders()[0].iterdir())
            return [*contents, *(f"{model.name} {model.stat().st_mtime_ns}".encode() for model in models)]
        except OSError:
            return contents

    def _restart(self, reason: str) -> None:
        if not self._server.is_stopping:
            self._outcome = RESTART
            self._log.info("%s: %s", self._outcome, reason)
            self._server.stop()


def meaning_of(environment: dict[str, str], *, keys: bool) -> dict[str, str]:
    """What of an environment changes an answer: settings, folders, language, time zone, and keys where one may be used."""
    home = environment.get("HOME") or str(Path.home())
    parts = {name: environment[name] for name in environment if name.startswith("NACRE_") and name not in _IRRELEVANT}
    parts |= {name: environment.get(name) or os.path.join(home, usual) for name, usual in _FOLDERS.items()}
    state, profile = parts["OPENCLAW_STATE_DIR"], environment.get("OPENCLAW_PROFILE", "").strip()
    parts["OPENCLAW_CONFIG_PATH"] = environment.get("OPENCLAW_CONFIG_PATH") or f"{state}/openclaw.json"
    parts["OPENCLAW_PROFILE"] = "" if profile.lower() == "default" else profile
    parts |= {name: value for name, value in environment.items() if keys and value and name.endswith("_API_KEY")}
    return parts | {"HOME": home, "TZ": environment.get("TZ", ""), "NACRE_LANGUAGE": language_of(environment)}


def restart_process(arguments: Sequence[str]) -> None:
    """Become a new process with nothing in memory, and with the settings and the code as they are now."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "nacre", *arguments])  # noqa: S606 - ourselves


def _resident_memory() -> int:
    """How much memory we hold, in bytes; 0 where the system does not say it cheaply."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """A file that only its owner reads, and that is not written through a link."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")

    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """A full disk is no reason to stop answering."""


def open_log(path: Path) -> logging.Logger:
    """The daemon's own log: kinds, durations and errors, never a question or a word of memory. Left out where it cannot be written."""
    log = logging.Logger(f"nacre {path}")  # noqa: LOG001 - of its own, not below the root's
    try:
        handler: logging.Handler = _PrivateFile(path, maxBytes=_LOG_BYTES, backupCount=_OLDER_LOGS, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    return log


def close_log(log: logging.Logger) -> None:
    for handler in list(log.handlers):
        handler.close()
        log.removeHandler(handler)
