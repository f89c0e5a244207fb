"""The runs of `nacre tidy` and `nacre decay`: each phase planned, then carried out as one operation."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from nacre.config.settings import DecaySettings
from nacre.errors import BadInput, ChangedOutside, NacreError, PathEscape
from nacre.i18n import say
from nacre.model.report import Problem, Step
from nacre.tidy import answers, apply, archive, collect, compress, distil
from nacre.tidy.apply import DistilPlan
from nacre.tidy.archive import Packing
from nacre.tidy.collect import Day, LineKeys, Log, LogLine, TidyContext, decided_lines
from nacre.tidy.compress import CompressPlan
from nacre.tidy.distil import Only
from nacre.vault import disk, ledger, provenance, review, writing
from nacre.vault.history import Operation, operation
from nacre.vault.provenance import Offered

_ACTIONS_ZH = {
    "add": "新增",
    "say once": "不重复",
    "move": "移动",
    "append": "追加",
    "remove": "移除",
    "adopt": "采纳",
    "close": "关闭",
    "set": "设置",
    "supersede": "取代",
    "merge": "合并",
    "shorten": "精简",
    "demote": "移出",
    "refuse": "拒绝",
    "ask": "询问",
}


def action_word(action: str) -> str:
    """What a step does, for people."""
    return say(action, _ACTIONS_ZH.get(action, action))


# Tidying: press old days into weeks, distil what lasts, archive; each phase planned, then carried out.

COMPRESS, DISTIL, ARCHIVE = "compress", "distil", "archive"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class TidyReport:
    """What was done, or would be: the steps of each phase with their reasons, problems, and what was left for the next run."""

    steps: tuple[tuple[str, Step], ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    recovered: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def changed(self) -> bool:
        return bool(self.steps)


def run_tidy(context: TidyContext, *, dry_run: bool = False, progress: Progress | None = None) -> TidyReport:
    """All three phases under one lock and as one operation, so that one `undo` takes them back."""
    report_phase = progress or (lambda _phase: None)
    left: list[Problem] = []
    recovered = 0
    with nullcontext() if dry_run else operation(context, "tidy") as op:
        if op:
            recovered = apply.recover(context, op)
        report_phase(COMPRESS)
        compressed = _compressed(context)
        if op:
            left += compress.apply(context, op, compressed)
        report_phase(DISTIL)
        distilled, refused = plan_distil(context)
        left += refused
        if op:
            left += apply.apply_plan(context, op, distilled)
        report_phase(ARCHIVE)
        moved = archive.plan(context, compressed)
        if op:
            left += archive.apply(context, op, moved.moves)
        thinned = archive.plan_backups(context)
        if op:
            left += archive.apply_backups(context, op, thinned)
    if op and distilled.meant:
        context.judge().keep(distilled.meant, distilled.lately)
    phases = ((COMPRESS, compressed.steps), (DISTIL, distilled.steps), (ARCHIVE, (*moved.steps, *thinned.steps)))
    steps = tuple((phase, step) for phase, planned in phases for step in planned)
    problems = tuple(dict.fromkeys((*compressed.problems, *distilled.problems)))
    return TidyReport(steps, problems, tuple(left), dry_run, recovered, _counts(steps))


def _counts(steps: Sequence[tuple[str, Step]]) -> Counter[str]:
    return Counter(f"{phase} {step.action}" for phase, step in steps)


def _compressed(context: TidyContext) -> CompressPlan:
    """The plan for the weeks; a problem where the user chose to keep daily logs for `nacre decay`."""
    if context.config.tidy.retention == "weekly":
        return compress.plan(context)
    sentence = say(
        'tidy.retention is "decay": daily logs stay as they are, nothing is pressed into weeks or archived; "nacre decay" does that.',
        "tidy.retention 为“decay”：每日日志保持原样，不压缩进周报，也不归档；归档由“nacre decay”进行。",
    )
    return CompressPlan(problems=(Problem("kept for decay", sentence, remedy="nacre decay"),))


def plan_distil(
    context: TidyContext, only: Only | None = None, lines: Sequence[LogLine] | None = None
) -> tuple[DistilPlan, list[Problem]]:
    """The plan of a distillation; one that would take out too much is made again with care, and asks instead. One that still would
    is not carried out at all, and is a problem."""
    planned = distil.plan(context, only=only, lines=lines)
    if not apply.too_much_lost(context, planned):
        return planned, []
    careful = distil.plan(context, careful=True, only=only, lines=lines)
    problem = apply.too_much_lost(context, careful)
    return (DistilPlan(problems=careful.problems), [problem]) if problem else (careful, [])


# The other way of keeping daily logs: as they are for months, then what lasts in them is promoted and they are archived whole.

PROMOTE, REVIEW = "promote", "review"
YOUNGEST = 7  # days that a log stays in any case, however many there are


@dataclass(frozen=True)
class DecayPlan:
    """Why decay sets in, and what it would do. Without an occasion there is nothing to do."""

    occasions: tuple[str, ...] = ()
    distilled: DistilPlan = field(default_factory=DistilPlan)
    moves: tuple[archive.Move, ...] = ()
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


def run_decay(context: TidyContext, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
    """Plan and carry out, under one lock and as one operation. Where the weekly profile is in force it is only ever shown."""
    in_force = context.config.tidy.retention == "decay"
    if dry_run:
        planned = plan_decay(context, promote_only=promote_only)
        left = planned.left
    elif not in_force:
        count = len(outdated_logs(_living(context)[0], context.clock.today(), context.config.decay))
        raise BadInput(
            'Nothing was done: logs are pressed into weeks here (tidy.retention is "weekly"), which "nacre tidy" does. Decay would '
            f'archive {count} of them; "nacre decay --dry-run" shows which, "nacre config set tidy.retention decay" chooses it.',
            "未做任何改动：这里的日志由“nacre tidy”压缩进周报（tidy.retention 为“weekly”）。"
            f"decay 会归档其中 {count} 个；“nacre decay --dry-run”可查看，“nacre config set tidy.retention decay”可选用。",
        )
    else:
        with operation(context, "decay") as op:
            apply.recover(context, op)
            planned = plan_decay(context, promote_only=promote_only)
            left = (*planned.left, *apply_decay(context, op, planned))
        if planned.distilled.meant:
            context.judge().keep(planned.distilled.meant, planned.distilled.lately)
    problems = tuple(dict.fromkeys(planned.problems))
    return DecayReport(planned.steps, planned.occasions, problems, left, dry_run, in_force, _counts(planned.steps))


def plan_decay(context: TidyContext, *, promote_only: bool = False) -> DecayPlan:
    """What decay would do; reads, and writes nothing."""
    if "archive.layout" not in context.config.origins:  # by month, unless the user chose otherwise
        by_month = replace(context.config.archive, layout="month")
        context = replace(context, config=replace(context.config, archive=by_month))
    living, problems = _living(context)
    settings, today = context.config.decay, context.clock.today()
    outdated = outdated_logs(living, today, settings)
    too_long = _too_long(context)
    occasions = list(too_long.values())
    if len(living) > settings.max_files:
        occasions.append(
            say(
                f"There are {len(living)} daily logs; decay sets in above {settings.max_files}.",
                f"每日日志有 {len(living)} 个；超过 {settings.max_files} 个时开始衰减。",
            )
        )
    if count := sum((today - day.date).days > settings.keep_days for day, _ in outdated):
        occasions.append(
            say(
                f"{count} daily logs are older than {settings.keep_days} days.",
                f"有 {count} 个每日日志超过 {settings.keep_days} 天。",
            )
        )
    if not occasions:
        return DecayPlan(problems=tuple(problems))
    logs: list[tuple[Log, str]] = []
    for day, reason in outdated:
        try:
            logs.append((collect.read_log(day), reason))
        except NacreError as error:
            problems.append(Problem("unreadable", str(error), context.workspace.relative(day.path)))
    decided = _decided(context)
    distilled, refused, steps = _promoted(context, [log for log, _ in logs], decided)
    decided |= {(offered.day, mark) for offered in distilled.offered for mark in offered.bullets}
    moves: list[archive.Move] = []
    packed: list[Packing] = []
    if not promote_only:
        moves, packed, archived = _archived(context, logs, decided, problems)
        steps += [(ARCHIVE, step) for step in archived]
        steps += _proposed(context, too_long, problems)
    problems += distilled.problems
    return DecayPlan(
        tuple(occasions), distilled, tuple(moves), tuple(packed), tuple(steps), tuple(problems), tuple(refused)
    )


def outdated_logs(living: Sequence[Day], today: dt.date, settings: DecaySettings) -> list[tuple[Day, str]]:
    """The logs that go, oldest first, with the reason: too old, or too many; of the last week none for their number."""
    outdated: list[tuple[Day, str]] = []
    surplus = len(living) - settings.max_files
    for place, day in enumerate(sorted(living, key=lambda day: day.date)):
        age = (today - day.date).days
        if age > settings.keep_days:
            reason = say(
                f"{age} days old, kept for {settings.keep_days}", f"已有 {age} 天，保留期为 {settings.keep_days} 天"
            )
            outdated.append((day, reason))
        elif place < surplus and age > YOUNGEST:
            reason = say(
                f"the oldest of {len(living)} logs, of which {settings.max_files} stay",
                f"共 {len(living)} 个日志，保留 {settings.max_files} 个，此为其中最旧的",
            )
            outdated.append((day, reason))
    return outdated


def _living(context: TidyContext) -> tuple[list[Day], list[Problem]]:
    days, problems = collect.list_days(context.workspace, context.clock.today())
    return [day for day in days if not day.archived], problems


def _decided(context: TidyContext) -> LineKeys:
    """The lines that were decided on, or wait for the user's word."""
    workspace = context.workspace
    return decided_lines(
        provenance.read_provenance(workspace), ledger.read_ledger(workspace).records, review.read_review(workspace)
    )


