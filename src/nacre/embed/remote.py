"""Vectors from an OpenAI-compatible service: the services as data, their keys, and POST {base_url}/embeddings with retries."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nacre.embed.client import Client, Unreachable
from nacre.embed.models import ModelId
from nacre.errors import ModelUnusable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Provider:
    """An OpenAI-compatible service: where it is, what its requests hold besides model and texts, and what it is told of their purpose."""

    name: str
    base_url: str
    model: str
    key_variables: tuple[str, ...] = ()
    body: Mapping[str, str] = field(default_factory=lambda: {"encoding_format": "float"})
    purpose: str = ""  # the field that says whether a text is a query or a document


_GEMINI = "https://generativelanguage.googleapis.com/v1beta/openai"
_ROWS = (
    Provider("openai", "https://api.openai.com/v1", "text-embedding-3-small", ("OPENAI_API_KEY",)),
    Provider("gemini", _GEMINI, "gemini-embedding-001", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    Provider("voyage", "https://api.voyageai.com/v1", "voyage-4", ("VOYAGE_API_KEY",), {}, "input_type"),
    Provider("mistral", "https://api.mistral.ai/v1", "mistral-embed", ("MISTRAL_API_KEY",)),
    Provider("ollama", "http://localhost:11434/v1", "bge-m3"),
)
PROVIDERS = {provider.name: provider for provider in _ROWS}


def find_key(provider: Provider, key_file: str | None, env: Mapping[str, str]) -> str | None:
    """The key from the environment, else from the file; None when there is neither. No message shows it."""
    variable = next((name for name in provider.key_variables if env.get(name, "").strip()), None)
    origin = variable or (key_file and str(Path(key_file).expanduser()))
    if not origin:
        return None
    try:
        key = (env[variable] if variable else Path(origin).read_text(encoding="utf-8")).strip()
        reason = "" if key.isascii() and key.isprintable() and " " not in key else "ASCII"
    except (OSError, UnicodeDecodeError) as error:
        key, reason = "", getattr(error, "strerror", "UTF-8")
    if reason:
        raise ModelUnusable(
            f"The key in {origin} cannot be used ({reason}): it must be a single line of ASCII. Fix it, or set embed.key_file to another file.",
            f"无法使用 {origin} 中的密钥（{reason}）：应为一行 ASCII 文本。请修正，或将 embed.key_file 设为其他文件。",
        ) from None
    return key or None


def is_address(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return False


_LONGEST_TEXT = 6_000  # characters; in Chinese about the 8,000 tokens that the services take
_LONGEST_REQUEST = 100_000  # characters of all texts of one request
_TIMEOUT, _TIMEOUT_IN_A_HURRY = 60.0, 4.0  # new lines and the question: together less than a client waits for a daemon


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


class RemoteEmbedder:
    """One model of one service. Safe to share between threads; `close` when done."""

    def __init__(
        self,
        provider: Provider,
        *,
        key: str | None,
        base_url: str | None = None,
        model: str | None = None,
        batch: int = 64,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.provider = provider.name
        self._client = Client(base_url or provider.base_url, bearer, key, sleep)
        self.base_url, self.host = self._client.base_url, self._client.host
        self.model = model or provider.model
        self._service = provider
        self._batch = max(1, batch)
        identity = f"{self.provider}\n{self.base_url}\n{self.model}"
        self._hash = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._dims = 0

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self.provider}, {self.host}, {self.model})"

    def models(self) -> tuple[ModelId, ...]:
        return (ModelId(self.model, self._hash, self._dims),)

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        return self.models() if any(character.isalnum() for character in text) else ()

    def embed(
        self,
        model: ModelId,  # noqa: ARG002 - there is but one
        texts: Sequence[str],
        *,
        query: bool = False,
        hurry: bool = False,
    ) -> npt.NDArray[np.float32]:
        import numpy as np

        parts = _requests(texts, self._batch)
        return np.vstack([self._vectors(part, query=query, hurry=query or hurry) for part in parts])

    def close(self) -> None:
        self._client.close()

    def _vectors(self, texts: list[str], *, query: bool, hurry: bool) -> npt.NDArray[np.float32]:
        """Unit vectors in the order of the texts, from one request."""
        import numpy as np

        pauses, timeout = ([1.0], _TIMEOUT_IN_A_HURRY) if hurry else ([1.0, 4.0, 16.0], _TIMEOUT)
        body = {"model": self.model, **self._service.body, "input": texts}
        if self._service.purpose:
            body[self._service.purpose] = "query" if query else "document"
        try:
            answer = self._client.post("/embeddings", body, timeout=timeout, pauses=pauses)
        except Unreachable as error:
            raise self._unusable(f"could not be reached ({error})", f"无法连接（{error}）") from None
        if answer.status_code != 200:
            said = f"HTTP {answer.status_code}: {self._client.clean(answer.text)}"
            check = " / ".join([*self._service.key_variables, "embed.key_file", "embed.model", "embed.base_url"])
            raise self._unusable(f"returned {said}; check {check}", f"返回 {said}；请检查 {check}")
        try:
            items = answer.json()["data"]
            by_place = {int(item.get("index", position)): item["embedding"] for position, item in enumerate(items)}
            rows = np.array([by_place[at] for at in range(len(texts))], np.float32)
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            usable = len(items) == len(texts) and np.isfinite(rows).all() and (lengths > 0).all()
        except (ValueError, KeyError, TypeError, AttributeError):
            usable = False
        if not usable:
            raise self._unusable(
                "did not return one vector per text in OpenAI's format",
                "没有按 OpenAI 的格式为每段文本返回一个向量",
            )
        self._dims = rows.shape[1]
        return np.asarray(rows / lengths, np.float32)

    def _unusable(self, english: str, chinese: str) -> ModelUnusable:
        return ModelUnusable(
            f'{self.provider} at {self.host} {english}. Fix this, or set embed.provider to "local" or "none".',
            f"{self.provider}（{self.host}）{chinese}。请修正，或将 embed.provider 设为“local”或“none”。",
        )


def _requests(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """The texts in requests of a size that services take."""
    part: list[str] = []
    size = 0
    for text in texts:
        cut = text[:_LONGEST_TEXT] if text.strip() else "."  # empty texts are refused
        if part and (len(part) == most or size + len(cut) > _LONGEST_REQUEST):
            yield part
            part, size = [], 0
        part.append(cut)
        size += len(cut)
    if part:
        yield part
