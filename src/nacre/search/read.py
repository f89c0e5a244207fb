"""Reads lines of a memory file within the scope, and counts what was read as a recall."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError, NotFound
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.index.freshness import content_digest
from nacre.index.store import Generation, Store
from nacre.model.context import Scope
from nacre.model.report import Problem
from nacre.model.workspace import Workspace
from nacre.search.filters import Filters, condition
from nacre.vault import disk, refcount
from nacre.vault.files import largest, layer_of, memory_files

if TYPE_CHECKING:
    from nacre.index.sessions import SessionIndex
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
    found = _PLACE.match(text)
    if not found:
        return text, None, None
    if found[2]:
        return found[1], int(found[2]), int(found[3]) if found[3] else None
    first = int(found[4])
    return found[1], first, int(found[5]) - first + 1 if found[5] else None


def place_of_id(store: Store, generation: Generation, scope: Scope, named: str) -> tuple[str, int, int] | None:
    """The file and lines of a passage that search named `#id`; None where that is no id. Who may not see it is told that it is not
    there."""
    found = _ID.fullmatch(named)
    if found is None:
        return None
    sql, values = condition(scope, Filters(), None)
    row = store.db.execute(
        "select f.path, c.first, c.last from chunks c join files f on f.id = c.file"
        f" where c.generation = ? and c.key glob ? {f'and {sql}' if sql else ''} limit 1",
        (generation.id, f"{found[1]}*", *values),
    ).fetchone()
    if row is None:
        raise NotFound(
            f'Nothing in memory has the id {named}. Ids change when lines do: "nacre search" shows the ones of today.',
            f"记忆中没有 id 为 {named} 的内容。行变动后 id 也会变：可用“nacre search”查看当前的 id。",
        )
    return str(row[0]), int(row[1]), int(row[2])


def read_lines(
    workspace: Workspace,
    config: Config,
    scope: Scope,
    path: str,
    start: int,
    lines: int,
    seen: tuple[Store, Generation] | None,
) -> Excerpt:
    """The lines asked for; fewer at the end of the file, an error past it."""
    _check(start, lines)
    try:
        data, every = _lines(workspace, config, path)
    except NacreError as trouble:
        if scope.group is None:
            raise
        raise _missing(path) from trouble  # what stands in the way would tell a group that the file is there
    allowed = _visible_lines(scope, path, data, seen) if scope.group is not None else None
    return _excerpt(path, every, start, lines, allowed)


def _lines(workspace: Workspace, config: Config, path: str) -> tuple[bytes, list[str]]:
    """What a file holds, and its lines."""
    full = _file(workspace, config, path)
    try:
        if not full.is_file():
            raise _missing(path)
        if full.stat().st_size > (most := largest(layer_of(path) if path.startswith("memory/") else "note")):
            size = most // 1_000_000
            raise BadInput(
                f"{path} is too large to be a note (over {size} MB).", f"{path} 太大（超过 {size} MB）,不像是笔记。"
            )
        data = disk.read_log(full, path)
        every = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    except OSError as trouble:
        raise _missing(path) from trouble
    if every and every[-1] == "":
        every.pop()
    return data, every


def read_session(
    sessions: SessionIndex, path: str, start: int, lines: int, until: dt.datetime | None
) -> Excerpt | None:
    """The same of a session, from its transcript; None when the path is no session's."""
    _check(start, lines)
    every = sessions.lines(path, start, start + lines - 1, until)
    return None if every is None else _excerpt(path, every, start, lines, None)


def _excerpt(path: str, every: list[str], start: int, lines: int, allowed: set[int] | None) -> Excerpt:
    """The lines asked for out of all, as far as they may be seen."""
    if allowed is not None and not any(number in allowed for number in range(start, start + min(lines, len(every)))):
        raise _missing(path)  # in a group, what is private does not exist, not even as a number of lines
    if start > max(1, len(every)):
        raise NotFound(
            f"{path} has {len(every)} lines; line {start} does not exist.",
            f"{path} 共 {len(every)} 行；第 {start} 行不存在。",
        )
    end = min(start + lines - 1, len(every))
    chosen: list[str] = []
    size = 0
    last = start - 1
    for number in range(start, end + 1):
        line = every[number - 1]
        if allowed is not None and number not in allowed:
            if chosen:
                break
            start = number + 1
            continue
        size += len(line) + 1
        if size > LONGEST and chosen:
            break
        chosen.append(line[:LONGEST])
        last = number
    text = redact("\n".join(chosen)).text  # what an agent reads goes on to others
    return Excerpt(path, start, last, text, more=last < len(every) and allowed is None)


def _check(start: int, lines: int) -> None:
    if start < 1 or lines < 1:
        raise BadInput("Lines are counted from 1; ask for at least one.", "行号从 1 开始；请至少读取一行。")


