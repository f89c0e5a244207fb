"""The examination as a whole: it reads everything, changes nothing, and stumbles over nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.checks.conftest import NOW, Patient
from tests.tidy.nights import CHINESE_RULE, RULE, SAFETY, filler

from nacre.checks.health import OVER, UNREADABLE, check_health
from nacre.errors import BadInput
from nacre.memory import Memory


def everything(root: Path) -> dict[str, bytes]:
    return {path.as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_fresh_workspace_is_an_a_without_findings(patient: Patient) -> None:
    health = patient.health()
    assert (health.grade.letter, health.grade.points, health.findings) == ("A", 100, ())


def test_an_empty_folder_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / ".nacre").mkdir()
    with Memory.open(tmp_path, now=NOW) as memory:
        assert check_health(memory).grade.letter == "A"


def test_examining_changes_nothing(patient: Patient) -> None:
    patient.entries(RULE, CHINESE_RULE)
    patient.log("2026-02-18", RULE, session=None)
    patient.lay("memory_fs/hot/2026-03-10-1200-prices.md", "# Prices\n")
    before = everything(patient.root)
    patient.health()
    assert everything(patient.root) == before


def test_everything_is_counted(patient: Patient) -> None:
    patient.entries(RULE, CHINESE_RULE)
    patient.entries(SAFETY, file="projects/shop/MEMORY.md")
    patient.log("2026-03-19", RULE)
    patient.log("2026-03-20", "今天下雨")
    for name in ("archive/2026/2026-02-10", "weekly/2026-02-09", "2026-03-19-hook-note", "tools"):
        patient.lay(f"memory/{name}.md", "# x\n")
    for place in ("hot/2026-03-20-0900-a", "warm/2026-03-19-0900-b", "warm/2026-03-18-0900-c"):
        patient.lay(f"memory_fs/{place}.md", f"# {place}\n")
    patient.tell("No", "refused")
    patient.run("nacre pin MEMORY.md:4")
    figures = patient.health().figures
    assert [(one["path"], one["entries"], one["lines"], one["share"]) for one in figures["longterm"]] == [
        ("MEMORY.md", 2, 5, 0.062), ("projects/shop/MEMORY.md", 1, 4, 0.05),
    ]  # fmt: skip
    counts = {"longterm": 2, "daily": 3, "archive": 1, "weekly": 1, "note": 1, "hot": 1, "warm": 2}
    assert counts.items() <= figures["files"].items()


def test_tokens_count_a_han_character_as_one_and_four_others_as_one(patient: Patient) -> None:
    (patient.root / "MEMORY.md").unlink()
    patient.lay("memory/2026-03-20.md", "今天下雨" * 5)
    patient.lay("memory/2026-03-19.md", "rain" * 10)
    patient.lay("memory/2026-01-01.md", "snow" * 7)
    assert patient.health().figures["tokens"] == 37


def test_a_memory_over_its_limits_is_found_until_it_is_adopted(patient: Patient) -> None:
    patient.entries(*filler(90))
    (found,) = patient.found(OVER)
    assert found.path == "MEMORY.md"
    patient.run(found.remedy, "--yes")
    assert patient.found(OVER) == []


def test_in_a_group_nothing_is_told(patient: Patient) -> None:
    with (
        Memory.open(patient.root, now=NOW, scope="group:team") as memory,
        pytest.raises(BadInput, match="in a group"),
    ):
        check_health(memory)


@pytest.mark.parametrize("name", ["MEMORY.md", "projects/shop/MEMORY.md", "memory/2026-03-19.md"])
@pytest.mark.parametrize("what", ["bytes", "folder", "link out", "loop", "pipe", "closed"])
def test_a_file_that_cannot_be_read_is_never_a_crash(patient: Patient, tmp_path: Path, name: str, what: str) -> None:
    patient.entries(RULE)
    path = patient.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if what == "bytes":
        path.write_bytes(b"\xff\xfe- \x80\x81 abc\n")
    elif what == "folder":
        path.mkdir()
    elif what == "link out":
        (tmp_path / "secret.md").write_text("- The safe opens with 4711 and a smile\n", "utf8")
        path.symlink_to(tmp_path / "secret.md")
    elif what == "loop":
        path.symlink_to(path)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("- closed\n", "utf8")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
    health = patient.health()
    assert "4711" not in repr(health)
    is_shown = (name, what) != ("projects/shop/MEMORY.md", "loop")  # which no listing of projects shows
    is_opened = not (name == "memory/2026-03-19.md" and what in ("bytes", "closed"))  # which doctor tells
    if is_shown and is_opened:
        assert name in {one.path for one in health.findings if one.kind == UNREADABLE}


def test_broken_lines_of_the_ledger_are_findings(patient: Patient) -> None:
    patient.entries(RULE)
    with (patient.root / "memory/ledger.jsonl").open("a", encoding="utf8") as file:
        file.write('{"id": 7}\nnot json\n')
    health = patient.health()
    assert [one.line for one in health.findings if one.kind == UNREADABLE] == [2, 3]


def test_secrets_are_not_repeated(patient: Patient) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    patient.lay("MEMORY.md", f"# Mine\n\n- The token of the shop is {secret}\n")
    assert secret not in repr(patient.health())
