"""The facade over every part: open a workspace, then write, search, capture and look after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.memory.asking import MODES
    from nacre.memory.facade import Memory
    from nacre.memory.indexes import IndexReport
    from nacre.memory.opening import default_place
    from nacre.memory.writing import Written

__all__ = ["MODES", "IndexReport", "Memory", "Written", "default_place"]

_HOMES = {
    "MODES": "asking",
    "IndexReport": "indexes",
    "Memory": "facade",
    "Written": "writing",
    "default_place": "opening",
}


def __getattr__(name: str) -> Any:
    """Each name from where it lives, when it is first used: working memory is written without loading search."""
    if name not in _HOMES:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f"nacre.memory.{_HOMES[name]}"), name)
