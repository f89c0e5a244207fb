"""Every agent that can be connected, what connecting one needs, and how agents call Nacre."""

from __future__ import annotations

import importlib
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

from nacre.agents import toml_editor
from nacre.agents.edits import JSON, TOML, Add, Edit
from nacre.agents.json_editor import parse_json, value_of
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine
from nacre.model.workspace import Workspace
from nacre.vault import disk
from nacre.vault.discover import expand, find_workspace

_PROGRAM_NAMES = ("nacre", "nacre.exe")
# Run by sh with the program as $0: nothing is said where it was deleted, and one that cannot start (its Python is gone) fails nothing.
_IF_THERE = 'test ! -x "$0" || "$0" "$@" || true'


@dataclass(frozen=True)
class Call:
    """The words before and behind the verb."""

    program: tuple[str, ...]
    more: tuple[str, ...] = ()

    def server(self) -> dict[str, Any]:
        """The MCP server as most agents want it told."""
        return {"command": self.program[0], "args": [*self.program[1:], "mcp", *self.more]}

    def hook(self, event: str, agent: str) -> str:
        """One line for a shell, silent when we are not there any more. On Windows nobody knows which shell reads it: there it is bare."""
        words = [*self.program, "hook", event, "--agent", agent, *self.more]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(["sh", "-c", _IF_THERE, *words])


def call_for_workspace(workspace: Workspace, config: Config, home: Path) -> Call:
    """The call that reaches this workspace; it is named where it is not the one that is found anyway."""
    root = os.path.realpath(workspace.root)
    try:
        usual = find_workspace(None, config=config, env={}, home=home, cwd=home)
        named = os.path.realpath(usual.workspace.root) != root
    except NacreError:
        named = True
    call = Call(own_program(), ("--workspace", root) if named else ())
    for word in (*call.program, *call.more):
        if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in word):
            raise BadInput(
                say(
                    f"{word!r} holds a line break or another character that settings cannot hold; rename it first.",
                    f"{word!r} 含有换行或配置文件无法保存的字符；请先改名。",
                )
            )
    return call


def own_program(argv: tuple[str, ...] = tuple(sys.argv)) -> tuple[str, ...]:
    """The executable that was called, else the one beside this Python, else this Python itself."""
    typed = Path(shutil.which(argv[0]) or argv[0]) if argv and argv[0] else Path()
    folders = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    for path in (typed, *(folder / name for folder in folders for name in _PROGRAM_NAMES)):
        if path.name.lower() in _PROGRAM_NAMES and os.access(path, os.X_OK) and path.is_file():
            return (os.path.abspath(path),)  # a link stays one: what it leads to may change with the next version
    return (sys.executable, "-P", "-m", "nacre")  # -P: a folder named nacre must not be taken for us


def can_start(program: tuple[str, ...]) -> bool:
    """Whether what was written into an agent's settings can still be started."""
    return bool(program) and os.path.isfile(program[0]) and os.access(program[0], os.X_OK)


# An agent as connecting sees it: by what it is known, which files it reads, what goes into them, who owns what
# afterwards.

LARGEST_SETTINGS = 20_000_000  # bytes of a settings file
STAYS, OFF, READ, OURS = "stays", "off", "read", "ours"


@dataclass(frozen=True)
class ConnectOptions:
    """What the user wants besides the connection itself."""

    rules: bool = False  # our rules in the agent's own file of rules
    switch_off: bool = False  # what the agent does that Nacre does too
    language: str = "en"
    known: frozenset[tuple[str, ...]] = frozenset()  # what an earlier connection put where


@dataclass(frozen=True)
class Target:
    """A file of the agent's, and what is to stand in it."""

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
    """One kind of agent."""

    name: str
    title: str
    programs: tuple[str, ...]
    signs: Callable[[Machine], tuple[Path, ...]]
    wanted: Callable[[Machine, Call, ConnectOptions], Requirements]

    def is_here(self, machine: Machine) -> bool:
        return any(os.path.lexists(sign) for sign in self.signs(machine)) or any(map(machine.has, self.programs))


def settings_folder(machine: Machine, variable: str, usual: str) -> Path:
    """Where an agent keeps its settings: where a variable says, else in the home folder."""
    named = machine.env.get(variable, "") if variable else ""
    return expand(named, machine.home) if named else machine.home / usual


def settings_values(path: Path, form: str = JSON) -> Mapping[str, Any]:
    """What a file says, for deciding; a file that cannot be read says nothing here, and is complained of where it is edited."""
    try:
        text = (read_settings(path) or b"").decode()
        if form == TOML:
            return toml_editor.load_toml(text)
        root = parse_json(text)
        told = value_of(root) if root else {}
    except (NacreError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def read_settings(path: Path) -> bytes | None:
    """The bytes of a settings file; None where there is none, an error where it is no ordinary file or far too large."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # reading says what is wrong
    if size > LARGEST_SETTINGS:
        raise NacreError(
            say(
                f"{path} is larger than {LARGEST_SETTINGS // 1_000_000} MB, so it was left alone. See what fills it, and run the command again.",
                f"{path} 超过 {LARGEST_SETTINGS // 1_000_000} MB，因此未作改动。请检查其内容后重新运行。",
            )
        )
    return disk.read_bytes(path)


def value_at_path(told: Any, *path: str) -> Any:
    for name in path:
        told = told.get(name) if isinstance(told, Mapping) else None
    return told


def hook_edits(call: Call, agent: str, events: Mapping[str, tuple[str, int]]) -> tuple[Edit, ...]:
    """The hooks as Claude Code and Codex want them told: for each event a group with its matcher and a limit in seconds."""
    made: list[Edit] = []
    for event, (matcher, seconds) in events.items():
        hook = {"type": "command", "command": call.hook(event, agent), "timeout": seconds}
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        made.append(Add(("hooks", event), group, hook_mark(event, agent)))
    return tuple(made)


def hook_mark(event: str, agent: str) -> tuple[str, ...]:
    """What a hook of ours says, wherever the executable lies."""
    return ("nacre", f" hook {event} ", f"--agent {agent}")


# Every agent that can be connected, in the order in which they are named.

AGENT_MODULES = ("openclaw", "claude", "codex", "cursor", "gemini", "opencode")
_ALIASES = {"claude": "claude-code", "claude_code": "claude-code", "claudecode": "claude-code", "gemini-cli": "gemini"}


def all_agents() -> tuple[Agent, ...]:
    found = [importlib.import_module(f"nacre.agents.{name}").AGENT for name in AGENT_MODULES]
    assert all(isinstance(one, Agent) for one in found)
    return tuple(found)


def agent_named(name: str) -> Agent:
    """The agent that is meant; a sentence when it is none."""
    wanted = _ALIASES.get(name.lower(), name.lower())
    for agent in all_agents():
        if agent.name == wanted:
            return agent
    listed = ", ".join(agent.name for agent in all_agents())
    raise BadInput(
        say(
            f'"{name}" is no agent that Nacre knows how to connect ({listed}). Any MCP client can be told to run "nacre mcp".',
            f"“{name}”不是 Nacre 能够连接的代理（{listed}）。任何 MCP 客户端都可以配置为运行“nacre mcp”。",
        )
    )
