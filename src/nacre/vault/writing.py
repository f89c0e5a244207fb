"""The one door for writes: append to a log, or rewrite, remove and move whole files.

Every write is guarded against secrets, checked against the limits of MEMORY.md and the hash of what was read, and recorded in
history before the file is touched. A batch does this for many files with one record."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from nacre.config.settings import MemorySettings
from nacre.errors import BadInput, ChangedOutside, Locked, MemoryFull, NacreError
from nacre.i18n import say
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault import disk, jsonl
from nacre.vault.disk import Appended, append_bytes, lines_for, real, tail_of
from nacre.vault.history import APPEND, CREATE, DELETE, MOVE, REWRITE, Change, Operation, refuse_unnameable


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
    places = ((path, workspace.root), (real(path), real(workspace.root)))
    for place, root in places:
        try:
            parts = [part.casefold() for part in place.relative_to(root).parts]
        except ValueError:
            continue
        if parts == ["memory.md"] or (len(parts) == 3 and parts[0] == "projects" and parts[2] == "memory.md"):
            return True
    return False


def check_limits(workspace: Workspace, path: Path, before: bytes | None, after: bytes, limits: MemorySettings) -> None:
    """Raise `MemoryFull` when the write would break the limits. A file that breaks them already may only shrink."""
    if not is_longterm(workspace, path):
        return
    old, new = size_of(before), size_of(after)
    if not new.over(limits):
        return
    grows = new.lines > max(old.lines, limits.max_lines) or new.bytes > max(old.bytes, limits.max_bytes)
    shrinks = (limits.max_lines < old.lines > new.lines) or (limits.max_bytes < old.bytes > new.bytes)
    if grows or not shrinks:
        raise _full(workspace.relative(path), old, limits)


def _full(shown: str, size: Size, limits: MemorySettings) -> MemoryFull:
    if size.over(limits):
        return MemoryFull(
            say(
                f"{shown} is over its limits ({size.lines} of {limits.max_lines} lines, {size.bytes} of "
                f'{limits.max_bytes} bytes) and takes nothing new; "nacre review --adopt" brings it under them, after asking.',
                f"{shown} 已超出上限（{size.lines}/{limits.max_lines} 行，{size.bytes}/{limits.max_bytes} 字节）,"
                "不再接受新内容；“nacre review --adopt”会在询问后使其回到上限以内。",
            )
        )
    return MemoryFull(
        say(
            f"{shown} is full ({size.lines} of {limits.max_lines} lines, {size.bytes} of {limits.max_bytes} bytes); "
            'run "nacre tidy" and "nacre review" to make room, or shorten it.',
            f"{shown} 已满（{size.lines}/{limits.max_lines} 行，{size.bytes}/{limits.max_bytes} 字节）;"
            "可运行“nacre tidy”和“nacre review”腾出空间，或手动精简。",
        )
    )


# Appending to logs: guard, one write of whole lines, fsync. Recorded in history inside an operation.

OnSecret = Literal["refuse", "redact"]
REFUSE: OnSecret = "refuse"
REDACT: OnSecret = "redact"


def append(op: Operation, path: Path, text: str, *, on_secret: OnSecret = REFUSE) -> Appended:
    """Append whole lines to a file of the workspace; returns where their bytes begin and how many they are.

    A secret is refused, or blacked out where the caller asks for that. A torn last line is ended first; the file's own
    line ends are used.
    """
    safe = _guarded_rows(text, on_secret) if path.suffix == ".jsonl" else guarded(text, on_secret)
    if not safe.strip("\n"):
        raise BadInput(say("There is nothing to write: the text is empty.", "没有可写入的内容：文本为空。"))
    op.place(path)
    tail = tail_of(path)
    data = lines_for(tail, safe)
    before = disk.read_bytes(path) or None  # an empty file is what a killed run left: undo takes it away
    after = (before or b"") + data
    check_limits(op.workspace, path, before, after, op.config.memory)
    change = Change(
        op.workspace.relative(path),
        CREATE if before is None else APPEND,
        None if before is None else disk.digest(before),
        disk.digest(after),
        offset=len(before or b""),
        length=len(data),
        bytes=disk.digest(data),
    )
    op.record([change], [data])
    return append_bytes(path, data)


def _guarded_rows(text: str, on_secret: OnSecret) -> str:
    """Lines of JSON as they may be written, each text in them looked at by itself: what follows it in the line is no part of it."""

    def safe(value: Any) -> Any:
        if isinstance(value, str):
            return guarded(value, on_secret)
        if isinstance(value, dict):
            return {name: safe(inner) for name, inner in value.items()}
        return [safe(inner) for inner in value] if isinstance(value, list) else value

    return "".join(jsonl.dump_row(safe(json.loads(line))) for line in text.split("\n") if line)


def guarded(text: str, on_secret: OnSecret = REFUSE) -> str:
    """The text as it may be written: no control characters, no secrets."""
    from nacre.guard import sanitise, secrets

    safe = sanitise.clean(text)
    if on_secret == REDACT:
        return secrets.redact(safe).text
    secrets.refuse_secrets(safe)
    return safe


# Changing, removing and moving whole files: lock, still what was read, guard, preimage, atomic write.

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def rewrite(op: Operation, path: Path, data: bytes, *, read: str | None, log: bool = False) -> str:
    """Put new bytes into a file that is still what was read (hash; None: it must not exist). Returns the new hash.

    Only lines that were not in the file before are guarded: what the user wrote long ago does not block an edit elsewhere.
    A daily log is append-only; `log` is for the few commands whose work it is to take something out of one.
    """
    op.place(path)
    if not log and is_log(op.workspace, path):
        raise BadInput(
            say(
                f"{op.workspace.relative(path)} is a daily log: lines are only ever added to it.",
                f"{op.workspace.relative(path)} 是每日日志：只能追加内容。",
            )
        )
    before = expect(op.workspace, path, read)
    safe = guard_added(before or b"", data)
    check_limits(op.workspace, path, before, safe, op.config.memory)
    return write_recorded(op, path, before, safe)


def write_recorded(op: Operation, path: Path, before: bytes | None, data: bytes) -> str:
    """Record and write bytes that were guarded, or are the user's own in another form."""
    if data == before:
        return disk.digest(data)
    old = None if before is None else disk.digest(before)
    change = Change(op.workspace.relative(path), CREATE if before is None else REWRITE, old, disk.digest(data))
    op.record([change], [data] if before is None else [before, data])
    write_over(op, path, before, data)
    return disk.digest(data)


