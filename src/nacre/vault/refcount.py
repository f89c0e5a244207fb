"""How often and when each memory was recalled: memory/recalls.jsonl, which every reader appends to without a lock, and refcount.json."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput
from nacre.model import Problem, Workspace
from nacre.vault.history import Operation
from nacre.vault.storage import TIERS, dump_row, read_records, storage_of
from nacre.vault.writing import expect, write_recorded

ROTATED = "recall"  # the way of `nacre recall`, which lets a checkpoint rise by itself
UNMOVED = "recall, not moved"  # the same, where it had to stay: another held the workspace
_END_BYTES = 65_536  # of recalls.jsonl, in which hundreds of the last readings stand
_MANY_BYTES = 1_000_000  # thousands


class Recall(NamedTuple):
    """A passage that was given out: its lines, both counted from 1, and the way it went (search, get, mcp, hook)."""

    at: str
    path: str
    id: str
    lines: tuple[int, int]
    via: str
    query_hash: str | None = None


def new_recall(
    clock: Clock, path: str, entry: str, lines: tuple[int, int], via: str, query_hash: str | None = None
) -> Recall:
    return Recall(clock.now().isoformat(timespec="seconds"), path, entry, lines, via, query_hash)


def write_recalls(workspace: Workspace, recalls: list[Recall], *, durable: bool = True) -> None:
    """Append them in one write. Not an operation: reading is nothing to undo, and must not wait for what operations need."""
    from nacre.guard.sanitise import clean
    from nacre.guard.secrets import redact

    if not recalls:
        return
    names = ("at", "path", "id", "lines", "query_hash", "via")
    rows = ({name: value for name in names if (value := getattr(recall, name)) is not None} for recall in recalls)
    text = "".join(map(dump_row, rows))
    storage, name = storage_of(workspace), workspace.relative(workspace.recalls)
    torn = storage.end(name, 1) not in (b"", b"\n")
    storage.append(name, b"\n" * torn + redact(clean(text)).text.encode("utf-8", "replace"), durable=durable)


def was_read(workspace: Workspace, path: str, now: dt.datetime, within: dt.timedelta) -> bool:
    """Whether the file was given out so shortly before."""
    return any(name == path and abs(now - at) < within for name, at in _latest(workspace, _END_BYTES))


def recalls_by_hour(workspace: Workspace, clock: Clock, since: dt.date) -> list[list[int]]:
    """How many recalls each hour of each day of the week saw, Monday first."""
    week = [[0] * 24 for _ in range(7)]
    for at in (clock.local(at) for _, at in _latest(workspace, _MANY_BYTES)):
        week[at.weekday()][at.hour] += since <= at.date()
    return week


def _latest(workspace: Workspace, size: int) -> Iterator[tuple[str, dt.datetime]]:
    """The files that were given out last, and when. Only the end of the log is looked at: a reader must not wait."""
    for line in storage_of(workspace).end(workspace.relative(workspace.recalls), size).split(b"\n"):
        with contextlib.suppress(ValueError, KeyError, TypeError, OverflowError, RecursionError):
            recall = json.loads(line)
            at = dt.datetime.fromisoformat(recall["at"])
            if at.tzinfo and dt.MINYEAR < at.year < dt.MAXYEAR:
                yield recall["path"], at.astimezone(dt.UTC)


class Recalls(NamedTuple):
    recalls: tuple[Recall, ...]
    problems: tuple[Problem, ...]


def read_recalls(workspace: Workspace) -> Recalls:
    return Recalls(*read_records(storage_of(workspace), workspace.relative(workspace.recalls), _recall))


def _recall(value: Mapping[str, Any]) -> Recall | None:
    at, path, entry, lines = (value.get(name) for name in ("at", "path", "id", "lines"))
    match (at, path, entry, lines):
        case (str(), str(), str(), [int(first), int(last)]):
            query = value.get("query_hash")
            via = str(value.get("via", ""))
            return Recall(at, path, entry, (first, last), via, query if isinstance(query, str) else None)
    return None


# refcount.json: how often and when each checkpoint was recalled. What other tools wrote into it is kept as it is.

REFCOUNT_NAME = "refcount.json"
COUNTS = ("total", "7d")
FLAGS = ("user_marked", "summarized", "promoted")
FIELDS = frozenset({*COUNTS, *FLAGS, "timestamps", "created"})
FORGOTTEN = "forgotten"  # when a checkpoint came to lie in that layer
SUMMARY_OF = "summary_of"  # the beginning of the hash of the text that the summary was made of
WEEK = 7 * 86400

Count = dict[str, Any]


class Counts(NamedTuple):
    """Every entry by the place of its checkpoint, such as "warm/x.md", and the hash of the file that was read."""

    entries: Mapping[str, Any]
    hash: str | None


def read_counts(workspace: Workspace, config: Config) -> Counts:
    """The counts of a workspace; `BadInput` where they cannot be understood: then nobody may write over them."""
    path, storage = workspace.refcount(config.tiers.path), storage_of(workspace)
    name = workspace.relative(path)
    stored = storage.about(name)
    if stored and stored.is_link and os.path.isabs(storage.real(name)):
        raise BadInput(
            f"{path} is a link that points elsewhere; replace it with the real file.",
            f"{path} 是指向别处的链接；请换回真正的文件。",
        )
    data = storage.read(name)
    return Counts({}, None) if data is None else Counts(parse_counts(path, data), disk.digest(data))


def write_counts(op: Operation, counts: Counts, entries: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the entries that were read, and return them; a new name that looks like a secret is left out."""
    from nacre.guard.secrets import redact

    names = {checkpoint_name(place) for place in counts.entries}
    new = {place for place in entries if checkpoint_name(place) not in names}
    suspects = {place for place in new if redact(place).findings} if redact("\n".join(new)).findings else set()
    written = {place: entry for place, entry in entries.items() if place not in suspects}
    if written != counts.entries:
        path = op.workspace.refcount(op.config.tiers.path)
        op.place(path)
        write_recorded(op, path, expect(op.workspace, path, counts.hash), dump_counts(written))
    return written


