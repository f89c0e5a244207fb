"""What belongs to one fact: the ledger and the trail tell which entries and bullets say the same thing in other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nacre.lifecycle.lines import Line
from nacre.lifecycle.target import Target
from nacre.vault.ledger import Standing, identity
from nacre.vault.tombstones import normal
from nacre.vault.trail import mark_of
from nacre.words import say


@dataclass(frozen=True)
class Fact:
    """One thing that memory knows. Its ids in the ledger and its marks in the trail each say why they belong to it."""

    id: str
    words: str
    ids: Mapping[str, str]
    marks: Mapping[str, str]
    normal: Mapping[str, str]  # its wordings, as tombstones know them, with the same reasons
    beside: Mapping[str, str] = field(default_factory=dict)  # ids that are only akin to it

    def reason(self, line: Line) -> str | None:
        """Why a line belongs to the fact; None when it does not."""
        told = (self.ids.get(known) for known in line.ids)
        marked = (self.marks.get(mark) for mark in line.marks)
        worded = (self.normal.get(form) for form in line.normal)
        return next((reason for reason in (*told, *marked, *worded) if reason), None)

    def akin(self, line: Line) -> str | None:
        """Why a line is like the fact without belonging to it, as far as the ledger knows."""
        return next((self.beside[known] for known in line.ids if known in self.beside), None)


def same_words() -> str:
    return say("the same words", "相同的内容")


def connected(target: Target, known: Mapping[str, Standing], *, older: bool = True) -> Fact:
    """The fact that a target is part of. `known` is what the ledger says of every entry.

    With `older` what it superseded or took in belongs to it too.
    """
    ids = {target.id: same_words()}
    marks: dict[str, str] = {}
    forms: dict[str, str] = {}
    if target.words:
        forms[normal(target.words)] = same_words()
        ids[identity(target.words)] = same_words()
        marks[mark_of(f"- {target.words}")] = same_words()
    if target.line:
        ids |= dict.fromkeys(target.line.ids, same_words())
        marks |= dict.fromkeys(target.line.marks, same_words())
        forms |= dict.fromkeys(target.line.normal, same_words())
    _learned_from(ids, marks, known)
    own = set(ids)
    if older:
        _older(ids, marks, known)
    beside = _above(own, ids, known)
    for entry, reason in ids.items():
        if entry in known and (text := known[entry].text):
            forms.setdefault(normal(text), reason)
    return Fact(target.id, target.words, ids, marks, forms, beside)


def choices(targets: Sequence[Target], known: Mapping[str, Standing]) -> tuple[Target, ...]:
    """The targets without those that belong to the fact of one before them."""
    chosen: list[Target] = []
    facts: list[Fact] = []
    for target in targets:
        if not target.line or not any(fact.reason(target.line) for fact in facts):
            chosen.append(target)
            facts.append(connected(target, known))
    return tuple(chosen)


def _learned_from(ids: dict[str, str], marks: dict[str, str], known: Mapping[str, Standing]) -> None:
    """Entries that were made of one of the bullets say the same; so do the bullets that the entries were made of."""
    for one in known.values():
        if (bullet := one.source.get("bullet")) and bullet in marks and one.id not in ids:
            ids[one.id] = say("learned from it", "由它得来")
    for entry in list(ids):
        if (made := known.get(entry)) and (bullet := made.source.get("bullet")):
            marks.setdefault(bullet, say("what it was learned from", "它的来源"))


def _older(ids: dict[str, str], marks: dict[str, str], known: Mapping[str, Standing]) -> None:
    """What was merged into the fact or superseded by it, and what that was made of."""
    merged, superseded = say("merged into it", "已并入它"), say("superseded by it", "已被它取代")
    inside: dict[str, dict[str, str]] = {}
    for one in known.values():
        if one.into:
            inside.setdefault(one.into, {})[one.id] = superseded if one.verdict == "superseded" else merged
    waiting = list(ids)
    while waiting:
        current = waiting.pop()
        found = dict(inside.get(current, {}))
        if (newer := known.get(current)) and newer.supersedes:
            found[newer.supersedes] = superseded
        for entry, reason in found.items():
            if entry in ids:
                continue
            ids[entry] = reason
            waiting.append(entry)
            if (made := known.get(entry)) and (bullet := made.source.get("bullet")):
                marks.setdefault(bullet, reason)


def _above(own: set[str], ids: dict[str, str], known: Mapping[str, Standing]) -> dict[str, str]:
    """The entry that the fact was merged into says it too. What else went into that entry is only akin: its ids, with reasons."""
    beside: dict[str, str] = {}
    for current in own:
        into = known[current].into if current in known else None
        while into and into not in ids:
            ids[into] = say("it went into this", "它已归入这一条")
            akin = say("went into the same entry", "归入了同一条")
            beside |= {one.id: akin for one in known.values() if one.into == into and one.id not in ids}
            into = known[into].into if into in known else None
    return beside
