"""nacre pause, nacre resume: the user's word on whether anything is captured."""

from __future__ import annotations

import click

from nacre.cli.base import Command, Invocation, dry_run_option, json_option, note, open_memory, print_json
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre pause 2h")
@click.argument("length", required=False)
@dry_run_option
@json_option
@click.pass_obj
def pause(invocation: Invocation, length: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Capture nothing from now on, for LENGTH (2h, 1d) or until "nacre resume".

    What is said meanwhile is never captured, also not later.
    """
    from nacre.clock import duration
    from nacre.sources.consent import begin_pause

    memory = open_memory(invocation)
    span = duration(length) if length else None
    now = memory.clock.now()
    end = (now + span).isoformat(timespec="minutes") if span else None
    if not dry_run:
        begin_pause(memory.workspace, now, span)
    if as_json:
        print_json({"paused": True, "until": end, "dryRun": dry_run})
        return
    until = end or say('until "nacre resume"', "直到运行“nacre resume”")
    note(say(f"Capture is paused {'until ' if end else ''}{until}.", f"采集已暂停，{'至 ' if end else ''}{until}。"))


@click.command(cls=Command, epilog="Example:  nacre resume")
@dry_run_option
@json_option
@click.pass_obj
def resume(invocation: Invocation, *, dry_run: bool, as_json: bool) -> None:
    """Capture again. What was said during the pause stays out of memory."""
    from nacre.sources.consent import end_pause, paused_at, pauses

    memory = open_memory(invocation)
    now = memory.clock.now()
    was = paused_at(pauses(memory.workspace), now) is not None
    if not dry_run:
        end_pause(memory.workspace, now)
    if as_json:
        print_json({"paused": False, "was": was, "dryRun": dry_run})
    elif was:
        note(say("Capture goes on.", "采集已恢复。"))
    else:
        note(say("Capture was not paused.", "采集并未暂停。"))
