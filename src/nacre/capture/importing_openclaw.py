"""OpenClaw's memory settings as ours, where the user has not set them otherwise."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre.capture.importing_notes import SET, SKIP, ImportPlan, shown_path
from nacre.config.loading import checked, known_settings, read_toml, user_config_file
from nacre.errors import BadInput, BadSetting, NotFound
from nacre.i18n import say
from nacre.model.report import Step
from nacre.vault import discover
from nacre.vault.discover import agent_workspaces, expand, openclaw_state

SETTINGS_NAME = "openclaw.json"
# The current place first: where both say something, it is the one that OpenClaw follows.
_PLACES = ("memory.search", "agents.defaults.memorySearch", "agents.defaults.compaction")
_FLUSH = "memoryFlush."  # of how OpenClaw compacts, only this and the reserve are settings of memory
_RESERVE = "reserveTokensFloor"
_EXTRA = "index.extra_paths"
_DEEPEST = 20  # no setting has so many parts
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def _as_it_is(value: Any) -> Any:
    return value


def _with_sessions(value: Any) -> Any:
    return "sessions" in value if isinstance(value, list) else None


def _decay(value: Any) -> Any:
    return "multiply" if value else "off"


def _variety(value: Any) -> Any:
    """Variety switched off is relevance alone; switched on, the lambda beside it says how much."""
    return None if value else 1.0


class _Equal(NamedTuple):
    key: str
    of: Callable[[Any], Any] = _as_it_is  # None: it says nothing that we could take


_EQUALS = {
    "chunking.tokens": _Equal("index.chunk_tokens"),
    "chunking.overlap": _Equal("index.chunk_overlap"),
    "query.maxResults": _Equal("search.max_results"),
    "query.minScore": _Equal("search.min_score"),
    "query.hybrid.vectorWeight": _Equal("search.vector_weight"),
    "query.hybrid.textWeight": _Equal("search.text_weight"),
    "query.hybrid.mmr.enabled": _Equal("search.mmr_lambda", _variety),
    "query.hybrid.mmr.lambda": _Equal("search.mmr_lambda"),
    "query.hybrid.temporalDecay.enabled": _Equal("search.decay", _decay),
    "query.hybrid.temporalDecay.halfLifeDays": _Equal("search.half_life_days"),
    "sources": _Equal("index.sessions", _with_sessions),
    "experimental.sessionMemory": _Equal("index.sessions"),
    "sync.watchDebounceMs": _Equal("serve.watch_debounce_ms"),
    "memoryFlush.enabled": _Equal("flush.enabled"),
    "memoryFlush.softThresholdTokens": _Equal("flush.soft_threshold_tokens"),
    "memoryFlush.prompt": _Equal("flush.prompt"),
    "memoryFlush.systemPrompt": _Equal("flush.system_prompt"),
    _RESERVE: _Equal("flush.reserve_tokens"),
}
_NETWORK = (
    "memoryFlush.model",
    "provider",
    "model",
    "fallback",
    "remote",
    "local",
    "store",
    "multimodal",
    "outputDimensionality",
)


class Said(NamedTuple):
    """One setting of OpenClaw: its whole name, its name below its section, its value."""

    origin: str
    name: str
    value: Any


def settings_file(env: Mapping[str, str], home: Path) -> Path:
    named = env.get("OPENCLAW_CONFIG_PATH")
    return expand(named, home) if named else openclaw_state(env, home) / SETTINGS_NAME


def read_settings(path: Path) -> dict[str, Any]:
    """What the file says; a sentence when it cannot be understood."""
    try:
        told = discover.parse_json5(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as trouble:
        raise NotFound(
            say(f"There are no settings of OpenClaw at {path}.", f"{path} 没有 OpenClaw 设置。")
        ) from trouble
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise BadInput(say(f"{path} cannot be read: {reason}.", f"{path} 无法读取：{reason}。")) from trouble
    except (ValueError, RecursionError) as trouble:
        raise BadInput(
            say(
                f"{path} cannot be understood as JSON5: {trouble}. Mend it and import again.",
                f"{path} 无法按 JSON5 解析：{trouble}。请修正后重新导入。",
            )
        ) from trouble
    if not isinstance(told, dict):
        raise BadInput(say(f"{path} holds no settings.", f"{path} 中没有设置。"))
    return told


def plan_settings(path: Path, env: Mapping[str, str], home: Path, workspace: Path | None = None) -> ImportPlan:
    """Which settings of the user's file would be set, each with where it comes from; and what is not taken, and why.

    `workspace` is OpenClaw's own, from which its relative paths begin.
    """
    told = read_settings(path)
    shown = shown_path(path, home)
    begin = workspace or next(iter(agent_workspaces(None, env, home).values()), path.parent / "workspace")
    given = _flat(read_toml(user_config_file(os.environ)))
    steps: list[Step] = []
    taken: dict[str, Any] = {}
    for said in said_in(told):
        origin = f"{said.origin} ({shown})"
        if said.name == "extraPaths":
            steps += _paths(said, origin, given, taken, lambda one: _place(one, env, home, begin))
            continue
        key, value, why_not = _equal(said)
        if key and not why_not:
            why_not = _why_not(key, value, given, taken)
        if why_not:
            steps.append(Step(SKIP, key or said.origin, why_not, origin if key else shown))
        else:
            taken[key] = value
            steps.append(Step(SET, f"{key} = {_shown(value)}", origin))
    return ImportPlan(tuple(steps), settings=taken)


def said_in(told: Mapping[str, Any]) -> Iterator[Said]:
    """Every setting of memory search and of the flush, the current ones first."""
    for place in _PLACES:
        section: Any = told
        for part in place.split("."):
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict):
            found = _flat(section)
            if place.endswith("compaction"):
                found = {name: value for name, value in found.items() if name.startswith(_FLUSH) or name == _RESERVE}
            # In our order: what switches a thing off has its say before how much of it there is.
            for name in (
                *(name for name in _EQUALS if name in found),
                *(name for name in found if name not in _EQUALS),
            ):
                yield Said(f"{place}.{name}", name, found[name])


def _equal(said: Said) -> tuple[str, Any, str]:
    """Our key and value; or why there is none."""
    equal = _EQUALS.get(said.name)
    if equal is None:
        if said.name.split(".")[0] in _NETWORK or said.name in _NETWORK:
            return (
                "",
                None,
                say(
                    "not taken: models, servers and keys stay with OpenClaw", "不导入：模型、服务器与密钥留在 OpenClaw"
                ),
            )
        return "", None, say("not taken: Nacre has no such setting", "不导入：Nacre 没有此设置")
    value = equal.of(said.value)
    if value is None:
        return "", None, say("not taken: as Nacre does anyway", "不导入：Nacre 本来如此")
    try:
        return equal.key, checked(known_settings()[equal.key], value, "openclaw"), ""
    except BadSetting as trouble:
        return equal.key, None, say(f"not taken: {trouble}", f"不导入：{trouble}")


def _why_not(key: str, value: Any, given: Mapping[str, Any], taken: Mapping[str, Any]) -> str:
    if key in given:
        if given[key] == value:
            return say("the same is set already", "已设为相同的值")
        return say(f"you have set {_shown(given[key])}, which stays", f"您已设为 {_shown(given[key])}，保持不变")
    if key in taken:
        return say(f"taken as {_shown(taken[key])} already", f"已取 {_shown(taken[key])}")
    return ""


def _paths(
    said: Said, origin: str, given: Mapping[str, Any], taken: dict[str, Any], place: Callable[[str], str]
) -> list[Step]:
    """The folders to search besides: those that are missing in the user's list are added to it."""
    known = taken.get(_EXTRA, given.get(_EXTRA, []))
    listed = [{"path": one} if isinstance(one, str) else one for one in (known if isinstance(known, list) else [])]
    have = {os.path.normpath(os.path.expanduser(one.get("path", ""))) for one in listed if isinstance(one, dict)}
    steps: list[Step] = []
    for one in said.value if isinstance(said.value, list) else [said.value]:
        path = one.get("path") if isinstance(one, dict) else one
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            steps.append(Step(SKIP, _EXTRA, say("not taken: no path", "不导入：不是路径"), origin))
            continue
        full = place(path.strip())
        if full in have:
            steps.append(Step(SKIP, f"{_EXTRA}: {full}", say("the same is set already", "已设为相同的值"), origin))
            continue
        have.add(full)
        pattern = one.get("pattern") if isinstance(one, dict) else None
        listed.append({"path": full} | ({"pattern": pattern} if isinstance(pattern, str) else {}))
        taken[_EXTRA] = listed
        steps.append(Step(SET, f"{_EXTRA}: {full}", origin))
    return steps


def _place(path: str, env: Mapping[str, str], home: Path, begin: Path) -> str:
    path = _VARIABLE.sub(lambda match: env.get(match[1], match[0]), path)
    return os.path.normpath(expand(path, home, begin))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and prefix.count(".") < _DEEPEST:
            rows |= _flat(value, f"{prefix}{name}.")
        else:
            rows[prefix + name] = value
    return rows


def _shown(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
