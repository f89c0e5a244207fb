"""Calls a tool by its name: the arguments checked, the work done by memory, the result as plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nacre.errors import BadInput
from nacre.tools import schemas
from nacre.tools.arguments import checked
from nacre.words import say

if TYPE_CHECKING:
    from nacre.memory import Memory

Given = dict[str, Any]
Result = dict[str, Any]


def call(memory: Memory, name: str, arguments: Given, *, here: str | None = None) -> Result:
    """What the tool gives; a refusal is raised. `here` is the folder that the agent works in, where it is known."""
    tool = schemas.tool(name)
    if tool is None:
        known = ", ".join(_CALLS)
        raise BadInput(
            say(f'There is no tool "{name[:40]}"; there are {known}.', f"没有“{name[:40]}”这个工具；可用：{known}。")
        )
    return _CALLS[name](memory, checked(tool, arguments), here)


def _search(memory: Memory, given: Given, here: str | None) -> Result:
    layer = given.get("layer")
    filters = memory.filters(
        since=given.get("since"),
        until=given.get("until"),
        layers=[layer] if layer else None,
        project=memory.project_here(here) if here and "\0" not in here else None,
    )
    limit = given.get("maxResults", min(memory.config.search.max_results, schemas.MOST_RESULTS))
    report = memory.ask(
        given["query"],
        limit,
        min_score=given.get("minScore"),
        filters=filters,
        corpus=given.get("corpus", "memory"),
    )
    return report.as_plain()


def _get(memory: Memory, given: Given, _here: str | None) -> Result:
    excerpt = memory.get(given["path"], given.get("from"), given.get("lines", schemas.USUAL_LINES))
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


def _write(memory: Memory, given: Given, _here: str | None) -> Result:
    entry = memory.remember(given["text"], given.get("type"), importance=given.get("importance"), by_agent=True)
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
    from nacre.tools.state import act

    return act(memory.state, given)


def _status(memory: Memory, _given: Given, _here: str | None) -> Result:
    from nacre.tools.status import status

    return status(memory)


_CALLS: dict[str, Callable[[Memory, Given, str | None], Result]] = {
    "memory_search": _search,
    "memory_get": _get,
    "memory_write": _write,
    "memory_forget": _forget,
    "memory_state": _state,
    "memory_status": _status,
}
