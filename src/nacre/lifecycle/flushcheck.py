"""After the turn: whether the agent kept its hands off the reference files, and bringing back those that it did not."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.lifecycle import flushes
from nacre.lifecycle.flushwords import REFERENCE
from nacre.vault import atomic, blobs
from nacre.vault.history import DONE, Change, History, history
from nacre.vault.merge import merge
from nacre.vault.operation import operation
from nacre.vault.rewrite import expect, put
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
    back: bytes | None = field(default=None, repr=False)  # what that command would put there


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
    return Checked(before.at, tuple(_with_commands(workspace, before.operation, touched)))


def _how(was: str | None, now: str | None) -> str:
    return MADE if was is None else REMOVED if now is None else EDITED


def _with_commands(workspace: Workspace, last: int, touched: Sequence[Touched]) -> list[Touched]:
    """Nacre's own change is undone; an agent's is taken back from what history kept of the file."""
    if not touched:
        return []
    known = history(workspace)
    ours = {
        (change.path, change.after): one.id for one in known.operations if one.state == DONE for change in one.changes
    }
    found: list[Touched] = []
    for one in touched:
        back = _without_the_turn(workspace, known, last, one)
        if back is not None and atomic.digest(back) != one.now:
            found.append(replace(one, command="nacre flush --restore", back=back))
        elif number := ours.get((one.path, one.now)):
            found.append(replace(one, command=f"nacre undo {number}"))
        else:
            found.append(one)
    return found


def _without_the_turn(workspace: Workspace, known: History, last: int, one: Touched) -> bytes | None:
    """The file as it was, with what Nacre itself has changed in it since: what was admitted or forgotten meanwhile stays so.

    None where history does not have it all, or where both changed the same lines.
    """
    ours = _own_changes(known, last, one)
    try:
        content = None if one.was is None else blobs.load(workspace.history, one.was)
        for change in ours:
            if change.after is None or (content is None) is not (change.before is None):
                return None
            after = blobs.load(workspace.history, change.after)
            before = b"" if change.before is None else blobs.load(workspace.history, change.before)
            content = after if content is None else merge(before, content, after)
            if content is None:
                return None
    except NacreError:
        return None
    return content


def _own_changes(known: History, last: int, one: Touched) -> list[Change]:
    """What Nacre did to the file after the prompts were handed out, when `last` was its last operation."""
    found: list[Change] = []
    for operation_ in known.operations:
        for change, done in zip(operation_.changes, operation_.carried_out, strict=True):
            if operation_.id > last and done and change.path == one.path:
                found = [] if change.after == one.was else [*found, change]
    return found


def restore(workspace: Workspace, clock: Clock, config: Config, touched: Sequence[Touched]) -> tuple[str, ...]:
    """Put back what history has: one operation, undone as one. A file that the turn made stays; it may be wanted."""
    done: list[str] = []
    with operation(workspace, clock, "flush", config) as op:
        for one in touched:
            if one.back is None:
                continue
            path = workspace.root / one.path
            op.place(path)
            put(op, path, expect(workspace, path, one.now), one.back)
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
