"""Connect and disconnect agents: plan each file's change, then apply it, whole or not at all; the record of what was written where."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.agents import edits
from nacre.agents.edits import MARKDOWN, Done
from nacre.agents.registry import Agent, Call, ConnectOptions, Requirements, Target
from nacre.config.settings import user_folder
from nacre.daemon.process import daemon_process
from nacre.errors import CannotWrite, ChangedOutside, NacreError
from nacre.i18n import say
from nacre.jobs.installer import NO_ANSWER, Machine, Setup, brief_command, file_diff, machine_lock, run_command
from nacre.jobs.schedulers import ServicePlan, plan_remove
from nacre.memory import Memory, is_workspace, trusted_workspaces
from nacre.model import Problem, Workspace, problem

RECORD_NAME = "connections.json"


state_folder = partial(user_folder, "state")  # where Nacre keeps what it knows about this machine for this user


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
    at: str
    workspace: str
    program: tuple[str, ...]
    files: tuple[WrittenFile, ...] = ()
    registered: bool = False  # the agent's own command was told, and must be told again


def load_connections(folder: Path) -> dict[str, Connection]:
    """Every connection by its agent; a record that cannot be understood stops whoever wants to write."""
    path = folder / RECORD_NAME
    data = disk.read_bytes(path)
    try:
        rows = json.loads((data or b"{}").decode("utf-8", "surrogateescape"))
        return {name: _connection(row) for name, row in (rows["connections"] if data else rows).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NacreError(
            f"Nacre cannot parse {path}, its record of connected agents. Move the file away, then remove Nacre from the agents' settings by hand (nacre connect --print shows the entries).",
            f"无法解析连接记录 {path}。请移走该文件，再手动删除各智能体设置中的 Nacre 内容（nacre connect --print 会显示这些内容）。",
        ) from error


def _connection(row: dict[str, Any]) -> Connection:
    files = []
    for file in row["files"]:
        done = [Done(**edit | {"path": tuple(edit["path"]), "mark": tuple(edit["mark"])}) for edit in file["done"]]
        files.append(WrittenFile(**file | {"done": tuple(done), "folders": tuple(file["folders"])}))
    return Connection(**row | {"program": tuple(row["program"]), "files": tuple(files)})


def save_connections(folder: Path, connections: Mapping[str, Connection]) -> None:
    """Write the record, and remove the copies that no connection needs any more."""
    path, backups = folder / RECORD_NAME, folder / "backups"
    if connections:
        rows = {name: asdict(connection) for name, connection in connections.items()}
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


# What would be written, and what taken back.

_WIDEST = 400  # characters of a line that is shown
_TIMEOUT = 180.0  # seconds for a command of an agent's; OpenClaw needs ten on a busy machine


@dataclass(frozen=True)
class FileChange:
    """A file as it is and as it is to be; None: it is not there."""

    path: Path
    form: str
    before: bytes | None
    after: bytes | None
    base: bytes | None = None  # as it is without us
    done: tuple[Done, ...] = ()
    left: tuple[str, ...] = ()  # names of entries that somebody changed, which stay
    folders: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        """As it may be shown: keys of other servers stand nearby, and a file may be one endless line."""
        lines = file_diff(str(self.path), self.before, self.after).split("\n")
        return "\n".join(line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…" for line in lines)

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class AgentPlan:
    """What one agent's settings would become; an error stops all of them, so that none is left half connected."""

    agent: str
    title: str
    changes: tuple[FileChange, ...] = ()
    wanted: Requirements = Requirements(())
    error: NacreError | None = None
    command: tuple[str, ...] = ()  # what the agent's own command has to be told

    @property
    def changed(self) -> bool:
        return any(change.changes for change in self.changes) or bool(self.command)

    @property
    def left(self) -> tuple[tuple[Path, str], ...]:
        return tuple((change.path, name) for change in self.changes for name in change.left)


def plan_connect(agent: Agent, machine: Machine, call: Call, options: ConnectOptions, folder: Path) -> AgentPlan:
    """What has to be written so that the agent uses this memory; nothing where all of it stands already."""
    connection = load_connections(folder).get(agent.name)
    written = {file.path: file for file in connection.files} if connection else {}
    had_rules = any(edit.kind == "rules" for file in written.values() for edit in file.done)
    wanted = agent.wanted(machine, call, replace(options, rules=options.rules or had_rules))
    command = wanted.register if not (connection and connection.registered) else ()
    targets = [(target, written.get(str(target.path))) for target in wanted.targets]
    return _plan(AgentPlan(agent.name, agent.title, wanted=wanted, command=command), targets, folder)


