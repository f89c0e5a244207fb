"""The plan of a distillation and its writing: memory files first, each backed up, then the ledger; a killed run is completed by the next."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import monday
from nacre.errors import NO_PERMISSION, BadInput, NacreError
from nacre.i18n import say
from nacre.model.report import Plan, Problem, Step
from nacre.text.stamps import real_day
from nacre.text.tokens import language_of
from nacre.tidy.collect import IDENTITY, USER, TidyContext
from nacre.tidy.compress import LABELS
from nacre.vault import daily, disk, ledger, longterm, provenance, review, weekly, writing
from nacre.vault.entries import bullet_id
from nacre.vault.history import Operation
from nacre.vault.ledger import Record
from nacre.vault.longterm import Edit
from nacre.vault.markdown import document, open_document
from nacre.vault.provenance import Offered
from nacre.vault.review import Question
from nacre.vault.writing import REDACT, expect, guarded, rewrite

if TYPE_CHECKING:
    from nacre.brain.local.judge import Embedded


@dataclass(frozen=True)
class Demoted:
    """An entry that leaves MEMORY.md; it stays in the digest of its week."""

    text: str
    day: str
    project: str | None
    kind: str


@dataclass(frozen=True)
class DistilPlan:
    """New bytes for the memory files, the lines of the ledger that tell why, and questions for the user."""

    plan: Plan = field(default_factory=Plan)
    edits: tuple[Edit, ...] = ()
    records: tuple[Record, ...] = ()
    asks: tuple[Question, ...] = ()
    settled: tuple[str, ...] = ()  # questions that answered themselves
    demoted: tuple[Demoted, ...] = ()
    notes: tuple[str, ...] = ()  # for today's log
    offered: tuple[Offered, ...] = ()  # what need not be looked at again
    problems: tuple[Problem, ...] = ()
    meant: tuple[Embedded, ...] = ()  # the entries that were held against the new lines
    lately: tuple[str, ...] = ()  # what the last days say: it will be pressed into its week

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def __bool__(self) -> bool:
        return bool(self.edits or self.records or self.asks or self.settled or self.offered)


# Carrying out what distilling planned: memory files first, each backed up, then the ledger that tells why.

MAX_LOST = 0.25  # share of its entries that a file may lose in one night
_FEW = 2  # a file of a few lines may lose one


def apply_plan(room: TidyContext, op: Operation, planned: DistilPlan, *, asked: bool = False) -> tuple[Problem, ...]:
    """Write it; a file that somebody changed meanwhile raises `ChangedOutside` before anything is written. What the user asked
    for may take out more than a quarter of a file."""
    if not planned:
        return ()
    if not asked and (problem := too_much_lost(room, planned)):
        return (problem,)
    for edit in planned.edits:
        expect(room.workspace, edit.path, edit.read)
    # What leaves a file stands in a digest first; a question stands in review before its line counts as dealt with.
    problems = [problem for one in planned.demoted if (problem := _into_digest(room, op, one))]
    review.change_review(op, add=planned.asks)
    _promise(room, planned)
    for edit in planned.edits:
        _put(room, op, edit)
    _tell(room, op, planned)
    return tuple(problems)


def _put(room: TidyContext, op: Operation, edit: Edit) -> None:
    if writing.is_longterm(room.workspace, edit.path):
        longterm.apply_edit(room.workspace, room.clock, edit, room.config, "tidy")
    else:
        rewrite(op, edit.path, edit.data, read=edit.read)


def _tell(room: TidyContext, op: Operation, planned: DistilPlan, noted: Container[tuple[str, str]] = ()) -> None:
    """The ledger why, the trail what was looked at, the day's log what became of a name, review which questions are answered.

    `noted` is what the trail holds already, by day and mark: a run that was killed may have come as far as that.
    """
    ledger.write_records(op, *planned.records, on_secret=REDACT)
    ledger.load_closed(room.workspace, "")  # now, so that no agent has to wait for it
    provenance.write_provenance(op, _without(noted, planned.offered))
    if bullets := [f"[{_decision(note)}] {note}" for note in planned.notes]:
        daily.append_notes(room.workspace, room.clock, "tidy", bullets, config=room.config)
        offered = Offered(room.clock.today().isoformat(), tuple(bullet_id(bullet) for bullet in bullets))
        provenance.write_provenance(op, _without(noted, [offered]))
    review.change_review(op, drop=planned.settled)
    _file(room).unlink(missing_ok=True)


def _without(noted: Container[tuple[str, str]], offered: Iterable[Offered]) -> Iterator[Offered]:
    for one in offered:
        if new := tuple(mark for mark in one.bullets if (one.day, mark) not in noted):
            yield Offered(one.day, new)


def _decision(text: str) -> str:
    return LABELS["decision"][language_of(text) == "zh"]


def too_much_lost(room: TidyContext, planned: DistilPlan) -> Problem | None:
    """A plan that would take more than a quarter of a file's entries is wrong, whatever its reasons."""
    for edit in planned.edits:
        if not writing.is_longterm(room.workspace, edit.path):
            continue
        before, after = _count(edit, disk.read_bytes(edit.path)), _count(edit, edit.data)
        if before - after >= _FEW and before - after > before * MAX_LOST:
            shown = room.workspace.relative(edit.path)
            sentence = say(
                f"Refused: {shown} would lose {before - after} of its {before} entries in one night. Nothing in it was changed; "
                'look at "nacre tidy --dry-run", and at memory/ledger.jsonl.',
                f"已拒绝：{shown} 一夜之间会失去 {before} 条中的 {before - after} 条。其中没有任何改动；"
                "请查看“nacre tidy --dry-run”以及 memory/ledger.jsonl。",
            )
            return Problem("too much lost", sentence, shown, severity="error")
    return None


