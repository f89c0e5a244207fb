"""One remembered thing: a bullet of a log or of MEMORY.md."""

from __future__ import annotations

from dataclasses import dataclass

TYPES = ("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP")
EVERYWHERE = "*"  # in place of a project: it holds in all of them


@dataclass(frozen=True)
class Entry:
    """A line of memory and where it stands. `already` says that it was there before."""

    text: str
    path: str
    line: int
    type: str | None = None
    id: str = ""
    already: bool = False
    project: str = ""  # that its section is stamped with
