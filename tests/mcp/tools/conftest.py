"""A workspace with a few memories, opened at a moment that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.memory import Memory

NOW = "2026-03-20T18:00"
FILES = {
    "MEMORY.md": "# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm, in every repository\n",
    "memory/2026-03-19.md": "# 2026-03-19\n\n## 14:05 session:61871d67 | 12 messages\n- [PROJ] The launch is on 3 May\n- [决策] 数据库改用 PostgreSQL\n",
    "memory/long.md": "# Long\n\n" + "".join(f"- line {number}\n" for number in range(3, 301)),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "no-models"))
    place = tmp_path / "ws"
    Memory.init(place, now=NOW).close()
    for name, text in FILES.items():
        (place / name).write_text(text, encoding="utf8")
    return place


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root, now=NOW) as opened:
        yield opened


@pytest.fixture
def group(root: Path) -> Iterator[Memory]:
    with Memory.open(root, now=NOW, scope="group:ops") as opened:
        yield opened
