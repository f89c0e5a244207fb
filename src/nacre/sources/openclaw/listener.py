"""Who listens in a session of OpenClaw, by its key: the owner, or a group by the name that its talks are stamped with.

What a session may be told is decided by this, so it is told from what OpenClaw itself keeps, never from what was said.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from nacre.guard.secrets import redact
from nacre.model.session import Kind
from nacre.sources.openclaw.about import standing
from nacre.sources.openclaw.events import AGENT, kind_of_key
from nacre.sources.readonly import looking_into
from nacre.sources.transcript import Places
from nacre.vault.workspace import slug_of

MAIN, GROUP = "main", "group"
_AGENT = re.compile(r"agent:([^:/\\]+):")
_BY_ANOTHER = re.compile(r"(?:\A|:)(?:subagent|acp):")  # a session that was made by another, for which it works
_DEEPEST = 8  # sub-agents of sub-agents


def database(places: Places, key: str) -> Path:
    """The database of the agent that a key names; of the first agent where it names none."""
    found = _AGENT.match(key)
    agent = found[1].lower() if found and found[1] not in (".", "..") else MAIN
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw")
    return root / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def scope_of(places: Places, key: str) -> str | None:
    """`main` or `group:NAME`; None where it cannot be told whom a session works for, which is then nobody."""
    try:
        with looking_into(database(places, key)) as connection:
            return _scope(connection, key)
    except (sqlite3.Error, UnicodeDecodeError):
        return _by_key(key)  # busy, or made with the first turn


def _scope(connection: sqlite3.Connection, key: str) -> str | None:
    for _ in range(_DEEPEST):
        about = standing(connection, key)
        if about is None:
            return _by_key(key)
        if about.kind is Kind.GROUP:
            return named(about.group)
        if not about.above:
            return _by_key(key)
        key = about.above
    return None


def _by_key(key: str) -> str | None:
    """As far as the key alone tells it. The group of a session that is not known yet has no name."""
    if kind_of_key(key) is Kind.GROUP:
        return named("")
    return None if _BY_ANOTHER.search(key) else MAIN


def named(group: str) -> str:
    """The scope of a group: its name as the headings of its talks have it."""
    return f"{GROUP}:{slug_of(redact(group or GROUP).text)}"
