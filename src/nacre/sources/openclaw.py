"""OpenClaw below ~/.openclaw/agents (OPENCLAW_STATE_DIR moves it): the same events in files of lines, since 2026.9 in a database.

The database is looked into while OpenClaw writes to it, and never written. It also holds credentials: only the four tables named
here are ever read. A session's events are numbered from 0. They are only ever added, until something rewrites them; then the
session gets another generation, and is read again from its beginning. After a month of rest, where its user wants it so, they
leave the database for `sessions/cold/<sha256 of the file>.jsonl.zst`: a line that names the session and its generation, then one
for each event with its number, then lines of no interest here.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.openclaw_envelope import display_name, is_isolated, is_silence, open_envelope, without_directives
from nacre.sources.reading import (
    Notes,
    as_dict,
    as_text,
    follow,
    last_written,
    list_files,
    open_readonly,
    parse_json,
    parse_time,
    text_blocks,
)
from nacre.sources.registry import chat_hash
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

if TYPE_CHECKING:
    from types import ModuleType

AGENT = "openclaw"
_NO_MESSAGE = frozenset(
    {"model_change", "thinking_level_change", "custom", "custom_message", "compaction", "reset", "branch_summary"}
    | {"label", "session_info", "leaf"}
)
_BROUGHT_OVER = "-catalog-import"  # of another agent, whose own transcripts are read where they stand
_EARLIEST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)  # a clock that tells an earlier time is wrong
_AGENT_OF_KEY = re.compile(r"\Aagent:[^:]*:")  # an agent may be called "node" or "hook"
_ISOLATED_KEY = re.compile(
    r"(?:\A|:)(?:(?:cron|hook|subagent|acp|internal|internal-session-effects|dreaming|boot|node|update-repair|setup-inference):"
    r"|heartbeat(?:\Z|-recovered-))"
)
_GROUP_KEY = re.compile(r"(?:\A|:)(?:group|channel):")
_DIRECT_KEY = re.compile(r":([a-z0-9_-]+):(?:direct|dm):([^:]+)")

# By the primary key of the events alone: one step down the index for each session, whatever its length. The time stands
# in the last row, so that row is the only one touched.
_SESSIONS = """
    SELECT w.session_id, w.session_key, w.transcript_updated_at,
           (SELECT seq FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1),
           (SELECT created_at FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1)
    FROM session_windows w ORDER BY w.session_id
"""
_EVENTS = "SELECT * FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq"
WINDOW = "SELECT * FROM session_windows WHERE session_id = ?"
NODE = "SELECT * FROM session_nodes WHERE session_key = ?"
DIRECT_KEYS = "SELECT session_key FROM session_nodes WHERE session_key GLOB '*:direct:*' OR session_key GLOB '*:dm:*'"
FAILURES = (sqlite3.Error, UnicodeDecodeError)  # of a damaged schema even what SQLite says about it cannot be decoded
_BIRTH = dt.timedelta(seconds=1)  # a channel's first message may be older than its session by some milliseconds
_NOBODYS = frozenset({"spawn", "cron", "internal", "plugin"})  # who made a session, where no person did
_SHARED = frozenset({"group", "channel"})
_LABEL = re.compile(r"\A[^:]*:(?:g-)?#?")  # `telegram:g-garden-club`
_COPIES = (".trajectory.", ".checkpoint.", ".reset.", ".deleted.", ".bak", ".lock")
_COLD_NAME = re.compile(r"(?P<digest>[0-9a-f]{64})\.jsonl\.zst")


def kind_of_key(key: str) -> Kind:
    key = _AGENT_OF_KEY.sub("", key)
    if _ISOLATED_KEY.search(key):
        return Kind.ISOLATED
    return Kind.GROUP if _GROUP_KEY.search(key) else Kind.MAIN


def owner_ids(keys: Iterable[str]) -> tuple[str, ...]:
    """The owner's ids on the channels where one person alone talks to the agent directly."""
    people = {match.groups() for key in keys if (match := _DIRECT_KEY.search(key))}
    channels = Counter(channel for channel, _ in people)
    return tuple(sorted(person for channel, person in people if channels[channel] == 1))


# Events: which carry messages, whose they are, what kind of session they make.


