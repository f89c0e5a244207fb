"""Two weeks in a few seconds: each evening what was said is captured, each night memory is tidied and its layers sink."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from nacre.demo.stage import DAYS, FIRST_DAY, NOW, Stage
from nacre.memory import Memory

Progress = Callable[[int, int], None]


def lived(stage: Stage, progress: Progress | None = None) -> Memory:
    """The memory on the morning after. It is one memory all the time, so that the models are loaded once."""
    memory = Memory(stage.workspace, stage.config, stage.clock(NOW))
    for number in range(DAYS):
        day = FIRST_DAY + dt.timedelta(days=number)
        memory.clock = stage.clock(f"{day}T22:00")
        if memory.sync().sections:
            memory.checkpoint()
        memory.clock = stage.clock(f"{day + dt.timedelta(days=1)}T03:00")
        memory.tidy()
        memory.organise()
        if progress:
            progress(number + 1, DAYS)
    memory.clock = stage.clock(NOW)
    return memory
