"""Proofs in a scratch workspace: what is written is found again, and a session of each agent is captured, written and found."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
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

SESSION = "0000face-0000-4000-8000-000000000001"
CWD = "/scratch/shop"
SAMPLE_MESSAGES = (
    ("user", "Please look into why the nightly build of the shop fails."),
    ("assistant", "The lockfile was written by another package manager; it builds again."),
    ("user", "From now on always use pnpm, never npm, in this repository."),
    ("assistant", "Understood, pnpm it is."),
)
_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def write_sample(name: str, home: Path) -> None:
    """Lay a session down where and as an agent keeps it, named by the module that reads it: some minutes of yesterday, so that it
    counts as ended."""
    begin = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(hours=20)
    times = [begin + dt.timedelta(minutes=minute) for minute in range(len(SAMPLE_MESSAGES))]
    said = [
        (f"m{number}", role, text, at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        for number, ((role, text), at) in enumerate(zip(SAMPLE_MESSAGES, times, strict=True))
    ]
    start = said[0][3]
    first, last = (int(at.timestamp() * 1000) for at in (times[0], times[-1]))
    files: dict[str, list[dict[str, Any]]] = {}
    tables: list[str] = []
    rows: list[tuple[str, tuple[Any, ...]]] = []
    database = home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    openclaw: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": SESSION, "timestamp": start, "cwd": CWD},
        *(
            {
                "type": "message",
                "id": key,
                "timestamp": at,
                "message": {
                    "role": role,
                    "content": [{"type": "text", "text": text}],
                    **({"__openclaw": {"senderIsOwner": True}} if role == "user" else {}),
                },
            }
            for key, role, text, at in said
        ),
    ]
    match name:
        case "openclaw.classic":
            files[f".openclaw/agents/main/sessions/{SESSION}.jsonl"] = openclaw
            files[".openclaw/agents/main/sessions/sessions.json"] = [{"agent:main:main": {"sessionId": SESSION}}]
        case "openclaw.database":
            tables = [
                "transcript_events (session_id, seq, event_json, created_at, event_zstd, PRIMARY KEY (session_id, seq))",
                "session_nodes (session_key PRIMARY KEY, current_session_id, entry_json, created_via, parent_session_key)",
                "session_windows (session_id PRIMARY KEY, session_key, transcript_updated_at)",
            ]
            rows = [
                ("transcript_events VALUES (?, ?, ?, ?, NULL)", (SESSION, place, json.dumps(event), last))
                for place, event in enumerate(openclaw)
            ]
            rows.append(("session_nodes VALUES ('agent:main:main', ?, '{}', 'operator', NULL)", (SESSION,)))
            rows.append(("session_windows VALUES (?, 'agent:main:main', ?)", (SESSION, last)))
        case "claude":
            files[f".claude/projects/-scratch-shop/{SESSION}.jsonl"] = [
                {
                    "type": role,
                    "uuid": key,
                    "sessionId": SESSION,
                    "timestamp": at,
                    "cwd": CWD,
                    "message": {"role": role, "content": [{"type": "text", "text": text}]},
                }
                for key, role, text, at in said
            ]
        case "codex":
            meta = {"id": SESSION, "timestamp": start, "cwd": CWD, "source": "cli"}
            kinds = {"user": "user_message", "assistant": "agent_message"}
            rollout = f".codex/sessions/{begin:%Y/%m/%d}/rollout-{begin:%Y-%m-%dT%H-%M-%S}-{SESSION}.jsonl"
            files[rollout] = [
                {"timestamp": start, "type": "session_meta", "payload": meta},
                *(
                    {"timestamp": at, "type": "event_msg", "payload": {"type": kinds[role], "message": text}}
                    for _, role, text, at in said
                ),
            ]
        case "cursor.cli":  # without times, as it writes them: that of the file counts
            files[f".cursor/projects/scratch-shop/agent-transcripts/{SESSION}.jsonl"] = [
                {"role": role, "message": {"content": [{"type": "text", "text": text}]}} for _, role, text, _ in said
            ]
        case "cursor.ide":
            database = home / ".config/Cursor/User/globalStorage/state.vscdb"
            tables = ["cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"]
            bubbles: list[dict[str, Any]] = [
                {"type": 1 if role == "user" else 2, "bubbleId": key, "text": text, "createdAt": at}
                for key, role, text, at in said
            ]
            composer = {"composerId": SESSION, "createdAt": first, "fullConversationHeadersOnly": bubbles}
            values = {f"bubbleId:{SESSION}:{bubble['bubbleId']}": bubble for bubble in bubbles}
            values[f"composerData:{SESSION}"] = composer
            rows = [("cursorDiskKV VALUES (?, ?)", (key, json.dumps(value))) for key, value in values.items()]
        case "gemini":
            files[".gemini/tmp/shop/chats/session-1.jsonl"] = [
                {"sessionId": SESSION, "startTime": start, "kind": "main"},
                *(
                    {"id": key, "timestamp": at, "type": role if role == "user" else "gemini", "content": text}
                    for key, role, text, at in said
                ),
            ]
        case "opencode":
            storage = ".local/share/opencode/storage"
            about = {"id": "ses_1", "directory": CWD, "time": {"created": first, "updated": first}}
            files[f"{storage}/session/p/ses_1.json"] = [about]
            for (key, role, text, _), moment in zip(said, times, strict=True):
                at = int(moment.timestamp() * 1000)
                message = {
                    "id": key,
                    "sessionID": "ses_1",
                    "role": role,
                    "time": {"created": at, "completed": at + 500},
                }
                files[f"{storage}/message/ses_1/{key}.json"] = [message]
                files[f"{storage}/part/{key}/prt.json"] = [
                    {"id": f"prt_{key}", "messageID": key, "type": "text", "text": text}
                ]
    for place, entries in files.items():
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries), "utf-8")
        os.utime(path, (last / 1000, last / 1000))
    if tables:
        database.parent.mkdir(parents=True)
        with closing(sqlite3.connect(database)) as connection, connection:
            for table in tables:
                connection.execute(f"CREATE TABLE {table}")
            for into, row in rows:
                connection.execute(f"INSERT INTO {into}", row)


def round_trip_problems() -> list[Problem]:
    try:
        _, report = try_round_trip()
    except NacreError as error:
        return [Problem("round trip", str(error), severity="error")]
    return [Problem("no vectors", report.fallback)] if report.stale and report.fallback else []


def try_round_trip() -> tuple[Hit, SearchReport]:
    """Write, index and find again in a scratch workspace: the proof that this machine can do all three."""
    written = say("Jun prefers to pay by bank transfer, never by card", "小军付款一律用银行转账，不刷卡")
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder, Memory.open(_scratch(folder).root) as memory:
        memory.remember(written, project="*")
        report = memory.ask(say("how does Jun like to pay", "小军怎么付款"))
    for hit in report.hits:
        if written in hit.snippet:
            return hit, report
    raise NacreError("What was just written was not found again.", "刚写入的内容未能查到。")


def try_capture(source: Source, name: str, memory: Memory) -> str | None:
    """Lay a session down as an agent would, read it with the agent's own reader, write it and search for it.

    Where it breaks, or none when the whole way works. The settings and the judge are those of the memory; its files are not touched.
    """
    from nacre.capture.read import sync_setup
    from nacre.capture.sync import sync
    from nacre.sources.transcript import Places

    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        home = Path(folder) / "home"
        write_sample(name, home)
        config = dataclasses.replace(memory.config, sources=SourcesSettings(), sync=SyncSettings())
        context = Context(_scratch(folder), config, Clock(memory.clock.zone))
        setup = sync_setup(context, lambda: memory.brain)
        report = sync(dataclasses.replace(setup, places=Places(home), sources=(source,), wanted=lambda _: True))
        if not report.looked_at:
            return say("its transcript was not found", "没有找到其对话记录")
        if not report.sections:
            return say("nothing of its transcript could be read", "其对话记录无法读取")
        with Memory(context) as scratch:
            if not scratch.search("pnpm", 3, mode="text"):
                return say("what was captured was not found again", "采集到的内容未能查到")
    return None


def _scratch(folder: str) -> Workspace:
    workspace = Workspace(Path(folder) / "workspace")
    workspace.memory.mkdir(parents=True)
    workspace.machine.mkdir()
    return workspace


def agents_here(memory: Memory) -> list[tuple[str, Source, Transcript]]:
    """The readers that find something on this machine, each with the newest transcript; not those that are switched off."""
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import MODULES, places_of, sources

    places = places_of(memory.config)
    return [
        (name, source, newest)
        for name, source in zip(MODULES, sources(), strict=True)
        if settings_of(memory.config, source.agent).enabled
        and (newest := max(source.find(places), key=lambda transcript: transcript.changed, default=None))
    ]


def agent_problems(memory: Memory) -> Iterator[Problem]:
    """For each agent that keeps transcripts here: a proof in a scratch workspace, and whether the newest can be read and is of a known
    form. Nothing of it is kept."""
    for name, source, newest in agents_here(memory):
        agent, path = source.agent, str(newest.path)
        try:
            where = try_capture(source, name, memory)
        except NacreError as error:
            where = str(error).rstrip(".。")
        if where is not None:
            message = say(
                f"A session with {agent} ({name}), tried out in a scratch workspace, was not captured: {where}.",
                f"在临时工作区试采 {agent}（{name}）的对话失败：{where}。",
            )
            remedy = say('update Nacre, then run "nacre doctor" again', "请更新 Nacre，再运行“nacre doctor”")
            yield Problem("capture", message, severity="error", remedy=remedy)
        try:
            reading = source.read(newest, None, memory.clock.fixed)
        except OSError as error:
            reason = error.strerror or error
            message = say(
                f"The newest session with {agent} cannot be read: {reason}.",
                f"无法读取与 {agent} 的最新对话：{reason}。",
            )
            remedy = say("check the permissions of the file", "请检查该文件的权限")
            yield Problem("transcript unreadable", message, path, remedy=remedy)
            continue
        if reading.unknown >= max(_STRANGE, len(reading.session.messages) if reading.session else 0):
            message = say(
                f"{reading.unknown} entries of the newest session with {agent} are of a form that Nacre does not know.",
                f"与 {agent} 的最新对话中有 {reading.unknown} 条记录的格式 Nacre 不认识。",
            )
            remedy = say(
                'update Nacre; "nacre sync --list" shows what it can read',
                "请更新 Nacre；可用“nacre sync --list”查看能读取的内容",
            )
            yield Problem("transcript of unknown form", message, path, remedy=remedy)
