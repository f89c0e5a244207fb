"""What every command shares: its help in two languages, the global options before or after the verb, opening memory, printing for people
and programs."""

from __future__ import annotations

import copy
import datetime as dt
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import click
from click.core import ParameterSource

from nacre.clock import Clock
from nacre.errors import BadInput, PartlyDone
from nacre.i18n import language, say, use_language
from nacre.text.layout import age, padded, width_of, wrapped
from nacre.text.tables import rows

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.model import Problem, Report, Step


@dataclass(frozen=True)
class Options:
    """What every command is given: the global options, from the environment or on either side of the verb, and its own flags."""

    workspace: str | None = None
    now: str | None = None
    agent: str | None = None
    scope: str | None = None
    dry_run: bool = False
    as_json: bool = False


EXAMPLE = "Example:  "
SKIP = "ANNOUNCE_SKIP"  # what OpenClaw's scheduler takes for "nothing to say"
NEARLY_FULL = 0.9  # of the limits of a MEMORY.md
FIRST_YEAR, LAST_YEAR = 1900, 9000  # of --now: a century, the longest duration, before and behind it is in the calendar
GLOBAL_NAMES = ("workspace", "now", "agent", "scope")


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    return [
        click.Option([f"--{name}"], metavar=metavar, envvar=f"NACRE_{name.upper()}", help=about, hidden=hidden)
        for name, metavar, about in (
            ("workspace", "PATH", "The workspace to use."),
            ("now", "ISO", "Use this as the current time."),
            ("agent", "ID", "Use the workspace of this agent."),
            ("scope", "SCOPE", "Who sees the output: main (you), or group:NAME."),
        )
    ]


def updated(options: Options, params: Mapping[str, Any]) -> Options:
    if params.get("workspace") == "":
        raise BadInput("--workspace is empty; name a folder or omit it.", "--workspace 为空；请指定文件夹或去掉它。")
    if (now := params.get("now")) and not FIRST_YEAR <= Clock().parse(now).year <= LAST_YEAR:
        raise BadInput(
            f"--now must be between the years {FIRST_YEAR} and {LAST_YEAR}.",
            f"--now 须在 {FIRST_YEAR} 年至 {LAST_YEAR} 年之间。",
        )
    return replace(options, **{name: value for name, value in params.items() if value})


# The pages of --help and the sentences about wrong usage, in English and in Chinese, as wide as a terminal.


def use_user_language() -> None:
    """The language of the user's settings, for what is said before a workspace is opened."""
    from nacre.config import settings

    if "NACRE_LANGUAGE" not in os.environ and settings.user_config_file().exists():
        chosen = settings.load(None).language
        if chosen != "auto":
            use_language(chosen)


def help_text(name: str, english: str) -> str:
    """What the help says of a command, or of an option of it ("search --since"), in the user's language."""
    if language() != "zh":
        return english
    option = name.rpartition(" ")[2]
    return chinese_help().get(name) or (chinese_help().get(option) if option.startswith("-") else None) or english


@cache
def chinese_help() -> dict[str, str]:
    """What --help says in Chinese: by "command" or "command subcommand", by "command --option", or by "--option" for one that means the
    same everywhere. In English the code itself says it."""
    return {name: text.replace("\\n", "\n") for name, (text,) in rows("cli/help_zh.tsv").items()}


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
            own_line = [""] if width_of(name) > first - col_spacing else []
            lines = own_line + wrapped(about, self.width - first - self.current_indent)
            for lead, line in zip_longest([name], lines, fillvalue=""):
                self.write(f"{'':{self.current_indent}}{padded(lead, first)}{line}".rstrip() + "\n")


class HelpContext(click.Context):
    formatter_class = Formatter


