"""What time does to a ranking: the present prefers the newest, a named day prefers itself, age otherwise breaks near ties."""

from __future__ import annotations

import datetime as dt
import math

from nacre.recall.fuse import Scored
from nacre.recall.question import Question

EVERGREEN = frozenset({"longterm", "note", "extra"})
NEAR_TIE = 0.005  # how much of the best score age may move a hit by
CONTENDER = 0.8  # of two statements this near to each other the newer is more likely how things stand now
NEWER = 0.1
NOW = 0.25  # instead, when the question says "now"
KEPT = 0.5  # how new long-term memory counts: kept as true, but when was it written?
NAMED_DAY = 0.35


def weigh_time(
    scored: list[Scored], question: Question, today: dt.date, decay: str, half_life: float
) -> dict[int, float]:
    """What to add to each score for its date, by candidate; with `multiply`, OpenClaw's own form, what is lost to age."""
    if not scored:
        return {}
    best = max(one.score for one in scored) or 1.0
    changes: dict[int, float] = {}
    for one in scored:
        date = one.candidate.date
        change = 0.0
        if date and question.first_day and question.last_day and question.first_day <= date <= question.last_day:
            change += NAMED_DAY * best
        fresh = 1.0 if decay == "off" else freshness(date, one.candidate.layer, today, half_life)
        if decay == "multiply":
            change -= one.score * (1 - fresh)
        elif decay == "tie":
            change += NEAR_TIE * best * fresh
        changes[one.candidate.id] = change
    if question.present and decay == "tie":
        weight = NOW if question.now else NEWER
        for number, share in _newest_first(scored, CONTENDER * best).items():
            changes[number] += weight * best * share
    return changes


def _newest_first(scored: list[Scored], least: float) -> dict[int, float]:
    """For the contenders how new they are among themselves, from 0 to 1: by day, then by place in the log.

    Long-term memory is meant to hold how things stand; an undated note says nothing of when.
    """
    contenders = [one.candidate for one in scored if one.score >= least]
    dated = sorted((one for one in contenders if one.date), key=lambda one: (one.date or "", one.file, one.position))
    last = len(dated) - 1
    shares = {one.id: at / last for at, one in enumerate(dated)} if last > 0 else {}
    if len(contenders) > 1:
        shares |= {one.id: KEPT for one in contenders if one.layer == "longterm"}
    return shares


def freshness(date: str | None, layer: str, today: dt.date, half_life: float) -> float:
    """1 for today and for what never fades, halving with every half-life."""
    if not date or layer in EVERGREEN or half_life <= 0:
        return 1.0
    try:
        age = (today - dt.date.fromisoformat(date)).days
    except ValueError:
        return 1.0
    return math.pow(0.5, max(0, age) / half_life)
