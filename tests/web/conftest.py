"""A workspace with a few memories, a real daemon that serves its page, and a browser's place in it: a cookie and the word of its forms."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.mcp.conftest import Serve, _own_places, nacre, serve  # noqa: F401 - fixtures

from nacre.memory import Memory

FILES = {
    "MEMORY.md": "# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm, in every repository\n- 报告用 Typst 写\n\n## Key Decisions\n- The launch is on 3 May\n",
    "projects/shop/MEMORY.md": "# Long-Term Memory: shop\n\n## Key Decisions\n- The API is versioned by header\n",
    "memory/2026-03-19.md": (
        "# 2026-03-19\n\n## 14:05 session:61871d67 | 12 messages\n- [PROJ] The launch is on 3 May\n"
        "- [PREF] Use pnpm, never npm, in every repository\n"
    ),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    Memory.init(place).close()
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf8")
    return place


def link(root: Path) -> str:
    """What `nacre open` prints."""
    command = [*nacre(root), "open", "--no-browser", "--json"]
    return str(json.loads(subprocess.run(command, capture_output=True, check=True, env=os.environ).stdout)["url"])


@dataclass(frozen=True)
class Page:
    """A browser that was let in."""

    client: httpx2.Client
    token: str

    def html(self, path: str) -> str:
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.text

    def data(self, path: str) -> Any:
        response = self.client.get(f"/api/{path}")
        assert response.status_code == 200, response.text
        return response.json()

    @property
    def csrf(self) -> str:
        word = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.html("/memory"))
        assert word
        return word[1]

    def post(self, path: str, /, **fields: str) -> httpx2.Response:
        return self.client.post(path, data={"csrf": self.csrf, **fields})


@pytest.fixture
def page(root: Path, serve: Serve) -> Iterator[Page]:  # noqa: F811 - a fixture
    served = serve()
    with httpx2.Client(base_url=served.url.removesuffix("/mcp"), timeout=1800) as client:
        assert client.get(link(root)).status_code == 303
        yield Page(client, served.token)
