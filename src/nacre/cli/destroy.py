"""nacre destroy: remove a workspace's memory for good."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import (
    Command,
    Invocation,
    dry_run_option,
    json_option,
    note,
    open_memory,
    print_json,
    shown_path,
    size_of,
    table,
)
from nacre.cli.forget import NOT_ALL, left_json, show_left
from nacre.errors import BadInput
from nacre.words import say

if TYPE_CHECKING:
    from nacre.jobs.service.manage import ServicePlan
    from nacre.lifecycle.destroy import DestroyPlan
    from nacre.lifecycle.purge import Left


@click.command(cls=Command, epilog="Example:  nacre destroy --purge --dry-run")
@click.option("--yes", is_flag=True, help="Do not ask for the workspace's name.")
@click.option("--tiers", is_flag=True, help="Also the checkpoint layers, where they lie outside the workspace.")
@click.option("--purge", is_flag=True, help="Search every remaining file for words of the memory afterwards.")
@dry_run_option
@json_option
@click.pass_obj
def destroy(invocation: Invocation, *, yes: bool, tiers: bool, purge: bool, dry_run: bool, as_json: bool) -> None:
    """Remove a workspace's memory for good: MEMORY.md files, memory/, checkpoints, working memory, .nacre/, our rules in AGENTS.md,
    and what "nacre jobs install" told this machine.

    Your own files stay. It lists what goes and asks you to type the workspace's name. This cannot be undone. With --purge the
    words of the memory are looked for in everything that remains; exit code 3 says that some still stand somewhere.
    """
    from nacre.cli.jobs_install import setup_of
    from nacre.daemon.start import stop
    from nacre.jobs.service import manage
    from nacre.lifecycle import destroy as destroying
    from nacre.mcp.token import forget_tokens

    with open_memory(invocation) as memory:
        workspace, config = memory.workspace, memory.config
    made, jobs = destroying.plan(workspace, config, tiers=tiers), manage.plan_remove(setup_of(memory))
    if not as_json:
        _show(made, jobs)
    if dry_run:
        if as_json:
            print_json(_as_json(made, jobs, (), dry_run=True, purge=False))
        return
    if not yes:
        _ask(workspace.root.name)
    words = destroying.sample(workspace, config) if purge else ()
    stop(memory)  # it would make an index again of what is still there
    # Before the memory: what was written where stands in it, and a scheduler that does not answer must be asked again.
    if jobs.changes or jobs.troubles:
        manage.apply(jobs)
    destroying.apply(made)
    forget_tokens(workspace.root)
    left = destroying.left(made, words)
    if as_json:
        print_json(_as_json(made, jobs, left, dry_run=False, purge=purge))
    else:
        _tell(jobs, len(words), left, purge=purge)
    if left:
        raise click.exceptions.Exit(NOT_ALL)


def _show(made: DestroyPlan, jobs: ServicePlan) -> None:
    rows = [(one.shown, str(one.files), size_of(one.bytes), one.reason) for one in made.doomed]
    if made.agents is not None:
        rows.append(("AGENTS.md", "", "", say("only our rules between their marks", "仅删除标记之间的规则")))
    ours = say("only what runs its jobs", "仅撤回运行其任务的内容")
    rows += [(f"$ {shlex.join(one.command)}" if one.command else one.path, "", "", ours) for one in jobs.shown]
    table(rows, (say("path", "路径"), say("files", "文件"), say("size", "大小"), ""))
    for told in (*jobs.notes, *map(str, jobs.troubles)):
        note(told)
    if made.kept_tiers:
        shown = shown_path(made.kept_tiers)
        note(
            say(
                f"{shown} lies elsewhere and stays; --tiers takes it too.",
                f"{shown} 位于别处，予以保留；--tiers 可一并删除。",
            )
        )
    total = size_of(made.bytes)
    note(
        say(
            f"{made.files} files, {total}, of {made.workspace.root}. This cannot be undone.",
            f"{made.workspace.root}：共 {made.files} 个文件，{total}。此操作无法撤销。",
        )
    )


def _ask(name: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadInput(
            say(
                "Nobody can be asked here, so nothing was removed; --yes does it without asking.",
                "此处无法询问，因此未删除任何内容；使用 --yes 可不经询问直接执行。",
            )
        )
    typed = click.prompt(
        say(f'Type "{name}" to remove it for good', f"输入“{name}”以永久删除"), default="", show_default=False, err=True
    )
    if typed.strip() != name:
        raise BadInput(say("That is not its name; nothing was removed.", "名称不符；未删除任何内容。"))


def _tell(jobs: ServicePlan, words: int, left: tuple[Left, ...], *, purge: bool) -> None:
    if jobs.changed:
        by = [one.name for one in jobs.changes if one.planned.steps]
        note(
            say(
                f"What was installed to run its jobs was taken back: {', '.join(by)}.",
                f"已撤回为运行其任务而安装的内容：{'、'.join(by)}。",
            )
        )
    note(say("The memory is gone.", "记忆已删除。"))
    if not purge:
        return
    if left:
        note(say("Words of it still stand in:", "其中的文字仍存在于："))
        show_left(left)
    else:
        note(
            say(
                f"{words} lines of it were looked for in every file that remains: none is left.",
                f"已在剩余的所有文件中查找其中 {words} 行：没有任何残留。",
            )
        )


def _as_json(
    made: DestroyPlan, jobs: ServicePlan, left: tuple[Left, ...], *, dry_run: bool, purge: bool
) -> dict[str, Any]:
    return {
        "workspace": str(made.workspace.root),
        "removed": [
            {"path": one.shown, "files": one.files, "bytes": one.bytes, "reason": one.reason} for one in made.doomed
        ],
        "rulesRemoved": made.agents is not None,
        "jobsRemoved": [one.as_json() for one in jobs.shown],
        "keptTiers": str(made.kept_tiers) if made.kept_tiers else None,
        "left": [left_json(one) for one in left] if purge else None,
        "dryRun": dry_run,
    }
