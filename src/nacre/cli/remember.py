"""nacre remember: write one thing down."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, piped, print_json
from nacre.model.entry import EVERYWHERE, TYPES
from nacre.words import say


@click.command(cls=Command, epilog='Example:  nacre remember "Use pnpm, never npm" --type PREF')
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "kind", metavar="|".join(TYPES), help="What kind of memory it is.")
@click.option(
    "--project",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="The project that it is about; without a name, and by default, that of the current folder.",
)
@click.option("--global", "everywhere", is_flag=True, help="It holds in every project.")
@dry_run_option
@json_option
@click.pass_obj
def remember(
    invocation: Invocation,
    text: tuple[str, ...],
    kind: str | None,
    project: str | None,
    *,
    everywhere: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Write one thing down in today's log, at once. Text from a pipe: "nacre remember -".

    It is given to agents in the project of the current folder; with --global, to all.

    A secret is refused (exit code 13) and never repeated in the message.
    """
    if everywhere and project is not None:
        raise click.UsageError(
            say("--project and --global exclude each other.", "--project 与 --global 不能同时使用。")
        )
    words = piped() if text == ("-",) else " ".join(text)
    memory = open_memory(invocation)
    entry = memory.remember(words, kind, project=EVERYWHERE if everywhere else project or None, dry_run=dry_run)
    if as_json:
        print_json(
            {
                "path": entry.path,
                "line": entry.line,
                "type": entry.type,
                "text": entry.text,
                "already": entry.already,
                "project": entry.project or None,
                "dryRun": dry_run,
            }
        )
        return
    where = f"{entry.path}:{entry.line}" if entry.line else entry.path
    if entry.project:
        where += say(f", for the project {entry.project}", f"，属于项目 {entry.project}")
    if entry.already:
        note(say(f"Already there: {where}", f"已经记过：{where}"))
    elif dry_run:
        note(say(f"Would be written to {where}", f"将写入 {where}"))
    else:
        note(say(f"Written to {where}", f"已写入 {where}"))
    click.echo(f"- [{entry.type}] {entry.text}" if entry.type else f"- {entry.text}")
