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
from typing import Any

from nacre import disk
from nacre.agents.edits import JSON, MARKDOWN, TOML, Add, Edit, Put, RulesBlock, load, value_at
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine, refuse_control_characters
from nacre.memory import Memory
from nacre.vault.discover import openclaw_state

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
    language: str = "en"


@dataclass(frozen=True)
class Target:
    path: Path
    form: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Requirements:
    """Everything that connecting one agent takes."""

    targets: tuple[Target, ...]
    stays: str = ""  # which of the agent's own ways of remembering stay
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
    return machine.home / (machine.env.get(variable) or usual).removeprefix("~/")


def settings_values(path: Path, form: str = JSON) -> Mapping[str, Any]:
    """What a file says, for deciding; one that cannot be read says nothing here, and is complained of where it is edited."""
    try:
        values = load((disk.read_bytes(path) or b"").decode(), form)
    except (NacreError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def rules_targets(path: Path, options: ConnectOptions) -> tuple[Target, ...]:
    return (Target(path, MARKDOWN, (RulesBlock(options.language),)),) if options.rules else ()


def stays_and_can_be_imported(title: str, name: str, imported: str, chinese: str) -> str:
    return say(
        f'{title}\'s own memory and its files of rules are not changed; "nacre import {name}" imports {imported} once.',
        f"{title} 自己的记忆和规则文件不会改动；可用“nacre import {name}”导入一次{chinese}。",
    )


def hook_edits(call: Call, agent: str, events: Mapping[str, tuple[str, int]]) -> tuple[Edit, ...]:
    """The hooks as Claude Code and Codex want them told: for each event a group with its matcher and a limit in seconds."""

    def group(event: str, matcher: str, seconds: int) -> dict[str, Any]:
        hooks = [{"type": "command", "command": call.hook(event, agent), "timeout": seconds}]
        return {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}

    return tuple(
        Add(("hooks", event), group(event, *limits), hook_mark(event, agent)) for event, limits in events.items()
    )


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


def _claude_places(machine: Machine) -> tuple[Path, Path]:
    home = settings_folder(machine, "CLAUDE_CONFIG_DIR", ".claude")
    return home, (home if machine.env.get("CLAUDE_CONFIG_DIR") else machine.home) / ".claude.json"


def _claude(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home, servers = _claude_places(machine)
    settings = home / "settings.json"
    values = settings_values(settings)
    stays = stays_and_can_be_imported("Claude Code", "claude-code", "CLAUDE.md and its notes", "CLAUDE.md 和它的笔记")
    plugins = values.get("enabledPlugins")
    names = [name for name, on in plugins.items() if on is True] if isinstance(plugins, dict) else []
    if plugin := next((name for name in names if name.startswith("nacre@")), None):
        note = say(
            f"The Claude Code plugin {plugin} is enabled and already provides the server and hooks, so nothing more is written.",
            f"Claude Code 已启用插件 {plugin}，其中已包含服务器和钩子，不再另外写入。",
        )
        return Requirements((), stays, notes=(note,))
    notes = [say("Restart running sessions for this to take effect.", "正在运行的会话需要重启才能生效。")]
    if values.get("disableAllHooks") is True:
        english = f"{settings} sets disableAllHooks, so Claude Code runs no hooks until you remove it."
        notes.append(say(english, f"{settings} 设置了 disableAllHooks，移除后 Claude Code 才会运行钩子。"))
    targets = (
        Target(servers, JSON, (Put(("mcpServers", "nacre"), {"type": "stdio", **call.server()}),)),
        Target(settings, JSON, hook_edits(call, "claude-code", _CLAUDE_EVENTS)),
        *rules_targets(home / "CLAUDE.md", options),
    )
    return Requirements(targets, stays, notes=tuple(notes))


def _codex(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = settings_folder(machine, "CODEX_HOME", ".codex")
    config = home / "config.toml"
    notes = [
        say(
            "Codex runs new hooks only after you have reviewed them: type /hooks in Codex once.",
            "Codex 只运行你审核过的钩子：请在 Codex 中输入一次 /hooks。",
        )
    ]
    features = settings_values(config, TOML).get("features")
    if isinstance(features, dict) and False in (features.get("hooks"), features.get("codex_hooks")):
        english = f"{config} turns hooks off (features.hooks), so Codex runs none until you change that."
        notes.append(say(english, f"{config} 关闭了钩子（features.hooks），重新开启后 Codex 才会运行钩子。"))
    return Requirements(
        (
            Target(config, TOML, (Put(("mcp_servers", "nacre"), call.server()),)),
            Target(home / "hooks.json", JSON, hook_edits(call, "codex", _CODEX_EVENTS)),
            *rules_targets(home / "AGENTS.md", options),
        ),
        stays_and_can_be_imported("Codex", "codex", "~/.codex/AGENTS.md", "~/.codex/AGENTS.md"),
        notes=tuple(notes),
    )


def _cursor(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = machine.home / ".cursor"
    hooks = [
        Add(("hooks", event), {"command": call.hook(event, "cursor"), "timeout": seconds}, hook_mark(event, "cursor"))
        for event, seconds in _CURSOR_EVENTS.items()
    ]
    notes = [
        say("Cursor will ask once whether to allow the new MCP server.", "Cursor 会询问一次是否允许新的 MCP 服务器。")
    ]
    if options.rules:
        english = "Cursor keeps its global rules in its settings, not in a file; paste Nacre's rules there: nacre connect cursor --print."
        chinese = "Cursor 的全局规则保存在它的设置里，而不是文件里；请将规则粘贴到那里：nacre connect cursor --print。"
        notes.append(say(english, chinese))
    stays = say("Cursor's rules and its own memories are not changed.", "Cursor 的规则和它自己的记忆不会改动。")
    targets = (
        Target(home / "mcp.json", JSON, (Put(("mcpServers", "nacre"), call.server()),)),
        Target(home / "hooks.json", JSON, (Put(("version",), 1, default=True), *hooks)),
    )
    return Requirements(targets, stays, notes=tuple(notes))


def _gemini(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    home = machine.home / ".gemini"
    server = Target(home / "settings.json", JSON, (Put(("mcpServers", "nacre"), call.server()),))
    stays = stays_and_can_be_imported("Gemini CLI", "gemini", "your global GEMINI.md", "你的全局 GEMINI.md")
    return Requirements((server, *rules_targets(home / "GEMINI.md", options)), stays)


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
    targets = (Target(settings, JSON, (Put(path, server),)), *rules_targets(home / "AGENTS.md", options))
    return Requirements(
        targets, stays_and_can_be_imported("opencode", "opencode", "your global AGENTS.md", "你的全局 AGENTS.md")
    )


# OpenClaw: our plugin in its memory slot, in openclaw.json; where OpenClaw itself is not at hand, an MCP server.

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "openclaw"
_CORE = ("plugins", "entries", "memory-core")


def _openclaw_places(machine: Machine) -> tuple[Path, Path]:
    state = openclaw_state(machine.env, machine.home)
    return state, settings_folder(machine, "OPENCLAW_CONFIG_PATH", str(state / "openclaw.json"))


def _openclaw(machine: Machine, call: Call, _options: ConnectOptions) -> Requirements:
    settings = _openclaw_places(machine)[1]
    if not machine.where("openclaw") or not (PLUGIN / "openclaw.plugin.json").is_file():
        return _as_server(settings, call)
    values = settings_values(settings)
    edits: list[Edit] = [
        Add(("plugins", "load", "paths"), str(PLUGIN), (os.path.join("nacre", "plugins", "openclaw"),)),
        Put(("plugins", "slots", "memory"), "nacre"),
        Put(("plugins", "entries", "nacre"), _entry(machine, call)),
    ]
    allowed = value_at(values, ("plugins", "allow"))
    if isinstance(allowed, list) and allowed:
        edits.append(Add(("plugins", "allow"), "nacre"))
    notes = [
        say(
            'While Nacre is the memory plugin, "openclaw memory …" is not available: use "nacre search", "nacre status" and "nacre index", or "openclaw nacre …" with the same arguments.',
            "Nacre 作为记忆插件期间，“openclaw memory …”不可用：请改用“nacre search”“nacre status”“nacre index”，或用相同的参数运行“openclaw nacre …”。",
        )
    ]
    if value_at(values, ("plugins", "enabled")) is False:
        english = f"{settings} sets plugins.enabled to false, so OpenClaw loads no plugins until you change that."
        notes.append(say(english, f"{settings} 将 plugins.enabled 设为 false，改回后 OpenClaw 才会加载插件。"))
    # Out of the memory slot memory-core only dreams, which rewrites MEMORY.md at night. It is switched off whole, because settings for a
    # plugin that is not in use make "openclaw plugins doctor" complain; where the user has settings for it, only the dreaming is.
    has_settings = value_at(values, (*_CORE, "config"))
    switch = ("config", "dreaming", "enabled") if has_settings else ("enabled",)
    edits.append(Put((*_CORE, *switch), value=False))
    stays = say(
        "OpenClaw still loads MEMORY.md and its other files into each session, and still lets the agent save notes before compaction; its dreaming feature, which rewrites MEMORY.md at night, is turned off.",
        "OpenClaw 仍会在会话开始时加载 MEMORY.md 等文件，并在压缩前让智能体保存内容；它夜间改写 MEMORY.md 的 dreaming 功能会关闭。",
    )
    return Requirements(
        (Target(settings, JSON, tuple(edits)),),
        stays,
        tuple(notes),
        ("openclaw", "plugins", "install", "--link", str(PLUGIN), "--force", "--accept-capabilities"),
        ("openclaw", "plugins", "uninstall", "nacre", "--force"),
        ("openclaw", "config", "validate"),
    )


def _entry(machine: Machine, call: Call) -> dict[str, Any]:
    """Without allowConversationAccess OpenClaw would keep the end of a turn, and the moment before a prompt, from us."""
    config = {"command": call.program[0]} if len(call.program) == 1 else {}
    workspace = call.more[1] if call.more else ""
    if workspace and workspace not in map(os.path.realpath, machine.openclaw_workspaces().values()):
        config["workspace"] = workspace
    entry: dict[str, Any] = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    return {**entry, "config": config} if config else entry


def _as_server(settings: Path, call: Call) -> Requirements:
    note = say(
        'The "openclaw" command is not available here, so only an MCP server is set up. Where "openclaw" works, "nacre connect openclaw" installs the memory plugin instead, which also adds context, saves before compaction and captures sessions.',
        "这里没有“openclaw”命令，因此只配置了 MCP 服务器。在能运行“openclaw”的环境中执行“nacre connect openclaw”，会改为安装记忆插件，它还能提供上下文、在压缩前保存、采集会话。",
    )
    stays = say("OpenClaw's own memory is not changed.", "OpenClaw 自己的记忆不会改动。")
    return Requirements((Target(settings, JSON, (Put(("mcp", "servers", "nacre"), call.server()),)),), stays, (note,))


ALL_AGENTS = (
    Agent("openclaw", "OpenClaw", ("openclaw",), _openclaw_places, _openclaw),
    Agent("claude-code", "Claude Code", ("claude",), _claude_places, _claude),
    Agent("codex", "Codex", ("codex",), lambda machine: (settings_folder(machine, "CODEX_HOME", ".codex"),), _codex),
    Agent("cursor", "Cursor", ("cursor", "cursor-agent"), lambda machine: (machine.home / ".cursor",), _cursor),
    Agent("gemini", "Gemini CLI", ("gemini",), lambda machine: (machine.home / ".gemini",), _gemini),
    Agent("opencode", "opencode", ("opencode",), lambda machine: (_opencode_home(machine),), _opencode),
)


def agent_named(name: str) -> Agent:
    agents = {agent.name: agent for agent in ALL_AGENTS}
    if agent := agents.get(_ALIASES.get(name.lower(), name.lower())):
        return agent
    raise BadInput(
        f'Nacre cannot connect "{name}"; choose one of {", ".join(agents)}. Any other MCP client can run "nacre mcp".',
        f"Nacre 无法连接“{name}”；可选：{'、'.join(agents)}。其他 MCP 客户端可配置为运行“nacre mcp”。",
    )
