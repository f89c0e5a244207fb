"""How fast and how well Nacre finds notes, beside qmd's BM25 in the same run where npm is at hand.

    .venv/bin/python -m bench.speed [--archive notes-2000.tar.gz] [--no-qmd] [--json out.json]

CPU seconds of fresh processes (user and system), least and median of several runs; wall milliseconds inside one process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench import qmd
from bench.corpus import lay_out
from bench.measure import cpu_of, spread
from nacre.memory import Memory

NACRE = (sys.executable, "-m", "nacre")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="a .tar.gz with corpus/ and needles.json; default: notes made here"
    )
    parser.add_argument("--no-qmd", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        figures = measure(Path(folder), args.archive, with_qmd=not args.no_qmd)
    for name, value in figures.items():
        print(f"{name:44} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf8")


def measure(folder: Path, archive: Path | None, *, with_qmd: bool) -> dict[str, Any]:
    workspace = folder / "workspace"
    needles = lay_out(workspace, archive)
    here = ("--workspace", str(workspace))
    figures: dict[str, Any] = {"notes": sum(1 for _ in (workspace / "memory").rglob("*.md")), "needles": len(needles)}

    def cpu(name: str, *command: str, runs: int = 7) -> None:
        least, median = cpu_of((*NACRE, *command), runs=runs)
        figures[name] = f"{least:.3f} CPU s (median {median:.3f})"

    cpu("nacre --help", "--help")
    cpu_of((*NACRE, *here, "init"), runs=1)
    cpu("text index, from nothing", *here, "update", runs=1)
    cpu("text index, nothing changed", *here, "update")
    cpu("search --mode text, fresh process", *here, "search", "--mode", "text", needles[0]["q"])
    cpu("vectors, from nothing", *here, "embed", runs=1)
    cpu("search hybrid, fresh process, English", *here, "search", next(n["q"] for n in needles if n["lang"] == "en"))
    cpu("search hybrid, fresh process, Chinese", *here, "search", next(n["q"] for n in needles if n["lang"] == "zh"))
    _inside(workspace, needles, figures)
    if with_qmd:
        figures |= qmd.measure(folder, workspace / "memory", needles)
    return figures


def _inside(workspace: Path, needles: list[dict[str, Any]], figures: dict[str, Any]) -> None:
    """Searches in one process, as an agent's server does them."""
    memory = Memory.open(workspace)
    for mode in ("text", "hybrid"):
        for _ in range(3):
            memory.search(needles[0]["q"], mode=mode)
        for language in ("en", "zh"):
            for form in ("kw", "q"):
                asked = [(n[form], n["file"]) for n in needles if n["lang"] == language]
                found = sum(any(file in hit.path for hit in memory.search(text, 5, mode=mode)) for text, file in asked)
                kind = "keyword" if form == "kw" else "question"
                figures[f"{mode}: {language} {kind} in the top 5"] = f"{found} of {len(asked)}"
        p50, p95 = spread([partial(memory.search, n["q"], mode=mode) for n in needles])
        figures[f"{mode}: in process"] = f"p50 {p50:.1f} ms, p95 {p95:.1f} ms"


if __name__ == "__main__":
    main()
