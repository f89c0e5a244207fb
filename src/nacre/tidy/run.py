"""The runs of `nacre tidy` and `nacre decay`: each phase planned, then carried out as one operation."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from nacre.config.settings import DecaySettings
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.model import Problem, Step
from nacre.tidy import answers, apply, archive, collect, compress, distil
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import Day, DecidedLines, Log, LogLine, TidyContext
from nacre.tidy.compress import CompressPlan
from nacre.tidy.distil import Advice, Only
from nacre.tidy.summary import MemoryChanges, count_changes
from nacre.vault import review, writing
from nacre.vault.history import operation
from nacre.vault.ledger import LedgerStates
from nacre.vault.provenance import Trail
from nacre.vault.storage import list_longterm, read

COMPRESS, DISTIL, ARCHIVE, PROMOTE, REVIEW = "compress", "distil", "archive", "promote", "review"


@dataclass(frozen=True)
class TidyReport:
    """What was done, or would be: the steps of each phase with their reasons, problems, and what was left for the next run."""

    steps: tuple[tuple[str, Step], ...] = ()
    problems: tuple[Problem, ...] = ()
    left: tuple[Problem, ...] = ()
    dry_run: bool = False
    recovered: int = 0
    changes: MemoryChanges = MemoryChanges()

    @property
    def counts(self) -> Counter[str]:
        return Counter(f"{phase} {step.action}" for phase, step in self.steps)

    @property
    def changed(self) -> bool:
        return any(phase != REVIEW for phase, _ in self.steps)


@dataclass(frozen=True)
class DecayReport(TidyReport):
    """The same of decay, with why it set in; `in_force` is false where the weekly profile is."""

    occasions: tuple[str, ...] = ()
    in_force: bool = True


def run_tidy(context: TidyContext, *, dry_run: bool = False) -> TidyReport:
    """Press old days into weeks, distil what lasts, archive: under one lock and as one operation, so that one `undo` takes all back."""
    left: list[Problem] = []
    recovered = 0
    is_weekly = context.config.tidy.retention == "weekly"
    pressed: Mapping[str, Sequence[compress.DigestText]] = {}
    waiting: frozenset[str] = frozenset()
    advice = Advice()
    if not dry_run and {context.config.brain.digest, context.config.brain.distil} != {"local"}:
        # A model may think for minutes: it is asked before the lock is taken, and what it says is checked again under it.
        from nacre.tidy import by_model

        if is_weekly:
            pressed, waiting = by_model.press(context)
        advice = by_model.advise(context)
    with nullcontext() if dry_run else operation(context, "tidy") as op:
        if op:
            recovered = apply.recover(context, op)
        if is_weekly:
            compressed = compress.plan(context, pressed, waiting)
        else:
            sentence = say(
                'tidy.retention is "decay": daily logs are neither condensed into weekly digests nor archived here; "nacre decay" archives them.',
                "tidy.retention 为“decay”：这里不会把每日日志压缩成每周摘要，也不归档；归档由“nacre decay”进行。",
            )
            compressed = CompressPlan(problems=(Problem("kept for decay", sentence, remedy="nacre decay"),))
        if op:
            left += compress.apply(context, op, compressed)
        distilled, refused = plan_distil(context, advice=advice)
        left += refused
        if op:
            left += apply.apply_plan(context, op, distilled)
        problems = [*compressed.problems, *distilled.problems]
        if count := len(advice.waiting) + len(waiting):
            sentence = say(
                f"Lines and logs waiting for your agent: {count}. They stay unchanged until it has answered.",
                f"有 {count} 行或日志在等待你的智能体处理；处理之前保持不变。",
            )
            problems.append(Problem("waits for your agent", sentence, remedy="nacre brain orders --next"))
        moves = archive.plan(context, compressed, problems)
        if op:
            left += archive.apply(context, op, moves)
        thinned = archive.plan_backups(context)
        if op:
            left += archive.apply_backups(op, thinned)
    if op and distilled:
        context.judge().save()
    phases = (
        (COMPRESS, compressed.steps),
        (DISTIL, distilled.steps),
        (ARCHIVE, (*(move.step for move in moves), *(step for step, _ in thinned))),
    )
    steps = tuple((phase, step) for phase, planned in phases for step in planned)
    unique = tuple(dict.fromkeys(problems))
    return TidyReport(steps, unique, tuple(left), dry_run, recovered, count_changes(distilled.records))


def plan_distil(
    context: TidyContext,
    only: Only | None = None,
    lines: Sequence[LogLine] | None = None,
    advice: Advice | None = None,
) -> tuple[DistilPlan, list[Problem]]:
    """The plan of a distillation; one that would take out too much asks instead, or is not carried out and a problem."""
    planned = distil.plan(context, advice=advice, only=only, lines=lines)
    if not apply.too_much_lost(context, planned):
        return planned, []
    careful = distil.plan(context, advice=advice, careful=True, only=only, lines=lines)
    problem = apply.too_much_lost(context, careful)
    return (DistilPlan(problems=careful.problems), [problem]) if problem else (careful, [])


# The other way of keeping daily logs: as they are for months, then what lasts in them is promoted and they are archived whole.

YOUNGEST = 7  # days that a log stays in any case, however many there are


def run_decay(context: TidyContext, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
    """Plan and carry out, under one lock and as one operation. Where the weekly profile is in force it is only ever shown."""
    settings, today = context.config.decay, context.clock.today()
    in_force = context.config.tidy.retention == "decay"
    if not (dry_run or in_force):
        count = len(outdated_logs(_living(context)[0], today, settings))
        raise BadInput(
            f'Nothing was done: here "nacre tidy" condenses old logs into weekly digests (tidy.retention is "weekly"). Decay would archive {count} of them; "nacre decay --dry-run" shows which, and "nacre config set tidy.retention decay" switches to it.',
            f"未作任何改动：这里由“nacre tidy”把旧日志压缩成每周摘要（tidy.retention 为“weekly”）。改用 decay 会归档其中 {count} 个；“nacre decay --dry-run”可查看是哪些，“nacre config set tidy.retention decay”可切换。",
        )
    if "archive.layout" not in context.config.origins:  # by month, unless the user chose otherwise
        by_month = replace(context.config.archive, layout="month")
        context = replace(context, config=replace(context.config, archive=by_month))
    steps: list[tuple[str, Step]] = []
    left: list[Problem] = []
    distilled = DistilPlan()
    with nullcontext() if dry_run else operation(context, "decay") as op:
        if op:
            apply.recover(context, op)
        living, problems = _living(context)
        outdated = outdated_logs(living, today, settings)
        too_long = _too_long(context)
        occasions = list(too_long.values())
        if len(living) > settings.max_files:
            english = f"There are {len(living)} daily logs; decay starts above {settings.max_files}."
            occasions.append(say(english, f"每日日志有 {len(living)} 个；超过 {settings.max_files} 个时开始衰减。"))
        if count := sum((today - day.date).days > settings.keep_days for day, _ in outdated):
            english = f"Daily logs older than {settings.keep_days} days: {count}."
            occasions.append(say(english, f"有 {count} 个每日日志超过 {settings.keep_days} 天。"))
        if occasions:
            logs: list[tuple[Log, str]] = []
            for day, reason in outdated:
                try:
                    logs.append((collect.read_log(context.workspace, day), reason))
                except NacreError as error:
                    problems.append(Problem("unreadable", str(error), context.workspace.relative(day.path)))
            decided = _decided(context)
            distilled, left, steps = _promoted(context, [log for log, _ in logs], decided)
            if op:  # first long-term memory, then the archive
                left += apply.apply_plan(context, op, distilled)
                decided = _decided(context)
            else:
                decided.more |= {(offered.day, mark) for offered in distilled.offered for mark in offered.bullets}
            if not promote_only:
                moves = _archived(context, logs, decided, problems)
                steps += [(ARCHIVE, move.step) for move in moves]
                steps += _proposed(context, too_long, problems)
                left += archive.apply(context, op, moves) if op else []
            problems += distilled.problems
    if op and distilled:
        context.judge().save()
    unique, changes = tuple(dict.fromkeys(problems)), count_changes(distilled.records)
    return DecayReport(tuple(steps), unique, tuple(left), dry_run, 0, changes, tuple(occasions), in_force)


def outdated_logs(living: Sequence[Day], today: dt.date, settings: DecaySettings) -> list[tuple[Day, str]]:
    """The logs that go, oldest first, with the reason: too old, or too many; of the last week none for their number."""
    outdated: list[tuple[Day, str]] = []
    keep, most = settings.keep_days, settings.max_files
    for place, day in enumerate(sorted(living, key=lambda day: day.date)):
        age = (today - day.date).days
        if age > keep:
            outdated.append((day, say(f"{age} days old, kept for {keep}", f"已有 {age} 天，保留期为 {keep} 天")))
        elif place < len(living) - most and age > YOUNGEST:
            english = f"one of the oldest of {len(living)} logs; only {most} are kept"
            outdated.append((day, say(english, f"共 {len(living)} 个日志，只保留 {most} 个，这是较旧的一个")))
    return outdated


def _living(context: TidyContext) -> tuple[list[Day], list[Problem]]:
    days, problems = collect.list_days(context.workspace, context.clock.today())
    return [day for day in days if not day.archived], problems


def _decided(context: TidyContext) -> DecidedLines:
    workspace = context.workspace
    return DecidedLines(Trail(workspace), LedgerStates(workspace), review.read_review(workspace))


def _promoted(
    context: TidyContext, logs: Sequence[Log], decided: DecidedLines
) -> tuple[DistilPlan, list[Problem], list[tuple[str, Step]]]:
    """What the lines of these logs would change in long-term memory; what is marked as passing is not offered, now or later."""
    if not logs:
        return DistilPlan(), [], []
    dates = {log.day.date.isoformat() for log in logs}
    planned, refused = plan_distil(context, lambda line: line.day in dates and line.label != "TEMP")
    steps = [(PROMOTE, step) for step in planned.steps]
    passing = [(log, line) for log in logs for line in log.lines if line.label == "TEMP"]
    passing = [(log, line) for log, line in passing if (line.day, line.mark) not in decided]
    shown, reason = context.workspace.relative, say("[TEMP]: only temporary", "[TEMP]：只是临时内容")
    steps += [(PROMOTE, Step("drop", shown(log.day.path), reason, line.words)) for log, line in passing]
    dropped = apply.offered_by_day((line.day, line.mark) for _, line in passing)
    return replace(planned, offered=[*planned.offered, *dropped]), refused, steps


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
        command = say(
            f"set memory.max_lines = {most}, then run {command}", f"先设 memory.max_lines = {most}，再运行 {command}"
        )
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
    for path in list_longterm(workspace):
        try:
            lines = writing.size_of(read(workspace, path)).lines
        except NacreError:
            continue  # `doctor` reports files that cannot be read
        if lines > most:
            shown = workspace.relative(path)
            sentences[shown] = say(
                f"{shown} has {lines} lines; decay starts above {most}.",
                f"{shown} 有 {lines} 行；超过 {most} 行时开始衰减。",
            )
    return sentences


def _archived(
    context: TidyContext, logs: Sequence[tuple[Log, str]], decided: DecidedLines, problems: list[Problem]
) -> list[archive.Move]:
    """Where the logs go; compressed only when long-term memory has seen all that they say."""
    moves: list[archive.Move] = []
    days, _ = collect.list_days(context.workspace, context.clock.today())
    for log, reason in logs:
        try:
            of_day = (day for day in days if day.archived and day.date == log.day.date)
            before = [collect.read_log(context.workspace, day) for day in of_day]
            pack = context.config.archive.compress and not before and archive.is_decided(log, decided)
            moves.append(archive.plan_move(context, log, reason, before, pack=pack))
        except NacreError as error:
            problems.append(Problem("log left as it is", str(error), context.workspace.relative(log.day.path)))
    return moves
