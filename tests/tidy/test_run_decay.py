"""The profile that keeps daily logs for months: what lasts is promoted, then the oldest are archived whole."""

from __future__ import annotations

import datetime as dt
import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tidy.conftest import contents, killed_at
from tests.tidy.nights import BACKUP, CHINESE_RULE, ERRAND, RULE, TODAY, Nights, filler

from nacre.config.settings import ArchiveSettings, Config, DecaySettings, MemorySettings, TidySettings
from nacre.errors import BadInput
from nacre.model import Context, Workspace
from nacre.tidy import run
from nacre.tidy import run as tidying
from nacre.tidy.collect import Day, TidyContext
from nacre.tidy.run import DecayReport, outdated_logs
from nacre.vault import daily
from nacre.vault.undo import undo

IN_FORCE = TidySettings(retention="decay")
MARCH = dt.date.fromisoformat(TODAY)


def room_of(nights: Nights, config: Config | None = None, day: str = TODAY) -> TidyContext:
    return replace(nights.room(day), config=config or Config(tidy=IN_FORCE))


def actions(report: DecayReport, phase: str) -> list[tuple[str, str, str]]:
    return [(step.action, step.path, step.detail) for which, step in report.steps if which == phase]


def test_logs_that_are_too_old_are_filed_by_month_with_every_byte(nights: Nights) -> None:
    odd = nights.lay("memory/2025-12-10.md", b"\xef\xbb\xbf# 2025-12-10\r\n- caf\xe9  \r\n\r\nno end").read_bytes()
    nights.log("2025-12-21", ERRAND)
    nights.log("2026-03-19", ERRAND)
    before = nights.files()
    report = run.run_decay(room_of(nights))
    assert actions(report, "archive") == [("move", "memory/2025-12-10.md", "memory/archive/2025-12/2025-12-10.md")]
    assert (nights.root / "memory/archive/2025-12/2025-12-10.md").read_bytes() == odd
    assert (nights.root / "memory/2025-12-21.md").exists()  # 89 days old
    after = nights.files()
    assert not run.run_decay(room_of(nights)).changed
    assert nights.files() == after
    nights.undo()
    assert nights.files() == before


def test_what_lasts_in_them_is_promoted_by_the_tests_of_every_night_and_what_is_passing_is_not(nights: Nights) -> None:
    nights.log("2025-12-01", RULE, ERRAND, f"[TEMP] {BACKUP}")
    nights.log("2025-12-02", CHINESE_RULE)
    nights.log("2026-03-19", "Every release is tagged before it is deployed, otherwise it cannot be rolled back")
    report = run.run_decay(room_of(nights))
    assert nights.kept() == [RULE, CHINESE_RULE]
    assert [step.detail for phase, step in report.steps if step.action == "drop" and phase == "promote"] == [BACKUP]
    assert all(step.reason for _, step in report.steps)
    assert len(report.occasions) == 1
    tidying.run_tidy(room_of(nights))
    assert BACKUP not in nights.kept()  # nor later: it was looked at


def test_promote_only_archives_nothing(nights: Nights) -> None:
    nights.log("2025-12-01", RULE)
    report = run.run_decay(room_of(nights), promote_only=True)
    assert nights.kept() == [RULE]
    assert actions(report, "archive") == []
    assert (nights.root / "memory/2025-12-01.md").exists()
    assert actions(run.run_decay(room_of(nights)), "archive")


def test_without_an_occasion_nothing_is_done(nights: Nights) -> None:
    nights.log("2026-03-01", RULE)
    report = run.run_decay(room_of(nights))
    assert (report.changed, report.occasions, nights.kept()) == (False, (), [])


def test_with_too_many_logs_the_oldest_go_but_none_of_the_last_week(nights: Nights) -> None:
    for back in range(20):
        nights.log((MARCH - dt.timedelta(days=back)).isoformat(), ERRAND)
    settings = Config(tidy=IN_FORCE, decay=DecaySettings(max_files=10))
    report = run.run_decay(room_of(nights, settings))
    assert len(actions(report, "archive")) == 10
    assert (nights.root / "memory/2026-03-11.md").exists()
    assert not (nights.root / "memory/2026-03-10.md").exists()
    few = Config(tidy=IN_FORCE, decay=DecaySettings(max_files=2))
    run.run_decay(room_of(nights, few))
    left = sorted(path.name for path in (nights.root / "memory").glob("2026-*.md"))
    assert left == [f"{MARCH - dt.timedelta(days=back)}.md" for back in range(7, -1, -1)]
    assert not run.run_decay(room_of(nights, few)).changed


