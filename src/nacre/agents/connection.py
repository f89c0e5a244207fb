"""Connect and disconnect agents: plan each file's change, then apply it, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.agents import edits, record
from nacre.agents.edits import Done
from nacre.agents.record import Connection, WrittenFile
from nacre.agents.registry import Agent, Call, ConnectOptions, Requirements, Target, read_settings
from nacre.clock import Clock
from nacre.config.loading import user_config_folder
from nacre.config.settings import Config
from nacre.errors import CannotWrite, ChangedOutside, NacreError
from nacre.i18n import say
from nacre.jobs.installer import Machine, brief_command, file_diff, run_command
from nacre.model.workspace import Workspace
from nacre.vault import disk, rules
from nacre.vault.history import operation
from nacre.vault.lock import hold
from nacre.vault.markdown import document
from nacre.vault.writing import remove_file, rewrite

_WIDEST = 400  # characters of a line that is shown


@dataclass(frozen=True)
class FileChange:
    """A file as it is and as it is to be; None: it is not there."""

    path: Path
    form: str
    before: bytes | None
    after: bytes | None
    base: bytes | None  # as it is without us
    done: tuple[Done, ...] = ()
    left: tuple[str, ...] = ()  # names of entries that somebody changed, which stay
    folders: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        return legible_diff(file_diff(str(self.path), self.before, self.after))

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class AgentPlan:
    """What one agent's settings would become; a trouble stops all of them, so that none is left half connected."""

    agent: str
    title: str
    changes: tuple[FileChange, ...] = ()
    wanted: Requirements = Requirements(())
    trouble: NacreError | None = None
    command: tuple[str, ...] = ()  # what the agent's own command has to be told

    @property
    def changed(self) -> bool:
        return any(one.changes for one in self.changes) or bool(self.command)

    @property
    def left(self) -> tuple[tuple[Path, str], ...]:
        return tuple((one.path, name) for one in self.changes for name in one.left)


def plan_connect(
    agent: Agent, machine: Machine, call: Call, wishes: ConnectOptions, known: Connection | None, state: Path
) -> AgentPlan:
    """What has to be written so that the agent uses this memory; nothing where all of it stands already."""
    if known:
        wishes = ConnectOptions(wishes.rules or _had_rules(known), wishes.switch_off, wishes.language, known.paths)
    wanted = agent.wanted(machine, call, wishes)
    try:
        changes = tuple(_plan_target(one, known, state) for one in wanted.targets)
        for one in changes:
            if one.changes:
                must_be_writable(one.path, agent.name)
    except NacreError as trouble:
        return AgentPlan(agent.name, agent.title, wanted=wanted, trouble=trouble)
    command = wanted.register if not (known and known.registered) else ()
    return AgentPlan(agent.name, agent.title, changes, wanted, command=command)


def plan_disconnect(agent: Agent, machine: Machine, call: Call, known: Connection | None, state: Path) -> AgentPlan:
    """What takes a connection back: the very bytes where nobody touched a file since, else exactly our entries. Where the record was
    lost, or somebody wrote them by hand, they are known by their names."""
    wanted = agent.wanted(machine, call, ConnectOptions(rules=True))
    known = known or _recognised_connection(agent.name, wanted)
    try:
        changes = tuple(_plan_removal(one, state) for one in known.files)
        for one in changes:
            if one.changes:
                must_be_writable(one.path, known.agent)
    except NacreError as trouble:
        return AgentPlan(agent.name, agent.title, wanted=wanted, trouble=trouble)
    command = wanted.unregister if known.registered else ()
    return AgentPlan(agent.name, agent.title, changes, wanted, command=command)


def _recognised_connection(agent: str, wanted: Requirements) -> Connection:
    """What of ours stands in an agent's files without a record of it."""
    files: list[WrittenFile] = []
    for target in wanted.targets:
        try:
            data = read_settings(target.path)
            done = edits.recognise_edits(_decoded(data), target.form, target.edits) if data else []
        except (NacreError, ValueError):  # what cannot be read holds nothing that could be taken out
            continue
        if done:
            files.append(WrittenFile(str(target.path), target.form, "", "", tuple(done)))
    return Connection(agent, "", "", (), tuple(files))


