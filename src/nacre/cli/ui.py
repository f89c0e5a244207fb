"""What every command shares: the global options before or after the verb, opening memory, printing for people and programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nacre.errors import BadInput, PartlyDone
from nacre.i18n import say
from nacre.model.report import Note, Report, fields

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.model.report import Problem, Step


@dataclass(frozen=True)
class Options:
    """What every command is given: the global options, from the environment or on either side of the verb, and its own flags."""

    workspace: str | None = None
    now: str | None = None
    agent: str | None = None
    scope: str | None = None
    dry_run: bool = False
    as_json: bool = False


SKIP = "ANNOUNCE_SKIP"  # what OpenClaw's scheduler takes for "nothing to say"
GLOBAL_NAMES = ("workspace", "now", "agent", "scope")


def global_options(*, hidden: bool = False) -> list[click.Parameter]:
    return [
        click.Option([f"--{name}"], metavar=metavar, envvar=f"NACRE_{name.upper()}", help=about, hidden=hidden)
        for name, metavar, about in (
            ("workspace", "PATH", "The workspace to work on."),
            ("now", "ISO", "Act as if it were this moment."),
            ("agent", "ID", "The agent whose workspace to work on."),
            ("scope", "SCOPE", "Who listens: main, or group:NAME."),
        )
    ]


def updated(options: Options, params: Mapping[str, Any]) -> Options:
    if params.get("workspace") == "":
        raise BadInput("--workspace is empty; name a folder, or leave it out.", "--workspace 为空；请指定文件夹。")
    return replace(options, **{name: value for name, value in params.items() if value})


class Command(click.Command):
    """A command that takes the global options after the verb too, and prints the reports that its function returns."""

    def __init__(self, *args: Any, join: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.join = join  # the facts of several workspaces are printed as one list
        self.params += global_options(hidden=True)

    def invoke(self, ctx: click.Context) -> Any:
        # Here only what was typed counts: the environment has been read by the root, and must not overrule its flags.
        params = {name: ctx.params.pop(name) for name in (*GLOBAL_NAMES, "dry_run", "as_json") if name in ctx.params}
        for name in GLOBAL_NAMES:
            if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
                del params[name]
        ctx.obj = updated(ctx.obj or Options(), params)
        result = super().invoke(ctx)
        if isinstance(result, Report):
            result = [result]
        if isinstance(result, Iterable):
            return print_reports(result, as_json=ctx.obj.as_json, join=self.join)
        return result


class Group(click.Group):
    """A group of commands of our kind."""

    command_class = Command


def flag(*names_and_help: str, **attributes: Any) -> Callable[[Any], Any]:
    """An option that is given or not; its last word is the help."""
    *names, about = names_and_help
    return click.option(*names, is_flag=True, help=about, **attributes)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")


def command(
    example: str,
    name: str | None = None,
    *,
    group: click.Group | None = None,
    dry_run: bool = False,
    as_json: bool = True,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a function a command: it is given the options of all commands first, and has --json and where it writes --dry-run last.

    It returns a report, or yields reports that are printed as they come.
    """

    def made(function: Callable[..., Any]) -> click.Command:
        options = vars(function).pop("__click_params__", [])
        for last in [json_option] * as_json + [dry_run_option] * dry_run:
            function = last(function)
        vars(function).setdefault("__click_params__", []).extend(options)
        register = (group or click).command
        return register(name, cls=Command, epilog=f"Example:  {example}", **attributes)(click.pass_obj(function))

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
    """Refuse what a group has no business with: it reads its own memories and nothing else."""
    if not for_groups and (options.scope or "main") != "main":
        raise BadInput(
            "In a group only search, get, context and mcp answer; run this command without --scope.",
            "在群组范围内只能使用 search、get、context 和 mcp；请去掉 --scope 再运行。",
        )


def done(english: str, chinese: str, *, dry_run: bool) -> str:
    """That something was done, or would be: "written to x" is "Written to x" or "Would be written to x"."""
    if dry_run:
        return say(f"Would be {english}", f"将{chinese}")
    return say(english[0].upper() + english[1:], f"已{chinese}")


