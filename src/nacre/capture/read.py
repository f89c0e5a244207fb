"""What is new in a transcript, and the sections of daily logs that it makes. Reads and decides; writes nothing."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.capture.cursors import Cursor, Reached, is_storable, storable
from nacre.capture.dedupe import Headings, HookNote, Recognised, recognise
from nacre.capture.sections import Part, by_day, must_wait, owner_count, reached_by, session_heading
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.guard import privacy
from nacre.guard.secrets import redact_messages
from nacre.model.entry import Bullet
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import Workspace
from nacre.sources.consent import Pause, left_out, outside_pauses, settings_of
from nacre.sources.reading import Mark, Places, Reading, Source, Transcript, list_files
from nacre.sources.registry import listed_as
from nacre.vault import spool
from nacre.vault.spool import Queued

# Where each agent keeps its talks: in there its own source knows best which are to be read.
_ROOTS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "cursor": (None, ".cursor"),
}


class Queue:
    """The queue of a workspace, as it stood when it was read."""

    def __init__(self, workspace: Workspace, config: Config, places: Places, sources: Sequence[Source]) -> None:
        self.waiting = spool.waiting(str(workspace.root))
        self._config = config
        self._places = places
        self._readers = {
            source.agent: source for source in reversed(sources)
        }  # of two for one agent, the first reads files
        self._root = str(workspace.root)

    @property
    def wanted_now(self) -> frozenset[str]:
        """The transcripts of talks that ended, or are about to be forgotten by their agents."""
        return frozenset(one.transcript for one in self.waiting if one.now)

    def is_over(self, transcript: Transcript) -> bool:
        """Whether the agent of a talk said that it ended, or is about to be forgotten. A database holds many, known by their ids."""
        return any(
            one.now
            and (transcript.path.suffix == ".jsonl" or (one.session and one.session in transcript.key))
            and os.path.realpath(one.transcript) == os.path.realpath(transcript.path)
            for one in self.waiting
        )

    def outside(self, source: Source) -> Iterator[Transcript]:
        """The transcripts that a source would not find, because they lie where it does not look."""
        if self._readers.get(source.agent) is source:
            mine = (one for one in self.waiting if one.agent == source.agent and self._is_outside(one))
            yield from (one for queued in mine for one in _queued_transcript(queued))

    def take_off(self, open_keys: Iterable[str], now: float) -> int:
        """Take off what a run has looked at. `open_keys` are transcripts of which something is still to be captured: what lies where
        no source looks stays on the queue for that long."""
        still = set(open_keys)
        gone = 0
        for one in self.waiting:
            stays = self._is_outside(one) and any(found.key in still for found in _queued_transcript(one))
            gone += 0 if stays else spool.remove_queued(one)
        return gone + spool.clean_inbox(self._root, now)

    def _is_outside(self, one: Queued) -> bool:
        if one.agent not in _ROOTS or not settings_of(self._config, one.agent).enabled:
            return False
        variable, usual = _ROOTS[one.agent]
        root = os.path.realpath(self._places.root(one.agent, variable, usual))
        return not os.path.realpath(one.transcript).startswith(root + os.sep)


def _queued_transcript(one: Queued) -> list[Transcript]:
    """The transcript as a source lists it; none when it is gone, or is of a sub-agent."""
    path = Path(one.transcript)
    if path.suffix != ".jsonl" or path.name.startswith("agent-") or "subagents" in path.parts:
        return []
    found = list(list_files(one.agent, iter([path])))
    if one.agent == "codex" and len(path.parts) > 5 and path.parts[-5] == "sessions":
        return [
            replace(each, key=f"{path.parents[4]}#{path.name}") for each in found
        ]  # the key that it has in its own place
    return found


# From a transcript to the sections that its new part makes. Reads and decides; writes nothing.

Extract = Callable[[Sequence[Message]], list[Bullet]]
Dedupe = Callable[[Session, dt.date, str, Sequence[Bullet]], Sequence[Bullet]]  # of a session's day, under a heading


@dataclass(frozen=True)
class Section:
    """One heading with its bullets, for one day's log."""

    key: str  # of its transcript in the cursors
    day: dt.date
    agent: str
    session: str  # whole id
    name: str  # what the heading calls it
    heading: str
    bullets: tuple[str, ...]
    sources: tuple[tuple[str, ...], ...]  # for each bullet the entries of the transcript that it rests on
    reached: Reached
    users: int
    place: str = ""  # the folder of its project
    agents: tuple[int, ...] = ()  # which of its bullets are the agent's word alone
    then: Cursor | None = None  # where the transcript stands once this section, its last, is written


