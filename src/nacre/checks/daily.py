"""Health of daily logs and dated entries: what fades next, notes without a type, days that no weekly digest holds, empty days."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nacre.capture.extract import lacks_type
from nacre.checks.snapshot import EMPTY, FADED, UNPRESSED, UNTYPED, Finding, Snapshot, quoted
from nacre.errors import NacreError
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.tidy import budget, collect, run
from nacre.tidy.collect import Day
from nacre.tidy.draft import Draft
from nacre.tidy.memory_files import Line, LongTermFile
from nacre.vault import disk, review
from nacre.vault.markdown import Item, document

AHEAD = 7  # days in which the date of an entry comes
_SEEN = 2 * (AHEAD + budget.GRACE)  # days after which a date that is looked for has passed


@dataclass(frozen=True)
class Fade:
    """Something that will go or change by itself: on which day, by which rule, and what keeps it, where anything does."""

    day: str
    path: str
    what: str
    rule: str
    line: int | None = None
    keep: str = ""


def faded_entries(desk: Snapshot) -> list[Finding]:
    """Entries that the next night would put to the user because their time is over."""
    if desk.night is None:
        return []
    desk.night.ask_about_outdated()
    asked = {one.id for one in desk.night.asks if one.kind == review.FADED}
    return [_faded(desk, desk.night, book, line) for book, line in desk.lines if line.id in asked]


def _faded(desk: Snapshot, night: Draft, book: LongTermFile, line: Line) -> Finding:
    was = desk.known.get(line.id)
    why = budget.outdated_reason(line.words, was.valid_from if was else None, desk.today, night.recent) or ""
    text, why = quoted(line.words), quoted(why)
    message = say(f"“{text}”: {why}; tidying asks whether it may go.", f"“{text}”：{why}；整理时会询问是否移除。")
    return Finding(FADED, message, book.shown, line.start, "nacre tidy", id=line.id)


def dated_entries(desk: Snapshot) -> Iterator[Fade]:
    """Entries that are about a day of the coming week."""
    last = days_after(desk.today, _SEEN)
    for book, line in desk.lines:
        was = desk.known.get(line.id)
        since = (was.valid_from if was else None) or desk.today.isoformat()
        day = budget.expired_on(line.words, since, last)
        if day and desk.today <= day <= days_after(desk.today, AHEAD) and not desk.is_pinned(line):
            rule = say(
                f"its date comes; after {budget.GRACE} more days you are asked whether it may go",
                f"其日期将到；再过 {budget.GRACE} 天会询问是否移除",
            )
            yield Fade(day.isoformat(), book.shown, quoted(line.words), rule, line.start, f"nacre pin {line.id}")


def fading_logs(desk: Snapshot) -> Iterator[Fade]:
    """Logs that the next night puts away, beside those that it should have put away already."""
    night, overdue = next_tidy_day(desk), {day.path for day, _ in logs_due(desk, last_tidy_day(desk))}
    what = (
        say("enters its week and moves to the archive", "压缩进周报并移入归档")
        if desk.config.tidy.retention == "weekly"
        else say("moves to the archive", "移入归档")
    )
    for day, rule in logs_due(desk, night):
        if day.path not in overdue:
            yield Fade(night.isoformat(), desk.workspace.relative(day.path), what, rule)


def logs_due(desk: Snapshot, night: dt.date) -> list[tuple[Day, str]]:
    """The living logs whose time is over on a night, with the rule."""
    living = [day for day in desk.days if not day.archived]
    if desk.config.tidy.retention != "weekly":
        return run.outdated_logs(living, night, desk.config.decay)
    kept = desk.config.tidy.daily_days
    rule = say(f"older than {kept} days (tidy.daily_days)", f"超过 {kept} 天（tidy.daily_days）")
    return [(day, rule) for day in living if (night - day.date).days > kept]


def last_tidy_day(desk: Snapshot) -> dt.date:
    """The day on which tidying ran last, or should have."""
    return days_after(next_tidy_day(desk), -1)


def next_tidy_day(desk: Snapshot) -> dt.date:
    """The day on which tidying runs next."""
    now = desk.clock.now()
    try:
        begins = dt.time.fromisoformat(desk.config.tidy.time)
    except ValueError:
        begins = dt.time(3)
    return desk.today if now.time() < begins else days_after(desk.today, 1)


def days_after(day: dt.date, count: int) -> dt.date:
    """So many days later, within the calendar."""
    return dt.date.fromordinal(min(max(day.toordinal() + count, 1), dt.date.max.toordinal()))


# Daily logs that want something done: notes without a type, days that no week holds yet, days that say nothing.

LOOKED_AT = 30  # days in which a note without a type is worth a word
_SHORT = 2_000  # bytes; a longer log without a statement is none that we would call empty


def untyped_notes(desk: Snapshot) -> list[Finding]:
    """Notes of the last days that carry no type, as `nacre classify` sees them."""
    found: list[Finding] = []
    for day in desk.days:
        if day.archived or (desk.today - day.date).days > LOOKED_AT:
            continue
        shown = desk.workspace.relative(day.path)
        found += [
            Finding(UNTYPED, f"“{quoted(item.words)}”", shown, item.start, "nacre classify --apply")
            for item in _items(day)
            if lacks_type(item) and not redact(item.text).findings  # what holds a secret is left to doctor
        ]
    return found


def _items(day: Day) -> Iterable[Item]:
    try:
        data = disk.read_bytes(day.path) or b""
        data.decode("utf-8")
    except (NacreError, UnicodeDecodeError):
        return ()  # doctor names it
    return document(day.path, data).items


def overdue_logs(desk: Snapshot) -> list[Finding]:
    """Living logs that a night should have taken in, and empty ones that it should have put away."""
    weekly = desk.config.tidy.retention == "weekly"
    command = "nacre tidy" if weekly else "nacre decay"
    found: list[Finding] = []
    for day, rule in logs_due(desk, last_tidy_day(desk)):
        shown = desk.workspace.relative(day.path)
        kind = EMPTY if _is_empty(day) else UNPRESSED
        found.append(Finding(kind, rule, shown, command=command))
    return found


def _is_empty(day: Day) -> bool:
    """Whether a log says nothing: only a short one is read for that."""
    if day.size > _SHORT:
        return False
    try:
        return not collect.read_log(day).lines
    except NacreError:
        return False
