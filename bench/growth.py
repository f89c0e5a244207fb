"""Whether a command costs more after years than after a month.

    .venv/bin/python -m bench.growth [--times 1 10 100] [--runs 5] [--plot out.svg] [--keep FOLDER]

A month is lived through in a fresh workspace: sessions captured, notes, decisions, a tidy every night. The months before it are copies of it with
other dates and ids: archived logs, weekly digests, ledger, provenance and operations. Then each command runs in fresh processes: CPU seconds, the
median of several runs, and how many times the cost at the first size that is. Ends with exit code 1 when a command grows by more than it may.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.capture import surroundings
from bench.corpus import CHINESE, ENGLISH
from bench.measure import cpu_of, small_plots
from bench.tidy import said
from bench.transcripts import write_session
from nacre.memory import Memory
from nacre.tidy.collect import list_days, read_log
from nacre.vault.provenance import Offered, provenance_line

NACRE = (sys.executable, "-m", "nacre")
FIRST, DAYS = dt.date(2026, 9, 1), 30
NOW = "2026-10-01T12:00:00+00:00"
_WORDS = re.compile("|".join((*ENGLISH, *CHINESE)))
MONTH = 35  # days between two copies: whole weeks
LIMITS = {
    "remember": 2, "wal decide": 2, "context": 2, "search": 2, "hook SessionStart": 2, "hook UserPromptSubmit": 2,
    "status": 3, "history": 3, "undo": 3, "why": 3, "tidy": 3,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="draw the costs there, as SVG")
    parser.add_argument("--keep", type=Path, help="leave the workspaces there; those that are there already are used")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-growth-") as folder:
        root = args.keep or Path(folder)
        month = root / "month"
        if not month.exists():
            live_through(month)
        costs = {times: measure(multiplied(month, root / f"x{times}", times), args.runs) for times in args.times}
    first = costs[args.times[0]]
    print("CPU ms".ljust(24) + "".join(f"{f'x{times}':>9}" for times in args.times) + "    grew")
    grown = []
    for name, cost in first.items():
        ratio = costs[args.times[-1]][name] / cost
        grown += [name] if ratio > LIMITS[name] else []
        row = "".join(f"{costs[times][name] * 1000:9.0f}" for times in args.times)
        print(f"{name:24}{row}{ratio:8.1f} (at most {LIMITS[name]})")
    if args.plot:
        args.plot.write_text(plot(costs), encoding="utf-8")
    if grown:
        sys.exit(f"grew by more than they may: {', '.join(grown)}")


def live_through(home: Path) -> None:
    """A month in a workspace below this folder."""
    os.environ.update(surroundings(home, models=False))
    workspace, chance = home / "ws", random.Random(20260214)
    for number in range(DAYS):
        day = FIRST + dt.timedelta(days=number)
        with Memory.open(workspace, now=f"{day}T12:00:00+00:00") as memory:
            for _ in range(3):
                memory.remember(said(chance))
            for _ in range(2):
                memory.state.decide(said(chance))
        for hour in (14, 17):
            write_session(home, dt.datetime(day.year, day.month, day.day, hour, tzinfo=dt.UTC), chance)
        with Memory.open(workspace, now=f"{day}T21:00:00+00:00") as memory:
            memory.sync()
        with Memory.open(workspace, now=f"{day + dt.timedelta(days=1)}T03:00:00+00:00") as memory:
            memory.tidy()


def multiplied(month: Path, home: Path, times: int) -> Path:
    """The month with so many others before it."""
    if home.exists():
        return home
    shutil.copytree(month, home)
    memory, history = home / "ws" / "memory", home / "ws" / ".nacre" / "history"
    for path in [*memory.glob("weekly/*.md"), *memory.glob("archive/*/*.md")]:
        text = path.read_text(encoding="utf-8")
        for number in range(1, times):
            to = path.parent.parent / path.parent.name / f"{_earlier(path.stem, number)}.md"
            if path.parent.parent.name == "archive":
                to = path.parent.parent / to.stem[:4] / to.name
            to.parent.mkdir(exist_ok=True)
            to.write_text(_earlier(text, number), encoding="utf-8")
    for path in (memory / "ledger.jsonl", memory / "trail.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(_copies(lines, times)), encoding="utf-8")
    operations = (history / "operations.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    most = max(json.loads(line)["id"] for line in operations)
    with (history / "operations.jsonl").open("w", encoding="utf-8") as file:
        for number in reversed(range(times)):
            for line in operations:
                row = json.loads(_earlier(line, number))
                row["id"] += (times - 1 - number) * most
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    settle(home / "ws")
    return home


def settle(workspace: Path) -> None:
    """Note in the trail that every line was offered to long-term memory: the words of the copies, and so their marks, are others."""
    with Memory.open(workspace, now=NOW) as memory:
        own = memory.opened.workspace
        days, _ = list_days(own, memory.clock.today())
        marks = {day.date.isoformat(): tuple(line.mark for line in read_log(own, day).lines) for day in days}
    with own.trail.open("a", encoding="utf-8") as file:
        file.writelines(provenance_line(Offered(day, every)) for day, every in marks.items())


def _copies(lines: list[str], times: int) -> Iterator[str]:
    for number in reversed(range(times)):
        for line in lines:
            yield _earlier(line, number)


def _earlier(text: str, number: int) -> str:
    """The text so many months before: its dates, its words of no meaning and the hashes in it are others; nothing is in MEMORY.md any more."""
    if not number:
        return text
    text = text.replace('"verdict":"admitted"', '"verdict":"refused"')
    text = _WORDS.sub(lambda match: match[0] + (_letters(number) if match[0].isascii() else chr(0x5000 + number)), text)
    days = dt.timedelta(days=MONTH * number)
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", lambda match: (dt.date.fromisoformat(match[0]) - days).isoformat(), text)
    return re.sub(
        r'(?<=["|:])[0-9a-f]{8}(?:[0-9a-f]{2})?(?=[" -])',
        lambda match: hashlib.sha256(f"{match[0]}{number}".encode()).hexdigest()[: len(match[0])],
        text,
    )


def _letters(number: int) -> str:
    """The number in letters: a word that ends in digits is taken for a secret."""
    return "zy" + str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def measure(home: Path, runs: int) -> dict[str, float]:
    """The CPU seconds of each command, after each was run once."""
    workspace = home / "ws"
    env = {**os.environ, "HOME": str(home), "NACRE_NOW": NOW, "NACRE_TIMEZONE": "UTC", "OMP_NUM_THREADS": "1"}
    env["NACRE_MODELS_PATH"] = str(home / "none")
    ledger = (workspace / "memory" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    admitted = next(row["id"] for row in map(json.loads, reversed(ledger)) if row["verdict"] == "admitted")
    events = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "which port does the river service listen on?"},
    }
    commands: dict[str, tuple[str, ...]] = {
        "tidy": ("tidy",),
        "remember": ("remember", "The kiln is called Bertha"),
        "wal decide": ("wal", "decide", "chose the blue door"),
        "context": ("context",),
        "search": ("search", "--mode", "text", "who owns the river contract"),
        "status": ("status",),
        "history": ("history", "-n", "3"),
        "why": ("why", admitted),
        "undo": ("undo",),
    }

    def cost(name: str, *command: str, given: str = "") -> None:
        whole = (*NACRE, "--workspace", str(workspace), *command)
        taken = []
        for number in range(runs + 1):
            if name == "undo":  # every time of the same kind of operation
                decision = (*NACRE, "--workspace", str(workspace), "wal", "decide", f"chose door {number}")
                subprocess.run(decision, env=env, capture_output=True, check=True)
            taken.append(cpu_of(whole, runs=1, env=env, given=given)[1])
        costs[name] = statistics.median(taken[1:])

    costs: dict[str, float] = {}
    for name, command in commands.items():
        cost(name, *command)
    for event, fields in events.items():
        message = {"session_id": "growth", "cwd": str(home), "hook_event_name": event, **fields}
        cost(f"hook {event}", "hook", event, "--agent", "claude-code", given=json.dumps(message))
    return costs


def plot(costs: dict[int, dict[str, float]]) -> str:
    """A small plot for each command: CPU milliseconds over months of use, the first size as a grey line."""
    panels = {}
    for name in costs[min(costs)]:
        values = {f"x{size}": costs[size][name] * 1000 for size in sorted(costs)}
        top = max(*values.values(), LIMITS[name] * costs[min(costs)][name] * 1000)
        panels[name] = [(size, f"{value:.0f}", value / top) for size, value in values.items()]
    return small_plots(panels)


if __name__ == "__main__":
    main()
