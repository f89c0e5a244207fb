"""What was recalled often becomes lasting memory, once, through the same tests as everything else."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from nacre.errors import PathEscape
from nacre.memory import Memory

NOW = dt.datetime(2026, 11, 16, 15, 0, tzinfo=dt.UTC)
TALK = """# Deploying the site

session:61871d67-1d1b | codex | 2026-11-16 09:01 | /home/u/shop-api

**User** 2026-11-16 09:01

From now on always use pnpm, never npm, in this repository. And never deploy on Fridays.

**Agent** 2026-11-16 09:02

I prefer tabs over spaces in every file. Deployed.
"""
LESSON = """# 复盘

教训：deploy-site 报错 137 说明容器内存不足，先调高内存上限再重试。
"""


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory.init(tmp_path / "ws", now=NOW.isoformat())


def checkpoint(memory: Memory, name: str, text: str, layer: str = "warm") -> Path:
    path = memory.workspace.root / "memory_fs" / layer / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")
    return path


def counts(memory: Memory, **entries: dict[str, object]) -> None:
    told = {key.replace("__", "/") + ".md": value for key, value in entries.items()}
    memory.workspace.refcount(None).write_text(json.dumps(told), encoding="utf8")


def days_ago(*days: float) -> list[int]:
    return [int((NOW - dt.timedelta(days=one)).timestamp()) for one in days]


@pytest.mark.parametrize(
    ("entry", "nominated"),
    [
        ({"total": 3, "timestamps": days_ago(1, 2, 3)}, True),
        ({"total": 2, "timestamps": days_ago(1, 2)}, False),
        ({"total": 4, "timestamps": days_ago(1, 2, 8, 9)}, False),
        ({"total": 5, "timestamps": days_ago(1, 2, 8, 9, 10)}, True),
        ({"total": 7, "timestamps": days_ago(20, 21, 22, 23, 24, 25, 26)}, False),
        ({"total": 8, "timestamps": days_ago(20, 21, 22, 23, 24, 25, 26, 27)}, True),
        ({"total": 8, "timestamps": []}, True),
        ({"total": 0, "timestamps": [], "user_marked": True}, True),
        ({"total": 9, "timestamps": days_ago(1, 2, 3), "user_marked": True, "promoted": True}, False),
    ],
)
def test_each_rule_nominates_and_nobody_twice(memory: Memory, entry: dict[str, object], nominated: bool) -> None:
    checkpoint(memory, "x.md", TALK)
    counts(memory, warm__x=entry)
    assert bool(memory.promote(dry_run=True).promoted) is nominated


def test_recalls_that_no_organise_has_counted_yet_count_too(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    lines = [
        {
            "at": (NOW - dt.timedelta(hours=h)).isoformat(),
            "path": "memory_fs/warm/x.md",
            "id": "",
            "lines": [1, 2],
            "via": "get",
        }
        for h in (1, 2, 3)
    ]
    memory.workspace.recalls.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf8")
    assert [one.nominee.week for one in memory.promote(dry_run=True).promoted] == [3]


def test_what_passes_the_tests_goes_to_the_memory_of_its_project(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    counts(memory, warm__x={"total": 3, "timestamps": days_ago(1, 2, 3)})
    memory.promote(apply=True)
    project = memory.workspace.project("shop-api").read_text("utf8")
    assert "pnpm" in project
    assert "tabs" not in project + memory.workspace.longterm.read_text("utf8")  # the agent's word is no preference
    assert json.loads(memory.workspace.refcount(None).read_text("utf8"))["warm/x.md"]["promoted"] is True


def test_a_lesson_about_a_skill_goes_to_its_retrospect_once(memory: Memory) -> None:
    skill = memory.workspace.root / "skills" / "deploy-site"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# deploy-site\n", encoding="utf8")
    (skill / "docs").mkdir()
    (skill / "docs" / "retrospect.md").write_text("# Mine\r\n\r\n- kept as it is\r\n", encoding="utf8", newline="")
    checkpoint(memory, "x.md", LESSON)
    checkpoint(memory, "y.md", LESSON)
    counts(memory, warm__x={"user_marked": True}, warm__y={"user_marked": True})
    memory.promote(apply=True)
    text = (skill / "docs" / "retrospect.md").read_bytes().decode()
    assert text.startswith("# Mine\r\n\r\n- kept as it is\r\n")
    assert text.count("137") == 1
    assert "memory_fs/warm/x.md" in text


def test_one_undo_takes_a_promotion_back(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    counts(memory, warm__x={"total": 3, "timestamps": days_ago(1, 2, 3)})
    before = files(memory)
    memory.promote(apply=True)
    assert files(memory) != before
    memory.undo()
    assert {path: data for path, data in files(memory).items() if path != "memory/trail.jsonl"} == before
    assert memory.promote(dry_run=True).promoted


def test_the_report_names_the_rule_and_the_way_and_is_not_written_again_for_its_time_alone(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    counts(memory, warm__x={"total": 3, "timestamps": days_ago(1, 2, 3)})
    memory.promote()
    path = memory.workspace.root / "promote_report.md"
    text = path.read_text("utf8")
    assert "memory_fs/warm/x.md" in text
    assert "promote.week" in text
    assert "projects/shop-api/MEMORY.md" in text
    later = Memory.open(memory.workspace.root, now=(NOW + dt.timedelta(minutes=5)).isoformat())
    later.promote()
    assert path.read_text("utf8") == text


def test_dry_run_writes_nothing(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    counts(memory, warm__x={"total": 3, "timestamps": days_ago(1, 2, 3)})
    before = files(memory)
    memory.promote(apply=True, dry_run=True)
    assert files(memory) == before


def test_why_leads_back_to_the_checkpoint(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK.replace(" | /home/u/shop-api", ""))
    counts(memory, warm__x={"total": 3, "timestamps": days_ago(1, 2, 3)})
    memory.promote(apply=True)
    lines = memory.workspace.longterm.read_text("utf8").splitlines()
    at = next(number for number, line in enumerate(lines, start=1) if "pnpm" in line)
    chain = memory.why(f"MEMORY.md:{at}").chain
    assert ("checkpoint", "memory_fs/warm/x.md") in [(one.kind, one.path) for one in chain]


def test_a_secret_in_a_checkpoint_reaches_neither_report_nor_memory(memory: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    checkpoint(memory, "x.md", f"# Token {secret}\n\nAlways use the token {secret} for deploys, never another one.\n")
    counts(memory, warm__x={"user_marked": True})
    memory.promote(apply=True)
    assert not [path for path, data in files(memory).items() if secret.encode() in data and "memory_fs" not in path]


def files(memory: Memory) -> dict[str, bytes]:
    root = memory.workspace.root
    found = (path for path in root.rglob("*") if path.is_file() and ".nacre" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def test_a_count_that_is_no_number_nominates_nobody(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    memory.workspace.refcount(None).write_text('{"warm/x.md": {"total": NaN, "timestamps": []}}', encoding="utf8")
    assert memory.promote(dry_run=True).promoted == ()


def test_a_link_in_the_place_of_the_report_is_not_written_through(memory: Memory) -> None:
    before = memory.workspace.longterm.read_bytes()
    (memory.workspace.root / "promote_report.md").symlink_to("MEMORY.md")
    with pytest.raises(PathEscape):
        memory.promote()
    assert memory.workspace.longterm.read_bytes() == before


def test_counts_of_a_checkpoint_and_its_summary_are_added_once(memory: Memory) -> None:
    checkpoint(memory, "x.md", TALK)
    checkpoint(memory, "x.md", "# in short\n", "gist")
    entry = {"total": 4, "timestamps": days_ago(1, 2, 3, 4)}
    counts(memory, warm__x=entry, gist__x={"total": 4, "timestamps": days_ago(1.5, 2.5, 3.5, 4.5)})
    memory.promote(apply=True)
    told = json.loads(memory.workspace.refcount(None).read_text("utf8"))
    assert {key: value["total"] for key, value in told.items()} == {"warm/x.md": 8}
    memory.organise()
    told = json.loads(memory.workspace.refcount(None).read_text("utf8"))
    assert [value["total"] for value in told.values()] == [8]
