"""MCP over stdin and stdout, with the SDK loaded without its HTTP half."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import logging
import os
import re
import signal
import sys
import types
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from nacre.mcp.server import Face, make_server

_SERVER = "mcp.server.lowlevel.server"
_HTTP = (
    "starlette",
    "mcp.server.auth",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
)
# What the server takes from there. None of it is touched without an HTTP application.
_ABSENT_NAMES = frozenset(
    "Starlette Middleware AuthenticationMiddleware Mount Route AuthContextMiddleware BearerAuthBackend RequireAuthMiddleware "
    "OAuthAuthorizationServerProvider TokenVerifier build_resource_metadata_url create_auth_routes create_protected_resource_routes "
    "AuthSettings EventStore DEFAULT_MAX_SESSIONS DEFAULT_SESSION_IDLE_TIMEOUT StreamableHTTPASGIApp StreamableHTTPSessionManager "
    "DEFAULT_MAX_REQUEST_BODY_SIZE TransportSecuritySettings".split()
)
# Everything that a backslash begins in JSON: a whole pair of surrogates, one alone, anything else.
_ESCAPED = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_FINISH_WITHIN = 5.0  # seconds for what is being worked on when the client goes


class Absent:
    """Stands for whatever an empty module is asked for."""


class _EmptyModule(types.ModuleType):
    def __getattr__(self, name: str) -> type[Absent]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent


class _EmptyFinder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        is_http = any(fullname == name or fullname.startswith(f"{name}.") for name in _HTTP)
        return ModuleSpec(fullname, self, is_package=True) if is_http else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def load_sdk() -> None:
    """Make `mcp.server.lowlevel.server` and `mcp.server.stdio` importable at the least cost."""
    if "mcp" in sys.modules:  # whole, because somebody else uses it
        return
    # Plugins of pydantic are looked for among all installed packages, and would see every word that is checked.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    finder = _EmptyFinder()
    sys.meta_path.insert(0, finder)
    try:
        for name in ("mcp", "mcp.server"):  # without running their own code, which imports everything
            spec = importlib.util.find_spec(name)
            if spec is None:
                raise ImportError(name)
            sys.modules[name] = importlib.util.module_from_spec(spec)
        server = importlib.import_module(_SERVER)
        importlib.import_module("mcp.server.stdio")
        if not {name for name, value in vars(server).items() if value is Absent} <= _ABSENT_NAMES:
            raise ImportError(_SERVER)
    except (ImportError, AttributeError, TypeError):  # another SDK than we know is loaded whole
        for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
            del sys.modules[name]
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _EmptyModule)]:
            del sys.modules[name]


def serve(face: Face) -> None:
    """Serve one client until its end of input, or until a signal."""
    import gc

    import anyio

    gc.disable()  # loading leaves hardly any rubbish, and looking for it was a tenth of the start
    load_sdk()
    # Threads of our own write nowhere else: the SDK turns stray output away from the wire, and logging goes to stderr.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="nacre mcp: %(levelname)s %(message)s")
    gc.freeze()  # what was loaded stays; looking through it for rubbish again and again would only cost
    gc.enable()
    anyio.run(_serve, face)
    face.busy.wait(_FINISH_WITHIN)


def without_half_characters(line: str) -> str:
    """A message with a sign for each lone surrogate: the SDK would not read it, and whoever asked would wait for ever."""
    return _ESCAPED.sub(lambda match: "\\ufffd" if match[1] else match[0], line) if "\\u" in line else line


class _Input(io.TextIOWrapper):
    """The lines of the client. Closing leaves the descriptor open: a thread may still wait for the next line."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as TextIOWrapper itself has it
        return without_half_characters(super().readline(size))

    def close(self) -> None:
        with contextlib.suppress(ValueError):
            self.detach()


def _take_input() -> _Input:
    """The client's input, for us alone: who else reads stdin, such as a child, finds it at its end."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return _Input(os.fdopen(own, "rb", closefd=False), encoding="utf-8", errors="replace")


async def _serve(face: Face) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    server = make_server(face)
    lines = anyio.wrap_file(_take_input())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_heed_signals, face)
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _heed_signals(face: Face) -> None:
    """A thread that waits for the next line of input cannot be called back, so the process ends here, its work whole."""
    import anyio

    signals: list[Any] = [signal.SIGTERM, signal.SIGINT]
    try:
        with anyio.open_signal_receiver(*signals) as received:
            async for _ in received:
                face.busy.wait(_FINISH_WITHIN)
                os._exit(0)
    except NotImplementedError:  # Windows: there the client ends us
        await anyio.sleep_forever()
