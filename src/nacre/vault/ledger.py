"""The ledger of long-term memory: what was offered, admitted or refused, by which test, superseding what; and which entries it closed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from nacre.errors import BadInput
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.vault import jsonl, spool
from nacre.vault.entries import bare_words, entry_id
from nacre.vault.history import Operation
from nacre.vault.writing import REFUSE, OnSecret, append, guarded

VERDICTS = ("admitted", "adopted", "refused", "superseded", "merged", "demoted", "forgotten", "restored")


@dataclass(frozen=True)
class Record:
    """One line of the ledger. `more` keeps fields that a newer version wrote."""

    id: str
    at: str
    verdict: str
    text: str | None = None
    section: str | None = None
    tests: Mapping[str, float] = field(default_factory=dict)
    failed: str | None = None
    without_it: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    brain: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    supersedes: str | None = None
    confidence: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


_FIELDS = tuple(one.name for one in fields(Record) if one.name != "more")
_KNOWN = frozenset(_FIELDS)
_NOTHING: dict[str, Any] = dict.fromkeys(_FIELDS) | {"tests": {}, "source": {}}
_TEXTS = _KNOWN - {"tests", "source", "confidence"}
_ALWAYS = ("id", "at", "verdict", "text", "valid_to", "supersedes")


def write_records(op: Operation, *records: Record, on_secret: OnSecret = REFUSE) -> None:
    """Append records in one write; part of the operation, so that undoing it takes the lines back as well."""
    if not records:
        return
    lines = [jsonl.dump_row(_guarded(as_json(record), on_secret)) for record in records]
    append(op, op.workspace.ledger, "".join(lines), on_secret=on_secret)


def as_json(record: Record) -> dict[str, Any]:
    if record.verdict not in VERDICTS:
        raise BadInput(
            say(
                f'"{record.verdict}" is not a verdict; use one of {", ".join(VERDICTS)}.',
                f"“{record.verdict}”不是有效的裁定；可用：{'、'.join(VERDICTS)}。",
            )
        )
    values = {name: getattr(record, name) for name in _FIELDS}
    line = {name: value for name, value in values.items() if name in _ALWAYS or value not in (None, {})}
    return line | dict(record.more)


def _guarded(value: Any, on_secret: OnSecret) -> Any:
    """Each text on its own: once it is JSON, quotes and escapes would hide a secret or be cut with it."""
    if isinstance(value, str):
        return guarded(value, on_secret)
    if isinstance(value, Mapping):
        return {name: _guarded(one, on_secret) for name, one in value.items()}
    return [_guarded(one, on_secret) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Ledger:
    """Every good line in order, and trouble with the others."""

    records: tuple[Record, ...]
    problems: tuple[Problem, ...]


def admitted(data: bytes) -> set[str]:
    """The ids of the entries that were put into a MEMORY.md, as far as these bytes of a ledger know; not those found there."""
    records = (record for row in jsonl.parse_rows(data, "").rows if (record := _record(row.value)))
    return {known for known, one in entry_states(records).items() if one.in_memory and one.verdict != "adopted"}


def read_ledger(workspace: Workspace) -> Ledger:
    shown = workspace.relative(workspace.ledger)
    rows, problems = jsonl.read_rows(workspace.ledger, shown)
    records: list[Record] = []
    troubles = list(problems)
    for line, value in rows:
        if record := _record(value):
            records.append(record)
        else:
            sentence = say(
                f"Line {line} of {shown} lacks an id or a verdict; it is skipped.",
                f"{shown} 第 {line} 行缺少 id 或裁定，已跳过。",
            )
            troubles.append(Problem("broken line", sentence, shown, line))
    return Ledger(tuple(records), tuple(sorted(troubles, key=lambda one: one.line or 0)))


def _record(value: dict[str, Any]) -> Record | None:
    if not all(isinstance(value.get(name), str) for name in ("id", "at", "verdict")):
        return None
    known: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, one in value.items():
        if name in _TEXTS:
            if isinstance(one, str):
                known[name] = one
        elif name not in _KNOWN:
            more[name] = one
        elif name == "confidence":
            if _is_number(one):
                known[name] = one
        elif isinstance(one, dict):
            right = _is_number if name == "tests" else _is_plain
            known[name] = {key: told for key, told in one.items() if right(told)}
    # There are tens of thousands after some years, and a frozen class sets each of its fields by a call.
    record = object.__new__(Record)
    record.__dict__.update(_NOTHING | known, more=more)
    return record


def _is_number(value: object) -> bool:
    """Whether it is a number that can be shown and compared: not NaN, nor one without end."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9


