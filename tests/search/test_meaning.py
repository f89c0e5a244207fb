"""A service that makes the vectors and is down, slow or confused: search goes on with words alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from tests.embed.conftest import Service, service

from nacre.embed import client, remote
from nacre.memory import Memory
from nacre.model import SearchReport

__all__ = ["service"]

OLD = "# Harbour\n\nThe Braldor project keeps its backup key in the archive on the third floor.\n"
NEW = "# Garden\n\nCover the roses before the first frost.\n"


@pytest.fixture
def root(tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose vectors come from the service: one note has its own."""
    monkeypatch.setenv("NACRE_EMBED_PROVIDER", "openai")
    monkeypatch.setenv("NACRE_EMBED_BASE_URL", service.url)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr(remote, "_TIMEOUT_IN_A_HURRY", 2.0)
    Memory.init(tmp_path / "ws").close()
    (tmp_path / "ws" / "memory" / "harbour.md").write_text(OLD, "utf8")
    assert ask(tmp_path / "ws", "the backup key").mode == "hybrid"
    service.asked.clear()
    return tmp_path / "ws"


def ask(root: Path, query: str) -> SearchReport:
    with Memory.open(root) as memory:
        return memory.ask(query)


def down(_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.Client, "_client", property(lambda _self: _unreachable()))


def _unreachable() -> None:
    raise httpx2.ConnectError("[Errno 111] Connection refused")


def silent(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_TIMEOUT_IN_A_HURRY", 0.05)
    service.silent = True


def overloaded(service: Service, _monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        service.will(503, b"{}", {"Retry-After": "0"})


def refusing(service: Service, _monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(service)


def refuse(service: Service) -> None:
    for _ in range(20):
        service.will(401, b'{"error": {"message": "bad key"}}')


def confused(service: Service, _monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(20):
        service.will(200, b"<html>log in</html>", {"Content-Type": "text/html"})


def of_other_dimensions(service: Service, _monkeypatch: pytest.MonkeyPatch) -> None:
    service.dims = 7


@pytest.mark.parametrize(
    "fails", [down, silent, overloaded, refusing, confused, of_other_dimensions], ids=lambda fails: fails.__name__
)
@pytest.mark.parametrize("new", [True, False], ids=["a new line", "nothing new"])
def test_a_search_answers_by_words_where_the_service_fails(
    root: Path,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    fails: Callable[[Service, pytest.MonkeyPatch], None],
    new: bool,
) -> None:
    if new:
        (root / "memory" / "garden.md").write_text(NEW, "utf8")
    fails(service, monkeypatch)
    report = ask(root, "cover the roses" if new else "key in the archive")
    assert [hit.path for hit in report.hits] == [f"memory/{'garden' if new else 'harbour'}.md"]
    assert report.mode == "text"
    assert (report.fallback or "").startswith("keyword search only: ")
    assert len(service.asked) <= 2  # somebody waits: what failed for the new lines is not tried again for the question


def test_a_search_by_meaning_alone_falls_back_to_words_too(root: Path, service: Service) -> None:
    refuse(service)
    with Memory.open(root) as memory:
        report = memory.ask("key in the archive", mode="vector")
    assert [hit.path for hit in report.hits] == ["memory/harbour.md"]
    assert report.fallback


def test_what_could_not_be_embedded_is_when_the_service_is_back(root: Path, service: Service) -> None:
    (root / "memory" / "garden.md").write_text(NEW, "utf8")
    service.will(401, b"{}")
    assert ask(root, "cover the roses").stale
    report = ask(root, "cover the roses")
    assert (report.mode, report.stale, report.fallback) == ("hybrid", False, None)
