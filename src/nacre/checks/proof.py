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
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.config.settings import SourcesSettings, SyncSettings
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.context import Context
from nacre.model.hit import Hit, SearchReport
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.sources.reading import Source, Transcript

if TYPE_CHECKING:
    from nacre.sources.reading import Source


Write = Callable[[Path], None]

SESSION = "0000face-0000-4000-8000-000000000001"
SAMPLE_MESSAGES = (
    ("user", "Please look into why the nightly build of the shop fails."),
    ("assistant", "The lockfile was written by another package manager; it builds again."),
    ("user", "From now on always use pnpm, never npm, in this repository."),
    ("assistant", "Understood, pnpm it is."),
)


def _moments() -> list[dt.datetime]:
    """A few minutes of yesterday: over long enough ago that the talk counts as ended."""
    begin = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(hours=20)
    return [begin + dt.timedelta(minutes=number) for number in range(len(SAMPLE_MESSAGES))]


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

    told = [entry(number, *said, at) for number, (said, at) in enumerate(zip(SAMPLE_MESSAGES, _moments(), strict=True))]
    _lines(home / ".claude" / "projects" / "-scratch-shop" / f"{SESSION}.jsonl", told)


def codex(home: Path) -> None:
    begin = _moments()[0]
    meta = {"id": SESSION, "timestamp": _zulu(begin), "cwd": "/scratch/shop", "source": "cli"}
    told = [{"timestamp": _zulu(begin), "type": "session_meta", "payload": meta}]
    for (role, text), at in zip(SAMPLE_MESSAGES, _moments(), strict=True):
        kind = "user_message" if role == "user" else "agent_message"
        told.append({"timestamp": _zulu(at), "type": "event_msg", "payload": {"type": kind, "message": text}})
    day = f"{begin:%Y/%m/%d}"
    _lines(home / ".codex" / "sessions" / day / f"rollout-{begin:%Y-%m-%dT%H-%M-%S}-{SESSION}.jsonl", told)


def gemini(home: Path) -> None:
    told: list[dict[str, Any]] = [{"sessionId": SESSION, "startTime": _zulu(_moments()[0]), "kind": "main"}]
    for number, ((role, text), at) in enumerate(zip(SAMPLE_MESSAGES, _moments(), strict=True)):
        kind = "user" if role == "user" else "gemini"
        told.append({"id": f"m{number}", "timestamp": _zulu(at), "type": kind, "content": text})
    _lines(home / ".gemini" / "tmp" / "shop" / "chats" / "session-1.jsonl", told)


def cursor_cli(home: Path) -> None:
    """Without times, as it writes them: that of the file counts."""
    told = [{"role": role, "message": {"content": [{"type": "text", "text": text}]}} for role, text in SAMPLE_MESSAGES]
    path = home / ".cursor" / "projects" / "scratch-shop" / "agent-transcripts" / f"{SESSION}.jsonl"
    _lines(path, told)
    last = _moments()[-1].timestamp()
    os.utime(path, (last, last))


def cursor_ide(home: Path) -> None:
    path = home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    path.parent.mkdir(parents=True)
    rows: list[tuple[str, dict[str, Any]]] = []
    headers = []
    for number, ((role, text), at) in enumerate(zip(SAMPLE_MESSAGES, _moments(), strict=True)):
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
    for number, ((role, text), at) in enumerate(zip(SAMPLE_MESSAGES, _moments(), strict=True)):
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
    for number, ((role, text), at) in enumerate(zip(SAMPLE_MESSAGES, _moments(), strict=True)):
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


# Proofs in a scratch workspace: what is written is found again, and what is said to an agent is captured, written and
# found.


def round_trip_problems() -> list[Problem]:
    """Whether this machine can write, index and find at all."""
    try:
        _, report = try_round_trip()
    except NacreError as trouble:
        return [Problem("round trip", str(trouble), severity="error")]
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
    from nacre.sources.reading import Places

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


# The agents on this machine: whether their talks can be read, and whether the whole way from a talk to an answer
# works.

_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def agent_problems(memory: Memory) -> list[Problem]:
    """For each agent that keeps talks here: a proof in a scratch workspace, and a look at its newest talk."""
    found: list[Problem] = []
    for name, source, newest in agents_here(memory):
        found += _proven(name, source, memory)
        found += _legible(source, newest, memory)
    return found


def agents_here(memory: Memory) -> list[tuple[str, Source, Transcript]]:
    """The readers that find something on this machine, each with the newest talk; not those that are switched off."""
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import MODULES, places_of, sources

    places = places_of(memory.config)
    found: list[tuple[str, Source, Transcript]] = []
    for name, source in zip(MODULES, sources(), strict=True):
        if not settings_of(memory.config, source.agent).enabled:
            continue
        newest = max(source.find(places), key=lambda one: one.changed, default=None)
        if newest:
            found.append((name, source, newest))
    return found


def _proven(name: str, source: Source, memory: Memory) -> list[Problem]:
    try:
        where = try_capture(source, SAMPLE_SESSIONS[name], memory)
    except NacreError as trouble:
        where = str(trouble).rstrip(".。")
    if where is None:
        return []
    return [
        Problem(
            "capture",
            say(
                f"A talk with {source.agent} ({name}), tried out in a scratch workspace, was not captured: {where}.",
                f"在临时工作区试采 {source.agent}（{name}）的对话失败：{where}。",
            ),
            severity="error",
            remedy=say('update Nacre, then run "nacre doctor" again', "请更新 Nacre，再运行“nacre doctor”"),
        )
    ]


def _legible(source: Source, newest: Transcript, memory: Memory) -> list[Problem]:
    """Whether the newest talk of the user's can be read, and is of a form that is known. Nothing of it is kept."""
    try:
        reading = source.read(newest, None, memory.clock.fixed)
    except OSError as trouble:
        message = say(
            f"The newest talk with {source.agent} cannot be read: {trouble.strerror or trouble}.",
            f"无法读取与 {source.agent} 的最新对话：{trouble.strerror or trouble}。",
        )
        remedy = say("check the permissions of the file", "请检查该文件的权限")
        return [Problem("transcript unreadable", message, str(newest.path), remedy=remedy)]
    messages = len(reading.session.messages) if reading.session else 0
    if reading.unknown < _STRANGE or reading.unknown < messages:
        return []
    message = say(
        f"{reading.unknown} entries of the newest talk with {source.agent} are of a form that Nacre does not know.",
        f"与 {source.agent} 的最新对话中有 {reading.unknown} 条记录的格式 Nacre 不认识。",
    )
    remedy = say(
        'update Nacre; "nacre sync --list" shows what it can read',
        "请更新 Nacre；可用“nacre sync --list”查看能读取的内容",
    )
    return [Problem("transcript of unknown form", message, str(newest.path), remedy=remedy)]
