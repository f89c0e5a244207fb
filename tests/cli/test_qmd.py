"""Prompts written for qmd work with nacre in its place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
LOG = "# 2026-02-10\n\n## 14:05 session:61871d67 | 12 messages\n- [PREF] Use pnpm, never npm\n- The ferry leaves at nine\n"


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    root = tmp_path / "ws"

    def run(*arguments: str) -> Done:
        env = {**os.environ, "NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(tmp_path / "none")}
        command = [sys.executable, "-m", "nacre", *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf8", env=env, check=False)

    assert run("init").returncode == 0
    (root / "memory" / "2026-02-10.md").write_text(LOG, "utf8")
    (root / "memory" / "ships").mkdir()
    (root / "memory" / "ships" / "ferry.md").write_text(
        "# Ferry\n\nThe ferry is painted blue.\nIt has two masts.\nNo sails.\n", "utf8"
    )
    return run


def id_of(nacre: Nacre, query: str) -> str:
    return str(json.loads(nacre("search", query, "--json").stdout)["results"][0]["id"])


@pytest.mark.parametrize("verb", ["search", "query", "vsearch"])
def test_a_search_takes_every_option_of_qmd(nacre: Nacre, verb: str) -> None:
    options = "-n 5 --min-score 0 --all -c memory --full --line-numbers --full-path -C 20 --no-rerank --no-gpu"
    options += " --intent find --index index --chunk-strategy auto --explain --format json"
    done = nacre(verb, "ferry leaves", *options.split())
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["results"]
    assert found  # without models by words alone, also where vectors were asked for


def test_files_are_listed_with_ids_that_get_takes(nacre: Nacre) -> None:
    line = nacre("query", "when does the ferry leave", "--files", "-n", "1").stdout.strip()
    name, score, place = line.split(",")
    assert (name[0], place) == ("#", "memory/2026-02-10.md:5")
    assert 0 < float(score) <= 1
    assert nacre("get", name).stdout == "- The ferry leaves at nine\n"
    assert nacre("get", name[:7]).stdout == "- The ferry leaves at nine\n"


def test_markdown_names_the_file_and_the_id(nacre: Nacre) -> None:
    told = nacre("query", "pnpm", "--md").stdout
    assert "**file:** `memory/2026-02-10.md#L4-L4`" in told
    assert f"**docid:** `#{id_of(nacre, 'pnpm')}`" in told
    assert "- [PREF] Use pnpm, never npm" in told


def test_nothing_found_is_said_beside_the_result(nacre: Nacre) -> None:
    done = nacre("query", "zeppelin", "--files")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("Nothing in memory matches.\n")


def test_a_query_of_typed_lines_is_searched_by_their_words(nacre: Nacre) -> None:
    typed = "intent: what to install packages with\nlex: pnpm npm\nvec: package manager"
    assert "Use pnpm" in nacre("query", typed).stdout


def test_a_collection_is_a_layer_or_a_folder_of_ours(nacre: Nacre) -> None:
    found = nacre("query", "ferry", "-c", "daily", "--files", "--min-score", "0").stdout
    assert "2026-02-10.md" in found
    assert "ferry.md" not in found
    found = nacre("query", "ferry", "-c", "memory/ships", "--files", "--min-score", "0").stdout
    assert "ferry.md" in found
    assert "2026-02-10" not in found
    assert nacre("query", "ferry", "-c", "memory-root", "--all", "--files", "--min-score", "0").stdout.count("\n") > 1
    assert nacre("query", "ferry", "-c", "one", "-c", "two").returncode == 2


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


def test_many_are_read_at_once(nacre: Nacre) -> None:
    told = nacre("multi-get", "memory/*.md", "-l", "2")
    assert "==> memory/2026-02-10.md:1 <==\n# 2026-02-10\n" in told.stdout
    named = f"#{id_of(nacre, 'pnpm')},memory/ships/ferry.md"
    read = json.loads(nacre("multi-get", named, "--json").stdout)
    assert [one["path"] for one in read] == ["memory/2026-02-10.md", "memory/ships/ferry.md"]
    assert read[0]["text"] == "- [PREF] Use pnpm, never npm"
    assert nacre("multi-get", "memory/ships/*", "--files").stdout == "memory/ships/ferry.md\n"
    assert nacre("multi-get", "memory/ships/*", "--files", "--max-bytes", "10").returncode == 1
    assert nacre("multi-get", "nothing/*").returncode == 1


def test_what_keeps_an_index_of_qmd_keeps_ours(nacre: Nacre) -> None:
    assert nacre("update", "--pull", "-c", "notes").returncode == 0
    assert nacre("embed", "-f", "-c", "notes").returncode == 0
