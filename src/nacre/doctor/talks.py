"""A short talk as each agent keeps its own: for the proof that it can be captured."""

from __future__ import annotations

import datetime as dt
import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

Write = Callable[[Path], None]

SESSION = "0000face-0000-4000-8000-000000000001"
SAID = (
    ("user", "Please look into why the nightly build of the shop fails."),
    ("assistant", "The lockfile was written by another package manager; it builds again."),
    ("user", "From now on always use pnpm, never npm, in this repository."),
    ("assistant", "Understood, pnpm it is."),
)


def _moments() -> list[dt.datetime]:
    """A few minutes of yesterday: over long enough ago that the talk counts as ended."""
    begin = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(hours=20)
    return [begin + dt.timedelta(minutes=number) for number in range(len(SAID))]


def _zulu(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _millis(moment: dt.datetime) -> int:
    return int(moment.timestamp() * 1000)


def _lines(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries), "utf-8")


def _json(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def claude(home: Path) -> None:
    def entry(number: int, role: str, text: str, at: dt.datetime) -> dict[str, Any]:
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        about = {"uuid": f"u{number}", "sessionId": SESSION, "timestamp": _zulu(at), "cwd": "/scratch/shop"}
        return {"type": role, **about, "message": {"role": role, "content": content}}

    told = [entry(number, *said, at) for number, (said, at) in enumerate(zip(SAID, _moments(), strict=True))]
    _lines(home / ".claude" / "projects" / "-scratch-shop" / f"{SESSION}.jsonl", told)


def codex(home: Path) -> None:
    begin = _moments()[0]
    meta = {"id": SESSION, "timestamp": _zulu(begin), "cwd": "/scratch/shop", "source": "cli"}
    told = [{"timestamp": _zulu(begin), "type": "session_meta", "payload": meta}]
    for (role, text), at in zip(SAID, _moments(), strict=True):
        kind = "user_message" if role == "user" else "agent_message"
        told.append({"timestamp": _zulu(at), "type": "event_msg", "payload": {"type": kind, "message": text}})
    day = f"{begin:%Y/%m/%d}"
    _lines(home / ".codex" / "sessions" / day / f"rollout-{begin:%Y-%m-%dT%H-%M-%S}-{SESSION}.jsonl", told)


def gemini(home: Path) -> None:
    told: list[dict[str, Any]] = [{"sessionId": SESSION, "startTime": _zulu(_moments()[0]), "kind": "main"}]
    for number, ((role, text), at) in enumerate(zip(SAID, _moments(), strict=True)):
        kind = "user" if role == "user" else "gemini"
        told.append({"id": f"m{number}", "timestamp": _zulu(at), "type": kind, "content": text})
    _lines(home / ".gemini" / "tmp" / "shop" / "chats" / "session-1.jsonl", told)


def cursor_cli(home: Path) -> None:
    """Without times, as it writes them: that of the file counts."""
    told = [{"role": role, "message": {"content": [{"type": "text", "text": text}]}} for role, text in SAID]
    path = home / ".cursor" / "projects" / "scratch-shop" / "agent-transcripts" / f"{SESSION}.jsonl"
    _lines(path, told)
    last = _moments()[-1].timestamp()
    os.utime(path, (last, last))


def cursor_ide(home: Path) -> None:
    path = home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True)
    rows: list[tuple[str, dict[str, Any]]] = []
    headers = []
    for number, ((role, text), at) in enumerate(zip(SAID, _moments(), strict=True)):
        kind = 1 if role == "user" else 2
        bubble = {"type": kind, "bubbleId": f"b{number}", "text": text, "createdAt": _zulu(at)}
        rows.append((f"bubbleId:{SESSION}:b{number}", bubble))
        headers.append({"bubbleId": f"b{number}", "type": kind})
    about = {"composerId": SESSION, "createdAt": _millis(_moments()[0]), "fullConversationHeadersOnly": headers}
    rows.append((f"composerData:{SESSION}", about))
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        database.executemany(
            "INSERT INTO cursorDiskKV VALUES (?, ?)", [(key, json.dumps(value)) for key, value in rows]
        )


def opencode(home: Path) -> None:
    storage = home / ".local" / "share" / "opencode" / "storage"
    begin = _millis(_moments()[0])
    about = {"id": "ses_1", "directory": "/scratch/shop", "time": {"created": begin, "updated": begin}}
    _json(storage / "session" / "p" / "ses_1.json", about)
    for number, ((role, text), at) in enumerate(zip(SAID, _moments(), strict=True)):
        name = f"msg_{number}"
        when = {"created": _millis(at), "completed": _millis(at) + 500}
        message = {"id": name, "sessionID": "ses_1", "role": role, "time": when}
        _json(storage / "message" / "ses_1" / f"{name}.json", message)
        part = {"id": f"prt_{number}", "messageID": name, "type": "text", "text": text}
        _json(storage / "part" / name / f"prt_{number}.json", part)


def _openclaw_events() -> list[dict[str, Any]]:
    begin = _zulu(_moments()[0])
    told: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": begin, "cwd": "/scratch"}
    ]
    for number, ((role, text), at) in enumerate(zip(SAID, _moments(), strict=True)):
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
        if role == "user":
            message["__openclaw"] = {"senderIsOwner": True}
        told.append({"type": "message", "id": f"e{number}", "timestamp": _zulu(at), "message": message})
    return told


def openclaw_classic(home: Path) -> None:
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    _lines(folder / f"{SESSION}.jsonl", _openclaw_events())
    _json(folder / "sessions.json", {"agent:main:main": {"sessionId": SESSION}})


def openclaw_database(home: Path) -> None:
    path = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    key, last = "agent:main:main", _millis(_moments()[-1])
    events = [(SESSION, seq, json.dumps(event), last) for seq, event in enumerate(_openclaw_events())]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,"
            " event_zstd BLOB, PRIMARY KEY (session_id, seq))"
        )
        database.execute(
            "CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT,"
            " created_via TEXT, parent_session_key TEXT)"
        )
        database.execute(
            "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, transcript_updated_at INTEGER)"
        )
        database.executemany(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)", events
        )
        database.execute("INSERT INTO session_nodes VALUES (?, ?, '{}', 'operator', NULL)", (key, SESSION))
        database.execute("INSERT INTO session_windows VALUES (?, ?, ?)", (SESSION, key, last))


# By the names of the modules that read them.
TALKS: dict[str, Write] = {
    "openclaw.classic": openclaw_classic,
    "openclaw.database": openclaw_database,
    "claude": claude,
    "codex": codex,
    "cursor.cli": cursor_cli,
    "cursor.ide": cursor_ide,
    "gemini": gemini,
    "opencode": opencode,
}