def _is_plain(value: object) -> bool:
    return isinstance(value, str) or _is_number(value)


def record_from(value: object) -> Record | None:
    """A record as `as_json` told it; none when it is not one of ours."""
    record = _record(value) if isinstance(value, dict) else None
    return record if record and record.verdict in VERDICTS else None


IN_MEMORY = ("admitted", "adopted", "restored")


@dataclass(frozen=True)
class EntryState:
    """What the ledger says of one entry or candidate, all its lines taken together."""

    id: str
    verdict: str  # the last one that changed anything
    text: str | None
    records: tuple[Record, ...]
    pinned: bool = False

    @property
    def in_memory(self) -> bool:
        """Whether it is to stand in a MEMORY.md, as far as the ledger knows."""
        return self.verdict in IN_MEMORY

    @property
    def file(self) -> str:
        """The MEMORY.md that it stands in, relative to the workspace."""
        return self._last("file") or "MEMORY.md"

    @property
    def source(self) -> Mapping[str, str]:
        """Where it came from: the first line that says so."""
        return next((one.source for one in self.records if one.source), {})

    @property
    def valid_from(self) -> str | None:
        return next((one.valid_from for one in self.records if one.valid_from), None)

    @property
    def valid_to(self) -> str | None:
        return self.records[-1].valid_to

    @property
    def supersedes(self) -> str | None:
        return next((one.supersedes for one in self.records if one.supersedes), None)

    @property
    def confidence(self) -> float | None:
        return next((one.confidence for one in reversed(self.records) if one.confidence is not None), None)

    @property
    def into(self) -> str | None:
        """The entry that a merged candidate went into."""
        return self._last("into")

    def _last(self, name: str) -> str | None:
        return next((str(one.more[name]) for one in reversed(self.records) if one.more.get(name)), None)


def entry_states(records: Iterable[Record]) -> dict[str, EntryState]:
    """What became of every entry and candidate, by its id."""
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, []).append(record)
    return {
        known: EntryState(
            known,
            next((one.verdict for one in reversed(told) if not _is_repetition(one)), told[-1].verdict),
            next((one.text for one in reversed(told) if one.text), None),
            tuple(told),
            next((bool(one.more["pinned"]) for one in reversed(told) if "pinned" in one.more), False),
        )
        for known, told in by_id.items()
    }


def _is_repetition(record: Record) -> bool:
    """Whether a line only tells that the same words came up once more, which changes nothing of what became of them."""
    return record.verdict == "merged" and record.more.get("into") == record.id


# What the ledger closed: words that still stand in a log or a digest, where they were said, and no longer hold.

CLOSED_FILE = "overtaken.json"
_FORM = 1
_MARK = 8  # hexadecimal digits: so many has the mark of a bullet, which is the beginning of the id of the same words
_TIME = re.compile(r"\A\[\d{1,2}:\d{2}\]\s*")  # before a decision in working memory
_PASSED = "faded"  # the review of what seems to be out of date


class Closed(NamedTuple):
    """When an entry ceased to hold, and the entry that holds instead; none where nothing took its place."""

    until: str
    by: str | None = None


class ClosedEntries(NamedTuple):
    """What no longer holds at a day, by the marks of its words."""

    today: str = ""
    marks: Mapping[str, Closed] = {}

    def of(self, line: str, said: str | None = None) -> Closed | None:
        """What the ledger says against a line that was said on a day; nothing where it was said again later."""
        if not self.marks or not (words := _state_words(line)):
            return None
        closed = self.marks.get(entry_id(words)[:_MARK])
        if closed is None or closed.until > self.today or (said and said > closed.until):
            return None
        return closed


