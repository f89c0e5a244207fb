"""Nothing is lost when many processes write at once, and an index survives being killed. Faults while writing: tests/faults.

    .venv/bin/python -m bench.durability [--writers 8] [--each 500] [--kills 100]

Ends with exit code 1 when an entry was lost, doubled or torn, or when an index was not the same as one built in peace.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nacre.memory import Memory

WRITE = """
import sys
from nacre import Memory
memory = Memory.open(sys.argv[1])
for number in range(int(sys.argv[3])):
    entry = memory.remember(f"writer {sys.argv[2]} entry {number} of its own")
    print(number, flush=True)
"""
INDEX = """
import sys
from nacre import Memory
print("ready", flush=True)
Memory.open(sys.argv[1]).update(full=True)
"""


def entries(workspace: Path) -> collections.Counter[str]:
    lines = [
        line
        for path in sorted((workspace / "memory").glob("????-??-??.md"))
        for line in path.read_text("utf8").splitlines()
    ]
    odd = [line for line in lines if line and not line.startswith(("# ", "## ", "- writer "))]
    if odd:
        sys.exit(f"torn lines: {odd[:5]}")
    return collections.Counter(line.removeprefix("- ") for line in lines if line.startswith("- "))


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def write_at_once(folder: Path, writers: int, each: int) -> None:
    workspace = Memory.init(folder).workspace.root
    started = time.perf_counter()
    running = [start(WRITE, str(workspace), str(name), str(each)) for name in range(writers)]
    for one in running:
        one.communicate()
        if one.returncode:
            sys.exit("a writer failed")
    found = entries(workspace)
    doubled = [text for text, count in found.items() if count > 1]
    if len(found) != writers * each or doubled:
        sys.exit(f"{len(found)} entries instead of {writers * each}; doubled: {doubled[:5]}")
    print(
        f"{writers} processes × {each}: {len(found)} entries, none lost, none doubled, {time.perf_counter() - started:.1f} s"
    )


def kill_indexers(folder: Path, kills: int) -> None:
    workspace = Memory.init(folder).workspace.root
    for number in range(300):
        (workspace / "memory" / f"note-{number}.md").write_text(
            f"# Note {number}\n\n" + f"Words of note {number}. 第{number}篇。\n\n" * 20, "utf8"
        )
    chance = random.Random(11)
    for _ in range(kills):
        one = start(INDEX, str(workspace))
        assert one.stdout
        one.stdout.readline()
        try:
            one.wait(timeout=chance.uniform(0.01, 0.6))
        except subprocess.TimeoutExpired:
            os.kill(one.pid, signal.SIGKILL)
            one.wait()
    memory = Memory.open(workspace)
    memory.update()
    check = memory.keeper.store.db.execute("pragma integrity_check").fetchone()[0]
    killed = dump(memory)
    memory.close()
    for path in (workspace / ".nacre" / "index").iterdir():
        path.unlink()
    fresh = Memory.open(workspace)
    fresh.update()
    if check != "ok" or killed != dump(fresh) or memory.keeper.store.recovered:
        sys.exit(f"the index was damaged: {check}")
    print(f"{kills} × kill -9 while indexing: index whole ({check}), the same as one built in peace")


def dump(memory: Memory) -> list[tuple[object, ...]]:
    rows = memory.keeper.store.db.execute(
        "select f.path, c.first, c.last, c.text, c.key from chunks c join files f on f.id = c.file"
    )
    return sorted(rows.fetchall())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--each", type=int, default=500)
    parser.add_argument("--kills", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        write_at_once(Path(folder) / "at-once", args.writers, args.each)
        kill_indexers(Path(folder) / "killed-indexers", args.kills)


if __name__ == "__main__":
    main()
