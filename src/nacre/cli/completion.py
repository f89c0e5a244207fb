"""nacre completion: the shell's completion script."""

from __future__ import annotations

import click

from nacre.cli.base import Command


@click.command(cls=Command, epilog='Example:  eval "$(nacre completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell; put it where that shell looks, or eval it."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "nacre", "_NACRE_COMPLETE").source())
