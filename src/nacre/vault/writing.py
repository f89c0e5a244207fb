"""The one door for writes: append to a log, or rewrite, remove and move whole files.

Every write is guarded against secrets, checked against the limits of MEMORY.md and the hash of what was read, and recorded in
history before the file is touched. A batch does this for many files with one record."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nacre.config.settings import MemorySettings
from nacre.errors import BadInput, ChangedOutside, Locked, MemoryFull, NacreError
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault import disk, jsonl
from nacre.vault.history import APPEND, CREATE, DELETE, MOVE, REWRITE, Change, Operation

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
    for place, root in ((path, workspace.root), (disk.real(path), disk.real(workspace.root))):
        parts = [part.casefold() for part in place.relative_to(root).parts] if root in place.parents else []
        if parts == ["memory.md"] or (len(parts) == 3 and parts[0] == "projects" and parts[2] == "memory.md"):
            return True
    return False


def check_limits(workspace: Workspace, path: Path, before: bytes | None, after: bytes, limits: MemorySettings) -> None:
    """Raise `MemoryFull` when the write would break the limits. A file that breaks them already may only shrink."""
    old, new = size_of(before), size_of(after)
    if not is_longterm(workspace, path) or not new.over(limits):
        return
    grows = new.lines > max(old.lines, limits.max_lines) or new.bytes > max(old.bytes, limits.max_bytes)
    shrinks = (limits.max_lines < old.lines > new.lines) or (limits.max_bytes < old.bytes > new.bytes)
    if shrinks and not grows:
        return
    shown = workspace.relative(path)
    if old.over(limits):
        raise MemoryFull(
            f"{shown} is over its limits ({old.lines} of {limits.max_lines} lines, {old.bytes} of "
            f'{limits.max_bytes} bytes) and takes nothing new; "nacre review --adopt" brings it under them, after asking.',
            f"{shown} 已超出上限（{old.lines}/{limits.max_lines} 行，{old.bytes}/{limits.max_bytes} 字节）,"
            "不再接受新内容；“nacre review --adopt”会在询问后使其回到上限以内。",
        )
    raise MemoryFull(
        f"{shown} is full ({old.lines} of {limits.max_lines} lines, {old.bytes} of {limits.max_bytes} bytes); "
        'run "nacre tidy" and "nacre review" to make room, or shorten it.',
        f"{shown} 已满（{old.lines}/{limits.max_lines} 行，{old.bytes}/{limits.max_bytes} 字节）;"
        "可运行“nacre tidy”和“nacre review”腾出空间，或手动精简。",
    )


# The guard: no control characters, no secrets.


def guarded(text: str, on_secret: OnSecret = REFUSE) -> str:
    """The text as it may be written."""
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
    """Append whole lines to a file of the workspace; returns where their bytes begin and how many they are.

    A secret is refused, or blacked out where the caller asks for that. A torn last line is ended first; the file's own
    line ends are used.
    """
    if path.suffix == ".jsonl":
        values = [json.loads(line) for line in text.split("\n") if line]
        safe = "".join(jsonl.dump_row(_guard_value(value, on_secret)) for value in values)
    else:
        safe = guarded(text, on_secret)
    if not safe.strip("\n"):
        raise BadInput("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。")
    op.place(path)
    data = disk.lines_for(path, safe)
    before = disk.read_bytes(path) or None  # an empty file is what a killed run left: undo takes it away
    after = (before or b"") + data
    check_limits(op.workspace, path, before, after, op.config.memory)
    change = Change(
        op.workspace.relative(path),
        CREATE if before is None else APPEND,
        disk.hash_of(before),
        disk.digest(after),
        offset=len(before or b""),
        length=len(data),
        bytes=disk.digest(data),
    )
    op.record([change], [data])
    return disk.append_bytes(path, data), len(data)


def rewrite(op: Operation, path: Path, data: bytes, *, read: str | None, log: bool = False) -> str:
    """Put new bytes into a file that is still what was read (hash; None: it must not exist). Returns the new hash.

    Only lines that were not in the file before are guarded: what the user wrote long ago does not block an edit elsewhere.
    A daily log is append-only; `log` is for the few commands whose work it is to take something out of one.
    """
    op.place(path)
    if not log and is_log(op.workspace, path):
        raise BadInput(
            f"{op.workspace.relative(path)} is a daily log: lines are only ever added to it.",
            f"{op.workspace.relative(path)} 是每日日志：只能追加内容。",
        )
    before = expect(op.workspace, path, read)
    safe = guard_added(before or b"", data)
    check_limits(op.workspace, path, before, safe, op.config.memory)
    return write_recorded(op, path, before, safe)


def write_recorded(op: Operation, path: Path, before: bytes | None, data: bytes) -> str:
    """Record and write bytes that were guarded, or are the user's own in another form."""
    if data == before:
        return disk.digest(data)
    old = disk.hash_of(before)
    change = Change(op.workspace.relative(path), CREATE if before is None else REWRITE, old, disk.digest(data))
    op.record([change], [data] if before is None else [before, data])
    write_over(op, path, before, data)
    return disk.digest(data)


def write_over(op: Operation, path: Path, before: bytes | None, data: bytes, *, mode: int | None = None) -> None:
    """The write itself: a daily log is edited in place, any other file replaced. `mode` is for a new one."""
    if is_log(op.workspace, path):
        written = disk.edit_log(op.workspace, path, before or b"", data, mode=mode or disk.PRIVATE)
    else:
        written = disk.replace(path, data, disk.hash_of(before), mode=mode)
    if not written:
        raise changed_outside(op.workspace.relative(path))


