"""nacre organise: in which layer each checkpoint belongs, by its age, its recalls and the settings, and the moves that bring it there; a
recall moves one at once."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre import disk
from nacre.clock import Clock, duration
from nacre.config.settings import TierSettings
from nacre.errors import BadInput, ChangedOutside, NacreError, Waiting
from nacre.guard.sanitise import clean
from nacre.i18n import say
from nacre.model import Context, Problem, Step
from nacre.vault import refcount
from nacre.vault.checkpoints import (
    FORGOTTEN,
    GIST,
    HOT,
    WARM,
    Checkpoint,
    Family,
    LayerPlaces,
    Moves,
    bring_back,
    checkpoint_bytes,
    families,
    layers_lock,
    list_checkpoints,
    place_of,
    survey_checkpoints,
)
from nacre.vault.history import Operation, operation
from nacre.vault.refcount import ROTATED, SUMMARY_OF, Count, Counts, Recall, moment
from nacre.vault.storage import TIERS, stem_of, storage_of
from nacre.vault.writing import REDACT, Batch, changed_outside, guarded

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

_HEAD = 16_384  # bytes of a file in which its time is looked for
_FIELD = re.compile(r"(?:date|created|updated)\s*:\s*(.+)", re.IGNORECASE)
_WRITTEN = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?![\d:])")
_TIME = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}"
_SESSION = re.compile(rf"session:\S+ \| [^|]+ \| ({_TIME})(?: – ({_TIME}))?(?: \| |$)")
_NAMED = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:-(\d{2})(\d{2})(?!\d))?(?!\d)")


class CheckpointDate(NamedTuple):
    """When the content of a checkpoint is from, in seconds since 1970; must be written down as `created` where `by_file`."""

    at: float
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
    created = moment(entry.get("created"), clock) if entry else None
    if created is not None and created <= now:
        return CheckpointDate(created)
    # Whole seconds, as they are noted: the same the next time.
    return CheckpointDate(int(max(0, min(checkpoint.modified / 1e9, now))), by_file=True)


def _written_times(texts: Iterable[str], clock: Clock) -> list[float]:
    """The times with which texts begin, in ISO 8601: a day without one is its end, today now; none that cannot be or is to come."""
    times, today, now = list[float](), clock.today().isoformat(), clock.now().timestamp()
    for written in filter(None, map(_WRITTEN.match, texts)):
        with contextlib.suppress(BadInput, ValueError, OverflowError):
            at = clock.parse(written[0]).timestamp()
            times.append(min(at, now) if written[0] == today else at)
    return [at for at in times if 0 <= at <= now]


class CheckpointCounts(NamedTuple):
    """What is known of one family: its keys in refcount.json, its merged entry, its recalls in recalls.jsonl."""

    keys: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    recalls: tuple[tuple[int, str], ...] = ()  # the second, and by which way


def gather_counts(
    context: Context, grouped: Sequence[Family], entries: Mapping[str, Any], recalls: Iterable[Recall]
) -> list[CheckpointCounts]:
    """The counts of each family, found by the places of its files, else by its name."""
    # All names in the form in which recalls are written: without what cannot be seen.
    by_place = {clean(piece.place): number for number, family in enumerate(grouped) for piece in family.pieces}
    by_stem = {clean(family.stem): number for number, family in reversed([*enumerate(grouped)])}
    keys: list[list[str]] = [[] for _ in grouped]
    recalled: list[list[tuple[int, str]]] = [[] for _ in grouped]

    def family_of(place: str) -> int | None:
        """The number of the family with a file at a place, else of the first with that name."""
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
    merged = (refcount.merged_count(entries[key] for key in known) if known else None for known in keys)
    rows = zip(keys, merged, recalled, strict=True)
    return [CheckpointCounts(tuple(known), entry, tuple(times)) for known, entry, times in rows]


def fold_recalls(entry: Mapping[str, Any], recalls: Sequence[tuple[int, str]], clock: Clock) -> tuple[Count, bool]:
    """The entry with the recalls that it lacked, and whether one of them lets the checkpoint rise."""
    after, added = refcount.with_recalls(entry, Counter(at for at, _ in recalls), clock)
    return after, not set(added).isdisjoint(at for at, via in recalls if via != ROTATED)


MOVE, RISE, FORGET, DELETE, STAY = "move", "rise", "forget", "delete", "stay"


@cache
def limits_of(settings: TierSettings) -> dict[str, float]:
    """Every threshold by its name."""
    names = ("hot", "warm", "gist", "forget_after", "delete_after")
    return {name: duration(getattr(settings, name)).total_seconds() for name in names}


def _layer_by_age(age: float, limits: Mapping[str, float]) -> str:
    if age < limits["hot"]:
        return HOT
    if age >= min(limits["forget_after"], max(limits["warm"], limits["gist"])):
        return FORGOTTEN
    return WARM if age < limits["warm"] else GIST


class Placement(NamedTuple):
    """The layer of a checkpoint (None: deleted), its new entry in refcount.json, and the reason; `rule` is the reason without times."""

    layer: str | None
    entry: Count
    action: str
    reason: str
    rule: str = ""


def decide_layer(
    layer: str, dated: CheckpointDate, counts: CheckpointCounts, settings: TierSettings, clock: Clock
) -> Placement:
    """Where a checkpoint of a layer belongs now. Age lets it sink; only a recall lets it rise."""
    now, limits = clock.now().timestamp(), limits_of(settings)
    complete = refcount.complete_count(counts.entry or {}, int(dated.at))
    entry, recalled = fold_recalls(complete, counts.recalls, clock)
    moments = [at for at in refcount.moments(entry, clock) if at <= now]
    entry["7d"] = sum(now - refcount.WEEK < at for at in moments)
    last = max(moments, default=None)
    since = dated.at if last is None else max(dated.at, last)
    by_age = _layer_by_age(now - since, limits)
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
        since_text = say(f"last recalled {when}, {ago} ago", f"上次召回于 {when}，距今 {ago}")
    if target == FORGOTTEN:
        if mark is None or layer != FORGOTTEN:
            mark = entry[refcount.FORGOTTEN] = int(now)
        if now - mark >= limits["delete_after"] and not entry.get("user_marked"):
            when, ago = _when(mark, clock)
            rule = say(
                f"deleted after {settings.delete_after} (tiers.delete_after)",
                f"超过 {settings.delete_after} 即删除（tiers.delete_after）",
            )
            reason = say(f"forgotten on {when}, {ago} ago: {rule}", f"于 {when} 遗忘，距今 {ago}：{rule}")
            return Placement(None, entry, DELETE, reason, rule)
    else:
        entry.pop(refcount.FORGOTTEN, None)
    if target == layer:
        return Placement(target, entry, STAY, say("stays with the other file of the same name", "应与同名文件放在一起"))
    english = f"after {settings.warm} a summary takes its place (tiers.warm)"
    action, why = MOVE, (english, f"超过 {settings.warm} 后由摘要代替（tiers.warm）")
    if target == FORGOTTEN:
        name = "forget_after" if limits["forget_after"] <= limits["gist"] else "gist"
        limit, name = getattr(settings, name), f"tiers.{name}"
        why = f"forgotten after {limit} without a recall ({name})", f"{limit} 内未被召回即遗忘（{name}）"
        action = FORGET
    elif TIERS.index(target) < TIERS.index(layer):
        action, why = RISE, ("a recall resets its age", "被召回后重新算作最近的内容")
    elif target == WARM:
        why = f"stays in hot for only {settings.hot} (tiers.hot)", f"在 hot 层只停留 {settings.hot}（tiers.hot）"
    return Placement(target, entry, action, say(f"{since_text}: {why[0]}", f"{since_text}：{why[1]}"), say(*why))


def local_time(at: float, clock: Clock) -> dt.datetime:
    """A moment in the user's time zone."""
    return clock.local(dt.datetime.fromtimestamp(at, dt.UTC))