def write_over(op: Operation, path: Path, before: bytes | None, data: bytes, *, mode: int | None = None) -> None:
    """The write itself: a daily log is edited in place, any other file replaced. `mode` is for a new one."""

    def still() -> None:
        expect(op.workspace, path, None if before is None else disk.digest(before))

    if not is_log(op.workspace, path):
        disk.write(path, data, mode=mode, still=still)
    elif not disk.edit_log(op.workspace, path, before or b"", data, mode=mode or disk.PRIVATE):
        raise changed_outside(op.workspace.relative(path))


def remove_file(op: Operation, path: Path, *, read: str) -> None:
    """Delete a file that is still what was read."""
    op.place(path)
    before = expect(op.workspace, path, read)
    assert before is not None
    mode = stat.S_IMODE(path.stat().st_mode)
    op.record([Change(op.workspace.relative(path), DELETE, read, None, mode=mode)], [before])
    take_away(op, path, before)


def take_away(op: Operation, path: Path, before: bytes) -> None:
    """The removal itself. A daily log is emptied, and stays while others may still append to it, or with what they appended."""
    if not is_log(op.workspace, path):
        disk.remove(path)
    elif not disk.edit_log(op.workspace, path, before, b""):
        raise changed_outside(op.workspace.relative(path))


def move_file(op: Operation, path: Path, to: Path, *, read: str) -> None:
    """Move a file that is still what was read to a place where nothing stands."""
    op.place(path)
    op.place(to)
    expect(op.workspace, path, read)
    if os.path.lexists(to):
        raise changed_outside(op.workspace.relative(to))
    op.record([Change(op.workspace.relative(path), MOVE, read, read, to=op.workspace.relative(to))], [])
    disk.rename(path, to)


