"""How long an agent waits for each of our hooks: fresh processes, with a daemon and without, on 2,000 notes.

    .venv/bin/python -m bench.hooks [--archive notes-2000.tar.gz] [--kept FOLDER] [--runs 40] [--json out.json]

Wall time, because that is what a person waits for; one of each in turn beside a bare Python, because the machine is shared: how many
times that Python it takes, and its CPU time, tell more than the milliseconds. `--kept` keeps the notes and their index there, as bench.daemon does.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.daemon import daemon, prepared
from nacre.daemon.client import Connection

NACRE = (sys.executable, "-m", "nacre")
BARE = "bare Python"
EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
LONG_TERM = "# Long-Term Memory\n\n## User Preferences\n" + "".join(
    f"- Preference number {number}: keep answers short and name the file, because long ones are not read\n"
    for number in range(30)
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="a .tar.gz with corpus/ and needles.json; default: notes made here"
    )
    parser.add_argument("--kept", type=Path, help="where the notes and their index stay for the next time")
    parser.add_argument("--runs", type=int, default=40, help="how often each hook is fired")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):  # an installed package has its bytecode
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        workspace, needles = prepared(args.kept or Path(folder) / "kept", args.archive)
        _fill(workspace)
        transcript = Path(folder) / "61871d67.jsonl"
        transcript.write_text('{"type":"user"}\n' * 2000, encoding="utf8")
        questions = [needle["q"] for needle in needles]
        figures: dict[str, Any] = {"notes": sum(1 for _ in (workspace / "memory").rglob("*.md"))}
        with daemon(workspace):
            _warm(workspace, questions)
            figures |= _measured("with a daemon", workspace, transcript, questions, args.runs)
        os.environ["NACRE_NO_DAEMON"] = "1"
        figures |= _measured("without", workspace, transcript, questions, args.runs)
    for name, value in figures.items():
        print(f"{name:34} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf8")


def _fill(workspace: Path) -> None:
    """A MEMORY.md of the usual size, and a log of today."""
    today = dt.datetime.now().astimezone().date()
    (workspace / "MEMORY.md").write_text(LONG_TERM, encoding="utf8")
    lines = "".join(f"- [TECH] Step {number} of the release is done and was checked twice\n" for number in range(40))
    (workspace / "memory" / f"{today}.md").write_text(f"# {today}\n\n## 09:00 note\n{lines}", encoding="utf8")


def _warm(workspace: Path, questions: list[str]) -> None:
    with Connection(str(workspace)) as kept:
        for query in questions[:20]:
            kept.ask("search", asked={"query": query})


def _measured(how: str, workspace: Path, transcript: Path, questions: list[str], runs: int) -> dict[str, str]:
    """Every hook once in each round; prompts and sessions are new every time, so that something is given."""
    taken: dict[str, list[float]] = {name: [] for name in (BARE, *EVENTS)}
    cpu: dict[str, list[float]] = {name: [] for name in (BARE, *EVENTS)}
    answered: dict[str, int] = dict.fromkeys(EVENTS, 0)
    for number in range(runs):
        wall, used, _ = _run((sys.executable, "-c", "pass"), b"")
        taken[BARE].append(wall)
        cpu[BARE].append(used)
        for event in EVENTS:
            told = {
                "session_id": f"{how} {number}",
                "transcript_path": str(transcript),
                "cwd": str(transcript.parent),
                "hook_event_name": event,
                "source": "startup",
                "prompt": questions[number % len(questions)],
            }
            command = (*NACRE, "hook", event, "--workspace", str(workspace))
            wall, used, printed = _run(command, json.dumps(told).encode())
            taken[event].append(wall)
            cpu[event].append(used)
            answered[event] += bool(printed)
    bare = _quantile(taken[BARE], 0.5)
    figures = {}
    for name, values in taken.items():
        p50, p95 = _quantile(values, 0.5), _quantile(values, 0.95)
        said = f", answered {answered[name]} of {runs}" if name in EVENTS[:2] else ""
        own = f"CPU {_quantile(cpu[name], 0.5):.0f} ms"
        figures[f"{name}, {how}"] = f"p50 {p50:.1f} ms, p95 {p95:.1f} ms, {p50 / bare:.1f} × bare, {own}{said}"
    return figures


def _run(command: tuple[str, ...], given: bytes) -> tuple[float, float, bytes]:
    """Wall and CPU milliseconds of a process, and what it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall * 1000, used * 1000, done.stdout


def _quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


if __name__ == "__main__":
    main()
