"""The runs of `nacre tidy` and `nacre decay`: each phase planned, then carried out as one operation."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from nacre.config.settings import ArchiveSettings, DecaySettings
from nacre.errors import BadInput, ChangedOutside, NacreError, PathEscape
from nacre.i18n import say
from nacre.model.report import Problem, Step
from nacre.tidy import answers, apply, archive, collect, compress, distil
from nacre.tidy import apply as tidy_apply
from nacre.tidy.apply import DistilPlan
from nacre.tidy.archive import ArchivePlan, Packing
from nacre.tidy.collect import Day, LineKeys, Log, LogLine, TidyContext, decided_lines
from nacre.tidy.compress import CompressPlan
from nacre.tidy.distil import Only
from nacre.vault import disk, ledger, provenance, review, writing
from nacre.vault.history import Operation, operation
from nacre.vault.provenance import Offered


def action_word(action: str) -> str:
    """What a step does, for people."""
    return {
        "add": say("add", "新增"),
        "say once": say("say once", "不重复"),
        "move": say("move", "移动"),
        "append": say("append", "追加"),
        "remove": say("remove", "移除"),
        "adopt": say("adopt", "采纳"),
        "close": say("close", "关闭"),
        "set": say("set", "设置"),
        "supersede": say("supersede", "取代"),
        "merge": say("merge", "合并"),
        "shorten": say("shorten", "精简"),
        "demote": say("demote", "移出"),
        "refuse": say("refuse", "拒绝"),
        "ask": say("ask", "询问"),
    }.get(action, action)


# A night's tidying: press old days into weeks, distil what lasts, archive; each phase planned, then carried out.

COMPRESS, DISTIL, ARCHIVE = "compress", "distil", "archive"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class TidyReport:
    """What was done, or would be: the steps of each phase with their reasons, trouble, and what was left for the next run."""

    steps: tuple[tuple[str, Step], ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    recovered: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def changed(self) -> bool:
        return bool(self.steps)


def run_tidy(room: TidyContext, *, dry_run: bool = False, progress: Progress | None = None) -> TidyReport:
    """All three phases under one lock and as one operation, so that one `undo` takes the night back."""
    tell = progress or (lambda _phase: None)
    if dry_run:
        return _planned_only(room, tell)
    left: list[Problem] = []
    with operation(room.workspace, room.clock, "tidy", room.config) as op:
        recovered = apply.recover(room, op)
        tell(COMPRESS)
        pressed = _pressed(room)
        left += compress.apply(room, op, pressed)
        tell(DISTIL)
        distilled, refused = plan_distil(room)
        left += [*refused, *apply.apply_plan(room, op, distilled)]
        tell(ARCHIVE)
        moved = archive.plan(room, pressed)
        left += archive.apply(room, op, moved)
        thinned = archive.plan_backups(room)
        left += archive.apply_backups(room, op, thinned)
    if distilled.meant:
        room.judge().keep(distilled.meant, distilled.lately)
    problems = (*pressed.problems, *distilled.problems)
    phases = ((COMPRESS, pressed.steps), (DISTIL, distilled.steps), (ARCHIVE, (*moved.plan.steps, *thinned.plan.steps)))
    return _report(phases, problems, left, recovered=recovered)


def _pressed(room: TidyContext) -> CompressPlan:
    """The plan for the weeks; none where the user chose to keep daily logs for `nacre decay`, which is told."""
    if room.config.tidy.retention == "weekly":
        return compress.plan(room)
    sentence = say(
        'tidy.retention is "decay": daily logs stay as they are, nothing is pressed into weeks or archived; "nacre decay" does that.',
        "tidy.retention 为“decay”：每日日志保持原样，不压缩进周报，也不归档；归档由“nacre decay”进行。",
    )
    return CompressPlan(problems=(Problem("kept for decay", sentence, remedy="nacre decay"),))


def plan_distil(
    room: TidyContext, only: Only | None = None, said: Sequence[LogLine] | None = None
) -> tuple[DistilPlan, tuple[Problem, ...]]:
    """The plan of the night; one that would take out too much is made again with care, and asks instead. One that still would
    is not carried out at all, and is told."""
    planned = distil.plan(room, only=only, said=said)
    if not apply.too_much_lost(room, planned):
        return planned, ()
    careful = distil.plan(room, careful=True, only=only, said=said)
    problem = apply.too_much_lost(room, careful)
    return (DistilPlan(problems=careful.problems), (problem,)) if problem else (careful, ())


def _planned_only(room: TidyContext, tell: Progress) -> TidyReport:
    tell(COMPRESS)
    pressed = _pressed(room)
    tell(DISTIL)
    distilled, refused = plan_distil(room)
    tell(ARCHIVE)
    moved, thinned = archive.plan(room, pressed), archive.plan_backups(room)
    phases = ((COMPRESS, pressed.steps), (DISTIL, distilled.steps), (ARCHIVE, (*moved.plan.steps, *thinned.plan.steps)))
    return _report(phases, (*pressed.problems, *distilled.problems), refused, dry_run=True)


def _report(
    phases: Sequence[tuple[str, Sequence[Step]]],
    problems: Sequence[Problem],
    left: Sequence[Problem],
    *,
    dry_run: bool = False,
    recovered: int = 0,
) -> TidyReport:
    steps = tuple((phase, step) for phase, found in phases for step in found)
    counts = Counter(f"{phase} {step.action}" for phase, step in steps)
    once = tuple(dict.fromkeys(problems))
    return TidyReport(steps, once, tuple(left), dry_run, recovered, counts)


# The other way of keeping daily logs: as they are for months, then what lasts in them is promoted and they are
# archived whole.

PROMOTE, _ARCHIVE_PHASE, REVIEW = "promote", "archive", "review"
YOUNGEST = 7  # days that a log stays in any case, however many there are


@dataclass(frozen=True)
class DecayPlan:
    """Why decay sets in, and what it would do. Without an occasion there is nothing to do."""

    occasions: tuple[str, ...] = ()
    distilled: DistilPlan = field(default_factory=DistilPlan)
    moves: ArchivePlan = field(default_factory=ArchivePlan)
    packed: tuple[Packing, ...] = ()
    steps: tuple[tuple[str, Step], ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class DecayReport:
    """What was done, or would be, with the reasons; `in_force` is false where the weekly profile is."""

    steps: tuple[tuple[str, Step], ...] = ()
    occasions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    in_force: bool = True
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def changed(self) -> bool:
        return any(phase != REVIEW for phase, _ in self.steps)


def run_decay(room: TidyContext, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
    """Plan and carry out, under one lock and as one operation. Where the weekly profile is in force it is only ever shown."""
    in_force = room.config.tidy.retention == "decay"
    if dry_run:
        planned = plan_decay(room, promote_only=promote_only)
        return _decay_report(planned, planned.left, dry_run=True, in_force=in_force)
    if not in_force:
        raise _not_in_force(room)
    with operation(room.workspace, room.clock, "decay", room.config) as op:
        tidy_apply.recover(room, op)
        planned = plan_decay(room, promote_only=promote_only)
        left = (*planned.left, *apply_decay(room, op, planned))
    if planned.distilled.meant:
        room.judge().keep(planned.distilled.meant, planned.distilled.lately)
    return _decay_report(planned, left)


def _decay_report(
    planned: DecayPlan, left: tuple[Problem, ...], *, dry_run: bool = False, in_force: bool = True
) -> DecayReport:
    counts = Counter(f"{phase} {step.action}" for phase, step in planned.steps)
    once = tuple(dict.fromkeys(planned.problems))
    return DecayReport(planned.steps, planned.occasions, once, left, dry_run, in_force, counts)


def _not_in_force(room: TidyContext) -> BadInput:
    count = len(outdated_logs(_living(room)[0], room.clock.today(), room.config.decay))
    return BadInput(
        say(
            'Nothing was done: logs are pressed into weeks here (tidy.retention is "weekly"), which "nacre tidy" does. Decay would '
            f'archive {count} of them; "nacre decay --dry-run" shows which, "nacre config set tidy.retention decay" chooses it.',
            "未做任何改动：这里的日志由“nacre tidy”压缩进周报（tidy.retention 为“weekly”）。"
            f"decay 会归档其中 {count} 个；“nacre decay --dry-run”可查看，“nacre config set tidy.retention decay”可选用。",
        )
    )


def plan_decay(room: TidyContext, *, promote_only: bool = False) -> DecayPlan:
    """What decay would do; reads, and writes nothing."""
    room = replace(room, config=replace(room.config, archive=_archive(room)))
    living, problems = _living(room)
    old = outdated_logs(living, room.clock.today(), room.config.decay)
    long = _too_long(room)
    occasions = (*long.values(), *_occasions(room, living, old))
    if not occasions:
        return DecayPlan(problems=tuple(problems))
    logs: list[tuple[Log, str]] = []
    for day, why in old:
        try:
            logs.append((collect.read_log(day), why))
        except NacreError as trouble:
            problems.append(Problem("unreadable", str(trouble), room.workspace.relative(day.path)))
    known = _known(room)
    distilled, refused, steps = _promoted(room, [log for log, _ in logs], known)
    known |= {(one.day, mark) for one in distilled.offered for mark in one.bullets}
    moves, packed, gone = ((), (), []) if promote_only else _archived(room, logs, known, problems)
    steps += [(_ARCHIVE_PHASE, step) for step in gone]
    steps += [] if promote_only else _proposed(room, long, problems)
    problems += distilled.problems
    return DecayPlan(occasions, distilled, ArchivePlan(moves=moves), packed, tuple(steps), tuple(problems), refused)


def outdated_logs(living: Sequence[Day], today: dt.date, settings: DecaySettings) -> list[tuple[Day, str]]:
    """The logs that go, oldest first, with the reason: too old, or too many; of the last week none for their number."""
    found: list[tuple[Day, str]] = []
    surplus = len(living) - settings.max_files
    for place, day in enumerate(sorted(living, key=lambda one: one.date)):
        age = (today - day.date).days
        if age > settings.keep_days:
            old = say(
                f"{age} days old, kept for {settings.keep_days}", f"已有 {age} 天，保留期为 {settings.keep_days} 天"
            )
            found.append((day, old))
        elif place < surplus and age > YOUNGEST:
            many = say(
                f"the oldest of {len(living)} logs, of which {settings.max_files} stay",
                f"共 {len(living)} 个日志，保留 {settings.max_files} 个，此为其中最旧的",
            )
            found.append((day, many))
    return found


def _living(room: TidyContext) -> tuple[list[Day], list[Problem]]:
    listed = collect.list_days(room.workspace, room.clock.today())
    return [day for day in listed.days if not day.archived], list(listed.problems)


def _occasions(room: TidyContext, living: Sequence[Day], old: Sequence[tuple[Day, str]]) -> list[str]:
    settings = room.config.decay
    found: list[str] = []
    if len(living) > settings.max_files:
        found.append(
            say(
                f"There are {len(living)} daily logs; decay sets in above {settings.max_files}.",
                f"每日日志有 {len(living)} 个；超过 {settings.max_files} 个时开始衰减。",
            )
        )
    count = sum((room.clock.today() - day.date).days > settings.keep_days for day, _ in old)
    if count:
        found.append(
            say(
                f"{count} daily logs are older than {settings.keep_days} days.",
                f"有 {count} 个每日日志超过 {settings.keep_days} 天。",
            )
        )
    return found


def _archive(room: TidyContext) -> ArchiveSettings:
    """By month, unless the user chose otherwise."""
    settings = room.config.archive
    return settings if "archive.layout" in room.config.origins else replace(settings, layout="month")


# What lasts


def _known(room: TidyContext) -> LineKeys:
    """The lines that were decided on, or wait for the user's word."""
    workspace = room.workspace
    return decided_lines(
        provenance.read_provenance(workspace), ledger.read_ledger(workspace).records, review.read_review(workspace)
    )


