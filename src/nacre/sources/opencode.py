"""opencode: a database in ~/.local/share/opencode (XDG_DATA_HOME moves it) of sessions, their messages, and the parts of each."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nacre.model import Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text, parse_json, parse_time

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
_OWN_AGENTS = ("compaction", "title", "summary")  # those that write for the program, not for the user
_STALE = 600.0  # seconds: an answer that nobody went on with for so long was broken off


def find(places: Places) -> Iterator[Transcript]:
    base = Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share")
    path = Path(places.paths.get(AGENT) or base / "opencode").expanduser() / "opencode.db"
    if not path.is_file():
        return
    try:
        with reading.open_readonly(path) as connection:
            rows = connection.execute(_SESSIONS).fetchall()
    except sqlite3.Error:
        return  # busy, or of another form: nothing to list this time
    for name, updated, count, last in rows:
        stamp = tuple(value if isinstance(value, int) else 0 for value in (updated, count, last))
        yield reading.in_database(AGENT, path, name, stamp, max(stamp[0], stamp[2]))


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    try:
        with reading.open_readonly(transcript.path) as connection:
            row = connection.execute("SELECT * FROM session WHERE id = ?", (transcript.session,)).fetchone()
            if row is None:
                return reading.missing_transcript(mark)
            return _read_messages(connection, dict(row), reading.last_written(transcript.path), mark, until)
    except sqlite3.Error:
        return Reading(None, mark or Mark(), whole=False)


def _read_messages(
    connection: sqlite3.Connection, about: dict[str, Any], latest: float, mark: Mark | None, until: dt.datetime | None
) -> Reading:
    """Read the messages of a session; `latest` is when the database was last written to."""
    messages = {str(name): parse_json(data) for name, data in connection.execute(_MESSAGES, (about["id"],))}
    ids = list(messages)
    reverted = (parse_json(about.get("revert")) or {}).get("messageID")
    if reverted in ids:
        ids = ids[: ids.index(reverted)]  # the user went back to before that message

    def take(message: dict[str, Any], at: dt.datetime | None, name: str, notes: Notes) -> None:
        # An answer that is still being written: it says when it is done, and its store was written to just now.
        done = message["time"].get("completed") or message.get("finish") or message.get("error")
        is_answer = message.get("role") == "assistant"
        if at and name == ids[-1] and is_answer and not done and latest - at.timestamp() < _STALE:
            raise reading.Unfinished
        speaker, facts = _SPEAKERS[message["role"]], notes.facts
        by_own_agent = message.get("mode") in _OWN_AGENTS or message.get("agent") in _OWN_AGENTS
        parts = (parse_json(data) or {} for (data,) in connection.execute(_PARTS, (name,)))
        if speaker is Speaker.AGENT and (by_own_agent or message.get("summary") is True):
            facts["compacted"] = True
        elif text := _text(parts, speaker):
            digest = reading.digest_of((text,))
            # After a summary the program sends the last prompt once more, as if the user had.
            is_again = speaker is Speaker.OWNER and facts.pop("compacted", False) and facts.get("last") == digest
            if not is_again:
                notes.add(name, at, speaker, text)
            if speaker is Speaker.OWNER:
                facts["last"] = digest

    def make(notes: Notes) -> Session:
        notes.facts["cwd"] = as_text(about.get("directory"))
        return notes.session(str(about["id"]), AGENT, isolated=about.get("parent_id"))

    def time(message: dict[str, Any], _: Notes) -> dt.datetime | None:
        return parse_time(message["time"]["created"])

    return reading.follow_list(ids, messages.__getitem__, mark, until, take, make, time)


def _text(parts: Iterable[dict[str, Any]], speaker: Speaker) -> str:
    """What was typed or said: no tools, no thoughts, no files, nothing that the program put in."""
    typed = (part for part in parts if part.get("type") == "text" and not part.get("synthetic"))
    texts = (as_text(part.get("text")).strip() for part in typed if not part.get("ignored"))
    text = "\n".join(filter(None, texts))
    # `opencode run "…"` stores an argument with spaces in quotation marks, those inside it escaped.
    if speaker is Speaker.OWNER and " " in text and (quoted := _ARGUMENT.fullmatch(text)):
        text = quoted[1].replace('\\"', '"').strip()
    return text


SOURCE = Source(AGENT, find, read)
