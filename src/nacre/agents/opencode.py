"""opencode: its MCP servers in ~/.config/opencode/opencode.json or .jsonc (OPENCODE_CONFIG and XDG_CONFIG_HOME move it)."""

from __future__ import annotations

from pathlib import Path

from nacre.agents import registry
from nacre.agents.edits import JSON, Put, value_at
from nacre.jobs.installer import Machine


def _home(machine: Machine) -> Path:
    return registry.settings_folder(machine, "XDG_CONFIG_HOME", ".config") / "opencode"


def _wanted(machine: Machine, call: registry.Call, options: registry.ConnectOptions) -> registry.Requirements:
    home = _home(machine)
    commented = (home / "opencode.jsonc").exists() and not (home / "opencode.json").exists()
    settings = registry.settings_folder(
        machine, "OPENCODE_CONFIG", str(home / ("opencode.jsonc" if commented else "opencode.json"))
    )
    # Newer versions also have the servers one level further in; a server may be called "servers" too.
    servers = value_at(registry.settings_values(settings), ("mcp", "servers"))
    nested = isinstance(servers, dict) and not servers.keys() & {"command", "url", "enabled"}
    path = ("mcp", "servers", "nacre") if nested else ("mcp", "nacre")
    server = {"type": "local", "command": [*call.program, "mcp", *call.more], "enabled": True}
    ownership = registry.owned(
        (registry.STAYS, "AGENTS.md files: they stay as they are.", "AGENTS.md 文件：保持原样。"),
        (
            registry.READ,
            'The AGENTS.md of the user can be taken in once: "nacre import opencode". What you said is captured from its transcripts.',
            "用户的 AGENTS.md 可以一次性导入：“nacre import opencode”。您说过的话从其会话记录中采集。",
        ),
        registry.OURS_BY_TOOLS,
    )
    targets = (
        registry.Target(settings, JSON, (Put(path, server),)),
        *registry.rules_targets(home / "AGENTS.md", options),
    )
    return registry.Requirements(targets, ownership)


AGENT = registry.Agent("opencode", "opencode", ("opencode",), lambda machine: (_home(machine),), _wanted)