def _plan_target(target: Target, known: Connection | None, state: Path) -> FileChange:
    data = read_settings(target.path)
    written = known.file(str(target.path)) if known else None
    try:
        text = _decoded(data)
        if data is not None and edits.are_in_place(text, target.form, target.edits):
            # As it is recorded, or as somebody wrote it by hand.
            return FileChange(target.path, target.form, data, data, data)
        base = _without_us(data, written, state)[0] if written and data is not None else data
        after, done_now = edits.apply_edits(_decoded(base), target.form, target.edits)
    except ValueError as trouble:
        raise _not_understood(target.path, str(trouble)) from trouble
    folders = written.folders if written and base is None else _missing_folders(target.path)
    return FileChange(target.path, target.form, data, after.encode(), base, tuple(done_now), folders=folders)


def _plan_removal(written: WrittenFile, state: Path) -> FileChange:
    path = Path(written.path)
    data = read_settings(path)
    try:
        after, left = _without_us(data, written, state) if data is not None else (None, [])
    except ValueError as trouble:
        raise _not_understood(path, str(trouble)) from trouble
    return FileChange(path, written.form, data, after, after, left=tuple(left), folders=written.folders)


def _without_us(data: bytes, written: WrittenFile, state: Path) -> tuple[bytes | None, list[str]]:
    """A file as it would be had we never written into it, and the names of what somebody has made their own."""
    now = disk.digest(data)
    if now == written.before:  # cut short before it was written, or put back by hand
        return data, []
    original = record.kept_copy(state, written.before) if written.before else None
    if now == written.after and (written.before is None or original is not None):
        return original, []
    text, left = edits.take_back_edits(_decoded(data), written.form, written.done)
    if not left and edits.is_empty_file(text, written.form):
        if written.before is None:
            return None, []
        if original is not None and edits.is_empty_file(_decoded(original), written.form):
            return original, []
    return text.encode(), left


def must_be_writable(path: Path, agent: str) -> None:
    """Refuse what is meant not to be written, also where we could: the administrator may write anything."""
    target = disk.real(path)
    place = target
    while not place.exists() and place != place.parent:
        place = place.parent
    for one in dict.fromkeys((place, place if place.is_dir() else place.parent)):
        mode = one.stat().st_mode
        if os.access(one, os.W_OK) and (os.name == "nt" or mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)):
            continue
        shown = str(path) if target == path.absolute() else f"{path} → {target}"
        raise CannotWrite(
            say(
                f'{shown} is read-only, so it was left alone. Make {one} writable, or do it by hand: "nacre connect {agent} --print".',
                f"{shown} 是只读的，因此未作改动。请将 {one} 改为可写，或手动编辑：“nacre connect {agent} --print”。",
            )
        )


