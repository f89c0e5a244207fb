"""Cursor: the IDE's database of composers and bubbles, and ~/.cursor/projects/*/agent-transcripts/**/*.jsonl, mostly without times."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nacre.model import Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text, parse_time

AGENT = "cursor"
_FILE = ("User", "globalStorage", "state.vscdb")
_BUBBLES = """
    SELECT substr(key, 10, instr(substr(key, 10), ':') - 1), count(*), max(rowid) FROM cursorDiskKV
    WHERE key > 'bubbleId:' AND key < 'bubbleId;' GROUP BY 1
"""  # of the keys alone, which the index holds; a bubble written again gets a new row, so the last row tells of it
_COMPOSERS = "SELECT substr(key, 14), rowid FROM cursorDiskKV WHERE key > 'composerData:' AND key < 'composerData;'"

_QUERY = re.compile(r"<user_query>((?:(?!<user_query>).)*?)</user_query>", re.DOTALL)
_TIME = re.compile(r"<timestamp>([^<]{1,80})</timestamp>\s*")
_SENT = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}, \d{4}, \d{1,2}:\d{2} ?[AP]M)(?: \(UTC(?:([+-])(\d{1,2}))?(?::(\d{2}))?\))?"
)
_TOOL_RESULTS = ("tool_result", "tool-result")
_TAGGED = re.compile(r"<[a-z][a-z_-]*[ >]")
_REDACTED = re.compile(r"^[ \t]*\[REDACTED\][ \t]*$\n?", re.MULTILINE)


# What Cursor puts around a user's words: the time, files, rules, notes of the program. Only the query is the user's.


def _own_text(text: str, speaker: Speaker) -> str:
    """What the user typed: all queries in a message, else the message itself unless it begins with the program's tags; of the agent's
    message everything but the marks of hidden thoughts."""
    if speaker is Speaker.AGENT:
        return _REDACTED.sub("", text).strip()
    if queries := _QUERY.findall(text):
        return "\n".join(query.strip() for query in queries if query.strip())
    text = _TIME.sub("", text).strip()
    return "" if _TAGGED.match(text) else text


def sent_at(text: str) -> dt.datetime | None:
    """When a message was sent, if it says so ("Friday, Sep 4, 2026, 2:21 AM (UTC+8)")."""
    stamp = _TIME.search(text, 0, 4000)
    match = _SENT.search(stamp[1]) if stamp else None
    if not match:
        return None
    month, day_and_time, sign, hours, minutes = match.groups()
    try:
        at = dt.datetime.strptime(f"{month} {day_and_time.replace(' ', '')}", "%b %d,%Y,%I:%M%p")  # noqa: DTZ007 (the offset follows)
        if "(UTC" not in match[0]:
            return at.astimezone(dt.UTC)  # the time of this machine
        ahead = dt.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        return at.replace(tzinfo=dt.timezone(-ahead if sign == "-" else ahead)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


# The transcripts


def _find_transcripts(places: Places) -> Iterator[Transcript]:
    """The transcripts that the IDE's database does not hold: it writes its own sessions here a second time."""
    in_database: frozenset[str] = frozenset()
    if path := _database(places):
        try:
            with reading.open_readonly(path) as connection:
                in_database = frozenset(str(row[0]) for row in connection.execute(_BUBBLES))
        except sqlite3.Error as error:
            # Busy passes, and then none is better than everything twice; a database without the table will never tell.
            if "locked" in str(error) or "busy" in str(error):
                return
    root = places.root(AGENT) / "projects"
    files = (path for path in sorted(root.glob("*/agent-transcripts/**/*.jsonl")) if path.stem not in in_database)
    yield from reading.list_files(AGENT, files)


