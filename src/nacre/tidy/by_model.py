"""What the user's own model says in a tidy run, asked before the lock is taken: what becomes of new lines, and digests of old days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nacre.brain.distil import ask_changes
from nacre.brain.journal import TURN
from nacre.brain.model import Model, chosen_model
from nacre.brain.orders import Change, Item
from nacre.brain.turn import withdraw_orders
from nacre.clock import duration
from nacre.errors import BrainFailed, Waiting
from nacre.guard.secrets import redact
from nacre.model import Kind, Session, Speaker, slug_of
from nacre.sources.registry import left_out, paused_at, pauses
from nacre.text.tokens import language_of
from nacre.tidy import compress, distil
from nacre.tidy.collect import DecidedLines, LogLine, TidyContext, new_lines
from nacre.tidy.compress import DigestText
from nacre.tidy.distil import Advice, Draft
from nacre.tidy.memory_files import names_project
from nacre.vault.provenance import Trail

_MOST = 40  # new lines in one order
# Beside twice the wait for the user's agent: what is older, the local brain decides.
_LONGEST_WAIT = dt.timedelta(days=2)
_MANY = 20  # lines of a day from which on "hybrid" lets the model press it
_UNSURE = ("supersede", "merge", "ask", "demote")  # what the local brain does that "hybrid" leaves to the model
_SMALL_ROOM = {"en": 200, "zh": 100}  # characters that a short day may have, up to half of its own
SHARE = 0.33  # of a day's log that its digest may have, in bytes


def advise(context: TidyContext) -> Advice:
    """What becomes of the new lines, as far as a model was chosen for that, answered, and got past the gates."""
    model = chosen_model(context, "distil")
    if model is None or paused_at(pauses(context.workspace), context.clock.now()):
        return Advice()
    draft = Draft(context)
    lines, _, _ = new_lines(context, DecidedLines(draft.trail, draft.states, draft.questions))
    lines = [line for line in lines if not line.by_agent and _may_leave(context, draft.trail, line)]
    if model.kind == TURN:  # where memory changes every night the order does too, and would wait for ever
        longest = _LONGEST_WAIT + 2 * duration(context.config.brain.turn_wait)
        oldest = (context.clock.now() - longest).date().isoformat()
        lines = [line for line in lines if line.day >= oldest]
    if context.config.brain.distil == "hybrid":
        planned = distil.plan(context)
        if not planned.asks and not any(step.action in _UNSURE for step in planned.steps):
            return Advice()
    changes: dict[tuple[str, str], Change] = {}
    shown: set[str] = set()
    waiting: set[tuple[str, str]] = set()
    asked: set[str] = set()
    for part in _parts(lines, by_day=model.kind == TURN):
        memory = _memory_items(context, draft, part)
        items = [_item(f"e{number}", line, draft) for number, line in enumerate(part, 1)]
        keys = {item.id: (line.day, line.mark) for item, line in zip(items, part, strict=True)}
        try:
            answered = ask_changes(model, context.judge(), items, list(memory.values()))
        except Waiting as error:
            waiting.update(keys.values())
            asked.update(error.keys)
            continue
        except BrainFailed:
            continue  # the local brain does it
        ids = {item.id: entry for entry, item in memory.items()}
        changes |= {
            keys[change.entry]: replace(change, targets=tuple(ids[name] for name in change.targets))
            for change in answered
        }
        shown |= memory.keys()
    if model.kind == TURN:
        withdraw_orders(context, "distil", asked)
    return Advice(model.name, changes, frozenset(shown), frozenset(waiting))


def _parts(lines: Sequence[LogLine], *, by_day: bool) -> Iterator[list[LogLine]]:
    """The lines of each order; of one day alone where it waits for the user's agent, so that the next day does not change it."""
    days: dict[str, list[LogLine]] = {}
    for line in lines:
        days.setdefault(line.day if by_day else "", []).append(line)
    for part in days.values():
        yield from (part[start : start + _MOST] for start in range(0, len(part), _MOST))


def _item(name: str, line: LogLine, draft: Draft) -> Item:
    speaker = Speaker.AGENT if draft.memory.is_agents(line) else Speaker.OWNER
    stamp = " ".join(filter(None, (line.day, line.project, line.label)))
    return Item(name, line.words, speaker, stamp, is_entry=True)