@dataclass(frozen=True)
class Rules:
    """What holds for a whole run."""

    clock: Clock
    now: dt.datetime
    since: dt.datetime  # what was said before is too old, whatever the time of its file
    least_users: int
    patience: dt.timedelta
    left_out: Mapping[str, Sequence[str]]  # patterns by agent
    signed: Callable[[], bool]  # whether a folder that we know of carries the sign that it is to be left out
    pauses: Sequence[Pause]
    covered: Mapping[str, HookNote]  # by the notes of OpenClaw's own hook
    extract: Extract
    untold: Dedupe  # the bullets that do not stand in the log of their day yet


@dataclass(frozen=True)
class Copied:
    """The messages of a session that were captured from another one already, of which one is a fork; and which that was."""

    messages: tuple[Message, ...] = ()
    origin: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a transcript gave: sections to write, or only a cursor; and why nothing, where nothing."""

    cursor: Cursor
    sections: tuple[Section, ...] = ()
    why_not: str = ""


def sections_of(
    transcript: Transcript,
    reading: Reading,
    before: Cursor | None,
    rules: Rules,
    *,
    key: str,
    elsewhere: Reached | None,
    copied: Copied,
    is_over: bool,
    headings: Headings,
    name: Callable[[str], str],
    project: Callable[[Session], str],
) -> Outcome:
    """The sections of what is new in a transcript.

    `elsewhere` is how far the same session was captured from another file, `copied` what was captured from another session;
    of a talk that is over nothing waits for more; `headings` tells those of a day's log, for the case that the cursors are lost.
    """
    begin = before or Cursor((), Mark())
    # Read as of an earlier moment, a transcript that stays as it is may still have more to tell.
    stamp = transcript.stamp if reading.whole or rules.clock.fixed is None else ()
    safe = is_storable(reading.mark)
    mark = reading.mark if safe else Mark()
    done = replace(begin, stamp=stamp, mark=mark, open=not reading.whole, partly=not safe)
    session = reading.session
    if session is None or session.kind is Kind.ISOLATED:
        return Outcome(done, why_not="isolated")
    done = replace(done, session=storable(session.id))
    about = project(session)
    patterns = rules.left_out.get(session.agent, ())
    if session.messages and (why_not := left_out(session, patterns, listed_as(session, about), signed=rules.signed)):
        return Outcome(done, why_not=why_not)
    too_old = [message for message in session.messages if message.at < rules.since]
    if too_old:
        session = replace(session, messages=tuple(one for one in session.messages if one.at >= rules.since))
        begin, done = (replace(one, begins=rules.since) for one in (begin, done))
    if session.messages:
        first = min(message.at for message in session.messages)
        origin = begin.origin or (copied.origin if begin.reached is None else "")
        begin, done = (replace(one, begun=min(first, one.begun or first), origin=origin) for one in (begin, done))
    messages, spoken = _new_messages(session, reading, before, elsewhere, copied, rules)
    if begin.reached is None and elsewhere is None:
        found = recognise(session.id, messages, headings, rules.clock)
        messages = found.new
        if found.told:
            begin, done = replace(_knowing(begin, found), partly=True), _knowing(done, found)
    if not messages and copied.messages and begin.reached is None:
        done = replace(done, reached=reached_by(copied.messages), users=spoken)
    if not messages:
        return Outcome(done, why_not="too old" if too_old and not session.messages else "nothing new")
    captured = begin.users or (rules.least_users if elsewhere else spoken + owner_count(too_old))
    held = replace(begin, stamp=stamp, session=done.session, users=captured, open=True)
    if is_over:
        rules = replace(rules, patience=dt.timedelta())
    if _must_wait(messages, captured, rules):
        few = owner_count(messages) + captured < rules.least_users
        return Outcome(held, why_not="too few" if few else "waits")
    messages = tuple(
        redact_messages(messages)
    )  # all of them together: a question may stand before midnight, its answer after
    parts = by_day(messages, rules.clock.local)
    if len(parts) > 1:  # a wish for silence after midnight is about what was said before it
        parts = by_day(privacy.drop_private(messages), rules.clock.local)
    waits = _last_waits(parts, captured, rules)
    called = begin.name or name(session.id)
    made = _made(key, session, parts[:-1] if waits else parts, called, captured, rules, about)
    if not made:
        return Outcome(held if waits else done, why_not="nothing to say")
    users = captured + sum(section.users for section in made)
    then = replace(held, partly=True) if waits else done
    reached = made[-1].reached.or_later(begin.reached)  # what was too old once may be told after what is younger
    made[-1] = replace(made[-1], then=replace(then, name=called, reached=reached, users=users))
    return Outcome(done, tuple(made))


def _knowing(cursor: Cursor, found: Recognised) -> Cursor:
    """A cursor that was lost, as far as the logs tell it."""
    return replace(cursor, name=found.name, reached=reached_by(found.told), users=owner_count(found.told))


def _new_messages(
    session: Session,
    reading: Reading,
    before: Cursor | None,
    elsewhere: Reached | None,
    copied: Copied,
    rules: Rules,
) -> tuple[tuple[Message, ...], int]:
    """The messages that no log has yet and that may be captured; and how often the owner spoke in those that a note of
    OpenClaw's hook tells, or the session that this one was forked from."""
    messages = outside_pauses(session.messages, rules.pauses)
    known = [elsewhere] if elsewhere else []
    if before and before.reached and (reading.rewritten or before.partly):
        known.append(before.reached)
    notes = rules.covered.get(session.id)
    copies = {one.id for one in copied.messages}
    told = [one for one in messages if one.id in copies or (notes and notes.tells(one))]
    ids = {one.id for one in told}
    new = (message for message in messages if not any(one.covers(message.at, message.id) for one in known))
    return tuple(message for message in new if message.id not in ids), owner_count(told)


