"""Word lists and expressions that are kept as data, in tables beside the modules that read them.

A row is a name, a tab and a text; a row that begins with a tab goes on with the text above it, and ⟨name⟩ stands for another text of the
same table, further up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent.parent


@cache
def texts(table: str) -> Mapping[str, str]:
    """The texts of a table (`guard/privacy.tsv`) by their names."""
    rows: dict[str, list[str]] = {}
    name = ""
    for line in (_ROOT / table).read_text(encoding="utf-8").split("\n"):
        if line and line[0] != "#":
            first, _, text = line.partition("\t")
            name = first or name
            rows.setdefault(name, []).append(text)
    whole: dict[str, str] = {}
    for name, parts in rows.items():
        whole[name] = re.sub("⟨([^⟩]+)⟩", lambda match: whole[match[1]], "".join(parts))
    return whole


@cache
def words(table: str, name: str) -> frozenset[str]:
    return frozenset(texts(table)[name].split())


@cache
def expression(table: str, name: str) -> re.Pattern[str]:
    """A compiled expression, made when it is first needed."""
    return re.compile(texts(table)[name])
