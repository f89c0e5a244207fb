"""A scenario replayed day by day with a brain: tidy at 3, sync at 10, 14, 18 and 22 o'clock; and what the brain cost.

In one process, so that the local models are loaded once. The user's home stays what it is: a model's program finds its login there.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.brain import journal
from nacre.brain.orders import ANSWERS
from nacre.clock import Clock, zone
from nacre.config.settings import BrainSettings, Config, EmbedSettings, SourceSettings, SourcesSettings, known_settings
from nacre.errors import BadInput
from nacre.evaluate.scenario import Gold, Scenario
from nacre.i18n import language
from nacre.memory import Memory
from nacre.model.workspace import Context, Workspace
from nacre.vault import create

PRESETS = known_settings()["brain.command.preset"].choices
BRAINS = ("local", "hybrid", "command", "api", *PRESETS)
LONGTERM = ("MEMORY.md", "projects/*/MEMORY.md")
_AFTER = 16  # nights after the last day, until every day lies in a digest
_SETTLED = 2  # days after the last, when all that was said has been tidied: long-term memory is looked at then
Progress = Callable[[int, int], None]


# The settings: those that everybody starts with, the transcripts of the scenario, and the user's own model without a budget.


def configured(settings: BrainSettings) -> list[str]:
    """This machine, and the model that the user has set."""
    modes = [mode for work in ANSWERS if (mode := getattr(settings, work)) != "local" and mode in BRAINS]
    if modes[:1] == ["command"] and settings.command.preset and not settings.command.argv:
        modes = [settings.command.preset]
    return ["local", *modes[:1]]


def brain_settings(own: BrainSettings, name: str) -> BrainSettings:
    """The user's settings, with all work done by the named brain."""
    if name not in BRAINS:
        raise BadInput(
            f'"{name}" is not a brain; use one of {", ".join(BRAINS)}.', f"“{name}”不是 {'、'.join(BRAINS)} 之一。"
        )
    command = replace(own.command, preset=name, argv=[]) if name in PRESETS else own.command
    mode = "command" if name in PRESETS else name
    if mode == "command" and not (command.preset or command.argv):
        raise BadInput(
            'No program is configured; choose one, for example "--brain claude-code", or set brain.command.argv.',
            "尚未设置程序；请指定一个，例如“--brain claude-code”，或设置 brain.command.argv。",
        )
    works: dict[str, Any] = dict.fromkeys(ANSWERS, mode)
    return replace(own, **works, command=command, calls_per_day=10**9, tokens_per_day=10**12)


def _config(home: Path, timezone: str, brain: BrainSettings) -> Config:
    agents = {field.name: SourceSettings(enabled=False) for field in fields(SourcesSettings)}
    agents |= {"openclaw": SourceSettings(path=str(home / ".openclaw"))}
    agents |= {"claude_code": SourceSettings(path=str(home / ".claude"))}
    embed = EmbedSettings(provider="local")  # whatever keys there are: only the orders are sent away
    return Config(timezone=timezone, sources=SourcesSettings(**agents), embed=embed, brain=brain)


# The replay.


@dataclass(frozen=True)
class Replayed:
    """A scenario after its last night: the memory, and what had to be looked at on the way."""

    memory: Memory
    lines: tuple[str, ...] = ()  # of long-term memory, when the last day had been tidied
    questions: tuple[str, ...] = ()  # every one that was put until then
    within_limits: bool = True  # after every night
    seconds: float = 0.0
    answered: frozenset[tuple[str, str]] = frozenset()  # orders that were answered before it began


def replay(scenario: Scenario, folder: Path, brain: BrainSettings, progress: Progress) -> Replayed:
    """Replay a scenario in a folder. What was answered there in an earlier replay is not paid again."""
    gold: Gold = scenario.gold or {"timezone": "UTC"}
    home, workspace = folder / "home", Workspace(folder / "workspace")
    earlier = _make_room(folder, workspace)
    for agent in ("openclaw", "claude"):
        if (scenario.path / agent).is_dir():
            shutil.copytree(scenario.path / agent, home / f".{agent}")
    config = _config(home, gold["timezone"], brain)
    opened = Context(workspace, config, Clock(zone(config.timezone)).at(gold.get("first_day")))
    create.init(workspace.root, opened.clock, language=language(), config=config, trust_folder=folder / "trust")
    disk.write(journal.orders_file(workspace), _answered(earlier), root=workspace.root)
    memory = Memory(opened)
    replayed = Replayed(memory, answered=frozenset((record.key, record.brain) for record in memory.orders()))
    return _replay_days(replayed, gold, progress) if scenario.gold else replayed


