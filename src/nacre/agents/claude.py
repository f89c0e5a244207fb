"""Claude Code: its MCP servers in ~/.claude.json, its hooks in ~/.claude/settings.json (CLAUDE_CONFIG_DIR moves both)."""

from __future__ import annotations

from pathlib import Path

from nacre.agents import registry
from nacre.agents.edits import JSON, Put
from nacre.i18n import say
from nacre.jobs.installer import Machine

NAME = "claude-code"
# The matcher leaves out "fork": a fork has been given everything already. Limits are for a machine that is busy; a hook takes far less.
EVENTS = {
    "SessionStart": ("startup|resume|clear|compact", 10),
    "UserPromptSubmit": ("", 5),
    "PreCompact": ("", 10),
    "Stop": ("", 5),
    "SessionEnd": ("", 5),
}


def _places(machine: Machine) -> tuple[Path, Path]:
    home = registry.settings_folder(machine, "CLAUDE_CONFIG_DIR", ".claude")
    return home, (home if machine.env.get("CLAUDE_CONFIG_DIR") else machine.home) / ".claude.json"


def _wanted(machine: Machine, call: registry.Call, options: registry.ConnectOptions) -> registry.Requirements:
    home, servers = _places(machine)
    settings = home / "settings.json"
    values = registry.settings_values(settings)
    ownership = registry.owned(
        (
            registry.STAYS,
            "CLAUDE.md and Claude Code's own notes: they stay as they are and Claude Code goes on reading them.",
            "CLAUDE.md 和 Claude Code 自己的笔记：保持原样，仍由 Claude Code 读取。",
        ),
        (
            registry.READ,
            'Both can be taken in once: "nacre import claude-code". What you said is captured from its transcripts.',
            "两者都可以一次性导入：“nacre import claude-code”。您说过的话从其会话记录中采集。",
        ),
        registry.OURS_BY_HOOKS,
    )
    plugins = values.get("enabledPlugins")
    names = [name for name, on in plugins.items() if on is True] if isinstance(plugins, dict) else []
    if plugin := next((name for name in names if name.startswith("nacre@")), None):
        note = say(
            f"Claude Code has the plugin {plugin} switched on, which brings the same server and hooks; nothing is written beside it.",
            f"Claude Code 已启用插件 {plugin}，它带来同样的服务和钩子；不再另外写入。",
        )
        return registry.Requirements((), ownership, notes=(note,))
    targets = (
        registry.Target(servers, JSON, (Put(("mcpServers", "nacre"), {"type": "stdio", **call.server()}),)),
        registry.Target(settings, JSON, registry.hook_edits(call, NAME, EVENTS)),
        *registry.rules_targets(home / "CLAUDE.md", options),
    )
    notes = [say("Sessions that run already see it after a restart.", "已在运行的会话需重新启动后才能使用。")]
    if values.get("disableAllHooks") is True:
        notes.append(
            say(
                f"{settings} says disableAllHooks, so Claude Code runs no hook until that is taken out.",
                f"{settings} 设置了 disableAllHooks，去掉之前 Claude Code 不会运行任何钩子。",
            )
        )
    return registry.Requirements(targets, ownership, notes=tuple(notes))


AGENT = registry.Agent(NAME, "Claude Code", ("claude",), _places, _wanted)
