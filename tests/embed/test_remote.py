from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nacre.embed import remote
from nacre.embed.remote import PROVIDERS, RemoteEmbedder
from nacre.errors import ModelUnusable

if TYPE_CHECKING:
    from .conftest import Service

KEY = "sk-test-0123456789abcdef"
Make = Callable[..., RemoteEmbedder]


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def make(service: Service, pauses: list[float]) -> Iterator[Make]:
    made: list[RemoteEmbedder] = []

    def make_one(name: str = "openai", **more: Any) -> RemoteEmbedder:
        given: dict[str, Any] = {"key": KEY, "base_url": service.url + "/v1/"} | more
        one = RemoteEmbedder(PROVIDERS[name], sleep=pauses.append, **given)
        made.append(one)
        return one

    yield make_one
    for one in made:
        one.close()


def ask(embedder: RemoteEmbedder, texts: list[str], *, query: bool = False) -> Any:
    return embedder.embed(embedder.models()[0], texts, query=query)


def test_texts_become_unit_vectors_in_their_order(make: Make, service: Service) -> None:
    embedder = make()
    rows = ask(embedder, ["a", "bbb", "cc"])
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert np.allclose(rows[:, 0] / rows[:, 1], [1, 3, 2])
    (asked,) = service.asked
    assert asked.path == "/v1/embeddings"
    assert asked.body == {
        "model": "text-embedding-3-small",
        "input": ["a", "bbb", "cc"],
        "encoding_format": "float",
    }
    assert asked.headers["Authorization"] == f"Bearer {KEY}"


def test_many_texts_are_sent_in_requests_of_a_bearable_size(make: Make, service: Service) -> None:
    embedder = make(batch=10)
    texts = ["t" * (at % 7 + 1) for at in range(25)]
    rows = ask(embedder, texts)
    assert [len(asked.body["input"]) for asked in service.asked] == [10, 10, 5]
    assert np.allclose(rows[:, 0] / rows[:, 1], [len(text) for text in texts])
    service.asked.clear()
    ask(make(batch=64), ["字" * 50_000] * 40)
    sizes = [sum(map(len, asked.body["input"])) for asked in service.asked]
    assert max(sizes) <= 100_000
    assert len(sizes) > 1


def test_voyage_is_told_what_the_texts_are_for_and_no_format(make: Make, service: Service) -> None:
    embedder = make("voyage")
    ask(embedder, ["a"])
    ask(embedder, ["a"], query=True)
    assert [asked.body["input_type"] for asked in service.asked] == ["document", "query"]
    assert "encoding_format" not in service.asked[0].body


def test_a_service_without_a_key_gets_no_authorization(make: Make, service: Service) -> None:
    ask(make("ollama", key=None), ["a"])
    assert "Authorization" not in service.asked[0].headers


def test_the_model_is_known_by_provider_address_and_name(make: Make, service: Service) -> None:
    first = make().models()[0]
    assert first == make().models()[0]
    others = [make("mistral"), make(model="other"), make(base_url=service.url + "/v2")]
    assert len({first.hash, *(other.models()[0].hash for other in others)}) == 4


def test_dims_come_from_the_first_answer(make: Make, service: Service) -> None:
    embedder = make()
    before = embedder.models()[0]
    assert before.dims == 0
    ask(embedder, ["a"])
    assert embedder.models()[0].dims == 4
    assert embedder.models()[0] == before


def test_a_text_without_letters_has_no_model(make: Make) -> None:
    assert make().models_for("?!… —") == ()
    assert len(make().models_for("你好")) == 1


def test_a_busy_server_is_asked_again_after_growing_pauses(make: Make, service: Service, pauses: list[float]) -> None:
    for status in (500, 502, 429):
        service.will(status, b"<html>upstream</html>", {"Content-Type": "text/html"})
    assert len(ask(make(), ["a"])) == 1
    assert pauses == [1.0, 4.0, 16.0]


