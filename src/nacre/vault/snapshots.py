"""Snapshots of working memory: copies of SESSION-STATE.md beside the other backups, each named for its moment."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, NotFound
from nacre.model.plan import Plan, Step
from nacre.vault import atomic, working
from nacre.vault.operation import Operation, operation
from nacre.vault.rewrite import expect, put, remove
from nacre.vault.workspace import Workspace
from nacre.words import say

MOST = 20
_NAME = re.compile(r"SESSION-STATE\.md\.bak-(?P<moment>\d{4}-\d{2}-\d{2}-\d{6})(?:-(?P<name>[\w-]+))?")
_GIVEN = re.compile(r"[\w-]{1,60}")


@dataclass(frozen=True)
class Snapshot:
    """A copy by its file name: of which moment, and what the user called it."""

    path: Path
    moment: str
    name: str = ""


@dataclass(frozen=True)
class Kept:
    """A snapshot taken or brought back: what is written where, what goes, and the steps to show."""

    snapshot: Snapshot
    target: Path
    read: str | None
    data: bytes
    removals: tuple[tuple[Path, str], ...] = ()
    plan: Plan = Plan()


def snapshots(workspace: Workspace) -> tuple[Snapshot, ...]:
    """Every snapshot, newest first."""
    try:
        with os.scandir(workspace.archive) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except OSError:
        return ()
    found = [(match, name) for name in names if (match := _NAME.fullmatch(name))]
    made = [Snapshot(workspace.archive / name, match["moment"], match["name"] or "") for match, name in found]
    return tuple(sorted(made, key=lambda one: (one.moment, one.name), reverse=True))


def plan_take(workspace: Workspace, clock: Clock, name: str | None = None) -> Kept:
    """What keeping a copy would do. A copy that would be the same as the last one of that name is not made again."""
    wanted = _checked(name)
    data = _current(workspace)
    known = snapshots(workspace)
    for one in known:
        if one.name == wanted:
            if atomic.read_bytes(one.path) == data:
                return Kept(one, one.path, atomic.digest(data), data)
            break
    made = _free(workspace, clock.now(), wanted, {one.moment for one in known})
    steps = [Step("keep", workspace.relative(made.path), say("a copy of working memory", "工作记忆的副本"))]
    removals: list[tuple[Path, str]] = []
    for old in known[MOST - 1 :]:
        if (there := atomic.read_bytes(old.path)) is not None:
            removals.append((old.path, atomic.digest(there)))
            reason = say(f"only the last {MOST} snapshots are kept", f"只保留最近 {MOST} 个快照")
            steps.append(Step("remove", workspace.relative(old.path), reason))
    return Kept(made, made.path, None, data, tuple(removals), Plan(tuple(steps)))


def plan_restore(workspace: Workspace, name: str | None = None) -> Kept:
    """What bringing a copy back would do: the newest, or the newest of that name or moment."""
    known = snapshots(workspace)
    if not known:
        raise NotFound(
            say(
                'There is no snapshot yet; "nacre wal snapshot" keeps one.',
                "还没有快照；“nacre wal snapshot”可保存一个。",
            )
        )
    chosen = next((one for one in known if name is None or name in (one.name, one.moment, _label(one))), None)
    if not chosen:
        there = say(", ", "、").join(_label(one) for one in known)
        raise NotFound(
            say(f'There is no snapshot "{name}"; there are: {there}.', f"没有名为“{name}”的快照；现有：{there}。")
        )
    data = atomic.read_bytes(chosen.path)
    if data is None or len(data) > working.LARGEST:
        shown = workspace.relative(chosen.path)
        raise BadInput(
            say(f"{shown} cannot be brought back: it is gone or too large.", f"无法恢复 {shown}：文件不存在或过大。")
        )
    target = working.writable(workspace)
    now = atomic.read_bytes(target)
    read = None if now is None else atomic.digest(now)
    if now == data:
        return Kept(chosen, target, read, data)
    reason = say(f"as it was at {_label(chosen)}", f"恢复到 {_label(chosen)} 时的样子")
    return Kept(chosen, target, read, data, plan=Plan((Step("restore", workspace.relative(target), reason),)))


def apply(op: Operation, made: Kept) -> None:
    """Write the copy, byte for byte what the user has or had, then let the oldest go."""
    if not made.plan:
        return
    op.place(made.target)
    put(op, made.target, expect(op.workspace, made.target, made.read), made.data)
    for path, read in made.removals:
        remove(op, path, read=read)


def take(workspace: Workspace, clock: Clock, config: Config, name: str | None = None) -> Kept:
    """Keep a copy of working memory as it is now."""
    with operation(workspace, clock, "wal snapshot", config) as op:
        made = plan_take(workspace, clock, name)
        apply(op, made)
    return made


def restore(workspace: Workspace, clock: Clock, config: Config, name: str | None = None) -> Kept:
    """Bring a copy back. What stood there before is kept by history."""
    with operation(workspace, clock, "wal restore", config) as op:
        made = plan_restore(workspace, name)
        apply(op, made)
    return made


def _checked(name: str | None) -> str:
    if name is None or _GIVEN.fullmatch(name):
        return name or ""
    raise BadInput(
        say(
            f'"{name}" is no name for a snapshot; use letters, digits, "-" and "_", 60 at most.',
            f"“{name}”不能作为快照名；请使用文字、数字、“-”和“_”，最多 60 个字符。",
        )
    )


def _current(workspace: Workspace) -> bytes:
    path = working.path_of(workspace)
    data = atomic.read_bytes(path)
    if data is None:
        raise NotFound(
            say(
                f'There is no {path.name} yet; "nacre wal task TEXT" begins one.',
                f"还没有 {path.name}；“nacre wal task 文本”会新建。",
            )
        )
    if len(data) > working.LARGEST:
        raise BadInput(
            say(f"{path.name} is too large for a snapshot. Shorten it.", f"{path.name} 过大，无法保存快照。请精简。")
        )
    return data


def _free(workspace: Workspace, now: dt.datetime, name: str, taken: Container[str]) -> Snapshot:
    """The name of this moment; of the next second when a copy has it already, so that the newest is always known."""
    while (moment := f"{now:%Y-%m-%d-%H%M%S}") in taken:
        now += dt.timedelta(seconds=1)
    file_name = f"SESSION-STATE.md.bak-{moment}" + (f"-{name}" if name else "")
    return Snapshot(workspace.archive / file_name, moment, name)


def _label(one: Snapshot) -> str:
    return f"{one.moment}-{one.name}" if one.name else one.moment
