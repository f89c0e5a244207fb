"""Which entries and lines belong to one fact, by the ledger and the provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from nacre.forget.target import MemoryLine, MemoryLines, Target
from nacre.i18n import say
from nacre.vault.entries import bullet_id, entry_id, normal_words
from nacre.vault.ledger import LedgerStates


@dataclass(frozen=True)
class Fact:
    """One thing that memory knows. Its ids in the ledger and its marks in the provenance each say why they belong to it."""

    id: str
    words: str
    ids: Mapping[str, str]
    marks: Mapping[str, str]
    normal: Mapping[str, str]  # its wordings, as tombstones know them, with the same reasons
    beside: Mapping[str, str] = field(default_factory=dict)  # ids and marks that are only akin to it
    named: MemoryLine | None = None  # the line that the user pointed at
    origins: frozenset[tuple[str, str]] = frozenset()  # days and marks of the bullets that it was made of
    entries: frozenset[str] = frozenset()  # ids of the entries that were made of the named line, by the ledger

    def reason(self, line: MemoryLine) -> str | None:
        """Why a line belongs to the fact; None when it does not. Few words prove nothing: they are said of many things."""
        if self.named and line.span == self.named.span:
            return same_words()
        if not line.is_telling:
            is_learned = line.layer == "longterm" and bool(line.ids & self.entries)
            if not is_learned and not any((line.day, mark) in self.origins for mark in line.marks):
                return None
        reasons = (*(self.ids.get(known) for known in sorted(line.ids)), *(self.marks.get(mark) for mark in line.marks))
        return next(filter(None, (*reasons, self.normal.get(line.normal))), None)

    def akin(self, line: MemoryLine) -> str | None:
        """Why a line is like the fact without belonging to it: as far as the ledger knows, or by its words alone."""
        if reason := next((self.beside[key] for key in (*sorted(line.ids), *line.marks) if key in self.beside), None):
            return reason
        own = {line.own, line.normal}
        if own & self.normal.keys() or (self.named and self.named.own in own):
            return say("the same words in another place", "别处的相同文字")
        return None


def same_words() -> str:
    return say("the same words", "相同的内容")


def superseded_by_it() -> str:
    return say("superseded by it", "已被它取代")


def fact_of(target: Target, states: LedgerStates, *, older: bool = True, superseded: bool = False) -> Fact:
    """The fact that a target is part of.

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
    # Entries that were made of one of the bullets say the same; so do the bullets that the entries were made of.
    for learned in [entry for mark in marks for entry in states.made_of(mark)]:
        ids.setdefault(learned.id, say("learned from it", "由它得来"))
    for entry in list(ids):
        for _, bullet in _sources(states, entry):
            marks.setdefault(bullet, say("what it was learned from", "它的来源"))
    own = list(ids)
    replaced = _add_older(ids, marks, states, superseded=superseded) if older else {}
    beside = {key: reason for key, reason in replaced.items() if key not in ids and key not in marks}
    for current in own:  # what it was merged into belongs to it; what else went into that entry is only akin
        state = states.get(current)
        while state and (into := state.into) and into not in ids:
            ids[into] = say("it went into this", "它已归入这一条")
            akin = say("went into the same entry", "归入了同一条")
            beside |= {other.id: akin for other in states.inside(into) if other.into == into and other.id not in ids}
            state = states.get(into)
    for entry, reason in ids.items():
        if (state := states.get(entry)) and state.text:
            forms.setdefault(normal_words(state.text), reason)
    day = target.line.day if target.line else None
    sources = {entry: _sources(states, entry) for entry in ids}
    proven = {entry: every for entry, every in sources.items() if every and day in (None, every[0][0])}
    origins = frozenset(source for every in proven.values() for source in every)
    entries = frozenset(proven) if day else frozenset()
    return Fact(target.id, target.words, ids, marks, forms, beside, target.line, origins, entries)


def lines_about(facts: Iterable[Fact], lines: MemoryLines, states: LedgerStates) -> list[MemoryLine]:
    """The lines of all files that may say one of the facts; every line where words of one are known by their hash alone."""
    texts: list[str] = []
    days: set[str] = set()
    marks: set[str] = set()
    for fact in facts:
        entries = [state for entry in (*fact.ids, *fact.beside) if (state := states.get(entry))]
        if not fact.words or not all(state.text for state in entries):
            return lines.every()
        texts += [fact.words, *(state.text for state in entries if state.text)]
        texts += [fact.named.whole, fact.named.words] if fact.named else []
        days |= {state.source.get("day", "") for state in entries}
        marks |= fact.marks.keys() | fact.beside.keys()
    return lines.about(texts, days, marks)


def _sources(states: LedgerStates, entry: str) -> list[tuple[str, str]]:
    """The day and the mark of each bullet that an entry was made of."""
    state = states.get(entry)
    return [(day, mark) for mark in state.bullets if (day := state.source.get("day"))] if state else []


def distinct_targets(targets: Sequence[Target], states: LedgerStates) -> tuple[Target, ...]:
    chosen: list[Target] = []
    facts: list[Fact] = []
    for target in targets:
        if not target.line or not any(fact.reason(target.line) for fact in facts):
            chosen.append(target)
            facts.append(fact_of(target, states))
    return tuple(chosen)


def _add_older(ids: dict[str, str], marks: dict[str, str], states: LedgerStates, *, superseded: bool) -> dict[str, str]:
    """Add what was merged into the fact, and what that was made of; what it superseded too, or else only return its ids and marks."""
    merged, replaced = say("merged into it", "已并入它"), superseded_by_it()
    akin: dict[str, str] = {}
    waiting = list(ids)
    while waiting:
        current = waiting.pop()
        older = {state.id: replaced if state.by else merged for state in states.inside(current)}
        if (state := states.get(current)) and state.supersedes:
            older.setdefault(state.supersedes, replaced)
        for entry, reason in older.items():
            if entry in ids:
                continue
            bullets = [mark for _, mark in _sources(states, entry)]
            if reason == replaced and not superseded:
                akin |= dict.fromkeys((entry, *bullets), reason)
                continue
            ids[entry] = reason
            waiting.append(entry)
            for bullet in bullets:
                marks.setdefault(bullet, reason)
    return akin
