"""nacre organise: checkpoints sink through the layers by age, rise when they were recalled, and go when long forgotten."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, Locked, NacreError
from nacre.lifecycle.layer import RISE
from nacre.lifecycle.turns import Noted, OrganisePlan, Turn, mark_of, plan, seen, without_summaries
from nacre.model.plan import Step
from nacre.model.problem import Problem
from nacre.vault import atomic, refcount
from nacre.vault.append import REDACT, guarded
from nacre.vault.batch import Batch
from nacre.vault.files import TIERS
from nacre.vault.operation import Operation, keep, operation
from nacre.vault.refcount import SUMMARY_OF
from nacre.vault.rewrite import changed, guard_added
from nacre.vault.tiers import GIST, Checkpoint, Family, content, families, held, place_of, survey, wish
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

__all__ = ["OrganiseReport", "Summarise", "apply", "by_brain", "organise", "plan"]

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
            if (data := self._text(turn)) is None or (known := atomic.digest(data)) in self._made:
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
            if self._refused and (data := self._text(turn)) and (trouble := self._refused.get(atomic.digest(data))):
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
            keep(self.workspace, self.config, self._made.values())
            for turn in wanted:
                data = self._text(turn)
                written = data and self._made.get(atomic.digest(data))
                if written and turn.settled:
                    place = tiers / place_of(GIST, turn.settled.family.stem, summary=True)
                    if atomic.real(tiers) in atomic.real(place).parents:
                        self.staged(place, written)

    def staged(self, place: Path, written: bytes) -> Path:
        """Where the bytes of a summary lie until it gets its name."""
        if (known := self._staged.get((place, written))) is None:
            known = self._staged[place, written] = atomic.stage(place, written)
        return known

    def clear(self) -> None:
        """Leave nothing behind that did not get a name."""
        for staged in self._staged.values():
            with contextlib.suppress(OSError):
                staged.unlink()

    def of(self, original: Checkpoint, data: bytes) -> bytes:
        """The summary of a text; `ChangedOutside` where none was made, because the text was another then."""
        if (written := self._made.get(atomic.digest(data))) is None:
            raise changed(self.workspace.relative(original.path))
        return written

    def _text(self, turn: Turn) -> bytes | None:
        """What a summary is to be made of; None where none is wanted, or the file has changed since the plan was made."""
        if not (turn.makes_summary and turn.family.original):
            return None
        try:
            return content(self.workspace, turn.family.original)
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
    after = Counter(family.layer for family in families(survey(workspace, config)[0]))
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
        with operation(workspace, clock, "organise", config) as op, held(workspace, config):
            if made.seen == seen(workspace, config):
                return made, *apply(op, made, summaries)
    with operation(workspace, clock, "organise", config) as op, held(workspace, config):
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
    noted: dict[int, Noted] = {}
    rises = False
    for at, turn in enumerate(made.turns):
        if not rises and turn.belongs.action == RISE:
            batch.carry_out()  # no folder gives and takes at once: their syncs have an order
            rises = True
        try:
            noted[at] = _wished(batch, at, turn, summaries)
        except Locked:
            raise
        except NacreError as trouble:
            batch.failed[at] = trouble
    batch.carry_out()
    left = [_left(op, made.turns[at], str(trouble)) for at, trouble in sorted(batch.failed.items())]
    taken = {at: one for at, one in noted.items() if at not in batch.failed}
    entries = made.entries(_may_be_noted(op, made, taken, left))
    if made.turns:
        refcount.write(op, made.counts, entries)
    return tuple(left), entries


def _left(op: Operation, turn: Turn, sentence: str) -> Problem:
    return Problem("left for the next run", sentence, op.workspace.relative(turn.family.lead.path))


def _wished(batch: Batch, at: int, turn: Turn, summaries: Summaries) -> Noted:
    """Ask for what one turn wants, and say what is to be noted of it once that is done."""
    op, settled, more = batch.op, turn.settled, {}
    if settled is None:
        for one in turn.family.pieces:
            batch.remove(at, one.path, read=atomic.digest(content(op.workspace, one)))
        return turn.noted(None)
    renewed: dict[Checkpoint, str] = {}
    if turn.makes_summary and turn.family.original:
        data = content(op.workspace, turn.family.original)
        written = summaries.of(turn.family.original, data)
        more = {"summarized": True, SUMMARY_OF: mark_of(data)}
        if turn.family.summary is None:
            tiers = op.workspace.tiers(op.config.tiers.path)
            op.place(place := tiers / place_of(GIST, settled.family.stem, summary=True))
            batch.create(at, place, written, staged=summaries.staged(place, written))
        else:
            # Renewed where it lies, then moved: a run that is cut short in between sees by the hash which text it was made of.
            old = turn.family.summary
            batch.write(at, old.path, written, read=atomic.digest(content(op.workspace, old)))
            renewed[old] = atomic.digest(written)
    for deed in settled.deeds:
        wish(batch, at, deed, renewed.get(deed.piece))
    return turn.noted(settled, **more)


def _may_be_noted(
    op: Operation, made: OrganisePlan, noted: Mapping[int, Noted], left: list[Problem]
) -> dict[int, Noted]:
    """What the guard lets be written into the counts: one name that looks like a secret must not block all."""
    new = {
        at: refcount.name_of(one.key)
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
