"""A workspace, the real server over stdin and stdout, and a real daemon that serves HTTP, each ended by its own process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.daemon.waiting import until

from nacre.daemon.client import daemon_status
from nacre.memory import Memory

FILES = {
    "MEMORY.md": "# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm, in every repository\n",
    "memory/2026-03-19.md": (
        "# 2026-03-19\n\n## 14:05 session:61871d67 | 12 messages\n- [PROJ] The launch is on 3 May\n"
        "\n## 15:00 session:71871d67 | 4 messages | group:ops\n- The rota starts on Monday\n"
    ),
}


@pytest.fixture(autouse=True)
def _own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets and tokens in folders of the test, and no models."""
    runtime = tmp_path_factory.mktemp("run")
    runtime.chmod(0o700)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(runtime))
    monkeypatch.setenv("NACRE_MODELS_PATH", str(runtime / "no-models"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    Memory.init(place).close()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf8")
    return place


@dataclass(frozen=True)
class Served:
    """A daemon that answers over HTTP."""

    url: str
    token: str
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])


Serve = Callable[..., Served]


@pytest.fixture
def serve(root: Path) -> Iterator[Serve]:
    """Starts a daemon with HTTP on any port and waits until it listens."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*options: str, scope: str = "main", **env: str) -> Served:
        process = subprocess.Popen(
            [*nacre(root), "serve", "--no-jobs", "--http", "0", "--http-scope", scope, *options],
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        until(lambda: process.poll() is not None or daemon_status(str(root)) is not None)
        if process.returncode is not None:
            raise AssertionError(process.communicate()[1].decode())
        command = [*nacre(root), "serve", "--token", "--http-scope", scope, "--json"]
        about = json.loads(subprocess.run(command, capture_output=True, check=True, env={**os.environ, **env}).stdout)
        assert about["running"]
        return Served(about["url"], about["token"], process)

    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(300)
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()


def nacre(root: Path) -> list[str]:
    return [sys.executable, "-m", "nacre", "--workspace", str(root)]
