"""What search costs in a memory of ten thousand, a hundred thousand and a million entries.

    .venv/bin/python -m bench.scale [--sizes 10000 100000] [--largest] [--plot out.svg] [--json out.json] [--keep FOLDER]

Dated logs, half English and half Chinese, 100 to 200 entries a day, of made-up words drawn as unevenly as words of a language; all but the newest
month is archived. CPU seconds, wall seconds and peak memory are of fresh processes, milliseconds are wall time inside one.

The vectors are synthetic, because embedding a million entries would take hours: a seeded random direction for each token, added up, 384 dimensions,
so that texts with common words are neighbours. They are stored, and the question's is made, through the same calls as those of a real model
(`Memory.open(embedder=…)`), a model for each script as in the product. What a real model takes to load and to read a question is not in these figures.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import random
import statistics
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.capture import NACRE, Cost, cost_of, surroundings
from bench.measure import small_plots, spread
from nacre.embed.models import ModelId, scripts
from nacre.memory import Memory
from nacre.text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NEWEST, IN_PLACE = dt.date(2026, 9, 30), 30  # the last day, and how many days are not archived
QUESTIONS, ON_DAYS, RUNS = 40, 10, 3
DIMS, DIRECTIONS = 384, 4096
SYLLABLES = "ba del ki mor sun ta ver lo nim pra sto gar fen hol wi du cas ret bli zon".split()
MODELS = {script: ModelId(f"synthetic {script}", f"synthetic {script}", DIMS) for script in ("Latin", "Han")}


class SyntheticEmbedder:
    """Unit vectors that are alike where the tokens of their texts are."""

    provider = "synthetic"

    def __init__(self) -> None:
        self._directions: npt.NDArray[np.float32] | None = None

    def models(self) -> tuple[ModelId, ...]:
        return tuple(MODELS.values())

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        return tuple(MODELS[script] for script in scripts(text))

    def embed(self, model: ModelId, texts: Sequence[str], **_: bool) -> npt.NDArray[np.float32]:  # noqa: ARG002 - one for both
        import numpy as np  # noqa: PLC0415 - a search by words does without

        if self._directions is None:
            chance = np.random.default_rng(20260214)
            self._directions = chance.integers(-127, 128, (DIRECTIONS, DIMS), np.int8).astype(np.float32)
        numbers = [[zlib.crc32(token.encode()) % DIRECTIONS for token in tokens(text)] for text in texts]
        rows = np.stack([self._directions[row].sum(axis=0) for row in numbers])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def write_logs(home: Path, count: int) -> None:
    """So many entries in daily logs, the newest day first, and in a file beside them questions made of words of some of these entries."""
    chance = random.Random(20260214)
    han = [bytes([0xB0 + n // 94, 0xA1 + n % 94]).decode("gb2312") for n in chance.sample(range(3700), 1500)]
    english = ["".join(chance.choices(SYLLABLES, k=chance.randrange(2, 5))) for _ in range(20_000)]
    chinese = ["".join(chance.choices(han, k=2)) for _ in english]
    weights = list(accumulate(1 / (rank + 30) for rank in range(len(english))))  # the first word is in every 20th entry
    asked: list[tuple[str, str]] = []
    done, day = 0, NEWEST
    while done < count:
        lines = [f"# {day}"]
        for number in range(min(chance.randrange(100, 201), count - done)):
            if number % 20 == 0:
                session = f"session:{chance.getrandbits(32):08x} | 12 messages"
                lines += ["", f"## {8 + number // 20:02}:{chance.randrange(60):02} {session}"]
            is_han = chance.random() < 0.5
            words = chance.choices(chinese if is_han else english, cum_weights=weights, k=chance.randrange(7, 15))
            lines.append(f"- {('' if is_han else ' ').join(words)}")
            done += 1
            if done % (count // QUESTIONS) == 0:
                a, b, c = chance.sample(words, 3)
                question = f"{a}的{b}和{c}在哪里" if is_han else f"where does {a} keep the {b} of {c}"
                asked.append((question, lines[-1].removeprefix("- ")))
        folder = home / "ws" / "memory" / (f"archive/{day.year}" if (NEWEST - day).days >= IN_PLACE else "")
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath(f"{day}.md").write_text("\n".join(lines) + "\n", encoding="utf8")
        day -= dt.timedelta(days=1)
    days = [NEWEST - dt.timedelta(days=chance.randrange((NEWEST - day).days)) for _ in range(ON_DAYS)]
    questions = {"asked": asked, "days": [f"what happened on {day}" for day in days]}
    home.joinpath("questions.json").write_text(json.dumps(questions), encoding="utf8")


def append(home: Path, line: str) -> None:
    with home.joinpath("ws", "memory", f"{NEWEST}.md").open("a", encoding="utf8") as log:
        log.write(f"- {line}\n")


def measure(home: Path, count: int) -> dict[str, float]:
    """The figures of one size."""
    env = surroundings(home, models=False)
    write_logs(home, count)
    figures: dict[str, float] = {}

    def record(name: str, costs: Sequence[Cost]) -> None:
        figures[f"{name}, CPU s"] = statistics.median(cost.cpu for cost in costs)
        figures[f"{name}, wall s"] = statistics.median(cost.wall for cost in costs)
        figures[f"{name}, peak MB"] = max(cost.peak for cost in costs) / 1e6

    def step(name: str) -> Cost:
        return cost_of((sys.executable, "-m", "bench.scale", "--step", name, str(home)), env)

    def updated() -> Cost:
        append(home, "a line that was not there before")
        return cost_of((*NACRE, "update"), env)

    def size() -> float:
        return sum(path.stat().st_size for path in (home / "ws" / ".nacre" / "index").glob("index.sqlite*")) / 1e6

    record("text index", [cost_of((*NACRE, "update"), env)])
    figures["index without vectors, MB"] = size()
    record("update, one line more", [updated() for _ in range(RUNS)])
    record("vectors", [step("vectors")])
    figures["index, MB"] = size()
    for mode in ("text", "hybrid"):
        record(f"first search, {mode}", [step(mode) for _ in range(RUNS)])
        figures[f"{mode}, peak MB"] = step(f"warm {mode}").peak / 1e6
        figures |= json.loads(home.joinpath("warm.json").read_text(encoding="utf8"))
    return figures


def run_step(name: str, home: Path) -> None:
    """What one fresh process does."""
    questions = json.loads(home.joinpath("questions.json").read_text(encoding="utf8"))
    with Memory.open(home / "ws", embedder=SyntheticEmbedder()) as memory:
        if name == "vectors":
            memory.embed()
        elif name.startswith("warm "):
            figures = warm(memory, home, questions, name.removeprefix("warm "))
            home.joinpath("warm.json").write_text(json.dumps(figures), encoding="utf8")
        else:
            memory.search(questions["asked"][0][0], mode=name)


def warm(memory: Memory, home: Path, questions: Mapping[str, Any], mode: str) -> dict[str, float]:
    """Searches in one process: new questions, questions that name a day, and lines that are searched for as soon as they are written."""
    for _ in range(3):
        report = memory.ask("anything that is not asked below", mode=mode)
    if report.mode != mode or report.stale:
        raise RuntimeError(f"not a complete search by {mode}: {report}")
    hits: list[bool] = []

    def ask(text: str, wanted: str) -> None:
        hits.append(any(wanted in hit.snippet for hit in memory.search(text, 5, mode=mode)))

    def write_and_ask(word: str) -> None:
        append(home, f"the {word} lies in the drawer")
        ask(word, word)

    p50, p95 = spread([partial(ask, text, entry) for text, entry in questions["asked"]])
    figures = {f"{mode}, p50 ms": p50, f"{mode}, p95 ms": p95, f"{mode}, found": float(sum(hits))}
    of_days = [partial(memory.search, text, mode=mode) for text in questions["days"]]
    written = [partial(write_and_ask, f"quoz{mode}{end}") for end in "abcde"]
    figures |= {f"{mode} of a day, p50 ms": spread(of_days)[0], f"{mode}, just written, p50 ms": spread(written)[0]}
    if not all(hits[-len(written) :]):
        raise RuntimeError(f"written and not found by {mode}")
    return figures


def plot(figures: Mapping[int, Mapping[str, float]]) -> str:
    """How each figure grows, on logarithmic axes: the grey line is no growth, the upper edge growth in proportion to the entries."""
    sizes = sorted(figures)
    panels = {}
    for name, first in figures[sizes[0]].items():
        if not name.endswith(("wall s", "found")):
            values = {f"{size // 1000}k": figures[size][name] for size in sizes}
            most = math.log(sizes[-1] / sizes[0]) or 1.0
            panels[name] = [(size, _short(value), math.log(value / first) / most) for size, value in values.items()]
    return small_plots(panels)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--largest", action="store_true", help="a million entries too")
    parser.add_argument("--plot", type=Path, help="draw the figures there, as SVG")
    parser.add_argument("--json", type=Path, help="write the figures there, beside those of other sizes")
    parser.add_argument("--keep", type=Path, help="leave the workspaces there")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        run_step(args.step[0], Path(args.step[1]))
        return
    written = json.loads(args.json.read_text(encoding="utf8")) if args.json and args.json.exists() else {}
    figures: dict[int, dict[str, float]] = {int(size): values for size, values in written.items()}
    for size in [*args.sizes, *([1_000_000] if args.largest else [])]:
        with tempfile.TemporaryDirectory(prefix="nacre-scale-") as folder:
            home = (args.keep or Path(folder)) / str(size)
            home.mkdir(parents=True)
            figures[size] = measure(home, size)
        if args.json:
            args.json.write_text(json.dumps(figures, indent=1), encoding="utf8")
    print(" " * 36 + "".join(f"{size:>12,}" for size in sorted(figures)))
    for name in next(iter(figures.values())):
        print(f"{name:36}" + "".join(f"{_short(figures[size][name]):>12}" for size in sorted(figures)))
    if args.plot:
        args.plot.write_text(plot(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
