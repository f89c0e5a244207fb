"""Proofs in a scratch workspace: what is written is found again, and a session of each agent is captured, written and found."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config.settings import SourcesSettings, SyncSettings
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.context import Context
from nacre.model.hit import Hit, SearchReport
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.sources.transcript import Source, Transcript

Write = Callable[[Path], None]

SESSION = "0000face-0000-4000-8000-000000000001"
SAMPLE_MESSAGES = (
    ("user", "Please look into why the nightly build of the shop fails."),
    ("assistant", "The lockfile was written by another package manager; it builds again."),
    ("user", "From now on always use pnpm, never npm, in this repository."),
    ("assistant", "Understood, pnpm it is."),
)


def _messages() -> list[tuple[int, str, str, dt.datetime]]:
    """The messages with their numbers and times: some minutes of yesterday, so that the session counts as ended."""
    begin = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(hours=20)
    return [(at, role, text, begin + dt.timedelta(minutes=at)) for at, (role, text) in enumerate(SAMPLE_MESSAGES)]


def _zulu(moment: dt.datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _millis(moment: dt.datetime) -> int:
    return int(moment.timestamp() * 1000)


def _write(path: Path, *entries: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries), "utf-8")


def claude(home: Path) -> None:
    entries = []
    for number, role, text, at in _messages():
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        about = {"uuid": f"u{number}", "sessionId": SESSION, "timestamp": _zulu(at), "cwd": "/scratch/shop"}
        entries.append({"type": role, **about, "message": {"role": role, "content": content}})
    _write(home / ".claude" / "projects" / "-scratch-shop" / f"{SESSION}.jsonl", *entries)


def codex(home: Path) -> None:
    begin = _messages()[0][3]
    meta = {"id": SESSION, "timestamp": _zulu(begin), "cwd": "/scratch/shop", "source": "cli"}
    entries: list[dict[str, Any]] = [{"timestamp": _zulu(begin), "type": "session_meta", "payload": meta}]
    for _, role, text, at in _messages():
        kind = "user_message" if role == "user" else "agent_message"
        entries.append({"timestamp": _zulu(at), "type": "event_msg", "payload": {"type": kind, "message": text}})
    name = f"rollout-{begin:%Y-%m-%dT%H-%M-%S}-{SESSION}.jsonl"
    _write(home / ".codex" / "sessions" / f"{begin:%Y/%m/%d}" / name, *entries)


def gemini(home: Path) -> None:
    messages = _messages()
    entries: list[dict[str, Any]] = [{"sessionId": SESSION, "startTime": _zulu(messages[0][3]), "kind": "main"}]
    for number, role, text, at in messages:
        kind = "user" if role == "user" else "gemini"
        entries.append({"id": f"m{number}", "timestamp": _zulu(at), "type": kind, "content": text})
    _write(home / ".gemini" / "tmp" / "shop" / "chats" / "session-1.jsonl", *entries)


def cursor_cli(home: Path) -> None:
    """Without times, as it writes them: that of the file counts."""
    entries = [
        {"role": role, "message": {"content": [{"type": "text", "text": text}]}} for role, text in SAMPLE_MESSAGES
    ]
    path = home / ".cursor" / "projects" / "scratch-shop" / "agent-transcripts" / f"{SESSION}.jsonl"
    _write(path, *entries)
    last = _messages()[-1][3].timestamp()
    os.utime(path, (last, last))


def cursor_ide(home: Path) -> None:
    rows: dict[str, dict[str, Any]] = {}
    headers = []
    for number, role, text, at in _messages():
        bubble = {"type": 1 if role == "user" else 2, "bubbleId": f"b{number}"}
        rows[f"bubbleId:{SESSION}:b{number}"] = {**bubble, "text": text, "createdAt": _zulu(at)}
        headers.append(bubble)
    about = {"composerId": SESSION, "createdAt": _millis(_messages()[0][3]), "fullConversationHeadersOnly": headers}
    rows[f"composerData:{SESSION}"] = about
    _fill(
        home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb",
        ["CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"],
        [("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value))) for key, value in rows.items()],
    )


def opencode(home: Path) -> None:
    storage = home / ".local" / "share" / "opencode" / "storage"
    begin = _millis(_messages()[0][3])
    about = {"id": "ses_1", "directory": "/scratch/shop", "time": {"created": begin, "updated": begin}}
    _write(storage / "session" / "p" / "ses_1.json", about)
    for number, role, text, at in _messages():
        name = f"msg_{number}"
        when = {"created": _millis(at), "completed": _millis(at) + 500}
        message = {"id": name, "sessionID": "ses_1", "role": role, "time": when}
        _write(storage / "message" / "ses_1" / f"{name}.json", message)
        part = {"id": f"prt_{number}", "messageID": name, "type": "text", "text": text}
        _write(storage / "part" / name / f"prt_{number}.json", part)


def _openclaw_events() -> list[dict[str, Any]]:
    begin = _zulu(_messages()[0][3])
    events: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": begin, "cwd": "/scratch"}
    ]
    for number, role, text, at in _messages():
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
        if role == "user":
            message["__openclaw"] = {"senderIsOwner": True}
        events.append({"type": "message", "id": f"e{number}", "timestamp": _zulu(at), "message": message})
    return events


def openclaw_classic(home: Path) -> None:
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    _write(folder / f"{SESSION}.jsonl", *_openclaw_events())
    _write(folder / "sessions.json", {"agent:main:main": {"sessionId": SESSION}})


def openclaw_database(home: Path) -> None:
    key, last = "agent:main:main", _millis(_messages()[-1][3])
    event = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"
    _fill(
        home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite",
        [
            "CREATE TABLE transcript_events (session_id, seq, event_json, created_at, event_zstd, PRIMARY KEY (session_id, seq))",
            "CREATE TABLE session_nodes (session_key PRIMARY KEY, current_session_id, entry_json, created_via, parent_session_key)",
            "CREATE TABLE session_windows (session_id PRIMARY KEY, session_key, transcript_updated_at)",
        ],
        [
            *((event, (SESSION, seq, json.dumps(row), last)) for seq, row in enumerate(_openclaw_events())),
            ("INSERT INTO session_nodes VALUES (?, ?, '{}', 'operator', NULL)", (key, SESSION)),
            ("INSERT INTO session_windows VALUES (?, ?, ?)", (SESSION, key, last)),
        ],
    )


def _fill(path: Path, tables: Iterable[str], rows: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as database, database:
        for table in tables:
            database.execute(table)
        for statement, values in rows:
            database.execute(statement, values)


# By the names of the modules that read them.
SAMPLE_SESSIONS: dict[str, Write] = {
    "openclaw.classic": openclaw_classic,
    "openclaw.database": openclaw_database,
    "claude": claude,
    "codex": codex,
    "cursor.cli": cursor_cli,
    "cursor.ide": cursor_ide,
    "gemini": gemini,
    "opencode": opencode,
}


def round_trip_problems(_memory: Memory | None = None) -> list[Problem]:
    """Whether this machine can write, index and find at all."""
    try:
        _, report = try_round_trip()
    except NacreError as error:
        return [Problem("round trip", str(error), severity="error")]
    return [Problem("no vectors", report.fallback)] if report.stale and report.fallback else []


def try_round_trip() -> tuple[Hit, SearchReport]:
    """Write, index and find again in a scratch workspace: the proof that this machine can do all three."""
    written = say("Jun prefers to pay by bank transfer, never by card", "小军付款一律用银行转账，不刷卡")
    asked = say("how does Jun like to pay", "小军怎么付款")
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder, Memory.open(_scratch(folder).root) as memory:
        memory.remember(written, project="*")
        report = memory.ask(asked)
        found = next((hit for hit in report.hits if written in hit.snippet), None)
    if found is None:
        raise NacreError("What was just written was not found again.", "刚写入的内容未能查到。")
    return found, report


def try_capture(source: Source, write: Write, memory: Memory) -> str | None:
    """Lay a talk down as an agent would, read it with the agent's own reader, write it and search for it.

    Where it breaks, or none when the whole way works. The settings and the judge are those of the memory; its files are not touched.
    """
    from nacre.capture.read import sync_setup
    from nacre.capture.sync import sync
    from nacre.sources.transcript import Places

    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        write(home)
        workspace = _scratch(folder)
        config = dataclasses.replace(memory.config, sources=SourcesSettings(), sync=SyncSettings())
        clock = Clock(memory.clock.zone)
        given = dataclasses.replace(
            sync_setup(Context(workspace, config, clock), lambda: memory.brain),
            places=Places(home),
            sources=(source,),
            wanted=lambda _: True,
        )
        report = sync(given)
        if not report.looked_at:
            return say("its transcript was not found", "没有找到其对话记录")
        if not report.sections:
            return say("nothing of its transcript could be read", "其对话记录无法读取")
        with Memory(Context(workspace, config, clock)) as scratch:
            if not scratch.search("pnpm", 3, mode="text"):
                return say("what was captured was not found again", "采集到的内容未能查到")
    return None


def _scratch(folder: str) -> Workspace:
    workspace = Workspace(Path(folder) / "workspace")
    workspace.memory.mkdir(parents=True)
    workspace.machine.mkdir()
    return workspace


_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def agents_here(memory: Memory) -> list[tuple[str, Source, Transcript]]:
    """The readers that find something on this machine, each with the newest transcript; not those that are switched off."""
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import MODULES, places_of, sources

    places = places_of(memory.config)
    found: list[tuple[str, Source, Transcript]] = []
    for name, source in zip(MODULES, sources(), strict=True):
        if settings_of(memory.config, source.agent).enabled:
            newest = max(source.find(places), key=lambda transcript: transcript.changed, default=None)
            found += [(name, source, newest)] if newest else []
    return found


def agent_problems(memory: Memory) -> list[Problem]:
    """For each agent that keeps transcripts here: a proof in a scratch workspace, and whether the newest can be read and is of a known
    form. Nothing of it is kept."""
    problems: list[Problem] = []
    for name, source, newest in agents_here(memory):
        agent = source.agent
        try:
            where = try_capture(source, SAMPLE_SESSIONS[name], memory)
        except NacreError as error:
            where = str(error).rstrip(".。")
        if where is not None:
            message = say(
                f"A talk with {agent} ({name}), tried out in a scratch workspace, was not captured: {where}.",
                f"在临时工作区试采 {agent}（{name}）的对话失败：{where}。",
            )
            remedy = say('update Nacre, then run "nacre doctor" again', "请更新 Nacre，再运行“nacre doctor”")
            problems.append(Problem("capture", message, severity="error", remedy=remedy))
        path = str(newest.path)
        try:
            reading = source.read(newest, None, memory.clock.fixed)
        except OSError as error:
            reason = error.strerror or error
            message = say(
                f"The newest talk with {agent} cannot be read: {reason}.", f"无法读取与 {agent} 的最新对话：{reason}。"
            )
            remedy = say("check the permissions of the file", "请检查该文件的权限")
            problems.append(Problem("transcript unreadable", message, path, remedy=remedy))
            continue
        known = len(reading.session.messages) if reading.session else 0
        if reading.unknown >= max(_STRANGE, known):
            message = say(
                f"{reading.unknown} entries of the newest talk with {agent} are of a form that Nacre does not know.",
                f"与 {agent} 的最新对话中有 {reading.unknown} 条记录的格式 Nacre 不认识。",
            )
            remedy = say(
                'update Nacre; "nacre sync --list" shows what it can read',
                "请更新 Nacre；可用“nacre sync --list”查看能读取的内容",
            )
            problems.append(Problem("transcript of unknown form", message, path, remedy=remedy))
    return problems
