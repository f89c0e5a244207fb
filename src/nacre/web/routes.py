"""The one table of what the page shows and does: its views and actions, their parameters, and the OpenAPI document made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacre import __version__
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.model.entry import LAYERS
from nacre.web import actions, overview, views

Values = dict[str, Any]
_MOST_CHARACTERS = 10_000  # of one value
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Parameter:
    """A value that a view or an action takes. A flag is on when it is given and is not "0", "false" or empty."""

    name: str
    about: str
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
        if not fits or len(text) > _MOST_CHARACTERS or "\0" in text or not _is_utf8(text):
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
    about: str
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
    about: str
    do: Callable[[Memory, Values], dict[str, Any]]
    done: tuple[str, str]  # what is said when it is done
    parameters: tuple[Parameter, ...] = ()


_id = Parameter("id", "the id of an entry, a search result or a question", required=True)
_page = Parameter("page", "page number; 1 is the newest", int)
_path = Parameter("path", "a memory file, relative to the workspace", required=True)

VIEWS = (
    View(
        "morning",
        "Results of the last tidying, and open questions",
        views.morning,
        title=("Morning", "早晨"),
    ),
    View("memory", "Every MEMORY.md with its entries", views.memory, title=("Memory", "记忆")),
    View(
        "search",
        "Search results, with the parts of each score",
        views.search,
        (
            Parameter("q", "the query"),
            Parameter("limit", "maximum number of results", int),
            Parameter("mode", "search mode", choices=("hybrid", "text", "vector")),
            Parameter("layer", "only this layer", choices=LAYERS),
            Parameter("type", "only entries of this type or category"),
            Parameter("project", "only this project and entries without a project"),
            Parameter("since", "only on or after this day"),
            Parameter("until", "only on or before this day"),
        ),
        title=("Search", "搜索"),
    ),
    View(
        "timeline",
        "Memory by day: notes and changes to long-term memory; or the history of one entry",
        views.timeline,
        (
            Parameter("since", "first day"),
            Parameter("until", "last day"),
            Parameter("id", "show the history of this entry"),
        ),
        title=("Timeline", "时间线"),
    ),
    View(
        "sessions",
        "What was captured from each session, and which memories its agent received",
        views.sessions,
        (Parameter("until", "last day"),),
        title=("Sessions", "会话"),
    ),
    View(
        "layers",
        "Checkpoints by layer, and which move or are deleted next",
        views.layers,
        (Parameter("layer", "the layer to list", choices=LAYERS[5:9]), Parameter("page", "page of the list", int)),
        title=("Layers", "分层"),
    ),
    View(
        "about",
        "Names and projects in memory, or the entries about one of them",
        overview.about,
        (Parameter("name", "a name or a project"),),
        title=("People and things", "人与事物"),
        part="name",
    ),
    View(
        "growth",
        "New entries per day and category, and when memory was recalled",
        overview.growth,
        (Parameter("days", "how many days back", choices=overview.PERIODS),),
        title=("Growth", "增长"),
        is_aside=True,
    ),
    View(
        "brain",
        "What writes the memory, its cost, the requests sent, and what the checks dropped",
        overview.brain,
        (_page, Parameter("order", "id of a request to show")),
        title=("Brain", "书写"),
        is_aside=True,
    ),
    View(
        "problems",
        "Problems with memory and its setup, and how to fix them",
        overview.problems,
        (Parameter("deep", "also check every file, the newest session of every agent and the whole index", bool),),
        title=("Problems", "问题"),
        is_aside=True,
    ),
    View("jobs", "Scheduled jobs, with their last and next runs", overview.jobs, title=("Jobs", "任务"), is_aside=True),
    View(
        "history",
        "All changes, newest first, and the diff of one of them",
        overview.history,
        (_page, Parameter("operation", "number of a change to show", int)),
        title=("History", "历史"),
        is_aside=True,
    ),
    View("entry", "Where a memory comes from", views.entry, (_id,)),
    View(
        "conversation",
        "A message that a memory comes from, in its transcript, with the messages around it",
        views.conversation,
        (_id, Parameter("message", "the id of the message, as /api/entry names it", required=True)),
    ),
    View(
        "file",
        "Lines of a memory file, some of them highlighted",
        views.file,
        (_path, Parameter("line", "first highlighted line", int), Parameter("end", "last highlighted line", int)),
    ),
)

ACTIONS = (
    Action(
        "answer",
        "Answer a question: keep, reject, or keep with new wording",
        actions.answer,
        ("Answer saved.", "已答复。"),
        (_id, Parameter("answer", "the decision", choices=("keep", "refuse"), required=True), Parameter("text", "new wording")),
    ),
    Action(
        "edit",
        "Change the text of an entry in a MEMORY.md",
        actions.edit,
        ("Changed.", "已修改。"),
        (
            _path,
            _id,
            Parameter("text", "new text", required=True),
            Parameter("hash", "hash of the file as read; rejected if the file has changed", required=True),
        ),
    ),
    Action(
        "pin",
        "Pin or unpin an entry of a MEMORY.md",
        actions.pin,
        ("Done.", "已完成。"),
        (_id, Parameter("off", "unpin it", bool)),
    ),
    Action("forget", "Remove a fact and every line that states it", actions.forget, ("Forgotten.", "已忘记。"), (_id,)),
    Action(
        "restore",
        "Restore a checkpoint from an older layer",
        actions.restore,
        ("Restored.", "已恢复。"),
        (_path,),
    ),
    Action(
        "undo",
        "Undo an operation",
        actions.undo,
        ("Undone.", "已撤销。"),
        (Parameter("operation", "number of the operation in the history", int, required=True),),
    ),
)  # fmt: skip


def _is_utf8(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def openapi() -> dict[str, Any]:
    """The OpenAPI document of everything below `/api/`."""
    refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}

    def responses(*refused: str) -> dict[str, Any]:
        answer = {"application/json": {"schema": {"type": "object"}}}
        names = {"400": "invalid value", "401": "missing token", "403": "missing CSRF token", "404": "not found"}
        names |= {"409": "changed in the meantime, locked, or full"}
        fine = {"200": {"description": "the result", "content": answer}}
        return fine | {code: {"description": names[code], "content": refusal} for code in refused}

    paths: dict[str, Any] = {}
    for view in VIEWS:
        given = [
            {"name": one.name, "in": "query", "description": one.about, "required": one.required, "schema": one.schema}
            for one in view.parameters
        ]
        operation: dict[str, Any] = {"operationId": view.name, "summary": view.about, "parameters": given}
        paths[f"/api/{view.name}"] = {"get": operation | {"responses": responses("400", "401", "404", "409")}}
    for action in ACTIONS:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {one.name: {**one.schema, "description": one.about} for one in action.parameters},
            "required": [one.name for one in action.parameters if one.required],
        }
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        operation = {"operationId": action.name, "summary": action.about, "requestBody": body}
        paths[f"/api/{action.name}"] = {"post": operation | {"responses": responses("400", "401", "403", "404", "409")}}
    paths["/api/openapi.json"] = {
        "get": {"operationId": "openapi", "summary": "This document", "responses": responses("401")}
    }
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
