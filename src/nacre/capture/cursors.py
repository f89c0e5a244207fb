"""How far each transcript was captured, and the sections of daily logs that sessions become: headings, days, provenance.

Cursors are kept in `.nacre/cursors.json`: paths, positions and ids, never a word that was said; a path or an id that holds a secret is
kept as its digest. Losing the file loses nothing: the headings of the daily logs tell which sessions are there.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.clock import Clock
from nacre.guard.secrets import redact, storable_name
from nacre.model import Kind, Message, Session, Speaker, Workspace, slug_of
from nacre.sources.registry import group_stamp, opted_out
from nacre.sources.transcript import MALFORMED, Mark, parse_time
from nacre.text.blocks import stamp_of
from nacre.vault.discover import project_places
from nacre.vault.entries import bullet_id, words_of
from nacre.vault.provenance import Captured
from nacre.vault.storage import read, storage_of

VERSION = 1
SHORT = 8
_COUNT = re.compile(r"\|\s*(\d{1,7}) messages?\b")
_KEPT = tuple("session name origin users open partly begins begun away asked".split())  # of a cursor, by its own name


@dataclass(frozen=True)
class Reached:
    """How far a log goes: the time of the last message of a session in it, and the ids of all messages of that time, as stored."""

    at: dt.datetime
    ids: tuple[str, ...]

    def covers(self, at: dt.datetime, message_id: str) -> bool:
        return at < self.at or (at == self.at and storable(message_id) in self.ids)


@dataclass(frozen=True)
class Cursor:
    """How far one transcript was captured: all before the mark was read, and the log holds the messages up to `reached`."""

    stamp: tuple[int, ...]
    mark: Mark
    session: str = ""  # its id, as kept
    name: str = ""  # what its headings call it
    reached: Reached | None = None
    users: int = 0  # how many messages of the owner were captured
    open: bool = False  # something after the mark waits: for more messages, for its end, or for its time to come
    partly: bool = False  # the log goes further than the mark: what was reached tells how far
    begins: dt.datetime | None = None  # what was said before this was left out as too old
    begun: dt.datetime | None = None  # its first message that was read
    away: dt.datetime | None = None  # up to when it was put away: as a checkpoint, of a fork in that of its origin
    asked: dt.datetime | None = None  # the last message of the orders that wait for the user's agent
    origin: str = ""  # of a fork: the session, as kept, from which what it repeats was captured

    @property
    def latest(self) -> dt.datetime | None:
        """The last message that stands in a log, or waits for the user's agent."""
        return max((at for at in (self.reached and self.reached.at, self.asked) if at), default=None)

    def covers(self, message: Message) -> bool:
        """Whether a message stands in a log, or waits for the user's agent."""
        is_own = self.away is None or message.at > self.away  # a fork does not ask for what it repeats
        is_asked = is_own and self.asked is not None and message.at <= self.asked
        return is_asked or (self.reached is not None and self.reached.covers(message.at, message.id))


@dataclass(frozen=True)
class Section:
    """One heading with its bullets, for the log of one day. While it is being written, it is stored in cursors.json without its words."""

    key: str  # of its transcript
    day: dt.date
    agent: str
    session: str  # its id, as kept
    name: str  # what the heading calls the session
    heading: str
    reached: Reached
    users: int
    sources: tuple[tuple[str, ...], ...] = ()  # for each bullet the ids of its messages, as kept
    place: str = ""  # the folder of its project, as kept
    agents: tuple[int, ...] = ()  # which of its bullets are the agent's word alone
    then: Cursor | None = None  # where the transcript stands once this section, its last, is written
    before: int = 0  # how often this heading stood in the log already
    bullets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cursors:
    transcripts: Mapping[str, Cursor] = field(default_factory=dict)
    synced: dt.datetime | None = None  # the last complete run
    since: dt.datetime | None = None  # what was said before this is not captured
    pending: tuple[Section, ...] = ()


storable = storable_name  # a path or an id as it may be kept: itself, or its digest where it holds a secret


def is_storable(mark: Mark) -> bool:
    """Whether a mark holds no secret. One that does is not kept, and the transcript is read again."""
    texts = (value for value in mark.facts.values() if isinstance(value, str))
    return all(parse_time(text) or storable(text) == text for text in texts)


