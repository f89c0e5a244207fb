"""The root of the command line: finds a command's file by its name and turns errors into sentences and exit codes."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click

from nacre import __version__
from nacre.cli import ui
from nacre.errors import NO_SPACE, BadInput, NacreError, cannot_write
from nacre.i18n import say

# Name → (module, one line for --help in English and in Chinese): the modules are imported only when their command runs.
COMMANDS = {
    "up": ("up", "Set everything up: start here", "一次完成所有设置：从这里开始"),
    "connect": ("connect", "Connect your agents to this memory", "让你的智能体使用这份记忆"),
    "search": ("search", "Search memory by keyword and meaning", "按关键词和含义搜索记忆"),
    "remember": ("entries", "Save a note", "记下一件事"),
    "forget": ("entries", "Remove something from memory", "从记忆中删除一条内容"),
    "review": ("tidy", "Answer the questions Nacre has for you", "确认 Nacre 拿不准的内容"),
    "why": ("entries", "Show where a memory comes from", "查看一条记忆的来源"),
    "undo": ("entries", "Undo the last change", "撤销最近一次改动"),
    "status": ("status", "Show the state of memory and what needs attention", "查看记忆的状况和需要你处理的事"),
    "tidy": (
        "tidy",
        "Distil lasting facts into MEMORY.md and condense old logs",
        "把长期有用的内容提炼到 MEMORY.md，压缩旧日志",
    ),
    "get": ("search", "Read lines from a memory file", "读取记忆文件中的若干行"),
    "about": ("search", "Show what memory knows about a person, project or tool", "查看关于某人、某项目或某工具的记忆"),
    "pin": ("entries", "Keep an entry in MEMORY.md permanently", "永久保留 MEMORY.md 中的一个条目"),
    "history": ("entries", "List the changes Nacre made", "列出 Nacre 做过的改动"),
    "diff": ("entries", "Show one change from the history", "查看历史中的一项改动"),
    "health": ("status", "Grade memory from A to F and show how to improve it", "给记忆评级（A 到 F），并说明如何改善"),
    "import": ("capture", "Import existing memories and chat exports", "导入已有的记忆和聊天导出"),
    "decay": (
        "tidy",
        "Promote lasting facts from the oldest logs, then archive those logs",
        "把最旧日志中长期有用的内容移入长期记忆，然后归档",
    ),
    "sync": ("capture", "Capture new sessions in the daily logs", "采集新会话，写入每日日志"),
    "context": ("session", "Print the context for a new session", "显示新会话的上下文"),
    "recall": ("layers", "Search saved sessions, newest layer first", "搜索保存的会话，从最新的一层开始"),
    "checkpoint": ("layers", "Save a whole session", "保存一个完整的会话"),
    "organise": ("layers", "Move saved sessions between layers by age", "按新旧把保存的会话移到相应的层"),
    "promote": ("layers", "Find frequently recalled sessions worth keeping", "找出经常召回、值得保留的会话"),
    "refresh": ("layers", "Save the session and print a fresh context", "保存当前会话，并显示新的上下文"),
    "pause": ("workspace", "Pause capture, for a while or until resumed", "暂停采集一段时间，或直到手动恢复"),
    "resume": ("workspace", "Resume capture", "恢复采集"),
    "wal": ("session", "Save the current task and decisions, crash-safe", "保存当前任务和决定，崩溃也不丢失"),
    "cache": ("session", "Store values for one session", "为单个会话缓存数据"),
    "flush": (
        "session",
        "Let an agent save what matters before compaction",
        "让智能体在压缩之前保存重要内容",
    ),
    "jobs": ("jobs", "List and run scheduled jobs", "列出和运行定时任务"),
    "serve": ("serve", "Run the daemon for fast answers and scheduled jobs", "运行守护进程，加快搜索并定时运行任务"),
    "index": ("search", "Update the search index", "更新搜索索引"),
    "doctor": ("status", "Find and fix problems with the setup", "查找并修复安装和设置中的问题"),
    "config": ("workspace", "List, read or change settings", "列出、读取或更改设置"),
    "models": ("workspace", "List, install or verify the embedding models", "列出、安装或校验嵌入模型"),
    "brain": ("brain", "Choose what writes your memory: this machine or a model", "选择由谁撰写记忆：本机或模型"),
    "init": ("workspace", "Create a workspace", "新建工作区"),
    "trust": ("workspace", "Trust a workspace in a folder you cloned", "信任克隆来的文件夹中的工作区"),
    "uninstall": ("connect", "Remove what Nacre set up outside of memory", "移除 Nacre 在记忆之外所做的设置"),
    "destroy": ("connect", "Permanently delete the memory of a workspace", "永久删除一个工作区的记忆"),
    "open": ("serve", "View this memory in the browser", "在浏览器中查看这份记忆"),
    "mcp": ("serve", "Serve memory to an MCP client", "向 MCP 客户端提供记忆"),
    "hook": ("session", "Handle an agent hook", "处理智能体的钩子"),
    "classify": ("entries", "Classify a text by memory type", "判断一段文字属于哪一类记忆"),
    "extract": ("entries", "Extract what is worth remembering from a text", "找出文字中值得记住的内容"),
    "query": ("search", "Same as search, for prompts written for qmd", "与 search 相同，兼容为 qmd 编写的提示词"),
    "vsearch": (
        "search",
        "Search by meaning only, for prompts written for qmd",
        "只按含义搜索，兼容为 qmd 编写的提示词",
    ),
    "update": ("search", "Update only the text of the index", "只更新索引中的文本"),
    "embed": ("search", "Generate missing vectors", "生成缺少的向量"),
    "eval": ("evaluate", "Measure how well a model writes memory", "评测模型撰写记忆的质量"),
    "help": ("main", "Show help for a command", "显示某个命令的说明"),
}
FRONT = 10  # commands that --help explains; the others it only names, by group
GROUPS = (
    ("memory", "记忆", "about get pin history diff health import decay"),
    ("sessions and layers", "会话与分层", "sync context recall checkpoint organise promote refresh"),
    ("working memory", "工作记忆", "wal cache flush"),
    ("jobs and daemon", "任务与守护进程", "open jobs serve pause resume index update embed doctor"),
    ("setup", "设置", "config models brain init trust uninstall destroy help"),
    ("agents and scripts", "智能体与脚本", "mcp hook classify extract query vsearch eval"),
)
# What people type who know the verb of another program.
ELSEWHERE = {
    "find": "search",
    "grep": "search",
    "ask": "search",
    "add": "remember",
    "save": "remember",
    "note": "remember",
}
ELSEWHERE |= {"delete": "forget", "remove": "forget", "rm": "forget", "setup": "up", "start": "up", "log": "history"}
ELSEWHERE |= {"list": "history", "check": "doctor", "settings": "config", "questions": "review", "show": "get"}


class LazyGroup(ui.Page, click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = COMMANDS.get(cmd_name)
        if found is None:
            return None
        module = importlib.import_module(f"nacre.cli.{found[0]}")
        # One whose name Python has taken has an underscore behind it.
        command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ui.use_user_language()
            near = [ELSEWHERE[name]] if name in ELSEWHERE else ui.close_to(name, COMMANDS)
            unknown = say(f"No such command '{name}'.", f"没有命令“{name}”。")
            raise click.UsageError(unknown + ui.did_you_mean(near), ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        names = list(COMMANDS)[:FRONT]
        with formatter.indentation():
            formatter.write_dl([(name, say(*COMMANDS[name][1:])) for name in names])
            formatter.write_paragraph()
            formatter.write_dl([(say(english, chinese), others) for english, chinese, others in GROUPS])
        formatter.write_paragraph()
        options = [option for option in self.params if isinstance(option, click.Option)]
        everywhere = "  ".join(f"{option.opts[0]} {option.metavar or ''}".rstrip() for option in options)
        formatter.write_text(say("Options: ", "选项：") + everywhere)
        example = (self.epilog or "").removeprefix(ui.EXAMPLE)
        line = say(f"Example: {example}   More: ", f"示例：{example}   更多：")
        formatter.write(f"{line}nacre help [COMMAND|--all]\n")

    def format_epilog(self, _ctx: click.Context, _formatter: click.HelpFormatter) -> None:
        """The example stands on the line above, so that all fits one screen."""


@click.group(
    cls=LazyGroup,
    params=ui.global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "NACRE", "max_content_width": 100},
    options_metavar="",
    epilog='Example:  nacre search "who owns billing"',
    subcommand_metavar="COMMAND [OPTIONS]",
)
@click.version_option(__version__, prog_name="nacre")
@click.pass_context
def cli(ctx: click.Context, /, **params: str | None) -> None:
    """Memory for AI agents: plain Markdown, local, searched in milliseconds."""
    ctx.obj = ui.updated(ui.Options(), params)


@ui.command("nacre help search", as_json=False)
@click.argument("names", metavar="COMMAND", nargs=-1)
@ui.flag("--all", "everything", "List every command by group, one line each.")
@click.pass_context
def help_(ctx: click.Context, _options: ui.Options, names: tuple[str, ...], *, everything: bool) -> None:
    """Show help for a command; with --all, list every command."""
    root = ctx.find_root()
    if everything:
        click.echo(_every_command(root))
        return
    command, context = root.command, root
    for name in names:
        if not isinstance(command, click.Group):
            raise click.UsageError(
                say(f"{context.command_path} has no subcommands.", f"{context.command_path} 没有子命令。"), context
            )
        _, found, _ = command.resolve_command(context, [name])
        assert found is not None  # else it was told
        command, context = found, found.make_context(name, [], parent=context, resilient_parsing=True)
    click.echo(command.get_help(context))


def _every_command(root: click.Context) -> str:
    ui.use_user_language()
    formatter = root.make_formatter()
    front = ("common", "常用", " ".join(list(COMMANDS)[:FRONT]))
    for english, chinese, names in (front, *GROUPS):
        with formatter.section(say(english.capitalize(), chinese)):
            formatter.write_dl([(f"{name:<10}", say(*COMMANDS[name][1:])) for name in names.split()])
    return formatter.getvalue().strip("\n")


def run(arguments: list[str]) -> int:
    """Run the command line; the exit code."""
    try:
        "\0".join(arguments).encode()
        result = cli.main(args=arguments, prog_name="nacre", standalone_mode=False)
    except UnicodeEncodeError:  # bytes that are no UTF-8 reach us as lone surrogates
        return _failed(say("An argument is not valid UTF-8 text.", "参数不是有效的 UTF-8 文本。"), BadInput.exit_code)
    except NacreError as error:
        return _failed(str(error), error.exit_code)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        ui.show_error(error)
        return 2 if isinstance(error, click.UsageError) else 1
    except OSError as error:
        if error.errno not in {*NO_SPACE, errno.EIO}:
            raise
        return _failed(str(cannot_write(error.filename or say("the output", "输出"), error)), 1)
    except (KeyboardInterrupt, click.Abort):
        return _failed(say("Interrupted; nothing was lost.", "已中断；没有丢失任何内容。"), 130)
    except SystemExit:
        # click's way of saying that the reader (head, less) has gone; what it wanted it has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return result if isinstance(result, int) else 0


def _failed(sentence: str, code: int) -> int:
    click.echo(f"nacre: {sentence}", err=True)
    return code