@given(st.sets(st.integers(-1, 400)), st.integers(1, 60), st.integers(1, 120))
def test_whatever_there_is_only_the_oldest_go_and_enough_of_them(ages: set[int], most: int, kept: int) -> None:
    living = [Day(MARCH - dt.timedelta(days=age), Path(f"{age}.md"), archived=False, size=0) for age in ages]
    gone = {day.date for day, _ in outdated_logs(living, MARCH, DecaySettings(max_files=most, keep_days=kept))}
    stay = {day.date for day in living} - gone
    assert all(old < young for old in gone for young in stay)
    assert all((MARCH - day).days <= kept for day in stay)
    assert len(stay) <= most or all((MARCH - day).days <= 7 for day in sorted(stay)[: len(stay) - most])
    assert all((MARCH - day).days > min(7, kept) for day in gone)


def test_the_users_own_layout_holds(nights: Nights) -> None:
    nights.log("2025-12-01", ERRAND)
    config = Config(tidy=IN_FORCE, archive=ArchiveSettings(layout="year"), origins={"archive.layout": "user"})
    run.run_decay(room_of(nights, config))
    assert (nights.root / "memory/archive/2025/2025-12-01.md").exists()


def test_a_day_that_comes_back_goes_behind_what_is_archived_of_it(nights: Nights) -> None:
    nights.log("2025-12-01", "a statement")
    run.run_decay(room_of(nights))
    daily.append_section(
        Context(Workspace(nights.root), Config(), room_of(nights).clock),
        "18:00 note",
        ["late"],
        day=dt.date(2025, 12, 1),
    )
    assert "late" in nights.text("memory/archive/2025-12/2025-12-01.md")
    nights.log("2025-12-01", "another hand")
    report = run.run_decay(room_of(nights))
    assert actions(report, "archive")[0][0] == "append"
    text = nights.text("memory/archive/2025-12/2025-12-01.md")
    assert all(words in text for words in ("a statement", "late", "another hand"))
    assert not run.run_decay(room_of(nights)).changed


# The weekly profile


def test_where_the_weekly_profile_is_in_force_decay_is_only_shown(nights: Nights) -> None:
    nights.log("2025-12-01", RULE)
    before = nights.files()
    weekly = room_of(nights, Config())
    with pytest.raises(BadInput, match=r"tidy.retention is \"weekly\".*archive 1 of them"):
        run.run_decay(weekly)
    report = run.run_decay(weekly, dry_run=True)
    assert (report.in_force, len(actions(report, "archive"))) == (False, 1)
    assert nights.files() == before


def test_with_decay_in_force_tidying_distils_and_leaves_the_logs_alone(nights: Nights) -> None:
    nights.log("2025-12-01", RULE)
    for dry in (True, False):
        report = tidying.run_tidy(room_of(nights), dry_run=dry)
        assert {phase for phase, _ in report.steps} == {"distil"}
        assert [problem.kind for problem in report.problems] == ["kept for decay"]
    assert nights.kept() == [RULE]
    assert (nights.root / "memory/2025-12-01.md").exists()
    assert not (nights.root / "memory/weekly").exists() or not list((nights.root / "memory/weekly").iterdir())
    assert not tidying.run_tidy(room_of(nights)).changed


# MEMORY.md


def test_the_hard_limits_of_memory_stay_in_force(nights: Nights) -> None:
    nights.entries(*filler(90))
    nights.log("2025-12-01", RULE)
    report = run.run_decay(room_of(nights))
    assert RULE not in nights.kept()
    assert any(problem.kind == "over its limits" for problem in report.problems)
    assert (nights.root / "memory/archive/2025-12/2025-12-01.md").exists()


@pytest.mark.parametrize(("most", "command"), [(80, '"nacre review --adopt"'), (400, "memory.max_lines = 200, then")])
def test_a_memory_file_that_is_too_long_is_put_to_the_user(nights: Nights, most: int, command: str) -> None:
    nights.lay("MEMORY.md", "# M\n\n## A\n" + "".join(f"- {one}\n" for one in filler(230)))
    before = nights.files()
    config = Config(tidy=IN_FORCE, memory=MemorySettings(max_lines=most, max_bytes=50_000))
    report = run.run_decay(room_of(nights, config))
    proposed = [step for phase, step in report.steps if phase == "review"]
    assert report.occasions == ("MEMORY.md has 233 lines; decay starts above 200.",)
    assert len(proposed) >= 233 - min(most, 200)
    assert all(command in step.reason for step in proposed)
    assert not report.changed
    assert nights.files() == before


# Compressed


PACKED = Config(tidy=IN_FORCE, archive=ArchiveSettings(compress=True))


