"""In which layer a checkpoint belongs: by its age since it was made or last recalled, and the reason in words."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from nacre.clock import Clock, duration
from nacre.config.settings import TierSettings
from nacre.lifecycle.ages import Dated
from nacre.lifecycle.fold import Kept, folded
from nacre.vault import refcount
from nacre.vault.files import TIERS
from nacre.vault.refcount import Entry
from nacre.vault.tiers import FORGOTTEN, GIST, HOT, WARM
from nacre.words import say

MOVE, RISE, FORGET, DELETE, STAY = "move", "rise", "forget", "delete", "stay"


@dataclass(frozen=True)
class Rules:
    """The settings of the layers, as written and in seconds."""

    settings: TierSettings
    hot: float
    warm: float
    gist: float
    forget: float
    delete: float

    @classmethod
    def of(cls, settings: TierSettings) -> Rules:
        named = (settings.hot, settings.warm, settings.gist, settings.forget_after, settings.delete_after)
        return cls(settings, *(duration(one).total_seconds() for one in named))

    def layer(self, age: float) -> str:
        if age < self.hot:
            return HOT
        if age >= self.forget:
            return FORGOTTEN
        if age < self.warm:
            return WARM
        return GIST if age < self.gist else FORGOTTEN


@dataclass(frozen=True)
class Belongs:
    """Where a checkpoint is to lie (None: nowhere any more), what its entry of refcount.json will say, and why."""

    layer: str | None
    entry: Entry
    action: str
    reason: str


def colder(one: str, other: str) -> str:
    return max(one, other, key=TIERS.index)


def belongs(layer: str, dated: Dated, kept: Kept, rules: Rules, clock: Clock) -> Belongs:
    """Where a checkpoint of a layer belongs now. Age lets it sink; only a recall lets it rise."""
    now = clock.now().timestamp()
    entry, asked = folded(refcount.whole(kept.entry or {}, dated.noted), kept.asked, dated.first, clock)
    entry = refcount.with_week(entry, now, clock)
    last = max((one for one in refcount.moments(entry, clock) if one <= now), default=None)
    since = dated.own if last is None else max(dated.own, last)
    by_age = rules.layer(now - since)
    mark = refcount.moment(entry.get(refcount.FORGOTTEN), clock)
    if (
        mark is not None and mark > now
    ):  # by a clock that was wrong: nothing was forgotten in a time that is still to come
        mark = None
    lay_there = layer == FORGOTTEN or mark is not None
    woken = lay_there and ((mark is None and asked) or (mark is not None and last is not None and last >= mark))
    if woken:
        entry["user_marked"] = True
        target = colder(WARM, by_age)
    elif asked and layer != FORGOTTEN:
        target = by_age
    else:
        target = colder(layer, by_age)
    if target == FORGOTTEN:
        return _forgotten(layer, entry, mark, now, _Since(since, last == since, clock), rules)
    entry.pop(refcount.FORGOTTEN, None)
    told = _Since(since, last == since, clock)
    if target == layer:
        return Belongs(target, entry, STAY, say("belongs beside the other file of its name", "应与同名文件放在一起"))
    if TIERS.index(target) < TIERS.index(layer):
        reason = say(f"{told}: what is recalled becomes young again", f"{told}：被调用的内容会重新变新")
        return Belongs(target, entry, RISE, reason)
    return Belongs(target, entry, MOVE, _sinking(target, told, rules))


def _sinking(target: str, told: _Since, rules: Rules) -> str:
    settings = rules.settings
    if target == WARM:
        return say(
            f"{told}: hot is for the first {settings.hot} (tiers.hot)",
            f"{told}：hot 只保留最初的 {settings.hot}（tiers.hot）",
        )
    return say(
        f"{told}: after {settings.warm} a summary stands for it (tiers.warm)",
        f"{told}：超过 {settings.warm} 后由摘要代表（tiers.warm）",
    )


def _forgotten(layer: str, entry: Entry, mark: float | None, now: float, told: _Since, rules: Rules) -> Belongs:
    """Into forgotten, or out of it for good when it has lain there long enough and nobody marked it."""
    if mark is None or layer != FORGOTTEN:
        mark = int(now)
        entry[refcount.FORGOTTEN] = mark
    settings = rules.settings
    if now - mark >= rules.delete and not entry.get("user_marked"):
        lain = _Since(mark, recalled=False, clock=told.clock)
        reason = say(
            f"forgotten on {lain.when}, {lain.ago} ago: deleted after {settings.delete_after} (tiers.delete_after)",
            f"于 {lain.when} 被遗忘，距今 {lain.ago}：超过 {settings.delete_after} 即删除（tiers.delete_after）",
        )
        return Belongs(None, entry, DELETE, reason)
    if layer == FORGOTTEN:
        return Belongs(layer, entry, STAY, say("belongs beside the other file of its name", "应与同名文件放在一起"))
    if rules.forget <= rules.gist:
        limit, name = settings.forget_after, "tiers.forget_after"
    else:
        limit, name = settings.gist, "tiers.gist"
    reason = say(
        f"{told}: forgotten after {limit} without a recall ({name})",
        f"{told}：{limit} 内没有被调用即被遗忘（{name}）",
    )
    return Belongs(FORGOTTEN, entry, FORGET, reason)


def told_time(at: float, clock: Clock) -> dt.datetime:
    """A moment that is not after now, as the user's clock tells it."""
    try:
        return clock.local(dt.datetime.fromtimestamp(at, dt.UTC))
    except (ValueError, OverflowError, OSError):  # the last day of the calendar does not exist in every zone
        return clock.now()


@dataclass(frozen=True)
class _Since:
    """The moment from which an age counts, in words."""

    at: float
    recalled: bool
    clock: Clock

    @property
    def when(self) -> str:
        return f"{told_time(self.at, self.clock):%Y-%m-%d %H:%M}"

    @property
    def ago(self) -> str:
        seconds = int(self.clock.now().timestamp() - self.at)
        for length, english, chinese in ((86400, "d", "天"), (3600, "h", "小时"), (60, "min", "分钟")):
            if seconds >= length:
                return say(f"{seconds // length} {english}", f"{seconds // length} {chinese}")
        return say("a moment", "片刻")

    def __str__(self) -> str:
        if self.recalled:
            return say(f"last recalled {self.when}, {self.ago} ago", f"上次调用于 {self.when}，距今 {self.ago}")
        return say(f"from {self.when}, {self.ago} ago", f"内容来自 {self.when}，距今 {self.ago}")
