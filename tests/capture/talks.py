"""What the tests of capture share: a machine with agents that talk, and a workspace that takes it down."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from nacre.capture.read import SyncSetup
from nacre.capture.sync import SyncReport, sync
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.model import Bullet, Context, Message, Speaker, Workspace
from nacre.sources.registry import belongs_to, sources
from nacre.sources.transcript import Places

SESSION = "61871d67-1111-4222-8333-444455556666"
UTC = dt.UTC

Said = tuple[str, str, str]  # when, "user" or "agent", the words


def at(moment: str) -> dt.datetime:
    """A moment such as "2026-03-02 14:05", in UTC unless it says otherwise."""
    told = dt.datetime.fromisoformat(moment)
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).astimezone(UTC)


def each_word(messages: Sequence[Message]) -> list[Bullet]:
    """Not an extraction: a bullet for each message of the owner, in its own words."""
    return [Bullet(one.text, sources=(one.id,)) for one in messages if one.speaker is Speaker.OWNER]


@dataclass
class Desk:
    """One user's machine."""

    home: Path
    zone: str = "UTC"
    config: Config = field(default_factory=Config)
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workspace.memory.mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.home / "ws")

    def claude(self, *said: Said, session: str = SESSION, cwd: str = "", project: str = "p") -> Path:
        """Messages added to a transcript of Claude Code."""
        path = self.home / ".claude" / "projects" / project / f"{session}.jsonl"
        return add(path, [claude(*one, session=session, cwd=cwd) for one in said], said)

    def openclaw(self, *said: Said, session: str = SESSION, agent: str = "main", key: str = "", cwd: str = "") -> Path:
        """Messages added to a transcript of OpenClaw; the words of a user as the channel hands them over."""
        folder = self.home / ".openclaw" / "agents" / agent / "sessions"
        path = folder / f"{session}.jsonl"
        head: list[dict[str, Any]] = []
        if not path.exists():
            head = [{"type": "session", "version": 3, "id": session, "timestamp": zulu(said[0][0]), "cwd": cwd}]
        add(path, [*head, *(openclaw(*one) for one in said)], said)
        if key:
            index = folder / "sessions.json"
            known = json.loads(index.read_text("utf8")) if index.exists() else {}
            index.write_text(json.dumps(known | {key: {"sessionId": session}}), "utf8")
        return path

    def fork(self, *said: Said, session: str, of: str = SESSION, project: str = "p") -> Path:
        """What `claude --resume … --fork-session` writes: all that was said under a new session id, then what is new."""
        original = self.home / ".claude" / "projects" / project / f"{of}.jsonl"
        copies = [json.loads(line) | {"sessionId": session} for line in original.read_bytes().splitlines()]
        path = original.with_name(f"{session}.jsonl")
        return add(path, [*copies, *(claude(*one, session=session) for one in said)], said)

    def setting(self, now: str | None = None, **more: Any) -> SyncSetup:
        clock = Clock(ZoneInfo(self.zone), at(now) if now else None)
        given = SyncSetup(
            Context(self.workspace, self.config, clock), Places(self.home, self.env), sources(), each_word,
            wanted=belongs_to(self.workspace, self.config),
        )  # fmt: skip
        return replace(given, **more)

    def sync(
        self, now: str | None = "2026-03-09", *, since: str | None = None, dry_run: bool = False, **more: Any
    ) -> SyncReport:
        return sync(self.setting(now, **more), since=at(since) if since else None, dry_run=dry_run)

    def log(self, day: str) -> str:
        path = self.workspace.memory / f"{day}.md"
        return path.read_text("utf8") if path.exists() else ""

    def logs(self) -> dict[str, str]:
        return {path.name: path.read_text("utf8") for path in sorted(self.workspace.memory.rglob("*.md"))}

    def headings(self) -> list[str]:
        """Every heading of every log, with its day."""
        return [
            f"{name[:10]} {line[3:]}"
            for name, text in self.logs().items()
            for line in text.splitlines()
            if line.startswith("## ")
        ]

    def bullets(self) -> list[tuple[str, str]]:
        return [
            (name[:10], line[2:])
            for name, text in self.logs().items()
            for line in text.splitlines()
            if line.startswith("- ")
        ]

    def bytes_anywhere(self) -> bytes:
        """Every byte, and every name, below the workspace and the caches."""
        found = [path for root in (self.workspace.root, self.home / ".cache") for path in root.rglob("*")]
        return b"\0".join(
            [str(path.relative_to(self.home)).encode() for path in found]
            + [path.read_bytes() for path in found if path.is_file()]
        )


def add(path: Path, entries: Sequence[dict[str, Any]], said: Sequence[Said]) -> Path:
    """Lines added to a transcript, whose file is then as old as the last of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for entry in entries:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    if said:
        last = at(said[-1][0]).timestamp()
        os.utime(path, (last, last))
    return path


def named(*parts: str) -> str:
    """An id of its own for an entry."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()


def zulu(when: str) -> str:
    return at(when).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def claude(when: str, who: str, words: str, *, session: str = SESSION, cwd: str = "") -> dict[str, Any]:
    role = "user" if who == "user" else "assistant"
    content: object = words if role == "user" else [{"type": "text", "text": words}]
    name = named(when, words) if session == SESSION else named(session, when, words)
    entry = {"type": role, "uuid": name, "sessionId": session, "timestamp": zulu(when)}
    return entry | {"cwd": cwd, "message": {"role": role, "content": content}}


def openclaw(when: str, who: str, words: str) -> dict[str, Any]:
    role = "user" if who == "user" else "assistant"
    message = {"role": role, "content": [{"type": "text", "text": words}]}
    return {"type": "message", "id": named(when, words), "timestamp": zulu(when), "message": message}
