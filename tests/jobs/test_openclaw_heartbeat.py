"""Our instructions in HEARTBEAT.md come only when asked for, stand between markers, and leave no trace when they go."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.jobs.standins import World

from nacre.errors import BadInput, PathEscape
from nacre.jobs.openclaw import BEGIN, END
from nacre.jobs.schedulers import apply_plan, plan_install, plan_remove


@pytest.fixture
def file(here: World) -> Path:
    return here.workspace.root / "HEARTBEAT.md"


@pytest.mark.parametrize(
    "before",
    [None, b"", b"# Mine", b"# Mine\n", b"# Mine\n\n", b"# Mine\r\n- look\r\n", b"no end\r\nat all", "心跳".encode()],
)
@pytest.mark.parametrize("below", [b"", b"\n- written later\n"])
def test_every_line_of_the_file_comes_back_byte_for_byte(
    here: World, file: Path, before: bytes | None, below: bytes
) -> None:
    if before is not None:
        file.write_bytes(before)
    apply_plan(plan_install(here.setup, with_heartbeat=True))
    assert BEGIN.encode() in file.read_bytes()
    file.write_bytes(file.read_bytes() + below)
    apply_plan(plan_remove(here.setup))
    if before is None and not below:
        assert not file.exists()
        return
    newline = b"\r\n" if b"\r\n" in (before or b"") else b"\n"
    ended = newline if before and not before.endswith(b"\n") else b""  # a last line is given its end
    assert file.read_bytes() == (before or b"") + ended + below


def test_without_being_asked_nothing_is_written_there(here: World, file: Path) -> None:
    apply_plan(plan_install(here.has("crontab").setup))
    assert not file.exists()


@pytest.mark.parametrize(("language", "word"), [("en", "otherwise say nothing"), ("zh", "否则不要提及")])
def test_it_names_one_command_and_asks_for_silence(here: World, file: Path, language: str, word: str) -> None:
    apply_plan(plan_install(here.configured(language=language).setup, with_heartbeat=True))
    text = file.read_text("utf-8")
    assert f"nacre jobs run --due --workspace {here.setup.root}`" in text
    assert word in text.lower()
    assert text.endswith(f"{END}\n")


def test_it_can_be_undone_like_any_change_of_the_workspace(here: World, file: Path) -> None:
    file.write_bytes(b"# Mine\n")
    apply_plan(plan_install(here.setup, with_heartbeat=True))
    here.setup.memory.undo()
    assert file.read_bytes() == b"# Mine\n"
    apply_plan(plan_remove(here.setup))
    assert file.read_bytes() == b"# Mine\n"


def test_markers_that_the_user_quotes_are_the_users(here: World, file: Path) -> None:
    file.write_text(f"Never remove `{BEGIN}`\n{END}\n", "utf-8")
    before = file.read_bytes()
    apply_plan(plan_remove(here.setup))
    assert file.read_bytes() == before


def test_a_file_that_is_not_text_or_leads_elsewhere_is_left_alone(here: World, file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not UTF-8"):
        plan_install(here.setup, with_heartbeat=True)
    assert not plan_remove(here.setup).changed
    file.unlink()
    outside = tmp_path / "outside.md"
    outside.write_bytes(b"# Somebody's\n")
    file.symlink_to(outside)
    with pytest.raises(PathEscape):
        apply_plan(plan_install(here.setup, with_heartbeat=True))
    assert outside.read_bytes() == b"# Somebody's\n"
