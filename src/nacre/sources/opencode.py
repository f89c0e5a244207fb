"""opencode: a database in ~/.local/share/opencode (XDG_DATA_HOME moves it), before 2026 a folder of JSON files there.

Both hold sessions, their messages, and the parts of each message, of which only some are text.
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nacre.model.session import Kind, Message, Speaker
from nacre.sources.reading import (
    Notes,
    as_dict,
    as_text,
    digest_of,
    last_written,
    open_readonly,
    parse_json,
    parse_time,
    resume_at,
)
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

AGENT = "opencode"
_SESSIONS = """
    SELECT s.id, s.time_updated, count(m.id), max(m.time_updated) FROM session s
    LEFT JOIN message m ON m.session_id = s.id GROUP BY s.id ORDER BY s.id
"""
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = """
    SELECT data FROM part WHERE message_id = ?
    AND CASE WHEN json_valid(data) THEN json_extract(data, '$.type') END = 'text' ORDER BY id
"""
_SPEAKERS = {"user": Speaker.OWNER, "assistant": Speaker.AGENT}
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_OWN_AGENTS = frozenset({"compaction", "title", "summary"})  # those that write for the program, not for the user
_NEVER = dt.datetime.fromtimestamp(0, dt.UTC)
_STALE = 600.0  # seconds: an answer that nobody went on with for so long was broken off


class _Stored(NamedTuple):
    """A session as it lies in the database or the folder."""

    about: dict[str, Any]
    messages: dict[str, dict[str, Any]]  # in order; empty where one cannot be understood
    parts: Callable[[str], Iterable[dict[str, Any]]]  # of a message: there are many, and few are needed
    latest: float  # when anything here was last written


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of the database, and those of the folder that were not moved into it."""
    base = Path(places.env["XDG_DATA_HOME"]) if places.env.get("XDG_DATA_HOME") else places.home / ".local" / "share"
    root = Path(places.paths[AGENT]).expanduser() if places.paths.get(AGENT) else base / "opencode"
    stored = list(_in_database(root / "opencode.db"))
    moved = {transcript.facts["session"] for transcript in stored}
    yield from stored
    yield from (transcript for transcript in _in_folder(root / "storage") if transcript.facts["session"] not in moved)


def _in_database(path: Path) -> Iterator[Transcript]:
    if not path.is_file():
        return
    try:
        with open_readonly(path) as connection:
            rows = connection.execute(_SESSIONS).fetchall()
    except sqlite3.Error:
        return  # busy, or of another form: nothing to list this time
    for name, updated, count, last in rows:
        stamp = tuple(value if isinstance(value, int) else 0 for value in (updated, count, last))
        changed = parse_time(max(stamp[0], stamp[2]))
        seconds = changed.timestamp() if changed else last_written(path)
        yield Transcript(AGENT, path, f"{path}#{name}", stamp, seconds, {"session": str(name)})


def _in_folder(storage: Path) -> Iterator[Transcript]:
    for path in _files(storage, "session/*/*.json"):
        name = _load(path).get("id")
        if not isinstance(name, str) or not _is_name(name):
            continue
        try:
            moments = [file.stat().st_mtime_ns for file in (path, *_files(storage / "message" / name))]
        except OSError:
            continue  # deleted meanwhile
        yield Transcript(AGENT, path, str(path), (len(moments), max(moments)), max(moments) / 1e9, {"session": name})


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    if transcript.path.suffix == ".json":
        return _read_stored(_from_folder(transcript.path), mark, until)
    name = str(transcript.facts.get("session") or transcript.key.rpartition("#")[2])
    try:
        with open_readonly(transcript.path) as connection:
            return _read_stored(_from_database(connection, name, last_written(transcript.path)), mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)


def _from_database(connection: sqlite3.Connection, name: str, latest: float) -> _Stored | None:
    cursor = connection.execute("SELECT * FROM session WHERE id = ?", (name,))
    row = cursor.fetchone()
    if row is None:
        return None
    session = dict(zip((column[0] for column in cursor.description), row, strict=True))
    about = {"id": name, "parentID": session.get("parent_id"), "directory": session.get("directory")}
    about |= {"time": {"created": session.get("time_created")}, "revert": _parsed(session.get("revert"))}
    messages = {str(message): _parsed(data) for message, data in connection.execute(_MESSAGES, (name,))}

    def parts(message: str) -> list[dict[str, Any]]:
        return [_parsed(data) for (data,) in connection.execute(_PARTS, (message,))]

    return _Stored(about, messages, parts, latest)


