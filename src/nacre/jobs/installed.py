"""What was written where so that jobs run by themselves: kept in the workspace, so that exactly that can be taken back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.vault import atomic
from nacre.vault.blobs import private_folder
from nacre.vault.ownfiles import check_own_files
from nacre.vault.workspace import Workspace

HEARTBEAT = "heartbeat"  # beside the kinds of service: the block in HEARTBEAT.md
Record = dict[str, dict[str, Any]]


def file_of(workspace: Workspace) -> Path:
    return workspace.machine / "service.json"


def read(workspace: Workspace) -> Record:
    """What was installed, by its kind. A file that cannot be understood tells nothing: what we wrote carries our name anyway."""
    try:
        told = json.loads(atomic.read_bytes(file_of(workspace)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    found = told.get("installed") if isinstance(told, dict) else None
    return {kind: one for kind, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}


def kinds(workspace: Workspace) -> tuple[str, ...]:
    """By what the jobs of this workspace are run: systemd, launchd, cron, openclaw."""
    return tuple(kind for kind in read(workspace) if kind != HEARTBEAT)


def is_complete(workspace: Workspace, kind: str) -> bool:
    """Whether setting it up went through; one that was killed on the way is repeated."""
    return bool(read(workspace).get(kind, {}).get("complete"))


def note(workspace: Workspace, kind: str, entry: Mapping[str, Any] | None) -> None:
    """Write down what a kind of service consists of; None: it is gone."""
    check_own_files(workspace)
    record = read(workspace)
    if entry is None and kind not in record:
        return
    if entry is None:
        del record[kind]
    else:
        record[kind] = dict(entry)
    path = file_of(workspace)
    if not record:
        if path.exists():
            atomic.remove(path)
        return
    private_folder(workspace.machine)
    data = json.dumps({"version": 1, "installed": record}, ensure_ascii=False, indent=2) + "\n"
    atomic.write(path, data.encode("utf-8", "surrogateescape"))
