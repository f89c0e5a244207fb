"""Writes the scenarios in `scenarios/` as transcripts with labels, for `nacre eval`.

    python training/scenarios.py OUT            one folder for each scenario below OUT; then: nacre eval OUT/en-workshop

`talk.txt` holds three weeks of somebody's sessions. A session begins with `== 2026-03-02 09:10 openclaw main` or `== 2026-03-03 14:00 claude
/home/ana/src/shop` (local time, agent, folder); its messages begin with `U: ` (the owner) or `A: ` (the agent), two minutes apart. `gold.json` says
what should become of it, as `nacre eval` scores it; it names sessions by their number.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

HERE = Path(__file__).parent / "scenarios"
_SESSION = re.compile(r"== (\d{4}-\d\d-\d\d \d\d:\d\d) (openclaw|claude) (\S+)")
_NAMED = ("session", "old_session", "new_session", "sessions", "gold_sessions")
_LISTS = (
    "durable",
    "superseded",
    "repeated",
    "transient",
    "neutral",
    "secrets",
    "bullets",
    "weekly",
    "types",
    "admission",
    "queries",
)


class Session(NamedTuple):
    id: str
    start: str
    agent: str
    folder: str
    messages: list[list[str]]  # who, text


def read_sessions(scenario: Path) -> list[Session]:
    sessions: list[Session] = []
    for line in (scenario / "talk.txt").read_text(encoding="utf-8").splitlines():
        if match := _SESSION.match(line):
            name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{scenario.name}/{len(sessions) + 1}"))
            sessions.append(Session(name, match[1], match[2], match[3], []))
        elif line[:3] in ("U: ", "A: "):
            sessions[-1].messages.append([line[0], line[3:]])
        elif sessions and sessions[-1].messages:
            sessions[-1].messages[-1][1] += f"\n{line}"
    return sessions


def rows(session: Session, zone: ZoneInfo) -> list[dict[str, Any]]:
    """The lines of a transcript, as its agent writes them."""
    at = dt.datetime.fromisoformat(session.start).replace(tzinfo=zone).astimezone(dt.UTC)
    made: list[dict[str, Any]] = []
    if session.agent == "openclaw":
        made.append({"type": "session", "version": 3, "id": session.id, "timestamp": _iso(at), "cwd": "/home/user"})
    parent = None
    for number, (who, text) in enumerate(session.messages):
        at += dt.timedelta(minutes=2)
        name, role = str(uuid.uuid5(uuid.UUID(session.id), str(number))), "user" if who == "U" else "assistant"
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text.strip()}]}
        if session.agent == "openclaw":
            name = name[:8]
            made.append({"type": "message", "id": name, "parentId": parent, "timestamp": _iso(at), "message": message})
        else:
            about = {"type": role, "uuid": name, "parentUuid": parent, "timestamp": _iso(at), "cwd": session.folder}
            made.append({**about, "sessionId": session.id, "isSidechain": False, "message": message})
        parent = name
    return made


def _iso(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def write(scenario: Path, out: Path) -> None:
    gold = json.loads((scenario / "gold.json").read_text(encoding="utf-8"))
    sessions, zone = read_sessions(scenario), ZoneInfo(gold["timezone"])
    newest: dict[str, Any] = {}
    for session in sessions:
        folder = "openclaw/agents/main/sessions"
        if session.agent == "claude":
            folder = f"claude/projects/{session.folder.replace('/', '-')}"
        lines = rows(session, zone)
        path = out / folder / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines), encoding="utf-8")
        if session.agent == "openclaw":
            newest = {"agent:main:main": {"sessionId": session.id, "chatType": "direct"}}
    (out / "openclaw/agents/main/sessions/sessions.json").write_text(json.dumps(newest), encoding="utf-8")
    (out / "claude/projects").mkdir(parents=True, exist_ok=True)
    labels: dict[str, Any] = {name: [] for name in _LISTS} | _with_ids(gold, [session.id for session in sessions])
    days = [session.start[:10] for session in sessions]
    labels |= {"first_day": min(days), "last_day": max(days)}
    labels["index"] = {
        session.id: {"capturable": sum(who == "U" for who, _ in session.messages) > 1} for session in sessions
    }
    (out / "gold.json").write_text(json.dumps(labels, indent=1, ensure_ascii=False), encoding="utf-8")


def _with_ids(value: Any, ids: list[str]) -> Any:
    """The labels with the ids of sessions in the place of their numbers."""
    if isinstance(value, list):
        return [_with_ids(one, ids) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _with_ids(one, ids) for key, one in value.items()}
    for key in set(made) & set(_NAMED):
        named = made[key]
        made[key] = [ids[number - 1] for number in named] if isinstance(named, list) else ids[named - 1]
    return made


def main() -> None:
    for scenario in sorted(HERE.iterdir()):
        write(scenario, Path(sys.argv[1]) / scenario.name)


if __name__ == "__main__":
    main()
