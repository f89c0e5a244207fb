"""Reads lines of a memory file within the scope, and counts what was read as a recall."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from nacre import disk
from nacre.errors import BadInput, NacreError, NotFound
from nacre.guard.secrets import AROUND, redact_lines
from nacre.i18n import say
from nacre.model import Context, Problem, Scope
from nacre.search.query import Filters, condition
from nacre.vault import refcount
from nacre.vault.checkpoints import HOT
from nacre.vault.storage import largest, layer_of, memory_files, storage_of

if TYPE_CHECKING:
    from nacre.index.sessions import SessionIndex
    from nacre.index.store import Store
    from nacre.search.layered import Recalled


LONGEST = 12_000  # characters of one answer
_PLACE = re.compile(r"(.+?)(?::([0-9]{1,9})(?::([0-9]{1,9}))?|#L([0-9]{1,9})(?:-L?([0-9]{1,9}))?)$")
_ID = re.compile(r"#([0-9a-f]{6,10})")


@dataclass(frozen=True)
class Excerpt:
    """Lines `start_line` to `end_line` of a file; `more` when the file goes on."""

    path: str
    start_line: int
    end_line: int
    text: str
    more: bool = False

    def __str__(self) -> str:
        return self.text


def parse_place(text: str) -> tuple[str, int | None, int | None]:
    """A path with an optional line: `notes.md:12`, `notes.md:12:40`, `notes.md#L3-L9`; the path, the line, and how many lines."""
    match = _PLACE.match(text)
    if not match:
        return text, None, None
    if match[2]:
        return match[1], int(match[2]), int(match[3]) if match[3] else None
    first = int(match[4])
    return match[1], first, int(match[5]) - first + 1 if match[5] else None


def place_of_id(store: Store, scope: Scope, name: str) -> tuple[str, int, int] | None:
    """The file and lines of a passage that search named `#id`; None where that is no id. Who may not see it is told that it is not
    there."""
    match = _ID.fullmatch(name)
    if match is None:
        return None
    sql, values = condition(scope, Filters(), None)
    row = store.db.execute(
        "select f.path, c.first, c.last from chunks c join files f on f.id = c.file"
        f" where c.key glob ? {f'and {sql}' if sql else ''} limit 1",
        (f"{match[1]}*", *values),
    ).fetchone()
    if row is None:
        raise no_such_id(name)
    return str(row[0]), int(row[1]), int(row[2])


def no_such_id(name: str) -> NotFound:
    return NotFound(
        f'Nothing in memory has the id {name}. An id changes when its line changes: "nacre search" shows the current ones.',
        f"记忆中没有 id 为 {name} 的内容。内容变动后 id 也会变：可用“nacre search”查看当前的 id。",
    )


def read_lines(context: Context, path: str, start: int, lines: int, seen: Store | None = None) -> Excerpt:
    """The lines from `start` on; fewer at the end of the file, an error past it. A group is shown what the index `seen` allows."""
    group = context.scope.group is not None
    try:
        data = _read(context, path)
    except NacreError as error:
        if not group:
            raise
        raise _missing(path) from error  # what stands in the way would tell a group that the file is there
    every = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if every[-1] == "":
        every.pop()
    allowed = None
    if group:
        from nacre.index.freshness import content_digest

        # Lines of chunks stamped for the group, and public ones. None of a file that is no longer what the index read: the
        # numbers would be those of other lines.
        sql, values = condition(context.scope, Filters(), None)
        query = (
            "select c.first, c.last from chunks c join files f on f.id = c.file"
            f" where f.path = ? and f.hash = ? and {sql}"
        )
        rows = seen.db.execute(query, (path, content_digest(data), *values)) if seen else ()
        allowed = {number for first, last in rows for number in range(first, last + 1)}
    return _excerpt(path, every, start, lines, allowed)


def read_session(
    sessions: SessionIndex, path: str, start: int, lines: int, until: dt.datetime | None
) -> Excerpt | None:
    """The same of a session, from its transcript; None when the path is no session's."""
    every = sessions.lines(path, until)
    return None if every is None else _excerpt(path, every, start, lines, None)


def _missing(path: str) -> NotFound:
    return NotFound(f"There is no memory file {path}.", f"没有名为 {path} 的记忆文件。")


def _read(context: Context, path: str) -> bytes:
    full, most = _file(context, path), largest(layer_of(path) if path.startswith("memory/") else "note")
    try:
        data = storage_of(context.workspace).read(context.workspace.relative(full), most + 1)
    except NacreError as error:
        raise _missing(path) from error
    if data is None:
        raise _missing(path)
    if len(data) > most:
        size = most // 1_000_000
        raise BadInput(
            f"{path} is too large to read as a note (over {size} MB).", f"{path} 过大，无法读取（超过 {size} MB）。"
        )
    return disk.decompress(data, path) if full.suffix == disk.COMPRESSED else data


