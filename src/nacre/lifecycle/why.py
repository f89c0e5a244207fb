"""Where a memory comes from: MEMORY.md → weekly digest → daily log → session → message, and what the ledger tells of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.capture.cursors import kept, signed
from nacre.guard.secrets import redact
from nacre.guard.together import redacted
from nacre.lifecycle.connect import connected
from nacre.lifecycle.lines import Line
from nacre.lifecycle.target import Room, Target
from nacre.model.session import Message, Session
from nacre.sources import consent
from nacre.sources.registry import sources
from nacre.sources.transcript import Source, Transcript
from nacre.sources.whose import listed_as, places_of, project_name
from nacre.text.stamps import source_day, stamp_of
from nacre.vault import ledger, trail
from nacre.vault.ledger import Record, Standing
from nacre.vault.projects import project_of
from nacre.vault.trail import Captured
from nacre.words import say

LONGEST = 2000  # characters of a message
_A_DAY = 86400.0
_ORDER = ("longterm", "weekly", "daily", "archive")


@dataclass(frozen=True)
class Link:
    """One step of the way back. `path` is a file of memory, or a transcript; `text` the words as they stand there."""

    kind: str  # "longterm", "weekly", "daily", "note", "checkpoint", "session" or "message"
    path: str = ""
    line: int | None = None
    date: str | None = None
    text: str = ""
    about: str = ""  # the heading of a line, the agent and id of a session, the speaker of a message


@dataclass(frozen=True)
class Why:
    """Everything that is known of where a memory comes from. `ends` says why the chain goes no further, where it does not."""

    id: str
    words: str
    chain: tuple[Link, ...]
    ends: str
    story: tuple[Record, ...]
    superseded: tuple[Standing, ...]
    pinned: bool
    confidence: float | None


def why(room: Room, target: Target, lines: Sequence[Line]) -> Why:
    """Follow a target back to what was said. Reads files and transcripts; writes nothing."""
    known = ledger.standing(ledger.read(room.workspace).records)
    fact = connected(target, known, older=False)
    mine = [line for line in lines if line.words and line.title is None and fact.reason(line)]
    if target.line and target.line not in mine:
        mine.append(target.line)
    entries = [known[entry] for entry in fact.ids if entry in known]
    marks = set(fact.marks).union(*(line.marks for line in mine if line.layer in ("daily", "archive")))
    told = [one for one in trail.read(room.workspace).captured if marks & one.bullets.keys()]
    chain = [_link(line) for line in sorted(mine, key=_place)]
    talks, ends = _talks(room, told, marks) if told else _by_heading(mine, entries)
    story = sorted((record for entry in entries for record in entry.records), key=lambda one: one.at)
    older = (known[entry.supersedes] for entry in entries if entry.supersedes and entry.supersedes in known)
    return Why(
        target.id,
        redact(target.words).text,
        (*chain, *talks),
        ends,
        tuple(story),
        tuple(older),
        any(entry.pinned for entry in entries),
        next((entry.confidence for entry in entries if entry.confidence is not None), None),
    )


def _place(line: Line) -> tuple[int, str, int]:
    return (_ORDER.index(line.layer) if line.layer in _ORDER else len(_ORDER), line.path, line.start)


def _link(line: Line) -> Link:
    kind = {"archive": "daily"}.get(line.layer, line.layer if line.layer in _ORDER else "note")
    date = line.day or source_day(line.text)
    return Link(kind, line.path, line.start, date, redact(line.text).text, redact(line.section).text)


def _by_heading(lines: Iterable[Line], entries: Iterable[Standing]) -> tuple[list[Link], str]:
    """Without a trail the chain ends at the session that a heading of the log, or the ledger, names."""
    sessions: dict[str, Link] = {}
    for line in lines:
        stamp = stamp_of(line.section)
        if line.day and stamp.session:
            sessions.setdefault(stamp.session, Link("session", date=line.day, about=stamp.session))
    promoted: dict[str, Link] = {}
    for entry in entries:
        if session := entry.source.get("session"):
            sessions.setdefault(session, Link("session", date=entry.source.get("day"), about=session))
        if path := entry.source.get("checkpoint"):
            promoted[path] = Link("checkpoint", redact(path).text, date=entry.source.get("day"))
    if promoted:
        ends = say(
            "It was promoted from this checkpoint, which may have moved to another layer since.",
            "它由此检查点晋升而来；该检查点此后可能已移到其他层。",
        )
        return [*promoted.values(), *sessions.values()], ends
    if sessions:
        ends = say(
            "Which of its messages it was is not recorded: it was captured before Nacre kept a trail.",
            "没有记录它来自其中哪条消息：它是在 Nacre 开始记录来源之前采集的。",
        )
    else:
        ends = say(
            "Nothing tells of a talk behind it: you or an agent wrote it down directly.",
            "没有对应的对话记录：它是您或代理直接写下的。",
        )
    return list(sessions.values()), ends


def _talks(room: Room, told: Sequence[Captured], marks: set[str]) -> tuple[list[Link], str]:
    """The sessions that the bullets were captured from, and the messages as they stand in the transcripts."""
    links: list[Link] = []
    ends = ""
    for one in told:
        wanted = {entry for mark, entries in one.bullets.items() if mark in marks for entry in entries}
        name = one.transcript or one.session
        found = _transcript(room, one)
        path = redact(str(found[0].path)).text if found else ""
        links.append(Link("session", path, date=one.day, about=f"{one.agent} {name}".strip()))
        if found is None:
            ends = say(
                f"The transcript of session {name} is gone, or left out by your settings.",
                f"会话 {name} 的对话记录已不存在，或已按您的设置排除。",
            )
            continue
        messages = [message for message in redacted(found[1].messages) if kept(message.id) in wanted]
        links += [_message(room, path, message) for message in messages]
        if not messages:
            ends = say(
                f"The transcript of session {name} no longer holds the message.",
                f"会话 {name} 的对话记录中已没有那条消息。",
            )
    return links, ends


def _message(room: Room, path: str, message: Message) -> Link:
    at = room.clock.local(message.at)
    text = " ".join(message.text.split())
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return Link("message", path, date=f"{at:%Y-%m-%d %H:%M}", text=short, about=f"{message.speaker} {kept(message.id)}")


def _transcript(room: Room, one: Captured) -> tuple[Transcript, Session] | None:
    """The transcript of a session, by its id. Most are named for it; the others must be read to be known."""
    name = one.transcript or one.session
    found = [
        (source, transcript)
        for source in sources()
        if source.agent == one.agent and consent.settings_of(room.config, source.agent).enabled
        for transcript in source.find(places_of(room.config))
    ]
    named = [pair for pair in found if name in pair[1].key]
    since = dt.datetime.fromisoformat(one.day).timestamp() - _A_DAY  # no message is younger than its file
    for source, transcript in named or [pair for pair in found if pair[1].changed >= since]:
        session = _said(room, source, transcript)
        if session and kept(session.id).startswith(name):
            return transcript, session
    return None


def _said(room: Room, source: Source, transcript: Transcript) -> Session | None:
    """What a transcript tells and the user does not leave out."""
    try:
        session = source.read(transcript, None, room.clock.fixed).session
    except OSError:
        return None
    if session is None:
        return None
    project = project_name(session, lambda cwd: project_of(room.workspace, Path(cwd)), str(room.workspace.root))
    patterns = consent.settings_of(room.config, session.agent).exclude
    if consent.left_out(session, patterns, listed_as(session, project), signed=lambda: signed(room.workspace)):
        return None
    return replace(session, messages=consent.outside_pauses(session.messages, consent.pauses(room.workspace)))