def any_opted_out(workspace: Workspace, cursors: Cursors | None = None) -> bool:
    """Whether the home folder, that of a project, or one that a captured session worked in is marked to be left out."""
    transcripts = (cursors or load_cursors(workspace)).transcripts.values()
    folders = sorted({str(cursor.mark.facts.get("cwd", "")) for cursor in transcripts})
    return any(map(opted_out, (str(Path.home()), *project_places(workspace).values(), *folders)))


def load_cursors(workspace: Workspace) -> Cursors:
    """The cursors; none when the file is missing or damaged: then the headings of the logs show what was captured."""
    try:
        values = json.loads(disk.read_bytes(workspace.cursors) or b"{}")
        if values["version"] != VERSION:
            return Cursors()
        cursors = {key: _parse_cursor(value) for key, value in values["transcripts"].items()}
        pending = tuple(map(_parse_section, values.get("pending", ())))
        return Cursors(cursors, _parse_time(values.get("synced")), _parse_time(values.get("since")), pending)
    except MALFORMED:
        return Cursors()


def save_cursors(workspace: Workspace, cursors: Cursors) -> None:
    values = {
        "version": VERSION,
        "synced": cursors.synced,
        "since": cursors.since,
        "transcripts": {key: _cursor_values(cursor) for key, cursor in cursors.transcripts.items()},
        "pending": [
            {name: value for name, value in vars(section).items() if name not in ("bullets", "reached", "then")}
            | {"at": section.reached.at, "ids": section.reached.ids}
            | ({"then": _cursor_values(section.then)} if section.then else {})
            for section in cursors.pending
        ],
    }
    data = json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=lambda moment: moment.isoformat())
    disk.write(workspace.cursors, data.encode(), root=workspace.root)


def _cursor_values(cursor: Cursor) -> dict[str, Any]:
    reached, mark = cursor.reached, cursor.mark
    values: dict[str, Any] = {"fingerprint": mark.fingerprint, "facts": dict(mark.facts)}
    values |= {"at": reached.at, "ids": reached.ids} if reached else {}
    values |= {name: getattr(cursor, name) for name in _KEPT}
    return {"stamp": cursor.stamp, "offset": mark.offset} | {name: value for name, value in values.items() if value}


def _parse_cursor(values: Mapping[str, Any]) -> Cursor:
    mark = Mark(max(0, values["offset"]), values.get("fingerprint", ""), values.get("facts", {}))
    fields = {name: values[name] for name in _KEPT if name in values}
    fields |= {name: _parse_time(fields[name]) for name in ("begins", "begun", "away", "asked") if name in fields}
    reached = _parse_reached(values) if "at" in values else None
    return Cursor(tuple(map(int, values["stamp"])), mark, reached=reached, **fields)


def _parse_section(values: dict[str, Any]) -> Section:
    then = values.pop("then", None)
    return Section(
        reached=_parse_reached({name: values.pop(name) for name in ("at", "ids")}),
        day=dt.date.fromisoformat(values.pop("day")),
        sources=tuple(map(tuple, values.pop("sources", ()))),
        agents=tuple(values.pop("agents", ())),
        then=_parse_cursor(then) if then else None,
        **values,
    )


def _parse_reached(values: Mapping[str, Any]) -> Reached:
    return Reached(dt.datetime.fromisoformat(values["at"]), tuple(values.get("ids", ())))


def _parse_time(value: str | None) -> dt.datetime | None:
    at = dt.datetime.fromisoformat(value) if value else None
    if at and at.tzinfo is None:
        raise ValueError(value)
    return at


# The section of a session in a daily log


class SessionHeading(NamedTuple):
    """A session's heading in a day's log."""

    heading: str
    session: str
    time: str
    messages: int


def read_headings(log: bytes | None) -> list[SessionHeading]:
    lines = (log or b"").decode("utf-8", errors="replace").splitlines()
    titles = (line[3:].strip() for line in lines if line.startswith("## ") and "session:" in line)
    stamped = ((title, stamp_of(title), _COUNT.search(title)) for title in titles)
    return [
        SessionHeading(title, stamp.session, stamp.time, int(count[1]) if count else 0)
        for title, stamp, count in stamped
        if stamp.session and stamp.time
    ]


_read_at = lru_cache(maxsize=400)(lambda workspace, path, _size, _modified: read_headings(read(workspace, path)))


def log_headings(workspace: Workspace, path: Path) -> Sequence[SessionHeading]:
    """The session headings of a day's log; read again only when the file was changed."""
    about = storage_of(workspace).about(workspace.relative(path))
    return _read_at(workspace, path, about.size, about.modified) if about else ()


