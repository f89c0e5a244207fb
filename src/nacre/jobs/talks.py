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


def talks(memory: Memory, ended: Collection[str] = ()) -> tuple[Talk, ...]:
    """The transcripts that this memory captures. `ended` names those, by path, whose agent said that they are over; so does the queue."""
    from nacre.capture.queued import Queue
    from nacre.capture.run import setting_of
    from nacre.sources.consent import settings_of

    given = setting_of(memory.workspace, memory.config, memory.clock, lambda: memory.brain)
    queue = Queue(memory.workspace, memory.config, given.places, given.sources)
    over = {os.path.realpath(one) for one in (*ended, *queue.wanted_now)}
    found: list[Talk] = []
    for source in given.sources:
        if not settings_of(memory.config, source.agent).enabled:
            continue
        for one in chain(source.find(given.places), queue.outside(source)):
            changed = _moment(one.changed)
            if changed and given.wanted(one):
                found.append(Talk(one.key, changed, ended=bool(over) and os.path.realpath(one.path) in over))
    return tuple(found)


def _moment(seconds: float) -> dt.datetime | None:
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (ValueError, OverflowError, OSError):  # a file of a time that no calendar has
        return None
