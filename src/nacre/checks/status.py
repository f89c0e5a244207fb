"""What there is: files by layer, sizes against limits, the index, the vectors, jobs, the daemon, problems."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nacre.errors import BadSetting, NacreError
from nacre.memory import Memory

_SCRIPTS = {"en": "Latin", "zh": "Han"}  # the languages that are judged with an embedding model, and its script


def status_facts(memory: Memory, *, deep: bool = False) -> dict[str, Any]:
    from nacre.daemon.process import ask_status
    from nacre.vault.history import last_id
    from nacre.vault.storage import storage_of

    files, size, limits = memory.files(), memory.longterm_size(), memory.config.memory
    share = max(size.lines / (limits.max_lines or 1), size.bytes / (limits.max_bytes or 1))
    longterm = {"lines": size.lines, "maxLines": limits.max_lines, "bytes": size.bytes, "maxBytes": limits.max_bytes}
    changed, unembedded = memory.waiting(files)
    sessions = memory.sessions
    counts = sessions.store.safely(sessions.counts) if sessions else None
    return {
        "workspace": str(memory.workspace.root),
        "agent": memory.agent,
        "longterm": {**longterm, "share": round(share, 3)},
        "files": dict(Counter(file.layer for file in files)),
        "index": _index(memory, changed, deep=deep),
        "sessions": dict(zip(("sessions", "messages"), counts, strict=True)) if counts else None,
        "embedding": _embedding(memory, unembedded, deep=deep),
        "capture": _capture(memory),
        "brain": _brain(memory),
        "jobs": _jobs(memory),
        "daemon": ask_status(memory),
        "review": len(memory.questions()),
        "night": _night(memory),
        "history": last_id(storage_of(memory.workspace)),
        "problems": [problem.as_plain() for problem in memory.all_problems()],
    }


def _night(memory: Memory) -> dict[str, Any] | None:
    """What the last tidying did to long-term memory, and when."""
    from nacre.tidy.night import last_night

    last = last_night(memory.workspace)
    return {"at": last[0], **last[1]._asdict()} if last else None


def _capture(memory: Memory) -> dict[str, Any]:
    """How far what was said has been captured, and by what it is judged."""
    from nacre.capture.cursors import load_cursors
    from nacre.embed.models import list_models
    from nacre.sources.registry import paused_at, pauses

    cursors = load_cursors(memory.workspace)
    # The models on disk, not the judge itself: that would load its classifiers, for a third of what status may cost.
    scripts = {model.script for model in list_models() if model.state == "installed"}
    pause = paused_at(pauses(memory.workspace), memory.clock.now())
    return {
        "synced": cursors.synced.isoformat(timespec="minutes") if cursors.synced else None,
        "sessions": sum(cursor.reached is not None for cursor in cursors.transcripts.values()),
        "paused": pause is not None,
        "pausedUntil": pause.end.isoformat(timespec="minutes") if pause and pause.end else None,
        "meaning": [language for language, script in _SCRIPTS.items() if script in scripts],
    }


def _brain(memory: Memory) -> dict[str, Any] | None:
    """Who writes the logs and what that cost today; none where it is this machine and cost nothing."""
    from nacre.brain.journal import orders_file

    settings = memory.config.brain
    modes = {settings.extract, settings.digest, settings.distil, settings.summarise}
    if modes == {"local"} and not orders_file(memory.workspace).exists():
        return None
    return memory.brain_facts()


def _jobs(memory: Memory) -> dict[str, Any]:
    """By whom the jobs are run, and how each stands; a setting that cannot be understood is told instead."""
    from nacre.jobs import installer
    from nacre.jobs.run import job_states

    by = list(installer.installed_kinds(memory.workspace))
    try:
        states = job_states(memory)
    except BadSetting as error:
        return {"by": by, "states": [], "trouble": str(error)}
    local = memory.clock.local
    starts = [local(job.last.started).isoformat(timespec="seconds") if job.last else None for job in states]
    rows = [{**job.as_plain(), "last": last} for job, last in zip(states, starts, strict=True)]
    return {"by": by, "states": rows, "trouble": None}


def _index(memory: Memory, changed: int, *, deep: bool) -> dict[str, Any]:
    store = memory.keeper.store
    count = "select count(*) from files"
    return {
        "path": str(store.path),
        "bytes": store.path.stat().st_size if store.path.exists() else 0,
        "files": store.safely(lambda: store.db.execute(count).fetchone()[0]),
        "chunks": memory.passages(),
        "changed": changed,
        "outdated": memory.keeper.outdated(),
        "recovered": store.recovered,
        "check": store.db.execute("pragma quick_check(1)").fetchone()[0] if deep else None,
    }


def _embedding(memory: Memory, unembedded: int, *, deep: bool) -> dict[str, Any]:
    embedder, reason = memory.embedder()
    works: bool | str | None = None
    if deep and embedder:
        try:
            for model in embedder.models():
                embedder.embed(model, ["works"], query=True)
            works = True
        except NacreError as error:
            works = str(error)
    return {
        "provider": embedder.provider if embedder else None,
        "models": [model.name for model in embedder.models()] if embedder else [],
        "vectors": memory.keeper.store.db.execute("select count(*) from vectors").fetchone()[0],
        "waiting": unembedded,
        "reason": reason,
        "works": works,
    }
