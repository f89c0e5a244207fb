"""The ledger of long-term memory: what was offered, admitted or refused, by which test, superseding what; and which entries it closed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import jsonl, spool
from nacre.vault.entries import bare_words, entry_id
from nacre.vault.history import Operation
from nacre.vault.writing import REFUSE, OnSecret, append

VERDICTS = ("admitted", "adopted", "refused", "superseded", "merged", "demoted", "forgotten", "restored")
IN_MEMORY = ("admitted", "adopted", "restored")


class Record(NamedTuple):
    """One line of the ledger. `more` keeps fields that a newer version wrote."""

    id: str
    at: str
    verdict: str
    text: str | None = None
    section: str | None = None
    tests: Mapping[str, float] = {}
    failed: str | None = None
    without_it: str | None = None
    source: Mapping[str, str] = {}
    brain: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    supersedes: str | None = None
    confidence: float | None = None
    more: Mapping[str, Any] = {}


_FIELDS = Record._fields[:-1]
_ALWAYS = ("id", "at", "verdict", "text", "valid_to", "supersedes")


def write_records(op: Operation, *records: Record, on_secret: OnSecret = REFUSE) -> None:
    """Append records in one write; part of the operation, so that undoing it takes the lines back as well."""
    if records:
        text = "".join(jsonl.dump_row(as_json(record)) for record in records)
        append(op, op.workspace.ledger, text, on_secret=on_secret)


def as_json(record: Record) -> dict[str, Any]:
    values = zip(_FIELDS, record, strict=False)
    return {name: value for name, value in values if name in _ALWAYS or value not in (None, {})} | dict(record.more)


class Ledger(NamedTuple):
    records: tuple[Record, ...]
    problems: tuple[Problem, ...]


def read_ledger(workspace: Workspace) -> Ledger:
    shown = workspace.relative(workspace.ledger)
    rows, broken = jsonl.read_rows(workspace.ledger, shown)
    records: list[Record] = []
    problems = list(broken)
    for line, value in rows:
        if record := _record(value):
            records.append(record)
        else:
            sentence = say(
                f"Line {line} of {shown} lacks an id or a verdict; it is skipped.",
                f"{shown} 第 {line} 行缺少 id 或裁定，已跳过。",
            )
            problems.append(Problem("broken line", sentence, shown, line))
    return Ledger(tuple(records), tuple(sorted(problems, key=lambda problem: problem.line or 0)))


def admitted(data: bytes) -> set[str]:
    """The ids of the entries that were put into a MEMORY.md, as far as these bytes of a ledger know; not those found there."""
    records = (record for row in jsonl.parse_rows(data, "").rows if (record := _record(row.value)))
    return {key for key, state in entry_states(records).items() if state.in_memory and state.verdict != "adopted"}


def record_from(value: object) -> Record | None:
    """A record as `as_json` told it; none when it is not one of ours."""
    record = _record(value) if isinstance(value, dict) else None
    return record if record and record.verdict in VERDICTS else None


def _record(value: dict[str, Any]) -> Record | None:
    if not all(isinstance(value.get(name), str) for name in ("id", "at", "verdict")):
        return None
    record_fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, held in value.items():
        if name not in _FIELDS:
            more[name] = held
        elif name in ("tests", "source"):
            if isinstance(held, dict):
                kinds = str | int | float if name == "source" else int | float
                record_fields[name] = {key: part for key, part in held.items() if isinstance(part, kinds)}
        elif isinstance(held, int | float if name == "confidence" else str):
            record_fields[name] = held
    return Record(**record_fields, more=more)


class EntryState(NamedTuple):
    """What the ledger says of one entry or candidate, all its lines taken together."""

    id: str
    verdict: str  # the last one that changed anything
    text: str | None
    records: tuple[Record, ...]
    pinned: bool = False

    @property
    def in_memory(self) -> bool:
        return self.verdict in IN_MEMORY

    @property
    def file(self) -> str:
        return self._last("file") or "MEMORY.md"

    @property
    def source(self) -> Mapping[str, str]:
        """Where it came from: the first line that says so."""
        return next((record.source for record in self.records if record.source), {})

    @property
    def valid_from(self) -> str | None:
        return next((record.valid_from for record in self.records if record.valid_from), None)

    @property
    def valid_to(self) -> str | None:
        return self.records[-1].valid_to

    @property
    def supersedes(self) -> str | None:
        return next((record.supersedes for record in self.records if record.supersedes), None)

    @property
    def confidence(self) -> float | None:
        return next((line.confidence for line in reversed(self.records) if line.confidence is not None), None)

    @property
    def into(self) -> str | None:
        return self._last("into")

    def _last(self, name: str) -> str | None:
        return next((str(record.more[name]) for record in reversed(self.records) if record.more.get(name)), None)


def entry_states(records: Iterable[Record]) -> dict[str, EntryState]:
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, []).append(record)
    states: dict[str, EntryState] = {}
    for key, own in by_id.items():
        # A line that only tells that the same words came up once more changes nothing of what became of them.
        newest = own[::-1]
        verdicts = (line.verdict for line in newest if line.verdict != "merged" or line.more.get("into") != line.id)
        text = next((line.text for line in newest if line.text), None)
        pinned = next((bool(line.more["pinned"]) for line in newest if "pinned" in line.more), False)
        states[key] = EntryState(key, next(verdicts, own[-1].verdict), text, tuple(own), pinned)
    return states


# What the ledger closed: words that still stand in a log or a digest, where they were said, and no longer hold.

CLOSED_FILE = "overtaken.json"
_FORM = 1
_MARK = 8  # hexadecimal digits of the id of a bullet
_TIME = re.compile(r"\A\[\d{1,2}:\d{2}\]\s*")  # before a decision in working memory


class Closed(NamedTuple):
    """When an entry ceased to hold, and the entry that holds instead; none where nothing took its place."""

    until: str
    by: str | None = None


class ClosedEntries(NamedTuple):
    """What no longer holds at a day, by the ids of bullets."""

    today: str = ""
    marks: Mapping[str, Closed] = {}

    def of(self, line: str, said: str | None = None) -> Closed | None:
        """What the ledger says against a line that was said on a day; nothing where it was said again later."""
        if not self.marks or not (words := bare_words(_TIME.sub("", bare_words(line)))):
            return None
        closed = self.marks.get(entry_id(words)[:_MARK])
        if closed is None or closed.until > self.today or (said and said > closed.until):
            return None
        return closed


NONE_CLOSED = ClosedEntries()


def load_closed(workspace: Workspace, today: str) -> ClosedEntries:
    """What the ledger closed up to a day; kept in a file beside the index for as long as the ledger stays the same."""
    try:
        about = os.stat(workspace.ledger)
    except OSError:
        return ClosedEntries(today)
    # By what a ledger is told from what it was: undoing and forgetting make it anew, everything else longer.
    state, folder = [_FORM, about.st_size, about.st_mtime_ns, about.st_ino], str(workspace.index)
    stored = spool.read_json(os.path.join(folder, CLOSED_FILE))
    if stored.get("of") == state and isinstance(rows := stored.get("marks"), dict):
        return ClosedEntries(today, {mark: Closed(*row) for mark, row in rows.items()})
    marks = closed_entries(entry_states(read_ledger(workspace).records))
    with contextlib.suppress(OSError):  # where it cannot be written, it is made again next time
        spool.put_json(folder, CLOSED_FILE, {"of": state, "marks": marks})
    return ClosedEntries(today, marks)


def closed_entries(states: Mapping[str, EntryState]) -> dict[str, Closed]:
    """The marks of what was superseded, or put away as out of date, with those of the lines in the logs that it came from."""
    after = {state.supersedes: state.id for state in states.values() if state.supersedes}
    ended: dict[str, Closed] = {}
    kept: set[str] = set()  # lines of which something else still holds
    for state in states.values():
        marks = {state.id[:_MARK], *([state.source["bullet"]] if "bullet" in state.source else [])}
        if state.in_memory:
            kept |= marks
        elif closed := _end(state, states, after):
            ended |= dict.fromkeys(marks, closed)
    return {mark: closed for mark, closed in ended.items() if mark not in kept}


def _end(state: EntryState, states: Mapping[str, EntryState], after: Mapping[str, str]) -> Closed | None:
    """How an entry ended, followed through what it was merged into; None where it may still hold."""
    passed: set[str] = set()
    until = by = None
    while state.id not in passed and not state.in_memory:
        passed.add(state.id)
        last = next(record for record in reversed(state.records) if record.verdict == state.verdict)
        doer, into = last.more.get("by"), last.more.get("into")
        # "faded": the answer of a review of what seems to be out of date
        if (state.verdict == "superseded" and (doer or not into)) or last.more.get("answer") == "faded":
            until = until or last.valid_to or last.at[:10]
        elif state.verdict not in ("merged", "superseded"):  # those were put in other words, which may hold
            break
        by = str(doer if doer and doer != "hand" else into or after.get(state.id) or "") or None
        if by is None or by not in states:
            break
        state = states[by]
    return Closed(until, by) if until else None


def successor(workspace: Workspace, closed: Closed) -> str | None:
    """The words that hold instead, from the ledger itself: they are kept nowhere else."""
    if closed.by is None or (data := spool.read(str(workspace.ledger))) is None:
        return None
    own = b"\n".join(line for line in data.split(b"\n") if closed.by.encode() in line)
    records = (record for row in jsonl.parse_rows(own, "").rows if (record := record_from(row.value)))
    state = entry_states(records).get(closed.by)
    return state.text if state and state.in_memory else None
