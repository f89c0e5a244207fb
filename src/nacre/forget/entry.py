"""One entry: pinning it, and where it comes from (long-term memory, weekly digest, daily log, session, message)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nacre.capture.checkpoint import showable
from nacre.capture.cursors import storable
from nacre.capture.dedupe import Forgotten
from nacre.capture.read import list_transcripts, read_session
from nacre.errors import BadInput, NotFound
from nacre.forget.target import ForgetContext, MemoryLine, MemoryLines, Target, fact_of, lines_about
from nacre.guard.privacy import drop_private
from nacre.guard.secrets import legible, redact, redact_messages
from nacre.i18n import say
from nacre.model import Message, Session, fields
from nacre.sources.registry import places_of, sources
from nacre.sources.transcript import Transcript, line_of
from nacre.text.blocks import stamp_of
from nacre.text.layout import shortened
from nacre.vault import ledger
from nacre.vault.entries import document, source_day
from nacre.vault.history import operation
from nacre.vault.ledger import IN_MEMORY, EntryState, LedgerStates, Record
from nacre.vault.provenance import Captured, Trail
from nacre.vault.storage import TIERS, read_memory

LONGEST_MESSAGE = 2000  # characters of a message
_AROUND = 4  # messages shown before and behind the one that is asked for
_A_DAY = 86400.0
_ORDER = ("longterm", "weekly", "daily", "archive")


@dataclass(frozen=True)
class PinPlan:
    """The entry, and the records that pin or unpin it; none when nothing has to change."""

    line: MemoryLine
    pinned: bool
    records: tuple[Record, ...]


def plan_pin(context: ForgetContext, target: Target, every: MemoryLines, *, off: bool = False) -> PinPlan:
    """What pinning or unpinning the target would write. A line that the ledger does not know is adopted first."""
    states = LedgerStates(context.workspace)
    fact = fact_of(target, states, Trail(context.workspace), older=False)
    lines = [line for path in every.files if path.endswith("MEMORY.md") for line in every.of(path)]
    meant = (target.line, *(line for line in lines if fact.reason(line)))
    inner = next(
        (line for line in meant if line and line.layer == "longterm" and line.path.endswith("MEMORY.md")), None
    )
    if inner is None:
        where = f" ({target.line.place})" if target.line else ""
        raise BadInput(
            f"Only entries in a MEMORY.md can be pinned, and this is not one of them{where}. Daily logs and weekly digests are kept anyway.",
            f"只能固定 MEMORY.md 中的条目，而这一条不在其中{where}。每日日志和每周摘要本来就会保留。",
        )
    # What is nested belongs to its entry.
    line = max((other for other in lines if other.covers(inner)), key=lambda other: other.end - other.start)
    entry = next((state for key in (line.id, *sorted(line.ids)) if (state := states.get(key))), None)
    if entry and entry.verdict not in IN_MEMORY:
        entry = None  # it was gone once, and was written back by hand
    if (entry.pinned if entry else False) is not off:
        return PinPlan(line, not off, ())
    at = context.clock.now().isoformat(timespec="seconds")
    more = {} if line.path == "MEMORY.md" else {"file": line.path}
    pin = {**more, "pinned": not off}
    if entry:
        record = Record(entry.id, at, entry.verdict, entry.text, section=line.section, more=pin)
        return PinPlan(line, not off, (record,))
    adopted = (Record(line.id, at, "adopted", line.text, section=line.section, more=values) for values in (more, pin))
    return PinPlan(line, not off, tuple(adopted))


def apply_pin(context: ForgetContext, plan: PinPlan) -> None:
    if plan.records:
        with operation(context, "pin") as op:
            there = list(map(ledger.as_json, LedgerStates(context.workspace).records(plan.records[0].id)))
            ledger.write_records(op, *(record for record in plan.records if ledger.as_json(record) not in there))


# Where a memory comes from: MEMORY.md → weekly digest → daily log → session → message, and what the ledger tells of it.


@dataclass(frozen=True)
class Link:
    """One step back to the source. `path` is a file of memory or a transcript, `text` its words."""

    kind: str  # "longterm", "weekly", "daily", "note", "checkpoint", "session" or "message"
    path: str = ""
    line: int | None = None
    date: str | None = None
    text: str = ""
    about: str = ""  # the heading of a line, the agent and id of a session, the speaker of a message
    message: str = ""  # the id of a message, by which `conversation` shows it in its transcript


@dataclass(frozen=True)
class Why:
    """Where a memory comes from. `ends` says why the chain is incomplete, if it is."""

    id: str
    words: str
    chain: tuple[Link, ...]
    ends: str
    story: tuple[Record, ...]
    superseded: tuple[EntryState, ...]
    pinned: bool
    confidence: float | None

    def as_plain(self) -> dict[str, Any]:
        """The values for JSON."""
        links, ledger = [], []
        for link in self.chain:
            texts = {"path": link.path, "text": legible(link.text), "about": link.about, "message": link.message}
            empty_is_none = {name: text or None for name, text in texts.items()}
            links.append(fields(link, "kind path line date text about message", **empty_is_none))
        for record in self.story:
            row = {"tests": dict(record.tests), "withoutIt": legible(record.without_it or "") or None}
            names = "id at verdict section tests failed withoutIt confidence valid_from valid_to supersedes brain"
            ledger.append({**fields(record, names, **row), "pinned": record.more.get("pinned")})
        superseded = [fields(old, "id text valid_to", text=legible(old.text or "") or None) for old in self.superseded]
        names = "id text pinned confidence chain ends superseded ledger"
        shown = {"text": legible(self.words), "chain": links, "ends": self.ends or None}
        return fields(self, names, **shown, superseded=superseded, ledger=ledger)


def why(context: ForgetContext, target: Target, lines: MemoryLines) -> Why:
    """Trace a target back to what was said. Writes nothing."""
    line = target.line
    if line and line.full.name == "MEMORY.md":  # which also has lines that are no entries, such as its introduction
        listed = document(line.full, read_memory(context.workspace, line.full)).entries
        if not any(item.start <= line.start <= item.end for item in listed):
            raise NotFound(
                f"{line.place} is not an entry: entries are the list items of the file.",
                f"{line.place} 不是条目：文件中的列表项才是条目。",
            )
    states = LedgerStates(context.workspace)
    own, ids, captured = _trace(context, target, lines, states)
    entries = [state for entry in ids if (state := states.get(entry))]
    own.sort(key=lambda line: ((*_ORDER, line.layer).index(line.layer), line.path, line.start))
    chain: list[Link] = []
    for line in own:
        kind = "daily" if line.layer == "archive" else line.layer if line.layer in _ORDER else "note"
        day, text, section = line.day or source_day(line.text), redact(line.text).text, redact(line.section).text
        chain.append(Link(kind, line.path, line.start, day, text, section))
    sessions, ends = _sessions(context, captured) if captured else _by_heading(own, entries)
    story = sorted((record for entry in entries for record in entry.records), key=lambda record: record.at)
    older = (state for entry in entries if entry.supersedes and (state := states.get(entry.supersedes)))
    pinned = any(entry.pinned for entry in entries)
    sure = next((entry.confidence for entry in entries if entry.confidence is not None), None)
    words, links = redact(target.words).text, (*chain, *sessions)
    return Why(target.id, words, links, ends, tuple(story), tuple(older), pinned, sure)


def _trace(
    context: ForgetContext, target: Target, lines: MemoryLines, states: LedgerStates
) -> tuple[list[MemoryLine], Sequence[str], list[tuple[Captured, set[str]]]]:
    """The lines that state a target, its ids in the ledger, and the sections it was captured in with their messages' ids."""
    trail = Trail(context.workspace)
    fact = fact_of(target, states, trail, older=False)
    near = lines_about([fact], lines, states)
    own = [line for line in near if line.words and line.title is None and fact.reason(line)]
    own = [line for line in own if line.layer not in TIERS] or own  # a session put away is shown as the session itself
    if target.line and target.line not in own:
        own.append(target.line)
    marks = set(fact.marks).union(*(line.marks for line in own if line.layer in ("daily", "archive")))
    sections = trail.captured(marks)
    messages = ({message for mark in marks for message in section.bullets.get(mark, ())} for section in sections)
    return own, list(fact.ids), list(zip(sections, messages, strict=True))


