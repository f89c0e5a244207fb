"""OpenClaw below ~/.openclaw/agents (OPENCLAW_STATE_DIR moves it): the same events in files of lines, since 2026.9 in a database.

The database is looked into while OpenClaw writes to it, and never written. It also holds credentials: only the four tables named
here are ever read. A session's events are numbered from 0. They are only ever added, until something rewrites them; then the
session gets another generation, and is read again from its beginning.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.model import Kind, Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.registry import GROUP, chat_hash, group_stamp
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text, parse_json, parse_time
from nacre.text.tables import expression

if TYPE_CHECKING:
    from types import ModuleType


AGENT = "openclaw"
_form = partial(expression, "sources/openclaw.tsv")
MAIN = "main"
_BROUGHT_OVER = "-catalog-import"  # of another agent, whose own transcripts are read where they stand
_EARLIEST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)  # a clock that tells an earlier time is wrong

# By the primary key of the events alone: one step down the index for each session, whatever its length. The time stands
# in the last row, so that row is the only one touched.
_SESSIONS = """
    SELECT w.session_id, w.session_key,
           (SELECT seq FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1),
           (SELECT created_at FROM transcript_events e WHERE e.session_id = w.session_id ORDER BY seq DESC LIMIT 1)
    FROM session_windows w ORDER BY w.session_id
"""
_GENERATIONS = "SELECT session_id, generation FROM transcript_rewrite_watermarks"
# What was said before a fresh start counts too: with the first turn after it nothing is written yet.
_LAST_SESSIONS = (
    "SELECT session_id FROM session_windows WHERE session_key = ? ORDER BY transcript_updated_at DESC LIMIT 4"
)
_LAST = "SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq DESC LIMIT 40"
_EVENTS = "SELECT * FROM transcript_events WHERE session_id = ? AND seq >= ? ORDER BY seq"
_WINDOW = "SELECT * FROM session_windows WHERE session_id = ?"
_NODE = "SELECT * FROM session_nodes WHERE session_key = ?"
_DIRECT_KEYS = "SELECT session_key FROM session_nodes WHERE session_key GLOB '*:direct:*' OR session_key GLOB '*:dm:*'"
_FAILURES = (sqlite3.Error, *reading.MALFORMED)  # of a damaged database even the numbers of events may be none
_BIRTH = dt.timedelta(seconds=1)  # a channel's first message may be older than its session by some milliseconds
_NOBODYS = frozenset({"spawn", "cron", "internal", "plugin"})  # who made a session, where no person did
_SHARED = frozenset({"group", "channel"})
_COPIES = (".trajectory.", ".checkpoint.", ".reset.", ".deleted.", ".bak", ".lock")
_DEEPEST = 8  # sub-agents of sub-agents


def kind_of_key(key: str) -> Kind:
    key = _form("agent of key").sub("", key)
    if _form("isolated key").search(key):
        return Kind.ISOLATED
    return Kind.GROUP if _form("group key").search(key) else Kind.MAIN


def owner_ids(keys: Iterable[str]) -> tuple[str, ...]:
    """The owner's ids on the channels where one person alone talks to the agent directly."""
    people = {match.groups() for key in keys if (match := _form("direct key").search(key))}
    channels = Counter(channel for channel, _ in people)
    return tuple(sorted(person for channel, person in people if channels[channel] == 1))


# Events: which carry messages, whose they are, what kind of session they make.


