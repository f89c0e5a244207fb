"""One entry: pinning it, and where it comes from (long-term memory, weekly digest, daily log, session, message)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.capture.cursors import any_opted_out, storable
from nacre.errors import BadInput
from nacre.forget.related import fact_of
from nacre.forget.target import ForgetContext, MemoryLine, Target
from nacre.guard.secrets import redact, redact_messages
from nacre.i18n import say
from nacre.model.session import Message, Session
from nacre.sources import consent
from nacre.sources.reading import Source, Transcript
from nacre.sources.registry import listed_as, places_of, project_name, sources
from nacre.text.stamps import stamp_of
from nacre.vault import ledger, provenance
from nacre.vault.discover import project_of
from nacre.vault.entries import source_day
from nacre.vault.history import operation
from nacre.vault.ledger import IN_MEMORY, EntryState, Record
from nacre.vault.provenance import Captured


@dataclass(frozen=True)
class PinPlan:
    """The entry, and the lines of the ledger that change its standing; none when it is as wanted already."""

    line: MemoryLine
    pinned: bool
    records: tuple[Record, ...]


def plan_pin(room: ForgetContext, target: Target, lines: Sequence[MemoryLine], *, off: bool = False) -> PinPlan:
    """What pinning the target, or taking its pin out, would write. A line that the ledger does not know is adopted first."""
    known = ledger.entry_states(ledger.read_ledger(room.workspace).records)
    line = _longterm_line(target, lines, known)
    entry = next((known[one] for one in (line.id, *sorted(line.ids)) if one in known), None)
    if entry and entry.verdict not in IN_MEMORY:
        entry = None  # it was gone once, and was written back by hand
    if (entry.pinned if entry else False) is not off:
        return PinPlan(line, not off, ())
    at = room.clock.now().isoformat(timespec="seconds")
    of_line = {} if line.path == "MEMORY.md" else {"file": line.path}
    if entry:
        pinned = Record(
            entry.id, at, entry.verdict, entry.text, section=line.section, more={**of_line, "pinned": not off}
        )
        return PinPlan(line, not off, (pinned,))
    adopted = Record(line.id, at, "adopted", line.text, section=line.section, more=of_line)
    pinned = Record(line.id, at, "adopted", line.text, section=line.section, more={**of_line, "pinned": True})
    return PinPlan(line, not off, (adopted, pinned))


def _longterm_line(target: Target, lines: Sequence[MemoryLine], known: dict[str, EntryState]) -> MemoryLine:
    """The line of a MEMORY.md that is meant: itself, or the one that was made of it."""
    fact = fact_of(target, known, older=False)
    mine = [target.line] if target.line else []
    for line in (*mine, *(line for line in lines if fact.reason(line))):
        if line.layer == "longterm" and line.path.endswith("MEMORY.md"):
            around = (one for one in lines if one.path == line.path and one.start <= line.start and line.end <= one.end)
            return max(around, key=lambda one: one.end - one.start)  # what is nested belongs to its entry
    where = f" ({target.line.place})" if target.line else ""
    raise BadInput(
        f"Only entries of a MEMORY.md can be pinned, and this is none{where}. Logs and digests are kept anyway.",
        f"只能固定 MEMORY.md 中的条目，而这一条不是{where}。日志和周报本来就会保留。",
    )


def apply_pin(room: ForgetContext, made: PinPlan) -> None:
    """Write it into the ledger: one operation, undone as one."""
    if made.records:
        with operation(room.workspace, room.clock, "pin", room.config) as op:
            known = [ledger.as_json(one) for one in ledger.read_ledger(room.workspace).records]
            ledger.write_records(op, *(one for one in made.records if ledger.as_json(one) not in known))


# Where a memory comes from: MEMORY.md → weekly digest → daily log → session → message, and what the ledger tells of
# it.

LONGEST_MESSAGE = 2000  # characters of a message
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
    superseded: tuple[EntryState, ...]
    pinned: bool
    confidence: float | None


def why(room: ForgetContext, target: Target, lines: Sequence[MemoryLine]) -> Why:
    """Follow a target back to what was said. Reads files and transcripts; writes nothing."""
    known = ledger.entry_states(ledger.read_ledger(room.workspace).records)
    fact = fact_of(target, known, older=False)
    mine = [line for line in lines if line.words and line.title is None and fact.reason(line)]
    if target.line and target.line not in mine:
        mine.append(target.line)
    entries = [known[entry] for entry in fact.ids if entry in known]
    marks = set(fact.marks).union(*(line.marks for line in mine if line.layer in ("daily", "archive")))
    told = [one for one in provenance.read_provenance(room.workspace).captured if marks & one.bullets.keys()]
    chain = [_link(line) for line in sorted(mine, key=_place)]
    talks, ends = _sessions(room, told, marks) if told else _by_heading(mine, entries)
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


def _place(line: MemoryLine) -> tuple[int, str, int]:
    return (_ORDER.index(line.layer) if line.layer in _ORDER else len(_ORDER), line.path, line.start)


def _link(line: MemoryLine) -> Link:
    kind = {"archive": "daily"}.get(line.layer, line.layer if line.layer in _ORDER else "note")
    date = line.day or source_day(line.text)
    return Link(kind, line.path, line.start, date, redact(line.text).text, redact(line.section).text)


def _by_heading(lines: Iterable[MemoryLine], entries: Iterable[EntryState]) -> tuple[list[Link], str]:
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


def _sessions(room: ForgetContext, told: Sequence[Captured], marks: set[str]) -> tuple[list[Link], str]:
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
        messages = [message for message in redact_messages(found[1].messages) if storable(message.id) in wanted]
        links += [_message(room, path, message) for message in messages]
        if not messages:
            ends = say(
                f"The transcript of session {name} no longer holds the message.",
                f"会话 {name} 的对话记录中已没有那条消息。",
            )
    return links, ends


def _message(room: ForgetContext, path: str, message: Message) -> Link:
    at = room.clock.local(message.at)
    text = " ".join(message.text.split())
    short = text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
    return Link(
        "message", path, date=f"{at:%Y-%m-%d %H:%M}", text=short, about=f"{message.speaker} {storable(message.id)}"
    )


def _transcript(room: ForgetContext, one: Captured) -> tuple[Transcript, Session] | None:
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
        session = _read_session(room, source, transcript)
        if session and storable(session.id).startswith(name):
            return transcript, session
    return None


def _read_session(room: ForgetContext, source: Source, transcript: Transcript) -> Session | None:
    """What a transcript tells and the user does not leave out."""
    try:
        session = source.read(transcript, None, room.clock.fixed).session
    except OSError:
        return None
    if session is None:
        return None
    project = project_name(session, lambda cwd: project_of(room.workspace, Path(cwd)), str(room.workspace.root))
    patterns = consent.settings_of(room.config, session.agent).exclude
    if consent.left_out(session, patterns, listed_as(session, project), signed=lambda: any_opted_out(room.workspace)):
        return None
    return replace(session, messages=consent.outside_pauses(session.messages, consent.pauses(room.workspace)))
