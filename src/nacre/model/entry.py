"""What is remembered, as values: an entry of a log or of MEMORY.md, what the four-way test says of a statement, what a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nacre.model.report import fields

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


KEEP, ASK, REFUSE = "keep", "ask", "refuse"
TESTS = ("prevents_error", "broad", "self_contained", "novel")


@dataclass(frozen=True)
class Verdict:
    """Keep, ask or refuse; where it is not kept, the tests that it failed, the worst first. `scores` are the odds of passing each."""

    decision: str
    failed: tuple[str, ...]
    without_it: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    worth: float = 0.0  # the odds that it should be kept, everything taken together

    @property
    def admitted(self) -> bool:
        return self.decision == KEEP

    @property
    def odds(self) -> float:
        """How likely it is that all tests are passed."""
        product = 1.0
        for name in TESTS:
            product *= self.scores.get(name, 1.0)
        return product


class Relation(NamedTuple):
    """How a new statement stands to a remembered one: same, replaces, adds, exception or ask; and how sure that is."""

    label: str
    confidence: float


LAYERS = ("longterm", "daily", "weekly", "archive", "note", "hot", "warm", "gist", "forgotten", "extra", "session")


def citation(path: str, first: int, last: int) -> str:
    return f"{path}#L{first}-L{last}"


@dataclass(frozen=True)
class Hit:
    """A passage with its exact lines (both counted from 1, both included) and how it was found."""

    id: str
    path: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    heading: str
    layer: str
    date: str | None
    project: str | None = None
    weak: bool = False  # it hardly answers
    superseded: bool = False  # a newer statement takes its place
    also: tuple[str, ...] = ()  # where else the same is said, as citations
    text_score: float = 0.0
    vector_score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The corpus: "memory", or "sessions" for what stands in a transcript."""
        return "sessions" if self.layer == "session" else "memory"

    @property
    def citation(self) -> str:
        return citation(self.path, self.start_line, self.end_line)

    @property
    def places(self) -> list[tuple[str, int, int]]:
        """Where this is said, itself first: path, first and last line."""
        places = [(self.path, self.start_line, self.end_line)]
        for place in self.also:
            path, _, lines = place.rpartition("#L")
            first, _, last = lines.partition("-L")
            places.append((path, int(first), int(last)))
        return places

    def as_plain(self) -> dict[str, Any]:
        """By the names that agents know; how the score was come by is left out."""
        names = "id path start_line end_line heading score vector_score text_score snippet source layer date citation weak superseded"
        row = fields(self, names, also=list(self.also), provenance=dict(self.provenance))
        return row | ({"project": self.project} if self.project else {})


@dataclass(frozen=True)
class SearchReport:
    """The hits of one question and how they were come by."""

    hits: tuple[Hit, ...]
    mode: str
    model: str | None
    provider: str | None
    fallback: str | None = None  # why vectors took no part, when they were asked for
    abstained: bool = False
    stale: bool = False  # part of the index is still being made
    took_ms: float = 0.0

    def as_plain(self) -> dict[str, Any]:
        """By the names that agents know."""
        names = "results mode model provider fallback abstained disabled stale"
        results, took = [hit.as_plain() for hit in self.hits], round(self.took_ms, 2)
        return fields(self, names, results=results, disabled=False, tookMs=took)
