"""The pages of --help and the sentences about wrong usage, in English and in Chinese, as wide as a terminal."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Iterable
from functools import cache

import click

from nacre.i18n import language, say, use_language
from nacre.text.layout import padded, width_of, wrapped

EXAMPLE = "Example:  "


def use_user_language() -> None:
    """The language of the user's settings, for what is said before a workspace is opened."""
    from nacre.config import settings

    if "NACRE_LANGUAGE" not in os.environ and settings.user_config_file().exists():
        chosen = settings.load(None).language
        if chosen != "auto":
            use_language(chosen)


def told(name: str, english: str) -> str:
    """What the help says of a command, or of an option of it ("search --since"), in the user's language."""
    if language() != "zh":
        return english
    option = name.rpartition(" ")[2]
    return chinese().get(name) or (chinese().get(option) if option.startswith("-") else None) or english


@cache
def chinese() -> dict[str, str]:
    """What --help says in Chinese: by "command" or "command subcommand", by "command --option", or by "--option" for one that means the
    same everywhere. In English the code itself says it."""
    with open(os.path.join(os.path.dirname(__file__), "help_zh.tsv"), encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return {name: text.replace("\\n", "\n") for name, text in rows}


class Formatter(click.HelpFormatter):
    """Wraps by columns, not by characters, and between Han characters too."""

    def write_heading(self, heading: str) -> None:
        self.write(f"{heading}{say(':', '：')}\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        paragraphs = [wrapped(part, self.width - self.current_indent) for part in text.split("\n\n")]
        self.write("\n\n".join("\n".join(indent + line for line in lines) for lines in paragraphs) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        first = min(max(width_of(name) for name, _ in rows), col_max) + col_spacing
        for name, about in rows:
            lines = wrapped(about, self.width - first - self.current_indent) or [""]
            if width_of(name) > first - col_spacing:
                self.write(f"{'':{self.current_indent}}{name}\n")
                name = ""  # noqa: PLW2901 - it has its own line
            for line in lines:
                self.write(f"{'':{self.current_indent}}{padded(name, first)}{line}".rstrip() + "\n")
                name = ""  # noqa: PLW2901 - it stands before the first line only


class HelpContext(click.Context):
    formatter_class = Formatter


class Page(click.Command):
    """A command whose help is told in the user's language."""

    context_class = HelpContext

    def get_help(self, ctx: click.Context) -> str:
        use_user_language()
        return super().get_help(ctx)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        pieces = " ".join(self.collect_usage_pieces(ctx))
        formatter.write_usage(ctx.command_path, pieces, prefix=say("Usage: ", "用法："))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(told(name_of(ctx), inspect.cleandoc(self.help or "")))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = (option_record(param, ctx) for param in self.get_params(ctx) if isinstance(param, click.Option))
        if rows := [record for record in records if record]:
            with formatter.section(say("Options", "选项")):
                formatter.write_dl(rows)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write(f"\n  {say(EXAMPLE, '示例：')}{self.epilog.removeprefix(EXAMPLE)}\n")


class GroupPage(Page, click.Group):
    """A group of commands whose help is told in the user's language."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            text = told(f"{name_of(ctx)} {name}", inspect.cleandoc((command and command.help) or ""))
            rows.append((name, first_sentence(text)))
        with formatter.section(say("Commands", "命令")):
            formatter.write_dl(rows)


def name_of(ctx: click.Context) -> str:
    """A command's name without the program's, which is the root's own."""
    return ctx.command_path.partition(" ")[2] or ctx.command_path


def option_record(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    name = max(option.opts, key=len)
    shown = copy.copy(option)
    shown.help = told(f"{name_of(ctx)} {name}", option.help or "")
    return shown.get_help_record(ctx)


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    for mark in (". ", "。", "; ", "；"):
        paragraph = paragraph.split(mark)[0]
    return paragraph.rstrip(".")


def close_to(word: str, words: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, list(words), n=2)


def did_you_mean(words: Iterable[str]) -> str:
    english, chinese = " or ".join(f'"{word}"' for word in words), "或".join(f"“{word}”" for word in words)
    return say(f" Did you mean {english}?", f"你是想用{chinese}吗？") if words else ""


def show_error(error: click.ClickException) -> None:
    """What click says of wrong usage, in the user's language."""
    use_user_language()
    is_help = isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ()))  # of click 8.2 and later
    if language() != "zh" or is_help or not isinstance(error, click.UsageError) or error.ctx is None:
        error.show()
        return
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        message = f"没有选项 {error.option_name}。" + did_you_mean(error.possibilities or ())
    elif isinstance(error, click.MissingParameter):
        message = f"缺少参数 {error.param.get_error_hint(error.ctx) if error.param else error.param_hint}。"
    elif isinstance(error, click.BadParameter) and error.param:
        message = f"{error.param.get_error_hint(error.ctx)} 的值无效：{error.message}"
    path = error.ctx.command_path
    click.echo(f"{error.ctx.get_usage()}\n运行“{path} --help”查看说明。\n\n错误：{message}", err=True)
