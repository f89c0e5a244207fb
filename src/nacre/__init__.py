"""Memory for AI agents, laid down in layers.

from nacre import Memory

memory = Memory.init("~/notes")
memory.remember("Use pnpm, never npm", type="PREF")
for hit in memory.search("which package manager?"):
    print(hit.citation, hit.snippet)
"""

from __future__ import annotations

TYPE_CHECKING = (
    False  # as in typing, without the import: a question to the daemon costs little more than Python's start
)
if TYPE_CHECKING:
    from typing import Any

    from nacre.errors import NacreError
    from nacre.memory import Memory
    from nacre.model import Entry, Hit

__version__ = "0.1.0"
__all__ = ["Entry", "Hit", "Memory", "NacreError", "__version__"]

_HOMES = {
    "Memory": "nacre.memory",
    "Hit": "nacre.model",
    "Entry": "nacre.model",
    "NacreError": "nacre.errors",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """The public names, imported when first used: `import nacre` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
