"""What every part of an examination looks at, read once; what cannot be read is told and left out."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model.problem import Problem
from nacre.tidy import days
from nacre.tidy.book import Book, Line
from nacre.tidy.days import Day, Said
from nacre.tidy.night import Night
from nacre.tidy.room import Room
from nacre.vault import ledger, review, trail
from nacre.vault.atomic import real_target
from nacre.vault.ledger import Standing
from nacre.vault.review import Item
from nacre.vault.trail import Trail
from nacre.vault.workspace import Workspace


@dataclass(frozen=True)
class Desk:
    """A workspace laid out. Without a night MEMORY.md could not be read, and nothing is said about what stands in it."""

    room: Room
    today: dt.date
    night: Night | None
    known: Mapping[str, Standing]
    trail: Trail
    asked: Sequence[Item]
    days: Sequence[Day]
    problems: Sequence[Problem]

    @property
    def workspace(self) -> Workspace:
        return self.room.workspace

    @property
    def config(self) -> Config:
        return self.room.config

    @property
    def clock(self) -> Clock:
        return self.room.clock

    @property
    def books(self) -> Sequence[Book]:
        return self.night.library.books if self.night else ()

    @property
    def lines(self) -> list[tuple[Book, Line]]:
        """Every entry of every MEMORY.md."""
        return [(book, line) for book in self.books for line in book.lines]

    def is_pinned(self, line: Line) -> bool:
        was = self.known.get(line.id)
        return line.pinned or bool(was and was.in_memory and was.pinned)


def laid_out(memory: Memory) -> Desk:
    """Read the ledger, the trail, the questions, every MEMORY.md and the list of days."""
    room = Room(memory.workspace, memory.clock, memory.config, lambda: memory.brain)
    today = room.clock.today()
    listed = days.days(room.workspace, today)
    night, problems = _night(room)
    problems += listed.problems
    if night is None:
        told = ledger.read(room.workspace)
        known, asked = ledger.standing(told.records), review.read(room.workspace)
        problems += told.problems
        return Desk(room, today, None, known, trail.read(room.workspace), asked, listed.days, problems)
    night.lately, troubles = _lately(room, listed.days, today)
    problems += troubles
    return Desk(room, today, night, night.known, night.trail, night.asked, listed.days, problems)


def _night(room: Room) -> tuple[Night | None, list[Problem]]:
    """All that a night of tidying knows; none where MEMORY.md cannot be read, or lies elsewhere."""
    try:
        real_target(room.workspace.longterm, room.workspace.root)
        night = Night(room)
        _ = night.library.general.lines  # decoded now, not in the middle of the examination
    except NacreError as trouble:
        shown = room.workspace.relative(room.workspace.longterm)
        return None, [Problem("unreadable", str(trouble), shown, severity="error")]
    return night, [*night.problems, *night.library.problems]


def _lately(room: Room, every: Sequence[Day], today: dt.date) -> tuple[list[Said], list[Problem]]:
    """What the logs of the last days say: it tells what is over. A log that cannot be read is trouble."""
    found: list[Said] = []
    troubles: list[Problem] = []
    for day in every:
        if (today - day.date).days <= room.config.tidy.daily_days:
            try:
                found += days.read(day).said
            except NacreError as trouble:
                troubles.append(Problem("unreadable", str(trouble), room.workspace.relative(day.path)))
    return found, troubles
