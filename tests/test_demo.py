"""The demo: invented talks through the real pipeline, and what must be there to see afterwards, with models and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.demo.stage import LANGUAGES, NOW, SECRET, live_through, prepare
from nacre.demo.story import UNSAID, Story, tell_story
from nacre.i18n import use_language
from nacre.memory import Memory


@pytest.fixture(scope="module", params=LANGUAGES)
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two weeks without models, which is what every machine can do."""
    use_language(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NACRE_MODELS_PATH", str(tmp_path_factory.mktemp("none")))
        stage = prepare(tmp_path_factory.mktemp("demo"), request.param)
        with live_through(stage) as memory:
            return tell_story(stage, memory)


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


def test_a_day_a_week_and_what_lasts_are_there_to_see(story: Story) -> None:
    path, lines = story.log
    assert path == "memory/2026-03-12.md"
    assert lines[0].startswith("## 09:46 session:")
    assert story.week[0] == "memory/weekly/2026-03-02.md"
    assert len(story.week[1]) >= 8
    assert 4 <= len(story.entries) <= 10
    assert story.reason
    assert story.reason.without_it
    assert story.reason.said.startswith(story.reason.words[:6])


def test_a_fact_that_changed_is_superseded_and_no_longer_stands(story: Story) -> None:
    assert story.changed
    old, until, new = story.changed
    assert "pnpm" in old
    assert "Bun" in new
    assert until == "2026-03-12"
    assert new in story.entries
    assert old not in story.entries


def test_the_secret_and_what_was_not_to_be_remembered_stand_nowhere(story: Story) -> None:
    assert story.secret_in == []
    assert story.unsaid_in == []
    assert story.searched > 50
    assert "[redacted: password]" in story.redacted
    assert SECRET not in repr(story)


def test_junk_is_refused_with_the_tests_that_it_failed(story: Story) -> None:
    assert story.refusals >= 8
    assert all(failed for _, failed in story.refused)


def test_questions_in_both_languages_find_their_line(story: Story) -> None:
    hits = [answer.hit for answer in story.answers]
    assert len(hits) == 2
    assert all(hits)
    names = " ".join(hit.snippet for hit in hits if hit)
    assert ("Mara Olsen" in names and "陈伟" in names) or ("周敏" in names and "Lucas" in names)


def test_a_group_sees_its_own_and_nothing_private(story: Story) -> None:
    assert story.private.hit is None
    assert story.shared.hit
    assert "group:" in story.shared.hit.heading
    assert not any(word in entry for entry in story.entries for word in ("500", "五百"))  # what others say is no memory


def test_whole_talks_fade_and_the_next_session_is_given_little(story: Story) -> None:
    assert dict(story.layers) == {"gist": 4, "warm": 4}
    assert story.context_parts[0] == "MEMORY.md"
    assert 100 < story.context_tokens < 1000


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
