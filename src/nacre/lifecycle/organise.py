"""nacre organise: checkpoints sink through the layers by age, rise when they were recalled, and go when long forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, Locked, NacreError
from nacre.lifecycle.turns import Noted, OrganisePlan, Turn, mark_of, plan
from nacre.model.plan import Step
from nacre.model.problem import Problem
from nacre.vault import atomic, refcount
from nacre.vault.append import REDACT, guarded
from nacre.vault.files import TIERS
from nacre.vault.operation import Operation, operation
from nacre.vault.refcount import SUMMARY_OF
from nacre.vault.rewrite import remove, rewrite
from nacre.vault.tiers import (
    GIST,
    WARM,
    Checkpoint,
    Settled,
    Shelf,
    carry_out,
    content,
    families,
    place_of,
    seen_again,
    survey,
)
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
    with operation(workspace, clock, "organise", config) as op:
        made = plan(workspace, clock, config)
        left, entries = apply(op, made, summarise)
        after = Counter(family.layer for family in families(survey(workspace, config)[0]))
        return _report(made, left, entries, after, dry_run=False)


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


def apply(op: Operation, made: OrganisePlan, summarise: Summarise) -> tuple[tuple[Problem, ...], dict[str, Any]]:
    """Take the turns, then note them in refcount.json. Returns what had to be left, and the counts as they are now.

    The counts come last: a run that is cut short leaves the files where they lie and the recalls uncounted, and the next one
    goes on from there.
    """
    left: list[Problem] = []
    done: dict[int, Noted] = {}
    for at, turn in enumerate(made.turns):
        try:
            done[at] = _taken(op, turn, summarise, left)
        except Locked:
            raise
        except NacreError as trouble:
            left.append(_left(op, turn, str(trouble)))
    done = {at: noted for at, noted in done.items() if _may_be_noted(op, made, at, noted, left)}
    entries = made.entries(done)
    if made.turns:
        refcount.write(op, made.counts, entries)
    return tuple(left), entries


def _left(op: Operation, turn: Turn, sentence: str) -> Problem:
    return Problem("left for the next run", sentence, op.workspace.relative(turn.family.lead.path))


def _taken(op: Operation, turn: Turn, summarise: Summarise, left: list[Problem]) -> Noted:
    """Do what one turn wants, and say what is to be noted of it."""
    settled = turn.settled
    more: dict[str, Any] = {}
    if settled is None:
        for one in turn.family.pieces:
            remove(op, one.path, read=atomic.digest(content(op.workspace, one)))
    elif turn.makes_summary and turn.family.original:
        try:
            settled, more = _with_summary(op, turn.family.original, turn, settled, summarise)
        except NacreError as trouble:
            left.append(_left(op, turn, _no_summary(op, turn.family.original, trouble)))
            settled = Shelf(op.workspace, op.config).settle(turn.family, WARM)
    for deed in settled.deeds if settled else ():
        carry_out(op, deed)
    return turn.noted(settled, **more)


def _with_summary(
    op: Operation, original: Checkpoint, turn: Turn, settled: Settled, summarise: Summarise
) -> tuple[Settled, dict[str, Any]]:
    """Write the summary of a checkpoint. One that was made of an older text is renewed where it lies, then moved as settled:
    a run that is cut short in between sees by the hash which text it was made of, and makes it again."""
    data = content(op.workspace, original)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise BadInput(say("it is not valid UTF-8", "它不是有效的 UTF-8")) from trouble
    written = (guarded(summarise(text), REDACT).rstrip("\n") + "\n").encode()
    more = {"summarized": True, SUMMARY_OF: mark_of(data)}
    if turn.family.summary is None:
        tiers = op.workspace.tiers(op.config.tiers.path)
        rewrite(op, tiers / place_of(GIST, settled.family.stem, summary=True), written, read=None)
        return settled, more
    old = turn.family.summary
    rewrite(op, old.path, written, read=atomic.digest(content(op.workspace, old)))
    deeds = (replace(one, piece=seen_again(one.piece)) if one.piece == old else one for one in settled.deeds)
    return replace(settled, deeds=tuple(deeds)), more


def _no_summary(op: Operation, original: Checkpoint, trouble: NacreError) -> str:
    shown = op.workspace.relative(original.path)
    return say(
        f"No summary of {shown} could be made, so it stays warm: {trouble}",
        f"无法为 {shown} 生成摘要，因此保留在 warm：{trouble}",
    )


def _may_be_noted(op: Operation, made: OrganisePlan, at: int, noted: Noted, left: list[Problem]) -> bool:
    """Whether the guard lets a place be written into the counts: one name that looks like a secret must not block all."""
    from nacre.guard.secrets import redact

    if noted.entry is None or noted.key in made.counts.entries or not redact(f'"{noted.key}": {{').findings:
        return True
    shown = op.workspace.relative(made.turns[at].family.lead.path)
    sentence = say(
        f"The name of {shown} looks like a secret, so its recalls are not counted; rename it.",
        f"{shown} 的文件名像是敏感信息，因此不计其调用次数；请重命名。",
    )
    left.append(_left(op, made.turns[at], sentence))
    return False
