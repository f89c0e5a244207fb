"""Cursor: the IDE's one database, each session a composer with its bubbles, keyed by their ids; and agent transcripts.

Those lie in ~/.cursor/projects/<project>/agent-transcripts/**/*.jsonl, and few of them have times.
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nacre.model.session import Kind, Message, Speaker
from nacre.sources.reading import (
    Notes,
    as_dict,
    as_list,
    as_text,
    digest_of,
    follow,
    last_written,
    list_files,
    open_readonly,
    parse_json,
    parse_time,
    resume_at,
    text_blocks,
)
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

AGENT = "cursor"
_FILE = ("User", "globalStorage", "state.vscdb")
_BUBBLES = """
    SELECT substr(key, 10, instr(substr(key, 10), ':') - 1), count(*), max(rowid) FROM cursorDiskKV
    WHERE key > 'bubbleId:' AND key < 'bubbleId;' GROUP BY 1
"""  # of the keys alone, which the index holds; a bubble written again gets a new row, so the last row tells of it
_COMPOSERS = "SELECT substr(key, 14), rowid FROM cursorDiskKV WHERE key > 'composerData:' AND key < 'composerData;'"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ?"
_NO_MESSAGE = frozenset({"turn_ended", "turn_started", "error", "status", "metadata"})
_QUERY = re.compile(r"<user_query>((?:(?!<user_query>).)*?)</user_query>", re.DOTALL)
_TIME = re.compile(r"<timestamp>([^<]{1,80})</timestamp>\s*")
_TOLD = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}), (\d{1,2}):(\d{2}) ?([AP]M)(?: \(UTC([+-]\d{1,2})?(?::(\d{2}))?\))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TAGGED = re.compile(r"<[a-z][a-z_-]*[ >]")
_REDACTED = re.compile(r"^[ \t]*\[REDACTED\][ \t]*$\n?", re.MULTILINE)


# What Cursor puts around a user's words: the time, files, rules, notes of the program. Only the query is the user's.


def _own_text(text: str, speaker: Speaker) -> str:
    """What the user typed: all queries in a message, else the message itself unless it begins with the program's tags.

    Of what the agent said, all but the marks that stand for thoughts that were left out.
    """
    if speaker is Speaker.AGENT:
        return _REDACTED.sub("", text).strip()
    if queries := _QUERY.findall(text):
        return "\n".join(query.strip() for query in queries if query.strip())
    text = _TIME.sub("", text).strip()
    return "" if _TAGGED.match(text) else text


def sent_at(text: str) -> dt.datetime | None:
    """When a message was sent, if it says so ("Friday, Sep 4, 2026, 2:21 AM (UTC+8)")."""
    stamp = _TIME.search(text, 0, 4000)
    match = _TOLD.search(stamp[1]) if stamp else None
    if not match or match[1] not in _MONTHS:
        return None
    month, day, year, hour, minute, half, hours, minutes = match.groups()
    try:
        clock = int(hour) % 12 + 12 * (half == "PM"), int(minute)
        at = dt.datetime(int(year), _MONTHS.index(month) + 1, int(day), *clock)  # noqa: DTZ001 (the offset follows)
        if "(UTC" not in match[0]:
            return at.astimezone(dt.UTC)  # the time of this machine
        sign = -1 if (hours or "").startswith("-") else 1
        ahead = dt.timedelta(hours=int(hours or 0), minutes=sign * int(minutes or 0))
        return at.replace(tzinfo=dt.timezone(ahead)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


# The transcripts


def _find_transcripts(places: Places) -> Iterator[Transcript]:
    """The transcripts that the IDE's database does not hold: it writes its own sessions here a second time."""
    known: frozenset[str] = frozenset()
    if path := _database(places):
        try:
            with open_readonly(path) as connection:
                known = frozenset(str(row[0]) for row in connection.execute(_BUBBLES))
        except sqlite3.Error as error:
            # Busy passes, and then none is better than everything twice; a database without the table will never tell.
            if "locked" in str(error) or "busy" in str(error):
                return
    root = places.root(AGENT, None, ".cursor") / "projects"
    files = (path for path in sorted(root.glob("*/agent-transcripts/**/*.jsonl")) if path.stem not in known)
    yield from list_files(AGENT, files)


