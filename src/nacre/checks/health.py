"""How well a memory is kept: what is wrong, over a snapshot that is read once, what fades next, and a grade from A to F."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from nacre.capture.extract import lacks_type
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.context import gather
from nacre.errors import BadInput, NacreError
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.layers import organise
from nacre.layers.layer import DELETE, FORGET, MOVE, LayerRules, Placement, decide_layer
from nacre.layers.organise import OrganisePlan, Transition
from nacre.memory import Memory
from nacre.model.report import Problem, fields, problem
from nacre.model.workspace import Workspace
from nacre.text.tokens import tokens, tokens_estimate
from nacre.tidy import budget, collect, compare, run
from nacre.tidy.collect import Day, TidyContext
from nacre.tidy.compare import Comparison, EntryParts
from nacre.tidy.distil import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import disk, ledger, refcount, review, working
from nacre.vault.checkpoints import FORGOTTEN, GIST
from nacre.vault.disk import real_target
from nacre.vault.entries import normal_words
from nacre.vault.files import TIERS, MemoryFile
from nacre.vault.ledger import EntryState
from nacre.vault.markdown import document
from nacre.vault.provenance import Provenance, read_provenance

LONGEST = 120  # characters of a line that are quoted
WEEK = 7  # days in which the date of an entry comes
DAYS_AHEAD = 3  # in which checkpoints move down
TYPED_DAYS = 30  # in which a note without a type is worth a word
LEFT = 7  # days without a change after which a task counts as left behind
PATIENCE = 7  # days after which a question has waited for too long
_LATER = 2 * (WEEK + budget.GRACE)  # days after which a date that is looked for has passed
_UNDATED = "~"  # a line that the ledger does not know was written after everything that it does

UNREADABLE, OVER = "unreadable", "over limits"
CONTRADICTION, QUESTION, DUPLICATE, FADED = "contradiction", "question", "duplicate", "faded"
DANGLING = "dangling"
ORIGIN, UNTYPED, UNPRESSED = "origin gone", "untyped", "unpressed"
UNSORTED, STATE = "unsorted", "stale state"


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
    DANGLING: Kind(3, 15, "entries that cannot be understood alone", "单独看不懂的条目"),
    QUESTION: Kind(1, 10, "questions that have waited for more than a week", "等待超过一周的问题"),
    FADED: Kind(2, 10, "entries whose time is over", "已过时的条目"),
    STATE: Kind(5, 5, "working memory left behind", "遗留的工作记忆"),
    ORIGIN: Kind(2, 10, "entries whose origin is gone", "来源已不存在的条目"),
    UNTYPED: Kind(0.5, 10, "notes without a type", "没有类型的笔记"),
    UNPRESSED: Kind(0.5, 15, "old logs that are not put away yet", "尚未归档的旧日志"),
    UNSORTED: Kind(0.5, 10, "checkpoints in the wrong layer", "所在层级不对的检查点"),
}


def kind_title(kind: str) -> str:
    return say(KINDS[kind].english, KINDS[kind].chinese)


def _read(path: Path) -> str:
    """A file's text; none where it cannot be read, which doctor says."""
    try:
        return (disk.read_bytes(path) or b"").decode("utf-8", "replace")
    except NacreError:
        return ""


@dataclass(frozen=True)
class Snapshot:
    """What every check looks at, read once. Without a draft MEMORY.md could not be read."""

    context: TidyContext
    today: dt.date
    draft: Draft | None
    days: Sequence[Day]
    layers: OrganisePlan
    layer_rules: LayerRules | None
    problems: Sequence[Problem]

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    @property
    def config(self) -> Config:
        return self.context.config

    @cached_property
    def states(self) -> Mapping[str, EntryState]:
        return ledger.entry_states(ledger.read_ledger(self.workspace).records) if self.draft else {}

    @property
    def files(self) -> Sequence[LongTermFile]:
        return self.draft.memory.files if self.draft else ()

    @property
    def lines(self) -> list[tuple[LongTermFile, Line]]:
        return [(file, line) for file in self.files for line in file.lines]

    @cached_property
    def logged(self) -> frozenset[str]:
        """The days that left a log behind; a compressed log is one too."""
        paths = (*self.workspace.memory.glob("????-??-??.md*"), *self.workspace.archive.glob("*/????-??-??.md*"))
        return frozenset(path.name[:10] for path in paths)

    def is_pinned(self, line: Line) -> bool:
        state = self.states.get(line.id)
        return line.pinned or bool(state and state.in_memory and state.pinned)


