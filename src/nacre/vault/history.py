"""What was changed, when and by which command; whether it was really carried out is read off the files' hashes.

A change is recorded before its file is touched. A process killed in between leaves a record whose file is still as
before: shown as "not carried out", and nothing to undo.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.errors import BadInput, NacreError, NotFound
from nacre.model.problem import Problem
from nacre.vault import atomic, blobs, jsonl
from nacre.vault.merge import merge
from nacre.vault.workspace import DAY_NAME, Workspace
from nacre.words import say

REWRITE, APPEND, CREATE, DELETE, MOVE = "rewrite", "append", "create", "delete", "move"
EMPTY = atomic.digest(b"")
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
                numbers = [row.value.get("id") for row in jsonl.parse(file.read(), "").rows]
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
    rows = jsonl.parse(last, "").rows
    changes = _list(rows[-1].value.get("changes")) if rows else []
    return _change(changes[-1]) if changes else None


def history(workspace: Workspace) -> History:
    """Every operation with its state as the files show it."""
    recorded, problems = _read(workspace)
    return History(_with_states(workspace, recorded), problems)


def _read(workspace: Workspace) -> tuple[list[Recorded], tuple[Problem, ...]]:
    path = operations_file(workspace)
    rows, problems = jsonl.read(path, workspace.relative(path))
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


def must_be_kept(changes: Iterable[Change]) -> None:
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
            following[path] = None if data is None else atomic.digest(data)
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
        before, after = blobs.load(workspace.history, change.before), blobs.load(workspace.history, change.after)
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
        data = atomic.read_bytes(full) if full.is_file() else None
        return None if is_daily(path) and not data else data
    except (OSError, ValueError, NacreError):
        return None


def places_of(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Where the appended bytes stand now, the place nearest to their own first."""
    length, offset = change.length or 0, change.offset or 0
    if atomic.digest(content[offset : offset + length]) == change.bytes:
        return [offset]
    return sorted(_everywhere(workspace, change, content), key=lambda place: abs(place - offset))


def _everywhere(workspace: Workspace, change: Change, content: bytes) -> list[int]:
    """Every place where the bytes stand as lines of their own."""
    try:
        data = blobs.load(workspace.history, change.bytes or "")
    except NotFound:
        return []
    found = []
    start = content.find(data)
    while start >= 0:
        if start == 0 or content[start - 1] == 0x0A:
            found.append(start)
        start = content.find(data, start + 1)
    return found


def diff(workspace: Workspace, number: int) -> str:
    """What an operation changed, as a unified diff, from what history kept."""
    one = history(workspace).find(number)
    return "".join(_diff(workspace, change) for change in one.changes)


def _diff(workspace: Workspace, change: Change) -> str:
    import difflib

    if change.kind == MOVE:
        return f"rename from {change.path}\nrename to {change.to}\n"
    if change.bytes is not None:
        added = _lines(blobs.load(workspace.history, change.bytes))
        head = f"--- {change.path}\n+++ {change.path}\n@@ {change.offset}+{change.length} @@\n"
        return head + "".join(f"+{line}\n" for line in added)
    before, after = (
        _lines(blobs.load(workspace.history, name)) if name else [] for name in (change.before, change.after)
    )
    names = (change.path if change.before else "/dev/null", change.path if change.after else "/dev/null")
    return "".join(f"{line}\n" for line in difflib.unified_diff(before, after, *names, lineterm=""))


def _lines(data: bytes) -> list[str]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.rstrip("\r") for line in lines]
