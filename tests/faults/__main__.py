"""Every command that writes, with a fault at every call that changes a file; then a long random life with faults.

    .venv/bin/python -m tests.faults [COMMAND…] [--trials 20] [--fault kill …] [--operations 1000] [--seed 1]

Prints how many trials each command had with each fault, and how many of them failed; then a sentence for each failure. `--trials`
is the most for a command and a fault, at calls drawn by chance; 0 takes every call. Ends with exit code 1 when anything failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.faults import calls, trial
from tests.faults.commands import SCENARIOS
from tests.faults.model import Broken, Model

_KINDS = dict(zip(("kill", "torn", "full", "eio", "eio-on", "eintr", "short"), calls.FAULTS, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="*", help="only commands whose name begins so, and no random life")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--fault", choices=_KINDS, action="append")
    parser.add_argument("--at", type=int, help="only this call")
    parser.add_argument("--operations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if reason := calls.only_kills():
        sys.exit(reason)
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-faults-") as folder:
        trial.warm_up(Path(folder) / "warm")
        failed = every_command(args, Path(folder))
        if not args.command and args.operations:
            failed |= random_life(args, Path(folder))
    return 1 if failed else 0


def every_command(args: argparse.Namespace, folder: Path) -> bool:
    """Whether a trial failed; all of them are told."""
    kinds = args.fault or list(_KINDS)
    failures: list[trial.Failure] = []
    total, started = 0, time.perf_counter()
    print(f"{'trials / failures':24}" + "".join(f"{kind:>12}" for kind in kinds))
    for scenario in SCENARIOS:
        if args.command and not any(scenario.title.startswith(name) for name in args.command):
            continue
        peace = trial.in_peace(scenario, folder)
        row = []
        for kind in kinds:
            chance = random.Random(f"{args.seed} {scenario.title} {kind}")
            places = trial.places(peace.calls[_KINDS[kind]], args.trials or sys.maxsize, chance)
            if args.at:
                places = [args.at]
            new = [
                trial.Failure(scenario.title, kind, at, sentence)
                for at in places
                for sentence in trial.trial(peace, _KINDS[kind], at)
            ]
            failures += new
            total += len(places)
            row.append(f"{len(places)}" + (f" / {len({failure.at for failure in new})}" if new else ""))
        print(f"{scenario.title:24}" + "".join(f"{cell:>12}" for cell in row), flush=True)
    bad = len({failure[:3] for failure in failures})
    print(f"\n{total} trials, {bad} failed, {time.perf_counter() - started:.0f} s")
    groups: dict[tuple[str, str, str], list[int]] = {}
    for failure in failures:
        groups.setdefault((failure.command, failure.fault, failure.sentence), []).append(failure.at)
    for (command, kind, sentence), places in groups.items():
        more = " …" if len(places) > 6 else ""
        print(f"{command}, {kind} at call {', '.join(map(str, places[:6]))}{more}: {sentence}")
    return bool(failures)


def random_life(args: argparse.Namespace, folder: Path) -> bool:
    """Whether the files were ever not what the model said."""
    started = time.perf_counter()
    life = Model(folder / "life", args.seed)
    try:
        for _ in range(args.operations):
            life.step()
    except Broken as error:
        print(f"After {len(life.done)} operations (seed {args.seed}): {error}")
        return True
    faults: Counter[str] = life.faults
    print(
        f"{args.operations} random operations, {faults.total()} faults, 0 failures, {time.perf_counter() - started:.0f} s"
    )
    return False


if __name__ == "__main__":
    sys.exit(main())
