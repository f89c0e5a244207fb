"""Whether a direct chat of OpenClaw is the owner's: others may write to an agent too."""

from __future__ import annotations

import re
import sqlite3

from nacre.model.session import Kind
from nacre.sources.openclaw.about import EVENTS, NODES, WINDOWS, direct_keys, tables
from nacre.sources.openclaw.events import kind_of_key
from nacre.sources.openclaw.payload import event

_DIRECT = re.compile(
    r"agent:[^:/\\]+:(?:(?P<channel>[a-z0-9_-]+):(?:[^:]+:)?)?(?:direct|dm):(?P<person>.+?)(?::(?:thread|topic):.*)?"
)
# What was said before a fresh start counts too: with the first turn after it nothing is written yet.
_TALKS = "SELECT session_id FROM session_windows WHERE session_key = ? ORDER BY transcript_updated_at DESC LIMIT 4"
_LAST = "SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq DESC LIMIT 40"


def is_direct(key: str) -> bool:
    return _person(key) is not None


def is_owners(connection: sqlite3.Connection, key: str) -> bool:
    """Whether OpenClaw says that it is the owner who writes there; where it says so of nobody, whether nobody else writes to the agent."""
    there = tables(connection)
    if NODES not in there:
        return False
    flag = _flag(connection, key) if {EVENTS, WINDOWS} <= there else None
    if flag is not None:
        return flag
    mine = _person(key)
    people = (other for other in direct_keys(connection) if kind_of_key(other) is Kind.MAIN)
    return mine is not None and all(_person(other) == mine for other in people)


def _person(key: str) -> tuple[str, str] | None:
    found = _DIRECT.fullmatch(key) if kind_of_key(key) is Kind.MAIN else None
    return (found["channel"] or "", found["person"]) if found else None


def _flag(connection: sqlite3.Connection, key: str) -> bool | None:
    """What OpenClaw noted of the sender of the newest message of which it noted that."""
    for (session,) in connection.execute(_TALKS, (key,)).fetchall():
        cursor = connection.execute(_LAST, (session,))
        columns = [column[0] for column in cursor.description]
        for row in cursor:
            message = (event(dict(zip(columns, row, strict=True))) or {}).get("message")
            marks = message.get("__openclaw") if isinstance(message, dict) and message.get("role") == "user" else None
            flag = marks.get("senderIsOwner") if isinstance(marks, dict) else None
            if isinstance(flag, bool):
                return flag
    return None
