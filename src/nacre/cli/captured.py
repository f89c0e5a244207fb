"""What sync and up say before the first capture: which agents, projects and chats there are; and ask what to leave out."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from nacre.cli.base import note
from nacre.memory import Memory
from nacre.words import say

if TYPE_CHECKING:
    from nacre.capture.survey import Found

_NONE = frozenset(("n", "no", "none", "nothing", "-", "无", "不", "没有", "否", "不用", "不排除"))


def ask_consent(memory: Memory, since: str | None, found: Sequence[Found] | None = None) -> list[str]:
    """Before the first run: what there is, and what to leave out, which goes into the user's settings.

    Without a terminal nothing is asked: there the settings and --exclude say it.
    """
    if memory.synced() is not None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return []
    found = memory.survey(since) if found is None else found
    if not any(not row.left_out for row in found):
        return []
    show_found(found)
    from nacre.capture.survey import remember_exclusions

    everything = sorted({row.agent for row in found})
    while True:
        answer = click.prompt(
            say(
                'Leave out any? Names separated by commas or spaces, "all" for everything, or Enter for none',
                "要排除哪些？用逗号或空格分隔名称，“all”表示全部排除，直接回车表示不排除",
            ),
            default="",
            show_default=False,
            err=True,
        )
        known = {name.casefold() for row in found for name in (row.name, row.agent)}
        names = chosen(answer, known)
        names = everything if [name.casefold() for name in names] == ["all"] else names
        strange = [name for name in names if name.casefold() not in known]
        if not strange:
            remember_exclusions(memory.config, found, names)
            return names
        for name in strange:  # a slip must not capture what was to be left out
            note(say(f'Nothing is called "{name}".', f"没有名为“{name}”的项目。"))


def chosen(answer: str, known: Collection[str]) -> list[str]:
    """The names that were typed, separated by commas or by spaces; a name that holds spaces itself is found first. None where no was
    meant."""
    if answer.strip().casefold() in _NONE - set(known):
        return []
    names: list[str] = []
    for part in re.split(r"[,，、;；]", answer):
        words = part.split()
        while words:
            longest = (size for size in range(len(words), 0, -1) if " ".join(words[:size]).casefold() in known)
            size = next(longest, 1)
            names.append(" ".join(words[:size]))
            words = words[size:]
    return names


def show_found(found: Sequence[Found]) -> None:
    """The agents, projects and chats, for people."""
    if not found:
        note(say("No talk of any agent was found in this span.", "在此时间范围内没有找到任何代理的对话。"))
    for row in found:
        left_out = say("  (left out)", "（已排除）") if row.left_out else ""
        note(
            say(
                f"  {row.agent:12} {row.name:28} {row.sessions:5} session{'s' if row.sessions > 1 else ' '}"
                f" {row.messages:6} messages{left_out}",
                f"  {row.agent:12} {row.name:28} {row.sessions:5} 个会话 {row.messages:6} 条消息{left_out}",
            )
        )
