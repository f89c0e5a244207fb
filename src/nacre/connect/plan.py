"""Connecting and disconnecting, decided: for each file what it is, what it would be, and why one is left alone. Nothing is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.connect import edits, record
from nacre.connect.agent import Agent, Target, Wanted, Wishes, settings_in
from nacre.connect.call import Call
from nacre.connect.edit import Done
from nacre.connect.record import Connection, Written
from nacre.errors import CannotWrite, NacreError
from nacre.jobs.service.common import Machine, diff
from nacre.vault import atomic
from nacre.words import say

_WIDEST = 400  # characters of a line that is shown


@dataclass(frozen=True)
class Change:
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
        return legible(diff(str(self.path), self.before, self.after))

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class AgentPlan:
    """What one agent's settings would become; a trouble stops all of them, so that none is left half connected."""

    agent: str
    title: str
    changes: tuple[Change, ...] = ()
    wanted: Wanted = Wanted(())
    trouble: NacreError | None = None
    command: tuple[str, ...] = ()  # what the agent's own command has to be told

    @property
    def changed(self) -> bool:
        return any(one.changes for one in self.changes) or bool(self.command)

    @property
    def left(self) -> tuple[tuple[Path, str], ...]:
        return tuple((one.path, name) for one in self.changes for name in one.left)


def connect(
    agent: Agent, machine: Machine, call: Call, wishes: Wishes, known: Connection | None, state: Path
) -> AgentPlan:
    """What has to be written so that the agent uses this memory; nothing where all of it stands already."""
    if known:
        wishes = Wishes(wishes.rules or _had_rules(known), wishes.switch_off, wishes.language, known.paths)
    wanted = agent.wanted(machine, call, wishes)
    try:
        changes = tuple(_connected(one, known, state) for one in wanted.targets)
        for one in changes:
            if one.changes:
                must_be_writable(one.path, agent.name)
    except NacreError as trouble:
        return AgentPlan(agent.name, agent.title, wanted=wanted, trouble=trouble)
    command = wanted.register if not (known and known.registered) else ()
    return AgentPlan(agent.name, agent.title, changes, wanted, command=command)


def disconnect(agent: Agent, machine: Machine, call: Call, known: Connection | None, state: Path) -> AgentPlan:
    """What takes a connection back: the very bytes where nobody touched a file since, else exactly our entries. Where the record was
    lost, or somebody wrote them by hand, they are known by their names."""
    wanted = agent.wanted(machine, call, Wishes(rules=True))
    known = known or _recognised(agent.name, wanted)
    try:
        changes = tuple(_disconnected(one, state) for one in known.files)
        for one in changes:
            if one.changes:
                must_be_writable(one.path, known.agent)
    except NacreError as trouble:
        return AgentPlan(agent.name, agent.title, wanted=wanted, trouble=trouble)
    command = wanted.unregister if known.registered else ()
    return AgentPlan(agent.name, agent.title, changes, wanted, command=command)


def _recognised(agent: str, wanted: Wanted) -> Connection:
    """What of ours stands in an agent's files without a record of it."""
    files: list[Written] = []
    for target in wanted.targets:
        try:
            data = settings_in(target.path)
            done = edits.recognised(_text(data), target.form, target.edits) if data else []
        except (NacreError, ValueError):  # what cannot be read holds nothing that could be taken out
            continue
        if done:
            files.append(Written(str(target.path), target.form, "", "", tuple(done)))
    return Connection(agent, "", "", (), tuple(files))


def _connected(target: Target, known: Connection | None, state: Path) -> Change:
    data = settings_in(target.path)
    written = known.file(str(target.path)) if known else None
    try:
        text = _text(data)
        if data is not None and edits.is_in_place(text, target.form, target.edits):
            # As it is recorded, or as somebody wrote it by hand.
            return Change(target.path, target.form, data, data, data)
        base = _without_us(data, written, state)[0] if written and data is not None else data
        after, done_now = edits.carried_out(_text(base), target.form, target.edits)
    except ValueError as trouble:
        raise _left_alone(target.path, str(trouble)) from trouble
    folders = written.folders if written and base is None else _missing_folders(target.path)
    return Change(target.path, target.form, data, after.encode(), base, tuple(done_now), folders=folders)


def _disconnected(written: Written, state: Path) -> Change:
    path = Path(written.path)
    data = settings_in(path)
    try:
        after, left = _without_us(data, written, state) if data is not None else (None, [])
    except ValueError as trouble:
        raise _left_alone(path, str(trouble)) from trouble
    return Change(path, written.form, data, after, after, left=tuple(left), folders=written.folders)


def _without_us(data: bytes, written: Written, state: Path) -> tuple[bytes | None, list[str]]:
    """A file as it would be had we never written into it, and the names of what somebody has made their own."""
    now = atomic.digest(data)
    if now == written.before:  # cut short before it was written, or put back by hand
        return data, []
    original = record.kept(state, written.before) if written.before else None
    if now == written.after and (written.before is None or original is not None):
        return original, []
    text, left = edits.taken_back(_text(data), written.form, written.done)
    if not left and edits.is_bare(text, written.form):
        if written.before is None:
            return None, []
        if original is not None and edits.is_bare(_text(original), written.form):
            return original, []
    return text.encode(), left


def must_be_writable(path: Path, agent: str) -> None:
    """Refuse what is meant not to be written, also where we could: the administrator may write anything."""
    target = atomic.real(path)
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


def legible(shown: str) -> str:
    """A diff as it may be shown: keys of other servers stand nearby, and a file may be one endless line."""
    from nacre.guard.secrets import redact

    lines = redact(shown).text.split("\n") if shown else []
    return "\n".join(line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…" for line in lines)


def _missing_folders(path: Path) -> tuple[str, ...]:
    """The folders that have to be made, the innermost first."""
    found = []
    folder = atomic.real(path).parent
    while not folder.exists():
        found.append(str(folder))
        folder = folder.parent
    return tuple(found)


def _had_rules(known: Connection) -> bool:
    return any(done.kind == "rules" for one in known.files for done in one.done)


def _text(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as trouble:
        assert data is not None
        line = data.count(b"\n", 0, trouble.start) + 1
        raise ValueError(say(f"line {line}: it is not valid UTF-8", f"第 {line} 行：不是有效的 UTF-8")) from trouble


def _left_alone(path: Path, why: str) -> NacreError:
    return NacreError(
        say(
            f"{path} cannot be understood ({why}), so it was left alone. Mend it and run the command again.",
            f"无法理解 {path}（{why}），因此未作改动。请修正后重新运行。",
        )
    )


def only_changed(plans: Sequence[AgentPlan]) -> list[AgentPlan]:
    return [one for one in plans if one.changed and one.trouble is None]
