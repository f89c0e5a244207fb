"""CPU seconds and quantiles: wall time on a shared machine says little, process time more."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence


def cpu_of(
    command: Sequence[str], *, runs: int = 5, env: Mapping[str, str] | None = None, given: str = ""
) -> tuple[float, float]:
    """User and system seconds of a command in fresh processes, `given` on their standard input: the least and the median of several runs."""
    taken = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, env=None if env is None else dict(env), input=given, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            message = f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}"
            raise RuntimeError(message)
        taken.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(taken), statistics.median(taken)


def spread(work: Sequence[Callable[[], object]]) -> tuple[float, float]:
    """Wall milliseconds of each piece of work: the median and the 95th percentile."""
    taken = []
    for one in work:
        started = time.perf_counter()
        one()
        taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    return taken[len(taken) // 2], taken[min(len(taken) - 1, int(len(taken) * 0.95))]