def note_untrusted(problems: Iterable[Problem]) -> None:
    """A workspace nearer by that is not trusted: the user may have meant that one."""
    for problem in problems:
        if problem.kind == "not trusted":
            note(f"{problem.message} {problem.remedy}".strip())


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def note(sentence: str, chinese: str | None = None) -> None:
    """Something for people that is not the result: a sentence, or its English and Chinese form."""
    click.echo(sentence if chinese is None else say(sentence, chinese), err=True)


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
        if as_json:
            facts += [] if report.facts is ... else [report.facts]
            if not join and report.facts is not ...:
                print_json(report.facts)
            continue
        try:
            _print_report(report)
        except BrokenPipeError:  # who reads only the beginning (head, less) does not keep the work from being done
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if as_json and join:
        print_json(facts[0] if len(facts) == 1 else facts)
    if left:
        raise PartlyDone(" ".join(left))
    return code


def _print_report(report: Report) -> None:
    for sentence in filter(None, (*(problem.message for problem in report.problems), *report.heading)):
        note(sentence)
    for is_table, lines in groupby(report.lines, key=lambda line: not isinstance(line, str)):
        if is_table:
            table([*lines], report.columns)
            continue
        for line in lines:
            click.echo(line, err=isinstance(line, Note))
    for sentence in filter(None, report.notes):
        note(sentence)


def step_rows(steps: Iterable[Step], verbs: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The steps of a plan as rows of a table, with what they do in the user's language."""
    cells = ((verbs.get(step.action, step.action), step.path, step.reason, step.detail) for step in steps)
    return [tuple(filter(None, row)) for row in cells]


def problems_json(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [fields(problem, "kind path message") for problem in problems]


def words_of(text: Sequence[str]) -> str:
    """The words that were typed; those of a pipe for "-": UTF-8, whatever the terminal speaks."""
    if tuple(text) != ("-",):
        return " ".join(text)
    if sys.stdin is None:
        raise BadInput("There is no input to read from.", "没有可读取的输入。")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("The input is not valid UTF-8 text.", "输入不是有效的 UTF-8 文本。") from error


def legible(text: str) -> str:
    """Text of a memory as it may be shown: without secrets and control characters."""
    from nacre.guard.secrets import legible

    return legible(text)


def is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def must_ask() -> None:
    """Refuse to go on where nobody can be asked."""
    if not is_interactive():
        raise BadInput(
            "Nobody can be asked here, so nothing was done; --yes does it without asking, --dry-run only shows it.",
            "此处无法询问，因此未执行任何操作；--yes 不经询问直接执行，--dry-run 仅作显示。",
        )


def confirm(english: str, chinese: str, *, yes: bool = False, default: bool = True) -> None:
    """Go on after a yes."""
    if yes:
        return
    must_ask()
    if not click.confirm(say(english, chinese), default=default, err=True):
        raise click.exceptions.Exit(1)


def table(rows: Sequence[Sequence[str]], headings: Sequence[str] = ()) -> None:
    """Rows for people: a coloured table in a terminal, plain columns elsewhere."""
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(cell.replace("\t", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, show_header=bool(headings), header_style="bold")
    for heading in headings or ([""] * max(map(len, rows), default=1)):
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    Console().print(drawn)


@contextmanager
def progress_bar(english: str, chinese: str, *, of_bytes: bool = False) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on stderr for work that may take more than a second; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    counts = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), counts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(say(english, chinese), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def size_of(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    unit, name = next(((size, name) for size, name in ((1e3, "KB"), (1e6, "MB")) if count < size * 1000), (1e9, "GB"))
    return f"{count / unit:.1f} {name}"


def shown_path(path: str | Path) -> str:
    """A path for people, with the home folder as ~."""
    try:
        return "~/" + Path(path).relative_to(Path.home()).as_posix()
    except ValueError:
        return str(path)


def localised(chinese_of: Mapping[str, str]) -> dict[str, str]:
    """Words that code and people share, each in the user's language."""
    return {english: say(english, chinese) for english, chinese in chinese_of.items()}


def plural(count: int, word: str) -> str:
    return f"1 {word}" if count == 1 else f"{count} {word}s"