def _make_room(folder: Path, workspace: Workspace) -> Path:
    """Take an earlier replay away, but for its journal of orders: where that lies now, if there was one."""
    earlier = folder / "orders.jsonl"
    if folder.exists() and not (workspace.machine.is_dir() or earlier.exists()):
        raise BadInput(
            f"{folder} already contains other files; choose another folder for --keep.",
            f"{folder} 中已有其他文件；请为 --keep 另选一个文件夹。",
        )
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.replace(journal.orders_file(workspace), earlier)
    for old in (folder / "home", workspace.root):
        shutil.rmtree(old, ignore_errors=True)
    return earlier


def _answered(path: Path) -> bytes:
    """The orders of an earlier run that were answered. Failures, and what the gates made of an answer, are not for this one."""
    rows = []
    for line in (disk.read_bytes(path) or b"").splitlines():
        with contextlib.suppress(ValueError, KeyError, TypeError):  # the end of a file whose writer was killed
            row = json.loads(line)
            rows.append((row["order"], row["state"], line))
    keys = {key for key, state, _ in rows if state == "answered"}
    return b"".join(line + b"\n" for key, state, line in rows if key in keys and state in ("asked", "answered"))


def _replay_days(replayed: Replayed, gold: Gold, progress: Progress) -> Replayed:
    memory, opened, started = replayed.memory, replayed.memory.opened, time.perf_counter()
    first, last = (dt.date.fromisoformat(gold[name]) for name in ("first_day", "last_day"))
    nights = (last - first).days + 1 + _AFTER
    questions: set[str] = set()
    for night in range(nights):
        day = first + dt.timedelta(days=night)
        after = (day - last).days

        def at(hour: int, day: dt.date = day) -> Context:
            return replace(opened, clock=opened.clock.at(dt.datetime.combine(day, dt.time(hour))))

        memory.opened = at(3)
        memory.tidy()
        most, files = memory.config.memory, texts(memory.workspace.root, *LONGTERM)
        if any(len(text.splitlines()) > most.max_lines or len(text.encode()) > most.max_bytes for text in files):
            replayed = replace(replayed, within_limits=False)
        if after <= _SETTLED:
            questions |= {re.sub(r"\s*<!--.*", "", line) for line in _lines(memory, "memory/review.md") if line.startswith("- ")}  # fmt: skip
        if after == _SETTLED:
            lines = [line for line in _lines(memory, *LONGTERM) if line.strip() and not line.startswith(("#", ">"))]
            replayed = replace(replayed, lines=tuple(lines), questions=tuple(sorted(questions)))
        for hour in (10, 14, 18, 22) if after < _SETTLED else ():
            memory.opened = at(hour)
            memory.sync()
        progress(night + 1, nights)
    return replace(replayed, seconds=time.perf_counter() - started)


def texts(root: Path, *patterns: str) -> list[str]:
    """The files of a workspace whose paths have these forms."""
    return [path.read_text("utf-8") for pattern in patterns for path in sorted(root.glob(pattern))]


def _lines(memory: Memory, *patterns: str) -> Iterator[str]:
    return (line for text in texts(memory.workspace.root, *patterns) for line in text.splitlines())


# What it cost, by the journal of orders.


@dataclass(frozen=True)
class Cost:
    orders: int  # that the replay needed
    reused: int  # of these answered in an earlier run
    tokens: int  # of all of them, whenever they were paid
    failed: int
    why: str  # the last failure
    fallbacks: int  # orders whose part the local brain wrote: they failed, or nothing of the answer passed the gates
    kept: int  # claims
    dropped: Mapping[str, int]  # claims by the reason
    seconds: float  # of the whole replay


def cost_of(replayed: Replayed) -> Cost:
    records = [record for record in replayed.memory.orders() if record.reused or (record.key, record.brain) not in replayed.answered]  # fmt: skip
    failed = [record for record in records if record.answer is None]
    reasons: Counter[str] = Counter()
    for record in records:
        reasons.update(record.dropped)
    return Cost(
        orders=len(records),
        reused=sum((record.key, record.brain) in replayed.answered for record in records),
        tokens=sum(record.tokens for record in records),
        failed=len(failed),
        why=failed[-1].why if failed else "",
        fallbacks=len(failed) + sum(not record.kept and bool(record.dropped) for record in records),
        kept=sum(record.kept or 0 for record in records),
        dropped=dict(reasons),
        seconds=round(replayed.seconds, 1),
    )
