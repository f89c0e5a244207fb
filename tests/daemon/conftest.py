"""A workspace with a few memories, and real daemons for it, each ended by its own process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from nacre.daemon.client import Connection, NoDaemon, daemon_status
from nacre.memory import Memory

from .waiting import until

Start = Callable[..., subprocess.Popen[bytes]]

NOTES = {
    "memory/2026-02-10.md": "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages\n- [PREF] Use pnpm, never npm\n- [决策] 切换到 PostgreSQL\n",
    "memory/2026-02-11.md": "# 2026-02-11\n\n## 09:00 session:71871d67 | 4 messages | group:family\n- Dinner is at Rosa's on Friday\n",
    "memory/harbour.md": "# Harbour\n\nThe Braldor project keeps its backup key in the archive on the third floor.\n",
    "memory/garden.md": "# 花园\n\n青梧平台的备份密钥存放在三楼的档案柜里。\n\n## Winter\n\nCover the roses before the first frost.\n",
}


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets in a folder of the test; no models, which the daemon treats as a search without them does."""
    runtime = tmp_path_factory.mktemp("run")
    runtime.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("TMPDIR", str(runtime))
    monkeypatch.setenv("NACRE_MODELS_PATH", str(runtime / "no-models"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    Memory.init(root).close()
    for name, text in NOTES.items():
        (root / name).write_text(text, "utf8")
    return root


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    """Starts a daemon and waits until it listens."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(
        *options: str, place: Path = root, jobs: bool = False, program: Sequence[str] = ("-m", "nacre"), **env: str
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, *program, "--workspace", str(place), "serve", *options]
        process = subprocess.Popen(
            command + ([] if jobs else ["--no-jobs"]),
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        until(lambda: process.poll() is not None or (daemon_status(str(place)) or {}).get("process") == process.pid)
        if process.returncode is not None:
            raise AssertionError(process.communicate()[1].decode())
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(300)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def connected(root: Path, scope: str = "main") -> Connection:
    return Connection(str(root), scope)


def framed(body: bytes) -> bytes:
    """A message as it goes over the socket."""
    return len(body).to_bytes(4, "big") + body


def answers(root: Path) -> bool:
    """Whether a daemon answers for the workspace."""
    try:
        connected(root).close()
    except NoDaemon:
        return False
    return True
