"""Daily logs that want something done: notes without a type, days that no week holds yet, days that say nothing."""

from __future__ import annotations

from collections.abc import Iterable

from nacre.capture.classify import wants
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.health.desk import Desk
from nacre.health.finding import EMPTY, UNPRESSED, UNTYPED, Finding, quoted
from nacre.health.passing import last_night, put_away
from nacre.tidy import days
from nacre.tidy.days import Day
from nacre.vault import atomic
from nacre.vault.markdown import Item, document

LOOKED_AT = 30  # days in which a note without a type is worth a word
_SHORT = 2_000  # bytes; a longer log without a statement is none that we would call empty


def untyped(desk: Desk) -> list[Finding]:
    """Notes of the last days that carry no type, as `nacre classify` sees them."""
    found: list[Finding] = []
    for day in desk.days:
        if day.archived or (desk.today - day.date).days > LOOKED_AT:
            continue
        shown = desk.workspace.relative(day.path)
        found += [
            Finding(UNTYPED, f"“{quoted(item.words)}”", shown, item.start, "nacre classify --apply")
            for item in _items(day)
            if wants(item) and not redact(item.text).findings  # what holds a secret is left to doctor
        ]
    return found


def _items(day: Day) -> Iterable[Item]:
    try:
        data = atomic.read_bytes(day.path) or b""
        data.decode("utf-8")
    except (NacreError, UnicodeDecodeError):
        return ()  # doctor names it
    return document(day.path, data).items


def waiting(desk: Desk) -> list[Finding]:
    """Living logs that a night should have taken in, and empty ones that it should have put away."""
    weekly = desk.config.tidy.retention == "weekly"
    command = "nacre tidy" if weekly else "nacre decay"
    found: list[Finding] = []
    for day, rule in put_away(desk, last_night(desk)):
        shown = desk.workspace.relative(day.path)
        kind = EMPTY if _is_empty(day) else UNPRESSED
        found.append(Finding(kind, rule, shown, command=command))
    return found


def _is_empty(day: Day) -> bool:
    """Whether a log says nothing: only a short one is read for that."""
    if day.size > _SHORT:
        return False
    try:
        return not days.read(day).said
    except NacreError:
        return False
