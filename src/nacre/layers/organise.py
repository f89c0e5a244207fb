"""nacre organise: plan and carry out the moves of checkpoints between layers; a recall moves one at once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

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
)
from nacre.model.context import Context
from nacre.model.report import Problem, Step
from nacre.vault import disk, refcount
from nacre.vault.checkpoints import (
    FORGOTTEN,
    GIST,
    HOT,
    WARM,
    Checkpoint,
    Family,
    FileMove,
    LayerPlaces,
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
from nacre.vault.history import Operation, operation
from nacre.vault.refcount import SUMMARY_OF, Counts
from nacre.vault.writing import REDACT, Batch, changed_outside, guarded

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

DROP, SUMMARISE = "drop", "summarise"
# The coldest first: what leaves a layer makes room for what comes into it.
_ORDER = (DELETE, FORGET, MOVE, STAY, RISE)
_MARK = 10  # characters of the hash of the text that a summary was made of
TRIES = 3  # times that a plan is made before the workspace is held for it
MANY = 100  # summaries of one run that the classifiers have a say in; a backlog of thousands is told by structure alone
WAIT = 2.0  # seconds that a recall waits for others to finish; what then stays is moved by the next organise

Summarise = Callable[[str], str]  # the text of a checkpoint → the text of its summary
CountEntry = tuple[str, Mapping[str, Any] | None]  # what refcount.json will say, by place; None: nothing


@dataclass(frozen=True)
class Transition:
    """What becomes of one checkpoint. Without `after` it goes for good."""

    family: Family
    kept: CheckpointCounts
    dated: CheckpointDate
    belongs: Placement
    makes_summary: bool = False
    after: Family | None = None
    moves: tuple[FileMove, ...] = ()
    steps: tuple[Step, ...] = ()

    def counted(self, **more: Any) -> CountEntry:
        """Its counts when it has been moved. A new entry that says nothing is not written."""
        if self.after is None:
            return self.family.lead.place, None
        entry = {**self.belongs.entry, **more}
        is_empty = self.kept.entry is None and entry == refcount.new_count(self.dated.noted)
        return self.after.lead.place, None if is_empty and not self.dated.by_file else entry


@dataclass(frozen=True)
class OrganisePlan:
    """The transitions in the order in which they are made, and what is known beside them."""

    families: tuple[Family, ...] = ()  # all there are, also those that are left alone
    turns: tuple[Transition, ...] = ()
    counts: Counts = Counts({}, None)
    finished: frozenset[str] = frozenset()  # entries whose checkpoints were deleted by a run that was cut short
    left: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()

    def entries(self, done: Mapping[int, CountEntry]) -> dict[str, Any]:
        """The counts once some of the transitions are made; what belongs to the others, or to nobody here, stays as it is."""
        own = {key: at for at in done for key in self.turns[at].kept.keys}
        after: dict[str, Any] = {}
        for key, value in self.counts.entries.items():
            if key in own:
                if self.turns[own[key]].kept.keys[0] == key:
                    refcount.put_count(after, *done[own[key]])
            elif key not in self.finished:
                refcount.put_count(after, key, value)
        for key, entry in sorted(new for at, new in done.items() if not self.turns[at].kept.keys and new[1]):
            refcount.put_count(after, key, entry)
        return after


def plan(context: Context) -> OrganisePlan:
    """What would become of every checkpoint. Nothing at all where the counts cannot be read: who was recalled is unknown."""
    workspace, clock, config = context.workspace, context.clock, context.config
    rules = LayerRules.of(config.tiers)
    checkpoints, problems = survey_checkpoints(workspace, config)
    known = families(checkpoints)
    try:
        counts = refcount.read_counts(workspace, config)
    except NacreError as error:
        sentence = say(
            f"{error} Nothing was organised: who was recalled is not known.",
            f"{error} 没有整理任何内容：无法得知哪些检查点被调用过。",
        )
        shown = workspace.relative(workspace.refcount(config.tiers.path))
        return OrganisePlan(tuple(known), left=(*problems, Problem("unreadable counts", sentence, shown)))
    recalls = refcount.read_recalls(workspace)
    turns: list[Transition] = []
    for family, kept in zip(known, gather_counts(context, known, counts.entries, recalls.recalls), strict=True):
        try:
            dated = date_checkpoint(family.lead, kept.entry, clock)
            belongs = decide_layer(family.layer, dated, kept, rules, clock)
            entry, makes = belongs.entry, False
            if family.original and belongs.layer:
                makes = belongs.layer == GIST and family.summary is None
                if family.summary and (belongs.layer == GIST or SUMMARY_OF not in entry):
                    mark = disk.digest(checkpoint_bytes(workspace, family.original))[:_MARK]
                    makes = belongs.layer == GIST and entry.get(SUMMARY_OF, mark) != mark
                    entry.setdefault(SUMMARY_OF, mark)
            if family.summary and belongs.layer:
                entry["summarized"] = True
            turns.append(Transition(family, kept, dated, belongs, makes))
        except (NacreError, OSError) as error:
            problems.append(Problem("left alone", str(error), workspace.relative(family.lead.path)))
    # Entries of checkpoints that are gone, and whose time had come: their deletion was cut short before it was noted.
    stems, finished, now = {family.stem for family in known}, set(), clock.now().timestamp()
    for key, entry in counts.entries.items():
        layer, _, name = key.partition("/")
        if layer in TIERS and stem_of(name) not in stems and isinstance(entry, dict) and not entry.get("user_marked"):
            since = refcount.moment(entry.get(refcount.FORGOTTEN), clock)
            if since is not None and now - since >= rules.delete:
                finished.add(key)
    made = OrganisePlan(tuple(known), (), counts, frozenset(finished), tuple(problems), recalls.problems)
    return _placed(context, made, turns)


def _placed(context: Context, made: OrganisePlan, turns: Iterable[Transition]) -> OrganisePlan:
    """The plan with these transitions in the order in which they are made, each with its places and steps."""
    places = LayerPlaces(context.workspace, context.config)
    shown = context.workspace.relative
    ordered: list[Transition] = []
    problems: list[Problem] = []

    def order(turn: Transition) -> tuple[int, int, str]:
        layer = turn.belongs.layer or TIERS[-1]
        return _ORDER.index(turn.belongs.action), -TIERS.index(layer), turn.family.lead.place

    for turn in sorted(turns, key=order):
        family, belongs = turn.family, turn.belongs
        if belongs.layer is None:
            places.clear(family)
            steps = [Step(DELETE, shown(piece.path), belongs.reason) for piece in family.pieces]
            ordered.append(replace(turn, steps=tuple(steps), after=None, moves=()))
            continue
        try:
            wants = turn.makes_summary and family.summary is None
            after, moves = places.place(family, belongs.layer, with_summary=wants)
        except NacreError as error:
            problems.append(Problem("left alone", str(error), shown(family.lead.path)))
            continue
        steps = []
        if turn.makes_summary and family.original:
            reason = belongs.reason
            if family.summary:
                reason = say("it has changed since its summary was made", "生成摘要之后内容有改动")
            summary = shown(places.root / place_of(GIST, after.stem, summary=True))
            steps.append(Step(SUMMARISE, shown(family.original.path), reason, summary))
        for move in moves:
            action, reason = MOVE if belongs.action == STAY else belongs.action, belongs.reason
            if move.is_there:
                action, reason = DROP, say("the same bytes lie there already", "相同内容已在该处")
            steps.append(Step(action, shown(move.piece.path), reason, shown(move.to)))
        ordered.append(replace(turn, steps=tuple(steps), after=after, moves=moves))
    return replace(made, turns=tuple(ordered), left=(*made.left, *problems))


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


def by_brain(brain: Callable[[], Judge | None]) -> Summarise:
    """Summaries as the local brain makes them; it is loaded when the first one is needed."""
    made = count(1)

    def summarise(text: str) -> str:
        from nacre.brain.local.gist import rendered, summary
        from nacre.guard.secrets import redact

        safe = redact(text).text  # whole, before it is cut into sentences and tags in which no label stands
        return rendered(summary(safe, brain() if next(made) <= MANY else None))

    return summarise


Summaries = dict[str, bytes | NacreError]  # by the hash of the text they were made of; or why one could not be made


def _summarised(
    context: Context, made: OrganisePlan, summaries: Summaries, summarise: Summarise | None
) -> tuple[OrganisePlan, bool]:
    """The plan without summaries that cannot be made, after `summarise` made the others; whether some are still to be made."""
    refused: dict[Family, NacreError] = {}
    missing = False
    for turn in made.turns:
        data = None
        if turn.makes_summary and turn.family.original:
            with contextlib.suppress(NacreError):  # it has changed since the plan was made
                data = checkpoint_bytes(context.workspace, turn.family.original)
        if data is None:
            continue
        key = disk.digest(data)
        if key not in summaries and summarise:
            try:
                text = guarded(summarise(data.decode("utf-8-sig")), REDACT)
                summaries[key] = (text.rstrip("\n") + "\n").encode()
            except UnicodeDecodeError:
                summaries[key] = BadInput("it is not valid UTF-8", "它不是有效的 UTF-8")
            except NacreError as error:
                summaries[key] = error
        if isinstance(summary := summaries.get(key), NacreError):
            refused[turn.family] = summary
        missing = missing or summary is None
    if not refused:
        return made, missing
    left: list[Problem] = []
    for family, reason in refused.items():
        shown = context.workspace.relative(family.lead.path)
        sentence = say(
            f"No summary of {shown} could be made, so it stays warm: {reason}",
            f"无法为 {shown} 生成摘要，因此保留在 warm：{reason}",
        )
        left.append(Problem("left for the next run", sentence, shown))
    turns = [
        replace(turn, belongs=turn.belongs._replace(layer=WARM), makes_summary=False)
        if turn.family in refused
        else turn
        for turn in made.turns
    ]
    return _placed(context, replace(made, left=(*made.left, *left)), turns), missing


def organise(context: Context, summarise: Summarise, *, dry_run: bool = False) -> OrganiseReport:
    """Bring every checkpoint into the layer where it belongs; summaries are made while nobody has to wait."""
    workspace, config = context.workspace, context.config
    left: tuple[Problem, ...] = ()
    if dry_run:
        made = plan(context)
        entries = made.entries({at: turn.counted() for at, turn in enumerate(made.turns)})
        going = {turn.family: turn.belongs.layer for turn in made.turns}
        layers = [going.get(family, family.layer) for family in made.families]
    else:
        summaries: Summaries = {}
        for tries in range(TRIES):
            with operation(context, "organise") as op, layers_lock(workspace, config):
                made, missing = _summarised(context, plan(context), summaries, None)
                if not missing or tries == TRIES - 1:  # a text that changes every time is left for the next run
                    left, entries = apply(op, made, summaries)
                    break
            _summarised(context, made, summaries, summarise)
        layers = [family.layer for family in families(list_checkpoints(workspace, config))]
    before, after = Counter(family.layer for family in made.families), Counter(layers)
    steps = tuple(step for turn in made.turns for step in turn.steps)
    return OrganiseReport(
        steps,
        {layer: before[layer] for layer in TIERS},
        {layer: after[layer] for layer in TIERS},
        changed=bool(steps) or entries != made.counts.entries,
        dry_run=dry_run,
        counted=sum(_recalls(turn.belongs.entry) - _recalls(turn.kept.entry or {}) for turn in made.turns),
        left=(*made.left, *left),
        notes=made.notes,
    )


def _recalls(entry: Mapping[str, Any]) -> int:
    listed = entry.get("timestamps")
    return len(listed) if isinstance(listed, list) else 0


def apply(op: Operation, made: OrganisePlan, summaries: Summaries) -> tuple[tuple[Problem, ...], dict[str, Any]]:
    """Make the transitions and then, so that a killed run can go on, write the counts; what was left, the counts."""
    batch = Batch(op)
    counted: dict[int, CountEntry] = {}
    rises = False
    for at, turn in enumerate(made.turns):
        if not rises and turn.belongs.action == RISE:
            batch.carry_out()  # no folder gives and takes at once: their syncs have an order
            rises = True
        try:
            counted[at] = _add_transition(batch, at, turn, summaries)
        except Locked:
            raise
        except NacreError as error:
            batch.failed[at] = error
    batch.carry_out()
    left = {at: str(error) for at, error in batch.failed.items()}
    done = {at: entry for at, entry in counted.items() if at not in left}
    # One name that looks like a secret must not keep the counts of all from being written.
    new = {at: refcount.checkpoint_name(key) for at, (key, entry) in done.items() if entry is not None}
    new = {at: name for at, name in new.items() if not made.turns[at].kept.keys}
    suspects = set(refcount.suspects(list(new.values())))
    for at in [at for at, name in new.items() if name in suspects]:
        del done[at]
        shown = op.workspace.relative(made.turns[at].family.lead.path)
        left[at] = say(
            f"The name of {shown} looks like a secret, so its recalls are not counted; rename it.",
            f"{shown} 的文件名像是敏感信息，因此不计其调用次数；请重命名。",
        )
    entries = made.entries(done)
    if made.turns:
        refcount.write_counts(op, made.counts, entries)
    paths = {at: op.workspace.relative(made.turns[at].family.lead.path) for at in left}
    problems = (Problem("left for the next run", sentence, paths[at]) for at, sentence in sorted(left.items()))
    return tuple(problems), entries


def _add_transition(batch: Batch, at: int, turn: Transition, summaries: Summaries) -> CountEntry:
    """Ask for what one transition wants, and say what is to be counted once that is done."""
    op, family, more = batch.op, turn.family, {}
    if turn.after is None:
        for piece in family.pieces:
            batch.remove(at, piece.path, read=disk.digest(checkpoint_bytes(op.workspace, piece)))
        return turn.counted()
    renewed: dict[Checkpoint, str] = {}
    if turn.makes_summary and family.original:
        data = checkpoint_bytes(op.workspace, family.original)
        if not isinstance(written := summaries.get(disk.digest(data)), bytes):  # the text was another then
            raise changed_outside(op.workspace.relative(family.original.path))
        more = {"summarized": True, SUMMARY_OF: disk.digest(data)[:_MARK]}
        root = op.workspace.tiers(op.config.tiers.path)
        old, read = family.summary, None
        if old:  # renewed where it lies, then moved: a run that is cut short sees by the hash which text it was made of
            read = disk.digest(checkpoint_bytes(op.workspace, old))
            renewed[old] = disk.digest(written)
        place = old.path if old else root / place_of(GIST, turn.after.stem, summary=True)
        op.place(place)
        batch.write(at, place, written, read=read)
    for move in turn.moves:
        add_to_batch(batch, at, move, renewed.get(move.piece))
    return turn.counted(**more)


def rotate_recalled(context: Context, recalled: Sequence[Checkpoint]) -> dict[str, str]:
    """Bring what was recalled back to hot, a forgotten one to warm; where each file lay → where it lies."""
    workspace, config = context.workspace, context.config
    shown = workspace.relative
    places = {shown(checkpoint.path): shown(checkpoint.path) for checkpoint in recalled}
    paths = {checkpoint.path for checkpoint in recalled if checkpoint.layer != HOT}
    if not paths:
        return places
    with operation(context, "recall", timeout=WAIT) as op, layers_lock(workspace, config, timeout=WAIT):
        try:
            counts = refcount.read_counts(workspace, config)
            entries = dict(counts.entries)
            known = families(list_checkpoints(workspace, config))
            moves: list[FileMove] = []
            finder = LayerPlaces(workspace, config)
            for family, kept in zip(known, gather_counts(context, known, entries, ()), strict=True):
                if paths.isdisjoint(piece.path for piece in family.pieces):
                    continue
                was_forgotten = family.layer == FORGOTTEN
                after, own = finder.place(family, WARM if was_forgotten else HOT)
                moves += own
                if kept.entry is not None or was_forgotten:
                    noted = date_checkpoint(family.lead, kept.entry, context.clock).noted
                    entry = refcount.complete_count(kept.entry or {}, noted)
                    entry.pop(refcount.FORGOTTEN, None)
                    if was_forgotten:
                        entry["user_marked"] = True
                    entries = refcount.move_counts(entries, kept.keys, after.lead.place, entry)
            refcount.write_counts(op, counts, entries)
        except Locked:
            raise
        except (NacreError, OSError):  # organise says what is wrong; the answer does not wait for that
            return places
        for move in moves:
            try:
                apply_move(op, move)
            except Locked:
                raise
            except NacreError:
                continue
            if shown(move.piece.path) in places:
                places[shown(move.piece.path)] = shown(move.to)
    return places