def _memory_items(context: TidyContext, draft: Draft, lines: Sequence[LogLine]) -> dict[str, Item]:
    """The lines of memory that new ones may be about, by their ids: the general ones, and those of the projects at hand."""
    projects = {line.project for line in lines}
    items: dict[str, Item] = {}
    for file in draft.memory.files:
        project = file.project
        if project and project not in projects and not any(names_project(line.words, project) for line in lines):
            continue
        for line in file.lines:
            was = draft.states.get(line.id)
            origin = (was.source.get("day", ""), was.source.get("bullet", "")) if was else ("", "")
            if not line.whole or redact(line.words).findings or not _is_public(context, draft.trail, *origin, project):
                continue
            items[line.id] = Item(f"k{len(items) + 1}", line.words, stamp=project or "", is_entry=True)
    return items


def _may_leave(context: TidyContext, trail: Trail, line: LogLine) -> bool:
    """Whether a line may be shown to a model: nothing of a group, and nothing that is private."""
    return not line.group and _is_public(context, trail, line.day, line.mark, line.project)


def _is_public(context: TidyContext, trail: Trail, day: str, mark: str, project: str | None) -> bool:
    """Whether no setting keeps the session behind a line from models. While anything is private, a line of unknown origin is, too."""
    private = context.config.brain.private
    if not private:
        return True
    sections = [section for section in trail.of(day).captured if mark in section.bullets] if day else []
    sessions = [Session(section.transcript, section.agent, Kind.MAIN, (), cwd=section.place) for section in sections]
    hidden = any(left_out(session, private, project or "", signed=lambda: False) for session in sessions)
    named = {slug_of(pattern) for pattern in private}
    return bool(sessions) and not hidden and project not in named


# The digests of old days.


def press(context: TidyContext) -> tuple[dict[str, tuple[DigestText, ...]], frozenset[str]]:
    """By day: the lines of its digest as a model words them; and the days that wait for one."""
    model = chosen_model(context, "digest")
    if model is None or paused_at(pauses(context.workspace), context.clock.now()):
        return {}, frozenset()
    trail = Trail(context.workspace)
    pressed: dict[str, tuple[DigestText, ...]] = {}
    waiting: set[str] = set()
    asked: set[str] = set()
    for day, lines in compress.captured_lines(context).items():
        may_leave = all(_may_leave(context, trail, line) for line in lines)
        if not may_leave or (context.config.brain.digest == "hybrid" and len(lines) < _MANY):
            continue
        try:
            pressed[day] = _ask_digest(model, trail, lines)
        except Waiting as error:
            waiting.add(day)
            asked.update(error.keys)
        except BrainFailed:
            continue  # the local brain does it
    if model.kind == TURN:
        withdraw_orders(context, "digest", asked)
    return {day: texts for day, texts in pressed.items() if texts}, frozenset(waiting)


def _ask_digest(model: Model, trail: Trail, lines: Sequence[LogLine]) -> tuple[DigestText, ...]:
    """The lines of a digest; what only dropped claims covered is left to the local brain. A claim is of one project."""
    language = language_of("\n".join(line.words for line in lines))
    by_agent = {mark for section in trail.of(lines[0].day).captured for mark in section.agents}
    speakers = (Speaker.AGENT if line.mark in by_agent else Speaker.OWNER for line in lines)
    items = [
        Item(f"l{number}", line.words, speaker, line.project or "", is_entry=True)
        for number, (line, speaker) in enumerate(zip(lines, speakers, strict=True), 1)
    ]
    words = "".join(line.words for line in lines)
    characters = compress.log_size(lines) * len(words) // len(words.encode())  # what fits into so many bytes
    room = max(int(SHARE * characters), min(_SMALL_ROOM[language], characters // 2))
    _, gated = model.claims(model.order("digest", language, items, most=len(lines), room=room))
    by_id = dict(zip((item.id for item in items), lines, strict=True))
    texts = [
        DigestText(claim.text.strip(), claim.category, tuple(dict.fromkeys(by_id[name] for name in claim.cites)))
        for claim in gated.kept
    ]
    texts = [text for text in texts if len({line.project for line in text.of}) == 1]
    covered = {line for text in texts for line in text.of}
    missing = {by_id[name] for dropped in gated.dropped for name in dropped.cites if name in by_id} - covered
    return (*texts, *(DigestText(line.words, "", (line,)) for line in lines if line in missing))
