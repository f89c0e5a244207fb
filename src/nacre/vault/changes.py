"""A fact through its changes: where it was said, when it entered long-term memory, who corrected it, what replaced it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from nacre.guard.secrets import legible
from nacre.model import Workspace
from nacre.vault.entries import BULLET
from nacre.vault.ledger import VERDICTS, EntryState, LedgerStates, Record
from nacre.vault.provenance import Trail

_MOST_WORDINGS = 50  # of one fact that are followed
_legible = lru_cache(maxsize=2000)(legible)  # to look for secrets takes longer than all the rest


class Change(NamedTuple):
    """Something that happened to a fact. `at` is a moment, of what was said its day; `before` are the words that stood there until then."""

    kind: str  # "said", "kept", "written", "corrected", "replaced", "repeated", "asked", "refused", "moved out", "forgotten", "restored", "pinned", "unpinned"
    at: str
    id: str
    text: str = ""
    before: str | None = None
    file: str | None = None
    session: str | None = None
    agent: str | None = None


_SILENT = ("merged", "asked", "refused")  # verdicts that change nothing
_KINDS = {"admitted": "kept", "adopted": "written", "merged": "repeated", "demoted": "moved out"}


def change_of(record: Record, states: LedgerStates) -> Change | None:
    """What a line of the ledger tells; none where it is the other side of what its successor's line tells, or none that we know."""
    if record.verdict not in VERDICTS:
        return None
    kind, state = _KINDS.get(record.verdict, record.verdict), states.get(record.id)
    old = states.get(record.supersedes) if record.supersedes else None
    if kind == "superseded":
        if (state and state.into) or states.superseding(record.id):
            return None
        kind = "replaced"
    elif old:  # the same in other words by hand, or as an answer; else overtaken by something that was said
        kind = "corrected" if any(line.more.get("into") == record.id for line in old.records) else "replaced"
    elif "pinned" in record.more and state and record != state.records[0]:
        kind = "pinned" if record.more["pinned"] else "unpinned"
    text = _legible(record.text or (state.text if state else None) or "")
    before = _legible(old.text) if old and old.text else None
    return Change(kind, record.at, record.id, text, before, str(record.more.get("file") or "MEMORY.md"))


def changes_on(states: LedgerStates, day: str) -> list[Change]:
    """What entered or left long-term memory on a day, or changed in it."""
    silent = ("repeated", "asked", "refused", "pinned", "unpinned")
    records = [record for record in states.on(day) if record.supersedes or record.verdict not in _SILENT]
    every = [change for record in records if (change := change_of(record, states)) and change.kind not in silent]
    return _once(change for change in every if change.text or change.kind == "forgotten")


def follow(workspace: Workspace, ids: Iterable[str]) -> list[Change]:
    """Everything that happened to a fact, the oldest first: by the ids of its entries, or of lines of logs."""
    states, trail, start = LedgerStates(workspace), Trail(workspace), list(ids)
    entries = _wordings(states, start)
    marks = dict.fromkeys((entry[:BULLET] for entry in start), "")
    for state in entries:
        marks |= dict.fromkeys((state.id[:BULLET], *state.bullets), _legible(state.text or ""))
    said: dict[tuple[str, str], Change] = {}
    for row in trail.captured(marks):
        for mark in marks.keys() & row.bullets.keys():
            said[row.day, mark] = Change("said", row.day, mark, marks[mark], session=row.session, agent=row.agent)
    made: list[Change] = []
    for record in (record for state in entries for record in states.records(state.id)):
        if (day := record.source.get("day")) and record.verdict != "asked":  # a note, or before there was a trail
            mark = record.source.get("bullet", record.id[:BULLET])
            change = Change("said", day, mark, marks.get(mark, ""), session=record.source.get("session"))
            said.setdefault((day, mark), change)
        if (record.verdict != "merged" or not day) and (ledger_change := change_of(record, states)):
            made.append(ledger_change)
    # What was said on a day comes before what was made of it.
    return sorted((*said.values(), *_once(made)), key=lambda change: (change.at[:10], change.kind != "said", change.at))


def _once(changes: Iterable[Change]) -> list[Change]:
    """Of what was forgotten in several wordings no word is left: it is told once."""
    return list({change if change.text else (change.kind, change.at): change for change in changes}.values())


def _wordings(states: LedgerStates, start: Iterable[str]) -> list[EntryState]:
    """The entries that one fact was over time."""
    entries: dict[str, EntryState] = {}
    waiting = list(start)
    while waiting and len(entries) < _MOST_WORDINGS:
        entry = waiting.pop()
        own = states.get(entry)
        for state in [own] if own else states.marked(entry[:BULLET]):
            if state.id not in entries:
                entries[state.id] = state
                near = (state.supersedes, states.superseding(state.id), state.into, state.by)
                waiting += [other for other in near if other and other != "hand"]
                waiting += [other.id for other in states.inside(state.id)]
    return list(entries.values())
