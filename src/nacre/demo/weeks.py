"""The two example weeks: sessions of an invented user in a folder of their own, lived through day by day; and what there is to see then."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from nacre.clock import Clock, zone
from nacre.config.settings import Config, EmbedSettings, SourceSettings, SourcesSettings
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model.context import Context, Scope
from nacre.model.workspace import Workspace
from nacre.vault import ledger

LANGUAGES = ("en", "zh")
FIRST_DAY = dt.date(2026, 3, 2)
DAYS = 14
NOW = "2026-03-16T09:00"  # the morning after: whoever looks, whenever they do, sees the same
SECRET = "tulip-Harbour-42"  # noqa: S105 - said in one of the sessions, to be written nowhere
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
        if memory.sync().sections:
            memory.checkpoint()
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
# As its sessions are stamped: what it is called, and the sign of its chat.
GROUPS = {"en": ("rowing-club-b8dcdc", "who brings the oars?"), "zh": ("划船队-f2b47c", "谁带备用桨？")}
UNSAID = {"en": "present for Mara", "zh": "礼物"}
_DAY, _WEEK = "memory/2026-03-12.md", "memory/weekly/2026-03-02.md"


def tell_story(stage: Stage, memory: Memory) -> list[tuple[str, list[str]]]:
    """Two weeks, as somebody sees them who looks into the workspace: titles, each with its lines."""
    root, spoken = stage.workspace.root, stage.config.language
    records = ledger.read_ledger(stage.workspace).records
    refused = {record.failed or "": record.text or "" for record in records if record.verdict == "refused"}
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    logs = [line for path in files if path.suffix == ".md" for line in _lines(path)]
    holding = [path.name for path in files if _holds(path, SECRET, UNSAID[spoken])]
    nowhere = say(
        f"the password, and what was not to be remembered: looked for in all {len(files)} files, in none of them",
        f"密码，以及要求不要记住的内容：已查遍全部 {len(files)} 个文件，均不存在",
    )
    pack, (group, question) = memory.context(), GROUPS[spoken]
    with Memory(replace(memory.opened, scope=Scope(group))) as listener:
        in_group = [_answer(listener, QUESTIONS[spoken][0]), _answer(listener, question)]
    parts = ", ".join(dict.fromkeys(part.path for part in pack.parts))
    return [
        (say(f"What one day left in its log ({_DAY})", f"某一天的日志（{_DAY}）"), _lines(root / _DAY)[1:]),
        (
            say(f"The week that older days were pressed into ({_WEEK})", f"更早的日子压缩成的周报（{_WEEK}）"),
            _beginning([line for line in _lines(root / _WEEK) if line.startswith("[")], 3),
        ),
        (
            say("What lasts: MEMORY.md, at most 80 lines", "长期保留：MEMORY.md，最多 80 行"),
            _beginning(memory.entries(), 5),
        ),
        (say("Why one of them is there", "其中一条为什么在那里"), _reason(memory, records)),
        (say("A fact that changed", "发生变化的事实"), _changed(records)),
        (
            say("What was not admitted, and the tests that it failed", "未被收录的内容，以及未通过的测试"),
            [f"{text}  ({failed})" for failed, text in refused.items() if "[redacted" not in text][:3],
        ),
        (
            say("What was written nowhere", "哪里都没有写入的内容"),
            [next((line for line in logs if "[redacted:" in line), ""), ", ".join(holding) or nowhere],
        ),
        (say("Asking", "提问"), [_answer(memory, question) for question in QUESTIONS[spoken]]),
        (say("The same from within the group chat", "在群聊中提问"), in_group),
        (
            say("What the next session is given", "下一次会话会得到"),
            [say(f"about {pack.tokens} tokens: {parts}", f"约 {pack.tokens} 个 token：{parts}")],
        ),
    ]


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line.strip()]


def _beginning(lines: Sequence[str], count: int) -> list[str]:
    rest = len(lines) - count
    return [*lines[:count], *([say(f"… and {rest} more", f"…… 另有 {rest} 行")] if rest > 0 else [])]


def _holds(path: Path, *words: str) -> bool:
    """Whether the bytes of a file hold any of the words; what history packs is unpacked."""
    data = path.read_bytes()
    with contextlib.suppress(zlib.error):
        data = zlib.decompress(data)
    return any(word.encode() in data for word in words)


def _answer(memory: Memory, question: str) -> str:
    for hit in memory.search(question, 1):
        line = hit.snippet.strip().splitlines()[0].removeprefix("- ")
        return f"{question} → {line}  ({hit.layer}, {hit.score:.2f})"
    return say(f"{question} → nothing", f"{question} → 无结果")


def _reason(memory: Memory, records: Sequence[ledger.Record]) -> list[str]:
    """Why one entry is there that was admitted and still stands: what would go wrong without it, and the words it goes back to."""
    for record in records:
        if record.verdict != "admitted" or not record.without_it or not record.text:
            continue
        chain = memory.why(record.id).chain
        said = [f"“{link.text}”" for link in chain if link.kind == "message"]
        if said and any(link.kind == "longterm" and link.path == "MEMORY.md" for link in chain):
            return [record.text, say(f"without it {record.without_it}", f"没有它，{record.without_it}"), said[0]]
    return []


def _changed(records: Sequence[ledger.Record]) -> list[str]:
    """A fact that was superseded by another."""
    by_id = {record.id: record for record in records if record.text}
    for record in records:
        older = by_id.get(record.supersedes or "")
        if older and record.text:
            old, until, new = older.text, (record.valid_from or record.at)[:10], record.text
            return [say(f"{old}: held until {until}, then: {new}", f"{old}：有效至 {until}，之后：{new}")]
    return []
