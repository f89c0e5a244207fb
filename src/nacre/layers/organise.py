"""nacre organise: plan and carry out the moves of checkpoints between layers; a recall moves one at once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, Locked, NacreError
from nacre.i18n import say
from nacre.layers.layer import (
    DELETE,
    FORGET,
    MOVE,
    RISE,
    STAY,
    CheckpointCounts,
    CheckpointDate,
    LayerRules,
    Placement,
    date_checkpoint,
    decide_layer,
    gather_counts,
    head_of,
)
from nacre.model.report import Plan, Problem, Step
from nacre.model.workspace import Workspace
from nacre.vault import disk, refcount
from nacre.vault import refcount as vault_refcount
from nacre.vault.checkpoints import (
    FORGOTTEN,
    GIST,
    HOT,
    WARM,
    Checkpoint,
    Family,
    Settled,
    Shelf,
    add_to_batch,
    apply_move,
    checkpoint_bytes,
    families,
    layers_lock,
    list_checkpoints,
    place_of,
    stem_of,
    survey_checkpoints,
)
from nacre.vault.files import TIERS
from nacre.vault.history import Operation, keep_contents, operation
from nacre.vault.refcount import SUMMARY_OF, Count, Counts
from nacre.vault.writing import REDACT, Batch, changed_outside, guard_added, guarded

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge


DROP, SUMMARISE = "drop", "summarise"
# The coldest first: what leaves a layer makes room for what comes into it.
_ORDER = (DELETE, FORGET, MOVE, STAY, RISE)


class CountEntry(NamedTuple):
    """What refcount.json will say of a checkpoint, and under which place; nothing where the entry is None."""

    key: str
    entry: Mapping[str, Any] | None


@dataclass(frozen=True)
class Transition:
    """What becomes of one checkpoint. Without `settled` it goes for good."""

    family: Family
    kept: CheckpointCounts
    dated: CheckpointDate
    belongs: Placement
    settled: Settled | None = None
    steps: tuple[Step, ...] = ()
    makes_summary: bool = False

    def noted(self, settled: Settled | None, **more: Any) -> CountEntry:
        """Its counts when it lies as settled. A new entry that says nothing is not written."""
        if settled is None or self.kept.strange:
            return CountEntry(self.family.lead.place, None)
        key, entry = settled.family.lead.place, {**self.belongs.entry, **more}
        is_empty = self.kept.entry is None and entry == refcount.new_count(self.dated.noted)
        return CountEntry(key, None if is_empty and not self.dated.by_file else entry)


class LayersSnapshot(NamedTuple):
    """What a plan was made of: the files of the layers as the walk saw them, and the hashes of the counts and the recalls."""

    checkpoints: tuple[Checkpoint, ...] = ()
    counts: str | None = None
    recalls: str | None = None


def take_snapshot(workspace: Workspace, config: Config) -> LayersSnapshot:
    """What a plan made now would be made of: as long as it is the same, so is the plan."""
    return _snapshot_of(workspace, config, survey_checkpoints(workspace, config)[0])


def _snapshot_of(workspace: Workspace, config: Config, found: Iterable[Checkpoint]) -> LayersSnapshot:
    return LayersSnapshot(tuple(found), file_hash(workspace.refcount(config.tiers.path)), file_hash(workspace.recalls))


def file_hash(path: Path) -> str | None:
    """The hash of what a plan is made of; None where there is nothing, or nothing that can be read."""
    try:
        data = disk.read_bytes(path)
    except NacreError:
        return None  # who reads it for the plan says what is wrong
    return None if data is None else disk.digest(data)


@dataclass(frozen=True)
class OrganisePlan:
    """The turns in the order in which they are taken, and what is known beside them."""

    plan: Plan = field(default_factory=Plan)
    families: tuple[Family, ...] = ()  # all there are, also those that are left alone
    turns: tuple[Transition, ...] = ()
    counts: Counts = field(default_factory=lambda: Counts({}, None))
    finished: frozenset[str] = frozenset()  # entries whose checkpoints were deleted by a run that was cut short
    left: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    seen: LayersSnapshot = LayersSnapshot()

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def entries(self, done: Mapping[int, CountEntry]) -> dict[str, Any]:
        """The counts once some of the turns are taken; what belongs to the others, or to nobody here, stays as it is."""
        mine = {key: at for at in done for key in self.turns[at].kept.keys}
        after: dict[str, Any] = {}
        for key, value in self.counts.entries.items():
            if key in mine:
                if self.turns[mine[key]].kept.keys[0] == key:
                    refcount.put_count(after, *done[mine[key]])
            elif key not in self.finished:
                refcount.put_count(after, key, value)
        for key, entry in sorted(noted for at, noted in done.items() if not self.turns[at].kept.keys and noted.entry):
            refcount.put_count(after, key, entry)
        return after


def plan(workspace: Workspace, clock: Clock, config: Config) -> OrganisePlan:
    """What would become of every checkpoint. Nothing at all where the counts cannot be read: who was recalled is unknown."""
    rules = LayerRules.of(config.tiers)
    found, problems = survey_checkpoints(workspace, config)
    made_of = _snapshot_of(workspace, config, found)
    known = families(found)
    try:
        counts = refcount.read_counts(workspace, config)
    except NacreError as trouble:
        shown = workspace.relative(workspace.refcount(config.tiers.path))
        sentence = say(
            f"{trouble} Nothing was organised: who was recalled is not known.",
            f"{trouble} 没有整理任何内容：无法得知哪些检查点被调用过。",
        )
        left = (*problems, Problem("unreadable counts", sentence, shown))
        return OrganisePlan(families=tuple(known), left=left, seen=made_of)
    told = vault_refcount.read_recalls(workspace)
    turns: list[Transition] = []
    for family, kept in zip(
        known, gather_counts(workspace, config, clock, known, counts.entries, told.recalls), strict=True
    ):
        try:
            turns.append(_transition(workspace, family, kept, rules, clock))
        except (NacreError, OSError) as trouble:
            problems.append(Problem("left alone", str(trouble), workspace.relative(family.lead.path)))
            continue
        if kept.strange:
            problems.append(_invalid_entry(workspace, config, family))
    ordered, troubles = _settled(workspace, config, turns)
    return OrganisePlan(
        Plan(tuple(step for turn in ordered for step in turn.steps)),
        tuple(known),
        tuple(ordered),
        counts,
        _finished(counts, known, rules, clock),
        (*problems, *troubles),
        told.problems,
        made_of,
    )


def without_summaries(workspace: Workspace, config: Config, made: OrganisePlan, of: Container[Family]) -> OrganisePlan:
    """The plan where no summary can be made of some checkpoints: they stay warm."""
    turns = [
        replace(turn, belongs=replace(turn.belongs, layer=WARM), makes_summary=False) if turn.family in of else turn
        for turn in made.turns
    ]
    ordered, troubles = _settled(workspace, config, turns)
    made = replace(made, left=(*made.left, *troubles))
    return replace(made, plan=Plan(tuple(step for turn in ordered for step in turn.steps)), turns=tuple(ordered))


def _transition(
    workspace: Workspace, family: Family, kept: CheckpointCounts, rules: LayerRules, clock: Clock
) -> Transition:
    lead = family.lead
    created = kept.entry.get("created") if kept.entry else None
    when = date_checkpoint(head_of(lead.path), lead.name, created, lead.modified / 1e9, clock)
    where = decide_layer(family.layer, when, kept, rules, clock)
    entry, makes = where.entry, False
    if family.original and where.layer:
        makes = where.layer == GIST and family.summary is None
        if family.summary and (where.layer == GIST or SUMMARY_OF not in entry):
            mark = text_mark(checkpoint_bytes(workspace, family.original))
            makes = where.layer == GIST and entry.get(SUMMARY_OF, mark) != mark
            entry.setdefault(SUMMARY_OF, mark)
    if family.summary and where.layer:
        entry["summarized"] = True
    return Transition(family, kept, when, where, makes_summary=makes)


def text_mark(data: bytes) -> str:
    """The beginning of the hash by which a text is known again."""
    return disk.digest(data)[:10]


def _invalid_entry(workspace: Workspace, config: Config, family: Family) -> Problem:
    shown = workspace.relative(workspace.refcount(config.tiers.path))
    sentence = say(
        f"What {shown} says of {family.lead.place} is no entry; it stays as it is and its recalls are not counted.",
        f"{shown} 中关于 {family.lead.place} 的内容不是有效条目；保持原样，其调用次数不会计入。",
    )
    return Problem("strange entry", sentence, shown)


def _settled(
    workspace: Workspace, config: Config, turns: Iterable[Transition]
) -> tuple[list[Transition], list[Problem]]:
    """The turns in the order in which they are taken, each with its places; and what has no place to go to."""
    shelf = Shelf(workspace, config)
    ordered: list[Transition] = []
    problems: list[Problem] = []
    for turn in sorted(
        turns,
        key=lambda turn: (
            _ORDER.index(turn.belongs.action),
            -TIERS.index(turn.belongs.layer or TIERS[-1]),
            turn.family.lead.place,
        ),
    ):
        if turn.belongs.layer is None:
            shelf.clear(turn.family)
            ordered.append(replace(turn, steps=tuple(_deletions(workspace, turn))))
            continue
        wants = turn.makes_summary and turn.family.summary is None
        try:
            settled = shelf.settle(turn.family, turn.belongs.layer, with_summary=wants)
        except NacreError as trouble:
            problems.append(Problem("left alone", str(trouble), workspace.relative(turn.family.lead.path)))
            continue
        ready = replace(turn, settled=settled)
        ordered.append(replace(ready, steps=tuple(_steps(workspace, config, ready, settled))))
    return ordered, problems


def _deletions(workspace: Workspace, turn: Transition) -> Iterable[Step]:
    return (Step(DELETE, workspace.relative(one.path), turn.belongs.reason) for one in turn.family.pieces)


def _steps(workspace: Workspace, config: Config, turn: Transition, settled: Settled) -> Iterable[Step]:
    shown = workspace.relative
    if turn.makes_summary and turn.family.original:
        place = workspace.tiers(config.tiers.path) / place_of(GIST, settled.family.stem, summary=True)
        reason = turn.belongs.reason
        if turn.family.summary:
            reason = say("it has changed since its summary was made", "生成摘要之后内容有改动")
        yield Step(SUMMARISE, shown(turn.family.original.path), reason, shown(place))
    for deed in settled.deeds:
        if deed.is_there:
            reason = say("the same bytes lie there already", "相同内容已在该处")
            yield Step(DROP, shown(deed.piece.path), reason, shown(deed.to))
        else:
            action = MOVE if turn.belongs.action == STAY else turn.belongs.action
            yield Step(action, shown(deed.piece.path), turn.belongs.reason, shown(deed.to))


def _finished(counts: Counts, known: Iterable[Family], rules: LayerRules, clock: Clock) -> frozenset[str]:
    """Entries of checkpoints that are gone, and whose time had come: their deletion was cut short before it was noted."""
    now, stems = clock.now().timestamp(), {family.stem for family in known}
    found: set[str] = set()
    for key, entry in counts.entries.items():
        layer, _, name = key.partition("/")
        if layer not in TIERS or not isinstance(entry, dict) or entry.get("user_marked"):
            continue
        mark = refcount.moment(entry.get(refcount.FORGOTTEN), clock)
        is_gone = stem_of(name) not in stems
        if is_gone and mark is not None and now - mark >= rules.delete:
            found.add(key)
    return frozenset(found)


# nacre organise: checkpoints sink through the layers by age, rise when they were recalled, and go when long
# forgotten.

Summarise = Callable[[str], str]  # the text of a checkpoint → the text of its summary


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


TRIES = 3  # times that a plan is made before the workspace is held for it
MANY = 100  # summaries of one run that the classifiers have a say in; a backlog of thousands is told by structure alone


def by_brain(brain: Callable[[], Judge | None]) -> Summarise:
    """Summaries as the local brain makes them; it is loaded when the first one is needed."""
    made = count(1)

    def summarise(text: str) -> str:
        from nacre.brain.local.gist import rendered, summary
        from nacre.guard.secrets import redact

        safe = redact(text).text  # whole, before it is cut into sentences and tags in which no label stands
        return rendered(summary(safe, brain() if next(made) <= MANY else None))

    return summarise


class Summaries:
    """The summaries of checkpoints by the hash of the text they were made of, and why some could not be made.

    They are made before the workspace is held, and used only where the text is still the same.
    """

    def __init__(self, workspace: Workspace, config: Config) -> None:
        self.workspace = workspace
        self.config = config
        self._made: dict[str, bytes] = {}
        self._staged: dict[tuple[Path, bytes], Path] = {}
        self._refused: dict[str, NacreError] = {}

    def make(self, made: OrganisePlan, summarise: Summarise) -> None:
        """Make those that a plan wants and that are not made yet."""
        for turn in made.turns:
            if (data := self._text(turn)) is None or (known := disk.digest(data)) in self._made:
                continue
            try:
                text = data.decode("utf-8-sig")
                written = (guarded(summarise(text), REDACT).rstrip("\n") + "\n").encode()
                self._made[known] = guard_added(b"", written)
            except UnicodeDecodeError:
                self._refused[known] = BadInput(say("it is not valid UTF-8", "它不是有效的 UTF-8"))
            except NacreError as trouble:
                self._refused[known] = trouble

    def fitted(self, made: OrganisePlan) -> OrganisePlan:
        """The plan without the summaries that could not be made, which is told."""
        refused: dict[Family, NacreError] = {}
        for turn in made.turns:
            if self._refused and (data := self._text(turn)) and (trouble := self._refused.get(disk.digest(data))):
                refused[turn.family] = trouble
        if not refused:
            return made
        fitted = without_summaries(self.workspace, self.config, made, refused)
        told = [self._told(family, trouble) for family, trouble in refused.items()]
        return replace(fitted, left=(*made.left, *told))

    def stage(self, made: OrganisePlan) -> None:
        """Bring the summaries that a plan wants to disk, so that only their names are missing."""
        tiers = self.workspace.tiers(self.config.tiers.path)
        wanted = [turn for turn in made.turns if turn.makes_summary and turn.family.summary is None and turn.settled]
        with contextlib.suppress(NacreError):  # who cannot write will hear it when it is done
            keep_contents(self.workspace, self.config, self._made.values())
            for turn in wanted:
                data = self._text(turn)
                written = data and self._made.get(disk.digest(data))
                if written and turn.settled:
                    place = tiers / place_of(GIST, turn.settled.family.stem, summary=True)
                    if disk.real(tiers) in disk.real(place).parents:
                        self.staged(place, written)

    def staged(self, place: Path, written: bytes) -> Path:
        """Where the bytes of a summary lie until it gets its name."""
        if (known := self._staged.get((place, written))) is None:
            known = self._staged[place, written] = disk.stage(place, written)
        return known

    def clear(self) -> None:
        """Leave nothing behind that did not get a name."""
        for staged in self._staged.values():
            with contextlib.suppress(OSError):
                staged.unlink()

    def of(self, original: Checkpoint, data: bytes) -> bytes:
        """The summary of a text; `ChangedOutside` where none was made, because the text was another then."""
        if (written := self._made.get(disk.digest(data))) is None:
            raise changed_outside(self.workspace.relative(original.path))
        return written

    def _text(self, turn: Transition) -> bytes | None:
        """What a summary is to be made of; None where none is wanted, or the file has changed since the plan was made."""
        if not (turn.makes_summary and turn.family.original):
            return None
        try:
            return checkpoint_bytes(self.workspace, turn.family.original)
        except NacreError:
            return None

    def _told(self, family: Family, trouble: NacreError) -> Problem:
        shown = self.workspace.relative(family.lead.path)
        sentence = say(
            f"No summary of {shown} could be made, so it stays warm: {trouble}",
            f"无法为 {shown} 生成摘要，因此保留在 warm：{trouble}",
        )
        return Problem("left for the next run", sentence, shown)


def organise(
    workspace: Workspace, clock: Clock, config: Config, summarise: Summarise, *, dry_run: bool = False
) -> OrganiseReport:
    """Bring every checkpoint into the layer where it belongs. Doing it again changes nothing."""
    if dry_run:
        made = plan(workspace, clock, config)
        going = {turn.family: turn.belongs.layer for turn in made.turns}
        after = Counter(layer for one in made.families if (layer := going.get(one, one.layer)))
        entries = made.entries({at: turn.noted(turn.settled) for at, turn in enumerate(made.turns)})
        return _report(made, (), entries, after, dry_run=True)
    summaries = Summaries(workspace, config)
    try:
        made, left, entries = _organised(workspace, clock, config, summarise, summaries)
    finally:
        summaries.clear()
    after = Counter(family.layer for family in families(survey_checkpoints(workspace, config)[0]))
    return _report(made, left, entries, after, dry_run=False)


def _organised(
    workspace: Workspace, clock: Clock, config: Config, summarise: Summarise, summaries: Summaries
) -> tuple[OrganisePlan, tuple[Problem, ...], dict[str, Any]]:
    """Plan and summarise while nobody has to wait, then hold the workspace for as long as it takes to move files.

    Where somebody came between, what they did may change what belongs where: it is planned again, the last time while holding.
    """
    for _ in range(TRIES):
        made = plan(workspace, clock, config)
        summaries.make(made, summarise)
        summaries.stage(made := summaries.fitted(made))
        with operation(workspace, clock, "organise", config) as op, layers_lock(workspace, config):
            if made.seen == take_snapshot(workspace, config):
                return made, *apply(op, made, summaries)
    with operation(workspace, clock, "organise", config) as op, layers_lock(workspace, config):
        made = summaries.fitted(plan(workspace, clock, config))
        return made, *apply(op, made, summaries)


def _report(
    made: OrganisePlan,
    left: tuple[Problem, ...],
    entries: Mapping[str, Any],
    after: Counter[str],
    *,
    dry_run: bool,
) -> OrganiseReport:
    before = Counter(family.layer for family in made.families)
    return OrganiseReport(
        made.steps,
        {layer: before[layer] for layer in TIERS},
        {layer: after[layer] for layer in TIERS},
        changed=bool(made.steps) or entries != made.counts.entries,
        dry_run=dry_run,
        counted=sum(_recalls(turn.belongs.entry) - _recalls(turn.kept.entry or {}) for turn in made.turns),
        left=(*made.left, *left),
        notes=made.notes,
    )


def _recalls(entry: Mapping[str, Any]) -> int:
    listed = entry.get("timestamps")
    return len(listed) if isinstance(listed, list) else 0


def apply(op: Operation, made: OrganisePlan, summaries: Summaries) -> tuple[tuple[Problem, ...], dict[str, Any]]:
    """Take the turns, then note them in refcount.json. Returns what had to be left, and the counts as they are now.

    The counts come last: a run that is cut short leaves the files where they lie and the recalls uncounted, and the next one
    goes on from there.
    """
    batch = Batch(op)
    noted: dict[int, CountEntry] = {}
    rises = False
    for at, turn in enumerate(made.turns):
        if not rises and turn.belongs.action == RISE:
            batch.carry_out()  # no folder gives and takes at once: their syncs have an order
            rises = True
        try:
            noted[at] = _request(batch, at, turn, summaries)
        except Locked:
            raise
        except NacreError as trouble:
            batch.failed[at] = trouble
    batch.carry_out()
    left = [_left(op, made.turns[at], str(trouble)) for at, trouble in sorted(batch.failed.items())]
    taken = {at: one for at, one in noted.items() if at not in batch.failed}
    entries = made.entries(_without_secret_names(op, made, taken, left))
    if made.turns:
        refcount.write_counts(op, made.counts, entries)
    return tuple(left), entries


def _left(op: Operation, turn: Transition, sentence: str) -> Problem:
    return Problem("left for the next run", sentence, op.workspace.relative(turn.family.lead.path))


def _request(batch: Batch, at: int, turn: Transition, summaries: Summaries) -> CountEntry:
    """Ask for what one turn wants, and say what is to be noted of it once that is done."""
    op, settled, more = batch.op, turn.settled, {}
    if settled is None:
        for one in turn.family.pieces:
            batch.remove(at, one.path, read=disk.digest(checkpoint_bytes(op.workspace, one)))
        return turn.noted(None)
    renewed: dict[Checkpoint, str] = {}
    if turn.makes_summary and turn.family.original:
        data = checkpoint_bytes(op.workspace, turn.family.original)
        written = summaries.of(turn.family.original, data)
        more = {"summarized": True, SUMMARY_OF: text_mark(data)}
        if turn.family.summary is None:
            tiers = op.workspace.tiers(op.config.tiers.path)
            op.place(place := tiers / place_of(GIST, settled.family.stem, summary=True))
            batch.create(at, place, written, staged=summaries.staged(place, written))
        else:
            # Renewed where it lies, then moved: a run that is cut short in between sees by the hash which text it was made of.
            old = turn.family.summary
            batch.write(at, old.path, written, read=disk.digest(checkpoint_bytes(op.workspace, old)))
            renewed[old] = disk.digest(written)
    for deed in settled.deeds:
        add_to_batch(batch, at, deed, renewed.get(deed.piece))
    return turn.noted(settled, **more)


def _without_secret_names(
    op: Operation, made: OrganisePlan, noted: Mapping[int, CountEntry], left: list[Problem]
) -> dict[int, CountEntry]:
    """What the guard lets be written into the counts: one name that looks like a secret must not block all."""
    new = {
        at: refcount.checkpoint_name(one.key)
        for at, one in noted.items()
        if one.entry is not None and not made.turns[at].kept.keys
    }
    suspects = set(refcount.suspects(list(new.values())))
    refused = {at for at, name in new.items() if name in suspects}
    for at in sorted(refused):
        shown = op.workspace.relative(made.turns[at].family.lead.path)
        sentence = say(
            f"The name of {shown} looks like a secret, so its recalls are not counted; rename it.",
            f"{shown} 的文件名像是敏感信息，因此不计其调用次数；请重命名。",
        )
        left.append(_left(op, made.turns[at], sentence))
    return {at: one for at, one in noted.items() if at not in refused}


# What a recall does at once: a checkpoint of warm or gist returns to hot, a forgotten one to warm, marked by its
# user.

WAIT = 2.0  # seconds that an answer waits for others to finish; what then stays is moved by the next organise


def rotate_recalled(workspace: Workspace, clock: Clock, config: Config, found: Sequence[Checkpoint]) -> dict[str, str]:
    """Rotate what was recalled; where each file lay → where it lies now. What cannot be moved stays, and can still be read.

    The counts are written first: should the move be cut short, a forgotten checkpoint is marked and no longer dies.
    """
    shown = workspace.relative
    places = {shown(one.path): shown(one.path) for one in found}
    wanted = {one.path for one in found if one.layer != HOT}
    if not wanted:
        return places
    with (
        operation(workspace, clock, "recall", config, timeout=WAIT) as op,
        layers_lock(workspace, config, timeout=WAIT),
    ):
        try:
            counts = refcount.read_counts(workspace, config)
            entries = dict(counts.entries)
            shelf, settled = Shelf(workspace, config), []
            for family, kept in _recalled_families(workspace, clock, config, wanted, entries):
                settled.append(one := shelf.settle(family, WARM if family.layer == FORGOTTEN else HOT))
                entry = _counts_after_recall(family, kept, clock)
                if entry is not None:
                    entries = refcount.move_counts(entries, kept.keys, one.family.lead.place, entry)
            refcount.write_counts(op, counts, entries)
        except Locked:
            raise
        except (NacreError, OSError):  # organise says what is wrong; the answer does not wait for that
            return places
        for deed in (deed for one in settled for deed in one.deeds):
            try:
                apply_move(op, deed)
            except Locked:
                raise
            except NacreError:
                continue
            if (lay := shown(deed.piece.path)) in places:
                places[lay] = shown(deed.to)
    return places


def _recalled_families(
    workspace: Workspace, clock: Clock, config: Config, wanted: set[Path], entries: Mapping[str, Any]
) -> list[tuple[Family, CheckpointCounts]]:
    """The families of the files, each with what is known of it."""
    every = families(list_checkpoints(workspace, config))
    known = zip(every, gather_counts(workspace, config, clock, every, entries, ()), strict=True)
    return [(family, kept) for family, kept in known if not wanted.isdisjoint(one.path for one in family.pieces)]


def _counts_after_recall(family: Family, kept: CheckpointCounts, clock: Clock) -> Count | None:
    """What the counts say from now on; nothing where they said nothing and need not."""
    if kept.strange or (kept.entry is None and family.layer != FORGOTTEN):
        return None
    lead, known = family.lead, kept.entry or {}
    when = date_checkpoint(head_of(lead.path), lead.name, known.get("created"), lead.modified / 1e9, clock)
    entry = refcount.complete_count(known, when.noted)
    if family.layer == FORGOTTEN:
        entry["user_marked"] = True
    entry.pop(refcount.FORGOTTEN, None)
    return entry
