"""What stops a part of Nacre without a word: counts that cannot be read, working memory that is no longer written, lost history."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from nacre.config import Config
from nacre.errors import NacreError
from nacre.model.problem import Problem
from nacre.vault import jsonl
from nacre.vault.atomic import read_bytes, real
from nacre.vault.files import TIERS
from nacre.vault.workspace import Workspace
from nacre.words import say

_OPERATIONS = 20  # the last ones, which are those that anybody undoes
_CONTENTS = 200
_LOADED = 100_000  # bytes, below which the rules of working memory need not be loaded to see that it is small enough
_NEEDED = ("rewrite", "delete")  # the kinds of change that are undone by what was there before


def counts(workspace: Workspace, config: Config) -> list[Problem]:
    """Counts that cannot be understood: nobody writes over them, so that the layers stay as they are."""
    from nacre.vault import refcount

    path = workspace.refcount(config.tiers.path)
    try:
        refcount.read(workspace, config)
    except NacreError as trouble:
        reason = str(trouble)
    else:
        return []
    return [
        Problem(
            "counts unreadable",
            say(f"The layers are not organised: {reason}", f"各层无法整理：{reason}"),
            workspace.relative(path),
            remedy=f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}",
            severity="error",
        )
    ]


def state(workspace: Workspace) -> Iterator[Problem]:
    """Working memory that "nacre wal" refuses to write."""
    path = workspace.state
    shown = workspace.relative(path)
    if path.is_symlink():
        yield Problem(
            "working memory is a link",
            say(
                f'{shown} is a link; "nacre wal" writes only to the file itself.',
                f"{shown} 是链接；“nacre wal”只写入真正的文件。",
            ),
            shown,
            remedy=say("put the file itself in the place of the link", "请用真正的文件替换该链接"),
        )
        return
    try:
        size = path.stat().st_size
    except OSError:
        return
    if size < _LOADED:
        return
    from nacre.vault import working

    if size > working.LARGEST:
        yield Problem(
            "working memory too large",
            say(
                f'{shown} has {size / 1e6:.1f} MB; "nacre wal" writes to none over {working.LARGEST // 1_000_000} MB.',
                f"{shown} 有 {size / 1e6:.1f} MB；超过 {working.LARGEST // 1_000_000} MB 时“nacre wal”不再写入。",
            ),
            shown,
            remedy=say("shorten it, or move it away", "请精简，或将其移走"),
            severity="error",
        )


def layers(workspace: Workspace, config: Config) -> Iterator[Problem]:
    """Layers that are links: nothing of them is organised."""
    root = workspace.tiers(config.tiers.path)
    if not config.tiers.path and root.is_symlink():
        target = real(root)
        if real(workspace.root) not in target.parents:
            shown = workspace.relative(root)
            yield Problem(
                "layers are a link",
                say(
                    f"{shown} is a link that leads out of the workspace; nothing in it is organised.",
                    f"{shown} 是指向工作区之外的链接；其中的内容不会整理。",
                ),
                shown,
                remedy=f"nacre config set --user tiers.path {shlex.quote(str(target))}",
            )
            return
    for layer in TIERS:
        folder = root / layer
        if folder.is_symlink():
            shown, place = workspace.relative(folder), shlex.quote(str(folder))
            yield Problem(
                "layer is a link",
                say(
                    f"{shown} is a link, no layer of its own; nothing in it is organised.",
                    f"{shown} 是链接，不是独立的层；其中的内容不会整理。",
                ),
                shown,
                remedy=f"rm {place} && mkdir {place}",
            )


def journal(workspace: Workspace) -> list[Problem]:
    """A journal of the jobs with lines that say nothing; one row for all of them: it is no memory."""
    path = workspace.machine / "jobs.jsonl"
    shown = workspace.relative(path)
    broken = jsonl.read(path, shown).problems
    if not broken:
        return []
    lines = len(broken)
    return [
        Problem(
            "journal of jobs broken",
            say(
                f"{lines} lines of {shown} cannot be read: when these jobs ran is not known.",
                f"{shown} 有 {lines} 行无法读取：相关任务何时运行过已不可知。",
            ),
            shown,
            broken[0].line,
            remedy=f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}",
        )
    ]


def history(workspace: Workspace, rows: Sequence[jsonl.Row]) -> Iterator[Problem]:
    """Contents that the last operations need to be undone, and that are gone. What was forgotten is gone on purpose."""
    undone = {one for row in rows for one in _listed(row.value.get("undoes")) if isinstance(one, int)}
    last = [row.value for row in rows if _listed(row.value.get("changes")) and row.value.get("id") not in undone]
    wanted = [
        (value["id"], name)
        for value in last[-_OPERATIONS:]
        for change in _listed(value["changes"])
        if isinstance(value.get("id"), int)
        and isinstance(change, dict)
        and change.get("kind") in _NEEDED
        and isinstance(name := change.get("before"), str)
    ][-_CONTENTS:]
    kept = workspace.history / "blobs"
    lost = sorted({number for number, name in wanted if not os.path.exists(kept / name[:2] / name[2:])})
    if lost and not (kept.is_dir() and b'"forgotten"' in (read_bytes(workspace.ledger) or b"")):
        numbers = ", ".join(map(str, lost))
        yield Problem(
            "history lost",
            say(
                f"History has lost what operations {numbers} need to be undone.",
                f"历史缺少撤销操作 {numbers} 所需的内容。",
            ),
            workspace.relative(kept),
            remedy=say(
                f"bring {workspace.relative(kept)} back from a backup; what is changed from now on can be undone",
                f"请从备份恢复 {workspace.relative(kept)}；此后的更改可以撤销",
            ),
        )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
