"""nacre trust: let a workspace that was found by walking up be read and written."""

from __future__ import annotations

from pathlib import Path

import click

from nacre.cli.base import Command, Invocation, json_option, note, owner_only, print_json, shown_path
from nacre.errors import NoWorkspace
from nacre.words import say


@click.command(cls=Command, epilog="Example:  nacre trust ~/work/shop-api")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--remove", is_flag=True, help="Trust it no longer.")
@click.option("--list", "listing", is_flag=True, help="List the places that are trusted.")
@json_option
@click.pass_obj
def trust(invocation: Invocation, path: Path, *, remove: bool, listing: bool, as_json: bool) -> None:
    """Trust a workspace, so that commands run below it find it.

    A cloned repository may hold a .nacre folder: until you say so here, it is neither read nor written.
    """
    owner_only(invocation)
    from nacre.vault.discover import is_workspace
    from nacre.vault.trust import distrust, trusted
    from nacre.vault.trust import trust as remember_trust

    place = Path(invocation.workspace or path).expanduser().absolute()
    if listing:
        if as_json:
            print_json(list(trusted()))
        else:
            for one in trusted():
                click.echo(one)
        return
    if remove:
        distrust(place)
        note(say(f"{shown_path(place)} is trusted no longer.", f"已不再信任 {shown_path(place)}。"))
        return
    if not is_workspace(place):
        raise NoWorkspace(
            say(
                f'There is no workspace at {place}. Make one with "nacre init {place}".',
                f"{place} 没有工作区。可用“nacre init {place}”创建。",
            )
        )
    remember_trust(place)
    note(say(f"{shown_path(place)} is trusted now.", f"已信任 {shown_path(place)}。"))
