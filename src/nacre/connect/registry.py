"""Every agent that can be connected, in the order in which they are named."""

from __future__ import annotations

import importlib

from nacre.connect.agent import Agent
from nacre.errors import BadInput
from nacre.words import say

MODULES = ("openclaw", "claude", "codex", "cursor", "gemini", "opencode")
_ALIASES = {"claude": "claude-code", "claude_code": "claude-code", "claudecode": "claude-code", "gemini-cli": "gemini"}


def known() -> tuple[Agent, ...]:
    found = [importlib.import_module(f"nacre.connect.agents.{name}").AGENT for name in MODULES]
    assert all(isinstance(one, Agent) for one in found)
    return tuple(found)


def named(name: str) -> Agent:
    """The agent that is meant; a sentence when it is none."""
    wanted = _ALIASES.get(name.lower(), name.lower())
    for agent in known():
        if agent.name == wanted:
            return agent
    listed = ", ".join(agent.name for agent in known())
    raise BadInput(
        say(
            f'"{name}" is no agent that Nacre knows how to connect ({listed}). Any MCP client can be told to run "nacre mcp".',
            f"“{name}”不是 Nacre 能够连接的代理（{listed}）。任何 MCP 客户端都可以配置为运行“nacre mcp”。",
        )
    )
