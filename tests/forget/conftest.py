"""A memory in which one fact stands in every place that a fact can stand in, beside others that must stay."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nacre.forget.target import Target
from nacre.memory import Memory
from nacre.vault.entries import bullet_id, entry_id


def take(targets: Sequence[Target], certain: bool) -> Sequence[Target]:
    """Everything that may be meant."""
    return targets


NOW = "2026-03-20T10:00:00+00:00"
FACT = "Use pnpm, never npm, in every repository"
BULLET = "User wants pnpm everywhere and does not want to see npm again"
OLDER = "Use yarn for every repository that we own"

FILES = {
    "MEMORY.md": f"# Long-Term Memory\n\n## User Preferences\n- {FACT}\n- 报告一律用 Typst 排版\n- The billing team is led by Maria\n",
    "projects/shop/MEMORY.md": f"# Long-Term Memory: shop\n\n## Key Decisions\n- {FACT}.\n- The shop runs on port 8181\n",
    "memory/2026-03-18.md": (
        f"# 2026-03-18\n\n## 14:05 session:61871d67 | 12 messages\n- [PREF] {BULLET}\n- The shop was deployed on Monday\n"
    ),
    "memory/archive/2026/2026-02-10.md": f"# 2026-02-10\n\n## 09:00 note\n- [PREF] {FACT.upper()}\n- Rain all day\n",
    "memory/weekly/2026-02-09.md": (
        f"# 2026-02-09\n### 2026-02-10\n[Preference] {FACT} (src: 2026-02-10)\n[Task] Rain was measured (src: 2026-02-10)\n"
        f"### 2026-02-12\n[Decision] {OLDER} (src: 2026-02-12)\n"
    ),
    "memory/review.md": f"# Review\n\n- {FACT}\n- Maria may have left\n",
    "memory/tools.md": f"# Tools\n\n> {FACT}\n\nThe rest of this note is about hammers.\n",
    "memory_fs/warm/talk.md": f"# talk\n\n**User** 2026-02-10 14:05\n\n{FACT}\n\n**Agent** 2026-02-10 14:06\n\nUnderstood.\n",
    "SESSION-STATE.md": f"# Session State\n\n## Recent Decisions\n- [14:05] {FACT}\n- [14:06] chose PostgreSQL\n",
    "memory/ledger.jsonl": "".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"
        for line in (
            {"id": entry_id(OLDER), "at": "2026-02-12T03:00:00+00:00", "verdict": "admitted", "text": OLDER},
            {
                "id": entry_id(FACT),
                "at": "2026-03-19T03:00:00+00:00",
                "verdict": "admitted",
                "text": FACT,
                "section": "User Preferences",
                "tests": {"prevents_error": 0.94, "broad": 0.9},
                "without_it": "the agent would run npm and break the lockfile",
                "source": {"day": "2026-03-18", "session": "61871d67", "bullet": bullet_id(BULLET)},
                "supersedes": entry_id(OLDER),
                "confidence": 0.9,
            },
            {
                "id": entry_id(OLDER),
                "at": "2026-03-19T03:00:00+00:00",
                "verdict": "superseded",
                "text": OLDER,
                "valid_to": "2026-03-18",
            },
            {"id": "1111111111", "at": "2026-03-19T03:00:00+00:00", "verdict": "refused", "text": "Rain all day"},
        )
    ),
    "memory/trail.jsonl": json.dumps(
        {
            "day": "2026-03-18",
            "session": "61871d67",
            "agent": "claude-code",
            "transcript": "61871d67-1111-4222-8333-444455556666",
            "captured": {bullet_id(BULLET): ["message-7"]},
        }
    )
    + "\n",
}

OVERTAKEN = "memory/weekly/2026-02-09.md:6"  # where the statement stands that it superseded
WHERE = {  # where the fact stands, in any wording
    "MEMORY.md:4",
    "projects/shop/MEMORY.md:4",
    "memory/2026-03-18.md:4",
    "memory/archive/2026/2026-02-10.md:4",
    "memory/weekly/2026-02-09.md:3",
    "memory/review.md:3",
    "memory/tools.md:3",
    "memory_fs/warm/talk.md:5",
    "SESSION-STATE.md:4",
}


def lay_out(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf8")


def everything(root: Path) -> dict[str, bytes]:
    """Every file of a workspace but for what is derived or only told of what was done."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".nacre" not in path.relative_to(root).parts
    }


def bytes_below(root: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "ws"
    Memory.init(place, now=NOW).close()
    lay_out(place, FILES)
    return place


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    with Memory.open(root, now=NOW) as opened:
        yield opened


def ledger_of(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "memory" / "ledger.jsonl").read_text("utf8").splitlines()]


def killed_at(call: int, work: Callable[[], None]) -> bool:
    """Do the work in a child that dies at its n-th call that touches the disk; whether it did die."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def dying(real: Callable[..., Any]) -> Callable[..., Any]:
            def counted(*given: Any, **named: Any) -> Any:
                nonlocal count
                count += 1
                if count == call:
                    os._exit(77)
                return real(*given, **named)

            return counted

        for name in ("write", "replace", "unlink", "rename"):
            setattr(os, name, dying(getattr(os, name)))
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 77