class Page(click.Command):
    """A command whose help is in the user's language."""

    context_class = HelpContext

    def get_help(self, ctx: click.Context) -> str:
        use_user_language()
        return super().get_help(ctx)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = " ".join(self.collect_usage_pieces(ctx))
        formatter.write_usage(ctx.command_path, arguments, prefix=say("Usage: ", "用法："))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(help_text(command_name(ctx), inspect.cleandoc(self.help or "")))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = (option_record(param, ctx) for param in self.get_params(ctx) if isinstance(param, click.Option))
        with formatter.section(say("Options", "选项")):
            formatter.write_dl([record for record in records if record])

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write(f"\n  {say(EXAMPLE, '示例：')}{self.epilog.removeprefix(EXAMPLE)}\n")


def command_name(ctx: click.Context) -> str:
    """The command without the name of the program; the program's own name for the root."""
    return ctx.command_path.partition(" ")[2] or ctx.command_path


def option_record(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    shown = copy.copy(option)
    shown.help = help_text(f"{command_name(ctx)} {max(option.opts, key=len)}", option.help or "")
    return shown.get_help_record(ctx)


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    return re.split(r"[.;] |[。；]", paragraph)[0].rstrip(".")


def did_you_mean(words: Iterable[str]) -> str:
    english, chinese = " or ".join(f'"{word}"' for word in words), "或".join(f"“{word}”" for word in words)
    return say(f" Did you mean {english}?", f"你是想用{chinese}吗？") if words else ""


# What click says in English alone, each with the same in Chinese.
CLICK_SENTENCES = {
    r"(.+) is not a valid integer\.": r"\1 不是整数。",
    r"(.+) is not a valid .+\.": r"\1 无效。",
    r"(.+) is not in the range (.+)\.": r"\1 不在范围 \2 内。",
    r"(.+) is not one of (.+)\.": r"\1 不在可选值之列：\2。",
    r"No such command '(.+)'\.": r"没有命令“\1”。",
    r"Missing command\.": "缺少命令。",
    r"Got unexpected extra arguments? \((.+)\)": r"多余的参数：\1。",
    r"Option '(.+)' requires (?:an|\d+) arguments?\.": r"选项 \1 后面缺少值。",
    r"Option '(.+)' does not take a value\.": r"选项 \1 不带值。",
    r"(?:Argument .+ t|T)akes (\d+) values.*\.": r"需要 \1 个值。",
    r"\w+ '(.+)' does not exist\.": r"“\1”不存在。",
    r"\w+ '(.+)' is a directory\.": r"“\1”是文件夹。",
    r"\w+ '(.+)' is a file\.": r"“\1”是文件。",
    r"\w+ '(.+)' is not (?:readable|writable|executable)\.": r"无法访问“\1”。",
}


def in_chinese(sentence: str) -> str:
    """A sentence of click's in Chinese; as it is when it is one of ours."""
    for english, chinese in CLICK_SENTENCES.items():
        if match := re.fullmatch(english, sentence, re.DOTALL):
            return match.expand(chinese)
    return sentence


def show_error(error: click.ClickException) -> None:
    """What click says of wrong usage, in the user's language."""
    use_user_language()
    is_help = isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ()))  # of click 8.2 and later
    if language() != "zh" or is_help or not isinstance(error, click.UsageError):
        error.show()
        return
    message = in_chinese(error.format_message())
    match error:
        case click.NoSuchOption():
            message = f"没有选项 {error.option_name}。" + did_you_mean(error.possibilities or ())
        case click.MissingParameter():
            message = f"缺少参数 {error.param.get_error_hint(error.ctx) if error.param else error.param_hint}。"
        case click.BadParameter() if error.param:
            message = f"{error.param.get_error_hint(error.ctx)} 的值无效：{in_chinese(error.message)}"
    page = error.ctx and f"{error.ctx.get_usage()}\n运行“{error.ctx.command_path} --help”查看说明。\n\n"
    click.echo(f"{page or ''}错误：{message}", err=True)


# Commands.


JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
DRY_RUN = click.Option(["--dry-run"], is_flag=True, help="Show what would be done without doing it.")


