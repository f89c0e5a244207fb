"""Calls a tool by its name: the arguments checked against its schema, the work done by memory, the result as plain values."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.errors import BadInput, NacreError
from nacre.mcp import tools
from nacre.mcp.resources import longterm_size
from nacre.mcp.tools import Schema, Tool
from nacre.model.entry import EVERYWHERE

if TYPE_CHECKING:
    from nacre.memory import Memory, Working

_LONGEST_PATH = 4096
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": int | float, "boolean": bool}
# What each action of memory_state needs, and what it may be given beside that.
_ACTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
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


def call(memory: Memory, name: str, arguments: dict[str, Any], *, here: str | None = None) -> dict[str, Any]:
    """What the tool gives; a refusal is raised. `here` is the folder that the agent works in, where it is known."""
    tool = tools.tool(name)
    if tool is None:
        names = ", ".join(tool.name for tool in tools.tools())
        raise BadInput(
            f'There is no tool "{name[:40]}"; there are {names}.', f"没有“{name[:40]}”这个工具；可用：{names}。"
        )
    checked = check_arguments(tool, arguments)
    if here and not (os.path.isabs(here) and "\0" not in here and len(here) <= _LONGEST_PATH):
        here = None
    if name == "memory_forget":
        plan = memory.forget(checked["id"]).plan
        places = [match.line.place for match in plan.going]
        return {"forgotten": len(places), "places": places, "alike": [match.line.place for match in plan.alike]}
    if name in ("memory_search", "memory_write"):
        return (_search if name == "memory_search" else _write)(memory, checked, here)
    if name == "memory_get":
        return _get(memory, checked)
    return _state(memory.state, checked) if name == "memory_state" else _status(memory)


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, each of its type and within its bounds. What is null was not given."""
    properties: dict[str, Schema] = tool.takes["properties"]
    for name in arguments:
        if name not in properties:
            names = ", ".join(properties) or "-"
            raise BadInput(
                f'{tool.name} takes no "{str(name)[:40]}"; it takes {names}.',
                f"{tool.name} 没有“{str(name)[:40]}”这个参数；可用：{names}。",
            )
    checked = {name: value for name, value in arguments.items() if value is not None}
    for name in tool.takes.get("required", ()):
        if name not in checked:
            raise BadInput(f'{tool.name} needs "{name}".', f"{tool.name} 需要参数“{name}”。")
    for name, value in checked.items():
        schema = properties[name]
        if schema["type"] == "integer" and isinstance(value, float) and value.is_integer():
            checked[name] = int(value)  # JSON has one kind of number, and some clients write 3.0
        if not _fits(checked[name], schema):
            english, chinese = _expected(schema)
            raise BadInput(f'"{name}" of {tool.name} must be {english}.', f"{tool.name} 的“{name}”应为{chinese}。")
    return checked


def _fits(value: Any, schema: Schema) -> bool:
    expected = _TYPES[schema["type"]]
    if not isinstance(value, expected) or isinstance(value, bool) != (expected is bool):
        return False
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, str):
        is_unicode = value.encode("utf-8", "replace").decode() == value
        return is_unicode and bool(value.strip()) and len(value) <= schema["maxLength"]
    return expected is bool or schema["minimum"] <= value <= schema["maximum"]


def _expected(schema: Schema) -> tuple[str, str]:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}", f"{'、'.join(schema['enum'])} 之一"
    if schema["type"] == "boolean":
        return "true or false", " true 或 false"
    if schema["type"] == "string":
        return f"text of 1 to {schema['maxLength']} characters", f" 1 到 {schema['maxLength']} 个字符的文本"
    least, most, is_whole = schema["minimum"], schema["maximum"], schema["type"] == "integer"
    return (
        f"a {'whole ' * is_whole}number from {least} to {most}",
        f" {least} 到 {most} 的{'整数' if is_whole else '数字'}",
    )


def _search(memory: Memory, arguments: dict[str, Any], here: str | None) -> dict[str, Any]:
    layer = arguments.get("layer")
    filters = memory.filters(
        since=arguments.get("since"),
        until=arguments.get("until"),
        layers=[layer] if layer else None,
        project=memory.project_here(here) if here else None,
    )
    report = memory.ask(
        arguments["query"],
        arguments.get("maxResults", min(memory.config.search.max_results, tools.MOST_RESULTS)),
        min_score=arguments.get("minScore"),
        filters=filters,
        corpus=arguments.get("corpus", "memory"),
    )
    return report.as_plain()


