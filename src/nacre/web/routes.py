"""The one table of what the page shows and does: its views and actions, their parameters, and the OpenAPI document made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nacre import __version__
from nacre.errors import BadInput
from nacre.memory import MODES, Memory
from nacre.model import LAYERS
from nacre.web import views

Values = dict[str, Any]
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
        schema = {"type": "boolean" if self.kind is bool else "string"}
        return schema | ({"enum": list(self.choices)} if self.choices else {})


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
    View("morning", views.morning, title=("Overview", "概览")),
    View("memory", views.memory, title=("Memory", "记忆")),
    View(
        "search",
        views.search,
        (Parameter("q"), Parameter("limit", int), *_narrowing, _since, _until),
        title=("Search", "搜索"),
    ),
    View("timeline", views.timeline, (_since, _until, Parameter("id")), title=("Timeline", "时间线")),
    View("sessions", views.sessions, (_until,), title=("Sessions", "会话")),
    View("layers", views.layers, (Parameter("layer", choices=LAYERS[5:9]), _page), title=("Layers", "分层")),
    View("about", views.about, (Parameter("name"),), title=("People and things", "人与事物"), part="name"),
    View("growth", views.growth, (Parameter("days", choices=views.PERIODS),), ("Growth", "增长"), is_aside=True),
    View("brain", views.brain, (_page, Parameter("order")), title=("Brain", "书写"), is_aside=True),
    View("problems", views.problems, (Parameter("deep", bool),), title=("Problems", "问题"), is_aside=True),
    View("jobs", views.jobs, title=("Jobs", "任务"), is_aside=True),
    View("history", views.history, (_page, Parameter("operation", int)), title=("History", "历史"), is_aside=True),
    View("entry", views.entry, (_id,)),
    View("conversation", views.conversation, (_id, Parameter("message", required=True))),
    View("file", views.file, (_path, Parameter("line", int), Parameter("end", int))),
)

ACTIONS = (
    Action("answer", views.answer, ("Answer saved.", "已答复。"), (_id, _decision, _text)),
    Action("edit", views.edit, ("Changed.", "已修改。"), (_path, _id, replace(_text, required=True), _hash)),
    Action("pin", views.pin, ("Done.", "已完成。"), (_id, Parameter("off", bool))),
    Action("forget", views.forget, ("Forgotten.", "已忘记。"), (_id,)),
    Action("restore", views.restore, ("Restored.", "已恢复。"), (_path,)),
    Action("undo", views.undo, ("Undone.", "已撤销。"), (Parameter("operation", int, required=True),)),
)


def openapi() -> dict[str, Any]:
    """The OpenAPI document of everything below `/api/`."""
    refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}
    answer = {"200": {"description": "the result", "content": {"application/json": {"schema": {"type": "object"}}}}}
    responses = answer | {"default": {"description": "a refusal, as a sentence", "content": refusal}}
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
        schema = {"type": "object", "properties": properties, "required": required}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        post = {"operationId": action.name, "requestBody": body, "responses": responses}
        paths[f"/api/{action.name}"] = {"post": post}
    schemes = {
        "token": {"type": "http", "scheme": "bearer", "description": "the token printed by nacre serve --token"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "nacre", "description": "set by nacre open"},
    }
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Nacre", "version": __version__},
        "paths": paths,
        "security": [{"token": []}, {"cookie": []}],
        "components": {"securitySchemes": schemes, "schemas": {"Refusal": error}},
    }
