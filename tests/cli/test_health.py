"""nacre health as a user types it, and as a program calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tidy.nights import JEST, RULE, SAFETY, VITEST, Nights

from nacre.cli.main import COMMANDS, run

NOW = "2026-03-20T10:00:00+00:00"
Told = Callable[..., str]


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    return Nights(tmp_path / "ws")


@pytest.fixture
def told(nights: Nights, capsys: pytest.CaptureFixture[str]) -> Told:
    """What the command prints; it always ends well."""

    def command(*arguments: str) -> str:
        assert run(["health", *arguments, "--workspace", str(nights.root), "--now", NOW]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return command


def wreck(nights: Nights) -> None:
    """A memory with something of nearly every kind wrong in it."""
    nights.entries(RULE, JEST, VITEST, "In all repositories use pnpm and never npm", "The exam is due by 2026-02-01")
    nights.tell(SAFETY, "admitted", source={"day": "2026-01-01", "session": "a", "bullet": "0badcafe"})
    nights.lay("MEMORY.md", nights.text() + f"- {SAFETY}\n- Written by hand: the shop closes at noon\n")
    for day in range(1, 12):
        nights.log(f"2026-02-{day:02}", "User asked for the figures of May")
        nights.log(f"2026-03-{day + 8:02}", "Rain all day", session=None)
        nights.lay(f"memory_fs/hot/2026-03-{day:02}-1200-talk.md", f"# A talk\n\nAbout {max(day, 2)} prices.\n")
    nights.lay("memory/2026-02-20.md", "# 2026-02-20\n")
    nights.lay("refcount.json", json.dumps({"warm/gone.md": {"total": 1}}))
    nights.lay("memory/weekly/2026-02-09.md", "# 2026-02-09\n### 2026-02-15\n[Task] Snow fell (src: 2026-02-15)\n")


def test_a_fresh_memory_is_told_in_a_few_lines(told: Told) -> None:
    first, *rest = told().splitlines()
    assert first.endswith("ws: A, 100 of 100 points")
    assert rest[:2] == ["", "Contents"]
    assert len(rest) == 5


@pytest.mark.parametrize(
    ("language", "why", "named"),
    [
        ("en", "Points lost: ", "entries that contradict each other: 1"),
        ("zh", "扣分：", "互相矛盾的条目：1"),
    ],
)
def test_a_bad_memory_is_told_on_one_screen_the_most_important_first_and_is_no_error(
    nights: Nights, told: Told, monkeypatch: pytest.MonkeyPatch, language: str, why: str, named: str
) -> None:
    wreck(nights)
    monkeypatch.setenv("NACRE_LANGUAGE", language)
    text = told()
    lines = text.splitlines()
    assert len(lines) <= 24 + 5  # five kinds, each after an empty line
    assert lines[1].startswith(why)
    assert lines[1].count("−") == 3
    assert text.index("\n\n" + named) < text.index("\n\n", text.index(named))
    assert text.count("\n    → ") == 3


def test_verbose_shows_every_finding(nights: Nights, told: Told) -> None:
    wreck(nights)
    findings = json.loads(told("--json"))["findings"]
    text = told("-v")
    assert all(one["message"] in text for one in findings)
    assert len(text.splitlines()) > len(findings)


def test_programs_get_everything_as_json(nights: Nights, told: Told) -> None:
    wreck(nights)
    health: dict[str, Any] = json.loads(told("--json"))
    assert list(health) == [
        "workspace", "agent", "grade", "points", "deductions", "findings", "longterm", "files", "tokens", "meaning",
    ]  # fmt: skip
    assert {one["kind"] for one in health["findings"]} == {
        *("contradiction", "duplicate", "faded"),
    }  # fmt: skip
    for one in health["findings"]:
        assert list(one) == ["kind", "message", "path", "line", "id", "command", "byHand"]
        assert bool(one["command"]) is not bool(one["byHand"])
    assert round(100 - sum(one["points"] for one in health["deductions"])) == health["points"]
    assert health["grade"] == "B"
    assert told("--json") == told("--json")


def test_every_command_that_it_names_exists(nights: Nights, told: Told) -> None:
    wreck(nights)
    health = json.loads(told("--json"))
    commands = {one["command"] for one in health["findings"] if one["command"]}
    assert {command.split()[0] for command in commands} == {"nacre"}
    assert {command.split()[1] for command in commands} <= COMMANDS.keys()


def test_doing_what_it_says_until_nothing_is_left_makes_an_a(
    nights: Nights, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    wreck(nights)
    for _ in range(60):
        health = json.loads(told("--json"))
        if not health["findings"]:
            break
        first = health["findings"][0]
        if first["byHand"]:
            path = nights.root / first["path"]
            lines = path.read_text("utf8", "replace").splitlines(keepends=True) if first["line"] else []
            path.unlink()
            if lines:
                path.write_text("".join(lines[: first["line"] - 1] + lines[first["line"] :]), "utf8")
            continue
        _, *arguments = first["command"].split()
        answer = ["--refuse", first["id"]] if arguments == ["review"] else []
        assert run([*arguments, *answer, "--workspace", str(nights.root), "--now", NOW]) == 0
        capsys.readouterr()
    assert (health["grade"], health["points"], health["findings"]) == ("A", 100, [])
    assert SAFETY in nights.kept()


def test_a_group_is_refused(nights: Nights, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["health", "--scope", "group:team", "--workspace", str(nights.root)]) == 2
    assert capsys.readouterr().out == ""