def _promoted(
    context: TidyContext, logs: Sequence[Log], decided: LineKeys
) -> tuple[DistilPlan, list[Problem], list[tuple[str, Step]]]:
    """What the lines of these logs would change in long-term memory, by the tests of every distillation; what is marked as passing
    is not offered, now or later."""
    if not logs:
        return DistilPlan(), [], []
    dates = {log.day.date.isoformat() for log in logs}
    planned, refused = plan_distil(context, lambda line: line.day in dates and line.label != "TEMP")
    steps = [(PROMOTE, step) for step in planned.steps]
    passing: dict[str, dict[str, None]] = {}
    for log in logs:
        for line in log.lines:
            if line.label == "TEMP" and (line.day, line.mark) not in decided:
                passing.setdefault(line.day, {})[line.mark] = None
                reason = say("[TEMP]: it was only passing", "[TEMP]：只是临时内容")
                steps.append((PROMOTE, Step("drop", context.workspace.relative(log.day.path), reason, line.words)))
    dropped = (Offered(day, tuple(marks)) for day, marks in passing.items())
    return replace(planned, offered=(*planned.offered, *dropped)), refused, steps


def _proposed(context: TidyContext, too_long: dict[str, str], problems: list[Problem]) -> list[tuple[str, Step]]:
    """What would leave a MEMORY.md that is too long: the same plan that `nacre review --adopt` shows and carries out."""
    if not too_long:
        return []
    memory, most = context.config.memory, context.config.decay.max_lines
    shorter = replace(memory, max_lines=min(memory.max_lines, most))
    try:
        planned = answers.plan_adopt(replace(context, config=replace(context.config, memory=shorter)))
    except NacreError as error:
        problems.append(Problem("over its limits", str(error), "MEMORY.md", remedy="nacre review"))
        return []
    command = '"nacre review --adopt"'
    if memory.max_lines > most:
        command = say(f"memory.max_lines = {most}, then {command}", f"先设 memory.max_lines = {most}，再运行 {command}")
    return [
        (REVIEW, Step("propose", step.path, f"{step.reason} ({command})", step.detail))
        for adoption in planned
        if adoption.shown in too_long
        for step in adoption.steps
    ]