class Command(Page):
    """A command that takes the global options after the verb too, and prints the reports that its function returns."""

    def __init__(
        self, *args: Any, join: bool = False, dry_run: bool = False, as_json: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.join = join  # the facts of several workspaces are printed as one list
        self.params += [DRY_RUN] * dry_run + [JSON] * as_json + global_options(hidden=True)

    def invoke(self, ctx: click.Context) -> Any:
        params = {name: ctx.params.pop(name) for name in (*GLOBAL_NAMES, "dry_run", "as_json") if name in ctx.params}
        # Of the global options only what was typed here counts: the environment has been read by the root, and must not overrule its flags.
        is_typed = {name: ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in GLOBAL_NAMES}
        params = {name: value for name, value in params.items() if is_typed.get(name, True)}
        ctx.obj = updated(ctx.obj or Options(), params)
        from nacre.model import Report  # none of these values is needed to show a page of --help

        result = super().invoke(ctx)
        reports = [result] if isinstance(result, Report) else result
        if isinstance(reports, Iterable):
            return print_reports(reports, as_json=ctx.obj.as_json, join=self.join)
        return result


class Group(Page, click.Group):
    """A group of commands of our kind."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        texts = {name: inspect.cleandoc(command.help or "") for name, command in self.commands.items()}
        rows = [(name, help_text(f"{command_name(ctx)} {name}", text)) for name, text in texts.items()]
        with formatter.section(say("Commands", "命令")):
            formatter.write_dl([(name, first_sentence(text)) for name, text in rows])


def flag(*names_and_help: str, **attributes: Any) -> Callable[[Any], Any]:
    """An option that is given or not; its last word is the help."""
    *names, about = names_and_help
    return click.option(*names, is_flag=True, help=about, **attributes)


def command(
    example: str, name: str | None = None, *, group: click.Group | None = None, **attributes: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command, which is given the options of all commands first. It has --json unless `as_json` is False, and with
    `dry_run`, where it writes, --dry-run. It returns a report, or yields reports that are printed as they come."""

    def made(function: Callable[..., Any]) -> click.Command:
        register = (group or click).command
        return register(name, cls=Command, epilog=f"{EXAMPLE}{example}", **attributes)(click.pass_obj(function))

    return made


def open_memory(options: Options, *, for_groups: bool = False) -> Memory:
    """The memory that the options name. Only commands that know what a group may see are for groups."""
    from nacre.memory import Memory

    owner_only(options, for_groups=for_groups)
    memory = Memory.open(options.workspace, now=options.now, agent=options.agent, scope=options.scope or "main")
    note_untrusted(memory.problems)
    return memory


def open_all(options: Options, *, for_groups: bool = False) -> Iterator[Memory]:
    """The memory that the options name; every agent's, when several are configured and none is named."""
    from nacre.memory import several_agents

    several = () if options.workspace or options.agent else several_agents()
    for agent in several or (options.agent,):
        yield open_memory(replace(options, agent=agent), for_groups=for_groups)


def owner_only(options: Options, *, for_groups: bool = False) -> None:
    """Refuse a command in a group, which may only read its own memories."""
    if not for_groups and (options.scope or "main") != "main":
        raise BadInput(
            "Only search, get, context and mcp work in a group; run this command without --scope.",
            "群组中只能使用 search、get、context 和 mcp；请去掉 --scope 再运行。",
        )


def done(english: str, chinese: str, *, dry_run: bool) -> str:
    """That something was done, or would be: "written to x" is "Written to x" or "Would be written to x"."""
    if dry_run:
        return say(f"Would be {english}", f"将{chinese}")
    return say(english[0].upper() + english[1:], f"已{chinese}")


def note_untrusted(problems: Iterable[Problem]) -> None:
    """Tell of an untrusted workspace in a parent folder, which the user may have meant."""
    for problem in problems:
        if problem.kind == "not trusted":
            note(f"{problem.message} {problem.remedy}".strip())


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def note(sentence: str, chinese: str | None = None) -> None:
    """Something for people that is not the result: a sentence, or its English and Chinese form."""
    text = seen(sentence if chinese is None else say(sentence, chinese), sys.stderr)
    click.echo("\n".join(folded(line, sys.stderr) for line in text.split("\n")), err=True)


def seen(text: str, stream: TextIO | None = None) -> str:
    """The text as a terminal may be given it: what people wrote by hand may hold sequences that steer it. Exact elsewhere."""
    if not (stream or sys.stdout).isatty():
        return text
    from nacre.memory import printable

    return printable(text)


def folded(line: str, stream: TextIO | None = None) -> str:
    """A line that is too long for the terminal, broken between its words; as it is elsewhere."""
    text = line.lstrip()
    return "\n".join(fitted(text, len(line) - len(text), stream))


Choice = tuple[object, str, str]  # a condition, and the sentence in English and in Chinese that holds under it


def every(*choices: Choice) -> list[str]:
    """The sentences whose condition holds, in the user's language."""
    return [say(english, chinese) for holds, english, chinese in choices if holds]


def joined(*choices: Choice) -> str:
    """The parts of a sentence whose condition holds."""
    return "".join(every(*choices))


def first(*choices: Choice) -> str:
    """The first sentence whose condition holds; nothing where none does."""
    return next(iter(every(*choices)), "")


def print_reports(reports: Iterable[Report], *, as_json: bool, join: bool = False) -> int:
    """Each report as it comes, as JSON or for people; the exit code: 3 when something was left undone, else what the reports say."""
    left: list[str] = []
    facts: list[Any] = []
    code = 0
    for report in reports:
        left += [problem.message for problem in report.left]
        code = max(code, report.code)
        if not as_json:
            try:
                _print_report(report)
            except BrokenPipeError:  # who reads only the beginning (head, less) does not keep the work from being done
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        elif report.facts is not ...:
            facts.append(report.facts)
            if not join:
                print_json(report.facts)
    if as_json and join:
        print_json(facts[0] if len(facts) == 1 else facts)
    if left:
        raise PartlyDone(" ".join(left))
    return code


def _print_report(report: Report) -> None:
    from nacre.model import Note

    for sentence in filter(None, (*(problem.message for problem in report.problems), *report.heading)):
        note(sentence)
    for is_table, lines in groupby(report.lines, key=lambda line: not isinstance(line, str)):
        if is_table:
            table([*lines], report.columns)
        else:
            for line in lines:
                click.echo(styled(line), err=isinstance(line, Note))
    for sentence in filter(None, report.notes):
        note(sentence)


def step_rows(steps: Iterable[Step]) -> list[tuple[str, ...]]:
    """The steps of a plan as rows of a table, with what they do in the user's language."""
    return [tuple(filter(None, (step.word, step.path, step.reason, step.detail))) for step in steps]


def problems_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    from nacre.model import fields

    return [fields(problem, "kind path message") for problem in problems]


def words_of(text: Sequence[str]) -> str:
    """The words that were typed; those of a pipe for "-": UTF-8, whatever the terminal speaks."""
    if tuple(text) != ("-",):
        return " ".join(text)
    if sys.stdin is None:
        raise BadInput("No input to read.", "没有可读取的输入。")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("The input is not valid UTF-8 text.", "输入不是有效的 UTF-8 文本。") from error


def legible(text: str) -> str:
    """Text of a memory as it may be shown: without secrets and control characters."""
    from nacre.memory import legible

    return legible(text)


def is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def must_ask() -> None:
    """Refuse to go on without a terminal to ask on."""
    if not is_interactive():
        raise BadInput(
            "Nothing was done, because confirmation needs a terminal. Use --yes to skip it, or --dry-run to preview.",
            "确认操作需要终端，因此未执行任何操作。可用 --yes 跳过确认，或用 --dry-run 预览。",
        )


def confirm(english: str, chinese: str, *, yes: bool = False, default: bool = True) -> None:
    """Ask for confirmation, and end the command unless the answer is yes."""
    if yes:
        return
    must_ask()
    if not click.confirm(say(english, chinese), default=default, err=True):
        raise click.exceptions.Exit(1)


class Coloured(str):
    """A cell or line that has a colour where colours are shown: green is well, yellow wants a look, red is wrong."""

    __slots__ = ("colour",)
    colour: str

    def __new__(cls, text: str, colour: str) -> Self:
        made = super().__new__(cls, text)
        made.colour = colour
        return made


def styled(text: object) -> str:
    """A text in its colour; only on a terminal, and not where NO_COLOR is set."""
    shown = seen(str(text))
    if not isinstance(text, Coloured) or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return shown
    return click.style(shown, dim=True) if text.colour == "dim" else click.style(shown, fg=text.colour)


def bar(share: float, width: int = 20) -> Coloured:
    """A bar that shows how full something is; empty without a terminal."""
    filled = min(width, max(int(share > 0), round(share * width)))
    colour = "red" if share > 1 else "yellow" if share >= NEARLY_FULL else "green"
    return Coloured(f"{'█' * filled}{'░' * (width - filled)} " if sys.stdout.isatty() else "", colour)


def screen_width() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def table(rows: Sequence[Sequence[str]], headings: Sequence[str] = ()) -> None:
    """Rows for people: a table that fits the terminal, plain columns elsewhere. A column without any text is left out."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(cell.replace("\t", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = list(zip_longest(*rows, fillvalue=""))
    used = [place for place, cells in enumerate(columns) if any(cells)]
    shown = Table(box=None, show_header=bool(headings), header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for place in used:
        shown.add_column(headings[place] if headings else "", overflow="fold", no_wrap=place == used[0])
    for row in zip(*(columns[place] for place in used), strict=True):
        shown.add_row(*(Text(seen(cell), cell.colour if isinstance(cell, Coloured) else "") for cell in row))
    Console().print(shown)


def fitted(text: str, indent: int = 0, stream: TextIO | None = None) -> list[str]:
    """A text as indented lines that fit the terminal; as one line elsewhere."""
    room = screen_width() - indent
    is_long = (stream or sys.stdout).isatty() and width_of(text) > room
    return [" " * indent + line for line in (wrapped(text, room) if is_long else [text])]


@contextmanager
def progress_bar(english: str, chinese: str, *, of_bytes: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on stderr; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    counts = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = TextColumn("{task.description}"), BarColumn(), counts, TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(say(english, chinese), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def waiting(english: str, chinese: str) -> Iterator[None]:
    """A line on stderr about work that takes longer than a second; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Timer

    text = say(f"{english} …", f"{chinese}……")
    timer = Timer(1, lambda: click.echo(text, nl=False, err=True))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        click.echo("\r\x1b[K", nl=False, err=True)


def age_of(moment: str, now: dt.datetime) -> str:
    """How long ago a moment in ISO form was."""
    when = dt.datetime.fromisoformat(moment)
    return age(when.astimezone(now.tzinfo) if when.tzinfo else when.replace(tzinfo=now.tzinfo), now)


def size_of(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    unit, name = next(((unit, name) for unit, name in ((1e3, "KB"), (1e6, "MB")) if size < unit * 1000), (1e9, "GB"))
    return f"{size / unit:.1f} {name}"


def shown_path(path: str | Path) -> str:
    """A path for people, with the home folder as ~."""
    try:
        return (Path("~") / Path(path).relative_to(Path.home())).as_posix()
    except ValueError:
        return str(path)


def localised(words: str) -> dict[str, str]:
    """Words that code and people share, each in the user's language, from a list such as "note 笔记|session 会话"."""
    pairs = (pair.rsplit(" ", 1) for pair in words.split("|"))
    return {english: say(english, chinese) for english, chinese in pairs}


def headings(words: str) -> list[str]:
    """The headings of a table in the user's language, from such a list."""
    return [*localised(words).values()]


def plural(number: int, word: str) -> str:
    many = f"{word.removesuffix('y')}ies" if word.endswith("ry") else f"{word}s"
    return f"1 {word}" if number == 1 else f"{number} {many}"
