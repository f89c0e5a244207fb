"""opencode: a database in ~/.local/share/opencode (XDG_DATA_HOME moves it), before 2026 a folder of JSON files there.

Both hold sessions, their messages, and the parts of each message, of which only some are text.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nacre.model.session import Kind, Message, Session, Speaker
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

AGENT = "opencode"
_SESSIONS = """
    SELECT s.id, s.time_updated, count(m.id), max(m.time_updated) FROM session s
    LEFT JOIN message m ON m.session_id = s.id GROUP BY s.id ORDER BY s.id
"""
_MESSAGES = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = """
    SELECT data FROM part WHERE message_id = ? AND length(data) < ?
    AND CASE WHEN json_valid(data) THEN json_extract(data, '$.type') END = 'text' ORDER BY id
"""
_SPEAKERS = {"user": Speaker.OWNER, "assistant": Speaker.AGENT}
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_OWN_AGENTS = frozenset({"compaction", "title", "summary"})  # those that write for the program, not for the user
_NEVER = dt.datetime.fromtimestamp(0, dt.UTC)
_STALE = 600.0  # seconds: an answer that nobody went on with for so long was broken off


class _Store(NamedTuple):
    """Where one session lies: what it is, its messages, and the parts of each."""

    about: dict[str, Any]
    ids: Sequence[str]
    message: Callable[[str], dict[str, Any] | None]
    parts: Callable[[str], Iterable[dict[str, Any]]]
    latest: float  # when anything here was last written


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of the database, and those of the folder that were not moved into it."""
    base = Path(places.env["XDG_DATA_HOME"]) if places.env.get("XDG_DATA_HOME") else places.home / ".local" / "share"
    root = Path(places.paths[AGENT]).expanduser() if places.paths.get(AGENT) else base / "opencode"
    moved: set[str] = set()
    for transcript in _in_database(root / "opencode.db"):
        moved.add(str(transcript.facts["session"]))
        yield transcript
    for transcript in _in_folder(root / "storage"):
        if transcript.facts["session"] not in moved:
            yield transcript


def _in_database(path: Path) -> Iterator[Transcript]:
    if not path.is_file():
        return
    try:
        with open_readonly(path) as connection:
            rows = connection.execute(_SESSIONS).fetchall()
    except sqlite3.Error:
        return  # busy, or of another form: nothing to tell this time
    for name, updated, count, last in rows:
        stamp = tuple(value if isinstance(value, int) else 0 for value in (updated, count, last))
        changed = parse_time(max(stamp[0], stamp[2]))
        moment_or_file = changed.timestamp() if changed else last_written(path)
        yield Transcript(AGENT, path, f"{path}#{name}", stamp, moment_or_file, {"session": str(name)})


