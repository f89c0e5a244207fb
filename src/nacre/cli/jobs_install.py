"""nacre jobs install, nacre jobs remove: what makes jobs run on this machine, written and taken back."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json, shown_path
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.jobs.installer import Setup, Step
    from nacre.jobs.schedulers import ServicePlan
    from nacre.memory import Memory


@click.command(cls=Command, epilog="Example:  nacre jobs install --dry-run")
@click.option(
    "--with",
    "kind",
    type=click.Choice(["auto", "systemd", "launchd", "cron", "openclaw"]),
    default="auto",
    show_default=True,
    help="What is to run the jobs.",
)
@click.option("--heartbeat", is_flag=True, help="Also write instructions into the agent's HEARTBEAT.md.")
@dry_run_option
@json_option
@click.pass_obj
def install(invocation: Invocation, kind: str, *, heartbeat: bool, dry_run: bool, as_json: bool) -> None:
    """Let this machine run the jobs: by timers of systemd, launchd, the crontab, or OpenClaw's cron, whichever it has.

    Shows every file and command, then does it. Doing it again changes nothing; after a change of the settings it brings the times up to
    date. Entries of others are never touched. "nacre jobs remove" takes back exactly what was written.
    """
    from nacre.jobs.schedulers import plan_install

    for memory in open_all(invocation):
        made = plan_install(setup_of(memory), kind, with_heartbeat=heartbeat)
        _carry_out(made, _installed(made, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


@click.command(cls=Command, epilog="Example:  nacre jobs remove --dry-run")
@dry_run_option
@json_option
@click.pass_obj
def remove(invocation: Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Take back what "nacre jobs install" wrote, and nothing else. Jobs then run only in the daemon, or when you ask."""
    from nacre.jobs.schedulers import plan_remove

    for memory in open_all(invocation):
        made = plan_remove(setup_of(memory))
        _carry_out(made, _removed(made, dry_run=dry_run), dry_run=dry_run, as_json=as_json)


def setup_of(memory: Memory) -> Setup:
    """This memory on this machine, as a service is planned for it."""
    from nacre.jobs.installer import Setup, this_machine

    return Setup(memory, this_machine())


def _carry_out(made: ServicePlan, sentence: str, *, dry_run: bool, as_json: bool) -> None:
    """What is to be done is shown first, then done, then said in a sentence."""
    from nacre.jobs.schedulers import apply_plan

    plain = _as_plain(made, dry_run=dry_run)
    if not as_json:
        for one in made.shown:
            click.echo(_for_people(one))
        for told in (*made.notes, *(str(error) for error in made.errors if dry_run)):
            note(told)
    if not dry_run:
        apply_plan(made)
    if as_json:
        print_json(plain)
    else:
        note(sentence)


def _for_people(one: Step) -> str:
    return f"$ {shlex.join(one.command)}" if one.command else one.diff or one.path


def _installed(made: ServicePlan, *, dry_run: bool) -> str:
    root = shown_path(made.setup.memory.workspace.root)
    if made.kind is None:
        return say(
            f'Nothing on this machine can run the jobs of {root}; the daemon does while it runs: "nacre serve --background".',
            f"本机没有可以运行 {root} 任务的程序；守护进程运行期间会代为执行：“nacre serve --background”。",
        )
    if not made.changed:
        return say(f"{made.kind} runs the jobs of {root} already.", f"{made.kind} 已在运行 {root} 的任务。")
    if dry_run:
        return say(f"{made.kind} would run the jobs of {root}.", f"将由 {made.kind} 运行 {root} 的任务。")
    return say(f"{made.kind} now runs the jobs of {root}.", f"现在由 {made.kind} 运行 {root} 的任务。")


def _removed(made: ServicePlan, *, dry_run: bool) -> str:
    root = shown_path(made.setup.memory.workspace.root)
    if not made.changed:
        return say(f"Nothing is installed for {root}.", f"{root} 没有安装任何内容。")
    if dry_run:
        return say(f"This would be taken back for {root}.", f"将为 {root} 撤回以上内容。")
    return say(f"Everything that was installed for {root} was taken back.", f"已撤回为 {root} 安装的全部内容。")


def _as_plain(made: ServicePlan, *, dry_run: bool) -> dict[str, object]:
    return {
        "workspace": str(made.setup.memory.workspace.root),
        "with": made.kind,
        "changed": made.changed and not dry_run,
        "dryRun": dry_run,
        "steps": [one.as_json() for one in made.shown],
        "notes": list(made.notes),
    }