def plan_disconnect(agent: Agent, machine: Machine, call: Call, folder: Path) -> AgentPlan:
    """What takes a connection back: the very bytes where nobody touched a file since, else exactly our entries. Where the record was
    lost, or somebody wrote them by hand, they are known by their names."""
    connection = load_connections(folder).get(agent.name)
    wanted = agent.wanted(machine, call, ConnectOptions(rules=True))
    files = list(connection.files) if connection else []
    for target in () if connection else wanted.targets:
        with contextlib.suppress(NacreError, ValueError):  # what cannot be read holds nothing that could be taken out
            data = disk.read_bytes(target.path)
            if data and (done := edits.recognise_edits(_decoded(data), target.form, target.edits)):
                files.append(WrittenFile(str(target.path), target.form, "", "", tuple(done)))
    command = wanted.unregister if connection and connection.registered else ()
    targets = [(Target(Path(file.path), file.form, ()), file) for file in files]
    return _plan(AgentPlan(agent.name, agent.title, wanted=wanted, command=command), targets, folder)


def _plan(plan: AgentPlan, targets: Sequence[tuple[Target, WrittenFile | None]], folder: Path) -> AgentPlan:
    try:
        changes = tuple(_plan_file(target, written, folder) for target, written in targets)
        for change in changes:
            if change.changes:
                _must_be_writable(change.path, plan.agent)
    except NacreError as error:
        return replace(plan, command=(), error=error)
    return replace(plan, changes=changes)


def _plan_file(target: Target, written: WrittenFile | None, folder: Path) -> FileChange:
    """What puts the edits into a file; without any, what takes out of it whatever was written."""
    path, form = target.path, target.form
    data = disk.read_bytes(path)
    try:
        if target.edits and data is not None and edits.are_in_place(_decoded(data), form, target.edits):
            return FileChange(path, form, data, data)  # as it is recorded, or written by hand
        base, left = _without_us(data, written, folder) if written and data is not None else (data, [])
        if not target.edits:
            return FileChange(path, form, data, base, left=tuple(left), folders=written.folders if written else ())
        after, done = edits.apply_edits(_decoded(base), form, target.edits)
    except edits.CannotEdit as error:
        raise NacreError(f"{path} was left untouched: {error}.", f"没有改动 {path}：{error}。") from error
    except ValueError as error:
        raise NacreError(
            f"{path} cannot be parsed ({error}), so Nacre left it untouched. Fix it and run the command again.",
            f"无法解析 {path}（{error}），Nacre 没有改动它。请修正后重新运行命令。",
        ) from error
    missing = [str(above) for above in disk.real(path).parents if not above.exists()]  # the innermost first
    folders = written.folders if written and base is None else tuple(missing)
    return FileChange(path, form, data, after.encode(), base, tuple(done), folders=folders)


def _without_us(data: bytes, written: WrittenFile, folder: Path) -> tuple[bytes | None, list[str]]:
    """A file as it would be had we never written into it, and the names of what somebody has made their own."""
    now = disk.digest(data)
    if now == written.before:  # cut short before it was written, or put back by hand
        return data, []
    if now == written.after and (written.before is None or (folder / "backups" / written.before).exists()):
        return disk.read_bytes(folder / "backups" / written.before) if written.before else None, []
    text, left = edits.take_back_edits(_decoded(data), written.form, written.done)
    bare = "".join(text.strip("\ufeff").split())
    is_gone = written.before is None and not left and (not bare or (written.form == edits.JSON and bare == "{}"))
    return (None if is_gone else text.encode()), left


def _must_be_writable(path: Path, agent: str) -> None:
    """Refuse to write a file that is marked read-only, also as an administrator, who could."""
    target = disk.real(path)
    place = next(above for above in (target, *target.parents) if above.exists())
    for checked in (place,) if place.is_dir() else (place, place.parent):
        if not os.access(checked, os.W_OK) or not checked.stat().st_mode & 0o222:
            shown = str(path) if target == path.absolute() else f"{path} → {target}"
            raise CannotWrite(
                f'{shown} is read-only, so Nacre left it untouched. Make {checked} writable, or edit it by hand: "nacre connect {agent} --print" shows how.',
                f"{shown} 是只读的，Nacre 没有改动它。请将 {checked} 改为可写，或参照“nacre connect {agent} --print”手动编辑。",
            )


