"""The two example weeks: sessions of an invented user in a folder of their own, lived through day by day; and what there is to see then."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from nacre.clock import Clock, zone
from nacre.config.settings import Config, EmbedSettings, SourceSettings, SourcesSettings
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.workspace import Context, Workspace

LANGUAGES = ("en", "zh")
FIRST_DAY = dt.date(2026, 3, 2)
DAYS = 14
NOW = "2026-03-16T09:00"  # the morning after: whoever looks, whenever they do, sees the same
_ZONES = {"en": "UTC", "zh": "Asia/Shanghai"}


@dataclass(frozen=True)
class Stage:
    """A folder with the sessions of an invented user's agents and a workspace of its own."""

    folder: Path
    config: Config
    sessions: int

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "workspace")

    def at(self, moment: str) -> Context:
        return Context(self.workspace, self.config, Clock(zone(self.config.timezone)).at(moment))


def prepare(folder: Path, language: str) -> Stage:
    """Put the sessions and an empty workspace into a folder. Of the user's own settings nothing holds here."""
    from nacre.vault import create

    sessions = files("nacre.demo") / "sessions" / language
    count = 0
    for project in (sessions / "claude-code").iterdir():
        for session in project.iterdir():
            _put(session, folder / ".claude" / "projects" / project.name / session.name)
            count += 1
    for session in (sessions / "openclaw").iterdir():
        _put(session, folder / ".openclaw" / "agents" / "main" / "sessions" / session.name)
        count += session.name.endswith(".jsonl")
    stage = Stage(folder, _config(folder, language), count)
    # Trusted within its own folder only: what the user trusts is not added to.
    clock = stage.at(f"{FIRST_DAY}T08:00").clock
    create.init(stage.workspace.root, clock, language=language, config=stage.config, trust_folder=folder / "trust")
    return stage


def _put(session: Traversable, place: Path) -> None:
    """A copy that is as old as its last message: an agent's file is changed when something is said."""
    data = session.read_bytes()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    if place.suffix == ".jsonl":
        last = json.loads(data.splitlines()[-1])["timestamp"]
        at = dt.datetime.fromisoformat(last).timestamp()
        os.utime(place, (at, at))


def _config(folder: Path, language: str) -> Config:
    off = SourceSettings(enabled=False)
    read = SourcesSettings(
        openclaw=SourceSettings(path=str(folder / ".openclaw")),
        claude_code=SourceSettings(path=str(folder / ".claude")),
        codex=off,
        cursor=off,
        gemini=off,
        opencode=off,
    )
    # Local even where the user has a key for another: trying something out sends nothing anywhere.
    return Config(timezone=_ZONES[language], language=language, sources=read, embed=EmbedSettings(provider="local"))


# Two weeks in a few seconds: each evening what was said is captured, each night memory is tidied and its layers sink.

Progress = Callable[[int, int], None]


def live_through(stage: Stage, progress: Progress | None = None) -> Memory:
    """The memory on the morning after. It is one memory all the time, so that the models are loaded once."""
    memory = Memory(stage.at(NOW))
    for number in range(DAYS):
        day = FIRST_DAY + dt.timedelta(days=number)
        memory.opened = stage.at(f"{day}T22:00")
        memory.sync()
        memory.opened = stage.at(f"{day + dt.timedelta(days=1)}T03:00")
        memory.tidy()
        memory.organise()
        if progress:
            progress(number + 1, DAYS)
    memory.opened = stage.at(NOW)
    return memory


QUESTIONS = {
    "en": ("who checks the invoices?", "陈伟怎么收款？"),
    "zh": ("发票找谁核对？", "how should I write to Lucas?"),
}
_DAY = "memory/2026-03-12.md"


def tell_story(stage: Stage, memory: Memory) -> list[tuple[str, list[str]]]:
    """What the two weeks left: the log of a day, long-term memory, and what two questions find."""
    log = [line for line in (stage.workspace.root / _DAY).read_text("utf-8").splitlines() if line.strip()]
    return [
        (say(f"What one day left in its log ({_DAY})", f"某一天的日志（{_DAY}）"), log[1:]),
        (say("What lasts: MEMORY.md, at most 80 lines", "长期保留：MEMORY.md，最多 80 行"), memory.entries()),
        (say("Asking", "提问"), [_answer(memory, question) for question in QUESTIONS[stage.config.language]]),
    ]


def _answer(memory: Memory, question: str) -> str:
    for hit in memory.search(question, 1):
        line = hit.snippet.strip().splitlines()[0].removeprefix("- ")
        return f"{question} → {line}  ({hit.layer}, {hit.score:.2f})"
    return say(f"{question} → nothing", f"{question} → 无结果")