def expect(workspace: Workspace, path: Path, read: str | None) -> bytes | None:
    """The file's bytes, when they are what was read; else `ChangedOutside`."""
    now = disk.read_bytes(path)
    if (None if now is None else disk.digest(now)) != read:
        raise changed_outside(workspace.relative(path))
    return now


def changed_outside(shown: str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f"{shown} was changed by someone else meanwhile; nothing was written. Run the command again.",
            f"{shown} 在此期间被他人修改；未写入任何内容。请重新运行命令。",
        )
    )


def is_log(workspace: Workspace, path: Path) -> bool:
    """Whether the path is a daily log that agents append to."""
    real = disk.real(path)
    return real.parent == disk.real(workspace.memory) and bool(DAY_NAME.fullmatch(real.name))


def guard_added(before: bytes, data: bytes) -> bytes:
    """The new bytes with every added line guarded; lines that stood there before pass untouched."""
    if data.startswith(BYTE_ORDER_MARK):
        return BYTE_ORDER_MARK + guard_added(before.removeprefix(BYTE_ORDER_MARK), data.removeprefix(BYTE_ORDER_MARK))
    known = Counter(line.rstrip(b"\r") for line in before.split(b"\n"))
    lines = data.split(b"\n")
    added: list[int] = []
    for position, line in enumerate(lines):
        bare = line.rstrip(b"\r")
        if known[bare]:
            known[bare] -= 1
        elif bare:
            added.append(position)
    if not added:
        return data
    bodies = [lines[position].rstrip(b"\r") for position in added]
    text = "\n".join(body.decode("utf-8", "replace") for body in bodies)
    guarded(text)
    for position, body in zip(added, bodies, strict=True):
        if body.isascii() and body.decode().isprintable():
            continue
        try:
            clean = _clean(body.decode("utf-8"))
        except UnicodeDecodeError:
            continue
        lines[position] = clean.encode() + lines[position][len(body) :]
    return b"\n".join(lines)


def _clean(line: str) -> str:
    from nacre.guard.sanitise import clean

    return clean(line)


# Many files changed as one: all are checked, one record tells of them, each folder is synced once.

BATCH_SIZE = 1000  # changes of one record


@dataclass(frozen=True)
class _Pending:
    """A change that waits: `to` for a move, `data` for a write, neither for a removal. `staged` is where the data lie already;
    `beside` must still be as given."""

    who: int
    path: Path
    read: str | None
    to: Path | None = None
    data: bytes | None = None
    staged: Path | None = None
    beside: tuple[Path, str] | None = None

    @property
    def places(self) -> tuple[Path, ...]:
        return tuple(one for one in (self.path, self.to, self.beside and self.beside[0]) if one)


