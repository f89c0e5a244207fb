"""Operations: changes that belong together, under one lock, recorded before each file is touched.

Whether a change was carried out is read off the hashes of the files: a process killed between the record and the write leaves a
record whose file is still as before, which is shown as "not carried out" and is nothing to undo."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError, NotFound, PathEscape
from nacre.model.context import Context
from nacre.model.report import Problem
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault import disk, jsonl
from nacre.vault.lock import TIMEOUT, lock
from nacre.vault.merge import merge

REWRITE, APPEND, CREATE, DELETE, MOVE = "rewrite", "append", "create", "delete", "move"
DONE, PARTLY, NOT_CARRIED_OUT, UNDONE = "done", "partly done", "not carried out", "undone"
_EMPTY = disk.digest(b"")
_HASH = r"[0-9a-f]{64}"
# What would break a line of a terminal, turn its direction, or is no text at all. Other spaces and joiners are parts of names.
_UNNAMEABLE = "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
_PRIVATE_FOLDER = 0o700
_LARGEST_BLOB = 200_000_000  # bytes; more than any note, and little enough to hold
_TAIL = 8192  # bytes of the operations file that are read first


class Change(NamedTuple):
    """One file's change. `before` and `after` are hashes of the whole file, None where there is none.

    An append also knows where its bytes were to stand and their own hash; a move knows where to.
    """

    path: str
    kind: str
    before: str | None
    after: str | None
    offset: int | None = None
    length: int | None = None
    bytes: str | None = None
    to: str | None = None
    mode: int | None = None

    def as_json(self) -> dict[str, Any]:
        values = self._asdict()
        return {name: value for name, value in values.items() if value is not None or name in ("before", "after")}


class Recorded(NamedTuple):
    """An operation as history tells it."""

    id: int
    at: str
    command: str
    changes: tuple[Change, ...]
    undoes: tuple[int, ...] = ()
    finished: bool = False
    state: str = DONE
    carried_out: tuple[bool, ...] = ()
    undone_by: int | None = None

    @property
    def carried_changes(self) -> list[Change]:
        return [change for change, carried_out in zip(self.changes, self.carried_out, strict=True) if carried_out]


class History(NamedTuple):
    """All operations, oldest first, and problems with the file that holds them."""

    operations: tuple[Recorded, ...]
    problems: tuple[Problem, ...] = ()

    def find(self, number: int) -> Recorded:
        for operation in self.operations:
            if operation.id == number:
                return operation
        raise NotFound(
            f'There is no operation {number}; "nacre history" lists them.',
            f"没有编号为 {number} 的操作；“nacre history”会列出全部。",
        )


# Contents by their hash, compressed: what history keeps of files as they were.


def store_blob(history: Path, data: bytes) -> str:
    """Keep the bytes and return their hash; what is already kept is not written again."""
    name = disk.digest(data)
    path = _blob_path(history, name)
    if not path.exists():
        for folder in (history, history / "blobs", path.parent):
            private_folder(folder)
        disk.write(path, zlib.compress(data))
    return name


def load_blob(history: Path, name: str) -> bytes:
    """The bytes of a hash; `NotFound` when they are gone or damaged."""
    try:
        data = zlib.decompressobj().decompress(_blob_path(history, name).read_bytes(), _LARGEST_BLOB)
    except (OSError, zlib.error):
        data = None
    if data is None or disk.digest(data) != name:
        raise NotFound(
            f"History has lost the content {name[:12]}; this change can be neither shown nor undone.",
            f"历史中缺少内容 {name[:12]}；无法显示或撤销此更改。",
        )
    return data


def private_folder(folder: Path) -> None:
    if not folder.is_dir():
        disk.make_folder(folder)
    elif os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(_PRIVATE_FOLDER)


def _blob_path(history: Path, name: str) -> Path:
    return history / "blobs" / name[:2] / name[2:]


# Reading operations.


def operations_file(workspace: Workspace) -> Path:
    return workspace.history / "operations.jsonl"


def last_id(workspace: Workspace) -> int:
    """The highest number given so far."""
    numbers = [row.value.get("id") for row in _last_rows(workspace)]
    return max((number for number in numbers if isinstance(number, int)), default=0)


def _last_rows(workspace: Workspace) -> tuple[jsonl.Row, ...]:
    """The rows at the end of the operations file; all of them when none of its last bytes is a whole one."""
    with contextlib.suppress(FileNotFoundError), operations_file(workspace).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        for start in {max(0, size - _TAIL): None, 0: None}:
            file.seek(start)
            if rows := jsonl.parse_rows(file.read(), "").rows:
                return rows
    return ()


def read_history(workspace: Workspace) -> History:
    """Every operation with its state as the files show it."""
    operations, problems = read_operations(workspace)
    return History(_with_states(workspace, operations), problems)


def read_operations(workspace: Workspace) -> tuple[list[Recorded], tuple[Problem, ...]]:
    """Every operation as it was recorded, and problems with the file that holds them."""
    path = operations_file(workspace)
    rows, problems = jsonl.read_rows(path, workspace.relative(path))
    operations: dict[int, Recorded] = {}
    for _, value in rows:
        number = value.get("id")
        if not isinstance(number, int):
            continue
        recorded = operations.get(number)
        if value.get("done"):
            if recorded:
                operations[number] = recorded._replace(finished=True)
            continue
        changes = tuple(change for listed in _list(value.get("changes")) if (change := _change(listed)))
        if recorded:
            operations[number] = recorded._replace(changes=recorded.changes + changes)
        else:
            undoes = tuple(undone for undone in _list(value.get("undoes")) if isinstance(undone, int))
            at, command = str(value.get("at", "")), str(value.get("command", ""))
            operations[number] = Recorded(number, at, command, changes, undoes)
    return [operations[number] for number in sorted(operations)], problems


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _change(value: Any) -> Change | None:
    """A change from its record; None when that is damaged, or not ours."""
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        return None
    fields: dict[str, Any] = {name: value.get(name) for name in Change._fields}
    for name, held in fields.items():
        if held is None:
            continue
        if name in ("offset", "length", "mode"):
            valid = type(held) is int and 0 <= held < 1 << 40
        else:
            valid = isinstance(held, str) and can_be_named(held)
            valid = valid and (name not in ("before", "after", "bytes") or bool(re.fullmatch(_HASH, held)))
        if not valid:
            return None
    if is_daily(fields["path"]):  # one that was emptied, because somebody holds it open, is as good as gone
        fields |= {name: None for name in ("before", "after") if fields[name] == _EMPTY}
    return Change(**fields)


def can_be_named(text: str) -> bool:
    """Whether history can keep a path so that it finds it again, and show it."""
    return text.isprintable() or not re.search(_UNNAMEABLE, text)


def is_daily(path: str) -> bool:
    """Whether a path of a record names a daily log among the living ones."""
    folder, _, name = path.rpartition("/")
    return folder == "memory" and bool(DAY_NAME.fullmatch(name))


def content_now(workspace: Workspace, path: str) -> bytes | None:
    """A file that a record names, as it is now; nothing when it is no ordinary file of ours, or a log that was emptied."""
    try:
        full = workspace.root / path
        data = disk.read_bytes(full) if full.is_file() else None
        return None if is_daily(path) and not data else data
    except (OSError, ValueError, NacreError):
        return None


def _with_states(workspace: Workspace, recorded: list[Recorded]) -> tuple[Recorded, ...]:
    """The operations with what was carried out of them, found by going back from the files as they are now."""
    content_of = cache(lambda path: content_now(workspace, path))
    next_hashes: dict[str, str | None] = {}  # of each file when the next change began; at first, now

    def next_hash(path: str) -> str | None:
        if path not in next_hashes:
            next_hashes[path] = disk.hash_of(content_of(path))
        return next_hashes[path]

    undone: dict[int, int] = {}
    claimed: dict[str, Counter[str]] = {}  # the same bytes may have been meant twice, when the first time was killed
    result: list[Recorded] = []
    for operation in reversed(recorded):
        flags: list[bool] = []
        for change in reversed(operation.changes):
            path = change.to if change.kind == MOVE and change.to else change.path
            claims = claimed.setdefault(path, Counter())
            if operation.finished and change.kind == MOVE:
                done = True
            elif change.kind == MOVE:  # others may have written in either place since
                left, arrived = next_hash(change.path), next_hash(path)
                done = arrived is not None and left != change.before and (left is None or arrived == change.after)
            elif (following := next_hash(path)) in (change.after, change.before):
                done = following == change.after
            elif operation.finished or following == _EMPTY:
                done = operation.finished
            else:
                done = _shows_in(workspace, change, content_of(path), claims)
            if done and change.bytes and operation.id not in undone:
                claims[change.bytes] += 1
            flags.append(done)
            next_hashes[change.path] = change.before
            if change.to:
                next_hashes[change.to] = None
        flags.reverse()
        state = DONE if all(flags) else PARTLY if any(flags) else NOT_CARRIED_OUT
        if operation.id in undone:
            state = UNDONE
        elif operation.undoes and state == DONE:
            undone |= dict.fromkeys(operation.undoes, operation.id)
        undone_by = undone.get(operation.id)
        result.append(operation._replace(state=state, carried_out=tuple(flags), undone_by=undone_by))
    return tuple(reversed(result))


def _shows_in(workspace: Workspace, change: Change, content: bytes | None, claimed: Counter[str]) -> bool:
    """Whether a change of an operation that never said it was done is to be seen in a file that others have changed since."""
    if content is None:
        return False
    if change.bytes is not None:
        return len(_find_appended(workspace, change, content)) > claimed[change.bytes]
    if change.before is None or change.after is None:
        return False
    try:
        before, after = load_blob(workspace.history, change.before), load_blob(workspace.history, change.after)
    except NotFound:
        return False
    return merge(after, content, before) is not None and merge(before, content, after) is None


def places_of(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Where the appended bytes stand now, the place nearest to their own first."""
    length, offset = change.length or 0, change.offset or 0
    if disk.digest(content[offset : offset + length]) == change.bytes:
        return [offset]
    return sorted(_find_appended(workspace, change, content), key=lambda place: abs(place - offset))


