"""Loads the SDK without its HTTP half, which a client over stdin and stdout never meets and which is a third of what loading costs.

The packages `mcp` and `mcp.server` load everything that they offer, and the low-level server names web frameworks that only its HTTP
application uses. Here the two packages are entered without that, and what is of HTTP is stood in for by empty modules. Where the SDK
turns out to be another than the one that we know, it is loaded as it is: slower, and nothing else.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

_SERVER = "mcp.server.lowlevel.server"
_PACKAGES = ("mcp", "mcp.server")
_HTTP = (
    "starlette",
    "mcp.server.auth",
    "mcp.server.streamable_http",
    "mcp.server.streamable_http_manager",
    "mcp.server.transport_security",
)
# What the server takes from there. None of it is touched without an HTTP application.
_KNOWN = frozenset(
    "Starlette Middleware AuthenticationMiddleware Mount Route AuthContextMiddleware BearerAuthBackend RequireAuthMiddleware "
    "OAuthAuthorizationServerProvider TokenVerifier build_resource_metadata_url create_auth_routes create_protected_resource_routes "
    "AuthSettings EventStore DEFAULT_MAX_SESSIONS DEFAULT_SESSION_IDLE_TIMEOUT StreamableHTTPASGIApp StreamableHTTPSessionManager "
    "DEFAULT_MAX_REQUEST_BODY_SIZE TransportSecuritySettings".split()
)


class Absent:
    """Stands for whatever an empty module is asked for."""


class _Empty(types.ModuleType):
    def __getattr__(self, name: str) -> type[Absent]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent


class _Without(MetaPathFinder, Loader):
    """Finds an empty module in the place of each that is of HTTP."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if any(fullname == one or fullname.startswith(f"{one}.") for one in _HTTP):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def load() -> None:
    """Make `mcp.server.lowlevel.server` and `mcp.server.stdio` importable at the least cost."""
    if "mcp" in sys.modules:  # whole, because somebody else uses it
        return
    # Plugins of pydantic are looked for among all installed packages, and would see every word that is checked.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        _load_half()
    except (ImportError, AttributeError, TypeError):
        for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
            del sys.modules[name]


def _load_half() -> None:
    without = _Without()
    sys.meta_path.insert(0, without)
    try:
        for name in _PACKAGES:
            spec = importlib.util.find_spec(name)
            if spec is None:
                raise ImportError(name)
            sys.modules[name] = importlib.util.module_from_spec(spec)
        server = importlib.import_module(_SERVER)
        importlib.import_module("mcp.server.stdio")
    finally:
        sys.meta_path.remove(without)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _Empty)]:
            del sys.modules[name]
    if not {name for name, value in vars(server).items() if value is Absent} <= _KNOWN:
        raise ImportError(_SERVER)