def legible_diff(shown: str) -> str:
    """A diff as it may be shown: keys of other servers stand nearby, and a file may be one endless line."""
    from nacre.guard.secrets import redact

    lines = redact(shown).text.split("\n") if shown else []
    return "\n".join(line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…" for line in lines)


def _missing_folders(path: Path) -> tuple[str, ...]:
    """The folders that have to be made, the innermost first."""
    found = []
    folder = disk.real(path).parent
    while not folder.exists():
        found.append(str(folder))
        folder = folder.parent
    return tuple(found)


def _had_rules(known: Connection) -> bool:
    return any(done.kind == "rules" for one in known.files for done in one.done)


def _decoded(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as trouble:
        assert data is not None
        line = data.count(b"\n", 0, trouble.start) + 1
        raise ValueError(say(f"line {line}: it is not valid UTF-8", f"第 {line} 行：不是有效的 UTF-8")) from trouble


def _not_understood(path: Path, why: str) -> NacreError:
    return NacreError(
        say(
            f"{path} cannot be understood ({why}), so it was left alone. Mend it and run the command again.",
            f"无法理解 {path}（{why}），因此未作改动。请修正后重新运行。",
        )
    )


def changed_plans(plans: Sequence[AgentPlan]) -> list[AgentPlan]:
    return [one for one in plans if one.changed and one.trouble is None]


# Carries out what was planned: copies put away first, then the record, then the files, each whole or not at all.

_NO_ANSWER = 124  # of a command that was too slow to be waited for
_WITHIN = 180.0  # seconds for a command of an agent's; OpenClaw needs ten on a busy machine


@dataclass(frozen=True)
class ConnectResult:
    """How it went with one agent."""

    agent: str
    trouble: NacreError | None = None
    notes: tuple[str, ...] = ()


def apply_connect(
    plans: Sequence[AgentPlan], machine: Machine, call: Call, workspace: str, at: str, state: Path
) -> list[ConnectResult]:
    """Write every plan, one agent after the other; what cannot be written for one is taken back for that one."""
    with hold(_lock_path()):
        return [
            _with_errors(plan, lambda plan: _connect_agent(plan, machine, call, workspace, at, state)) for plan in plans
        ]


def apply_disconnect(plans: Sequence[AgentPlan], machine: Machine, state: Path) -> list[ConnectResult]:
    """Take every plan's agent back to what it was."""
    with hold(_lock_path()):
        carried = [_with_errors(plan, lambda plan: _disconnect_agent(plan, machine, state)) for plan in plans]
        record.clear_copies(state, record.load_connections(state))
        return carried


def _lock_path() -> Path:
    return user_config_folder() / "connections.lock"


def _with_errors(plan: AgentPlan, work: Callable[[AgentPlan], tuple[str, ...]]) -> ConnectResult:
    try:
        return ConnectResult(plan.agent, notes=work(plan))
    except NacreError as trouble:
        return ConnectResult(plan.agent, trouble)


def _connect_agent(
    plan: AgentPlan, machine: Machine, call: Call, workspace: str, at: str, state: Path
) -> tuple[str, ...]:
    _must_be_as_read(plan.changes)
    known = record.load_connections(state)
    before = known.get(plan.agent)
    ours = [one for one in plan.changes if one.done]
    for one in ours:
        if one.base is not None:
            record.keep_copy(state, one.base)
    new = record.merge_connections(
        before, Connection(plan.agent, at, workspace, call.program, tuple(map(_written_file, ours)))
    )
    # Written down first: whenever this is cut short, what may have been written is known.
    record.save_connections(state, {**known, plan.agent: new})
    notes: list[str] = []
    told = False
    try:
        if plan.command:
            ran = run_command(machine, plan.command, timeout=_WITHIN)
            told = ran.code == 0
            if not told:
                notes.append(_command_note(plan.command, ran.words))
        for one in plan.changes:
            if one.changes or plan.command:
                _put_settings(one.path, one.after, None if plan.command else one.before)
        refused = _refused(plan, machine)
        if refused:
            raise NacreError(refused)
    except BaseException:
        if told and plan.wanted.unregister:
            run_command(machine, plan.wanted.unregister, timeout=_WITHIN)
        for one in plan.changes:
            with contextlib.suppress(NacreError, OSError):
                _put_settings(one.path, one.before)
                _remove_folders(one)
        record.save_connections(state, known)
        record.clear_copies(state, known)
        raise
    if told:
        record.save_connections(state, {**known, plan.agent: replace(new, registered=True)})
    record.clear_copies(state, record.load_connections(state))
    return tuple(notes)


def _disconnect_agent(plan: AgentPlan, machine: Machine, state: Path) -> tuple[str, ...]:
    _must_be_as_read(plan.changes)
    notes: list[str] = []
    if plan.command:
        ran = run_command(machine, plan.command, timeout=_WITHIN)
        if ran.code:
            notes.append(_command_note(plan.command, ran.words))
    for one in plan.changes:
        if one.changes or plan.command:
            _put_settings(one.path, one.after, None if plan.command else one.before)
        if one.after is None:
            _remove_folders(one)
    known = record.load_connections(state)
    record.save_connections(state, {name: one for name, one in known.items() if name != plan.agent})
    return tuple(notes)


def _written_file(one: FileChange) -> WrittenFile:
    assert one.after is not None
    base = None if one.base is None else disk.digest(one.base)
    return WrittenFile(str(one.path), one.form, base, disk.digest(one.after), one.done, one.folders)


def _must_be_as_read(changes: Sequence[FileChange]) -> None:
    for one in changes:
        if disk.read_bytes(one.path) != one.before:
            raise _changed_meanwhile(one.path)


def _put_settings(path: Path, data: bytes | None, before: bytes | None = None) -> None:
    """Write the bytes, or remove the file; a link to it stays. With `before`, only while the file still holds that."""
    if before is not None and disk.read_bytes(path) != before:
        raise _changed_meanwhile(path)
    if data is None:
        if (target := disk.real(path)).exists():
            disk.remove(target)
    elif before is None:
        disk.write(path, data)
    elif not disk.replace(path, data, disk.digest(before)):
        raise _changed_meanwhile(path)


def _remove_folders(change: FileChange) -> None:
    for folder in change.folders:
        with contextlib.suppress(OSError):  # somebody else has put something into it
            Path(folder).rmdir()


def _refused(plan: AgentPlan, machine: Machine) -> str:
    """What the agent says against its settings, in a sentence; nothing where it takes them. They are read as they are now."""
    if not plan.wanted.proof or not plan.changed:
        return ""
    ran = run_command(machine, plan.wanted.proof, timeout=_WITHIN)
    if ran.code in (0, _NO_ANSWER):
        return ""
    shown = f'"{brief_command(plan.wanted.proof)}": {ran.words}'
    return say(
        f"{plan.title} does not accept its settings ({shown}). They were put back as they were; see whether they are sound without Nacre, "
        "and run the command again.",
        f"{plan.title} 不接受其设置（{shown}）。已恢复原样；请先确认没有 Nacre 时设置是否正常，再重新运行。",
    )


def _command_note(command: tuple[str, ...], why: str) -> str:
    return say(
        f'"{brief_command(command)}" failed: {why}. The settings were written all the same.',
        f"“{brief_command(command)}”失败：{why}。设置仍已写入。",
    )


def _changed_meanwhile(path: Path) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{path} was changed by another program in this moment, so it was left alone. Run the command again.",
            f"{path} 刚刚被其他程序修改，因此未作改动。请重新运行。",
        )
    )


