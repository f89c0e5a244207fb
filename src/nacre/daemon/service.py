"""The daemon: takes its lock and socket, loads the models, answers requests, watches files, runs jobs, and removes its socket at the end.

Each connection has a thread, a small pool answers; an error in one answer is logged and ends nothing.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nacre
from nacre import __version__
from nacre.clock import duration
from nacre.config.settings import load, user_config_file
from nacre.daemon import client, fast
from nacre.daemon.client import BadMessage, pack, unpack
from nacre.daemon.jobs import JobThread
from nacre.daemon.process import Endpoint
from nacre.daemon.requests import CannotAnswer, Command, RequestHandler
from nacre.daemon.watcher import Watcher
from nacre.errors import BadInput, BadSetting, CannotRead, NacreError, error_place
from nacre.hooks import COMPACT, END, read
from nacre.i18n import language_of
from nacre.memory import Memory, models_folder
from nacre.model import Scope
from nacre.vault.spool import add_line
from nacre.vault.storage import operations_file

if TYPE_CHECKING:
    from nacre.http import Endpoint as HttpEndpoint
    from nacre.http import Listener
    from nacre.web.app import PageEndpoint

_USUAL_PORT = 6227  # of the page, where nobody chose one
STOPPED, RESTART = "stopped", "renew"
_LARGE_AGAIN = (
    600.0  # seconds that it runs before memory is a reason to restart, so that a low limit causes no endless restarts
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
    "OPENCLAW_CONFIG_PATH": ".openclaw/openclaw.json",
}
_LOG_BYTES = 1_000_000
_ANSWERING = 4  # threads; each holds the index open for itself
_MOST_CONNECTIONS = 200
_END_WITHIN = 10.0  # seconds for an answer to be read by who asked for it, when the daemon ends
_TICK = 1.0


@dataclass
class Caller:
    """The client of a connection. Its scope is fixed by the first message."""

    scope: str = ""
    skew: str | None = None  # why our answers would not be the caller's own


class Server:
    """Listens until it is told to stop; what was asked by then is answered first. `answer` takes a caller, the kind of a message and
    its fields, `carry_out` a command; both return what is sent back."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Callable[[Caller, str, dict[str, Any]], dict[str, Any]],
        carry_out: Callable[[bytes], bytes],
        log: logging.Logger,
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._carry_out = carry_out
        self._log = log
        self._pool = ThreadPoolExecutor(_ANSWERING, thread_name_prefix="answer")
        self.connections: dict[socket.socket, threading.Thread] = {}
        self.busy: set[socket.socket] = set()  # those whose question is being answered
        self.is_stopping = False
        self.asked = 0
        self.failed = 0
        self.last_asked = time.monotonic()

    def stop(self) -> None:
        """May be called from anywhere, also by a signal."""
        self.is_stopping = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RD)  # wakes who listens

    def serve(self, tick: Callable[[], None]) -> None:
        """Listen; `tick` is called about once a second."""
        ticked = 0.0
        while not self.is_stopping:
            if select.select([self._listener], [], [], _TICK)[0] and not self.is_stopping:
                try:
                    self._accept()
                except OSError as error:  # no descriptors: whoever waits would wake us again and again
                    self._log.warning("cannot accept connections: %s", error.strerror)
                    time.sleep(_TICK)
            if time.monotonic() - ticked >= _TICK:
                ticked = time.monotonic()
                tick()
        self._listener.close()
        for connection, thread in list(self.connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # what was sent before is still read
            thread.join(_END_WITHIN)
        self._pool.shutdown()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if len(self.connections) >= _MOST_CONNECTIONS or not fast.is_ours(connection):
            connection.close()
        else:
            thread = threading.Thread(target=self._converse, args=(connection,), name="caller", daemon=True)
            self.connections[connection] = thread
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        """Answer one question after the other until the caller leaves, or sends what cannot be a message."""
        caller = Caller()
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while len(header := stream.read(fast.HEADER)) == fast.HEADER:
                size = int.from_bytes(header, "big")
                if size > fast.LARGEST_REQUEST:
                    break
                self.last_asked = time.monotonic()
                self.busy.add(connection)
                data = self._pool.submit(self._reply, caller, stream.read(size)).result()
                connection.sendall(len(data).to_bytes(fast.HEADER, "big") + data)
                self.busy.discard(connection)
        self.busy.discard(connection)
        self.connections.pop(connection, None)

    def _reply(self, caller: Caller, body: bytes) -> bytes:
        began = time.monotonic()
        kind, data, error = "?", b"", None
        try:
            if body.startswith(fast.COMMAND):
                kind, data = "command", self._carry_out(body)
            else:
                message = unpack(body)
                asked = str(message.pop("kind", ""))[:40]
                kind = asked if asked.isidentifier() else "?"
                if (asked == "hello") == bool(caller.scope):
                    raise BadMessage("a connection must begin with hello")
                data = pack(self._answer(caller, asked, message))
        except (CannotAnswer, CannotRead) as refusal:  # the caller's own process may have what this one lacks
            data = pack({"skew": str(refusal)})
        except (BadMessage, NacreError) as refusal:
            error = {"error": str(refusal), "name": type(refusal).__name__}
        except Exception as bug:  # noqa: BLE001 - a bug in one answer must not take the others with it
            self._log.error("%s failed: %s", kind, error_place(bug))
            error = {"error": type(bug).__name__, "name": "?"}
        self.asked += 1
        self.failed += error is not None
        self._log.info("%s %.1f ms%s", kind, (time.monotonic() - began) * 1000, " error" if error else "")
        return pack(error) if error else data


class Daemon:
    """Serves one workspace. With `on_demand` it ends after a while without requests, and runs the jobs only if the settings say so.
    `http` is the port of the command line, 0 for any; without it that of the settings, where 0 means none."""

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
        self._settings: list[bytes] = []
        self._settings = self._read_settings()
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
        self._page: PageEndpoint | None = None
        self._opening = threading.Lock()
        if http is not None or memory.config.serve.port:
            try:
                port = memory.config.serve.port if http is None else http
                self._http = self._open_http(memory.config.serve.host, port)
            except BaseException as error:
                if http is not None or not isinstance(error, BadSetting):
                    self._endpoint.leave()
                    raise
                self._log.warning("no http: %s", type(error.__cause__).__name__)
                self._http_error = str(error)

    def _open_http(self, host: str, port: int) -> Listener:
        """Listen for MCP and, for the owner on this machine, the page."""
        from nacre.http import Listener, read_token, token, token_file
        from nacre.mcp.http import McpEndpoint
        from nacre.mcp.server import Server as McpServer

        Scope.parse(self._http_scope)
        root, scope = self._memory.workspace.root, self._http_scope
        server = McpServer(lambda: self._requests.memory_of(scope), group=scope != "main")
        token(root, scope)

        # As it stands in its file: who removed that has shut out whoever knew it, until "nacre serve --token" makes another.
        current_token = partial(read_token, token_file(root, scope))
        listener = Listener(host, port, self._log)
        endpoints: list[HttpEndpoint] = [McpEndpoint(server, current_token)]
        if scope == "main" and listener.gate.is_local:
            from nacre.web.app import PageEndpoint

            token(root, "page")
            memories, secret = partial(self._requests.memory_of, "main"), partial(read_token, token_file(root, "page"))
            self._page = PageEndpoint(memories, secret, current_token, self._revision, self._log)
            endpoints.append(self._page)
        listener.endpoints = endpoints
        return listener

    def _revision(self) -> object:
        """A value that differs after every change of memory or of its history."""
        try:
            history = os.stat(operations_file(self._memory.workspace)).st_size
        except OSError:
            history = 0
        return self._watcher.updates, history

    def _invite(self, language: object) -> dict[str, Any]:
        """A link to the page, for one use and soon, in a language; HTTP is opened for it where there is none."""
        with self._opening:
            if self._http is None:
                try:
                    self._http = self._open_http("127.0.0.1", _USUAL_PORT)
                except BadSetting:  # somebody else's
                    self._http = self._open_http("127.0.0.1", 0)
                self._http.start()
        if self._page is None:
            raise BadInput(
                "This daemon serves HTTP to a group or to other machines, so the web page is not available. "
                'Stop the daemon with "nacre serve --stop", then try again.',
                "此守护进程的 HTTP 服务对群组或其他机器开放，而网页只允许在仅供你在本机访问时打开。请先用“nacre serve --stop”停止守护进程，然后重试。",
            )
        return {"url": f"{self._http.url}/enter/{self._page.invite('zh' if language == 'zh' else 'en')}"}

    @property
    def http(self) -> dict[str, Any] | None:
        """The addresses over HTTP, or why there are none; None where HTTP is not wanted."""
        if self._http is None:
            return {"trouble": self._http_error} if self._http_error else None
        return {
            "url": f"{self._http.url}/mcp",
            "page": f"{self._http.url}/" if self._page else None,
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
        for part in (self._http, self._watcher, self._jobs):
            if part:
                part.start()
        threading.Thread(target=self._warm_up, name="warm", daemon=True).start()
        if self._http and not self._http.gate.is_local:
            self._log.warning("HTTP is reachable from other machines")
        try:
            self._server.serve(self._tick)
        except BaseException as error:
            self._log.critical("ended by %s", error_place(error))
            raise
        finally:
            for part in (self._http, self._watcher, self._jobs):
                if part:
                    part.stop()
            self._watcher.join(10)
            self._requests.close()
            self._endpoint.leave()
            self._log.info("%s after %d requests", self._outcome, self._server.asked)
        return self._outcome

    def _warm_up(self) -> None:
        try:
            self._memory.ask("warm", 1)
            self._memory.ask("热", 1)
        except Exception as error:  # noqa: BLE001 - the first question then waits, and is told why
            self._log.warning("could not load the models: %s", error_place(error))
        self._is_warm = True

    def _greet(self, caller: Caller, hello: dict[str, Any]) -> dict[str, Any]:
        """Fix the scope of a connection, and find out whether the client would get the same answers without us."""
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
        own = meaning_of(fast.environment(), keys=keys)
        return isinstance(environment, dict) and meaning_of(environment, keys=keys) == own

    def _answer(self, caller: Caller, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        if kind == "hello":
            return self._greet(caller, message)
        if kind not in _REQUESTS and caller.scope != "main":
            raise BadMessage("not for groups")
        if kind == "stop":
            self._log.info("asked to stop")
            self._server.stop()
            return {"process": os.getpid()}
        if kind == "status":
            return self._status()
        if kind == "open":
            return self._invite(message.get("language"))
        self._must_answer(caller.skew)
        if kind in _REQUESTS:
            return self._requests.answer(caller.scope, kind, message)
        if kind == "ended" and self._jobs and isinstance(transcript := message.get("transcript"), str):
            self._jobs.session_ended(transcript)
            return {}
        raise BadMessage("unknown request")

    def _must_answer(self, skew: str | None) -> None:
        if skew or not self._check_settings():
            raise CannotAnswer(skew or "other settings")
        if not self._endpoint.is_held():  # the workspace was moved or deleted: an answer would make its folders anew
            raise CannotAnswer("the workspace is gone")

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
            "settings": self._settings_error(),
        }

    def _tick(self) -> None:
        now = time.monotonic()
        http = self._http
        watched = self._page.streams if self._page else 0  # by a browser, which asks for nothing but would miss us
        at_work = self._server.busy or (http and http.working > watched) or (self._jobs and self._jobs.at_work)
        last_asked = max(self._server.last_asked, http.last_asked if http else 0.0)
        most = self._memory.config.serve.max_memory_mb * 1_000_000
        if not self._endpoint.is_held() or not os.path.isdir(self._root):
            self._log.warning("the lock or the socket is gone")
            self._server.stop()
        elif self._idle is not None and now - last_asked > self._idle and not (at_work or watched):
            self._log.info("idle")
            self._server.stop()
        elif now - self._began > _LARGE_AGAIN and _resident_memory() > most and not at_work:
            self._restart("too much memory")
        else:
            self._check_settings()

    def _check_settings(self) -> bool:
        """Whether settings, models and code are those that we started with; if not, we restart. Invalid settings are not applied."""
        if self._read_settings() == self._settings or self._settings_error():
            return True
        self._restart("settings, models or code have changed")
        return False

    def _settings_error(self) -> str | None:
        """Why the settings as they are now cannot be understood; those from before are kept then."""
        try:
            if self._read_settings() != self._settings:
                load(Path(self._root))
        except NacreError as error:
            return str(error)
        return None

    def _read_settings(self) -> list[bytes]:
        """The files that settings come from, our own version as it is installed now, and which models are."""
        files = (user_config_file(), Path(self._root, ".nacre", "config.toml"), Path(nacre.__file__))
        models = models_folder()
        try:
            contents = [path.read_bytes() if path.is_file() else b"" for path in files]
            names = sorted(models.iterdir()) if models.is_dir() else []
            return [*contents, *(f"{model.name} {model.stat().st_mtime_ns}".encode() for model in names)]
        except OSError:  # one went away in this moment: the next look sees it
            return self._settings

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
    parts["OPENCLAW_PROFILE"] = environment.get("OPENCLAW_PROFILE", "").strip().removeprefix("default")
    parts |= {name: value for name, value in environment.items() if keys and value and name.endswith("_API_KEY")}
    return parts | {"HOME": home, "TZ": environment.get("TZ", ""), "NACRE_LANGUAGE": language_of(environment)}


def restart_process(arguments: Sequence[str]) -> None:
    """Replace this process by a new one, which reads the settings and the code as they are now."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "nacre", *arguments])  # noqa: S606 - ourselves


def _resident_memory() -> int:
    """The resident memory of this process, in bytes; 0 where the system has no /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class _LogFile(logging.Handler):
    """Appends to a file that only its owner reads, and that is not written through a link; it begins anew when it has grown large."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):  # a full disk is no reason to stop answering
            os.stat(self._path.parent)  # a workspace that is gone is not made again
            add_line(str(self._path.parent), self._path.name, self.format(record), _LOG_BYTES)


def open_log(path: Path) -> logging.Logger:
    """The daemon's own log: kinds, durations and errors, never a question or a word of memory."""
    log = logging.Logger(f"nacre {path}")  # noqa: LOG001 - of its own, not below the root's
    handler = _LogFile(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    return log
