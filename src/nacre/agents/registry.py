"""Every agent that can be connected, how agents call Nacre, and what is written where for each of the coding agents."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.agents.edits import JSON, MARKDOWN, TOML, Add, Edit, Put, RulesBlock, load, value_at
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.jobs.installer import Machine, refuse_control_characters

if TYPE_CHECKING:
    from nacre.memory import Memory

LARGEST_SETTINGS = 20_000_000  # bytes of a settings file
STAYS, OFF, READ, OURS = "stays", "off", "read", "ours"
_ALIASES = {"claude": "claude-code", "claude_code": "claude-code", "claudecode": "claude-code", "gemini-cli": "gemini"}
_PROGRAM_NAMES = ("nacre", "nacre.exe")
# Run by sh with the program as $0: nothing is said where it was deleted, and one that cannot start (its Python is gone) fails nothing.
_IF_THERE = 'test ! -x "$0" || "$0" "$@" || true'


@dataclass(frozen=True)
class Call:
    """How an agent calls Nacre: the words before and behind the verb."""

    program: tuple[str, ...]
    more: tuple[str, ...] = ()

    def server(self) -> dict[str, Any]:
        return {"command": self.program[0], "args": [*self.program[1:], "mcp", *self.more]}

    def hook(self, event: str, agent: str) -> str:
        """One line for a shell, silent when we are not there any more. On Windows nobody knows which shell reads it: there it is bare."""
        words = [*self.program, "hook", event, "--agent", agent, *self.more]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(["sh", "-c", _IF_THERE, *words])


def call_for_workspace(memory: Memory, home: Path) -> Call:
    """The call that reaches this workspace; it is named where it is not the one that is found anyway."""
    named = () if memory.is_found_from(home) else ("--workspace", os.path.realpath(memory.workspace.root))
    call = Call(own_program(), named)
    refuse_control_characters(*call.program, *call.more)
    return call


def own_program(argv: tuple[str, ...] = tuple(sys.argv)) -> tuple[str, ...]:
    """The executable that was called, else the one beside this Python, else this Python itself."""
    typed = Path(shutil.which(argv[0]) or argv[0]) if argv and argv[0] else Path()
    folders = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    for path in (typed, *(folder / name for folder in folders for name in _PROGRAM_NAMES)):
        if path.name.lower() in _PROGRAM_NAMES and os.access(path, os.X_OK) and path.is_file():
            return (os.path.abspath(path),)  # a link stays one: what it leads to may change with the next version
    return (sys.executable, "-P", "-m", "nacre")  # -P: a folder named nacre must not be taken for us


@dataclass(frozen=True)
class ConnectOptions:
    rules: bool = False  # our rules in the agent's own file of rules
    switch_off: bool = False  # what the agent does that Nacre does too
    language: str = "en"
    connected: frozenset[tuple[str, ...]] = frozenset()  # the paths at which an earlier connection wrote


@dataclass(frozen=True)
class Target:
    path: Path
    form: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Ownership:
    """One part of remembering, and whose it is from now on: it stays with the agent, is switched off, is read, or is ours."""

    whose: str
    sentence: str


@dataclass(frozen=True)
class Requirements:
    """Everything that connecting one agent takes. What can be switched off is asked for by itself."""

    targets: tuple[Target, ...]
    owned: tuple[Ownership, ...] = ()
    question: str = ""  # about what could be switched off; none where there is nothing
    notes: tuple[str, ...] = ()
    register: tuple[str, ...] = ()  # a command of the agent's that must know of us too
    unregister: tuple[str, ...] = ()
    proof: tuple[str, ...] = ()  # a command of the agent's that says whether its settings are sound


@dataclass(frozen=True)
class Agent:
    """One kind of agent: by what it is known on a machine, and what connecting it takes."""

    name: str
    title: str
    programs: tuple[str, ...]
    signs: Callable[[Machine], tuple[Path, ...]]
    wanted: Callable[[Machine, Call, ConnectOptions], Requirements]

    def is_here(self, machine: Machine) -> bool:
        return any(os.path.lexists(sign) for sign in self.signs(machine)) or any(map(machine.where, self.programs))


def settings_folder(machine: Machine, variable: str, usual: str) -> Path:
    """Where an agent keeps its settings: where a variable says, else in the home folder."""
    named = machine.env.get(variable) or usual
    return machine.home / named.removeprefix("~/")


def settings_values(path: Path, form: str = JSON) -> Mapping[str, Any]:
    """What a file says, for deciding; one that cannot be read says nothing here, and is complained of where it is edited."""
    try:
        is_readable = path.is_file() and path.stat().st_size <= LARGEST_SETTINGS
        values = load(path.read_bytes().decode(), form) if is_readable else {}
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def rules_targets(path: Path, options: ConnectOptions) -> tuple[Target, ...]:
    return (Target(path, MARKDOWN, (RulesBlock(options.language),)),) if options.rules else ()


def hook_edits(call: Call, agent: str, events: Mapping[str, tuple[str, int]]) -> tuple[Edit, ...]:
    """The hooks as Claude Code and Codex want them told: for each event a group with its matcher and a limit in seconds."""
    edits: list[Edit] = []
    for event, (matcher, seconds) in events.items():
        hook = {"type": "command", "command": call.hook(event, agent), "timeout": seconds}
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        edits.append(Add(("hooks", event), group, hook_mark(event, agent)))
    return tuple(edits)


def hook_mark(event: str, agent: str) -> tuple[str, ...]:
    return ("nacre", f" hook {event} ", f"--agent {agent}")


# The coding agents.

# The matcher leaves out "fork": a fork has been given everything already. Limits are for a machine that is busy; a hook takes far less.
_CLAUDE_EVENTS = {
    "SessionStart": ("startup|resume|clear|compact", 10),
    "UserPromptSubmit": ("", 5),
    "PreCompact": ("", 10),
    "Stop": ("", 5),
    "SessionEnd": ("", 5),
}
_CODEX_EVENTS = {**_CLAUDE_EVENTS, "SessionEnd": ("", 3)}  # a longer limit is clamped, with a warning at every start
_CURSOR_EVENTS = {"sessionStart": 10, "beforeSubmitPrompt": 5, "preCompact": 10, "stop": 5, "sessionEnd": 5}

# What of remembering is ours, by what the agent lets us do.
_BY_HOOKS = (
    "Memory at the start of a session and beside a question, search, and what is written down: Nacre.",
    "会话开始和提问时附带的记忆、搜索以及写入：由 Nacre 负责。",
)
_BY_TOOLS = (
    "Search, and what is written down, by the tools of the server: Nacre. Nothing is put into a session unasked.",
    "搜索和写入通过服务的工具进行：由 Nacre 负责。不会主动向会话中加入内容。",
)


def _owned(stays: tuple[str, str], read: tuple[str, str], ours: tuple[str, str]) -> tuple[Ownership, ...]:
    rows = ((STAYS, stays), (READ, read), (OURS, ours))
    return tuple(Ownership(whose, say(*sentence)) for whose, sentence in rows)


def _claude_places(machine: Machine) -> tuple[Path, Path]:
    home = settings_folder(machine, "CLAUDE_CONFIG_DIR", ".claude")
    return home, (home if machine.env.get("CLAUDE_CONFIG_DIR") else machine.home) / ".claude.json"


def _claude(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home, servers = _claude_places(machine)
    settings = home / "settings.json"
    values = settings_values(settings)
    ownership = _owned(
        (
            "CLAUDE.md and Claude Code's own notes: they stay as they are and Claude Code goes on reading them.",
            "CLAUDE.md 和 Claude Code 自己的笔记：保持原样，仍由 Claude Code 读取。",
        ),
        (
            'Both can be taken in once: "nacre import claude-code". What you said is captured from its transcripts.',
            "两者都可以一次性导入：“nacre import claude-code”。您说过的话从其会话记录中采集。",
        ),
        _BY_HOOKS,
    )
    plugins = values.get("enabledPlugins")
    names = [name for name, on in plugins.items() if on is True] if isinstance(plugins, dict) else []
    if plugin := next((name for name in names if name.startswith("nacre@")), None):
        note = say(
            f"Claude Code has the plugin {plugin} switched on, which brings the same server and hooks; nothing is written beside it.",
            f"Claude Code 已启用插件 {plugin}，它带来同样的服务和钩子；不再另外写入。",
        )
        return Requirements((), ownership, notes=(note,))
    notes = [say("Sessions that run already see it after a restart.", "已在运行的会话需重新启动后才能使用。")]
    if values.get("disableAllHooks") is True:
        english = f"{settings} says disableAllHooks, so Claude Code runs no hook until that is taken out."
        notes.append(say(english, f"{settings} 设置了 disableAllHooks，去掉之前 Claude Code 不会运行任何钩子。"))
    targets = (
        Target(servers, JSON, (Put(("mcpServers", "nacre"), {"type": "stdio", **call.server()}),)),
        Target(settings, JSON, hook_edits(call, "claude-code", _CLAUDE_EVENTS)),
        *rules_targets(home / "CLAUDE.md", options),
    )
    return Requirements(targets, ownership, notes=tuple(notes))


def _codex_home(machine: Machine) -> Path:
    return settings_folder(machine, "CODEX_HOME", ".codex")


def _codex(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = _codex_home(machine)
    config = home / "config.toml"
    english = "Codex runs a new hook only after you have looked at it: type /hooks in Codex once."
    notes = [say(english, "Codex 只运行您检查过的新钩子：请在 Codex 中输入一次 /hooks。")]
    features = settings_values(config, TOML).get("features")
    if isinstance(features, dict) and False in (features.get("hooks"), features.get("codex_hooks")):
        english = f"{config} switches hooks off (features.hooks), so Codex runs none until that is changed."
        notes.append(say(english, f"{config} 关闭了钩子（features.hooks），更改之前 Codex 不会运行任何钩子。"))
    ownership = _owned(
        (
            "AGENTS.md files and Codex's own memories, where you use them: they stay as they are.",
            "AGENTS.md 文件以及 Codex 自己的记忆（如有使用）：保持原样。",
        ),
        (
            '~/.codex/AGENTS.md can be taken in once: "nacre import codex". What you said is captured from its transcripts.',
            "~/.codex/AGENTS.md 可以一次性导入：“nacre import codex”。您说过的话从其会话记录中采集。",
        ),
        _BY_HOOKS,
    )
    targets = (
        Target(config, TOML, (Put(("mcp_servers", "nacre"), call.server()),)),
        Target(home / "hooks.json", JSON, hook_edits(call, "codex", _CODEX_EVENTS)),
        *rules_targets(home / "AGENTS.md", options),
    )
    return Requirements(targets, ownership, notes=tuple(notes))


def _cursor(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = machine.home / ".cursor"
    hooks = [
        Add(("hooks", event), {"command": call.hook(event, "cursor"), "timeout": seconds}, hook_mark(event, "cursor"))
        for event, seconds in _CURSOR_EVENTS.items()
    ]
    english = "Cursor asks once whether the new MCP server may be used."
    notes = [say(english, "Cursor 会询问一次是否允许使用新的 MCP 服务。")]
    if options.rules:
        english = "Cursor keeps the rules for all projects in its own settings, not in a file; paste them there: nacre connect cursor --print."
        chinese = "Cursor 将适用于所有项目的规则保存在自身设置而非文件中；请粘贴到那里：nacre connect cursor --print。"
        notes.append(say(english, chinese))
    ownership = _owned(
        ("Cursor's rules and its own memories: they stay as they are.", "Cursor 的规则和它自己的记忆：保持原样。"),
        ("What you said is captured from its transcripts.", "您说过的话从其会话记录中采集。"),
        (
            "Memory at the start of a session, search, and what is written down: Nacre.",
            "会话开始时附带的记忆、搜索以及写入：由 Nacre 负责。",
        ),
    )
    targets = (
        Target(home / "mcp.json", JSON, (Put(("mcpServers", "nacre"), call.server()),)),
        Target(home / "hooks.json", JSON, (Put(("version",), 1, default=True), *hooks)),
    )
    return Requirements(targets, ownership, notes=tuple(notes))


def _gemini(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = machine.home / ".gemini"
    ownership = _owned(
        (
            "GEMINI.md, and what Gemini's own save_memory writes into it: they stay as they are.",
            "GEMINI.md 以及 Gemini 自己的 save_memory 写入的内容：保持原样。",
        ),
        (
            'GEMINI.md can be taken in once: "nacre import gemini". What you said is captured from its transcripts.',
            "GEMINI.md 可以一次性导入：“nacre import gemini”。您说过的话从其会话记录中采集。",
        ),
        _BY_TOOLS,
    )
    server = Target(home / "settings.json", JSON, (Put(("mcpServers", "nacre"), call.server()),))
    return Requirements((server, *rules_targets(home / "GEMINI.md", options)), ownership)


def _opencode_home(machine: Machine) -> Path:
    return settings_folder(machine, "XDG_CONFIG_HOME", ".config") / "opencode"


def _opencode(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = _opencode_home(machine)
    names = [name for name in ("opencode.json", "opencode.jsonc") if (home / name).exists()]
    settings = settings_folder(machine, "OPENCODE_CONFIG", str(home / (names or ["opencode.json"])[0]))
    # Newer versions also have the servers one level further in; a server may be called "servers" too.
    servers = value_at(settings_values(settings), ("mcp", "servers"))
    nested = isinstance(servers, dict) and not servers.keys() & {"command", "url", "enabled"}
    path = ("mcp", "servers", "nacre") if nested else ("mcp", "nacre")
    server = {"type": "local", "command": [*call.program, "mcp", *call.more], "enabled": True}
    ownership = _owned(
        ("AGENTS.md files: they stay as they are.", "AGENTS.md 文件：保持原样。"),
        (
            'The AGENTS.md of the user can be taken in once: "nacre import opencode". What you said is captured from its transcripts.',
            "用户的 AGENTS.md 可以一次性导入：“nacre import opencode”。您说过的话从其会话记录中采集。",
        ),
        _BY_TOOLS,
    )
    targets = (Target(settings, JSON, (Put(path, server),)), *rules_targets(home / "AGENTS.md", options))
    return Requirements(targets, ownership)


CODING_AGENTS = (
    Agent("claude-code", "Claude Code", ("claude",), _claude_places, _claude),
    Agent("codex", "Codex", ("codex",), lambda machine: (_codex_home(machine),), _codex),
    Agent("cursor", "Cursor", ("cursor", "cursor-agent"), lambda machine: (machine.home / ".cursor",), _cursor),
    Agent("gemini", "Gemini CLI", ("gemini",), lambda machine: (machine.home / ".gemini",), _gemini),
    Agent("opencode", "opencode", ("opencode",), lambda machine: (_opencode_home(machine),), _opencode),
)


def all_agents() -> tuple[Agent, ...]:
    from nacre.agents.openclaw import OPENCLAW

    return (OPENCLAW, *CODING_AGENTS)


def agent_named(name: str) -> Agent:
    agents = {agent.name: agent for agent in all_agents()}
    if agent := agents.get(_ALIASES.get(name.lower(), name.lower())):
        return agent
    raise BadInput(
        f'"{name}" is no agent that Nacre knows how to connect ({", ".join(agents)}). Any MCP client can be told to run "nacre mcp".',
        f"“{name}”不是 Nacre 能够连接的代理（{', '.join(agents)}）。任何 MCP 客户端都可以配置为运行“nacre mcp”。",
    )
