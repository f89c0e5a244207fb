"""How fast the daemon answers, how soon it knows of a change, and whether it stays as small as it was.

    .venv/bin/python -m bench.daemon [--archive notes-2000.tar.gz] [--kept FOLDER] [--requests 20000] [--files 50000] [--json out.json]

Wall time, because that is what a person waits for; beside it that of a bare Python in the same minute, because the machine is
shared. `--kept` keeps the notes and their index there, and uses them again the next time. A whole day, with its jobs: bench.day.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
from bench.corpus import lay_out
from bench.measure import spread
from nacre.daemon.client import Connection, NoDaemon, daemon_status
from nacre.memory import Memory

NACRE = (sys.executable, "-m", "nacre")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="a .tar.gz with corpus/ and needles.json; default: notes made here"
    )
    parser.add_argument("--kept", type=Path, help="where the notes and their index stay for the next time")
    parser.add_argument("--requests", type=int, default=20_000, help="how many questions memory is watched over")
    parser.add_argument("--files", type=int, default=50_000, help="how many files are watched in the last part")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):  # an installed package has its bytecode
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        figures = measure(args.kept or Path(folder) / "kept", args.archive, args.requests)
        if args.files:
            figures |= many_files(Path(folder), args.files)
    for name, value in figures.items():
        print(f"{name:52} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf8")


def measure(folder: Path, archive: Path | None, requests: int) -> dict[str, Any]:
    workspace, needles = prepared(folder, archive)
    questions = [needle["q"] for needle in needles]
    figures: dict[str, Any] = {"notes": sum(1 for _ in (workspace / "memory").rglob("*.md"))}
    with daemon(workspace) as process:
        with Connection(str(workspace)) as kept:
            for query in questions[:20]:
                kept.ask("search", asked={"query": query})
            new = [partial(_ask, kept, needle["kw"]) for needle in needles]
            figures["search, kept connection, never asked before"] = "p50 {:.1f} ms, p95 {:.1f} ms".format(*spread(new))
            figures |= _asked(workspace, kept, questions)
            figures |= _noticed(workspace, kept)
            figures |= _many(kept, questions, requests)
        figures["ended by a signal with"] = f"exit code {_end(process)}"
    return figures


def prepared(folder: Path, archive: Path | None) -> tuple[Path, list[dict[str, Any]]]:
    """The workspace with its notes and their index, made if it is not there, and the needles."""
    workspace, told = folder / "workspace", folder / "needles.json"
    if not told.exists():
        needles = lay_out(workspace, archive)
        Memory.init(workspace).index()
        told.write_text(json.dumps(needles), encoding="utf8")
    found: list[dict[str, Any]] = json.loads(told.read_text(encoding="utf8"))
    return workspace, found


@contextmanager
def daemon(workspace: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of this workspace that listens, ended at the end."""
    command = [*NACRE, "--workspace", str(workspace), "serve", "--no-jobs"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while daemon_status(str(workspace)) is None:
            if process.poll() is not None:
                raise RuntimeError("the daemon did not come up")
            time.sleep(0.02)
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    return process.wait(60)


def _asked(workspace: Path, kept: Connection, questions: list[str]) -> dict[str, Any]:
    def started(*command: str) -> Callable[[], object]:
        return partial(subprocess.run, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    search = (*NACRE, "--workspace", str(workspace), "search")
    imported = started(sys.executable, "-c", "import nacre.daemon.fast")
    bare = started(sys.executable, "-c", "pass")
    # One of each in turn: whatever else the machine does, it does to all of them.
    rounds: list[tuple[Callable[[], object], ...]] = [
        (bare, imported, started(*search, query), partial(_ask, kept, query)) for query in questions
    ]
    names = (
        "bare Python",
        "bare Python with the client",
        "search, process and all",
        "search, kept connection, asked before",
    )
    taken: dict[str, list[float]] = {name: [] for name in names}
    for one in rounds:
        for name, work in zip(names, one, strict=True):
            began = time.perf_counter()
            work()
            taken[name].append((time.perf_counter() - began) * 1000)
    figures = {name: quantiles(values) for name, values in taken.items()}
    text = [partial(_ask, kept, query, mode="text") for query in questions]
    figures["search --mode text, kept connection"] = "p50 {:.1f} ms, p95 {:.1f} ms".format(*spread(text))
    os.environ["NACRE_NO_DAEMON"] = "1"
    without = [started(*search, query) for query in questions[:10]]
    figures["search without a daemon"] = "p50 {:.1f} ms, p95 {:.1f} ms".format(*spread(without))
    del os.environ["NACRE_NO_DAEMON"]
    return figures


def _ask(kept: Connection, query: str, **more: Any) -> dict[str, Any]:
    return kept.ask("search", asked={"query": query, **more})


def quantiles(values: list[float]) -> str:
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return f"p50 {ordered[len(ordered) // 2]:.1f} ms, p95 {p95:.1f} ms, least {ordered[0]:.1f} ms"


def _noticed(workspace: Path, kept: Connection, changes: int = 40) -> dict[str, Any]:
    """From a write until the watcher has it in the index, and until a search finds it that is asked at once."""
    with Memory.open(workspace) as memory:
        place = memory.keeper.store.path
    watched, direct = [], []
    with sqlite3.connect(f"file:{place}?mode=ro", uri=True) as index:
        for number in range(changes):
            path = workspace / "memory" / f"written-{number}.md"
            path.write_text(f"The zimbolo{number} stands in the hall.\n", encoding="utf8")
            began = time.perf_counter()
            if number % 2:
                answer = _ask(kept, f"zimbolo{number}", as_json=True)
                assert f"written-{number}.md" in answer["parts"][0][1], "a search must see what was written before it"
                direct.append((time.perf_counter() - began) * 1000)
                continue
            sought = f"memory/written-{number}.md"
            while not index.execute("select 1 from files where path = ?", (sought,)).fetchone():
                if time.perf_counter() - began > 60:
                    raise RuntimeError("the watcher did not notice")
                time.sleep(0.005)
            watched.append((time.perf_counter() - began) * 1000)
    for number in range(changes):
        (workspace / "memory" / f"written-{number}.md").unlink()
    return {
        "written, then in the index by the watcher": quantiles(watched),
        "written, then found by a search at once": quantiles(direct),
    }


def _many(kept: Connection, questions: list[str], requests: int) -> dict[str, Any]:
    """Memory and descriptors over many questions, some on connections of their own."""
    sizes: list[float] = []
    began = time.perf_counter()
    root = kept.ask("status")["workspace"]
    for number in range(requests):
        query = questions[number % len(questions)]
        if number % 10:
            _ask(kept, query)
        else:
            with Connection(root) as other:
                _ask(other, query)
        if number % max(1, requests // 20) == 0:
            sizes.append(kept.ask("status")["memoryMb"])
    last = kept.ask("status")
    sizes.append(last["memoryMb"])
    took = time.perf_counter() - began
    middle = len(sizes) // 2
    return {
        f"{requests} questions": f"{took:.0f} s, {took / max(1, requests) * 1000:.1f} ms each",
        "memory, first, half-way, last, most": f"{sizes[0]} {sizes[middle]} {sizes[-1]} {max(sizes)} MB",
        "descriptors at the end": last["descriptors"],
    }


def many_files(folder: Path, count: int) -> dict[str, Any]:
    """So many files in folders of a hundred: watched, or scanned and saying so."""
    workspace = folder / "many"
    Memory.init(workspace).close()
    for number in range(count):
        place = workspace / "memory" / f"{number // 100:04}"
        if number % 100 == 0:
            place.mkdir(parents=True)
        (place / f"{number}.md").write_text(f"# {number}\n\nThe lamp{number} is lit.\n", encoding="utf8")
    with Memory.open(workspace) as memory:
        began = time.perf_counter()
        memory.update()
        indexed = time.perf_counter() - began
    os.environ["NACRE_MODELS_PATH"] = str(folder / "none")
    with daemon(workspace), Connection(str(workspace), within=120) as kept:
        while kept.ask("status")["watching"] == "starting":
            time.sleep(0.05)
        (workspace / "memory" / "0007" / "new.md").write_text("The zimbolo stands here.\n", encoding="utf8")
        before = time.perf_counter()
        found = "new.md" in _ask(kept, "zimbolo", as_json=True)["parts"][0][1]
        took = (time.perf_counter() - before) * 1000
        told = kept.ask("status")
    del os.environ["NACRE_MODELS_PATH"]
    return {
        f"{count} files": f"indexed in {indexed:.0f} s; {told['watching']}{' (' + told['watchingReason'] + ')' if told['watchingReason'] else ''}",
        f"{count} files: a new one found at once": f"{found} in {took:.0f} ms; {told['memoryMb']} MB, {told['failed']} failed",
    }


if __name__ == "__main__":
    try:
        main()
    except NoDaemon as trouble:
        sys.exit(f"the daemon does not answer: {trouble}")
