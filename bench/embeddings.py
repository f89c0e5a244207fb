"""Nacre's own embedding models behind an OpenAI-compatible `/v1/embeddings` on loopback, so that peers without their models use the same.

    python -m bench.embeddings PORT

A vector is that of the English model followed by that of the Chinese one, zeros where a model does not fit the text: as in Nacre, vectors
of two models are never compared.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nacre.embed.local import LocalEmbedder

EMBEDDER = LocalEmbedder()
DIMENSIONS = sum(model.dims for model in EMBEDDER.models())


def vector(text: str) -> list[float]:
    fitting = EMBEDDER.models_for(text) or EMBEDDER.models()[:1]
    share = len(fitting) ** -0.5
    values: list[float] = []
    for model in EMBEDDER.models():
        part = EMBEDDER.embed(model, [text])[0] * share if model in fitting else [0.0] * model.dims
        values += [round(float(value), 6) for value in part]
    return values


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "nacre", "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._send({"object": "list", "data": data, "model": asked.get("model", ""), "usage": usage})

    def _send(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Nothing: the log of every request is of no use."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