def _get(memory: Memory, arguments: dict[str, Any]) -> dict[str, Any]:
    excerpt = memory.get(arguments["path"], arguments.get("from"), arguments.get("lines", tools.USUAL_LINES))
    result: dict[str, Any] = {
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


def _write(memory: Memory, arguments: dict[str, Any], here: str | None) -> dict[str, Any]:
    entry = memory.remember(
        arguments["text"],
        arguments.get("type"),
        importance=arguments.get("importance"),
        project=arguments.get("project") or (None if here else EVERYWHERE),
        here=here,
        by_agent=True,
    )
    return {
        "path": entry.path,
        "line": entry.line,
        "type": entry.type,
        "text": entry.text,
        "already": entry.already,
        "citation": f"{entry.path}#L{entry.line}-L{entry.line}",
    }


def _state(state: Working, arguments: dict[str, Any]) -> dict[str, Any]:
    action, text, clear = arguments["action"], arguments.get("text", ""), arguments.get("clear", False)
    needed, allowed = ((), ("clear",)) if action == "task" and clear else _ACTIONS[action]
    for name in needed:
        if name not in arguments:
            raise BadInput(f'memory_state {action} needs "{name}".', f"memory_state {action} 需要参数“{name}”。")
    for name in arguments:
        if name not in ("action", *needed, *allowed):
            names = ", ".join((*needed, *allowed)) or "-"
            raise BadInput(
                f'memory_state {action} takes no "{name}"; it takes {names}.',
                f"memory_state {action} 没有“{name}”这个参数；可用：{names}。",
            )
    if action == "get":
        return {"action": action, "changed": False, "state": state.get()}
    if action in ("snapshot", "restore"):
        change = state.snapshot if action == "snapshot" else state.restore
        planned = change(arguments.get("name"))
        path = state.workspace.relative(planned.snapshot.path)
        result = {"action": action, "changed": bool(planned.plan), "path": path}
        return result | ({"state": state.get()} if action == "restore" else {})
    if action == "task":
        edit = state.drop() if clear else state.task(text)
    elif action == "blocker":
        edit = state.clear(text) if clear else state.blocker(text)
    elif action == "context":
        edit = state.context(arguments["key"], arguments["value"])
    elif action == "done":
        edit = state.done(arguments.get("text"))
    else:
        edit = state.decide(text) if action == "decide" else state.pending(text)
    return {
        "action": action,
        "changed": edit.changed,
        "section": edit.section,
        "text": edit.line,
        "path": state.workspace.relative(edit.path),
        "log": list(edit.log),
    }


def _status(memory: Memory) -> dict[str, Any]:
    """How memory stands for its owner, cheap to come by; for a group only how it may be asked."""
    group = memory.scope.group is not None
    names = [tool.name for tool in tools.tools(group=group)]
    status: dict[str, Any] = {"version": __version__, "scope": memory.scope.name, "tools": names}
    if group:
        return status
    from nacre.vault.problems import file_problems

    workspace, limits = memory.workspace, memory.config.memory
    try:
        embedder, reason = memory.embedder()
        models = [model.name for model in embedder.models()] if embedder else []
        search = {"provider": embedder.provider if embedder else None, "models": models, "reason": reason}
    except NacreError as error:
        search = {"provider": None, "models": [], "reason": str(error)}
    size, synced = longterm_size(memory), memory.synced()
    problems = (*memory.problems, *file_problems(workspace, memory.config))
    return status | {
        "search": search,
        "workspace": str(workspace.root),
        "longterm": {
            "lines": size.lines,
            "maxLines": limits.max_lines,
            "bytes": size.bytes,
            "maxBytes": limits.max_bytes,
        },
        "files": dict(Counter(file.layer for file in memory.files())),
        "waiting": dict(zip(("files", "passages"), memory.waiting(), strict=True)),
        "synced": synced.isoformat(timespec="minutes") if synced else None,
        "review": len(memory.questions()),
        "problems": [problem.message for problem in problems],
    }
