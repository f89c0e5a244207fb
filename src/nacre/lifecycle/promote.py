"""nacre promote: what recalled checkpoints teach goes to a skill's retrospect, or is put to the tests of long-term memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.capture.reread import Reread, reread
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.lifecycle.layer import told_time
from nacre.lifecycle.nominate import Nominee, nominees
from nacre.lifecycle.turns import Seen, hash_of, seen
from nacre.model.bullet import Bullet
from nacre.model.problem import Problem
from nacre.model.session import Kind, Session
from nacre.sources.whose import project_name
from nacre.tidy import write
from nacre.tidy.candidates import candidates
from nacre.tidy.days import Said
from nacre.tidy.fields import IDENTITY, USER
from nacre.tidy.planned import DistilPlan
from nacre.tidy.room import Room
from nacre.tidy.run import distilled_with_care
from nacre.vault import refcount, skills
from nacre.vault.operation import Operation, operation
from nacre.vault.projects import project_of
from nacre.vault.tiers import content, held
from nacre.vault.trail import mark_of
from nacre.vault.workspace import slug_of

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
    lines: tuple[Said, ...]


@dataclass(frozen=True)
class PromotePlan:
    """Who is nominated, and what applying it would change."""

    promoted: tuple[Promoted, ...] = ()
    distilled: DistilPlan = DistilPlan()
    left: tuple[Problem, ...] = ()


def plan(room: Room) -> PromotePlan:
    """What the recalled checkpoints tell, and what the tests say of it; reads, and writes nothing."""
    found, left = nominees(room.workspace, room.clock, room.config)
    troubles = list(left)
    made: list[Promoted] = []
    known = skills.skills(room.workspace)
    for one in found:
        try:
            made.append(_promoted(room, one, known))
        except (NacreError, OSError) as trouble:
            troubles.append(Problem("left alone", str(trouble), room.workspace.relative(one.family.lead.path)))
    distilled = DistilPlan()
    if said := [line for one in made for line in one.lines]:
        distilled, refused = distilled_with_care(room, said=said)
        troubles += refused
    return PromotePlan(tuple(made), distilled, tuple(troubles))


def _promoted(room: Room, one: Nominee, known: list[str]) -> Promoted:
    from nacre.brain.local.extract import extract
    from nacre.guard.together import redacted

    workspace = room.workspace
    talk = reread(content(workspace, one.family.lead).decode("utf-8", "replace"), room.clock)
    path = workspace.relative(one.family.lead.path)
    day = told_time(one.own, room.clock).date().isoformat()
    bullets = extract(redacted(list(talk.messages)), room.judge(), least=1) if talk.messages else []
    lessons: list[Lesson] = []
    lines: list[Said] = []
    for bullet in bullets:
        if bullet.type == "TEMP" or bullet.by_agent:
            continue
        line = _said(room, day, bullet, talk, path)
        skill = skills.named_in(f"{bullet.text}\n{talk.title}", known) if bullet.type == "LESSON" else None
        if skill is None:
            lines.append(line)
            continue
        texts = [one.text for one in candidates([line], room.judge())]  # without the chatter beside it
        lessons += [Lesson(skill, day, text, skills.has_lesson(workspace, skill, text)) for text in texts]
    return Promoted(one, path, redact(talk.title).text or one.family.stem, tuple(lessons), tuple(lines))


def _said(room: Room, day: str, bullet: Bullet, talk: Reread, path: str) -> Said:
    held = Session(talk.session, talk.agent, Kind.MAIN, None, (), talk.cwd)
    known = str(room.workspace.root)
    project = project_name(held, lambda cwd: project_of(room.workspace, Path(cwd)), known)
    slug = slug_of(project) if project else None
    return Said(day, bullet.text, bullet.type, slug, None, talk.session[:8], "", 0, mark_of(bullet.line), path)


Tell = Callable[[Operation, PromotePlan], None]  # writes the report, within the operation that it tells of


def promote(room: Room, tell: Tell, *, applying: bool) -> PromotePlan:
    """Plan while nobody has to wait, then carry it out and report; where somebody came between, it is planned again, the last
    time while holding the workspace."""
    for _ in range(TRIES):
        read, made = _read(room), plan(room)
        with operation(room.workspace, room.clock, "promote", room.config) as op:
            if applying:
                write.recover(room, op)
            if read == _read(room):
                return _done(room, op, made, tell, applying=applying)
    with operation(room.workspace, room.clock, "promote", room.config) as op:
        if applying:
            write.recover(room, op)
        return _done(room, op, plan(room), tell, applying=applying)


def _read(room: Room) -> tuple[Seen, tuple[str | None, ...]]:
    """What the plan is made of: the layers with their counts, and the files that say what was decided before."""
    here = room.workspace
    named = (here.ledger, here.trail, here.review, here.root / USER, here.root / IDENTITY)
    longterm = (here.longterm, *sorted(here.projects.glob("*/MEMORY.md")))
    return seen(here, room.config), tuple(hash_of(path) for path in (*named, *longterm))


def _done(room: Room, op: Operation, made: PromotePlan, tell: Tell, *, applying: bool) -> PromotePlan:
    done = apply(room, op, made) if applying else made
    tell(op, done)
    return done


def apply(room: Room, op: Operation, made: PromotePlan) -> PromotePlan:
    """Carry it out: lessons to their skills, lines through the tests; and nobody is nominated twice."""
    left = [*made.left, *write.apply(room, op, made.distilled)]
    for one in made.promoted:
        for lesson in one.lessons:
            skills.add_lesson(op, lesson.skill, lesson.day, lesson.text, one.path)
    _mark(op, [one.nominee for one in made.promoted])
    if made.distilled.meant:
        room.judge().keep(made.distilled.meant, made.distilled.lately)
    return replace(made, left=tuple(left))


def _mark(op: Operation, done: Sequence[Nominee]) -> None:
    """Note who was promoted. The recalls stay to be counted by the next organise, which lets their checkpoints rise."""
    if not done:
        return
    with held(op.workspace, op.config):
        counts = refcount.read(op.workspace, op.config)
        entries: Mapping[str, Any] = counts.entries
        for one in done:
            entries = refcount.moved(entries, one.keys, one.key, {**one.entry, "promoted": True})
        refcount.write(op, counts, entries)
