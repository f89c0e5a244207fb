"""The commands that write, each with a home in which it has something to do."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tests.talks import ClaudeTalk

from nacre.cli.main import run as run_command

NOW = "2026-03-20T10:00:00+00:00"
LATER = "2026-03-31T10:00:00+00:00"

_DAYS = {
    "2026-03-05": ["We moved from MySQL to PostgreSQL for every service", "Restarted the staging server today"],
    "2026-03-09": [
        "[PREF] Always use pnpm in every repository, never npm",
        "以后报告一律用 Typst 排版，不再使用 LaTeX",
    ],
    "2026-03-12": ["Never deploy on Fridays: the last time the shop broke, and nobody was there", "Fixed issue #41"],
    "2026-03-18": ["[PREF] I prefer Vitest over Jest for the tests", "Maria owns the billing service"],
}
_MEMORY = """# Long-Term Memory

## User Preferences
- Reports are written in LaTeX
- Answer in short sentences

## Key Decisions
- The shop runs on MySQL
"""


@dataclass(frozen=True)
class Scenario:
    """A command, and the commands that come before it in peace. `{question}` and `{operation}` stand for what these left."""

    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    stdin: str = ""
    now: str = NOW
    bare: bool = False  # begins without a workspace
    name: str = ""

    @property
    def title(self) -> str:
        words = [word for word in self.command if not word.startswith("/")]
        return self.name or " ".join(words[: 3 if words[1:2] and words[1].startswith("-") else 2])


CHECKPOINT = ("checkpoint", "aaaa0001")
TIDY = ("--now", "2026-03-20T03:00:00+00:00", "tidy")
RECALLED = (("--now", "2026-03-20T09:40:00+00:00", *CHECKPOINT), *(
    ("--now", f"2026-03-20T09:{minute}:00+00:00", "recall", "database of the shop") for minute in (45, 50, 55)
))  # fmt: skip

SCENARIOS = (
    Scenario(("init",), bare=True),
    Scenario(("remember", "Use uv rather than pip", "--type", "PREF"), name="remember"),
    Scenario(("wal", "task", "Move the shop to PostgreSQL")),
    Scenario(("wal", "decide", "chose PostgreSQL over MySQL"), (("wal", "decide", "first"),)),
    Scenario(
        ("wal", "decide", "chose PostgreSQL over MySQL"),
        tuple(("wal", "decide", f"decision number {number}") for number in range(20)),
        name="wal decide, full",
    ),
    Scenario(("wal", "pending", "write the migration")),
    Scenario(("wal", "context", "deadline", "2026-03-31")),
    Scenario(("wal", "blocker", "no access to staging")),
    Scenario(("wal", "done", "write the migration"), (("wal", "pending", "write the migration"),)),
    Scenario(("wal", "snapshot"), (("wal", "task", "Move the shop"),)),
    Scenario(("wal", "restore"), (("wal", "task", "Move"), ("wal", "snapshot"), ("wal", "task", "Other"))),
    Scenario(("sync", "--since", "all"), name="sync"),
    Scenario(("tidy",)),
    Scenario(
        ("decay",),
        tuple(("config", "set", "--user", *pair) for pair in (("tidy.retention", "decay"), ("decay.keep_days", "3"))),
    ),
    Scenario(("checkpoint", "aaaa0001")),
    Scenario(("checkpoint", "-"), stdin="# Notes\n\nThe cache was cleared and the shop is fast again.\n"),
    Scenario(("organise",), RECALLED, now=LATER),
    Scenario(("promote", "--apply"), RECALLED),
    Scenario(("refresh", "--apply"), RECALLED, name="refresh"),
    Scenario(("forget", "Answer in short sentences"), name="forget"),
    Scenario(("forget", "Maria owns the billing service", "--purge"), (TIDY,), name="forget --purge"),
    Scenario(("pin", "MEMORY.md:5"), name="pin"),
    Scenario(("review", "--accept", "{question}"), (TIDY,), name="review --accept"),
    Scenario(("review", "--refuse", "{question}"), (TIDY,), name="review --refuse"),
    Scenario(("review", "--edit", "{question}", "Reports are written in Typst"), (TIDY,), name="review --edit"),
    Scenario(("undo", "--only", "{operation}"), (TIDY,), name="undo"),
    Scenario(("cache", "set", "branch", "feature/login")),
    Scenario(("import", "{home}/notes"), name="import notes"),
    Scenario(("import", "{home}/memory_fs"), name="import checkpoints"),
    Scenario(("trust", "{home}/elsewhere"), name="trust"),
    Scenario(("config", "set", "memory.max_lines", "70")),
    Scenario(("config", "set", "--user", "timezone", "UTC"), name="config set --user"),
    Scenario(("flush", "--tokens", "190000", "--window", "200000"), name="flush"),
    Scenario(("flush", "--answer", "- [LESSON] Clear the cache after each release"), name="flush --answer"),
    Scenario(("classify", "--apply"), (("remember", "Use uv rather than pip"),)),
    Scenario(("pause", "2h")),
    Scenario(("index",)),
    Scenario(("context",)),
    Scenario(("connect", "claude-code", "--yes"), name="connect"),
)


def make_home(home: Path, *, bare: bool = False) -> None:
    """A home with two conversations, notes to import and, unless it is to be bare, a workspace with a few days in it."""
    _talks(home)
    notes, layers = home / "notes", home / "memory_fs" / "warm"
    for folder in (notes, layers, home / "elsewhere" / ".nacre"):
        folder.mkdir(parents=True)
    (notes / "travel.md").write_text("# Travel\n\n- The train to Basel leaves at 7:04\n- Window seats, always\n")
    (notes / "food.md").write_text("# Food\n\nNo peanuts: allergy.\n")
    (layers / "old.md").write_text("# An older talk\n\nuser: The queue is RabbitMQ.\nassistant: Noted.\n")
    if bare:
        return
    memory = home / ".nacre" / "workspace" / "memory"
    memory.mkdir(parents=True)
    (memory.parent / ".nacre").mkdir(mode=0o700)
    (memory.parent / "MEMORY.md").write_text(_MEMORY)
    for number, (day, lines) in enumerate(_DAYS.items()):
        bullets = "".join(f"- {line}\n" for line in lines)
        (memory / f"{day}.md").write_text(f"## 09:30 session:{number:08x} | 4 messages\n{bullets}")


def _talks(home: Path) -> None:
    for session, day in (("aaaa0001-1", "2026-03-19"), ("bbbb0002-2", "2026-03-20")):
        talk = ClaudeTalk(home, session)
        talk.say("We decided to keep the database of the shop on PostgreSQL 17.", "08:00:00", day)
        talk.answer("Understood: the shop stays on PostgreSQL 17.", "08:00:30", day)
        talk.say("Remember that the staging server is rebuilt every Monday.", "08:01:00", day)
        talk.answer("I will keep that in mind.", "08:01:30", day)
        talk.say("Always run the migrations before the tests, otherwise they fail.", "08:02:00", day)
        talk.answer("Migrations first, then the tests.", "08:02:30", day)


@contextmanager
def environment(home: Path) -> Iterator[None]:
    """The variables of a user who lives in the home, and of nobody else."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith(("NACRE_", "OPENCLAW_", "XDG_", "CLAUDE_"))]:
        del os.environ[name]
    os.environ |= {"HOME": str(home), "NACRE_LANGUAGE": "en", "NACRE_EMBED_PROVIDER": "none", "TZ": "UTC"}
    os.environ |= {"TMPDIR": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "OMP_NUM_THREADS": "1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def nacre(arguments: tuple[str, ...], now: str = NOW, stdin: str = "") -> int:
    """Run a command in this process."""
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))):
        return run_command([*([] if "--now" in arguments else ["--now", now]), *arguments])


def prepared(scenario: Scenario, home: Path, run: Callable[[tuple[str, ...]], str]) -> tuple[str, ...]:
    """Make the home and run what comes before the command; the command as it is to be run."""
    make_home(home, bare=scenario.bare)
    for command in (() if scenario.bare else (("init",),)) + scenario.before:
        run(command)
    filled = {"{home}": str(home)}
    if "{question}" in scenario.command:
        filled["{question}"] = json.loads(run(("review", "--json")))[0]["id"]
    if "{operation}" in scenario.command:
        filled["{operation}"] = str(json.loads(run(("history", "--json")))[0]["id"])
    return tuple(_filled(word, filled) for word in scenario.command)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word
