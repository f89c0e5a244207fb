"""With and without the daemon: the same words, the same errors, the same exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from nacre.cli.main import run
from nacre.daemon import requests as made
from nacre.errors import BadInput, NotFound
from nacre.memory import Memory

from .conftest import Start, connected

QUESTIONS = (
    "which package manager",
    "where does Braldor keep its backup key",
    "备份密钥放在哪里",
    "PostgreSQL",
    "roses frost winter",
    "dinner on Friday",
    "what is the airspeed of a swallow",
    "key",
    "花园",
    'quoted "words" AND (brackets) OR *',
)
COMMANDS = (
    ("search", "which package manager"),
    ("search", "--json", "备份密钥放在哪里", "-n", "2"),
    ("search", "--mode", "text", "Braldor", "backup"),
    ("search", "--json", "--all-projects", "roses"),
    ("search", "--explain", "roses", "--since", "2026-01-01"),
    ("search", "nothing of the sort zxqw"),
    ("search", "--mode", "vector", "roses"),
    ("search", "roses", "--since", "neverday"),
    ("search", "roses", "--corpus", "sessions"),
    ("get", "memory/garden.md", "-l", "2"),
    ("get", "memory/garden.md:3", "--json"),
    ("get", "memory/missing.md"),
    ("context",),
    ("context", "--json", "--query", "backup key"),
    ("context", "--budget", "60", "-v"),
    ("--scope", "group:family", "search", "dinner"),
    ("--scope", "group:family", "search", "package"),
    ("--scope", "group:", "search", "package"),
)


def nacre(root: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "--workspace", str(root), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        encoding="utf8",
        check=False,
    )
    return done.returncode, _without_time(done.stdout), done.stderr


def in_this_process(root: Path, *arguments: str) -> tuple[int, str, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = run(["--workspace", str(root), *arguments])
    return code, _without_time(out.getvalue()), err.getvalue()


def _without_time(text: str) -> str:
    try:
        told = json.loads(text)
    except ValueError:
        return text
    told.pop("tookMs", None)
    return json.dumps(told, ensure_ascii=False)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_says_the_same_with_and_without(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("NACRE_LANGUAGE", language)
    commands = COMMANDS if language == "en" else COMMANDS[:8:3]
    with monkeypatch.context() as alone:
        alone.setenv("NACRE_NO_DAEMON", "1")
        without = [in_this_process(root, *one) for one in commands]
    start()
    with connected(root) as daemon:
        before = daemon.ask("status")["questions"]
        assert [nacre(root, *one) for one in commands] == without
        refused = sum(code != 0 and "--since" not in one for (code, *_), one in zip(without, commands, strict=True))
        assert daemon.ask("status")["questions"] - before >= len(commands) - refused


def test_many_questions_get_the_same_report(root: Path, start: Start) -> None:
    start()
    memory = Memory.open(root)
    with connected(root) as daemon:
        for query in QUESTIONS:
            for mode in ("hybrid", "text", "vector"):
                for limit in (None, 1, 3):
                    asked: dict[str, Any] = {"query": query, "limit": limit, "mode": mode, "as_json": True}
                    answer = daemon.ask("search", asked=asked)
                    assert _plain(answer["parts"]) == _plain(made.answer_search([memory], **asked).parts)


def _plain(parts: Any) -> dict[str, Any]:
    ((kind, text),) = parts
    assert kind == "out"
    told: dict[str, Any] = json.loads(text)
    told.pop("tookMs")
    return told


def test_errors_come_out_as_the_errors_they_are(root: Path, start: Start) -> None:
    start()
    with connected(root) as daemon:
        with pytest.raises(NotFound):
            daemon.ask("get", asked={"path": "memory/missing.md"})
        with pytest.raises(BadInput):
            daemon.ask("search", asked={"query": "x", "mode": "sideways"})
        for wrong in (None, {}, {"q": "x"}):
            with pytest.raises(BadInput):
                daemon.ask("search", asked=wrong)
        assert daemon.ask("search", asked={"query": "roses"})["parts"]


def test_a_search_sees_what_was_written_just_before(root: Path, start: Start) -> None:
    start()
    with connected(root) as daemon:
        for number in range(30):
            (root / "memory" / f"new-{number}.md").write_text(f"The violin{number} is in the attic.\n", "utf8")
            answer = daemon.ask("search", asked={"query": f"violin{number}", "as_json": True})
            assert _plain(answer["parts"])["results"][0]["path"] == f"memory/new-{number}.md"


def test_the_project_is_that_of_the_folder_where_it_was_asked(root: Path, start: Start, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (root / "projects" / "shop").mkdir(parents=True)
    (root / "projects" / "shop" / "MEMORY.md").write_text(
        f"# Shop\n\n> Project: {shop}\n\n- The till is blue\n", "utf8"
    )
    start()
    with connected(root) as daemon:
        asked = {"query": "till", "as_json": True, "min_score": 0}
        inside = daemon.ask("search", asked={**asked, "here": str(shop)})
        assert [one["project"] for one in _plain(inside["parts"])["results"]] == ["shop"]


def test_a_moment_that_is_named_is_never_asked_of_a_daemon(root: Path, start: Start) -> None:
    start()
    with connected(root) as daemon:
        before = daemon.ask("status")["questions"]
        assert nacre(root, "search", "roses", "--now", "2026-03-01")[0] == 0
        assert nacre(root, "search", "roses", NACRE_NOW="2026-03-01")[0] == 0
        assert nacre(root, "search", "roses", NACRE_NO_DAEMON="1")[0] == 0
        assert daemon.ask("status")["questions"] == before + 1
