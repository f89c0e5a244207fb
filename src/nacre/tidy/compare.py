"""How a candidate relates to an entry in memory: a duplicate, a successor, in conflict, or unrelated."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nacre.brain.local import likeness
from nacre.brain.local.likeness import CHANGE, FOR_ONCE, UNSURE, Statement, is_reversed, said_to_change, says
from nacre.brain.local.relation import Relation, load, relations, says_the_same
from nacre.text.tokens import tokens

CONFLICT = 0.5  # odds above which two statements cannot both hold
LIKELY = 0.03  # odds above which they cannot, when the new one says goodbye to what the old one turns on
ALIKE = 0.5  # likeness by which one shared name is enough
_IDENTIFIER = re.compile(r"(?<!\w)\w+(?:[-_./]\w+)+")
FILLED = 0.3  # odds above which another number in the same place is one
SLOT = 0.015  # odds above which they cannot, when the new one says that what both speak of has another value now
NEAR = {"en": 0.25, "zh": 0.4}  # likeness under which two statements are not of one matter, whatever words they share
_FUNCTION = frozenset(
    "的了是在我你他她它们有和与及也都就还吗呢吧啊个为之而或被把给对从到要会能可以不没很再又这那上下里后前先一二两三用做说看次时候"
)
_TELLING = 0.45  # and to tell what it is about, where both share much else
_RARE = 0.55  # how rare a word must be, beside one that we do not know at all, to be what a statement turns on
SURE = 0.75  # odds above which another value alone is enough


@dataclass(frozen=True)
class EntryParts:
    """A remembered entry taken apart: the whole first, then its statements where it holds several."""

    whole: Statement
    parts: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """How a candidate relates to one entry. `part` is the statement of the entry that is meant, where it holds several."""

    kind: str  # "same", "supersedes", "unclear"
    place: int
    odds: float
    part: int | None = None
    why: str = ""


def compare_with(
    new: Statement, entries: Sequence[EntryParts], core: Statement | None = None
) -> tuple[list[Comparison], float]:
    """The entries that a candidate repeats, supersedes or conflicts with, the surest first, and the odds that all of it is there."""
    flat: list[tuple[int, int | None, Statement]] = []
    for place, entry in enumerate(entries):
        flat.append((place, None, entry.whole))
        flat += [(place, number, part) for number, part in enumerate(entry.parts)]
    statements = [statement for _, _, statement in flat]
    by_entry: dict[int, list[Comparison]] = {}
    near = relations(statements, new)
    for relation in near:
        place, part, old = flat[relation.place]
        if comparison := _compare(old, new, relation, place, part):
            by_entry.setdefault(place, []).append(comparison)
    if core is not None and core.text != new.text:  # the rule itself may be there, whatever was said beside it
        for relation in relations(statements, core):
            place, part, old = flat[relation.place]
            if says_the_same(old, core, relation):
                by_entry.setdefault(place, []).append(Comparison("same", place, relation.same, part))
    surest: list[Comparison] = []
    for comparisons in by_entry.values():
        best = max(comparisons, key=lambda comparison: comparison.odds)
        if best.kind != "same" and best.part is None:  # where part of the entry is stale, the part that is meant
            parts = [other for other in comparisons if other.kind == best.kind and other.part is not None]
            best = max(parts, key=lambda comparison: comparison.odds, default=best)
        surest.append(best)
    same = max((relation.same for relation in near), default=0.0)
    return sorted(surest, key=lambda comparison: -comparison.odds), same


def _compare(old: Statement, new: Statement, near: Relation, place: int, part: int | None) -> Comparison | None:
    differs = likeness.parts_ways(old, new)
    leaves = _turns_on(old, new, likeness.left_behind(old, new))
    if says_the_same(old, new, near) and not (leaves and differs):
        return Comparison("same", place, near.same, part)
    passing, is_unsure = says(FOR_ONCE, new.text, new.language), says(UNSURE, new.text, new.language)
    if is_reversed(old, new) and not passing:
        kind, why = ("unclear", "unsure") if is_unsure else ("supersedes", "slot")
        return Comparison(kind, place, max(near.clash, SURE), part, why)
    # What says that the new statement takes the place of the old, and the odds that this needs.
    if leaves:
        why, needed = "goodbye", LIKELY
    elif differs and not passing and _of_one_matter(old, new) and _has_slot(old, new, near):
        why, needed = "slot", SLOT
    elif differs and says(CHANGE, new.text, new.language):
        why, needed = "change", CONFLICT
    else:
        why, needed = "value" if likeness.other_value(old, new) else "clash", SURE
    if near.clash < needed or (why in ("change", "value", "clash") and len(_in_common(old, new)) < 2):
        return None
    if is_unsure:
        return Comparison("unclear", place, near.clash, part, "unsure") if near.clash >= CONFLICT else None
    return Comparison("unclear" if why == "clash" else "supersedes", place, near.clash, part, why)


def _has_slot(old: Statement, new: Statement, near: Relation) -> bool:
    """Whether the new statement gives the same thing another value: a change, another number, or leave for what was forbidden."""
    common = _in_common(old, new)
    changed = said_to_change(old, new) & common
    if changed and len(common) > 1 and _has_name(common, new):
        return True
    if changed and near.clash >= CONFLICT and _has_name(changed - _parts(old, new), new):
        return True
    if likeness.fills_otherwise(old, new) and len(common) > 2 and near.clash >= FILLED:
        return True
    if not likeness.lifts_a_ban(old, new):
        return False
    return len(common) > 1 or (_has_name(common, new) and (_meaning(old, new) or 0.0) >= ALIKE)


def _turns_on(old: Statement, new: Statement, words: frozenset[str]) -> bool:
    """Whether the old statement turns on one of these words: a name, a number, a rare word; and both are of one matter."""
    if not words or says(FOR_ONCE, new.text, new.language) or not _of_one_matter(old, new):
        return False
    weights = load(new.language, "bare")
    if any(word not in weights.rarity or any(sign.isdigit() for sign in word) for word in words - _parts(old, new)):
        return True  # a name or a number
    common = _in_common(old, new)
    telling = any(weights.rarity.get(word, weights.rarest) >= _TELLING * weights.rarest for word in words)
    return (len(common) > 2 and telling) or (len(common) > 1 and _has_name(words, new))


def _has_name(words: Collection[str], new: Statement) -> bool:
    weights = load(new.language, "bare")
    return any(weights.rarity.get(word, weights.rarest) >= _RARE * weights.rarest for word in words)


def _of_one_matter(old: Statement, new: Statement) -> bool:
    meaning = _meaning(old, new)
    return meaning is None or meaning >= NEAR[new.language]


def _meaning(old: Statement, new: Statement) -> float | None:
    if old.language != new.language or old.vector is None or new.vector is None:
        return None
    return float(old.vector @ new.vector)


def _parts(old: Statement, new: Statement) -> set[str]:
    """The parts of names such as "shop-api" that both statements hold: naming the same project is not being of one matter."""
    both = set(_IDENTIFIER.findall(old.text.lower())) & set(_IDENTIFIER.findall(new.text.lower()))
    return {part for name in both for part in tokens(name)}


def _in_common(old: Statement, new: Statement) -> set[str]:
    """The words of both statements. A name of several parts counts once; a lone Han character, or two function ones, not."""
    shared = set(old.words) & set(new.words)
    if new.language == "zh":
        shared = {word for word in shared if len(word) > 1 and not set(word) <= _FUNCTION}
    parts = shared & _parts(old, new)
    return shared - parts | set(sorted(parts)[:1])