def _from_folder(path: Path) -> _Stored | None:
    about = _load(path)
    name = about.get("id")
    if not isinstance(name, str) or not _is_name(name):
        return None
    storage = path.parent.parent.parent
    read = {file.stem: _load(file) for file in _files(storage / "message" / name)}
    loaded = {as_text(message.get("id")) or stem: message for stem, message in read.items()}
    messages = dict(sorted(loaded.items(), key=lambda item: (_created(item[1]) or _NEVER, item[0])))
    loose: dict[str, list[dict[str, Any]]] = {}
    for part in map(_load, _files(storage / "part")):  # the oldest layout: all parts in one folder
        loose.setdefault(as_text(part.get("messageID")), []).append(part)

    def parts(message: str) -> list[dict[str, Any]]:
        inside = [_load(file) for file in _files(storage / "part" / message)] if _is_name(message) else []
        return [*inside, *loose.get(message, ())]

    return _Stored(about, messages, parts, path.stat().st_mtime)


def _read_stored(stored: _Stored | None, mark: Mark | None, until: dt.datetime | None) -> Reading:
    if stored is None:
        return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
    about, ids = stored.about, list(stored.messages)
    if (reverted := as_dict(about.get("revert")).get("messageID")) in ids:
        ids = ids[: ids.index(reverted)]  # the user went back to before that message
    begin, rewritten = resume_at(ids, mark)
    notes = Notes(dict(mark.facts) if mark and begin else {})
    facts, unknown, end = notes.facts, 0, begin
    for name in ids[begin:]:
        message = stored.messages[name]
        speaker, at = _SPEAKERS.get(as_text(message.get("role"))), _created(message)
        if speaker is None or at is None:
            unknown, end = unknown + 1, end + 1
            continue
        if (until and at > until) or (name == ids[-1] and _is_unfinished(message, at, stored.latest)):
            break
        end += 1
        own = (
            message.get("summary") is True
            or {as_text(message.get("mode")), as_text(message.get("agent"))} & _OWN_AGENTS
        )
        if speaker is Speaker.AGENT and own:
            facts["compacted"] = True
        elif text := _text(stored.parts(name), speaker):
            digest = digest_of((text,))
            # After a summary the program sends the last prompt once more, as if the user had.
            again = speaker is Speaker.OWNER and facts.pop("compacted", False) and facts.get("last") == digest
            if not again:
                notes.messages.append(Message(name, at, speaker, text))
            if speaker is Speaker.OWNER:
                facts["last"] = digest
    if isinstance(folder := about.get("directory"), str):
        facts["cwd"] = folder
    kind = Kind.ISOLATED if about.get("parentID") else Kind.MAIN
    session = notes.session(str(about["id"]), AGENT, kind, started=as_dict(about.get("time")).get("created"))
    return Reading(session, Mark(end, digest_of(ids[:end]), facts), end == len(ids), unknown, rewritten)


def _text(parts: Iterable[dict[str, Any]], speaker: Speaker) -> str:
    """What was typed or said: no tools, no thoughts, no files, nothing that the program put in."""
    typed = (part for part in parts if part.get("type") == "text" and not part.get("synthetic"))
    texts = (as_text(part.get("text")).strip() for part in typed if not part.get("ignored"))
    text = "\n".join(filter(None, texts))
    # `opencode run "…"` stores an argument with spaces in quotation marks, those inside it escaped.
    if speaker is Speaker.OWNER and " " in text and (quoted := _ARGUMENT.fullmatch(text)):
        text = quoted[1].replace('\\"', '"').strip()
    return text


def _is_unfinished(message: dict[str, Any], at: dt.datetime, latest: float) -> bool:
    """Whether an answer is still being written: it says when it is done, and its store was written to just now."""
    done = as_dict(message.get("time")).get("completed") or message.get("finish") or message.get("error")
    return message.get("role") == "assistant" and not done and latest - at.timestamp() < _STALE


def _created(stored: dict[str, Any]) -> dt.datetime | None:
    return parse_time(as_dict(stored.get("time")).get("created"))


def _is_name(name: str) -> bool:
    """Whether an id can be the name of a folder, and no way out of it."""
    return name not in ("", ".", "..") and not any(sign in name for sign in "/\\:\0")


def _files(folder: Path, pattern: str = "*.json") -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _load(path: Path) -> dict[str, Any]:
    try:
        return _parsed(path.read_bytes())
    except OSError:
        return {}  # vanished meanwhile


def _parsed(data: object) -> dict[str, Any]:
    return (parse_json(data) if isinstance(data, str | bytes) else None) or {}


SOURCE = Source(AGENT, find, read)
