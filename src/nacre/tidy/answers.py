"""What the user decides: answers to review questions, and bringing a MEMORY.md that is too large under its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nacre.disk import hash_of
from nacre.errors import BadInput, MemoryFull, NotFound
from nacre.guard.sanitise import one_line
from nacre.i18n import say
from nacre.model import Step
from nacre.text.blocks import FRONT, HEADING, ITEM
from nacre.tidy import apply, judge
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import TidyContext
from nacre.tidy.distil import Draft
from nacre.tidy.memory_files import Line, LongTermFile, file_field
from nacre.tidy.summary import failure
from nacre.vault import review
from nacre.vault.entries import entry_id
from nacre.vault.history import Operation, operation
from nacre.vault.ledger import Record, load_tombstones
from nacre.vault.longterm import Edit
from nacre.vault.provenance import undone_mark
from nacre.vault.review import Question
from nacre.vault.storage import read
from nacre.vault.writing import REDACT, changed_outside, expect, guarded, rewrite

# Whatever the question: what is accepted or pinned stands in memory, what is refused does not.
ACCEPT, REFUSE, PIN = "accept", "refuse", "pin"
ALL = 10.0  # worth more than anything: the user said so


@dataclass(frozen=True)
class Answer:
    """What the user says to one question, or an agent; `words` are other words for it."""

    id: str
    verb: str
    words: str | None = None
    by_agent: bool = False


def find_question(context: TidyContext, wanted: str) -> Question:
    questions = review.read_review(context.workspace) if wanted else ()
    fitting = [question for question in questions if question.id.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise BadInput(f'"{wanted}" matches several ids; type more of it.', f"“{wanted}”对应多个编号；请多输入几位。")
    raise NotFound(
        f'There is no open question "{wanted}"; "nacre review" lists them.',
        f"没有待确认的问题“{wanted}”；“nacre review”会列出全部。",
    )


def give_answers(context: TidyContext, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
    """Carry the answers out as one operation; the steps taken, or that would be."""
    with operation(context, "review") as op:
        if not dry_run:
            apply.recover(context, op)
        draft = Draft(context)
        for answer in answers:
            question = find_question(context, answer.id)
            if question.id in draft.settled:
                raise BadInput(
                    f"{question.id} was answered twice; give only one answer.",
                    f"{question.id} 被回答了两次；请只给一个回答。",
                )
            words = question.text if answer.words is None else one_line(answer.words).strip()
            if not words:
                raise BadInput("The new wording is empty.", "新的内容为空。")
            if answer.by_agent:
                _check_agents_answer(draft, question, words)
            if question.about_entry:
                _answer_about_entry(draft, question, answer, words)
            else:
                _answer_about_candidate(draft, question, answer, words)
            draft.settled.append(question.id)
        if not dry_run:
            edits = list(draft.memory.edits())
            planned = DistilPlan(edits=edits, records=draft.records, settled=draft.settled, demoted=draft.demoted)
            apply.apply_plan(context, op, planned, asked=True)
    return tuple(draft.steps)


def is_for_agents(question: Question) -> bool:
    """Whether an agent may answer: only where its answer adds an entry and replaces none."""
    return question.kind in (review.DOUBT, review.FULL)


def _check_agents_answer(draft: Draft, question: Question, words: str) -> None:
    """Refuse an agent's answer that concerns an existing entry, or brings back what the person undid or forgot."""
    forgotten = load_tombstones(draft.context.workspace).exactly([words])[0]
    if not is_for_agents(question) or draft.memory.find(entry_id(words)):
        reason = say("it concerns an existing line of memory", "它涉及记忆中已有的一行")
    elif forgotten or draft.trail.was_asked(undone_mark(question.id)):
        reason = say("it was undone or forgotten before", "它曾被撤销或忘记")
    else:
        return
    raise BadInput(
        f'Only the user can decide on {question.id}: {reason}. The question stays open; the user can answer it with "nacre review".',
        f"{question.id} 只能由用户本人决定：{reason}。问题会保留，请用户用“nacre review”答复。",
    )


