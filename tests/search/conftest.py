"""A small workspace with a life in it, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.memory import Memory

FILES = {
    "MEMORY.md": "# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm, in every repository\n- 报告一律用 Typst 排版\n",
    "USER.md": "# USER.md\n\n- **Name:** Lin\n- **Timezone:** Asia/Shanghai\n",
    "AGENTS.md": "# Rules\n\nThe zeppelin rule: search before answering.\n",
    "memory/2026-02-10.md": (
        "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages | project:shop-api\n"
        "- [PROJ] The deadline of shop-api is the end of March\n- [决策] 切换到 PostgreSQL 作为持久化方案\n"
        "\n## 18:00 session:aa11bb22 | 4 messages | group:climbers\n- The climbers meet at the north wall on Sunday\n"
    ),
    "memory/2026-03-01.md": (
        "# 2026-03-01\n\n## 09:30 session:77777777 | 6 messages | project:blog\n"
        "- [PROJ] The deadline of the blog is the middle of May #writing\n"
        "\n## 10:00 note\n- [PREF] Answers should be short\n"
    ),
    "memory/weekly/2026-01-05.md": "# 2026-01-05\n### 2026-01-07\n[Decision] Moved the server room to Oslo (src: 2026-01-07)\n",
    "memory/kitchen.md": "# Kitchen\n\n## Ovens\n\nThe big oven runs twenty degrees too hot.\n\n```\n# not a heading about ovens\n```\n",
    "memory/review.md": "- The walrus waits for a person's eye\n",
    "memory/handbook.md": "---\npublic: true\ntags: [climbing, safety]\n---\n# Handbook\n\nTie a double knot before climbing the wall.\n",
    "projects/blog/MEMORY.md": "# Long-Term Memory: blog\n\n> Project: /srv/blog\n\n## Key Decisions\n- The blog is built with Eleventy\n",
}


def lay_out(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    lay_out(place, FILES)
    return place


@pytest.fixture
def found(root: Path) -> Callable[..., list[str]]:
    """Searches by words alone and gives the paths of the hits."""
    memory = Memory.open(root)

    def search(query: str, **options: object) -> list[str]:
        return [hit.path for hit in memory.search(query, mode="text", **options)]  # type: ignore[arg-type]

    return search
