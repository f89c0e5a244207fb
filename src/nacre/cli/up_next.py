"""What to try next: with words from the user's own memory, tried out before they are recommended."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from nacre.cli.base import shown_path
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.words import say

_DAYS = 7  # logs that are looked through
_TRIED = 12  # lines for which a search is tried
_WORDS = 3


def program() -> str:
    """How to call us from here: by name where the shell finds it, else by path."""
    if shutil.which("nacre"):
        return "nacre"
    beside = Path(sys.executable).parent / "nacre"
    near = os.path.relpath(beside)
    return shlex.quote(near if len(near) < len(str(beside)) else str(beside))


def searchable(memory: Memory) -> str | None:
    """Words of a search that finds a line of this memory; none while there is nothing to find."""
    from nacre.text.keywords import key_words

    for _, line in zip(range(_TRIED), _facts(memory), strict=False):
        words = [word for word in key_words(line, _WORDS) if '"' not in word and "`" not in word and "$" not in word]
        if not words:
            continue
        query = " ".join(words)
        try:
            hits = memory.search(query, 3, mode="text")
        except NacreError:
            return None
        if any(line in hit.snippet for hit in hits):
            return query
    return None


def _facts(memory: Memory) -> Iterator[str]:
    """Lines worth asking for: what lasts first, then the newest days, what has a type before what has none."""
    from nacre.vault import longterm

    known = longterm.read(memory.workspace.longterm)
    yield from (entry.words for entry in (known.entries if known else ()))
    try:
        logs = sorted(memory.workspace.memory.glob("????-??-??.md"), reverse=True)[:_DAYS]
        lines = [line for log in logs for line in log.read_text("utf-8", errors="replace").splitlines()]
    except OSError:
        return
    bullets = [line.removeprefix("- ").strip() for line in lines if line.startswith("- ")]
    typed = [line.partition("] ")[2] for line in bullets if line.startswith("[")]
    yield from (*typed, *(line for line in bullets if not line.startswith("[")))


def hints(memory: Memory, *, agents: bool) -> None:
    """The last words of nacre up."""
    nacre, root = program(), shown_path(memory.workspace.root)
    query = searchable(memory)
    click.echo(say("\nReady. Try:", "\n已就绪。可以试试："))
    if query:
        click.echo(f'  {nacre} search "{query}"')
    else:
        click.echo(
            say(
                f'  {nacre} remember "Reports are written in Typst, never in LaTeX" --type PREF\n  {nacre} search "which tool for writing reports"',
                f'  {nacre} remember "所有报告都用 Typst 写，不用 LaTeX" --type PREF\n  {nacre} search "写报告用什么工具"',
            )
        )
    click.echo(f"  {nacre} context\n  {nacre} status")
    if not agents:
        click.echo(
            say(
                f"  {nacre} up --demo        what it does with two weeks of invented talks",
                f"  {nacre} up --demo        用两周的虚构对话演示效果",
            )
        )
    click.echo(
        say(
            f"\nYour memory is plain Markdown in {root}; edit it with anything, the next search sees it.",
            f"\n您的记忆就是 {root} 里的 Markdown 文件；用任何工具编辑，下一次搜索即可看到。",
        )
    )
