"""What capturing a pile of transcripts costs: the first run, the next one, and how much memory a bigger pile takes.

    .venv/bin/python -m bench.capture [--megabytes 200] [--no-models] [--profile]

CPU seconds (user and system) and peak memory of fresh processes. Ends with exit code 1 when the second run takes a CPU second
or more, or when memory grows with the pile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.transcripts import pile
from nacre.embed.models import models_folder

NACRE = (sys.executable, "-m", "nacre")
RUN = (*NACRE, "sync", "--since", "all")
GROWTH = 1.25  # by which memory may differ between piles of which one is four times the other


@dataclass(frozen=True)
class Cost:
    cpu: float
    wall: float
    peak: int  # bytes


def cost_of(command: tuple[str, ...], env: Mapping[str, str]) -> Cost:
    """What one process takes, all its threads and children included."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=dict(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss * unit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--no-models", action="store_true", help="without the embedding models, by structure alone")
    parser.add_argument("--profile", action="store_true", help="where the time of the first run goes")
    args = parser.parse_args()
    if args.profile:
        with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
            profile(Path(folder), args.megabytes, models=not args.no_models)
        return
    costs: list[tuple[Cost, Cost]] = []
    for size in (args.megabytes // 4, args.megabytes // 2, args.megabytes):
        with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
            costs.append(measure(Path(folder), size, models=not args.no_models))
    peaks = [first.peak for first, _ in costs]
    if max(second.cpu for _, second in costs) >= 1 or max(peaks) > GROWTH * min(peaks):
        sys.exit("the second run took a CPU second or more, or memory grew with the pile")


def surroundings(home: Path, *, models: bool) -> dict[str, str]:
    """A machine with nothing on it but the pile; the workspace is made."""
    env = {**os.environ, "HOME": str(home), "NACRE_WORKSPACE": str(home / "ws"), "NACRE_TIMEZONE": "UTC"}
    env |= {
        "XDG_CACHE_HOME": str(home / "cache"),
        "NACRE_MODELS_PATH": str(models_folder() if models else home / "none"),
    }
    for name in ("OPENCLAW_STATE_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        env.pop(name, None)
    cost_of((*NACRE, "init"), env)
    return env


def profile(home: Path, megabytes: int, *, models: bool) -> None:
    pile(home, megabytes)
    command = [sys.executable, "-m", "cProfile", "-s", "tottime", *RUN[1:]]
    subprocess.run(command, env=surroundings(home, models=models), check=True)


def measure(home: Path, megabytes: int, *, models: bool) -> tuple[Cost, Cost]:
    sessions = pile(home, megabytes)
    env = surroundings(home, models=models)
    first, second = cost_of(RUN, env), cost_of(RUN, env)
    sections = sum(path.read_text("utf8").count("\n## ") for path in (home / "ws" / "memory").glob("*.md"))
    how = "with the models" if models else "without models"
    print(f"{megabytes} MB, {sessions} sessions, {sections} sections, {how}")
    print(f"  first run   {first.cpu:8.1f} CPU s {first.wall:8.1f} s {megabytes / first.wall:8.1f} MB/s", end="")
    print(f" {first.peak / 1e6:8.0f} MB at most")
    print(f"  second run  {second.cpu:8.2f} CPU s {second.peak / 1e6:35.0f} MB at most", flush=True)
    return first, second


if __name__ == "__main__":
    main()
