from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.config.settings import Config, EmbedSettings
from nacre.embed.choose import choose, embedding_problems
from nacre.embed.local import LocalEmbedder
from nacre.embed.models import PINS, models_folder
from nacre.embed.remote import RemoteEmbedder
from nacre.i18n import use_language

NO_MODELS = {"NACRE_MODELS_PATH": "/nonexistent/models"}


def chosen(env: dict[str, str] | None = None, **settings: Any) -> tuple[Any, str | None]:
    return choose(Config(embed=EmbedSettings(**settings)), NO_MODELS | (env or {}))


def test_auto_takes_the_local_models_even_when_a_key_is_there(local: LocalEmbedder) -> None:
    embedder, line = chosen({"OPENAI_API_KEY": "sk-1", "NACRE_MODELS_PATH": str(models_folder())})
    assert isinstance(embedder, LocalEmbedder)
    assert line is None


@pytest.mark.parametrize(
    ("env", "provider", "host"),
    [
        ({"VOYAGE_API_KEY": "v", "GEMINI_API_KEY": "g", "OPENAI_API_KEY": "o"}, "openai", "api.openai.com"),
        ({"VOYAGE_API_KEY": "v", "GOOGLE_API_KEY": "g"}, "gemini", "generativelanguage.googleapis.com"),
        ({"VOYAGE_API_KEY": "v", "OPENAI_API_KEY": " "}, "voyage", "api.voyageai.com"),
    ],
)
def test_auto_without_models_takes_a_service_by_its_key_and_says_where_texts_go(
    env: dict[str, str], provider: str, host: str
) -> None:
    embedder, line = chosen(env)
    assert embedder.provider == provider
    assert line
    assert f"sent to {provider} at {host}" in line


def test_auto_with_nothing_at_hand_says_how_to_get_the_models() -> None:
    embedder, line = chosen({"MISTRAL_API_KEY": "m"})
    assert embedder is None
    assert line
    assert "nacre models install" in line
    assert "\n" not in line
    use_language("zh")
    assert "nacre models install" in (chosen()[1] or "")


def test_none_means_words_only() -> None:
    assert chosen({"OPENAI_API_KEY": "o"}, provider="none")[0] is None


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"provider": "local"}, "nacre models install"),
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"provider": "gemini"}, "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ({"provider": "voyage", "key_file": "/nonexistent/key"}, "/nonexistent/key"),
        ({"provider": "ollama", "base_url": "localhost:11434"}, "embed.base_url"),
        ({"provider": "ollama", "base_url": "http://[::1"}, "embed.base_url"),
        ({"provider": "ollama", "base_url": "http://x:y/v1"}, "embed.base_url"),
    ],
)
def test_a_named_provider_that_cannot_be_used_is_a_reason_not_an_error(settings: dict[str, Any], said: str) -> None:
    embedder, line = chosen(**settings)
    assert embedder is None
    assert said in (line or "")


def test_a_server_on_this_machine_needs_no_key_and_no_warning() -> None:
    for provider, address in (("ollama", None), ("openai", "http://127.0.0.1:8080/v1")):
        embedder, line = chosen(provider=provider, base_url=address)
        assert isinstance(embedder, RemoteEmbedder)
        assert line is None


def test_a_host_that_only_looks_like_this_machine_is_named() -> None:
    _, line = chosen(provider="ollama", base_url="http://127.0.0.1.example.com/v1")
    assert "127.0.0.1.example.com" in (line or "")


def test_a_password_in_the_address_is_not_shown() -> None:
    embedder, line = chosen({"OPENAI_API_KEY": "o"}, provider="openai", base_url="https://me:hunter2@example.com/v1")
    assert "hunter2" not in f"{line} {embedder!r}"


def test_auto_does_not_send_another_services_key_to_the_address_that_is_set() -> None:
    embedder, _ = chosen({"VOYAGE_API_KEY": "v"}, base_url="https://example.com/v1", model="mine")
    assert (embedder.host, embedder.model) == ("api.voyageai.com", "voyage-4")


def test_one_missing_model_is_named_and_the_other_used(local: LocalEmbedder, tmp_path: Path) -> None:
    latin = PINS.models[0]
    (tmp_path / latin.folder_name).symlink_to(models_folder() / latin.folder_name)
    embedder, line = chosen({"NACRE_MODELS_PATH": str(tmp_path)})
    assert [model.name for model in embedder.models()] == ["all-MiniLM-L6-v2"]
    assert "bge-small-zh-v1.5" in (line or "")


def test_a_key_file_is_read_and_others_reading_it_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("sk-from-file\n", encoding="utf-8")
    path.chmod(0o644)
    config = Config(embed=EmbedSettings(provider="openai", key_file=str(path)))
    embedder, _ = choose(config, NO_MODELS)
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder._client._key() == "sk-from-file"
    (problem,) = embedding_problems(config, NO_MODELS)
    assert problem.remedy == f"chmod 600 {path}"
    path.chmod(0o600)
    assert embedding_problems(config, NO_MODELS) == ()


def test_something_that_cannot_be_a_key_is_refused_without_showing_it() -> None:
    embedder, line = chosen({"OPENAI_API_KEY": "two\nlines"}, provider="openai")
    assert embedder is None
    assert "OPENAI_API_KEY" in (line or "")
    assert "two" not in (line or "")


def test_problems_name_what_is_sent_in_the_clear_and_what_is_missing() -> None:
    config = Config(embed=EmbedSettings(provider="openai", base_url="http://192.168.1.5/v1"))
    (problem,) = embedding_problems(config, NO_MODELS | {"OPENAI_API_KEY": "o"})
    assert "192.168.1.5" in problem.message
    (problem,) = embedding_problems(Config(), NO_MODELS)
    assert problem.remedy == "nacre models install"
