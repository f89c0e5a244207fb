"""Prompts written for qmd work with nacre in its place."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
LOG = "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages\n- [PREF] Use pnpm, never npm\n- The ferry leaves at nine\n"


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    root = tmp_path / "ws"

    def run(*arguments: str) -> Done:
        env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(tmp_path / "none")}
        return forked.run(arguments, env=env)

    assert run("init").returncode == 0
    (root / "memory" / "2026-02-10.md").write_text(LOG, "utf8")
    (root / "memory" / "ships").mkdir()
    (root / "memory" / "ships" / "ferry.md").write_text(
        "# Ferry\n\nThe ferry is painted blue.\nIt has two masts.\nNo sails.\n", "utf8"
    )
    return run


def id_of(nacre: Nacre, query: str) -> str:
    return str(json.loads(nacre("search", query, "--json").stdout)["results"][0]["id"])


@pytest.mark.parametrize("verb", ["query", "vsearch"])
def test_a_search_by_the_verbs_of_qmd_finds_what_search_does(nacre: Nacre, verb: str) -> None:
    done = nacre(verb, "ferry leaves", "-n", "5", "--min-score", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"]  # without models by words alone, also where vectors were asked for


def test_an_id_or_its_beginning_names_what_get_reads(nacre: Nacre) -> None:
    name = id_of(nacre, "when does the ferry leave")
    assert nacre("get", f"#{name}").stdout == "- The ferry leaves at nine\n"
    assert nacre("get", f"#{name[:6]}").stdout == "- The ferry leaves at nine\n"


def test_lines_are_read_from_a_line_on_and_as_many_as_asked_for(nacre: Nacre) -> None:
    for given in (
        ["memory/ships/ferry.md:4:1"],
        ["memory/ships/ferry.md:4", "-l", "1"],
        ["memory/ships/ferry.md", "--from", "4", "-l", "1"],
    ):
        assert nacre("get", *given).stdout == "It has two masts.\n"
    assert nacre("get", f"#{id_of(nacre, 'pnpm')}:5:1").stdout == "- The ferry leaves at nine\n"


def test_an_id_that_nobody_has_is_said_to_be_missing(nacre: Nacre) -> None:
    done = nacre("get", "#0123456789")
    assert done.returncode == 1
    assert "Nothing in memory has the id #0123456789" in done.stderr


def test_a_group_cannot_read_by_id_what_it_could_not_find(nacre: Nacre) -> None:
    done = nacre("get", f"#{id_of(nacre, 'pnpm')}", "--scope", "group:team")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing in memory has the id" in done.stderr
