"""The actions of memory_state: each with the arguments that it takes, done on working memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nacre.errors import BadInput
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory.working import Working
    from nacre.vault.snapshots import Kept
    from nacre.vault.wal import Edit

# What each action needs, and what it may be given beside that.
_TAKES = {
    "task": (("text",), ("clear",)),
    "decide": (("text",), ()),
    "context": (("key", "value"), ()),
    "pending": (("text",), ()),
    "done": ((), ("text",)),
    "blocker": (("text",), ("clear",)),
    "get": ((), ()),
    "snapshot": ((), ("name",)),
    "restore": ((), ("name",)),
}


def act(state: Working, given: dict[str, Any]) -> dict[str, Any]:
    """Do what the action says; what came of it."""
    action = given["action"]
    _must_fit(action, given)
    if action == "get":
        return {"action": action, "changed": False, "state": state.get()}
    if action == "snapshot":
        return _kept(state, action, state.snapshot(given.get("name")))
    if action == "restore":
        return _kept(state, action, state.restore(given.get("name"))) | {"state": state.get()}
    return _edited(state, action, _edit(state, action, given))


def _edit(state: Working, action: str, given: dict[str, Any]) -> Edit:
    text, clear = given.get("text", ""), given.get("clear", False)
    if action == "task":
        return state.drop() if clear else state.task(text)
    if action == "blocker":
        return state.clear(text) if clear else state.blocker(text)
    if action == "context":
        return state.context(given["key"], given["value"])
    if action == "done":
        return state.done(given.get("text"))
    return state.decide(text) if action == "decide" else state.pending(text)


def _must_fit(action: str, given: dict[str, Any]) -> None:
    needs, may = _TAKES[action]
    if action == "task" and given.get("clear"):
        needs, may = (), ("clear",)
    for name in needs:
        if name not in given:
            raise BadInput(say(f'memory_state {action} needs "{name}".', f"memory_state {action} 需要参数“{name}”。"))
    for name in given:
        if name not in ("action", *needs, *may):
            takes = ", ".join((*needs, *may)) or "-"
            raise BadInput(
                say(
                    f'memory_state {action} takes no "{name}"; it takes {takes}.',
                    f"memory_state {action} 没有“{name}”这个参数；可用：{takes}。",
                )
            )


def _edited(state: Working, action: str, made: Edit) -> dict[str, Any]:
    told = {"action": action, "changed": made.changed, "section": made.section, "text": made.line}
    return told | {"path": state.workspace.relative(made.path), "log": list(made.log)}


def _kept(state: Working, action: str, made: Kept) -> dict[str, Any]:
    return {"action": action, "changed": bool(made.plan), "path": state.workspace.relative(made.snapshot.path)}