def _file(workspace: Workspace, config: Config, path: str) -> Path:
    """The file that a path names: a Markdown file of the workspace, or one of the extra paths by its full name."""
    if os.path.isabs(os.path.expanduser(path)):
        wanted = os.path.normpath(os.path.expanduser(path))
        for found in memory_files(workspace, config):
            if wanted in (found.full, found.path):
                return Path(found.full)
    try:
        full = workspace.inside(path)
    except (OSError, ValueError) as trouble:
        raise _missing(path[:200]) from trouble
    readable = full.suffix == ".md" or (
        full.name.endswith(f".md{disk.COMPRESSED}") and workspace.archive in full.parents
    )
    if not readable or workspace.machine in full.parents:
        raise _missing(path)
    return full


def _missing(path: str) -> NotFound:
    return NotFound(f"There is no memory file {path}.", f"没有名为 {path} 的记忆文件。")


def _visible_lines(scope: Scope, path: str, data: bytes, seen: tuple[Store, Generation] | None) -> set[int]:
    """The lines of a file that a group may see: those of chunks stamped for it, and public ones. None of a file that is no
    longer what the index read: the numbers would be those of other lines."""
    if seen is None:
        return set()
    store, generation = seen
    sql, values = condition(scope, Filters(), None)
    rows = store.db.execute(
        f"select c.first, c.last from chunks c join files f on f.id = c.file where f.generation = ? and f.path = ? and f.hash = ? and {sql}",
        (generation.id, path, content_digest(data), *values),
    )
    return {number for first, last in rows for number in range(first, last + 1)}


# What was read is noted in recalls.jsonl: one line for each recall, as fast as it goes, and never at the reading's
# expense.

ONE_READING = dt.timedelta(hours=1)  # pages of one file that are read so close together are one recall
_LONGTERM = re.compile(r"(?:MEMORY|USER)\.md|projects/[^/]+/MEMORY\.md")


def count_reading(
    workspace: Workspace, config: Config, clock: Clock, path: str, lines: tuple[int, int], via: str
) -> Problem | None:
    """Note that lines of a memory file were read; what stood in the way of that, if anything did.

    Whoever turns the page, looks again, or opens what a question has just found, is still reading: that counts once in an hour.
    """
    shown = _shown(workspace, path)
    if not _is_memory(workspace, config, shown):
        return None
    if refcount.was_read(workspace, shown, clock.now(), ONE_READING):
        return None
    try:
        refcount.write_recalls(workspace, [refcount.new_recall(clock, shown, "", lines, via)], durable=False)
    except NacreError as trouble:
        return _uncounted(trouble)
    return None


def count_recalled(workspace: Workspace, clock: Clock, found: Iterable[Recalled], query: str) -> Problem | None:
    """Note that checkpoints answered a question: each once, where it lies now. The question itself is kept nowhere."""
    hashed = hash_query(query)
    lines = [refcount.new_recall(clock, one.opened or one.path, "", _extent(one), _way(one), hashed) for one in found]
    try:
        refcount.write_recalls(workspace, lines)
    except NacreError as trouble:
        return _uncounted(trouble)
    return None


def _way(one: Recalled) -> str:
    """How it was recalled: what could not be brought back at once is left to the next `organise`, which must know."""
    from nacre.vault.checkpoints import HOT

    return refcount.ROTATED if one.layer == HOT or one.path != one.was else refcount.UNMOVED


def _uncounted(trouble: NacreError) -> Problem:
    return Problem(
        "not counted",
        say(f"This reading could not be counted as a recall: {trouble}", f"这次读取未能计入召回次数：{trouble}"),
    )


def hash_query(query: str) -> str:
    """By which the same question is known again: the same words in other case, width or spacing are the same question."""
    normal = " ".join(unicodedata.normalize("NFKC", query).casefold().split())
    return hashlib.blake2b(normal.encode("utf-8", "replace"), digest_size=8, person=b"nacre recall").hexdigest()


def _extent(one: Recalled) -> tuple[int, int]:
    """From the first line that was given to the last."""
    if not one.passages:
        return 1, 1
    return one.passages[0].start_line, one.passages[-1].end_line


def _shown(workspace: Workspace, path: str) -> str:
    """The path as users see it, however it was written."""
    return workspace.relative(Path(os.path.normpath(os.path.join(workspace.root, os.path.expanduser(path)))))


def _is_memory(workspace: Workspace, config: Config, shown: str) -> bool:
    """Whether a file that was read is memory: the agent's own files are injected, nobody recalls them."""
    tiers = workspace.relative(Path(os.path.normpath(workspace.tiers(config.tiers.path))))
    if shown.startswith(("memory/", f"{tiers}/")) or _LONGTERM.fullmatch(shown):
        return shown != "memory/review.md"
    return any(_lies_in(workspace, shown, given.get("path", "")) for given in config.index.extra_paths)


def _lies_in(workspace: Workspace, shown: str, extra: str) -> bool:
    place = os.path.normpath(os.path.join(workspace.root, os.path.expanduser(extra)))
    full = os.path.normpath(os.path.join(workspace.root, shown))
    return bool(extra) and (full == place or full.startswith(os.path.join(place, "")))