def headings_of(session: str, headings: Iterable[SessionHeading]) -> list[SessionHeading]:
    """The headings that name a session: of those that fit, the ones with the longest name."""
    plain = plain_id(session)
    least = min(SHORT, len(plain))
    fitting = [row for row in headings if len(row.session) >= least and plain.startswith(row.session)]
    longest = max((len(heading.session) for heading in fitting), default=0)
    return [heading for heading in fitting if len(heading.session) == longest]


def session_heading(
    session: Session, name: str, last: dt.datetime, count: int, project: str, *, continued: bool
) -> str:
    """`14:05 session:61871d67 | 12 messages | continued | project:shop-api | group:team-3f9a1c`."""
    parts = [f"{last:%H:%M} session:{name}", f"{count} message{'' if count == 1 else 's'}"]
    parts += ["continued"] if continued else []
    parts += [f"project:{slug_of(redact(project).text)}"] if project else []
    if session.kind is Kind.GROUP and session.group:
        parts.append(f"group:{group_stamp(session.group, session.chat)}")
    return " | ".join(parts)


def short_id(session: str, others: Mapping[str, str]) -> str:
    """The first eight characters of a session's id; more where another session's id begins with the same."""
    plain = plain_id(session)
    rivals = [plain_id(other) for other in others.values()]
    length = min(SHORT, len(plain))
    while length < len(plain) and any(other.startswith(plain[:length]) for other in rivals):
        length += 1
    name, number = plain[:length], 2
    while name in others:
        name, number = f"{plain}-{number}", number + 1
    return name


def plain_id(session: str) -> str:
    """An id without the characters that a heading cannot hold."""
    return "".join(sign for sign in storable(session) if sign.isalnum() or sign in "-_.") or "unnamed"


def reached_by(messages: Sequence[Message]) -> Reached:
    last = max(message.at for message in messages)
    return Reached(last, tuple(storable(message.id) for message in messages if message.at == last))


def owner_count(messages: Iterable[Message]) -> int:
    return sum(message.speaker is Speaker.OWNER for message in messages)


def by_day(messages: Sequence[Message], clock: Clock) -> list[tuple[dt.date, list[Message]]]:
    """The messages by local day. What others said belongs to the day of the owner's message before it; without an owner there are none."""
    days: dict[dt.date, list[Message]] = {}
    day = next((clock.local(message.at).date() for message in messages if message.speaker is Speaker.OWNER), None)
    if day is None:
        return []
    for message in messages:
        if message.speaker is Speaker.OWNER:
            day = clock.local(message.at).date()
        days.setdefault(day, []).append(message)
    return sorted(days.items())


def must_wait(
    messages: Sequence[Message], captured: int, least: int, now: dt.datetime, patience: dt.timedelta, clock: Clock
) -> bool:
    """Whether a section has to wait for more messages: until the owner has spoken often enough in the session; a single remark later on,
    until the session was silent for a while or its day is over."""
    users = owner_count(messages)
    if users == 0 or captured + users < least:
        return True
    if captured == 0 or users >= least:
        return False
    last = max(message.at for message in messages)
    return now - last < patience and clock.local(last).date() == clock.local(now).date()


def provenance_of(section: Section, log: bytes | None) -> Captured | None:
    """The messages behind each bullet of a section, by the words of the bullet in the log; None when the log no longer has the bullets."""
    lines = (log or b"").decode("utf-8", errors="replace").splitlines()
    places = [at for at, line in enumerate(lines) if line.startswith("## ") and line[3:].strip() == section.heading]
    below = lines[places[section.before] + 1 :] if len(places) > section.before else []
    own = takewhile(lambda line: not line.startswith("#"), below)
    bullets = [bullet_id(words_of(line[2:])) for line in own if line.startswith("- ")]
    if not section.sources or len(bullets) < len(section.sources):
        return None
    sources: dict[str, tuple[str, ...]] = {}
    for bullet, ids in zip(bullets, section.sources, strict=False):
        sources[bullet] = tuple(dict.fromkeys((*sources.get(bullet, ()), *ids)))
    agents = tuple(dict.fromkeys(bullets[place] for place in section.agents if place < len(bullets)))
    day = section.day.isoformat()
    return Captured(day, section.name, section.agent, sources, section.session, section.place, agents)
