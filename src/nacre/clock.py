"""Now, today and the natural week in the user's time zone; injectable, so that any moment can be replayed."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from nacre.errors import BadInput, BadSetting
from nacre.i18n import say

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}

_UNITS = {
    "s": ("second", "秒"),
    "m": ("minute", "分钟"),
    "min": ("minute", "分钟"),
    "h": ("hour", "小时"),
    "d": ("day", "天"),
    "w": ("week", "周"),
}


def duration(text: str) -> dt.timedelta:
    """A length of time such as "4h", "7d", "90min" or "1d 12h"."""
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        raise BadSetting(
            say(
                f'"{text}" is not a length of time; write it as 4h, 7d or 30min.',
                f"“{text}”不是时长；请写成 4h、7d 或 30min。",
            )
        )
    try:
        return dt.timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError:
        return dt.timedelta.max


def duration_in_words(span: str) -> str:
    """A length of time as people say it: "30d" is "30 days"; one of several parts, or of none that we know, is told as it stands."""
    found = _DURATION.fullmatch(span.strip())
    if not found:
        return span
    number, unit = found[1], found[2]
    word, chinese = _UNITS[unit]
    return say(f"{number} {word}{'' if number == '1' else 's'}", f"{number} {chinese}")


def zone(name: str | None) -> dt.tzinfo | None:
    """The named time zone; None means the system's own, which Python converts to without a name."""
    if not name:
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadSetting(
            say(
                f'The time zone "{name}" is not known; use a name such as Asia/Shanghai.',
                f"未知时区“{name}”；请使用 Asia/Shanghai 这样的名称。",
            )
        ) from error


@dataclass(frozen=True)
class Clock:
    """The time as the user lives it. A fixed moment makes every command repeatable."""

    zone: dt.tzinfo | None = None
    fixed: dt.datetime | None = None

    def now(self) -> dt.datetime:
        moment = self.fixed or dt.datetime.now(dt.UTC)
        return moment.astimezone(self.zone)

    def today(self) -> dt.date:
        return self.now().date()

    def local(self, moment: dt.datetime) -> dt.datetime:
        return moment.astimezone(self.zone)

    def parse(self, text: str) -> dt.datetime:
        """An ISO time, or an ISO date, which means its end: a question asked "as of" a day knows that day."""
        try:
            moment = self._place(_end_of_day(text) or dt.datetime.fromisoformat(text))
            moment.astimezone(self.zone)  # the first and the last day of the calendar do not exist in every zone
        except (ValueError, OverflowError) as error:
            raise BadInput(
                say(
                    f'"{text}" is not a date or time; write 2026-02-14 or 2026-02-14T18:49.',
                    f"“{text}”不是日期或时间；请写成 2026-02-14 或 2026-02-14T18:49。",
                )
            ) from error
        return moment

    def at(self, moment: str | dt.date | dt.datetime | None) -> Clock:
        """This clock stopped at another moment; unchanged when none is given."""
        if moment is None:
            return self
        if isinstance(moment, dt.datetime):
            return Clock(self.zone, self._place(moment))
        return Clock(self.zone, self.parse(moment if isinstance(moment, str) else moment.isoformat()))

    def _place(self, moment: dt.datetime) -> dt.datetime:
        if moment.tzinfo is not None:
            return moment
        return moment.replace(tzinfo=self.zone) if self.zone else moment.astimezone()


def _end_of_day(text: str) -> dt.datetime | None:
    """The last second of a day written as one; None when the text is no day."""
    try:
        day = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return dt.datetime.combine(day, dt.time(23, 59, 59))


def monday(day: dt.date) -> dt.date:
    """The first day of the natural week that holds the day."""
    return day - dt.timedelta(days=day.weekday())
