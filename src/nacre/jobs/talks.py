"""The talks on this machine as the jobs see them: when each last changed. Nothing of them is read."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Collection
from itertools import chain
from typing import TYPE_CHECKING

from nacre.jobs.adaptive import Talk

if TYPE_CHECKING:
    from nacre.memory import Memory


def talks(memory: Memory, ended: Collection[str] = (), *, only_queued: bool = False) -> tuple[Talk, ...]:
    """The transcripts that this memory captures; with `only_queued` those that hooks named. `ended` names those, by path, whose agent
    says just now that they are over; the queue, those whose agent said so before."""
    from nacre.capture.queued import Queue
    from nacre.capture.run import setting_of
    from nacre.sources.consent import settings_of

    given = setting_of(memory.workspace, memory.config, memory.clock, lambda: memory.brain)
    queue = Queue(memory.workspace, memory.config, given.places, given.sources)
    told = {os.path.realpath(one) for one in ended}
    over = told | {os.path.realpath(one) for one in queue.wanted_now}
    named = over | {os.path.realpath(one.transcript) for one in queue.waiting}
    if only_queued and not named:
        return ()
    found: list[Talk] = []
    for source in given.sources:
        if not settings_of(memory.config, source.agent).enabled:
            continue
        for one in chain(source.find(given.places), queue.outside(source)):
            changed = _moment(one.changed)
            if not changed or not given.wanted(one):
                continue
            path = os.path.realpath(one.path) if named else ""
            if path in named or not only_queued:
                found.append(Talk(one.key, changed, ended=path in over, told=path in told))
    return tuple(found)


def _moment(seconds: float) -> dt.datetime | None:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):  # a file of a time that no calendar has
        return None