NONE_CLOSED = ClosedEntries()


def _state_words(line: str) -> str:
    return bare_words(_TIME.sub("", bare_words(line)))


def load_closed(workspace: Workspace, today: str) -> ClosedEntries:
    """What the ledger closed up to a day."""
    state = _state(workspace)
    if state is None:
        return ClosedEntries(today)
    told = spool.read_json(os.path.join(_folder(workspace), CLOSED_FILE))
    rows = told.get("marks")
    if told.get("of") == state and isinstance(rows, dict):
        return ClosedEntries(today, {mark: found for mark, row in rows.items() if (found := _closed(row))})
    return ClosedEntries(today, save_closed(workspace))


def save_closed(workspace: Workspace) -> Mapping[str, Closed]:
    """Make it from the ledger and keep it. Where it cannot be written, it is made again next time."""

    state = _state(workspace)  # before it is read: what is added meanwhile makes it old
    marks = closed_entries(entry_states(read_ledger(workspace).records))
    if state is not None:
        with contextlib.suppress(OSError):
            spool.put_json(_folder(workspace), CLOSED_FILE, {"of": state, "marks": marks})
    return marks


def closed_entries(known: Mapping[str, EntryState]) -> dict[str, Closed]:
    """The marks of what was superseded, or put away as out of date, with those of the lines in the logs that it came from."""
    after = {one.supersedes: one.id for one in known.values() if one.supersedes}
    found: dict[str, Closed] = {}
    kept: set[str] = set()  # lines of which something else still holds
    for one in known.values():
        marks = {one.id[:_MARK], *([one.source["bullet"]] if "bullet" in one.source else [])}
        if one.in_memory:
            kept |= marks
        elif closed := _end(one, known, after):
            found |= dict.fromkeys(marks, closed)
    return {mark: closed for mark, closed in found.items() if mark not in kept}


def successor(workspace: Workspace, one: Closed) -> str | None:
    """The words that hold instead, from the ledger itself: they are kept nowhere else."""
    from nacre.vault import jsonl

    if one.by is None or (data := spool.read(str(workspace.ledger))) is None:
        return None
    own = b"\n".join(line for line in data.split(b"\n") if one.by.encode() in line)
    rows = jsonl.parse_rows(own, workspace.ledger.name).rows
    records = [record for row in rows if (record := record_from(row.value))]
    stands = entry_states(records).get(one.by)
    return stands.text if stands and stands.in_memory else None


def _end(one: EntryState, known: Mapping[str, EntryState], after: Mapping[str, str]) -> Closed | None:
    """How an entry ended, followed through what it was merged into; None where it may still hold."""
    passed: set[str] = set()
    until = by = None
    while one.id not in passed and not one.in_memory:
        passed.add(one.id)
        last = next(record for record in reversed(one.records) if record.verdict == one.verdict)
        doer, into = last.more.get("by"), last.more.get("into")
        if (one.verdict == "superseded" and (doer or not into)) or last.more.get("answer") == _PASSED:
            until = until or last.valid_to or last.at[:10]
        elif one.verdict not in ("merged", "superseded"):  # those were put in other words, which may hold
            break
        by = str(doer if doer and doer != "hand" else into or after.get(one.id) or "") or None
        if by is None or by not in known:
            break
        one = known[by]
    return Closed(until, by) if until else None


def _closed(row: object) -> Closed | None:
    if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], str):
        return None
    return Closed(row[0], row[1] if isinstance(row[1], str) else None)


def _state(workspace: Workspace) -> list[int] | None:
    """By what a ledger is told from what it was: undoing and forgetting make it anew, everything else longer."""
    try:
        about = os.stat(workspace.ledger)
    except OSError:
        return None
    return [_FORM, about.st_size, about.st_mtime_ns, about.st_ino]


def _folder(workspace: Workspace) -> str:
    return str(workspace.index)
