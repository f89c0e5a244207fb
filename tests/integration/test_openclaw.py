"""Nacre's plugin in a real OpenClaw. Slow, and OpenClaw is large: only where somebody has it lying ready."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = os.environ.get("NACRE_OPENCLAW")


@pytest.mark.skipif(
    not PACKAGES,
    reason="NACRE_OPENCLAW does not name a folder with node_modules of openclaw@2026.9.6 and node@24 (python -m tests.integration.openclaw fetches them)",
)
def test_openclaw_runs_with_nacre_as_its_memory() -> None:
    assert PACKAGES
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.openclaw", PACKAGES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-5_000:]
