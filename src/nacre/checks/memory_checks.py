"""What is wrong with a memory: every check of health, over a snapshot that is read once; and what fades by itself next."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from nacre.capture.extract import lacks_type
from nacre.clock import Clock, monday
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.layers import organise
from nacre.layers.layer import DELETE, FORGET, MOVE, LayerRules, Placement, decide_layer
from nacre.layers.organise import OrganisePlan, Transition
from nacre.memory import Memory
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.text.stamps import real_day
from nacre.tidy import budget, collect, compare, memory_files, run
from nacre.tidy.collect import Day, TidyContext
from nacre.tidy.compare import Comparison, EntryParts
from nacre.tidy.draft import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import disk, ledger, provenance, refcount, review, weekly, working
from nacre.vault.checkpoints import FORGOTTEN, GIST, Family, stem_of
from nacre.vault.disk import real_target
from nacre.vault.entries import bare_words, bullet_id, entry_id, normal_words, words_of
from nacre.vault.files import TIERS
from nacre.vault.ledger import EntryState
from nacre.vault.markdown import document
from nacre.vault.provenance import Provenance
from nacre.vault.review import Question

LONGEST = 120  # characters of a line that are quoted
WEEK = 7  # days in which the date of an entry comes
DAYS_AHEAD = 3  # in which checkpoints move down
TYPED_DAYS = 30  # in which a note without a type is worth a word
LEFT = 7  # days without a change after which a task counts as left behind
_SHORT = 2_000  # bytes; a longer log without a statement is none that we would call empty
_LATER = 2 * (WEEK + budget.GRACE)  # days after which a date that is looked for has passed
_UNDATED = "~"  # a line that the ledger does not know was written after everything that it does
_ITEM = re.compile(r"^[-*+] .*$", re.MULTILINE)
_NAMED_DAY = re.compile(r"\(src:\s*(\d{4}-\d{2}-\d{2})\)\s*$")

UNREADABLE, OVER = "unreadable", "over limits"
CONTRADICTION, QUESTION, DUPLICATE, FADED = "contradiction", "question", "duplicate", "faded"
UNKNOWN, ORIGIN, SOURCE = "unknown entry", "origin gone", "source gone"
UNTYPED, UNPRESSED, EMPTY = "untyped", "unpressed", "empty log"
UNSORTED, COPY, UNCOUNTED = "unsorted", "copy", "count without file"
STATE = "stale state"


class Kind(NamedTuple):
    """How many points a problem of a kind takes, how many its kind takes at most, and what people are told."""

    each: float
    most: float
    english: str
    chinese: str


# The most important first: the order in which people are told.
KINDS = {
    UNREADABLE: Kind(5, 20, "files or lines that are left alone", "无法处理的文件或行"),
    OVER: Kind(20, 30, "MEMORY.md over its limits", "MEMORY.md 超出上限"),
    CONTRADICTION: Kind(6, 24, "entries that contradict each other", "互相矛盾的条目"),
    DUPLICATE: Kind(3, 15, "entries that say the same", "意思相同的条目"),
    QUESTION: Kind(1, 10, "questions that wait for you", "待您决定的问题"),
    FADED: Kind(2, 10, "entries whose time is over", "已过时的条目"),
    STATE: Kind(5, 5, "working memory left behind", "遗留的工作记忆"),
    ORIGIN: Kind(2, 10, "entries whose origin is gone", "来源已不存在的条目"),
    UNKNOWN: Kind(0.5, 10, "entries that the ledger does not know", "账本中没有记录的条目"),
    UNTYPED: Kind(0.5, 10, "notes without a type", "没有类型的笔记"),
    UNPRESSED: Kind(0.5, 15, "old logs that are not put away yet", "尚未归档的旧日志"),
    UNSORTED: Kind(0.5, 10, "checkpoints in the wrong layer", "所在层级不对的检查点"),
    EMPTY: Kind(0.5, 5, "empty logs", "空的日志"),
    COPY: Kind(0.5, 5, "checkpoints with the same content", "内容相同的检查点"),
    UNCOUNTED: Kind(0.2, 2, "recall counts without a file", "没有对应文件的召回计数"),
    SOURCE: Kind(0.2, 2, "lines of digests without their day", "周报中来源日期不存在的行"),
}


def kind_title(kind: str) -> str:
    return say(KINDS[kind].english, KINDS[kind].chinese)


class Logs:
    """The days that left a log or a digest behind; their texts are read when first needed."""

    def __init__(self, workspace: Workspace, days: Iterable[Day]) -> None:
        self._paths: dict[str, list[Path]] = {}
        for day in days:
            self._paths.setdefault(day.date.isoformat(), []).append(day.path)
        # A compressed log is a log too.
        logs = (*workspace.memory.glob("????-??-??.md*"), *workspace.archive.glob("*/????-??-??.md*"))
        self.days = frozenset(path.name[:10] for path in logs) | self._paths.keys()
        self._digests = weekly.digest_files(workspace)
        self._texts: dict[str, tuple[str, str]] = {}

    def has_session(self, day: str, session: str) -> bool:
        return day not in self._paths or f"session:{session}" in self._text(day)[0]

    def says(self, day: str, mark: str) -> bool:
        """Whether a line of this mark stands in the log or the digest of a day. A compressed or unreadable log is believed."""
        log, digest = self._text(day)
        # Nearly all lines are a statement by themselves: no need to parse for these.
        return (
            mark in {bullet_id(line) for line in (*_ITEM.findall(log), *digest.split("\n"))}
            or any(line.mark == mark for line in collect.log_lines(day, log.encode("utf-8", "replace")))
            or (day in self.days and day not in self._paths)
        )

    def _text(self, day: str) -> tuple[str, str]:
        if day not in self._texts:
            digest = self._digests.get(monday(dt.date.fromisoformat(day))) if real_day(day) else None
            self._texts[day] = "\n".join(map(_read, self._paths.get(day, ()))), _read(digest) if digest else ""
        return self._texts[day]


def _read(path: Path) -> str:
    """A file's text; none where it cannot be read, which doctor says."""
    try:
        return (disk.read_bytes(path) or b"").decode("utf-8", "replace")
    except NacreError:
        return ""


