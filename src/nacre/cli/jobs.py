"""nacre jobs: what runs by itself, when it ran, what came of it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Group, Invocation, dry_run_option, json_option, note, open_all, print_json, table
from nacre.errors import BadInput, Locked, NacreError, PartlyDone
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.clock import Clock
    from nacre.jobs.due import PlannedRun
    from nacre.jobs.run import JobReport, JobState, Runner
    from nacre.memory import Memory

SKIP = "ANNOUNCE_SKIP"  # what OpenClaw's scheduler takes for "nothing to say"
_ELSEWHERE = ("install", "remove")


class Jobs(Group):
    """The commands of this file, and those that hand the jobs to a scheduler of the system."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        there = importlib.util.find_spec("nacre.cli.jobs_install") is not None
        return [*super().list_commands(ctx), *(_ELSEWHERE if there else ())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE and cmd_name in self.list_commands(ctx):
            found = getattr(importlib.import_module("nacre.cli.jobs_install"), cmd_name)
            assert isinstance(found, click.Command)
            return found
        return super().get_command(ctx, cmd_name)


@click.group(cls=Jobs, epilog="Example:  nacre jobs list")
def jobs() -> None:
    """See and run what keeps memory alive by itself.

    memory-sync captures what was said, memory-tidy presses and distils at night, organise puts the layers in order, heartbeat takes a
    light look. They run while "nacre serve" does, or by the scheduler that "nacre jobs install" hands them to; never two at once, and
    never twice for the same time.
    """


@jobs.command("list", epilog="Example:  nacre jobs list --json")
@json_option
@click.pass_obj
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the jobs: when they run, the last run with its result and length, the next one."""
    from nacre.jobs.run import job_states

    for memory in open_all(invocation):
        found = job_states(memory)
        if as_json:
            print_json([one.as_plain() for one in found])
            continue
        headings = (
            *(say("job", "任务"), say("when", "时间"), say("last run", "上次运行"), say("result", "结果")),
            *(say("took", "用时"), say("next run", "下次运行"), say("failing since", "失败始于")),
        )
        table([_row(one, memory.clock) for one in found], headings)
        _say_who(memory)


def _say_who(memory: Memory) -> None:
    """By whom they are run; a list of coming times says nothing of it."""
    from nacre.checks.status import daemon_status
    from nacre.cli.jobs_runner import nobody, runners

    by = runners(memory, daemon_status(memory))
    note(
        say(f"Run by {', '.join(by)}.", f"由 {'、'.join(by)} 运行。")
        if by
        else say(f"These are the times; {nobody(memory)}.", f"以上是设定的时间；{nobody(memory)}。")
    )


def _row(one: JobState, clock: Clock) -> tuple[str, ...]:
    last = one.last
    seconds = last.seconds if last else None
    return (
        one.name,
        one.words,
        f"{clock.local(last.started):%Y-%m-%d %H:%M}" if last else say("never", "从未"),
        _result(one),
        "" if seconds is None else f"{seconds:.1f} s",
        say("now", "现在") if one.due else f"{one.next:%Y-%m-%d %H:%M}" if one.next else say("never", "从不"),
        f"{one.failing_since:%Y-%m-%d %H:%M} ({one.failures})" if one.failing_since else "",
    )


def _result(one: JobState) -> str:
    if one.running:
        return say("running", "运行中")
    if one.last is None:
        return ""
    return word(one.last.result or "failed")


def word(result: str) -> str:
    """What came of a run, for people."""
    return {
        "done": say("done", "完成"),
        "nothing": say("nothing to do", "无事可做"),
        "partly": say("partly done", "部分完成"),
        "failed": say("failed", "失败"),
    }[result]


@jobs.command(epilog="Example:  nacre jobs run memory-sync")
@click.argument("name", required=False)
@click.option("--due", "only_due", is_flag=True, help="Only what is due, missed runs too, each once.")
@dry_run_option
@json_option
@click.pass_obj
def run(invocation: Invocation, name: str | None, *, only_due: bool, dry_run: bool, as_json: bool) -> None:
    """Run the job NAME now; with --due whatever is due, or NAME unless its last time was run for already.

    A run stands for the last time of the job, so that nothing else runs for that time again. When jobs of the workspace run already,
    this one says so and leaves: with a NAME alone by exit code 11, with --due by 0.
    """
    if name is None and not only_due:
        raise BadInput(
            "Name a job, or give --due for all that is due.", "请指定一个任务，或用 --due 运行所有到期的任务。"
        )
    from nacre.jobs.run import run_named, runner_for

    troubles: list[BaseException] = []
    partly: list[str] = []
    captured = False
    for memory in open_all(invocation):
        desk = runner_for(memory)
        if name is None or only_due:
            reports = _due(desk, name, dry_run=dry_run, as_json=as_json)
        else:
            reports = (run_named(desk, name, dry_run=dry_run),)
        if as_json:
            print_json([_plain(one) for one in reports])
        for one in reports:
            captured = captured or one.outcome.result in ("done", "partly")
            if not as_json:
                _show(one, by_name=name is not None)
            troubles += [one.error] if one.error else []
            partly += [f"{one.run.job}: {one.outcome.said}"] if one.outcome.result == "partly" else []
    if name == "memory-sync" and not captured and not troubles and not as_json:
        click.echo(SKIP)
    _raise(troubles)
    if partly:
        raise PartlyDone(" ".join(partly))


def _due(desk: Runner, name: str | None, *, dry_run: bool, as_json: bool) -> tuple[JobReport, ...]:
    from nacre.jobs.run import JobReport, Outcome, due_now, run_due

    if dry_run:
        now = desk.context.clock.now()
        return tuple(JobReport(one, Outcome("nothing", _why(one)), now, dry_run=True) for one in due_now(desk, name))
    try:
        reports = run_due(desk, name)
    except Locked as trouble:  # a scheduler that calls often must not complain of it
        note(str(trouble))
        return ()
    if not reports and not as_json and sys.stderr.isatty():
        note("Nothing is due.", "没有到期的任务。")
    return reports


def _why(one: PlannedRun) -> str:
    return {
        "time": say("It is time.", "已到时间。"),
        "asked": say("Its last time was not run for yet.", "上一个时间点尚未运行。"),
        "missed": say("Its time was missed.", "错过了时间。"),
        "retry": say(f"It failed before; attempt {one.attempt}.", f"此前失败；第 {one.attempt} 次尝试。"),
    }.get(one.why, "")


def _show(one: JobReport, *, by_name: bool) -> None:
    """What a run did, for people. Where nobody watches, `--due` is silent about runs without news."""
    if one.error:
        if not by_name:
            note(f"{one.run.job}: {one.outcome.said}")
        return
    from nacre.layers.organise import OrganiseReport
    from nacre.tidy.run import DecayReport, TidyReport

    quiet = one.outcome.result == "nothing" and not one.dry_run and not sys.stdout.isatty()
    if quiet and (not by_name or one.run.job == "memory-sync"):
        return
    told = False
    for report in one.outcome.reports:
        if isinstance(report, TidyReport):
            from nacre.cli.tidy import tidy_summary as of_night

            click.echo(of_night(report))
        elif isinstance(report, DecayReport):
            from nacre.cli.tidy import decay_summary as of_decay

            click.echo(of_decay(report))
        elif isinstance(report, OrganiseReport):
            from nacre.cli.layers import organise_summary as of_layers

            click.echo(of_layers(report))
        else:
            continue
        told = True
    if not told:
        click.echo(f"{one.run.job}{say(': ', '：')}{one.outcome.said}")


def _plain(one: JobReport) -> dict[str, Any]:
    window = one.run.window
    return {
        "job": one.run.job,
        "why": one.run.why,
        "window": window.isoformat(timespec="seconds") if window else None,
        "attempt": one.run.attempt,
        "started": None if one.dry_run else one.started.isoformat(timespec="seconds"),
        "result": None if one.dry_run else one.outcome.result,
        "seconds": one.seconds,
        "said": one.outcome.said,
        "dryRun": one.dry_run,
    }


def _raise(troubles: list[BaseException]) -> None:
    """One trouble is told as itself; of several, that not all was done. An error that we do not know shows itself."""
    for one in troubles:
        if not isinstance(one, NacreError):
            raise one
    if len(troubles) == 1:
        raise troubles[0]
    if troubles:
        raise PartlyDone(
            f"{len(troubles)} runs failed; they are tried again.", f"{len(troubles)} 次运行失败，稍后会重试。"
        )
