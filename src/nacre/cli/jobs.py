"""nacre jobs: list, run, install and remove the scheduled jobs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from nacre.cli import ui
from nacre.cli.layers import organise_summary
from nacre.cli.tidy import decay_summary, tidy_summary
from nacre.daemon.process import ask_status
from nacre.errors import BadInput, Locked, NacreError, PartlyDone
from nacre.i18n import say
from nacre.jobs.installer import Setup, installed_kinds, this_machine
from nacre.jobs.run import JobReport, JobState, Outcome, Runner, due_now, job_states, run_due, run_named, runner_for
from nacre.jobs.schedulers import ServicePlan, apply_plan, choose_scheduler, plan_install, plan_remove
from nacre.memory import Memory
from nacre.model import Note, Report, fields

SUMMARIES: dict[str, Callable[[Any], str]] = {
    "TidyReport": tidy_summary,
    "DecayReport": decay_summary,
    "OrganiseReport": organise_summary,
}


@click.group(cls=ui.Group, epilog="Example:  nacre jobs list")
def jobs() -> None:
    """List and run the jobs that keep memory up to date.

    memory-sync captures sessions, memory-tidy condenses and distils at night, organise sorts the layers, and heartbeat does a quick
    check. They run while "nacre serve" is running, or in the scheduler set up by "nacre jobs install"; never two at once, and never twice
    for the same scheduled time.
    """


@ui.command("nacre jobs list --json", "list", group=jobs)
def list_(options: ui.Options) -> Iterator[Report]:
    """List the jobs with their schedule, last run (result and duration) and next run."""
    columns = "job 任务|schedule 计划|last run 上次运行|result 结果|took 用时|next run 下次运行|failing since 失败始于"
    for memory in ui.open_all(options):
        states, by = job_states(memory), runners(memory, ask_status(memory))
        schedule_alone = (
            say("This is the schedule, but ", "以上是计划的时间，但") + nothing_runs(memory) + say(".", "。")
        )
        yield Report(
            [state.as_plain() for state in states],
            columns=ui.headings(columns),
            lines=[_row(state, memory) for state in states],
            notes=[say(f"Run by {', '.join(by)}.", f"由 {'、'.join(by)} 运行。") if by else schedule_alone],
        )


def _row(state: JobState, memory: Memory) -> tuple[str, ...]:
    last, result = state.last, result_word(state.last.result or "failed") if state.last else ""
    coming = f"{state.next:%Y-%m-%d %H:%M}" if state.next else say("never", "从不")
    return (
        state.name,
        state.when,
        f"{memory.clock.local(last.started):%Y-%m-%d %H:%M}" if last else say("never", "从未"),
        say("running", "运行中") if state.running else result,
        f"{last.seconds:.1f} s" if last and last.seconds is not None else "",
        say("now", "现在") if state.due else coming,
        f"{state.failing_since:%Y-%m-%d %H:%M} ({state.failures})" if state.failing_since else "",
    )


def result_word(result: str) -> str:
    return ui.first(
        (result == "nothing", "nothing to do", "无需处理"),
        (result == "partly", "partly done", "部分完成"),
        (result == "failed", "failed", "失败"),
        (True, "done", "完成"),
    )


def runners(memory: Memory, daemon: dict[str, Any] | None) -> list[str]:
    """By whom the jobs are run: schedulers of the machine, and the daemon if it is one that does. `daemon` is what it says of itself."""
    by = list(installed_kinds(memory.workspace))
    if ((daemon or {}).get("jobs") or {}).get("timed"):
        by.append("nacre serve")
    elif memory.config.jobs.on_demand and memory.config.hooks.start_daemon:
        by.append(say("the daemon started by agents", "智能体启动的守护进程"))
    return by


def has_scheduler(memory: Memory) -> bool:
    return choose_scheduler(setup_of(memory)) is not None


def nothing_runs(memory: Memory) -> str:
    """The sentence that nothing runs the jobs, with the command that sets them up on this machine."""
    command = "nacre jobs install" if has_scheduler(memory) else "nacre serve --background"
    return say(f'nothing runs automatically; run "{command}"', f"尚未设置自动运行；请运行“{command}”")


@ui.command("nacre jobs run memory-sync", group=jobs, dry_run=True)
@click.argument("name", required=False)
@ui.flag("--due", "only_due", "Run all due jobs, including missed ones, once each.")
def run(options: ui.Options, name: str | None, *, only_due: bool) -> Iterator[Report]:
    """Run the job NAME now. With --due, run all jobs that are due, or NAME only if it is due.

    A run counts for the job's latest scheduled time, so no other scheduler repeats it. If a job for this workspace is already running, the
    command says so and exits: with code 11, or 0 with --due.
    """
    if name is None and not only_due:
        english = "Name a job, or use --due to run all due jobs."
        raise BadInput(english, "请指定一个任务，或用 --due 运行所有到期的任务。")
    reports: list[JobReport] = []
    for memory in ui.open_all(options):
        runner, now = runner_for(memory), name is not None and not only_due
        made = [run_named(runner, name or "", dry_run=options.dry_run)] if now else _run_due(options, runner, name)
        reports += made
        lines = [line for report in made for line in _run_lines(report, by_name=name is not None)]
        yield Report(list(map(_run_json, made)), lines=lines)
    errors = [report.error for report in reports if report.error]
    if name == "memory-sync" and all(report.outcome.result == "nothing" for report in reports):
        yield Report(lines=[ui.SKIP])
    for error in errors:  # one that we do not know shows itself; one alone is told as it is
        if len(errors) == 1 or not isinstance(error, NacreError):
            raise error
    if errors:
        raise PartlyDone(f"{len(errors)} runs failed and will be retried.", f"{len(errors)} 次运行失败，稍后会重试。")
    if partly := [f"{made.run.job}: {made.outcome.said}" for made in reports if made.outcome.result == "partly"]:
        raise PartlyDone(" ".join(partly))


def _run_due(options: ui.Options, runner: Runner, name: str | None) -> list[JobReport]:
    if not options.dry_run:
        try:
            return list(run_due(runner, name))
        except Locked as error:  # a scheduler that calls often must not complain of it
            ui.note(str(error))
            return []
    now, reports = runner.context.clock.now(), []
    for planned in due_now(runner, name):
        due = say("due", "已到运行时间")
        due += say(f"; attempt {planned.attempt}", f"；第 {planned.attempt} 次") if planned.why == "retry" else ""
        reports.append(JobReport(planned, Outcome("nothing", due), now, dry_run=True))
    return reports


def _run_lines(report: JobReport, *, by_name: bool) -> list[str]:
    """What a run did, for people; without a terminal, `--due` prints nothing about runs that changed nothing."""
    job, outcome = report.run.job, report.outcome
    if report.error:
        return [] if by_name else [Note(f"{job}: {outcome.said}")]
    quiet = outcome.result == "nothing" and not report.dry_run and not sys.stdout.isatty()
    if quiet and (not by_name or job == "memory-sync"):
        return []
    kinds = [(type(part).__name__, part) for part in outcome.reports]
    lines = [SUMMARIES[kind](part) for kind, part in kinds if kind in SUMMARIES]
    return lines or [f"{job}{say(': ', '：')}{outcome.said}"]


def _run_json(report: JobReport) -> dict[str, Any]:
    window, shown = report.run.window, None if report.dry_run else report
    return fields(
        report.run,
        "job why window attempt",
        window=window.isoformat(timespec="seconds") if window else None,
        started=shown and shown.started.isoformat(timespec="seconds"),
        result=shown and shown.outcome.result,
        seconds=report.seconds,
        said=report.outcome.said,
        dryRun=report.dry_run,
    )


@ui.command("nacre jobs install --dry-run", group=jobs, dry_run=True)
@click.option(
    "--with",
    "kind",
    type=click.Choice(["auto", "systemd", "launchd", "cron", "openclaw"]),
    default="auto",
    show_default=True,
    help="The scheduler to use.",
)
@ui.flag("--heartbeat", "Also add instructions to the agent's HEARTBEAT.md.")
def install(options: ui.Options, kind: str, *, heartbeat: bool) -> Iterator[Report]:
    """Schedule the jobs on this machine with systemd timers, launchd, cron or OpenClaw's cron, whichever is available.

    Shows every file and command before applying it. Running it again changes nothing, or updates the schedule if the settings changed.
    Other programs' entries are never touched. "nacre jobs remove" reverts exactly what was written.
    """
    for memory in ui.open_all(options):
        made = plan_install(setup_of(memory), kind, with_heartbeat=heartbeat)
        root, by = ui.shown_path(memory.workspace.root), made.kind
        nobody_here = f'No scheduler was found to run the jobs for {root}. Run "nacre serve --background" instead.'
        outcome = ui.first(
            (by is None, nobody_here, f"没有找到能运行 {root} 任务的调度程序。请改用“nacre serve --background”。"),
            (not made.changed, f"{by} already runs the jobs for {root}.", f"{by} 已在运行 {root} 的任务。"),
            (options.dry_run, f"{by} would run the jobs for {root}.", f"将由 {by} 运行 {root} 的任务。"),
            (True, f"{by} now runs the jobs for {root}.", f"现在由 {by} 运行 {root} 的任务。"),
        )
        yield from _carry_out(options, made, outcome)


@ui.command("nacre jobs remove --dry-run", group=jobs, dry_run=True)
def remove(options: ui.Options) -> Iterator[Report]:
    """Remove what "nacre jobs install" set up, and nothing else. Jobs then run only in the daemon, or when you start them."""
    for memory in ui.open_all(options):
        made, root = plan_remove(setup_of(memory)), ui.shown_path(memory.workspace.root)
        outcome = ui.first(
            (not made.changed, f"No jobs are installed for {root}.", f"{root} 没有定时任务。"),
            (options.dry_run, f"The jobs for {root} would be removed.", f"将移除 {root} 的定时任务。"),
            (True, f"The jobs for {root} were removed.", f"已移除 {root} 的定时任务。"),
        )
        yield from _carry_out(options, made, outcome)


def setup_of(memory: Memory) -> Setup:
    """What a scheduler's plan is made from: this memory and this machine."""
    return Setup(memory, this_machine())


def service_lines(plan: ServicePlan) -> list[str]:
    return [f"$ {shlex.join(step.command)}" if step.command else step.diff or step.path for step in plan.shown]


def _carry_out(options: ui.Options, made: ServicePlan, outcome: str) -> Iterator[Report]:
    """Show the plan, apply it, and print the outcome."""
    errors = [str(error) for error in made.errors if options.dry_run]
    yield Report(lines=service_lines(made), notes=[*made.notes, *errors])
    if not options.dry_run:
        apply_plan(made)
    facts = {
        "workspace": str(made.setup.memory.workspace.root),
        "with": made.kind,
        "changed": made.changed and not options.dry_run,
        "dryRun": options.dry_run,
        "steps": [step.as_json() for step in made.shown],
        "notes": made.notes,
    }
    yield Report(facts, notes=[outcome])
