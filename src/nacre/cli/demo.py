"""nacre up --demo: what Nacre makes of two example weeks."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from nacre.cli import ui
from nacre.demo.stage import NOW, live_through, prepare
from nacre.demo.story import QUESTIONS, tell_story
from nacre.i18n import language, say, use_language

_LONGEST = 118  # characters of a line that is shown


def show_demo(program: str, spoken: str | None, *, keep: bool) -> None:
    """Live through the two weeks in a folder of their own, tell about it, and remove the folder unless it is to be kept."""
    use_language(spoken or language())
    folder = Path(tempfile.mkdtemp(prefix="nacre-demo-"))
    try:
        stage = prepare(folder, language())
        ui.note(
            f"{stage.sessions} invented sessions with Claude Code and OpenClaw, two weeks, in {ui.shown_path(folder)}. Nothing of yours is read.",
            f"{stage.sessions} 段虚构的对话（Claude Code 与 OpenClaw，为期两周），位于 {ui.shown_path(folder)}。不会读取您的任何内容。",
        )
        with ui.progress_bar("Two weeks", "两周") as bar, live_through(stage, bar) as memory:
            story = tell_story(stage, memory)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    for title, lines in story:
        click.echo(click.style(title, bold=True))
        for line in map(str.strip, lines):
            click.echo("  " + (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"))
    place, question = f"--workspace {stage.workspace.root} --now {NOW}", QUESTIONS[language()][0]
    commands = [f'search "{question}"', "why MEMORY.md:8", "tidy --dry-run --verbose"]
    if keep:
        click.echo("\n" + say("Kept; delete it whenever you like. Look around:", "已保留，可随时删除。可以试试："))
        click.echo("\n".join(f"  {program} {command} {place}" for command in commands))
        return
    kept = say(
        f'\nAll of that was worked out just now; nothing was kept. "{program} up --demo --keep" keeps the folder to look around in,\n"{program} up" does the same with what you said to your own agents.',
        f"\n以上全部为刚才实际运行的结果，未保留任何文件。“{program} up --demo --keep”会保留文件夹供您查看，\n“{program} up”则处理您与自己的代理的对话。",
    )
    click.echo(kept)
