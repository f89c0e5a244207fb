"""The whole of forgetting: what is meant → which lines → taken away → out of the index → where wanted, proven gone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nacre.errors import BadInput, NotFound
from nacre.guard.showing import quoted
from nacre.lifecycle import forget, purge
from nacre.lifecycle.connect import choices
from nacre.lifecycle.forget import ForgetPlan
from nacre.lifecycle.lines import Line, everywhere
from nacre.lifecycle.purge import PurgePlan, PurgeReport
from nacre.lifecycle.target import QUOTED, Found, Room, Target, find
from nacre.lifecycle.traces import Words
from nacre.vault import given, ledger
from nacre.vault.lock import lock
from nacre.vault.tombstones import normal
from nacre.words import say

Choose = Callable[[Sequence[Target], bool], Sequence[Target]]
"""Which targets are meant; told whether they were named by id or words, rather than by a search or a line number."""


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten, or would be; and what cleaning up after it did, or would do."""

    plan: ForgetPlan
    purge_plan: PurgePlan | None = None
    purged: PurgeReport | None = None


def forgetting(
    room: Room,
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
            made = forget.plan(room, targets, lines, similar=similar)
            _must_change(made, wanted, purging=purging)
            _out_of_sight(room, made)  # first: killed in between, it is done again
            forget.apply(room, made)
        keeper = room.keeper()
        keeper.store.safely(keeper.current)
        if not purging:
            return ForgetReport(made)
        cleaning = purge.plan(room, made)
        return ForgetReport(made, cleaning, purge.apply(room, cleaning))
    made = forget.plan(room, targets, lines, similar=similar)
    _must_change(made, wanted, purging=purging)
    return ForgetReport(made, purge.plan(room, made) if purging else None)


def _out_of_sight(room: Room, made: ForgetPlan) -> None:
    """What sessions were given last is kept to be shown, and must not show what was forgotten since."""
    said = {one.words for one in made.wordings} | {one.line.whole for one in made.going}
    words = Words(one for one in said | {fact.words for fact in made.facts} if one)
    given.take_out(room.workspace, words.hold)


def _must_change(made: ForgetPlan, wanted: str, *, purging: bool) -> None:
    if made or purging:
        return
    raise NotFound(
        say(
            f'{wanted} was forgotten before. "--purge" also takes it out of history and backups.',
            f"{wanted} 之前已经忘记。“--purge”可将其从历史和备份中一并清除。",
        )
    )


def _meant(room: Room, wanted: str, choose: Choose | None) -> tuple[list[Line], Sequence[Target]]:
    lines = list(everywhere(room.workspace, room.config))
    found = find(room, wanted, lines)
    targets = choices(found.targets, ledger.standing(ledger.read(room.workspace).records))
    if choose:
        return lines, choose(targets, found.certain)
    if len({normal(target.words) for target in targets}) > 1:
        raise several(wanted, Found(targets, found.certain))
    return lines, targets


def _named_only(wanted: str) -> Choose:
    """Where nobody chooses, what a search or a line number gives is not taken for what is meant, even if it is one thing."""

    def choose(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
        if len(targets) > 1 or not certain:
            raise several(wanted, Found(tuple(targets), certain))
        return targets

    return choose


def one_target(room: Room, wanted: str) -> tuple[list[Line], Target]:
    """The one thing that is meant; an error that lists them when there are several."""
    lines, targets = _meant(room, wanted, None)
    return lines, targets[0]


def several(wanted: str, found: Found) -> BadInput:
    wanted = quoted(wanted, QUOTED)
    listed = "".join(
        f"\n  {target.id}  {target.line.place if target.line else 'ledger'}  {quoted(target.words, QUOTED)}"
        for target in found.targets
    )
    if len(found.targets) == 1:
        return BadInput(
            say(
                f'"{wanted}" may mean this; name it by its id or its words:{listed}',
                f"“{wanted}”可能指以下内容；请用 id 或原文指定：{listed}",
            )
        )
    return BadInput(
        say(
            f'"{wanted}" may mean {len(found.targets)} things; name one by its id or its words:{listed}',
            f"“{wanted}”可能指 {len(found.targets)} 项内容；请用 id 或原文指定其中一项：{listed}",
        )
    )
