"""The four-way test: only what prevents a specific mistake, holds for many talks, stands alone and is not there yet is admitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.brain.local.consequence import without_it
from nacre.brain.local.relation import as_statement, relations, says_the_same
from nacre.model.verdict import Verdict

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge, Judged
    from nacre.brain.local.likeness import Statement

LASTING = 0.4  # odds above which a statement passes the first three tests
_CLEAR = 0.3  # odds under which the type is a guess, and what kind of event it was says more
_HEADS = {"a": "prevents_error", "b": "broad", "c": "self_contained"}


@dataclass(frozen=True)
class Tested:
    """A statement with what the classifiers say of it."""

    judged: Judged
    statement: Statement
    kind: str  # its type; never TEMP: what is admitted lasts
    without_it: str | None

    @property
    def text(self) -> str:
        return self.judged.text


def tested(judge: Judge, texts: Sequence[str]) -> list[Tested]:
    """Statements as the classifiers see them, all in one go."""
    return [of(judged) for judged in judge.read(texts)]


def of(judged: Judged) -> Tested:
    kind = _lasting_kind(judged)
    return Tested(judged, as_statement(judged), kind, without_it(judged, kind))


def _lasting_kind(judged: Judged) -> str:
    from nacre.brain.local.classifier import TYPES

    kinds = [kind for kind in TYPES if kind != "TEMP"]
    best = max(kinds, key=lambda kind: judged.chance("type", kind))
    if judged.chance("type", best) >= _CLEAR:
        return best
    return "PREF" if judged.best("category") == "preference" else "TECH"


def verdict(
    one: Tested, existing: Sequence[Statement] = (), *, support: float = 0.0, lasting: float | None = None
) -> Verdict:
    """What the test says. `support` speaks for keeping it: it was announced as a rule, or came up in several talks.
    `lasting` are odds known better than from the text alone."""
    scores = {name: round(1 - one.judged.chance(head, "yes"), 3) for head, name in _HEADS.items()}
    near = relations(existing, one.statement)
    same = max((relation.same for relation in near), default=0.0)
    scores["novel"] = round(1 - same, 3)
    lasts = _raised(one.judged.lasting if lasting is None else lasting, support)
    failed: list[str] = []
    if lasts < LASTING:
        weak = sorted(_HEADS.values(), key=lambda name: scores[name])
        failed = [name for name in weak if scores[name] < 0.5] or weak[:1]
    if one.without_it is None and "prevents_error" not in failed:
        failed.insert(0, "prevents_error")
    if any(says_the_same(existing[relation.place], one.statement, relation) for relation in near):
        failed.append("novel")
    return Verdict(not failed, tuple(failed), one.without_it, scores)


def _raised(odds: float, support: float) -> float:
    """Odds with something that speaks for it, on the scale on which evidence adds up."""
    import math

    odds = min(max(odds, 1e-6), 1 - 1e-6)
    return 1 / (1 + math.exp(-(math.log(odds / (1 - odds)) + support)))


def judged_alone(judge: Judge, text: str, existing: Sequence[str]) -> Verdict:
    """The test of one text against what a memory holds already; writes nothing."""
    first, *others = tested(judge, [text, *existing])
    return verdict(first, [one.statement for one in others])
