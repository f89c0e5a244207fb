"""Now, today and the natural week in the user's time zone; injectable, so that any moment can be replayed."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

from nacre.errors import BadInput, BadSetting
from nacre.i18n import say

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")
_UNITS = {
    "s": (1, "second", "秒"),
    "m": (60, "minute", "分钟"),
    "min": (60, "minute", "分钟"),
    "h": (3600, "hour", "小时"),
    "d": (86400, "day", "天"),
    "w": (604800, "week", "周"),
}
_CENTURY = 36_500 * 86400  # seconds; longer spans are taken for one, so that no moment lies outside of the calendar


def duration(text: str) -> dt.timedelta:
    """A length of time such as "4h", "7d", "90min" or "1d 12h"."""
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        raise BadSetting(
            f'"{text}" is not a duration; write it as 4h, 7d or 30min.',
            f"“{text}”不是时长；请写成 4h、7d 或 30min。",
        )
    return dt.timedelta(seconds=min(_CENTURY, sum(float(number) * _UNITS[unit][0] for number, unit in parts)))


def duration_in_words(span: str) -> str:
    """A length of time as people say it: "30d" is "30 days"; one of several parts, or of none that we know, is told as it stands."""
    match = _DURATION.fullmatch(span.strip())
    if not match:
        return span
    number = match[1]
    _, word, chinese = _UNITS[match[2]]
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
            f'Unknown time zone "{name}"; use a name such as Asia/Shanghai.',
            f"未知时区“{name}”；请使用 Asia/Shanghai 这样的名称。",
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
            moment = dt.datetime.fromisoformat(text)
            if len(text) <= len("2026-02-14"):
                moment = moment.replace(hour=23, minute=59, second=59)
            moment = self._place(moment)
            moment.astimezone(self.zone)  # the first and the last day of the calendar do not exist in every zone
        except (ValueError, OverflowError) as error:
            raise BadInput(
                f'"{text}" is not a date or time; write 2026-02-14 or 2026-02-14T18:49.',
                f"“{text}”不是日期或时间；请写成 2026-02-14 或 2026-02-14T18:49。",
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


def monday(day: dt.date) -> dt.date:
    """The first day of the natural week that holds the day."""
    return day - dt.timedelta(days=day.weekday())