def _count(edit: Edit, data: bytes | None) -> int:
    return len(document(edit.path, data).entries) if data else 0


def _into_digest(room: TidyContext, op: Operation, one: Demoted) -> Problem | None:
    """The line goes to the digest of the week it came from, unless its words stand there."""
    day = dt.date.fromisoformat(real_day(one.day[:10]) or room.clock.today().isoformat())
    path = weekly.digest_files(room.workspace).get(monday(day)) or weekly.digest_path(room.workspace, day)
    doc = open_document(path)
    label = LABELS.get(one.kind, LABELS["discovery"])[language_of(one.text) == "zh"]
    words = guarded(one.text, REDACT)
    line = f"[{label}] {words} (src: {day.isoformat()})"
    try:
        if doc and any(bullet_id(found.text) == bullet_id(line) for found in weekly.digest_lines(doc)):
            return None
        begun = doc or document(path, f"# {monday(day).isoformat()}\n".encode())
        rewrite(op, path, weekly.add_lines(begun, day.isoformat(), one.project, [line]), read=doc.hash if doc else None)
    except NacreError as trouble:
        if isinstance(cause := trouble.__cause__, OSError) and cause.errno not in NO_PERMISSION:
            raise  # a disk that fails: the next run does it
        # The digest cannot take it; nothing that leaves MEMORY.md may be lost, so it goes into today's log.
        daily.append_notes(room.workspace, room.clock, "tidy", [f"[{label}] {words}"], config=room.config)
        return Problem("week left as it is", str(trouble), room.workspace.relative(path))
    return None


# The promise


def _file(room: TidyContext) -> Path:
    return room.workspace.machine / "distil.json"


def _promise(room: TidyContext, planned: DistilPlan) -> None:
    told = {
        "files": [
            {"path": room.workspace.relative(edit.path), "read": edit.read, "text": edit.data.decode("utf-8")}
            for edit in planned.edits
        ],
        "records": [ledger.as_json(record) for record in planned.records],
        "offered": [asdict(one) for one in planned.offered],
        "notes": planned.notes,
        "settled": planned.settled,
    }
    data = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
    disk.write(_file(room), data, root=room.workspace.root)


def recover(room: TidyContext, op: Operation) -> int:
    """End what a run that was killed had begun to write; how many lines of the ledger that were. Where it had not begun, nothing
    is done: tonight's plan finds the same."""
    data = disk.read_bytes(_file(room))
    if data is None:
        return 0
    promised = _promised(room, data)
    if too_much_lost(room, promised):
        promised = DistilPlan()  # no plan of ours
    states = {edit.path: _state(edit) for edit in promised.edits}
    if promised.edits and _WRITTEN not in states.values():
        _file(room).unlink(missing_ok=True)
        return 0
    for edit in promised.edits:
        if states[edit.path] == _UNTOUCHED:
            try:
                _put(room, op, edit)
            except NacreError:
                states[edit.path] = _OVERTAKEN  # it cannot be written: tonight's plan sees what stands there
    lost = {room.workspace.relative(path) for path, state in states.items() if state == _OVERTAKEN}
    known = {(one.id, one.at, one.verdict) for one in ledger.read_ledger(room.workspace).records}
    missing = tuple(
        one
        for one in promised.records
        if (one.id, one.at, one.verdict) not in known and one.more.get("file", "MEMORY.md") not in lost
    )
    noted = {(one.day, mark) for one in provenance.read_provenance(room.workspace).offered for mark in one.bullets}
    _tell(room, op, replace(promised, records=missing), noted)
    return len(missing)


def _promised(room: TidyContext, data: bytes) -> DistilPlan:
    """What was promised; nothing when the promise itself cannot be read."""
    try:
        told = json.loads(data)
        return DistilPlan(
            edits=tuple(
                Edit(_of_memory(room, one["path"]), one["read"], one["text"].encode(), Plan()) for one in told["files"]
            ),
            records=tuple(record for one in told["records"] if (record := ledger.record_from(one))),
            settled=tuple(str(one) for one in told["settled"]),
            notes=tuple(str(one) for one in told["notes"]),
            offered=tuple(Offered(str(one["day"]), tuple(map(str, one["bullets"]))) for one in told["offered"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, NacreError):
        return DistilPlan()


def _of_memory(room: TidyContext, shown: str) -> Path:
    """A file that distilling writes: a promise that came with a clone must not name any other."""
    path = room.workspace.inside(shown)
    if writing.is_longterm(room.workspace, path) or shown in (IDENTITY, USER):
        return path
    raise BadInput(say(f"{shown} is no file of long-term memory.", f"{shown} 不是长期记忆文件。"))


_UNTOUCHED, _WRITTEN, _OVERTAKEN = "untouched", "written", "overtaken"


def _state(edit: Edit) -> str:
    """Whether a file is as it was read, or was written. One that somebody edited since was, if all that we put in stands there."""
    data = disk.read_bytes(edit.path)
    if (None if data is None else disk.digest(data)) == edit.read:
        return _UNTOUCHED
    if data == edit.data:
        return _WRITTEN
    here = {entry.words for entry in document(edit.path, data or b"").entries}
    return _WRITTEN if {entry.words for entry in document(edit.path, edit.data).entries} <= here else _OVERTAKEN