def _promoted(
    room: TidyContext, logs: Sequence[Log], known: LineKeys
) -> tuple[DistilPlan, tuple[Problem, ...], list[tuple[str, Step]]]:
    """What the lines of these logs would change in long-term memory, by the tests of every night; what is marked as passing is
    not offered, now or later."""
    if not logs:
        return DistilPlan(), (), []
    dates = {log.day.date.isoformat() for log in logs}
    planned, refused = plan_distil(room, lambda one: one.day in dates and one.label != "TEMP")
    steps = [(PROMOTE, step) for step in planned.steps]
    passing: dict[str, dict[str, None]] = {}
    for log in logs:
        for one in log.said:
            if one.label == "TEMP" and (one.day, one.mark) not in known:
                passing.setdefault(one.day, {})[one.mark] = None
                reason = say("[TEMP]: it was only passing", "[TEMP]：只是临时内容")
                steps.append((PROMOTE, Step("drop", room.workspace.relative(log.day.path), reason, one.words)))
    told = tuple(Offered(day, tuple(marks)) for day, marks in passing.items())
    return replace(planned, offered=(*planned.offered, *told)), refused, steps


def _proposed(room: TidyContext, long: dict[str, str], problems: list[Problem]) -> list[tuple[str, Step]]:
    """What would leave a MEMORY.md that is too long: the same plan that `nacre review --adopt` shows and carries out."""
    if not long:
        return []
    memory, most = room.config.memory, room.config.decay.max_lines
    shorter = replace(memory, max_lines=min(memory.max_lines, most))
    try:
        planned = answers.plan_adopt(replace(room, config=replace(room.config, memory=shorter)))
    except NacreError as trouble:
        problems.append(Problem("over its limits", str(trouble), "MEMORY.md", remedy="nacre review"))
        return []
    command = '"nacre review --adopt"'
    if memory.max_lines > most:
        command = say(f"memory.max_lines = {most}, then {command}", f"先设 memory.max_lines = {most}，再运行 {command}")
    return [
        (REVIEW, Step("propose", step.path, f"{step.reason} ({command})", step.detail))
        for one in planned
        if one.shown in long
        for step in one.plan.steps
    ]


