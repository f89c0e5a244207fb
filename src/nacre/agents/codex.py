"""Codex: its MCP servers in config.toml, its hooks in hooks.json, both in ~/.codex (CODEX_HOME moves it)."""

from __future__ import annotations

from pathlib import Path

from nacre.agents import registry
from nacre.agents.claude import EVENTS
from nacre.agents.edits import JSON, TOML, Put
from nacre.i18n import say
from nacre.jobs.installer import Machine

NAME = "codex"
_EVENTS = {**EVENTS, "SessionEnd": ("", 3)}  # a longer limit is clamped, with a warning at every start


def _home(machine: Machine) -> Path:
    return registry.settings_folder(machine, "CODEX_HOME", ".codex")


def _wanted(machine: Machine, call: registry.Call, options: registry.ConnectOptions) -> registry.Requirements:
    home = _home(machine)
    config = home / "config.toml"
    targets = (
        registry.Target(config, TOML, (Put(("mcp_servers", "nacre"), call.server()),)),
        registry.Target(home / "hooks.json", JSON, registry.hook_edits(call, NAME, _EVENTS)),
        *registry.rules_targets(home / "AGENTS.md", options),
    )
    notes = [
        say(
            "Codex runs a new hook only after you have looked at it: type /hooks in Codex once.",
            "Codex 只运行您检查过的新钩子：请在 Codex 中输入一次 /hooks。",
        )
    ]
    features = registry.settings_values(config, TOML).get("features")
    if isinstance(features, dict) and False in (features.get("hooks"), features.get("codex_hooks")):
        notes.append(
            say(
                f"{config} switches hooks off (features.hooks), so Codex runs none until that is changed.",
                f"{config} 关闭了钩子（features.hooks），更改之前 Codex 不会运行任何钩子。",
            )
        )
    ownership = registry.owned(
        (
            registry.STAYS,
            "AGENTS.md files and Codex's own memories, where you use them: they stay as they are.",
            "AGENTS.md 文件以及 Codex 自己的记忆（如有使用）：保持原样。",
        ),
        (
            registry.READ,
            '~/.codex/AGENTS.md can be taken in once: "nacre import codex". What you said is captured from its transcripts.',
            "~/.codex/AGENTS.md 可以一次性导入：“nacre import codex”。您说过的话从其会话记录中采集。",
        ),
        registry.OURS_BY_HOOKS,
    )
    return registry.Requirements(targets, ownership, notes=tuple(notes))


AGENT = registry.Agent(NAME, "Codex", ("codex",), lambda machine: (_home(machine),), _wanted)
