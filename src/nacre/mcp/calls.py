"""Calls a tool by its name: the arguments checked against its schema, the work done by memory, the result as plain values."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.errors import BadInput, NacreError
from nacre.i18n import say
from nacre.mcp import tools
from nacre.mcp.tools import Schema, Tool
from nacre.model.entry import EVERYWHERE

if TYPE_CHECKING:
    from nacre.memory import Memory, Working
    from nacre.vault.wal import Edit, SnapshotPlan


_KINDS = {
    "string": ("text", "文本"),
    "integer": ("a whole number", "整数"),
    "number": ("a number", "数字"),
    "boolean": ("true or false", "true 或 false"),
}


def checked_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, each of its kind and within its bounds. What is null was not given."""
    known: dict[str, Schema] = tool.takes["properties"]
    for name in given:
        if name not in known:
            names = ", ".join(known) or "-"
            raise BadInput(
                say(
                    f'{tool.name} takes no "{str(name)[:40]}"; it takes {names}.',
                    f"{tool.name} 没有“{str(name)[:40]}”这个参数；可用：{names}。",
                )
            )
    found = {name: value for name, value in given.items() if value is not None}
    for name in tool.takes.get("required", ()):
        if name not in found:
            raise BadInput(say(f'{tool.name} needs "{name}".', f"{tool.name} 需要参数“{name}”。"))
    return {name: _value(tool.name, name, value, known[name]) for name, value in found.items()}


def _value(tool: str, name: str, value: Any, schema: Schema) -> Any:
    kind = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one kind of number, and some clients write 3.0
    if not _is(kind, value):
        english, chinese = _KINDS[kind]
        raise BadInput(say(f'"{name}" of {tool} must be {english}.', f"{tool} 的“{name}”必须是{chinese}。"))
    if among := schema.get("enum"):
        if value not in among:
            raise BadInput(
                say(
                    f'"{name}" of {tool} is one of {", ".join(among)}, not "{value[:40]}".',
                    f"{tool} 的“{name}”可为 {'、'.join(among)}，不能是“{value[:40]}”。",
                )
            )
    elif kind == "string":
        _length(tool, name, value, schema)
    elif kind != "boolean":
        _bounds(tool, name, value, schema)
    return value