def _answer_about_candidate(draft: Draft, question: Question, answer: Answer, words: str) -> None:
    about, by = question.about, "agent" if answer.by_agent else "user"
    reason = say("an agent's answer", "智能体的答复") if answer.by_agent else say("your answer", "你的答复")
    # Only what the person answered is left alone from then on: an agent's word may be overtaken like any other.
    answered: dict[str, object] = {} if answer.by_agent else {"answer": question.kind}
    shown = str(about.get("file") or "MEMORY.md")
    if answer.verb == REFUSE:
        if not draft.memory.find(question.id):  # else somebody wrote it there meanwhile
            draft.record_question(question, "refused", failed=by, brain=by, more=answered)
        draft.step("refuse", shown, reason, question.text)
        return
    file = draft.memory.file(shown)
    kind = str(about.get("type") or "TECH")
    old = file.find(str(about.get("against", ""))) if question.kind == review.CLASH else None
    if old and old.words not in question.why:  # the file may have come with a clone, or been edited
        raise BadInput(
            f"This would replace “{old.words}”, which the question does not mention; nothing was changed.",
            f"这会取代“{old.words}”，而问题中没有提到它；未作任何改动。",
        )
    if old:
        file.replace(old, words)
        draft.close(file, old, "superseded", None, {"by": entry_id(words)})
    elif file.over:
        raise MemoryFull(
            f'{file.shown} is over its limits and accepts nothing new; run "nacre review --adopt" first.',
            f"{file.shown} 已超出上限，不再接受新内容；请先运行“nacre review --adopt”。",
        )
    elif answer.by_agent and not file.has_room(words, kind):
        raise MemoryFull(
            f"{file.shown} is full, and an agent's answer may not remove anything from it; ask the user.",
            f"{file.shown} 已满，智能体的答复不能移除其中的内容；请用户决定。",
        )
    elif not draft.make_room(file, words, kind, ALL):
        raise MemoryFull(
            f"{file.shown} is full, and every line in it is pinned or written by you; remove one first.",
            f"{file.shown} 已满，每一行都已固定或由你写下；请先移除一行。",
        )
    else:
        file.add(words, kind)
    more = {**file_field(file), **answered} | ({"pinned": True} if answer.verb == PIN else {})
    draft.record_question(
        question,
        "admitted",
        id=entry_id(words),
        text=words,
        brain=by,
        confidence=None if answer.by_agent else 0.99,
        supersedes=old.id if old else None,
        valid_from=draft.today.isoformat(),
        more=more,
    )
    instead = say(f"your answer; replaces “{old.words}”", f"你的答复；取代“{old.words}”") if old else reason
    draft.step("replace" if old else "add", file.shown, instead, words)


def _answer_about_entry(draft: Draft, question: Question, answer: Answer, words: str) -> None:
    file = draft.memory.file(str(question.about.get("file") or "MEMORY.md"))
    line = file.find(question.id)
    if line is None:
        return  # it has gone meanwhile
    by_user = say("your answer", "你的答复")
    if answer.words is None and answer.verb == REFUSE:
        if draft.is_pinned(line):
            by_user = say("your answer; the line was pinned", "你的答复；该行原已固定")
        file.remove(line)
        draft.demote(file, line, {"answer": question.kind})
        draft.step("demote", file.shown, by_user, line.words)
        return
    words = line.words if answer.words is None else words
    _keep_entry(draft, file, line, words, {"answer": question.kind}, pin=answer.verb == PIN)
    draft.step(PIN if answer.verb == PIN else "keep", file.shown, by_user, words)


def _keep_entry(
    draft: Draft, file: LongTermFile, line: Line, words: str, answered: Mapping[str, object], *, pin: bool = False
) -> None:
    """Keep an entry as the person answered: in these words, with its source and its pin."""
    was = draft.states.get(line.id)
    more = {**file_field(file), **answered} | ({"pinned": True} if pin or (was and was.pinned) else {})
    verdict = was.verdict if was and was.in_memory else "adopted"
    record = Record(entry_id(words), draft.at, verdict, words, section=line.section, more=more)
    if words != line.words:
        file.replace(line, words)
        draft.close(file, line, "superseded", None, {"into": entry_id(words)})
        record = record._replace(source=was.source if was else {}, supersedes=line.id)
    draft.record(record)


def edit_entry(context: TidyContext, shown: str, id_: str, words: str, *, read: str) -> tuple[Step, ...]:
    """Put the person's words in the place of an entry of a MEMORY.md that is still what was read (its hash)."""
    with operation(context, "edit") as op:
        apply.recover(context, op)
        draft = Draft(context)
        file, words = draft.memory.file(shown), one_line(words).strip()
        line = file.find(id_)
        if file.before is None or file.before.hash != read:
            raise changed_outside(shown)
        if line is None or not line.whole:
            raise BadInput(
                f"{shown} has no single-line entry {id_}; to change an entry with nested lines, edit the file.",
                f"{shown} 中没有单行条目 {id_}；含下级内容的条目请直接编辑文件。",
            )
        if not words:
            raise BadInput("The new words are empty.", "新的文字为空。")
        _keep_entry(draft, file, line, words, {"answer": "edited"})
        draft.step("edit", shown, say("edited by you", "由你修改"), words)
        planned = DistilPlan(edits=list(draft.memory.edits()), records=draft.records)
        apply.apply_plan(context, op, planned, asked=True)
    return tuple(draft.steps)


# A MEMORY.md inherited over its limits is brought under them with the user's consent: nothing is lost, what does not fit moves to
# a note of its own, which search covers.

HEADROOM = 0.9  # share of the limits that is filled, so that there is room for what comes


class Moving(NamedTuple):
    section: str
    text: str  # as it stands there, whole lines
    reason: str


