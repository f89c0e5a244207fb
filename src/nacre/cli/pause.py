"""nacre pause, nacre resume: the user's word on whether anything is captured."""

from __future__ import annotations

import datetime as dt

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_all, print_json
from nacre.errors import BadInput
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre pause 2h")
@click.argument("length", required=False)
@dry_run_option
@json_option
@click.pass_obj
def pause(invocation: Invocation, length: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Capture nothing from now on, for LENGTH (2h, 1d) or until "nacre resume".

    What is said meanwhile is never captured, also not later. Where several agents have workspaces, it holds for all of them.
    """
    from nacre.sources.consent import begin_pause

    span = _span(length) if length is not None else None
    end: dt.datetime | None = None
    for memory in open_all(invocation):
        now = memory.clock.now()
        try:
            end = now + span if span else None
        except OverflowError:  # longer than the calendar is
            end = None
        if not dry_run:
            begin_pause(memory.workspace, now, span)
    if as_json:
        until = end.isoformat(timespec="minutes") if end else None
        print_json({"paused": not dry_run, "until": until, "dryRun": dry_run})
        return
    told = f"{end:%Y-%m-%d %H:%M}" if end else '"nacre resume"'
    if dry_run:
        note(say(f"Capture would be paused until {told}.", f"将暂停采集，直到 {told}。"))
    else:
        note(say(f"Capture is paused until {told}.", f"采集已暂停，直到 {told}。"))


def _span(length: str) -> dt.timedelta:
    from nacre.clock import duration

    span = duration(length)
    if not span:
        raise BadInput(
            say(
                f'"{length}" is no time at all; write it as 2h or 1d, or leave it out to pause until "nacre resume".',
                f"“{length}”时长为零；请写成 2h 或 1d，或省略以暂停到运行“nacre resume”为止。",
            )
        )
    return span


@click.command(cls=Command, epilog="Example:  nacre resume")
@dry_run_option
@json_option
@click.pass_obj
def resume(invocation: Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Capture again. What was said during the pause stays out of memory."""
    from nacre.sources.consent import end_pause, paused_at, pauses

    was = False
    for memory in open_all(invocation):
        now = memory.clock.now()
        was = paused_at(pauses(memory.workspace), now) is not None or was
        if not dry_run:
            end_pause(memory.workspace, now)
    if as_json:
        print_json({"paused": dry_run and was, "was": was, "dryRun": dry_run})
    elif not was:
        note(say("Capture was not paused.", "采集并未暂停。"))
    elif dry_run:
        note(say("Capture would go on.", "将恢复采集。"))
    else:
        note(say("Capture goes on.", "采集已恢复。"))
