"""Working memory that was left behind: a task in SESSION-STATE.md that nobody has touched for days."""

from __future__ import annotations

from nacre.errors import NacreError
from nacre.health.desk import Desk
from nacre.health.finding import STATE, UNREADABLE, Finding, quoted
from nacre.vault import working
from nacre.words import say

LEFT = 7  # days without a change after which a task counts as left behind


def left_behind(desk: Desk) -> list[Finding]:
    """The task that stands there, when it is old."""
    shown = desk.workspace.relative(desk.workspace.state)
    try:
        found = working.read(desk.workspace, desk.clock)
        task = working.task(found.document)
    except NacreError as trouble:
        hand = say("mend the file or move it away", "请修复该文件或将其移走")
        return [Finding(UNREADABLE, str(trouble), shown, by_hand=hand)]
    marked = working.day_mark(found.document)  # what the file says of itself, else when it was written
    written = marked[1] if marked else found.written
    age = (desk.today - written).days if written else 0
    if not task or age <= LEFT:
        return []
    message = say(
        f"“{quoted(task)}” has been the current task for {age} days without a change.",
        f"“{quoted(task)}”作为当前任务已有 {age} 天没有变化。",
    )
    return [Finding(STATE, message, shown, command="nacre wal task --clear")]