class Taker:
    """Takes events in, one after the other; what it must know of earlier ones lies in the notes' facts."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.owners = frozenset(known.get("owners", ()))
        self.in_group = known.get("kind") is Kind.GROUP
        self.doubtful = (
            ""  # the id of a message of which only the answer tells whether it is the user's or the program's
        )

    def __call__(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        facts, kind, message = notes.facts, entry.get("type"), entry.get("message")
        if kind == "session":
            for name in ("id", "cwd"):
                if isinstance(value := entry.get(name), str):
                    facts.setdefault(name, value)
            if at:
                facts.setdefault("started", at.isoformat())
            return True
        if kind in _NO_MESSAGE:
            return True
        if kind != "message" or not isinstance(message, dict):
            return False
        role = message.get("role")
        if role in ("toolResult", "tool", "system", "custom", "bashExecution"):
            return True
        # A message may have waited long before it was stored, but was never written after that.
        written = parse_time(message.get("timestamp"))
        at = written if written and (at is None or _EARLIEST <= written <= at) else at
        if role not in ("user", "assistant") or at is None:
            return False
        marks = as_dict(message.get("__openclaw"))
        if as_text(marks.get("mirrorOrigin")).endswith(_BROUGHT_OVER):
            return True
        text, entry_id = "\n".join(text_blocks(message.get("content"))), str(entry.get("id") or start)
        if role == "user":
            self._take_prompt(entry_id, at, text, message, marks, notes)
        elif is_silence(text):
            if notes.messages and notes.messages[-1].id == self.doubtful:
                notes.messages.pop()
        elif not facts.get("program") and not _is_by_program(message) and (text := without_directives(text)):
            notes.messages.append(Message(entry_id, at, Speaker.AGENT, text))
        return True

    def _take_prompt(
        self, entry_id: str, at: dt.datetime, text: str, message: dict[str, Any], marks: dict[str, Any], notes: Notes
    ) -> None:
        facts = notes.facts
        if not facts.get("begun"):
            facts["begun"] = True
            facts["isolated"] = is_isolated(text)
        envelope = open_envelope(text)
        facts.pop("program", None)
        by_person = as_dict(message.get("provenance")).get("kind") in (None, "external_user")
        if envelope.program or message.get("display") is False or not by_person:
            facts["program"] = True  # and so is what the agent answers
            return
        in_group = self.in_group or envelope.in_group
        if envelope.in_group:
            facts["group"] = envelope.group or facts.get("group") or "group"
        is_owner = marks.get("senderIsOwner")
        if not isinstance(is_owner, bool):
            # What the program itself says of the sender goes before what stands in the text, where anybody can write.
            is_owner = (as_text(marks.get("senderId")) or envelope.sender_id) in self.owners if in_group else True
        self.doubtful = "" if envelope.sent or "senderIsOwner" in marks or "transport" in marks else entry_id
        if envelope.text:
            speaker = Speaker.OWNER if is_owner else Speaker.OTHER
            named = in_group or speaker is Speaker.OTHER
            name = (envelope.name or display_name(marks.get("senderName"))) if named else ""
            notes.messages.append(Message(entry_id, at, speaker, envelope.text, name))


def _is_by_program(message: dict[str, Any]) -> bool:
    """Whether an answer is no answer of the model: a notice, or what was delivered, told once more.

    What the agent said by its message tool stands only there.
    """
    kind = as_dict(message.get("openclawDeliveryMirror")).get("kind")
    if kind == "message-tool-source-reply":
        return False
    is_own = message.get("provider") == AGENT and message.get("model") in ("delivery-mirror", "gateway-injected")
    return is_own or kind in ("channel-final", "channel-final-suppressed", "cron-direct-delivery-context")


def session_of(notes: Notes, session_id: str, known: Mapping[str, Any]) -> Session:
    """The session that events made. Its first prompt tells what it is only where nothing else does."""
    facts = notes.facts
    kind: Kind = known.get("kind") or (Kind.ISOLATED if facts.get("isolated") else Kind.MAIN)
    if "group" in facts and kind is Kind.MAIN:
        kind = Kind.GROUP
    group = str(known.get("group") or facts.get("group") or "group") if kind is Kind.GROUP else ""
    return notes.session(session_id, AGENT, kind, group=group, chat=str(known.get("chat") or "") if group else "")


def _is_tool_output(head: bytes) -> bool:
    return b'"role":"toolResult"' in head[:400] or b'"role": "toolResult"' in head[:400]


# Files of lines, to mid-2026


def _find_files(places: Places) -> Iterator[Transcript]:
    """The sessions of every agent. Copies that OpenClaw itself puts aside are no sessions of their own."""
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw") / "agents"
    for folder in sorted(root.glob("*/sessions")):
        index = folder / "sessions.json"  # the key of each session, of the newest of each key only
        listed = (parse_json(index.read_bytes()) if index.is_file() else None) or {}
        keys = {str(name): key for key, about in listed.items() if (name := as_dict(about).get("sessionId"))}
        owners = owner_ids(keys.values())
        files = (path for path in sorted(folder.glob("*.jsonl")) if not any(sign in path.name for sign in _COPIES))
        for transcript in list_files(AGENT, files):
            key = keys.get(transcript.path.stem.partition("-topic-")[0])
            facts = {"owners": owners} | ({"kind": kind_of_key(key), "chat": chat_hash(key)} if key else {})
            yield replace(transcript, facts=facts)


def _read_file(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    reading, notes = follow(transcript.path, mark, until, Taker(transcript.facts), skip=_is_tool_output)
    return replace(reading, session=session_of(notes, transcript.path.stem, transcript.facts))


# The database


def rows(connection: sqlite3.Connection, query: str, *values: object) -> list[dict[str, Any]]:
    """The rows of a query by the names of their columns; none where the database has no such table."""
    try:
        return list(_each_row(connection.execute(query, values)))
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise


def _each_row(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    columns = [column[0] for column in cursor.description]
    return (dict(zip(columns, row, strict=True)) for row in cursor)


def row_of(connection: sqlite3.Connection, query: str, value: str) -> dict[str, Any]:
    return next(iter(rows(connection, query, value)), {})


def is_shared(window: Mapping[str, Any]) -> bool:
    return bool({as_text(window.get("chat_type")), as_text(window.get("session_scope"))} & _SHARED)


def kind_of(key: str, window: Mapping[str, Any], node: Mapping[str, Any]) -> Kind:
    """What a session is by its key and by what made it."""
    by_key = kind_of_key(key)
    makers = ("spawned_by", "plugin_owner_id", "hook_external_content_source")
    by_program = any(as_text(row.get(name)) for row in (window, node) for name in makers)
    if by_program or as_text(node.get("created_via")) in _NOBODYS or by_key is Kind.ISOLATED:
        return Kind.ISOLATED
    return Kind.GROUP if is_shared(window) else by_key


def group_name(window: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """What a group is called: by its people, else by OpenClaw, never its id."""
    entry = parse_json(as_text(node.get("entry_json"))) or {}
    label = _LABEL.sub("", as_text(node.get("display_name")) or as_text(window.get("display_name")), count=1)
    return display_name(entry.get("subject")) or display_name(entry.get("groupChannel")) or display_name(label)


def event_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event of a row, plain or in a zstd frame: empty when it is tool output, None when it cannot be understood."""
    plain, packed, navigation = row.get("event_json"), row.get("event_zstd"), row.get("navigation_json")
    if isinstance(plain, str):
        raw = plain.encode("utf-8", errors="replace")
        return {} if _is_tool_output(raw) else parse_json(raw)
    if not isinstance(packed, bytes):
        return None
    if '"role":"toolResult"' in as_text(navigation):  # it holds no text: this is the role
        return {}
    zstd = zstandard()
    try:
        return parse_json(zstd.decompress(packed))
    except (zstd.ZstdError, EOFError, MemoryError):
        return None


