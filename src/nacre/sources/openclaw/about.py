"""What the database tells of a session beside its events: its kind, its group, where it was copied from.

The file also holds credentials. Only the four tables named here are ever read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacre.model.session import Kind
from nacre.sources.openclaw.envelope import called
from nacre.sources.openclaw.events import kind_of_key, owner_ids
from nacre.sources.reading import as_text, parse_json
from nacre.sources.registry import sign_of

EVENTS, WINDOWS, NODES, REWRITES = TABLES = (
    "transcript_events",
    "session_windows",
    "session_nodes",
    "transcript_rewrite_watermarks",
)
_WINDOW = "SELECT * FROM session_windows WHERE session_id = ?"
_NODE = "SELECT * FROM session_nodes WHERE session_key = ?"
_REWRITE = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?"
_DIRECT = "SELECT session_key FROM session_nodes WHERE session_key GLOB '*:direct:*' OR session_key GLOB '*:dm:*'"
_NOBODYS = frozenset({"spawn", "cron", "internal", "plugin"})  # who made a session, where no person did
_SHARED = frozenset({"group", "channel"})
_LABEL = re.compile(r"\A[^:]*:(?:g-)?#?")  # `telegram:g-garden-club`


@dataclass(frozen=True)
class About:
    """One session, as far as its rows in the small tables tell."""

    known: Mapping[str, Any]  # its kind, the sign of its chat, the name of its group, the owner's ids
    generation: str  # changes when what was written is written anew
    sources: tuple[str, ...]  # sessions whose events it may have begun as a copy of


def tables(connection: sqlite3.Connection) -> frozenset[str]:
    """Those of our tables that this database has."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(as_text(name) for (name,) in found) & frozenset(TABLES)


def about(connection: sqlite3.Connection, session: str, there: frozenset[str]) -> About | None:
    """What is told of a session; None when there is none of this name."""
    window = _row(connection, _WINDOW, session) if WINDOWS in there else {}
    if not window:
        return None
    node = _row(connection, _NODE, as_text(window.get("session_key"))) if NODES in there else {}
    rewrite = _row(connection, _REWRITE, session) if REWRITES in there else {}
    kind = _kind(window, node)
    known: dict[str, Any] = {"kind": kind, "chat": sign_of(as_text(window.get("session_key")))}
    if kind is Kind.GROUP:
        known |= {"group": _group(window, node), "owners": _owners(connection, there)}
    sources = (as_text(window.get("previous_session_id")), as_text(node.get("fork_source_session_id")))
    return About(known, as_text(rewrite.get("generation")), tuple(one for one in sources if one and one != session))


@dataclass(frozen=True)
class Standing:
    """What a session is by its key: its kind, the name of its group, the key of the session that it was made by or lies below."""

    kind: Kind
    group: str
    above: str
    by_operator: bool  # made by whoever holds the gateway, from its own page or terminal


def standing(connection: sqlite3.Connection, key: str) -> Standing | None:
    """What is told of a session by its key; None when there is none."""
    there = tables(connection)
    node = _row(connection, _NODE, key) if NODES in there else {}
    if not node:
        return None
    window = _row(connection, _WINDOW, as_text(node.get("current_session_id"))) if WINDOWS in there else {}
    row = {**window, "session_key": key}
    shared = {as_text(window.get("chat_type")), as_text(window.get("session_scope"))} & _SHARED
    kind = Kind.GROUP if shared or kind_of_key(key) is Kind.GROUP else _kind(row, node)
    above = (
        as_text(node.get("parent_session_key")) or as_text(window.get("spawned_by")) or as_text(node.get("spawned_by"))
    )
    group = _group(window, node) if kind is Kind.GROUP else ""
    return Standing(kind, group, above if above != key else "", as_text(node.get("created_via")) == "operator")


def _row(connection: sqlite3.Connection, query: str, value: str) -> dict[str, Any]:
    cursor = connection.execute(query, (value,))
    row = cursor.fetchone()
    return dict(zip((column[0] for column in cursor.description), row, strict=True)) if row else {}


def _kind(window: Mapping[str, Any], node: Mapping[str, Any]) -> Kind:
    by_key = kind_of_key(as_text(window.get("session_key")))
    made_by_nobody = as_text(node.get("created_via")) in _NOBODYS or any(
        as_text(row.get(name))
        for row in (window, node)
        for name in ("spawned_by", "plugin_owner_id", "hook_external_content_source")
    )
    if made_by_nobody or by_key is Kind.ISOLATED:
        return Kind.ISOLATED
    shared = {as_text(window.get("chat_type")), as_text(window.get("session_scope"))} & _SHARED
    return Kind.GROUP if shared else by_key


def _group(window: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """What a group is called: by its people, else by OpenClaw, never its id."""
    entry = parse_json(as_text(node.get("entry_json")).encode("utf-8", errors="replace")) or {}
    label = _LABEL.sub("", as_text(node.get("display_name")) or as_text(window.get("display_name")), count=1)
    return called(entry.get("subject")) or called(entry.get("groupChannel")) or called(label)


def _owners(connection: sqlite3.Connection, there: frozenset[str]) -> tuple[str, ...]:
    return owner_ids(direct_keys(connection)) if NODES in there else ()


def direct_keys(connection: sqlite3.Connection) -> list[str]:
    """The keys of the chats in which one person talks to the agent."""
    return [as_text(key) for (key,) in connection.execute(_DIRECT)]
