"""A MEMORY.md that another tool left over the limits: it gets nothing, loudly, until the user lets it be brought under them."""

from __future__ import annotations

import pytest
from tests.tidy.nights import CHINESE_RULE, RULE, SAFETY, Nights, filler

from nacre.errors import BadInput, ChangedOutside, MemoryFull
from nacre.tidy import apply
from nacre.tidy.answers import ACCEPT

HEAD = (
    "# Memory of another tool\r\n\r\nSome prose that explains it.\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n\r\n## Rules\r\n"
    f"- {RULE}\r\n- {CHINESE_RULE}\r\n- nested\r\n  - inner\r\n    - inmost\r\n\r\n## Diary\r\n"
)
INHERITED = HEAD + "".join(f"- {one}\r\n" for one in filler(100))
NOTE = "memory/2026-03-20-from-memory.md"


def adopt_it(nights: Nights) -> None:
    with nights.memory() as memory:
        memory.adopt(memory.adopting())


def test_a_file_over_the_limits_gets_nothing_and_a_problem_says_so_loudly(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    nights.log("2026-03-19", SAFETY)
    report = nights.tidy()
    assert nights.text() == INHERITED
    (problem,) = [one for one in report.problems if one.kind == "over its limits"]
    assert problem.severity == "error"
    assert "nacre review --adopt" in problem.message
    assert f"{INHERITED.count(chr(10))} of 80 lines" in problem.message
    assert [one.kind for one in nights.tidy("2026-03-21").problems] == ["over its limits"]
    assert nights.text() == INHERITED


def test_adopting_brings_it_under_the_limits_and_every_line_is_still_somewhere(nights: Nights) -> None:
    inherited = HEAD + "".join(f"- {one}\r\n" for one in filler(290))
    nights.lay("MEMORY.md", inherited)
    before = nights.files()
    with nights.memory() as memory:
        planned = memory.adopting()
        assert nights.files() == before
        (one,) = planned
        assert all(step.reason and step.detail for step in one.steps)
        memory.adopt(planned)
    data = (nights.root / "MEMORY.md").read_bytes()
    assert len(data) <= 5120
    assert data.count(b"\n") <= 80
    assert {RULE, CHINESE_RULE} <= {line.strip() for line in nights.kept()}
    held = set(nights.text().splitlines()) | set(nights.text(NOTE).splitlines())
    assert [line for line in inherited.splitlines() if line not in held] == []
    assert "## Diary" in nights.text(NOTE)
    told = [one["verdict"] for one in nights.ledger()]
    assert told.count("demoted") == len([record for record in one.records if record.verdict == "demoted"])


def test_after_adopting_the_waiting_line_is_admitted(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    adopt_it(nights)
    nights.lay("MEMORY.md", nights.text().partition("## Diary")[0])
    assert not nights.tidy("2026-03-21").problems
    assert SAFETY in nights.kept()


def test_adopting_is_taken_back_by_one_undo(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    nights.tidy()
    before = nights.files()
    adopt_it(nights)
    nights.undo()
    assert nights.files() == before


def test_the_moved_lines_keep_their_order(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    adopt_it(nights)
    moved = [line for line in nights.text(NOTE).splitlines() if line.startswith("- ")]
    places = [INHERITED.splitlines().index(line) for line in moved]
    assert places == sorted(places)


def test_what_search_is_asked_for_is_found_in_the_note(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    adopt_it(nights)
    line = next(line[2:] for line in nights.text(NOTE).splitlines() if line.startswith("- "))
    with nights.memory() as memory:
        assert memory.search(line, mode="text")[0].path == NOTE


def test_pinned_lines_stay_and_when_they_alone_are_too_much_nothing_is_done(nights: Nights) -> None:
    lines = filler(120)
    nights.entries(*lines, pinned=True)
    before = nights.files()
    with nights.memory() as memory, pytest.raises(BadInput, match="pinned"):
        memory.adopting()
    assert nights.files() == before


def test_a_pinned_line_stays_while_others_go(nights: Nights) -> None:
    lines = filler(120)
    nights.entries(*lines)
    nights.tell(lines[-1], "admitted", pinned=True)
    adopt_it(nights)
    assert lines[-1] in nights.kept()


def test_prose_moves_when_the_lists_are_not_enough(nights: Nights) -> None:
    prose = "".join(f"Paragraph {number} of a long story.\n\n" for number in range(60))
    nights.lay("MEMORY.md", f"# Story\n\n{prose}## Rules\n- {RULE}\n")
    adopt_it(nights)
    assert nights.text().count("\n") <= 80
    held = nights.text() + nights.text(NOTE)
    assert all(f"Paragraph {number} of a long story." in held for number in range(60))


def test_a_projects_file_has_a_note_of_its_own(nights: Nights) -> None:
    nights.lay("projects/shop/MEMORY.md", INHERITED)
    adopt_it(nights)
    assert nights.text("projects/shop/MEMORY.md").count("\n") <= 80
    assert "Diary" in nights.text("memory/2026-03-20-shop-from-memory.md")


def test_a_file_that_changes_between_plan_and_consent_is_left_alone(nights: Nights) -> None:
    nights.lay("MEMORY.md", INHERITED)
    with nights.memory() as memory:
        planned = memory.adopting()
        nights.lay("MEMORY.md", INHERITED + "- late\r\n")
        before = nights.files()
        with pytest.raises(ChangedOutside):
            memory.adopt(planned)
    assert nights.files() == before


def test_killed_after_the_note_was_written_nothing_is_doubled(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.lay("MEMORY.md", INHERITED)

    def killed(*_given: object, **_named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(apply, "apply_plan", killed)
        with pytest.raises(KeyboardInterrupt):
            adopt_it(nights)
    assert nights.text() == INHERITED
    adopt_it(nights)
    moved = [line for line in nights.text(NOTE).splitlines() if line.startswith("- ")]
    assert len(moved) == len(set(moved))
    assert not nights.memory().adopting()


def test_a_question_about_a_file_over_the_limits_waits_for_adopting(nights: Nights) -> None:
    nights.entries(*filler(77), section="User Preferences", confidence=0.99, valid_from="2026-03-19")
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    nights.lay("MEMORY.md", nights.text() + "- one more by hand\n")
    before = nights.files()
    with pytest.raises(MemoryFull, match="--adopt"):
        nights.answer(ACCEPT, SAFETY)
    assert nights.files() == before
