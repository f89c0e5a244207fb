"""nacre doctor: look for trouble and say how to mend it."""

from __future__ import annotations

from dataclasses import asdict

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_all, print_json
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre doctor --fix")
@click.option(
    "--fix",
    is_flag=True,
    help="Mend what can be mended without touching your notes: the index, missing files, permissions.",
)
@json_option
@click.pass_obj
def doctor(invocation: Invocation, *, fix: bool, as_json: bool) -> int:
    """Look for trouble in files, settings, index and models, and say how to mend it.

    Exit code 0 when nothing keeps Nacre from its work, 1 when something does.
    """
    from nacre.doctor import examine, mend

    failed = False
    listed = []
    for memory in open_all(invocation):
        if fix:
            for sentence in mend(memory):
                note(sentence)
        for problem in examine(memory):
            failed = failed or problem.severity == "error"
            listed.append({"agent": memory.agent, **asdict(problem)})
            if not as_json:
                where = problem.path + (f":{problem.line}" if problem.line else "")
                click.echo("  ".join(part for part in (problem.severity, where, problem.message) if part))
                if problem.remedy:
                    click.echo(f"    → {problem.remedy}")
    if as_json:
        print_json(listed)
    elif not listed:
        click.echo(say("All is well.", "一切正常。"))
    return 1 if failed else 0
