"""The one door for writes: append to a log, or rewrite, remove and move whole files.

Every write is guarded against secrets, checked against the limits of MEMORY.md and the hash of what was read, and recorded in
history before the file is touched. A batch does this for many files with one record."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nacre import disk
from nacre.config.settings import MemorySettings
from nacre.errors import BadInput, ChangedOutside, Locked, MemoryFull, NacreError
from nacre.model import Storage, Workspace
from nacre.vault.history import APPEND, CREATE, DELETE, MOVE, REWRITE, Change, Operation
from nacre.vault.storage import dump_row, is_daily, storage_of

OnSecret = Literal["refuse", "redact"]
REFUSE: OnSecret = "refuse"
REDACT: OnSecret = "redact"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BATCH_SIZE = 1000  # changes of one record


# The limits of MEMORY.md.


class Size(NamedTuple):
    lines: int
    bytes: int

    def over(self, limits: MemorySettings) -> bool:
        return self.lines > limits.max_lines or self.bytes > limits.max_bytes


def size_of(data: bytes | None) -> Size:
    """Lines as an editor counts them; a last line without a line end is one too."""
    if not data:
        return Size(0, 0)
    return Size(data.count(b"\n") + (not data.endswith(b"\n")), len(data))


def is_longterm(workspace: Workspace, path: Path) -> bool:
    """Whether the path, or the file it links to, is the global MEMORY.md or a project's."""
    name = workspace.relative(path)
    return _is_longterm(name) or _is_longterm(storage_of(workspace).real(name))


def _is_longterm(name: str) -> bool:
    return re.fullmatch(r"(projects/[^/]+/)?memory\.md", name, re.IGNORECASE) is not None


def check_limits(workspace: Workspace, path: Path, before: bytes | None, after: bytes, limits: MemorySettings) -> None:
    """Raise `MemoryFull` when the write would break the limits. A file that breaks them already may only shrink."""
    old, new = size_of(before), size_of(after)
    if not new.over(limits) or not is_longterm(workspace, path):
        return
    grows = new.lines > max(old.lines, limits.max_lines) or new.bytes > max(old.bytes, limits.max_bytes)
    shrinks = (limits.max_lines < old.lines > new.lines) or (limits.max_bytes < old.bytes > new.bytes)
    if shrinks and not grows:
        return
    shown = workspace.relative(path)
    if old.over(limits):
        raise MemoryFull(
            f'{shown} is over its limits ({old.lines} of {limits.max_lines} lines, {old.bytes} of {limits.max_bytes} bytes) and accepts nothing new; "nacre review --adopt" brings it back under them, after asking you.',
            f"{shown} 已超出上限（{old.lines}/{limits.max_lines} 行，{old.bytes}/{limits.max_bytes} 字节），不再接受新内容；“nacre review --adopt”会在征得你同意后使其回到上限以内。",
        )
    raise MemoryFull(
        f'{shown} is full ({old.lines} of {limits.max_lines} lines, {old.bytes} of {limits.max_bytes} bytes); run "nacre tidy" and "nacre review" to make room, or shorten it by hand.',
        f"{shown} 已满（{old.lines}/{limits.max_lines} 行，{old.bytes}/{limits.max_bytes} 字节）；可运行“nacre tidy”和“nacre review”腾出空间，或手动精简。",
    )


# The guard: no control characters, no secrets.


def guarded(text: str, on_secret: OnSecret = REFUSE) -> str:
    from nacre.guard import sanitise, secrets

    safe = sanitise.clean(text)
    if on_secret == REDACT:
        return secrets.redact(safe).text
    secrets.refuse_secrets(safe)
    return safe


