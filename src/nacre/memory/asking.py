"""A search as users ask for it, checked: the mode, the number of hits, the days that it is limited to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.clock import Clock, duration
from nacre.config import Config
from nacre.errors import BadInput
from nacre.recall.filters import Filters, Scope
from nacre.words import say

if TYPE_CHECKING:
    from nacre.recall.search import Asked

MODES = ("hybrid", "text", "vector")
MOST = 1000  # hits of one search


def asked(
    config: Config,
    clock: Clock,
    scope: Scope,
    *,
    limit: int | None,
    min_score: float | None,
    mode: str,
    filters: Filters | None,
) -> Asked:
    """What the search is told beside its words."""
    from nacre.recall.search import Asked

    if mode not in MODES:
        raise BadInput(
            say(
                f'"{mode}" is not a mode; use hybrid, text or vector.',
                f"“{mode}”不是有效模式；请用 hybrid、text 或 vector。",
            )
        )
    wanted = config.search.max_results if limit is None else limit
    if wanted < 1:
        raise BadInput(say("Ask for at least one result.", "请至少要求一条结果。"))
    return Asked(
        limit=min(wanted, MOST),
        mode=mode,
        min_score=min_score,
        filters=filters or Filters(),
        scope=scope,
        clock=clock,
        settings=config.search,
        as_of=clock.fixed is not None,
    )


def day_of(given: str | None, clock: Clock) -> str | None:
    """A day that a filter names: an ISO date, or a length of time before now such as "7d"."""
    if not given:
        return None
    if given[0].isdigit() and given[-1].isalpha():
        try:
            return (clock.now() - duration(given)).date().isoformat()
        except OverflowError:
            return "0001-01-01"  # before anything that was ever written down
    return clock.parse(given).date().isoformat()