def take_snapshot(memory: Memory) -> Snapshot:
    """Read everything that the checks look at; what cannot be read is a problem."""
    workspace, clock = memory.workspace, memory.clock
    context = TidyContext(workspace, memory.config, clock, judge=lambda: memory.brain)
    today = clock.today()
    days, problems = collect.list_days(workspace, today)
    draft: Draft | None = None
    try:
        real_target(workspace.longterm, workspace.root)
        draft = Draft(context)
        _ = draft.memory.general.lines  # decoded now, not in the middle of the examination
        problems += [*draft.problems, *draft.memory.problems]
    except NacreError as error:
        draft = None
        problems.append(Problem(UNREADABLE, str(error), workspace.relative(workspace.longterm), severity="error"))
    layers, rules = OrganisePlan(), None
    try:
        layers, rules = organise.plan(memory.opened), LayerRules.of(memory.config.tiers)
        problems += [*layers.left, *layers.notes]
    except NacreError as error:  # settings that mean nothing: then nothing is said about what fades
        problems.append(Problem("layers not looked at", str(error)))
    return Snapshot(context, today, draft, days, layers, rules, problems)


def quoted(words: str) -> str:
    text = one_line(redact(words).text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"


def files_and_questions(snapshot: Snapshot) -> Iterator[Problem]:
    """Files and lines that are left alone, every MEMORY.md that breaks its limits, and what has waited too long for the user's word."""
    for trouble in snapshot.problems:
        remedy = trouble.remedy or say("mend it or move it away", "请修复或移走")
        yield replace(trouble, kind=UNREADABLE, remedy=remedy, severity="warning", id="")
    most = snapshot.config.memory
    for file in snapshot.files:
        if file.over:
            lines, size = file.size.lines, file.size.bytes
            english = f"{file.shown} has {lines} of {most.max_lines} lines and {size} of {most.max_bytes} bytes, and takes nothing new."
            chinese = f"{file.shown} 有 {lines}/{most.max_lines} 行、{size}/{most.max_bytes} 字节，不再接受新内容。"
            yield problem(OVER, english, chinese, file.shown, remedy="nacre review --adopt")
    shown = snapshot.workspace.relative(snapshot.workspace.review)
    for question in snapshot.draft.questions if snapshot.draft else ():
        if snapshot.draft is None or snapshot.draft.waited(question) <= PATIENCE:
            continue
        message = f"[{review.kind_title(question.kind)}] {quoted(question.text)}"
        yield Problem(QUESTION, message, shown, remedy="nacre review", id=question.id)


# Entries: duplicates, conflicts, and where memory says that it comes from.

_IS = re.compile(r"\b(?:is|are|was|were)\b|是", re.IGNORECASE)
_VALUE = re.compile(
    r"\d(?:[A-Za-z0-9.:/,%-]*[A-Za-z0-9%])?"
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december)s?\b"
    r"|(?:周|星期|礼拜)[一二三四五六日天]|[一二两三四五六七八九十]+(?=[点号月天次个])"
    # a name behind a word that gives a place, a holder or a value, and a Han name behind who or what holds it
    r"|(?-i:(?<=\bis )|(?<=\bare )|(?<=\bwas )|(?<=\bby )|(?<=\bon )|(?<=\bin )|(?<=\bat ))(?-i:[A-Z][\w.+#-]*(?: [A-Z][\w.+#-]*)*)"
    r"|(?:(?<=[是为叫在由])|(?<=[是为叫在由] ))[A-Za-z][A-Za-z0-9.+#-]*"
    r"|(?:(?<=[人长管理址字区期]是)|(?<=[人长管理址字区期]为))[\u4e00-\u9fff]{2,6}\Z",
    re.IGNORECASE,
)
_LEAST = 2  # words that two sentences share besides their values


