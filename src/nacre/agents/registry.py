"""Every agent that can be connected, what connecting one needs, and how agents call Nacre."""

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

from nacre.agents.edits import JSON, MARKDOWN, Add, Edit, RulesBlock, load
from nacre.errors import BadInput
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


def all_agents() -> tuple[Agent, ...]:
    from nacre.agents.coding import CODING_AGENTS
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
