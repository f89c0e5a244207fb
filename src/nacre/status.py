"""What there is: files by layer, sizes against limits, the index, the vectors, problems. Reads, never writes user files."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

from nacre.errors import NacreError
from nacre.memory import Memory


def take_stock(memory: Memory, *, deep: bool = False) -> dict[str, Any]:
    """Everything `nacre status` shows, as plain values."""
    from nacre.vault.files import memory_files
    from nacre.vault.history import history
    from nacre.vault.limits import size_of
    from nacre.vault.problems import problems

    workspace, config = memory.workspace, memory.config
    longterm = workspace.longterm
    size = size_of(longterm.read_bytes() if longterm.is_file() else None)
    return {
        "workspace": str(workspace.root),
        "agent": memory.agent,
        "longterm": {
            "lines": size.lines,
            "maxLines": config.memory.max_lines,
            "bytes": size.bytes,
            "maxBytes": config.memory.max_bytes,
            "share": round(
                max(size.lines / (config.memory.max_lines or 1), size.bytes / (config.memory.max_bytes or 1)), 3
            ),
        },
        "files": dict(Counter(found.layer for found in memory_files(workspace, config))),
        "index": _index(memory, deep=deep),
        "sessions": _sessions(memory),
        "embedding": _embedding(memory, deep=deep),
        "capture": _capture(memory),
        "review": len(memory.questions()),
        "history": len(history(workspace).operations),
        "problems": [dataclasses.asdict(one) for one in (*memory.problems, *problems(workspace, config))],
    }


def _capture(memory: Memory) -> dict[str, Any]:
    """How far what was said has been captured, and by what it is judged."""
    from nacre.capture.cursors import load
    from nacre.sources.consent import paused_at, pauses

    known = load(memory.workspace)
    pause = paused_at(pauses(memory.workspace), memory.clock.now())
    return {
        "synced": known.synced.isoformat(timespec="minutes") if known.synced else None,
        "sessions": sum(cursor.reached is not None for cursor in known.transcripts.values()),
        "paused": pause is not None,
        "pausedUntil": pause.end.isoformat(timespec="minutes") if pause and pause.end else None,
        "meaning": list(memory.brain.with_vectors),  # the languages that are judged with their embedding model
    }


def _index(memory: Memory, *, deep: bool) -> dict[str, Any]:
    store = memory.keeper.store
    live = store.safely(store.live)
    changed, _ = memory.waiting()
    rows = store.db.execute
    check = None
    if deep:
        check = rows("pragma quick_check(1)").fetchone()[0]
    return {
        "path": str(store.path),
        "bytes": store.path.stat().st_size if store.path.exists() else 0,
        "files": rows("select count(*) from files where generation = ?", (live.id,)).fetchone()[0] if live else 0,
        "chunks": rows("select count(*) from chunks where generation = ?", (live.id,)).fetchone()[0] if live else 0,
        "changed": changed,
        "outdated": memory.keeper.outdated(),
        "recovered": store.recovered,
        "check": check,
    }


def _sessions(memory: Memory) -> dict[str, int] | None:
    """What of the transcripts themselves is indexed; none where the user does not want it."""
    keeper = memory.sessions
    if keeper is None:
        return None
    sessions, messages = keeper.store.safely(keeper.counts)
    return {"sessions": sessions, "messages": messages}


def _embedding(memory: Memory, *, deep: bool) -> dict[str, Any]:
    embedder, reason = memory.embedder()
    works: bool | str | None = None
    if deep and embedder:
        try:
            for model in embedder.models():
                embedder.embed(model, ["works"], query=True)
            works = True
        except NacreError as trouble:
            works = str(trouble)
    return {
        "provider": embedder.provider if embedder else None,
        "models": [model.name for model in embedder.models()] if embedder else [],
        "vectors": memory.keeper.store.db.execute("select count(*) from vectors").fetchone()[0],
        "waiting": memory.waiting()[1],
        "reason": reason,
        "works": works,
    }
