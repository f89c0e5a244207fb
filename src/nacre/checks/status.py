"""What there is: files by layer, sizes against limits, the index, the vectors, jobs, the daemon, problems."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import Counter
from dataclasses import asdict
from typing import Any

import nacre
from nacre.brain.journal import orders_file
from nacre.capture.cursors import load_cursors
from nacre.checks.doctor import job_problems
from nacre.checks.health import Grade, find_problems, graded, share_of_limits, take_snapshot
from nacre.embed.choose import embedding_problems
from nacre.embed.models import list_models
from nacre.errors import BadSetting, NacreError
from nacre.i18n import language
from nacre.jobs import installer
from nacre.jobs.run import job_states
from nacre.memory import Memory
from nacre.model import Problem
from nacre.sources.registry import paused_at, pauses
from nacre.tidy.summary import last_changes
from nacre.vault import spool
from nacre.vault.history import last_id
from nacre.vault.storage import storage_of

_FOUND = "findings.json"  # beside the index
_SCRIPTS = {"en": "Latin", "zh": "Han"}  # the languages that are judged with an embedding model, and its script


def status_facts(memory: Memory, daemon: dict[str, Any] | None = None, *, deep: bool = False) -> dict[str, Any]:
    """`daemon` is what the daemon says of itself, where there is one."""
    files, longterm = memory.files(), memory.longterm_facts()
    changed, unembedded = memory.waiting(files)
    sessions, run = memory.sessions, last_changes(memory.workspace)
    counts = sessions.store.safely(sessions.counts) if sessions else None
    return {
        "workspace": str(memory.workspace.root),
        "agent": memory.agent,
        "longterm": {**longterm, "share": share_of_limits(longterm["lines"], longterm["bytes"], memory.config.memory)},
        "files": dict(Counter(file.layer for file in files)),
        "index": _index(memory, changed, deep=deep),
        "sessions": dict(zip(("sessions", "messages"), counts, strict=True)) if counts else None,
        "embedding": _embedding(memory, unembedded, deep=deep),
        "capture": _capture(memory),
        "brain": _brain(memory),
        "jobs": job_facts(memory),
        "daemon": daemon,
        "review": len(memory.questions()),
        "night": {"at": run[0], **run[1]._asdict()} if run else None,
        "history": last_id(storage_of(memory.workspace)),
        "problems": [problem.as_plain() for problem in memory.all_problems()],
    }


def grade_and_problems(memory: Memory) -> tuple[Grade, list[Problem]]:
    """How well memory is kept, and what is wrong with it and its setup, the most important first."""
    graded_problems = findings(memory)
    problems = [*memory.all_problems(), *job_problems(memory)]
    listed = {(problem.path, problem.line) for problem in problems if problem.path}
    problems += [finding for finding in graded_problems if (finding.path, finding.line) not in listed]
    problems += embedding_problems(memory.config)
    return graded(graded_problems), sorted(problems, key=lambda problem: problem.severity != "error")


def findings(memory: Memory) -> tuple[Problem, ...]:
    """What health finds; kept beside the index until a file, a limit, the models or the day change, because comparing entries by
    meaning costs three times as much as the rest of status."""
    workspace, limits = memory.workspace, memory.config.memory
    records = [workspace.ledger, workspace.trail, workspace.review]
    seen = [
        *memory.files(),
        *(storage_of(workspace).about(workspace.relative(path)) for path in records),
        *(nacre.__version__, language(), str(memory.clock.today()), limits.max_lines, limits.max_bytes),
        *(model.state for model in list_models()),
    ]
    signature, index = hashlib.sha256(repr(seen).encode()).hexdigest(), str(workspace.index)
    stored = spool.read_json(os.path.join(index, _FOUND))
    if stored.get("signature") == signature:
        return tuple(Problem(**row) for row in stored["findings"])
    problems = find_problems(take_snapshot(memory))
    if os.path.isdir(index):
        with contextlib.suppress(OSError):  # a workspace that cannot be written
            spool.put_json(index, _FOUND, {"signature": signature, "findings": list(map(asdict, problems))})
    return problems


def _capture(memory: Memory) -> dict[str, Any]:
    """What has been captured, whether capture is paused, and for which languages there are embedding models."""
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
    """What writes the logs and what that cost today; None when it is this machine and no model was ever asked."""
    settings = memory.config.brain
    modes = {settings.extract, settings.digest, settings.distil, settings.summarise}
    return memory.brain_facts() if modes != {"local"} or orders_file(memory.workspace).exists() else None


def job_facts(memory: Memory) -> dict[str, Any]:
    """By whom the jobs are run, and how each stands; a setting that cannot be understood is told instead."""
    by = list(installer.installed_kinds(memory.workspace))
    try:
        states = job_states(memory)
    except BadSetting as error:
        return {"by": by, "states": [], "trouble": str(error)}
    local = memory.clock.local
    rows = [
        {**job.as_plain(), "last": job.last and local(job.last.started).isoformat(timespec="seconds")} for job in states
    ]
    return {"by": by, "states": rows, "trouble": None}


def _index(memory: Memory, changed: int, *, deep: bool) -> dict[str, Any]:
    store = memory.keeper.store
    return {
        "path": str(store.path),
        "bytes": store.path.stat().st_size if store.path.exists() else 0,
        "files": store.safely(lambda: store.db.execute("select count(*) from files").fetchone()[0]),
        "chunks": memory.passages(),
        "changed": changed,
        "outdated": memory.keeper.outdated(),
        "recovered": store.recovered,
        "check": store.db.execute("pragma quick_check(1)").fetchone()[0] if deep else None,
    }


def _embedding(memory: Memory, unembedded: int, *, deep: bool) -> dict[str, Any]:
    embedder, reason = memory.embedder()
    models = embedder.models() if embedder else []
    works: bool | str | None = None
    if deep and embedder:
        try:
            for model in models:
                embedder.embed(model, ["works"], query=True)
            works = True
        except NacreError as error:
            works = str(error)
    return {
        "provider": embedder.provider if embedder else None,
        "models": [model.name for model in models],
        "vectors": memory.keeper.store.db.execute("select count(*) from vectors").fetchone()[0],
        "waiting": unembedded,
        "reason": reason,
        "works": works,
    }
