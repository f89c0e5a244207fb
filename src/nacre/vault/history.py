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
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError, NotFound, PathEscape, cannot_write
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.vault import disk, jsonl
from nacre.vault.disk import append_bytes, lines_for, tail_of
from nacre.vault.lock import TIMEOUT, lock


def split_lines(data: bytes) -> list[bytes]:
    """Lines with their ends; only a newline ends one."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def merge(base: bytes, ours: bytes, theirs: bytes, *, log: bool = False, earlier: Sequence[bytes] = ()) -> bytes | None:
    """`ours` with what leads from `base` to `theirs`; None when both touched the same lines.

    In a log, lines are only added: what comes back goes behind the nearest line before it that is still there. Where other lines
    came between, `earlier` contents of the file tell which of them stood before it.
    """
    from difflib import SequenceMatcher

    if ours == base:
        return theirs
    old, mine = split_lines(base), split_lines(ours)
    wanted = split_lines(theirs)
    image, orders = _image(old, mine), _orders(earlier)
    result: list[bytes] = []
    at = 0
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        if start < end:
            place = _place(image, start, end)
        else:
            place = _gap(image, old, start, mine, wanted[new_start:new_end], orders, log=log)
        if place is None or place[0] < at:
            return None
        result += mine[at : place[0]] + wanted[new_start:new_end]
        at = place[1]
    merged = result + mine[at:]
    if any(not line.endswith(b"\n") for line in merged[:-1]):
        return None
    return b"".join(merged)


def merge_records(base: bytes, ours: bytes, theirs: bytes, *, earlier: Sequence[bytes] = ()) -> bytes:
    """The same for files of one record a line, where no line depends on its neighbours: it always succeeds."""
    from difflib import SequenceMatcher

    old, mine, wanted = split_lines(base), split_lines(ours), split_lines(theirs)
    if mine and not mine[-1].endswith(b"\n"):
        mine[-1] += b"\n"
    image, orders = _image(old, mine), _orders(earlier)
    gone: set[int] = set()
    new: dict[int, list[bytes]] = {}
    for action, start, end, new_start, new_end in SequenceMatcher(None, old, wanted, autojunk=False).get_opcodes():
        if action == "equal":
            continue
        gone.update(image[step] for step in range(start, end) if step in image)
        low = next((image[step] + 1 for step in reversed(range(start)) if step in image), 0)
        high = next((image[step] for step in range(end, len(old)) if step in image), len(mine))
        block = wanted[new_start:new_end]
        new.setdefault(_behind(mine, low, high, block, orders), []).extend(block)
    parts = ([*new.get(at, []), *([] if at in gone else mine[at : at + 1])] for at in range(len(mine) + 1))
    return b"".join(line for part in parts for line in part)


def _image(old: list[bytes], mine: list[bytes]) -> dict[int, int]:
    """Where each untouched line of the base stands in ours."""
    from difflib import SequenceMatcher

    image: dict[int, int] = {}
    for start, there, size in SequenceMatcher(None, old, mine, autojunk=False).get_matching_blocks():
        image |= {start + step: there + step for step in range(size)}
    return image


def _place(image: dict[int, int], start: int, end: int) -> tuple[int, int] | None:
    """Where lines `start` to `end` of the base stand in ours, in one piece."""
    first = image.get(start)
    if first is None or any(image.get(start + step) != first + step for step in range(end - start)):
        return None
    return first, first + end - start


def _gap(
    image: dict[int, int],
    old: list[bytes],
    start: int,
    mine: list[bytes],
    block: list[bytes],
    orders: list[dict[bytes, int]],
    *,
    log: bool,
) -> tuple[int, int] | None:
    """Where lines that stood before line `start` of the base go in ours.

    Lines next to them may be gone, but then nothing else may stand there, except in a log. What has no heading of its own never
    comes under another one.
    """
    before = next((step for step in reversed(range(start)) if step in image), -1)
    after = next((step for step in range(start, len(old)) if step in image), len(old))
    if any(line.lstrip().startswith(b"#") for line in old[before + 1 : start]) and not _first(block).startswith(b"#"):
        return None
    low, high = image.get(before, -1) + 1, image.get(after, len(mine))
    if low != high and not log and (before, after) != (start - 1, start):
        return None
    place = _behind(mine, low, high, block, orders)
    return place, place


def _orders(contents: Sequence[bytes]) -> list[dict[bytes, int]]:
    return [{line: place for place, line in enumerate(split_lines(content))} for content in contents]


def _behind(mine: list[bytes], low: int, high: int, block: list[bytes], orders: list[dict[bytes, int]]) -> int:
    """The place for a block between two lines of ours: behind those that stood before it in an earlier content."""
    first = next(filter(bytes.strip, block), b"")
    places = [order for order in orders if first in order]
    return next(
        (
            at + 1
            for at in reversed(range(low, high))
            if mine[at].strip()  # a blank line is everywhere
            and any(order.get(mine[at], order[first]) < order[first] for order in places)
        ),
        low,
    )


def _first(lines: list[bytes]) -> bytes:
    """The first line that is not blank."""
    return next(filter(bytes.strip, lines), b"").lstrip()


# Contents by their hash, compressed: what history keeps of files as they were.

_PRIVATE_FOLDER = 0o700
_LARGEST_BLOB = 200_000_000  # bytes; more than any note, and little enough to hold


def store_blob(history: Path, data: bytes) -> str:
    """Keep the bytes and return their hash; what is already kept is not written again."""
    name = disk.digest(data)
    path = _blob_path(history, name)
    if not path.exists():
        private_folder(path.parent.parent.parent)
        private_folder(path.parent.parent)
        private_folder(path.parent)
        disk.write(path, zlib.compress(data))
    return name


def load_blob(history: Path, name: str) -> bytes:
    """The bytes of a hash; `NotFound` when they are gone or damaged."""
    data: bytes | None
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(_blob_path(history, name).read_bytes(), _LARGEST_BLOB)
        if unpacker.unconsumed_tail:
            data = None  # no file of ours is that large
    except (OSError, zlib.error):
        data = None
    if data is None or disk.digest(data) != name:
        raise NotFound(
            say(
                f"History has lost the content {name[:12]}; this change can be neither shown nor undone.",
                f"历史中缺少内容 {name[:12]}；无法显示或撤销此更改。",
            )
        )
    return data


def private_folder(folder: Path) -> None:
    if not folder.is_dir():
        disk.make_folder(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        disk.sync_folder(folder.parent)
    elif os.name != "nt" and folder.stat().st_mode & 0o077:
        folder.chmod(_PRIVATE_FOLDER)


def _blob_path(history: Path, name: str) -> Path:
    return history / "blobs" / name[:2] / name[2:]


# What was changed, when and by which command; whether it was really carried out is read off the files' hashes.

REWRITE, APPEND, CREATE, DELETE, MOVE = "rewrite", "append", "create", "delete", "move"
EMPTY = disk.digest(b"")
_HASH = re.compile(r"[0-9a-f]{64}")
# What would break a line of a terminal, turn its direction, or is no text at all. Other spaces and joiners are parts of names.
_UNNAMEABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)
DONE, PARTLY, NOT_CARRIED_OUT, UNDONE = "done", "partly done", "not carried out", "undone"


@dataclass(frozen=True)
class Change:
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
        wanted = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in wanted.items() if value is not None or name in ("before", "after")}


@dataclass(frozen=True)
class Recorded:
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


@dataclass(frozen=True)
class History:
    """All operations, oldest first, and trouble with the file that holds them."""

    operations: tuple[Recorded, ...]
    problems: tuple[Problem, ...] = field(default=())

    def find(self, number: int) -> Recorded:
        for one in self.operations:
            if one.id == number:
                return one
        raise NotFound(
            say(
                f'There is no operation {number}; "nacre history" lists them.',
                f"没有编号为 {number} 的操作；“nacre history”会列出全部。",
            )
        )


def operations_file(workspace: Workspace) -> Path:
    return workspace.history / "operations.jsonl"


def last_id(workspace: Workspace) -> int:
    """The highest number given so far, read from the end of the file."""
    try:
        with operations_file(workspace).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            reach = 8192
            while True:
                file.seek(max(0, size - reach))
                numbers = [row.value.get("id") for row in jsonl.parse_rows(file.read(), "").rows]
                whole = [number for number in numbers if isinstance(number, int)]
                if whole or reach >= size:
                    return max(whole, default=0)
                reach *= 8
    except FileNotFoundError:
        return 0


def unfinished(workspace: Workspace) -> Change | None:
    """The last change that was recorded, when its operation never said that it was done."""
    try:
        with operations_file(workspace).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 8192))
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return None
    if b'"done":true' in last:
        return None
    rows = jsonl.parse_rows(last, "").rows
    changes = _list(rows[-1].value.get("changes")) if rows else []
    return _change(changes[-1]) if changes else None


def read_history(workspace: Workspace) -> History:
    """Every operation with its state as the files show it."""
    recorded, problems = _read(workspace)
    return History(_with_states(workspace, recorded), problems)


def _read(workspace: Workspace) -> tuple[list[Recorded], tuple[Problem, ...]]:
    path = operations_file(workspace)
    rows, problems = jsonl.read_rows(path, workspace.relative(path))
    found: dict[int, Recorded] = {}
    for _, value in rows:
        number = value.get("id")
        if not isinstance(number, int):
            continue
        if value.get("done"):
            if number in found:
                found[number] = replace(found[number], finished=True)
            continue
        changes = tuple(change for one in _list(value.get("changes")) if (change := _change(one)))
        known = found.get(number)
        if known:
            found[number] = replace(known, changes=known.changes + changes)
        else:
            undoes = tuple(one for one in _list(value.get("undoes")) if isinstance(one, int))
            found[number] = Recorded(number, str(value.get("at", "")), str(value.get("command", "")), changes, undoes)
    return [found[number] for number in sorted(found)], problems


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def can_be_named(text: str) -> bool:
    """Whether history can keep a path so that it finds it again, and show it."""
    return not _UNNAMEABLE.search(text)


def refuse_unnameable(changes: Iterable[Change]) -> None:
    """What history could not read again could not be undone: it must not be done."""
    for one in changes:
        if _change(one.as_json()) is None:
            shown = ascii(one.path if not can_be_named(one.path) else one.to or one.path)[1:-1]
            raise BadInput(
                say(
                    f"{shown} has a name that history cannot keep, so it is left as it is; rename it.",
                    f"{shown} 的名称无法记入历史，因此保持原样；请重命名。",
                )
            )


def _change(value: Any) -> Change | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        return None
    known: dict[str, Any] = {name: value.get(name) for name in Change.__dataclass_fields__}
    for name, given in known.items():
        wanted = int if name in ("offset", "length", "mode") else str
        if given is not None and (not isinstance(given, wanted) or isinstance(given, bool)):
            return None
    texts = [given for given in known.values() if isinstance(given, str)]
    numbers = [given for given in known.values() if isinstance(given, int)]
    if not all(can_be_named(text) for text in texts) or any(not 0 <= n < 1 << 40 for n in numbers):
        return None  # damaged, or not ours
    if any(named and not _HASH.fullmatch(named) for named in (known["before"], known["after"], known["bytes"])):
        return None
    if is_daily(known["path"]):  # one that was emptied, because somebody holds it open, is as good as gone
        known |= {name: None for name in ("before", "after") if known[name] == EMPTY}
    return Change(**known)


def _with_states(workspace: Workspace, recorded: list[Recorded]) -> tuple[Recorded, ...]:
    following: dict[str, str | None] = {}  # the hash each file had when the next change began; at first, now
    contents: dict[str, bytes | None] = {}

    def now(path: str) -> bytes | None:
        if path not in contents:
            contents[path] = content_now(workspace, path)
        return contents[path]

    def next_hash(path: str) -> str | None:
        if path not in following:
            data = now(path)
            following[path] = None if data is None else disk.digest(data)
        return following[path]

    undone: dict[int, int] = {}
    claimed: dict[str, Counter[str]] = {}  # the same bytes may have been meant twice, when the first time was killed
    found: list[Recorded] = []
    for one in reversed(recorded):
        flags: list[bool] = []
        for change in reversed(one.changes):
            shown = change.to if change.kind == MOVE and change.to else change.path
            claims = claimed.setdefault(shown, Counter())
            if change.kind == MOVE:
                done = one.finished or _moved(change, next_hash(change.path), next_hash(shown))
            else:
                done = _carried_out(workspace, change, next_hash(shown), one.finished, now(shown), claims)
            if done and change.bytes and one.id not in undone:
                claims[change.bytes] += 1
            flags.append(done)
            following[change.path] = change.before
            if change.to:
                following[change.to] = None
        flags.reverse()
        state = DONE if all(flags) else PARTLY if any(flags) else NOT_CARRIED_OUT
        if one.id in undone:
            state = UNDONE
        elif one.undoes and state == DONE:
            undone |= dict.fromkeys(one.undoes, one.id)
        found.append(replace(one, state=state, carried_out=tuple(flags), undone_by=undone.get(one.id)))
    return tuple(reversed(found))


def _carried_out(
    workspace: Workspace,
    change: Change,
    following: str | None,
    finished: bool,
    content: bytes | None,
    claimed: Counter[str],
) -> bool:
    if following == change.after:
        return True
    if following == change.before:
        return False
    if finished:
        return True
    if change.bytes is None:
        return _shows_in(workspace, change, content)
    if following == EMPTY or content is None:
        return False
    return len(_everywhere(workspace, change, content)) > claimed[change.bytes]


def _moved(change: Change, left: str | None, arrived: str | None) -> bool:
    """Whether a move that never said it was done is to be seen; others may have written in either place since."""
    if arrived is None or left == change.before:
        return False
    return left is None or arrived == change.after


def _shows_in(workspace: Workspace, change: Change, content: bytes | None) -> bool:
    """Whether a rewrite that never said it was done is to be seen in a file that others have changed since."""
    if content is None or change.before is None or change.after is None:
        return False
    try:
        before, after = load_blob(workspace.history, change.before), load_blob(workspace.history, change.after)
    except NacreError:
        return False
    return merge(after, content, before) is not None and merge(before, content, after) is None


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


def places_of(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Where the appended bytes stand now, the place nearest to their own first."""
    length, offset = change.length or 0, change.offset or 0
    if disk.digest(content[offset : offset + length]) == change.bytes:
        return [offset]
    return sorted(_everywhere(workspace, change, content), key=lambda place: abs(place - offset))


