"""A stub in the place of a language model: it says that it is one, and keeps what it was asked.

It speaks as Anthropic's messages, OpenAI's responses and chat completions, and Gemini's generateContent, whole or streamed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

ANSWER = "Understood."  # nothing that could be taken for something to remember
MODEL = "stub-model"
ALMOST_FULL = 185_000  # tokens: what the context is said to hold where the user says FULL


class Message(NamedTuple):
    role: str  # system, user, assistant or tool
    text: str


class Answer(NamedTuple):
    """What the stub says: its words, or a call of a tool with JSON for it."""

    tool: str = ""
    arguments: str = "{}"
    tokens: int = 1


@dataclass(frozen=True)
class Request:
    """What the model was sent."""

    path: str
    body: dict[str, Any]

    @property
    def messages(self) -> list[Message]:
        body = self.body
        system = body.get("system") or body.get("instructions") or body.get("systemInstruction") or body.get("system_instruction")  # fmt: skip
        listed = body.get("messages") or body.get("input") or body.get("contents") or []
        if isinstance(listed, str):
            listed = [{"role": "user", "content": listed}]
        return [*([Message("system", _text(system))] if system else []), *(_message(part) for part in listed)]

    @property
    def system(self) -> str:
        return "\n".join(message.text for message in self.messages if message.role == "system")

    @property
    def text(self) -> str:
        """All words of it, with those that were said before."""
        return "\n".join(message.text for message in self.messages)

    @property
    def latest(self) -> list[Message]:
        """The messages after the last answer: what was said or returned now, and what the client adds to it."""
        spoken = [message for message in self.messages if message.role != "system"]
        answers = [at for at, message in enumerate(spoken) if message.role == "assistant"]
        return spoken[answers[-1] + 1 :] if answers else spoken

    @property
    def now(self) -> str:
        return "\n".join(message.text for message in self.latest)

    @property
    def tools(self) -> list[str]:
        """The names of the tools that are offered."""
        offered = self.body.get("tools") or []
        flat = [entry for tool in offered for entry in tool.get("functionDeclarations", tool.get("tools", [tool]))]
        return [str((tool.get("function") or tool).get("name", "")) for tool in flat]

    @property
    def answer(self) -> Answer:
        """A tool call where the user asks for one (`CALL name {json}`) and none has returned yet, else the same words always."""
        tokens = ALMOST_FULL if "FULL" in self.now else 1
        wish = next((message.text for message in reversed(self.latest) if "CALL " in message.text), "")
        name, _, arguments = wish.partition("CALL ")[2].partition("\n")[0].partition(" ")
        tool = next((offered for offered in self.tools if name and offered.endswith(name)), "")
        if not tool or any(message.role == "tool" for message in self.latest):
            return Answer(tokens=tokens)
        return Answer(
            tool, arguments[: arguments.rfind("}") + 1].replace('\\"', '"'), tokens
        )  # opencode quotes a prompt


def _message(part: dict[str, Any]) -> Message:
    """A message of any of the protocols."""
    role = {"model": "assistant", "developer": "user", "function": "tool"}.get(
        part.get("role", ""), part.get("role", "")
    )
    inside = json.dumps(part.get("content") or part.get("parts") or "")
    if str(part.get("type", "")).endswith("_output") or '"tool_result"' in inside or '"functionResponse"' in inside:
        role = "tool"
    elif part.get("type") == "function_call":
        role = "assistant"
    return Message(role, _text(part))


def _text(content: Any) -> str:
    """The words of a message or of its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    if not isinstance(content, dict):
        return ""
    if "functionResponse" in content:
        return json.dumps(content["functionResponse"], ensure_ascii=False)
    return "\n".join(_text(content[key]) for key in ("text", "content", "parts", "output") if key in content)


class Stub:
    """Answers every request alike, and keeps it."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it is called by
                pass

            def do_HEAD(self) -> None:
                self._send(b"", "application/json")

            def do_GET(self) -> None:
                listed = {"object": "list", "data": [{"id": MODEL, "object": "model"}], "models": []}
                self._send(json.dumps(listed).encode(), "application/json")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                request = Request(self.path, body)
                if "ount" in self.path.rpartition("/")[2]:  # count_tokens, countTokens
                    self._send(b'{"input_tokens": 1, "totalTokens": 1}', "application/json")
                    return
                asked.append(request)
                events = _SPOKEN[_protocol(self.path)](request.answer)
                if body.get("stream") or "streamGenerateContent" in self.path:
                    named = (f"event: {event['type']}\n" if "type" in event else "" for event in events[:-1])
                    lines = [
                        f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(named, events[:-1], strict=True)
                    ]
                    end = "data: [DONE]\n\n" if "completions" in self.path else ""
                    self._send(("".join(lines) + end).encode(), "text/event-stream")
                else:
                    self._send(json.dumps(events[-1]).encode(), "application/json")

            def _send(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


def _protocol(path: str) -> str:
    return next((name for name in ("responses", "completions", "messages") if name in path), "generateContent")


# Each protocol as the list of its streamed events, and as the last element the whole answer.


def _messages(answer: Answer) -> list[dict[str, Any]]:
    usage = {"input_tokens": answer.tokens, "output_tokens": 1}
    block: dict[str, Any] = {"type": "text", "text": ANSWER}
    empty: dict[str, Any] = {"type": "text", "text": ""}
    delta: dict[str, Any] = {"type": "text_delta", "text": ANSWER}
    if answer.tool:
        empty = {"type": "tool_use", "id": "toolu_1", "name": answer.tool, "input": {}}
        block = {**empty, "input": json.loads(answer.arguments)}
        delta = {"type": "input_json_delta", "partial_json": answer.arguments}
    why = {"stop_reason": "tool_use" if answer.tool else "end_turn", "stop_sequence": None}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "usage": usage}
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": why, "usage": usage},
        {"type": "message_stop"},
        {**message, **why, "content": [block]},
    ]


def _responses(answer: Answer) -> list[dict[str, Any]]:
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}  # fmt: skip
    if answer.tool:
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": answer.tool,
            "arguments": answer.arguments,
        }
    usage = {"input_tokens": answer.tokens, "output_tokens": 1, "total_tokens": answer.tokens + 1}
    whole = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": MODEL,
        "output": [item],
        "usage": usage,
    }
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
        whole,
    ]


def _completions(answer: Answer) -> list[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    if answer.tool:
        call = {"name": answer.tool, "arguments": answer.arguments}
        message = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}  # fmt: skip
    usage = {"prompt_tokens": answer.tokens, "completion_tokens": 1, "total_tokens": answer.tokens + 1}
    common = {"id": "stub", "created": 0, "model": MODEL, "usage": usage}
    reason = "tool_calls" if answer.tool else "stop"
    chunk = {**common, "object": "chat.completion.chunk"}
    return [
        {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**common, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": reason}]},
    ]


def _generate_content(answer: Answer) -> list[dict[str, Any]]:
    part: dict[str, Any] = {"text": ANSWER}
    if answer.tool:
        part = {"functionCall": {"name": answer.tool, "args": json.loads(answer.arguments)}}
    whole = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": answer.tokens,
            "candidatesTokenCount": 1,
            "totalTokenCount": answer.tokens + 1,
        },
        "modelVersion": MODEL,
    }
    return [whole, whole]


_SPOKEN = {
    "messages": _messages,
    "responses": _responses,
    "completions": _completions,
    "generateContent": _generate_content,
}


@contextmanager
def stub() -> Iterator[Stub]:
    """A stub that listens on loopback until the end of the block."""
    made = Stub()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
