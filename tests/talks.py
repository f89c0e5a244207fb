"""Small transcripts of Claude Code and OpenClaw, written where these agents keep theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DAY = "2026-03-02"
META = 'Conversation info (untrusted metadata):\n```json\n{{"sender_id": "{}", "sender": "{}", "group_subject": "Team"}}\n```\n\n{}'


class ClaudeTalk:
    """One session of Claude Code; `say` and `answer` add to its file at once."""

    def __init__(self, home: Path, session: str, cwd: str = "/srv/shop-api") -> None:
        self.path = home / ".claude" / "projects" / "-srv-shop-api" / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.session = session
        self.cwd = cwd
        self.count = 0

    @property
    def document(self) -> str:
        return f"sessions/claude-code/{self.session}.md"

    def say(self, text: str, time: str = "12:00:00", day: str = DAY, **more: Any) -> ClaudeTalk:
        return self._add("user", text, f"{day}T{time}Z", more)

    def answer(self, text: str, time: str = "12:00:30", day: str = DAY) -> ClaudeTalk:
        return self._add("assistant", [{"type": "text", "text": text}], f"{day}T{time}Z", {})

    def _add(self, kind: str, content: object, at: str, more: dict[str, Any]) -> ClaudeTalk:
        self.count += 1
        entry = {
            "type": kind,
            "uuid": f"{self.session}-{self.count}",
            "sessionId": self.session,
            "timestamp": at,
            "cwd": self.cwd,
            "message": {"role": kind, "content": content},
        } | more
        with self.path.open("a", encoding="utf8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        return self


def openclaw_talk(home: Path, session: str, key: str, messages: list[tuple[str, str]]) -> Path:
    """One session of OpenClaw's main agent, listed under its key; messages as (role, text), a minute apart."""
    folder = home / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "sessions.json"
    keys = json.loads(index.read_text("utf8")) if index.exists() else {}
    keys[key] = {"sessionId": session}
    index.write_text(json.dumps(keys), "utf8")
    entries: list[dict[str, Any]] = [{"type": "session", "id": session, "timestamp": f"{DAY}T09:00:00Z", "cwd": "/x"}]
    for number, (role, text) in enumerate(messages, 1):
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        at = f"{DAY}T09:{number:02}:00Z"
        entries.append({"type": "message", "id": f"{session}-{number}", "timestamp": at, "message": message})
    path = folder / f"{session}.jsonl"
    path.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), "utf8")
    return path
