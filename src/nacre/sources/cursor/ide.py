"""Cursor's IDE: one database for all talks, each a composer with its bubbles, keyed by their ids."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.cursor.words import AGENT, answer, own_words
from nacre.sources.reading import (
    LONGEST,
    Mark,
    Places,
    Reading,
    Source,
    Transcript,
    as_text,
    digest_of,
    last_written,
    open_readonly,
    parse_json,
    parse_time,
    resume_at,
)

_FILE = ("User", "globalStorage", "state.vscdb")
_BUBBLES = """
    SELECT substr(key, 10, instr(substr(key, 10), ':') - 1), count(*), max(rowid) FROM cursorDiskKV
    WHERE key > 'bubbleId:' AND key < 'bubbleId;' GROUP BY 1
"""  # of the keys alone, which the index holds; a bubble written again gets a new row, so the last row tells of it
_COMPOSERS = "SELECT substr(key, 14), rowid FROM cursorDiskKV WHERE key > 'composerData:' AND key < 'composerData;'"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ? AND length(value) < ?"


def database(places: Places) -> Path | None:
    """Where the IDE keeps its talks on this system; None when it is not there."""
    if chosen := places.paths.get(AGENT):
        path = Path(chosen).expanduser()
        candidates = [path, path.joinpath(*_FILE)]
    else:
        roots = [places.home / ".config", places.home / "Library" / "Application Support"]
        named = [Path(places.env[name]) for name in ("XDG_CONFIG_HOME", "APPDATA") if places.env.get(name)]
        candidates = [root.joinpath("Cursor", *_FILE) for root in (*named, *roots)]
    return next((path for path in candidates if path.is_file()), None)


def find(places: Places) -> Iterator[Transcript]:
    """The composers. A database that is busy, or that is none, has nothing to tell this time."""
    path = database(places)
    if path is None:
        return
    try:
        with open_readonly(path) as connection:
            bubbles = {composer: (count, last) for composer, count, last in connection.execute(_BUBBLES)}
            composers = [(name, row) for name, row in connection.execute(_COMPOSERS) if isinstance(name, str)]
            changes = _changes(connection)
    except sqlite3.Error:
        return
    latest = last_written(path)
    for name, row in sorted(composers):
        changed = parse_time(changes.get(name))
        yield Transcript(
            AGENT,
            path,
            f"{path}#{name}",
            (*bubbles.get(name, (0, 0)), row),
            changed.timestamp() if changed else latest,
            {"composer": name},
        )


def told_by_the_ide(places: Places) -> frozenset[str] | None:
    """The ids of the talks that the database holds; None when it cannot say now."""
    path = database(places)
    if path is None:
        return frozenset()
    try:
        with open_readonly(path) as connection:
            return frozenset(str(row[0]) for row in connection.execute(_BUBBLES))
    except sqlite3.OperationalError as error:
        # Busy passes; a database without the table, or a file that is none, will never tell.
        return None if "locked" in str(error) or "busy" in str(error) else frozenset()
    except sqlite3.Error:
        return frozenset()


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment. A busy database is asked again the next time."""
    composer = str(transcript.facts.get("composer") or transcript.key.rpartition("#")[2])
    try:
        with open_readonly(transcript.path) as connection:
            told = _value(connection, f"composerData:{composer}")
            if told is None:
                return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
            return _Composer(composer, told, transcript.changed).read(connection, mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)


