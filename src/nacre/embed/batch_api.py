"""The batch services of OpenAI, Voyage and Gemini: texts are left there, and their vectors fetched hours later at a lower price.

A job has a name before it is submitted, by which the service knows it even where its id never reached us: nothing is paid twice.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from nacre.errors import ModelUnusable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = dict[str, npt.NDArray[np.float32]]

LEAST, MOST = (
    1000,
    2000,
)  # texts that are worth the wait, and those of one job: their vectors are at most some 130 MB of JSON
_LONGEST_TEXT = 6_000  # characters; in Chinese about the 8,000 tokens that the services take
_LARGEST = 256_000_000
_TIMEOUT = 600.0  # seconds for texts or vectors to arrive
_PATIENT: dict[str, Any] = {"pauses": (1.0, 4.0, 16.0), "timeout": _TIMEOUT}
_OVER = frozenset({"completed", "succeeded", "failed", "expired", "cancelled"})


def fit(text: str) -> str:
    """The text as services take it. One of nothing becomes a full stop: empty ones are refused."""
    return text[:_LONGEST_TEXT] if text.strip() else "."


class Ask(Protocol):
    """The object with which the service answers, which must have that field; an empty one where there is no such thing. Or the text."""

    def __call__(self, method: str, path: str, field: str | None = None, *, text: bool = False, **more: Any) -> Any: ...


class Jobs(Protocol):
    def begin(self, texts: Mapping[str, str]) -> str:
        """The name of a job for texts, each known by a key."""

    def submit(self, name: str, texts: Mapping[str, str]) -> str:
        """The id of the job. A request that breaks is not repeated: it may have arrived."""

    def find(self, name: str) -> str | None:
        """The id of a job that was submitted, if it was."""

    def result(self, job: str) -> Vectors | None:
        """Unit vectors by key, of as many texts as there are; None while the job is at work."""

    def forget(self, name: str, job: str | None) -> None:
        """Let the service delete what it was given and what it made."""


class FileJobs:
    """OpenAI's form, in which the texts are a file, and Voyage's, which wants the parameters with the job instead of with each text."""

    def __init__(self, ask: Ask, body: Mapping[str, Any], window: str, *, for_all: bool) -> None:
        self._ask, self._body, self._window, self._for_all = ask, dict(body), window, for_all

    def begin(self, texts: Mapping[str, str]) -> str:
        rows: list[dict[str, Any]] = [{"custom_id": key, "body": {"input": [fit(text)]}} for key, text in texts.items()]
        if not self._for_all:
            for row in rows:
                row |= {"method": "POST", "url": "/v1/embeddings", "body": self._body | row["body"]}
        data = "\n".join(map(json.dumps, rows)).encode()
        file = {"file": ("texts.jsonl", data, "application/jsonl")}
        return str(self._ask("POST", "/files", "id", files=file, data={"purpose": "batch"}, **_PATIENT)["id"])

    def submit(self, name: str, texts: Mapping[str, str]) -> str:  # noqa: ARG002 - they are in the file
        body = {"input_file_id": name, "endpoint": "/v1/embeddings", "completion_window": self._window}
        more = {"request_params": self._body} if self._for_all else {}
        return str(self._ask("POST", "/batches", "id", json=body | more)["id"])

    def find(self, name: str) -> str | None:
        listed = self._ask("GET", "/batches?limit=100", "data", **_PATIENT)["data"]
        return next((str(job["id"]) for job in listed if job.get("input_file_id") == name), None)

    def result(self, job: str) -> Vectors | None:
        about = self._ask("GET", f"/batches/{job}", **_PATIENT)
        if about.get("status", "failed") not in _OVER:
            return None
        if not about.get("output_file_id"):
            return {}
        # Voyage answers with an address of another host, which is not given the key.
        path = f"/files/{about['output_file_id']}/content"
        output = self._ask("GET", path, text=True, follow_redirects=True, largest=_LARGEST, **_PATIENT)
        return _vectors(_lines(output))

    def forget(self, name: str, job: str | None) -> None:
        with contextlib.suppress(ModelUnusable):
            about = self._ask("GET", f"/batches/{job}") if job else {}
            for file in (name, about.get("output_file_id"), about.get("error_file_id")):
                if file:
                    self._ask("DELETE", f"/files/{file}", text=True)


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    for line in filter(str.strip, text.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):  # a text that failed
            row = json.loads(line)
            yield row["custom_id"], row["response"]["body"]["data"][0]["embedding"]


class InlineJobs:
    """Gemini's form: the texts are in the request, and the vectors in the state of the job."""

    def __init__(self, ask: Ask, model: str) -> None:
        self._ask, self._model = ask, f"models/{model.removeprefix('models/')}"

    def begin(self, texts: Mapping[str, str]) -> str:  # noqa: ARG002 - sent with the job
        import secrets

        return f"nacre-{secrets.token_hex(8)}"

    def submit(self, name: str, texts: Mapping[str, str]) -> str:
        requests = [
            {"request": {"model": self._model, "content": {"parts": [{"text": fit(text)}]}}, "metadata": {"key": key}}
            for key, text in texts.items()
        ]
        body = {"batch": {"displayName": name, "inputConfig": {"requests": {"requests": requests}}}}
        path = f"/{self._model}:asyncBatchEmbedContent"
        return str(self._ask("POST", path, "name", json=body, timeout=_TIMEOUT)["name"])

    def find(self, name: str) -> str | None:
        listed = self._ask("GET", "/batches?pageSize=100", **_PATIENT).get("operations", [])
        return next((str(job["name"]) for job in listed if job["metadata"].get("displayName") == name), None)

    def result(self, job: str) -> Vectors | None:
        about = self._ask("GET", f"/{job}", largest=_LARGEST, **_PATIENT).get("metadata", {})
        if about.get("state", "failed").rpartition("_")[2].lower() not in _OVER:
            return None
        output = about.get("output", {})
        made = output.get("inlinedEmbedContentResponses") or output.get("inlinedResponses") or {}
        rows = [row for row in made.get("inlinedResponses", []) if "response" in row]
        return _vectors((row["metadata"]["key"], row["response"]["embedding"]["values"]) for row in rows)

    def forget(self, name: str, job: str | None) -> None:  # noqa: ARG002 - there is no file
        with contextlib.suppress(ModelUnusable):
            if job:
                self._ask("DELETE", f"/{job}", text=True)


def _vectors(rows: Iterator[tuple[str, Any]]) -> Vectors:
    """Unit vectors of one size by key; what is no vector is left out."""
    import numpy as np

    made: Vectors = {}
    for key, values in rows:
        with contextlib.suppress(ValueError, TypeError):
            vector = np.asarray(values, np.float32)
            length = float(np.linalg.norm(vector))
            if (
                vector.ndim == 1
                and 0 < length < float("inf")
                and vector.shape == next(iter(made.values()), vector).shape
            ):
                made[key] = vector / length
    return made
