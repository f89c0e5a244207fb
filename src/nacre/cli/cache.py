"""nacre cache: values that one session keeps for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.base import (
    Group,
    Invocation,
    dry_run_option,
    json_option,
    note,
    owner_only,
    piped,
    print_json,
    size_of,
    table,
)
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.vault.cache import Cache

SESSION_VARIABLES = ["NACRE_SESSION", "OPENCLAW_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"]
session_option = click.option(
    "--session",
    metavar="ID",
    envvar=SESSION_VARIABLES,
    default="default",
    help="Whose cache; default OPENCLAW_SESSION_ID or CLAUDE_CODE_SESSION_ID, else one for all.",
)


@click.group(cls=Group, epilog="Example:  nacre cache set branch feature/login")
def cache() -> None:
    """Keep values for one session: in the user's own temp folder, readable by nobody else, gone after a restart or a day.

    It needs no workspace. A secret is refused (exit code 13).
    """


@cache.command("set", epilog="Example:  nacre cache set branch feature/login")
@click.argument("key")
@click.argument("value", nargs=-1, required=True)
@session_option
@dry_run_option
@json_option
@click.pass_obj
def set_(
    invocation: Invocation, key: str, value: tuple[str, ...], session: str, *, dry_run: bool, as_json: bool
) -> None:
    """Keep a VALUE by its KEY. "-" takes the value from a pipe."""
    from nacre.vault.cache import put_value

    opened = _opened(invocation, session)
    text = piped() if value == ("-",) else " ".join(value)
    kept = put_value(opened, key, text, dry_run=dry_run)
    if as_json:
        print_json({"key": key, "value": kept.text, "session": session, "changed": not dry_run, "dryRun": dry_run})
    elif dry_run:
        note(f'"{key}" would be kept.', f"将缓存“{key}”。")
    else:
        note(f'"{key}" is kept for this session.', f"已为此会话缓存“{key}”。")


@cache.command(epilog="Example:  nacre cache get branch")
@click.argument("key")
@session_option
@json_option
@click.pass_obj
def get(invocation: Invocation, key: str, session: str, *, as_json: bool) -> None:
    """Print the value of a KEY. Exit code 1 when there is none."""
    from nacre.vault.cache import get_value as read

    found = read(_opened(invocation, session), key)
    if as_json:
        print_json({"key": key, "value": found.text, "at": found.at.isoformat(timespec="seconds")})
    else:
        click.echo(found.text, nl=not found.text.endswith("\n"))


@cache.command("list", epilog="Example:  nacre cache list")
@session_option
@json_option
@click.pass_obj
def list_(invocation: Invocation, session: str, *, as_json: bool) -> None:
    """List the keys with their sizes and times."""
    from nacre.vault.cache import read_values

    found = read_values(_opened(invocation, session))
    if as_json:
        print_json(
            [
                {"key": key, "bytes": len(value.text.encode()), "at": value.at.isoformat(timespec="seconds")}
                for key, value in found.items()
            ]
        )
        return
    if not found:
        note("This session keeps nothing.", "此会话没有缓存内容。")
    rows = [(key, size_of(len(value.text.encode())), f"{value.at:%H:%M}") for key, value in found.items()]
    table(rows, (say("key", "键"), say("size", "大小"), say("since", "时间")))


@cache.command(epilog="Example:  nacre cache clear branch")
@click.argument("key", required=False)
@session_option
@dry_run_option
@json_option
@click.pass_obj
def clear(invocation: Invocation, key: str | None, session: str, *, dry_run: bool, as_json: bool) -> None:
    """Forget one KEY, or everything that the session keeps."""
    from nacre.vault.cache import clear_values as forget

    gone = forget(_opened(invocation, session), key, dry_run=dry_run)
    if as_json:
        print_json({"cleared": list(gone), "dryRun": dry_run})
        return
    if not gone:
        note("There was nothing to clear.", "没有可清除的内容。")
    elif dry_run:
        note(f"{len(gone)} would be cleared.", f"将清除 {len(gone)} 项。")
    for name in gone:
        click.echo(name)


def _opened(invocation: Invocation, session: str) -> Cache:
    owner_only(invocation)
    from nacre.clock import Clock, zone
    from nacre.config.loading import load
    from nacre.i18n import use_language
    from nacre.vault.cache import open_cache

    config = load()
    if config.language != "auto":
        use_language(config.language)
    return open_cache(session, config.cache, Clock(zone(config.timezone)).at(invocation.now))
