"""What the page shows and does: the data of each view, once for people and once for programs under `/api/`, and each change, in the
words that scripts know; one table of them all with their parameters, and the OpenAPI document made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nacre import __version__
from nacre.checks.doctor import examine
from nacre.checks.health import Health, graded, kind_title
from nacre.checks.status import findings, job_facts
from nacre.errors import BadInput
from nacre.jobs.journal import read_journal
from nacre.memory import MODES, Memory, legible
from nacre.model import LAYERS, fields
from nacre.tidy.summary import consequence, failure, outcome

Values = dict[str, Any]
PERIODS = ("30", "90", "365")  # days
_AROUND = 12  # lines shown before and behind the marked ones
_MOST_LINES = 400  # of a file or a difference
_ON_PAGE = 30  # checkpoints, orders or operations
_MOST_RUNS = 40
_LAST_DAYS = 30  # of the brain's account
_ACTIONS = ("kept", "replaced", "moved out", "refused", "asked")
_MOST_CHARACTERS = 10_000  # of one value
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Parameter:
    """A value that a view or an action takes. A flag is on when it is given and is not "0", "false" or empty."""

    name: str
    kind: type = str
    choices: tuple[str, ...] = ()
    required: bool = False

    def read(self, given: Mapping[str, Any]) -> Any:
        """The value, checked; None where it was not given."""
        value = given.get(self.name)
        if self.kind is bool:
            return value is True or str(value or "").lower() not in ("", "0", "false")
        text = "" if value is None else str(value)
        if not text.strip():
            if self.required:
                raise BadInput(f'"{self.name}" is missing.', f"缺少“{self.name}”。")
            return None
        is_number = text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _LARGEST
        fits = (self.kind is not int or is_number) and (not self.choices or text in self.choices)
        if not fits or len(text) > _MOST_CHARACTERS or "\0" in text or text.encode("utf-8", "replace").decode() != text:
            raise BadInput(f'"{self.name}" has an invalid value.', f"“{self.name}”的值无效。")
        return int(text) if self.kind is int else text

    @property
    def schema(self) -> dict[str, Any]:
        if self.kind is int:
            return {"type": "integer", "minimum": 1, "maximum": _LARGEST}
        enum = {"enum": list(self.choices)} if self.choices else {}
        return {"type": "boolean" if self.kind is bool else "string", **enum}


@dataclass(frozen=True)
class View:
    """A page `/name` with the template `name.html`, and its twin `/api/name`: the same data, once for people and once for programs."""

    name: str
    data: Callable[[Memory, Values], dict[str, Any]]
    parameters: tuple[Parameter, ...] = ()
    title: tuple[str, str] | None = None  # in the navigation
    is_aside: bool = False  # in the menu behind the first ones
    part: str | None = None  # the parameter that may also stand in the path: /about/NAME

    @property
    def path(self) -> str:
        return "/" if self is VIEWS[0] else f"/{self.name}"


@dataclass(frozen=True)
class Action:
    """A change: POST `/name` by a form, which leads back to the page it came from, and POST `/api/name`, which returns the same facts."""

    name: str
    do: Callable[[Memory, Values], dict[str, Any]]
    done: tuple[str, str]  # what is said when it is done
    parameters: tuple[Parameter, ...] = ()


# The data of each view.


def morning(memory: Memory, _values: Values) -> dict[str, Any]:
    operation, decisions, left = memory.last_tidy() or (None, [], {})
    rows = [decision._asdict() | {"source": dict(decision.source)} for decision in decisions]
    return {
        "at": operation.at if operation else None,
        "operation": operation.id if operation else None,
        "decisions": {action: [row for row in rows if row["action"] == action] for action in _ACTIONS},
        "left": dict(left),
        "questions": [question.shown() for question in memory.questions()],
    }


def memory(memory: Memory, _values: Values) -> dict[str, Any]:
    names = "id text section line end_line pinned verdict valid_from confidence said session used uses"
    files = []
    for file in memory.longterm():
        entries = [fields(entry, names, editable=entry.is_whole) for entry in file.entries]
        size, limits = file.size._asdict(), file.limits._asdict()
        files.append(
            fields(
                file, "path project hash trouble left size limits entries", size=size, limits=limits, entries=entries
            )
        )
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
        details = outcome(row["verdict"]), failure(row["failed"] or ""), consequence(row["withoutIt"])
        row["words"] = " · ".join(filter(None, details))
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
    shown = memory.layers(layer, (page - 1) * _ON_PAGE, most=_ON_PAGE)
    return {**_plain(shown), "layer": layer, "page": page, "pages": -(-shown.counts[layer] // _ON_PAGE)}


def _plain(value: Any) -> Any:
    """Values as JSON knows them: an object for everything with names."""
    if hasattr(value, "_asdict"):
        return {name: _plain(held) for name, held in value._asdict().items()}
    return [_plain(held) for held in value] if isinstance(value, list | tuple) else value


# Over everything: names, growth, the brain, problems, jobs and history.


def about(memory: Memory, values: Values) -> dict[str, Any]:
    if name := values.get("name"):
        return memory.about(name).as_plain()
    return {"name": None, "names": [known._asdict() for known in memory.names()]}


def growth(memory: Memory, values: Values) -> dict[str, Any]:
    days = int(values.get("days") or PERIODS[1])
    return {"period": days, **memory.growth(days)}


def brain(memory: Memory, values: Values) -> dict[str, Any]:
    records, page = memory.orders()[::-1], values.get("page") or 1
    rows, older = _page_of([record.as_plain(memory.clock) for record in records], page)
    shown = None
    if chosen := next((record for record in records if record.key.startswith(values.get("order") or "-")), None):
        words = {"text": legible(chosen.text), "answer": legible(chosen.answer or "") or None}
        shown = chosen.as_plain(memory.clock) | words
    listed = {"orders": rows, "page": page, "older": older, "order": shown}
    return {"brain": memory.brain_facts(), **memory.brain_account(_LAST_DAYS), **listed}


def problems(memory: Memory, values: Values) -> dict[str, Any]:
    deep, rows = values["deep"], findings(memory)
    return {
        "deep": deep,
        "problems": [problem.as_plain() for problem in examine(memory, quick=not deep)],
        "health": Health(graded(rows), rows, {}).as_plain(),
        "titles": {finding.kind: kind_title(finding.kind) for finding in rows},
    }


def jobs(memory: Memory, _values: Values) -> dict[str, Any]:
    def iso(moment: Any) -> str | None:
        return memory.clock.local(moment).isoformat(timespec="seconds") if moment else None

    names, newest = "job started window attempt why result seconds said", read_journal(memory.workspace).runs[::-1]
    runs = [fields(run, names, started=iso(run.started), window=iso(run.window)) for run in newest[:_MOST_RUNS]]
    return {**job_facts(memory), "runs": runs}


def history(memory: Memory, values: Values) -> dict[str, Any]:
    page = values.get("page") or 1
    rows, older = _page_of(memory.history(page * _ON_PAGE + 1).operations[::-1], page)
    paths = list(dict.fromkeys(change.path for row in rows for change in row.changes))
    names = legible("\n".join(paths)).split("\n")  # at once: thirty times is the most of what the page would take
    shown = dict(zip(paths, names if len(names) == len(paths) else map(legible, paths), strict=False))
    diff = None
    if number := values.get("operation"):
        lines = legible(memory.diff(number)).split("\n")[:-1]
        diff = {"operation": number, "lines": lines[:_MOST_LINES], "left": max(0, len(lines) - _MOST_LINES)}
    return {"operations": [_operation(row, shown) for row in rows], "page": page, "older": older, "diff": diff}


def _operation(operation: Any, shown: dict[str, str]) -> dict[str, Any]:
    """An operation as the page lists it; the creation of the workspace and what was undone cannot be undone."""
    files = list(dict.fromkeys(shown[change.path] for change in operation.changes))
    may_undo = operation.state in ("done", "partly done") and operation.command != "init" and bool(files)
    return fields(operation, "id at command state undone_by undoes", files=files, undo=may_undo)


def _page_of(rows: Any, page: int) -> tuple[list[Any], bool]:
    """The rows of a page, and whether there are more behind it."""
    return list(rows[(page - 1) * _ON_PAGE : page * _ON_PAGE]), len(rows) > page * _ON_PAGE


# What the page changes, each through `Memory` as one operation that can be taken back; its number is returned.


def answer(memory: Memory, values: Values) -> dict[str, Any]:
    steps = memory.answer([(values["id"], "accept" if values["answer"] == "keep" else "refuse", values.get("text"))])
    return _with_operation(memory, steps=[fields(step, "action path reason", text=step.detail) for step in steps])


def edit(memory: Memory, values: Values) -> dict[str, Any]:
    memory.edit(values["path"], values["id"], values["text"], read=values["hash"])
    return _with_operation(memory)


def pin(memory: Memory, values: Values) -> dict[str, Any]:
    return _with_operation(memory, pinned=memory.pin(values["id"], off=values["off"]).pinned)


def forget(memory: Memory, values: Values) -> dict[str, Any]:
    memory.forget(values["id"])
    return _with_operation(memory)


def restore(memory: Memory, values: Values) -> dict[str, Any]:
    return _with_operation(memory, path=memory.bring_back(values["path"]))


def undo(memory: Memory, values: Values) -> dict[str, Any]:
    return _with_operation(memory, undoes=memory.undo(values["operation"]).undoes)


def _with_operation(memory: Memory, **facts: Any) -> dict[str, Any]:
    """The facts with the number of the latest operation, which takes this one back; none where history is off."""
    latest = memory.history(1).operations
    return {"operation": latest[-1].id if latest else None, **facts}


# The table.

_id = Parameter("id", required=True)  # of an entry, a search result or a question
_path = Parameter("path", required=True)  # of a memory file, relative to the workspace
_page = Parameter("page", int)  # the first is the newest
_since, _until, _text = map(Parameter, ("since", "until", "text"))
_narrowing = (
    Parameter("mode", choices=MODES),
    Parameter("layer", choices=LAYERS),
    Parameter("type"),
    Parameter("project"),
)
_decision = Parameter("answer", choices=("keep", "refuse"), required=True)
_hash = Parameter("hash", required=True)  # of the file as it was read: one that has changed since is not edited

VIEWS = (
    View("morning", morning, title=("Overview", "概览")),
    View("memory", memory, title=("Memory", "记忆")),
    View(
        "search",
        search,
        (Parameter("q"), Parameter("limit", int), *_narrowing, _since, _until),
        title=("Search", "搜索"),
    ),
    View("timeline", timeline, (_since, _until, Parameter("id")), title=("Timeline", "时间线")),
    View("sessions", sessions, (_until,), title=("Sessions", "会话")),
    View("layers", layers, (Parameter("layer", choices=LAYERS[5:9]), _page), title=("Layers", "分层")),
    View("about", about, (Parameter("name"),), title=("People and things", "人与事物"), part="name"),
    View("growth", growth, (Parameter("days", choices=PERIODS),), ("Growth", "增长"), is_aside=True),
    View("brain", brain, (_page, Parameter("order")), title=("Brain", "书写"), is_aside=True),
    View("problems", problems, (Parameter("deep", bool),), title=("Problems", "问题"), is_aside=True),
    View("jobs", jobs, title=("Jobs", "任务"), is_aside=True),
    View("history", history, (_page, Parameter("operation", int)), title=("History", "历史"), is_aside=True),
    View("entry", entry, (_id,)),
    View("conversation", conversation, (_id, Parameter("message", required=True))),
    View("file", file, (_path, Parameter("line", int), Parameter("end", int))),
)

ACTIONS = (
    Action("answer", answer, ("Answer saved.", "已答复。"), (_id, _decision, _text)),
    Action("edit", edit, ("Changed.", "已修改。"), (_path, _id, replace(_text, required=True), _hash)),
    Action("pin", pin, ("Done.", "已完成。"), (_id, Parameter("off", bool))),
    Action("forget", forget, ("Forgotten.", "已忘记。"), (_id,)),
    Action("restore", restore, ("Restored.", "已恢复。"), (_path,)),
    Action("undo", undo, ("Undone.", "已撤销。"), (Parameter("operation", int, required=True),)),
)


def openapi() -> dict[str, Any]:
    """The OpenAPI document of everything below `/api/`."""
    responses = {
        "200": {"description": "the result", "content": _json({"type": "object"})},
        "default": {
            "description": "a refusal, as a sentence",
            "content": _json({"$ref": "#/components/schemas/Refusal"}),
        },
    }
    paths: dict[str, Any] = {"/api/openapi.json": {"get": {"operationId": "openapi", "responses": responses}}}
    for view in VIEWS:
        given = [
            {"name": item.name, "in": "query", "required": item.required, "schema": item.schema}
            for item in view.parameters
        ]
        get = {"operationId": view.name, "parameters": given, "responses": responses}
        paths[f"/api/{view.name}"] = {"get": get}
    for action in ACTIONS:
        required = [item.name for item in action.parameters if item.required]
        properties = {item.name: item.schema for item in action.parameters}
        body = {"required": True, "content": _json({"type": "object", "properties": properties, "required": required})}
        post = {"operationId": action.name, "requestBody": body, "responses": responses}
        paths[f"/api/{action.name}"] = {"post": post}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Nacre", "version": __version__},
        "paths": paths,
        "security": [{"token": []}, {"cookie": []}],
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "the token printed by nacre serve --token",
                },
                "cookie": {"type": "apiKey", "in": "cookie", "name": "nacre", "description": "set by nacre open"},
            },
            "schemas": {
                "Refusal": {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
            },
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
