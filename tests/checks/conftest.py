"""A workspace whose health is asked about, judged without embedding models."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from tests.tidy.nights import Nights

from nacre.checks.health import Health, check_health
from nacre.cli.main import run
from nacre.model import Problem

NOW = "2026-03-20T10:00:00+00:00"


class Patient(Nights):
    """A workspace that is examined, and mended by what a user would type."""

    def health(self, now: str = NOW) -> Health:
        day, _, time = now.partition("T")
        with self.memory(day, time.partition("+")[0]) as memory:
            return check_health(memory)

    def found(self, kind: str, now: str = NOW) -> list[Problem]:
        return [one for one in self.health(now).findings if one.kind == kind]

    def follow(self, found: Problem) -> None:
        """Delete the line that a finding names."""
        assert found.remedy == f"edit or delete line {found.line} of {found.path}"
        lines = self.text(found.path).splitlines(keepends=True)
        self.lay(found.path, "".join(lines[: found.line - 1] + lines[found.line :]) if found.line else "")

    def run(self, command: str, *more: str, now: str = NOW) -> None:
        """A command as a finding names it."""
        program, *arguments = shlex.split(command)
        assert program == "nacre"
        assert run([*arguments, *more, "--workspace", str(self.root), "--now", now]) == 0


@pytest.fixture
def patient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patient:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    return Patient(tmp_path / "ws")
