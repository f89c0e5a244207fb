"""Nacre's own files under `.nacre` are ordinary files and folders: a link or a pipe in their place is somebody's trap."""

from __future__ import annotations

import os
import stat

from nacre.errors import PathEscape
from nacre.vault.workspace import Workspace
from nacre.words import say

_FOLDERS = ("", "history", "history/blobs", "index", "inbox", "hooks")
_FILES = (
    "config.toml",
    "key",
    "distil.json",
    "lock",
    "history/operations.jsonl",
    "index/index.sqlite",
    "index/statements.npz",
    "index/looked.json",
    "context.json",
    "cursors.json",
    "imports.json",
    "pauses.json",
    "flush.json",
    "flush.lock",
    "sync.lock",
    "service.json",
    "jobs.jsonl",
    "jobs.lock",
    "hooks.log",
)


def check_own_files(workspace: Workspace) -> None:
    """Refuse a workspace whose machine files lead elsewhere: what we write there, and what we read, must be ours."""
    root = str(workspace.machine)
    for names, right in ((_FOLDERS, stat.S_ISDIR), (_FILES, stat.S_ISREG)):
        for name in names:
            path = os.path.join(root, name) if name else root
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue  # not there yet
            if not right(mode):
                raise PathEscape(
                    say(
                        f"{path} is a link or a special file; Nacre keeps only its own files there. Remove it.",
                        f"{path} 是链接或特殊文件；那里只应有 Nacre 自己的文件。请将其移除。",
                    )
                )