def _by_heading(lines: Iterable[MemoryLine], entries: Iterable[EntryState]) -> tuple[list[Link], str]:
    """Without provenance: the sessions that headings of logs or the ledger name."""
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
            "It was promoted from this checkpoint, which may since have moved to another layer.",
            "它由此检查点晋升而来；该检查点之后可能已移到其他层。",
        )
    elif sessions:
        ends = say(
            "The exact message is not recorded: this was captured before Nacre kept track of sources.",
            "没有记录具体来自哪条消息：采集它时，Nacre 还不记录来源。",
        )
    else:
        ends = say(
            "No session is recorded for it: you or an agent wrote it directly.",
            "没有对应的会话：它由你或智能体直接写下。",
        )
    return [*promoted.values(), *sessions.values()], ends


def _sessions(context: ForgetContext, captured: Iterable[tuple[Captured, set[str]]]) -> tuple[list[Link], str]:
    """The sessions from which bullets were captured, with the messages in their transcripts, and why some are missing."""
    links: list[Link] = []
    ends = ""
    for section, ids in captured:
        match = _find_session(context, section)
        path = redact(str(match[0].path)).text if match else ""
        name = section.transcript or section.session
        links.append(Link("session", path, date=section.day, about=f"{section.agent} {name}".strip()))
        if match is None:
            ends = say(*_gone(section))
            continue
        kept = drop_private(redact_messages(match[1].messages))
        messages = [message for message in kept if storable(message.id) in ids]
        for message in messages:
            text = shortened(" ".join(message.text.split()), LONGEST_MESSAGE)
            date = f"{context.clock.local(message.at):%Y-%m-%d %H:%M}"
            line = line_of(match[0].path, message.id)
            links.append(Link("message", path, line, date, text, message.speaker, storable(message.id)))
        if not messages:
            ends = say(*_missing(section))
    return links, ends


