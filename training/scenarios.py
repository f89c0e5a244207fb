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


class Talk(NamedTuple):
    id: str
    start: str
    agent: str
    folder: str
    messages: list[list[str]]  # who, text


def read_talks(scenario: Path) -> list[Talk]:
    talks: list[Talk] = []
    for line in (scenario / "talk.txt").read_text(encoding="utf-8").splitlines():
        if match := _SESSION.match(line):
            name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{scenario.name}/{len(talks) + 1}"))
            talks.append(Talk(name, match[1], match[2], match[3], []))
        elif line[:3] in ("U: ", "A: "):
            talks[-1].messages.append([line[0], line[3:]])
        elif talks and talks[-1].messages:
            talks[-1].messages[-1][1] += f"\n{line}"
    return talks


def rows(talk: Talk, zone: ZoneInfo) -> list[dict[str, Any]]:
    """The lines of a transcript, as its agent writes them."""
    at = dt.datetime.fromisoformat(talk.start).replace(tzinfo=zone).astimezone(dt.UTC)
    made: list[dict[str, Any]] = []
    if talk.agent == "openclaw":
        made.append({"type": "session", "version": 3, "id": talk.id, "timestamp": _iso(at), "cwd": "/home/user"})
    parent = None
    for number, (who, text) in enumerate(talk.messages):
        at += dt.timedelta(minutes=2)
        name, role = str(uuid.uuid5(uuid.UUID(talk.id), str(number))), "user" if who == "U" else "assistant"
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text.strip()}]}
        if talk.agent == "openclaw":
            name = name[:8]
            made.append({"type": "message", "id": name, "parentId": parent, "timestamp": _iso(at), "message": message})
        else:
            about = {"type": role, "uuid": name, "parentUuid": parent, "timestamp": _iso(at), "cwd": talk.folder}
            made.append({**about, "sessionId": talk.id, "isSidechain": False, "message": message})
        parent = name
    return made


def _iso(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def write(scenario: Path, out: Path) -> None:
    gold = json.loads((scenario / "gold.json").read_text(encoding="utf-8"))
    talks, zone = read_talks(scenario), ZoneInfo(gold["timezone"])
    newest: dict[str, Any] = {}
    for talk in talks:
        folder = "openclaw/agents/main/sessions"
        if talk.agent == "claude":
            folder = f"claude/projects/{talk.folder.replace('/', '-')}"
        lines = rows(talk, zone)
        path = out / folder / f"{talk.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in lines), encoding="utf-8")
        if talk.agent == "openclaw":
            newest = {"agent:main:main": {"sessionId": talk.id, "chatType": "direct"}}
    (out / "openclaw/agents/main/sessions/sessions.json").write_text(json.dumps(newest), encoding="utf-8")
    (out / "claude/projects").mkdir(parents=True, exist_ok=True)
    labels: dict[str, Any] = {name: [] for name in _LISTS} | _with_ids(gold, [talk.id for talk in talks])
    days = [talk.start[:10] for talk in talks]
    labels |= {"first_day": min(days), "last_day": max(days)}
    labels["index"] = {talk.id: {"capturable": sum(who == "U" for who, _ in talk.messages) > 1} for talk in talks}
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
