"""Work that runs by itself: when it is due, running it once, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.jobs.run import JobState
    from nacre.memory import Memory


def state(memory: Memory) -> list[JobState]:
    """Every job as it stands, for status and doctor."""
    from nacre.jobs.run import job_states as standing

    return standing(memory)