def _is(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if kind == "integer" else isinstance(value, int | float) and math.isfinite(value)


def _length(tool: str, name: str, value: str, schema: Schema) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as trouble:
        raise BadInput(
            say(f'"{name}" of {tool} is not valid Unicode text.', f"{tool} 的“{name}”不是有效的 Unicode 文本。")
        ) from trouble
    if not value.strip():
        raise BadInput(say(f'"{name}" of {tool} is empty.', f"{tool} 的“{name}”为空。"))
    if len(value) > schema["maxLength"]:
        raise BadInput(
            say(
                f'"{name}" of {tool} has {len(value)} characters; at most {schema["maxLength"]} are taken.',
                f"{tool} 的“{name}”有 {len(value)} 个字符；最多 {schema['maxLength']} 个。",
            )
        )


def _bounds(tool: str, name: str, value: float, schema: Schema) -> None:
    least, most = schema["minimum"], schema["maximum"]
    if not least <= value <= most:
        raise BadInput(
            say(
                f'"{name}" of {tool} lies between {least} and {most}; {value} does not.',
                f"{tool} 的“{name}”须在 {least} 到 {most} 之间，{value} 不在其中。",
            )
        )


# The actions of memory_state: each with the arguments that it takes, done on working memory.

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


def act_on_state(state: Working, given: dict[str, Any]) -> dict[str, Any]:
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


def _kept(state: Working, action: str, made: SnapshotPlan) -> dict[str, Any]:
    return {"action": action, "changed": bool(made.plan), "path": state.workspace.relative(made.snapshot.path)}


# What memory_status tells: how memory stands for its owner; for a group only how it may be asked.


def status(memory: Memory) -> dict[str, Any]:
    """Plain values, cheap to come by: nothing is embedded and nothing written."""
    group = memory.scope.group
    told: dict[str, Any] = {
        "version": __version__,
        "scope": "main" if group is None else f"group:{group}",
        "tools": [one.name for one in tools.tools(group=group is not None)],
    }
    return told if group is not None else told | _for_the_owner(memory)


def _for_the_owner(memory: Memory) -> dict[str, Any]:
    from nacre.vault import disk
    from nacre.vault.files import memory_files
    from nacre.vault.problems import file_problems
    from nacre.vault.writing import size_of

    workspace, config = memory.workspace, memory.config
    size = size_of(disk.read_bytes(workspace.longterm))
    synced = memory.synced()
    return {
        "search": _search_status(memory),
        "workspace": str(workspace.root),
        "longterm": {
            "lines": size.lines,
            "maxLines": config.memory.max_lines,
            "bytes": size.bytes,
            "maxBytes": config.memory.max_bytes,
        },
        "files": dict(Counter(found.layer for found in memory_files(workspace, config))),
        "waiting": dict(zip(("files", "passages"), memory.waiting(), strict=True)),
        "synced": synced.isoformat(timespec="minutes") if synced else None,
        "review": len(memory.questions()),
        "problems": [one.message for one in (*memory.problems, *file_problems(workspace, config))],
    }


def _search_status(memory: Memory) -> dict[str, Any]:
    try:
        embedder, reason = memory.embedder()
    except NacreError as trouble:
        return {"provider": None, "models": [], "reason": str(trouble)}
    models = [model.name for model in embedder.models()] if embedder else []
    return {"provider": embedder.provider if embedder else None, "models": models, "reason": reason}


# Calls a tool by its name: the arguments checked, the work done by memory, the result as plain values.

_LONGEST_PATH = 4096
Given = dict[str, Any]
Result = dict[str, Any]


def call(memory: Memory, name: str, arguments: Given, *, here: str | None = None) -> Result:
    """What the tool gives; a refusal is raised. `here` is the folder that the agent works in, where it is known."""
    tool = tools.tool(name)
    if tool is None:
        known = ", ".join(_CALLS)
        raise BadInput(
            say(f'There is no tool "{name[:40]}"; there are {known}.', f"没有“{name[:40]}”这个工具；可用：{known}。")
        )
    return _CALLS[name](memory, checked_arguments(tool, arguments), here)


def _search(memory: Memory, given: Given, here: str | None) -> Result:
    layer = given.get("layer")
    filters = memory.filters(
        since=given.get("since"),
        until=given.get("until"),
        layers=[layer] if layer else None,
        project=memory.project_here(here) if here and "\0" not in here else None,
    )
    limit = given.get("maxResults", min(memory.config.search.max_results, tools.MOST_RESULTS))
    report = memory.ask(
        given["query"],
        limit,
        min_score=given.get("minScore"),
        filters=filters,
        corpus=given.get("corpus", "memory"),
    )
    return report.as_plain()


def _get(memory: Memory, given: Given, _here: str | None) -> Result:
    excerpt = memory.get(given["path"], given.get("from"), given.get("lines", tools.USUAL_LINES))
    result: Result = {
        "path": excerpt.path,
        "text": excerpt.text,
        "from": excerpt.start_line,
        "lines": excerpt.end_line - excerpt.start_line + 1,
        "truncated": excerpt.more,
        "citation": f"{excerpt.path}#L{excerpt.start_line}-L{excerpt.end_line}",
    }
    if excerpt.more:
        result["nextFrom"] = excerpt.end_line + 1
    if notes := [problem.message for problem in memory.problems if problem.kind == "not counted"]:
        result["notes"] = notes
    return result


def _write(memory: Memory, given: Given, here: str | None) -> Result:
    is_place = here and os.path.isabs(here) and "\0" not in here and len(here) <= _LONGEST_PATH
    project = given.get("project") or (None if is_place else EVERYWHERE)
    entry = memory.remember(
        given["text"], given.get("type"), importance=given.get("importance"), project=project, here=here, by_agent=True
    )
    return {
        "path": entry.path,
        "line": entry.line,
        "type": entry.type,
        "text": entry.text,
        "already": entry.already,
        "citation": f"{entry.path}#L{entry.line}-L{entry.line}",
    }


def _forget(memory: Memory, given: Given, _here: str | None) -> Result:
    plan = memory.forget(given["id"]).plan
    return {
        "forgotten": len(plan.going),
        "places": [one.line.place for one in plan.going],
        "alike": [one.line.place for one in plan.alike],
    }


def _state(memory: Memory, given: Given, _here: str | None) -> Result:

    return act_on_state(memory.state, given)


def _status(memory: Memory, _given: Given, _here: str | None) -> Result:

    return status(memory)


_CALLS: dict[str, Callable[[Memory, Given, str | None], Result]] = {
    "memory_search": _search,
    "memory_get": _get,
    "memory_write": _write,
    "memory_forget": _forget,
    "memory_state": _state,
    "memory_status": _status,
}
