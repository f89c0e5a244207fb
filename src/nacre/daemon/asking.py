"""A command's question to the daemon of its memory, if there is one; and one started, where the user wants that."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING, Any

from nacre.daemon import client
from nacre.daemon.answers import OUT, ContextAsked, GetAsked, Printed, SearchAsked

if TYPE_CHECKING:
    from nacre.memory import Memory

_READING = ("memory_search", "memory_get", "memory_status")
_KINDS = {SearchAsked: "search", ContextAsked: "context", GetAsked: "get"}


def by_daemon(memory: Memory, asked: SearchAsked | ContextAsked | GetAsked) -> Printed | None:
    """The daemon's answer; None when there is none whose answer would be the same as ours.

    Who names a moment wants the same answer every time, whatever runs beside: with a fixed clock nobody is asked or started.
    """
    if client.is_switched_off() or memory.clock.fixed is not None:
        return None
    group = memory.scope.group
    root = str(memory.workspace.root)
    try:
        with client.Connection(root, "main" if group is None else f"group:{group}") as daemon:
            given = dataclasses.asdict(asked)
            answer = daemon.ask(_KINDS[type(asked)], asked=given, agent=memory.agent)
    except client.Hung:
        return None
    except client.NoDaemon:
        _start_where_wanted(memory)
        return None
    return Printed([(kind, text) for kind, text in answer["parts"]])


def tool_by_daemon(memory: Memory, name: str, arguments: dict[str, Any], here: str | None) -> dict[str, Any] | None:
    """What a tool gives, by the daemon; None where whoever asks does the work.

    Only what reads is asked for: a write whose answer was lost on the way must not be done a second time, and needs nothing that
    a daemon keeps warm.
    """
    if name not in _READING or client.is_switched_off() or memory.clock.fixed is not None:
        return None
    group = memory.scope.group
    try:
        with client.Connection(str(memory.workspace.root), "main" if group is None else f"group:{group}") as daemon:
            answer = daemon.ask("tool", name=name, arguments=arguments, here=here, agent=memory.agent)
    except client.Hung:
        return None
    except client.NoDaemon:
        _start_where_wanted(memory)
        return None
    result: dict[str, Any] = answer["result"]
    return result


def _start_where_wanted(memory: Memory) -> None:
    if memory.config.serve.auto:
        from nacre.daemon.start import on_demand

        on_demand(memory)


def show(printed: Printed) -> None:
    """Print the result, and the notes beside it."""
    import click

    for kind, text in printed.parts:
        click.echo(text, nl=False, err=kind != OUT)


def here() -> str:
    """The current folder; the root where it was deleted under us, which is no project's."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def at_terminal() -> bool:
    return sys.stdout.isatty()
