"""After the turn: whether the agent kept its hands off the reference files, and bringing back those that it did not."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError, NotFound
from nacre.lifecycle import flushes
from nacre.lifecycle.flushwords import REFERENCE
from nacre.vault import atomic, blobs
from nacre.vault.history import CREATE, DONE, REWRITE, Change, history
from nacre.vault.operation import operation
from nacre.vault.rewrite import expect, write_over
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    import datetime as dt

LARGEST = 1_000_000  # bytes; a longer file is watched, and not kept
EDITED, REMOVED, MADE = "edited", "removed", "made"


@dataclass(frozen=True)
class Touched:
    """A reference file that is no longer as it was when the prompts were handed out."""

    path: str
    how: str
    was: str | None
    now: str | None
    command: str = ""  # what brings it back; nothing where history does not have it


@dataclass(frozen=True)
class Checked:
    """What was found; `since` is none when the session was never asked."""

    since: dt.datetime | None = None
    touched: tuple[Touched, ...] = ()


def hashes_of(workspace: Workspace) -> dict[str, str | None]:
    """The reference files as they are; one that cannot be read is not watched."""
    found: dict[str, str | None] = {}
    for name in REFERENCE:
        with contextlib.suppress(NacreError):
            data = atomic.read_bytes(workspace.root / name)
            found[name] = None if data is None else atomic.digest(data)
    return found


def keep(workspace: Workspace, files: Mapping[str, str | None]) -> None:
    """Have history keep these files as they are, so that they can be brought back."""
    for name, was in files.items():
        with contextlib.suppress(NacreError, OSError):  # the turn does not depend on it
            data = atomic.read_bytes(workspace.root / name) if was else None
            if data is not None and len(data) <= LARGEST:
                blobs.private_folder(workspace.history)
                blobs.store(workspace.history, data)


def check(workspace: Workspace, clock: Clock, session: str) -> Checked:
    """Compare the reference files with what they were, and note that the turn took place."""
    before = flushes.settle(workspace, session, clock.now())
    if before is None:
        return Checked()
    now = hashes_of(workspace)
    changed = [(path, was, now[path]) for path, was in before.files.items() if path in now and now[path] != was]
    touched = [Touched(path, _how(was, is_now), was, is_now) for path, was, is_now in changed]
    return Checked(before.at, tuple(_with_commands(workspace, touched)))


def _how(was: str | None, now: str | None) -> str:
    return MADE if was is None else REMOVED if now is None else EDITED


def _with_commands(workspace: Workspace, touched: Sequence[Touched]) -> list[Touched]:
    """Nacre's own change is undone; an agent's is taken back from what history kept of the file."""
    if not touched:
        return []
    ours = {
        (change.path, change.after): one.id
        for one in history(workspace).operations
        if one.state == DONE
        for change in one.changes
    }
    found: list[Touched] = []
    for one in touched:
        command = "nacre flush --restore" if one.was and _has(workspace, one.was) else ""
        if number := ours.get((one.path, one.now)):
            command = f"nacre undo --only {number}"
        found.append(replace(one, command=command))
    return found


def _has(workspace: Workspace, name: str) -> bool:
    try:
        blobs.load(workspace.history, name)
    except NotFound:
        return False
    return True


def restore(workspace: Workspace, clock: Clock, config: Config, touched: Sequence[Touched]) -> tuple[str, ...]:
    """Put back what history has: one operation, undone as one. A file that the turn made stays; it may be wanted."""
    done: list[str] = []
    with operation(workspace, clock, "flush", config) as op:
        for one in touched:
            if one.command != "nacre flush --restore" or one.was is None:
                continue
            path = workspace.root / one.path
            op.place(path)
            before = expect(workspace, path, one.now)
            data = blobs.load(workspace.history, one.was)
            kind = CREATE if before is None else REWRITE
            op.record([Change(one.path, kind, one.now, one.was)], [data] if before is None else [before, data])
            write_over(op, path, before, data)
            done.append(one.path)
    return tuple(done)


def sentence(one: Touched) -> str:
    """The finding in words, with the remedy where there is one."""
    how = {
        EDITED: say("was edited", "被修改"),
        REMOVED: say("was removed", "被删除"),
        MADE: say("was made", "被新建"),
    }[one.how]
    remedy = say(f'; "{one.command}" takes it back.', f"；可用“{one.command}”恢复。") if one.command else say(".", "。")
    return say(f"{one.path} {how} since the flush began", f"{one.path} 在压缩前记录开始后{how}") + remedy
