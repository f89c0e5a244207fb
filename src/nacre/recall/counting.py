"""What was read is noted in recalls.jsonl: one line for each recall, as fast as it goes, and never at the reading's expense."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.model.problem import Problem
from nacre.vault import recalls
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.recall.layered import Recalled

ONE_READING = dt.timedelta(hours=1)  # pages of one file that are read so close together are one recall
_LONGTERM = re.compile(r"(?:MEMORY|USER)\.md|projects/[^/]+/MEMORY\.md")


def count(
    workspace: Workspace, config: Config, clock: Clock, path: str, lines: tuple[int, int], via: str
) -> Problem | None:
    """Note that lines of a memory file were read; what stood in the way of that, if anything did.

    Whoever turns the page, looks again, or opens what a question has just found, is still reading: that counts once in an hour.
    """
    shown = _shown(workspace, path)
    if not _is_memory(workspace, config, shown):
        return None
    if recalls.was_read(workspace, shown, clock.now(), ONE_READING):
        return None
    try:
        recalls.write(workspace, [recalls.recall(clock, shown, "", lines, via)], durable=False)
    except NacreError as trouble:
        return _uncounted(trouble)
    return None


def count_recalled(workspace: Workspace, clock: Clock, found: Iterable[Recalled], query: str) -> Problem | None:
    """Note that checkpoints answered a question: each once, where it lies now. The question itself is kept nowhere."""
    hashed = hash_of(query)
    lines = [recalls.recall(clock, one.opened or one.path, "", _extent(one), _way(one), hashed) for one in found]
    try:
        recalls.write(workspace, lines)
    except NacreError as trouble:
        return _uncounted(trouble)
    return None


def _way(one: Recalled) -> str:
    """How it was recalled: what could not be brought back at once is left to the next `organise`, which must know."""
    from nacre.vault.tiers import HOT

    return recalls.ROTATED if one.layer == HOT or one.path != one.was else recalls.UNMOVED


def _uncounted(trouble: NacreError) -> Problem:
    return Problem(
        "not counted",
        say(f"This reading could not be counted as a recall: {trouble}", f"这次读取未能计入召回次数：{trouble}"),
    )


def hash_of(query: str) -> str:
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
