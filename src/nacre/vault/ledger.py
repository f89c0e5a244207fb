"""The ledger of long-term memory: what was offered, admitted or refused, by which test, superseding what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
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
_KNOWN = frozenset(_FIELDS)
_NOTHING: dict[str, Any] = dict.fromkeys(_FIELDS) | {"tests": {}, "source": {}}
_TEXTS = _KNOWN - {"tests", "source", "confidence"}
_ALWAYS = ("id", "at", "verdict", "text", "valid_to", "supersedes")


def identity(text: str) -> str:
    """The id of an entry: the hash of its words, so that a line of MEMORY.md needs no mark of ours."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode("utf-8", "replace")).hexdigest()[:10]


def write(op: Operation, *records: Record, on_secret: OnSecret = REFUSE) -> None:
    """Append records in one write; part of the operation, so that undoing it takes the lines back as well."""
    if not records:
        return
    lines = [jsonl.dump(_guarded(as_json(record), on_secret)) for record in records]
    append(op, op.workspace.ledger, "".join(lines), on_secret=on_secret)


def as_json(record: Record) -> dict[str, Any]:
    if record.verdict not in VERDICTS:
        raise BadInput(
            say(
                f'"{record.verdict}" is not a verdict; use one of {", ".join(VERDICTS)}.',
                f"“{record.verdict}”不是有效的裁定；可用：{'、'.join(VERDICTS)}。",
            )
        )
    values = {name: getattr(record, name) for name in _FIELDS}
    line = {name: value for name, value in values.items() if name in _ALWAYS or value not in (None, {})}
    return line | dict(record.more)


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


def admitted(data: bytes) -> set[str]:
    """The ids of the entries that were put into a MEMORY.md, as far as these bytes of a ledger know; not those found there."""
    records = (record for row in jsonl.parse(data, "").rows if (record := _record(row.value)))
    return {known for known, one in standing(records).items() if one.in_memory and one.verdict != "adopted"}


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
    known: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, one in value.items():
        if name in _TEXTS:
            if isinstance(one, str):
                known[name] = one
        elif name not in _KNOWN:
            more[name] = one
        elif name == "confidence":
            if _is_number(one):
                known[name] = one
        elif isinstance(one, dict):
            right = _is_number if name == "tests" else _is_plain
            known[name] = {key: told for key, told in one.items() if right(told)}
    # There are tens of thousands after some years, and a frozen class sets each of its fields by a call.
    record = object.__new__(Record)
    record.__dict__.update(_NOTHING | known, more=more)
    return record


def _is_number(value: object) -> bool:
    """Whether it is a number that can be shown and compared: not NaN, nor one without end."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e9 < value < 1e9


def _is_plain(value: object) -> bool:
    return isinstance(value, str) or _is_number(value)


def record_from(value: object) -> Record | None:
    """A record as `as_json` told it; none when it is not one of ours."""
    record = _record(value) if isinstance(value, dict) else None
    return record if record and record.verdict in VERDICTS else None


IN_MEMORY = ("admitted", "adopted", "restored")


@dataclass(frozen=True)
class Standing:
    """What the ledger says of one entry or candidate, all its lines taken together."""

    id: str
    verdict: str  # the last one that changed anything
    text: str | None
    records: tuple[Record, ...]
    pinned: bool = False

    @property
    def in_memory(self) -> bool:
        """Whether it is to stand in a MEMORY.md, as far as the ledger knows."""
        return self.verdict in IN_MEMORY

    @property
    def file(self) -> str:
        """The MEMORY.md that it stands in, relative to the workspace."""
        return self._last("file") or "MEMORY.md"

    @property
    def source(self) -> Mapping[str, str]:
        """Where it came from: the first line that says so."""
        return next((one.source for one in self.records if one.source), {})

    @property
    def valid_from(self) -> str | None:
        return next((one.valid_from for one in self.records if one.valid_from), None)

    @property
    def valid_to(self) -> str | None:
        return self.records[-1].valid_to

    @property
    def supersedes(self) -> str | None:
        return next((one.supersedes for one in self.records if one.supersedes), None)

    @property
    def confidence(self) -> float | None:
        return next((one.confidence for one in reversed(self.records) if one.confidence is not None), None)

    @property
    def into(self) -> str | None:
        """The entry that a merged candidate went into."""
        return self._last("into")

    def _last(self, name: str) -> str | None:
        return next((str(one.more[name]) for one in reversed(self.records) if one.more.get(name)), None)


def standing(records: Iterable[Record]) -> dict[str, Standing]:
    """What became of every entry and candidate, by its id."""
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, []).append(record)
    return {
        known: Standing(
            known,
            next((one.verdict for one in reversed(told) if not _said_again(one)), told[-1].verdict),
            next((one.text for one in reversed(told) if one.text), None),
            tuple(told),
            next((bool(one.more["pinned"]) for one in reversed(told) if "pinned" in one.more), False),
        )
        for known, told in by_id.items()
    }


def _said_again(record: Record) -> bool:
    """Whether a line only tells that the same words came up once more, which changes nothing of what became of them."""
    return record.verdict == "merged" and record.more.get("into") == record.id