def _when(at: float, clock: Clock) -> tuple[str, str]:
    seconds = int(clock.now().timestamp() - at)
    ago = say("a moment", "片刻")
    for length, english, chinese in ((86400, "d", "天"), (3600, "h", "小时"), (60, "min", "分钟")):
        if seconds >= length:
            ago = say(f"{seconds // length} {english}", f"{seconds // length} {chinese}")
            break
    return f"{local_time(at, clock):%Y-%m-%d %H:%M}", ago


# What becomes of every checkpoint, and carrying it out.

SUMMARISE = "summarise"
# The coldest first: what leaves a layer makes room for what comes into it.
_ORDER = (DELETE, FORGET, MOVE, STAY, RISE)
_MARK = 10  # characters of the hash of the text that a summary was made of
TRIES = 3  # times that a plan is made before the workspace is held for it
MANY = 100  # summaries of one run that the classifiers have a say in; a backlog of thousands is summarised by structure alone
WAIT = 2.0  # seconds that a recall waits for others to finish; what then stays is moved by the next organise

Summarise = Callable[[str], str]  # the text of a checkpoint → the text of its summary
Summaries = dict[str, bytes | NacreError]  # by the hash of the text they were made of; or why one could not be made


@dataclass(frozen=True)
class Transition:
    """What happens to one checkpoint. Without `after` it is deleted."""

    family: Family
    counts: CheckpointCounts
    dated: CheckpointDate
    belongs: Placement
    summary_of: str = ""  # the hash of the text that a summary is to be made of
    after: Family | None = None
    moves: Moves = ()
    steps: tuple[Step, ...] = ()

    def counted(self) -> dict[str, Mapping[str, Any] | None]:
        """Its counts by place after the move. A new entry without information is not written."""
        if self.after is None:
            return {}
        entry = self.belongs.entry
        if self.summary_of:
            entry = {**entry, "summarized": True, SUMMARY_OF: self.summary_of[:_MARK]}
        is_empty = self.counts.entry is None and entry == refcount.new_count(int(self.dated.at))
        return {self.after.lead.place: None if is_empty and not self.dated.by_file else entry}


