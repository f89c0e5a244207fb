"""How connections stand: which agents are connected, to which workspace, whether what was written is there and can be started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from nacre.connect import edit, edits, record
from nacre.connect.agent import Agent
from nacre.connect.call import still_there
from nacre.connect.record import Connection
from nacre.errors import NacreError
from nacre.jobs.service.common import Machine
from nacre.model.problem import Problem
from nacre.vault import atomic
from nacre.words import say


@dataclass(frozen=True)
class Standing:
    """One agent: whether it is on this machine, and its connection where there is one."""

    agent: Agent
    here: bool
    connection: Connection | None = None
    missing: tuple[str, ...] = ()  # files in which our entries are not any more
    unreadable: tuple[str, ...] = ()  # files of which nobody can tell, because they cannot be understood
    starts: bool = True  # whether what was written there can still be started

    def as_plain(self) -> dict[str, object]:
        known = self.connection
        return {
            "agent": self.agent.name,
            "found": self.here,
            "connected": known is not None,
            "workspace": known.workspace if known else None,
            "at": known.at if known else None,
            "files": [one.path for one in known.files] if known else [],
            "missing": list(self.missing),
            "unreadable": list(self.unreadable),
            "starts": self.starts if known else None,
        }


def standings(agents: tuple[Agent, ...], machine: Machine, state: Path) -> list[Standing]:
    """Every agent, connected or not."""
    known = record.load(state)
    return [_standing(agent, machine, known.get(agent.name)) for agent in agents]


def _standing(agent: Agent, machine: Machine, known: Connection | None) -> Standing:
    if known is None:
        return Standing(agent, agent.is_here(machine))
    found = {one.path: _is_there(one) for one in known.files}
    missing = tuple(path for path, there in found.items() if there is False)
    unreadable = tuple(path for path, there in found.items() if there is None)
    return Standing(agent, agent.is_here(machine), known, missing, unreadable, still_there(known.program))


def _is_there(written: record.Written) -> bool | None:
    """Whether every entry of ours still stands in a file, in whatever form the agent keeps it; None where it cannot be understood."""
    try:
        data = atomic.read_bytes(Path(written.path))
        if data is None:
            return False
        if atomic.digest(data) == written.after:
            return True
        ours = [one for one in written.done if one.kind in ("put", "add")]
        wanted = [
            edit.Put(one.path, one.value) if one.kind == "put" else edit.Add(one.path, one.value, one.mark)
            for one in ours
        ]
        return edits.is_in_place(data.decode(), written.form, wanted) if written.form != edit.MARKDOWN else True
    except (NacreError, ValueError):
        return None


def problems(agents: tuple[Agent, ...], machine: Machine, state: Path, workspace: Path) -> list[Problem]:
    """What doctor says about the connections to this workspace."""
    try:
        found = standings(agents, machine, state)
    except NacreError as trouble:
        return [Problem("connections", str(trouble), str(state / record.NAME))]
    here = os.path.realpath(workspace)
    listed: list[Problem] = []
    for one in found:
        known = one.connection
        if known is None or os.path.realpath(known.workspace) != here:
            continue
        remedy = f"nacre connect {one.agent.name}"
        if not one.starts:
            message = say(
                f"{one.agent.title} is told to run {known.program[0]}, which is not there any more.",
                f"{one.agent.title} 被配置为运行 {known.program[0]}，但该文件已不存在。",
            )
            listed.append(Problem("connection", message, severity="error", remedy=remedy))
        for path in one.missing:
            message = say(
                f"What connects {one.agent.title} to this memory is not in its settings any more.",
                f"{one.agent.title} 的设置中已没有连接此记忆的内容。",
            )
            listed.append(Problem("connection", message, path, remedy=remedy))
        for path in one.unreadable:
            message = say(
                f"The settings of {one.agent.title} cannot be read, so nobody can tell whether it is connected.",
                f"无法读取 {one.agent.title} 的设置，因此无法判断是否已连接。",
            )
            listed.append(Problem("connection", message, path, remedy=remedy))
    return listed
