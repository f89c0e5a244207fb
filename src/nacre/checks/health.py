"""How well a memory is kept: what is wrong, over a snapshot that is read once, and a grade from A to F."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre.config.settings import MemorySettings
from nacre.disk import COMPRESSED
from nacre.errors import BadInput, NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model import Problem, fields, problem
from nacre.text.layout import shortened
from nacre.text.tokens import tokens_estimate
from nacre.tidy import budget, collect, compare
from nacre.tidy.collect import TidyContext
from nacre.tidy.compare import entry_parts
from nacre.tidy.distil import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import review
from nacre.vault.entries import normal_words
from nacre.vault.ledger import EntryState
from nacre.vault.storage import check_place, read_memory, storage_of

LONGEST = 120  # characters of a line that are quoted
PATIENCE = 7  # days after which a question has waited for too long
_UNDATED = "~"  # a line that the ledger does not know was written after everything that it does

UNREADABLE, OVER = "unreadable", "over limits"
CONTRADICTION, QUESTION, DUPLICATE, FADED = "contradiction", "question", "duplicate", "faded"
DANGLING = "dangling"


# The most important first: how many points a problem of a kind takes, how many its kind takes at most, and what it is called.
KINDS = {
    UNREADABLE: (5, 20, "files or lines that cannot be used", "无法处理的文件或行"),
    OVER: (20, 30, "MEMORY.md over its limits", "MEMORY.md 超出上限"),
    CONTRADICTION: (6, 24, "entries that contradict each other", "互相矛盾的条目"),
    DUPLICATE: (3, 15, "duplicate entries", "意思相同的条目"),
    DANGLING: (3, 15, "entries that are unclear on their own", "脱离上下文看不懂的条目"),
    QUESTION: (1, 10, "questions waiting for more than a week", "等待超过一周的问题"),
    FADED: (2, 10, "outdated entries", "已过时的条目"),
}


def kind_title(kind: str) -> str:
    return say(*KINDS[kind][2:])


@dataclass(frozen=True)
class Snapshot:
    """What every check looks at, read once. Without a draft MEMORY.md could not be read."""

    context: TidyContext
    draft: Draft | None
    problems: Sequence[Problem]

    def state(self, entry: str) -> EntryState | None:
        return self.draft.states.get(entry) if self.draft else None

    def is_confirmed(self, line: Line) -> bool:
        return budget.is_confirmed(line, self.state(line.id))

    @property
    def files(self) -> Sequence[LongTermFile]:
        return self.draft.memory.files if self.draft else ()

    @property
    def lines(self) -> list[tuple[LongTermFile, Line]]:
        return [(file, line) for file in self.files for line in file.lines]


def take_snapshot(memory: Memory) -> Snapshot:
    """Read everything that the checks look at; what cannot be read is a problem."""
    workspace = memory.workspace
    context = TidyContext(workspace, memory.config, memory.clock, judge=lambda: memory.brain)
    problems = collect.list_days(workspace, memory.clock.today())[1]
    try:
        check_place(storage_of(workspace), workspace.longterm.name)
        draft = Draft(context)
        _ = draft.memory.general.lines  # decoded now, not in the middle of the examination
    except NacreError as error:
        unreadable = Problem(UNREADABLE, str(error), workspace.relative(workspace.longterm), severity="error")
        return Snapshot(context, None, [*problems, unreadable])
    return Snapshot(context, draft, [*problems, *draft.problems, *draft.memory.problems])


def quoted(words: str) -> str:
    return shortened(one_line(redact(words).text), LONGEST)


def _remedy(snapshot: Snapshot, file: LongTermFile, line: Line, *others: Line) -> str:
    """To answer the question where one waits about the entry or the others, else to edit it; forgetting would take the logs' lines too."""
    ids = {line.id, *(other.id for other in others)}
    for question in snapshot.draft.questions if snapshot.draft else ():
        if question.id in ids or question.about.get("against") in ids:
            return "nacre review"
    lines = f" {line.start}" if line.start == line.end else f"s {line.start}-{line.end}"
    return say(f"edit or delete line{lines} of {file.shown}", f"请修改或删除 {file.shown} 第{lines.lstrip('s')} 行")


