"""What was recalled, when and how: one line for each, appended by every reader without a lock."""

from __future__ import annotations

import datetime as dt
import json
import os
from dataclasses import dataclass
from typing import Any

from nacre.clock import Clock
from nacre.model.problem import Problem
from nacre.vault import jsonl
from nacre.vault.logfile import append_bytes, lines_for, opened, tail_of
from nacre.vault.workspace import Workspace
from nacre.words import say

_END_BYTES = 65_536  # of the file, in which hundreds of the last readings stand


ROTATED = "recall"  # the way of `nacre recall`, which lets a checkpoint rise by itself
UNMOVED = "recall, not moved"  # the same, where it had to stay: another held the workspace


@dataclass(frozen=True)
class Recall:
    """A passage that was given out: its lines, both counted from 1, and the way it went (search, get, mcp, hook)."""

    at: str
    path: str
    id: str
    lines: tuple[int, int]
    via: str
    query_hash: str | None = None


def recall(
    clock: Clock,
    path: str,
    id: str,  # noqa: A002 - the word users know
    lines: tuple[int, int],
    via: str,
    query_hash: str | None = None,
) -> Recall:
    return Recall(clock.now().isoformat(timespec="seconds"), path, id, lines, via, query_hash)


def write(workspace: Workspace, recalls: list[Recall], *, durable: bool = True) -> None:
    """Append them in one write. Not an operation: reading is nothing to undo, and must not wait for what operations need."""
    from nacre.guard.sanitise import clean
    from nacre.guard.secrets import redact

    if not recalls:
        return
    text = "".join(jsonl.dump(_line(one)) for one in recalls)
    path = workspace.recalls
    append_bytes(path, lines_for(tail_of(path), redact(clean(text)).text), root=workspace.root, durable=durable)


def _line(one: Recall) -> dict[str, Any]:
    line: dict[str, Any] = {"at": one.at, "path": one.path, "id": one.id, "lines": list(one.lines)}
    if one.query_hash:
        line["query_hash"] = one.query_hash
    return line | {"via": one.via}


def was_read(workspace: Workspace, path: str, now: dt.datetime, within: dt.timedelta) -> bool:
    """Whether the file was given out so shortly before. Only the end of the log is looked at: a reader must not wait."""
    try:
        with os.fdopen(opened(workspace.recalls, os.O_RDONLY), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _END_BYTES))
            lines = file.read(_END_BYTES).split(b"\n")
    except OSError:
        return False
    named = json.dumps(path, ensure_ascii=False).encode("utf-8", "replace")
    return any(_is_of(line, path, now, within) for line in reversed(lines) if named in line)


def _is_of(line: bytes, path: str, now: dt.datetime, within: dt.timedelta) -> bool:
    try:
        told = json.loads(line)
        return bool(told["path"] == path and abs(now - dt.datetime.fromisoformat(told["at"])) < within)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


@dataclass(frozen=True)
class Recalls:
    """Every good line in order, and trouble with the others."""

    recalls: tuple[Recall, ...]
    problems: tuple[Problem, ...]


def read(workspace: Workspace) -> Recalls:
    shown = workspace.relative(workspace.recalls)
    rows, problems = jsonl.read(workspace.recalls, shown)
    found: list[Recall] = []
    troubles = list(problems)
    for line, value in rows:
        if one := _recall(value):
            found.append(one)
        else:
            sentence = say(
                f"Line {line} of {shown} is no recall; it is skipped.", f"{shown} 第 {line} 行不是有效记录，已跳过。"
            )
            troubles.append(Problem("broken line", sentence, shown, line))
    return Recalls(tuple(found), tuple(sorted(troubles, key=lambda one: one.line or 0)))


def _recall(value: dict[str, Any]) -> Recall | None:
    at, path, known, lines = (value.get(name) for name in ("at", "path", "id", "lines"))
    if not (isinstance(at, str) and isinstance(path, str) and isinstance(known, str)):
        return None
    if not (isinstance(lines, list) and len(lines) == 2 and all(isinstance(one, int) for one in lines)):
        return None
    query = value.get("query_hash")
    return Recall(
        at, path, known, (lines[0], lines[1]), str(value.get("via", "")), query if isinstance(query, str) else None
    )
