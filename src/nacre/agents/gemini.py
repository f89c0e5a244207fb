"""Gemini CLI: its MCP servers in ~/.gemini/settings.json, which may hold comments."""

from __future__ import annotations

from nacre.agents import registry
from nacre.agents.edits import JSON, Put
from nacre.jobs.installer import Machine


def _wanted(machine: Machine, call: registry.Call, options: registry.ConnectOptions) -> registry.Requirements:
    home = machine.home / ".gemini"
    ownership = registry.owned(
        (
            registry.STAYS,
            "GEMINI.md, and what Gemini's own save_memory writes into it: they stay as they are.",
            "GEMINI.md 以及 Gemini 自己的 save_memory 写入的内容：保持原样。",
        ),
        (
            registry.READ,
            'GEMINI.md can be taken in once: "nacre import gemini". What you said is captured from its transcripts.',
            "GEMINI.md 可以一次性导入：“nacre import gemini”。您说过的话从其会话记录中采集。",
        ),
        registry.OURS_BY_TOOLS,
    )
    server = registry.Target(home / "settings.json", JSON, (Put(("mcpServers", "nacre"), call.server()),))
    return registry.Requirements((server, *registry.rules_targets(home / "GEMINI.md", options)), ownership)


AGENT = registry.Agent("gemini", "Gemini CLI", ("gemini",), lambda machine: (machine.home / ".gemini",), _wanted)