def files_and_questions(snapshot: Snapshot) -> Iterator[Problem]:
    """Files and lines that cannot be used, every MEMORY.md over its limits, and questions that have waited too long."""
    for left in snapshot.problems:
        remedy = left.remedy or say("fix it or move it elsewhere", "请修复或移走")
        yield replace(left, kind=UNREADABLE, remedy=remedy, severity="warning", id="")
    most = snapshot.context.config.memory
    for file in snapshot.files:
        if file.over:
            lines, size = file.size.lines, file.size.bytes
            english = f"{file.shown} has {lines} of {most.max_lines} lines and {size} of {most.max_bytes} bytes, and accepts no new entries."
            chinese = f"{file.shown} 有 {lines}/{most.max_lines} 行、{size}/{most.max_bytes} 字节，不再接受新内容。"
            yield problem(OVER, english, chinese, file.shown, remedy="nacre review --adopt")
    workspace, draft = snapshot.context.workspace, snapshot.draft
    for question in [other for other in draft.questions if draft.waited(other) > PATIENCE] if draft else ():
        message = f"[{review.kind_title(question.kind)}] {quoted(question.text)}"
        yield Problem(QUESTION, message, workspace.relative(workspace.review), remedy="nacre review", id=question.id)


# Entries: duplicates, conflicts, and what cannot be understood or is over.

_SURER = ("ask", "same", "replaces")  # of two readings of a pair the later one counts


class _Entry(NamedTuple):
    """An entry, and the day from which it holds, where the ledger knows one."""

    file: LongTermFile
    line: Line
    since: str
    normal: str

    @property
    def place(self) -> str:
        return f"{self.file.shown}:{self.line.start}"

    @property
    def shown(self) -> str:
        text = quoted(self.line.words)
        return say(f"“{text}” ({self.place})", f"“{text}”（{self.place}）")