@dataclass(frozen=True)
class OrganisePlan:
    """The transitions in order, and what else is known."""

    families: tuple[Family, ...] = ()  # all there are, also those that are left alone
    turns: tuple[Transition, ...] = ()
    counts: Counts = Counts({}, None)
    finished: frozenset[str] = frozenset()  # entries whose checkpoints were deleted by a run that was cut short
    left: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    def entries(self, done: Iterable[Transition]) -> dict[str, Any]:
        """The counts after some of the transitions; all other entries stay as they are."""
        turns = list(done)
        counted = {place: entry for turn in turns for place, entry in turn.counted().items()}
        keys = self.finished.union(*(turn.counts.keys for turn in turns))
        return refcount.with_counts(self.counts.entries, keys, dict(sorted(counted.items())))


def plan(context: Context, summaries: Mapping[str, bytes | NacreError] | None = None) -> OrganisePlan:
    """What organising would do. Nothing where the counts cannot be read, because recalls are unknown then."""
    workspace, clock, config = context.workspace, context.clock, context.config
    delete_after, shown = limits_of(config.tiers)["delete_after"], workspace.relative
    checkpoints, problems = survey_checkpoints(workspace, config)
    grouped = families(checkpoints)
    try:
        counts = refcount.read_counts(workspace, config)
    except NacreError as error:
        sentence = say(
            f"{error} Nothing was organised, because the recall counts are unknown.",
            f"{error} 无法得知召回次数，因此没有整理任何内容。",
        )
        path = shown(workspace.refcount(config.tiers.path))
        return OrganisePlan(tuple(grouped), left=(*problems, Problem("unreadable counts", sentence, path)))
    recalls = refcount.read_recalls(workspace)
    turns: list[Transition] = []
    for family, counted in zip(grouped, gather_counts(context, grouped, counts.entries, recalls.recalls), strict=True):
        try:
            dated = date_checkpoint(context, family.lead, counted.entry)
            belongs = decide_layer(family.layer, dated, counted, config.tiers, clock)
            entry, source = belongs.entry, ""
            if (
                family.original
                and belongs.layer
                and (belongs.layer == GIST or (family.summary and SUMMARY_OF not in entry))
            ):
                read = disk.digest(checkpoint_bytes(workspace, family.original))
                is_made = family.summary and entry.get(SUMMARY_OF, read[:_MARK]) == read[:_MARK]
                source = read if belongs.layer == GIST and not is_made else ""
                if family.summary:
                    entry.setdefault(SUMMARY_OF, read[:_MARK])
            if family.summary and belongs.layer:
                entry["summarized"] = True
            if isinstance(reason := (summaries or {}).get(source), NacreError):
                sentence = say(
                    f"{shown(family.lead.path)} could not be summarised, so it stays in warm: {reason}",
                    f"无法为 {shown(family.lead.path)} 生成摘要，因此留在 warm 层：{reason}",
                )
                if not isinstance(reason, Waiting):  # the user's agent is still to come for it
                    problems.append(Problem("left for the next run", sentence, shown(family.lead.path)))
                belongs, source = belongs._replace(layer=WARM), ""
            turns.append(Transition(family, counted, dated, belongs, source))
        except (NacreError, OSError) as error:
            problems.append(Problem("left alone", str(error), shown(family.lead.path)))
    # Entries of checkpoints that are gone, and whose time had come: their deletion was cut short before it was noted.
    stems, finished, now = {family.stem for family in grouped}, set(), clock.now().timestamp()
    for key, entry in counts.entries.items():
        layer, _, name = key.partition("/")
        if layer in TIERS and stem_of(name) not in stems and isinstance(entry, dict) and not entry.get("user_marked"):
            since = moment(entry.get(refcount.FORGOTTEN), clock)
            if since is not None and now - since >= delete_after:
                finished.add(key)
    placed = tuple(_placed(context, turns, problems))
    return OrganisePlan(tuple(grouped), placed, counts, frozenset(finished), tuple(problems), recalls.problems)


