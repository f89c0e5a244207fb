"""nacre tidy and nacre review as a user types them, and as a program calls them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import forked

from nacre.cli.main import run
from nacre.tidy import distil
from nacre.tidy.apply import DistilPlan

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = "2026-03-20T03:00"
RULE = "Use pnpm, never npm, in every repository"
CHINESE_RULE = "以后所有报告一律用 Typst 排版，不要用 LaTeX"
ERRAND = "Fixed the typo on line 12 of this page today"
OLD = "User asked to move the API to v2"
JEST = "Unit tests are written with Jest in every project"
VITEST = "We moved from Jest to Vitest: unit tests are written with Vitest in every project, no longer with Jest"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


def surroundings(root: Path, **env: str) -> dict[str, str]:
    given = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(root.parent / "none"), "NACRE_NOW": NOW}
    return {**os.environ, **given, **env}


@pytest.fixture
def nacre(root: Path) -> Nacre:
    def command(*arguments: str, **env: str) -> Done:
        return forked.run(arguments, env=surroundings(root, **env))

    assert command("init").returncode == 0
    return command


def said(root: Path, day: str, *bullets: str) -> None:
    lines = "".join(f"- {one}\n" for one in bullets)
    text = f"# {day}\n\n## 14:05 session:61871d67 | 12 messages\n{lines}"
    (root / "memory" / f"{day}.md").write_text(text, "utf8")


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".nacre" not in path.relative_to(root).parts
    }


@pytest.mark.parametrize(
    ("language", "sentence"), [("en", "memory-tidy done, nothing changed.\n"), ("zh", "memory-tidy 完成，无变更。\n")]
)
def test_a_night_without_news_is_one_sentence(nacre: Nacre, language: str, sentence: str) -> None:
    done = nacre("tidy", NACRE_LANGUAGE=language)
    assert (done.returncode, done.stdout, done.stderr) == (0, sentence, "")


def test_a_night_is_told_in_one_sentence_and_doing_it_again_changes_nothing(nacre: Nacre, root: Path) -> None:
    said(root, "2026-03-19", RULE, CHINESE_RULE, ERRAND)
    said(root, "2026-02-10", OLD)
    done = nacre("tidy")
    assert done.returncode == 0
    assert done.stdout.startswith("memory-tidy done: 1 condensed into weekly digests, 2 admitted, ")
    assert done.stdout.endswith("1 archived.\nlong-term memory: +2\n")
    text = (root / "MEMORY.md").read_text("utf8")
    assert f"- {RULE}\n" in text
    assert f"- {CHINESE_RULE}\n" in text
    assert nacre("tidy").stdout == "memory-tidy done, nothing changed.\n"
    assert nacre("undo").returncode == 0
    assert RULE not in (root / "MEMORY.md").read_text("utf8")


def test_the_sentence_in_chinese(nacre: Nacre, root: Path) -> None:
    said(root, "2026-03-19", RULE, ERRAND)
    done = nacre("tidy", NACRE_LANGUAGE="zh")
    assert done.stdout == "memory-tidy 完成：收录 1，拒绝 1。\n长期记忆：新增 1 条\n"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_dry_run_writes_nothing_and_gives_a_reason_for_every_line(nacre: Nacre, root: Path, language: str) -> None:
    said(root, "2026-03-19", RULE, CHINESE_RULE, ERRAND)
    said(root, "2026-02-10", OLD)
    before = files(root)
    done = nacre("tidy", "--dry-run", NACRE_LANGUAGE=language)
    assert done.returncode == 0
    assert files(root) == before
    *steps, last = done.stdout.splitlines()
    assert last.startswith("memory-tidy dry run: " if language == "en" else "memory-tidy 试运行：")
    assert len(steps) >= 2 * 5
    assert all(first.strip() and reason.startswith(" " * 12) and reason.strip() for first, reason in pairs(steps))
    told = json.loads(nacre("tidy", "--dry-run", "--json", NACRE_LANGUAGE=language).stdout)
    assert told["dryRun"]
    assert all(step["reason"] for step in told["steps"])
    assert files(root) == before


def pairs(lines: list[str]) -> list[tuple[str, str]]:
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_as_json(nacre: Nacre, root: Path) -> None:
    said(root, "2026-03-19", RULE, ERRAND)
    told = json.loads(nacre("tidy", "--json").stdout)
    assert told["changed"]
    assert [(step["phase"], step["action"], step["text"]) for step in told["steps"]] == [
        ("distil", "add", RULE),
        ("distil", "refuse", ERRAND),
    ]
    assert told["counts"] == {"distil add": 1, "distil refuse": 1}
    assert told["problems"] == told["left"] == []
    again = json.loads(nacre("tidy", "--json").stdout)
    assert (again["changed"], again["summary"]) == (False, "memory-tidy done, nothing changed.")


def test_a_file_over_its_limits_is_told_on_stderr_until_it_is_adopted(nacre: Nacre, root: Path) -> None:
    lines = [f"line {number} of a diary" for number in range(120)]
    (root / "MEMORY.md").write_text("# Mine\n" + "".join(f"- {one}\n" for one in lines), "utf8")
    said(root, "2026-03-19", RULE)
    before = (root / "MEMORY.md").read_bytes()
    done = nacre("tidy")
    assert "MEMORY.md is over its limits (121 of 80 lines" in done.stderr
    assert '"nacre review --adopt"' in done.stderr
    assert (root / "MEMORY.md").read_bytes() == before
    assert "已超出上限" in nacre("tidy", NACRE_LANGUAGE="zh").stderr

    asked = nacre("review", "--adopt")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert (root / "MEMORY.md").read_bytes() == before
    assert nacre("review", "--adopt", "--dry-run").returncode == 0
    assert (root / "MEMORY.md").read_bytes() == before
    assert nacre("review", "--adopt", "--yes").returncode == 0
    held = (root / "MEMORY.md").read_text("utf8") + (root / "memory/2026-03-20-from-memory.md").read_text("utf8")
    assert all(f"- {one}\n" in held for one in lines)
    assert (root / "MEMORY.md").read_bytes().count(b"\n") <= 80
    assert nacre("review", "--adopt", "--yes").stdout == "Every MEMORY.md is within its limits.\n"
    assert nacre("undo").returncode == 0
    assert (root / "MEMORY.md").read_bytes() == before


@pytest.fixture
def clash(nacre: Nacre, root: Path) -> dict[str, Any]:
    """An open question."""
    (root / "MEMORY.md").write_text(f"# Mine\n\n- {JEST}\n", "utf8")
    said(root, "2026-03-19", VITEST)
    assert nacre("tidy").returncode == 0
    (item,) = json.loads(nacre("review", "--json").stdout)
    found: dict[str, Any] = item
    return found


def test_questions_are_listed_where_nobody_watches(nacre: Nacre, root: Path, clash: dict[str, Any]) -> None:
    assert (clash["kind"], clash["text"], clash["file"]) == ("clash", VITEST, "MEMORY.md")
    done = nacre("review")
    assert done.stdout.startswith(f"{clash['id']}  [conflict] {VITEST}\n")
    assert JEST in done.stdout
    before = files(root)
    shown = nacre("review", "--accept", clash["id"], "--dry-run").stdout
    assert shown.startswith(f"replace  MEMORY.md: {VITEST}\n")
    assert JEST in shown
    assert files(root) == before
    assert f"[冲突] {VITEST}" in nacre("review", NACRE_LANGUAGE="zh").stdout


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (("--accept", "{id}"), VITEST),
        (("--refuse", "{id}"), JEST),
        (("--pin", "{id}"), VITEST),
        (("--edit", "{id}", "Write tests with Vitest"), "Write tests with Vitest"),
    ],
)
def test_a_question_is_answered_by_flags(
    nacre: Nacre, root: Path, clash: dict[str, Any], flags: tuple[str, ...], kept: str
) -> None:
    given = [one.format(id=clash["id"]) for one in flags]
    assert nacre("review", *given).returncode == 0
    assert (root / "MEMORY.md").read_text("utf8") == f"# Mine\n\n- {kept}\n"
    assert nacre("review").stdout == "Nothing to review.\n"


def test_an_id_that_nobody_knows_is_an_error_in_one_sentence(nacre: Nacre, root: Path) -> None:
    done = nacre("review", "--accept", "ffffffffff")
    assert done.returncode == 1
    assert 'There is no open question "ffffffffff"' in done.stderr
    assert "Traceback" not in done.stderr


def test_on_a_terminal_each_question_is_asked(nacre: Nacre, root: Path, clash: dict[str, Any]) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "nacre", "review"]
    env = surroundings(root, TERM="dumb")
    with subprocess.Popen(command, env=env, stdin=slave, stdout=slave, stderr=slave) as child:
        os.close(slave)
        shown = b""
        while b"[q] quit" not in shown:
            shown += os.read(master, 4096)
        while child.poll() is None:  # what is typed before the terminal listens for single keys is lost
            os.write(master, b"k")
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.2)
        assert child.returncode == 0
    os.close(master)
    assert VITEST in shown.decode()
    assert "[k] keep (replaces the old line), [e] edit, [r] refuse (the old line stays), [l] later" in shown.decode()
    assert VITEST in (root / "MEMORY.md").read_text("utf8")


def test_the_morning_line_stands_below_the_summary_and_in_status(nacre: Nacre, root: Path) -> None:
    said(root, "2026-03-19", RULE)
    assert nacre("tidy").stdout.splitlines()[-1] == "long-term memory: +1"
    status = nacre("status", "--all").stdout
    assert [line.split() for line in status.splitlines() if line.startswith("tidied")] == [
        ["tidied", "last", "change", "just", "now:", "+1"]
    ]
    assert json.loads(nacre("status", "--all", "--json").stdout)["night"]["added"] == 1
    assert "整理" in nacre("status", "--all", NACRE_LANGUAGE="zh").stdout
    assert "新增 1 条" in nacre("status", "--all", NACRE_LANGUAGE="zh").stdout


def test_a_file_edited_while_it_is_tidied_ends_with_twelve_and_the_next_run_succeeds(
    nacre: Nacre, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said(root, "2026-03-19", RULE)
    for name, value in surroundings(root).items():
        monkeypatch.setenv(name, value)
    real = distil.plan

    def edited(*given: Any, **named: Any) -> DistilPlan:
        planned = real(*given, **named)
        (root / "MEMORY.md").write_text("# Mine\n\n- my own line\n", "utf8")
        return planned

    with monkeypatch.context() as patched:
        patched.setattr(distil, "plan", edited)
        assert run(["tidy"]) == 12
    told = capsys.readouterr()
    assert "MEMORY.md was changed by another program in the meantime; nothing was written." in told.err
    assert (root / "MEMORY.md").read_text("utf8") == "# Mine\n\n- my own line\n"
    assert not (root / "memory" / "ledger.jsonl").exists()
    assert nacre("tidy").returncode == 0
    text = (root / "MEMORY.md").read_text("utf8")
    assert "- my own line\n" in text
    assert f"- {RULE}\n" in text
