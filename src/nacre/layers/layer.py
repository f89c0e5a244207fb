"""In which layer a checkpoint belongs: by its age, its recalls and the settings; with the reason in words."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from nacre.clock import Clock, duration
from nacre.config.settings import TierSettings
from nacre.errors import BadInput
from nacre.guard.sanitise import clean
from nacre.i18n import say
from nacre.model.workspace import Context
from nacre.vault import refcount
from nacre.vault.checkpoints import FORGOTTEN, GIST, HOT, WARM, Checkpoint, Family, stem_of
from nacre.vault.refcount import ROTATED, Count, Recall, moment
from nacre.vault.storage import TIERS, storage_of

_HEAD = 16_384  # bytes of a file in which its time is looked for
_FIELD = re.compile(r"(?:date|created|updated)\s*:\s*(.+)", re.IGNORECASE)
_WRITTEN = re.compile(
    r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?(?![\d:])"
)
_TIME = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}"
_SESSION = re.compile(rf"session:\S+ \| [^|]+ \| ({_TIME})(?: – ({_TIME}))?(?: \| |$)")
_NAMED = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:-(\d{2})(\d{2})(?!\d))?(?!\d)")


class CheckpointDate(NamedTuple):
    """When the content of a checkpoint is from, in seconds since 1970; must be written down as `created` where `by_file`."""

    own: float
    by_file: bool = False


def date_checkpoint(context: Context, checkpoint: Checkpoint, entry: Mapping[str, Any] | None) -> CheckpointDate:
    """The time of a checkpoint, by its head, its name, the `created` of its counts or its file; never later than now."""
    clock, now = context.clock, context.clock.now().timestamp()
    head = storage_of(context.workspace).read(context.workspace.relative(checkpoint.path), _HEAD) or b""
    lines = head.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    texts: list[str] = []
    if lines[0].rstrip() == "---":
        fields = (_FIELD.fullmatch(line.rstrip()) for line in takewhile(lambda line: line.rstrip() != "---", lines[1:]))
        texts = [field[1].strip("\"' ") for field in fields if field]
    times = _written_times(texts, clock)
    if not times and (session := next((match for line in lines[:6] if (match := _SESSION.match(line))), None)):
        times = _written_times(filter(None, session.groups()), clock)
    if not times and (named := _NAMED.search(checkpoint.name.rpartition("/")[2])):
        exact = [f"{named[1]} {named[2]}:{named[3]}"] if named[2] else []
        times = _written_times([*exact, named[1]], clock)[:1]
    if times:
        return CheckpointDate(max(times))
    made = moment(entry.get("created"), clock) if entry else None
    if made is not None and made <= now:
        return CheckpointDate(made)
    # Whole seconds, as they are noted: the same the next time.
    return CheckpointDate(int(max(0, min(checkpoint.modified / 1e9, now))), by_file=True)


def _written_times(texts: Iterable[str], clock: Clock) -> list[float]:
    return [time for text in texts if (time := _written_time(text, clock)) is not None]


def _written_time(text: str, clock: Clock) -> float | None:
    """A time as people and tools write it; a day without one is its end, today now. None for what cannot be."""
    now = clock.now().timestamp()
    if text.isdigit():
        at = moment(int(text), clock)
    elif written := _WRITTEN.match(text):
        year, month, day, hour, minute, second, zone = written.groups()
        date = f"{year}-{int(month):02}-{int(day):02}"
        time = f"T{int(hour):02}:{minute}:{second or '00'}{zone or ''}" if hour else ""
        try:
            at = clock.parse(date + time).timestamp()
        except (BadInput, ValueError, OverflowError):
            return None
        if not hour and date == clock.today().isoformat():
            at = min(at, now)
    else:
        return None
    return at if at is not None and 0 <= at <= now else None


class CheckpointCounts(NamedTuple):
    """What is known of one family: the places under which it was counted so far, its entry, its recalls in recalls.jsonl."""

    keys: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    recalls: tuple[tuple[int, str], ...] = ()  # the second, and by which way


def gather_counts(
    context: Context, known: Sequence[Family], entries: Mapping[str, Any], recalls: Iterable[Recall]
) -> list[CheckpointCounts]:
    """For each family what belongs to it: by the place where one of its files lies, else by its name."""
    # All names in the form in which recalls are written: without what cannot be seen.
    by_place = {clean(piece.place): number for number, family in enumerate(known) for piece in family.pieces}
    by_stem = {clean(family.stem): number for number, family in reversed([*enumerate(known)])}
    keys: list[list[str]] = [[] for _ in known]
    recalled: list[list[tuple[int, str]]] = [[] for _ in known]

    def family_of(place: str) -> int | None:
        """The one that a place belongs to: that has a file there, else the first of that name."""
        layer, _, name = clean(place).partition("/")
        by_name = by_stem.get(stem_of(name)) if layer in TIERS and name.endswith(".md") else None
        return by_place.get(clean(place), by_name)

    for key in sorted(entries, key=lambda key: clean(key) not in by_place):
        if isinstance(entries[key], dict) and (number := family_of(key)) is not None:  # what is no entry stays as it is
            keys[number].append(key)
    root = os.path.normpath(context.workspace.tiers(context.config.tiers.path))
    shown = clean(f"{context.workspace.relative(Path(root))}/")
    now = context.clock.now().timestamp()
    for recall in recalls:
        number = family_of(recall.path[len(shown) :]) if recall.path.startswith(shown) else None
        at = moment(recall.at, context.clock)
        if number is not None and at is not None and at <= now:
            recalled[number].append((int(at), recall.via))
    counts: list[CheckpointCounts] = []
    for own, times in zip(keys, recalled, strict=True):
        entry = refcount.merged_count(entries[key] for key in own) if own else None
        counts.append(CheckpointCounts(tuple(own), entry, tuple(times)))
    return counts


def fold_recalls(entry: Mapping[str, Any], recalls: Sequence[tuple[int, str]], clock: Clock) -> tuple[Count, bool]:
    """The entry with the recalls that it did not know, and whether one of them lets it rise."""
    after, added = refcount.with_recalls(entry, Counter(at for at, _ in recalls), clock)
    waiting = {at for at, via in recalls if via != ROTATED}
    return after, any(at in waiting for at in added)


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
        return cls(settings, *(duration(text).total_seconds() for text in named))

    def layer(self, age: float) -> str:
        if age < self.hot:
            return HOT
        if age >= min(self.forget, max(self.warm, self.gist)):
            return FORGOTTEN
        return WARM if age < self.warm else GIST


class Placement(NamedTuple):
    """Where a checkpoint is to lie (None: nowhere any more), what its entry of refcount.json will say, and why."""

    layer: str | None
    entry: Count
    action: str
    reason: str


def decide_layer(
    layer: str, dated: CheckpointDate, kept: CheckpointCounts, rules: LayerRules, clock: Clock
) -> Placement:
    """Where a checkpoint of a layer belongs now. Age lets it sink; only a recall lets it rise."""
    now = clock.now().timestamp()
    complete = refcount.complete_count(kept.entry or {}, int(dated.own))
    entry, recalled = fold_recalls(complete, kept.recalls, clock)
    moments = [at for at in refcount.moments(entry, clock) if at <= now]
    entry["7d"] = sum(now - refcount.WEEK < at for at in moments)
    last = max(moments, default=None)
    since = dated.own if last is None else max(dated.own, last)
    by_age = rules.layer(now - since)
    mark = moment(entry.get(refcount.FORGOTTEN), clock)
    if mark is not None and mark > now:  # by a clock that was wrong
        mark = None
    if (layer == FORGOTTEN and mark is None and recalled) or (mark is not None and last is not None and last >= mark):
        entry["user_marked"] = True
        target = max(WARM, by_age, key=TIERS.index)
    else:
        target = by_age if recalled and layer != FORGOTTEN else max(layer, by_age, key=TIERS.index)
    when, ago = _when(since, clock)
    since_text = say(f"from {when}, {ago} ago", f"内容来自 {when}，距今 {ago}")
    if last == since:
        since_text = say(f"last recalled {when}, {ago} ago", f"上次调用于 {when}，距今 {ago}")
    settings = rules.settings
    if target == FORGOTTEN:
        if mark is None or layer != FORGOTTEN:
            mark = entry[refcount.FORGOTTEN] = int(now)
        if now - mark >= rules.delete and not entry.get("user_marked"):
            when, ago = _when(mark, clock)
            reason = say(
                f"forgotten on {when}, {ago} ago: deleted after {settings.delete_after} (tiers.delete_after)",
                f"于 {when} 被遗忘，距今 {ago}：超过 {settings.delete_after} 即删除（tiers.delete_after）",
            )
            return Placement(None, entry, DELETE, reason)
    else:
        entry.pop(refcount.FORGOTTEN, None)
    action, why = (
        MOVE,
        (
            f"after {settings.warm} a summary stands for it (tiers.warm)",
            f"超过 {settings.warm} 后由摘要代表（tiers.warm）",
        ),
    )
    if target == layer:
        return Placement(target, entry, STAY, say("belongs beside the other file of its name", "应与同名文件放在一起"))
    if target == FORGOTTEN:
        limit, name = settings.gist, "tiers.gist"
        if rules.forget <= rules.gist:
            limit, name = settings.forget_after, "tiers.forget_after"
        why = f"forgotten after {limit} without a recall ({name})", f"{limit} 内没有被调用即被遗忘（{name}）"
        action = FORGET
    elif TIERS.index(target) < TIERS.index(layer):
        action, why = RISE, ("what is recalled becomes young again", "被调用的内容会重新变新")
    elif target == WARM:
        why = f"hot is for the first {settings.hot} (tiers.hot)", f"hot 只保留最初的 {settings.hot}（tiers.hot）"
    return Placement(target, entry, action, say(f"{since_text}: {why[0]}", f"{since_text}：{why[1]}"))


def local_time(at: float, clock: Clock) -> dt.datetime:
    """A moment that is not after now, as the user's clock tells it."""
    return clock.local(dt.datetime.fromtimestamp(at, dt.UTC))


def _when(at: float, clock: Clock) -> tuple[str, str]:
    seconds = int(clock.now().timestamp() - at)
    ago = say("a moment", "片刻")
    for length, english, chinese in ((86400, "d", "天"), (3600, "h", "小时"), (60, "min", "分钟")):
        if seconds >= length:
            ago = say(f"{seconds // length} {english}", f"{seconds // length} {chinese}")
            break
    return f"{local_time(at, clock):%Y-%m-%d %H:%M}", ago
