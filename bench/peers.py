"""Warm searches of others beside ours: qmd's HTTP server and OpenClaw's gateway, on the same notes in the same run.

    .venv/bin/python -m bench.peers [--archive notes-2000.tar.gz] [--kept FOLDER] [--only qmd] [--json out.json]

Each peer is installed from npm into a scratch folder (`--kept` keeps it), set up offline without models, as its users get it by
default for keywords, and asked over one kept connection. Ours is asked by words alone and, as it comes, by words and meaning. A
peer that cannot be installed or started gets one line that says why.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench.daemon import daemon, prepared, quantiles
from bench.qmd import VERSION as QMD
from nacre.daemon.client import Connection

OPENCLAW = "2026.9.6"
Ask = Callable[[str], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="a .tar.gz with corpus/ and needles.json; default: notes made here"
    )
    parser.add_argument("--kept", type=Path, help="where notes, indexes and installations stay for the next time")
    parser.add_argument("--only", choices=["qmd", "openclaw"], help="this peer alone")
    parser.add_argument("--json", type=Path, help="write the figures here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nacre-bench-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        figures = measure(args.kept or Path(folder) / "kept", args.archive, args.only)
    for name, value in figures.items():
        print(f"{name:36} {value}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), encoding="utf8")


def measure(folder: Path, archive: Path | None, only: str | None) -> dict[str, str]:
    workspace, needles = prepared(folder, archive)
    figures: dict[str, str] = {}
    askers: dict[str, Ask] = {}
    with daemon(workspace), Connection(str(workspace)) as kept:
        askers["nacre, by words"] = partial(_ours, kept, "text")
        askers["nacre, by words and meaning"] = partial(_ours, kept, "hybrid")
        for name, start in (("qmd", _qmd), ("openclaw", _openclaw)):
            if only in (None, name):
                _beside(name, start, folder / name, workspace, askers, needles, figures)
    return figures


def _beside(
    name: str,
    start: Callable[[Path, Path], Any],
    folder: Path,
    workspace: Path,
    ours: dict[str, Ask],
    needles: list[dict[str, Any]],
    figures: dict[str, str],
) -> None:
    """Ask ours and theirs in turn: whatever else the machine does, it does to all of them."""
    try:
        with start(folder, workspace) as ask:
            everybody = {**ours, f"{name} over HTTP": ask}
            taken: dict[str, list[float]] = {one: [] for one in everybody}
            found = dict.fromkeys(everybody, 0)
            for needle in needles[:10]:  # so that everybody is warm
                for asks in everybody.values():
                    asks(needle["q"])
            for needle in needles:
                for one, asks in everybody.items():
                    began = time.perf_counter()
                    answer = asks(needle["kw"])
                    taken[one].append((time.perf_counter() - began) * 1000)
                    found[one] += needle["file"] in answer
            for one in everybody:
                figures[f"{one} (beside {name})"] = f"{quantiles(taken[one])}, {found[one]} of {len(needles)} found"
    except (OSError, RuntimeError, http.client.HTTPException) as trouble:
        figures[name] = f"not measured: {trouble}"


def _ours(kept: Connection, mode: str, query: str) -> str:
    told: str = kept.ask("search", asked={"query": query, "limit": 5, "mode": mode, "as_json": True})["parts"][0][1]
    return told


def _installed(folder: Path, *packages: str) -> dict[str, str]:
    """The environment in which the packages of a scratch folder run; installs them if they are not there."""
    if not shutil.which("npm"):
        raise RuntimeError("npm is not at hand")
    if not (folder / "node_modules" / "node" / "bin").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages, "node@24"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"npm install failed: {done.stderr.strip().splitlines()[-1:]}")
    path = f"{folder / 'node_modules' / 'node' / 'bin'}:{folder / 'node_modules' / '.bin'}:{os.environ['PATH']}"
    places = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
    return {**os.environ, "HOME": str(folder), "PATH": path, **places}


@contextmanager
def _qmd(folder: Path, workspace: Path) -> Iterator[Ask]:
    env = _installed(folder, f"@tobilu/qmd@{QMD}")
    _run(["qmd", "collection", "add", str(workspace / "memory"), "--name", "notes"], env, again="already")
    port = _free_port()
    with _running(["qmd", "mcp", "--http", "--port", str(port)], env, port, folder / "server.log") as connection:

        def ask(query: str) -> str:
            return _post(
                connection,
                "/query",
                {"searches": [{"type": "lex", "query": query}], "limit": 5, "rerank": False},
                {},
            )

        yield ask


@contextmanager
def _openclaw(folder: Path, workspace: Path) -> Iterator[Ask]:
    env = _installed(folder, f"openclaw@{OPENCLAW}")
    settings, token = folder / "openclaw.json", secrets.token_hex(16)
    search = {"provider": "none", "sources": ["memory"], "rememberAcrossConversations": False}
    told = {
        "agents": {"defaults": {"workspace": str(workspace)}},
        "memory": {"search": search},
        "plugins": {"entries": {"memory-core": {"config": {"dreaming": {"enabled": False}}}}},
        "gateway": {"mode": "local", "auth": {"mode": "token", "token": token}},
    }
    settings.write_text(json.dumps(told), encoding="utf8")
    env |= {"OPENCLAW_STATE_DIR": str(folder / "state"), "OPENCLAW_CONFIG_PATH": str(settings)}
    _run(["openclaw", "memory", "index", "--force"], env)
    port = _free_port()
    with _running(["openclaw", "gateway", "run", "--port", str(port)], env, port, folder / "server.log") as connection:

        def ask(query: str) -> str:
            wanted = {"tool": "memory_search", "args": {"query": query, "maxResults": 5, "minScore": 0}}
            return _post(connection, "/tools/invoke", wanted, {"Authorization": f"Bearer {token}"})

        yield ask


def _run(command: Sequence[str], env: dict[str, str], again: str | None = None) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode and not (again and again in done.stdout + done.stderr):
        raise RuntimeError(f"{command[0]} {command[1]} ended with {done.returncode}: {done.stderr[-300:]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def _running(command: Sequence[str], env: dict[str, str], port: int, log: Path) -> Iterator[http.client.HTTPConnection]:
    """A server that answers, and a connection to it; ended by its process."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        connection = http.client.HTTPConnection("localhost", port, timeout=60)
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    connection.connect()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > until:
                        raise RuntimeError(f"{command[0]} did not come up: {log.read_text()[-300:]}") from None
                    time.sleep(0.2)
            yield connection
        finally:
            connection.close()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _post(connection: http.client.HTTPConnection, path: str, wanted: dict[str, Any], headers: dict[str, str]) -> str:
    connection.request("POST", path, json.dumps(wanted), {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    text = answer.read().decode("utf8")
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"{path} answered {answer.status}: {text[:200]}")
    return text


if __name__ == "__main__":
    main()