def _decoded(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        line = (data or b"").count(b"\n", 0, error.start) + 1
        raise ValueError(say(f"line {line} is not valid UTF-8", f"第 {line} 行不是有效的 UTF-8")) from error


# Carrying out: copies put away first, then the record, then the files, each whole or not at all.


@dataclass(frozen=True)
class ConnectResult:
    agent: str
    error: NacreError | None = None
    notes: tuple[str, ...] = ()


def apply_plans(
    plans: Sequence[AgentPlan], machine: Machine, folder: Path, new: Connection | None = None
) -> list[ConnectResult]:
    """Carry out every plan, one agent after the other, with the connection that is to be recorded; without one it is taken back."""
    results = []
    with machine_lock("connections"):
        for plan in plans:
            try:
                results.append(ConnectResult(plan.agent, notes=_carry_out(plan, machine, folder, new)))
            except NacreError as error:
                results.append(ConnectResult(plan.agent, error))
    return results


def _carry_out(plan: AgentPlan, machine: Machine, folder: Path, new: Connection | None) -> tuple[str, ...]:
    """Write the files of a plan and the record of it, or nothing at all; notes about what did not go well."""
    for path in (change.path for change in plan.changes if disk.read_bytes(change.path) != change.before):
        raise ChangedOutside(
            f"{path} was just changed by another program, so Nacre left it untouched. Run the command again.",
            f"{path} 刚刚被其他程序修改，Nacre 没有改动它。请重新运行命令。",
        )
    before = load_connections(folder)
    after = {name: connection for name, connection in before.items() if name != plan.agent}
    if new:
        new = _with_files(new, before.get(plan.agent), plan.changes, folder)
        # Written down first: whenever this is cut short, what may have been written is known.
        save_connections(folder, {**after, plan.agent: new})
    notes: tuple[str, ...] = ()
    try:
        if plan.command:
            ran, shown = run_command(machine, plan.command, timeout=_TIMEOUT), brief_command(plan.command)
            if ran.code:
                english = f'"{shown}" failed: {ran.words}. The settings were written anyway.'
                notes = (say(english, f"“{shown}”失败：{ran.words}。设置仍已写入。"),)
        for change in plan.changes:
            if change.changes or plan.command or change.after is None:
                _put_settings(change, change.after)
        if new:
            after[plan.agent] = replace(new, registered=new.registered or bool(plan.command and not notes))
            _must_be_accepted(plan, machine)
    except BaseException:
        if new and plan.command and not notes:
            run_command(machine, plan.wanted.unregister, timeout=_TIMEOUT)
        for change in plan.changes:
            with contextlib.suppress(NacreError, OSError):
                _put_settings(change, change.before)
        save_connections(folder, before)
        raise
    save_connections(folder, after)
    return notes


def _with_files(new: Connection, old: Connection | None, changes: Sequence[FileChange], folder: Path) -> Connection:
    """The connection with what is to be written beside what was; copies of the files as they are without us are put away."""
    files = {file.path: file for file in old.files} if old else {}
    for change in changes:
        if change.done and change.after is not None:
            base, path = disk.hash_of(change.base), str(change.path)
            if base and change.base is not None:
                disk.write(folder / "backups" / base, change.base)
            after = disk.digest(change.after)
            files.pop(path, None)
            files[path] = WrittenFile(path, change.form, base, after, change.done, change.folders)
    return replace(new, files=tuple(files.values()), registered=bool(old and old.registered))


def _put_settings(change: FileChange, data: bytes | None) -> None:
    """Write the file of a change, or (None) remove it with the folders that were made for it."""
    if data is not None:
        disk.write(change.path, data)
        return
    if (target := disk.real(change.path)).exists():
        disk.remove(target)
    for folder in change.folders:
        with contextlib.suppress(OSError):  # somebody else has put something into it
            Path(folder).rmdir()


def _must_be_accepted(plan: AgentPlan, machine: Machine) -> None:
    """Ask the agent whether it takes its settings as they are now."""
    if not plan.wanted.proof or not plan.changed:
        return
    ran = run_command(machine, plan.wanted.proof, timeout=_TIMEOUT)
    if ran.code not in (0, NO_ANSWER):
        shown = f'"{brief_command(plan.wanted.proof)}": {ran.words}'
        raise NacreError(
            f"{plan.title} rejected the new settings ({shown}), so Nacre restored the old ones. Check that they are valid without Nacre, then run the command again.",
            f"{plan.title} 不接受新的设置（{shown}），已恢复原状。请确认不含 Nacre 时设置有效，再重新运行命令。",
        )


# Our rules in the workspace's own AGENTS.md, which every agent that works there reads: written, and taken out.


def plan_rules(workspace: Workspace, language: str, *, out: bool = False) -> FileChange | None:
    """What has to change so that the rules stand there, up to date, or (out) not at all; None where nothing has to."""
    path = workspace.root / "AGENTS.md"
    try:
        before = disk.read_bytes(path)
        after = edits.without_rules(before or b"") if out else edits.with_rules(before or b"", language)
    except NacreError:  # a file that cannot be read is left alone; doctor names it
        return None
    if (before or b"") == after:
        return None
    return FileChange(path, MARKDOWN, before, None if out and not after.strip() else after)


def apply_rules(plan: FileChange, memory: Memory) -> None:
    """Write it as one change of the workspace, which "nacre undo" takes back."""
    memory.replace_file(plan.path, plan.after, read=plan.before, command="connect")


# The state of each connection.


@dataclass(frozen=True)
class AgentState:
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
    connections = load_connections(folder)
    states: list[AgentState] = []
    for agent in agents:
        connection = connections.get(agent.name)
        present = {file.path: _edits_present(file) for file in connection.files} if connection else {}
        missing, unreadable = (tuple(path for path, state in present.items() if state is how) for how in (False, None))
        starts = connection is None or os.access("".join(connection.program[:1]), os.X_OK)
        states.append(AgentState(agent, agent.is_here(machine), connection, missing, unreadable, starts))
    return states


def _edits_present(file: WrittenFile) -> bool | None:
    """Whether our entries still stand in a file, in whatever form the agent keeps it; None where it cannot be understood."""
    try:
        data = disk.read_bytes(Path(file.path))
        if data is None or disk.digest(data) == file.after:
            return data is not None
        values = edits.load(data.decode(), file.form)
        return all(edits.is_there(edits.value_at(values, done.path), done) for done in file.done)
    except (NacreError, ValueError):
        return None


def connection_problems(agents: tuple[Agent, ...], machine: Machine, folder: Path, workspace: Path) -> list[Problem]:
    try:
        states = agent_states(agents, machine, folder)
    except NacreError as error:
        return [Problem("connections", str(error), str(folder / RECORD_NAME))]
    problems: list[Problem] = []
    for state in states:
        connection, title = state.connection, state.agent.title
        if connection is None or os.path.realpath(connection.workspace) != os.path.realpath(workspace):
            continue
        made = partial(problem, "connection", remedy=f"nacre connect {state.agent.name}")
        if not state.starts:
            program = connection.program[0]
            english = f"{title} is set up to run {program}, which no longer exists."
            problems.append(made(english, f"{title} 的设置会运行 {program}，但该文件已不存在。", severity="error"))
        english, chinese = (
            f"The settings of {title} no longer connect it to this memory.",
            f"{title} 的设置中已没有指向这份记忆的连接。",
        )
        problems += [made(english, chinese, path) for path in state.missing]
        english, chinese = f"The settings of {title} cannot be read.", f"无法读取 {title} 的设置。"
        problems += [made(english, chinese, path) for path in state.unreadable]
    return problems


# Everything that Nacre wrote outside of memory: workspaces with their jobs, daemons and rules.


@dataclass(frozen=True)
class InstalledWorkspace:
    """A workspace on this machine: what runs its jobs, the daemon that serves it, our rules in its AGENTS.md."""

    memory: Memory
    jobs: ServicePlan
    daemon: int | None
    rules: FileChange | None

    @property
    def changed(self) -> bool:
        return bool(self.jobs.changed or self.daemon or self.rules)


def installed_workspaces(memory: Memory | None, machine: Machine) -> list[InstalledWorkspace]:
    """Every workspace that Nacre was ever told to trust, and the one at hand."""
    roots = dict.fromkeys([*([os.path.realpath(memory.workspace.root)] if memory else ()), *trusted_workspaces()])
    workspaces = []
    for root in filter(lambda root: is_workspace(Path(root)), roots):
        with contextlib.suppress(NacreError):  # a workspace that cannot even be opened has nothing of ours running
            opened = Memory.open(root)
            jobs = plan_remove(Setup(opened, machine))
            daemon = daemon_process(opened.workspace)
            workspaces.append(InstalledWorkspace(opened, jobs, daemon, plan_rules(opened.workspace, "en", out=True)))
    return workspaces
