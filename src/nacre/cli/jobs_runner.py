"""Who runs the jobs of a memory by itself, and what to type where nobody does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.memory import Memory

INSTALL, SERVE = "nacre jobs install", "nacre serve --background"


def has_scheduler(memory: Memory) -> bool:
    """Whether something on this machine can run the jobs at their times."""
    from nacre.cli.jobs_install import setup_of
    from nacre.jobs.schedulers import choose_scheduler

    return choose_scheduler(setup_of(memory)) is not None


def runners(memory: Memory, daemon: dict[str, Any] | None) -> list[str]:
    """By whom the jobs are run: schedulers of the machine, and the daemon if it is one that does. `daemon` is what it says of itself."""
    from nacre.jobs import installer

    by = list(installer.installed_kinds(memory.workspace))
    if ((daemon or {}).get("jobs") or {}).get("timed"):
        by.append("nacre serve")
    elif memory.config.jobs.on_demand and memory.config.hooks.start_daemon:
        by.append(say("a daemon that agents start", "代理启动的守护进程"))
    return by


def nobody(memory: Memory) -> str:
    """That nobody runs the jobs, and the command that changes it on this machine."""
    if has_scheduler(memory):
        return say(f'nobody runs them by itself; "{INSTALL}" sets that up', f"不会自动运行；可运行“{INSTALL}”")
    return say(f'nobody runs them by itself; "{SERVE}" does', f"不会自动运行；可运行“{SERVE}”")
