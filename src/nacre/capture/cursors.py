"""How far each transcript was captured, and the sections that an interrupted run was about to write.

Kept in `.nacre/cursors.json`: paths, positions and ids, never a word that was said; a path or an id that holds a secret is kept as its
digest. Losing the file loses nothing: the headings of the daily logs tell which sessions are there.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.model.workspace import Workspace
from nacre.sources.consent import opted_out
from nacre.sources.transcript import Mark, parse_time
from nacre.vault import disk
from nacre.vault.discover import project_places

VERSION = 1


@dataclass(frozen=True)
class Reached:
    """The last message of a session that stands in a log: its time, and the ids of the messages of that instant, as kept."""

    at: dt.datetime
    ids: tuple[str, ...]

    def covers(self, at: dt.datetime, message_id: str) -> bool:
        return at < self.at or (at == self.at and storable(message_id) in self.ids)


@dataclass(frozen=True)
class Cursor:
    """One transcript. Everything before the mark is dealt with; `reached` says how far the log goes."""

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
    origin: str = ""  # of a fork: the session, as kept, from which what it repeats was captured


@dataclass(frozen=True)
class Section:
    """One heading with its bullets, for one day's log. While it is being written it is kept here without its words."""

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


def storable(name: str) -> str:
    """A path or an id as it may be kept: itself, or its digest where it holds a secret."""
    from nacre.guard.secrets import storable_name

    return storable_name(name)


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
    """The cursors; none when the file is missing or damaged: then the logs tell what was captured."""
    data = disk.read_bytes(workspace.cursors)
    try:
        values = json.loads(data or b"{}")
        if values["version"] != VERSION:
            return Cursors()
        return Cursors(
            {key: _parse_cursor(value) for key, value in values["transcripts"].items()},
            _parse_time(values.get("synced")),
            _parse_time(values.get("since")),
            tuple(_parse_section(value) for value in values.get("pending", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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
    reached = cursor.reached
    optional = {
        "fingerprint": cursor.mark.fingerprint,
        "facts": dict(cursor.mark.facts),
        "session": cursor.session,
        "name": cursor.name,
        "origin": cursor.origin,
        "at": reached and reached.at,
        "ids": reached and reached.ids,
        "users": cursor.users,
        "open": cursor.open,
        "partly": cursor.partly,
        "begins": cursor.begins,
        "begun": cursor.begun,
    }
    present = {name: value for name, value in optional.items() if value}
    return {"stamp": cursor.stamp, "offset": cursor.mark.offset, **present}


def _parse_cursor(values: Mapping[str, Any]) -> Cursor:
    offset = int(values["offset"])
    if offset < 0:
        raise ValueError(offset)
    return Cursor(
        tuple(map(int, values["stamp"])),
        Mark(offset, str(values.get("fingerprint", "")), dict(values.get("facts", {}))),
        str(values.get("session", "")),
        str(values.get("name", "")),
        _parse_reached(values) if values.get("at") else None,
        int(values.get("users", 0)),
        bool(values.get("open")),
        bool(values.get("partly")),
        _parse_time(values.get("begins")),
        _parse_time(values.get("begun")),
        str(values.get("origin", "")),
    )


def _parse_section(values: Mapping[str, Any]) -> Section:
    then = values.get("then")
    return Section(
        str(values["key"]),
        dt.date.fromisoformat(values["day"]),
        str(values.get("agent", "")),
        str(values["session"]),
        str(values["name"]),
        str(values["heading"]),
        _parse_reached(values),
        int(values["users"]),
        tuple(tuple(map(str, ids)) for ids in values.get("sources", ())),
        str(values.get("place", "")),
        tuple(map(int, values.get("agents", ()))),
        _parse_cursor(then) if then else None,
        int(values["before"]),
    )


def _parse_reached(values: Mapping[str, Any]) -> Reached:
    return Reached(dt.datetime.fromisoformat(values["at"]), tuple(map(str, values.get("ids", ()))))


def _parse_time(value: str | None) -> dt.datetime | None:
    at = dt.datetime.fromisoformat(value) if value else None
    if at and at.tzinfo is None:
        raise ValueError(value)
    return at
