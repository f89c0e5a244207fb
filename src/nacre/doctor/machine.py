"""Oddities of the machine: a clock that went wrong, folders that others may write to."""

from __future__ import annotations

import datetime as dt
import os
import stat

from nacre.memory import Memory
from nacre.model.problem import Problem
from nacre.vault.workspace import DAY_NAME, Workspace
from nacre.words import say

_EARLIEST = 2025  # a clock that tells an earlier year was never set
_SLACK = dt.timedelta(days=1)  # a log of tomorrow is another time zone, not a wrong clock
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def problems(memory: Memory) -> list[Problem]:
    return [*_clock(memory), *_permissions(memory.workspace)]


def _clock(memory: Memory) -> list[Problem]:
    """Whether today can be right. With --now the clock is not the machine's, and nothing is to be said of it."""
    if memory.clock.fixed is not None:
        return []
    now = memory.clock.now()
    found: list[Problem] = []
    mend = say("set the clock, or the setting timezone", "请校准时钟，或设置 timezone")
    if now.year < _EARLIEST:
        message = say(f"The clock says {now:%Y-%m-%d}; it was never set.", f"时钟显示 {now:%Y-%m-%d}，从未校准。")
        found.append(Problem("clock", message, remedy=mend))
    if ahead := _latest_day(memory.workspace, (now + _SLACK).date()):
        message = say(
            f"{ahead} is dated after today, {now:%Y-%m-%d}: the clock or the time zone was or is wrong.",
            f"{ahead} 的日期晚于今天（{now:%Y-%m-%d}）：时钟或时区曾经或现在有误。",
        )
        found.append(Problem("clock", message, ahead, remedy=mend))
    synced = memory.synced()
    if synced and synced > now + _SLACK:
        message = say(
            f"The last capture is dated {synced:%Y-%m-%d %H:%M}, which is still to come.",
            f"最近一次采集的时间是 {synced:%Y-%m-%d %H:%M}，尚未到来。",
        )
        found.append(Problem("clock", message, remedy=mend))
    return found


def _latest_day(workspace: Workspace, limit: dt.date) -> str | None:
    """The log of the latest day, when it lies after the limit."""
    try:
        names = [name for name in os.listdir(workspace.memory) if DAY_NAME.fullmatch(name)]
    except OSError:
        return None
    latest = max(names, default="")
    return f"memory/{latest}" if latest[:10] > limit.isoformat() else None


def _permissions(workspace: Workspace) -> list[Problem]:
    """Who may write here speaks through every session that reads it."""
    found: list[Problem] = []
    for path, remedy in (
        (workspace.root, f"chmod go-w {workspace.root}"),
        (workspace.machine, "nacre doctor --fix"),
    ):
        if _others_may_write(str(path)):
            message = say(
                f"Other users may write to {path}, and so put words into your agents' memory.",
                f"其他用户可以写入 {path}，从而篡改您的代理的记忆。",
            )
            found.append(Problem("open to others", message, str(path), remedy=remedy))
    return found


def close_to_others(workspace: Workspace) -> list[str]:
    """Take from others the right to write to our own folder; the user's is left as it is."""
    path = str(workspace.machine)
    if not _others_may_write(path):
        return []
    os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS_WRITE)
    return [say(f"{path} is closed to other users.", f"{path} 已禁止其他用户写入。")]


def _others_may_write(path: str) -> bool:
    try:
        about = os.lstat(path)
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return mine and stat.S_ISDIR(about.st_mode) and bool(about.st_mode & _OTHERS_WRITE)
