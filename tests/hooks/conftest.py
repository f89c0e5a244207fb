"""A workspace with a few memories, and a session of an agent that fires its hooks at it: in this process, or as agents do."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.daemon import conftest as daemons

from nacre.config.settings import user_config_file
from nacre.hooks import answer
from nacre.memory import Memory

Fire = Callable[..., subprocess.CompletedProcess[bytes]]
NOON = "2026-02-12T12:00:00+00:00"
root = daemons.root
start = daemons.start
_own_places = daemons._own_places


@pytest.fixture(autouse=True)
def _no_daemon_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests start the daemons that they want, and a hook has all the time that a busy machine takes."""
    monkeypatch.setenv("NACRE_NO_DAEMON", "1")
    settings = user_config_file()
    settings.parent.mkdir(parents=True)
    settings.write_text("[hooks]\ntimeout_ms = 60000\n", "utf8")
    monkeypatch.delenv("CURSOR_VERSION", raising=False)
    monkeypatch.delenv("NACRE_HOOK", raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that the session works in."""
    folder = tmp_path / "shop-api"
    folder.mkdir()
    return folder


class Session:
    """One session of an agent, whose hooks are answered in this process at a moment that the test sets."""

    def __init__(self, root: Path, project: Path, name: str = "61871d67-1111", agent: str = "claude-code") -> None:
        self.root, self.project, self.name, self.agent = root, project, name, agent
        self.now = dt.datetime.fromisoformat(NOON)

    def fire(self, event: str, **more: Any) -> dict[str, Any] | None:
        told = {"hook_event_name": event, "session_id": self.name, "cwd": str(self.project)} | more
        with Memory.open(self.root, now=self.now.isoformat()) as memory:
            return answer(memory, self.agent, told)

    def begin(self, source: str = "startup") -> str:
        return _context(self.fire("SessionStart", source=source))

    def ask(self, prompt: str) -> str:
        return _context(self.fire("UserPromptSubmit", prompt=prompt))

    def later(self, **span: float) -> None:
        self.now += dt.timedelta(**span)


def _context(told: dict[str, Any] | None) -> str:
    if told is None:
        return ""
    text = told["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text


@pytest.fixture
def session(root: Path, project: Path) -> Session:
    (root / "MEMORY.md").write_text(
        "# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm, in every repository\n", "utf8"
    )
    return Session(root, project)


@pytest.fixture
def fire(root: Path, project: Path) -> Fire:
    """Fires a hook as an agent does: a process, one object on its stdin."""

    def run(
        event: str,
        *options: str,
        given: Any = None,
        raw: bytes | None = None,
        env: dict[str, str] | None = None,
        **told: Any,
    ) -> subprocess.CompletedProcess[bytes]:
        usual = {"hook_event_name": event, "session_id": "61871d67-1111", "cwd": str(project)}
        data = raw if raw is not None else json.dumps(usual | told if given is None else given).encode()
        command = [sys.executable, "-m", "nacre", "hook", event, "--workspace", str(root), *options]
        return subprocess.run(
            command, input=data, capture_output=True, env={**os.environ, **(env or {})}, timeout=300, check=False
        )

    return run
