"""Which checkpoints deserve to last: those that were recalled again and again, or that the user marked; each only once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.lifecycle.fold import folded
from nacre.lifecycle.turns import Turn, plan
from nacre.model.problem import Problem
from nacre.vault import refcount
from nacre.vault.tiers import Family
from nacre.vault.workspace import Workspace
from nacre.words import say

_DAY = 86400


@dataclass(frozen=True)
class Nominee:
    """A checkpoint with how often it was recalled, and the rule that nominates it."""

    family: Family
    key: str  # its place in refcount.json
    keys: tuple[str, ...]  # every place there under which it was counted so far
    entry: dict[str, Any]  # as it stands there; of several, all together
    own: float  # when its content is from, in seconds since 1970
    total: int
    week: int
    fortnight: int
    marked: bool
    rule: str


def nominees(workspace: Workspace, clock: Clock, config: Config) -> tuple[list[Nominee], tuple[Problem, ...]]:
    """Who is nominated, the most recalled first, and trouble on the way. Reads, and writes nothing."""
    made = plan(workspace, clock, config)
    found = [one for turn in made.turns if (one := _nominee(turn, clock, config))]
    return sorted(found, key=lambda one: (-one.total, one.key)), made.left


def _nominee(turn: Turn, clock: Clock, config: Config) -> Nominee | None:
    kept, dated = turn.kept, turn.dated
    if kept.strange:
        return None
    stored = dict(kept.entry or refcount.new(dated.noted))
    entry, _ = folded(stored, kept.asked, dated.first, clock)
    if entry.get("promoted"):
        return None
    now = clock.now().timestamp()
    moments = refcount.moments(entry, clock)
    week, fortnight = (sum(now - days * _DAY < one <= now for one in moments) for days in (7, 14))
    told = entry.get("total")
    known = isinstance(told, int | float) and refcount.is_number(told) and 0 <= told < 1e9
    total = int(told) if known and isinstance(told, int | float) else len(moments)
    marked = entry.get("user_marked") is True
    rule = _rule(config, week, fortnight, total, marked=marked)
    if rule is None:
        return None
    key = kept.keys[0] if kept.keys else turn.family.lead.place
    return Nominee(turn.family, key, kept.keys, stored, dated.own, total, week, fortnight, marked, rule)


def _rule(config: Config, week: int, fortnight: int, total: int, *, marked: bool) -> str | None:
    """The first rule that is met, in words."""
    limits = config.promote
    if week >= limits.week:
        return say(
            f"recalled {week} times in 7 days (promote.week = {limits.week})",
            f"7 天内调用 {week} 次（promote.week = {limits.week}）",
        )
    if fortnight >= limits.fortnight:
        return say(
            f"recalled {fortnight} times in 14 days (promote.fortnight = {limits.fortnight})",
            f"14 天内调用 {fortnight} 次（promote.fortnight = {limits.fortnight}）",
        )
    if total >= limits.total:
        return say(
            f"recalled {total} times in all (promote.total = {limits.total})",
            f"总共调用 {total} 次（promote.total = {limits.total}）",
        )
    return say("marked by the user, or brought back from forgotten", "由用户标记，或从遗忘层找回") if marked else None
