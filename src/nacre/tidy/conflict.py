"""How a candidate stands to what is remembered: said already, overtaken by it, at odds with it, or beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.brain.local.likeness import (
    Statement,
    fills_otherwise,
    holds_once,
    is_unsure,
    left_behind,
    parts_ways,
    said_to_change,
    tells_a_change,
)
from nacre.brain.local.relation import Relation, load, relations, says_the_same

CLASH = 0.5  # odds above which two statements cannot both hold
LIKELY = 0.03  # odds above which they cannot, when the new one says goodbye to what the old one turns on
FILLED = 0.3  # odds above which another number in the same place is one
SLOT = 0.05  # odds above which they cannot, when the new one says that what both speak of has another value now
NEAR = {"en": 0.3, "zh": 0.5}  # likeness under which two statements are not of one matter, whatever words they share
_TELLING = 0.58  # how rare a pair of Chinese characters must be to tell anything of the matter
_RARE = 0.55  # how rare a word must be, beside one that we do not know at all, to be what a statement turns on
SURE = 0.65  # odds above which another value alone is enough


@dataclass(frozen=True)
class Known:
    """A remembered entry taken apart: the whole first, then its statements where it holds several."""

    whole: Statement
    parts: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Stand:
    """How a candidate stands to one entry. `part` is the statement of the entry that is meant, where it holds several."""

    kind: str  # "same", "overtakes", "unclear"
    place: int
    odds: float
    part: int | None = None
    why: str = ""


def stand(new: Statement, known: Sequence[Known], core: Statement | None = None) -> tuple[list[Stand], float]:
    """The entries that a candidate repeats, overtakes or clashes with, the most certain first, and the odds that it says
    nothing that is not there. An entry that it neither repeats nor touches is not named."""
    flat: list[tuple[int, int | None, Statement]] = []
    for place, one in enumerate(known):
        flat.append((place, None, one.whole))
        flat += [(place, number, part) for number, part in enumerate(one.parts)]
    found: dict[int, list[Stand]] = {}
    near = relations([one for _, _, one in flat], new)
    for relation in near:
        place, part, old = flat[relation.place]
        if told := _told(old, new, relation, place, part):
            found.setdefault(place, []).append(told)
    if core is not None and core.text != new.text:  # the rule itself may be known, whatever was told beside it
        for relation in relations([one for _, _, one in flat], core):
            place, part, old = flat[relation.place]
            if says_the_same(old, core, relation):
                found.setdefault(place, []).append(Stand("same", place, relation.same, part))
    same = max((relation.same for relation in near), default=0.0)
    return sorted(map(_surest, found.values()), key=lambda one: -one.odds), same


def _surest(told: Sequence[Stand]) -> Stand:
    """The surest reading of an entry; where that is that part of it is stale, the part that is meant."""
    best = max(told, key=lambda one: one.odds)
    parts = [one for one in told if one.kind == best.kind and one.part is not None]
    if best.kind == "same" or best.part is not None or not parts:
        return best
    return max(parts, key=lambda one: one.odds)


def _told(old: Statement, new: Statement, near: Relation, place: int, part: int | None) -> Stand | None:
    differs = parts_ways(old, new)
    leaves = _turns_on(old, new, left_behind(old, new))
    if says_the_same(old, new, near) and not (leaves and differs):
        return Stand("same", place, near.same, part)
    slot = differs and (_changes_slot(old, new) or (_fills_slot(old, new) and near.clash >= FILLED))
    slot = slot and not holds_once(new.text, new.language)
    changed = tells_a_change(new.text, new.language)
    why = (
        "goodbye"
        if leaves
        else "slot"
        if slot
        else "change"
        if changed and differs
        else "value"
        if differs
        else "clash"
    )
    if why in ("change", "value", "clash") and len(_in_common(old, new)) < 2:
        return None
    if near.clash < {"goodbye": LIKELY, "slot": SLOT, "change": CLASH, "value": SURE, "clash": SURE}[why]:
        return None
    if is_unsure(new.text, new.language):
        return Stand("unclear", place, near.clash, part, "unsure") if near.clash >= CLASH else None
    return Stand("unclear" if why == "clash" else "overtakes", place, near.clash, part, why)


def _turns_on(old: Statement, new: Statement, words: frozenset[str]) -> bool:
    """Whether the old statement turns on one of these words: a name, a number, a rare word; and both are of one matter."""
    if not words or holds_once(new.text, new.language):
        return False
    if old.vector is not None and new.vector is not None and float(old.vector @ new.vector) < NEAR[new.language]:
        return False
    weights = load(new.language, "bare")
    if any(word not in weights.rarity or any(sign.isdigit() for sign in word) for word in words):
        return True  # a name or a number
    rare = any(weights.rarity[word] >= _RARE * weights.rarest for word in words)
    return rare and len(_in_common(old, new)) > 1


def _fills_slot(old: Statement, new: Statement) -> bool:
    """Whether both speak of the same, by several words, and give it another number."""
    return fills_otherwise(old, new) and len(_in_common(old, new)) > 2


def _changes_slot(old: Statement, new: Statement) -> bool:
    """Whether the new statement says that what both speak of, by name, has another value now."""
    weights = load(new.language, "bare")
    common = _in_common(old, new)
    named = any(weights.rarity.get(word, weights.rarest) >= _RARE * weights.rarest for word in common)
    return bool(said_to_change(old, new)) and len(common) > 1 and named


def _in_common(old: Statement, new: Statement) -> set[str]:
    """The words that both statements hold. In Chinese a lone character is none, nor is a pair that half of all sentences have."""
    shared = set(old.words) & set(new.words)
    if new.language == "en":
        return shared
    weights = load(new.language, "bare")
    return {
        word
        for word in shared
        if len(word) > 1 and weights.rarity.get(word, weights.rarest) >= _TELLING * weights.rarest
    }