def _must_wait(messages: Sequence[Message], captured: int, rules: Rules) -> bool:
    return must_wait(
        messages,
        captured=captured,
        least=rules.least_users,
        now=rules.now,
        patience=rules.patience,
        local=rules.clock.local,
    )


def _last_waits(parts: Sequence[Part], captured: int, rules: Rules) -> bool:
    """Whether the last of several days is only a lone remark yet. Those before it are over and can be told."""
    if len(parts) < 2:
        return False
    *earlier, last = parts
    if min(message.at for message in last.messages) <= max(part.reached.at for part in earlier):
        return False  # a clock was set: what was reached would not tell the days apart
    return _must_wait(last.messages, captured + sum(part.users for part in earlier), rules)


def _made(
    key: str, session: Session, parts: Sequence[Part], name: str, captured: int, rules: Rules, project: str
) -> list[Section]:
    made: list[Section] = []
    for part in parts:
        found = rules.extract(_asked(part.messages) if session.kind is Kind.GROUP else part.messages)
        title = session_heading(
            name,
            part.last(rules.clock.local),
            len(part.messages),
            continued=bool(captured or made),
            project=project,
            group=session.group if session.kind is Kind.GROUP else "",
            chat=session.chat,
        )
        bullets = rules.untold(session, part.day, title, found) if found else ()
        if not bullets:
            continue
        made.append(
            Section(
                key=key,
                day=part.day,
                agent=session.agent,
                session=session.id,
                name=name,
                heading=title,
                bullets=tuple(bullet.line for bullet in bullets),
                sources=tuple(bullet.sources for bullet in bullets),
                reached=part.reached,
                users=part.users,
                place=session.cwd if project else "",
                agents=tuple(place for place, bullet in enumerate(bullets) if bullet.by_agent),
            )
        )
    return made


def _asked(messages: Sequence[Message]) -> Sequence[Message]:
    """Without an answer at the beginning: in a group it is not told whom the agent answers there."""
    first = next((place for place, one in enumerate(messages) if one.speaker is not Speaker.AGENT), 0)
    return messages[first:]
