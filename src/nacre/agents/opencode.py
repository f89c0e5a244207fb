"""opencode: its MCP servers in ~/.config/opencode/opencode.json or .jsonc (OPENCODE_CONFIG and XDG_CONFIG_HOME move it)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre.agents.edits import JSON, MARKDOWN, Put, RulesBlock
from nacre.agents.registry import (
    OURS,
    READ,
    STAYS,
    Agent,
    Call,
    ConnectOptions,
    Ownership,
    Requirements,
    Target,
    settings_folder,
    settings_values,
    value_at_path,
)
from nacre.i18n import say
from nacre.jobs.installer import Machine
from nacre.vault.discover import expand

NAME = "opencode"


def _home(machine: Machine) -> Path:
    return settings_folder(machine, "XDG_CONFIG_HOME", ".config") / "opencode"


def _settings(machine: Machine) -> Path:
    if named := machine.env.get("OPENCODE_CONFIG"):
        return expand(named, machine.home)
    usual, with_comments = _home(machine) / "opencode.json", _home(machine) / "opencode.jsonc"
    return with_comments if with_comments.exists() and not usual.exists() else usual


def _wanted(machine: Machine, call: Call, wishes: ConnectOptions) -> Requirements:
    settings = _settings(machine)
    server = {"type": "local", "command": [*call.program, "mcp", *call.more], "enabled": True}
    path = (
        ("mcp", "servers", "nacre")
        if _nested(value_at_path(settings_values(settings), "mcp", "servers"))
        else ("mcp", "nacre")
    )
    targets = [Target(settings, JSON, (Put(path, server),))]
    if wishes.rules:
        targets.append(Target(_home(machine) / "AGENTS.md", MARKDOWN, (RulesBlock(wishes.language),)))
    return Requirements(tuple(targets), _owned())


def _nested(servers: Any) -> bool:
    """Whether the servers stand one level further in, as newer versions also have them; a server may be called "servers" too."""
    return isinstance(servers, dict) and "command" not in servers and "url" not in servers and "enabled" not in servers


def _owned() -> tuple[Ownership, ...]:
    return (
        Ownership(STAYS, say("AGENTS.md files: they stay as they are.", "AGENTS.md 文件：保持原样。")),
        Ownership(
            READ,
            say(
                'The AGENTS.md of the user can be taken in once: "nacre import opencode". What you said is captured from its transcripts.',
                "用户的 AGENTS.md 可以一次性导入：“nacre import opencode”。您说过的话从其会话记录中采集。",
            ),
        ),
        Ownership(
            OURS,
            say(
                "Search, and what is written down, by the tools of the server: Nacre. Nothing is put into a session unasked.",
                "搜索和写入通过服务的工具进行：由 Nacre 负责。不会主动向会话中加入内容。",
            ),
        ),
    )


AGENT = Agent(NAME, "opencode", ("opencode",), lambda machine: (_home(machine),), _wanted)
