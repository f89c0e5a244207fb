"""Pressed logs move to the archive, bytes unchanged; a day that comes back goes behind what is archived of it."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from tests.tidy.conftest import Lay, Tidy, contents

from nacre.config.settings import ArchiveSettings, Config
from nacre.i18n import use_language
from nacre.tidy import archive, compress
from nacre.tidy.collect import TidyContext, log_lines
from nacre.vault import daily
from nacre.vault.history import operation
from nacre.vault.undo import undo

OLD = "memory/archive/2026/2026-03-03.md"


@pytest.mark.parametrize(
    "data", [b"", b"- [Task] a", b"\xef\xbb\xbf# x\r\n- [Task] caf\xe9  \r\n\r\n", b"```\ncode\n```\n"]
)
def test_a_log_moves_with_every_byte_it_had(room: TidyContext, lay: Lay, tidy: Tidy, data: bytes) -> None:
    path = lay("2026-03-03", data)
    assert tidy() == ()
    assert not path.exists()
    assert (room.workspace.root / OLD).read_bytes() == data
    again = compress.plan(room)
    assert not again
    assert not archive.plan(room, again, [])


def test_logs_may_be_filed_by_month(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", "- [Task] a\n")
    tidy(replace(room, config=Config(archive=ArchiveSettings(layout="month"))))
    assert (room.workspace.archive / "2026-03" / "2026-03-03.md").exists()


def test_every_move_says_why_in_both_languages(room: TidyContext, lay: Lay) -> None:
    lay("2026-03-02", "")
    lay("2026-03-03", "- [Task] a\n")
    lay("2026-03-04", "- [Task] b\n")
    lay("memory/archive/2026/2026-03-04.md", "- [Task] c\n")
    steps = [move.step for move in archive.plan(room, compress.plan(room), [])]
    assert [(step.action, step.path, step.detail) for step in steps] == [
        ("move", "memory/2026-03-02.md", "memory/archive/2026/2026-03-02.md"),
        ("move", "memory/2026-03-03.md", OLD),
        ("append", "memory/2026-03-04.md", "memory/archive/2026/2026-03-04.md"),
    ]
    assert steps[1].reason == "all of its entries (1) are in memory/weekly/2026-03-02.md"
    use_language("zh")
    assert "已在 memory/weekly/2026-03-02.md 中" in archive.plan(room, compress.plan(room), [])[1].step.reason


def test_a_young_log_and_a_note_stay(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    stay = [
        lay("2026-03-13", "- [Task] a\n"),
        lay("memory/2026-03-03-x.md", "- [Task] b\n"),
        lay("2026-03-20", "- c\n"),
    ]
    tidy()
    assert all(path.exists() for path in stay)


def test_what_is_captured_later_for_an_archived_day_goes_to_its_log_and_is_pressed(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-03", "- [Task] a\n")
    tidy()
    daily.append_section(room, "18:00 session:aa", ["[Task] late"], day=dt.date(2026, 3, 3))
    assert "late" in (room.workspace.root / OLD).read_text()
    tidy()
    assert "[Task] late (src: 2026-03-03)" in (room.workspace.weekly / "2026-03-02.md").read_text()
    assert not compress.plan(room)


@pytest.mark.parametrize("folder", ["2026", "2026-03"])
@pytest.mark.parametrize("layout", ["year", "month"])
def test_a_day_that_comes_back_goes_behind_what_is_archived_of_it(
    room: TidyContext, lay: Lay, tidy: Tidy, folder: str, layout: str
) -> None:
    archived = lay(f"memory/archive/{folder}/2026-03-03.md", "# 2026-03-03\n\n## 14:05 note\n- [Task] a\n")
    living = lay("2026-03-03", "# 2026-03-03\n\n## 18:00 note\n- [Task] b\n")
    before = contents(room.workspace)
    assert tidy(replace(room, config=Config(archive=ArchiveSettings(layout=layout)))) == ()
    assert archived.read_text() == "# 2026-03-03\n\n## 14:05 note\n- [Task] a\n\n## 18:00 note\n- [Task] b\n"
    assert not living.exists()
    assert len(list(room.workspace.archive.rglob("*.md"))) == 1
    assert not compress.plan(room)
    undo(room)
    assert contents(room.workspace) == before


@pytest.mark.parametrize(
    ("old", "new", "joined"),
    [
        (b"- a", b"## 18:00 note\r\n- b", b"- a\r\n\r\n## 18:00 note\r\n- b"),
        (b"- a\n", b"\xef\xbb\xbf# 2026-03-03\n## x\n- b\n", b"- a\n\n## x\n- b\n"),
        (b"", b"- b\n", b"\n- b\n"),
        (b"- a\n", b"# 2026-03-03\n\n", b"- a\n"),
        (b"- a\n- b\n", b"- b\n", b"- a\n- b\n"),
        # what has no heading of its own does not come to stand under somebody else's
        (b"## 9:00 x | group:team\n- a\n", b"- private\n", b"## 9:00 x | group:team\n- a\n\n# 2026-03-03\n- private\n"),
        (
            b"# 2026-03-03\n## 9:00 x | project:p\n- a\n",
            b"# 2026-03-03\n### more\n- other\n",
            b"# 2026-03-03\n## 9:00 x | project:p\n- a\n\n# 2026-03-03\n### more\n- other\n",
        ),
        (b"- a\n", b"  indented\n", b"- a\n\n# 2026-03-03\n  indented\n"),
    ],
)
def test_nothing_changes_its_meaning_behind_an_archived_log(
    room: TidyContext, lay: Lay, tidy: Tidy, old: bytes, new: bytes, joined: bytes
) -> None:
    lay(OLD, old)
    lay("2026-03-03", new)
    assert tidy() == ()
    assert (room.workspace.root / OLD).read_bytes() == joined
    groups = [(one.words, one.group, one.project) for one in log_lines("2026-03-03", joined)]
    assert groups[: len(log_lines("2026-03-03", old))] == [
        (one.words, one.group, one.project) for one in log_lines("2026-03-03", old)
    ]
    assert not (room.workspace.memory / "2026-03-03.md").exists()
    assert not compress.plan(room)


def test_behind_a_code_fence_that_is_never_closed_nothing_is_hidden(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay(OLD, "```\nnever closed\n")
    living = lay("2026-03-03", "- [Task] b\n")
    (problem,) = tidy()
    assert "unclosed" in problem.message
    assert living.exists()
    lay(OLD, "```\nclosed\n```\n")
    assert tidy() == ()
    assert not living.exists()


def test_a_day_that_lies_in_both_layouts_is_pressed_whole_and_settles(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay(OLD, "- [Task] a\n")
    other = lay("memory/archive/2026-03/2026-03-03.md", "- [Task] b\n")
    lay("2026-03-03", "- [Task] c\n")
    assert tidy() == ()
    assert (room.workspace.root / OLD).read_text() == "- [Task] a\n\n- [Task] c\n"
    assert other.read_text() == "- [Task] b\n"
    digest = (room.workspace.weekly / "2026-03-02.md").read_text()
    assert all(f"[Task] {word} (src: 2026-03-03)\n" in digest for word in "abc")
    assert not compress.plan(room)


def test_a_log_changed_between_plan_and_apply_is_left_for_the_next_run(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", "- [Task] a\n")
    lay("2026-03-04", "- [Task] b\n")
    lay("2026-03-05", "- [Task] c\n")
    lay("memory/archive/2026/2026-03-05.md", "- [Task] d\n")
    pressed = compress.plan(room)
    with operation(room, "tidy") as op:
        assert compress.apply(room, op, pressed) == []
        moves = archive.plan(room, pressed, [])
        lay("2026-03-03", "- [Task] a\n- [Task] more\n")
        lay("memory/archive/2026/2026-03-05.md", "- [Task] d, changed\n")
        left = archive.apply(room, op, moves)
    assert [one.path for one in left] == ["memory/2026-03-03.md", "memory/2026-03-05.md"]
    assert {path.name for path in room.workspace.memory.glob("*.md")} == {"2026-03-03.md", "2026-03-05.md"}
    assert tidy() == ()
    assert not list(room.workspace.memory.glob("*.md"))
    assert "[Task] more (src: 2026-03-03)" in (room.workspace.weekly / "2026-03-02.md").read_text()


def test_a_place_that_is_taken_meanwhile_keeps_what_stands_there(room: TidyContext, lay: Lay) -> None:
    lay("2026-03-03", "- [Task] a\n")
    pressed = compress.plan(room)
    with operation(room, "tidy") as op:
        compress.apply(room, op, pressed)
        moves = archive.plan(room, pressed, [])
        lay(OLD, "somebody's\n")
        (left,) = archive.apply(room, op, moves)
    assert left.path == "memory/2026-03-03.md"
    assert (room.workspace.root / OLD).read_text() == "somebody's\n"


def test_nothing_moves_that_the_digest_has_not_taken_in(room: TidyContext, lay: Lay) -> None:
    lay("2026-03-03", "- [Task] a\n")
    pressed = compress.plan(room)
    with operation(room, "tidy") as op:
        assert archive.apply(room, op, archive.plan(room, pressed, [])) == []
    assert (room.workspace.memory / "2026-03-03.md").exists()
