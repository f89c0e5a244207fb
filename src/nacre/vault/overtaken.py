"""What the ledger closed: words that still stand in a log or a digest, where they were said, and no longer hold.

Derived from the ledger and kept beside the index, because a hook has no time to read thousands of lines. It is made anew when the
ledger is no longer the one it was made from; without it nothing is lost but that time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from nacre.text.stamps import bare_words
from nacre.vault import scratch
from nacre.vault.workspace import Workspace

if TYPE_CHECKING:
    from nacre.vault.ledger import Standing

NAME = "overtaken.json"
_FORM = 1
_MARK = 8  # hexadecimal digits: so many has the mark of a bullet, which is the beginning of the id of the same words
_TIME = re.compile(r"\A\[\d{1,2}:\d{2}\]\s*")  # before a decision in working memory
_PASSED = "faded"  # the review of what seems to be out of date


class Closed(NamedTuple):
    """When an entry ceased to hold, and the entry that holds instead; none where nothing took its place."""

    until: str
    by: str | None = None


class Overtaken(NamedTuple):
    """What no longer holds at a day, by the marks of its words."""

    today: str = ""
    marks: Mapping[str, Closed] = {}

    def of(self, line: str, said: str | None = None) -> Closed | None:
        """What the ledger says against a line that was said on a day; nothing where it was said again later."""
        if not self.marks or not (words := _words(line)):
            return None
        closed = self.marks.get(mark_of(words))
        if closed is None or closed.until > self.today or (said and said > closed.until):
            return None
        return closed


NOTHING = Overtaken()


def mark_of(words: str) -> str:
    """The beginning of the id that the ledger knows these words by."""
    told = " ".join(words.split()).casefold()
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:_MARK]


def _words(line: str) -> str:
    return bare_words(_TIME.sub("", bare_words(line)))


def load(workspace: Workspace, today: str) -> Overtaken:
    """What the ledger closed up to a day."""
    state = _state(workspace)
    if state is None:
        return Overtaken(today)
    told = scratch.read_json(os.path.join(_folder(workspace), NAME))
    rows = told.get("marks")
    if told.get("of") == state and isinstance(rows, dict):
        return Overtaken(today, {mark: found for mark, row in rows.items() if (found := _closed(row))})
    return Overtaken(today, keep(workspace))


def keep(workspace: Workspace) -> Mapping[str, Closed]:
    """Make it from the ledger and keep it. Where it cannot be written, it is made again next time."""
    from nacre.vault import ledger

    state = _state(workspace)  # before it is read: what is added meanwhile makes it old
    marks = closed_of(ledger.standing(ledger.read(workspace).records))
    if state is not None:
        with contextlib.suppress(OSError):
            scratch.put_json(_folder(workspace), NAME, {"of": state, "marks": marks})
    return marks


def closed_of(known: Mapping[str, Standing]) -> dict[str, Closed]:
    """The marks of what was superseded, or put away as out of date, with those of the lines in the logs that it came from."""
    after = {one.supersedes: one.id for one in known.values() if one.supersedes}
    found: dict[str, Closed] = {}
    kept: set[str] = set()  # lines of which something else still holds
    for one in known.values():
        marks = {one.id[:_MARK], *([one.source["bullet"]] if "bullet" in one.source else [])}
        if one.in_memory:
            kept |= marks
        elif closed := _end(one, known, after):
            found |= dict.fromkeys(marks, closed)
    return {mark: closed for mark, closed in found.items() if mark not in kept}


def successor(workspace: Workspace, one: Closed) -> str | None:
    """The words that hold instead, from the ledger itself: they are kept nowhere else."""
    from nacre.vault import jsonl, ledger

    if one.by is None or (data := scratch.read(str(workspace.ledger))) is None:
        return None
    own = b"\n".join(line for line in data.split(b"\n") if one.by.encode() in line)
    rows = jsonl.parse(own, workspace.ledger.name).rows
    records = [record for row in rows if (record := ledger.record_from(row.value))]
    stands = ledger.standing(records).get(one.by)
    return stands.text if stands and stands.in_memory else None


def _end(one: Standing, known: Mapping[str, Standing], after: Mapping[str, str]) -> Closed | None:
    """How an entry ended, followed through what it was merged into; None where it may still hold."""
    passed: set[str] = set()
    until = by = None
    while one.id not in passed and not one.in_memory:
        passed.add(one.id)
        last = next(record for record in reversed(one.records) if record.verdict == one.verdict)
        doer, into = last.more.get("by"), last.more.get("into")
        if (one.verdict == "superseded" and (doer or not into)) or last.more.get("answer") == _PASSED:
            until = until or last.valid_to or last.at[:10]
        elif one.verdict not in ("merged", "superseded"):  # those were put in other words, which may hold
            break
        by = str(doer if doer and doer != "hand" else into or after.get(one.id) or "") or None
        if by is None or by not in known:
            break
        one = known[by]
    return Closed(until, by) if until else None


def _closed(row: object) -> Closed | None:
    if not isinstance(row, list) or len(row) != 2 or not isinstance(row[0], str):
        return None
    return Closed(row[0], row[1] if isinstance(row[1], str) else None)


def _state(workspace: Workspace) -> list[int] | None:
    """By what a ledger is told from what it was: undoing and forgetting make it anew, everything else longer."""
    try:
        about = os.stat(workspace.ledger)
    except OSError:
        return None
    return [_FORM, about.st_size, about.st_mtime_ns, about.st_ino]


def _folder(workspace: Workspace) -> str:
    return str(workspace.index)
