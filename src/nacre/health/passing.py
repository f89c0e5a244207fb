"""What fades next and why: layers of checkpoints, logs on their way into a week, entries whose day comes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from nacre.health.desk import Desk
from nacre.health.finding import FADED, Finding, quoted
from nacre.tidy import decay, fading, questions
from nacre.tidy.book import Book, Line
from nacre.tidy.days import Day
from nacre.tidy.night import Night
from nacre.vault import review
from nacre.words import say

AHEAD = 7  # days in which the date of an entry comes
_SEEN = 2 * (AHEAD + fading.GRACE)  # days after which a date that is looked for has passed


@dataclass(frozen=True)
class Fade:
    """Something that will go or change by itself: on which day, by which rule, and what keeps it, where anything does."""

    day: str
    path: str
    what: str
    rule: str
    line: int | None = None
    keep: str = ""


def faded(desk: Desk) -> list[Finding]:
    """Entries that the next night would put to the user because their time is over."""
    if desk.night is None:
        return []
    questions.about_fading(desk.night)
    asked = {one.id for one in desk.night.asks if one.kind == review.FADED}
    return [_faded(desk, desk.night, book, line) for book, line in desk.lines if line.id in asked]


def _faded(desk: Desk, night: Night, book: Book, line: Line) -> Finding:
    was = desk.known.get(line.id)
    why = fading.reason(line.words, was.valid_from if was else None, desk.today, night.lately) or ""
    text, why = quoted(line.words), quoted(why)
    message = say(f"“{text}”: {why}; tidying asks whether it may go.", f"“{text}”：{why}；整理时会询问是否移除。")
    return Finding(FADED, message, book.shown, line.start, "nacre tidy", id=line.id)


def dated(desk: Desk) -> Iterator[Fade]:
    """Entries that are about a day of the coming week."""
    last = after(desk.today, _SEEN)
    for book, line in desk.lines:
        was = desk.known.get(line.id)
        since = (was.valid_from if was else None) or desk.today.isoformat()
        day = fading.passed_date(line.words, since, last)
        if day and desk.today <= day <= after(desk.today, AHEAD) and not desk.is_pinned(line):
            rule = say(
                f"its date comes; after {fading.GRACE} more days you are asked whether it may go",
                f"其日期将到；再过 {fading.GRACE} 天会询问是否移除",
            )
            yield Fade(day.isoformat(), book.shown, quoted(line.words), rule, line.start, f"nacre pin {line.id}")


def logs(desk: Desk) -> Iterator[Fade]:
    """Logs that the next night puts away, beside those that it should have put away already."""
    night, overdue = next_night(desk), {day.path for day, _ in put_away(desk, last_night(desk))}
    what = (
        say("enters its week and moves to the archive", "压缩进周报并移入归档")
        if desk.config.tidy.retention == "weekly"
        else say("moves to the archive", "移入归档")
    )
    for day, rule in put_away(desk, night):
        if day.path not in overdue:
            yield Fade(night.isoformat(), desk.workspace.relative(day.path), what, rule)


def put_away(desk: Desk, night: dt.date) -> list[tuple[Day, str]]:
    """The living logs whose time is over on a night, with the rule."""
    living = [day for day in desk.days if not day.archived]
    if desk.config.tidy.retention != "weekly":
        return decay.outdated(living, night, desk.config.decay)
    kept = desk.config.tidy.daily_days
    rule = say(f"older than {kept} days (tidy.daily_days)", f"超过 {kept} 天（tidy.daily_days）")
    return [(day, rule) for day in living if (night - day.date).days > kept]


def last_night(desk: Desk) -> dt.date:
    """The day on which tidying ran last, or should have."""
    return after(next_night(desk), -1)


def next_night(desk: Desk) -> dt.date:
    """The day on which tidying runs next."""
    now = desk.clock.now()
    try:
        begins = dt.time.fromisoformat(desk.config.tidy.time)
    except ValueError:
        begins = dt.time(3)
    return desk.today if now.time() < begins else after(desk.today, 1)


def after(day: dt.date, count: int) -> dt.date:
    """So many days later, within the calendar."""
    return dt.date.fromordinal(min(max(day.toordinal() + count, 1), dt.date.max.toordinal()))
