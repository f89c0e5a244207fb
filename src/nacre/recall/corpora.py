"""What can be searched: memory, and the sessions themselves where the user wants them indexed; one answer from both."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from nacre.index.keeper import Keeper
from nacre.model.hit import SearchReport
from nacre.recall.meaning import MeaningSource
from nacre.recall.question import Question
from nacre.recall.search import Asked, search

CORPORA = ("memory", "sessions", "all")


class Corpus(NamedTuple):
    """An index and the vectors in it."""

    keeper: Keeper
    meaning: MeaningSource
    to_the_second: bool = False  # whether it is known when something was said, not only on which day


def answer(corpus: Corpus, question: Question, asked: Asked) -> SearchReport:
    """Bring an index up to date and search it."""
    keeper, meaning, to_the_second = corpus
    asked = asked._replace(to_the_second=to_the_second)

    def work() -> SearchReport:
        while True:
            epoch = keeper.store.epoch  # before: what was brought up must be what is read
            generation = keeper.current()
            means = meaning.now() if asked.mode != "text" else None
            with keeper.store.reading():  # one moment, whatever others write meanwhile
                if keeper.store.epoch == epoch and keeper.store.live() == generation:
                    return search(keeper.store, generation, question, asked, means)
            # Somebody deleted the index or let a new generation take over: look again.

    report = keeper.store.safely(work)
    return dataclasses.replace(report, stale=report.stale or keeper.outdated())


def merged(reports: Sequence[SearchReport], limit: int) -> SearchReport:
    """One report of several: a score says how sure we are, so hits of different corpora can be compared by it."""
    if len(reports) == 1:
        return reports[0]
    hits = sorted((hit for report in reports for hit in report.hits), key=lambda hit: -hit.score)[:limit]
    first = next((report for report in reports if report.model), reports[0] if reports else None)
    return SearchReport(
        hits=tuple(hits),
        mode=first.mode if first else "text",
        model=first.model if first else None,
        provider=first.provider if first else None,
        fallback=next((report.fallback for report in reports if report.fallback), None),
        abstained=not hits and any(report.abstained for report in reports),
        stale=any(report.stale for report in reports),
        took_ms=sum(report.took_ms for report in reports),
    )
