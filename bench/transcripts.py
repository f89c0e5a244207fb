"""A pile of transcripts as agents leave them: little talk, much tool output; Claude Code, OpenClaw and Codex."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.corpus import words

Entry = dict[str, Any]
BEGIN = dt.datetime(2026, 1, 5, 8, tzinfo=dt.UTC)
_REQUESTS = (
    "Please move the {} service to the new {} queue and keep the old one for a week.",
    "From now on we use {} instead of {} for every report.",
    "The {} deadline is on Friday, Maria from the {} team needs the numbers before.",
    "Why does the {} job fail when the {} window is open?",
    "Never touch the {} folder without asking me, last time the {} data was gone.",
    "把{}服务迁移到新的{}队列，旧的保留一周。",
    "以后所有报告都用{}，不要再用{}。",
)
_ANSWERS = (
    "Done: the {} service now reads from the {} queue and 41 tests pass.",
    "The {} job failed because the {} timeout was set to zero; I raised it to thirty seconds.",
    "I looked at the {} module first. It imports {} twice, which is why the build was slow.",
    "已完成：{}服务现在读取{}队列，全部测试通过。",
)


def pile(home: Path, megabytes: int, seed: int = 20260214) -> int:
    """Transcripts of about so many megabytes below a home folder; how many sessions they are."""
    chance = random.Random(seed)
    left, sessions = megabytes * 1_000_000, 0
    makers = (_claude, _claude, _openclaw, _codex)  # most talk is with coding agents
    while left > 0:
        begin = BEGIN + dt.timedelta(minutes=37 * sessions)
        left -= _write(home, begin, makers[sessions % len(makers)], chance)
        sessions += 1
    return sessions


def write_session(home: Path, begin: dt.datetime, chance: random.Random) -> int:
    """One session of a coding agent, begun at that time; its size in bytes."""
    return _write(home, begin, _claude, chance)


def _write(
    home: Path, begin: dt.datetime, maker: Callable[..., tuple[Path, Iterator[Entry]]], chance: random.Random
) -> int:
    name = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    path, entries = maker(home, name, begin, chance)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for entry in entries:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        size = file.tell()
    os.utime(path, (begin.timestamp() + 3600, begin.timestamp() + 3600))
    return size


def _turns(begin: dt.datetime, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """What is said, by whom, when; between two words of the owner the agent uses its tools."""
    at = begin
    for _ in range(chance.randrange(4, 16)):
        at += dt.timedelta(seconds=chance.randrange(20, 200))
        yield "user", _sentence(_REQUESTS, chance), _zulu(at)
        for _ in range(chance.randrange(2, 9)):
            at += dt.timedelta(seconds=chance.randrange(1, 20))
            yield "tool", words(chance, chance.randrange(50, 2500)), _zulu(at)
        answer = " ".join(_sentence(_ANSWERS, chance) for _ in range(chance.randrange(1, 5)))
        yield "assistant", answer, _zulu(at + dt.timedelta(seconds=1))


def _claude(home: Path, name: str, begin: dt.datetime, chance: random.Random) -> tuple[Path, Iterator[Entry]]:
    project = chance.choice(("shop", "site", "tools"))

    def entries() -> Iterator[Entry]:
        for number, (who, text, at) in enumerate(_turns(begin, chance)):
            entry: Entry = {"parentUuid": f"{name[:8]}-{number}", "isSidechain": False, "cwd": f"/work/{project}"}
            entry |= {"sessionId": name, "type": "assistant" if who == "assistant" else "user"}
            content: object = text if who == "user" else [{"type": "text", "text": text}]
            if who == "tool":
                content = [{"tool_use_id": f"t{number}", "type": "tool_result", "content": text}]
                entry["toolUseResult"] = {"stdout": text}
            entry["message"] = {"role": entry["type"], "content": content}
            yield entry | {"uuid": f"{name[:8]}-{number + 1}", "timestamp": at}

    return home / ".claude" / "projects" / f"-work-{project}" / f"{name}.jsonl", entries()


def _openclaw(home: Path, name: str, begin: dt.datetime, chance: random.Random) -> tuple[Path, Iterator[Entry]]:
    def entries() -> Iterator[Entry]:
        yield {"type": "session", "version": 3, "id": name, "timestamp": _zulu(begin), "cwd": "/ws"}
        for number, (who, text, at) in enumerate(_turns(begin, chance)):
            role = "toolResult" if who == "tool" else who
            told = f"[Mon {at[:10]} {at[11:16]} UTC] {text}" if who == "user" else text
            message = {"role": role, "content": [{"type": "text", "text": told}]}
            yield {"type": "message", "id": f"{number:08x}", "parentId": None, "timestamp": at, "message": message}

    return home / ".openclaw" / "agents" / "main" / "sessions" / f"{name}.jsonl", entries()


def _codex(home: Path, name: str, begin: dt.datetime, chance: random.Random) -> tuple[Path, Iterator[Entry]]:
    def entries() -> Iterator[Entry]:
        about = {"id": name, "timestamp": _zulu(begin), "cwd": "/work/engine", "source": "cli"}
        yield {"timestamp": _zulu(begin), "type": "session_meta", "payload": about}
        for who, text, at in _turns(begin, chance):
            if who == "tool":
                output = {"type": "function_call_output", "call_id": "c", "output": text}
                yield {"timestamp": at, "type": "response_item", "payload": output}
                continue
            kind = "input_text" if who == "user" else "output_text"
            item = {"type": "message", "role": who, "content": [{"type": kind, "text": text}]}
            yield {"timestamp": at, "type": "response_item", "payload": item}
            event = {"type": "user_message" if who == "user" else "agent_message", "message": text}
            yield {"timestamp": at, "type": "event_msg", "payload": event}

    day = f"{begin:%Y/%m/%d}"
    return home / ".codex" / "sessions" / day / f"rollout-{begin:%Y-%m-%dT%H-%M-%S}-{name}.jsonl", entries()


def _sentence(forms: tuple[str, ...], chance: random.Random) -> str:
    form = chance.choice(forms)
    return form.format(*(words(chance, 1, chinese=not form.isascii()) for _ in range(2)))


def _zulu(at: dt.datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
