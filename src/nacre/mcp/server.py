"""The MCP server with the official SDK: tools, resources and prompts handed on as they are; the work is done in threads."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from nacre import __version__
from nacre.errors import NacreError, NotFound
from nacre.i18n import language, say
from nacre.mcp import resources, tools
from nacre.mcp import resources as mcp_resources

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

_AT_ONCE = 4  # calls that are worked on; the others wait
_log = logging.getLogger("nacre.mcp")
Made = TypeVar("Made")


@dataclass
class Busy:
    """How many calls are being worked on, so that the end can wait for them."""

    count: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def working(self) -> Iterator[None]:
        with self.changed:
            self.count += 1
        try:
            yield
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
    """What stands behind a server: who answers calls, reads resources and gives prompts, and for whom.

    `begun` is told when a client has got its first answer: what takes long to load is loaded then.
    """

    call: Callable[[str, dict[str, Any]], dict[str, Any]]
    read: Callable[[str], str]
    prompt: Callable[[str], str]
    group: bool = False
    begun: Callable[[], None] = lambda: None
    busy: Busy = field(default_factory=Busy)


def made(face: Face) -> Server[Any]:
    """A server for this face."""
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel.server import Server
    from mcp.shared.exceptions import MCPError

    _be_discreet()

    limit: list[anyio.CapacityLimiter] = []

    async def in_thread(work: Callable[[], Made]) -> Made:
        """Blocking work beside the protocol. Who cancels gets no answer; what was begun is finished, and is whole."""
        if not limit:
            limit.append(anyio.CapacityLimiter(_AT_ONCE))

        def counted() -> Made:
            with face.busy.working():
                return work()

        return await anyio.to_thread.run_sync(counted, abandon_on_cancel=True, limiter=limit[0])

    async def list_tools(_context: Any, _params: Any) -> Any:
        face.begun()
        every = [_tool(one) for one in tools.tools(group=face.group)]
        return types.ListToolsResult.model_validate({"tools": every})

    async def call_tool(_context: Any, params: Any) -> Any:
        answer = await in_thread(lambda: _answered(face, params.name, params.arguments or {}))
        return types.CallToolResult.model_validate(answer)

    async def list_resources(_context: Any, _params: Any) -> Any:
        every = [_resource(one) for one in resources.resources(group=face.group)]
        return types.ListResourcesResult.model_validate({"resources": every})

    async def list_templates(_context: Any, _params: Any) -> Any:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": []})

    async def read_resource(_context: Any, params: Any) -> Any:
        text = await in_thread(lambda: told(lambda: face.read(str(params.uri))))
        content = {"uri": str(params.uri), "mimeType": resources.MARKDOWN, "text": text}
        return types.ReadResourceResult.model_validate({"contents": [content]})

    async def list_prompts(_context: Any, _params: Any) -> Any:
        every = [_prompt(one) for one in mcp_resources.prompts(group=face.group)]
        return types.ListPromptsResult.model_validate({"prompts": every})

    async def get_prompt(_context: Any, params: Any) -> Any:
        text = await in_thread(lambda: told(lambda: face.prompt(params.name)))
        message = {"role": "user", "content": {"type": "text", "text": text}}
        return types.GetPromptResult.model_validate({"messages": [message]})

    def told(work: Callable[[], str]) -> str:
        """What is read, or the protocol's own error with our sentence."""
        try:
            return work()
        except NacreError as refusal:
            code = -32002 if isinstance(refusal, NotFound) else -32602
            raise MCPError(code=code, message=str(refusal)) from None
        except Exception as bug:  # noqa: BLE001 - a bug in one answer ends nothing, and its words may quote a memory
            raise MCPError(code=-32603, message=_bug(bug)) from None

    async def initialized(_context: Any, _params: Any) -> None:
        face.begun()

    server: Server[Any] = Server(
        "nacre",
        version=__version__,
        title="Nacre",
        description=say("Memory for AI agents, on this machine alone.", "AI 代理的记忆，只在本机。"),
        instructions=resources.instructions(language(), group=face.group),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        get_tool_input_schema=_takes,
    )
    server.middleware.clear()  # the SDK's tracing: nothing of a memory is told to a collector
    server.add_notification_handler("notifications/initialized", types.NotificationParams, initialized)
    return server


def _be_discreet() -> None:
    """The SDK logs what it was given and what went wrong with it, which may be words of a memory: none of that is kept."""
    log = logging.getLogger("mcp")
    log.propagate = False
    if not log.handlers:
        log.addHandler(logging.NullHandler())


def _answered(face: Face, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result twice, as the protocol wants it: as values, and as text for clients that know no values."""
    try:
        result = face.call(name, arguments)
    except NacreError as refusal:
        return _refused(str(refusal), type(refusal).__name__, refusal.exit_code)
    except Exception as bug:  # noqa: BLE001 - as above
        return _refused(_bug(bug), "Bug", 1)
    text = json.dumps(result, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}


def _refused(sentence: str, name: str, code: int) -> dict[str, Any]:
    about = {"nacre/error": name, "nacre/exitCode": code}
    return {"content": [{"type": "text", "text": sentence}], "isError": True, "_meta": about}


def _bug(bug: Exception) -> str:
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"
    _log.error("%s at %s", type(bug).__name__, where)
    return say(
        f'Something went wrong inside Nacre ({type(bug).__name__} at {where}); "nacre doctor" may say more.',
        f"Nacre 内部出错（{type(bug).__name__}，{where}）；“nacre doctor”可能会给出更多信息。",
    )


def _takes(name: str) -> Mapping[str, Any] | None:
    found = tools.tool(name)
    return found.takes if found else None


def _tool(one: tools.Tool) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "description": one.description,
        "inputSchema": one.takes,
        "outputSchema": one.gives,
        "annotations": one.annotations,
    }


def _resource(one: resources.Resource) -> dict[str, Any]:
    about = {"title": one.title, "description": one.description, "mimeType": resources.MARKDOWN}
    return {"uri": one.uri, "name": one.name} | about


def _prompt(one: mcp_resources.Prompt) -> dict[str, Any]:
    return {"name": one.name, "title": one.title, "description": one.description, "arguments": []}
