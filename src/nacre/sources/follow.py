"""Following a transcript of lines: from its mark to a moment, entry by entry."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nacre.model.session import Message, Session
from nacre.sources.lines import Uninteresting, fingerprint, lines, still_there
from nacre.sources.transcript import Mark, Reading, moment


@dataclass
class Notes:
    """What is gathered on the way: facts about the session (plain JSON, kept in the mark) and what was said."""

    facts: dict[str, Any] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    taken_back: bool = False  # an entry takes back what an earlier reading gave out: all is to be read again


Take = Callable[[dict[str, Any], dt.datetime | None, int, Notes], bool]
"""Takes one entry in, given its time and where it begins; False when its form is not known."""

When = Callable[[dict[str, Any], Notes], dt.datetime | None]
"""The time of an entry, where it takes more than one field to tell it."""


def carried(*fields: str) -> When:
    """The time in the first field that tells one, else that of the entry before: words are not lost for want of it."""

    def when(entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
        for name in fields:
            if found := moment(entry.get(name)):
                notes.facts["at"] = found.isoformat()
                return found
        return moment(notes.facts.get("at"))

    return when


def follow(
    path: Path,
    mark: Mark | None,
    until: dt.datetime | None,
    take: Take,
    session: Callable[[Notes], Session | None],
    *,
    uninteresting: Uninteresting | None = None,
    time: str | When = "timestamp",
) -> Reading:
    """Read the entries after the mark and not after the moment, and make a session of them."""
    rewritten = not still_there(path, mark)
    begin = Mark() if mark is None or rewritten else mark
    notes = Notes(dict(begin.facts))
    unknown, offset, whole = 0, begin.offset, True
    with path.open("rb") as file:
        for line in lines(file, begin.offset, uninteresting):
            if line.entry is None:
                unknown += 1
            elif line.entry:
                at = moment(line.entry.get(time)) if isinstance(time, str) else time(line.entry, notes)
                if until and at and at > until:
                    whole = False
                    break
                unknown += not (_has_a_form(line.entry) and take(line.entry, at, line.start, notes))
            offset = line.end
            if notes.taken_back and begin.offset:
                break
        file.seek(0, 2)
        whole = whole and offset >= file.tell()
        unchanged = fingerprint(file, offset)
    if notes.taken_back and begin.offset:
        again = follow(path, None, until, take, session, uninteresting=uninteresting, time=time)
        return replace(again, rewritten=True)
    said = session(notes)  # before the mark: it may still note a fact
    return Reading(said, Mark(offset, unchanged, notes.facts), whole, unknown, rewritten)


def _has_a_form(entry: dict[str, Any]) -> bool:
    """Whether what says its kind is a word at all: no reader need ask before it looks a kind up."""
    return all(isinstance(entry.get(name), str | None) for name in ("type", "role"))