def duplicates_and_conflicts(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries that say the same or contradict each other as tidying would see it, but for those of two projects, which no session
    is given both."""
    entries: list[_Entry] = []
    for file, line in snapshot.lines:
        if line.whole:
            state = snapshot.state(line.id)
            since = (state.valid_from or "") if state else _UNDATED
            entries.append(_Entry(file, line, since, normal_words(line.words)))
    for old, new, kind in _pairs(entries, snapshot):
        if kind == "same":
            yield from _duplicate(snapshot, old, new)
        elif not snapshot.is_confirmed(old.line):
            english, chinese = (
                f"{old.shown} seems to be superseded by {new.shown}.",
                f"{old.shown}似乎已被{new.shown}取代。",
            )
            if old.since == new.since == _UNDATED:
                english = f"{old.shown} and {new.shown} contradict each other; remove the wrong one."
                chinese = f"{old.shown}与{new.shown}互相矛盾；请删除错误的一条。"
            remedy = _remedy(snapshot, old.file, old.line, new.line)
            yield Problem(CONTRADICTION, say(english, chinese), old.file.shown, old.line.start, remedy, id=old.line.id)


def _pairs(entries: Sequence[_Entry], snapshot: Snapshot) -> list[tuple[_Entry, _Entry, str]]:
    """The entries that repeat or contradict each other, the older one first. Of two readings of a pair a sure conflict is kept: what
    replaces a statement repeats most of its words."""
    if not entries:
        return []
    parts = entry_parts([entry.line.words for entry in entries], snapshot.context.judge().meant)
    by_file: dict[str, list[int]] = {snapshot.files[0].shown: []}
    for at, entry in enumerate(entries):
        by_file.setdefault(entry.file.shown, []).append(at)
    general, *projects = by_file.values()
    comparisons = [(at, general) for at in general]
    for shelf in projects:
        comparisons += [(at, [*shelf, *general]) for at in shelf] + [(at, shelf) for at in general]
    pairs: dict[frozenset[int], tuple[int, int, str]] = {}
    for new, others in comparisons:
        own = entries[new]
        older = [
            at for at in others if at != new and not (entries[at].since and own.since and entries[at].since > own.since)
        ]
        matches = [(old, "same") for old in older if entries[old].normal == own.normal]
        rest = [old for old in older if entries[old].normal != own.normal]
        for comparison in compare.compare_with(parts[new].whole, [parts[old] for old in rest])[0]:
            old = rest[comparison.place]
            # A project may do otherwise.
            is_conflict = comparison.kind in ("replaces", "ask") and entries[old].file is own.file
            if comparison.kind == "same" or is_conflict:
                matches.append((old, comparison.kind))
        for old, kind in matches:
            places = frozenset((old, new))
            if places not in pairs or _SURER.index(kind) > _SURER.index(pairs[places][2]):
                pairs[places] = old, new, kind
    return [(entries[old], entries[new], kind) for old, new, kind in pairs.values()]


def _duplicate(snapshot: Snapshot, old: _Entry, new: _Entry) -> Iterator[Problem]:
    """Report the entry that the user did not confirm, else the shorter one; nothing when both wordings are confirmed."""
    weaker, other = sorted(
        (old, new), key=lambda entry: (snapshot.is_confirmed(entry.line), len(entry.line.words), entry.place)
    )
    if weaker.normal != other.normal and snapshot.is_confirmed(weaker.line):
        return
    message = say(f"{weaker.shown} says the same as {other.shown}.", f"{weaker.shown}与{other.shown}意思相同。")
    remedy = _remedy(snapshot, weaker.file, weaker.line)
    yield Problem(DUPLICATE, message, weaker.file.shown, weaker.line.start, remedy, id=weaker.line.id)


def _of_entry(kind: str, file: LongTermFile, line: Line, english: str, chinese: str, remedy: str) -> Problem:
    """A problem with one entry, its message beginning with the words of the entry."""
    text = quoted(line.words)
    message = say(f"“{text}”: {english}", f"“{text}”：{chinese}")
    return Problem(kind, message, file.shown, line.start, remedy, id=line.id)


def outdated_entries(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries whose date has passed, unless the user wants them."""
    draft = snapshot.draft
    for file, line in snapshot.lines:
        state = snapshot.state(line.id)
        day = budget.expired_on(line.words, state.valid_from if state else None, snapshot.context.clock.today())
        if day and not snapshot.is_confirmed(line):
            asked = draft is not None and draft.trail.was_asked(f"{review.FADED}:{line.id}")
            remedy = _remedy(snapshot, file, line) if asked else "nacre tidy"
            yield _of_entry(FADED, file, line, f"its date, {day}, has passed.", f"其日期 {day} 已过。", remedy)


_ANSWER = re.compile(
    r"(?:yes|yeah|yep|no|nope|ok|okay|sure|right|agreed|exactly|correct|fine)(?:[,.!;:—–]|\Z)"
    r"|(?:是的|对的?|好的?|行|可以|不是|不对|没有|没错|嗯)(?:[，。！；、,.!]|\Z)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:(?:and|but|so|then)\s+)?(?:it|its|he|she|they|his|her|their|this|that|these|those)\b(?!-)|[他她它](?!人)|[这那]",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:[?？]|吗[。.]?)[”\"’')）]*\Z")
_OF_PROJECT = re.compile(r"this\s+(?:project|repo(?:sitory)?|codebase)\b|这个(?:项目|仓库)", re.IGNORECASE)


def dangling_entries(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries that lean on something said before them: they begin with a pronoun, answer a question or ask one."""
    for file, line in snapshot.lines:
        words = line.words.strip()
        of_project = file is not snapshot.files[0] and _OF_PROJECT.match(words)
        leans = _ASKS.search(words) or _ANSWER.match(words) or (_PRONOUN.match(words) and not of_project)
        if leans and not snapshot.is_confirmed(line):
            remedy = _remedy(snapshot, file, line)
            yield _of_entry(DANGLING, file, line, "it cannot be understood on its own.", "单独看不懂。", remedy)


def find_problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    """What every check found, each problem once, the most important kind first."""
    checks = files_and_questions, duplicates_and_conflicts, dangling_entries, outdated_entries
    problems, order = dict.fromkeys(problem for check in checks for problem in check(snapshot)), [*KINDS]
    return tuple(sorted(problems, key=lambda problem: (order.index(problem.kind), problem.path, problem.line or 0)))


FULL = 100
GRADES = ((90, "A"), (80, "B"), (70, "C"), (60, "D"))


@dataclass(frozen=True)
class Deduction:
    kind: str
    count: int
    points: float


class Grade(NamedTuple):
    """The letter, the points that are left, and every deduction, the largest first."""

    letter: str
    points: int
    deductions: tuple[Deduction, ...]


class Health(NamedTuple):
    """How a memory is kept: its grade, what is wrong, and figures by the names that programs know."""

    grade: Grade
    findings: tuple[Problem, ...]
    figures: dict[str, Any]

    def as_plain(self) -> dict[str, Any]:
        findings = []
        for finding in self.findings:
            command = finding.remedy if finding.remedy.startswith("nacre ") else None
            about = {"id": finding.id or None, "command": command, "byHand": None if command else finding.remedy}
            findings.append(fields(finding, "kind message path line id", **about))
        return {
            "grade": self.grade.letter,
            "points": self.grade.points,
            "deductions": [asdict(deduction) for deduction in self.grade.deductions],
            "findings": findings,
            **self.figures,
        }


def graded(problems: Iterable[Problem]) -> Grade:
    counts = Counter(problem.kind for problem in problems)
    lost = [
        Deduction(kind, counts[kind], float(min(each * counts[kind], most)))
        for kind, (each, most, *_) in KINDS.items()
        if counts[kind]
    ]
    left = max(0, round(FULL - sum(deduction.points for deduction in lost)))
    letter = next((letter for least, letter in GRADES if left >= least), "F")
    return Grade(letter, left, tuple(sorted(lost, key=lambda deduction: -deduction.points)))


def check_health(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a problem."""
    if memory.scope.group is not None:
        raise BadInput(
            "Health checks are not available in a group, because they cover private memory; run the command without --scope.",
            "群组中不能运行健康检查，因为它涉及私人记忆；请去掉 --scope 再运行。",
        )
    snapshot, files = take_snapshot(memory), memory.files()
    problems = find_problems(snapshot)
    plain = (Path(file.full) for file in files if file.layer != "extra" and not file.path.endswith(COMPRESSED))
    contents = (read_memory(memory.workspace, path).decode("utf-8", "replace") for path in plain)
    figures = {
        "longterm": [
            {
                "path": file.shown,
                "entries": len(file.lines),
                "lines": file.size.lines,
                "bytes": file.size.bytes,
                "share": share_of_limits(file.size.lines, file.size.bytes, memory.config.memory),
                "tokens": tokens_estimate(file.before.text),
            }
            for file in snapshot.files
            if file.before is not None
        ],
        "files": dict(Counter(file.layer for file in files)),
        "tokens": sum(map(tokens_estimate, contents)),
        "meaning": list(memory.brain.with_vectors),
    }
    return Health(graded(problems), problems, figures)


def share_of_limits(lines: int, size: int, limits: MemorySettings) -> float:
    """How full a MEMORY.md is: the larger of its two shares."""
    return round(max(lines / (limits.max_lines or 1), size / (limits.max_bytes or 1)), 3)