def _everywhere(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Every place where the bytes stand as lines of their own."""
    try:
        data = load_blob(workspace.history, change.bytes or "")
    except NotFound:
        return []
    found = []
    start = content.find(data)
    while start >= 0:
        if start == 0 or content[start - 1] == 0x0A:
            found.append(start)
        start = content.find(data, start + 1)
    return found


def diff_operation(workspace: Workspace, number: int) -> str:
    """What an operation changed, as a unified diff, from what history kept."""
    one = read_history(workspace).find(number)
    return "".join(_diff_change(workspace, change) for change in one.changes)


def _diff_change(workspace: Workspace, change: Change) -> str:
    import difflib

    if change.kind == MOVE:
        return f"rename from {change.path}\nrename to {change.to}\n"
    if change.bytes is not None:
        added = _text_lines(load_blob(workspace.history, change.bytes))
        head = f"--- {change.path}\n+++ {change.path}\n@@ {change.offset}+{change.length} @@\n"
        return head + "".join(f"+{line}\n" for line in added)
    before, after = (
        _text_lines(load_blob(workspace.history, name)) if name else [] for name in (change.before, change.after)
    )
    names = (change.path if change.before else "/dev/null", change.path if change.after else "/dev/null")
    return "".join(f"{line}\n" for line in difflib.unified_diff(before, after, *names, lineterm=""))


def _text_lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines]


# A group of changes that belong together: under one lock, recorded before each file is touched, undone as one.


class Operation:
    """One command at work. Its number is taken when the first change is recorded."""

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock,
        command: str,
        config: Config,
        undoes: tuple[int, ...],
        number: int | None,
    ) -> None:
        self.workspace = workspace
        self.clock = clock
        self.command = command
        self.config = config
        self.undoes = undoes
        self.id = number
        self.is_whole = True  # False when something that was recorded was not done after all

    def record(self, changes: Sequence[Change], contents: Iterable[bytes]) -> None:
        """Put on disk what is about to change, and every content needed to show it or take it back."""
        if not self.config.history.enabled:
            return
        refuse_unnameable(changes)
        keep_contents(self.workspace, self.config, contents)
        try:
            if self.id is None:
                self.id = last_id(self.workspace) + 1
        except OSError as trouble:
            raise cannot_write(self.workspace.history, trouble) from trouble
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
        append_bytes(path, lines_for(tail_of(path), jsonl.dump_row(line)), durable=durable)

    @cached_property
    def _roots(self) -> frozenset[Path]:
        tiers = self.workspace.tiers(self.config.tiers.path)
        return frozenset((disk.real(self.workspace.root), disk.real(tiers)))

    def place(self, path: Path) -> Path:
        """The file that a path really names; `PathEscape` when it is none of the workspace or its checkpoint layers."""
        real = disk.real(path)
        if not self._roots.isdisjoint(real.parents):
            return real
        counts = self.workspace.refcount(self.config.tiers.path)
        if real == disk.real(counts.parent) / counts.name:  # a link in its place is not followed
            return real
        raise PathEscape(
            say(
                f"{path} leads out of the workspace; Nacre does not write there.",
                f"{path} 指向工作区之外；Nacre 不会写入。",
            )
        )


def keep_contents(workspace: Workspace, config: Config, contents: Iterable[bytes]) -> None:
    """Let history have contents, on disk. Needs no lock: what is about to be written may be kept before one is taken."""
    if not config.history.enabled:
        return
    try:
        private_folder(workspace.machine)
        private_folder(workspace.history)
        with disk.folders_once():
            for content in contents:
                store_blob(workspace.history, content)
    except OSError as trouble:
        raise cannot_write(workspace.history, trouble) from trouble


def _complete_torn_append(workspace: Workspace) -> None:
    """A crash in the middle of an append leaves half a line at the end of the file: the rest, which history has, is written.

    A record may have come with a clone, so only the files that are appended to are completed. What ends with a whole line is left
    as it is: somebody may have taken the lines after it out by hand.
    """
    change = unfinished(workspace)
    if change is None or change.bytes is None or not _is_appended_to(change.path):
        return
    path = workspace.root / change.path
    written = (content_now(workspace, change.path) or b"")[change.offset :]
    try:
        wanted = load_blob(workspace.history, change.bytes) if written else b""
    except NotFound:
        return
    if len(written) < len(wanted) and wanted.startswith(written) and not written.endswith(b"\n"):
        append_bytes(path, wanted[len(written) :], root=workspace.root)


def _is_appended_to(path: str) -> bool:
    """Whether a path is that of a log, the ledger, provenance or recalls."""
    folder, *rest = path.split("/")
    return folder == "memory" and path.endswith((".md", ".jsonl")) and not any(part[:1] in ("", ".") for part in rest)


class _Current(threading.local):
    def __init__(self) -> None:
        self.operations: dict[tuple[int, str], Operation] = {}


_current = _Current()


@contextlib.contextmanager
def operation(
    workspace: Workspace,
    clock: Clock,
    command: str,
    config: Config | None = None,
    *,
    undoes: tuple[int, ...] = (),
    number: int | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[Operation]:
    """Hold the workspace and collect changes. Inside another operation of this thread, its changes join that one.

    `number` is that of an operation which was stopped and goes on.
    """
    key = (os.getpid(), os.path.realpath(workspace.root))
    if outer := _current.operations.get(key):
        yield outer
        return
    with lock(workspace, timeout=timeout):
        _complete_torn_append(workspace)
        begun = Operation(workspace, clock, command, config or Config(), undoes, number)
        _current.operations[key] = begun
        try:
            yield begun
            begun.finish()
        finally:
            del _current.operations[key]
