"""Every command that writes, with a fault at every call that changes a file.

    .venv/bin/python -m tests.faults [COMMAND…] [--trials 20] [--seed 1] [--fault kill …]

Prints how many trials each command had with each fault and how many failed, then a sentence for each failure. `--trials` is the
most for a command and a fault, at calls drawn by chance; 0 takes all of them. Ends with exit code 1 when anything failed.
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

_SHORT = dict(zip(("kill", "torn", "full", "eio", "eio-on", "eintr", "short"), calls.FAULTS, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="*", help="only commands whose name begins so")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", choices=_SHORT, action="append")
    parser.add_argument("--at", type=int, help="only this call")
    args = parser.parse_args()
    if reason := calls.only_kills():
        sys.exit(reason)
    kinds = args.fault or list(_SHORT)
    failures: list[trial.Failure] = []
    total, started = 0, time.perf_counter()
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    print(f"{'':24}" + "".join(f"{kind:>12}" for kind in kinds))
    with tempfile.TemporaryDirectory(dir=place, prefix="nacre-faults-") as folder:
        trial.warm_up(Path(folder) / "warm")
        for scenario in SCENARIOS:
            if args.command and not any(scenario.title.startswith(name) for name in args.command):
                continue
            peace = trial.in_peace(scenario, Path(folder))
            row = []
            for kind in kinds:
                chance = random.Random(f"{args.seed} {scenario.title} {kind}")
                most = args.trials or sys.maxsize
                wanted = [args.at] if args.at else trial.places(peace.calls[_SHORT[kind]], most, chance)
                failed = set()
                for at in wanted:
                    for sentence in trial.trial(peace, _SHORT[kind], at):
                        failures.append(trial.Failure(scenario.title, kind, at, sentence))
                        failed.add(at)
                total += len(wanted)
                row.append(f"{len(wanted)}" + (f" / {len(failed)}" if failed else ""))
            print(f"{scenario.title:24}" + "".join(f"{cell:>12}" for cell in row), flush=True)
    print(
        f"\n{total} trials, {len({failure[:3] for failure in failures})} failed, {time.perf_counter() - started:.0f} s"
    )
    groups = Counter((failure.command, failure.fault, failure.sentence) for failure in failures)
    for (command, kind, sentence), count in groups.items():
        where = [failure.at for failure in failures if failure[:2] == (command, kind) and failure.sentence == sentence]
        print(f"{command}, {kind} at call {', '.join(map(str, where[:6]))}{' …' if count > 6 else ''}: {sentence}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
