"""nacre promote: which checkpoints are nominated, what they teach, and promote_report.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.brain.local.wording import pieces
from nacre.capture.checkpoint import ParsedCheckpoint, parse_checkpoint
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.layers.layer import fold_recalls, local_time
from nacre.layers.organise import TRIES, Transition, plan
from nacre.model.context import Context
from nacre.model.entry import Bullet
from nacre.model.report import Problem
from nacre.model.session import Kind, Session
from nacre.model.workspace import slug_of
from nacre.sources.registry import project_name
from nacre.tidy import apply as tidy_apply
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import IDENTITY, USER, LogLine, TidyContext
from nacre.tidy.judge import make_candidates
from nacre.tidy.run import action_word, plan_distil
from nacre.vault import disk, longterm, refcount
from nacre.vault.checkpoints import Checkpoint, Family, checkpoint_bytes, layers_lock, list_checkpoints
from nacre.vault.discover import project_of
from nacre.vault.entries import bullet_id
from nacre.vault.history import Operation, operation
from nacre.vault.writing import REDACT, guarded, rewrite

_DAY = 86400


@dataclass(frozen=True)
class Nominee:
    """A checkpoint with how often it was recalled, and the rule that nominates it."""

    family: Family
    key: str  # its place in refcount.json
    keys: tuple[str, ...]  # every place there under which it was counted so far
    entry: dict[str, Any]  # as it stands there; of several, all together
    own: float  # when its content is from, in seconds since 1970
    total: int
    week: int
    fortnight: int
    marked: bool
    rule: str


def nominees(context: Context) -> tuple[list[Nominee], tuple[Problem, ...]]:
    """Who is nominated, the most recalled first, and problems on the way. Reads, and writes nothing."""
    made = plan(context)
    found = [nominee for turn in made.turns if (nominee := _nominee(turn, context))]
    return sorted(found, key=lambda nominee: (-nominee.total, nominee.key)), made.left


def _nominee(turn: Transition, context: Context) -> Nominee | None:
    kept, dated, clock = turn.kept, turn.dated, context.clock
    stored = dict(kept.entry or refcount.new_count(dated.noted))
    entry, _ = fold_recalls(stored, kept.recalls, dated.first, clock)
    if entry.get("promoted"):
        return None
    now, moments = clock.now().timestamp(), refcount.moments(entry, clock)
    week, fortnight = (sum(now - days * _DAY < at <= now for at in moments) for days in (7, 14))
    counted: Any = entry.get("total")
    total = int(counted) if refcount.is_number(counted) and 0 <= counted < 1e9 else len(moments)
    marked = entry.get("user_marked") is True
    if (rule := _rule(context.config, week, fortnight, total, marked=marked)) is None:
        return None
    key = kept.keys[0] if kept.keys else turn.family.lead.place
    return Nominee(turn.family, key, kept.keys, stored, dated.own, total, week, fortnight, marked, rule)


def _rule(config: Config, week: int, fortnight: int, total: int, *, marked: bool) -> str | None:
    limits = config.promote
    for count, days, name in ((week, 7, "week"), (fortnight, 14, "fortnight")):
        if count >= (limit := getattr(limits, name)):
            return say(
                f"recalled {count} times in {days} days (promote.{name} = {limit})",
                f"{days} 天内调用 {count} 次（promote.{name} = {limit}）",
            )
    if total >= limits.total:
        return say(
            f"recalled {total} times in all (promote.total = {limits.total})",
            f"总共调用 {total} 次（promote.total = {limits.total}）",
        )
    return say("marked by the user, or brought back from forgotten", "由用户标记，或从遗忘层找回") if marked else None


@dataclass(frozen=True)
class Lesson:
    skill: str
    day: str
    text: str
    known: bool  # it stands there already


@dataclass(frozen=True)
class Promoted:
    """A nominated checkpoint with what it has to tell: lessons for skills, and lines for long-term memory."""

    nominee: Nominee
    path: str
    title: str
    lessons: tuple[Lesson, ...]
    lines: tuple[LogLine, ...]


@dataclass(frozen=True)
class PromotePlan:
    """Who is nominated, and what applying it would change."""

    promoted: tuple[Promoted, ...] = ()
    distilled: DistilPlan = DistilPlan()
    left: tuple[Problem, ...] = ()


def plan_promotion(context: TidyContext) -> PromotePlan:
    """What the recalled checkpoints tell, and what the tests say of it; reads, and writes nothing."""
    found, left = nominees(context)
    problems, promoted = list(left), []
    skills = longterm.list_skills(context.workspace)
    for nominee in found:
        try:
            promoted.append(_promoted(context, nominee, skills))
        except (NacreError, OSError) as error:
            problems.append(Problem("left alone", str(error), context.workspace.relative(nominee.family.lead.path)))
    distilled = DistilPlan()
    if said := [line for one in promoted for line in one.lines]:
        distilled, refused = plan_distil(context, lines=said)
        problems += refused
    return PromotePlan(tuple(promoted), distilled, tuple(problems))


def _promoted(context: TidyContext, nominee: Nominee, skills: list[str]) -> Promoted:
    from nacre.brain.local.extract import extract
    from nacre.guard.secrets import redact_messages

    workspace, lead = context.workspace, nominee.family.lead
    session = parse_checkpoint(checkpoint_bytes(workspace, lead).decode("utf-8", "replace"), context.clock)
    path = workspace.relative(lead.path)
    day = local_time(nominee.own, context.clock).date().isoformat()
    bullets = extract(redact_messages(list(session.messages)), context.judge(), least=1) if session.messages else []
    lessons: list[Lesson] = []
    lines: list[LogLine] = []
    for bullet in bullets:
        if bullet.type == "TEMP" or bullet.by_agent:
            continue
        line = _log_line(context, day, bullet, session, path)
        named = f"{bullet.text}\n{session.title}"
        skill = longterm.skill_named_in(named, skills) if bullet.type == "LESSON" else None
        if skill is None:
            lines.append(line)
            continue
        texts = [
            candidate.text for candidate in make_candidates([line], context.judge())
        ]  # without the chatter beside it
        lessons += [Lesson(skill, day, text, longterm.has_lesson(workspace, skill, text)) for text in texts]
    title = redact(session.title).text or nominee.family.stem
    return Promoted(nominee, path, title, tuple(lessons), tuple(lines))


def _log_line(context: TidyContext, day: str, bullet: Bullet, session: ParsedCheckpoint, path: str) -> LogLine:
    held = Session(session.session, session.agent, Kind.MAIN, None, (), session.cwd)
    project = project_name(held, lambda cwd: project_of(context.workspace, Path(cwd)), str(context.workspace.root))
    slug, name = slug_of(project) if project else None, session.session[:8]
    return LogLine(day, bullet.text, bullet.type, slug, None, name, "", 0, bullet_id(bullet.line), path)


def promote(context: TidyContext, *, applying: bool) -> PromotePlan:
    """Plan without holding the workspace, again where somebody came between, then carry it out and write the report."""
    for last in (*[False] * TRIES, True):
        read, made = _inputs(context), PromotePlan() if last else plan_promotion(context)
        with operation(context, "promote") as op:
            if applying:
                tidy_apply.recover(context, op)
            if last:
                made = plan_promotion(context)
            elif read != _inputs(context):
                continue
            if applying:
                made = _apply(context, op, made)
            write_report(op, promotion_report(made, context, applied=applying))
            break
    return made


def _inputs(context: TidyContext) -> tuple[list[Checkpoint], list[bytes | None]]:
    """What the plan is made of: the layers with their counts, and the files that say what was decided before."""
    here = context.workspace
    named = (here.ledger, here.trail, here.review, here.root / USER, here.root / IDENTITY, here.longterm)
    counts = (here.recalls, here.refcount(context.config.tiers.path))
    files = (*named, *counts, *sorted(here.projects.glob("*/MEMORY.md")))
    return list_checkpoints(here, context.config), [disk.read_bytes(path) if path.is_file() else None for path in files]


def _apply(context: TidyContext, op: Operation, made: PromotePlan) -> PromotePlan:
    """Carry it out: lessons to their skills, lines through the tests; and nobody is nominated twice."""
    left = (*made.left, *tidy_apply.apply_plan(context, op, made.distilled))
    for one in made.promoted:
        for lesson in one.lessons:
            longterm.add_lesson(op, lesson.skill, lesson.day, lesson.text, one.path)
    if made.promoted:  # the recalls stay to be counted by the next organise, which lets their checkpoints rise
        with layers_lock(op.workspace, op.config):
            counts = refcount.read_counts(op.workspace, op.config)
            entries = dict(counts.entries)
            for nominee in (one.nominee for one in made.promoted):
                entry = {**nominee.entry, "promoted": True}
                entries = refcount.move_counts(entries, nominee.keys, nominee.key, entry)
            refcount.write_counts(op, counts, entries)
    if made.distilled.meant:
        context.judge().keep(made.distilled.meant, made.distilled.lately)
    return replace(made, left=left)


def promotion_report(made: PromotePlan, context: TidyContext, *, applied: bool) -> str:
    """promote_report.md: who is nominated for promotion, by which rule, and where each line would go."""
    when, number = context.clock.now().isoformat(sep=" ", timespec="minutes")[:16], len(made.promoted)
    counted = say(f"{number} candidate{'' if number == 1 else 's'}", f"{number} 个候选")
    lines = [f"# {say('Promotion report', '晋升报告')}", "", f"{when} | {counted}"]
    if made.promoted:
        lines[-1] += " | " + (
            say("carried out", "已执行")
            if applied
            else say("nothing is carried out yet: nacre promote --apply", "尚未执行：nacre promote --apply")
        )
    else:
        nobody = say(
            "Nobody is nominated: no checkpoint was recalled often enough, or marked.",
            "没有候选：没有检查点被足够频繁地调用或标记。",
        )
        lines += ["", nobody]
    by_words = {step.detail: step for step in made.distilled.steps if step.detail}
    for one in made.promoted:
        lines += ["", f"## {one.path}", "", *_about(one)]
        goes = say("goes to", "写入") if not applied else say("went to", "已写入")
        for lesson in one.lessons:
            there = say(" (stands there already)", "（已存在）") if lesson.known else ""
            place = context.workspace.relative(longterm.retrospect_path(context.workspace, lesson.skill))
            lines.append(f"- {goes} {place}: {lesson.text}{there}")
        # The steps of the tests that speak of its lines: whole, or a statement of one.
        said = [piece.text.casefold() for line in one.lines for piece in pieces(line.words)]
        judged = [(words.casefold(), step) for words, step in by_words.items()]
        steps = [step for words, step in judged if any(text in words or words in text for text in said)]
        lines += [f"- {action_word(step.action)} {step.path}: {step.detail} ({step.reason})" for step in steps]
        if not one.lessons and not steps:
            nothing = say(
                "nothing in it passes into long-term memory that was not decided before",
                "其中没有尚未决定的内容可进入长期记忆",
            )
            lines.append(f"- {nothing}")
    return guarded("\n".join(lines) + "\n", REDACT)


def _about(one: Promoted) -> Iterator[str]:
    nominee = one.nominee
    marked = say("yes", "是") if nominee.marked else say("no", "否")
    yield f"- {say('title', '标题')}: {one.title}"
    yield "- " + say(
        f"recalls: {nominee.total} in all, {nominee.week} in 7 days, {nominee.fortnight} in 14 days; user_marked: {marked}",
        f"调用：共 {nominee.total} 次，7 天内 {nominee.week} 次，14 天内 {nominee.fortnight} 次；user_marked：{marked}",
    )
    yield f"- {say('rule', '规则')}: {nominee.rule}"


def write_report(op: Operation, text: str) -> None:
    """Put the report where users and agents look for it; the same again, but for its time, is not written."""

    def without_time(text: str) -> list[str]:
        return [line.partition(" | ")[2] if number == 2 else line for number, line in enumerate(text.split("\n"))]

    path = op.workspace.root / "promote_report.md"
    longterm.refuse_link(op.workspace, path)
    before = disk.read_bytes(path)
    if before is None or without_time(before.decode("utf-8", "replace")) != without_time(text):
        rewrite(op, path, text.encode(), read=None if before is None else disk.digest(before))