def _placed(context: Context, turns: Iterable[Transition], problems: list[Problem]) -> Iterator[Transition]:
    """The transitions in the order in which they are made, each with its places and steps."""
    places = LayerPlaces(context.workspace, context.config)
    shown = context.workspace.relative

    def order(turn: Transition) -> tuple[int, int, str]:
        layer = turn.belongs.layer or TIERS[-1]
        return _ORDER.index(turn.belongs.action), -TIERS.index(layer), turn.family.lead.place

    for turn in sorted(turns, key=order):
        family, belongs = turn.family, turn.belongs
        if belongs.layer is None:
            places.clear(family)
            steps = [Step(DELETE, shown(piece.path), belongs.reason) for piece in family.pieces]
            yield replace(turn, steps=tuple(steps))
            continue
        try:
            with_summary = bool(turn.summary_of) and family.summary is None
            after, moves = places.place(family, belongs.layer, with_summary=with_summary)
        except NacreError as error:
            problems.append(Problem("left alone", str(error), shown(family.lead.path)))
            continue
        steps = []
        if turn.summary_of and family.original:
            reason = belongs.reason
            if family.summary:
                reason = say("it changed after its summary was written", "生成摘要后内容又有改动")
            summary = shown(places.root / place_of(GIST, after.stem, summary=True))
            steps.append(Step(SUMMARISE, shown(family.original.path), reason, summary))
        action = MOVE if belongs.action == STAY else belongs.action
        steps += [Step(action, shown(piece.path), belongs.reason, shown(to)) for piece, to in moves]
        yield replace(turn, steps=tuple(steps), after=after, moves=moves)


@dataclass(frozen=True)
class OrganiseReport:
    """What was done, or would be, and how many checkpoints lay in each layer before and after."""

    steps: tuple[Step, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]
    changed: bool
    dry_run: bool = False
    counted: int = 0  # recalls that were added to the counts
    left: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def by_brain(brain: Callable[[], Judge | None], asking: Context | None = None) -> Summarise:
    """A function that summarises with the local brain, loaded when first needed; with the user's own model where the settings of
    `asking` choose one."""
    number = count(1)

    def summarise(text: str) -> str:
        from nacre.brain.local.gist import rendered, summary
        from nacre.guard.secrets import redact

        safe = redact(text).text  # whole, before it is cut into sentences and tags in which no label stands
        gist = summary(safe, brain() if next(number) <= MANY else None)
        if asking and asking.config.brain.summarise != "local":
            from nacre.brain.summarise import with_model

            gist = with_model(asking, safe, gist)
        return rendered(gist)

    return summarise


def organise(context: Context, summarise: Summarise, *, dry_run: bool = False) -> OrganiseReport:
    """Move every checkpoint into its layer. Summaries are made while the lock is not held."""
    workspace, config = context.workspace, context.config
    left: list[Problem] = []
    if dry_run:
        planned = plan(context)
        entries = planned.entries(planned.turns)
        going = {turn.family: turn.belongs.layer for turn in planned.turns}
        layers = [going.get(family, family.layer) for family in planned.families]
    else:
        summaries: Summaries = {}
        for tries in range(TRIES):
            with operation(context, "organise") as op, layers_lock(workspace, config):
                planned = plan(context, summaries)
                missing = [turn for turn in planned.turns if turn.summary_of and turn.summary_of not in summaries]
                if not missing or tries == TRIES - 1:  # a text that changes every time is left for the next run
                    left, entries = apply(op, planned, summaries)
                    break
            for turn in missing:
                with contextlib.suppress(ChangedOutside):  # the next plan sees what it says now
                    summaries[turn.summary_of] = _summary(context, turn.family, summarise)
        layers = [family.layer for family in families(list_checkpoints(workspace, config))]
    before, after = Counter(family.layer for family in planned.families), Counter(layers)
    steps = tuple(step for turn in planned.turns for step in turn.steps)
    return OrganiseReport(
        steps,
        {layer: before[layer] for layer in TIERS},
        {layer: after[layer] for layer in TIERS},
        changed=bool(steps) or entries != planned.counts.entries,
        dry_run=dry_run,
        counted=sum(_recalls(turn.belongs.entry) - _recalls(turn.counts.entry or {}) for turn in planned.turns),
        left=(*planned.left, *left),
        notes=planned.notes,
    )