class Frame(NamedTuple):
    """A sentence without the values that it gives, and these."""

    words: str
    values: tuple[str, ...]

    def differs(self, other: Frame) -> bool:
        """Whether the other says the same of the same with another value; two other values may well be of two matters."""
        if self.words != other.words or len(self.values) != len(other.values):
            return False
        return sum(one != two for one, two in zip(self.values, other.values, strict=True)) == 1


def frame_of(text: str) -> Frame:
    """A value stands in what is said of something: a number in front of "is" belongs to what is spoken of."""
    start = max((match.end() for match in _IS.finditer(text)), default=0)
    values = [match for match in _VALUE.finditer(text) if match.start() >= start]
    words = text
    for match in reversed(values):
        words = f"{words[: match.start()]} _ {words[match.end() :]}"
    if len({*tokens(words)} - {"_"}) < _LEAST:
        return Frame(words, ())
    return Frame(normal_words(words), tuple(match[0].lower() for match in values))


class _Entry(NamedTuple):
    """An entry taken apart, and the day from which it holds, where the ledger knows one."""

    file: LongTermFile
    line: Line
    parts: EntryParts
    since: str
    normal: str
    frame: Frame

    @property
    def place(self) -> str:
        return f"{self.file.shown}:{self.line.start}"

    @property
    def shown(self) -> str:
        text = quoted(self.line.words)
        return say(f"“{text}” ({self.place})", f"“{text}”（{self.place}）")