def _too_long(context: TidyContext) -> dict[str, str]:
    """Each MEMORY.md with more lines than decay lets pass, and the sentence that says so."""
    most, workspace = context.config.decay.max_lines, context.workspace
    sentences: dict[str, str] = {}
    for path in (workspace.longterm, *sorted(workspace.projects.glob("*/MEMORY.md"))):
        try:
            lines = writing.size_of(disk.read_bytes(path)).lines
        except NacreError:
            continue  # `doctor` reports files that cannot be read
        if lines > most:
            shown = workspace.relative(path)
            sentences[shown] = say(
                f"{shown} has {lines} lines; decay sets in above {most}.",
                f"{shown} 有 {lines} 行；超过 {most} 行时开始衰减。",
            )
    return sentences


def _archived(
    context: TidyContext, logs: Sequence[tuple[Log, str]], decided: LineKeys, problems: list[Problem]
) -> tuple[list[archive.Move], list[Packing], list[Step]]:
    moves: list[archive.Move] = []
    packed: list[Packing] = []
    steps: list[Step] = []
    shown = context.workspace.relative
    days, _ = collect.list_days(context.workspace, context.clock.today())
    for log, reason in logs:
        try:
            before = [collect.read_log(day) for day in days if day.archived and day.date == log.day.date]
            if context.config.archive.compress and not before and archive.is_decided(log, decided):
                packing = archive.plan_packing(context, log)
                packed.append(packing)
                steps.append(Step("compress", shown(log.day.path), reason, shown(packing.to)))
                continue
            move = archive.plan_move(context, log, "", before)
        except NacreError as error:
            problems.append(Problem("log left as it is", str(error), shown(log.day.path)))
            continue
        moves.append(move)
        steps.append(Step("append" if move.onto else "move", shown(log.day.path), reason, shown(move.to)))
    return moves, packed, steps


def apply_decay(context: TidyContext, op: Operation, planned: DecayPlan) -> list[Problem]:
    """First long-term memory, then the archive; what somebody changed meanwhile is a problem and left for the next run."""
    left = apply.apply_plan(context, op, planned.distilled)
    left += archive.apply(context, op, planned.moves, digested=False)
    decided = _decided(context) if planned.packed else set()
    for packing in planned.packed:
        if not archive.is_decided(packing.log, decided):
            continue  # its lines were not taken in, which is a problem of its own
        try:
            archive.apply_packing(op, packing)
        except (ChangedOutside, PathEscape) as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(packing.log.day.path)))
    return left
