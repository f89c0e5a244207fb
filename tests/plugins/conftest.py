"""A workspace with a few memories, and the plugin of OpenClaw running in Node beside it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.daemon import conftest as daemons

from nacre.daemon.process import daemon_process
from nacre.model import Workspace

HERE = Path(__file__).resolve().parent
INDEX = HERE.parents[1] / "src" / "nacre" / "plugins" / "openclaw" / "index.js"
root = daemons.root
_own_places = daemons._own_places
Host = Callable[..., "Plugin"]


class Plugin:
    """The plugin in a process of Node, asked line by line."""

    def __init__(self, config: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["node", str(HERE / "host.mjs"), str(INDEX), json.dumps(config)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf8",
        )  # fmt: skip

    def do(self, deed: str, **given: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": deed, **given}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def tool(self, name: str, key: str = "agent:main:main", **params: Any) -> Any:
        return self.do("tool", name=name, ctx={"sessionKey": key}, params=params)

    def ends(self) -> int:
        """Its exit code once there is nothing more to ask: no open socket may keep it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(300)


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """Nacre as it lies on a PATH."""
    path = tmp_path / "bin" / "nacre"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nacre "$@"\n', "utf8")
    path.chmod(0o755)
    return path


@pytest.fixture
def host(root: Path, executable: Path) -> Iterator[Host]:
    """Starts the plugin; whatever it started is ended by its own process."""
    if shutil.which("node") is None:
        pytest.skip("Node is not installed: the plugin of OpenClaw cannot run here")
    started: list[Plugin] = []

    def begin(**config: str) -> Plugin:
        started.append(Plugin({"command": str(executable), "workspace": str(root), **config}))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        for stream in (one.process.stdin, one.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]
        one.process.wait()
    end_daemon(root)


def end_daemon(root: Path) -> None:
    """Ask the daemon of a workspace to end, and wait until it has."""
    until = time.monotonic() + 300
    if pid := daemon_process(Workspace(root)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    while daemon_process(Workspace(root)) is not None:
        assert time.monotonic() < until
        threading.Event().wait(0.02)
