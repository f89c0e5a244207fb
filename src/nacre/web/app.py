"""The page as an endpoint of the daemon's HTTP: who is let in, how data becomes a page or JSON, and the stream that tells of changes."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from nacre import errors
from nacre.errors import NacreError, error_place
from nacre.http import Headers, Message, Receive, Reply, Send, has_token, headers_of
from nacre.i18n import language, say, use_language_here
from nacre.memory import Memory, gate_reason
from nacre.web import show
from nacre.web.routes import ACTIONS, VIEWS, Action, View, openapi

_HERE = Path(__file__).parent
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {  # what browsers load, by name
    path.name: (path.read_bytes(), _KINDS[path.suffix])
    for path in sorted([*(_HERE / "static").iterdir(), *(_HERE / "vendor").glob("*.js")])
}
_EDITION = hashlib.sha256(b"".join(data for data, _ in _FILES.values())).hexdigest()[:12]
_LINK_LIVES = 120.0  # seconds
_COOKIE_LIVES = 30 * 86400  # seconds
_LOOK_EVERY = 0.5  # seconds, for changes
_MOST_STREAMS = 16
_STATUS = {
    errors.NotFound: 404, errors.ChangedOutside: 409, errors.Locked: 409, errors.MemoryFull: 409, errors.SecretRefused: 400,
    errors.BadInput: 400,
}  # fmt: skip
_SAFE = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_PREFERENCES = {"language": ("en", "zh"), "theme": ("auto", "light", "dark")}


class PageEndpoint:
    """The page of one workspace, for its owner. `memories` gives memory for one request, `secret` signs the cookie, `token` is the word
    that programs bring instead of it, `revision` is another one after each change."""

    def __init__(
        self,
        memories: Callable[[], Memory],
        secret: Callable[[], str],
        token: Callable[[], str],
        revision: Callable[[], object],
        log: logging.Logger,
    ) -> None:
        self._memories, self._secret, self._token, self._revision, self._log = memories, secret, token, revision, log
        root = str(memories().workspace.root)
        # Cookies know no ports: each workspace has its own.
        self._cookie = f"nacre-{hashlib.sha256(root.encode('utf-8', 'replace')).hexdigest()[:8]}"
        self._links: dict[str, tuple[float, str]] = {}  # until when each may be used, and the language of who asked
        self.streams = 0  # browsers that are told of changes
        self._stopping = False
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            finalize=show.plain,
            undefined=StrictUndefined,
            trim_blocks=True,
        )
        self._templates.globals |= {"say": say, "language": language, "views": VIEWS, "edition": _EDITION}
        shown = (show.day, show.moment, show.linked, show.day_name, show.day_bars, show.homely, show.name)
        self._templates.filters |= {function.__name__: function for function in shown}
        self._templates.filters |= {"words": show.diff, "thousands": "{:,}".format, "reason": gate_reason}
        routes = [
            Route("/enter/{link}", self._enter),
            Route("/events", self._events),
            Route("/preferences", self._prefer, methods=["POST"]),
            Route("/static/{name}", self._static),
            Route("/api/openapi.json", self._openapi),
        ]
        for view in VIEWS:
            routes += [Route(view.path, self._page(view)), Route(f"/api/{view.name}", self._page(view, as_json=True))]
            routes += [Route(f"{view.path}/{{{view.part}:path}}", self._page(view))] if view.part else []
        for action in ACTIONS:
            routes += [
                Route(f"/{action.name}", self._change(action), methods=["POST"]),
                Route(f"/api/{action.name}", self._change(action, as_json=True), methods=["POST"]),
            ]
        self.app = Starlette(
            routes=routes,
            exception_handlers={404: self._missing, 405: self._missing},
            middleware=[Middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)],
        )
        self.app.router.redirect_slashes = False

    def invite(self, language: str) -> str:
        """The last part of a link that lets a browser in once, within two minutes. The page then has this language, unless another
        was chosen there."""
        now = time.monotonic()
        self._links = {link: held for link, held in self._links.items() if held[0] > now}
        self._links[link := secrets.token_urlsafe(24)] = now + _LINK_LIVES, language
        return link

    # As the listener asks.

    def takes(self, path: bytes) -> bool:
        return path.startswith(b"/")

    def refusal(self, scope: Message, headers: Headers) -> Reply | None:
        if scope["method"] not in ("GET", "POST"):
            return Reply(405, b"Method Not Allowed", (b"allow", b"GET, POST"))
        if scope["raw_path"].startswith((b"/enter/", b"/static/")) or self._is_in(scope, headers):
            return None
        if scope["raw_path"].startswith(b"/api/") or scope["method"] == "POST":
            return Reply(401, b"Unauthorized", (b"www-authenticate", b'Bearer realm="nacre"'))
        return None  # a person is told how to come in

    async def answer(self, scope: Message, body: bytes, receive: Receive, send: Send, pool: ThreadPoolExecutor) -> None:
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return given.pop() if given else await receive()

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}
                message["headers"] += [
                    (name.encode(), value.encode()) for name, value in _SAFE.items() if name.encode() not in own
                ]
            await send(message)

        await self.app({**scope, "nacre.pool": pool, "nacre.body": body}, replay, send_safely)

    def stop(self) -> None:
        self._stopping = True

    # Who is let in: a browser by its cookie, a program by its token. A change by cookie also brings the form's own word.

    def _sign(self, *parts: str) -> str:
        return hmac.new(self._secret().encode(), "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    def _session(self, request: Request) -> str | None:
        """The cookie of a browser that was let in."""
        cookie = request.cookies.get(self._cookie, "")
        until, _, signature = cookie.partition(".")
        is_signed = hmac.compare_digest(signature.encode(), self._sign("session", until).encode())
        return cookie if self._secret() and is_signed and until.isdigit() and int(until) > time.time() else None

    def _is_in(self, scope: Message, headers: Headers) -> bool:
        return has_token(headers, self._token()) or self._session(Request({**scope, "type": "http"})) is not None

    def _csrf(self, request: Request) -> str:
        return self._sign("form", self._session(request) or "")

    def _may_change(self, request: Request, given: Mapping[str, Any]) -> bool:
        if has_token(headers_of(request.scope), self._token()):
            return True
        word = request.headers.get("x-csrf-token") or str(given.get("csrf") or "")
        return self._session(request) is not None and hmac.compare_digest(
            word.encode("utf-8", "replace"), self._csrf(request).encode()
        )

    async def _enter(self, request: Request) -> Response:
        """Take a link once, and give the browser its cookie."""
        ends, spoken = self._links.pop(request.path_params["link"], (0.0, ""))
        if request.method != "GET" or ends < time.monotonic():
            return self._locked(request)
        until = str(int(time.time()) + _COOKIE_LIVES)
        response = RedirectResponse("/", status_code=303)
        value = f"{until}.{self._sign('session', until)}"
        response.set_cookie(self._cookie, value, max_age=_COOKIE_LIVES, httponly=True, samesite="strict", path="/")
        _keep_preference(response, "opened-in", spoken)
        return response

    def _locked(self, request: Request) -> Response:
        with self._speaking(request):
            return Response(self._render(request, "locked.html", {}), 401, media_type="text/html")

    # Data → page or JSON.

    def _page(self, view: View, *, as_json: bool = False) -> Callable[[Request], Any]:
        def work(request: Request) -> Response:
            if not self._is_in(request.scope, headers_of(request.scope)):
                return self._locked(request)
            given = {**request.query_params, **request.path_params}
            values = {parameter.name: parameter.read(given) for parameter in view.parameters}
            data = view.data(self._memories(), values)
            if as_json:
                return JSONResponse(data)
            did = next((action for action in ACTIONS if action.name == request.query_params.get("did")), None)
            number, notice = request.query_params.get("operation", ""), None
            if did:
                notice = {"text": say(*did.done), "undo": number if number.isdigit() and did.name != "undo" else None}
            shown = {"data": data, "values": values, "view": view, "notice": notice}
            return Response(self._render(request, f"{view.name}.html", shown), media_type="text/html")

        return self._in_pool(work, as_json=as_json)

    def _change(self, action: Action, *, as_json: bool = False) -> Callable[[Request], Any]:
        def work(request: Request) -> Response:
            given = _given(request)
            if not self._may_change(request, given):
                sentence = say("This form has expired; reload the page.", "此表单已过期；请重新加载页面。")
                return self._refused(request, 403, sentence, as_json=as_json)
            values = {parameter.name: parameter.read(given) for parameter in action.parameters}
            facts = action.do(self._memories(), values)
            if as_json:
                return JSONResponse(facts)
            did = {"did": action.name} | ({"operation": facts["operation"]} if facts.get("operation") else {})
            return RedirectResponse(_back(given, did), status_code=303)

        return self._in_pool(work, as_json=as_json)

    def _in_pool(self, work: Callable[[Request], Response], *, as_json: bool) -> Callable[[Request], Any]:
        """Do the work in a thread, in the language of the request; a known error is shown as its sentence, any other as a bug."""

        def guarded(request: Request) -> Response:
            with self._speaking(request):
                try:
                    return work(request)
                except NacreError as error:
                    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
                    sentence = str(error)
                except Exception as bug:  # noqa: BLE001 - its words may quote a memory
                    self._log.error("page failed: %s", error_place(bug))
                    english = "Something went wrong; see the daemon log for details."
                    status, sentence = 500, say(english, "出错了；详情见守护进程的日志。")
                return self._refused(request, status, sentence, as_json=as_json)

        async def endpoint(request: Request) -> Response:
            return await asyncio.get_running_loop().run_in_executor(request.scope["nacre.pool"], guarded, request)

        return endpoint

    def _refused(self, request: Request, status: int, sentence: str, *, as_json: bool) -> Response:
        if as_json:
            return JSONResponse({"error": sentence}, status)
        shown = {"sentence": sentence, "back": _back(_given(request), {}), "status": status}
        return Response(self._render(request, "refused.html", shown), status, media_type="text/html")

    async def _missing(self, request: Request, error: Exception) -> Response:
        if not self._is_in(request.scope, headers_of(request.scope)):
            return self._locked(request)
        status, as_json = getattr(error, "status_code", 404), request.url.path.startswith("/api/")
        with self._speaking(request):
            return self._refused(request, status, say("Page not found.", "没有这个页面。"), as_json=as_json)

    def _render(self, request: Request, template: str, values: dict[str, Any]) -> str:
        back = _back({"back": f"{request.url.path}?{request.url.query}"}, {})
        hidden = Markup('<input type="hidden" name="csrf" value="{}"><input type="hidden" name="back" value="{}">')
        common = {
            "view": None,
            "notice": None,
            "hidden": hidden.format(self._csrf(request), back),
            "theme": self._preference(request, "theme") or "auto",
            "back": back,
        }
        return self._templates.get_template(template).render(common | values)

    # The rest: preferences, files, changes as they happen.

    def _preference(self, request: Request, name: str) -> str | None:
        value = request.cookies.get(f"nacre-{name}")
        return value if value in _PREFERENCES[name] else None

    @contextmanager
    def _speaking(self, request: Request) -> Iterator[None]:
        """The language chosen on the page, else that of who opened it last, for this thread."""
        use_language_here(self._preference(request, "language") or request.cookies.get("nacre-opened-in"))
        try:
            yield
        finally:
            use_language_here(None)

    async def _prefer(self, request: Request) -> Response:
        """Keep the language or the theme in a cookie."""
        given = _given(request)
        if not self._may_change(request, given):
            return self._locked(request)
        response = RedirectResponse(_back(given, {}), status_code=303)
        for name, choices in _PREFERENCES.items():
            if given.get(name) in choices:
                _keep_preference(response, name, given[name])
        return response

    async def _openapi(self, _request: Request) -> Response:
        return JSONResponse(openapi())

    async def _static(self, request: Request) -> Response:
        data, kind = _FILES.get(request.path_params["name"], (b"", ""))
        lasting = {"cache-control": "public, max-age=31536000, immutable"}
        return Response(data, media_type=kind, headers=lasting) if kind else Response("", 404)

    async def _events(self, request: Request) -> Response:
        """A line for every change of memory, as server-sent events, until the browser leaves or the daemon ends."""
        if not self._is_in(request.scope, headers_of(request.scope)):
            return Response("", 401)
        if self.streams >= _MOST_STREAMS:
            return Response("", 503)
        return StreamingResponse(self._changes(), media_type="text/event-stream")

    async def _changes(self) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            yield b": hello\n\n"
            before, looks = self._revision(), 0
            while not self._stopping:
                await asyncio.sleep(_LOOK_EVERY)
                now, looks = self._revision(), looks + 1
                if now != before:
                    before = now
                    yield b"event: changed\ndata: {}\n\n"
                elif looks % 30 == 0:
                    yield b": still here\n\n"
        finally:
            self.streams -= 1


def _keep_preference(response: Response, name: str, value: str) -> None:
    response.set_cookie(f"nacre-{name}", value, max_age=365 * 86400, httponly=True, samesite="strict")


def _given(request: Request) -> dict[str, Any]:
    """The fields of a form, or of an object of JSON."""
    body: bytes = request.scope["nacre.body"]
    with suppress(ValueError, RecursionError):  # also too many fields
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            value = json.loads(body)
            return value if isinstance(value, dict) else {}
        return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50))
    return {}


def _back(given: Mapping[str, Any], did: Mapping[str, Any]) -> str:
    """The page that a form came from, with what was done: never a place elsewhere."""
    path, _, query = str(given.get("back") or "/").partition("?")
    if not path.startswith("/") or path.startswith(("//", "/\\")) or not path.isascii() or not path.isprintable():
        path, query = "/", ""
    pairs = [pair for pair in parse_qsl(query) if pair[0] not in ("did", "operation")] if len(query) < 2000 else []
    query = urlencode([*pairs, *did.items()])
    return f"{path}?{query}" if query else path
