"""How far each transcript was captured, and what was about to be written when a run broke off.

Kept in `.nacre/cursors.json`. It holds paths, positions and entry ids, never a word that was said; a path or an id that holds
a secret is kept as its digest alone. Losing the file loses nothing: the headings of the daily logs tell which sessions are there.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.model.workspace import Workspace
from nacre.sources.consent import opted_out
from nacre.sources.reading import Mark, parse_time
from nacre.vault import disk
from nacre.vault.discover import project_places

VERSION = 1


@dataclass(frozen=True)
class Reached:
    """The last message of a session that stands in a log: its time, and the entries of that very instant, as kept."""

    at: dt.datetime
    ids: tuple[str, ...]

    def or_later(self, other: Reached | None) -> Reached:
        return other if other and other.at > self.at else self

    def covers(self, at: dt.datetime, entry_id: str) -> bool:
        return at < self.at or (at == self.at and storable(entry_id) in self.ids)


@dataclass(frozen=True)
class Cursor:
    """One transcript. Everything before the mark is dealt with; `reached` says how far the log goes."""

    stamp: tuple[int, ...]
    mark: Mark
    session: str = ""  # its id, as kept
    name: str = ""  # what its headings call it
    reached: Reached | None = None
    users: int = 0  # how many messages of the owner were captured
    open: bool = False  # something after the mark waits: for more talk, for its end, or for its time to come
    partly: bool = False  # the log goes further than the mark: what was reached tells how far
    begins: dt.datetime | None = None  # what was said before this was left out as too old
    begun: dt.datetime | None = None  # its first message that was read
    origin: str = ""  # of a fork: the session, as kept, from which what it repeats was captured


@dataclass(frozen=True)
class Pending:
    """A section that is about to be appended: found in its day's file afterwards, or not."""

    key: str
    day: str
    heading: str
    before: int  # how often this heading stood there already
    session: str
    name: str
    reached: Reached
    users: int
    then: Cursor | None  # where the transcript stands when this was its last section
    agent: str = ""
    sources: tuple[tuple[str, ...], ...] = ()  # the entries that each of its bullets rests on, as kept
    place: str = ""  # the folder of its project, as kept
    agents: tuple[int, ...] = ()  # which of its bullets are the agent's word alone


@dataclass(frozen=True)
class Cursors:
    """All of them, and the moment of the last run that went through."""

    transcripts: Mapping[str, Cursor] = field(default_factory=dict)
    synced: dt.datetime | None = None
    since: dt.datetime | None = None  # what was said before this is not wanted
    pending: tuple[Pending, ...] = ()


def storable(name: str) -> str:
    """A path or an id as it may be kept: itself, or its digest where it holds what must be written nowhere."""
    from nacre.guard.secrets import storable_name

    return storable_name(name)


def is_storable(mark: Mark) -> bool:
    """Whether what a mark knows of its session holds no secret. One that does is not kept, and all is read again."""
    texts = (told for told in mark.facts.values() if isinstance(told, str))
    return all(parse_time(text) or storable(text) == text for text in texts)


def any_opted_out(workspace: Workspace, known: Cursors | None = None) -> bool:
    """Whether the home folder, that of a project, or one that a captured talk was about carries the sign to be left out."""
    folders = {str(one.mark.facts.get("cwd", "")) for one in (known or load_cursors(workspace)).transcripts.values()}
    return any(map(opted_out, (str(Path.home()), *project_places(workspace).values(), *sorted(folders))))


