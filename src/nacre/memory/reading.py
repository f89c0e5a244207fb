"""Finding and reading what is in memory, and the index that this rests on."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import NacreError
from nacre.memory import asking
from nacre.memory.held import Held
from nacre.memory.indexes import IndexReport
from nacre.recall.filters import Filters, checked

if TYPE_CHECKING:
    from nacre.index.update import Progress, TextReport
    from nacre.model.hit import Hit, SearchReport
    from nacre.recall.layered import RecallReport
    from nacre.recall.pack import ContextPack
    from nacre.recall.read import Excerpt
    from nacre.vault.files import Found


class Reading(Held):
    """What a listener may ask."""

    def index(self, *, progress: Progress | None = None, full: bool = False) -> IndexReport:
        """Bring text and vectors up to date with the files and the settings, and wait."""
        return self._indexes.index(progress=progress, full=full)

    def update(self, *, progress: Progress | None = None, full: bool = False) -> TextReport:
        """Bring the text of the index up to date. A new generation takes over at once when no vectors are to be made."""
        return self._indexes.update(progress=progress, full=full)

    def embed(self, *, progress: Progress | None = None) -> IndexReport:
        """Make the vectors that are missing, then let what was built take over."""
        return self._indexes.embed(progress=progress)

    def waiting(self, found: Sequence[Found] | None = None) -> tuple[int, int]:
        """How many files and transcripts differ from the index, and how many passages have no vector yet."""
        return self._indexes.waiting(found)

    def search(
        self,
        query: str,
        limit: int | None = None,
        *,
        min_score: float | None = None,
        now: str | dt.date | dt.datetime | None = None,
        since: str | None = None,
        until: str | None = None,
        layers: Sequence[str] | None = None,
        mode: str = "hybrid",
        type: str | None = None,  # noqa: A002 - the word users know
        tag: str | None = None,
        path: str | None = None,
        project: str | None = None,
        corpus: str = "memory",
    ) -> list[Hit]:
        """The passages that answer, best first; none when nothing does. `min_score=0` ranks and never abstains."""
        report = self.ask(
            query,
            limit,
            min_score=min_score,
            now=now,
            mode=mode,
            corpus=corpus,
            filters=self.filters(
                since=since, until=until, layers=layers, type=type, tag=tag, path=path, project=project
            ),
        )
        return list(report.hits)

    def filters(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        layers: Sequence[str] | None = None,
        type: str | None = None,  # noqa: A002 - the word users know
        tag: str | None = None,
        path: str | None = None,
        project: str | None = None,
    ) -> Filters:
        """Filters as users give them; a day may be a date, or a length of time before now such as "7d"."""
        days = asking.day_of(since, self.clock), asking.day_of(until, self.clock)
        return checked(Filters(*days, tuple(layers or ()), type=type, tag=tag, path=path, project=project))

    def ask(
        self,
        query: str,
        limit: int | None = None,
        *,
        min_score: float | None = None,
        now: str | dt.date | dt.datetime | None = None,
        mode: str = "hybrid",
        filters: Filters | None = None,
        corpus: str = "memory",
    ) -> SearchReport:
        """`search` with how it was come by: mode, model, fallback, whether we abstained."""
        from nacre.recall.corpora import answer, merged
        from nacre.recall.question import understand

        clock = self.clock.at(now)
        asked = asking.asked(
            self.config, clock, self.scope, limit=limit, min_score=min_score, mode=mode, filters=filters
        )
        question = understand(query, clock.today())
        return merged([answer(one, question, asked) for one in self._indexes.corpora(corpus)], asked.limit)

    def get(self, path: str, start_line: int | None = None, lines: int = 20, *, via: str = "get") -> Excerpt:
        """Lines of a memory file, or of a session as search names it. The path may name them itself: `memory/x.md:12`,
        `memory/x.md#L3-L9`, `#id`. Outside groups a reading counts as a recall; `via` tells which way it went."""
        from nacre.recall.read import place, place_of_id, read, read_session

        bare, named, count = place(path)
        if bare.startswith("#"):
            keeper = self.keeper
            found = keeper.store.safely(lambda: place_of_id(keeper.store, keeper.current(), self.scope, bare))
            if found:
                bare, first, last = found
                count = count or (None if named or start_line else last - first + 1)
                named = named or first
        if bare.startswith("sessions/") and (sessions := self.sessions):
            wanted = sessions, bare, start_line or named or 1, count or lines, self.clock.fixed
            if excerpt := sessions.store.safely(lambda: read_session(*wanted)):
                return excerpt
        seen = (self.keeper.store, self.keeper.current()) if self.scope.group is not None else None
        excerpt = read(self.workspace, self.config, self.scope, bare, start_line or named or 1, count or lines, seen)
        if self.scope.group is None:
            from nacre.recall import counting

            extent = excerpt.start_line, excerpt.end_line
            trouble = counting.count(self.workspace, self.config, self.clock, excerpt.path, extent, via)
            if trouble and not any(one.kind == trouble.kind for one in self.problems):
                self.problems = (*self.problems, trouble)
        return excerpt

    def recall(self, query: str, *, limit: int = 3, dry_run: bool = False) -> RecallReport:
        """What the checkpoints know: hot, warm, gist, forgotten, as far as the first layer that answers.

        What is found becomes young again at once: it moves to a younger layer and is counted. `dry_run` only looks.
        """
        from nacre.recall import layered

        self._must_be_private()
        report = layered.recall(self.workspace, self.config, query, limit)
        if dry_run or not report.found:
            return report
        from nacre.lifecycle.rotate import rotated
        from nacre.recall import counting

        files = [file for one in report.found for file in one.files]
        try:
            report = layered.moved(report, rotated(self.workspace, self.clock, self.config, files))
        except NacreError as trouble:  # locked, or read-only: the answer is worth more than its place
            report = layered.unmoved(report, trouble)
        uncounted = counting.count_recalled(self.workspace, self.clock, report.found, query)
        return dataclasses.replace(report, problems=(*report.problems, uncounted)) if uncounted else report

    def context(
        self,
        budget: int | None = None,
        *,
        query: str | None = None,
        project: str | None = None,
        all_files: bool = False,
        mode: str = "text",
        noted: bool = True,
        here: str | None = None,
    ) -> ContextPack:
        """What a new session is given, within a budget of tokens; a group only what is its own or public.

        `query` adds what answers it; `here` is the folder that the session works in, if not the current one; `noted` keeps the pack for `nacre context --last`. Nothing of it counts as recalled: it was given, not asked for.
        """
        from nacre.memory.giving import give

        return give(self, budget, query=query, project=project, all_files=all_files, mode=mode, noted=noted, here=here)

    def project_here(self, here: str | None = None) -> str | None:
        """The project whose folder the current one lies in, or the one named, by the path at the head of its MEMORY.md."""
        from nacre.vault.projects import project_of

        return project_of(self.workspace, Path(here) if here else Path.cwd())
