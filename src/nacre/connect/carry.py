"""Carries out what was planned: copies put away first, then the record, then the files, each whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.config import user_config_folder
from nacre.connect import record
from nacre.connect.call import Call
from nacre.connect.plan import AgentPlan, Change
from nacre.connect.record import Connection, Written
from nacre.errors import ChangedOutside, NacreError
from nacre.jobs.service.common import Machine, brief, output_of, run
from nacre.vault import atomic
from nacre.vault.lock import hold
from nacre.words import say

_NO_ANSWER = 124  # of a command that was too slow to be waited for
_WITHIN = 180.0  # seconds for a command of an agent's; OpenClaw needs ten on a busy machine


@dataclass(frozen=True)
class Carried:
    """How it went with one agent."""

    agent: str
    trouble: NacreError | None = None
    notes: tuple[str, ...] = ()


def connect(
    plans: Sequence[AgentPlan], machine: Machine, call: Call, workspace: str, at: str, state: Path
) -> list[Carried]:
    """Write every plan, one agent after the other; what cannot be written for one is taken back for that one."""
    with hold(_lock()):
        return [_each(plan, lambda plan: _connect(plan, machine, call, workspace, at, state)) for plan in plans]


def disconnect(plans: Sequence[AgentPlan], machine: Machine, state: Path) -> list[Carried]:
    """Take every plan's agent back to what it was."""
    with hold(_lock()):
        carried = [_each(plan, lambda plan: _disconnect(plan, machine, state)) for plan in plans]
        record.clear(state, record.load(state))
        return carried


def _lock() -> Path:
    return user_config_folder() / "connections.lock"


def _each(plan: AgentPlan, work: Callable[[AgentPlan], tuple[str, ...]]) -> Carried:
    try:
        return Carried(plan.agent, notes=work(plan))
    except NacreError as trouble:
        return Carried(plan.agent, trouble)


def _connect(plan: AgentPlan, machine: Machine, call: Call, workspace: str, at: str, state: Path) -> tuple[str, ...]:
    _must_be_as_read(plan.changes)
    known = record.load(state)
    before = known.get(plan.agent)
    ours = [one for one in plan.changes if one.done]
    for one in ours:
        if one.base is not None:
            record.keep(state, one.base)
    new = record.merged(before, Connection(plan.agent, at, workspace, call.program, tuple(map(_written, ours))))
    # Written down first: whenever this is cut short, what may have been written is known.
    record.save(state, {**known, plan.agent: new})
    notes: list[str] = []
    told = False
    try:
        if plan.command:
            ran = run(machine, plan.command, timeout=_WITHIN)
            told = ran.code == 0
            if not told:
                notes.append(_not_told(plan.command, output_of(ran)))
        for one in plan.changes:
            if one.changes or plan.command:
                _put(one.path, one.after, None if plan.command else one.before)
        refused = _refused(plan, machine)
        if refused:
            raise NacreError(refused)
    except BaseException:
        if told and plan.wanted.unregister:
            run(machine, plan.wanted.unregister, timeout=_WITHIN)
        for one in plan.changes:
            with contextlib.suppress(NacreError, OSError):
                _put(one.path, one.before)
                _remove_folders(one)
        record.save(state, known)
        record.clear(state, known)
        raise
    if told:
        record.save(state, {**known, plan.agent: replace(new, registered=True)})
    record.clear(state, record.load(state))
    return tuple(notes)


def _disconnect(plan: AgentPlan, machine: Machine, state: Path) -> tuple[str, ...]:
    _must_be_as_read(plan.changes)
    notes: list[str] = []
    if plan.command:
        ran = run(machine, plan.command, timeout=_WITHIN)
        if ran.code:
            notes.append(_not_told(plan.command, output_of(ran)))
    for one in plan.changes:
        if one.changes or plan.command:
            _put(one.path, one.after, None if plan.command else one.before)
        if one.after is None:
            _remove_folders(one)
    known = record.load(state)
    record.save(state, {name: one for name, one in known.items() if name != plan.agent})
    return tuple(notes)


def _written(one: Change) -> Written:
    assert one.after is not None
    base = None if one.base is None else atomic.digest(one.base)
    return Written(str(one.path), one.form, base, atomic.digest(one.after), one.done, one.folders)


def _must_be_as_read(changes: Sequence[Change]) -> None:
    for one in changes:
        if atomic.read_bytes(one.path) != one.before:
            raise _changed(one.path)


def _put(path: Path, data: bytes | None, before: bytes | None = None) -> None:
    """Write the bytes, or remove the file; a link to it stays. With `before`, only while the file still holds that."""

    def still() -> None:
        if before is not None and atomic.read_bytes(path) != before:
            raise _changed(path)

    if data is not None:
        atomic.write(path, data, still=still)
    elif (target := atomic.real(path)).exists():
        still()
        atomic.remove(target)


def _remove_folders(change: Change) -> None:
    for folder in change.folders:
        with contextlib.suppress(OSError):  # somebody else has put something into it
            Path(folder).rmdir()


def _refused(plan: AgentPlan, machine: Machine) -> str:
    """What the agent says against its settings, in a sentence; nothing where it takes them. They are read as they are now."""
    if not plan.wanted.proof or not plan.changed:
        return ""
    ran = run(machine, plan.wanted.proof, timeout=_WITHIN)
    if ran.code in (0, _NO_ANSWER):
        return ""
    shown = f'"{brief(plan.wanted.proof)}": {output_of(ran)}'
    return say(
        f"{plan.title} does not accept its settings ({shown}). They were put back as they were; see whether they are sound without Nacre, "
        "and run the command again.",
        f"{plan.title} 不接受其设置（{shown}）。已恢复原样；请先确认没有 Nacre 时设置是否正常，再重新运行。",
    )


def _not_told(command: tuple[str, ...], why: str) -> str:
    return say(
        f'"{brief(command)}" failed: {why}. The settings were written all the same.',
        f"“{brief(command)}”失败：{why}。设置仍已写入。",
    )


def _changed(path: Path) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{path} was changed by another program in this moment, so it was left alone. Run the command again.",
            f"{path} 刚刚被其他程序修改，因此未作改动。请重新运行。",
        )
    )
