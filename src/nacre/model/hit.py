"""What a search returns, and the layers of memory by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.model.report import fields

LAYERS = ("longterm", "daily", "weekly", "archive", "note", "hot", "warm", "gist", "forgotten", "extra", "session")


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
        return f"{self.path}#L{self.start_line}-L{self.end_line}"

    def as_plain(self) -> dict[str, Any]:
        """By the names that agents know; how the score was come by is left out."""
        names = "id path start_line end_line heading score vector_score text_score snippet source layer date citation"
        row = fields(self, names, provenance=dict(self.provenance))
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