def duplicates_and_conflicts(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries that say the same or contradict each other, but for those of two projects, which no session is given both. Of two
    readings of a pair a conflict is kept: what replaces a statement repeats most of its words."""
    if snapshot.draft is None:
        return
    files = snapshot.draft.memory
    by_file: dict[str, list[_Entry]] = {file.shown: [] for file in snapshot.files}
    for file, line, parts in files.entries(files.general):
        state = snapshot.states.get(line.id)
        since = (state.valid_from or "") if state else _UNDATED
        normal, frame = normal_words(line.words), frame_of(line.words)
        by_file[file.shown].append(_Entry(file, line, parts, since, normal, frame))
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
            # A project may do otherwise than the rest.
            is_conflict = old.file is new.file and comparison.kind == "replaces"
            if comparison.kind == "same" or is_conflict:
                matches.append((old, comparison))
        other_values = (old for old in rest if old.file is new.file and old.frame.differs(new.frame))
        matches += [(old, Comparison("unclear", 0, 1.0)) for old in other_values]
        for old, comparison in matches:
            places = frozenset((old.place, new.place))
            rank = (comparison.kind != "same", comparison.odds)
            if places not in pairs or rank > (pairs[places][2].kind != "same", pairs[places][2].odds):
                pairs[places] = old, new, comparison
    for old, new, comparison in pairs.values():
        if comparison.kind == "same":
            yield _duplicate(old, new)
            continue
        english = f"{old.shown} and {new.shown} cannot both hold; forget the wrong one."
        message = say(english, f"{old.shown}与{new.shown}不能同时成立；请忘记错误的一条。")
        if old.since != _UNDATED or new.since != _UNDATED:
            message = say(f"{old.shown} seems overtaken by {new.shown}.", f"{old.shown}似乎已被{new.shown}取代。")
        entry = old.line
        yield Problem(CONTRADICTION, message, old.file.shown, entry.start, f"nacre forget {entry.id}", id=entry.id)


def _duplicate(old: _Entry, new: _Entry) -> Problem:
    """Of two that say the same the shorter may go; forgetting would take both where they share their very words."""
    weaker, other = sorted((old, new), key=lambda entry: (len(entry.line.words), entry.place))
    message = say(f"{weaker.shown} says the same as {other.shown}.", f"{weaker.shown}与{other.shown}意思相同。")
    remedy = f"nacre forget {weaker.line.id}"
    if weaker.normal == other.normal:
        first, last = weaker.line.start, weaker.line.end
        lines = f"{first}" if first == last else f"{first}-{last}"
        remedy = say(f"delete line {lines} of {weaker.file.shown}", f"请删除 {weaker.file.shown} 第 {lines} 行")
    return Problem(DUPLICATE, message, weaker.file.shown, weaker.line.start, remedy, id=weaker.line.id)


def _of_entry(kind: str, file: LongTermFile, line: Line, english: str, chinese: str, remedy: str) -> Problem:
    """What is wrong with one entry, behind its words."""
    text = quoted(line.words)
    message = say(f"“{text}”: {english}", f"“{text}”：{chinese}")
    return Problem(kind, message, file.shown, line.start, remedy, id=line.id)


def outdated_entries(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries whose date has passed, unless the user pinned them or said that they stay."""
    draft = snapshot.draft
    waiting = {question.id for question in draft.questions} if draft else set()
    for file, line in snapshot.lines if draft else ():
        state = snapshot.states.get(line.id)
        answered = any(record.more.get("answer") == review.FADED for record in (state.records if state else ()))
        if answered or snapshot.is_pinned(line):
            continue
        if day := budget.expired_on(line.words, state.valid_from if state else None, snapshot.today):
            asked = draft is not None and draft.trail.was_asked(f"{review.FADED}:{line.id}")
            remedy = "nacre review" if line.id in waiting else f"nacre forget {line.id}" if asked else "nacre tidy"
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
        if _ASKS.search(words):
            english, chinese = "it is a question, and tells nothing.", "这是一个问题，没有说明任何事情。"
        elif _ANSWER.match(words):
            english, chinese = "it answers a question that is not there.", "它回答的问题不在其中。"
        elif _PRONOUN.match(words) and not (file is not snapshot.files[0] and _OF_PROJECT.match(words)):
            english, chinese = "it does not say whom or what it is about.", "没有说明指的是谁或什么。"
        else:
            continue
        yield _of_entry(DANGLING, file, line, english, chinese, f"nacre forget {line.id}")


def entries_without_origin(snapshot: Snapshot) -> Iterator[Problem]:
    """Entries whose day no longer has a log, so that `nacre why` cannot follow them; not those that the user vouches for by a pin."""
    for file, line in snapshot.lines:
        state = snapshot.states.get(line.id)
        if not state or not state.in_memory or snapshot.is_pinned(line) or state.source.get("checkpoint"):
            continue  # one that was promoted from a checkpoint, which fades, is told of by the ledger
        day = str(state.source.get("day", ""))
        if day and day not in snapshot.logged:
            english = f"the log of {day} that it came from is gone; pin it if it holds."
            chinese = f"作为来源的 {day} 日志已不存在；若仍然成立，请固定它。"
            yield _of_entry(ORIGIN, file, line, english, chinese, f"nacre pin {line.id}")


def stale_task(snapshot: Snapshot) -> Iterator[Problem]:
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
        text = quoted(task)
        english = f"“{text}” has been the current task for {age} days without a change."
        chinese = f"“{text}”作为当前任务已有 {age} 天没有变化。"
        yield problem(STATE, english, chinese, shown, remedy="nacre wal task --clear")


def log_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Notes of the last days that carry no type, as `nacre classify` sees them, and logs that tidying should have taken in."""
    shown = snapshot.workspace.relative
    for day in snapshot.days:
        text = _read(day.path) if not day.archived and (snapshot.today - day.date).days <= TYPED_DAYS else ""
        for item in document(day.path, text.encode()).items if "\ufffd" not in text else ():
            if lacks_type(item) and not redact(item.text).findings:
                message = f"“{quoted(item.words)}”"
                yield Problem(UNTYPED, message, shown(day.path), item.start, "nacre classify --apply")
    command = "nacre tidy" if snapshot.config.tidy.retention == "weekly" else "nacre decay"
    for day, rule in _logs_due(snapshot, _next_tidy(snapshot) - dt.timedelta(days=1)):
        yield Problem(UNPRESSED, rule, shown(day.path), remedy=command)


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


def misplaced_checkpoints(snapshot: Snapshot) -> Iterator[Problem]:
    for turn in snapshot.layers.turns:
        if due := _overdue(snapshot, turn):
            path = snapshot.workspace.relative(turn.family.lead.path)
            yield Problem(UNSORTED, due.reason, path, remedy="nacre organise")


CHECKS: tuple[Callable[[Snapshot], Iterable[Problem]], ...] = (
    files_and_questions,
    duplicates_and_conflicts,
    dangling_entries,
    outdated_entries,
    stale_task,
    entries_without_origin,
    log_problems,
    misplaced_checkpoints,
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
    for file, line in snapshot.lines:
        state = snapshot.states.get(line.id)
        since = (state.valid_from if state else None) or today.isoformat()
        day = budget.expired_on(line.words, since, today + dt.timedelta(days=_LATER))
        if day and today <= day <= today + dt.timedelta(days=WEEK) and not snapshot.is_pinned(line):
            english = f"its date comes; after {budget.GRACE} more days you are asked whether it may go"
            rule, keep = say(english, f"其日期将到；再过 {budget.GRACE} 天会询问是否移除"), f"nacre pin {line.id}"
            fades.append(Fade(day.isoformat(), file.shown, quoted(line.words), rule, line.start, keep))
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
    hours_ahead = 24 * DAYS_AHEAD
    for turn in snapshot.layers.turns:
        if not _sinking(snapshot, turn, hours_ahead) or _overdue(snapshot, turn):
            continue
        placements = ((hours, _sinking(snapshot, turn, hours)) for hours in range(hours_ahead + 1))
        hours, placed = next((hours, placed) for hours, placed in placements if placed)
        what = {
            None: say("is deleted", "被删除"),
            FORGOTTEN: say("is forgotten", "被遗忘"),
            GIST: say("gets a summary in gist", "在 gist 中生成摘要"),
        }.get(placed.layer, say(f"moves to {placed.layer}", f"移入 {placed.layer}"))
        path, day = snapshot.workspace.relative(turn.family.lead.path), _clock_in(snapshot, hours).today().isoformat()
        rule = placed.reason.partition(say(": ", "："))[2]  # in front of it stands the age on that day
        yield Fade(day, path, what, rule or placed.reason, keep=f"nacre get {quote(path)}")


def count_loose_ends(snapshot: Snapshot, paths: Collection[str]) -> dict[str, int]:
    """What leads nowhere and does no harm: recalls of files that are gone, days of the provenance without a log, candidates and former
    entries whose day is gone or that superseded an entry nobody knows."""
    recalls = refcount.read_recalls(snapshot.workspace).recalls
    recalled = sum(recall.path not in paths and not recall.path.startswith("sessions/") for recall in recalls)
    trail = read_provenance(snapshot.workspace) if snapshot.draft else Provenance()
    days = snapshot.logged
    traced = {captured.day for captured in trail.captured} | {pressed.day for pressed in trail.pressed}
    lost = 0
    for state in snapshot.states.values():
        if not state.in_memory and state.verdict != "forgotten":
            day = str(state.source.get("day", ""))
            lost += bool(day and day not in days) or bool(state.supersedes and state.supersedes not in snapshot.states)
    return {"recalls": recalled, "trail": len(traced - days), "ledger": lost}


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
    """How a memory is kept: its grade, what is wrong, what fades next, and figures by the names that programs know."""

    grade: Grade
    findings: tuple[Problem, ...]
    fading: tuple[Fade, ...]
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
            "fading": [asdict(fade) for fade in self.fading],
            **self.figures,
        }


def graded(problems: Iterable[Problem]) -> Grade:
    counts = Counter(problem.kind for problem in problems)
    lost = [
        Deduction(kind, counts[kind], round(float(min(points.each * counts[kind], points.most)), 1))
        for kind, points in KINDS.items()
        if counts[kind]
    ]
    left = max(0, round(FULL - sum(deduction.points for deduction in lost)))
    letter = next((letter for least, letter in GRADES if left >= least), "F")
    return Grade(letter, left, tuple(sorted(lost, key=lambda deduction: -deduction.points)))


def check_health(memory: Memory) -> Health:
    """Examine a memory. Reads, and changes nothing; a file that cannot be read is a problem."""
    if memory.scope.group is not None:
        raise BadInput(
            "In a group nothing is told about private memory; run this without a scope.",
            "群组范围内不会透露私人记忆的情况；请去掉范围再运行。",
        )
    snapshot, files = take_snapshot(memory), memory.files()
    problems, fading = find_problems(snapshot), what_fades(snapshot)
    figures = {
        "longterm": _sizes(snapshot),
        "counts": _counts(snapshot, files),
        "tokens": _tokens(snapshot, files),
        "loose": count_loose_ends(snapshot, {file.path for file in files}),
        "meaning": list(memory.brain.with_vectors),
    }
    return Health(graded(problems), problems, fading, figures)


def _sizes(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every MEMORY.md beside its limits; `share` is the larger of the two shares."""
    most, sizes = snapshot.config.memory, []
    for file in snapshot.files:
        if file.before is not None:
            lines, size, tokens = file.size.lines, file.size.bytes, tokens_estimate(file.before.text)
            share = round(max(lines / (most.max_lines or 1), size / (most.max_bytes or 1)), 3)
            row = {"path": file.shown, "entries": len(file.lines), "lines": lines, "bytes": size, "share": share}
            sizes.append({**row, "tokens": tokens})
    return sizes


def _counts(snapshot: Snapshot, files: Sequence[MemoryFile]) -> dict[str, Any]:
    layers = Counter(file.layer for file in files)
    compressed = len(list(snapshot.workspace.archive.glob(f"*/????-??-??.md{disk.COMPRESSED}")))
    return {
        "daily": sum(not day.archived for day in snapshot.days),
        "weekly": layers["weekly"],
        "archived": sum(day.archived for day in snapshot.days) + compressed,
        "notes": layers["note"],
        "checkpoints": {layer: layers[layer] for layer in TIERS},
        "ledger": dict(Counter(state.verdict for state in snapshot.states.values()).most_common()),
        "pinned": sum(snapshot.is_pinned(line) for _, line in snapshot.lines),
        "questions": dict(Counter(question.kind for question in (snapshot.draft.questions if snapshot.draft else ()))),
    }


def _tokens(snapshot: Snapshot, files: Sequence[MemoryFile]) -> dict[str, int]:
    """About how many model tokens are in MEMORY.md, in the logs of today and yesterday, in what a new session is given, in all."""
    workspace, config = snapshot.workspace, snapshot.config

    def estimate(path: Path) -> int:
        try:
            data = disk.read_bytes(path) or b""
            data = disk.decompress(data, path.name) if path.suffix == disk.COMPRESSED else data
        except NacreError:
            return 0  # unreadable, which doctor says
        return tokens_estimate(data.decode("utf-8", "replace"))

    by_path = {file.path: estimate(Path(file.full)) for file in files if file.layer != "extra"}
    yesterday = snapshot.today - dt.timedelta(days=1)
    given = 0  # to a session that belongs to no project and asks nothing yet
    if config.context.enabled:
        gathered = gather.gather_private(snapshot.context, gather.SessionProject())
        given = gather.pack_context(gathered, config.context.budget, "main").tokens
    return {
        "longterm": by_path.get(workspace.relative(workspace.longterm), 0),
        "recent": sum(by_path.get(workspace.relative(workspace.day(day)), 0) for day in (snapshot.today, yesterday)),
        "session": given,
        "everything": sum(by_path.values()) + estimate(workspace.state),
    }