def test_a_server_that_stays_down_is_given_up(make: Make, service: Service, pauses: list[float]) -> None:
    for _ in range(10):
        service.will(500, b'{"error": {"message": "out of order"}}')
    with pytest.raises(ModelUnusable, match=r"HTTP 500: .*out of order"):
        ask(make(), ["a"])
    assert len(service.asked) == 4
    assert len(pauses) == 3


def test_a_query_is_given_up_sooner(make: Make, service: Service) -> None:
    for _ in range(10):
        service.will(500, b"{}")
    with pytest.raises(ModelUnusable):
        ask(make(), ["a"], query=True)
    assert len(service.asked) == 2


def test_a_silent_server_is_given_up_after_the_timeout(
    make: Make, service: Service, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    service.silent = True
    monkeypatch.setattr(remote, "_TIMEOUT_IN_A_HURRY", 0.05)
    with pytest.raises(ModelUnusable, match="could not be reached"):
        ask(make(), ["a"], query=True)
    assert not pauses


def test_a_connection_that_breaks_is_tried_again(make: Make, service: Service, pauses: list[float]) -> None:
    service.will(cut=10)
    assert len(ask(make(), ["a"])) == 1
    assert len(pauses) == 1


def test_an_address_where_nobody_listens_is_one_sentence(make: Make, pauses: list[float]) -> None:
    embedder = make("ollama", key=None, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelUnusable, match=r"ollama at 127\.0\.0\.1:9 could not be reached"):
        ask(embedder, ["a"])
    assert pauses == []


def _data(*vectors: Any) -> bytes:
    return json.dumps({"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}).encode()


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (200, b"<!doctype html><title>Log in</title>", "OpenAI's format"),
        (200, b"[1, 2]", "OpenAI's format"),
        (200, b'{"data": [{"index": 0}]}', "OpenAI's format"),
        (200, _data([1.0]), "OpenAI's format"),
        (200, _data([1.0], [1.0], [1.0]), "OpenAI's format"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}', "OpenAI's format"),
        (200, _data([1.0, float("nan")], [1.0, 2.0]), "OpenAI's format"),
        (200, _data([1.0], [1.0, 2.0]), "OpenAI's format"),
        (200, _data(["x"], ["y"]), "OpenAI's format"),
        (200, _data([0.0, 0.0], [1.0, 0.0]), "OpenAI's format"),
        (200, _data([], []), "OpenAI's format"),
        (200, _data("abc", "def"), "OpenAI's format"),
        (401, b'{"error": {"message": "bad key"}}', "HTTP 401: .*OPENAI_API_KEY"),
        (403, b"", "HTTP 403.*embed.key_file"),
        (404, b"not found", "embed.model .*embed.base_url"),
        (302, b"", "HTTP 302.*check .*embed.base_url"),
        (400, b'{"detail": "input too long"}', "HTTP 400: .*input too long"),
        (418, b"<html>", "HTTP 418"),
    ],
)
def test_a_bad_answer_is_a_sentence_with_a_remedy(
    make: Make, service: Service, status: int, body: bytes, sentence: str
) -> None:
    service.will(status, body)
    with pytest.raises(ModelUnusable, match=sentence) as caught:
        ask(make(), ["a", "b"])
    assert "embed.provider" in str(caught.value)
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_is_never_shown(make: Make, service: Service, caplog: pytest.LogCaptureFixture, status: int) -> None:
    for _ in range(6):
        service.will(status, json.dumps({"error": {"message": f"Incorrect key: {KEY}"}}).encode())
    embedder = make()
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelUnusable) as caught:
        ask(embedder, ["a"])
    assert caught.value.__cause__ is None
    shown = [caplog.text, repr(embedder), str(vars(embedder)), str(caught.value)]
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True).stack
    shown += [
        str(frame.locals) for frame in frames if "nacre/embed" in frame.filename and "tests" not in frame.filename
    ]
    assert len(shown) > 4
    assert not any(KEY in text for text in shown)
    assert all(KEY not in asked.path for asked in service.asked)
