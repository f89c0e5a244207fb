"""The whole of forgetting: target, plan, apply, index, purge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacre.errors import BadInput, NotFound
from nacre.forget import apply, purge
from nacre.forget.apply import ForgetPlan
from nacre.forget.purge import PurgePlan, PurgeReport
from nacre.forget.related import distinct_targets
from nacre.forget.target import QUOTED, ForgetContext, MemoryLine, Selection, Target, find_targets, memory_lines
from nacre.forget.traces import Words
from nacre.guard.secrets import excerpt
from nacre.vault import injected, ledger
from nacre.vault.entries import normal_words
from nacre.vault.lock import lock

Choose = Callable[[Sequence[Target], bool], Sequence[Target]]
"""Which targets are meant; told whether they were named by id or words, rather than by a search or a line number."""


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten, or would be; and what cleaning up after it did, or would do."""

    plan: ForgetPlan
    purge_plan: PurgePlan | None = None
    purged: PurgeReport | None = None


def forget_memory(
    room: ForgetContext,
    wanted: str,
    *,
    choose: Choose | None = None,
    similar: bool = False,
    purging: bool = False,
    dry_run: bool = False,
) -> ForgetReport:
    """Forget what is meant; with `purging` from history, backups and the index's bytes as well."""
    lines, targets = _meant(room, wanted, choose or (None if dry_run else _named_only(wanted)))
    if not dry_run:
        with lock(room.workspace):  # from looking to writing
            made = apply.plan_forget(room, targets, lines, similar=similar)
            _must_change(made, wanted, purging=purging)
            _out_of_sight(room, made)  # first: killed in between, it is done again
            apply.apply_forget(room, made)
        keeper = room.keeper()
        keeper.store.safely(keeper.current)
        if not purging:
            return ForgetReport(made)
        cleaning = purge.plan_purge(room, made)
        return ForgetReport(made, cleaning, purge.apply_purge(room, cleaning))
    made = apply.plan_forget(room, targets, lines, similar=similar)
    _must_change(made, wanted, purging=purging)
    return ForgetReport(made, purge.plan_purge(room, made) if purging else None)


def _out_of_sight(room: ForgetContext, made: ForgetPlan) -> None:
    """What sessions were given last is kept to be shown, and must not show what was forgotten since."""
    said = {one.words for one in made.wordings} | {one.line.whole for one in made.going}
    words = Words(one for one in said | {fact.words for fact in made.facts} if one)
    injected.redact_injected(room.workspace, words.hold)


def _must_change(made: ForgetPlan, wanted: str, *, purging: bool) -> None:
    if made or purging:
        return
    raise NotFound(
        f'{wanted} was forgotten before. "--purge" also takes it out of history and backups.',
        f"{wanted} 之前已经忘记。“--purge”可将其从历史和备份中一并清除。",
    )


def _meant(room: ForgetContext, wanted: str, choose: Choose | None) -> tuple[list[MemoryLine], Sequence[Target]]:
    lines = list(memory_lines(room.workspace, room.config))
    found = find_targets(room, wanted, lines)
    targets = distinct_targets(found.targets, ledger.entry_states(ledger.read_ledger(room.workspace).records))
    if choose:
        return lines, choose(targets, found.certain)
    if len({normal_words(target.words) for target in targets}) > 1:
        raise several_targets(wanted, Selection(targets, found.certain))
    return lines, targets


def _named_only(wanted: str) -> Choose:
    """Where nobody chooses, what a search or a line number gives is not taken for what is meant, even if it is one thing."""

    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        if len(targets) > 1 or not certain:
            raise several_targets(wanted, Selection(tuple(targets), certain))
        return targets

    return choose


def one_target(room: ForgetContext, wanted: str) -> tuple[list[MemoryLine], Target]:
    """The one thing that is meant; an error that lists them when there are several."""
    lines, targets = _meant(room, wanted, None)
    return lines, targets[0]


def several_targets(wanted: str, found: Selection) -> BadInput:
    wanted = excerpt(wanted, QUOTED)
    listed = "".join(
        f"\n  {target.id}  {target.line.place if target.line else 'ledger'}  {excerpt(target.words, QUOTED)}"
        for target in found.targets
    )
    if len(found.targets) == 1:
        return BadInput(
            f'"{wanted}" may mean this; name it by its id or its words:{listed}',
            f"“{wanted}”可能指以下内容；请用 id 或原文指定：{listed}",
        )
    return BadInput(
        f'"{wanted}" may mean {len(found.targets)} things; name one by its id or its words:{listed}',
        f"“{wanted}”可能指 {len(found.targets)} 项内容；请用 id 或原文指定其中一项：{listed}",
    )
