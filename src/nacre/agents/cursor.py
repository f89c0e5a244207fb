"""Cursor: its MCP servers in ~/.cursor/mcp.json, its hooks in ~/.cursor/hooks.json."""

from __future__ import annotations

from nacre.agents import registry
from nacre.agents.edits import JSON, Add, Put
from nacre.i18n import say
from nacre.jobs.installer import Machine

NAME = "cursor"
EVENTS = {"sessionStart": 10, "beforeSubmitPrompt": 5, "preCompact": 10, "stop": 5, "sessionEnd": 5}


def _wanted(machine: Machine, call: registry.Call, options: registry.ConnectOptions) -> registry.Requirements:
    home = machine.home / ".cursor"
    hooks = [
        Add(("hooks", event), {"command": call.hook(event, NAME), "timeout": seconds}, registry.hook_mark(event, NAME))
        for event, seconds in EVENTS.items()
    ]
    targets = (
        registry.Target(home / "mcp.json", JSON, (Put(("mcpServers", "nacre"), call.server()),)),
        registry.Target(home / "hooks.json", JSON, (Put(("version",), 1, default=True), *hooks)),
    )
    notes = [
        say("Cursor asks once whether the new MCP server may be used.", "Cursor 会询问一次是否允许使用新的 MCP 服务。")
    ]
    if options.rules:
        notes.append(
            say(
                "Cursor keeps the rules for all projects in its own settings, not in a file; paste them there: nacre connect cursor --print.",
                "Cursor 将适用于所有项目的规则保存在自身设置而非文件中；请粘贴到那里：nacre connect cursor --print。",
            )
        )
    ownership = registry.owned(
        (
            registry.STAYS,
            "Cursor's rules and its own memories: they stay as they are.",
            "Cursor 的规则和它自己的记忆：保持原样。",
        ),
        (registry.READ, "What you said is captured from its transcripts.", "您说过的话从其会话记录中采集。"),
        (
            registry.OURS,
            "Memory at the start of a session, search, and what is written down: Nacre.",
            "会话开始时附带的记忆、搜索以及写入：由 Nacre 负责。",
        ),
    )
    return registry.Requirements(targets, ownership, notes=tuple(notes))


AGENT = registry.Agent(NAME, "Cursor", ("cursor", "cursor-agent"), lambda machine: (machine.home / ".cursor",), _wanted)
