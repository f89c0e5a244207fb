"""The demo: invented talks through the real pipeline, and what must be there to see afterwards, with models and without."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from nacre.demo.weeks import LANGUAGES, NOW, Stage, live_through, prepare, tell_story
from nacre.i18n import use_language
from nacre.memory import Memory

SECRET = "tulip-Harbour-42"  # said in one of the sessions, to be written nowhere
UNSAID = {"en": "present for Mara", "zh": "礼物"}  # what was not to be remembered


@pytest.fixture(scope="module", params=LANGUAGES)
def lived(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Stage, dict[str, list[str]]]:
    """Two weeks without models, which is what every machine can do, and what is told of them."""
    use_language(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NACRE_MODELS_PATH", str(tmp_path_factory.mktemp("none")))
        stage = prepare(tmp_path_factory.mktemp("demo"), request.param)
        memory, steps = live_through(stage)
        with memory:
            lines = [lines for _, lines in tell_story(stage, memory, steps)]
            assert len(memory.questions()) == (len(lines) - 5 and len(lines[2]))
    said, kept, *_, left_out, given, asking = lines
    return stage, {"said": said, "kept": kept, "left out": left_out, "given": given, "asking": asking}


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


def test_what_was_said_kept_and_left_out_is_there_to_see(lived: tuple[Stage, dict[str, list[str]]]) -> None:
    _, story = lived
    assert len(story["said"]) == 8
    assert len(story["kept"]) >= 8
    changed = next(at for at, line in enumerate(story["kept"]) if "Bun" in line)
    assert story["kept"][changed + 1].startswith(("  (was: Use pnpm", "  （原来是：所有仓库都用 pnpm"))
    assert len(story["left out"]) == 7
    assert any("PostgreSQL" in line for line in story["given"])  # of the project
    assert not any("Typst" in line for line in story["given"])  # of another
    assert sum(map(len, story.values())) < 50


def test_the_secret_and_what_was_not_to_be_remembered_stand_nowhere(
    lived: tuple[Stage, dict[str, list[str]]],
) -> None:
    stage, story = lived
    assert SECRET not in repr(story)
    logs = ""
    for path in filter(Path.is_file, stage.workspace.root.rglob("*")):
        data = path.read_bytes()
        with contextlib.suppress(zlib.error):  # what history packs
            data = zlib.decompress(data)
        assert SECRET.encode() not in data
        assert UNSAID[stage.language].encode() not in data
        logs += data.decode() if path.suffix == ".md" else ""
    assert "[redacted: password]" in logs


def test_questions_in_both_languages_find_their_line(lived: tuple[Stage, dict[str, list[str]]]) -> None:
    names = " ".join(lived[1]["asking"])
    assert ("Mara Olsen" in names and "陈伟只收" in names) or ("周敏" in names and "Lucas" in names)


def test_two_weeks_lived_twice_leave_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    trees = []
    for name in ("one", "two"):
        stage = prepare(tmp_path / name, "en")
        live_through(stage)[0].close()
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
    assert SECRET not in done.stdout + done.stderr
    assert list(home.rglob("*")) == []
    assert list(temp.iterdir()) == []


def test_a_demo_that_is_kept_can_be_searched(tmp_path: Path) -> None:
    home, temp = tmp_path / "home", tmp_path / "temp"
    home.mkdir()
    temp.mkdir()
    done = demo(home, temp, "--keep", "--language", "en", NACRE_MODELS_PATH=str(tmp_path / "none"))
    (folder,) = temp.iterdir()
    command = next(line.strip() for line in done.stdout.splitlines() if ' search "' in line)
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