def _find_appended(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Every place where the appended bytes stand as lines of their own."""
    try:
        data = load_blob(workspace.history, change.bytes or "")
    except NotFound:
        return []
    return [match.start() for match in re.finditer(rb"(?m)^(?=" + re.escape(data) + rb")", content)]


def diff_operation(workspace: Workspace, number: int) -> str:
    """What an operation changed, as a unified diff, from what history kept."""
    import difflib

    def lines_of(name: str | None) -> list[str]:
        text = load_blob(workspace.history, name).decode("utf-8", "replace") if name else ""
        return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []

    shown: list[str] = []
    for change in read_history(workspace).find(number).changes:
        if change.kind == MOVE:
            shown += [f"rename from {change.path}", f"rename to {change.to}"]
        elif change.bytes is not None:
            shown += [f"--- {change.path}", f"+++ {change.path}", f"@@ {change.offset}+{change.length} @@"]
            shown += [f"+{line}" for line in lines_of(change.bytes)]
        else:
            names = (change.path if change.before else "/dev/null", change.path if change.after else "/dev/null")
            shown += difflib.unified_diff(lines_of(change.before), lines_of(change.after), *names, lineterm="")
    return "".join(f"{line}\n" for line in shown)


# Recording operations.


@dataclass(eq=False, repr=False)
class Operation:
    """One command at work. Its number is taken when the first change is recorded."""

    context: Context
    command: str
    undoes: tuple[int, ...] = ()
    id: int | None = None
    is_whole: bool = True  # False when something that was recorded was not done after all

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    @property
    def config(self) -> Config:
        return self.context.config

    @property
    def clock(self) -> Clock:
        return self.context.clock

    def record(self, changes: Sequence[Change], contents: Iterable[bytes]) -> None:
        """Put on disk what is about to change, and every content needed to show it or take it back."""
        if not self.config.history.enabled:
            return
        with disk.writing_to(self.workspace.history):
            private_folder(self.workspace.machine)
            with disk.folders_once():
                for content in contents:
                    store_blob(self.workspace.history, content)
            if self.id is None:
                self.id = last_id(self.workspace) + 1
        line: dict[str, Any] = {"id": self.id, "at": self.clock.now().isoformat(timespec="seconds")}
        line |= {"command": self.command, "changes": [change.as_json() for change in changes]}
        if self.undoes:
            line["undoes"] = list(self.undoes)
        self._append(line, durable=True)

    def finish(self) -> None:
        """Say that it went through: evidence for the rare case that the hashes of the files no longer tell."""
        if self.id is not None and self.is_whole:
            with contextlib.suppress(NacreError):
                self._append({"id": self.id, "done": True}, durable=False)

    def _append(self, line: dict[str, Any], *, durable: bool) -> None:
        path = operations_file(self.workspace)
        disk.append_bytes(path, disk.lines_for(path, jsonl.dump_row(line)), durable=durable)

    @cached_property
    def _folders(self) -> set[Path]:
        """Folders that lie in the workspace or its layers."""
        return {disk.real(self.workspace.root), disk.real(self.workspace.tiers(self.config.tiers.path))}

    def place(self, path: Path) -> None:
        """`PathEscape` when a path leads out of the workspace and its checkpoint layers; `BadInput` when history cannot name it."""
        if self.config.history.enabled and not can_be_named(shown := self.workspace.relative(path)):
            shown = ascii(shown)[1:-1]
            raise BadInput(
                f"{shown} has a name that history cannot keep, so it is left as it is; rename it.",
                f"{shown} 的名称无法记入历史，因此保持原样；请重命名。",
            )
        is_link = os.path.islink(path)
        if path.parent in self._folders and not is_link:
            return
        real, counts = disk.real(path), self.workspace.refcount(self.config.tiers.path)
        if not self._folders.isdisjoint(real.parents):
            if not is_link:
                self._folders.add(path.parent)
        elif real != disk.real(counts.parent) / counts.name:  # a link in its place is not followed
            raise PathEscape(
                f"{path} leads out of the workspace; Nacre does not write there.",
                f"{path} 指向工作区之外；Nacre 不会写入。",
            )


def _complete_torn_append(workspace: Workspace) -> None:
    """A crash in the middle of an append leaves half a line at the end of the file: the rest, which history has, is written.

    A record may have come with a clone, so only the files that are appended to are completed. What ends with a whole line is left
    as it is: somebody may have taken the lines after it out by hand.
    """
    rows: tuple[jsonl.Row, ...] = ()
    with contextlib.suppress(OSError):
        rows = _last_rows(workspace)
    changes = _list(rows[-1].value.get("changes")) if rows else []
    change = _change(changes[-1]) if changes else None
    if change is None or change.bytes is None:
        return
    folder, *rest = change.path.split("/")
    is_log = folder == "memory" and change.path.endswith((".md", ".jsonl"))
    written = (content_now(workspace, change.path) or b"")[change.offset :]
    if not is_log or any(part[:1] in ("", ".") for part in rest) or not written or written.endswith(b"\n"):
        return
    with contextlib.suppress(NotFound):
        data = load_blob(workspace.history, change.bytes)
        if len(written) < len(data) and data.startswith(written):
            disk.append_bytes(workspace.root / change.path, data[len(written) :], root=workspace.root)


# By process, thread and workspace.
_current: dict[tuple[int, int, str], Operation] = {}


@contextlib.contextmanager
def operation(
    context: Context,
    command: str,
    *,
    undoes: tuple[int, ...] = (),
    number: int | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[Operation]:
    """Hold the workspace and collect changes. Inside another operation of this thread, its changes join that one.

    `number` is that of an operation which was stopped and goes on.
    """
    key = (os.getpid(), threading.get_ident(), os.path.realpath(context.workspace.root))
    if outer := _current.get(key):
        yield outer
        return
    with lock(context.workspace, timeout=timeout):
        _complete_torn_append(context.workspace)
        begun = Operation(context, command, undoes, number)
        _current[key] = begun
        try:
            yield begun
            begun.finish()
        finally:
            del _current[key]
