"""What new entries do to long-term memory by the user's own model: one order for a tidy run, or for a pair of statements."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.brain.local.judge import Judge
from nacre.brain.local.relation import bears_out
from nacre.brain.model import Model
from nacre.brain.orders import Change, Item
from nacre.model import Relation
from nacre.text.tokens import language_of

_LABELS = {"none": "adds", "unclear": "ask"}
_SURE = 0.9


def ask_changes(model: Model, judge: Judge, new: Sequence[Item], memory: Sequence[Item]) -> tuple[Change, ...]:
    """What becomes of each new entry, as far as it passed the gates, which ask the local brain for proof."""

    def proves(old: str, new: str, label: str) -> bool:
        first, second = judge.meant([old, new])
        return bears_out(first, second, label)

    language = language_of("\n".join(item.text for item in new))
    _, gated = model.claims(model.order("distil", language, new, memory, most=len(new)), proves)
    return gated.kept


def compare(model: Model, judge: Judge, old: str, new: str) -> Relation | None:
    """How a new statement stands to a remembered one; none where the answer says nothing that can be used."""
    changes = ask_changes(model, judge, [Item("e1", new, is_entry=True)], [Item("k1", old, is_entry=True)])
    if not changes:
        return None
    relation = changes[0].relation
    if changes[0].verdict == "ask" and relation == "same":  # without proof
        relation = "unclear"
    return Relation(_LABELS.get(relation, relation), _SURE)
