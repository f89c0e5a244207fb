"""The record of what was written into which file of which agent, and whether it is still there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nacre.agents.edits import MARKDOWN, Add, Done, Put, are_in_place
from nacre.agents.registry import Agent
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine
from nacre.model.report import Problem
from nacre.vault import disk

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
        return next((file for file in self.files if file.path == path), None)


def load_connections(folder: Path) -> dict[str, Connection]:
    """Every connection by its agent; a record that cannot be understood stops whoever wants to write."""
    data = disk.read_bytes(folder / RECORD_NAME)
    if data is None:
        return {}
    try:
        connections = json.loads(data.decode("utf-8", "surrogateescape"))["connections"]
        return {name: _read_connection(name, row) for name, row in connections.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NacreError(
            f"{folder / RECORD_NAME}, the record of what was connected, cannot be understood. Move it away; what was written can then be "
            "taken out by hand (nacre connect --print shows it).",
            f"无法理解连接记录 {folder / RECORD_NAME}。请将其移走；已写入的内容可手动删除（nacre connect --print 可显示）。",
        ) from error


def _read_connection(name: str, row: Mapping[str, Any]) -> Connection:
    files = [
        WrittenFile(
            **{
                **file,
                "done": tuple(
                    Done(**{**done, "path": (*done["path"],), "mark": (*done["mark"],)}) for done in file["done"]
                ),
                "folders": tuple(file["folders"]),
            }
        )
        for file in row["files"]
    ]
    return Connection(name, row["at"], row["workspace"], (*row["program"],), (*files,), bool(row["registered"]))


def save_connections(folder: Path, connections: Mapping[str, Connection]) -> None:
    """Write the record, and remove the copies that no connection needs any more."""
    path, backups = folder / RECORD_NAME, folder / "backups"
    if connections:
        rows = {
            name: {key: value for key, value in asdict(one).items() if key != "agent"}
            for name, one in connections.items()
        }
        data = json.dumps({"version": 1, "connections": rows}, ensure_ascii=False, indent=1) + "\n"
        disk.write(path, data.encode("utf-8", "surrogateescape"))
    elif path.exists():
        disk.remove(path)
    needed = {file.before for connection in connections.values() for file in connection.files}
    for copy in backups.iterdir() if backups.is_dir() else ():
        if copy.name not in needed:
            disk.remove(copy)
    for empty in (backups, folder):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()


def keep_copy(folder: Path, data: bytes) -> None:
    """Put a file's bytes away, readable by nobody else; they are found again by their hash."""
    place = folder / "backups" / disk.digest(data)
    if disk.read_bytes(place) != data:
        disk.write(place, data)


def kept_copy(folder: Path, digest: str) -> bytes | None:
    """Bytes that were put away; None where they are gone or are not what they were."""
    data = disk.read_bytes(folder / "backups" / digest)
    return data if data is not None and disk.digest(data) == digest else None


@dataclass(frozen=True)
class AgentState:
    """One agent: whether it is on this machine, and its connection where there is one."""

    agent: Agent
    here: bool
    connection: Connection | None = None
    missing: tuple[str, ...] = ()  # files in which our entries are not any more
    unreadable: tuple[str, ...] = ()  # files that cannot be understood
    starts: bool = True  # whether what was written there can still be started

    def as_plain(self) -> dict[str, object]:
        connection = self.connection
        return {
            "agent": self.agent.name,
            "found": self.here,
            "connected": connection is not None,
            "workspace": connection.workspace if connection else None,
            "at": connection.at if connection else None,
            "files": [file.path for file in connection.files] if connection else [],
            "missing": list(self.missing),
            "unreadable": list(self.unreadable),
            "starts": self.starts if connection else None,
        }


def agent_states(agents: tuple[Agent, ...], machine: Machine, folder: Path) -> list[AgentState]:
    """Every agent, connected or not."""
    connections = load_connections(folder)
    states: list[AgentState] = []
    for agent in agents:
        connection = connections.get(agent.name)
        if connection is None:
            states.append(AgentState(agent, agent.is_here(machine)))
            continue
        present = {file.path: _edits_present(file) for file in connection.files}
        missing = tuple(path for path, there in present.items() if there is False)
        unreadable = tuple(path for path, there in present.items() if there is None)
        program = connection.program
        starts = bool(program) and os.path.isfile(program[0]) and os.access(program[0], os.X_OK)
        states.append(AgentState(agent, agent.is_here(machine), connection, missing, unreadable, starts))
    return states


def _edits_present(file: WrittenFile) -> bool | None:
    """Whether every entry of ours still stands in a file, in whatever form the agent keeps it; None where it cannot be understood."""
    try:
        data = disk.read_bytes(Path(file.path))
        if data is None:
            return False
        if disk.digest(data) == file.after or file.form == MARKDOWN:
            return True
        wanted = [
            Put(done.path, done.value) if done.kind == "put" else Add(done.path, done.value, done.mark)
            for done in file.done
            if done.kind in ("put", "add")
        ]
        return are_in_place(data.decode(), file.form, wanted)
    except (NacreError, ValueError):
        return None


def connection_problems(agents: tuple[Agent, ...], machine: Machine, folder: Path, workspace: Path) -> list[Problem]:
    """What doctor says about the connections to this workspace."""
    try:
        states = agent_states(agents, machine, folder)
    except NacreError as error:
        return [Problem("connections", str(error), str(folder / RECORD_NAME))]
    problems: list[Problem] = []
    for state in states:
        connection, title = state.connection, state.agent.title
        if connection is None or os.path.realpath(connection.workspace) != os.path.realpath(workspace):
            continue
        remedy = f"nacre connect {state.agent.name}"
        if not state.starts:
            message = say(
                f"{title} is told to run {connection.program[0]}, which is not there any more.",
                f"{title} 被配置为运行 {connection.program[0]}，但该文件已不存在。",
            )
            problems.append(Problem("connection", message, severity="error", remedy=remedy))
        gone = say(
            f"What connects {title} to this memory is not in its settings any more.",
            f"{title} 的设置中已没有连接此记忆的内容。",
        )
        unknown = say(
            f"The settings of {title} cannot be read, so nobody can tell whether it is connected.",
            f"无法读取 {title} 的设置，因此无法判断是否已连接。",
        )
        problems += [Problem("connection", gone, path, remedy=remedy) for path in state.missing]
        problems += [Problem("connection", unknown, path, remedy=remedy) for path in state.unreadable]
    return problems
