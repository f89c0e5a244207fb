"""Who listens in a session of OpenClaw, by its key: the owner, a group by what its talks are stamped with, or nobody.

What a session may be told is decided by this, so it is told from what OpenClaw itself keeps, never from what was said. The owner
listens where that is certain; a session of which it is not is nobody's.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from nacre.model.session import Kind
from nacre.sources.openclaw.about import standing
from nacre.sources.openclaw.events import AGENT, kind_of_key
from nacre.sources.openclaw.owner import is_direct, is_owners
from nacre.sources.reading import Places, open_readonly
from nacre.sources.registry import GROUP, group_stamp, sign_of

MAIN = "main"
_AGENT = re.compile(r"agent:([^:/\\]+):")
_MAIN_KEY = re.compile(r"agent:[^:/\\]+:main(?::heartbeat|:(?:thread|topic):[^:]+)?")
_INCOGNITO = ":incognito-"
_DEEPEST = 8  # sub-agents of sub-agents


def database(places: Places, key: str) -> Path:
    """The database of the agent that a key names; of the first agent where it names none."""
    found = _AGENT.match(key)
    agent = found[1].lower() if found and found[1] not in (".", "..") else MAIN
    root = places.root(AGENT, "OPENCLAW_STATE_DIR", ".openclaw")
    return root / "agents" / agent / "agent" / "openclaw-agent.sqlite"


def is_incognito(key: str) -> bool:
    """Whether a session wants to leave no trace: nothing of it is noted, and memory is not asked for it."""
    return _INCOGNITO in key


def scope_of(places: Places, key: str) -> str | None:
    """`main` or `group:NAME`; None where it cannot be told whom a session works for, which is then nobody."""
    if is_incognito(key):
        return None
    path = database(places, key)
    try:
        with open_readonly(path) as connection:
            return _scope(connection, key)
    except (sqlite3.Error, UnicodeDecodeError):
        # Busy, or made with the first turn: then nobody but who talks now has ever talked to the agent.
        return MAIN if is_direct(key) and not path.exists() else _by_key(key)


def _scope(connection: sqlite3.Connection, key: str) -> str | None:
    for _ in range(_DEEPEST):
        about = standing(connection, key)
        if about is not None and about.kind is Kind.GROUP:
            return named(about.group, key)
        if is_direct(key):
            return MAIN if is_owners(connection, key) else None
        if about is None or _MAIN_KEY.fullmatch(key):
            return _by_key(key)
        if not about.above:
            return MAIN if about.by_operator and kind_of_key(key) is Kind.MAIN else None
        key = about.above
    return None


def _by_key(key: str) -> str | None:
    """As far as the key alone tells it. The group of a session that is not known yet has no name."""
    if kind_of_key(key) is Kind.GROUP:
        return named("", key)
    return MAIN if _MAIN_KEY.fullmatch(key) else None


def named(group: str, key: str) -> str:
    """The scope of a group: as the headings of its talks have it."""
    return f"{GROUP}:{group_stamp(group, sign_of(key))}"
