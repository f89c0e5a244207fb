"""The root of the command line: finds a command's file by its name and turns errors into sentences and exit codes."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from itertools import islice

import click

from nacre import __version__
from nacre.cli import ui
from nacre.errors import NO_SPACE, BadInput, NacreError, cannot_write
from nacre.i18n import say

# Name → module, and one line for --help in English and in Chinese: the modules are imported only when their command runs.
with open(os.path.join(os.path.dirname(__file__), "commands.tsv"), encoding="utf-8") as _table:
    COMMANDS = {name: about for name, *about in (line.rstrip("\n").split("\t") for line in _table)}
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
    **dict.fromkeys(("find", "grep", "ask"), "search"),
    **dict.fromkeys(("add", "save", "note"), "remember"),
    **dict.fromkeys(("delete", "remove", "rm"), "forget"),
    **dict.fromkeys(("setup", "start"), "up"),
    **dict.fromkeys(("log", "list"), "history"),
    "check": "doctor",
    "settings": "config",
    "questions": "review",
    "show": "get",
}


class LazyGroup(ui.Page, click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"nacre.cli.{COMMANDS[cmd_name][0]}")
        # One whose name Python has taken has an underscore behind it.
        command: click.Command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            ui.use_user_language()
            near = [ELSEWHERE[name]] if name in ELSEWHERE else get_close_matches(name, [*COMMANDS], n=2)
            unknown = say(f"No such command '{name}'.", f"没有命令“{name}”。")
            raise click.UsageError(unknown + ui.did_you_mean(near), ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl([(name, say(*about[1:])) for name, about in islice(COMMANDS.items(), FRONT)])
            formatter.write_paragraph()
            formatter.write_dl([(say(english, chinese), others) for english, chinese, others in GROUPS])
        formatter.write_paragraph()
        options = [option for option in self.params if isinstance(option, click.Option)]
        everywhere = "  ".join(f"{option.opts[0]} {option.metavar or ''}".rstrip() for option in options)
        formatter.write_text(say("Options: ", "选项：") + everywhere)
        example = (self.epilog or "").removeprefix(ui.EXAMPLE)
        more = say(f"Example: {example}   More: ", f"示例：{example}   更多：")
        formatter.write(f"{more}nacre help [COMMAND|--all]\n")

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
        ui.use_user_language()
        formatter = root.make_formatter()
        for english, chinese, commands in (("common", "常用", " ".join(list(COMMANDS)[:FRONT])), *GROUPS):
            with formatter.section(say(english.capitalize(), chinese)):
                formatter.write_dl([(f"{name:<10}", say(*COMMANDS[name][1:])) for name in commands.split()])
        click.echo(formatter.getvalue().strip("\n"))
        return
    command, context = root.command, root
    for name in names:
        if not isinstance(command, click.Group):
            raise click.UsageError(
                say(f"{context.command_path} has no subcommands.", f"{context.command_path} 没有子命令。"), context
            )
        _, subcommand, _ = command.resolve_command(context, [name])
        assert subcommand is not None  # else that was an error
        command, context = subcommand, subcommand.make_context(name, [], parent=context, resilient_parsing=True)
    click.echo(command.get_help(context))


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
        return error.exit_code
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
    click.echo(ui.seen(f"nacre: {sentence}", sys.stderr), err=True)
    return code
