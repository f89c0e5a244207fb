"""Which lines of the logs and digests are offered to long-term memory tonight: what nobody was asked about yet."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.model.problem import Problem
from nacre.text.stamps import bare_words, label_of, source_day
from nacre.tidy import days
from nacre.tidy.days import Day, Said
from nacre.tidy.fields import IDENTITY, USER
from nacre.tidy.room import Room
from nacre.vault import weekly
from nacre.vault.ledger import Record, identity
from nacre.vault.markdown import open_document
from nacre.vault.review import Item
from nacre.vault.trail import Trail, mark_of

WEEKS = 5  # digests that are looked into for lines that came from no log
STORY = re.compile(rf"(?:{re.escape(IDENTITY)}|{re.escape(USER)}) [^:]+: ")  # our own note on a field that was set


Seen = set[tuple[str, str]]


def seen(trail: Trail, records: Iterable[Record], asked: Iterable[Item]) -> Seen:
    """The lines, by day and mark, that were decided on, or wait for the user's word."""
    found = {(one.day, mark) for one in trail.offered for mark in one.bullets}
    sources = (one.source for one in records if one.source.get("bullet"))
    found |= {(str(one.get("day", "")), str(one["bullet"])) for one in sources}
    return found | {one.said for one in asked if one.said}


def offered(
    room: Room, known: Seen, trail: Trail, entries: Container[str] = ()
) -> tuple[list[Said], list[Said], list[Problem]]:
    """Lines that are new to long-term memory, oldest first; all lines of the last days; and trouble with the files.

    `entries` are the ids of the ledger: a line of a digest that it knows was put there from MEMORY.md.
    """
    today = room.clock.today()
    recent = dt.date.fromordinal(max(1, today.toordinal() - room.config.tidy.daily_days))
    listed = days.days(room.workspace, today)
    entered = trail.entered()
    new: list[Said] = []
    lately: list[Said] = []
    for day in listed.days:
        if day.date < recent and day.archived and _dealt_with(day, entered, known):
            continue
        said = _said(day)
        if day.date >= recent:
            lately += said
        new += [one for one in said if (one.day, one.mark) not in known and not STORY.match(one.words)]
    pressed = {mark for marks in entered.values() for mark in marks}
    standing = {one.mark for one in new}
    new += [
        one
        for one in _digests(room)
        if (one.day, one.mark) not in known
        and one.mark not in pressed
        and mark_of(one.words) not in pressed  # a label that is no type of ours stands in front of the words
        and one.mark not in standing
        and identity(one.words) not in entries
        and not STORY.match(one.words)
    ]
    return sorted(new, key=lambda one: one.day), lately, list(listed.problems)


def _dealt_with(day: Day, entered: dict[str, set[str]], known: Seen) -> bool:
    date = day.date.isoformat()
    marks = entered.get(date)
    return marks is not None and all((date, mark) in known for mark in marks)


def _said(day: Day) -> list[Said]:
    try:
        log = days.read(day)
    except NacreError:
        return []  # `doctor` tells of files that cannot be read
    return [_without_secrets(one) for one in log.said] if log else []


def _digests(room: Room) -> Iterator[Said]:
    """What stands in the digests of the last weeks: lines that the user or another tool wrote there."""
    folder = room.workspace.weekly
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("????-??-??.md"))[-WEEKS:]:
        try:
            doc = open_document(path)
            lines = weekly.lines(doc) if doc else ()
        except NacreError:
            continue
        for line in lines:
            day, label = source_day(line.text), label_of(line.text)
            if day and label:
                words = bare_words(line.text)
                yield _without_secrets(Said(day, words, label, line.project, None, None, "", 0, mark_of(line.text)))


def _without_secrets(one: Said) -> Said:
    """A log that somebody wrote by hand may hold a secret; no file that is made of it may. A line without end is cut."""
    return replace(one, words=days.judged_part(redact(one.words).text))