def load_cursors(workspace: Workspace) -> Cursors:
    """The cursors; none when the file is missing or not ours to understand."""
    data = disk.read_bytes(workspace.cursors)
    if data is None:
        return Cursors()
    try:
        told = json.loads(data)
        if told["version"] != VERSION:
            return Cursors()
        return Cursors(
            {key: _cursor(one) for key, one in told["transcripts"].items()},
            _moment(told.get("synced")),
            _moment(told.get("since")),
            tuple(_pending(one) for one in told.get("pending", ())),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Cursors()  # damaged: the logs themselves tell what was captured


def save_cursors(workspace: Workspace, cursors: Cursors) -> None:
    told = {
        "version": VERSION,
        "synced": _text(cursors.synced),
        "since": _text(cursors.since),
        "transcripts": {key: _as_json(one) for key, one in cursors.transcripts.items()},
        "pending": [_pending_json(one) for one in cursors.pending],
    }
    data = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    disk.write(workspace.cursors, data, root=workspace.root)


def _as_json(cursor: Cursor) -> dict[str, Any]:
    told: dict[str, Any] = {"stamp": list(cursor.stamp), "offset": cursor.mark.offset}
    if cursor.mark.fingerprint:
        told["fingerprint"] = cursor.mark.fingerprint
    if cursor.mark.facts:
        told["facts"] = dict(cursor.mark.facts)
    for name in ("session", "name", "origin"):
        if getattr(cursor, name):
            told[name] = getattr(cursor, name)
    if cursor.reached:
        told |= {"at": _text(cursor.reached.at), "ids": list(cursor.reached.ids)}
    if cursor.users:
        told["users"] = cursor.users
    for name in ("open", "partly"):
        if getattr(cursor, name):
            told[name] = True
    for name in ("begins", "begun"):
        if at := getattr(cursor, name):
            told[name] = _text(at)
    return told


def _cursor(told: Mapping[str, Any]) -> Cursor:
    return Cursor(
        tuple(int(one) for one in told["stamp"]),
        Mark(_position(told["offset"]), str(told.get("fingerprint", "")), dict(told.get("facts", {}))),
        str(told.get("session", "")),
        _plain(told.get("name", "")),
        _reached(told),
        int(told.get("users", 0)),
        bool(told.get("open")),
        bool(told.get("partly")),
        _moment(told.get("begins")),
        _moment(told.get("begun")),
        str(told.get("origin", "")),
    )


def _position(told: object) -> int:
    if not isinstance(told, int) or told < 0:
        raise ValueError(told)
    return told


def _reached(told: Mapping[str, Any]) -> Reached | None:
    at = _moment(told.get("at"))
    return Reached(at, tuple(str(one) for one in told.get("ids", ()))) if at else None


def _pending(told: Mapping[str, Any]) -> Pending:
    reached = _reached(told)
    if reached is None:
        raise KeyError("at")
    then = told.get("then")
    return Pending(
        str(told["key"]),
        dt.date.fromisoformat(told["day"]).isoformat(),
        str(told["heading"]),
        int(told["before"]),
        str(told["session"]),
        _plain(told["name"]),
        reached,
        int(told["users"]),
        _cursor(then) if then else None,
        str(told.get("agent", "")),
        tuple(tuple(str(entry) for entry in one) for one in told.get("sources", ())),
        str(told.get("place", "")),
        tuple(int(one) for one in told.get("agents", ())),
    )


def _pending_json(one: Pending) -> dict[str, Any]:
    told = {"key": one.key, "day": one.day, "heading": one.heading, "before": one.before}
    told |= {
        "session": one.session,
        "name": one.name,
        "at": _text(one.reached.at),
        "ids": list(one.reached.ids),
        "users": one.users,
        "agent": one.agent,
        "sources": [list(entries) for entries in one.sources],
        "place": one.place,
        "agents": list(one.agents),
    }
    return told | ({"then": _as_json(one.then)} if one.then else {})


def _plain(name: object) -> str:
    """A name as headings have it; another would speak in them for us."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]{0,200}", name):
        raise ValueError(name)
    return name


def _moment(value: object) -> dt.datetime | None:
    if not isinstance(value, str):
        return None
    at = dt.datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError(value)
    return at


def _text(at: dt.datetime | None) -> str | None:
    return at.isoformat() if at else None