def guard_added(before: bytes, data: bytes) -> bytes:
    """The new bytes with every added line guarded; lines that stood there before pass untouched."""
    from nacre.guard.sanitise import clean

    if data.startswith(BYTE_ORDER_MARK):
        return BYTE_ORDER_MARK + guard_added(before.removeprefix(BYTE_ORDER_MARK), data.removeprefix(BYTE_ORDER_MARK))
    unchanged = Counter(line.rstrip(b"\r") for line in before.split(b"\n"))
    lines = data.split(b"\n")
    added: dict[int, bytes] = {}
    for position, line in enumerate(lines):
        body = line.rstrip(b"\r")
        if unchanged[body]:
            unchanged[body] -= 1
        elif body:
            added[position] = body
    if added:
        guarded("\n".join(body.decode("utf-8", "replace") for body in added.values()))
    for position, body in added.items():
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if not (text.isascii() and text.isprintable()):
            lines[position] = clean(text).encode() + lines[position][len(body) :]
    return b"\n".join(lines)


def _guard_value(value: Any, on_secret: OnSecret) -> Any:
    """A value of JSON as it may be written, each text in it looked at by itself."""
    if isinstance(value, str):
        return guarded(value, on_secret)
    if isinstance(value, dict):
        return {name: _guard_value(inner, on_secret) for name, inner in value.items()}
    return [_guard_value(inner, on_secret) for inner in value] if isinstance(value, list) else value


# Single files.


def append(op: Operation, path: Path, text: str, *, on_secret: OnSecret = REFUSE) -> tuple[int, int]:
    """Append whole lines to a file of the workspace; returns where their bytes begin and how many they are. A torn last line is
    ended first; the file's own line ends are used."""
    if path.suffix == ".jsonl":
        values = [json.loads(line) for line in text.split("\n") if line]
        safe = "".join(dump_row(_guard_value(value, on_secret)) for value in values)
    else:
        safe = guarded(text, on_secret)
    if not safe.strip("\n"):
        raise BadInput("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。")
    name = op.place(path)
    before = op.storage.read(name) or b""
    data = disk.lines_after(before, before[-1:], safe, path)
    check_limits(op.workspace, path, before, before + data, op.config.memory)
    # An empty file is what a killed run left: undo takes it away.
    kind, old = (APPEND, disk.digest(before)) if before else (CREATE, None)
    change = Change(name, kind, old, disk.digest(before + data), len(before), len(data), disk.digest(data))
    op.record([change], [data])
    with op.unless_made():
        return op.storage.append(name, data), len(data)


def rewrite(op: Operation, path: Path, data: bytes, *, read: str | None, log: bool = False) -> str:
    """Put new bytes into a file that is still what was read (hash; None: it must not exist); returns the new hash. Only lines that
    were not in it before are guarded. A daily log is append-only; `log` is for commands whose work it is to take something out of one."""
    name = op.place(path)
    if not log and is_daily(name):
        raise BadInput(
            f"{name} is a daily log: lines can only be appended to it.", f"{name} 是每日日志：只能追加内容。"
        )
    before = expect(op.workspace, path, read)
    safe = guard_added(before or b"", data)
    check_limits(op.workspace, path, before, safe, op.config.memory)
    return write_recorded(op, path, before, safe)


def write_recorded(op: Operation, path: Path, before: bytes | None, data: bytes) -> str:
    """Record and write bytes that were guarded, or are the user's own in another form."""
    if data != before:
        _make(op, Pending(op.workspace.relative(path), before, data))
    return disk.digest(data)


def remove_file(op: Operation, path: Path, *, read: str) -> None:
    name = op.place(path)
    _make(op, Pending(name, expect(op.workspace, path, read)))


def move_file(op: Operation, path: Path, to: Path, *, read: str) -> None:
    """Move a file that is still what was read to a place where nothing stands."""
    name = op.place(path)
    _make(op, Pending(name, expect(op.workspace, path, read), to=op.place(to)))


def expect(workspace: Workspace, path: Path, read: str | None) -> bytes | None:
    """The file's bytes, when they are what was read; else `ChangedOutside`."""
    name = workspace.relative(path)
    data = storage_of(workspace).read(name)
    if disk.hash_of(data) != read:
        raise changed_outside(name)
    return data


