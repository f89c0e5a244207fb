"""A scenario replayed day by day with a brain: tidy at 3, sync at 10, 14, 18 and 22 o'clock; and what the brain cost.

In one process, so that the local models are loaded once. The user's home stays what it is: a model's program finds its login there.
"""

from __future__ import annotations

import datetime as dt
import json
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


def brain_settings(settings: BrainSettings, name: str) -> BrainSettings:
    """The user's settings, with all work done by the named brain."""
    if name not in BRAINS:
        raise BadInput(
            f'"{name}" is not a brain; use one of {", ".join(BRAINS)}.', f"“{name}”不是 {'、'.join(BRAINS)} 之一。"
        )
    command = replace(settings.command, preset=name, argv=[]) if name in PRESETS else settings.command
    mode = "command" if name in PRESETS else name
    if mode == "command" and not (command.preset or command.argv):
        raise BadInput(
            'No program is configured; choose one, for example "--brain claude-code", or set brain.command.argv.',
            "尚未设置程序；请指定一个，例如“--brain claude-code”，或设置 brain.command.argv。",
        )
    works: dict[str, Any] = dict.fromkeys(CLAIMS, mode)
    return replace(settings, **works, command=command, calls_per_day=10**9, tokens_per_day=10**12)


def config_in(home: Path, timezone: str, brain: BrainSettings | None = None, language: str = "auto") -> Config:
    """Settings of which nothing is the user's own, for the transcripts of OpenClaw and Claude Code in a folder; nothing but the orders of
    a brain is sent anywhere, whatever keys there are."""
    agents = {
        **{field.name: SourceSettings(enabled=False) for field in fields(SourcesSettings)},
        "openclaw": SourceSettings(path=str(home / ".openclaw")),
        "claude_code": SourceSettings(path=str(home / ".claude")),
    }
    return Config(
        timezone=timezone,
        language=language,
        sources=SourcesSettings(**agents),
        embed=EmbedSettings(provider="local"),
        brain=brain or BrainSettings(),
    )


def workspace_in(folder: Path, config: Config, first_day: str | None, language: str) -> Context:
    """An empty workspace in a folder, which is not added to what the user trusts."""
    root, clock = folder / "workspace", Clock(zone(config.timezone)).at(first_day)
    create.init(root, clock, language=language, config=config, trust=False)
    return Context(Workspace(root), config, clock)


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
    return Cost(
        orders=len(records),
        tokens=sum(record.tokens for record in records),
        failed=len(failed),
        why=failed[-1].why if failed else "",
        fallbacks=len(failed) + sum(not record.kept and bool(record.dropped) for record in records),
        kept=sum(record.kept or 0 for record in records),
        dropped=dict(sum((Counter(record.dropped) for record in records), Counter[str]())),
        seconds=round(replayed.seconds, 1),
    )


# The scenario: transcripts, and what is expected of them.


Gold = Mapping[str, Any]
Pair = Mapping[str, str]


@dataclass(frozen=True)
class Scenario:
    path: Path
    gold: Gold | None  # None for pairs alone
    pairs: tuple[Pair, ...]

    @property
    def orders(self) -> int:
        """About how many orders a model will be given: for each session and day, for each day to distil and to digest it, for each pair."""
        index = self.gold["index"].values() if self.gold else ()
        days = [row.get("local_dates", [""]) for row in index if row["capturable"] and not row.get("group")]
        return sum(map(len, days)) + 2 * len({day for dates in days for day in dates}) + len(self.pairs)


def read_scenario(path: Path) -> Scenario:
    if path.suffix == ".jsonl" and path.is_file():
        return Scenario(path, None, _read_pairs(path))
    labels, relations = path / "gold.json", path / "relations.jsonl"
    if not labels.is_file():
        raise BadInput(
            f"{path} contains no gold.json. Pass a folder with transcripts and labels, or a .jsonl file of statement pairs.",
            f"{path} 中没有 gold.json。请指定含会话记录和标注的文件夹，或由语句对组成的 .jsonl 文件。",
        )
    gold = _checked(labels, _parsed(labels, labels.read_bytes()), _GOLD)
    lists: Gold = {name: [] for name, about in _GOLD["properties"].items() if about["type"] == "array"}
    return Scenario(path, {**lists, **gold}, _read_pairs(relations) if relations.is_file() else ())


def _read_pairs(path: Path) -> tuple[Pair, ...]:
    pairs = [_parsed(path, line) for line in path.read_bytes().splitlines() if line.strip()]
    return tuple(_checked(path, pairs, _PAIRS))


def _parsed(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON: {error}.", f"{path} 不是有效的 JSON：{error}。") from error


def _checked(path: Path, value: Any, schema: Mapping[str, Any]) -> Any:
    """The value when it has the form of the schema; else an error that names the place."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value))
    if error is None:
        return value
    place = "/" + "/".join(map(str, error.absolute_path))
    raise BadInput(
        f"{path} is not a valid scenario: {place}: {error.message}.",
        f"{path} 的 {place} 处格式不正确：{error.message}。",
    )


# The form.

_TEXT, _DAY = {"type": "string"}, {"type": "string", "format": "date"}
_PATTERNS = {"type": "array", "items": {"type": "string", "format": "regex"}, "minItems": 1}
_YES_OR_NO = {"type": "boolean"}


def _rows(texts: str = "", patterns: str = "", **more: Any) -> dict[str, Any]:
    """Rows that have texts, lists of patterns, and more."""
    named = dict.fromkeys(texts.split(), _TEXT) | dict.fromkeys(patterns.split(), _PATTERNS) | more
    return {"type": "array", "items": {"type": "object", "properties": named, "required": [*named]}}


_PAIRS = _rows("old new", label={"enum": ["same", "replaces", "adds", "exception", "ask"]})
_SESSION = {"type": "object", "properties": {"capturable": _YES_OR_NO}, "required": ["capturable"]}
_QUERIES = _rows("id q kind")
_QUERIES["items"] |= {"if": {"not": {"properties": {"kind": {"const": "abstain"}}}}, "then": {"properties": {"answer_match": _PATTERNS}, "required": ["answer_match"]}}  # fmt: skip
_GOLD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "timezone": _TEXT,
        "first_day": _DAY,
        "last_day": _DAY,
        "index": {"type": "object", "additionalProperties": _SESSION},
        "durable": _rows("id", "must_match"),
        "superseded": _rows("id", "new_match old_match"),
        "repeated": _rows("id", "match"),
        "transient": _rows("id", "match"),
        "neutral": _rows("", "match"),
        "secrets": _rows("id string"),
        "bullets": _rows("session", points=_rows("id", "must_match")),
        "weekly": _rows("id text category"),
        "types": _rows("id text type"),
        "admission": _rows("id text", admit=_YES_OR_NO, fails={"type": "array", "items": {"enum": [*"abcd"]}}),
        "queries": _QUERIES,
    },
    "required": ["timezone", "first_day", "last_day", "index"],
}
