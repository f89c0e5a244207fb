"""nacre promote: what recalled checkpoints teach becomes lasting memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json
from nacre.errors import PartlyDone
from nacre.words import say

if TYPE_CHECKING:
    from nacre.lifecycle.promote import PromotePlan


@click.command(cls=Command, epilog="Example:  nacre promote --apply")
@click.option("--apply", "carry_out", is_flag=True, help="Carry out what the report proposes.")
@dry_run_option
@json_option
@click.pass_obj
def promote(invocation: Invocation, *, carry_out: bool, dry_run: bool, as_json: bool) -> None:
    """Write promote_report.md: which checkpoints were recalled so often that what they teach should last.

    Nominated is what was recalled 3 times in 7 days, 5 times in 14, 8 times in all, or what the user marked. With --apply, lessons
    about a skill go to skills/<skill>/docs/retrospect.md, everything else is put to the four tests of MEMORY.md, and the checkpoint
    is never nominated again.
    """
    left: list[str] = []
    for memory in open_all(invocation):
        made = memory.promote(apply=carry_out, dry_run=dry_run)
        left += [problem.message for problem in made.left]
        if as_json:
            print_json(as_plain(made, applied=carry_out and not dry_run, dry_run=dry_run))
            continue
        click.echo(memory.promote_report(made, applied=carry_out and not dry_run).rstrip("\n"))
        if not dry_run:
            note(say("Written to promote_report.md.", "已写入 promote_report.md。"))
    if left:
        raise PartlyDone(" ".join(left))


def as_plain(made: PromotePlan, *, applied: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "path": one.path,
                "title": one.title,
                "total": one.nominee.total,
                "7d": one.nominee.week,
                "14d": one.nominee.fortnight,
                "user_marked": one.nominee.marked,
                "rule": one.nominee.rule,
                "lessons": [
                    {"skill": lesson.skill, "text": lesson.text, "known": lesson.known} for lesson in one.lessons
                ],
                "lines": [line.words for line in one.lines],
            }
            for one in made.promoted
        ],
        "steps": [
            {"action": step.action, "path": step.path, "reason": step.reason, "text": step.detail}
            for step in made.distilled.steps
        ],
        "problems": [problem.message for problem in made.left],
        "applied": applied,
        "dryRun": dry_run,
    }
