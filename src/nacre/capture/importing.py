"""nacre import: tells what a path or an agent's name stands for, and writes what is not here yet as one operation."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.brain.local.judge import Judge
from nacre.capture import importing_files as files
from nacre.capture.importing_exports import COMMAND, ImportReport, import_export
from nacre.capture.importing_files import SET, SKIP, ImportPlan, shown_path
from nacre.capture.read import Progress, sync_setup
from nacre.capture.sync import parse_since
from nacre.config.settings import checked, known_settings, read_toml, set_key, user_config_file
from nacre.errors import BadInput, BadSetting, NacreError, NotFound
from nacre.i18n import say
from nacre.model import Context, Step
from nacre.sources.exports import export_at
from nacre.text import json5
from nacre.vault.discover import agent_workspaces, expand, openclaw_state
from nacre.vault.history import operation
from nacre.vault.refcount import REFCOUNT_NAME
from nacre.vault.storage import storage_of
from nacre.vault.writing import rewrite

AGENTS = (*files.RULES_OF_AGENTS, "openclaw")
_ALIASES = {"claude": files.CLAUDE, "claude_code": files.CLAUDE}
_EXPORT_FOLDERS = ("Downloads", "下载", "Desktop")


def import_(
    what: str,
    context: Context,
    judge: Callable[[], Judge],
    *,
    since: str | None = None,
    progress: Progress | None = None,
    dry_run: bool = False,
) -> ImportReport:
    """Take in what a path or an agent's name stands for. Doing it again changes nothing."""
    name, kind, path = _source_of(what, Path.home())
    if path and kind == "export":
        begin = parse_since(since, context.clock) if since else None
        return import_export(path, sync_setup(context, judge), since=begin, progress=progress, dry_run=dry_run)
    if since:
        raise BadInput("--since applies only to chat exports.", "--since 只适用于聊天导出。")
    # Locked from looking to writing, so that two imports at a time do not write the same twice.
    with contextlib.nullcontext() if dry_run else storage_of(context.workspace).hold():
        plan = _plan(name, kind, path, context)
        if not dry_run:
            _apply(plan)
    return ImportReport(kind, name, tuple(plan.steps), tuple(plan.unreadable))


def _source_of(what: str, home: Path) -> tuple[str, str, Path | None]:
    """The name of the agent or the path, the kind of import, and the path where it is one; an error when it is neither."""
    name = _ALIASES.get(what.lower(), what.lower())
    if name in AGENTS:
        return name, "settings" if name == "openclaw" else "notes", None
    path = expand(what, home)
    if not os.path.exists(path):
        agents = ", ".join(AGENTS)
        raise NotFound(
            f'"{what}" is not a file, a folder or an agent whose memory can be imported ({agents}). Run "nacre import" without arguments to list what can be imported.',
            f"“{what}”不是文件或文件夹，也不是可导入记忆的智能体（{agents}）。不带参数运行“nacre import”可列出本机可导入的内容。",
        )
    kind = _kind_of(path)
    if kind is None:
        raise BadInput(
            f"{path} cannot be imported. Nacre imports memory_fs folders, refcount.json, Markdown notes, OpenClaw's openclaw.json, and chat exports from ChatGPT or Claude.ai.",
            f"无法导入 {path}。可导入的有：memory_fs 文件夹、refcount.json、Markdown 笔记、OpenClaw 的 openclaw.json，以及 ChatGPT 或 Claude.ai 的聊天导出。",
        )
    return str(path), kind, path


def _kind_of(path: Path) -> str | None:
    if path.is_dir():
        if files.is_workspace(path):
            return "workspace"
        if files.layers_in(path):
            return "checkpoints"
        if any(path.glob("conversations*.json")):
            return "export"
        if (path / REFCOUNT_NAME).is_file():
            return "refcount"
        return "notes" if files.rules_in(path) or any(path.rglob("*.md")) else None
    by_ending = {".md": "notes", ".markdown": "notes", ".json": "export", ".zip": "export"}
    return {SETTINGS_NAME: "settings", REFCOUNT_NAME: "refcount"}.get(path.name) or by_ending.get(path.suffix.lower())


