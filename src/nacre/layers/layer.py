"""In which layer a checkpoint belongs: by its age, its recalls and the settings; with the reason in words."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock, duration
from nacre.config.settings import Config, TierSettings
from nacre.errors import BadInput
from nacre.guard.sanitise import clean
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.text.blocks import FRONT, blocks
from nacre.vault import refcount
from nacre.vault.checkpoints import FORGOTTEN, GIST, HOT, WARM, Family, stem_of
from nacre.vault.files import TIERS
from nacre.vault.refcount import ROTATED, Count, Recall, moment

_HEAD = 16_384  # bytes of a file in which its time is looked for
_FRONT_LINES = 210
_FIELD = re.compile(r"(?:date|created|updated)\s*:\s*(.+)", re.IGNORECASE)
_WRITTEN = re.compile(
    r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?(?![\d:])"
)
_TIME = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}"
_SESSION = re.compile(rf"session:\S+ \| [^|]+ \| ({_TIME})(?: – ({_TIME}))?(?: \| |$)")
_NAMED = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:-(\d{2})(\d{2})(?!\d))?(?!\d)")


class CheckpointDate(NamedTuple):
    """Times in seconds since 1970. `noted` is what to write down as `created`; `by_file` says that it must be: nothing but
    the file time told it."""

    own: float
    first: float  # no recall of it can be older
    noted: int
    by_file: bool = False


class _FileFacts(NamedTuple):
    """What is known of a file besides its text."""

    created: float | None
    modified: float
    now: float
    clock: Clock


def head_of(path: Path) -> str:
    """The beginning of a file, in which its time is looked for."""
    with open(path, "rb", buffering=0) as file:
        return file.read(_HEAD).decode("utf-8", errors="replace")


def date_checkpoint(head: str, name: str, created: object, modified: float, clock: Clock) -> CheckpointDate:
    """The time of a checkpoint, by the beginning of its text, its name, the `created` of its counts, and its file time.

    A time that has not come yet is not believed.
    """
    now = clock.now().timestamp()
    known = _FileFacts(moment(created, clock), modified, now, clock)
    lines = head.removeprefix("\ufeff").replace("\r\n", "\n").split("\n", _FRONT_LINES)
    for told in (list(_in_front(lines, known)), list(_in_session(lines, known)), list(_in_name(name, known))):
        if told:
            latest = max(told)
            return latest._replace(own=min(latest.own, now), first=min(one.first for one in told))
    if known.created is not None and known.created <= now:
        return CheckpointDate(known.created, known.created, int(known.created))
    seen = int(max(0, min(modified, now)))  # whole seconds, as they are noted: the same the next time
    return CheckpointDate(seen, seen, seen, by_file=True)


def _in_front(lines: list[str], known: _FileFacts) -> Iterator[CheckpointDate]:
    """The dates that the frontmatter gives; read line by line, so that no other field can spoil them."""
    if lines[0].rstrip() != "---":
        return
    front = next(iter(blocks(lines[:_FRONT_LINES])), None)
    if front is None or front.kind != FRONT:
        return
    for line in lines[1 : front.end - 1]:
        if field := _FIELD.fullmatch(line.rstrip()):
            yield from _written(field[1].strip("\"' "), known)


def _written(value: str, known: _FileFacts) -> Iterator[CheckpointDate]:
    if value.isdigit() and (at := moment(int(value), known.clock)):
        yield from _exact(at, known)
    elif found := _WRITTEN.match(value):
        year, month, day, hour, minute, second, zone = found.groups()
        date = f"{year}-{int(month):02}-{int(day):02}"
        if hour is None:
            yield from _day(date, known)
        else:
            yield from _parsed(f"{date}T{int(hour):02}:{minute}:{second or '00'}{zone or ''}", known)


def _in_session(lines: list[str], known: _FileFacts) -> Iterator[CheckpointDate]:
    """The line that stands under the title of the checkpoints which Nacre writes: when the talk began, and when it ended."""
    found = next((match for line in lines[:6] if (match := _SESSION.match(line))), None)
    for written in found.groups() if found else ():
        if written:
            yield from _parsed(written, known)


def _in_name(name: str, known: _FileFacts) -> Iterator[CheckpointDate]:
    found = _NAMED.search(name.rpartition("/")[2])
    if not found:
        return
    exact = list(_parsed(f"{found[1]}T{found[2]}:{found[3]}", known)) if found[2] else []
    yield from exact or _day(found[1], known)


def _parsed(text: str, known: _FileFacts) -> Iterator[CheckpointDate]:
    try:
        at = known.clock.parse(text).timestamp()
    except (BadInput, ValueError, OverflowError):
        return
    yield from _exact(at, known)


def _exact(at: float, known: _FileFacts) -> Iterator[CheckpointDate]:
    if 0 <= at <= known.now:
        yield CheckpointDate(at, at, int(at))


def _day(date: str, known: _FileFacts) -> Iterator[CheckpointDate]:
    """A day without a time: what is known of the file may say when on that day it was; else the whole day counts."""
    try:
        end = known.clock.parse(date).timestamp()
        start = known.clock.parse(f"{date}T00:00").timestamp()
    except (BadInput, ValueError, OverflowError):
        return
    if not 0 <= start <= known.now:
        return
    if known.created is not None and _is_on(known.created, date, known.clock):
        yield CheckpointDate(known.created, start, int(known.created))
    elif _is_on(known.modified, date, known.clock):
        seen = int(known.modified)
        yield CheckpointDate(seen, start, seen, by_file=True)
    else:
        yield CheckpointDate(end, start, int(end))


def _is_on(at: float, date: str, clock: Clock) -> bool:
    try:
        return clock.local(dt.datetime.fromtimestamp(at, dt.UTC)).date().isoformat() == date
    except (ValueError, OverflowError, OSError):
        return False


# What recalls.jsonl tells of each checkpoint, and the counts of refcount.json that belong to it.

_A_DAY = 86400


class CountedRecall(NamedTuple):
    """One recall of a checkpoint: the second, and the way it went."""

    at: int
    via: str


@dataclass(frozen=True)
class CheckpointCounts:
    """What is known of one family: the places under which it was counted so far, its entry, its recalls in recalls.jsonl."""

    keys: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    asked: tuple[CountedRecall, ...] = ()
    strange: bool = False  # the file holds something under its place that is no entry


@dataclass
class _Collected:
    keys: list[str] = field(default_factory=list)
    asked: list[CountedRecall] = field(default_factory=list)


def gather_counts(
    workspace: Workspace,
    config: Config,
    clock: Clock,
    found: Sequence[Family],
    entries: Mapping[str, Any],
    recalls: Iterable[Recall],
) -> list[CheckpointCounts]:
    """For each family what belongs to it: by the place where one of its files lies, else by its name."""
    which = _FamilyLookup(found)
    made = [_Collected() for _ in found]
    for key in sorted(entries, key=lambda key: key not in which.by_place):
        at = which.of(key, lambda one: bool(made[one].keys))
        if at is not None:
            made[at].keys.append(key)
    shown = clean(f"{workspace.relative(Path(os.path.normpath(workspace.tiers(config.tiers.path))))}/")
    now = clock.now().timestamp()
    for one in recalls:
        if not one.path.startswith(shown):
            continue
        at, when = which.of(one.path[len(shown) :]), refcount.moment(one.at, clock)
        if at is not None and when is not None and when <= now:
            made[at].asked.append(CountedRecall(int(when), one.via))
    return [_kept(one, entries) for one in made]


def _kept(one: _Collected, entries: Mapping[str, Any]) -> CheckpointCounts:
    known = [entries[key] for key in one.keys]
    if not all(isinstance(entry, dict) for entry in known):
        return CheckpointCounts(asked=tuple(one.asked), strange=True)
    entry = None
    for told in known:
        entry = told if entry is None else refcount.merge_count(entry, told)
    return CheckpointCounts(tuple(one.keys), entry, tuple(one.asked))


class _FamilyLookup:
    """The families by the places of their files and by their names."""

    def __init__(self, found: Sequence[Family]) -> None:
        self.by_place: dict[str, int] = {}
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        for at, family in enumerate(found):
            for name in {family.stem, clean(family.stem)}:  # recalls are written without what cannot be seen
                self.by_stem[name].append(at)
            for piece in family.pieces:
                self.by_place.setdefault(clean(piece.place), at)
        self.by_place |= {piece.place: at for at, family in enumerate(found) for piece in family.pieces}

    def of(self, place: str, has_one: Callable[[int], bool] = lambda _: False) -> int | None:
        """The family that a place belongs to; of several by its name, rather one that does not have what is given out."""
        if place in self.by_place:
            return self.by_place[place]
        layer, _, name = place.partition("/")
        if layer not in TIERS or not name.endswith(".md"):
            return None
        return min(self.by_stem.get(stem_of(name), ()), key=has_one, default=None)


def fold_recalls(
    entry: Mapping[str, Any], asked: Sequence[CountedRecall], first: float, clock: Clock
) -> tuple[Count, bool]:
    """The entry with the recalls that it did not know yet, and whether one of them still has to let the checkpoint rise.

    Recalls from before the checkpoint was there were of another one by the same name.
    """
    mine = [one for one in asked if one.at >= first - _A_DAY]
    after, added = refcount.with_recalls(entry, Counter(one.at for one in mine), clock)
    waiting = {one.at for one in mine if one.via != ROTATED}
    return after, any(at in waiting for at in added)


# In which layer a checkpoint belongs: by its age since it was made or last recalled, and the reason in words.

MOVE, RISE, FORGET, DELETE, STAY = "move", "rise", "forget", "delete", "stay"


@dataclass(frozen=True)
class LayerRules:
    """The settings of the layers, as written and in seconds."""

    settings: TierSettings
    hot: float
    warm: float
    gist: float
    forget: float
    delete: float

    @classmethod
    def of(cls, settings: TierSettings) -> LayerRules:
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
class Placement:
    """Where a checkpoint is to lie (None: nowhere any more), what its entry of refcount.json will say, and why."""

    layer: str | None
    entry: Count
    action: str
    reason: str


def colder(one: str, other: str) -> str:
    return max(one, other, key=TIERS.index)


def decide_layer(
    layer: str, dated: CheckpointDate, kept: CheckpointCounts, rules: LayerRules, clock: Clock
) -> Placement:
    """Where a checkpoint of a layer belongs now. Age lets it sink; only a recall lets it rise."""
    now = clock.now().timestamp()
    entry, asked = fold_recalls(refcount.complete_count(kept.entry or {}, dated.noted), kept.asked, dated.first, clock)
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
        return Placement(target, entry, STAY, say("belongs beside the other file of its name", "应与同名文件放在一起"))
    if TIERS.index(target) < TIERS.index(layer):
        reason = say(f"{told}: what is recalled becomes young again", f"{told}：被调用的内容会重新变新")
        return Placement(target, entry, RISE, reason)
    return Placement(target, entry, MOVE, _sinking(target, told, rules))


def _sinking(target: str, told: _Since, rules: LayerRules) -> str:
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


def _forgotten(layer: str, entry: Count, mark: float | None, now: float, told: _Since, rules: LayerRules) -> Placement:
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
        return Placement(None, entry, DELETE, reason)
    if layer == FORGOTTEN:
        return Placement(layer, entry, STAY, say("belongs beside the other file of its name", "应与同名文件放在一起"))
    if rules.forget <= rules.gist:
        limit, name = settings.forget_after, "tiers.forget_after"
    else:
        limit, name = settings.gist, "tiers.gist"
    reason = say(
        f"{told}: forgotten after {limit} without a recall ({name})",
        f"{told}：{limit} 内没有被调用即被遗忘（{name}）",
    )
    return Placement(FORGOTTEN, entry, FORGET, reason)


def local_time(at: float, clock: Clock) -> dt.datetime:
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
        return f"{local_time(self.at, self.clock):%Y-%m-%d %H:%M}"

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
