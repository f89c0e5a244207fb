"""Where agents keep what they were told to remember: Claude Code's notes, and the rules of the others."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from nacre.capture.imports.notes import Note
from nacre.config import Config
from nacre.model.session import Kind, Session
from nacre.sources.consent import is_left_out, opted_out, settings_of
from nacre.vault.discover import expand

CLAUDE = "claude-code"
NAMES = (CLAUDE, "codex", "gemini", "opencode")
_OTHERS = {  # the variable that moves the folder, the folder, what is read in it
    "codex": ("CODEX_HOME", ".codex", "AGENTS.md"),
    "gemini": ("", ".gemini", "GEMINI.md"),
    "opencode": ("", ".config/opencode", "AGENTS.md"),
}
_OTHER_LETTER = re.compile(r"[^A-Za-z0-9]")


def notes_of(agent: str, config: Config, env: Mapping[str, str], home: Path) -> list[Note]:
    """The notes of an agent on this machine; none where it has none."""
    if agent == CLAUDE:
        return _claude(config, env, home)
    variable, usual, name = _OTHERS[agent]
    named = env.get(variable, "") if variable else ""
    path = (expand(named, home) if named else home / usual) / name
    return [Note(path, agent, "user")] if path.is_file() else []


def _claude(config: Config, env: Mapping[str, str], home: Path) -> list[Note]:
    named = env.get("CLAUDE_CONFIG_DIR")
    root = expand(named, home) if named else home / ".claude"
    own = root / "CLAUDE.md"
    found = [Note(own, CLAUDE, "user")] if own.is_file() else []
    patterns = settings_of(config, CLAUDE).exclude
    for folder in sorted((root / "projects").glob("*/memory")):
        notes = sorted(folder.glob("*.md"))
        if not notes:
            continue
        project = folder.parent
        left_out = _is_left_out(project, patterns)
        slug = project.name.removeprefix(_encoded(str(home))).strip("-") or project.name
        found += [Note(path, CLAUDE, f"{slug}-{path.stem}", root, left_out) for path in notes]
    return found


def _is_left_out(project: Path, patterns: list[str]) -> bool:
    """Whether the talks of a project are left out: then so are the notes that were taken of them.

    Which folder it is, its transcripts tell; without one only the name is known, in which every sign is a "-".
    """
    if cwd := _folder_of(project):
        return opted_out(cwd) or is_left_out(Session("", CLAUDE, Kind.MAIN, None, (), cwd=cwd), patterns)
    wanted = [_encoded(os.path.expanduser(pattern).rstrip("/")).casefold() for pattern in patterns]
    name = project.name.casefold()
    return any(one and (name == one or name.endswith("-" + one.strip("-"))) for one in wanted)


def _folder_of(project: Path) -> str:
    for transcript in sorted(project.glob("*.jsonl")):
        try:
            with transcript.open(encoding="utf-8", errors="replace") as file:
                for line in islice(file, 50):
                    if '"cwd"' in line and (cwd := _cwd(line)):
                        return cwd
        except OSError:
            continue
    return ""


def _cwd(line: str) -> str:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    cwd = told.get("cwd") if isinstance(told, dict) else None
    return cwd if isinstance(cwd, str) else ""


def _encoded(path: str) -> str:
    """A path as Claude Code names its project folders."""
    return _OTHER_LETTER.sub("-", path)