def _plan(name: str, kind: str, path: Path | None, context: Context) -> ImportPlan:
    """What an import would do, but for chat exports."""
    env, home = os.environ, Path.home()
    plan = ImportPlan(context, home)
    if kind == "settings":
        moved = env.get("OPENCLAW_CONFIG_PATH")
        usual = expand(moved, home) if moved else openclaw_state(env, home) / SETTINGS_NAME
        _plan_settings(plan, path or usual, env)
    elif path is None:
        notes = files.notes_of_agent(name, context.config, env, home)
        if not notes:
            raise NotFound(
                f"There are no {name} memories to import on this machine.",
                f"本机没有可导入的 {name} 记忆。",
            )
        files.plan_notes(plan, notes)
    else:
        folders = (context.workspace.root, context.workspace.tiers(context.config.tiers.path))
        if {disk.real(path), *disk.real(path).parents} & {disk.real(folder) for folder in folders}:
            raise BadInput(
                f"{path} is already in this workspace: there is nothing to import.",
                f"{path} 已在此工作区内：无需导入。",
            )
        if kind == "refcount":
            files.plan_refcount(plan, path / REFCOUNT_NAME if path.is_dir() else path, {})
        if kind in ("checkpoints", "workspace") and (layers := files.layers_in(path)):
            files.plan_checkpoints(plan, layers)
        if kind == "workspace":
            files.plan_notes(plan, files.notes_of_workspace(path))
        if kind == "notes":
            files.plan_notes(plan, files.notes_at(path, context.workspace.root))
    return plan


def _apply(plan: ImportPlan) -> None:
    """Write everything as one operation, which one undo takes back. Settings are the user's: they lie outside of history."""
    if plan.writes:
        with operation(plan.context, COMMAND) as op:
            for path, write in plan.writes.items():
                # A dated note is a log, to which only ever is added: making one is the one thing allowed.
                rewrite(op, path, write.data, read=write.read, log=write.read is None)
                if write.modified is not None:
                    disk.keep_time(path, write.modified)
    for key, value in plan.settings.items():
        set_key(user_config_file(os.environ), key, value)


class Importable(NamedTuple):
    """One thing that `nacre import` would take: what to type, what it is, how many parts it has, how many are new."""

    what: str
    kind: str
    parts: int
    new: int | None = None  # unknown for exports, which would have to be read for it


def survey_importable(context: Context) -> list[Importable]:
    """What on this machine could be imported. Reads, writes nothing; what cannot be read is left out."""
    env, home = os.environ, Path.home()
    workspaces = (*agent_workspaces(context.config, env, home).values(), home / ".nacre" / "workspace")
    places = [place for place in workspaces if files.is_workspace(place)]
    places += [openclaw_state(env, home) / files.LAYERS_NAME, *(Path.cwd() / name for name in files.RULE_FILES)]
    rows: list[Importable] = []
    for what in dict.fromkeys((*AGENTS, *map(str, places))):
        with contextlib.suppress(NacreError, OSError):
            name, kind, path = _source_of(what, home)
            if steps := _plan(name, kind, path, context).steps:
                new = sum(step.action != SKIP for step in steps)
                rows.append(Importable(shown_path(path, home) if path else name, kind, len(steps), new))
    return [*rows, *_exports_in(home)]


def _exports_in(home: Path) -> Iterator[Importable]:
    """The chat exports in the usual download folders, newest first, recognised by the names of their files."""
    for folder in (home / name for name in _EXPORT_FOLDERS):
        unpacked = (file.parent for file in folder.glob("*/conversations*.json"))
        paths = {*folder.glob("[!.]*.zip"), *folder.glob("conversations*.json"), *unpacked}
        for path in sorted(paths, key=lambda path: -path.lstat().st_mtime):
            with contextlib.suppress(OSError):
                if (conversations := export_at(path)) is not None:
                    yield Importable(shown_path(path, home), "export", sum(1 for _ in conversations))


# OpenClaw's memory settings as ours, where the user has not set them otherwise.

SETTINGS_NAME = "openclaw.json"
# The current place first: where both say something, it is the one that OpenClaw follows.
_PLACES = ("memory.search", "agents.defaults.memorySearch", "agents.defaults.compaction")
_FLUSH = "memoryFlush."  # of how OpenClaw compacts, only this and the reserve are settings of memory
_RESERVE = "reserveTokensFloor"
_EXTRA = "index.extra_paths"
_VARIABLE = re.compile(r"\$\{(\w+)\}")
# In this order: what switches a thing off comes before how much of it there is.
_EQUALS = {
    "chunking.tokens": "index.chunk_tokens",
    "chunking.overlap": "index.chunk_overlap",
    "query.maxResults": "search.max_results",
    "query.minScore": "search.min_score",
    "query.hybrid.vectorWeight": "search.vector_weight",
    "query.hybrid.textWeight": "search.text_weight",
    "query.hybrid.mmr.enabled": "search.mmr_lambda",
    "query.hybrid.mmr.lambda": "search.mmr_lambda",
    "query.hybrid.temporalDecay.enabled": "search.decay",
    "query.hybrid.temporalDecay.halfLifeDays": "search.half_life_days",
    "sources": "index.sessions",
    "experimental.sessionMemory": "index.sessions",
    "sync.watchDebounceMs": "serve.watch_debounce_ms",
    "memoryFlush.enabled": "flush.enabled",
    "memoryFlush.softThresholdTokens": "flush.soft_threshold_tokens",
    "memoryFlush.prompt": "flush.prompt",
    "memoryFlush.systemPrompt": "flush.system_prompt",
    _RESERVE: "flush.reserve_tokens",
}
_VALUES: dict[str, Callable[[Any], Any]] = {  # None: it says nothing that we could take
    "query.hybrid.mmr.enabled": lambda value: None if value else 1.0,  # without variety: relevance alone
    "query.hybrid.temporalDecay.enabled": lambda value: "multiply" if value else "off",
    "sources": lambda value: "sessions" in value if isinstance(value, list) else None,
}


