"""Which sessions were asked to write down what lasts, and how far that went: `.nacre/flush.json`.

It holds times, counts and hashes, never an id or a word that was said. Losing it loses nothing: a session may be asked once more.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.errors import CannotWrite, Locked, NacreError
from nacre.vault import atomic
from nacre.vault.lock import hold
from nacre.vault.workspace import Workspace

VERSION = 1
MOST = 200  # sessions that are remembered, the newest
KEPT = dt.timedelta(days=7)  # and how long
_LARGEST = 1_000_000  # bytes; a file that is larger is none of ours


@dataclass(frozen=True)
class Asked:
    """A session that got the prompts, for one cycle of its compaction."""

    at: dt.datetime
    tries: int = 1
    compactions: int | None = None  # how many there had been; unknown where nobody counts them
    over: bool = False  # the turn took place: it was answered, or looked at afterwards
    ended: bool = False  # the context has been compacted since: the next one is another cycle
    files: Mapping[str, str | None] = field(default_factory=dict)  # the hash of each reference file then
    operation: int = 0  # the last of history then: what Nacre did since is no doing of the agent's


Flushes = dict[str, Asked]


def file_of(workspace: Workspace) -> Path:
    return workspace.machine / "flush.json"


def key_of(session: str) -> str:
    """How a session is known: an id may be anything, also something that must be written nowhere."""
    return hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()


def load(workspace: Workspace) -> Flushes:
    """What is remembered; nothing when the file is missing, or not ours to understand."""
    try:
        data = atomic.read_bytes(file_of(workspace))
        if data is None or len(data) > _LARGEST:
            return {}
        told = json.loads(data)
        if told["version"] != VERSION:
            return {}
        return {str(key): _asked(one) for key, one in told["sessions"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, NacreError):
        return {}


def save(workspace: Workspace, sessions: Flushes, now: dt.datetime) -> None:
    """Put it on disk, without what is long over."""
    fresh = [(key, one) for key, one in sessions.items() if abs(now - one.at) <= KEPT]
    newest = sorted(fresh, key=lambda pair: pair[1].at)[-MOST:]
    told = {"version": VERSION, "sessions": {key: _as_json(one) for key, one in newest}}
    data = json.dumps(told, separators=(",", ":")).encode()
    atomic.write(file_of(workspace), data, root=workspace.root)


def held(workspace: Workspace) -> AbstractContextManager[None]:
    """One at a time; not the lock of the workspace, so that a long tidying keeps no agent waiting."""
    return hold(workspace.machine / "flush.lock", timeout=5.0)


def settle(workspace: Workspace, session: str, now: dt.datetime) -> Asked | None:
    """Note that a session's turn took place; what is remembered of it. Where that cannot be written it is no trouble: at worst the
    session is asked once more."""
    key = key_of(session)
    with contextlib.suppress(CannotWrite, Locked), held(workspace):
        known = load(workspace)
        if key in known and not known[key].over:
            save(workspace, {**known, key: replace(known[key], over=True)}, now)
    return load(workspace).get(key)


def _as_json(one: Asked) -> dict[str, Any]:
    told: dict[str, Any] = {"at": one.at.isoformat(), "tries": one.tries, "files": dict(one.files)}
    told |= {} if one.compactions is None else {"compactions": one.compactions}
    told |= {"operation": one.operation} if one.operation else {}
    return told | {name: True for name in ("over", "ended") if getattr(one, name)}


def _asked(told: Mapping[str, Any]) -> Asked:
    at = dt.datetime.fromisoformat(told["at"])
    count = told.get("compactions")
    if at.tzinfo is None or not (count is None or type(count) is int):
        raise ValueError(told)
    files = {str(path): None if one is None else str(one) for path, one in told["files"].items()}
    last = int(told.get("operation", 0))
    return Asked(at, int(told["tries"]), count, bool(told.get("over")), bool(told.get("ended")), files, last)
