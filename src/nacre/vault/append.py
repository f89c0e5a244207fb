"""Appending to logs: guard, one write of whole lines, fsync. Recorded in history inside an operation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from nacre.errors import BadInput
from nacre.vault import atomic, jsonl, limits
from nacre.vault.history import APPEND, CREATE, Change
from nacre.vault.logfile import Appended, append_bytes, lines_for, tail_of
from nacre.vault.operation import Operation
from nacre.words import say

OnSecret = Literal["refuse", "redact"]
REFUSE: OnSecret = "refuse"
REDACT: OnSecret = "redact"


def append(op: Operation, path: Path, text: str, *, on_secret: OnSecret = REFUSE) -> Appended:
    """Append whole lines to a file of the workspace; returns where their bytes begin and how many they are.

    A secret is refused, or blacked out where the caller asks for that. A torn last line is ended first; the file's own
    line ends are used.
    """
    safe = _guarded_rows(text, on_secret) if path.suffix == ".jsonl" else guarded(text, on_secret)
    if not safe.strip("\n"):
        raise BadInput(say("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。"))
    op.place(path)
    tail = tail_of(path)
    data = lines_for(tail, safe)
    before = atomic.read_bytes(path) or None  # an empty file is what a killed run left: undo takes it away
    after = (before or b"") + data
    limits.check(op.workspace, path, before, after, op.config.memory)
    change = Change(
        op.workspace.relative(path),
        CREATE if before is None else APPEND,
        None if before is None else atomic.digest(before),
        atomic.digest(after),
        offset=len(before or b""),
        length=len(data),
        bytes=atomic.digest(data),
    )
    op.record([change], [data])
    return append_bytes(path, data)


def _guarded_rows(text: str, on_secret: OnSecret) -> str:
    """Lines of JSON as they may be written, each text in them looked at by itself: what follows it in the line is no part of it."""

    def safe(value: Any) -> Any:
        if isinstance(value, str):
            return guarded(value, on_secret)
        if isinstance(value, dict):
            return {name: safe(inner) for name, inner in value.items()}
        return [safe(inner) for inner in value] if isinstance(value, list) else value

    return "".join(jsonl.dump(safe(json.loads(line))) for line in text.split("\n") if line)


def guarded(text: str, on_secret: OnSecret = REFUSE) -> str:
    """The text as it may be written: no control characters, no secrets."""
    from nacre.guard import sanitise, secrets

    safe = sanitise.clean(text)
    if on_secret == REDACT:
        return secrets.redact(safe).text
    secrets.refuse_secrets(safe)
    return safe