def _plan_settings(plan: ImportPlan, path: Path, env: Mapping[str, str]) -> None:
    """Plan which settings of the user would be set, each with its origin; the others are listed with the reason why not."""
    shown = shown_path(path, plan.home)
    set_before, settings = _flat(read_toml(user_config_file(os.environ))), _flat(_read_settings(path))
    for place in _PLACES:
        under = f"{place}."
        values = {key.removeprefix(under): value for key, value in settings.items() if key.startswith(under)}
        for name in dict.fromkeys((*(name for name in _EQUALS if name in values), *values)):
            origin = f"{place}.{name} ({shown})"
            if place.endswith("compaction") and not (name.startswith(_FLUSH) or name == _RESERVE):
                continue
            if name == "extraPaths":
                # Relative paths begin in OpenClaw's own workspace.
                begin = next(iter(agent_workspaces(None, env, plan.home).values()), path.parent / "workspace")
                _plan_paths(plan, values[name], origin, set_before, env, begin)
                continue
            key, ours, why_not = _setting_of(name, values[name])
            before = plan.settings.get(key, set_before.get(key))
            if not why_not and before is not None:
                why_not = say(f"already set to {_shown(before)}; left as it is", f"已设为 {_shown(before)}，保持不变")
                if before == ours:
                    why_not = say("already set to the same value", "已设为相同的值")
            if why_not:
                plan.skip(key or f"{place}.{name}", why_not, origin if key else shown)
            else:
                plan.settings[key] = ours
                plan.steps.append(Step(SET, f"{key} = {_shown(ours)}", origin))


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json5.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise NotFound(f"No OpenClaw settings were found at {path}.", f"没有找到 OpenClaw 的设置：{path}。") from error
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{path} is not valid JSON5: {error}. Fix it and import again.",
            f"{path} 不是有效的 JSON5：{error}。请修正后重新导入。",
        ) from error
    if not isinstance(settings, dict):
        raise BadInput(f"{path} contains no settings.", f"{path} 中没有设置。")
    return settings


def _setting_of(name: str, value: Any) -> tuple[str, Any, str]:
    """Our key and value for a setting of OpenClaw; or the reason why there is none."""
    key = _EQUALS.get(name)
    if key is None:
        return "", None, say("skipped: Nacre has no such setting", "跳过：Nacre 没有此设置")
    value = _VALUES[name](value) if name in _VALUES else value
    if value is None:
        return "", None, say("skipped: Nacre already works this way", "跳过：Nacre 本来就是这样")
    try:
        return key, checked(known_settings()[key], value, "openclaw"), ""
    except BadSetting as error:
        return key, None, say(f"skipped: {error}", f"跳过：{error}")


def _plan_paths(
    plan: ImportPlan, value: Any, origin: str, set_before: Mapping[str, Any], env: Mapping[str, str], begin: Path
) -> None:
    """Plan the extra folders to search: those missing in the user's list are added to it."""
    before = plan.settings.get(_EXTRA, set_before.get(_EXTRA, []))
    listed = [{"path": row} if isinstance(row, str) else row for row in before]
    have = {os.path.normpath(os.path.expanduser(row["path"])) for row in listed}
    for row in value if isinstance(value, list) else [value]:
        path, pattern = (row.get("path"), row.get("pattern")) if isinstance(row, dict) else (row, None)
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            plan.skip(_EXTRA, say("skipped: not a path", "跳过：不是路径"), origin)
            continue
        path = _VARIABLE.sub(lambda match: env.get(match[1], match[0]), path.strip())
        full = os.path.normpath(expand(path, plan.home, begin))
        if full in have:
            plan.skip(f"{_EXTRA}: {full}", say("already set to the same value", "已设为相同的值"), origin)
            continue
        have.add(full)
        listed.append({"path": full} | ({"pattern": pattern} if isinstance(pattern, str) else {}))
        plan.settings[_EXTRA] = listed
        plan.steps.append(Step(SET, f"{_EXTRA}: {full}", origin))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, value in table.items():
        rows |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return rows


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
