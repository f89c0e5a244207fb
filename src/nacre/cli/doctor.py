"""nacre doctor: look for trouble and say how to mend it."""

from __future__ import annotations

from dataclasses import asdict

import click

from nacre.cli.base import Command, Invocation, json_option, note, open_all, print_json
from nacre.errors import BadSetting
from nacre.model.problem import Problem
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre doctor --fix")
@click.option(
    "--fix",
    is_flag=True,
    help="Mend what can be mended without touching your notes: the index, missing files, permissions, a stale socket.",
)
@json_option
@click.pass_obj
def doctor(invocation: Invocation, *, fix: bool, as_json: bool) -> int:
    """Look for trouble in files, settings, index, models, agents, jobs, daemon and clock, and say how to mend it.

    For each agent on this machine a talk is made up in that agent's own format and taken the whole way in a scratch workspace: read,
    written, found again. Exit code 0 when nothing keeps Nacre from its work, 1 when something does.
    """
    from nacre.connect.record import state_folder
    from nacre.connect.registry import known
    from nacre.connect.standing import problems
    from nacre.doctor import examine, mend
    from nacre.doctor.agents import connected
    from nacre.doctor.running import mending
    from nacre.jobs.service.common import this_machine

    proven: list[str] = []
    found: list[tuple[str | None, Problem]] = []
    try:
        for memory in open_all(invocation):
            if fix:
                for line in mend(memory):
                    note(line)
            found += [(memory.agent, problem) for problem in examine(memory)]
            found += [
                (memory.agent, problem)
                for problem in problems(known(), this_machine(), state_folder(), memory.workspace.root)
            ]
            proven += [source.agent for _, source, _ in connected(memory)]
    except BadSetting as trouble:  # settings that stop every command are what doctor is asked about
        found.append((None, Problem("bad setting", str(trouble), severity="error", remedy=mending(str(trouble)))))
    if not as_json:
        for _, problem in found:
            _show(problem)
    listed = [{"agent": agent, **asdict(problem)} for agent, problem in found]
    failed = any(problem.severity == "error" for _, problem in found)
    if proven and not any(problem.kind == "capture" for _, problem in found):
        names = list(dict.fromkeys(proven))
        note(
            say(
                f"Proven in a scratch workspace: a talk with {', '.join(names)} is captured, written and found again.",
                f"已在临时工作区验证：与 {'、'.join(names)} 的对话可被采集、写入并查到。",
            )
        )
    if as_json:
        print_json(listed)
    elif not listed:
        click.echo(say("All is well.", "一切正常。"))
    return 1 if failed else 0


def _show(problem: Problem) -> None:
    where = problem.path + (f":{problem.line}" if problem.line else "")
    click.echo("  ".join(part for part in (problem.severity, where, problem.message) if part))
    if problem.remedy:
        click.echo(f"    → {problem.remedy}")
