"""Putting files back: what comes back before what goes, and never over what others wrote meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from nacre.errors import ChangedOutside, NacreError, PartlyDone
from nacre.vault import atomic, rewrite
from nacre.vault.history import CREATE, DELETE, MOVE, REWRITE, Change
from nacre.vault.operation import Operation
from nacre.words import say

_NAMED = 5  # files that a sentence names


@dataclass(frozen=True)
class Restore:
    """A file as it will be; `data` None: it will be gone. `before` is what stands there now.

    `source` is where the file stands now when it is moved back, with its mode and its time; `before` is then what stands there.
    """

    path: str
    before: bytes | None
    data: bytes | None
    mode: int | None = None
    modified: int | None = None  # the file time of what is moved back
    source: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if self.source is None else (self.source, self.path)


def carry_out(op: Operation, restores: Sequence[Restore], *, recorded: bool = False) -> None:
    """Record and do all of them; what others changed since the plan is left as they wrote it, and told (`PartlyDone`).

    `recorded`: an undo that was stopped goes on, whose record names them already.
    """
    work = _Work(op)
    if not recorded:
        for one in restores:
            work.expect(one)
        changes = [change for one in restores for change in _changes(op, one)]
        edited = [one for one in restores if one.source is None or one.data != one.before]
        op.record(changes, [data for one in edited for data in (one.before, one.data) if data is not None])
    # What comes back before what goes: killed in between, a file stands in both places, never in none. What is only moved
    # needs no room on the disk, and comes first.
    coming, going = [one for one in restores if one.data is not None], [one for one in restores if one.data is None]
    work.do(sorted(coming, key=lambda one: one.source is None), of=len(restores))
    if not work.left:  # else the last that there is of a file might go
        work.do(going, of=len(restores))
    if work.left:
        raise _left(work.left, work.done, len(restores))


def _changes(op: Operation, one: Restore) -> list[Change]:
    """What the record says of it."""
    read, after = (None if data is None else atomic.digest(data) for data in (one.before, one.data))
    moved = [] if one.source is None else [Change(one.source, MOVE, read, read, to=one.path)]
    if moved and after == read:
        return moved
    if after is None:
        mode = (op.workspace.root / one.path).stat().st_mode & 0o7777
        return [Change(one.path, DELETE, read, None, mode=mode)]
    return [*moved, Change(one.path, CREATE if read is None else REWRITE, read, after)]


class _Work:
    def __init__(self, op: Operation) -> None:
        self.op = op
        self.done = 0
        self.left: dict[str, ChangedOutside] = {}

    def do(self, restores: Sequence[Restore], *, of: int) -> None:
        with atomic.folders_once():
            for one in restores:
                try:
                    self._do(one)
                    self.done += 1
                except ChangedOutside as trouble:
                    self.left[self._in_the_way(one)] = trouble
                except NacreError as trouble:
                    if self.done:
                        raise _stopped(trouble, self.done, of) from trouble
                    raise

    def _in_the_way(self, one: Restore) -> str:
        """The file that somebody changed: the one to be moved, unless something stands where it was to go."""
        taken = os.path.lexists(self.op.workspace.root / one.path)
        return one.path if one.source is None or taken else one.source

    def expect(self, one: Restore) -> None:
        """`ChangedOutside` unless the file is still what was read. To a log others may have appended: that stays."""
        workspace = self.op.workspace
        path = workspace.root / (one.source or one.path)
        if one.source is not None and os.path.lexists(workspace.root / one.path):
            raise rewrite.changed(one.path)
        now = atomic.read_bytes(path)
        if now != one.before and not (rewrite.is_log(workspace, path) and (now or b"").startswith(one.before or b"")):
            raise rewrite.changed(workspace.relative(path))

    def _do(self, one: Restore) -> None:
        # Others may have come while the files before it were put back: each is looked at again just before it is touched.
        path = self.op.workspace.root / one.path
        self.expect(one)
        if one.data is None:
            rewrite.take_away(self.op, path, one.before or b"")
            return
        if one.source is not None:
            atomic.rename(self.op.workspace.root / one.source, path)
        if one.source is None or one.data != one.before:
            rewrite.write_over(self.op, path, one.before, one.data, mode=one.mode)
            if one.modified is not None:
                atomic.keep_time(path, one.modified)


def _stopped(trouble: NacreError, done: int, of: int) -> PartlyDone:
    return PartlyDone(
        say(
            f"{trouble} {done} of {of} files were taken back and nothing is lost. Once that is mended, "
            'run "nacre undo" again: it goes on where it stopped.',
            f"{trouble} 已撤销 {of} 个文件中的 {done} 个，没有丢失任何内容。解决该问题后再次运行“nacre undo”，会从停下的地方继续。",
        )
    )


def _left(left: dict[str, ChangedOutside], done: int, of: int) -> NacreError:
    if not done:
        return next(iter(left.values()))
    names = list(left)
    more = len(names) - _NAMED
    english, chinese = ", ".join(names[:_NAMED]), "、".join(names[:_NAMED])
    if more > 0:
        english, chinese = f"{english} and {more} more", f"{chinese} 等 {len(names)} 个文件"
    return PartlyDone(
        say(
            f"Changed by someone else meanwhile and left as they are now: {english}. {done} of {of} files were taken back and "
            'nothing is lost. Run "nacre undo" again: it goes on with the rest.',
            f"在此期间被他人修改，保持现状：{chinese}。已撤销 {of} 个文件中的 {done} 个，没有丢失任何内容。"
            "请再次运行“nacre undo”，会继续处理其余文件。",
        )
    )
