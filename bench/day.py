"""A day of the daemon in a few minutes: its jobs at their times, questions of every kind, files that change, and what it holds.

    .venv/bin/python -m bench.day [--requests 20000] [--files 50000] [--no-models] [--kept FOLDER] [--json out.json]

The daemon is the real one, in a process of its own, over its own socket; only its clock is told what time it is: the day passes with
the questions. Ends with exit code 1 when memory or descriptors grow, when a job's time is run for twice or not at all, when a
question fails that should not, or when the files are not watched.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import gc
import json
import mmap
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from bench.corpus import lay_out, words
from nacre.clock import Clock
from nacre.daemon import client, jobs, service
from nacre.daemon.client import Connection
from nacre.embed.models import models_folder
from nacre.errors import NotFound
from nacre.jobs import journal
from nacre.memory import Memory
from nacre.model import Workspace

DAY = 86_400.0
GROWTH = 1.1  # by which memory may differ between the first tenth of the day and its end
NOTES = 2_000  # of them, notes of a page; the rest are a line each
CHANGE_EVERY, TALK_EVERY = 200, 1_000


class ToldClock(Clock):
    """A clock that another process sets."""

    told: mmap.mmap
    start: dt.datetime

    def now(self) -> dt.datetime:
        (seconds,) = struct.unpack_from("d", self.told)
        return (self.start + dt.timedelta(seconds=seconds)).astimezone(self.zone)


def clock_of(path: Path, start: dt.datetime) -> ToldClock:
    with path.open("r+b") as file:
        told = mmap.mmap(file.fileno(), 8)
    clock = ToldClock(dt.UTC)
    object.__setattr__(clock, "told", told)
    object.__setattr__(clock, "start", start)
    return clock


def serve(root: str, path: Path, start: str, ready: int) -> None:
    """The daemon, with jobs that look at the clock that is told."""
    clock = clock_of(path, dt.datetime.fromisoformat(start))

    class ToldJobs(jobs.JobThread):
        until = clock.now()

        def __init__(self, memory: Memory, log: Any, *, timed: bool) -> None:
            super().__init__(memory, log, first=0.02, timed=timed)

        def _look(self, sessions: set[str]) -> float:
            if sessions or clock.now() >= self.until:
                os.environ["NACRE_NOW"] = clock.now().isoformat()  # for the process that does the work
                self.until = clock.now() + dt.timedelta(seconds=super()._look(sessions))
            return 0.02

    service.JobThread = ToldJobs  # type: ignore[attr-defined, assignment]
    gc.set_threshold(10_000, 20, 20)  # as `nacre serve` does
    with Memory.open(root) as opened:
        memory = Memory(replace(opened.opened, clock=clock))
        daemon = service.Daemon(memory)
        os.write(ready, b"1")
        daemon.serve()


@dataclass
class Day:
    """What is asked, and what came of it."""

    root: Path
    home: Path
    clock: ToldClock
    needles: list[dict[str, Any]]
    chance: random.Random = field(default_factory=lambda: random.Random(24))
    asked: Counter[str] = field(default_factory=Counter)
    written: list[Path] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def live(self, requests: int) -> None:
        with Connection(str(self.root), within=120) as main, Connection(str(self.root), "group:climbers") as group:
            self._warm_up()
            while main.ask("status")["watching"] == "starting":
                time.sleep(0.05)
            for number in range(requests):
                struct.pack_into("d", self.clock.told, 0, DAY * number / requests)
                if number % max(1, requests // 10) == 0:
                    self._note(main, number)
                if number % CHANGE_EVERY == 0:
                    self._change(number)
                if number % TALK_EVERY == TALK_EVERY - 1:
                    main.ask("ended", transcript=str(self._talk(number)))
                self._question(number, main, group)
            struct.pack_into("d", self.clock.told, 0, DAY)
            while (told := main.ask("status"))["jobs"]["running"] or told["jobs"]["nextLook"] is None:
                time.sleep(0.2)
            self._note(main, requests)

    def _warm_up(self) -> None:
        """Every thread of the daemon has answered everybody once: it opens the index for each when it first does."""

        def ask(number: int) -> None:
            with Connection(str(self.root), "group:climbers" if number % 2 else "main", within=120) as one:
                for needle in self.needles[number : number + 10]:
                    self._search(one, needle["q"])

        with ThreadPoolExecutor(16) as together:
            list(together.map(ask, range(32)))

    def _note(self, main: Connection, number: int) -> None:
        told = main.ask("status")
        row = {"questions": number, "hour": round(24 * (self.clock.now() - self.clock.start).total_seconds() / DAY, 1)}
        row |= {
            name: told[name] for name in ("memoryMb", "descriptors", "connections", "failed", "updates", "watching")
        }
        self.rows.append(row | {"runs": told["jobs"]["runs"]})
        print("  ".join(f"{name} {value}" for name, value in self.rows[-1].items()), flush=True)

    def _search(self, on: Connection, query: str, **more: Any) -> dict[str, Any]:
        return on.ask("search", asked={"query": query, **more})

    def _question(self, number: int, main: Connection, group: Connection) -> None:
        needle = self.needles[number % len(self.needles)]
        kind = {
            0: "connection",
            1: "context",
            2: "get",
            3: "status",
            4: "text",
            5: "group",
            6: "missing",
            7: "new",
        }.get(number % 20, "search")
        kind = "nonsense" if number % 200 == 13 else kind
        self.asked[kind] += 1
        if kind == "connection":
            with Connection(str(self.root), within=120) as other:
                self._search(other, needle["q"])
        elif kind == "context":
            main.ask("context", asked={"query": needle["kw"], "as_json": True})
        elif kind == "get":
            main.ask("get", asked={"path": f"memory/note-{number % NOTES:05}.md", "lines": 5})
        elif kind == "missing":
            with contextlib.suppress(NotFound):
                main.ask("get", asked={"path": f"memory/none-{number}.md"})
                raise AssertionError("a file that is not there was read")
        elif kind == "text":
            self._search(main, needle["kw"], mode="text")
        elif kind == "group":
            assert self._search(group, needle["q"], as_json=True)["parts"]
        elif kind == "new":
            self._search(main, words(self.chance, 4, chinese=number % 40 > 20))
        elif kind == "nonsense":
            with socket.socket(socket.AF_UNIX) as raw:
                raw.connect(main.ask("status")["socket"])
                raw.sendall(self.chance.randbytes(64))
        elif kind == "status":
            main.ask(kind)
        else:
            self._search(main, needle["q"])

    def _change(self, number: int) -> None:
        """A note written, a note changed, and now and then one taken away."""
        path = self.root / "memory" / "changing" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {number}\n\n{words(self.chance, 30)}\n", encoding="utf8")
        self.written.append(path)
        with self.chance.choice(self.written).open("a", encoding="utf8") as file:
            file.write(f"\n{words(self.chance, 12, chinese=True)}\n")
        if len(self.written) > 100:
            self.written.pop(0).unlink()

    def _talk(self, number: int) -> Path:
        """A short talk that is over now."""
        path = self.home / ".claude" / "projects" / "p" / f"{number:08}-1111-4222-8333-444455556666.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        now = self.clock.now()
        said = [
            ("user", f"From now on always use tool{number} for the release, never make."),
            ("assistant", f"Understood: tool{number}."),
            ("user", f"And we decided to move service{number} to PostgreSQL for storage."),
            ("assistant", "Noted, PostgreSQL it is."),
        ]
        with path.open("w", encoding="utf8") as file:
            for turn, (role, text) in enumerate(said):
                content: Any = text if role == "user" else [{"type": "text", "text": text}]
                line = {"type": role, "uuid": f"{number}-{turn}", "sessionId": path.stem, "timestamp": now.isoformat()}
                file.write(json.dumps({**line, "cwd": "/srv/p", "message": {"role": role, "content": content}}) + "\n")
        os.utime(path, (now.timestamp(), now.timestamp()))
        return path


def prepared(folder: Path, files: int) -> tuple[Path, list[dict[str, Any]]]:
    """The workspace with its notes and their index, made if it is not there."""
    told, kept = folder / "day-needles.json", folder / "day"
    if not told.exists():
        needles = lay_out(kept, None, min(NOTES, files))
        for number in range(files - NOTES):
            place = kept / "memory" / f"{number // 100:04}"
            place.mkdir(exist_ok=True)
            (place / f"{number}.md").write_text(f"# {number}\n\nThe lamp{number} is lit.\n", encoding="utf8")
        with Memory.init(kept) as memory:
            memory.index()
        told.write_text(json.dumps(needles), encoding="utf8")
    found: list[dict[str, Any]] = json.loads(told.read_text(encoding="utf8"))
    return kept, found


@contextmanager
def daemon(root: Path, clock: Path, start: dt.datetime) -> Iterator[subprocess.Popen[bytes]]:
    ours, theirs = os.pipe()
    command = [sys.executable, "-m", "bench.day", "--serve", str(root), str(clock), start.isoformat(), str(theirs)]
    process = subprocess.Popen(command, pass_fds=[theirs])
    os.close(theirs)
    try:
        if os.read(ours, 1) != b"1":
            raise RuntimeError("the daemon did not come up")
        yield process
    finally:
        os.close(ours)
        process.terminate()
        process.wait(60)


def runs_of(root: Path, start: dt.datetime) -> tuple[dict[str, int], list[str]]:
    """How often each job ran that day, and what is wrong: a time that was run for twice, or not at all, or a run that failed."""
    runs = [one for one in journal.read_journal(Workspace(root)).runs if one.started >= start]
    wrong = [f"{one.job} {one.result}: {one.said}" for one in runs if one.result not in ("done", "nothing")]
    times = Counter((one.job, one.window) for one in runs if one.window)
    wrong += [f"{job} ran {count} times for {window}" for (job, window), count in times.items() if count > 1]
    least = {"memory-sync": 4, "memory-tidy": 1, "organise": 24, "heartbeat": 47}
    count = Counter(job for job, _ in times)
    wrong += [f"{job} ran for {count[job]} of its times" for job, wanted in least.items() if count[job] < wanted]
    return dict(Counter(f"{one.job} ({one.why})" for one in runs)), wrong


def lived(folder: Path, requests: int, files: int) -> tuple[dict[str, Any], list[str]]:
    """The day; figures, and what is wrong."""
    root, needles = prepared(folder, files)
    home, told = folder / "home", folder / "clock"
    told.write_bytes(bytes(8))
    start = dt.datetime.now(dt.UTC).replace(microsecond=0)
    with Memory.open(root) as memory:
        memory.sync()  # before the first capture a daemon captures nothing
    day = Day(root, home, clock_of(told, start), needles)
    began = time.perf_counter()
    with daemon(root, told, start):
        day.live(requests)
    took = time.perf_counter() - began
    runs, wrong = runs_of(root, start)
    first, last = day.rows[1], day.rows[-1]  # of the first tenth, in which caches fill
    if last["memoryMb"] > GROWTH * first["memoryMb"]:
        wrong.append(f"memory grew from {first['memoryMb']} to {last['memoryMb']} MB")
    if last["descriptors"] > first["descriptors"] + 3:  # a job that is being started has a few for a moment
        wrong.append(f"descriptors grew from {first['descriptors']} to {last['descriptors']}")
    if last["watching"] != "events":
        wrong.append("the files were not watched")
    if last["failed"] != day.asked["missing"]:
        wrong.append(f"{last['failed']} questions failed, {day.asked['missing']} of them on purpose")
    captured = sum("tool" in path.read_text("utf8") for path in (root / "memory").glob("????-??-??.md"))
    if not captured:
        wrong.append("no talk was captured")
    figures = {
        "files": files,
        "requests": dict(day.asked),
        "took": f"{took:.0f} s, {took / requests * 1000:.1f} ms each",
        "jobs": runs,
        "memory, MB": [row["memoryMb"] for row in day.rows],
        "descriptors": [row["descriptors"] for row in day.rows],
        "updates by the watcher": last["updates"],
    }
    return figures, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--no-models", action="store_true", help="without the embedding models")
    parser.add_argument("--kept", type=Path, help="where the notes and their index stay for the next time")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        root, clock, start, ready = args.serve
        serve(root, Path(clock), start, int(ready))
        return
    with tempfile.TemporaryDirectory(prefix="nacre-day-") as scratch:
        folder = args.kept or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["NACRE_MODELS_PATH"] = str(folder / "none" if args.no_models else models_folder())
        for name in ("OPENCLAW_STATE_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NACRE_NOW"):
            os.environ.pop(name, None)
        shutil.rmtree(folder / "home", ignore_errors=True)
        os.environ |= {"HOME": str(folder / "home"), "XDG_RUNTIME_DIR": scratch, "NACRE_TIMEZONE": "UTC"}
        (folder / "home").mkdir(parents=True)
        figures, wrong = lived(folder, args.requests, args.files)
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf8")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    try:
        main()
    except client.NoDaemon as trouble:
        sys.exit(f"the daemon does not answer: {trouble}")
