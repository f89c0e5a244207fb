"""The MCP server: one message in, its answer out, whatever carries them; and serving it over stdin and stdout, a message a line."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from nacre import __version__
from nacre.errors import NacreError, NotFound, error_place
from nacre.i18n import say
from nacre.mcp import resources
from nacre.mcp.tools import call, tools

if TYPE_CHECKING:
    from nacre.memory import Memory

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # agreed on by initialize
STATELESS_VERSION = "2026-07-28"  # named by every request of its own
WORKING = ("tools/call", "resources/read", "prompts/get")  # what takes time; all else is answered at once
_META = "io.modelcontextprotocol/"
_CACHEABLE = ("server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list")  # fmt: skip
_CAPABILITIES = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
NOT_JSON, _INVALID, _NO_METHOD, _BAD_PARAMS, _BUG = -32700, -32600, -32601, -32602, -32603
_NO_RESOURCE, _OTHER_VERSION = -32002, -32022
_log = logging.getLogger("nacre.mcp")


class _Refused(Exception):
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


@dataclass(frozen=True)
class Server:
    """What stands behind the messages: memory as one request may use it, and for whom. `call` answers tools where not memory alone does."""

    memory: Callable[[], Memory]
    group: bool = False
    call: Callable[[str, dict[str, Any]], dict[str, Any]] | None = None

    def answer(self, message: Any) -> dict[str, Any] | None:
        """The answer to one JSON-RPC message; None for a notification. A bug becomes an error response."""
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return failure(None, _INVALID, "Invalid Request")
        number, params = message.get("id"), message.get("params", {})
        if number is None:
            return None
        if not isinstance(number, str | int) or not isinstance(params, dict):
            return failure(number if isinstance(number, str | int) else None, _INVALID, "Invalid Request")
        try:
            result = self._result(message["method"], params)
        except _Refused as refusal:
            return {"jsonrpc": "2.0", "id": number, "error": refusal.error}
        except NacreError as refusal:
            return failure(number, _NO_RESOURCE if isinstance(refusal, NotFound) else _BAD_PARAMS, str(refusal))
        except Exception as bug:  # noqa: BLE001 - its words may quote a memory
            return failure(number, _BUG, _sentence_for(bug))
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        version = meta.get(f"{_META}protocolVersion") if isinstance(meta, dict) else None
        if version not in (None, STATELESS_VERSION):
            supported = {"supported": [STATELESS_VERSION], "requested": version}
            raise _Refused(_OTHER_VERSION, "Unsupported protocol version", supported)
        about = {
            "name": "nacre",
            "title": "Nacre",
            "version": __version__,
            "description": say("Local memory for AI agents.", "AI 智能体的本地记忆。"),
        }
        if version is None:
            if method == "initialize":
                wanted = params.get("protocolVersion")
                agreed = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
                return {"protocolVersion": agreed, "serverInfo": about, **self._introduction()}
            return {} if method == "ping" else self._answer_to(method, params)
        if method == "server/discover":
            result = {"supportedVersions": [STATELESS_VERSION], **self._introduction()}
        else:
            result = self._answer_to(method, params)
        result |= {"resultType": "complete", "_meta": result.get("_meta", {}) | {f"{_META}serverInfo": about}}
        return result | ({"ttlMs": 0, "cacheScope": "private"} if method in _CACHEABLE else {})

    def _introduction(self) -> dict[str, Any]:
        return {"capabilities": _CAPABILITIES, "instructions": resources.instructions(group=self.group)}

    def _answer_to(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "tools/list":
                turn = not self.group and self.memory().config.brain.by_turn
                return {"tools": [tool.as_plain() for tool in tools(group=self.group, turn=turn)]}
            case "resources/list":
                return {"resources": resources.resources(group=self.group)}
            case "resources/templates/list":
                return {"resourceTemplates": []}
            case "prompts/list":
                return {"prompts": resources.prompts(group=self.group)}
            case "tools/call":
                arguments = params.get("arguments") or {}
                if not isinstance(arguments, dict):
                    raise _Refused(_BAD_PARAMS, "Invalid request parameters")
                return self._call_result(_text(params, "name"), arguments)
            case "resources/read":
                uri = _text(params, "uri")
                text = resources.read_resource(self.memory(), uri)
                return {"contents": [{"uri": uri, "mimeType": resources.MARKDOWN, "text": text}]}
            case "prompts/get":
                name = _text(params, "name")
                text = resources.get_prompt(self.memory(), name)
                return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        raise _Refused(_NO_METHOD, "Method not found", method[:100])

    def _call_result(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool as structured content and as text, as the protocol asks."""
        try:
            result = self.call(name, arguments) if self.call else call(self.memory(), name, arguments)
        except NacreError as refusal:
            sentence, error, code = str(refusal), type(refusal).__name__, refusal.exit_code
        except Exception as bug:  # noqa: BLE001 - as above
            sentence, error, code = _sentence_for(bug), "Bug", 1
        else:
            text = json.dumps(result, ensure_ascii=False)
            return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}
        about = {"nacre/error": error, "nacre/exitCode": code}
        return {"content": [{"type": "text", "text": sentence}], "isError": True, "_meta": about}


def parse(data: bytes) -> Any:
    """The message in these bytes; ValueError where they hold none. Half a character, which no memory holds, is read as a question mark."""
    try:
        text = data.decode("utf-8", "replace")
        message = json.loads(text)
        if "\\u" in text:
            message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return message


def dump(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def failure(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def _text(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise _Refused(_BAD_PARAMS, "Invalid request parameters")
    return value


def _sentence_for(bug: Exception) -> str:
    place = error_place(bug)
    _log.error("%s", place)
    return say(
        f'Internal error in Nacre ({place}); "nacre doctor" may show the cause.',
        f"Nacre 内部出错（{place.replace(' at ', '，')}）；可用“nacre doctor”查找原因。",
    )


_AT_ONCE = 4  # calls that are worked on; the others wait
_FINISH_WITHIN = 5.0  # seconds for what is being worked on when the client goes
# The first of these comes when the client has its first answer.
_LISTENING = ("notifications/initialized", "tools/list")


def serve(server: Server, warm: Callable[[], None]) -> NoReturn:
    """Serve one client until its end of input, or until a signal. `warm` loads what the first search needs."""
    # Nobody else reads the client's words or writes among ours: a child finds its input at the end, stray output goes to stderr.
    lines, output = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="nacre mcp: %(levelname)s %(message)s")
    pool = ThreadPoolExecutor(_AT_ONCE)
    writing = threading.Lock()
    working: set[Future[None]] = set()
    is_warm = False

    def send(message: Any) -> None:
        if (answer := server.answer(message)) is not None:
            put(answer)

    def put(answer: dict[str, Any]) -> None:
        data = dump(answer) + b"\n"
        with writing, contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(output, data) :]

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        for line in lines:
            try:
                message = parse(line)
            except ValueError:
                put(failure(None, NOT_JSON, "Parse error"))
                continue
            method = message.get("method") if isinstance(message, dict) else None
            if method in WORKING and isinstance(message.get("id"), str | int):
                work = pool.submit(send, message)
                working.add(work)
                work.add_done_callback(working.discard)
            else:
                send(message)
            if method in _LISTENING and not is_warm:
                is_warm = True
                threading.Thread(target=warm, name="warm", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    wait(list(working), _FINISH_WITHIN)
    os._exit(0)  # whatever still searches would only keep the process from its end