def changed_outside(shown: str) -> ChangedOutside:
    return ChangedOutside(
        f"{shown} was changed by another program in the meantime; nothing was written. Run the command again.",
        f"{shown} 在此期间被其他程序修改；未写入任何内容。请重新运行命令。",
    )


# Changes of whole files, one by one or many under one record.


class Pending(NamedTuple):
    """A change that waits: a file gets the name `to`, or new `data`, or both; with neither it is removed."""

    name: str
    before: bytes | None
    data: bytes | None = None
    to: str | None = None

    @property
    def changes(self) -> list[Change]:
        """What the record says of it."""
        read = disk.hash_of(self.before)
        moved = [] if self.to is None else [Change(self.name, MOVE, read, read, to=self.to)]
        if self.data is not None:
            kind = CREATE if self.before is None else REWRITE
            return [*moved, Change(self.to or self.name, kind, read, disk.digest(self.data))]
        return moved or [Change(self.name, DELETE, read, None)]

    @property
    def contents(self) -> list[bytes]:
        """What history needs to show it and to take it back."""
        if self.to is not None and self.data is None:
            return []
        return [data for data in (self.before, self.data) if data is not None]

    def check(self, storage: Storage) -> None:
        """`ChangedOutside` unless everything is still as it was read. To a daily log others may have appended: that stays."""
        if self.to is not None and storage.about(self.to):
            raise changed_outside(self.to)
        now = storage.read(self.name)
        appended = self.to is None and is_daily(self.name) and (now or b"").startswith(self.before or b"")
        if now != self.before and not appended:
            raise changed_outside(self.name)

    def make(self, storage: Storage) -> None:
        """The change itself. What was checked before the record is checked again: others may have come meanwhile."""
        self.check(storage)
        is_done = True
        if self.to is not None:
            storage.move(self.name, self.to)
        if self.data is not None:
            is_done = storage.replace(self.to or self.name, self.data, self.before)
        elif self.to is None:
            is_done = storage.remove(self.name, self.before or b"")
        if not is_done:
            raise changed_outside(self.name)


def _make(op: Operation, pending: Pending) -> None:
    pending.check(op.storage)
    record(op, [pending])
    with op.unless_made():
        pending.make(op.storage)


def record(op: Operation, pending: Sequence[Pending]) -> None:
    changes = [change for each in pending for change in each.changes]
    op.record(changes, [data for each in pending for data in each.contents])


class Batch:
    """Changes that wait to be made together. `who` is whose change it is: after one that failed, its later ones are not made.
    A change of a file that another one in waiting touches lets those be made first, so that the order is always kept."""

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.failed: dict[int, NacreError] = {}
        self._waiting: list[tuple[int, Pending]] = []
        self._touched: set[Path | None] = set()

    def add(self, who: int, path: Path, *, read: str | None, data: bytes | None = None, to: Path | None = None) -> None:
        """Ask for a file that is still what was read (hash; None: it must not exist) to get new data or a free place, or to go."""
        touched = {path, to} - {None}
        if len(self._waiting) >= BATCH_SIZE or not self._touched.isdisjoint(touched):
            self.carry_out()
        if who in self.failed:
            return
        op = self.op
        try:
            name = op.place(path)
            before = expect(op.workspace, path, read)
            safe = None if data is None else guard_added(before or b"", data)
            pending = Pending(name, before, safe, op.place(to) if to else None)
            pending.check(op.storage)
        except NacreError as error:
            self.failed[who] = error
            return
        self._waiting.append((who, pending))
        self._touched |= touched

    def carry_out(self) -> None:
        """Make every change that waits, and make them last."""
        waiting = [(who, pending) for who, pending in self._waiting if who not in self.failed]
        self._waiting, self._touched = [], set()
        if not waiting:
            return
        record(self.op, [pending for _, pending in waiting])
        with self.op.storage.together():
            for who, pending in waiting:
                try:
                    if who not in self.failed:
                        pending.make(self.op.storage)
                        continue
                except Locked:
                    raise
                except NacreError as error:
                    self.failed[who] = error
                self.op.is_whole = False