def take_away(op: Operation, path: Path, before: bytes) -> None:
    """The removal itself. A daily log is emptied, and stays while others may still append to it, or with what they appended."""
    if not is_log(op.workspace, path):
        disk.remove(path)
    elif not disk.edit_log(op.workspace, path, before, b""):
        raise changed_outside(op.workspace.relative(path))


def expect(workspace: Workspace, path: Path, read: str | None) -> bytes | None:
    """The file's bytes, when they are what was read; else `ChangedOutside`."""
    data = disk.read_bytes(path)
    if disk.hash_of(data) != read:
        raise changed_outside(workspace.relative(path))
    return data


def changed_outside(shown: str) -> ChangedOutside:
    return ChangedOutside(
        f"{shown} was changed by someone else meanwhile; nothing was written. Run the command again.",
        f"{shown} 在此期间被他人修改；未写入任何内容。请重新运行命令。",
    )


def is_log(workspace: Workspace, path: Path) -> bool:
    """Whether the path is a daily log that agents append to."""
    real = disk.real(path)
    return real.parent == disk.real(workspace.memory) and bool(DAY_NAME.fullmatch(real.name))


# Changes of whole files, one by one or many under one record.


class _Pending(NamedTuple):
    """A change that waits: `to` for a move, `data` for a write, neither for a removal, which needs the file `beside` to have a hash."""

    who: int
    path: Path
    read: str | None
    to: Path | None = None
    data: bytes | None = None
    beside: tuple[Path, str] | None = None

    @property
    def places(self) -> tuple[Path, ...]:
        return tuple(place for place in (self.path, self.to, self.beside and self.beside[0]) if place)

    def check(self, op: Operation) -> tuple[_Pending, Change, list[bytes]]:
        """The change with its data guarded, its record, and the contents that history needs for it."""
        for place in self.places:
            op.place(place)
        before = self.expect(op)
        shown = op.workspace.relative(self.path)
        if self.to is not None:
            return self, Change(shown, MOVE, self.read, self.read, to=op.workspace.relative(self.to)), []
        if self.data is not None:
            data = guard_added(before or b"", self.data)
            change = Change(shown, CREATE if before is None else REWRITE, self.read, disk.digest(data))
            return self._replace(data=data), change, [data] if before is None else [before, data]
        mode = stat.S_IMODE(self.path.stat().st_mode)
        return self, Change(shown, DELETE, self.read, None, mode=mode), [before or b""]

    def expect(self, op: Operation) -> bytes | None:
        """The bytes of the file; `ChangedOutside` when it, or what it depends on, is not what was read."""
        if self.to is not None and os.path.lexists(self.to):
            raise changed_outside(op.workspace.relative(self.to))
        if self.beside:
            expect(op.workspace, *self.beside)
        return expect(op.workspace, self.path, self.read)

    def make(self, op: Operation) -> None:
        """The change itself. What was checked before the record is checked again: others may have come meanwhile."""
        if self.data is not None:
            if not disk.replace(self.path, self.data, self.read):
                raise changed_outside(op.workspace.relative(self.path))
            return
        before = self.expect(op)
        if self.to is not None:
            disk.rename(self.path, self.to)
        else:
            take_away(op, self.path, before or b"")


def remove_file(op: Operation, path: Path, *, read: str) -> None:
    """Delete a file that is still what was read."""
    _make_one(op, _Pending(0, path, read))


def move_file(op: Operation, path: Path, to: Path, *, read: str) -> None:
    """Move a file that is still what was read to a place where nothing stands."""
    _make_one(op, _Pending(0, path, read, to))


def _make_one(op: Operation, pending: _Pending) -> None:
    _, change, contents = pending.check(op)
    op.record([change], contents)
    pending.make(op)


class Batch:
    """Changes that wait to be made together. `who` is whose change it is: after one that failed, its later ones are not made.

    A change of a file that another one in waiting touches lets those be made first, so that the order is always kept.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.failed: dict[int, NacreError] = {}
        self._pending: list[_Pending] = []
        self._touched: set[Path] = set()

    def write(self, who: int, path: Path, data: bytes, *, read: str | None) -> None:
        """Put new bytes into a file that is still what was read (hash; None: it must not exist)."""
        self._add(_Pending(who, path, read, data=data))

    def move(self, who: int, path: Path, to: Path, *, read: str) -> None:
        """Move a file that is still what was read to a place where nothing stands."""
        self._add(_Pending(who, path, read, to))

    def remove(self, who: int, path: Path, *, read: str, beside: tuple[Path, str] | None = None) -> None:
        """Delete a file that is still what was read, and only while the one `beside` has the bytes of a hash."""
        self._add(_Pending(who, path, read, beside=beside))

    def _add(self, pending: _Pending) -> None:
        if len(self._pending) >= BATCH_SIZE or not self._touched.isdisjoint(pending.places):
            self.carry_out()
        self._pending.append(pending)
        self._touched.update(pending.places)

    def carry_out(self) -> None:
        """Make every change that waits, and make them last."""
        waiting, self._pending, self._touched = self._pending, [], set()
        checked: list[tuple[_Pending, Change, list[bytes]]] = []
        for pending in waiting:
            try:
                if pending.who not in self.failed:
                    checked.append(pending.check(self.op))
            except NacreError as error:
                self.failed[pending.who] = error
        if not checked:
            return
        self.op.record([change for _, change, _ in checked], [data for *_, contents in checked for data in contents])
        with disk.folders_once():
            for pending, *_ in checked:
                try:
                    if pending.who not in self.failed:
                        pending.make(self.op)
                        continue
                except Locked:
                    raise
                except NacreError as error:
                    self.failed[pending.who] = error
                self.op.is_whole = False
