"""A scenario replayed day by day with a brain: tidy at 3, sync at 10, 14, 18 and 22 o'clock; and what the brain cost.

In one process, so that the local models are loaded once. The user's home stays what it is: a model's program finds its login there.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from nacre.brain.orders import CLAIMS
from nacre.clock import Clock, zone
from nacre.config.settings import BrainSettings, Config, EmbedSettings, SourceSettings, SourcesSettings, known_settings
from nacre.errors import BadInput
from nacre.evaluate.scenario import Gold, Scenario
from nacre.i18n import language
from nacre.memory import Memory
from nacre.model import Context, Workspace
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
    modes = [mode for work in CLAIMS if (mode := getattr(settings, work)) != "local" and mode in BRAINS]
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
    works: dict[str, Any] = dict.fromkeys(CLAIMS, mode)
    return replace(own, **works, command=command, calls_per_day=10**9, tokens_per_day=10**12)


def config_in(home: Path, timezone: str, brain: BrainSettings | None = None, language: str = "auto") -> Config:
    """Settings of which nothing is the user's own, for the transcripts of OpenClaw and Claude Code in a folder; nothing but the orders of
    a brain is sent anywhere, whatever keys there are."""
    agents = {field.name: SourceSettings(enabled=False) for field in fields(SourcesSettings)}
    agents |= {"openclaw": SourceSettings(path=str(home / ".openclaw"))}
    agents |= {"claude_code": SourceSettings(path=str(home / ".claude"))}
    sources, embed = SourcesSettings(**agents), EmbedSettings(provider="local")
    brain = brain or BrainSettings()
    return Config(timezone=timezone, language=language, sources=sources, embed=embed, brain=brain)


def workspace_in(folder: Path, config: Config, first_day: str | None, language: str) -> Context:
    """An empty workspace in a folder, trusted there only: what the user trusts is not added to."""
    opened = Context(Workspace(folder / "workspace"), config, Clock(zone(config.timezone)).at(first_day))
    root = opened.workspace.root
    create.init(root, opened.clock, language=language, config=config, trust_folder=folder / "trust")
    return opened


# The replay.


@dataclass(frozen=True)
class Replayed:
    """A scenario after its last night: the memory, and what had to be looked at on the way."""

    memory: Memory
    lines: tuple[str, ...] = ()  # of long-term memory, when the last day had been tidied
    questions: tuple[str, ...] = ()  # every one that was put until then
    within_limits: bool = True  # after every night
    seconds: float = 0.0


def replay(scenario: Scenario, folder: Path, brain: BrainSettings, progress: Progress) -> Replayed:
    """Replay a scenario in an empty folder."""
    gold: Gold = scenario.gold or {"timezone": "UTC"}
    for agent in ("openclaw", "claude"):
        if (scenario.path / agent).is_dir():
            shutil.copytree(scenario.path / agent, folder / f".{agent}")
    config = config_in(folder, gold["timezone"], brain)
    replayed = Replayed(Memory(workspace_in(folder, config, gold.get("first_day"), language())))
    return _replay_days(replayed, gold, progress) if scenario.gold else replayed


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
    orders: int
    tokens: int
    failed: int
    why: str  # the last failure
    fallbacks: int  # orders whose part the local brain wrote: they failed, or nothing of the answer passed the gates
    kept: int  # claims
    dropped: Mapping[str, int]  # claims by the reason
    seconds: float  # of the whole replay


def cost_of(replayed: Replayed) -> Cost:
    records = replayed.memory.orders()
    failed = [record for record in records if record.answer is None]
    reasons: Counter[str] = Counter()
    for record in records:
        reasons.update(record.dropped)
    return Cost(
        orders=len(records),
        tokens=sum(record.tokens for record in records),
        failed=len(failed),
        why=failed[-1].why if failed else "",
        fallbacks=len(failed) + sum(not record.kept and bool(record.dropped) for record in records),
        kept=sum(record.kept or 0 for record in records),
        dropped=dict(reasons),
        seconds=round(replayed.seconds, 1),
    )
