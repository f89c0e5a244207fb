"""Who listens in a session of OpenClaw, by its key: the owner, a group by the stamp of its sessions, or nobody.

What a session may be told depends on it, so it is read from what OpenClaw itself keeps, never from what was said. The owner
listens where that is certain; where it is not, nobody does.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from nacre.model.session import Kind
from nacre.sources import openclaw
from nacre.sources.reading import as_dict, as_text, open_readonly
from nacre.sources.registry import GROUP, chat_hash, group_stamp
from nacre.sources.transcript import Places

MAIN = "main"
_AGENT = re.compile(r"agent:([^:/\\]+):")
_MAIN_KEY = re.compile(r"agent:[^:/\\]+:main(?::heartbeat|:(?:thread|topic):[^:]+)?")
_DEEPEST = 8  # sub-agents of sub-agents
_DIRECT = re.compile(
    r"agent:[^:/\\]+:(?:(?P<channel>[a-z0-9_-]+):(?:[^:]+:)?)?(?:direct|dm):(?P<person>.+?)(?::(?:thread|topic):.*)?"
)
# What was said before a fresh start counts too: with the first turn after it nothing is written yet.
_SESSIONS = "SELECT session_id FROM session_windows WHERE session_key = ? ORDER BY transcript_updated_at DESC LIMIT 4"
_LAST = "SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq DESC LIMIT 40"


def database(places: Places, key: str) -> Path:
    """The database of the agent that a key names; of the first agent where it names none."""
    match = _AGENT.match(key)
    agent = match[1].lower() if match and match[1] not in (".", "..") else MAIN
    root = places.root(openclaw.AGENT, "OPENCLAW_STATE_DIR", ".openclaw")
    return root / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def is_incognito(key: str) -> bool:
    return ":incognito-" in key


def scope_of(places: Places, key: str) -> str | None:
    """`main` or `group:NAME`; None where it cannot be told whom a session works for, which is then nobody."""
    if is_incognito(key):
        return None
    path = database(places, key)
    try:
        with open_readonly(path) as connection:
            return _scope(connection, key)
    except openclaw.FAILURES:
        # Busy, or made with the first turn: then nobody but who talks now has ever talked to the agent.
        return MAIN if _person(key) and not path.exists() else _scope_by_key(key)


def _scope(connection: sqlite3.Connection, key: str) -> str | None:
    for _ in range(_DEEPEST):
        node = openclaw.row_of(connection, openclaw.NODE, key)
        session = as_text(node.get("current_session_id"))
        window = openclaw.row_of(connection, openclaw.WINDOW, session) if node else {}
        if node and (
            openclaw.is_shared(window) or Kind.GROUP in (openclaw.kind_of_key(key), openclaw.kind_of(key, window, node))
        ):
            return _group_scope(openclaw.group_name(window, node), key)
        if _person(key):
            return MAIN if _is_owners(connection, key) else None
        if not node or _MAIN_KEY.fullmatch(key):
            return _scope_by_key(key)
        names = ((node, "parent_session_key"), (window, "spawned_by"), (node, "spawned_by"))
        above = next((name for row, column in names if (name := as_text(row.get(column)))), key)
        if above == key:
            # Whoever holds the gateway, from its page or terminal.
            by_operator = as_text(node.get("created_via")) == "operator"
            return MAIN if by_operator and openclaw.kind_of_key(key) is Kind.MAIN else None
        key = above
    return None


def _scope_by_key(key: str) -> str | None:
    """As far as the key alone tells it. The group of a session that is not known yet has no name."""
    if openclaw.kind_of_key(key) is Kind.GROUP:
        return _group_scope("", key)
    return MAIN if _MAIN_KEY.fullmatch(key) else None


def _group_scope(group: str, key: str) -> str:
    return f"{GROUP}:{group_stamp(group, chat_hash(key))}"


def _is_owners(connection: sqlite3.Connection, key: str) -> bool:
    """Whether OpenClaw says that the owner writes in a direct chat; where it says so of nobody, whether nobody else writes to the agent."""
    for session in openclaw.rows(connection, _SESSIONS, key):
        for row in openclaw.rows(connection, _LAST, session["session_id"]):
            message = as_dict((openclaw.event_of(row) or {}).get("message"))
            flag = as_dict(message.get("__openclaw")).get("senderIsOwner") if message.get("role") == "user" else None
            if isinstance(flag, bool):
                return flag  # of the newest message that says so
    keys = (as_text(other) for (other,) in connection.execute(openclaw.DIRECT_KEYS))
    return all(_person(other) == _person(key) for other in keys if openclaw.kind_of_key(other) is Kind.MAIN)


def _person(key: str) -> tuple[str, str] | None:
    """Channel and person of a direct chat; none for any other."""
    match = _DIRECT.fullmatch(key) if openclaw.kind_of_key(key) is Kind.MAIN else None
    return (match["channel"] or "", match["person"]) if match else None
