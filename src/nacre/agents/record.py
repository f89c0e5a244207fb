"""The record of what was written into which file of which agent, and whether it is still there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nacre.agents import edits
from nacre.agents import edits as agents_edits
from nacre.agents.edits import Done
from nacre.agents.registry import Agent, can_start
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine
from nacre.model.report import Problem
from nacre.vault import disk
from nacre.vault.history import private_folder

RECORD_NAME = "connections.json"


def state_folder() -> Path:
    """Where Nacre keeps what it knows about this machine for this user."""
    system: str = sys.platform
    if system == "linux":  # what platformdirs answers there
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "nacre"
    import platformdirs

    return Path(platformdirs.user_state_dir("nacre", appauthor=False))


@dataclass(frozen=True)
class WrittenFile:
    """One file: as it was (its hash, none where there was no file), as we left it, and every edit. Hashes are of whole files."""

    path: str
    form: str
    before: str | None
    after: str
    done: tuple[Done, ...]
    folders: tuple[str, ...] = ()  # that were made for it


@dataclass(frozen=True)
class Connection:
    """One agent's connection."""

    agent: str
    at: str
    workspace: str
    program: tuple[str, ...]
    files: tuple[WrittenFile, ...] = ()
    registered: bool = False  # the agent's own command was told, and must be told again

    def file(self, path: str) -> WrittenFile | None:
        return next((one for one in self.files if one.path == path), None)

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        return frozenset(done.path for one in self.files for done in one.done)


Record = Mapping[str, Connection]


def load_connections(folder: Path) -> dict[str, Connection]:
    """Every connection by its agent; a record that cannot be understood stops whoever wants to write."""
    data = disk.read_bytes(folder / RECORD_NAME)
    if data is None:
        return {}
    try:
        told = json.loads(data.decode("utf-8", "surrogateescape"))
        return {name: _read_connection(name, one) for name, one in told["connections"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        raise NacreError(
            say(
                f"{folder / RECORD_NAME}, the record of what was connected, cannot be understood. Move it away; what was written can then be "
                "taken out by hand (nacre connect --print shows it).",
                f"无法理解连接记录 {folder / RECORD_NAME}。请将其移走；已写入的内容可手动删除（nacre connect --print 可显示）。",
            )
        ) from trouble


def save_connections(folder: Path, record: Record) -> None:
    path = folder / RECORD_NAME
    if not record:
        if path.exists():
            disk.remove(path)
        return
    private_folder(folder)
    told = {"version": 1, "connections": {name: _connection_as_plain(one) for name, one in record.items()}}
    data = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    disk.write(path, data.encode("utf-8", "surrogateescape"))


def keep_copy(folder: Path, data: bytes) -> str:
    """Put a file's bytes away, readable by nobody else; they are found again by their hash."""
    name = disk.digest(data)
    place = folder / "backups" / name
    if disk.read_bytes(place) != data:
        private_folder(folder)
        private_folder(place.parent)
        disk.write(place, data)
    return name


def kept_copy(folder: Path, name: str) -> bytes | None:
    """Bytes that were put away; None where they are gone or are not what they were."""
    data = disk.read_bytes(folder / "backups" / name)
    return data if data is not None and disk.digest(data) == name else None


def clear_copies(folder: Path, record: Record) -> None:
    """Remove the copies that no connection needs any more."""
    needed = {one.before for connection in record.values() for one in connection.files}
    place = folder / "backups"
    for path in place.iterdir() if place.is_dir() else ():
        if path.name not in needed:
            disk.remove(path)
    for empty in (place, folder):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()


def merge_connections(old: Connection | None, new: Connection) -> Connection:
    """The new connection, with the files of the old one that it does not speak of."""
    if old is None:
        return new
    paths = {one.path for one in new.files}
    files = (*new.files, *(one for one in old.files if one.path not in paths))
    return replace(new, files=files, registered=new.registered or old.registered)


def _connection_as_plain(one: Connection) -> dict[str, Any]:
    told = asdict(one)
    del told["agent"]
    return told


def _read_connection(name: str, told: Mapping[str, Any]) -> Connection:
    files = tuple(
        WrittenFile(
            one["path"],
            one["form"],
            one["before"],
            one["after"],
            tuple(Done(**{**done, "path": tuple(done["path"]), "mark": tuple(done["mark"])}) for done in one["done"]),
            tuple(one["folders"]),
        )
        for one in told["files"]
    )
    return Connection(
        name, told["at"], told["workspace"], tuple(told["program"]), files, registered=bool(told["registered"])
    )


# How connections stand: which agents are connected, to which workspace, whether what was written is there and can be
# started.


@dataclass(frozen=True)
class AgentState:
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


def agent_states(agents: tuple[Agent, ...], machine: Machine, state: Path) -> list[AgentState]:
    """Every agent, connected or not."""
    known = load_connections(state)
    return [_agent_state(agent, machine, known.get(agent.name)) for agent in agents]


def _agent_state(agent: Agent, machine: Machine, known: Connection | None) -> AgentState:
    if known is None:
        return AgentState(agent, agent.is_here(machine))
    found = {one.path: _edits_present(one) for one in known.files}
    missing = tuple(path for path, there in found.items() if there is False)
    unreadable = tuple(path for path, there in found.items() if there is None)
    return AgentState(agent, agent.is_here(machine), known, missing, unreadable, can_start(known.program))


def _edits_present(written: WrittenFile) -> bool | None:
    """Whether every entry of ours still stands in a file, in whatever form the agent keeps it; None where it cannot be understood."""
    try:
        data = disk.read_bytes(Path(written.path))
        if data is None:
            return False
        if disk.digest(data) == written.after:
            return True
        ours = [one for one in written.done if one.kind in ("put", "add")]
        wanted = [
            agents_edits.Put(one.path, one.value)
            if one.kind == "put"
            else agents_edits.Add(one.path, one.value, one.mark)
            for one in ours
        ]
        return (
            edits.are_in_place(data.decode(), written.form, wanted) if written.form != agents_edits.MARKDOWN else True
        )
    except (NacreError, ValueError):
        return None


def connection_problems(agents: tuple[Agent, ...], machine: Machine, state: Path, workspace: Path) -> list[Problem]:
    """What doctor says about the connections to this workspace."""
    try:
        found = agent_states(agents, machine, state)
    except NacreError as trouble:
        return [Problem("connections", str(trouble), str(state / RECORD_NAME))]
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
