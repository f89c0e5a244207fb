"""nacre import: tells what a path or an agent's name stands for, and writes what is not here yet as one operation."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from nacre.brain.local.judge import Judge
from nacre.capture import (
    importing_checkpoints,
    importing_exports,
    importing_notes,
    importing_openclaw,
    importing_refcount,
)
from nacre.capture.importing_notes import SKIP, ImportPlan, ImportReport, apply_import, shown_path
from nacre.capture.sync import Progress, parse_since, sync_setup
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError, NotFound
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.sources.exports.which import export_at
from nacre.vault import discover as configured
from nacre.vault import disk
from nacre.vault.discover import expand
from nacre.vault.lock import lock
from nacre.vault.refcount import REFCOUNT_NAME

AGENTS = (*importing_notes.AGENTS_WITH_NOTES, "openclaw")
_ALIASES = {"claude": importing_notes.CLAUDE, "claude_code": importing_notes.CLAUDE}
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
    if importing_notes.is_workspace(path):
        return "workspace"
    if importing_checkpoints.layers_in(path):
        return "checkpoints"
    if any(_EXPORT.fullmatch(one.name) for one in path.glob("conversations*.json")):
        return "export"
    if (path / REFCOUNT_NAME).is_file():
        return "refcount"
    has_rules = any((path / name).is_file() for name in (*importing_notes.RULE_FILES, ".claude/CLAUDE.md"))
    return "notes" if has_rules or next(path.rglob("*.md"), None) else None


def _of_file(path: Path) -> str | None:
    if not path.is_file():
        return None
    if path.suffix.lower() in (".md", ".markdown"):
        return "notes"
    if path.name == importing_openclaw.SETTINGS_NAME:
        return "settings"
    if zipfile.is_zipfile(path) or _EXPORT.fullmatch(path.name):
        return "export"
    if path.name == REFCOUNT_NAME:
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
    return bool(told) and importing_refcount.is_refcount(told)


# nacre import: what is it → what of it is not here yet → written as one change.


def import_(
    what: str,
    workspace: Workspace,
    config: Config,
    clock: Clock,
    judge: Callable[[], Judge],
    *,
    since: str | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Take in what a path or an agent's name stands for. Doing it again changes nothing."""
    home = Path.home()
    found = which(what, home)
    if isinstance(found, Place) and found.kind == "export":
        setting = sync_setup(workspace, config, clock, judge)
        begin = parse_since(since, clock) if since else None
        return importing_exports.import_export(found.path, setting, since=begin, progress=progress, dry_run=dry_run)
    if since:
        raise BadInput(say("--since is for chat exports only.", "--since 仅用于聊天导出。"))
    if dry_run:
        made = planned(found, workspace, config, clock, os.environ, home)
    else:
        with lock(workspace):  # from looking to writing, so that two imports at a time do not write the same twice
            made = planned(found, workspace, config, clock, os.environ, home)
            apply_import(made, workspace, clock, config)
    kind, origin = (found.kind, str(found.path)) if isinstance(found, Place) else _about(found)
    return ImportReport(kind, origin, made.steps, made.unreadable)


def planned(
    found: Agent | Place, workspace: Workspace, config: Config, clock: Clock, env: Mapping[str, str], home: Path
) -> ImportPlan:
    """What an import would do, but for chat exports."""
    if isinstance(found, Agent):
        return _of_agent(found.name, workspace, config, clock, env, home)
    path, kind = found.path, found.kind
    if kind == "settings":
        return importing_openclaw.plan_settings(path, env, home)
    _must_lie_elsewhere(path, workspace, config)
    if kind == "refcount":
        return importing_refcount.plan_refcount(
            path / REFCOUNT_NAME if path.is_dir() else path, workspace, config, home
        )
    made = ImportPlan()
    if kind in ("checkpoints", "workspace") and (layers := importing_checkpoints.layers_in(path)):
        made += importing_checkpoints.plan_checkpoints(layers, workspace, config, home)
    if kind == "workspace":
        made += importing_notes.plan_notes(importing_notes.notes_of_workspace(path), workspace, clock, home)
    if kind == "notes":
        listed = (
            importing_notes.notes_of_folder(path, workspace) if path.is_dir() else [importing_notes.note_of_file(path)]
        )
        made += importing_notes.plan_notes(listed, workspace, clock, home)
    return made