@dataclass(frozen=True)
class Snapshot:
    """What every check looks at, read once. Without a draft MEMORY.md could not be read, and nothing is said about what stands in it."""

    context: TidyContext
    today: dt.date
    draft: Draft | None
    states: Mapping[str, EntryState]
    provenance: Provenance
    questions: Sequence[Question]
    days: Sequence[Day]
    logs: Logs
    layers: OrganisePlan
    layer_rules: LayerRules | None
    problems: Sequence[Problem]

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    @property
    def config(self) -> Config:
        return self.context.config

    @property
    def books(self) -> Sequence[LongTermFile]:
        return self.draft.memory.files if self.draft else ()

    @property
    def lines(self) -> list[tuple[LongTermFile, Line]]:
        return [(book, line) for book in self.books for line in book.lines]

    def is_pinned(self, line: Line) -> bool:
        state = self.states.get(line.id)
        return line.pinned or bool(state and state.in_memory and state.pinned)


def take_snapshot(memory: Memory) -> Snapshot:
    """Read the ledger, the provenance, the questions, every MEMORY.md, the layers and the list of days; what cannot be read is a
    problem."""
    workspace, clock = memory.workspace, memory.clock
    context = TidyContext(workspace, memory.config, clock, judge=lambda: memory.brain)
    today = clock.today()
    days, listing_problems = collect.list_days(workspace, today)
    problems = list(listing_problems)
    made: Draft | None = None
    try:
        real_target(workspace.longterm, workspace.root)
        made = Draft(context)
        _ = made.memory.general.lines  # decoded now, not in the middle of the examination
        states, trail, questions = made.states, made.provenance, made.questions
        problems += [*made.problems, *made.memory.problems]
    except NacreError as error:
        made = None
        problems.append(Problem(UNREADABLE, str(error), workspace.relative(workspace.longterm), severity="error"))
        entries = ledger.read_ledger(workspace)
        states, questions = ledger.entry_states(entries.records), review.read_review(workspace)
        trail = provenance.read_provenance(workspace)
        problems += entries.problems
    for day in days:
        if made and (today - day.date).days <= memory.config.tidy.daily_days:
            try:
                made.recent.extend(collect.read_log(day).lines)  # tells what is over
            except NacreError as error:
                problems.append(Problem(UNREADABLE, str(error), workspace.relative(day.path)))
    layers, rules = OrganisePlan(), None
    try:
        layers, rules = organise.plan(memory.opened), LayerRules.of(memory.config.tiers)
        problems += [*layers.left, *layers.notes]
    except NacreError as error:  # settings that mean nothing: then nothing is said about what fades
        problems.append(Problem("layers not looked at", str(error)))
    logs = Logs(workspace, days)
    return Snapshot(context, today, made, states, trail, questions, days, logs, layers, rules, problems)


