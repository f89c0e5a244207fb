"""Calls a tool by its name: the arguments checked against its schema, the work done by memory, the result as plain values."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.errors import BadInput, NacreError
from nacre.mcp import tools
from nacre.mcp.tools import Schema, Tool
from nacre.model.entry import EVERYWHERE
from nacre.model.report import fields

if TYPE_CHECKING:
    from nacre.memory import Memory

_LONGEST_PATH = 4096
_TYPES = {
    "string": (str, "text", "文本"),
    "integer": (int, "a whole number", "整数"),
    "number": (int | float, "a number", "数字"),
    "boolean": (bool, "true or false", "true 或 false"),
}
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
        names = ", ".join(_CALLS)
        english = f'There is no tool "{name[:40]}"; there are {names}.'
        raise BadInput(english, f"没有“{name[:40]}”这个工具；可用：{names}。")
    checked = check_arguments(tool, arguments)
    if here and not (os.path.isabs(here) and "\0" not in here and len(here) <= _LONGEST_PATH):
        here = None
    return _CALLS[name](memory, checked, here)


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, each of its type and within its bounds. What is null was not given."""
    properties: dict[str, Schema] = tool.takes["properties"]
    checked = {name: value for name, value in arguments.items() if value is not None or name not in properties}
    _check_names(tool.name, checked, tool.takes.get("required", ()), properties)
    for name, value in checked.items():
        if properties[name]["type"] == "integer" and isinstance(value, float) and value.is_integer():
            checked[name] = int(value)  # JSON has one kind of number, and some clients write 3.0
        _check_value(f'"{name}" of {tool.name}', f"{tool.name} 的“{name}”", checked[name], properties[name])
    return checked


def _check_names(what: str, given: Collection[str], needed: Collection[str], allowed: Collection[str]) -> None:
    for name in given:
        if name not in allowed:
            names, shown = ", ".join(allowed) or "-", str(name)[:40]
            raise BadInput(
                f'{what} takes no "{shown}"; it takes {names}.', f"{what} 没有“{shown}”这个参数；可用：{names}。"
            )
    for name in needed:
        if name not in given:
            raise BadInput(f'{what} needs "{name}".', f"{what} 需要参数“{name}”。")


def _check_value(which: str, chinese: str, value: Any, schema: Schema) -> None:
    expected, kind, kind_chinese = _TYPES[schema["type"]]
    least, most = schema.get("minimum"), schema.get("maximum")
    fits = isinstance(value, expected) and isinstance(value, bool) == (expected is bool)
    if not fits or (isinstance(value, float) and not math.isfinite(value)):
        raise BadInput(f"{which} must be {kind}.", f"{chinese}必须是{kind_chinese}。")
    if value not in schema.get("enum", [value]):
        names, shown = schema["enum"], value[:40]
        english = f'{which} is one of {", ".join(names)}, not "{shown}".'
        raise BadInput(english, f"{chinese}可为 {'、'.join(names)}，不能是“{shown}”。")
    if least is not None and not least <= value <= most:
        english = f"{which} lies between {least} and {most}; {value} does not."
        raise BadInput(english, f"{chinese}须在 {least} 到 {most} 之间，{value} 不在其中。")
    if longest := schema.get("maxLength"):
        if value.encode("utf-8", "replace").decode() != value:
            raise BadInput(f"{which} is not valid Unicode text.", f"{chinese}不是有效的 Unicode 文本。")
        if not value.strip():
            raise BadInput(f"{which} is empty.", f"{chinese}为空。")
        if len(value) > longest:
            english = f"{which} has {len(value)} characters; at most {longest} are taken."
            raise BadInput(english, f"{chinese}有 {len(value)} 个字符；最多 {longest} 个。")


def _search(memory: Memory, arguments: dict[str, Any], here: str | None) -> dict[str, Any]:
    filters = memory.filters(
        since=arguments.get("since"),
        until=arguments.get("until"),
        layers=[arguments["layer"]] if "layer" in arguments else None,
        project=memory.project_here(here) if here else None,
    )
    limit = arguments.get("maxResults", min(memory.config.search.max_results, tools.MOST_RESULTS))
    least, corpus = arguments.get("minScore"), arguments.get("corpus", "memory")
    return memory.ask(arguments["query"], limit, min_score=least, filters=filters, corpus=corpus).as_plain()