# Our rules in the workspace's own AGENTS.md, which every agent that works there reads: written, and taken out.


@dataclass(frozen=True)
class RulesPlan:
    """AGENTS.md as it is and as it is to be."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def diff(self) -> str:
        return file_diff(str(self.path), self.before, self.after)


def plan_rules(workspace: Workspace, language: str, *, out: bool = False) -> RulesPlan | None:
    """What has to change so that the rules stand there, up to date, or (out) not at all; None where nothing has to."""
    path = workspace.root / "AGENTS.md"
    try:
        before = disk.read_bytes(path)
        doc = document(path, before or b"")
        after: bytes | None = rules.without_block(doc) if out else rules.with_block(doc, language)
    except NacreError:  # a file that cannot be read is left alone; doctor names it
        return None
    if out and not (after or b"").strip():
        after = None
    return RulesPlan(path, before, after) if (before or b"") != (after or b"") else None


def apply_rules(made: RulesPlan, workspace: Workspace, clock: Clock, config: Config) -> None:
    """Write it as one change of the workspace, which "nacre undo" takes back."""
    read = None if made.before is None else disk.digest(made.before)
    with operation(workspace, clock, "connect", config) as op:
        if made.after is None:
            assert read is not None
            remove_file(op, made.path, read=read)
        else:
            rewrite(op, made.path, made.after, read=read)
