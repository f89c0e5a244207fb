"""A chain of providers: the first that works makes the vectors, and what another made stays."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from nacre.config.settings import Config, EmbedSettings, parse_value
from nacre.embed.choose import chain
from nacre.embed.local import LocalEmbedder
from nacre.embed.remote import PROVIDERS
from nacre.errors import BadSetting, ModelUnusable
from nacre.memory import Memory
from nacre.model import SearchReport

from .conftest import Service

NO_MODELS = {"NACRE_MODELS_PATH": "/nonexistent/models"}
KEY = "The Braldor project keeps its backup key in the archive on the third floor.\n"


@pytest.fixture
def root(tmp_path: Path, service: Service, local: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with one note, whose vectors come from a service, else from the local models."""
    monkeypatch.setenv("NACRE_EMBED_PROVIDER", "openai")
    monkeypatch.setenv("NACRE_EMBED_BASE_URL", service.url)
    monkeypatch.setenv("NACRE_EMBED_FALLBACK", '["local"]')
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    Memory.init(tmp_path / "ws").close()
    (tmp_path / "ws" / "memory" / "harbour.md").write_text(KEY, "utf8")
    assert ask(tmp_path / "ws").provider == "openai"
    service.asked.clear()
    return tmp_path / "ws"


def ask(root: Path) -> SearchReport:
    with Memory.open(root) as memory:
        return memory.ask("where is the backup key")


def refuse(service: Service) -> None:
    for _ in range(20):
        service.will(401, b"{}")


def test_while_the_service_fails_the_next_answers_and_nothing_is_embedded_again_after(
    root: Path, service: Service
) -> None:
    refuse(service)
    report = ask(root)
    assert (report.provider, report.mode, report.fallback) == ("local", "hybrid", None)
    (root / "memory" / "garden.md").write_text("Cover the roses before the first frost.\n", "utf8")
    with Memory.open(root) as memory:
        done = memory.embed()
        assert (done.embedded, "local for now: openai at" in (done.reason or "")) == (1, True)
        assert len(service.asked) == 2  # once by each process: a service that failed is left alone for a while
        assert memory.ask("roses").provider == "local"
        assert len(service.asked) == 2

    service.answers.clear()
    service.asked.clear()
    assert ask(root).provider == "openai"
    texts = [text for asked in service.asked for text in asked.body["input"]]
    assert len(texts) == 2  # the new line and the question
    with Memory.open(root) as memory:
        memory.embed()
        assert memory.keeper.store.db.execute("select count(*) from vectors").fetchone() == (
            4,
        )  # of both, for the next time
    refuse(service)
    assert ask(root).stale is False


def test_without_a_key_the_next_is_used_and_named() -> None:
    env = NO_MODELS | {"VOYAGE_API_KEY": "v", "MISTRAL_API_KEY": "m"}
    settings = EmbedSettings(
        provider="openai", fallback=["local", "mistral"], base_url="https://example.com", model="mine"
    )
    embedder, line = chain(Config(embed=settings), env).chosen
    assert embedder is not None
    assert (embedder.provider, embedder.models()[0].name) == ("mistral", "mistral-embed")
    assert "mistral for now: openai needs a key" in (line or "")
    assert "texts are sent to mistral at api.mistral.ai" in (line or "")


def test_whoever_may_be_sent_texts_is_named_and_nobody_else_is_asked(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = NO_MODELS | {"OPENAI_API_KEY": "o", "VOYAGE_API_KEY": "v", "GEMINI_API_KEY": "g"}
    links = chain(Config(embed=EmbedSettings(provider="openai", base_url=service.url, fallback=["gemini"])), env)
    assert [embedder.provider for embedder in links.embedders] == ["openai", "gemini"]
    assert links.chosen[1] == "if that fails, texts are sent to gemini (generativelanguage.googleapis.com)"
    monkeypatch.setitem(PROVIDERS, "gemini", dataclasses.replace(PROVIDERS["gemini"], base_url=service.url))
    links = chain(Config(embed=EmbedSettings(provider="openai", base_url=service.url, fallback=["gemini"])), env)
    refuse(service)
    with pytest.raises(ModelUnusable, match=r"gemini at .* returned HTTP 401"):
        links.run(lambda embedder: embedder.embed(embedder.models()[0], ["text"]))
    links.close()
    assert [asked.headers["Authorization"] for asked in service.asked] == ["Bearer o", "Bearer g"]


def test_only_a_provider_can_be_a_fallback() -> None:
    assert parse_value("embed.fallback", "local") == ["local"]
    with pytest.raises(BadSetting, match=r"embed\.fallback"):
        parse_value("embed.fallback", '["none"]')
