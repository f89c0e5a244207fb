"""How long the page takes to answer: every view over one kept connection to a real daemon, on 2,000 notes, and Growth on many more chunks.

    .venv/bin/python -m bench.page [--notes notes-2000.tar.gz] [--chunks 100000] [--runs 30]

Milliseconds of the daemon's own CPU time and of wall time for each request, without models; and what a browser loads at first, compressed.
Ends with exit code 1 when a view needs more than 50 ms of CPU time at its 95th percentile, Growth on the chunks more than 300, or the
first load more than 150 KB.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

from bench.corpus import lay_out, words
from nacre.daemon.client import daemon_status
from nacre.memory import Memory
from nacre.web.routes import VIEWS

NOTES, LOGS, SESSIONS, CHECKPOINTS = 1400, 400, 3, 200
SLOWEST, SLOWEST_GROWTH, HEAVIEST = 50.0, 300.0, 150_000  # ms, ms, bytes
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=Path, help="an archive of notes; without it they are made here")
    parser.add_argument("--chunks", type=int, default=0, help="also Growth on so many chunks")
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    places = [view.path for view in VIEWS if view.title] + ["/search?q=budget+meeting"]
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        os.environ |= {"HOME": folder, "XDG_RUNTIME_DIR": folder, "NACRE_MODELS_PATH": f"{folder}/none"}
        too_slow = measure(years(Path(folder) / "notes", args.notes), places, args.runs, SLOWEST)
        if args.chunks:
            too_slow |= measure(chunks(Path(folder) / "chunks", args.chunks), ["/growth"], args.runs, SLOWEST_GROWTH)
    sys.exit("too slow or too heavy" if too_slow else 0)


def years(root: Path, archive: Path | None) -> Path:
    """Notes, a log for each day with what sessions left there, checkpoints, and a long-term memory that is full."""
    lay_out(root, archive, NOTES)
    Memory.init(root).close()
    chance, today = random.Random(7), dt.datetime.now(dt.UTC).date()
    for number in range(LOGS):
        day, text = today - dt.timedelta(days=number), ""
        for hour in range(SESSIONS):
            text += f"## {9 + hour:02}:00 session:{chance.getrandbits(32):08x} | 12 messages\n"
            text += "".join(f"- [TECH] {words(chance, 9).capitalize()}\n" for _ in range(4)) + "\n"
        (root / "memory" / f"{day}.md").write_text(f"# {day}\n\n{text}", "utf8")
    lines = "".join(f"- {words(chance, 5).capitalize()} {number}\n" for number in range(70))
    (root / "MEMORY.md").write_text(f"# Long-Term Memory\n\n## Key Decisions\n{lines}", "utf8")
    for number in range(CHECKPOINTS):
        at = (today - dt.timedelta(days=number // 10)).isoformat() + "T12:00"
        with Memory.open(root, now=at) as memory:
            memory.checkpoint(text=words(chance, 80), title=f"{words(chance, 3)} {number}")
    for night in (today - dt.timedelta(days=2), today):
        with Memory.open(root, now=f"{night}T03:00") as memory:
            memory.tidy()
    return root


def chunks(root: Path, count: int) -> Path:
    """Logs of two years with so many entries, each a chunk."""
    Memory.init(root).close()
    chance, today = random.Random(8), dt.datetime.now(dt.UTC).date()
    for number in range(730):
        day = today - dt.timedelta(days=number)
        lines = "".join(f"- [TECH] {words(chance, 12).capitalize()}\n" for _ in range(count // 730 + 1))
        (root / "memory" / f"{day}.md").write_text(
            f"# {day}\n\n## 09:00 session:61871d67 | 9 messages\n{lines}", "utf8"
        )
    return root


def measure(root: Path, places: list[str], runs: int, slowest: float) -> bool:
    """Print a line for each place; whether one was too slow, or the first load too heavy."""
    command = [sys.executable, "-m", "nacre", "--workspace", str(root)]
    with Memory.open(root) as memory:
        memory.index()
    daemon = subprocess.Popen([*command, "serve", "--no-jobs", "--http", "0"], stderr=subprocess.DEVNULL)
    try:
        while not daemon_status(str(root)):
            time.sleep(0.2)
        told = subprocess.run([*command, "open", "--no-browser", "--json"], capture_output=True, check=True).stdout
        link = str(json.loads(told)["url"])
        with httpx2.Client(base_url=link.partition("/enter/")[0], timeout=600) as client:
            client.get(link)
            heavy = weight(client, "/memory")
            print(f"first load of /memory: {heavy:,} bytes compressed")
            print(f"{'':28}  CPU median    p95   wall median    p95   ms")
            slow = [one_place(client, daemon.pid, place, runs) > slowest for place in places]
    finally:
        daemon.terminate()
        daemon.wait()
    return any(slow) or heavy > HEAVIEST


def one_place(client: httpx2.Client, process: int, place: str, runs: int) -> float:
    """The 95th percentile of its CPU time; ticks are coarse, so each figure is a mean of a few requests."""
    cpu, wall, several = [], [], 5
    client.get(place).raise_for_status()
    for _ in range(runs):
        before, started = spent(process), time.perf_counter()
        for _ in range(several):
            client.get(place).raise_for_status()
        cpu.append((spent(process) - before) * 1000 / several)
        wall.append((time.perf_counter() - started) * 1000 / several)
    figures = [sorted(taken)[int(len(taken) * share)] for taken in (cpu, wall) for share in (0.5, 0.95)]
    print(f"{place:28}  {figures[0]:10.0f} {figures[1]:6.0f}   {figures[2]:11.0f} {figures[3]:6.0f}", flush=True)
    return figures[1]


def weight(client: httpx2.Client, place: str) -> int:
    """The bytes of a page and of everything that it loads, as they travel."""
    page = client.get(place)
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    return sum(answer.num_bytes_downloaded for answer in (page, *(client.get(name) for name in loaded)))


def spent(process: int) -> float:
    """Seconds of CPU time that a process has used."""
    values = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / _TICKS


if __name__ == "__main__":
    main()
