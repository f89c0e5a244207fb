"""Several agents, each with a workspace of its own: from our settings and from OpenClaw's."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.config import Config
from nacre.vault.discover import expand

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def agents(
    config: Config | None = None, env: Mapping[str, str] | None = None, home: Path | None = None
) -> dict[str, Path]:
    """Each agent's workspace by the agent's id, OpenClaw's default agent first; our own settings win over OpenClaw's."""
    env = os.environ if env is None else env
    home = home or Path.home()
    found = _openclaw(env, home)
    for name, place in (config.agents if config else {}).items():
        found[name] = expand(place, home)
    return found


def openclaw_workspace(config: Config | None, env: Mapping[str, str], home: Path) -> Path | None:
    """The workspace of OpenClaw's default agent, where that exists."""
    name = next(iter(_openclaw(env, home)), None)
    place = agents(config, env, home)[name] if name else None
    return place if place and place.is_dir() else None


def openclaw_state(env: Mapping[str, str], home: Path) -> Path:
    """Where OpenClaw keeps its things."""
    named = env.get("OPENCLAW_STATE_DIR")
    return expand(named, home) if named else home / ".openclaw"


def _openclaw(env: Mapping[str, str], home: Path) -> dict[str, Path]:
    state = openclaw_state(env, home)
    named = env.get("OPENCLAW_CONFIG_PATH")
    settings = _read(expand(named, home) if named else state / "openclaw.json")
    if settings is None:
        usual = state / "workspace"
        return {"main": usual} if usual.is_dir() else {}
    section = _table(settings.get("agents"))
    listed = [one for one in _list(section.get("list")) if isinstance(one, dict) and isinstance(one.get("id"), str)]
    if isinstance(entries := section.get("entries"), dict):  # in current versions, by id
        listed = [{**one, "id": name} for name, one in entries.items() if isinstance(one, dict)]
    default = next((one["id"] for one in listed if one.get("default")), listed[0]["id"] if listed else "main")
    shared = _path(_table(section.get("defaults")).get("workspace"), env, home)
    found: dict[str, Path] = {}
    for one in sorted(listed, key=lambda one: bool(one["id"] != default)) or [{"id": "main"}]:
        known = one["id"].strip().lower()
        own = _path(one.get("workspace"), env, home)
        if known == default.strip().lower() or known == "main":
            usual = shared or state / _usual_name(env)
        else:
            usual = shared / known if shared else state / f"workspace-{known}"
        found[known] = own or usual
    return found


def _usual_name(env: Mapping[str, str]) -> str:
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    return f"workspace-{profile}" if profile and profile.lower() != "default" else "workspace"


def _read(path: Path) -> dict[str, Any] | None:
    """OpenClaw's settings; none when they are missing or beyond us."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    from nacre.vault import json5

    try:
        found = json5.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _path(value: Any, env: Mapping[str, str], home: Path) -> Path | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return expand(_VARIABLE.sub(lambda match: env.get(match[1], match[0]), value.strip()), home)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
