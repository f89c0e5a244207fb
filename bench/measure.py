"""CPU seconds, quantiles and plots of them: wall time on a shared machine says little, process time more."""

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


def small_plots(panels: Mapping[str, Sequence[tuple[str, str, float]]], columns: int = 4) -> str:
    """An SVG with a small plot for each name, over points of label, value and height (0 to 1); the first height as a grey line."""
    width, height = 210, 120
    cells = []
    for number, (name, points) in enumerate(panels.items()):
        places = [(10 + 150 * at / max(len(points) - 1, 1), 90 - 60 * point[2]) for at, point in enumerate(points)]
        line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
        marks = "".join(
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3"/><text x="{x:.0f}" y="{y - 7:.0f}">{value}</text>'
            f'<text x="{x:.0f}" y="106" class="size">{label}</text>'
            for (x, y), (label, value, _) in zip(places, points, strict=True)
        )
        base = places[0][1]
        cells.append(
            f'<g transform="translate({number % columns * width},{number // columns * height})">'
            f'<text x="10" y="14" class="name">{name}</text><line x1="10" x2="160" y1="{base:.0f}" y2="{base:.0f}"/>'
            f'<polyline points="{line}"/>{marks}</g>'
        )
    rows = -(-len(cells) // columns)
    style = (
        "text{font:10px sans-serif;fill:#333}.name{font-weight:bold}.size{fill:#888}"
        "line{stroke:#ccc}polyline{fill:none;stroke:#2a6f97;stroke-width:2}circle{fill:#2a6f97}"
    )
    size = f'width="{columns * width}" height="{rows * height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style}</style>{"".join(cells)}</svg>\n'