def _gone(section: Captured) -> tuple[str, str]:
    name = section.transcript or section.session
    return (
        f"The transcript of session {name} is gone or excluded by your settings.",
        f"会话 {name} 的记录已不存在，或已被你的设置排除。",
    )


def _missing(section: Captured) -> tuple[str, str]:
    name = section.transcript or section.session
    return (
        f"The message of session {name} is not shown: it is no longer in the transcript, was forgotten, or you asked not to keep it.",
        f"会话 {name} 中的这条消息不予显示：记录中已没有它、它已被忘记，或者你要求过不要保留。",
    )


class Said(NamedTuple):
    """A message of a transcript, without secrets; `line` where the transcript is a file of lines."""

    id: str
    at: str
    speaker: str
    name: str
    text: str
    line: int | None
    marked: bool


class Conversation(NamedTuple):
    """The messages around the one that an entry is based on, and the number of messages before and after them."""

    agent: str
    session: str
    path: str
    messages: tuple[Said, ...]
    before: int
    behind: int


def conversation(
    context: ForgetContext,
    target: Target,
    lines: MemoryLines,
    message: str,
    off_record: Callable[[Sequence[Message]], set[str]],
) -> Conversation:
    """The message in its transcript with those around it: only one that the target is based on, in a session that was captured, and
    without what the owner asked not to keep."""
    for section, ids in _trace(context, target, lines, LedgerStates(context.workspace))[2]:
        if message not in ids:
            continue
        if (match := _find_session(context, section)) is None:
            raise NotFound(*_gone(section))
        transcript, session = match
        kept = showable(session, off_record, Forgotten(context.workspace).messages)
        at = next((place for place, said in enumerate(kept) if storable(said.id) == message), None)
        if at is None:
            raise NotFound(*_missing(section))
        shown = kept[max(0, at - _AROUND) : at + _AROUND + 1]
        messages: list[Said] = []
        for said in shown:
            moment, line = f"{context.clock.local(said.at):%Y-%m-%d %H:%M}", line_of(transcript.path, said.id)
            name, text = redact(said.name).text, legible(shortened(said.text, LONGEST_MESSAGE))
            messages.append(Said(storable(said.id), moment, said.speaker, name, text, line, said is kept[at]))
        name, path = section.transcript or section.session, redact(str(transcript.path)).text
        left = max(0, at - _AROUND), max(0, len(kept) - at - 1 - _AROUND)
        return Conversation(section.agent, name, path, tuple(messages), *left)
    raise NotFound("This memory does not come from that message.", "此记忆并非来自该消息。")


def _find_session(context: ForgetContext, section: Captured) -> tuple[Transcript, Session] | None:
    """The transcript of a session by its id; if none is named for it, recent ones are read."""
    name = section.transcript or section.session
    of_agent = [source for source in sources() if source.agent == section.agent]
    pairs = list(list_transcripts(context, places_of(context.config), of_agent))
    since = dt.datetime.fromisoformat(section.day).timestamp() - _A_DAY  # no message is younger than its file
    named = [pair for pair in pairs if name in pair[1].key]
    for source, transcript in named or [pair for pair in pairs if pair[1].changed >= since]:
        session = read_session(context, source, transcript)
        if session and storable(session.id).startswith(name):
            return transcript, session
    return None
