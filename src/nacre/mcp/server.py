"""The MCP server with the official SDK: tools, resources and prompts handed on as they are; the work is done in threads."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from nacre import __version__
from nacre.errors import NacreError, NotFound, error_place
from nacre.i18n import say
from nacre.mcp import resources
from nacre.mcp.calls import call
from nacre.mcp.tools import tool, tools

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from nacre.memory import Memory

_AT_ONCE = 4  # calls that are worked on; the others wait
_log = logging.getLogger("nacre.mcp")
Result = TypeVar("Result")


@dataclass
class Busy:
    """How many calls are being worked on, so that the end can wait for them; how many there were, and when the last came."""

    count: int = 0
    total: int = 0
    last: float = 0.0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def during(self, work: Callable[[], Result]) -> Result:
        with self.changed:
            self.count += 1
            self.total += 1
            self.last = time.monotonic()
        try:
            return work()
        finally:
            with self.changed:
                self.count -= 1
                self.changed.notify_all()

    def wait(self, within: float) -> bool:
        """Whether everything was finished in that many seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: self.count == 0, within)


@dataclass(frozen=True)
class Face:
    """What stands behind a server: memory as one request may use it, and for whom. `call` answers tools, where not
    memory alone does; `begun` is called when a client has got its first answer: what takes long to load is loaded
    then."""

    memory: Callable[[], Memory]
    group: bool = False
    call: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None
    begun: Callable[[], None] = lambda: None
    busy: Busy = field(default_factory=Busy)


def make_server(face: Face) -> Server[Any]:
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel.server import Server
    from mcp.shared.exceptions import MCPError

    # The SDK logs what it was given and what went wrong with it, which may be words of a memory: none of that is kept.
    log = logging.getLogger("mcp")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    limiter: list[anyio.CapacityLimiter] = []  # made in the event loop

    async def in_thread(work: Callable[[], Result]) -> Result:
        """Blocking work beside the protocol. Who cancels gets no answer; what was begun is finished, and is whole."""
        if not limiter:
            limiter.append(anyio.CapacityLimiter(_AT_ONCE))
        return await anyio.to_thread.run_sync(
            lambda: face.busy.during(work), abandon_on_cancel=True, limiter=limiter[0]
        )

    async def read(work: Callable[[], str]) -> str:
        try:
            return await in_thread(work)
        except NacreError as refusal:
            code = -32002 if isinstance(refusal, NotFound) else -32602
            raise MCPError(code=code, message=str(refusal)) from None
        except Exception as bug:  # noqa: BLE001 - a bug in one answer ends nothing, and its words may quote a memory
            raise MCPError(code=-32603, message=_sentence_for(bug)) from None

    async def list_tools(_context: Any, _params: Any) -> Any:
        face.begun()
        return types.ListToolsResult.model_validate({"tools": [tool.as_plain() for tool in tools(group=face.group)]})

    async def call_tool(_context: Any, params: Any) -> Any:
        return types.CallToolResult.model_validate(
            await in_thread(lambda: _call_result(face, params.name, params.arguments or {}))
        )

    async def list_resources(_context: Any, _params: Any) -> Any:
        kind = {"mimeType": resources.MARKDOWN}
        rows = [resource._asdict() | kind for resource in resources.resources(group=face.group)]
        return types.ListResourcesResult.model_validate({"resources": rows})

    async def list_templates(_context: Any, _params: Any) -> Any:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": []})

    async def read_resource(_context: Any, params: Any) -> Any:
        text = await read(lambda: resources.read_resource(face.memory(), str(params.uri)))
        content = {"uri": str(params.uri), "mimeType": resources.MARKDOWN, "text": text}
        return types.ReadResourceResult.model_validate({"contents": [content]})

    async def list_prompts(_context: Any, _params: Any) -> Any:
        rows = [prompt._asdict() | {"arguments": []} for prompt in resources.prompts(group=face.group)]
        return types.ListPromptsResult.model_validate({"prompts": rows})

    async def get_prompt(_context: Any, params: Any) -> Any:
        text = await read(lambda: resources.get_prompt(face.memory(), params.name))
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return types.GetPromptResult.model_validate({"messages": [message]})

    async def initialized(_context: Any, _params: Any) -> None:
        face.begun()

    server: Server[Any] = Server(
        "nacre",
        version=__version__,
        title="Nacre",
        description=say("Memory for AI agents, on this machine alone.", "AI 代理的记忆，只在本机。"),
        instructions=resources.instructions(group=face.group),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        get_tool_input_schema=lambda name: named.takes if (named := tool(name)) else None,
    )
    server.middleware.clear()  # the SDK's tracing: nothing of a memory is told to a collector
    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    return server


def _call_result(face: Face, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result twice, as the protocol wants it: as values, and as text for clients that know no values."""
    try:
        result = face.call(name, arguments) if face.call else call(face.memory(), name, arguments)
    except NacreError as refusal:
        sentence, error, code = str(refusal), type(refusal).__name__, refusal.exit_code
    except Exception as bug:  # noqa: BLE001 - as above
        sentence, error, code = _sentence_for(bug), "Bug", 1
    else:
        text = json.dumps(result, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}
    about = {"nacre/error": error, "nacre/exitCode": code}
    return {"content": [{"type": "text", "text": sentence}], "isError": True, "_meta": about}


def _sentence_for(bug: Exception) -> str:
    place = error_place(bug)
    _log.error("%s", place)
    return say(
        f'Something went wrong inside Nacre ({place}); "nacre doctor" may say more.',
        f"Nacre 内部出错（{place.replace(' at ', '，')}）；“nacre doctor”可能会给出更多信息。",
    )
