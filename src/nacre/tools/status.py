"""What memory_status tells: how memory stands for its owner; for a group only how it may be asked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.errors import NacreError
from nacre.tools import schemas

if TYPE_CHECKING:
    from nacre.memory import Memory


def status(memory: Memory) -> dict[str, Any]:
    """Plain values, cheap to come by: nothing is embedded and nothing written."""
    group = memory.scope.group
    told: dict[str, Any] = {
        "version": __version__,
        "scope": "main" if group is None else f"group:{group}",
        "tools": [one.name for one in schemas.tools(group=group is not None)],
    }
    return told if group is not None else told | _for_the_owner(memory)


def _for_the_owner(memory: Memory) -> dict[str, Any]:
    from nacre.vault import atomic
    from nacre.vault.files import memory_files
    from nacre.vault.limits import size_of
    from nacre.vault.problems import problems

    workspace, config = memory.workspace, memory.config
    size = size_of(atomic.read_bytes(workspace.longterm))
    synced = memory.synced()
    return {
        "search": _search(memory),
        "workspace": str(workspace.root),
        "longterm": {
            "lines": size.lines,
            "maxLines": config.memory.max_lines,
            "bytes": size.bytes,
            "maxBytes": config.memory.max_bytes,
        },
        "files": dict(Counter(found.layer for found in memory_files(workspace, config))),
        "waiting": dict(zip(("files", "passages"), memory.waiting(), strict=True)),
        "synced": synced.isoformat(timespec="minutes") if synced else None,
        "review": len(memory.questions()),
        "problems": [one.message for one in (*memory.problems, *problems(workspace, config))],
    }


def _search(memory: Memory) -> dict[str, Any]:
    try:
        embedder, reason = memory.embedder()
    except NacreError as trouble:
        return {"provider": None, "models": [], "reason": str(trouble)}
    models = [model.name for model in embedder.models()] if embedder else []
    return {"provider": embedder.provider if embedder else None, "models": models, "reason": reason}
