"""Which entries and lines belong to one fact, by the ledger and the provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nacre.forget.target import MemoryLine, Target
from nacre.i18n import say
from nacre.vault.entries import bullet_id, entry_id, normal_words
from nacre.vault.ledger import EntryState


@dataclass(frozen=True)
class Fact:
    """One thing that memory knows. Its ids in the ledger and its marks in the trail each say why they belong to it."""

    id: str
    words: str
    ids: Mapping[str, str]
    marks: Mapping[str, str]
    normal: Mapping[str, str]  # its wordings, as tombstones know them, with the same reasons
    beside: Mapping[str, str] = field(default_factory=dict)  # ids and marks that are only akin to it
    named: MemoryLine | None = None  # the line that the user pointed at
    origins: frozenset[tuple[str, str]] = (
        frozenset()
    )  # days and marks of the bullets that the ledger says it was made of
    entries: frozenset[str] = frozenset()  # ids of the entries that the ledger says were made of the named line

    def reason(self, line: MemoryLine) -> str | None:
        """Why a line belongs to the fact; None when it does not. Few words prove nothing: they are said of many things."""
        if self.named and (line.path, line.start, line.end) == (self.named.path, self.named.start, self.named.end):
            return same_words()
        return self._worded(line) if line.is_telling or self._is_proven(line) else None

    def _worded(self, line: MemoryLine) -> str | None:
        told = (self.ids.get(known) for known in sorted(line.ids))
        marked = (self.marks.get(mark) for mark in line.marks)
        return next((reason for reason in (*told, *marked, self.normal.get(line.normal)) if reason), None)

    def _is_proven(self, line: MemoryLine) -> bool:
        """Whether the ledger, rather than its words, ties a line to the fact."""
        learned = line.layer == "longterm" and bool(line.ids & self.entries)
        return learned or any((line.day, mark) in self.origins for mark in line.marks)

    def akin(self, line: MemoryLine) -> str | None:
        """Why a line is like the fact without belonging to it: as far as the ledger knows, or by its words alone."""
        if reason := next((self.beside[one] for one in (*sorted(line.ids), *line.marks) if one in self.beside), None):
            return reason
        own = {line.own, line.normal}
        if own & self.normal.keys() or (self.named and self.named.own in own):
            return say("the same words in another place", "别处的相同文字")
        return None


def same_words() -> str:
    return say("the same words", "相同的内容")


def superseded_by_it() -> str:
    return say("superseded by it", "已被它取代")


def fact_of(target: Target, known: Mapping[str, EntryState], *, older: bool = True, superseded: bool = False) -> Fact:
    """The fact that a target is part of. `known` is what the ledger says of every entry.

    With `older` what was merged into it belongs to it too. What it superseded is another statement, and only akin to it unless
    `superseded` says otherwise.
    """
    ids = {target.id: same_words()}
    marks: dict[str, str] = {}
    forms: dict[str, str] = {}
    if target.words:
        forms[normal_words(target.words)] = same_words()
        ids[entry_id(target.words)] = same_words()
        marks[bullet_id(f"- {target.words}")] = same_words()
    if target.line:
        ids |= dict.fromkeys(target.line.ids, same_words())
        marks |= dict.fromkeys(target.line.marks, same_words())
        forms[target.line.normal] = same_words()
    _learned_from(ids, marks, known)
    own = set(ids)
    overtaken = _older(ids, marks, known, superseded=superseded) if older else {}
    beside = {one: reason for one, reason in overtaken.items() if one not in ids and one not in marks}
    beside |= _above(own, ids, known)
    for entry, reason in ids.items():
        if entry in known and (text := known[entry].text):
            forms.setdefault(normal_words(text), reason)
    day = target.line.day if target.line else None
    sources = {one.id: (one.source.get("day", ""), one.source.get("bullet", "")) for one in map(known.get, ids) if one}
    proven = {entry: source for entry, source in sources.items() if all(source) and day in (None, source[0])}
    entries = frozenset(proven) if day else frozenset()
    return Fact(target.id, target.words, ids, marks, forms, beside, target.line, frozenset(proven.values()), entries)


def distinct_targets(targets: Sequence[Target], known: Mapping[str, EntryState]) -> tuple[Target, ...]:
    """The targets without those that belong to the fact of one before them."""
    chosen: list[Target] = []
    facts: list[Fact] = []
    for target in targets:
        if not target.line or not any(fact.reason(target.line) for fact in facts):
            chosen.append(target)
            facts.append(fact_of(target, known))
    return tuple(chosen)


def _learned_from(ids: dict[str, str], marks: dict[str, str], known: Mapping[str, EntryState]) -> None:
    """Entries that were made of one of the bullets say the same; so do the bullets that the entries were made of."""
    for one in known.values():
        if (bullet := one.source.get("bullet")) and bullet in marks and one.id not in ids:
            ids[one.id] = say("learned from it", "由它得来")
    for entry in list(ids):
        if (made := known.get(entry)) and (bullet := made.source.get("bullet")):
            marks.setdefault(bullet, say("what it was learned from", "它的来源"))


def _older(
    ids: dict[str, str], marks: dict[str, str], known: Mapping[str, EntryState], *, superseded: bool
) -> dict[str, str]:
    """What was merged into the fact, and what that was made of. What it superseded too, or else only returned: ids and marks."""
    merged, overtaken = say("merged into it", "已并入它"), superseded_by_it()
    inside: dict[str, dict[str, str]] = {}
    for one in known.values():
        if into := one.into or _superseded_by(one):
            inside.setdefault(into, {})[one.id] = overtaken if _superseded_by(one) else merged
    akin: dict[str, str] = {}
    waiting = list(ids)
    while waiting:
        current = waiting.pop()
        found = dict(inside.get(current, {}))
        if (newer := known.get(current)) and newer.supersedes:
            found.setdefault(newer.supersedes, overtaken)
        for entry, reason in found.items():
            if entry in ids:
                continue
            made = known.get(entry)
            bullet = made.source.get("bullet") if made else None
            if reason == overtaken and not superseded:
                akin |= dict.fromkeys(filter(None, (entry, bullet)), reason)
                continue
            ids[entry] = reason
            waiting.append(entry)
            if bullet:
                marks.setdefault(bullet, reason)
    return akin


def _superseded_by(one: EntryState) -> str | None:
    """The entry that overtook this one as another statement; none where its words were only put differently."""
    last = one.records[-1]
    if one.verdict != "superseded" or not (by := last.more.get("by")):
        return None
    return one.into or str(by)


def _above(own: set[str], ids: dict[str, str], known: Mapping[str, EntryState]) -> dict[str, str]:
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
