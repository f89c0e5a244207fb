"""The data of each view, once for the page and its twin under `/api/`: what `Memory` tells, in the words that scripts know."""

from __future__ import annotations

from typing import Any

from nacre.memory import Memory
from nacre.model.report import fields
from nacre.tidy.night import consequence, failure, outcome

_AROUND = 12  # lines shown before and behind the marked ones
_MOST_LINES = 400
_OF_LAYER = 30  # checkpoints on a page
_ACTIONS = ("kept", "replaced", "moved out", "refused", "asked")
Values = dict[str, Any]


def morning(memory: Memory, _values: Values) -> dict[str, Any]:
    night = memory.last_night()
    operation, decisions, left = night or (None, [], {})
    groups = {action: [row._asdict() for row in decisions if row.action == action] for action in _ACTIONS}
    for row in (row for rows in groups.values() for row in rows):
        row["source"] = dict(row["source"])
    return {
        "at": operation.at if operation else None,
        "operation": operation.id if operation else None,
        "decisions": groups,
        "left": dict(left),
        "questions": [question.shown() for question in memory.questions()],
    }


def memory(memory: Memory, _values: Values) -> dict[str, Any]:
    names = "id text section line end_line pinned verdict valid_from confidence said session used uses"
    files = []
    for file in memory.longterm():
        entries = [fields(entry, names, editable=entry.is_whole) for entry in file.entries]
        sizes = {"size": file.size._asdict(), "limits": file.limits._asdict()}
        files.append(fields(file, "path project hash trouble left", **sizes, entries=entries))
    return {"files": files}


def search(memory: Memory, values: Values) -> dict[str, Any]:
    query = values.get("q")
    if not query:
        return {"query": None, "results": []}
    narrowing = {name: values.get(name) for name in ("type", "project", "since", "until")}
    filters = memory.filters(layers=[values["layer"]] if values.get("layer") else None, **narrowing)
    report = memory.ask(query, values.get("limit"), mode=values.get("mode") or "hybrid", filters=filters)
    rows = [hit.as_plain() | {"parts": dict(hit.parts)} for hit in report.hits]
    return {"query": query, **report.as_plain(), "results": rows}


def entry(memory: Memory, values: Values) -> dict[str, Any]:
    data = memory.why(values["id"]).as_plain()
    for row in data["ledger"]:
        told = outcome(row["verdict"]), failure(row["failed"] or ""), consequence(row["withoutIt"])
        row["words"] = " · ".join(filter(None, told))
    return data


def conversation(memory: Memory, values: Values) -> dict[str, Any]:
    return {"id": values["id"], **_plain(memory.conversation(values["id"], values["message"]))}


def file(memory: Memory, values: Values) -> dict[str, Any]:
    first = values.get("line")
    last = max(first, values.get("end") or first) if first else None
    start = max(1, first - _AROUND) if first else 1
    count = min(last - start + 1 + _AROUND, _MOST_LINES) if last else 4 * _AROUND
    # A look at the page is no recall: it would count again with every refresh.
    excerpt = memory.get(values["path"], start, count, via=None)
    lines = [
        {"number": number, "text": text, "marked": bool(first and last and first <= number <= last)}
        for number, text in enumerate(excerpt.text.split("\n"), start=excerpt.start_line)
    ]
    return fields(excerpt, "path start_line end_line more", lines=lines)


# By time: days, sessions, layers.


def timeline(memory: Memory, values: Values) -> dict[str, Any]:
    if values.get("id"):
        return {"id": values["id"], "changes": _plain(memory.changes(values["id"]))}
    return dict(_plain(memory.timeline(values.get("since"), values.get("until"))))


def sessions(memory: Memory, values: Values) -> dict[str, Any]:
    return dict(_plain(memory.session_overviews(values.get("until"))))


def layers(memory: Memory, values: Values) -> dict[str, Any]:
    page, layer = values.get("page") or 1, values.get("layer") or "warm"
    made = memory.layers(layer, (page - 1) * _OF_LAYER, most=_OF_LAYER)
    return {**_plain(made), "layer": layer, "page": page, "pages": -(-made.counts[layer] // _OF_LAYER)}


def _plain(value: Any) -> Any:
    """Values as JSON knows them: an object for everything with names."""
    if hasattr(value, "_asdict"):
        return {name: _plain(held) for name, held in value._asdict().items()}
    return [_plain(held) for held in value] if isinstance(value, list | tuple) else value
