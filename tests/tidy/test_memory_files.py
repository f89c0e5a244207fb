"""The memory files of a workspace: one that cannot be read does not stop the night for the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tidy.nights import RULE, SAFETY, Nights, actions

from nacre.tidy.memory_files import MemoryFiles
from nacre.vault.provenance import Trail

SHOP = "projects/shop/MEMORY.md"


def spoil(nights: Nights, how: str, elsewhere: Path) -> None:
    path = nights.lay(SHOP, b"# x\n- caf\xe9\n")
    if how == "folder":
        path.unlink()
        path.mkdir()
    elif how == "link":
        path.unlink()
        elsewhere.write_text("# Theirs\n", "utf8")
        path.symlink_to(elsewhere)


@pytest.mark.parametrize("how", ["latin-1", "folder", "link"])
def test_a_project_s_file_that_cannot_be_read_is_told_and_left_alone(nights: Nights, tmp_path: Path, how: str) -> None:
    spoil(nights, how, tmp_path / "elsewhere.md")
    library = MemoryFiles(nights.room(), Trail(nights.room().workspace))
    assert [(one.kind, one.path) for one in library.problems] == [("unreadable", SHOP)]
    assert [book.shown for book in library.files] == ["MEMORY.md"]
    book = library.file(SHOP)
    assert (book.closed, book.over, book.lines, book.has_room("a", "PREF")) == (True, True, (), False)
    assert not list(library.edits())
    assert len(library.problems) == 1


@pytest.mark.parametrize("how", ["latin-1", "folder", "link"])
def test_what_belongs_to_such_a_project_waits_and_the_rest_is_tidied(nights: Nights, tmp_path: Path, how: str) -> None:
    spoil(nights, how, tmp_path / "elsewhere.md")
    nights.log("2026-03-18", RULE)
    nights.log("2026-03-19", SAFETY, stamp=" | project:shop")
    assert ("add", RULE) in actions(nights.tidy())
    assert SAFETY not in nights.text()
    path = nights.room().workspace.root / SHOP
    path.rmdir() if how == "folder" else path.unlink()
    nights.tidy()
    assert SAFETY in nights.text() + (path.read_text("utf8") if path.exists() else "")


def test_the_first_days_of_the_calendar_are_days_like_others(nights: Nights) -> None:
    nights.log("0001-01-02", RULE)
    assert actions(nights.tidy("0001-01-03")) == [("add", RULE)]
