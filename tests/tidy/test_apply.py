"""Carrying a night out: backed up, nothing written when a file changed meanwhile, ended after a kill, refused when too much goes."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from tests.tidy.conftest import killed_at, run_in_child
from tests.tidy.nights import BACKUP, JEST, RULE, SAFETY, VITEST, Nights, actions, filler

from nacre.errors import ChangedOutside
from nacre.model import Context, Workspace
from nacre.tidy import apply, distil
from nacre.tidy.apply import DistilPlan
from nacre.tidy.run import run_tidy
from nacre.vault import ledger, longterm, provenance, review
from nacre.vault.entries import open_document
from nacre.vault.history import operation
from nacre.vault.longterm import Edit


def backups(nights: Nights) -> list[str]:
    return sorted(path.name for path in (nights.root / "memory" / "archive").glob("*.bak-*"))


def test_the_file_is_backed_up_before_it_changes_and_a_second_time_that_day_with_the_time(nights: Nights) -> None:
    first = nights.text()
    nights.log("2026-03-18", RULE)
    nights.tidy(time="03:00:00")
    assert backups(nights) == ["MEMORY.md.bak-2026-03-20"]
    assert nights.text("memory/archive/MEMORY.md.bak-2026-03-20") == first
    second = nights.text()
    nights.log("2026-03-19", SAFETY, session="aaaa1111")
    nights.tidy(time="18:04:05")
    assert "MEMORY.md.bak-2026-03-20-180405" in backups(nights)
    assert nights.text("memory/archive/MEMORY.md.bak-2026-03-20-180405") == second


def test_a_night_that_changes_no_file_makes_no_backup(nights: Nights) -> None:
    nights.log("2026-03-19", "Fixed the typo on line 12 of this page today")
    nights.tidy()
    assert backups(nights) == []


def test_a_projects_backup_carries_its_name(nights: Nights) -> None:
    nights.entries(JEST, file="projects/shop/MEMORY.md")
    nights.log("2026-03-19", BACKUP, stamp=" | project:shop")
    nights.tidy()
    assert backups(nights) == ["shop.MEMORY.md.bak-2026-03-20"]


def test_one_undo_takes_the_whole_night_back(nights: Nights) -> None:
    nights.entries(JEST)
    nights.log("2026-02-10", "User asked to move the API to v2")
    nights.log("2026-03-19", RULE, VITEST, "Fixed the typo on line 12 of this page today", stamp=" | project:shop")
    before = nights.files()
    nights.tidy()
    assert nights.files() != before
    nights.undo()
    assert nights.files() == before


# Changed meanwhile


@pytest.mark.parametrize("exists", [True, False])
def test_a_file_edited_between_plan_and_apply_is_left_alone_and_the_next_run_succeeds(
    nights: Nights, exists: bool
) -> None:
    if not exists:
        (nights.root / "MEMORY.md").unlink()
    nights.log("2026-03-19", RULE)
    room = nights.room()
    with operation(room, "tidy") as op:
        planned = distil.plan(room)
        nights.lay("MEMORY.md", "# Mine\n\n- my own line\n")
        before = nights.files()
        with pytest.raises(ChangedOutside) as told:
            apply.apply_plan(room, op, planned)
    assert told.value.exit_code == 12
    assert nights.files() == before
    nights.tidy()
    assert nights.kept() == ["my own line", RULE]


def test_when_one_of_two_files_was_edited_neither_is_written(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    nights.log("2026-03-19", BACKUP, session="aaaa1111", stamp=" | project:shop")
    nights.lay("projects/shop/MEMORY.md", "# Shop\n")
    room = nights.room()
    with operation(room, "tidy") as op:
        planned = distil.plan(room)
        nights.lay("projects/shop/MEMORY.md", "# Shop, edited\n")
        before = nights.files()
        with pytest.raises(ChangedOutside):
            apply.apply_plan(room, op, planned)
    assert nights.files() == before
    nights.tidy()
    assert nights.kept() == [RULE]
    assert nights.kept("projects/shop/MEMORY.md") == [BACKUP]


# Killed


def die(*_given: object, **_named: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed(nights: Nights, place: object, name: str) -> None:
    """A tidy in a child that is killed when it comes to the function."""

    def work() -> None:
        assert hasattr(place, name)
        setattr(place, name, die)
        nights.tidy()

    assert run_in_child(work) == -signal.SIGKILL


def test_killed_between_the_file_and_the_ledger_the_next_run_tells_the_ledger_and_doubles_nothing(
    nights: Nights,
) -> None:
    nights.lay("IDENTITY.md", "- **Name:** Ruby\n")
    nights.log("2026-03-19", RULE, SAFETY, "You are called Pearl now")
    killed(nights, ledger, "write_records")
    assert nights.kept() == [RULE, SAFETY]
    assert nights.ledger() == []
    report = nights.tidy()
    assert report.recovered == 4
    assert actions(report) == []
    assert nights.kept() == [RULE, SAFETY]
    assert nights.verdicts(RULE) == nights.verdicts(SAFETY) == ["admitted"]
    assert nights.ledger(RULE)[0]["source"]["session"] == "61871d67"
    assert nights.text("memory/2026-03-20.md").count("IDENTITY.md Name: Ruby → Pearl") == 1
    assert not nights.tidy().changed


def test_killed_at_the_very_end_the_next_run_notes_nothing_in_the_trail_a_second_time(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)

    def work() -> None:
        review.change_review = lambda _op, **given: die() if "drop" in given else None
        nights.tidy()

    assert run_in_child(work) == -signal.SIGKILL
    nights.tidy()
    marks = [
        (one.day, mark) for one in provenance.read_provenance(nights.room().workspace).offered for mark in one.bullets
    ]
    assert marks
    assert len(marks) == len(set(marks))


def test_killed_before_the_file_nothing_has_happened_and_the_next_run_does_it(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    killed(nights, longterm, "apply_edit")
    nights.lay("MEMORY.md", "# Mine\n\n- edited after the kill\n")
    report = nights.tidy()
    assert report.recovered == 0
    assert nights.kept() == ["edited after the kill", RULE]
    assert nights.verdicts(RULE) == ["admitted"]


def test_killed_between_two_files_the_next_run_writes_the_second(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    nights.log("2026-03-19", BACKUP, session="aaaa1111", stamp=" | project:shop")
    real = longterm.apply_edit

    def work() -> None:
        def only_the_first(context: Context, edit: Edit, command: str = "admit") -> str:
            if edit.path.parent.name == "shop":
                die()
            return real(context, edit, command)

        longterm.apply_edit = only_the_first
        nights.tidy()

    assert run_in_child(work) == -signal.SIGKILL
    assert nights.kept() == [RULE]
    nights.tidy()
    assert nights.kept() == [RULE]
    assert nights.kept("projects/shop/MEMORY.md") == [BACKUP]
    assert nights.verdicts(RULE) == nights.verdicts(BACKUP) == ["admitted"]


def test_a_question_that_a_killed_run_put_to_the_user_is_not_put_again_after_it_was_deleted(nights: Nights) -> None:
    nights.lay("MEMORY.md", "# Mine\n\n## Key Decisions\n- The shop runs on MySQL\n")
    nights.log("2026-03-19", "We moved from MySQL to PostgreSQL for every service")
    killed(nights, apply, "_write_journal")
    questions = nights.root / "memory" / "review.md"
    assert "We moved from MySQL to PostgreSQL" in questions.read_text()
    nights.tidy()
    questions.unlink()
    nights.tidy()
    assert not questions.exists()


def test_a_line_that_the_user_adds_after_the_kill_stays(nights: Nights) -> None:
    nights.log("2026-03-19", RULE)
    killed(nights, ledger, "write_records")
    nights.lay("MEMORY.md", nights.text() + "- mine\n")
    nights.tidy()
    assert nights.kept() == [RULE, "mine"]
    assert nights.verdicts(RULE) == ["admitted"]
    assert nights.verdicts("mine")[0] == "adopted"


@pytest.mark.parametrize(
    "torn", [b"", b"{", b"[]", b'{"files": 3}', b'{"files":[{"path":"../x","read":null,"text":""}]}']
)
def test_a_promise_that_cannot_be_read_is_dropped(nights: Nights, torn: bytes) -> None:
    nights.lay(".nacre/distil.json", torn)
    nights.log("2026-03-19", RULE)
    assert nights.tidy().recovered == 0
    assert nights.kept() == [RULE]
    assert not (nights.root / ".nacre" / "distil.json").exists()


def test_killed_at_any_call_the_next_runs_end_where_an_undisturbed_one_does(
    memory_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(memory_disk / "none"))

    def begun(name: str) -> Nights:
        nights = Nights(memory_disk / name)
        nights.entries(*filler(77), section="User Preferences", confidence=0.2, source={"day": "2026-02-03"})
        nights.lay("IDENTITY.md", "- **Name:** Ruby\n")
        nights.log("2026-03-19", SAFETY, "You are called Pearl now")
        return nights

    whole = begun("whole")
    distilled(whole)
    wanted = memories(whole)
    which = 1
    while True:
        nights = begun(str(which))
        died = killed_at(which, lambda nights=nights: distilled(nights))  # type: ignore[misc]
        nights.tidy()
        assert memories(nights) == wanted, f"killed at call {which}"
        verdicts = [(one["id"], one["verdict"]) for one in nights.ledger()]
        assert len(verdicts) == len(set(verdicts)), f"killed at call {which}"
        if not died:
            break
        which += 17
    assert which > 50


def distilled(nights: Nights) -> None:
    """The night without the index, which is derived."""
    run_tidy(nights.room())


def memories(nights: Nights) -> dict[str, bytes]:
    names = ("MEMORY.md", "IDENTITY.md", "memory/weekly/2026-02-02.md", "memory/2026-03-20.md")
    return {name: (nights.root / name).read_bytes() for name in names}


# Two at once


def test_two_tidies_at_once_do_the_work_once(nights: Nights) -> None:
    nights.log("2026-02-10", "User asked to move the API to v2")
    nights.log("2026-03-19", RULE, SAFETY)
    trouble: list[BaseException] = []

    def work() -> None:
        try:
            nights.tidy()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            trouble.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert nights.kept() == [RULE, SAFETY]
    assert nights.verdicts(RULE) == ["admitted"]
    assert nights.text("memory/weekly/2026-02-09.md").count("move the API") == 1


# Too much


def losing(nights: Nights, count: int) -> DistilPlan:
    path = nights.root / "MEMORY.md"
    doc = open_document(Workspace(nights.root), path)
    assert doc is not None
    data = "".join(doc.lines[:-count]).encode()
    return DistilPlan(edits=(Edit(path, doc.hash, data),))


@pytest.mark.parametrize(("entries", "lost", "refused"), [(8, 2, False), (8, 3, True), (3, 1, False), (4, 2, True)])
def test_a_rewrite_that_would_lose_more_than_a_quarter_is_refused(
    nights: Nights, entries: int, lost: int, refused: bool
) -> None:
    nights.entries(*filler(entries))
    before = nights.files()
    room = nights.room()
    with operation(room, "tidy") as op:
        problems = apply.apply_plan(room, op, losing(nights, lost))
    assert [one.kind for one in problems] == (["too much lost"] if refused else [])
    assert (nights.files() == before) == refused
    if refused:
        assert f"{lost} of its {entries} entries" in problems[0].message


def test_entries_that_move_to_another_memory_file_are_not_lost(nights: Nights) -> None:
    nights.entries(*filler(4))
    shop = nights.root / "projects/shop/MEMORY.md"
    kept = "".join(f"- {words}\n" for words in filler(4)[-2:])
    moved = DistilPlan(edits=(*losing(nights, 2).edits, Edit(shop, None, f"# Shop\n\n{kept}".encode())))
    assert apply.too_much_lost(nights.room(), moved) is None
    assert apply.too_much_lost(nights.room(), losing(nights, 2)) is not None


def test_a_night_that_would_overturn_too_much_asks_instead(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.entries(*filler(8))
    monkeypatch.setattr(distil, "plan", lambda room, **given: losing(nights, 4))
    before = nights.files()
    report = nights.tidy()
    assert not report.changed
    assert [one.kind for one in report.left] == ["too much lost"]
    assert nights.files() == before