def checkpoint_name(place: str) -> str:
    """The name of a checkpoint without its layer: under another one it is no new name."""
    layer, _, name = place.partition("/")
    return name if layer in TIERS else place


def parse_counts(path: Path, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8-sig"))
        json.dumps(value, indent=1)  # what nests too deep to be read may still be too deep to be written
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{path} is not valid JSON: {error}. Fix it or move it away.",
            f"{path} 不是有效的 JSON：{error}。请修正或移走该文件。",
        ) from error
    if not isinstance(value, dict):
        raise BadInput(f"{path} contains no recall counts of checkpoints.", f"{path} 中没有检查点的召回次数。")
    return value


def dump_counts(entries: Mapping[str, Any]) -> bytes:
    return (json.dumps(entries, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def new_count(created: int) -> Count:
    return {"total": 0, "7d": 0, "timestamps": [], **dict.fromkeys(FLAGS, False), "created": created}


def complete_count(entry: Mapping[str, Any], created: int) -> Count:
    listed = entry.get("timestamps")
    return {**new_count(created), "total": len(listed) if isinstance(listed, list) else 0, **entry}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def moment(value: object, clock: Clock) -> float | None:
    """A time as tools write it, in seconds since 1970: seconds, milliseconds or ISO 8601; None for anything else."""
    try:
        if isinstance(value, str):
            seconds = clock.at(dt.datetime.fromisoformat(value.strip())).now().timestamp()
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = float(value) / 1000 if abs(value) > 1e11 else float(value)
            dt.datetime.fromtimestamp(seconds, dt.UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if seconds >= 0 else None


def moments(entry: Mapping[str, Any], clock: Clock) -> list[float]:
    listed = entry.get("timestamps")
    times = (moment(value, clock) for value in listed) if isinstance(listed, list) else ()
    return [time for time in times if time is not None]


def with_recalls(entry: Mapping[str, Any], seconds: Counter[int], clock: Clock) -> tuple[Count, list[int]]:
    """The entry with every recall that it did not know (`seconds`: how many in each second), and which these were."""
    listed = entry.get("timestamps", [])
    if not isinstance(listed, list):
        return dict(entry), []  # no list, so not ours: kept as it is
    added = sorted((seconds - Counter(int(time) for time in moments(entry, clock))).elements())
    before = entry.get("total", len(listed))
    total = {"total": before + len(added)} if added and is_number(before) else {}
    return {**entry, **({"timestamps": [*listed, *added]} if added else {}), **total}, added


def merged_count(entries: Iterable[Mapping[str, Any]]) -> Count:
    """Several entries of one checkpoint as one: their recalls are added."""
    merged: Count = {}
    for entry in entries:
        both = {**entry, **merged}
        for name in merged.keys() & entry.keys():
            first, second = merged[name], entry[name]
            are_lists = isinstance(first, list) and isinstance(second, list)
            if (name in COUNTS and is_number(first) and is_number(second)) or (name == "timestamps" and are_lists):
                both[name] = first + second
            elif name in FLAGS:
                both[name] = bool(first) or bool(second)
            elif name == "created" and is_number(second):
                both[name] = min(first, second) if is_number(first) else second
        merged = both
    return merged


def with_counts(
    entries: Mapping[str, Any], removed: Collection[str], new: Mapping[str, Mapping[str, Any] | None]
) -> dict[str, Any]:
    """The entries without some, and with new ones, each joined to what is counted there."""
    after = {key: entry for key, entry in entries.items() if key not in removed}
    for key, entry in new.items():
        if entry is not None and isinstance(after.get(key, {}), dict):  # what is no entry stays as it is
            after[key] = merged_count([after[key], entry]) if key in after else dict(entry)
    return after


def merge_counts(path: Path, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """`ours` with what leads from `base` to `theirs`, entry by entry and field by field; a field that both changed stays as it is now."""
    old, now, new = ({} if data is None else parse_counts(path, data) for data in (base, ours, theirs))
    merged = _merged(old, now, new)
    for key in merged.keys() & old.keys() & now.keys() & new.keys():
        if all(isinstance(entries[key], dict) for entries in (old, now, new)):
            merged[key] = _merged(old[key], now[key], new[key])
    return dump_counts(merged) if merged or theirs is not None else None


def _merged(old: Mapping[str, Any], now: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    changed = {key for key in {*old, *new} if old.get(key) == now.get(key) and old.get(key) != new.get(key)}
    unchanged = {key: value for key, value in now.items() if key in new or key not in changed}
    return unchanged | {key: value for key, value in new.items() if key in changed}
