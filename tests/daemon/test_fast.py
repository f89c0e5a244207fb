"""What is handed to the daemon means the same there as on the command line, or is left to that."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import __version__
from nacre.daemon import fast
from nacre.daemon.client import BadMessage
from nacre.daemon.requests import NOTE, OUT, CannotAnswer, Command, RequestHandler, answer_search
from nacre.errors import NoWorkspace
from nacre.memory import Memory
from nacre.vault.discover import trust_workspace


@pytest.fixture
def handler(root: Path) -> Iterator[RequestHandler]:
    with Memory.open(root) as memory:
        yield RequestHandler(memory)


def command(arguments: str, here: Path, **environment: str) -> Command:
    return Command(__version__, str(here), False, arguments.split(" "), {"HOME": str(Path.home()), **environment}, b"")


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ("search roses", {}),
        ("search roses -n 1 --json", {"limit": 1, "as_json": True}),
        ("--scope main search --mode text roses", {"mode": "text"}),
        ("search --all-projects --limit=2 花园", {"all_projects": True, "limit": 2}),
    ],
)
def test_a_plain_search_is_answered(
    arguments: str, request_: dict[str, object], handler: RequestHandler, root: Path
) -> None:
    query = "花园" if "花园" in arguments else "roses"
    expected = answer_search([handler.memory], query=query, here=str(root), **request_)  # type: ignore[arg-type]
    _, result = handler.carry_out(command(arguments, root))
    assert result.partition('"tookMs"')[0] == expected.text(OUT).partition('"tookMs"')[0] != ""


def test_what_only_another_project_answers_is_told(root: Path, tmp_path: Path) -> None:
    for name, line in (("shop", "Prices are kept in cents"), ("blog", "The Eleventy site generator builds the pages")):
        file = root / "projects" / name / "MEMORY.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"# {name}\n\n> Project: {tmp_path / name}\n\n## Key Decisions\n- {line}\n", "utf8")
    with Memory.open(root) as memory:
        asked = {"query": "Eleventy site generator", "mode": "text", "here": str(tmp_path / "shop")}
        assert "1 more in other projects; use --all-projects\n" in answer_search([memory], **asked).text(NOTE)  # type: ignore[arg-type]
        for others in ({"all_projects": True}, {"project": "shop"}, {"query": "prices in cents"}):
            assert "other projects" not in answer_search([memory], **asked | others).text(NOTE)


@pytest.mark.parametrize(
    "arguments",
    [
        "search", "search -n 3", "search roses -n", "search roses -n 0", "search roses -n 1001", "search roses -n ³", "search roses --mode sideways",
        "search --help", "search roses --since 7d", "search roses --now 2026-01-01", "search -- roses", "search roses --explain", "search roses -n=3",
        "query roses", "get search roses", "search roses --agent a", "search --json=1 roses", "search r\udcff", "",
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_command_line(arguments: str, handler: RequestHandler, root: Path) -> None:
    with pytest.raises(CannotAnswer):
        handler.carry_out(command(arguments, root))


@pytest.mark.parametrize("name", ["NACRE_AGENT", "NACRE_SEARCH_LIMIT", "NACRE_SEARCH_MAX_RESULTS"])
def test_what_the_environment_changes_is_left_to_the_command_line(
    name: str, handler: RequestHandler, root: Path
) -> None:
    with pytest.raises(CannotAnswer):
        handler.carry_out(command("search roses", root, **{name: "1"}))


def test_only_a_command_that_means_this_workspace_is_answered(
    handler: RequestHandler, root: Path, tmp_path: Path
) -> None:
    home = Path.home()
    other = tmp_path / "other"
    (other / ".nacre").mkdir(parents=True)

    def answers(arguments: str = "search roses", here: Path = tmp_path, **environment: str) -> bool:
        try:
            return bool(handler.carry_out(command(arguments, here, **environment)))
        except (CannotAnswer, NoWorkspace):
            return False

    assert answers(here=root)
    assert answers(here=root / "memory")
    assert answers(f"search roses --workspace {root}")
    assert answers("search roses --workspace ws")
    assert answers(NACRE_WORKSPACE=str(root))
    assert not answers()  # there is none of the user's own
    assert not answers(f"search roses --workspace {other}", here=root)
    assert not answers(here=root, OPENCLAW_WORKSPACE=str(other))
    (root / "clone" / ".nacre").mkdir(parents=True)
    assert not answers(here=root / "clone")  # nobody trusted it: the command line says so
    trust_workspace(root, trust=False)
    assert not answers(here=root)
    openclaw = home / ".openclaw"
    openclaw.mkdir()
    settings = '{{agents: {{list: [{{id: "a", workspace: "{}"}}{}]}}}} // JSON5'
    (openclaw / "openclaw.json").write_text(settings.format(root, ""), "utf8")
    assert answers()
    (openclaw / "openclaw.json").write_text(settings.format(root, f', {{id: "b", workspace: "{other}"}}'), "utf8")
    assert not answers()  # of several agents the command line mixes the answers


def test_a_command_arrives_as_it_was_sent(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def exchange(_connection: object, body: bytes, _within: float) -> bytes:
        sent.append(body)
        return b"no"

    monkeypatch.setattr(fast, "connect", lambda _root: None)
    monkeypatch.setattr(fast, "exchange", exchange)
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-words")
    monkeypatch.setenv("UNRELATED", "x")
    monkeypatch.chdir(root)
    words = ["hook", "Stop", "--workspace", "/w\udcff"]
    assert not fast._forward(words, {"workspace": "/w"}, b'{"a": "\0\0"}', 1.0)
    read = Command.read(sent[0])
    assert (read.arguments, read.here, read.data) == (words, os.getcwd(), b'{"a": "\0\0"}')
    assert read.environment == fast.environment()
    assert read.environment["OPENAI_API_KEY"] == "set"
    assert "UNRELATED" not in read.environment


@pytest.mark.parametrize("body", [b"command\0", b"command\0\xff\0\0", b"command\0a\0b\0c\0many\0\0"])
def test_what_is_no_command_is_a_bad_message(body: bytes) -> None:
    with pytest.raises(BadMessage):
        Command.read(body)


def test_a_terminal_that_speaks_no_utf8_goes_the_ordinary_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    monkeypatch.setattr(fast, "_forward", lambda *_: pytest.fail("asked a daemon"))
    assert fast.run(["search", "roses"]) is None


def test_the_daemon_of_the_nearest_workspace_is_asked_and_else_that_of_the_users_own(tmp_path: Path) -> None:
    home = Path.home()
    here = tmp_path / "here" / "deep"
    here.mkdir(parents=True)
    assert fast._likely_workspace(None, str(here)) == str(home / ".nacre" / "workspace")
    (home / ".openclaw" / "workspace").mkdir(parents=True)
    assert fast._likely_workspace(None, str(here)) == str(home / ".openclaw" / "workspace")
    (tmp_path / "here" / ".nacre").mkdir()
    assert fast._likely_workspace(None, str(here)) == str(tmp_path / "here")
    assert fast._likely_workspace("~/own", str(here)) == str(home / "own")


def test_without_a_daemon_it_says_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fast.run(["--workspace", str(root), "search", "roses"]) is None
    assert capsys.readouterr() == ("", "")