def take(about: Mapping[str, Any], entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
    """Add what an event says to the notes; `about` is what is known of the session: its kind, the owner's ids."""
    facts, kind = notes.facts, entry.get("type")
    if kind == "session":
        for name in ("id", "cwd"):
            facts.setdefault(name, as_text(entry.get(name)))
        if at:
            facts.setdefault("started", at.isoformat())
    if kind != "message" or entry["message"].get("role") not in ("user", "assistant"):
        return
    message = entry["message"]
    # A message may have waited long before it was stored, but was never written after that.
    written = parse_time(message.get("timestamp"))
    at = written if written and (at is None or _EARLIEST <= written <= at) else at
    if at is None:
        raise ValueError("no time")
    if as_text(_marks(message).get("mirrorOrigin")).endswith(_BROUGHT_OVER):
        return
    text, entry_id = "\n".join(reading.text_blocks(message.get("content"))), str(entry.get("id") or start)
    if message["role"] == "user":
        _take_prompt(about, entry_id, at, text, message, notes)
    elif is_silence(text):
        if notes.messages and notes.messages[-1].id == notes.scratch.get("doubtful"):
            notes.messages.pop()
    elif not facts.get("program") and not _is_by_program(message):
        notes.add(entry_id, at, Speaker.AGENT, without_directives(text))


def _marks(message: dict[str, Any]) -> dict[str, Any]:
    """What the program itself says of a message."""
    return message.get("__openclaw") or {}


def _take_prompt(
    about: Mapping[str, Any], entry_id: str, at: dt.datetime, text: str, message: dict[str, Any], notes: Notes
) -> None:
    facts, marks, envelope = notes.facts, _marks(message), open_envelope(text)
    facts.setdefault("isolated", text.lstrip().startswith(_ISOLATED))
    facts.pop("program", None)
    by_person = (message.get("provenance") or {}).get("kind") in (None, "external_user")
    if envelope.program or message.get("display") is False or not by_person:
        facts["program"] = True  # and so is what the agent answers
        return
    in_group = about.get("kind") is Kind.GROUP or envelope.in_group
    if envelope.in_group:
        facts["group"] = envelope.group or facts.get("group") or "group"
    is_owner = marks.get("senderIsOwner")
    if not isinstance(is_owner, bool):
        # What the program itself says of the sender goes before what stands in the text, where anybody can write.
        sender = as_text(marks.get("senderId")) or envelope.sender_id
        is_owner = sender in about.get("owners", ()) if in_group else True
    # Only the answer tells whether such a message is the user's or the program's.
    is_doubtful = not (envelope.sent or "senderIsOwner" in marks or "transport" in marks)
    notes.scratch["doubtful"] = entry_id if is_doubtful else ""
    speaker = Speaker.OWNER if is_owner else Speaker.OTHER
    name = envelope.name or display_name(marks.get("senderName")) if in_group or speaker is Speaker.OTHER else ""
    notes.add(entry_id, at, speaker, envelope.text, name)


def _is_by_program(message: dict[str, Any]) -> bool:
    """Whether an answer is a notice or the copy of a delivered message. What the message tool sent has no other entry."""
    kind = (message.get("openclawDeliveryMirror") or {}).get("kind")
    if kind == "message-tool-source-reply":
        return False
    is_own = message.get("provider") == AGENT and message.get("model") in ("delivery-mirror", "gateway-injected")
    return is_own or kind in ("channel-final", "channel-final-suppressed", "cron-direct-delivery-context")


def session_of(session_id: str, about: Mapping[str, Any], notes: Notes) -> Session:
    """The session made of the notes. Its first prompt decides its kind only where nothing else does."""
    facts = notes.facts
    kind: Kind = about.get("kind") or (Kind.ISOLATED if facts.get("isolated") else Kind.MAIN)
    if "group" in facts and kind is Kind.MAIN:
        kind = Kind.GROUP
    group = str(about.get("group") or facts.get("group") or "group") if kind is Kind.GROUP else ""
    return notes.session(session_id, AGENT, kind, group=group, chat=str(about.get("chat") or "") if group else "")


def _is_tool_output(head: bytes) -> bool:
    return b'"role":"toolResult"' in head[:400] or b'"role": "toolResult"' in head[:400]


# Files of lines, to mid-2026


def _find_files(places: Places) -> Iterator[Transcript]:
    """The sessions of every agent, without the copies that OpenClaw makes."""
    for folder in sorted(places.root(AGENT).glob("agents/*/sessions")):
        index = folder / "sessions.json"  # the key of each session, of the newest of each key only
        listed = (reading.parse_json(index.read_bytes()) if index.is_file() else None) or {}
        keys = {str(about.get("sessionId")): key for key, about in listed.items() if isinstance(about, dict)}
        owners = owner_ids(keys.values())
        files = (path for path in sorted(folder.glob("*.jsonl")) if not any(sign in path.name for sign in _COPIES))
        for transcript in reading.list_files(AGENT, files):
            key = keys.get(transcript.path.stem.partition("-topic-")[0])
            facts = {"owners": owners} | ({"kind": kind_of_key(key), "chat": chat_hash(key)} if key else {})
            yield replace(transcript, facts=facts)


def _read_file(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    about, path = transcript.facts, transcript.path
    make = partial(session_of, path.stem, about)
    return reading.follow(path, mark, until, partial(take, about), make, skip=_is_tool_output)


# The database


def _rows(connection: sqlite3.Connection, query: str, *values: object) -> list[dict[str, Any]]:
    """The rows of a query by the names of their columns; none where the database has no such table."""
    try:
        return [dict(row) for row in connection.execute(query, values)]
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise


def _row(connection: sqlite3.Connection, query: str, value: str) -> dict[str, Any]:
    return next(iter(_rows(connection, query, value)), {})


def _is_shared(window: Mapping[str, Any]) -> bool:
    return bool({as_text(window.get("chat_type")), as_text(window.get("session_scope"))} & _SHARED)


def _kind_of(key: str, window: Mapping[str, Any], node: Mapping[str, Any]) -> Kind:
    """What a session is by its key and by what made it."""
    by_key = kind_of_key(key)
    makers = ("spawned_by", "plugin_owner_id", "hook_external_content_source")
    by_program = any(as_text(row.get(name)) for row in (window, node) for name in makers)
    if by_program or as_text(node.get("created_via")) in _NOBODYS or by_key is Kind.ISOLATED:
        return Kind.ISOLATED
    return Kind.GROUP if _is_shared(window) else by_key


def _group_name(window: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """What a group is called: by its people, else by OpenClaw, never its id."""
    entry = reading.parse_json(node.get("entry_json")) or {}
    label = _form("label").sub("", as_text(node.get("display_name")) or as_text(window.get("display_name")), count=1)
    return display_name(entry.get("subject")) or display_name(entry.get("groupChannel")) or display_name(label)


def _event_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event of a row, plain or in a zstd frame: empty when it is tool output, None when it cannot be understood."""
    plain, packed = row.get("event_json"), row.get("event_zstd")
    if isinstance(plain, str):
        raw = plain.encode("utf-8", errors="replace")
    elif not isinstance(packed, bytes):
        return None
    elif '"role":"toolResult"' in as_text(row.get("navigation_json")):  # it holds no text: this is the role
        return {}
    else:
        zstd = zstandard()
        try:
            raw = zstd.decompress(packed)
        except (zstd.ZstdError, EOFError, MemoryError):
            return None
    event = {} if _is_tool_output(raw) else reading.parse_json(raw)
    return event and {"timestamp": row.get("created_at"), **event}


def zstandard() -> ModuleType:
    """The zstd module of Python 3.14, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _find_sessions(places: Places) -> Iterator[Transcript]:
    for path in sorted(places.root(AGENT).glob("agents/*/agent/openclaw-agent.sqlite")):
        try:
            with reading.open_readonly(path) as connection:
                sessions = connection.execute(_SESSIONS).fetchall()
                generations = {row["session_id"]: as_text(row["generation"]) for row in _rows(connection, _GENERATIONS)}
        except _FAILURES:
            continue  # busy, or of another form: nothing to list this time
        for name, key, last, newest in sessions:
            if isinstance(name, str) and isinstance(last, int) and not is_incognito(as_text(key)):
                generation = hashlib.blake2b(generations.get(name, "").encode("utf-8", "replace"), digest_size=6)
                stamp = (int.from_bytes(generation.digest()), last)
                yield reading.in_database(AGENT, path, name, stamp, newest)


def _read_session(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """The reading of a session; OSError while the database is busy or damaged."""
    try:
        with reading.open_readonly(transcript.path) as connection:
            connection.execute("BEGIN")  # everything below is seen as it stood at one moment
            return _read_events(connection, transcript.session, mark, until)
    except _FAILURES as error:
        raise OSError(f"{transcript.path} cannot be read now: {error}") from error


def _read_events(connection: sqlite3.Connection, name: str, mark: Mark | None, until: dt.datetime | None) -> Reading:
    window = _row(connection, _WINDOW, name)
    if not window:
        return reading.missing_transcript(mark)
    key = as_text(window.get("session_key"))
    node = _row(connection, _NODE, key)
    generation = as_text(_row(connection, f"{_GENERATIONS} WHERE session_id = ?", name).get("generation"))
    about: dict[str, Any] = {"kind": _kind_of(key, window, node), "chat": chat_hash(key)}
    if about["kind"] is Kind.GROUP:
        direct = (as_text(row["session_key"]) for row in _rows(connection, _DIRECT_KEYS))
        about |= {"group": _group_name(window, node), "owners": owner_ids(direct)}
    (last,) = connection.execute("SELECT max(seq) FROM transcript_events WHERE session_id = ?", (name,)).fetchone()
    begin = mark or Mark()
    # What was read before must be what stands there now; where the events are gone, only the generation tells.
    is_shorter = last is not None and not (isinstance(last, int) and last + 1 >= begin.offset)
    rewritten = begin.offset > 0 and (begin.fingerprint != generation or is_shorter)
    begin = Mark() if rewritten else begin
    notes = Notes(dict(begin.facts))
    sources = {as_text(window.get("previous_session_id")), as_text(node.get("fork_source_session_id"))} - {"", name}

    @cache
    def copied() -> set[str]:
        others = (dict(row) for other in sources for row in connection.execute(_EVENTS, (other, 0)))
        return {as_text(event.get("id")) for row in others if (event := _event_of(row))}

    def take_new(entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
        # A session that was forked from another, or is what another was wound back to, begins with copies of its events,
        # under their ids. Only what is older than the session itself (its first event is made anew) can be a copy. Where
        # the other session is gone, its age alone decides.
        born = parse_time(notes.facts.get("started"))
        if sources and born and at and at <= born and entry.get("type") != "session":
            is_copy = entry.get("id") in copied() if copied() else at < born - _BIRTH
            if is_copy:
                return
        take(about, entry, at, start, notes)

    rows = map(dict, connection.execute(_EVENTS, (name, begin.offset)))
    entries = ((_event_of(row), str(row["seq"]), row["seq"] + 1) for row in rows)
    offset, is_whole = reading.take_entries(entries, begin.offset, notes, until, take_new)
    reached = Mark(offset, generation, notes.facts)
    return Reading(session_of(name, about, notes), reached, is_whole, notes.unknown, rewritten)


# Who listens in a session, by its key: the owner, a group by the stamp of its sessions, or nobody. What a session may be told depends
# on it, so it is read from what OpenClaw itself keeps, never from what was said. The owner listens where that is certain; where it is
# not, nobody does.


def database(places: Places, key: str) -> Path:
    """The database of the agent that a key names; of the main agent where it names none."""
    match = _form("agent name").match(key)
    agent = match[1].lower() if match and match[1] not in (".", "..") else MAIN
    return places.root(AGENT) / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def is_incognito(key: str) -> bool:
    return ":incognito-" in key


def scope_of(places: Places, key: str) -> str | None:
    """`main` or `group:NAME`; None where it is unknown whom a session works for, which is then nobody."""
    if is_incognito(key):
        return None
    path = database(places, key)
    try:
        with reading.open_readonly(path) as connection:
            return _scope(connection, key)
    except _FAILURES:
        # Busy, or made with the first turn: then nobody but who talks now has ever talked to the agent.
        return MAIN if _person(key) and not path.exists() else _scope_by_key(key)


def _scope(connection: sqlite3.Connection, key: str) -> str | None:
    for _ in range(_DEEPEST):
        node = _row(connection, _NODE, key)
        session = as_text(node.get("current_session_id"))
        window = _row(connection, _WINDOW, session) if node else {}
        if node and (_is_shared(window) or Kind.GROUP in (kind_of_key(key), _kind_of(key, window, node))):
            return _group_scope(_group_name(window, node), key)
        if _person(key):
            return MAIN if _is_owners(connection, key) else None
        if not node or _form("main key").fullmatch(key):
            return _scope_by_key(key)
        names = ((node, "parent_session_key"), (window, "spawned_by"), (node, "spawned_by"))
        above = next((name for row, column in names if (name := as_text(row.get(column)))), key)
        if above == key:
            # Whoever holds the gateway, from its page or terminal.
            by_operator = as_text(node.get("created_via")) == "operator"
            return MAIN if by_operator and kind_of_key(key) is Kind.MAIN else None
        key = above
    return None


def _scope_by_key(key: str) -> str | None:
    """The scope as far as the key alone tells. The group of an unknown session has no name."""
    if kind_of_key(key) is Kind.GROUP:
        return _group_scope("", key)
    return MAIN if _form("main key").fullmatch(key) else None


def _group_scope(group: str, key: str) -> str:
    return f"{GROUP}:{group_stamp(group, chat_hash(key))}"


def _is_owners(connection: sqlite3.Connection, key: str) -> bool:
    """Whether OpenClaw says that the owner writes in a direct chat; where it says so of nobody, whether nobody else writes to the agent."""
    for session in _rows(connection, _LAST_SESSIONS, key):
        for row in _rows(connection, _LAST, session["session_id"]):
            message = (_event_of(row) or {}).get("message") or {}
            flag = _marks(message).get("senderIsOwner") if message.get("role") == "user" else None
            if isinstance(flag, bool):
                return flag  # of the newest message that says so
    keys = (as_text(other) for (other,) in connection.execute(_DIRECT_KEYS))
    return all(_person(other) == _person(key) for other in keys if kind_of_key(other) is Kind.MAIN)


def _person(key: str) -> tuple[str, str] | None:
    """Channel and person of a direct chat; none for any other."""
    match = _form("direct").fullmatch(key) if kind_of_key(key) is Kind.MAIN else None
    return (match["channel"] or "", match["person"]) if match else None


CLASSIC = Source(AGENT, _find_files, _read_file)
DATABASE = Source(AGENT, _find_sessions, _read_session)


# What OpenClaw put around a user's words until 2026.9: metadata of the channel, the time, notes of the program. Read, then dropped.


_QUEUE = "[Queued messages while agent was busy]"
_OTHERS = "[Forwarded from "  # what follows is somebody else's
_ISOLATED = ("[cron:", "[Subagent Context]", "[Subagent Task]")  # beginnings of a first prompt that no person typed
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
MARK = "⟦openclaw:ctx⟧"  # ends the first line of each block since 2026.6
_EVERYTHING_BELOW = f"Context: {MARK}"
_SPEAKING = ("Conversation info", "Sender")  # those that tell who writes; the others tell of somebody else


@dataclass(frozen=True)
class Envelope:
    """A user message: who wrote it, in which group, and the text without its envelope (empty: nobody's words)."""

    text: str
    sender_id: str = ""
    name: str = ""
    group: str = ""
    in_group: bool = False
    sent: bool = False  # it came with a channel's metadata or a time: a person sent it
    program: bool = False  # the program asked, in a person's place: a poll, a wake, a task


def open_envelope(text: str) -> Envelope:
    text, head = _without_stamp(text.lstrip())
    text, facts, has_blocks = _without_blocks(text)
    text = _form("hints").sub("", _form("media").sub("", _form("system").sub("", text.lstrip()))).lstrip()
    if not head:
        text, head = _without_stamp(text)
    text = _form("answered").sub("", _form("quoted").sub("", text), count=1)
    text = _form("spoken").sub(_transcribed, _form("directive").sub("", text)).strip()

    def fact(*names: str) -> str:
        return next((value for name in names if isinstance(value := facts.get(name), str) and value), "")

    name, group = display_name(fact("sender", "name")), fact("group_subject", "group_channel")
    in_group = facts.get("is_group_chat") is True or bool(group)
    if _form("of a group").search(head):
        in_group = True
        if not name and (speaker := _form("spoken by").match(text)):
            name, text = display_name(speaker["name"]), text[speaker.end() :]
    text = _form("overflow").sub("", text)
    if text.startswith(_QUEUE):  # messages that waited for the agent and were handed to it as one
        queued = list(_form("queued").finditer(text))
        ends = [*(match.start() for match in queued[1:]), len(text)]
        texts = [open_envelope(text[match.end() : end]).text for match, end in zip(queued, ends, strict=False)]
        names = {display_name(match["name"]) for match in queued}
        text = "\n\n".join(filter(None, texts))
        name = name or (names.pop() if len(names) == 1 else "")
    program = bool(_form("of the program").match(text))
    if program or text.startswith(_OTHERS) or _form("command").fullmatch(text):
        text = ""
    sent = bool(has_blocks or head)
    return Envelope(text, fact("sender_id", "id"), name, display_name(group), in_group, sent, program)


def without_directives(text: str) -> str:
    """An agent's answer without directives to the program; empty for a sign of silence."""
    text = _form("media").sub("", _form("directive").sub("", text)).strip()
    return "" if is_silence(text) else text


def is_silence(text: str) -> bool:
    """Whether an answer says that there was nothing to answer: the turn was the program's, not the user's."""
    return text.strip().strip("*_`. ") in _SILENT


def display_name(name: object) -> str:
    """The name of a person or group without ids; empty if it is nothing but an id."""
    if not isinstance(name, str):
        return ""
    short = re.sub(r"\s*(?:\([^)]*\)|<[^>]*>|\bid:\S+)", "", name[:200]).strip()
    return "" if _form("not a name").fullmatch(short) else _form("number").sub("", short).strip()[:60]


def _without_stamp(text: str) -> tuple[str, str]:
    stamp = _form("stamp").match(text)
    return (text[stamp.end() :], stamp["head"]) if stamp else (text, "")


def _transcribed(match: re.Match[str]) -> str:
    text = match["words"].strip()
    try:
        return value if isinstance(value := json.loads(text), str) else text
    except (ValueError, RecursionError):
        return text.strip('"')


# The blocks that OpenClaw sets among a user's words for its model: who writes, what is quoted, what it remembered.


def _without_blocks(text: str) -> tuple[str, dict[str, Any], bool]:
    """A text without its blocks, what those say about its writer, and whether there were any."""
    text = _form("delivery").sub("", _form("internal").sub("", text))
    text = _form("old label").sub(lambda match: f"{match['label']}: {MARK}", text)
    current = _form("old context").sub(_EVERYTHING_BELOW, _form("old recalled").sub("Context:\n", text))
    text = _without_recalled(current)
    remaining: list[str] = []
    facts: dict[str, Any] = {}
    labels: set[str] = set()
    end = 0
    for match in _form("block").finditer(text) if MARK in text else ():
        remaining.append(text[end : match.start()])
        end = match.end()
        if match[0].lstrip().startswith(_EVERYTHING_BELOW):
            end = len(text)
            break
        label = match["label"].rstrip(" :")
        # Only the blocks at the very head, the first of each label, are the program's; others may be typed by anybody.
        if label.endswith(_SPEAKING) and label not in labels and not any(map(str.strip, remaining)):
            labels.add(label)
            block = _facts(match["facts"] or "")
            first, second = (names.get("sender_id") or names.get("id") for names in (facts, block))
            # Where two blocks name different senders, neither can be believed.
            doubt = {"sender_id": "", "id": ""} if first and second and first != second else {}
            facts = {**block, **facts, **doubt}
    return "".join((*remaining, text[end:])).strip("\n"), facts, end > 0 or text != current


def _without_recalled(text: str) -> str:
    """The text without the closed blocks of what a plugin recalled."""
    remaining: list[str] = []
    end = 0
    while (opened := _form("recalled").search(text, end)) and (
        closed := _form("recalled end").search(text, opened.end())
    ):
        remaining.append(text[end : opened.start()])
        end = closed.end()
    return "".join((*remaining, text[end:]))


def _facts(text: str) -> dict[str, Any]:
    facts = parse_json(text) or {}
    if isinstance(sender := facts.get("sender"), dict):  # until 2026 a name
        facts |= {"sender": sender.get("name") or sender.get("username"), "sender_id": sender.get("id")}
    return facts
