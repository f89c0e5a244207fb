"""What every command shares: the global options before or after the verb, opening memory, printing for people and programs."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.errors import BadInput
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.model.report import Problem


@dataclass(frozen=True)
class Invocation:
    """The global options as given, from the environment or on either side of the verb."""

    workspace: str | None = None
    now: str | None = None
    agent: str | None = None
    scope: str | None = None


GLOBAL_NAMES = ("workspace", "now", "agent", "scope")


class GlobalOptions:
    """The options that every command takes."""

    @staticmethod
    def params() -> list[click.Parameter]:
        return [
            click.Option(["--workspace"], metavar="PATH", envvar="NACRE_WORKSPACE", help="The workspace to work on."),
            click.Option(["--now"], metavar="ISO", envvar="NACRE_NOW", help="Act as if it were this moment."),
            click.Option(["--agent"], metavar="ID", envvar="NACRE_AGENT", help="The agent whose workspace to work on."),
            click.Option(["--scope"], metavar="SCOPE", envvar="NACRE_SCOPE", help="Who listens: main, or group:NAME."),
        ]


def invocation_from(given: Mapping[str, Any], before: Invocation) -> Invocation:
    if given.get("workspace") == "":
        raise BadInput(
            "--workspace is empty; name a folder, or leave it out.",
            "--workspace 为空；请指定文件夹，或不要使用该选项。",
        )
    chosen = {name: given[name] for name in GLOBAL_NAMES if given.get(name)}
    return replace(before, **chosen)


class Command(click.Command):
    """A command that takes the global options after the verb too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in GlobalOptions.params():
            mine = copy.copy(option)
            mine.hidden = True  # type: ignore[attr-defined]  # the root's --help names them once
            self.params.append(mine)

    def invoke(self, ctx: click.Context) -> Any:
        # Here only what was typed counts: the environment has been read by the root, and must not overrule its flags.
        typed = click.core.ParameterSource.COMMANDLINE
        names = [name for name in GLOBAL_NAMES if ctx.get_parameter_source(name) is typed]
        given = {name: ctx.params.pop(name, None) for name in GLOBAL_NAMES}
        ctx.obj = invocation_from({name: given[name] for name in names}, ctx.obj or Invocation())
        return super().invoke(ctx)


class Group(click.Group):
    """A group of commands of our kind."""

    command_class = Command


def open_memory(invocation: Invocation, *, for_groups: bool = False) -> Memory:
    """The memory that the options name. Only commands that know what a group may see are for groups."""
    from nacre.memory import Memory

    owner_only(invocation, for_groups=for_groups)

    memory = Memory.open(
        invocation.workspace, now=invocation.now, agent=invocation.agent, scope=invocation.scope or "main"
    )
    note_untrusted(memory.problems)
    return memory


def open_all(invocation: Invocation, *, for_groups: bool = False) -> Iterator[Memory]:
    """The memory that the options name; every agent's, when several are configured and none is named."""
    from nacre.memory import Memory

    owner_only(invocation, for_groups=for_groups)

    for memory in Memory.open_all(
        invocation.workspace, now=invocation.now, agent=invocation.agent, scope=invocation.scope or "main"
    ):
        note_untrusted(memory.problems)
        yield memory


def owner_only(invocation: Invocation, *, for_groups: bool = False) -> None:
    """Refuse what a group has no business with: it reads its own memories and nothing else."""
    if not for_groups and (invocation.scope or "main") != "main":
        raise BadInput(
            "In a group only search, get, context and mcp answer; run this command without --scope.",
            "在群组范围内只能使用 search、get、context 和 mcp；请去掉 --scope 再运行。",
        )


def note_untrusted(problems: Iterable[Problem]) -> None:
    """A workspace nearer by that is not trusted: the user may have meant that one."""
    for problem in problems:
        if problem.kind == "not trusted":
            note(f"{problem.message} {problem.remedy}".strip())


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def note(sentence: str, chinese: str | None = None) -> None:
    """Something for people that is not the result: a sentence, or its English and Chinese form."""
    click.echo(sentence if chinese is None else say(sentence, chinese), err=True)


def echo(english: str, chinese: str) -> None:
    """A line of the result, in the user's language."""
    click.echo(say(english, chinese))


def piped() -> str:
    """What a pipe brings: UTF-8, whatever the terminal speaks."""
    if sys.stdin is None:
        raise BadInput("There is no input to read from.", "没有可读取的输入。")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise BadInput("The input is not valid UTF-8 text.", "输入不是有效的 UTF-8 文本。") from trouble


def table(rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> None:
    """Rows for people: a coloured table in a terminal, plain columns elsewhere."""
    listed = [list(row) for row in rows]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(box=None, pad_edge=False, show_header=bool(headings), header_style="bold")
        for heading in headings or ([""] * max(map(len, listed), default=1)):
            drawn.add_column(heading, overflow="fold")
        for row in listed:
            drawn.add_row(*(Text(cell) for cell in row))
        Console().print(drawn)
        return
    for row in listed:
        click.echo("\t".join(cell.replace("\t", " ") for cell in row))


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr for work that may take more than a second; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def size_of(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def shown_path(path: Path) -> str:
    """A path for people, with the home folder as ~."""
    try:
        return "~/" + path.relative_to(Path.home()).as_posix()
    except ValueError:
        return str(path)