def _in_folder(storage: Path) -> Iterator[Transcript]:
    for path in sorted(storage.glob("session/*/*.json")):
        told = _json(path)
        name = told.get("id") if told else None
        if not isinstance(name, str) or not _is_name(name):
            continue
        try:
            moments = [file.stat().st_mtime_ns for file in (path, *_files(storage / "message" / name))]
        except OSError:
            continue  # deleted meanwhile
        yield Transcript(AGENT, path, str(path), (len(moments), max(moments)), max(moments) / 1e9, {"session": name})


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment. A busy database is asked again the next time."""
    if transcript.path.suffix == ".json":
        return _reading(_folder_store(transcript.path), mark, until)
    name = str(transcript.facts.get("session") or transcript.key.rpartition("#")[2])
    try:
        with open_readonly(transcript.path) as connection:
            return _reading(_database_store(connection, name, last_written(transcript.path)), mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)


def _database_store(connection: sqlite3.Connection, name: str, latest: float) -> _Store | None:
    cursor = connection.execute("SELECT * FROM session WHERE id = ?", (name,))
    row = cursor.fetchone()
    if row is None:
        return None
    told = dict(zip((column[0] for column in cursor.description), row, strict=True))
    revert = _object(told.get("revert"))
    about = {
        "id": name,
        "parentID": told.get("parent_id"),
        "directory": told.get("directory"),
        "created": told.get("time_created"),
        "reverted": revert.get("messageID") if revert else None,
    }

    def message(one: str) -> dict[str, Any] | None:
        found = connection.execute(
            "SELECT data FROM message WHERE id = ? AND length(data) < ?", (one, LONGEST)
        ).fetchone()
        return _object(found[0]) if found else None

    def parts(one: str) -> Iterator[dict[str, Any]]:
        rows = connection.execute(_PARTS, (one, LONGEST)).fetchall()
        return (part for (data,) in rows if (part := _object(data)))

    ids = [str(one) for (one,) in connection.execute(_MESSAGES, (name,))]
    return _Store(about, ids, message, parts, latest)


def _folder_store(path: Path) -> _Store | None:
    about = _json(path)
    name = about.get("id") if about else None
    if about is None or not isinstance(name, str) or not _is_name(name):
        return None
    storage = path.parent.parent.parent
    found: dict[str, tuple[dt.datetime, Path]] = {}
    for file in _files(storage / "message" / name):
        message = _json(file) or {}
        found[as_text(message.get("id")) or file.stem] = (_created(message) or _NEVER, file)
    ids = sorted(found, key=lambda one: (found[one][0], one))
    time, revert = about.get("time"), about.get("revert")
    created = time.get("created") if isinstance(time, dict) else None
    reverted = revert.get("messageID") if isinstance(revert, dict) else None
    loose: dict[str, list[dict[str, Any]]] = {}
    for file in _files(storage / "part"):  # the oldest layout: all parts in one folder
        if (part := _json(file)) and as_text(part.get("messageID")) in found:
            loose.setdefault(str(part["messageID"]), []).append(part)

    def parts(one: str) -> Iterable[dict[str, Any]]:
        inside = [part for file in _files(storage / "part" / one) if (part := _json(file))] if _is_name(one) else []
        return [*inside, *loose.get(one, ())]

    told = {**about, "created": created, "reverted": reverted}
    return _Store(told, ids, lambda one: _json(found[one][1]), parts, path.stat().st_mtime)


def _reading(store: _Store | None, mark: Mark | None, until: dt.datetime | None) -> Reading:
    if store is None:
        return Reading(None, Mark(), rewritten=bool(mark and mark.offset))
    ids = list(store.ids)
    if (reverted := store.about.get("reverted")) in ids:
        ids = ids[: ids.index(reverted)]  # the user went back to before that message
    begin, rewritten = resume_at(ids, mark)
    facts: dict[str, Any] = dict(mark.facts) if mark and begin else {}
    messages: list[Message] = []
    unknown, end = 0, begin
    for name in ids[begin:]:
        told = store.message(name)
        speaker, at = _SPEAKERS.get(as_text(told.get("role"))) if told else None, _created(told or {})
        if told is None or speaker is None or at is None:
            unknown, end = unknown + 1, end + 1
            continue
        if (until and at > until) or (name == ids[-1] and _is_unfinished(told, at, store.latest)):
            break
        end += 1
        if _is_summary(told):
            facts["compacted"] = True
        elif words := _words(store.parts(name), speaker):
            known = digest_of((words,))
            # After a summary the program sends the last prompt once more, as if the user had.
            again = speaker is Speaker.OWNER and facts.pop("compacted", False) and facts.get("last") == known
            if not again:
                messages.append(Message(name, at, speaker, words))
            if speaker is Speaker.OWNER:
                facts["last"] = known
    if isinstance(folder := store.about.get("directory"), str):
        facts["cwd"] = folder
    session = Session(
        str(store.about["id"]),
        AGENT,
        Kind.ISOLATED if store.about.get("parentID") else Kind.MAIN,
        parse_time(store.about.get("created")),
        tuple(messages),
        cwd=str(facts.get("cwd", "")),
    )
    return Reading(session, Mark(end, digest_of(ids[:end]), facts), end == len(ids), unknown, rewritten)


def _words(parts: Iterable[dict[str, Any]], speaker: Speaker) -> str:
    """What was typed or said: no tools, no thoughts, no files, nothing that the program put in."""
    texts = (
        part.get("text")
        for part in parts
        if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
    )
    words = "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
    # `opencode run "…"` stores an argument with spaces in quotation marks, those inside it escaped.
    if speaker is Speaker.OWNER and " " in words and (quoted := _ARGUMENT.fullmatch(words)):
        words = quoted[1].replace('\\"', '"').strip()
    return words


def _is_summary(told: dict[str, Any]) -> bool:
    if told.get("role") != "assistant":
        return False
    return told.get("summary") is True or any(told.get(key) in tuple(_OWN_AGENTS) for key in ("mode", "agent"))


def _is_unfinished(told: dict[str, Any], at: dt.datetime, latest: float) -> bool:
    """Whether an answer is still being written: it says when it is done, and its store was written to just now."""
    time = told.get("time")
    done = isinstance(time, dict) and time.get("completed")
    if told.get("role") != "assistant" or done or told.get("finish") or told.get("error"):
        return False
    return latest - at.timestamp() < _STALE


def _created(told: dict[str, Any]) -> dt.datetime | None:
    time = told.get("time")
    return parse_time(time.get("created")) if isinstance(time, dict) else None


def _is_name(name: str) -> bool:
    """Whether an id can be the name of a folder, and no way out of it."""
    return name not in ("", ".", "..") and not any(sign in name for sign in "/\\:\0")


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(
            Path(entry.path) for entry in os.scandir(folder) if entry.name.endswith(".json") and entry.is_file()
        )
    except (OSError, ValueError):
        return []  # a message without parts has no folder


def _json(path: Path) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST)
    except OSError:
        return None  # vanished meanwhile
    return parse_json(raw)


def _object(data: object) -> dict[str, Any] | None:
    if isinstance(data, str):
        return parse_json(data.encode("utf-8", errors="replace"))
    return parse_json(data) if isinstance(data, bytes) else None


SOURCE = Source(AGENT, find, read)
