"""The short way takes only what means the same on the long one, and finds the same workspace."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from nacre.daemon import fast
from nacre.errors import NacreError
from nacre.memory import find_workspace, several_agents
from nacre.vault.discover import trust_workspace


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ("search roses", {"query": "roses"}),
        ("search roses and frost -n 3 --json", {"query": "roses and frost", "limit": 3, "as_json": True}),
        ("--workspace w search --mode text roses", {"query": "roses", "mode": "text", "workspace": "w"}),
        ("search roses --workspace w --scope group:x", {"query": "roses", "workspace": "w", "scope": "group:x"}),
        ("search --all-projects 花园", {"query": "花园", "all_projects": True}),
    ],
)
def test_a_plain_search_is_read(arguments: str, asked: dict[str, object]) -> None:
    assert fast.parse_search(arguments.split()) == asked


@pytest.mark.parametrize(
    "arguments",
    [
        "search", "search -n 3", "search roses -n", "search roses -n 0", "search roses -n 1001", "search roses -n ³", "search roses --mode sideways",
        "search --help", "search roses --since 7d", "search roses --now 2026-01-01", "search -- roses", "search roses --explain", "search roses -n=3",
        "query roses", "get search roses", "search roses --agent a", "search --json=1 roses", "search r\udcff",
    ],
)  # fmt: skip
def test_anything_else_goes_the_ordinary_way(arguments: str) -> None:
    assert fast.parse_search(arguments.split(" ")) is None


@pytest.mark.parametrize("name", ["NACRE_NOW", "NACRE_AGENT", "NACRE_SEARCH_LIMIT", "NACRE_SEARCH_MAX_RESULTS"])
def test_what_the_environment_changes_goes_the_ordinary_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    monkeypatch.setattr(fast, "find_workspace", lambda _named: pytest.fail("looked for a daemon"))
    assert fast.search(["search", "roses"]) is None


def test_a_terminal_that_speaks_no_utf8_goes_the_ordinary_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    monkeypatch.setattr(fast, "find_workspace", lambda _named: pytest.fail("looked for a daemon"))
    assert fast.search(["search", "roses"]) is None


def long_way(named: str | None = None) -> str | None:
    """The one workspace that the command line would open, without a word about others."""
    try:
        if not named and several_agents():
            return None
        opened, problems = find_workspace(named, None, None)
    except NacreError:
        return None
    return None if problems else os.path.realpath(opened.workspace.root)


def make(place: Path) -> Path:
    (place / ".nacre").mkdir(parents=True)
    return place


def test_both_ways_find_the_same_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path.home()
    here = tmp_path / "here" / "deep"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)

    def agree(named: str | None = None, *, quick: bool = True) -> None:
        short = fast.find_workspace(named)
        assert short is None or os.path.realpath(short) == long_way(named)
        assert (short is not None) is (quick and long_way(named) is not None)

    agree()
    make(home / ".nacre" / "workspace")
    agree()
    make(home / ".openclaw" / "workspace")
    agree()
    make(tmp_path / "here")
    agree(quick=False)  # not trusted: the long way says so
    trust_workspace(tmp_path / "here")
    agree()
    make(tmp_path / "named")
    agree(str(tmp_path / "named"))
    agree("../../named")
    agree(str(tmp_path / "missing"))
    make(home / "own")
    agree("~/own")
    monkeypatch.setenv("OPENCLAW_WORKSPACE", str(tmp_path / "named"))
    agree()
    monkeypatch.setenv("NACRE_WORKSPACE", str(home / "own"))
    agree()
    monkeypatch.delenv("NACRE_WORKSPACE")
    monkeypatch.delenv("OPENCLAW_WORKSPACE")
    monkeypatch.chdir(tmp_path)
    settings = home / ".config" / "nacre"
    (settings / "config.toml").write_text(f'workspace = "{tmp_path / "named"}"\n', "utf8")
    agree(quick=False)
    (settings / "config.toml").write_text("[search]\nmax_results = 3\n", "utf8")
    agree()
    openclaw = home / ".openclaw" / "openclaw.json"
    openclaw.write_text('{"agents": {"defaults": {"workspace": "~/own"}}, "gateway": {"allowlist": []}}\n', "utf8")
    agree()
    assert fast.find_workspace(None) == str(home / "own")
    for roster in ('"entries": {"a": {"workspace": "~/own"}}', '"list": [{"id": "a", "workspace": "~/own"}]'):
        openclaw.write_text(f'{{"agents": {{{roster}}}}}', "utf8")
        agree()
        assert fast.find_workspace(None) == str(home / "own")
    openclaw.write_text('{"agents": {"entries": {"a": {"workspace": "~/own"}, "b": {}}}}', "utf8")
    agree(quick=False)
    openclaw.write_text('{agents: {defaults: {workspace: "~/own"}}} // JSON5', "utf8")
    agree(quick=False)
    for place in ("$HOME/own", "${HOME}/own"):
        openclaw.write_text(f'{{"agents": {{"defaults": {{"workspace": "{place}"}}}}}}', "utf8")
        assert fast.find_workspace(None) is None
    openclaw.unlink()
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    make(tmp_path / "state" / "workspace")
    agree()
    assert fast.find_workspace(None) == str(tmp_path / "state" / "workspace")
    monkeypatch.setenv("OPENCLAW_PROFILE", "x")
    agree(quick=False)
    monkeypatch.delenv("OPENCLAW_PROFILE")
    monkeypatch.delenv("OPENCLAW_STATE_DIR")
    make(home / ".openclaw" / "workspace-b")
    (home / ".openclaw" / "openclaw.json").write_text('{agents: {list: [{id: "main"}, {id: "b"}]}}', "utf8")
    agree(quick=False)
    assert long_way() is None


def test_without_a_daemon_it_says_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fast.search(["--workspace", str(root), "search", "roses"]) is None
    assert capsys.readouterr() == ("", "")
