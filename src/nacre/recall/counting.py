"""What was read is noted in recalls.jsonl: one line for each reading, as fast as it goes, and never at the reading's expense."""

from __future__ import annotations

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

_MANY = 1000  # readings that are remembered, so that the same one is not counted twice within a minute
_LONGTERM = re.compile(r"(?:MEMORY|USER)\.md|projects/[^/]+/MEMORY\.md")
_lately: dict[tuple[str, str, tuple[int, int]], str] = {}


def count(
    workspace: Workspace, config: Config, clock: Clock, path: str, lines: tuple[int, int], via: str
) -> Problem | None:
    """Note that lines of a memory file were read; what stood in the way of that, if anything did."""
    shown = _shown(workspace, path)
    if not _is_memory(workspace, config, shown):
        return None
    key, minute = (str(workspace.root), shown, lines), f"{clock.now():%Y-%m-%dT%H:%M%z}"
    if _lately.get(key) == minute:
        return None
    try:
        recalls.write(workspace, [recalls.recall(clock, shown, "", lines, via)], durable=False)
    except NacreError as trouble:
        return _uncounted(trouble)
    if len(_lately) >= _MANY:
        _lately.clear()
    _lately[key] = minute
    return None


def count_recalled(workspace: Workspace, clock: Clock, found: Iterable[Recalled], query: str) -> Problem | None:
    """Note that checkpoints answered a question: each once, where it lies now. The question itself is kept nowhere."""
    hashed = hash_of(query)
    lines = [recalls.recall(clock, one.opened or one.path, "", _extent(one), "recall", hashed) for one in found]
    try:
        recalls.write(workspace, lines)
    except NacreError as trouble:
        return _uncounted(trouble)
    return None


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