def quoted(words: str) -> str:
    text = one_line(redact(words).text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def files_and_questions(snapshot: Snapshot) -> Iterator[Problem]:
    """Files and lines that are left alone, every MEMORY.md that breaks its limits, and what waits for the user's word."""
    for problem in snapshot.problems:
        remedy = problem.remedy or say("mend it or move it away", "请修复或移走")
        yield Problem(UNREADABLE, problem.message, problem.path, problem.line, remedy)
    most = snapshot.config.memory
    for book in snapshot.books:
        if book.over:
            lines, size = book.size.lines, book.size.bytes
            message = say(
                f"{book.shown} has {lines} of {most.max_lines} lines and {size} of {most.max_bytes} bytes, and takes nothing new.",
                f"{book.shown} 有 {lines}/{most.max_lines} 行、{size}/{most.max_bytes} 字节，不再接受新内容。",
            )
            yield Problem(OVER, message, book.shown, remedy="nacre review --adopt")
    shown = snapshot.workspace.relative(snapshot.workspace.review)
    for question in snapshot.questions:
        message = f"[{review.kind_title(question.kind)}] {quoted(question.text)}"
        yield Problem(QUESTION, message, shown, remedy="nacre review", id=question.id)


# Entries: duplicates, conflicts, and where memory says that it comes from.


class _Entry(NamedTuple):
    """An entry taken apart, and the day from which it holds, where the ledger knows one."""

    book: LongTermFile
    line: Line
    parts: EntryParts
    since: str
    normal: str

    @property
    def place(self) -> str:
        return f"{self.book.shown}:{self.line.start}"

    @property
    def shown(self) -> str:
        text = quoted(self.line.words)
        return say(f"“{text}” ({self.place})", f"“{text}”（{self.place}）")


def duplicates_and_conflicts(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries that say the same or contradict each other. What holds in one project is not held against another: no session is given
    both. Of two readings of a pair the better is kept: that they conflict, where either says so, since what replaces a statement
    repeats most of its words."""
    if snapshot.draft is None:
        return
    files = snapshot.draft.memory
    by_file: dict[str, list[_Entry]] = {book.shown: [] for book in snapshot.books}
    for book, line, parts in files.entries(files.general):
        state = snapshot.states.get(line.id)
        since = (state.valid_from or "") if state else _UNDATED
        by_file[book.shown].append(_Entry(book, line, parts, since, normal_words(line.words)))
    general, *projects = by_file.values()
    comparisons = [(entry, general) for entry in general]
    for shelf in projects:
        comparisons += [(entry, [*shelf, *general]) for entry in shelf] + [(entry, shelf) for entry in general]
    pairs: dict[frozenset[str], tuple[_Entry, _Entry, Comparison]] = {}
    for new, others in comparisons:
        older = [old for old in others if old is not new and not (old.since and new.since and old.since > new.since)]
        matches = [(old, Comparison("same", 0, 1.0)) for old in older if old.normal == new.normal]
        rest = [old for old in older if old.normal != new.normal]
        for comparison in compare.compare_with(new.parts.whole, [old.parts for old in rest])[0]:
            old = rest[comparison.place]
            # A project may do otherwise than the rest unless it says so; across languages words alone are compared, so the odds must be good.
            is_conflict = (old.book is new.book or comparison.why == "goodbye") and (
                old.parts.whole.language == new.parts.whole.language or comparison.odds >= compare.CONFLICT
            )
            if comparison.kind == "same" or is_conflict:
                matches.append((old, comparison))
        for old, comparison in matches:
            places = frozenset((old.place, new.place))
            rank = (comparison.kind != "same", comparison.odds)
            if places not in pairs or rank > (pairs[places][2].kind != "same", pairs[places][2].odds):
                pairs[places] = old, new, comparison
    for old, new, comparison in pairs.values():
        if comparison.kind == "same":
            yield _duplicate(old, new)
            continue
        if comparison.kind == "supersedes" and (old.since != _UNDATED or new.since != _UNDATED):
            message = say(f"{old.shown} seems overtaken by {new.shown}.", f"{old.shown}似乎已被{new.shown}取代。")
        else:
            message = say(
                f"{old.shown} and {new.shown} cannot both hold; forget the wrong one.",
                f"{old.shown}与{new.shown}不能同时成立；请忘记错误的一条。",
            )
        entry = old.line
        yield Problem(CONTRADICTION, message, old.book.shown, entry.start, f"nacre forget {entry.id}", id=entry.id)


def _duplicate(old: _Entry, new: _Entry) -> Problem:
    """Of two that say the same the shorter may go; forgetting would take both where they share their very words."""
    weaker, other = sorted((old, new), key=lambda entry: (len(entry.line.words), entry.place))
    message = say(f"{weaker.shown} says the same as {other.shown}.", f"{weaker.shown}与{other.shown}意思相同。")
    remedy = f"nacre forget {weaker.line.id}"
    if weaker.normal == other.normal:
        first, last = weaker.line.start, weaker.line.end
        lines = f"{first}" if first == last else f"{first}-{last}"
        remedy = say(f"delete line {lines} of {weaker.book.shown}", f"请删除 {weaker.book.shown} 第 {lines} 行")
    return Problem(DUPLICATE, message, weaker.book.shown, weaker.line.start, remedy, id=weaker.line.id)


def faded_entries(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries that the next tidying would put to the user because their time is over."""
    if snapshot.draft is None:
        return
    snapshot.draft.ask_about_outdated()
    asked = {question.id for question in snapshot.draft.asks if question.kind == review.FADED}
    for book, line in snapshot.lines:
        if line.id in asked:
            since = _since(snapshot, line)
            why = budget.outdated_reason(line.words, since, snapshot.today, snapshot.draft.recent)
            text, why = quoted(line.words), quoted(why or "")
            message = say(
                f"“{text}”: {why}; tidying asks whether it may go.", f"“{text}”：{why}；整理时会询问是否移除。"
            )
            yield Problem(FADED, message, book.shown, line.start, "nacre tidy", id=line.id)


def _since(snapshot: Snapshot, line: Line) -> str | None:
    state = snapshot.states.get(line.id)
    return state.valid_from if state else None


def unknown_entries(snapshot: Snapshot) -> Iterator[Problem]:
    """Where files and ledger tell different things: somebody wrote, edited or took out a line since the last tidying."""
    edits = memory_files.hand_edits(snapshot.books, snapshot.states)
    written = say("was written by hand and is not in the ledger yet", "由他人写入，尚未记入账本")
    edited = say("was edited since the ledger saw it", "在记入账本之后被修改过")
    taken = say("was taken out by hand; the ledger still has it", "已被手动移除，账本中仍有记录")
    rows: list[tuple[str, str, str, int | None, str]] = [
        *((line.words, written, book.shown, line.start, line.id) for book, line in edits.adopted),
        *((line.words, edited, book.shown, line.start, line.id) for book, line, _ in edits.edited),
        *((state.text or "", taken, state.file, None, state.id) for state in edits.gone),
    ]
    for words, why, path, number, entry in rows:
        message = say(f"“{quoted(words)}” {why}.", f"“{quoted(words)}”{why}。")
        yield Problem(UNKNOWN, message, path, number, "nacre tidy", id=entry)


def entries_without_origin(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries whose day, session, line or superseded entry no longer exists: `nacre why` cannot follow them. A pin says that the
    user vouches for the entry, which then needs no origin."""
    for book, line in snapshot.lines:
        state = snapshot.states.get(line.id)
        if state and state.in_memory and not snapshot.is_pinned(line) and (reason := _why_lost(state, snapshot)):
            text = quoted(line.words)
            message = say(f"“{text}”: {reason}; pin it if it holds.", f"“{text}”：{reason}；若仍然成立，请固定它。")
            yield Problem(ORIGIN, message, book.shown, line.start, f"nacre pin {line.id}", id=line.id)


def _why_lost(state: EntryState, snapshot: Snapshot) -> str | None:
    logs = snapshot.logs
    day, session, bullet = (str(state.source.get(name, "")) for name in ("day", "session", "bullet"))
    if state.source.get("checkpoint"):
        return None  # promoted from a checkpoint, which fades; the ledger tells of it
    if day and not (logs.says(day, bullet) if bullet else day in logs.days):
        if day in logs.days:
            return say(f"the line of {day} that it came from is gone", f"{day} 日志中作为来源的那一行已不存在")
        return say(f"the log of {day} that it came from is gone", f"作为来源的 {day} 日志已不存在")
    if day and session and not logs.has_session(day, session):
        return say(
            f"the log of {day} no longer names the session {session} that it came from",
            f"{day} 的日志中已没有作为来源的会话 {session}",
        )
    if state.supersedes and state.supersedes not in snapshot.states:
        return say(
            f"the entry {state.supersedes} that it took the place of is not in the ledger",
            f"账本中没有被它取代的条目 {state.supersedes}",
        )
    return None


def digest_lines_without_day(snapshot: Snapshot) -> Iterator[Problem]:
    """Lines of digests that name a day of which there is no log."""
    for path in weekly.digest_files(snapshot.workspace).values():
        for number, line in enumerate(_read(path).split("\n"), start=1):
            if (named := _NAMED_DAY.search(line)) and named[1] not in snapshot.logs.days:
                entry = entry_id(bare_words(words_of(line)))
                message = say(
                    f"The line names {named[1]}, of which there is no log; forget it if it is wrong.",
                    f"该行标注的来源 {named[1]} 没有日志；若内容有误，请忘记它。",
                )
                shown = snapshot.workspace.relative(path)
                yield Problem(SOURCE, message, shown, number, f"nacre forget {entry}", id=entry)


def stale_task(snapshot: Snapshot) -> Iterator[Problem]:
    """The task in SESSION-STATE.md, when nobody has touched it for days."""
    shown = snapshot.workspace.relative(snapshot.workspace.state)
    try:
        state = working.read_state(snapshot.workspace, snapshot.context.clock)
        task = working.current_task(state.document)
    except NacreError as error:
        remedy = say("mend the file or move it away", "请修复该文件或将其移走")
        yield Problem(UNREADABLE, str(error), shown, remedy=remedy)
        return
    marked = working.day_mark(state.document)  # what the file says of itself, else when it was written
    written = marked[1] if marked else state.written
    age = (snapshot.today - written).days if written else 0
    if task and age > LEFT:
        message = say(
            f"“{quoted(task)}” has been the current task for {age} days without a change.",
            f"“{quoted(task)}”作为当前任务已有 {age} 天没有变化。",
        )
        yield Problem(STATE, message, shown, remedy="nacre wal task --clear")


def log_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Notes of the last days that carry no type, as `nacre classify` sees them (what holds a secret or is no text is doctor's); logs that tidying
    should have taken in, and empty ones that it should have put away."""
    shown = snapshot.workspace.relative
    for day in snapshot.days:
        text = _read(day.path) if not day.archived and (snapshot.today - day.date).days <= TYPED_DAYS else ""
        for item in document(day.path, text.encode()).items if "\ufffd" not in text else ():
            if lacks_type(item) and not redact(item.text).findings:
                message = f"“{quoted(item.words)}”"
                yield Problem(UNTYPED, message, shown(day.path), item.start, "nacre classify --apply")
    command = "nacre tidy" if snapshot.config.tidy.retention == "weekly" else "nacre decay"
    for day, rule in _logs_due(snapshot, _next_tidy(snapshot) - dt.timedelta(days=1)):
        try:
            is_empty = day.size <= _SHORT and not collect.read_log(day).lines
        except NacreError:
            is_empty = False
        yield Problem(EMPTY if is_empty else UNPRESSED, rule, shown(day.path), remedy=command)


def _logs_due(snapshot: Snapshot, day: dt.date) -> list[tuple[Day, str]]:
    """The logs whose time is over when tidying runs on a day, with the rule."""
    living = [log for log in snapshot.days if not log.archived]
    if snapshot.config.tidy.retention != "weekly":
        return run.outdated_logs(living, day, snapshot.config.decay)
    kept = snapshot.config.tidy.daily_days
    rule = say(f"older than {kept} days (tidy.daily_days)", f"超过 {kept} 天（tidy.daily_days）")
    return [(log, rule) for log in living if (day - log.date).days > kept]


def _next_tidy(snapshot: Snapshot) -> dt.date:
    try:
        begins = dt.time.fromisoformat(snapshot.config.tidy.time)
    except ValueError:
        begins = dt.time(3)
    is_today = snapshot.context.clock.now().time() < begins
    return snapshot.today if is_today else snapshot.today + dt.timedelta(days=1)


def _sinking(snapshot: Snapshot, turn: Transition, hours: int = 0) -> Placement | None:
    """Where a checkpoint sinks to in some hours; none while it stays or rises."""
    assert snapshot.layer_rules is not None
    placed = decide_layer(turn.family.layer, turn.dated, turn.kept, snapshot.layer_rules, _clock_in(snapshot, hours))
    return placed if placed.action in (MOVE, FORGET, DELETE) and placed.layer != turn.family.layer else None


def _overdue(snapshot: Snapshot, turn: Transition) -> Placement | None:
    """Where a checkpoint should be since yesterday: a day is what organising may take to come round."""
    now = _sinking(snapshot, turn)
    return now if now and _sinking(snapshot, turn, -24) else None


def _clock_in(snapshot: Snapshot, hours: int) -> Clock:
    clock = snapshot.context.clock
    return clock.at(clock.now() + dt.timedelta(hours=hours))


def checkpoint_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Checkpoints in the wrong layer; counts of those that are nowhere any more, which one of the same name would take for its own
    (those of forgotten ones go by themselves when their time has come); and copies under another name."""
    layers, shown = snapshot.layers, snapshot.workspace.relative
    by_size: dict[int, list[Family]] = {}
    for turn in layers.turns:
        if due := _overdue(snapshot, turn):
            yield Problem(UNSORTED, due.reason, shown(turn.family.lead.path), remedy="nacre organise")
        if turn.family.original and turn.family.original.size:
            by_size.setdefault(turn.family.original.size, []).append(turn.family)
    stems = {turn.family.stem for turn in layers.turns}
    for key, entry in layers.counts.entries.items():
        layer, _, name = key.partition("/")
        is_finished = key in layers.finished
        is_forgotten = isinstance(entry, dict) and entry.get(refcount.FORGOTTEN) and not entry.get("user_marked")
        if layer not in TIERS or stem_of(name) in stems or (is_forgotten and not is_finished):
            continue
        message = say(
            f"refcount.json counts {key}, which is gone.", f"refcount.json 中有 {key} 的计数，但该文件已不存在。"
        )
        remedy = say(f'take the entry "{key}" out of refcount.json', f"请从 refcount.json 中删除“{key}”条目")
        remedy = "nacre organise" if is_finished and layers.turns else remedy
        yield Problem(UNCOUNTED, message, "refcount.json", remedy=remedy)
    for families in by_size.values():
        first: dict[str, Family] = {}
        for family in sorted(families, key=lambda family: (TIERS.index(family.layer), family.lead.place)):
            text = _read(family.lead.path) if len(families) > 1 else ""
            other = first.setdefault(text, family)
            if text and other is not family:
                message = say(
                    f"It holds the same as {shown(other.lead.path)}.", f"内容与 {shown(other.lead.path)} 相同。"
                )
                files = say(" and ", " 和 ").join(shown(piece.path) for piece in family.pieces)
                remedy = say(f"delete {files}", f"请删除 {files}")
                yield Problem(COPY, message, shown(family.lead.path), remedy=remedy)


CHECKS: tuple[Callable[[Snapshot], Iterable[Problem]], ...] = (
    files_and_questions,
    duplicates_and_conflicts,
    faded_entries,
    stale_task,
    unknown_entries,
    entries_without_origin,
    log_problems,
    checkpoint_problems,
    digest_lines_without_day,
)


def find_problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    order = {kind: place for place, kind in enumerate(KINDS)}
    problems = dict.fromkeys(problem for check in CHECKS for problem in check(snapshot))
    return tuple(sorted(problems, key=lambda problem: (order[problem.kind], problem.path, problem.line or 0)))


@dataclass(frozen=True)
class Fade:
    """Something that will go or change by itself: on which day, by which rule, and what keeps it, where anything does."""

    day: str
    path: str
    what: str
    rule: str
    line: int | None = None
    keep: str = ""


def what_fades(snapshot: Snapshot) -> tuple[Fade, ...]:
    """Checkpoints that the next days move down, entries about a day of the coming week, and logs that the next tidying puts away."""
    fades = list(_fading_checkpoints(snapshot))
    today = snapshot.today
    for book, line in snapshot.lines:
        since = _since(snapshot, line) or today.isoformat()
        day = budget.expired_on(line.words, since, today + dt.timedelta(days=_LATER))
        if day and today <= day <= today + dt.timedelta(days=WEEK) and not snapshot.is_pinned(line):
            rule = say(
                f"its date comes; after {budget.GRACE} more days you are asked whether it may go",
                f"其日期将到；再过 {budget.GRACE} 天会询问是否移除",
            )
            keep = f"nacre pin {line.id}"
            fades.append(Fade(day.isoformat(), book.shown, quoted(line.words), rule, line.start, keep))
    day = _next_tidy(snapshot)
    overdue = {log.path for log, _ in _logs_due(snapshot, day - dt.timedelta(days=1))}
    what = say("moves to the archive", "移入归档")
    if snapshot.config.tidy.retention == "weekly":
        what = say("enters its week and moves to the archive", "压缩进周报并移入归档")
    for log, rule in _logs_due(snapshot, day):
        if log.path not in overdue:
            fades.append(Fade(day.isoformat(), snapshot.workspace.relative(log.path), what, rule))
    return tuple(sorted(fades, key=lambda fade: (fade.day, fade.path, fade.line or 0)))


def _fading_checkpoints(snapshot: Snapshot) -> Iterator[Fade]:
    """Checkpoints that the next days move down or delete, each at the first hour that does; not those that are overdue."""
    for turn in snapshot.layers.turns:
        begin, end = -24, 24 * DAYS_AHEAD
        if not _sinking(snapshot, turn, end) or _overdue(snapshot, turn):
            continue
        while end - begin > 1:
            middle = (begin + end) // 2
            begin, end = (begin, middle) if _sinking(snapshot, turn, middle) else (middle, end)
        end = max(end, 0)
        sinks = _sinking(snapshot, turn, end)
        assert sinks is not None
        if sinks.layer is None:
            what = say("is deleted", "被删除")
        elif sinks.layer == FORGOTTEN:
            what = say("is forgotten", "被遗忘")
        elif sinks.layer == GIST:
            what = say("gets a summary in gist", "在 gist 中生成摘要")
        else:
            what = say(f"moves to {sinks.layer}", f"移入 {sinks.layer}")
        path, day = snapshot.workspace.relative(turn.family.lead.path), _clock_in(snapshot, end).today().isoformat()
        rule = sinks.reason.partition(say(": ", "："))[2]  # in front of it stands the age on that day
        yield Fade(day, path, what, rule or sinks.reason, keep=f"nacre get {quote(path)}")


@dataclass(frozen=True)
class LooseEnds:
    """What leads nowhere and does no harm, so it is only counted."""

    recalls: int = 0  # of files that are gone
    trail: int = 0  # days of the provenance without a log
    ledger: int = 0  # candidates and former entries whose day is gone, or that superseded an entry nobody knows


def count_loose_ends(snapshot: Snapshot, paths: Collection[str]) -> LooseEnds:
    recalls = refcount.read_recalls(snapshot.workspace).recalls
    recalled = sum(recall.path not in paths and not recall.path.startswith("sessions/") for recall in recalls)
    trail, days = snapshot.provenance, snapshot.logs.days
    traced = {captured.day for captured in trail.captured} | {pressed.day for pressed in trail.pressed}
    lost = 0
    for state in snapshot.states.values():
        if not state.in_memory and state.verdict != "forgotten":
            day = str(state.source.get("day", ""))
            lost += bool(day and day not in days) or bool(state.supersedes and state.supersedes not in snapshot.states)
    return LooseEnds(recalled, len(traced - days), lost)