@dataclass(frozen=True)
class AdoptPlan:
    """A file as it will be, and the note that takes what does not fit."""

    edit: Edit
    shown: str
    note: Path
    moving: tuple[Moving, ...]
    records: tuple[Record, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(Step("move", self.shown, moved.reason, " ".join(moved.text.split())) for moved in self.moving)


def plan_adopt(context: TidyContext) -> list[AdoptPlan]:
    """For each MEMORY.md over its limits, what would move where. Reads, and writes nothing."""
    draft = Draft(context)
    return [_plan_file(draft, file) for file in draft.memory.files if file.over]


def _plan_file(draft: Draft, file: LongTermFile) -> AdoptPlan:
    assert file.before is not None
    at, today, more, limits = draft.at, draft.today.isoformat(), file_field(file), file.settings
    roomy = replace(limits, max_lines=int(limits.max_lines * HEADROOM), max_bytes=int(limits.max_bytes * HEADROOM))
    entries: list[tuple[Line, Moving]] = []
    for line, reason in _least_needed(draft, file):
        if not file.size.over(roomy):
            break
        now = next((other for other in file.lines if other.id == line.id and other.words == line.words), None)
        if now is not None and file.doc is not None:
            text = "".join(file.doc.lines[now.start - 1 : now.end])
            entries.append((line, Moving(line.section, text, reason)))
            file.remove(now)
    entries.sort(key=lambda row: row[0].start)
    prose: list[Moving] = []  # tables, paragraphs, code; whole blocks from the end, until the file fits
    while file.size.over(limits) and (doc := file.doc) is not None:
        block = next((block for block in reversed(doc.blocks) if block.kind not in (HEADING, ITEM, FRONT)), None)
        if block is None:
            break
        section = next((section.title for section in reversed(doc.sections) if section.start <= block.start), "")
        text = "".join(doc.lines[block.start - 1 : block.end])
        prose.insert(0, Moving(section, text, say("is not a list entry", "不是列表条目")))
        file.remove(block)
    if file.size.over(limits) or file.doc is None:
        raise BadInput(
            f"{file.shown} cannot be brought under its limits without removing pinned lines; shorten it by hand.",
            f"不移除已固定的行，就无法使 {file.shown} 回到上限以内；请手动精简。",
        )
    over = {"answer": "over", **more}
    records = [
        Record(line.id, at, "demoted", line.words, section=line.section, valid_to=today, more=over)
        for line, _ in entries
    ]
    moved = {line.id for line, _ in entries}
    records += [
        Record(line.id, at, "adopted", line.words, section=line.section, valid_from=today, more=more)
        for line in file.lines
        if line.id not in moved and not ((state := draft.states.get(line.id)) and state.in_memory)
    ]
    slug = f"{file.project}-" if file.project else ""
    note = draft.context.workspace.memory / f"{today}-{slug}from-memory.md"
    moving = (*(moved for _, moved in entries), *prose)
    edit = Edit(file.path, file.before.hash, file.doc.data)
    return AdoptPlan(edit, file.shown, note, moving, tuple(records))


def _least_needed(draft: Draft, file: LongTermFile) -> list[tuple[Line, str]]:
    """The entries that may go: what fails the tests first, the worst of them first, then the least sure."""
    ordered: list[tuple[float, Line, str]] = []
    for line in file.lines:
        if draft.is_pinned(line):
            continue
        tested = draft.memory.tested(line.words)
        verdict = judge.four_way_test(tested)
        passes = say("the least important of the entries that pass the tests", "在通过检验的条目中最不重要")
        reason = passes if verdict.admitted else failure(verdict.failed[0])
        ordered.append((tested.judged.lasting - (0 if verdict.admitted else 1), line, reason))
    return [(line, reason) for _, line, reason in sorted(ordered, key=lambda row: row[0])]


def apply_adopt(context: TidyContext, planned: Sequence[AdoptPlan]) -> None:
    """Write the notes first, then the files, then the ledger: one operation, undone as one."""
    with operation(context, "review") as op:
        for adoption in planned:
            expect(context.workspace, adoption.edit.path, adoption.edit.read)
            _write_note(op, adoption)
            apply.apply_plan(context, op, DistilPlan(edits=[adoption.edit], records=adoption.records), asked=True)


def _write_note(op: Operation, adoption: AdoptPlan) -> None:
    """Add the moved lines under their headings, but for those that a killed run had put there already."""
    before = read(op.workspace, adoption.note)
    text = (before or b"").decode("utf-8", "surrogateescape")
    moving = [moved for moved in adoption.moving if f"\n{moved.text.rstrip()}\n" not in text.replace("\r\n", "\n")]
    shown = adoption.shown
    text = text or say(
        f"# From {shown}\n\nEntries moved here to keep {shown} within its limits.\n",
        f"# 移自 {shown}\n\n因 {shown} 超出限制而移到这里的内容。\n",
    )
    for section in dict.fromkeys(moved.section for moved in moving):
        text += f"\n## {section or shown}\n\n"
        parts = (guarded(moved.text, REDACT).rstrip("\n") for moved in moving if moved.section == section)
        text += "".join(f"{part}\n" for part in parts)
    rewrite(op, adoption.note, text.encode("utf-8", "surrogateescape"), read=hash_of(before), log=True)
