"""The facade over every part: open a workspace, then write, search, capture and look after it."""

from __future__ import annotations

from nacre.memory.asking import MODES
from nacre.memory.facade import Memory
from nacre.memory.indexes import IndexReport
from nacre.memory.opening import default_place
from nacre.memory.writing import Written

__all__ = ["MODES", "IndexReport", "Memory", "Written", "default_place"]
