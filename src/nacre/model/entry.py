"""One remembered thing: an entry of a log or of MEMORY.md, and a bullet before it is written."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = {"en": 240, "zh": 110}  # characters of an entry in long-term memory, which has 5 KB for everything
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


@dataclass(frozen=True, slots=True)
class Bullet:
    """What was worth a line: the words, the kind of memory, and the entries of the transcript that it rests on."""

    text: str
    type: str | None = None
    sources: tuple[str, ...] = ()
    by_agent: bool = False  # the agent's word alone: it never becomes a rule, a preference or a decision

    @property
    def line(self) -> str:
        return f"[{self.type}] {self.text}" if self.type else self.text