def _file(context: Context, path: str) -> Path:
    workspace = context.workspace
    if os.path.isabs(os.path.expanduser(path)):
        normal = os.path.normpath(os.path.expanduser(path))
        for file in memory_files(workspace, context.config):
            if normal in (file.full, file.path):
                return Path(file.full)
    try:
        full = workspace.inside(path)
    except (OSError, ValueError) as error:
        raise _missing(path[:200]) from error
    is_packed = full.name.endswith(f".md{disk.COMPRESSED}") and workspace.archive in full.parents
    if (full.suffix != ".md" and not is_packed) or workspace.machine in full.parents:
        raise _missing(path)
    return full


def _excerpt(path: str, every: list[str], start: int, lines: int, allowed: set[int] | None) -> Excerpt:
    """The lines from `start` on; where only some are allowed, the first run of those."""
    if start < 1 or lines < 1:
        raise BadInput("Line numbers start at 1; ask for at least one line.", "行号从 1 开始；请至少读取一行。")
    numbers: Iterable[int] = range(start, min(start + lines, len(every) + 1))
    if allowed is not None:
        visible = [number for number in numbers if number in allowed]
        if not visible:
            raise _missing(path)  # in a group, what is private does not exist, not even as a number of lines
        start = visible[0]
        numbers = takewhile(allowed.__contains__, range(start, visible[-1] + 1))
    elif start > max(1, len(every)):
        raise NotFound(
            f"{path} has {len(every)} line{'' if len(every) == 1 else 's'}; line {start} does not exist.",
            f"{path} 共 {len(every)} 行，没有第 {start} 行。",
        )
    last, size = start - 1, 0
    for number in numbers:
        size += len(every[number - 1]) + 1
        if size > LONGEST and last >= start:
            break
        last = number
    # What an agent reads goes on to others. A key that begins before the lines, or a token that the cut would halve, is known by the rest.
    first = max(1, start - AROUND)
    around = [(first + at, line[: 2 * LONGEST]) for at, line in enumerate(every[first - 1 : last + AROUND])]
    text = "\n".join(line[:LONGEST] for number, line in redact_lines(around) if start <= number <= last)
    return Excerpt(path, start, last, text, more=last < len(every) and allowed is None)


# What was read is noted in recalls.jsonl: one line for each recall, as fast as it goes, and never at the reading's expense.

ONE_READING = dt.timedelta(hours=1)  # pages of one file that are read so close together are one recall
_LONGTERM = re.compile(r"(?:MEMORY|USER)\.md|projects/[^/]+/MEMORY\.md")


def count_reading(context: Context, path: str, lines: tuple[int, int], via: str) -> Problem | None:
    """Note that lines of a memory file were read; what stood in the way of that, if anything did. Whoever turns the
    page, looks again, or opens what a question has just found, is still reading: that counts once in an hour."""
    workspace, clock = context.workspace, context.clock

    def absolute(place: str | Path) -> str:
        return os.path.normpath(os.path.join(workspace.root, os.path.expanduser(place)))

    full = absolute(path)
    shown = workspace.relative(Path(full))
    tiers = workspace.relative(Path(absolute(workspace.tiers(context.config.tiers.path))))
    is_own = shown.startswith(("memory/", f"{tiers}/")) or _LONGTERM.fullmatch(shown)
    extra = [absolute(extra["path"]) for extra in context.config.index.extra_paths if extra.get("path")]
    # The agent's own files are injected: nobody recalls them.
    is_memory = shown != "memory/review.md" and (is_own or any(f"{full}/".startswith(f"{place}/") for place in extra))
    if not is_memory or refcount.was_read(workspace, shown, clock.now(), ONE_READING):
        return None
    return _write_recalls(context, [refcount.new_recall(clock, shown, "", lines, via)], durable=False)


def count_recalled(context: Context, recalled: Iterable[Recalled], query: str) -> Problem | None:
    """Note that checkpoints answered a question: each once, where it lies now. The question itself is kept nowhere."""
    # The same words in other case, width or spacing are the same question.
    normal = " ".join(unicodedata.normalize("NFKC", query).casefold().split())
    hashed = hashlib.blake2b(normal.encode("utf-8", "replace"), digest_size=8, person=b"nacre recall").hexdigest()
    recalls = []
    for checkpoint in recalled:
        passages = checkpoint.passages
        extent = (passages[0].start_line, passages[-1].end_line) if passages else (1, 1)
        # What could not be brought back at once is left to the next `organise`, which must know.
        rotated = checkpoint.layer == HOT or checkpoint.path != checkpoint.was
        via = refcount.ROTATED if rotated else refcount.UNMOVED
        path = checkpoint.opened or checkpoint.path
        recalls.append(refcount.new_recall(context.clock, path, "", extent, via, hashed))
    return _write_recalls(context, recalls, durable=True)


def _write_recalls(context: Context, recalls: list[refcount.Recall], *, durable: bool) -> Problem | None:
    try:
        refcount.write_recalls(context.workspace, recalls, durable=durable)
    except NacreError as error:
        sentence = say(f"This read could not be counted as a recall: {error}", f"这次读取未能计入召回次数：{error}")
        return Problem("not counted", sentence)
    return None
