"""A stub in the place of a language model: it says that it is one, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "This is a stub and no model; it has read what it was given."
MODEL = "stub-model"


class Stub:
    """Answers every completion alike; with a tool call where the user asks for one (`CALL name {json}`); and as if the context were
    almost full where the user says `FULL`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it is called by
                pass

            def do_GET(self) -> None:
                self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked.append(body)
                message = answer_to(body["messages"])
                tokens = 185_000 if any("FULL" in text_of(one) for one in since_answer(body["messages"])) else 1
                if body.get("stream"):
                    self._stream(message, tokens)
                else:
                    reason = "tool_calls" if "tool_calls" in message else "stop"
                    self._send(_completion({"message": message, "finish_reason": reason}, tokens))

            def _send(self, told: Mapping[str, Any]) -> None:
                data = json.dumps(told).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def _stream(self, message: dict[str, Any], tokens: int) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                reason = "tool_calls" if "tool_calls" in message else "stop"
                for choice in ({"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": reason}):
                    chunk = _completion(choice, tokens, "chat.completion.chunk")
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

        return Handler


def answer_to(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What the stub says to a conversation."""
    last = since_answer(messages)
    words = next((text_of(one) for one in reversed(last) if "CALL " in text_of(one)), "")
    if not words or any(one["role"] == "tool" for one in last):
        return {"role": "assistant", "content": ANSWER}
    name, _, arguments = words.partition("CALL ")[2].partition("\n")[0].partition(" ")
    call = {"name": name, "arguments": arguments.strip()}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}],
    }


def since_answer(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages after the last answer: what was said or returned now, and what OpenClaw adds to it."""
    answers = [at for at, one in enumerate(messages) if one["role"] == "assistant"]
    return messages[answers[-1] + 1 :] if answers else messages[1:]


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message: a string, or its text parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _completion(choice: Mapping[str, Any], tokens: int, kind: str = "chat.completion") -> dict[str, Any]:
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    told = {"id": "stub", "object": kind, "created": 0, "model": MODEL, "usage": usage}
    return {**told, "choices": [{"index": 0, **choice}]}


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