class Batch:
    """Changes that wait to be made together. `who` is whose change it is: after one that failed, its later ones are not made.

    A change of a file that another one in waiting touches lets those be made first, so that the order is always kept.
    """

    def __init__(self, op: Operation) -> None:
        self.op = op
        self.failed: dict[int, NacreError] = {}
        self._wishes: list[_Pending] = []
        self._touched: set[Path] = set()
        self._ours: set[Path] = set()  # folders known to lie in the workspace or its layers

    def write(self, who: int, path: Path, data: bytes, *, read: str | None) -> None:
        """Put new bytes into a file that is still what was read (hash; None: it must not exist)."""
        self._add(_Pending(who, path, read, data=data))

    def create(self, who: int, path: Path, data: bytes, *, staged: Path) -> None:
        """Let a file come into being of which the bytes, guarded, were staged beside it."""
        self._add(_Pending(who, path, None, data=data, staged=staged))

    def move(self, who: int, path: Path, to: Path, *, read: str) -> None:
        """Move a file that is still what was read to a place where nothing stands."""
        self._add(_Pending(who, path, read, to))

    def remove(self, who: int, path: Path, *, read: str, beside: tuple[Path, str] | None = None) -> None:
        """Delete a file that is still what was read, and only while the one `beside` has the bytes of a hash."""
        self._add(_Pending(who, path, read, beside=beside))

    def _add(self, wish: _Pending) -> None:
        if len(self._wishes) >= BATCH_SIZE or not self._touched.isdisjoint(wish.places):
            self.carry_out()
        self._wishes.append(wish)
        self._touched.update(wish.places)

    def carry_out(self) -> None:
        """Make every change that waits, and make them last."""
        wishes, self._wishes, self._touched = self._wishes, [], set()
        ready: list[tuple[int, Callable[[], None]]] = []
        changes: list[Change] = []
        contents: list[bytes] = []
        for wish in wishes:
            if wish.who in self.failed:
                continue
            try:
                change, kept, work = self._ready(wish)
                refuse_unnameable([change] if self.op.config.history.enabled else [])
            except NacreError as trouble:
                self.failed[wish.who] = trouble
                continue
            ready.append((wish.who, work))
            changes.append(change)
            contents += kept
        if not ready:
            return
        self.op.record(changes, contents)
        with disk.folders_once():
            for who, work in ready:
                self._make(who, work)

    def _make(self, who: int, work: Callable[[], None]) -> None:
        if who in self.failed:
            self.op.is_whole = False
            return
        try:
            work()
        except Locked:
            raise
        except NacreError as trouble:
            self.failed[who] = trouble
            self.op.is_whole = False

    def _ready(self, wish: _Pending) -> tuple[Change, list[bytes], Callable[[], None]]:
        """The record of a change, the contents that history needs for it, and the change itself."""
        op, path = self.op, wish.path
        shown = op.workspace.relative(path)
        self._must_be_ours(wish.places)
        before = expect(op.workspace, path, wish.read)
        if wish.to is not None:
            to = wish.to
            self._must_be_free(to)
            record = Change(shown, MOVE, wish.read, wish.read, to=op.workspace.relative(to))
            return record, [], lambda: self._move(path, to)
        if wish.data is not None and (staged := wish.staged):
            record = Change(shown, CREATE, None, disk.digest(wish.data))
            return record, [wish.data], lambda: disk.put_staged(staged, path, still=lambda: self._expect(wish))
        if wish.data is not None:
            safe = guard_added(before or b"", wish.data)
            record = Change(shown, REWRITE if before is not None else CREATE, wish.read, disk.digest(safe))
            kept = [safe] if before is None else [before, safe]
            return record, kept, lambda: disk.write(path, safe, still=lambda: self._expect(wish))
        self._expect(wish)
        mode = stat.S_IMODE(path.stat().st_mode)
        return Change(shown, DELETE, wish.read, None, mode=mode), [before or b""], lambda: self._remove(wish)

    # What was checked before the record is looked at again: others may have come while the files before it were changed.

    def _expect(self, wish: _Pending) -> None:
        expect(self.op.workspace, wish.path, wish.read)
        if wish.beside:
            expect(self.op.workspace, *wish.beside)

    def _must_be_ours(self, places: Iterable[Path]) -> None:
        for place in places:
            if os.path.islink(place):
                self.op.place(place)
            elif place.parent not in self._ours:
                self.op.place(place)
                self._ours.add(place.parent)

    def _must_be_free(self, place: Path) -> None:
        if os.path.lexists(place):
            raise changed_outside(self.op.workspace.relative(place))

    def _move(self, path: Path, to: Path) -> None:
        self._must_be_free(to)
        disk.rename(path, to)

    def _remove(self, wish: _Pending) -> None:
        self._expect(wish)
        disk.remove(wish.path)