class _Composer:
    """One talk: its bubbles in the order of their headers, or, in older versions, inside the composer itself."""

    def __init__(self, name: str, told: dict[str, Any], changed: float) -> None:
        self.name, self.told, self.changed = name, told, changed
        headers = told.get("fullConversationHeadersOnly")
        inside = told.get("conversation")
        listed = headers if isinstance(headers, list) and headers else inside if isinstance(inside, list) else []
        named = [(name, one) for one in listed if isinstance(one, dict) and (name := as_text(one.get("bubbleId")))]
        self.ids = [name for name, _ in named]
        self.inside = {name: one for name, one in named if "text" in one}

    def read(self, connection: sqlite3.Connection, mark: Mark | None, until: dt.datetime | None) -> Reading:
        begin, rewritten = resume_at(self.ids, mark)
        facts = dict(mark.facts) if mark and begin else {}
        messages: list[Message] = []
        unknown, end = 0, begin
        unfinished, answered = self._unfinished(), self._answered()
        for name in self.ids[begin:]:
            bubble = self.inside.get(name) or _value(connection, f"bubbleId:{self.name}:{name}")
            speaker = _speaker(bubble.get("type")) if bubble else None
            if name in unfinished or (speaker is Speaker.AGENT and end >= answered):
                break
            if bubble and speaker:
                at = self._time(bubble, facts)
                if until and at > until:
                    break
                facts["at"] = at.isoformat()
                if "cwd" not in facts and (cwd := _folder(bubble, self.told)):
                    facts["cwd"] = cwd
                if words := _words(bubble, speaker):
                    messages.append(Message(name, at, speaker, words))
            else:
                unknown += 1
            end += 1
        session = Session(
            self.name,
            AGENT,
            Kind.ISOLATED if self._is_isolated() else Kind.MAIN,
            parse_time(self.told.get("createdAt")),
            tuple(messages),
            cwd=str(facts.get("cwd", "")),
        )
        reached = Mark(end, digest_of(self.ids[:end]), facts)
        return Reading(session, reached, end == len(self.ids), unknown, rewritten)

    def _time(self, bubble: Mapping[str, Any], facts: Mapping[str, Any]) -> dt.datetime:
        """When a bubble was written; older ones do not say, and take the time of the one before or of the talk."""
        timing = bubble.get("timingInfo")
        started = timing.get("clientStartTime") if isinstance(timing, dict) else None
        told = (bubble.get("createdAt"), started, facts.get("at"), self.told.get("createdAt"), self.changed)
        return next((at for value in told if (at := parse_time(value))), dt.datetime.fromtimestamp(0, dt.UTC))

    def _unfinished(self) -> frozenset[str]:
        names = self.told.get("generatingBubbleIds")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    def _answered(self) -> int:
        """How many bubbles are whole: while an answer is being written, only those up to the last prompt."""
        if self.told.get("status") != "generating":
            return len(self.ids)
        headers = self.told.get("fullConversationHeadersOnly")
        kinds = (
            [one.get("type") if isinstance(one, dict) else None for one in headers] if isinstance(headers, list) else []
        )
        return max((place + 1 for place, kind in enumerate(kinds) if kind == 1), default=0)

    def _is_isolated(self) -> bool:
        """Whether no person talks here: a sub-agent, or one of several tries at the same prompt."""
        return any(self.told.get(sign) for sign in ("subagentInfo", "isSubagent", "isBestOfNSubcomposer"))


def _speaker(kind: object) -> Speaker | None:
    return Speaker.OWNER if kind == 1 else Speaker.AGENT if kind == 2 else None


def _value(connection: sqlite3.Connection, key: str) -> dict[str, Any] | None:
    row = connection.execute(_VALUE, (key, LONGEST)).fetchone()
    if row is None or not isinstance(row[0], str | bytes):
        return None
    return parse_json(row[0].encode("utf-8", errors="replace") if isinstance(row[0], str) else row[0])


def _changes(connection: sqlite3.Connection) -> dict[str, object]:
    """When each talk last went on, as the list of talks tells it in newer versions, and in somewhat older ones."""
    try:
        return dict(connection.execute("SELECT composerId, coalesce(lastUpdatedAt, createdAt) FROM composerHeaders"))
    except sqlite3.OperationalError:
        pass  # no such table: an older version
    try:
        row = connection.execute("SELECT value FROM ItemTable WHERE key = 'composer.composerHeaders'").fetchone()
    except sqlite3.OperationalError:
        return {}  # older still
    raw = row[0] if row else b""
    told = parse_json(raw.encode("utf-8", errors="replace") if isinstance(raw, str) else raw or b"") or {}
    known = told.get("allComposers")
    return {
        as_text(one.get("composerId")): one.get("lastUpdatedAt") or one.get("createdAt")
        for one in (known if isinstance(known, list) else ())
        if isinstance(one, dict)
    }


def _words(bubble: Mapping[str, Any], speaker: Speaker) -> str:
    text = bubble.get("text")
    if not isinstance(text, str):
        return ""
    return own_words(text) if speaker is Speaker.OWNER else answer(text)


def _folder(bubble: Mapping[str, Any], composer: Mapping[str, Any]) -> str:
    """The folder a talk is about."""
    workspace = composer.get("workspaceIdentifier")
    place = workspace.get("uri") if isinstance(workspace, dict) else None
    if isinstance(place, dict) and isinstance(path := place.get("fsPath"), str):
        return path
    uris = bubble.get("workspaceUris")
    uri = uris[0] if isinstance(uris, list) and uris else None
    if not isinstance(uri, str) or not uri.startswith("file:"):
        return ""
    try:
        return unquote(urlsplit(uri).path)
    except ValueError:
        return ""  # not an address


SOURCE = Source(AGENT, find, read)
