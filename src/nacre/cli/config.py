"""nacre config: list, read and set settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from nacre import config as settings
from nacre.cli.base import (
    Group,
    Invocation,
    dry_run_option,
    json_option,
    note,
    owner_only,
    print_json,
    shown_path,
    table,
)
from nacre.errors import BadSetting, NoWorkspace
from nacre.words import say


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
            say(
                f'"{key}" is not a setting; "nacre config" lists them.',
                f"“{key}”不是设置项；“nacre config”会列出全部。",
            )
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
        note(say(f"{key} is no longer set in {shown_path(path)}", f"已从 {shown_path(path)} 移除 {key}"))
    else:
        note(say(f"{key} is set in {shown_path(path)}", f"{key} 已写入 {shown_path(path)}"))


def _root(invocation: Invocation) -> Path | None:
    owner_only(invocation)
    from nacre.vault.discover import find

    try:
        return find(invocation.workspace, config=settings.load()).workspace.root
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
