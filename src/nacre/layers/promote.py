"""nacre promote: which checkpoints are nominated, what they teach, and promote_report.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.brain.local.wording import pieces
from nacre.capture.checkpoint import ParsedCheckpoint, parse_checkpoint
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.layers.layer import fold_recalls, local_time
from nacre.layers.organise import LayersSnapshot, Transition, file_hash, plan, take_snapshot
from nacre.model.entry import Bullet
from nacre.model.report import Problem, Step
from nacre.model.session import Kind, Session
from nacre.model.workspace import Workspace, slug_of
from nacre.sources.registry import project_name
from nacre.tidy import apply as tidy_apply
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import IDENTITY, USER, LogLine, TidyContext
from nacre.tidy.judge import make_candidates
from nacre.tidy.run import action_word, plan_distil
from nacre.vault import disk, longterm, refcount
from nacre.vault.checkpoints import Family, checkpoint_bytes, layers_lock
from nacre.vault.discover import project_of
from nacre.vault.entries import bullet_id
from nacre.vault.history import Operation, operation
from nacre.vault.longterm import refuse_link
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


def nominees(workspace: Workspace, clock: Clock, config: Config) -> tuple[list[Nominee], tuple[Problem, ...]]:
    """Who is nominated, the most recalled first, and trouble on the way. Reads, and writes nothing."""
    made = plan(workspace, clock, config)
    found = [one for turn in made.turns if (one := _nominee(turn, clock, config))]
    return sorted(found, key=lambda one: (-one.total, one.key)), made.left


def _nominee(turn: Transition, clock: Clock, config: Config) -> Nominee | None:
    kept, dated = turn.kept, turn.dated
    if kept.strange:
        return None
    stored = dict(kept.entry or refcount.new_count(dated.noted))
    entry, _ = fold_recalls(stored, kept.asked, dated.first, clock)
    if entry.get("promoted"):
        return None
    now = clock.now().timestamp()
    moments = refcount.moments(entry, clock)
    week, fortnight = (sum(now - days * _DAY < one <= now for one in moments) for days in (7, 14))
    told = entry.get("total")
    known = isinstance(told, int | float) and refcount.is_number(told) and 0 <= told < 1e9
    total = int(told) if known and isinstance(told, int | float) else len(moments)
    marked = entry.get("user_marked") is True
    rule = _rule(config, week, fortnight, total, marked=marked)
    if rule is None:
        return None
    key = kept.keys[0] if kept.keys else turn.family.lead.place
    return Nominee(turn.family, key, kept.keys, stored, dated.own, total, week, fortnight, marked, rule)


def _rule(config: Config, week: int, fortnight: int, total: int, *, marked: bool) -> str | None:
    """The first rule that is met, in words."""
    limits = config.promote
    if week >= limits.week:
        return say(
            f"recalled {week} times in 7 days (promote.week = {limits.week})",
            f"7 天内调用 {week} 次（promote.week = {limits.week}）",
        )
    if fortnight >= limits.fortnight:
        return say(
            f"recalled {fortnight} times in 14 days (promote.fortnight = {limits.fortnight})",
            f"14 天内调用 {fortnight} 次（promote.fortnight = {limits.fortnight}）",
        )
    if total >= limits.total:
        return say(
            f"recalled {total} times in all (promote.total = {limits.total})",
            f"总共调用 {total} 次（promote.total = {limits.total}）",
        )
    return say("marked by the user, or brought back from forgotten", "由用户标记，或从遗忘层找回") if marked else None


# nacre promote: what recalled checkpoints teach goes to a skill's retrospect, or is put to the tests of long-term
# memory.

TRIES = 3  # times that a plan is made before the workspace is held for it


@dataclass(frozen=True)
class Lesson:
    """A line that goes to a skill."""

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


def plan_promotion(room: TidyContext) -> PromotePlan:
    """What the recalled checkpoints tell, and what the tests say of it; reads, and writes nothing."""
    found, left = nominees(room.workspace, room.clock, room.config)
    troubles = list(left)
    made: list[Promoted] = []
    known = longterm.list_skills(room.workspace)
    for one in found:
        try:
            made.append(_promoted(room, one, known))
        except (NacreError, OSError) as trouble:
            troubles.append(Problem("left alone", str(trouble), room.workspace.relative(one.family.lead.path)))
    distilled = DistilPlan()
    if said := [line for one in made for line in one.lines]:
        distilled, refused = plan_distil(room, said=said)
        troubles += refused
    return PromotePlan(tuple(made), distilled, tuple(troubles))


def _promoted(room: TidyContext, one: Nominee, known: list[str]) -> Promoted:
    from nacre.brain.local.extract import extract
    from nacre.guard.secrets import redact_messages

    workspace = room.workspace
    talk = parse_checkpoint(checkpoint_bytes(workspace, one.family.lead).decode("utf-8", "replace"), room.clock)
    path = workspace.relative(one.family.lead.path)
    day = local_time(one.own, room.clock).date().isoformat()
    bullets = extract(redact_messages(list(talk.messages)), room.judge(), least=1) if talk.messages else []
    lessons: list[Lesson] = []
    lines: list[LogLine] = []
    for bullet in bullets:
        if bullet.type == "TEMP" or bullet.by_agent:
            continue
        line = _said(room, day, bullet, talk, path)
        skill = longterm.skill_named_in(f"{bullet.text}\n{talk.title}", known) if bullet.type == "LESSON" else None
        if skill is None:
            lines.append(line)
            continue
        texts = [one.text for one in make_candidates([line], room.judge())]  # without the chatter beside it
        lessons += [Lesson(skill, day, text, longterm.has_lesson(workspace, skill, text)) for text in texts]
    return Promoted(one, path, redact(talk.title).text or one.family.stem, tuple(lessons), tuple(lines))


def _said(room: TidyContext, day: str, bullet: Bullet, talk: ParsedCheckpoint, path: str) -> LogLine:
    held = Session(talk.session, talk.agent, Kind.MAIN, None, (), talk.cwd)
    known = str(room.workspace.root)
    project = project_name(held, lambda cwd: project_of(room.workspace, Path(cwd)), known)
    slug = slug_of(project) if project else None
    return LogLine(day, bullet.text, bullet.type, slug, None, talk.session[:8], "", 0, bullet_id(bullet.line), path)


WriteReport = Callable[[Operation, PromotePlan], None]  # writes the report, within the operation that it tells of


def promote(room: TidyContext, tell: WriteReport, *, applying: bool) -> PromotePlan:
    """Plan while nobody has to wait, then carry it out and report; where somebody came between, it is planned again, the last
    time while holding the workspace."""
    for _ in range(TRIES):
        read, made = _inputs(room), plan_promotion(room)
        with operation(room.workspace, room.clock, "promote", room.config) as op:
            if applying:
                tidy_apply.recover(room, op)
            if read == _inputs(room):
                return _finish(room, op, made, tell, applying=applying)
    with operation(room.workspace, room.clock, "promote", room.config) as op:
        if applying:
            tidy_apply.recover(room, op)
        return _finish(room, op, plan_promotion(room), tell, applying=applying)


def _inputs(room: TidyContext) -> tuple[LayersSnapshot, tuple[str | None, ...]]:
    """What the plan is made of: the layers with their counts, and the files that say what was decided before."""
    here = room.workspace
    named = (here.ledger, here.trail, here.review, here.root / USER, here.root / IDENTITY)
    longterm = (here.longterm, *sorted(here.projects.glob("*/MEMORY.md")))
    return take_snapshot(here, room.config), tuple(file_hash(path) for path in (*named, *longterm))


def _finish(room: TidyContext, op: Operation, made: PromotePlan, tell: WriteReport, *, applying: bool) -> PromotePlan:
    done = apply_promotion(room, op, made) if applying else made
    tell(op, done)
    return done


def apply_promotion(room: TidyContext, op: Operation, made: PromotePlan) -> PromotePlan:
    """Carry it out: lessons to their skills, lines through the tests; and nobody is nominated twice."""
    left = [*made.left, *tidy_apply.apply_plan(room, op, made.distilled)]
    for one in made.promoted:
        for lesson in one.lessons:
            longterm.add_lesson(op, lesson.skill, lesson.day, lesson.text, one.path)
    _mark_promoted(op, [one.nominee for one in made.promoted])
    if made.distilled.meant:
        room.judge().keep(made.distilled.meant, made.distilled.lately)
    return replace(made, left=tuple(left))


def _mark_promoted(op: Operation, done: Sequence[Nominee]) -> None:
    """Note who was promoted. The recalls stay to be counted by the next organise, which lets their checkpoints rise."""
    if not done:
        return
    with layers_lock(op.workspace, op.config):
        counts = refcount.read_counts(op.workspace, op.config)
        entries: Mapping[str, Any] = counts.entries
        for one in done:
            entries = refcount.move_counts(entries, one.keys, one.key, {**one.entry, "promoted": True})
        refcount.write_counts(op, counts, entries)


# promote_report.md: who is nominated for promotion, by which rule, and where each line would go.


def promotion_report(made: PromotePlan, workspace: Workspace, when: str, *, applied: bool) -> str:
    """The report as Markdown."""
    lines = [f"# {say('Promotion report', '晋升报告')}", "", f"{when} | {_count(len(made.promoted))}"]
    if made.promoted:
        lines[-1] += " | " + (
            say("carried out", "已执行")
            if applied
            else say("nothing is carried out yet: nacre promote --apply", "尚未执行：nacre promote --apply")
        )
    if not made.promoted:
        lines += ["", nobody_nominated()]
    by_words = {step.detail: step for step in made.distilled.steps if step.detail}
    for one in made.promoted:
        lines += ["", f"## {one.path}", ""]
        lines += _about(one)
        lines += _where(one, by_words, workspace, applied=applied)
    return guarded("\n".join(lines) + "\n", REDACT)


def nobody_nominated() -> str:
    return say(
        "Nobody is nominated: no checkpoint was recalled often enough, or marked.",
        "没有候选：没有检查点被足够频繁地调用或标记。",
    )


def _count(number: int) -> str:
    return say(f"{number} candidate{'' if number == 1 else 's'}", f"{number} 个候选")


def _about(one: Promoted) -> Iterator[str]:
    who = one.nominee
    marked = say("yes", "是") if who.marked else say("no", "否")
    yield f"- {say('title', '标题')}: {one.title}"
    yield "- " + say(
        f"recalls: {who.total} in all, {who.week} in 7 days, {who.fortnight} in 14 days; user_marked: {marked}",
        f"调用：共 {who.total} 次，7 天内 {who.week} 次，14 天内 {who.fortnight} 次；user_marked：{marked}",
    )
    yield f"- {say('rule', '规则')}: {who.rule}"


def _where(one: Promoted, by_words: dict[str, Step], workspace: Workspace, *, applied: bool) -> Iterator[str]:
    goes = say("goes to", "写入") if not applied else say("went to", "已写入")
    for lesson in one.lessons:
        place = workspace.relative(workspace.root / "skills" / lesson.skill / "docs" / "retrospect.md")
        there = say(" (stands there already)", "（已存在）") if lesson.known else ""
        yield f"- {goes} {place}: {lesson.text}{there}"
    for step in _steps_about(one, by_words):
        yield f"- {action_word(step.action)} {step.path}: {step.detail} ({step.reason})"
    if not one.lessons and not any(True for _ in _steps_about(one, by_words)):
        yield "- " + say(
            "nothing in it passes into long-term memory that was not decided before",
            "其中没有尚未决定的内容可进入长期记忆",
        )


def _steps_about(one: Promoted, by_words: dict[str, Step]) -> Iterator[Step]:
    """The steps of the tests that speak of this checkpoint's lines: whole, or a statement of one."""
    said = [piece.text.casefold() for line in one.lines for piece in pieces(line.words)]
    for words, step in by_words.items():
        told = words.casefold()
        if any(text in told or told in text for text in said):
            yield step


def write_report(op: Operation, text: str) -> None:
    """Put the report where users and agents look for it; the same again, but for its time, is not written."""
    path = op.workspace.root / "promote_report.md"
    refuse_link(op.workspace, path)
    before = disk.read_bytes(path)
    if before is None or _without_time(before.decode("utf-8", "replace")) != _without_time(text):
        rewrite(op, path, text.encode(), read=None if before is None else disk.digest(before))


def _without_time(text: str) -> str:
    return "\n".join(line.partition(" | ")[2] if number == 2 else line for number, line in enumerate(text.split("\n")))