def test_compressed_logs_hold_the_same_bytes_and_are_read_by_get(nights: Nights) -> None:
    nights.log("2025-12-01", RULE)
    data = (nights.root / "memory/2025-12-01.md").read_bytes()
    before = nights.files()
    report = run.run_decay(room_of(nights, PACKED))
    shown = "memory/archive/2025-12/2025-12-01.md.gz"
    assert actions(report, "archive") == [("compress", "memory/2025-12-01.md", shown)]
    packed = (nights.root / shown).read_bytes()
    assert gzip.decompress(packed) == data
    assert packed[4:8] == b"\0\0\0\0"
    assert not (nights.root / "memory/2025-12-01.md").exists()
    with nights.memory() as memory:
        assert RULE in str(memory.get(shown))
    assert not run.run_decay(room_of(nights, PACKED)).changed
    (nights.root / "memory/recalls.jsonl").unlink(missing_ok=True)
    nights.undo()
    assert nights.files() == before


def test_a_compressed_day_that_comes_back_is_compressed_behind_it(nights: Nights) -> None:
    nights.log("2025-12-01", "a statement")
    run.run_decay(room_of(nights, PACKED))
    nights.log("2025-12-01", "another hand")
    run.run_decay(room_of(nights, PACKED))
    (path,) = (nights.root / "memory/archive/2025-12").iterdir()
    text = gzip.decompress(path.read_bytes()).decode()
    assert "a statement" in text
    assert "another hand" in text
    assert not run.run_decay(room_of(nights, PACKED)).changed


def test_what_still_waits_for_room_is_not_compressed_away(nights: Nights) -> None:
    nights.entries(*filler(90))
    nights.log("2025-12-01", RULE)
    run.run_decay(room_of(nights, PACKED))
    assert (nights.root / "memory/archive/2025-12/2025-12-01.md").exists()
    nights.entries(*filler(10))
    tidying.run_tidy(room_of(nights, PACKED))
    assert RULE in nights.kept()


@pytest.mark.parametrize("junk", [b"no gzip", gzip.compress(b"x" * 51_000_000), b"\x1f\x8b"])
def test_beside_a_damaged_archive_a_log_stays(nights: Nights, junk: bytes) -> None:
    nights.log("2025-12-01", ERRAND)
    there = nights.lay("memory/archive/2025-12/2025-12-01.md.gz", junk)
    report = run.run_decay(room_of(nights, PACKED))
    assert [problem.kind for problem in report.problems] == ["log left as it is"]
    assert there.read_bytes() == junk
    assert (nights.root / "memory/2025-12-01.md").exists()


# Trouble


def test_odd_files_are_left_alone_with_a_sentence(nights: Nights, tmp_path: Path) -> None:
    nights.lay("memory/2025-12-01.md", "\ufeff- utf16".encode("utf-16"))
    (nights.root / "memory/2025-12-02.md").symlink_to(tmp_path / "elsewhere.md")
    nights.lay("memory/2025-13-40.md", "no day")
    nights.lay("memory/2025-12-03-talk.md", "a note")
    (nights.root / "memory/2025-12-05.md").mkdir()
    before = nights.files()
    report = run.run_decay(room_of(nights))
    assert len(report.problems) == 3
    assert not report.changed
    assert nights.files() == before


def told_once(nights: Nights) -> dict[str, object]:
    """The user's files; the trail may tell twice what a run that was killed had told."""
    found: dict[str, object] = {**contents(Workspace(nights.root))}
    return found | {"memory/trail.jsonl": set(nights.text("memory/trail.jsonl").splitlines())}


@pytest.mark.parametrize("config", [Config(tidy=IN_FORCE), PACKED], ids=["plain", "compressed"])
def test_killed_at_any_moment_the_next_run_comes_to_the_same(memory_disk: Path, config: Config) -> None:
    def made(name: str) -> Nights:
        nights = Nights(memory_disk / name)
        nights.log("2025-12-01", RULE, ERRAND, "[TEMP] until tonight")
        nights.log("2025-12-02", CHINESE_RULE)
        nights.log("2026-03-19", ERRAND)
        return nights

    whole = made("whole")
    start = whole.files()
    run.run_decay(room_of(whole, config))
    wanted = told_once(whole)
    for call in range(1, 400, 17):
        nights = made(f"ws{call}")
        died = killed_at(call, lambda nights=nights: run.run_decay(room_of(nights, config)))  # type: ignore[misc]
        run.run_decay(room_of(nights, config))
        assert told_once(nights) == wanted
        if not died:
            undo(Context(Workspace(nights.root), Config(), room_of(nights).clock))
            assert nights.files() == start
            return
    raise AssertionError("it never finished")