def _read_transcript(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    path = transcript.path

    def make(notes: Notes) -> Session:
        return notes.session(path.stem, AGENT, isolated="subagents" in path.parts)

    def time(entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
        # The time in a prompt holds for what follows too; without any it is that of the file.
        if entry.get("role") == "user" and (at := sent_at(_joined(entry))):
            notes.facts["at"] = at.isoformat()
        return parse_time(notes.facts.get("at")) or parse_time(transcript.changed)

    return reading.follow(path, mark, until, _take, make, skip=_is_tool_output, time=time)


def _is_tool_output(head: bytes) -> bool:
    return b'[{"type":"tool_result"' in head[:200] or b'[{"type":"tool-result"' in head[:200]


def _take(entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
    if entry.get("role") in ("user", "assistant"):
        speaker = Speaker.OWNER if entry["role"] == "user" else Speaker.AGENT
        notes.add(start, at, speaker, _own_text(_joined(entry), speaker))


def _joined(entry: dict[str, Any]) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    content = entry["message"].get("content")
    if not isinstance(content, str) and any(block.get("type") in _TOOL_RESULTS for block in content or ()):
        return ""
    return "\n".join(reading.text_blocks(content))


# The IDE


def _database(places: Places) -> Path | None:
    """Where the IDE keeps its sessions on this system; None when it is not there."""
    if chosen := places.paths.get(AGENT):
        path = Path(chosen).expanduser()
        candidates = [path, path.joinpath(*_FILE)]
    else:
        roots = [places.home / ".config", places.home / "Library" / "Application Support"]
        named = [Path(places.env[name]) for name in ("XDG_CONFIG_HOME", "APPDATA") if places.env.get(name)]
        candidates = [root.joinpath("Cursor", *_FILE) for root in (*named, *roots)]
    return next((path for path in candidates if path.is_file()), None)


def _find_composers(places: Places) -> Iterator[Transcript]:
    """The sessions in the IDE's database; none while it is busy or if it is damaged."""
    path = _database(places)
    if path is None:
        return
    try:
        with reading.open_readonly(path) as connection:
            bubbles = {composer: (count, last) for composer, count, last in connection.execute(_BUBBLES)}
            composers = [(name, row) for name, row in connection.execute(_COMPOSERS) if isinstance(name, str)]
            changes = _changes(connection)
    except sqlite3.Error:
        return
    for name, row in sorted(composers):
        yield reading.in_database(AGENT, path, name, (*bubbles.get(name, (0, 0)), row), changes.get(name))


def _changes(connection: sqlite3.Connection) -> dict[str, object]:
    """When each session last changed, where the database has a table of that."""
    try:
        return dict(connection.execute("SELECT composerId, coalesce(lastUpdatedAt, createdAt) FROM composerHeaders"))
    except sqlite3.OperationalError:
        return {}  # an older version


def _read_composer(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    name = transcript.session
    try:
        with reading.open_readonly(transcript.path) as connection:
            composer = _value(connection, f"composerData:{name}")
            if composer is None:
                return reading.missing_transcript(mark)
            return _read_bubbles(connection, name, composer, transcript.changed, mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)
    except reading.MALFORMED:
        return Reading(None, mark or Mark(), unknown=1)


def _read_bubbles(
    connection: sqlite3.Connection,
    session: str,
    composer: dict[str, Any],
    changed: float,
    mark: Mark | None,
    until: dt.datetime | None,
) -> Reading:
    """The bubbles in the order of their headers."""
    headers = composer.get("fullConversationHeadersOnly") or []
    listed = {name: header for header in headers if (name := as_text(header.get("bubbleId")))}
    ids = list(listed)
    # While an answer is being written, only the bubbles up to the last prompt are whole.
    prompts = (place for place, name in enumerate(ids, 1) if listed[name].get("type") == 1)
    generating = {*ids[max(prompts, default=0) :]} if composer.get("status") == "generating" else set()
    generating |= set(composer.get("generatingBubbleIds") or ())

    def load(name: str) -> dict[str, Any] | None:
        return _value(connection, f"bubbleId:{session}:{name}")

    def time(bubble: dict[str, Any], notes: Notes) -> dt.datetime | None:
        # Older bubbles have no time, and take that of the one before or of the session.
        begun = (bubble.get("timingInfo") or {}).get("clientStartTime")
        times = (bubble.get("createdAt"), begun, notes.facts.get("at"), composer.get("createdAt"), changed, 0)
        return next(at for value in times if (at := parse_time(value)))

    def take(bubble: dict[str, Any], at: dt.datetime | None, name: str, notes: Notes) -> None:
        speaker = {1: Speaker.OWNER, 2: Speaker.AGENT}[bubble["type"]]
        if name in generating and speaker is Speaker.AGENT:
            raise reading.Unfinished
        notes.add(name, at, speaker, _own_text(bubble.get("text") or "", speaker))
        notes.facts["at"] = at.isoformat() if at else ""
        if "cwd" not in notes.facts and (cwd := _folder(bubble, composer)):
            notes.facts["cwd"] = cwd

    def make(notes: Notes) -> Session:
        # Nobody talks in a sub-agent, or in one of several tries at the same prompt.
        isolated = any(composer.get(flag) for flag in ("subagentInfo", "isSubagent", "isBestOfNSubcomposer"))
        return notes.session(session, AGENT, isolated=isolated)

    return reading.follow_list(ids, load, mark, until, take, make, time)


def _value(connection: sqlite3.Connection, key: str) -> dict[str, Any] | None:
    row = connection.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    return reading.parse_json(row[0]) if row else None


def _folder(bubble: Mapping[str, Any], composer: Mapping[str, Any]) -> str:
    if path := ((composer.get("workspaceIdentifier") or {}).get("uri") or {}).get("fsPath"):
        return as_text(path)
    uri = as_text(next(iter(bubble.get("workspaceUris") or ()), ""))
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else ""


CLI = Source(AGENT, _find_transcripts, _read_transcript)
IDE = Source(AGENT, _find_composers, _read_composer)
