"""The plan of a distillation and its writing: memory files first, each backed up, then the ledger; a killed run is completed by the next."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre import disk
from nacre.clock import monday
from nacre.errors import NO_PERMISSION, BadInput, NacreError
from nacre.i18n import say
from nacre.model import Problem, Step
from nacre.text.blocks import real_day
from nacre.text.tokens import language_of
from nacre.tidy.collect import IDENTITY, USER, TidyContext
from nacre.tidy.compress import LABELS
from nacre.vault import daily, ledger, longterm, provenance, review, weekly, writing
from nacre.vault.entries import bullet_id, document, open_document
from nacre.vault.history import Operation
from nacre.vault.ledger import Record
from nacre.vault.longterm import Edit
from nacre.vault.provenance import Offered
from nacre.vault.review import Question
from nacre.vault.storage import read
from nacre.vault.writing import REDACT, expect, guarded, rewrite


@dataclass(frozen=True)
class Demoted:
    """An entry that leaves MEMORY.md; it stays in the digest of its week."""

    text: str
    day: str
    project: str | None
    kind: str


@dataclass(frozen=True)
class DistilPlan:
    """New bytes for the memory files, the lines of the ledger that say why, and questions for the user."""

    steps: Sequence[Step] = ()
    edits: Sequence[Edit] = ()
    records: Sequence[Record] = ()
    asks: Sequence[Question] = ()
    settled: Sequence[str] = ()  # questions that answered themselves
    demoted: Sequence[Demoted] = ()
    notes: Sequence[str] = ()  # for today's log
    offered: Sequence[Offered] = ()  # what need not be looked at again
    problems: Sequence[Problem] = ()

    def __bool__(self) -> bool:
        return bool(self.edits or self.records or self.asks or self.settled or self.offered)


def offered_by_day(lines: Iterable[tuple[str, str]]) -> list[Offered]:
    """Lines, given by day and mark, as provenance notes that they were looked at."""
    days: dict[str, dict[str, None]] = {}
    for day, mark in lines:
        days.setdefault(day, {})[mark] = None
    return [Offered(day, tuple(marks)) for day, marks in days.items()]


MAX_LOST = 0.25  # share of its entries that a file may lose in one distillation
MAX_REPLACED, _MANY = 0.5, 5  # share of its entries that may be worded anew, and from how many on that is counted
_FEW = 2  # a file of a few lines may lose one


def apply_plan(context: TidyContext, op: Operation, planned: DistilPlan, *, asked: bool = False) -> list[Problem]:
    """Write a plan; a file that was changed meanwhile raises before anything is written. `asked`: the user wants it, and it may take
    out any number of lines."""
    if not planned:
        return []
    if not asked and (problem := too_much_lost(context, planned)):
        return [problem]
    for edit in planned.edits:
        expect(context.workspace, edit.path, edit.read)
    # What leaves a file stands in a digest first; a question stands in review before its line counts as dealt with.
    problems = [problem for demoted in planned.demoted if (problem := _into_digest(context, op, demoted))]
    review.change_review(op, add=planned.asks)
    _write_journal(context, planned)
    for edit in planned.edits:
        _write_edit(context, op, edit)
    _record(context, op, planned)
    return problems


def _write_edit(context: TidyContext, op: Operation, edit: Edit) -> None:
    if writing.is_longterm(context.workspace, edit.path):
        longterm.apply_edit(context, edit, command="tidy")
    else:
        rewrite(op, edit.path, edit.data, read=edit.read)


def _record(context: TidyContext, op: Operation, planned: DistilPlan, noted: Container[tuple[str, str]] = ()) -> None:
    """Write the reasons into the ledger, what was looked at into provenance, changed fields into today's log, and take answered
    questions out of review. `noted` is what provenance holds already, by day and mark, of a run that was killed."""
    clock = context.clock
    ledger.write_records(op, *planned.records, on_secret=REDACT)
    provenance.write_provenance(op, _without(noted, planned.offered))
    if bullets := [f"[{LABELS['decision'][language_of(note) == 'zh']}] {note}" for note in planned.notes]:
        daily.append_notes(context, "tidy", bullets)
        offered = Offered(clock.today().isoformat(), tuple(bullet_id(bullet) for bullet in bullets))
        provenance.write_provenance(op, _without(noted, [offered]))
    review.change_review(op, drop=planned.settled)
    _journal(context).unlink(missing_ok=True)


def _without(noted: Container[tuple[str, str]], every: Iterable[Offered]) -> Iterator[Offered]:
    for offered in every:
        if new := tuple(mark for mark in offered.bullets if (offered.day, mark) not in noted):
            yield Offered(offered.day, new)


def too_much_lost(context: TidyContext, planned: DistilPlan) -> Problem | None:
    """The problem with a plan that would take more than a quarter of a file's entries, or reword half of them; none where it would
    not. Entries that move to another file are not lost."""
    edits = [edit for edit in planned.edits if writing.is_longterm(context.workspace, edit.path)]
    after = {edit.path: [entry.words for entry in document(edit.path, edit.data).entries] for edit in edits}
    for edit in edits:
        data = read(context.workspace, edit.path) or b""
        entries = [entry.words for entry in document(edit.path, data).entries]
        elsewhere = {words for path, kept in after.items() if path != edit.path for words in kept}
        moved = sum(words in elsewhere for words in set(entries).difference(after[edit.path]))
        before, lost = len(entries), len(entries) - len(after[edit.path]) - moved
        replaced = len(set(entries).difference(*after.values()))
        if (lost >= _FEW and lost > before * MAX_LOST) or (replaced >= _MANY and replaced > before * MAX_REPLACED):
            shown = context.workspace.relative(edit.path)
            sentence = say(
                f'Refused: {shown} would lose {max(lost, replaced)} of its {before} entries in one run. It was not changed; check "nacre tidy --dry-run" and memory/ledger.jsonl.',
                f"已拒绝：{shown} 的 {before} 条中有 {max(lost, replaced)} 条会在一次整理中丢失。文件未改动；请查看“nacre tidy --dry-run”和 memory/ledger.jsonl。",
            )
            return Problem("too much lost", sentence, shown, severity="error")
    return None


def _into_digest(context: TidyContext, op: Operation, demoted: Demoted) -> Problem | None:
    """Add the line to the digest of the week it came from, unless its words stand there."""
    workspace = context.workspace
    day = dt.date.fromisoformat(real_day(demoted.day[:10]) or context.clock.today().isoformat())
    path = weekly.digest_files(workspace).get(monday(day)) or weekly.digest_path(workspace, day)
    doc = open_document(context.workspace, path)
    label = LABELS.get(demoted.kind, LABELS["discovery"])[language_of(demoted.text) == "zh"]
    words = guarded(demoted.text, REDACT)
    line = f"[{label}] {words} (src: {day.isoformat()})"
    try:
        if doc and any(bullet_id(other.text) == bullet_id(line) for other in weekly.digest_lines(doc)):
            return None
        begun = doc or document(path, f"# {monday(day).isoformat()}\n".encode())
        data = weekly.add_lines(begun, day.isoformat(), demoted.project, [line])
        rewrite(op, path, data, read=doc.hash if doc else None)
    except NacreError as error:
        if isinstance(cause := error.__cause__, OSError) and cause.errno not in NO_PERMISSION:
            raise  # a disk that fails: the next run does it
        # The digest cannot take it; nothing that leaves MEMORY.md may be lost, so it goes into today's log.
        daily.append_notes(context, "tidy", [f"[{label}] {words}"])
        return Problem("week left as it is", str(error), workspace.relative(path))
    return None


# The journal of a distillation, so that one that was killed half-way is completed by the next.

_UNTOUCHED, _WRITTEN, _CHANGED = "untouched", "written", "changed"


def _journal(context: TidyContext) -> Path:
    return context.workspace.machine / "distil.json"


def _write_journal(context: TidyContext, planned: DistilPlan) -> None:
    shown = context.workspace.relative
    journal = {
        "files": [{"path": shown(edit.path), "read": edit.read, "text": edit.data.decode()} for edit in planned.edits],
        "records": [ledger.as_json(record) for record in planned.records],
        "offered": [offered._asdict() for offered in planned.offered],
        "notes": planned.notes,
        "settled": planned.settled,
    }
    data = json.dumps(journal, ensure_ascii=False).encode("utf-8", "replace")
    disk.write(_journal(context), data, root=context.workspace.root)


def recover(context: TidyContext, op: Operation) -> int:
    """Complete what a killed run had begun to write; returns how many lines the ledger gained. What it had not begun is planned anew."""
    data = disk.read_bytes(_journal(context))
    if data is None:
        return 0
    planned = _read_journal(context, data)
    if too_much_lost(context, planned):
        planned = DistilPlan()  # no plan of ours
    states = {edit.path: _state(context, edit) for edit in planned.edits}
    if planned.edits and _WRITTEN not in states.values():
        _journal(context).unlink(missing_ok=True)
        return 0
    for edit in planned.edits:
        if states[edit.path] == _UNTOUCHED:
            try:
                _write_edit(context, op, edit)
            except NacreError:
                states[edit.path] = _CHANGED  # it cannot be written: the next plan sees what stands there
    lost = {context.workspace.relative(path) for path, state in states.items() if state == _CHANGED}
    recorded = {(record.id, record.at, record.verdict) for record in ledger.read_ledger(context.workspace).records}
    missing = [
        record
        for record in planned.records
        if (record.id, record.at, record.verdict) not in recorded and record.more.get("file", "MEMORY.md") not in lost
    ]
    offered = provenance.read_provenance(context.workspace).offered
    noted = {(line.day, mark) for line in offered for mark in line.bullets}
    _record(context, op, replace(planned, records=missing), noted)
    return len(missing)


def _read_journal(context: TidyContext, data: bytes) -> DistilPlan:
    """The plan in a journal; an empty one where it cannot be read."""
    try:
        journal = json.loads(data)
        files = ((_longterm_path(context, row["path"]), row) for row in journal["files"])
        return DistilPlan(
            edits=[Edit(path, row["read"], row["text"].encode()) for path, row in files],
            records=[record for row in journal["records"] if (record := ledger.record_from(row))],
            settled=list(map(str, journal["settled"])),
            notes=list(map(str, journal["notes"])),
            offered=[Offered(str(row["day"]), tuple(map(str, row["bullets"]))) for row in journal["offered"]],
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, NacreError):
        return DistilPlan()


def _longterm_path(context: TidyContext, shown: str) -> Path:
    """The path of a file that distilling writes; a journal that came with a clone must not name any other."""
    path = context.workspace.inside(shown)
    if writing.is_longterm(context.workspace, path) or shown in (IDENTITY, USER):
        return path
    raise BadInput(f"{shown} is not a long-term memory file.", f"{shown} 不是长期记忆文件。")


def _state(context: TidyContext, edit: Edit) -> str:
    """Whether a file is as it was read, was written, or is neither. One that somebody edited since was written if it has all our lines."""
    data = read(context.workspace, edit.path)
    if disk.hash_of(data) == edit.read:
        return _UNTOUCHED
    if data == edit.data:
        return _WRITTEN
    here = {entry.words for entry in document(edit.path, data or b"").entries}
    return _WRITTEN if {entry.words for entry in document(edit.path, edit.data).entries} <= here else _CHANGED