def _read_transcript(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    time = partial(_time_of_entry, transcript.changed)
    reading, notes = follow(transcript.path, mark, until, _take, skip=_is_tool_output, time=time)
    kind = Kind.ISOLATED if "subagents" in transcript.path.parts else Kind.MAIN
    return replace(reading, session=notes.session(transcript.path.stem, AGENT, kind))


def _time_of_entry(changed: float, entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
    """The time in a prompt, which holds for what follows too; else that of the file."""
    if entry.get("role") == "user" and (at := sent_at(_joined(entry))):
        notes.facts["at"] = at.isoformat()
    return parse_time(notes.facts.get("at")) or parse_time(changed)


def _is_tool_output(head: bytes) -> bool:
    return b'[{"type":"tool_result"' in head[:200] or b'[{"type":"tool-result"' in head[:200]


def _take(entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
    role = entry.get("role")
    if role is None:
        return entry.get("type") in _NO_MESSAGE
    if role in ("system", "tool"):
        return True
    if role not in ("user", "assistant") or not isinstance(entry.get("message"), dict) or at is None:
        return False
    notes.facts.setdefault("started", at.isoformat())
    speaker = Speaker.OWNER if role == "user" else Speaker.AGENT
    if text := _own_text(_joined(entry), speaker):
        notes.messages.append(Message(str(start), at, speaker, text))
    return True


def _joined(entry: dict[str, Any]) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    content = as_dict(entry.get("message")).get("content")
    if any(as_dict(block).get("type") in ("tool_result", "tool-result") for block in as_list(content)):
        return ""
    return "\n".join(text_blocks(content))


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
    """The composers. A database that is busy, or that is none, has nothing to list this time."""
    path = _database(places)
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
        at = parse_time(changes.get(name))
        stamp = (*bubbles.get(name, (0, 0)), row)
        yield Transcript(AGENT, path, f"{path}#{name}", stamp, at.timestamp() if at else latest, {"composer": name})


def _changes(connection: sqlite3.Connection) -> dict[str, object]:
    """When each session last went on, as newer versions list it, and somewhat older ones."""
    with suppress(sqlite3.OperationalError):  # no such table: an older version
        return dict(connection.execute("SELECT composerId, coalesce(lastUpdatedAt, createdAt) FROM composerHeaders"))
    try:
        row = connection.execute("SELECT value FROM ItemTable WHERE key = 'composer.composerHeaders'").fetchone()
    except sqlite3.OperationalError:
        return {}  # older still
    composers = map(as_dict, as_list((parse_json((row and row[0]) or b"") or {}).get("allComposers")))
    return {
        as_text(composer.get("composerId")): composer.get("lastUpdatedAt") or composer.get("createdAt")
        for composer in composers
    }


def _read_composer(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    try:
        with open_readonly(transcript.path) as connection:
            return _read_bubbles(connection, transcript, mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)


def _read_bubbles(
    connection: sqlite3.Connection, transcript: Transcript, mark: Mark | None, until: dt.datetime | None
) -> Reading:
    """The bubbles in the order of their headers, or, in older versions, inside the composer itself."""
    session = str(transcript.facts.get("composer") or transcript.key.rpartition("#")[2])
    composer = _value(connection, f"composerData:{session}")
    if composer is None:
        return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
    headers, conversation, generating = (
        as_list(composer.get(key)) for key in ("fullConversationHeadersOnly", "conversation", "generatingBubbleIds")
    )
    listed = {as_text(bubble.get("bubbleId")): bubble for bubble in map(as_dict, headers or conversation)}
    listed.pop("", None)
    ids = list(listed)
    # While an answer is being written, only the bubbles up to the last prompt are whole.
    prompts = (place + 1 for place, header in enumerate(headers) if as_dict(header).get("type") == 1)
    answered = max(prompts, default=0) if composer.get("status") == "generating" else len(headers or conversation)
    begin, rewritten = resume_at(ids, mark)
    notes = Notes(dict(mark.facts) if mark and begin else {})
    facts, unknown, end = notes.facts, 0, begin
    for name in ids[begin:]:
        bubble = listed[name] if "text" in listed[name] else _value(connection, f"bubbleId:{session}:{name}")
        kind = bubble.get("type") if bubble else None
        speaker = Speaker.OWNER if kind == 1 else Speaker.AGENT if kind == 2 else None
        if name in generating or (speaker is Speaker.AGENT and end >= answered):
            break
        if bubble and speaker:
            # Older bubbles have no time, and take that of the one before or of the session.
            begun = as_dict(bubble.get("timingInfo")).get("clientStartTime")
            times = (bubble.get("createdAt"), begun, facts.get("at"), composer.get("createdAt"), transcript.changed, 0)
            at = next(at for value in times if (at := parse_time(value)))
            if until and at > until:
                break
            facts["at"] = at.isoformat()
            if "cwd" not in facts and (cwd := _folder(bubble, composer)):
                facts["cwd"] = cwd
            if text := _own_text(as_text(bubble.get("text")), speaker):
                notes.messages.append(Message(name, at, speaker, text))
        else:
            unknown += 1
        end += 1
    # Nobody talks in a sub-agent, or in one of several tries at the same prompt.
    isolated = any(composer.get(flag) for flag in ("subagentInfo", "isSubagent", "isBestOfNSubcomposer"))
    kind = Kind.ISOLATED if isolated else Kind.MAIN
    made = notes.session(session, AGENT, kind, started=composer.get("createdAt"))
    return Reading(made, Mark(end, digest_of(ids[:end]), facts), end == len(ids), unknown, rewritten)


def _value(connection: sqlite3.Connection, key: str) -> dict[str, Any] | None:
    row = connection.execute(_VALUE, (key,)).fetchone()
    return parse_json(row[0]) if row and isinstance(row[0], str | bytes) else None


def _folder(bubble: Mapping[str, Any], composer: Mapping[str, Any]) -> str:
    place = as_dict(as_dict(composer.get("workspaceIdentifier")).get("uri"))
    if isinstance(path := place.get("fsPath"), str):
        return path
    uri = as_text(next(iter(as_list(bubble.get("workspaceUris"))), ""))
    try:
        return unquote(urlsplit(uri).path) if uri.startswith("file:") else ""
    except ValueError:
        return ""  # not an address


CLI = Source(AGENT, _find_transcripts, _read_transcript)
IDE = Source(AGENT, _find_composers, _read_composer)