def _too_long(room: TidyContext) -> dict[str, str]:
    """Each MEMORY.md with more lines than decay lets pass, and the sentence that says so."""
    most, workspace = room.config.decay.max_lines, room.workspace
    found: dict[str, str] = {}
    for path in (workspace.longterm, *sorted(workspace.projects.glob("*/MEMORY.md"))):
        try:
            lines = writing.size_of(disk.read_bytes(path)).lines
        except NacreError:
            continue  # `doctor` tells of files that cannot be read
        if lines > most:
            shown = workspace.relative(path)
            found[shown] = say(
                f"{shown} has {lines} lines; decay sets in above {most}.",
                f"{shown} 有 {lines} 行；超过 {most} 行时开始衰减。",
            )
    return found


# The archive


def _archived(
    room: TidyContext, logs: Sequence[tuple[Log, str]], known: LineKeys, problems: list[Problem]
) -> tuple[tuple[archive.Move, ...], tuple[Packing, ...], list[Step]]:
    moves: list[archive.Move] = []
    packed: list[Packing] = []
    steps: list[Step] = []
    shown = room.workspace.relative
    there = [day for day in collect.list_days(room.workspace, room.clock.today()).days if day.archived]
    for log, why in logs:
        try:
            before = [collect.read_log(day) for day in there if day.date == log.day.date]
            if room.config.archive.compress and not before and archive.is_decided(log, known):
                one = archive.plan_packing(room, log)
                packed.append(one)
                steps.append(Step("compress", shown(log.day.path), why, shown(one.to)))
                continue
            move = archive.destined(room, log, "", before)
        except NacreError as trouble:
            problems.append(Problem("log left as it is", str(trouble), shown(log.day.path)))
            continue
        moves.append(move)
        steps.append(Step("append" if move.onto else "move", shown(log.day.path), why, shown(move.to)))
    return tuple(moves), tuple(packed), steps


def apply_decay(room: TidyContext, op: Operation, planned: DecayPlan) -> tuple[Problem, ...]:
    """First long-term memory, then the archive; what somebody changed meanwhile is left for the next run, and told."""
    left = list(tidy_apply.apply_plan(room, op, planned.distilled))
    left += archive.apply(room, op, planned.moves, pressed=False)
    known = _known(room) if planned.packed else set()
    for one in planned.packed:
        if not archive.is_decided(one.log, known):
            continue  # its lines were not taken in, which has been told
        try:
            archive.apply_packing(op, one)
        except (ChangedOutside, PathEscape) as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(one.log.day.path)))
    return tuple(left)
