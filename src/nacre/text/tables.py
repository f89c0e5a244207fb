"""Word lists, expressions and texts for agents that are kept as data, beside the modules that read them.

A row of a table is a name, a tab and a text; a row that begins with a tab goes on with the text above it, and ⟨name⟩ stands for another text of the
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


def rows(table: str) -> dict[str, list[str]]:
    """What stands behind each name of a table whose rows have several columns, such as `cli/help_zh.tsv`."""
    lines = (_ROOT / table).read_text(encoding="utf-8").rstrip("\n").split("\n")
    return {name: cells for name, *cells in (line.split("\t") for line in lines)}


@cache
def wordings(name: str, language: str) -> list[str]:
    """The texts in a file for agents: those of `layers/flush.en.md` stand apart by lines of "==="."""
    text = (_ROOT / f"{name}.{language}.md").read_text(encoding="utf-8")
    return [part.strip() for part in text.split("\n===\n")]
