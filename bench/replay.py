"""Whether memory is still written byte for byte as before: a folder of transcripts lived through day by day.

    .venv/bin/python -m bench.replay SCENARIO… --save before.json
    .venv/bin/python -m bench.replay SCENARIO… --against before.json

A scenario holds `openclaw/`, `claude/` (the agents' state folders) and `gold.json` with first_day, last_day and timezone. Each day runs one
tidy at 3:00 and four syncs, in fresh processes with the clock set; then sixteen more tidies. Every Markdown file of the workspace is hashed.
--against ends with exit code 1 and the names of the files that differ; --keep FOLDER leaves the workspaces there to be compared.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zoneinfo import ZoneInfo

NIGHTS_AFTER = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="+", type=Path)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-replay-") as folder:
        root = args.keep or Path(folder)
        with ThreadPoolExecutor(2) as pool:
            hashes = dict(pool.map(lambda scenario: (scenario.name, replay(scenario, root)), args.scenarios))
    for name, files in hashes.items():
        whole = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:16]
        print(f"{name}: {len(files)} Markdown files, {whole}")
    if args.save:
        args.save.write_text(json.dumps(hashes, indent=1, sort_keys=True), encoding="utf-8")
    if args.against:
        compare(json.loads(args.against.read_text(encoding="utf-8")), hashes)


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> None:
    """Print the files that differ and end with exit code 1 when there are any."""
    differing = [
        f"{name}/{path}"
        for name, files in after.items()
        for path in sorted({*files, *before[name]})
        if files.get(path) != before[name].get(path)
    ]
    print("\n".join(differing) or "identical")
    if differing:
        sys.exit(f"{len(differing)} files differ")


def replay(scenario: Path, root: Path) -> dict[str, str]:
    """Live through one scenario; the hash of every Markdown file in the workspace by its path."""
    days = json.loads((scenario / "gold.json").read_text(encoding="utf-8"))
    home, workspace = root / scenario.name / "home", root / scenario.name / "workspace"
    shutil.copytree(scenario / "openclaw", home / ".openclaw")
    shutil.copytree(scenario / "claude", home / ".claude")
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    env = os.environ | {
        "HOME": str(home),
        "XDG_CACHE_HOME": cache,
        "OPENCLAW_STATE_DIR": str(home / ".openclaw"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "NACRE_TIMEZONE": days["timezone"],
    }
    zone = ZoneInfo(days["timezone"])

    def nacre(*arguments: str) -> None:
        command = [sys.executable, "-m", "nacre", "--workspace", str(workspace), *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
        if done.returncode not in {0, 3}:
            sys.exit(f"nacre {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")

    nacre("init", "--now", f"{days['first_day']}T00:00:00")
    day, last = dt.date.fromisoformat(days["first_day"]), dt.date.fromisoformat(days["last_day"])
    while day <= last + dt.timedelta(days=NIGHTS_AFTER):
        hours = [("tidy", 3)] + [("sync", hour) for hour in (10, 14, 18, 22) if day <= last + dt.timedelta(days=1)]
        for command, hour in hours:
            nacre(command, "--now", dt.datetime.combine(day, dt.time(hour), zone).isoformat())
        day += dt.timedelta(days=1)
    return {
        path.relative_to(workspace).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(workspace.rglob("*.md"))
        if ".nacre" not in path.relative_to(workspace).parts
    }


if __name__ == "__main__":
    main()
