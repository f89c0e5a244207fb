"""nacre review: what long-term memory could not decide alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, echo, json_option, note, open_memory, print_json
from nacre.errors import BadInput
from nacre.guard.secrets import legible
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.vault.review import Question


@click.command(
    cls=Command, epilog='Example:  nacre review --accept 7f3a9c41d2 --edit 19c0ffee01 "Use pnpm in every repository"'
)
@click.option("--accept", metavar="ID", multiple=True, help="Take it in (or let a faded line go); may be repeated.")
@click.option("--refuse", metavar="ID", multiple=True, help="Leave it out (or keep a faded line); may be repeated.")
@click.option("--pin", metavar="ID", multiple=True, help="Take it in and never let it go; may be repeated.")
@click.option("--edit", nargs=2, metavar="ID TEXT", multiple=True, help="Take it in, in these words; may be repeated.")
@click.option("--adopt", is_flag=True, help="Bring a MEMORY.md that is over its limits under them.")
@click.option("--yes", is_flag=True, help="Do not ask before --adopt.")
@dry_run_option
@json_option
@click.pass_obj
def review(
    invocation: Invocation,
    accept: tuple[str, ...],
    refuse: tuple[str, ...],
    pin: tuple[str, ...],
    edit: tuple[tuple[str, str], ...],
    *,
    adopt: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Answer what "nacre tidy" left to you: clashes, lines that found no room, lines whose time may be over.

    Without options it asks about each where somebody watches, and lists them where not. --adopt moves what does not fit from a
    MEMORY.md that is over its limits into a note, after showing it; "nacre undo" takes it back.
    """
    from nacre.tidy.answers import ACCEPT, PIN, REFUSE, Answer

    memory = open_memory(invocation)
    if adopt:
        _adopt(memory, yes=yes, dry_run=dry_run, as_json=as_json)
        return
    given = [Answer(one, verb) for verb, ids in ((REFUSE, refuse), (ACCEPT, accept), (PIN, pin)) for one in ids]
    given += [Answer(known, ACCEPT, text) for known, text in edit]
    if given:
        steps = memory.answer(given, dry_run=dry_run)
        if as_json:
            print_json([{"action": step.action, "path": step.path, "text": legible(step.detail)} for step in steps])
            return
        for step in steps:
            click.echo(f"{step.action}  {step.path}: {legible(step.detail)}\n    {step.reason}")
        return
    items = memory.questions()
    if as_json:
        print_json([_plain(item) for item in items])
    elif not items:
        echo("Nothing to review.", "没有待审内容。")
    elif sys.stdin.isatty() and sys.stdout.isatty() and not dry_run:
        _ask(memory, items)
    else:
        for item in items:
            _show(item)


def _plain(item: Question) -> dict[str, object]:
    return {"id": item.id, "kind": item.kind, "text": legible(item.text), "why": legible(item.why), **item.about}


def _show(item: Question) -> None:
    from nacre.vault.review import kind_title

    click.echo(f"{item.id}  [{kind_title(item.kind)}] {legible(item.text)}\n            {legible(item.why)}")


def _ask(memory: Memory, items: list[Question]) -> None:
    """One after the other; what is skipped stays open."""
    from nacre.tidy.answers import ACCEPT, PIN, REFUSE, Answer
    from nacre.vault.review import FADED

    verbs = {"a": ACCEPT, "r": REFUSE, "p": PIN}
    for item in items:
        _show(item)
        takes = say("let it go", "移除") if item.kind == FADED else say("take it in", "收录")
        leaves = say("keep it", "保留") if item.kind == FADED else say("leave it out", "不收")
        prompt = say(
            f"[a] {takes}, [r] {leaves}, [e] edit, [p] pin, [s] skip, [q] quit",
            f"[a] {takes}，[r] {leaves}，[e] 修改，[p] 固定，[s] 跳过，[q] 退出",
        )
        chosen = click.prompt(
            prompt, type=click.Choice(["a", "r", "e", "p", "s", "q"]), show_choices=False, default="s"
        )
        if chosen == "q":
            return
        if chosen == "e":
            memory.answer([Answer(item.id, ACCEPT, click.prompt(say("In these words", "改为"), default=item.text))])
        elif chosen in verbs:
            memory.answer([Answer(item.id, verbs[chosen])])


def _adopt(memory: Memory, *, yes: bool, dry_run: bool, as_json: bool) -> None:
    planned = memory.adopting()
    if as_json:
        print_json(
            [
                {
                    "path": one.shown,
                    "note": memory.workspace.relative(one.note),
                    "moves": [legible(step.detail) for step in one.steps],
                }
                for one in planned
            ]
        )
    elif not planned:
        echo("Every MEMORY.md is within its limits.", "所有 MEMORY.md 都在上限以内。")
    for one in planned if not as_json else ():
        for step in one.steps:
            click.echo(f"  {legible(step.detail)}\n      {step.reason}")
        place = memory.workspace.relative(one.note)
        echo(
            f"{one.shown}: {len(one.moving)} would move to {place}.",
            f"{one.shown}：{len(one.moving)} 项将移到 {place}。",
        )
    if not planned or dry_run:
        return
    if not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise BadInput('Nothing was moved: say "--yes" to do it.', "未做任何移动：请加“--yes”确认。")
        if not click.confirm(say("Move them?", "现在移动吗？"), err=True):
            return
    memory.adopt(planned)
    note('Done; "nacre undo" takes it back.', "完成；可用“nacre undo”撤销。")