def zstandard() -> ModuleType:
    """Python's own zstd, which came with 3.14, or what brings it to older ones; imported when a frame is met."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _find_sessions(places: Places) -> Iterator[Transcript]:
    """The sessions of every agent: those in its database, and those in cold storage."""
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw") / "agents"
    for path in sorted(root.glob("*/agent/openclaw-agent.sqlite")):
        try:
            with open_readonly(path) as connection:
                sessions = connection.execute(_SESSIONS).fetchall()
                marks = rows(connection, "SELECT session_id, generation FROM transcript_rewrite_watermarks")
        except FAILURES:
            continue  # busy, or of another form: nothing to list this time
        generations = {mark["session_id"]: as_text(mark["generation"]) for mark in marks}
        cold = _cold_files(path) if any(last is None for *_, last, _newest in sessions) else {}
        for name, key, updated, last, newest in sessions:
            if not isinstance(name, str) or re.search(r":incognito-[^:]*\Z", as_text(key)):
                continue
            if isinstance(last, int):
                generation = hashlib.blake2b(generations.get(name, "").encode("utf-8", "replace"), digest_size=6)
                stamp, place, changed = [int.from_bytes(generation.digest()), last], path, parse_time(newest)
            elif name in cold:
                (place, *stamp), changed = cold[name], parse_time(updated)
            else:
                continue  # nothing was said yet
            seconds = changed.timestamp() if changed else last_written(path)
            yield Transcript(AGENT, place, f"{path}#{name}", tuple(stamp), seconds, {"session": name})


def _read_session(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """A busy or damaged database is an OSError: ask again later."""
    name = str(transcript.facts.get("session") or transcript.key.rpartition("#")[2])
    cold = transcript.path if transcript.path.suffix == ".zst" else None
    path = cold.parent.parent.parent / "agent" / "openclaw-agent.sqlite" if cold else transcript.path
    try:
        with open_readonly(path) as connection:
            connection.execute("BEGIN")  # everything below is seen as it stood at one moment
            return _read_events(connection, name, cold, mark, until)
    except FAILURES as error:
        raise OSError(f"{path} cannot be read now: {error}") from error


def _read_events(
    connection: sqlite3.Connection, name: str, cold: Path | None, mark: Mark | None, until: dt.datetime | None
) -> Reading:
    window = row_of(connection, WINDOW, name)
    if not window:
        return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
    key = as_text(window.get("session_key"))
    node = row_of(connection, NODE, key)
    marks = rows(connection, "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?", name)
    generation = as_text(marks[0]["generation"]) if marks else ""
    known: dict[str, Any] = {"kind": kind_of(key, window, node), "chat": chat_hash(key)}
    if known["kind"] is Kind.GROUP:
        direct = (as_text(row["session_key"]) for row in rows(connection, DIRECT_KEYS))
        known |= {"group": group_name(window, node), "owners": owner_ids(direct)}
    (last,) = connection.execute("SELECT max(seq) FROM transcript_events WHERE session_id = ?", (name,)).fetchone()
    begin = mark or Mark()
    # What was read before must be what stands there now; in cold storage, and where the events are gone, only the generation tells.
    shorter = not cold and last is not None and not (isinstance(last, int) and last + 1 >= begin.offset)
    rewritten = begin.offset > 0 and (begin.fingerprint != generation or shorter)
    begin = Mark() if rewritten else begin
    notes, take = Notes(dict(begin.facts)), Taker(known)
    offset, unknown, whole = begin.offset, 0, True
    sources = {as_text(window.get("previous_session_id")), as_text(node.get("fork_source_session_id"))} - {"", name}
    copied: frozenset[str] | None = None
    events = _cold_rows(cold, offset) if cold else _each_row(connection.execute(_EVENTS, (name, offset)))
    for row in events:
        seq, entry = row["seq"], event_of(row)
        if entry:
            at = parse_time(entry.get("timestamp")) or parse_time(row.get("created_at"))
            if until and at and at > until:
                whole = False
                break
            # A session that was forked from another, or is what another was wound back to, begins with copies of its events,
            # under their ids. Only what is older than the session itself (its first event is made anew) can be a copy. Where
            # the other session is gone, its age alone decides.
            born = parse_time(notes.facts.get("started"))
            is_copy = False
            if sources and entry.get("type") != "session" and born and at and at <= born:
                if copied is None:
                    others = (row for other in sources for row in _each_row(connection.execute(_EVENTS, (other, 0))))
                    copied = frozenset(as_text(event.get("id")) for row in others if (event := event_of(row)))
                is_copy = as_text(entry.get("id")) in copied if copied else at < born - _BIRTH
            if not is_copy:
                unknown += not (isinstance(entry.get("type"), str) and take(entry, at, seq, notes))
        elif entry is None:
            unknown += 1
        offset = seq + 1
    return Reading(session_of(notes, name, known), Mark(offset, generation, notes.facts), whole, unknown, rewritten)


# Cold storage


def _cold_files(database: Path) -> dict[str, tuple[Path, int, int]]:
    """Path, size and time of change for each session in cold storage beside a database; of two files of one, the newer."""
    files: dict[str, tuple[Path, int, int]] = {}
    for cold in list_files(AGENT, sorted((database.parent.parent / "sessions" / "cold").glob("*.jsonl.zst"))):
        try:
            header = parse_json(next(_cold_lines(cold.path), b"")) or {}
        except OSError:
            continue  # vanished meanwhile, or not what its name says
        session, (size, changed) = as_text(header.get("sessionId")), cold.stamp
        if not _COLD_NAME.fullmatch(cold.path.name) or (header.get("kind"), header.get("version")) != ("header", 1):
            continue
        if session and (session not in files or files[session][2] < changed):
            files[session] = (cold.path, size, changed)
    return files


def _cold_rows(path: Path, begin: int) -> Iterator[dict[str, Any]]:
    """The events of a file from a number on, as rows of the database. A file that is not what its name says is damaged."""
    name = _COLD_NAME.fullmatch(path.name)
    with path.open("rb") as file:
        if name is None or hashlib.file_digest(file, "sha256").hexdigest() != name["digest"]:
            raise OSError(f"{path} was damaged in cold storage")
    for line in _cold_lines(path):
        entry = parse_json(line) or {}
        row = entry.get("row") if entry.get("kind") == "event" else None
        if isinstance(row, dict) and isinstance(seq := row.get("seq"), int) and seq >= begin:
            yield row


def _cold_lines(path: Path) -> Iterator[bytes]:
    zstd = zstandard()
    try:
        with zstd.open(path, "rb") as file:
            yield from file
    except (zstd.ZstdError, EOFError) as error:
        raise OSError(f"{path} is no zstd file") from error


CLASSIC = Source(AGENT, _find_files, _read_file)
DATABASE = Source(AGENT, _find_sessions, _read_session)
