"""Operations: changes that belong together, under one lock, recorded before each file is touched.

Whether a change was carried out is read off the hashes of the files: a process killed between the record and the write leaves a
record whose file is still as before, which is shown as "not carried out" and is nothing to undo."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.disk import TIMEOUT
from nacre.errors import BadInput, NacreError, NotFound, PathEscape
from nacre.model import Context, Storage, Workspace
from nacre.vault.merge import merge
from nacre.vault.storage import is_daily, storage_of

REWRITE, APPEND, CREATE, DELETE, MOVE = "rewrite", "append", "create", "delete", "move"
DONE, PARTLY, NOT_CARRIED_OUT, UNDONE = "done", "partly done", "not carried out", "undone"
_EMPTY = disk.digest(b"")
# What would break a line of a terminal, turn its direction, or is no text at all. Other spaces and joiners are parts of names.
_UNNAMEABLE = "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
_LATEST = 100  # rows among which the highest number stands


class Change(NamedTuple):
    """One file's change. `before` and `after` are hashes of the whole file, None where there is none.

    An append also knows where its bytes were to stand and their own hash; a move knows where to."""

    path: str
    kind: str
    before: str | None
    after: str | None
    offset: int | None = None
    length: int | None = None
    bytes: str | None = None
    to: str | None = None
    mode: None = None  # scripts read `nacre history --json` with this field

    def as_json(self) -> dict[str, Any]:
        values = self._asdict()
        return {name: value for name, value in values.items() if value is not None or name in ("before", "after")}


class Recorded(NamedTuple):
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
    operations: tuple[Recorded, ...]  # oldest first


def no_operation(number: int) -> NotFound:
    return NotFound(
        f'There is no operation {number}; "nacre history" lists them.',
        f"没有编号为 {number} 的操作；“nacre history”会列出全部。",
    )


# Reading operations.


def read_history(workspace: Workspace, limit: int | None = None) -> History:
    """The operations with their states as the files show them: all of them, or the latest."""
    return History(tuple(islice(latest(storage_of(workspace)), limit))[::-1])


def last_id(storage: Storage) -> int:
    """The highest number given so far. It may stand before the last row: an undo that was stopped is completed later."""
    numbers = (row.get("id") for row in islice(storage.records(), _LATEST))
    return max((number for number in numbers if isinstance(number, int)), default=0)


def recorded(storage: Storage) -> Iterator[Recorded]:
    """Every operation as it was recorded, the latest first."""
    finished: set[int] = set()
    rows: list[dict[str, Any]] = []  # of one operation, the last first
    for row in storage.records():
        if not isinstance(row.get("id"), int):
            continue
        if row.get("done"):
            finished.add(row["id"])
            continue
        if rows and rows[0]["id"] != row["id"]:
            yield _recorded(rows, finished)
            rows = []
        rows.append(row)
    if rows:
        yield _recorded(rows, finished)


def _recorded(rows: list[dict[str, Any]], finished: set[int]) -> Recorded:
    first = rows[-1]
    changes = tuple(filter(None, (_change(value) for row in reversed(rows) for value in _list(row.get("changes")))))
    undoes = tuple(number for number in _list(first.get("undoes")) if isinstance(number, int))
    at, command = str(first.get("at", "")), str(first.get("command", ""))
    return Recorded(first["id"], at, command, changes, undoes, first["id"] in finished)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _change(value: Any) -> Change | None:
    """A change from its record; None when that is damaged, or not ours."""
    try:
        change = Change(*(value.get(name) for name in Change._fields[:-1]))
        hashes = filter(None, (change.before, change.after, change.bytes))
        is_whole = all(map(can_be_named, (change.path, change.kind, change.to or ""))) and all(
            re.fullmatch(r"[0-9a-f]{64}", digest) for digest in hashes
        )
        if not is_whole or min(change.offset or 0, change.length or 0) < 0:
            return None
    except (AttributeError, TypeError):
        return None
    if is_daily(change.path):  # one that was emptied is gone
        before, after = (None if digest == _EMPTY else digest for digest in (change.before, change.after))
        return change._replace(before=before, after=after)
    return change


def can_be_named(text: str) -> bool:
    """Whether history can keep a path so that it finds it again, and show it."""
    return text.isprintable() or not re.search(_UNNAMEABLE, text)


def content_now(storage: Storage, name: str) -> bytes | None:
    """A file that a record names, as it is now; nothing when it cannot be read, or is a log that was emptied."""
    try:
        data = storage.read(name)
    except NacreError:
        return None
    return None if is_daily(name) and not data else data


def latest(storage: Storage) -> Iterator[Recorded]:
    """The operations, the latest first, with their states.

    One that said it was done is believed. Of any other, what was carried out is read off the files: by their hashes when the next
    change began, going back from how they are now."""
    content_of = cache(lambda name: content_now(storage, name))
    next_hashes: dict[str, str | None] = {}  # of each file when the next change began

    def next_hash(name: str) -> str | None:
        return next_hashes[name] if name in next_hashes else disk.hash_of(content_of(name))

    undone: dict[int, int] = {}
    appended: set[tuple[str, str]] = set()  # the same bytes may have been meant twice, when the first time was killed
    for operation in recorded(storage):
        flags: list[bool] = []
        for change in reversed(operation.changes):
            name = change.to or change.path
            following = None if operation.finished else next_hash(name)
            if operation.finished:
                done = True
            elif change.kind == MOVE:  # others may have written in either place since
                left = next_hash(change.path)
                done = following is not None and left != change.before and (left is None or following == change.after)
            elif following in (change.after, change.before):
                done = following == change.after
            else:
                done = (name, change.bytes or "") not in appended and _shows_in(storage, change, content_of(name))
            if done and change.bytes and operation.id not in undone:
                appended.add((name, change.bytes))
            flags.append(done)
            next_hashes[change.path] = change.before
            if change.to:
                next_hashes[change.to] = None
        state = DONE if all(flags) else PARTLY if any(flags) else NOT_CARRIED_OUT
        if operation.id in undone:
            state = UNDONE
        elif state == DONE:
            undone |= dict.fromkeys(operation.undoes, operation.id)
        carried_out = tuple(reversed(flags))
        yield operation._replace(state=state, carried_out=carried_out, undone_by=undone.get(operation.id))


def _shows_in(storage: Storage, change: Change, content: bytes | None) -> bool:
    """Whether a change of an operation that never said it was done is to be seen in a file that others have changed since."""
    if content is None:
        return False
    if change.bytes is not None:
        return bool(places_of(storage, change, content))
    if change.before is None or change.after is None:
        return False
    try:
        before, after = storage.content(change.before), storage.content(change.after)
    except NotFound:
        return False
    return merge(after, content, before) is not None and merge(before, content, after) is None


def places_of(storage: Storage, change: Change, content: bytes) -> list[int]:
    """Where the appended bytes stand now as lines of their own, the place nearest to where they were written first."""
    length, offset = change.length or 0, change.offset or 0
    if disk.digest(content[offset : offset + length]) == change.bytes:
        return [offset]
    try:
        data = storage.content(change.bytes or "")
    except NotFound:
        return []
    places = [match.start() for match in re.finditer(rb"(?m)^(?=" + re.escape(data) + rb")", content)]
    return sorted(places, key=lambda place: abs(place - offset))


def diff_operation(workspace: Workspace, number: int) -> str:
    """What an operation changed, as a unified diff, from what history kept."""
    import difflib

    storage = storage_of(workspace)

    def lines_of(digest: str | None) -> list[str]:
        text = storage.content(digest).decode("utf-8", "replace") if digest else ""
        return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []

    shown: list[str] = []
    operation = next((operation for operation in recorded(storage) if operation.id == number), None)
    if operation is None:
        raise no_operation(number)
    for change in operation.changes:
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

    @property
    def storage(self) -> Storage:
        return storage_of(self.context.workspace)

    def record(self, changes: Sequence[Change], contents: Iterable[bytes]) -> None:
        """Put on disk what is about to change, and every content needed to show it or take it back."""
        if not self.config.history.enabled:
            return
        with self.storage.together():
            for content in contents:
                self.storage.keep(content)
        if self.id is None:
            self.id = last_id(self.storage) + 1
        row: dict[str, Any] = {"id": self.id, "at": self.clock.now().isoformat(timespec="seconds")}
        row |= {"command": self.command, "changes": [change.as_json() for change in changes]}
        self.storage.record(row | ({"undoes": list(self.undoes)} if self.undoes else {}))

    def finish(self) -> None:
        """Say that it went through: what it changed need not be looked for in the files."""
        if self.id is not None and self.is_whole:
            with contextlib.suppress(NacreError):
                self.storage.record({"id": self.id, "done": True}, durable=False)

    @contextlib.contextmanager
    def unless_made(self) -> Iterator[None]:
        """For a change that was recorded: one that fails is looked for in the files, not believed to be done."""
        try:
            yield
        except BaseException:
            self.is_whole = False
            raise

    def place(self, path: Path) -> str:
        """The name of a file that may be written; an error when it leads out of the workspace and its layers, or history cannot name it."""
        name = self.workspace.relative(path)
        if self.config.history.enabled and not can_be_named(name):
            shown = ascii(name)[1:-1]
            raise BadInput(
                f"{shown} has a name that cannot be recorded in history, so it was left unchanged; rename it.",
                f"{shown} 的名称无法记入历史，未作改动；请重命名。",
            )
        if leads_out(self.context, name):
            raise PathEscape(
                f"{path} points outside the workspace; Nacre does not write there.",
                f"{path} 指向工作区之外；Nacre 不会写入。",
            )
        return name


def leads_out(context: Context, name: str) -> bool:
    """Whether a name, its links followed, lies outside of the workspace and its checkpoint layers."""
    workspace, setting = context.workspace, context.config.tiers.path
    storage = storage_of(workspace)
    real, layers, counts = storage.real(name), workspace.tiers(setting), workspace.refcount(setting)
    if not os.path.isabs(real) or real.startswith(f"{storage.real(workspace.relative(layers))}/"):
        return False
    # Beside layers that lie elsewhere stand their counts; a link in their place is not followed.
    return real != f"{storage.real(workspace.relative(counts.parent))}/{counts.name}"


def _complete_torn_append(storage: Storage) -> None:
    """A crash in the middle of an append leaves half a line at the end of the file: the rest, which history has, is written.

    A record may have come with a clone, so only the files that are appended to are completed. What ends with a whole line is left
    as it is: somebody may have taken the lines after it out by hand."""
    changes = _list(next(storage.records(), {}).get("changes"))
    change = _change(changes[-1]) if changes else None
    if change is None or change.bytes is None:
        return
    folder, *rest = change.path.split("/")
    is_log = folder == "memory" and change.path.endswith((".md", ".jsonl"))
    written = (content_now(storage, change.path) or b"")[change.offset :]
    if not is_log or any(part[:1] in ("", ".") for part in rest) or not written or written.endswith(b"\n"):
        return
    with contextlib.suppress(NotFound):
        data = storage.content(change.bytes)
        if len(written) < len(data) and data.startswith(written):
            storage.append(change.path, data[len(written) :])


# By process, thread and workspace.
_current: dict[tuple[int, int, str], Operation] = {}


@contextlib.contextmanager
def operation(
    context: Context, command: str, *, undoes: tuple[int, ...] = (), number: int | None = None, timeout: float = TIMEOUT
) -> Iterator[Operation]:
    """Hold the workspace and collect changes. Inside another operation of this thread, its changes join that one; `number` is that of
    an operation which was stopped and goes on."""
    key = (os.getpid(), threading.get_ident(), os.path.realpath(context.workspace.root))
    if outer := _current.get(key):
        yield outer
        return
    begun = Operation(context, command, undoes, number)
    with begun.storage.hold(timeout):
        _complete_torn_append(begun.storage)
        _current[key] = begun
        try:
            yield begun
            begun.finish()
        finally:
            del _current[key]