def _of_agent(
    name: str, workspace: Workspace, config: Config, clock: Clock, env: Mapping[str, str], home: Path
) -> ImportPlan:
    if name == "openclaw":
        return importing_openclaw.plan_settings(importing_openclaw.settings_file(env, home), env, home)
    found = importing_notes.notes_of_agent(name, config, env, home)
    if not found:
        raise NotFound(
            say(
                f"{name} has written nothing down on this machine that could be imported.",
                f"本机没有 {name} 写下的可导入内容。",
            )
        )
    return importing_notes.plan_notes(found, workspace, clock, home)


def _about(found: Agent) -> tuple[str, str]:
    return "settings" if found.name == "openclaw" else "notes", found.name


def _must_lie_elsewhere(path: Path, workspace: Workspace, config: Config) -> None:
    """What lies in the workspace is memory already."""
    real = disk.real(path)
    for root in (workspace.root, workspace.tiers(config.tiers.path)):
        place = disk.real(root)
        if real == place or place in real.parents:
            raise BadInput(
                say(
                    f"{path} lies in this workspace already: there is nothing to import.",
                    f"{path} 已在此工作区内：无需导入。",
                )
            )


# What on this machine could be imported: agents' notes and settings, checkpoints and workspaces, chat exports.

_EXPORT_FOLDERS = ("Downloads", "下载", "Desktop")
_MOST_FILES = 200  # files of a folder that are looked at, the newest first


class Importable(NamedTuple):
    """One thing that `nacre import` would take: what to type, what it is, how many parts it has, how many are new."""

    what: str
    kind: str
    parts: int
    new: int | None = None  # unknown for exports, which would have to be read for it


def survey_importable(workspace: Workspace, config: Config, clock: Clock) -> list[Importable]:
    """Everything that could be imported. Reads, writes nothing; what cannot be read is left out."""
    env, home = os.environ, Path.home()
    found: list[Importable] = []
    for target in _targets(workspace, config, env, home):
        try:
            made = planned(target, workspace, config, clock, env, home)
        except (NacreError, OSError):
            continue
        if made.steps:
            found.append(_row(target, made, home))
    return [*found, *_exports_in(home)]


def _row(target: Agent | Place, made: ImportPlan, home: Path) -> Importable:
    new = sum(step.action != SKIP for step in made.steps)
    if isinstance(target, Agent):
        return Importable(target.name, "settings" if target.name == "openclaw" else "notes", len(made.steps), new)
    return Importable(shown_path(target.path, home), target.kind, len(made.steps), new)


def _targets(workspace: Workspace, config: Config, env: Mapping[str, str], home: Path) -> Iterator[Agent | Place]:
    for name in importing_notes.AGENTS_WITH_NOTES:
        if importing_notes.notes_of_agent(name, config, env, home):
            yield Agent(name)
    if importing_openclaw.settings_file(env, home).is_file():
        yield Agent("openclaw")
    ours = {disk.real(one) for one in (workspace.root, workspace.tiers(config.tiers.path))}
    state = configured.openclaw_state(env, home)
    others = [*configured.agent_workspaces(config, env, home).values(), home / ".nacre" / "workspace"]
    for place in dict.fromkeys(disk.real(one) for one in others):
        if place not in ours and importing_notes.is_workspace(place):
            yield Place(place, "workspace")
    if (state / importing_checkpoints.LAYERS_NAME).is_dir() and disk.real(
        state / importing_checkpoints.LAYERS_NAME
    ) not in ours:
        yield Place(state / importing_checkpoints.LAYERS_NAME, "checkpoints")
    here = Path.cwd()
    if disk.real(here) not in ours and here != home:
        yield from (Place(here / name, "notes") for name in importing_notes.RULE_FILES if (here / name).is_file())


def _exports_in(home: Path) -> Iterator[Importable]:
    for folder in (home / name for name in _EXPORT_FOLDERS):
        for path in _newest(folder):
            if not _may_be_export(path):
                continue
            try:
                conversations = export_at(path)
                if conversations is not None:
                    yield Importable(shown_path(path, home), "export", sum(1 for _ in conversations))
            except OSError:
                continue


def _newest(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            dated = [(entry.stat().st_mtime, entry.path) for entry in entries if entry.name[0] != "."]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(dated, reverse=True)[:_MOST_FILES]]


def _may_be_export(path: Path) -> bool:
    """By names alone: whether a file or folder holds a conversations.json."""
    try:
        if path.is_dir():
            return any(path.glob("conversations*.json"))
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return any(PurePosixPath(name).name.startswith("conversations") for name in archive.namelist())
    except (OSError, zipfile.BadZipFile, ValueError):
        return False
    return path.name.startswith("conversations") and path.suffix == ".json"
