"""What a path or a name stands for, told by the name, the place and the content."""

from __future__ import annotations

import json
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from nacre.capture.imports import agents, notes, openclaw, refcount, tiers
from nacre.errors import BadInput, NotFound
from nacre.sources.exports.which import export_at
from nacre.vault.discover import expand
from nacre.words import say

AGENTS = (*agents.NAMES, "openclaw")
_ALIASES = {"claude": agents.CLAUDE, "claude_code": agents.CLAUDE}
_EXPORT = re.compile(r"conversations(?:-\d+)?\.json")
_PEEK = 5_000_000  # bytes of a JSON file that are looked at to tell what it is


@dataclass(frozen=True)
class Agent:
    """An agent whose own memory is meant."""

    name: str


@dataclass(frozen=True)
class Place:
    """A file or folder, and what it is."""

    path: Path
    kind: str  # "checkpoints", "workspace", "notes", "refcount", "settings" or "export"


def which(what: str, home: Path) -> Agent | Place:
    """The agent or the file that is meant; a sentence when it is neither."""
    name = _ALIASES.get(what.lower(), what.lower())
    if name in AGENTS:
        return Agent(name)
    path = expand(what, home)
    if not os.path.exists(path):
        known = ", ".join(AGENTS)
        raise NotFound(
            say(
                f'"{what}" is neither a file, nor a folder, nor an agent whose memory can be imported ({known}). '
                '"nacre import" alone lists what is on this machine.',
                f"“{what}”既不是文件、文件夹，也不是可导入记忆的代理（{known}）。单独运行“nacre import”可列出本机内容。",
            )
        )
    try:
        kind = _of_folder(path) if path.is_dir() else _of_file(path)
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise BadInput(say(f"{path} cannot be read: {reason}.", f"{path} 无法读取：{reason}。")) from trouble
    if kind is None:
        raise BadInput(
            say(
                f"{path} is nothing that can be imported: a memory_fs folder, a refcount.json, Markdown notes, OpenClaw's "
                "openclaw.json, or a chat export of ChatGPT or Claude.ai.",
                f"{path} 无法导入：应为 memory_fs 文件夹、refcount.json、Markdown 笔记、OpenClaw 的 openclaw.json，"
                "或 ChatGPT、Claude.ai 的聊天导出。",
            )
        )
    return Place(path, kind)


def _of_folder(path: Path) -> str | None:
    if not os.access(path, os.R_OK | os.X_OK):
        raise PermissionError(13, "Permission denied")
    if notes.is_workspace(path):
        return "workspace"
    if tiers.layers_in(path):
        return "checkpoints"
    if any(_EXPORT.fullmatch(one.name) for one in path.glob("conversations*.json")):
        return "export"
    if (path / refcount.NAME).is_file():
        return "refcount"
    has_rules = any((path / name).is_file() for name in (*notes.AGENTS, ".claude/CLAUDE.md"))
    return "notes" if has_rules or next(path.rglob("*.md"), None) else None


def _of_file(path: Path) -> str | None:
    if not path.is_file():
        return None
    if path.suffix.lower() in (".md", ".markdown"):
        return "notes"
    if path.name == openclaw.NAME:
        return "settings"
    if zipfile.is_zipfile(path) or _EXPORT.fullmatch(path.name):
        return "export"
    if path.name == refcount.NAME:
        return "refcount"
    if path.suffix.lower() != ".json":
        return None
    return "refcount" if _is_refcount(path) else "export" if export_at(path) is not None else None


def _is_refcount(path: Path) -> bool:
    """Whether a JSON file of another name holds counts by checkpoint."""
    if path.stat().st_size > _PEEK:
        return False
    try:
        told = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return bool(told) and refcount.is_one(told)
