"""One line of a day's log, before it is written."""

from __future__ import annotations

from dataclasses import dataclass


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
