"""A real OpenClaw in a scratch home: its commands, its gateway, and calls to that."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.embed.models import models_folder

VERSION = "2026.9.6"
_UP_WITHIN = 120.0
_COMMAND_WITHIN = 180.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Claw:
    """One installation (`packages` holds node_modules with openclaw and node) with state of its own below `home`."""

    packages: Path
    home: Path
    nacre: str
    model: str
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    port: int = field(default_factory=free_port)

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def env(self) -> dict[str, str]:
        """Nothing of the user's but the way to programs; the network is not needed and not asked for."""
        paths = [self.packages / "node_modules/node/bin", self.packages / "node_modules/.bin", Path(self.nacre).parent]
        return {
            "LANG": "C.UTF-8",
            "NACRE_MODELS_PATH": str(models_folder()),
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*map(str, paths), "/usr/bin", "/bin"]),
            "OPENCLAW_STATE_DIR": str(self.state),
            "OPENCLAW_CONFIG_PATH": str(self.home / "openclaw.json"),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "TMPDIR": str(self.home / "tmp"),
            "NACRE_LANGUAGE": "en",
            "NACRE_JOBS_SILENCE": "4h",  # a talk that fell silent is captured too, but here it is /new that must do it
            "NO_COLOR": "1",
        }

    def set_up(self) -> None:
        """Folders, and a configuration whose only model is the stub."""
        for folder in (self.workspace, self.state, self.home / "run", self.home / "tmp"):
            folder.mkdir(mode=0o700)
        model = {"id": "stub-model", "name": "Stub", "input": ["text"], "contextWindow": 200_000, "maxTokens": 4096}
        told = {
            "gateway": {"mode": "local", "bind": "loopback", "port": self.port, "auth": {"mode": "token", "token": self.token}},
            "agents": {"defaults": {"workspace": str(self.workspace), "model": {"primary": "stub/stub-model"}, "skipBootstrap": True}},
            "models": {"providers": {"stub": {"baseUrl": self.model, "apiKey": "none", "api": "openai-completions", "models": [model]}}},
            "logging": {"file": str(self.home / "openclaw.log")},
            "plugins": {"entries": {"memory-core": {"enabled": False}}},
        }  # fmt: skip
        (self.home / "openclaw.json").write_text(json.dumps(told, indent=2), "utf8")

    def run(self, *arguments: str, check: bool = True) -> str:
        """What a command of OpenClaw prints, on both streams."""
        done = subprocess.run(
            ["openclaw", *arguments],
            env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf8", timeout=_COMMAND_WITHIN, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"openclaw {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def nacre_run(self, *arguments: str) -> str:
        """A command of Nacre, in the same environment."""
        env = {**self.env, "NACRE_WORKSPACE": str(self.workspace)}
        return subprocess.run([self.nacre, *arguments], env=env, check=True, capture_output=True, text=True).stdout

    @contextmanager
    def gateway(self) -> Iterator[subprocess.Popen[bytes]]:
        """The gateway, up and answering; ended by its own process when the block ends."""
        with (self.home / "gateway.log").open("wb") as log:
            process = subprocess.Popen(
                ["openclaw", "gateway", "run", "--port", str(self.port)],
                env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            until = time.monotonic() + _UP_WITHIN
            while not self._is_up():
                if process.poll() is not None or time.monotonic() > until:
                    raise AssertionError(f"the gateway did not come up:\n{self.log()}")
                time.sleep(0.5)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self) -> str:
        return (self.home / "gateway.log").read_text("utf8", errors="replace")

    def _is_up(self) -> bool:
        status, _ = self._post("/tools/invoke", {"tool": "memory_status", "args": {}})
        return status == 200

    def invoke(self, tool: str, session: str | None = None, **args: Any) -> dict[str, Any]:
        """What a tool returns through the gateway, as an operator's program calls it."""
        status, told = self._post(
            "/tools/invoke", {"tool": tool, "args": args, **({"sessionKey": session} if session else {})}
        )
        assert status == 200, f"{tool}: {status} {told}"
        result: dict[str, Any] = told["result"]
        return result

    def _post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": f"Bearer {self.token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, {"error": refused.read().decode("utf8", "replace")}
        except OSError:
            return 0, {}

    def say(self, message: str, session: str = "agent:main:main") -> str:
        """One message of the user's, as the web chat sends it; what OpenClaw prints about it."""
        told = {"sessionKey": session, "message": message, "idempotencyKey": secrets.token_hex(8)}
        return self.run("gateway", "call", "chat.send", "--token", self.token, "--params", json.dumps(told), "--json")

    def command(self, words: str, session: str = "agent:main:main") -> str:
        """A slash command of the owner's, from the terminal; what OpenClaw answers."""
        return self.run("agent", "--session-key", session, "--message", words)
