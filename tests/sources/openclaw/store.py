"""A database as OpenClaw 2026.9 lays it out, written row by row. Its checks need a newer SQLite than some Pythons bring."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.sources.steps import NOON, as_kept, stamp

from nacre.sources.openclaw import DATABASE as SOURCE
from nacre.sources.openclaw import zstandard
from nacre.sources.transcript import Places, Reading, Transcript

zstd = zstandard()
TABLES = """
    CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT,
        created_at INTEGER NOT NULL, event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT,
        PRIMARY KEY (session_id, seq));
    CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT, entry_json TEXT,
        created_at INTEGER, created_via TEXT, parent_session_key TEXT, spawned_by TEXT, fork_source_session_key TEXT,
        fork_source_session_id TEXT, fork_source_entry_id TEXT, display_name TEXT);
    CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL,
        previous_session_id TEXT, session_scope TEXT, created_at INTEGER, transcript_updated_at INTEGER,
        plugin_owner_id TEXT, hook_external_content_source TEXT, chat_type TEXT, spawned_by TEXT, display_name TEXT);
    CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL);
    CREATE TABLE auth_profile_store (store_key TEXT PRIMARY KEY, store_json TEXT);
    INSERT INTO auth_profile_store VALUES ('k', 'a secret');
"""


def millis(at: float) -> int:
    return int((NOON + dt.timedelta(seconds=at)).timestamp() * 1000)


def head(name: str, at: float = 0) -> dict[str, Any]:
    return {"type": "session", "version": 4, "id": name, "timestamp": stamp(at), "cwd": "/home/robin"}


def says(role: str, text: str, at: float, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": text, "timestamp": millis(at)} | more
    return {"type": "message", "id": f"{role}-{at}-{text[:9]}", "timestamp": stamp(at), "message": message}


def user(text: str, at: float, **more: Any) -> dict[str, Any]:
    return says("user", text, at, __openclaw={"senderIsOwner": True}, **more)


def agent(text: str, at: float, **more: Any) -> dict[str, Any]:
    return says("assistant", text, at, **more)


class Store:
    """One agent's database, open for writing as the gateway has it."""

    def __init__(self, home: Path, *, journal: str = "wal") -> None:
        self.places = Places(home)
        self.path = home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
        self.path.parent.mkdir(parents=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.connection.execute(f"PRAGMA journal_mode={journal}")
        self.connection.executescript(TABLES)

    def close(self) -> None:
        self.connection.close()

    def run(self, query: str, *values: object) -> None:
        self.connection.execute(query, values)

    def session(self, name: str, key: str = "agent:main:main", **more: Any) -> None:
        self._insert("session_windows", {"session_id": name, "session_key": key} | more)
        self.run(
            "INSERT OR IGNORE INTO session_nodes (session_key, created_via, entry_json) VALUES (?, 'run', '{}')", key
        )
        self.generation(name, f"g-{name}")

    def node(self, key: str, **more: Any) -> None:
        self.run("DELETE FROM session_nodes WHERE session_key = ?", key)
        self._insert("session_nodes", {"session_key": key, "entry_json": "{}"} | more)

    def generation(self, name: str, value: str) -> None:
        self.run("INSERT OR REPLACE INTO transcript_rewrite_watermarks VALUES (?, ?)", name, value)

    def add(self, name: str, *events: dict[str, Any], begin: int | None = None) -> None:
        (last,) = self.connection.execute(
            "SELECT coalesce(max(seq), -1) FROM transcript_events WHERE session_id = ?", (name,)
        ).fetchone()
        for seq, event in enumerate(events, last + 1 if begin is None else begin):
            self.row(name, seq, json.dumps(event, ensure_ascii=False, separators=(",", ":")), event.get("timestamp"))

    def row(self, name: str, seq: object, plain: object, at: object = None, packed: object = None) -> None:
        created = int(dt.datetime.fromisoformat(at).timestamp() * 1000) if isinstance(at, str) else millis(0)
        query = (
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_zstd) VALUES (?, ?, ?, ?, ?)"
        )
        self.run(query, name, seq, plain, created, packed)

    def _insert(self, table: str, values: dict[str, Any]) -> None:
        marks = ", ".join("?" for _ in values)
        self.run(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def found(self) -> dict[str, Transcript]:
        return {one.session: one for one in SOURCE.find(self.places)}

    def read(self, name: str, before: Reading | None = None, until: dt.datetime | None = None) -> Reading:
        return SOURCE.read(self.found()[name], as_kept(before.mark) if before else None, until)
