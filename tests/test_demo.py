"""The demo: invented talks through the real pipeline, and what must be there to see afterwards, with models and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.demo.weeks import LANGUAGES, NOW, SECRET, UNSAID, live_through, prepare, tell_story
from nacre.i18n import use_language
from nacre.memory import Memory
from nacre.model.verdict import TESTS


@pytest.fixture(scope="module", params=LANGUAGES)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Two weeks without models, which is what every machine can do: the sections by what stands first in their titles."""
    use_language(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NACRE_MODELS_PATH", str(tmp_path_factory.mktemp("none")))
        stage = prepare(tmp_path_factory.mktemp("demo"), request.param)
        with live_through(stage) as memory:
            lines = [lines for _, lines in tell_story(stage, memory)]
    names = ("day", "week", "entries", "reason", "changed", "refused", "nowhere", "asking", "group", "given")
    return dict(zip(names, lines, strict=True))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_talks_are_read_by_the_readers_of_their_agents(tmp_path: Path, language: str) -> None:
    stage = prepare(tmp_path, language)
    memory = Memory(stage.at(NOW))
    found = memory.survey()
    assert {row.agent for row in found} == {"claude-code", "openclaw"}
    assert sum(row.sessions for row in found) == stage.sessions == 8
    assert len([row for row in found if row.agent == "claude-code"]) == 2  # projects
    assert len([row for row in found if row.agent == "openclaw" and row.name != "direct"]) == 1  # the group


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_secret_and_the_aside_are_really_said(tmp_path: Path, language: str) -> None:
    prepare(tmp_path, language)
    said = "".join(path.read_text("utf8") for path in tmp_path.rglob("*.jsonl"))
    assert said.count(SECRET) == 1
    assert UNSAID[language] in said


def test_a_day_a_week_and_what_lasts_are_there_to_see(story: dict[str, list[str]]) -> None:
    assert story["day"][0].startswith("## 09:46 session:")
    assert len(story["week"]) == 4
    assert len(story["entries"]) >= 4
    words, without_it, said = story["reason"]
    assert without_it
    assert said.startswith(f"“{words[:6]}")


def test_a_fact_that_changed_is_superseded_and_no_longer_stands(story: dict[str, list[str]]) -> None:
    (changed,) = story["changed"]
    assert changed.index("pnpm") < changed.index("2026-03-12") < changed.rindex("Bun")
    assert any("Bun" in entry for entry in story["entries"])


def test_the_secret_and_what_was_not_to_be_remembered_stand_nowhere(story: dict[str, list[str]]) -> None:
    redacted, proof = story["nowhere"]
    assert "[redacted: password]" in redacted
    assert "in none of them" in proof or "均不存在" in proof
    assert SECRET not in repr(story)


def test_junk_is_refused_with_the_tests_that_it_failed(story: dict[str, list[str]]) -> None:
    assert story["refused"]
    assert all(any(test in line for test in TESTS) for line in story["refused"])


def test_questions_in_both_languages_find_their_line(story: dict[str, list[str]]) -> None:
    names = " ".join(story["asking"])
    assert ("Mara Olsen" in names and "陈伟只收" in names) or ("周敏" in names and "Lucas" in names)


def test_a_group_sees_its_own_and_nothing_private(story: dict[str, list[str]]) -> None:
    private, shared = story["group"]
    assert private.endswith(("→ nothing", "→ 无结果"))
    assert not shared.endswith(("→ nothing", "→ 无结果"))


def test_the_next_session_is_given_long_term_memory(story: dict[str, list[str]]) -> None:
    assert "MEMORY.md" in story["given"][0]


def test_two_weeks_lived_twice_leave_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    trees = []
    for name in ("one", "two"):
        stage = prepare(tmp_path / name, "en")
        live_through(stage).close()
        root = stage.workspace.root
        trees.append({str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md")})
    assert trees[0] == trees[1]


def demo(home: Path, temp: Path, *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "HOME": str(home), "TMPDIR": str(temp), **env}
    del surroundings["NACRE_LANGUAGE"]
    return subprocess.run(
        [sys.executable, "-m", "nacre", "up", "--demo", *more],
        capture_output=True,
        encoding="utf8",
        env=surroundings,
        check=False,
    )


def test_the_demo_speaks_the_language_of_the_system_and_touches_nothing_of_the_user(tmp_path: Path) -> None:
    home, temp = tmp_path / "home", tmp_path / "temp"
    home.mkdir()
    temp.mkdir()
    done = demo(home, temp, LANG="zh_CN.UTF-8", NACRE_WORKSPACE=str(home / "mine"), OPENAI_API_KEY="not-used")
    assert done.returncode == 0
    assert "MEMORY.md" in done.stdout
    assert "周敏" in done.stdout
    assert "均不存在" in done.stdout
    assert SECRET not in done.stdout + done.stderr
    assert 25 <= len(done.stdout.splitlines()) <= 45
    assert list(home.rglob("*")) == []
    assert list(temp.iterdir()) == []


def test_a_demo_that_is_kept_can_be_searched(tmp_path: Path) -> None:
    home, temp = tmp_path / "home", tmp_path / "temp"
    home.mkdir()
    temp.mkdir()
    done = demo(home, temp, "--keep", "--language", "en", NACRE_MODELS_PATH=str(tmp_path / "none"))
    (folder,) = temp.iterdir()
    command = next(line.strip() for line in done.stdout.splitlines() if " search " in line)
    assert str(folder) in command
    found = subprocess.run(
        command,
        shell=True,
        capture_output=True,
        encoding="utf8",
        check=False,
        env={**os.environ, "HOME": str(home)},
    )
    assert "Mara Olsen" in found.stdout
