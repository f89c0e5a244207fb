"""nacre promote: which checkpoints are nominated, what they teach, and promote_report.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nacre import disk
from nacre.capture.checkpoint import parse_checkpoint
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.layers.organise import Transition, fold_recalls, local_time, plan
from nacre.model import Context, Kind, Problem, Session, slug_of
from nacre.sources.registry import project_name
from nacre.tidy import apply as tidy_apply
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import LogLine, TidyContext
from nacre.tidy.judge import make_candidates
from nacre.tidy.run import plan_distil
from nacre.vault import longterm, refcount
from nacre.vault.checkpoints import Family, checkpoint_bytes, layers_lock
from nacre.vault.entries import bullet_id
from nacre.vault.history import Operation, operation
from nacre.vault.storage import read
from nacre.vault.writing import REDACT, guarded, rewrite

_DAY = 86400


class Nominee(NamedTuple):
    """A checkpoint with how often it was recalled, and the rule that nominates it."""

    family: Family
    keys: tuple[str, ...]  # every place in refcount.json under which it was counted so far
    entry: dict[str, Any]  # as it stands there; of several, all together
    at: float  # when its content is from, in seconds since 1970
    total: int
    week: int
    fortnight: int
    marked: bool
    rule: str


def nominees(context: Context) -> tuple[list[Nominee], tuple[Problem, ...]]:
    """The nominated checkpoints, most recalled first, and problems found. Writes nothing."""
    planned = plan(context)
    nominated = [nominee for turn in planned.turns if (nominee := _nominee(turn, context))]
    return sorted(nominated, key=lambda nominee: (-nominee.total, nominee.keys[0])), planned.left


def _nominee(turn: Transition, context: Context) -> Nominee | None:
    counts, dated, clock = turn.counts, turn.dated, context.clock
    stored = dict(counts.entry or refcount.new_count(int(dated.at)))
    entry, _ = fold_recalls(stored, counts.recalls, clock)
    if entry.get("promoted"):
        return None
    now, moments = clock.now().timestamp(), refcount.moments(entry, clock)
    week, fortnight = (sum(now - days * _DAY < at <= now for at in moments) for days in (7, 14))
    counted: Any = entry.get("total")
    total = int(counted) if refcount.is_number(counted) and 0 <= counted < 1e9 else len(moments)
    marked, limits = entry.get("user_marked") is True, context.config.promote
    rule = (
        say("marked by the user or brought back from forgotten", "由用户标记，或从 forgotten 层找回") if marked else ""
    )
    for name, limit, times, english, chinese in (
        ("total", limits.total, total, "in total", "总共"),
        ("fortnight", limits.fortnight, fortnight, "in 14 days", "14 天内"),
        ("week", limits.week, week, "in 7 days", "7 天内"),
    ):
        if times >= limit:
            setting = f"promote.{name} = {limit}"
            rule = say(
                f"recalled {times} time{'' if times == 1 else 's'} {english} ({setting})",
                f"{chinese}召回 {times} 次（{setting}）",
            )
    if not rule:
        return None
    keys = counts.keys or (turn.family.lead.place,)
    return Nominee(turn.family, keys, stored, dated.at, total, week, fortnight, marked, rule)


class Lesson(NamedTuple):
    skill: str
    day: str
    text: str
    known: bool  # it stands there already


class Promoted(NamedTuple):
    """A nominated checkpoint with its lessons for skills and its lines for long-term memory."""

    nominee: Nominee
    path: str
    title: str
    lessons: tuple[Lesson, ...]
    lines: tuple[LogLine, ...]


@dataclass(frozen=True)
class PromotePlan:
    """The nominated checkpoints, and what applying would change."""

    promoted: tuple[Promoted, ...] = ()
    distilled: DistilPlan = DistilPlan()
    left: tuple[Problem, ...] = ()


def plan_promotion(context: TidyContext) -> PromotePlan:
    """What promotion would do. Writes nothing."""
    nominated, left = nominees(context)
    problems, promoted = list(left), []
    skills = longterm.list_skills(context.workspace)
    for nominee in nominated:
        try:
            promoted.append(_promoted(context, nominee, skills))
        except (NacreError, OSError) as error:
            problems.append(Problem("left alone", str(error), context.workspace.relative(nominee.family.lead.path)))
    distilled = DistilPlan()
    if lines := [line for checkpoint in promoted for line in checkpoint.lines]:
        distilled, refused = plan_distil(context, lines=lines)
        problems += refused
    return PromotePlan(tuple(promoted), distilled, tuple(problems))


def _promoted(context: TidyContext, nominee: Nominee, skills: list[str]) -> Promoted:
    from nacre.brain.local.extract import extract
    from nacre.guard.secrets import redact_messages

    workspace, lead = context.workspace, nominee.family.lead
    session = parse_checkpoint(checkpoint_bytes(workspace, lead).decode("utf-8", "replace"), context.clock)
    path = workspace.relative(lead.path)
    day = local_time(nominee.at, context.clock).date().isoformat()
    bullets = extract(redact_messages(list(session.messages)), context.judge(), least=1) if session.messages else []
    project = project_name(Session(session.session, session.agent, Kind.MAIN, (), session.cwd), workspace)
    slug, name = slug_of(project) if project else None, session.session[:8]
    lessons: list[Lesson] = []
    lines: list[LogLine] = []
    for bullet in bullets:
        if bullet.type == "TEMP" or bullet.by_agent:
            continue
        line = LogLine(day, bullet.text, bullet.type, slug, None, name, "", 0, bullet_id(bullet.line), path)
        is_lesson = bullet.type == "LESSON"
        skill = longterm.skill_named_in(f"{bullet.text}\n{session.title}", skills) if is_lesson else None
        if skill is None:
            lines.append(line)
            continue
        texts = (candidate.text for candidate in make_candidates([line], context.judge()))  # without chatter
        lessons += [Lesson(skill, day, text, longterm.has_lesson(workspace, skill, text)) for text in texts]
    return Promoted(nominee, path, redact(session.title).text or nominee.family.stem, tuple(lessons), tuple(lines))


def promote(context: TidyContext, *, applying: bool) -> PromotePlan:
    """Plan, apply where asked for, and write the report."""
    with operation(context, "promote") as op:
        if applying:
            tidy_apply.recover(context, op)
        planned = plan_promotion(context)
        if applying:
            planned = _apply(context, op, planned)
        _write_report(op, promotion_report(planned, context, applied=applying))
    return planned


def _apply(context: TidyContext, op: Operation, planned: PromotePlan) -> PromotePlan:
    """Write lessons to their skills and lines to long-term memory, and mark the checkpoints as promoted."""
    left = (*planned.left, *tidy_apply.apply_plan(context, op, planned.distilled))
    for checkpoint in planned.promoted:
        for lesson in checkpoint.lessons:
            longterm.add_lesson(op, lesson.skill, lesson.day, lesson.text, checkpoint.path)
    if planned.promoted:  # the recalls stay to be counted by the next organise, which lets their checkpoints rise
        with layers_lock(op.workspace, op.config):
            counts = refcount.read_counts(op.workspace, op.config)
            entries = dict(counts.entries)
            for nominee in (checkpoint.nominee for checkpoint in planned.promoted):
                entry = {**nominee.entry, "promoted": True}
                keys = [key for key in nominee.keys if key in entries]
                entries = refcount.with_counts(entries, keys, {nominee.keys[0]: entry})
            refcount.write_counts(op, counts, entries)
    if planned.distilled:
        context.judge().save()
    return replace(planned, left=left)


def promotion_report(planned: PromotePlan, context: TidyContext, *, applied: bool) -> str:
    """promote_report.md: who is nominated for promotion, by which rule, and where each line would go."""
    when, number = context.clock.now().isoformat(sep=" ", timespec="minutes")[:16], len(planned.promoted)
    counted = say(f"{number} candidate{'' if number == 1 else 's'}", f"{number} 个候选")
    lines = [f"# {say('Promotion report', '晋升报告')}", "", f"{when} | {counted}"]
    if not planned.promoted:
        english = "No candidates: no checkpoint has been marked or recalled often enough."
        lines += ["", say(english, "没有候选：没有检查点被标记，或召回次数都不够。")]
    elif applied:
        lines[-1] += say(" | applied", " | 已执行")
    else:
        lines[-1] += say(" | not applied yet: nacre promote --apply", " | 尚未执行：nacre promote --apply")
    goes = say("went to", "已写入") if applied else say("goes to", "写入")
    for checkpoint in planned.promoted:
        title, rule = f"{say('title', '标题')}: {checkpoint.title}", f"{say('rule', '规则')}: {checkpoint.nominee.rule}"
        lines += ["", f"## {checkpoint.path}", "", f"- {title}", f"- {rule}"]
        for lesson in checkpoint.lessons:
            place = context.workspace.relative(longterm.retrospect_path(context.workspace, lesson.skill))
            lines.append(f"- {goes} {place}: {lesson.text}")
    steps = [step for step in planned.distilled.steps if step.detail]
    lines += ["", f"## {say('Long-term memory', '长期记忆')}", ""] if steps else []
    lines += [f"- {step.word} {step.path}: {step.detail} ({step.reason})" for step in steps]
    return guarded("\n".join(lines) + "\n", REDACT)


def _write_report(op: Operation, text: str) -> None:
    """Write promote_report.md, unless only its time would change."""

    def without_time(text: str) -> list[str]:
        return [line.partition(" | ")[2] if number == 2 else line for number, line in enumerate(text.split("\n"))]

    path = op.workspace.root / "promote_report.md"
    longterm.refuse_link(op.workspace, path)
    before = read(op.workspace, path)
    if before is None or without_time(before.decode("utf-8", "replace")) != without_time(text):
        rewrite(op, path, text.encode(), read=disk.hash_of(before))
