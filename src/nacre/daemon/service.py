"""A daemon from its start to its end: socket, HTTP, watcher and job thread."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.clock import duration
from nacre.config.loading import load
from nacre.daemon import client
from nacre.daemon.job_thread import JobThread
from nacre.daemon.log import close_log, error_place, open_log
from nacre.daemon.process import Endpoint
from nacre.daemon.requests import CannotAnswer, RequestHandler
from nacre.daemon.server import Caller, Server
from nacre.daemon.watcher import Watcher
from nacre.errors import BadSetting, Locked, NacreError
from nacre.i18n import say
from nacre.memory import Memory

if TYPE_CHECKING:
    from nacre.mcp.http import Listener
    from nacre.memory import Memory


class HttpFace:
    """One listener for one scope, fixed when the daemon is started. Where it cannot be, the daemon goes on without."""

    def __init__(
        self,
        memory: Memory,
        desk: RequestHandler,
        log: logging.Logger,
        may_answer: Callable[[], bool],
        *,
        port: int,
        scope: str,
    ) -> None:
        from nacre.mcp import resources
        from nacre.mcp.http import Listener
        from nacre.mcp.server import Face
        from nacre.mcp.token import watched

        self._desk = desk
        self._scope = scope
        self._may_answer = may_answer
        self.asked = 0
        self.last_asked = time.monotonic()
        desk.check(scope)
        face = Face(
            self._call,
            lambda uri: resources.read_resource(self._listening(), uri),
            lambda name: resources.get_prompt(self._listening(), name),
            group=scope != "main",
        )
        word = watched(memory.workspace.root, scope)
        self.listener: Listener = Listener(memory.config.serve.host, port, face, word, log)
        self.log = log

    def start(self) -> None:
        if not self.listener.gate.is_local:
            self.log.warning("http beyond this machine")
        self.listener.start()

    def stop(self) -> None:
        self.listener.stop()

    def status(self) -> dict[str, Any]:
        told = self.listener
        return {
            "url": told.url,
            "scope": self._scope,
            "local": told.gate.is_local,
            "questions": self.asked,
            "trouble": told.trouble,
        }

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._count()
        try:
            answer = self._desk.answer(self._scope, "tool", {"name": name, "arguments": arguments})
        except CannotAnswer as trouble:
            raise _restarting() from trouble
        result: dict[str, Any] = answer["result"]
        return result

    def _listening(self) -> Memory:
        self._count()
        return self._desk.memory_of(self._scope)

    def _count(self) -> None:
        self.asked += 1
        self.last_asked = time.monotonic()
        if not self._may_answer():
            raise _restarting()


def _restarting() -> Locked:
    return Locked(
        say("Nacre starts anew with other settings; ask again in a moment.", "Nacre 正在按新设置重新启动；请稍后再试。")
    )


def open_http(make: Callable[[], HttpFace], log: logging.Logger, *, must: bool) -> tuple[HttpFace | None, str | None]:
    """The HTTP side, or why there is none. Who asked for it on the command line is told by an error."""
    try:
        return make(), None
    except BadSetting as trouble:
        if must:
            raise
        log.warning("no http: %s", type(trouble.__cause__).__name__)
        return None, str(trouble)


# A daemon from its start to its end: takes its post, warms up, answers, watches, runs jobs, and leaves without a
# trace.

STOPPED, RESTART = "stopped", "renew"
_LOOK_AROUND = 5.0  # seconds between looks at memory, settings and our post
_REQUESTS = ("search", "context", "get", "tool", "hook")
_LARGE_AGAIN = (
    600.0  # seconds of life before memory is a reason to start anew: a limit below what it needs must not be a mill
)


class Daemon:
    """One workspace served. `on_demand` ends it when nobody has asked for a while; such a one runs the jobs only where the user wants
    that, because nobody asked for it by name."""

    def __init__(
        self,
        memory: Memory,
        *,
        on_demand: bool = False,
        jobs: bool = True,
        http: int | None = None,
        http_scope: str = "main",
    ) -> None:
        """`http` is the port of the command line, 0 for any; without it that of the settings, where 0 means none."""
        self._memory = memory
        self._root = str(memory.workspace.root)
        self._idle = duration(memory.config.serve.idle).total_seconds() if on_demand else None
        self._settings = client.settings_print(self._root)
        self._unreadable: tuple[str, str] | None = None  # settings that cannot be understood, and why
        self._environment = client.environment_print(self._root)
        self._since = memory.clock.now()
        self._began = time.monotonic()
        self._looked = 0.0
        self._warm = False
        self._outcome = STOPPED
        self._post = Endpoint(memory.workspace)
        self._log = open_log(log_file(memory))
        self._desk = RequestHandler(memory)
        self._watcher = Watcher(memory, self._log)
        timed = not on_demand or memory.config.jobs.on_demand
        self._errands = JobThread(memory, self._log, timed=timed) if jobs else None
        self._server = Server(self._post.listener, self._greet, self._answer, self._log)
        self._http, self._no_http = self._opened_http(http, http_scope)

    def _opened_http(self, asked: int | None, scope: str) -> tuple[HttpFace | None, str | None]:
        port = self._memory.config.serve.port if asked is None else asked
        if asked is None and not port:
            return None, None

        def make() -> HttpFace:
            return HttpFace(self._memory, self._desk, self._log, self._check_settings, port=port, scope=scope)

        try:
            return open_http(make, self._log, must=asked is not None)
        except BaseException:
            self._post.leave()
            raise

    @property
    def http(self) -> dict[str, Any] | None:
        """Where we can be reached over HTTP, or why not; none where nobody wants that."""
        return self._http.status() if self._http else {"trouble": self._no_http} if self._no_http else None

    def serve(self, ready: int | None = None) -> str:
        """Answer until told to stop; whether to end or to start anew. A byte on `ready` says that we listen."""
        self._log.info("started, process %d, version %s", os.getpid(), __version__)
        self._heed_signals()
        if ready is not None:
            with contextlib.suppress(OSError):
                os.write(ready, b"1")
                os.close(ready)
        self._watcher.start()
        threading.Thread(target=self._warm_up, name="warm", daemon=True).start()
        if self._errands:
            self._errands.start()
        if self._http:
            self._http.start()
        try:
            self._server.serve(self._tick)
        except BaseException as trouble:
            self._log.critical("ended by %s", error_place(trouble))
            raise
        finally:
            self._leave()
        return self._outcome

    def stop(self) -> None:
        self._server.stop()

    def _warm_up(self) -> None:
        try:
            self._desk.warm_up()
        except Exception as trouble:  # noqa: BLE001 - the first question then waits, and is told why
            self._log.warning("not warm: %s", error_place(trouble))
        self._warm = True

    def _leave(self) -> None:
        if self._http:
            self._http.stop()
        self._watcher.end()
        if self._errands:
            self._errands.end()
        self._watcher.join(10)
        self._desk.close()
        self._post.leave()
        self._log.info("%s after %d questions", self._outcome, self._server.asked)
        close_log(self._log)

    def _heed_signals(self) -> None:
        def told(_number: int, _frame: object) -> None:
            if self._server.is_stopping:  # asked twice: somebody is in a hurry, and everything written is whole
                os._exit(0)
            self.stop()

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, told)

    def _greet(self, hello: dict[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
        """Who may ask what: the scope for good, and whether our answers would be those that the caller would make."""
        scope = hello.get("scope")
        if not isinstance(scope, str):
            raise client.BadMessage("no scope")
        skew = self._skew(hello)
        if not skew:
            self._desk.check(scope)
        about: dict[str, Any] = {"version": __version__, "process": os.getpid()}
        return scope, skew, about | ({"skew": skew} if skew else {})

    def _skew(self, hello: dict[str, Any]) -> str | None:
        if hello.get("protocol") != client.PROTOCOL_VERSION or hello.get("version") != __version__:
            if _version_parts(str(hello.get("version"))) > _version_parts(__version__):
                self._renew("a newer client", self._renewable())
            return "another version"
        if isinstance(hello.get("plugin"), str):  # an agent's plugin has no settings of its own: ours are the user's
            return None
        if hello.get("settings") != self._settings:
            self._check_settings()
            return "other settings"
        return "another environment" if hello.get("environment") != self._environment else None

    def _answer(self, caller: Caller, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        if kind == "stop":
            self._must_be_main(caller)
            self._log.info("told to stop")
            self.stop()
            return {"process": os.getpid()}
        if kind == "status":
            self._must_be_main(caller)
            return self._status()
        if caller.skew or not self._check_settings():
            raise CannotAnswer(caller.skew or "other settings")
        if not self._post.is_held():  # the workspace was moved or deleted: an answer would make its folders anew
            raise CannotAnswer("the workspace is gone")
        assert caller.scope is not None
        if kind in _REQUESTS:
            if self._errands:
                self._errands.active = self._memory.clock.now()
            return self._desk.answer(caller.scope, kind, message)
        self._must_be_main(caller)
        if kind == "update":
            self._watcher.look()
            return {}
        if kind == "run" and self._errands:
            return {"begun": self._errands.ask(str(message.get("job")))}
        if kind == "ended" and self._errands and isinstance(transcript := message.get("transcript"), str):
            self._errands.is_over(transcript)
            return {}
        raise client.BadMessage("no such question")

    def _must_be_main(self, caller: Caller) -> None:
        if caller.scope != "main":
            raise client.BadMessage("not for groups")

    def _status(self) -> dict[str, Any]:
        server, watcher = self._server, self._watcher
        if self._unreadable:  # they may be mended by now
            self._check_settings()
        return {
            "process": os.getpid(),
            "version": __version__,
            "workspace": self._root,
            "since": self._since.isoformat(timespec="seconds"),
            "socket": self._post.socket,
            "log": str(log_file(self._memory)),
            "onDemand": self._idle is not None,
            "warm": self._warm,
            "questions": server.asked,
            "failed": server.failed,
            "connections": server.connected,
            "memoryMb": round(resident_memory() / 1e6, 1),
            "descriptors": open_descriptors(),
            "watching": watcher.mode,
            "watchingReason": watcher.reason,
            "watchingAgainIn": watcher.tries_again_in,
            "updates": watcher.updates,
            "jobs": self._errands.status() if self._errands else None,
            "http": self.http,
            "settings": self._unreadable[1] if self._unreadable else None,
        }

    def _tick(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_AROUND:
            return
        self._looked = now
        if not self._post.is_held() or not os.path.isdir(self._root):
            self._log.warning("the lock or the socket is gone")
            self.stop()
        elif self._idle is not None and now - self._last_asked() > self._idle and not self._works():
            self._log.info("nobody asks")
            self.stop()
        elif self._is_too_large(now) and not self._works():
            self._renew("too much memory", possible=True)
        else:
            self._check_settings()

    def _is_too_large(self, now: float) -> bool:
        most = self._memory.config.serve.max_memory_mb * 1_000_000
        return now - self._began > _LARGE_AGAIN and resident_memory() > most

    def _last_asked(self) -> float:
        return max(self._server.last_asked, self._http.last_asked if self._http else 0.0)

    def _works(self) -> bool:
        over_http = self._http is not None and self._http.listener.busy > 0
        return self._server.busy > 0 or over_http or bool(self._errands and self._errands.at_work)

    def _check_settings(self) -> bool:
        """Whether we still are what the settings ask for; if not, we start anew. What cannot be understood asks for nothing yet."""
        found = client.settings_print(self._root)
        if found == self._settings:
            self._unreadable = None
            return True
        if self._unreadable and self._unreadable[0] == found:
            return True
        try:
            load(Path(self._root))
        except NacreError as trouble:
            self._unreadable = found, str(trouble)
            self._log.warning("the settings cannot be understood, those from before hold: %s", error_place(trouble))
            return True
        self._renew("other settings", possible=True)
        return False

    def _renew(self, reason: str, possible: bool) -> None:
        """Start anew, or end where that would bring back the same."""
        if not self._server.is_stopping:
            self._outcome = RESTART if possible else STOPPED
            self._log.info("%s: %s", self._outcome, reason)
            self.stop()

    def _renewable(self) -> bool:
        """Whether what lies on disk is another version than the one that runs."""
        import nacre

        try:
            text = Path(nacre.__file__).read_text(encoding="utf-8")
        except OSError:
            return False
        return f'__version__ = "{__version__}"' not in text


def log_file(memory: Memory) -> Path:
    return memory.workspace.machine / "daemon.log"


def restart_process(arguments: Sequence[str]) -> None:
    """Become a new process with nothing in memory, and with the settings and the code as they are now."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "nacre", *arguments])  # noqa: S606 - ourselves


def resident_memory() -> int:
    """How much memory we hold, in bytes; 0 where the system does not say it cheaply."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def open_descriptors() -> int | None:
    """How many files and sockets are open; None where the system does not say."""
    try:
        return len(os.listdir("/proc/self/fd")) - 1
    except OSError:
        return None


def _version_parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())
