"""How long an MCP client waits: from starting `nacre mcp` to the answers of initialize, tools/list and a first memory_search.

    .venv/bin/python -m bench.mcp [--rounds 10] [--json out.json]

Wall time, because that is what a client waits for, and beside it the CPU that the process used until then, because the machine is shared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.corpus import lay_out
from bench.daemon import daemon
from nacre.memory import Memory

NACRE = (sys.executable, "-m", "nacre")
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    ),
    ("tools/list", {}),
    ("tools/call", {"name": "memory_search", "arguments": {"query": "which backup key was agreed on"}}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):  # an installed package has its bytecode
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        figures = measure(Path(folder) / "ws", args.rounds)
    for name, value in figures.items():
        print(f"{name:52} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1), encoding="utf8")


def measure(workspace: Path, rounds: int) -> dict[str, str]:
    lay_out(workspace, None)
    Memory.init(workspace).index()
    bare = {"NACRE_EMBED_PROVIDER": "none"}
    figures = _told("words alone", [once(workspace, bare) for _ in range(rounds)])
    figures |= _told("words and meaning", [once(workspace, {}) for _ in range(rounds)])
    with daemon(workspace):
        figures |= _told("with a daemon", [once(workspace, {}) for _ in range(rounds)])
    return figures


def _told(name: str, rounds: list[list[tuple[float, float]]]) -> dict[str, str]:
    told: dict[str, str] = {}
    for (what, _), every in zip(ASKED, zip(*rounds, strict=True), strict=True):
        wall, cpu = ([one[part] for one in every] for part in (0, 1))
        told[f"{name}: start to {what}"] = (
            f"best {min(wall):.2f} s, median {statistics.median(wall):.2f} s, CPU {min(cpu):.2f} s"
        )
    return told


def once(workspace: Path, env: dict[str, str]) -> list[tuple[float, float]]:
    """Seconds from the start of the process to each answer, and the CPU it had used by then."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*NACRE, "mcp", "--workspace", str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **env},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    marks: list[tuple[float, float]] = []
    for number, (method, params) in enumerate(ASKED):
        _send(process.stdin, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        answer = json.loads(process.stdout.readline())
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(str(answer)[:500])
        marks.append((time.perf_counter() - began, _cpu(process.pid)))
        if method == "initialize":
            _send(process.stdin, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    process.stdin.close()
    if process.wait(30):
        raise RuntimeError(f"ended with {process.returncode}")
    return marks


def _send(stdin: Any, message: dict[str, Any]) -> None:
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()


def _cpu(process: int) -> float:
    try:
        parts = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:  # no /proc on this system
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
