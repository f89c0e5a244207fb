"""A program and a service that answer orders as they are told to: well, badly, or not at all."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ENTRY = {"text": "Use pnpm in every repository, never npm", "speaker": "owner", "cites": ["m1"], "type": "PREF"}
ANSWER = json.dumps({"entries": [ENTRY]})

# Answers as the file "behaviour" beside it says, and keeps what it was given.
PROGRAM = """\
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
given = sys.stdin.read()
with (here / "given.jsonl").open("a", encoding="utf8") as file:
    about = {"order": given, "argv": sys.argv[1:], "cwd": os.getcwd(), "files": os.listdir(), "hooks": os.environ.get("NACRE_HOOKS_ENABLED")}
    file.write(json.dumps(about) + "\\n")
kind, _, text = (here / "behaviour").read_text("utf8").partition("\\n")
if kind == "hang":
    time.sleep(600)
if kind == "half":
    text = text[: len(text) // 2]
print(text, end="")
if kind == "exit":
    sys.exit("no credits left for sk-proj-Zk3v9QmT7wLx2RbN8dFyH4sJ")
"""


@dataclass
class Program:
    """A program that takes orders."""

    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "program.py").write_text(PROGRAM, "utf8")
        self.will("answer", ANSWER)

    @property
    def argv(self) -> list[str]:
        return [sys.executable, str(self.folder / "program.py")]

    def will(self, kind: str, text: str = "") -> None:
        (self.folder / "behaviour").write_text(f"{kind}\n{text}", "utf8")

    @property
    def given(self) -> list[dict[str, Any]]:
        path = self.folder / "given.jsonl"
        return [json.loads(line) for line in path.read_text("utf8").splitlines()] if path.exists() else []


@pytest.fixture
def program(tmp_path: Path) -> Program:
    folder = tmp_path / "program"
    folder.mkdir()
    return Program(folder)


@dataclass
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]
    cut: int | None


@dataclass
class Service:
    """An HTTP server on loopback that gives the answers put into it, one for each request, and keeps the requests."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    silent: bool = False
    drips: str = ""  # sends its "headers" or its "body" piece by piece, for ten seconds
    released: threading.Event = field(default_factory=threading.Event)

    def will(self, body: Any, status: int = 200, *, cut: int | None = None, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append(Answer(status, data, named, cut))

    def will_say(self, text: str, tokens: int = 120) -> None:
        """As OpenAI's chat completions."""
        self.will({"choices": [{"message": {"content": text}}], "usage": {"total_tokens": tokens}})


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append({"path": self.path, "headers": dict(self.headers), "body": body})
            if service.silent:
                service.released.wait(300)
                self.close_connection = True
                return
            if service.drips:
                self._drip()
                return
            answer = service.answers.pop(0)
            self.send_response(answer.status)
            for name, value in ({"Content-Type": "application/json"} | dict(answer.headers)).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.cut])
            self.close_connection = answer.cut is not None

        def _drip(self) -> None:
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if service.drips == "body" else b"X: "))
            with contextlib.suppress(OSError):
                for _ in range(500):
                    if service.released.wait(0.02):
                        break
                    self.wfile.write(b" ")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    return Handler


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()
    server.shutdown()
    thread.join()
    server.server_close()
