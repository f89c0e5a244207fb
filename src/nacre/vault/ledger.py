"""The ledger of long-term memory: what was offered, admitted or refused, by which test, superseding what."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from nacre.errors import BadInput
from nacre.model.problem import Problem
from nacre.vault import jsonl
from nacre.vault.append import REFUSE, OnSecret, append, guarded
from nacre.vault.operation import Operation
from nacre.vault.workspace import Workspace
from nacre.words import say

VERDICTS = ("admitted", "adopted", "refused", "superseded", "merged", "demoted", "forgotten", "restored")


@dataclass(frozen=True)
class Record:
    """One line of the ledger. `more` keeps fields that a newer version wrote."""

    id: str
    at: str
    verdict: str
    text: str | None = None
    section: str | None = None
    tests: Mapping[str, float] = field(default_factory=dict)
    failed: str | None = None
    without_it: str | None = None
    source: Mapping[str, str] = field(default_factory=dict)
    brain: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    supersedes: str | None = None
    confidence: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


_FIELDS = tuple(one.name for one in fields(Record) if one.name != "more")
_ALWAYS = ("id", "at", "verdict", "text", "valid_to", "supersedes")


def identity(text: str) -> str:
    """The id of an entry: the hash of its words, so that a line of MEMORY.md needs no mark of ours."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode("utf-8", "replace")).hexdigest()[:10]


def write(op: Operation, record: Record, *, on_secret: OnSecret = REFUSE) -> None:
    """Append a record; part of the operation, so that undoing it takes the line back as well."""
    if record.verdict not in VERDICTS:
        raise BadInput(
            say(
                f'"{record.verdict}" is not a verdict; use one of {", ".join(VERDICTS)}.',
                f"“{record.verdict}”不是有效的裁定；可用：{'、'.join(VERDICTS)}。",
            )
        )
    values = {name: getattr(record, name) for name in _FIELDS}
    line = {name: value for name, value in values.items() if name in _ALWAYS or value not in (None, {})}
    safe = _guarded(line | dict(record.more), on_secret)
    append(op, op.workspace.ledger, jsonl.dump(safe), on_secret=on_secret)


def _guarded(value: Any, on_secret: OnSecret) -> Any:
    """Each text on its own: once it is JSON, quotes and escapes would hide a secret or be cut with it."""
    if isinstance(value, str):
        return guarded(value, on_secret)
    if isinstance(value, Mapping):
        return {name: _guarded(one, on_secret) for name, one in value.items()}
    return [_guarded(one, on_secret) for one in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Ledger:
    """Every good line in order, and trouble with the others."""

    records: tuple[Record, ...]
    problems: tuple[Problem, ...]


def read(workspace: Workspace) -> Ledger:
    shown = workspace.relative(workspace.ledger)
    rows, problems = jsonl.read(workspace.ledger, shown)
    records: list[Record] = []
    troubles = list(problems)
    for line, value in rows:
        if record := _record(value):
            records.append(record)
        else:
            sentence = say(
                f"Line {line} of {shown} lacks an id or a verdict; it is skipped.",
                f"{shown} 第 {line} 行缺少 id 或裁定，已跳过。",
            )
            troubles.append(Problem("broken line", sentence, shown, line))
    return Ledger(tuple(records), tuple(sorted(troubles, key=lambda one: one.line or 0)))


def _record(value: dict[str, Any]) -> Record | None:
    if not all(isinstance(value.get(name), str) for name in ("id", "at", "verdict")):
        return None
    known = {name: value[name] for name in _FIELDS if name in value}
    for name in ("tests", "source"):
        if not isinstance(known.get(name, {}), dict):
            del known[name]
    return Record(**known, more={name: one for name, one in value.items() if name not in _FIELDS})
