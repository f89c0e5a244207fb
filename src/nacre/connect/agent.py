"""An agent as connecting sees it: by what it is known, which files it reads, what goes into them, who owns what afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.connect import tomltext
from nacre.connect.call import Call
from nacre.connect.edit import JSON, TOML, Add, Edit
from nacre.connect.spans import read, value_of
from nacre.errors import NacreError
from nacre.jobs.service.common import Machine
from nacre.vault import atomic
from nacre.vault.discover import expand
from nacre.words import say

LARGEST = 20_000_000  # bytes of a settings file
STAYS, OFF, READ, OURS = "stays", "off", "read", "ours"


@dataclass(frozen=True)
class Wishes:
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
class Owned:
    """One part of remembering, and whose it is from now on: it stays with the agent, is switched off, is read, or is ours."""

    whose: str
    sentence: str


@dataclass(frozen=True)
class Wanted:
    """Everything that connecting one agent takes. What can be switched off is asked for by itself."""

    targets: tuple[Target, ...]
    owned: tuple[Owned, ...] = ()
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
    wanted: Callable[[Machine, Call, Wishes], Wanted]

    def is_here(self, machine: Machine) -> bool:
        return any(os.path.lexists(sign) for sign in self.signs(machine)) or any(map(machine.has, self.programs))


def folder(machine: Machine, variable: str, usual: str) -> Path:
    """Where an agent keeps its settings: where a variable says, else in the home folder."""
    named = machine.env.get(variable, "") if variable else ""
    return expand(named, machine.home) if named else machine.home / usual


def told_in(path: Path, form: str = JSON) -> Mapping[str, Any]:
    """What a file says, for deciding; a file that cannot be read says nothing here, and is complained of where it is edited."""
    try:
        text = (settings_in(path) or b"").decode()
        if form == TOML:
            return tomltext.loads(text)
        root = read(text)
        told = value_of(root) if root else {}
    except (NacreError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def settings_in(path: Path) -> bytes | None:
    """The bytes of a settings file; None where there is none, an error where it is no ordinary file or far too large."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0  # reading says what is wrong
    if size > LARGEST:
        raise NacreError(
            say(
                f"{path} is larger than {LARGEST // 1_000_000} MB, so it was left alone. See what fills it, and run the command again.",
                f"{path} 超过 {LARGEST // 1_000_000} MB，因此未作改动。请检查其内容后重新运行。",
            )
        )
    return atomic.read_bytes(path)


def at_path(told: Any, *path: str) -> Any:
    for name in path:
        told = told.get(name) if isinstance(told, Mapping) else None
    return told


def hooks(call: Call, agent: str, events: Mapping[str, tuple[str, int]]) -> tuple[Edit, ...]:
    """The hooks as Claude Code and Codex want them told: for each event a group with its matcher and a limit in seconds."""
    made: list[Edit] = []
    for event, (matcher, seconds) in events.items():
        hook = {"type": "command", "command": call.hook(event, agent), "timeout": seconds}
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        made.append(Add(("hooks", event), group, mark_of(event, agent)))
    return tuple(made)


def mark_of(event: str, agent: str) -> tuple[str, ...]:
    """What a hook of ours says, wherever the executable lies."""
    return ("nacre", f" hook {event} ", f"--agent {agent}")