def _summary(context: Context, family: Family, summarise: Summarise) -> bytes | NacreError:
    data = checkpoint_bytes(context.workspace, family.lead)
    try:
        return (guarded(summarise(data.decode("utf-8-sig")), REDACT).rstrip("\n") + "\n").encode()
    except UnicodeDecodeError:
        return BadInput("it is not valid UTF-8", "它不是有效的 UTF-8")
    except NacreError as error:
        return error


def _recalls(entry: Mapping[str, Any]) -> int:
    listed = entry.get("timestamps")
    return len(listed) if isinstance(listed, list) else 0


def apply(op: Operation, planned: OrganisePlan, summaries: Summaries) -> tuple[list[Problem], dict[str, Any]]:
    """Carry out the transitions, then write the counts, so that a killed run can be completed; returns problems and the new counts."""
    batch = Batch(op)
    rises = False
    for at, turn in enumerate(planned.turns):
        if not rises and turn.belongs.action == RISE:
            batch.carry_out()  # no folder gives and takes at once: their syncs have an order
            rises = True
        try:
            _add_transition(batch, at, turn, summaries)
        except NacreError as error:
            batch.failed[at] = error
    batch.carry_out()
    left = {at: str(error) for at, error in batch.failed.items()}
    entries = planned.entries(turn for at, turn in enumerate(planned.turns) if at not in left)
    if planned.turns:
        entries = refcount.write_counts(op, planned.counts, entries)
    paths = {at: op.workspace.relative(planned.turns[at].family.lead.path) for at in left}
    return [Problem("left for the next run", sentence, paths[at]) for at, sentence in sorted(left.items())], entries


def _add_transition(batch: Batch, at: int, turn: Transition, summaries: Summaries) -> None:
    op, family = batch.op, turn.family
    if turn.after is None:
        for piece in family.pieces:
            batch.add(at, piece.path, read=disk.digest(checkpoint_bytes(op.workspace, piece)))
        return
    renewed: dict[Checkpoint, str] = {}
    if turn.summary_of and family.original:
        if not isinstance(written := summaries.get(turn.summary_of), bytes):  # the text was another then
            raise changed_outside(op.workspace.relative(family.original.path))
        old, read = family.summary, None
        if old:  # renewed where it lies, then moved: a run that is cut short sees by the hash which text it was made of
            read = disk.digest(checkpoint_bytes(op.workspace, old))
            renewed[old] = disk.digest(written)
        root = op.workspace.tiers(op.config.tiers.path)
        place = old.path if old else root / place_of(GIST, turn.after.stem, summary=True)
        op.place(place)
        batch.add(at, place, read=read, data=written)
    for piece, to in turn.moves:
        read = renewed.get(piece) or disk.digest(checkpoint_bytes(op.workspace, piece))
        batch.add(at, piece.path, read=read, to=to)


def rotate_recalled(context: Context, recalled: Sequence[Checkpoint]) -> dict[str, str]:
    """Move recalled checkpoints back to hot, forgotten ones to warm; returns the new path of each by its old one."""
    workspace, config = context.workspace, context.config
    shown = workspace.relative
    places = {shown(checkpoint.path): shown(checkpoint.path) for checkpoint in recalled}
    paths = {checkpoint.path for checkpoint in recalled if checkpoint.layer != HOT}
    if not paths:
        return places
    with operation(context, "recall", timeout=WAIT) as op, layers_lock(workspace, config, timeout=WAIT):
        try:
            refcount.read_counts(workspace, config)
        except NacreError:  # organise says what is wrong; the answer does not wait for that
            return places
        for family in families(list_checkpoints(workspace, config)):
            if paths.isdisjoint(piece.path for piece in family.pieces):
                continue
            marks = {"user_marked": True} if family.layer == FORGOTTEN else {}
            with contextlib.suppress(NacreError, OSError):
                moves = bring_back(op, family, WARM if marks else HOT, **marks)
                places |= {shown(piece.path): shown(to) for piece, to in moves if shown(piece.path) in places}
    return places
