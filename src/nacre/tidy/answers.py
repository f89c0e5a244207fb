"""What the user decides: answers to review questions, and bringing a MEMORY.md that is too large under its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nacre.errors import BadInput, MemoryFull, NotFound
from nacre.guard.sanitise import one_line
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.text.blocks import FRONT, HEADING, ITEM
from nacre.tidy import apply, budget, judge, memory_files
from nacre.tidy import apply as tidy_apply
from nacre.tidy.apply import Demoted, DistilPlan
from nacre.tidy.budget import Worth
from nacre.tidy.collect import TidyContext
from nacre.tidy.memory_files import Line, LongTermFile, MemoryFiles
from nacre.vault import disk, ledger, provenance, review
from nacre.vault.entries import entry_id
from nacre.vault.history import Operation, operation
from nacre.vault.ledger import EntryState, Record
from nacre.vault.longterm import Edit
from nacre.vault.markdown import Document, document
from nacre.vault.review import Question
from nacre.vault.writing import REDACT, expect, guarded, rewrite

ACCEPT, REFUSE, PIN = "accept", "refuse", "pin"
ALL = 10.0  # worth more than anything: the user said so


@dataclass(frozen=True)
class Answer:
    """What the user says to one question; `words` are other words for it."""

    id: str
    verb: str
    words: str | None = None


@dataclass
class _Answers:
    room: TidyContext
    library: MemoryFiles
    known: dict[str, EntryState]
    at: str
    records: list[Record] = field(default_factory=list)
    demoted: list[Demoted] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def record(self, *made: Record) -> None:
        self.records += made
        for one in made:
            was = self.known.get(one.id)
            self.known |= ledger.entry_states([*(was.records if was else ()), one])


def find_question(room: TidyContext, wanted: str) -> Question:
    """The open question whose id begins so."""
    fitting = [item for item in review.read_review(room.workspace) if item.id.startswith(wanted)] if wanted else []
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise BadInput(
            say(f'"{wanted}" begins several ids; give more of it.', f"“{wanted}”对应多个编号；请多输入几位。")
        )
    raise NotFound(
        say(
            f'There is no open question "{wanted}"; "nacre review" lists them.',
            f"没有待审项“{wanted}”；“nacre review”会列出全部。",
        )
    )


def give_answers(room: TidyContext, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
    """Carry the answers out as one operation; the steps taken, or that would be."""
    with operation(room.workspace, room.clock, "review", room.config) as op:
        if not dry_run:
            apply.recover(room, op)
        desk = _Answers(
            room,
            MemoryFiles(room, provenance.read_provenance(room.workspace)),
            ledger.entry_states(ledger.read_ledger(room.workspace).records),
            room.clock.now().isoformat(timespec="seconds"),
        )
        done: list[str] = []
        for answer in answers:
            item = find_question(room, answer.id)
            if item.id in done:
                raise BadInput(
                    say(f"{item.id} is answered twice; give one answer.", f"{item.id} 被回答了两次；请只给一个回答。")
                )
            _ANSWERS[item.kind](desk, item, answer)
            done.append(item.id)
        planned = DistilPlan(
            edits=tuple(desk.library.edits()),
            records=tuple(desk.records),
            settled=tuple(done),
            demoted=tuple(desk.demoted),
        )
        if not dry_run:
            apply.apply_plan(room, op, planned, asked=True)
    return tuple(desk.steps)


def _offered(desk: _Answers, item: Question, answer: Answer) -> None:
    """A candidate: it goes in, in the place of what it clashes with, or is refused."""
    words = _words(answer, item)
    if answer.verb == REFUSE:
        desk.record(_record(desk, item, "refused", item.text, failed="user", more={"answer": item.kind}))
        desk.steps.append(Step("refuse", "MEMORY.md", say("your word", "按您的意思"), item.text))
        return
    book = _book(desk, item)
    kind = str(item.about.get("type") or "TECH")
    old = book.find(str(item.about.get("against", ""))) if item.kind == review.CLASH else None
    if old and old.words not in item.why:  # the file may have come with a clone, or been edited
        raise BadInput(
            say(
                f"It would take the place of “{old.words}”, which the question does not name; nothing was done.",
                f"它会取代“{old.words}”，而问题中并未提到；未做任何改动。",
            )
        )
    supersedes = None
    if old:
        book.replace(old, words)
        supersedes = old.id
    elif book.over:
        raise MemoryFull(
            say(
                f'{book.shown} is over its limits and takes nothing new; run "nacre review --adopt" first.',
                f"{book.shown} 已超出上限，不再接受新内容；请先运行“nacre review --adopt”。",
            )
        )
    else:
        _make_room(desk, book, words, kind)
        book.add(words, kind)
    if old:
        desk.record(Record(old.id, desk.at, "superseded", valid_to=_today(desk), more={"by": entry_id(words)}))
    more: dict[str, object] = {**memory_files.file_field(book), "answer": item.kind}
    if answer.verb == PIN:
        more["pinned"] = True
    made = _record(desk, item, "admitted", words, supersedes=supersedes, confidence=0.99, more=more)
    desk.record(replace(made, id=entry_id(words), valid_from=_today(desk)))
    instead = say(f"your word; in the place of “{old.words}”", f"按您的意思；取代“{old.words}”") if old else None
    desk.steps.append(Step("replace" if old else "add", book.shown, instead or say("your word", "按您的意思"), words))


def _standing(desk: _Answers, item: Question, answer: Answer) -> None:
    """A line that stands there: it stays, in other words or pinned, or leaves for the digest of its week."""
    book = _book(desk, item)
    line = book.find(item.id)
    if line is None:
        return  # it has gone meanwhile
    goes = answer.words is None and answer.verb == (ACCEPT if item.kind == review.FADED else REFUSE)
    was = desk.known.get(line.id)
    if goes:
        _demote(desk, book, line, item.kind)
        return
    more: dict[str, object] = {**memory_files.file_field(book), "answer": item.kind}
    if answer.verb == PIN:
        more["pinned"] = True
    words = line.words if answer.words is None else _words(answer, item)
    supersedes = line.id if words != line.words else None
    if supersedes:
        book.replace(line, words)
        desk.record(Record(line.id, desk.at, "superseded", valid_to=_today(desk), more={"into": entry_id(words)}))
    verdict = was.verdict if was and was.in_memory else "adopted"
    made = Record(entry_id(words), desk.at, verdict, words, section=line.section, more=more)
    source = was.source if was and supersedes else {}
    desk.record(replace(made, source=source, supersedes=supersedes))
    desk.steps.append(Step(PIN if answer.verb == PIN else "keep", book.shown, say("your word", "按您的意思"), words))


_ANSWERS: dict[str, Callable[[_Answers, Question, Answer], None]] = {
    review.CLASH: _offered,
    review.DOUBT: _offered,
    review.FULL: _offered,
    review.ADOPTED: _standing,
    review.FADED: _standing,
}


def _words(answer: Answer, item: Question) -> str:
    words = one_line(answer.words).strip() if answer.words is not None else item.text
    if not words:
        raise BadInput(say("The new words are empty.", "新的文字为空。"))
    return words


def _book(desk: _Answers, item: Question) -> LongTermFile:
    return desk.library.book(str(item.about.get("file") or "MEMORY.md"))


def _make_room(desk: _Answers, book: LongTermFile, words: str, kind: str) -> None:
    def worth(line: Line) -> Worth:
        was = desk.known.get(line.id)
        return Worth((was.confidence if was else None) or 0.5, desk.library.recalls(line))

    cuts = budget.make_space(book, lambda: book.has_room(words, kind), desk.known, worth, lambda _lines: (), ALL)
    if cuts is None:
        raise MemoryFull(
            say(
                f"{book.shown} is full, and every line in it is pinned or yours; take one out first.",
                f"{book.shown} 已满，且每一行都已固定或由您写下；请先移除一行。",
            )
        )
    for cut in cuts:
        if cut.words is None:
            _left(desk, book, cut.line, "full")
        else:
            was = desk.known.get(cut.line.id)
            desk.record(
                Record(cut.line.id, desk.at, "superseded", valid_to=_today(desk), more={"into": entry_id(cut.words)})
            )
            desk.record(
                Record(
                    entry_id(cut.words),
                    desk.at,
                    "admitted",
                    cut.words,
                    section=cut.line.section,
                    source=was.source if was else {},
                    supersedes=cut.line.id,
                    confidence=was.confidence if was else None,
                    more=memory_files.file_field(book),
                )
            )
        desk.steps.append(Step(cut.action, book.shown, cut.reason, cut.line.words))


def _demote(desk: _Answers, book: LongTermFile, line: Line, kind: str) -> None:
    book.remove(line)
    _left(desk, book, line, kind)
    desk.steps.append(Step("demote", book.shown, say("your word", "按您的意思"), line.words))


def _left(desk: _Answers, book: LongTermFile, line: Line, kind: str) -> None:
    was = desk.known.get(line.id)
    day = (was.source.get("day") if was else None) or _today(desk)
    project = None if book is desk.library.general else book.path.parent.name
    desk.demoted.append(Demoted(line.words, day, project, desk.library.tested(line.words).judged.best("category")))
    more = {**memory_files.file_field(book), "answer": kind}
    desk.record(Record(line.id, desk.at, "demoted", line.words, valid_to=_today(desk), more=more))


def _record(desk: _Answers, item: Question, verdict: str, text: str, **about: object) -> Record:
    source = item.about.get("source")
    tests = item.about.get("tests")
    made = Record(
        item.id,
        desk.at,
        verdict,
        text,
        tests=tests if isinstance(tests, dict) else {},
        source=source if isinstance(source, dict) else {},
        brain="user",
    )
    return replace(made, **about)  # type: ignore[arg-type]


def _today(desk: _Answers) -> str:
    return desk.room.clock.today().isoformat()


# A MEMORY.md inherited over its limits is brought under them with the user's consent: nothing is lost, what does not
# fit moves to a note of its own, which search covers.

HEADROOM = 0.9  # share of the limits that is filled, so that there is room for what comes


@dataclass(frozen=True)
class Moving:
    """Lines that leave a file, with the reason."""

    section: str
    text: str  # as it stands there, whole lines
    reason: str
    line: Line | None = None  # the entry, where it is one


@dataclass(frozen=True)
class AdoptPlan:
    """A file as it will be, and the note that takes what does not fit."""

    path: Path
    shown: str
    read: str
    data: bytes
    note: Path
    moving: tuple[Moving, ...]

    @property
    def plan(self) -> Plan:
        return Plan(tuple(Step("move", self.shown, one.reason, " ".join(one.text.split())) for one in self.moving))


def plan_adopt(room: TidyContext) -> list[AdoptPlan]:
    """For each MEMORY.md over its limits, what would move where. Reads, and writes nothing."""
    library = MemoryFiles(room, provenance.read_provenance(room.workspace))
    known = ledger.entry_states(ledger.read_ledger(room.workspace).records)
    return [_plan(room, library, book, known) for book in library.books if book.over]


def _plan(room: TidyContext, library: MemoryFiles, book: LongTermFile, known: dict[str, EntryState]) -> AdoptPlan:
    assert book.before is not None
    moving: list[Moving] = []
    most = book.settings
    room_left = replace(most, max_lines=int(most.max_lines * HEADROOM), max_bytes=int(most.max_bytes * HEADROOM))
    for line, reason in _in_order(library, book, known):
        if not book.size.over(room_left):
            break
        now = next((one for one in book.lines if one.id == line.id and one.words == line.words), None)
        if now is None or book.doc is None:
            continue
        moving.append(Moving(line.section, _text(book.doc, now.start, now.end), reason, line))
        book.remove(now)
    moving.sort(key=lambda one: one.line.start if one.line else 0)
    moving += _prose(book) if book.size.over(book.settings) else []
    if book.size.over(book.settings) or book.doc is None:
        raise BadInput(
            say(
                f"{book.shown} cannot be brought under its limits without taking out pinned lines; shorten it by hand.",
                f"不移出已固定的行，就无法使 {book.shown} 回到上限以内；请手动精简。",
            )
        )
    slug = "" if book is library.general else f"{book.path.parent.name}-"
    note = room.workspace.memory / f"{room.clock.today().isoformat()}-{slug}from-memory.md"
    return AdoptPlan(book.path, book.shown, book.before.hash, book.doc.data, note, tuple(moving))


def _in_order(library: MemoryFiles, book: LongTermFile, known: dict[str, EntryState]) -> list[tuple[Line, str]]:
    """The entries that may go: what fails the tests first, the worst of them first, then the least sure."""
    library.read(book.lines)
    found: list[tuple[float, Line, str]] = []
    for line in book.lines:
        was = known.get(line.id)
        if line.pinned or (was and was.pinned):
            continue
        tested = library.tested(line.words)
        verdict = judge.four_way_test(tested)
        names = ", ".join(verdict.failed)
        failed = say(f"fails: {names}", f"未通过：{names}")
        reason = failed if not verdict.admitted else say("least needed of what passes", "通过测试者中最不需要的")
        found.append((tested.judged.lasting - (0 if verdict.admitted else 1), line, reason))
    return [(line, reason) for _, line, reason in sorted(found, key=lambda one: one[0])]


def _prose(book: LongTermFile) -> list[Moving]:
    """What is no list: tables, paragraphs, code; whole blocks from the end, until the file fits."""
    moving: list[Moving] = []
    while book.size.over(book.settings) and book.doc is not None:
        doc = book.doc
        blocks = [block for block in doc.blocks if block.kind not in (HEADING, ITEM, FRONT)]
        if not blocks:
            break
        block = blocks[-1]
        section = next((one.title for one in reversed(doc.sections) if one.start <= block.start), "")
        moving.append(Moving(section, _text(doc, block.start, block.end), say("is no entry of a list", "不是列表条目")))
        book.cut(block.start, block.end)
    return moving[::-1]


def _text(doc: Document, start: int, end: int) -> str:
    return "".join(doc.lines[start - 1 : end])


def apply_adopt(room: TidyContext, planned: Sequence[AdoptPlan]) -> None:
    """Write the notes first, then the files, then the ledger: one operation, undone as one."""
    at, today = room.clock.now().isoformat(timespec="seconds"), room.clock.today().isoformat()
    with operation(room.workspace, room.clock, "review", room.config) as op:
        for one in planned:
            expect(room.workspace, one.path, one.read)
            _write_note(op, one)
            records = [
                Record(
                    moved.line.id,
                    at,
                    "demoted",
                    moved.line.words,
                    section=moved.section,
                    valid_to=today,
                    more={"answer": "over", **_file(one)},
                )
                for moved in one.moving
                if moved.line
            ]
            kept = {line.id for line in (moved.line for moved in one.moving) if line}
            records += _adopted(room, one, kept, at, today)
            edit = DistilPlan(edits=(_edit(one),), records=tuple(records))
            tidy_apply.apply_plan(room, op, edit, asked=True)


def _adopted(room: TidyContext, one: AdoptPlan, gone: set[str], at: str, today: str) -> list[Record]:
    known = ledger.entry_states(ledger.read_ledger(room.workspace).records)
    book = LongTermFile(room.workspace, one.path, room.config.memory)
    book.restore(document(one.path, one.data))
    return [
        Record(
            line.id,
            at,
            "adopted",
            line.words,
            section=line.section,
            valid_from=today,
            more=memory_files.file_field(book),
        )
        for line in book.lines
        if line.id not in gone and not (line.id in known and known[line.id].in_memory)
    ]


def _file(one: AdoptPlan) -> dict[str, object]:
    return {} if one.shown == "MEMORY.md" else {"file": one.shown}


def _edit(one: AdoptPlan) -> Edit:
    return Edit(one.path, one.read, one.data, Plan())


def _write_note(op: Operation, one: AdoptPlan) -> None:
    """The moved lines under the headings they stood under, in the order of the file; those that a run which was killed had put
    there already are not put there again."""
    before = disk.read_bytes(one.note)
    text = (before or b"").decode("utf-8", "surrogateescape")
    moving = [moved for moved in one.moving if f"\n{moved.text.rstrip()}\n" not in text.replace("\r\n", "\n")]
    text = text or say(f"# From {one.shown}\n\nWhat did not fit into it.\n", f"# 移自 {one.shown}\n\n放不下的内容。\n")
    for section in dict.fromkeys(moved.section for moved in moving):
        text += f"\n## {section or one.shown}\n\n"
        parts = (guarded(moved.text, REDACT).rstrip("\n") for moved in moving if moved.section == section)
        text += "".join(f"{part}\n" for part in parts)
    rewrite(
        op,
        one.note,
        text.encode("utf-8", "surrogateescape"),
        read=disk.digest(before) if before is not None else None,
        log=True,
    )
