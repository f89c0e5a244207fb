"""What the page changes, each through `Memory` as one operation that can be taken back; its number is returned."""

from __future__ import annotations

from typing import Any

from nacre.memory import Memory
from nacre.model.report import fields

Values = dict[str, Any]


def answer(memory: Memory, values: Values) -> dict[str, Any]:
    verb = "accept" if values["answer"] == "keep" else "refuse"
    steps = memory.answer([(values["id"], verb, values.get("text"))])
    return _with_operation(memory, steps=[fields(step, "action path reason", text=step.detail) for step in steps])


def edit(memory: Memory, values: Values) -> dict[str, Any]:
    memory.edit(values["path"], values["id"], values["text"], read=values["hash"])
    return _with_operation(memory)


def pin(memory: Memory, values: Values) -> dict[str, Any]:
    made = memory.pin(values["id"], off=values["off"])
    return _with_operation(memory, pinned=made.pinned)


def forget(memory: Memory, values: Values) -> dict[str, Any]:
    memory.forget(values["id"])
    return _with_operation(memory)


def restore(memory: Memory, values: Values) -> dict[str, Any]:
    moved = memory.bring_back(values["path"])
    return _with_operation(memory, path=moved)


def undo(memory: Memory, values: Values) -> dict[str, Any]:
    made = memory.undo(values["operation"])
    return _with_operation(memory, undoes=list(made.undoes))


def _with_operation(memory: Memory, **facts: Any) -> dict[str, Any]:
    """The facts with the number of the latest operation, which takes this one back; none where history is off."""
    latest = memory.history(1).operations
    return {"operation": latest[-1].id if latest else None, **facts}