def _get(memory: Memory, arguments: dict[str, Any], _here: str | None) -> dict[str, Any]:
    excerpt = memory.get(arguments["path"], arguments.get("from"), arguments.get("lines", tools.USUAL_LINES))
    first, last = excerpt.start_line, excerpt.end_line
    result = {"path": excerpt.path, "text": excerpt.text, "from": first, "lines": last - first + 1}
    result |= {"truncated": excerpt.more, "citation": f"{excerpt.path}#L{first}-L{last}"}
    notes = [problem.message for problem in memory.problems if problem.kind == "not counted"]
    return result | ({"nextFrom": last + 1} if excerpt.more else {}) | ({"notes": notes} if notes else {})


def _write(memory: Memory, arguments: dict[str, Any], here: str | None) -> dict[str, Any]:
    entry = memory.remember(
        arguments["text"],
        arguments.get("type"),
        importance=arguments.get("importance"),
        project=arguments.get("project") or (None if here else EVERYWHERE),
        here=here,
        by_agent=True,
    )
    return fields(entry, "path line type text already", citation=f"{entry.path}#L{entry.line}-L{entry.line}")


def _forget(memory: Memory, arguments: dict[str, Any], _here: str | None) -> dict[str, Any]:
    plan = memory.forget(arguments["id"]).plan
    places, alike = ([removal.line.place for removal in removals] for removals in (plan.going, plan.alike))
    return {"forgotten": len(places), "places": places, "alike": alike}


def _state(memory: Memory, arguments: dict[str, Any], _here: str | None) -> dict[str, Any]:
    state, action, clear = memory.state, arguments["action"], arguments.get("clear", False)
    needed, optional = ((), ("clear",)) if action == "task" and clear else _ACTIONS[action]
    given = [name for name in arguments if name != "action"]
    _check_names(f"memory_state {action}", given, needed, (*needed, *optional))
    if action == "get":
        return {"action": action, "changed": False, "state": state.get()}
    if action in ("snapshot", "restore"):
        made = (state.snapshot if action == "snapshot" else state.restore)(arguments.get("name"))
        result = {"action": action, "changed": bool(made.plan), "path": state.workspace.relative(made.snapshot.path)}
        return result | ({"state": state.get()} if action == "restore" else {})
    change = {"task": "drop", "blocker": "clear"}[action] if clear else action
    change = "finish" if action == "done" and "text" not in arguments else change
    edit = state.change(change, *(arguments[name] for name in ("key", "value", "text") if name in arguments))
    path = state.workspace.relative(edit.path)
    return {"action": action, **fields(edit, "changed section", text=edit.line, path=path, log=list(edit.log))}


def _status(memory: Memory, _arguments: dict[str, Any], _here: str | None) -> dict[str, Any]:
    """How memory stands for its owner, cheap to come by; for a group only how it may be asked."""
    group = memory.scope.group is not None
    names = [tool.name for tool in tools.tools(group=group)]
    status: dict[str, Any] = {"version": __version__, "scope": memory.scope.name, "tools": names}
    if group:
        return status
    try:
        embedder, reason = memory.embedder()
        models = [model.name for model in embedder.models()] if embedder else []
        search = {"provider": embedder.provider if embedder else None, "models": models, "reason": reason}
    except NacreError as error:
        search = {"provider": None, "models": [], "reason": str(error)}
    size, limits, synced = memory.longterm_size(), memory.config.memory, memory.synced()
    longterm = {"lines": size.lines, "maxLines": limits.max_lines, "bytes": size.bytes, "maxBytes": limits.max_bytes}
    return status | {
        "search": search,
        "workspace": str(memory.workspace.root),
        "longterm": longterm,
        "files": dict(Counter(file.layer for file in memory.files())),
        "waiting": dict(zip(("files", "passages"), memory.waiting(), strict=True)),
        "synced": synced.isoformat(timespec="minutes") if synced else None,
        "review": len(memory.questions()),
        "problems": [problem.message for problem in memory.all_problems()],
    }


_CALLS: dict[str, Callable[[Memory, dict[str, Any], str | None], dict[str, Any]]] = {
    "memory_search": _search,
    "memory_get": _get,
    "memory_write": _write,
    "memory_forget": _forget,
    "memory_state": _state,
    "memory_status": _status,
}
