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

# Name → (module, one line for --help): the modules are imported only when their command runs.
COMMANDS = {
    "up": ("up", "Set everything up and show what to try: the one command for a new user."),
    "init": ("workspace", "Make a workspace: folders, MEMORY.md, rules for agents."),
    "connect": ("connect", "Let agents use this memory by themselves, or take that back."),
    "search": ("search", "Find memories by words and meaning."),
    "get": ("search", "Read lines of a memory file."),
    "recall": ("layers", "Look through checkpoints by layer, and bring back what answers."),
    "context": ("session", "Print what a new session should know."),
    "remember": ("entries", "Write one thing down in today's log."),
    "forget": ("entries", "Take a fact out of memory."),
    "pin": ("entries", "Keep an entry of MEMORY.md whatever happens."),
    "why": ("entries", "Show where a memory comes from."),
    "review": ("tidy", "Answer what tidying left to you."),
    "tidy": ("tidy", "Press old days into weeks, and distil what lasts."),
    "decay": ("tidy", "Promote what lasts in the oldest logs, and archive them."),
    "sync": ("capture", "Read what was said since the last time into the daily logs."),
    "checkpoint": ("layers", "Write a whole conversation to the hot layer."),
    "organise": ("layers", "Let checkpoints sink by age, and rise when they were recalled."),
    "flush": ("session", "Give an agent its turn to write down what lasts before compaction."),
    "promote": ("layers", "Nominate checkpoints that were recalled often for lasting memory."),
    "refresh": ("layers", "Put the session away, organise, promote, and print a fresh context."),
    "import": ("capture", "Take in existing memories and chat exports."),
    "wal": ("session", "Keep what is going on now, on disk before the answer is given."),
    "cache": ("session", "Keep values for one session."),
    "classify": ("entries", "Say what kind of memory the lines of a log are."),
    "extract": ("entries", "Say what of a text is worth remembering."),
    "jobs": ("jobs", "List and run what keeps memory alive by itself."),
    "pause": ("workspace", "Capture nothing, for a while or until resume."),
    "resume": ("workspace", "Capture again."),
    "serve": ("serve", "Stay in memory, answer at once, watch the files, run the jobs."),
    "mcp": ("serve", "Serve memory to an MCP client over stdin and stdout."),
    "hook": ("session", "Answer a hook of an agent."),
    "status": ("status", "Show the workspace, its sizes, the index and the models."),
    "index": ("search", "Bring text and vectors up to date, and wait."),
    "update": ("search", "Bring the text of the index up to date."),
    "embed": ("search", "Make the vectors that are missing."),
    "query": ("search", "Find memories by words and meaning (as search; qmd's verb)."),
    "vsearch": ("search", "Find memories by meaning alone (qmd's verb)."),
    "brain": ("brain", "Show and choose who writes your memory: this machine or a model of yours."),
    "eval": ("evaluate", "Measure what a brain makes of sessions whose right answers are known."),
    "history": ("entries", "List what Nacre changed."),
    "diff": ("entries", "Show one change of the history."),
    "undo": ("entries", "Take an operation back."),
    "config": ("workspace", "List, read or set settings."),
    "models": ("workspace", "List, install or verify the embedding models."),
    "health": ("status", "Show how well memory is kept, and what mends it."),
    "doctor": ("status", "Look for trouble and say how to mend it."),
    "uninstall": ("connect", "Take back everything that was written outside of memory."),
    "destroy": ("connect", "Remove a workspace's memory for good."),
    "trust": ("workspace", "Trust a workspace that was found by walking up."),
}


class LazyGroup(click.Group):
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

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    params=ui.global_options(),
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "NACRE", "max_content_width": 100},
    epilog='Example:  nacre search "which package manager do we use"',
)
@click.version_option(__version__, prog_name="nacre")
@click.pass_context
def cli(ctx: click.Context, /, **params: str | None) -> None:
    """Memory for AI agents, laid down in layers: plain Markdown, searched in milliseconds, on this machine alone."""
    ctx.obj = ui.updated(ui.Options(), params)


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
        error.show()
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
