"""The user's word on what long-term memory could not decide alone, for every kind of question."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.tidy.nights import JEST, SAFETY, VITEST, Nights, filler

from nacre.errors import BadInput, ChangedOutside, MemoryFull, NotFound, SecretRefused
from nacre.memory import Memory
from nacre.tidy import apply
from nacre.tidy.answers import ACCEPT, PIN, REFUSE, Answer
from nacre.vault.entries import entry_id

DUE = "The tax report is due 2026-02-28"
SLIP = "Fixed the typo on line 12 of this page today"
OTHER = "Write every unit test with Vitest"


def clash(nights: Nights) -> str:
    nights.entries(JEST, pinned=True, section="User Preferences")
    nights.log("2026-03-19", VITEST)
    return VITEST


def full(nights: Nights) -> str:
    nights.entries(*filler(77), section="User Preferences", confidence=0.99, valid_from="2026-03-19")
    nights.log("2026-03-19", SAFETY)
    return SAFETY


def adopted(nights: Nights) -> str:
    nights.lay("MEMORY.md", f"# Mine\n\n- {SLIP}\n- {SAFETY}\n")
    return SLIP


def faded(nights: Nights) -> str:
    nights.entries(DUE, SAFETY)
    return DUE


KINDS: dict[str, Callable[[Nights], str]] = {"clash": clash, "full": full, "adopted": adopted, "faded": faded}


def asked(nights: Nights, kind: str) -> str:
    """A workspace in which one question of the kind is open; its text."""
    text = KINDS[kind](nights)
    nights.tidy()
    assert [(one.text, one.kind) for one in nights.questions().values()] == [(text, kind)]
    return text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", [ACCEPT, REFUSE, PIN])
def test_an_answered_question_is_gone_and_not_asked_again(nights: Nights, kind: str, verb: str) -> None:
    text = asked(nights, kind)
    nights.answer(verb, text)
    assert not nights.questions()
    stands = text in nights.kept()
    assert stands == (verb != REFUSE)
    assert not nights.tidy("2026-03-21").changed
    assert not nights.questions()
    assert (text in nights.kept()) == stands
    assert nights.ledger(text)[-1].get("pinned", False) == (verb == PIN)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_can_be_taken_back(nights: Nights, kind: str) -> None:
    text = asked(nights, kind)
    before = nights.files()
    nights.answer(ACCEPT, text)
    nights.undo()
    after = nights.files()
    assert {name: data for name, data in after.items() if before.get(name) != data} == {}
    assert list(nights.questions()) == [text]


@pytest.mark.parametrize("kind", KINDS)
def test_other_words_take_the_place(nights: Nights, kind: str) -> None:
    text = asked(nights, kind)
    nights.answer(ACCEPT, text, OTHER)
    assert OTHER in nights.kept()
    assert text not in nights.kept()
    assert nights.ledger(OTHER)[-1]["verdict"] in ("admitted", "adopted")
    assert not nights.questions()
    assert not nights.tidy("2026-03-21").changed


def test_accepting_a_clash_closes_the_old_line(nights: Nights) -> None:
    asked(nights, "clash")
    nights.answer(ACCEPT, VITEST)
    assert nights.kept() == [VITEST]
    closed, told = nights.ledger(JEST)[-1], nights.ledger(VITEST)[-1]
    assert (closed["verdict"], closed["valid_to"]) == ("superseded", "2026-03-20")
    assert (told["supersedes"], told["brain"]) == (entry_id(JEST), "user")
    assert told["source"]["day"] == "2026-03-19"


def test_refusing_a_clash_keeps_the_old_line_and_names_the_user(nights: Nights) -> None:
    asked(nights, "clash")
    before = nights.text()
    nights.answer(REFUSE, VITEST)
    assert nights.text() == before
    assert (nights.ledger(VITEST)[-1]["verdict"], nights.ledger(VITEST)[-1]["failed"]) == ("refused", "user")


def test_accepting_into_a_full_file_lets_the_least_needed_line_go_to_its_digest(nights: Nights) -> None:
    asked(nights, "full")
    before = set(nights.kept())
    nights.answer(ACCEPT, SAFETY)
    (gone,) = before - set(nights.kept())
    assert gone in nights.text("memory/weekly/2026-03-16.md")
    assert nights.verdicts(gone)[-1] == "demoted"
    assert nights.text().count("\n") == 80


def test_a_file_full_of_the_users_own_lines_takes_nothing_and_says_so(nights: Nights) -> None:
    nights.lay("MEMORY.md", "# Mine\n\n\n" + "".join(f"- {one}\n" for one in filler(77)))
    nights.log("2026-03-19", SAFETY)
    nights.tidy()
    before = nights.files()
    with pytest.raises(MemoryFull, match="every line in it is pinned or written by you"):
        nights.answer(ACCEPT, SAFETY)
    assert nights.files() == before


def test_a_faded_line_that_goes_is_found_in_a_digest(nights: Nights) -> None:
    asked(nights, "faded")
    nights.answer(REFUSE, DUE)
    assert nights.kept() == [SAFETY]
    assert DUE in nights.text("memory/weekly/2026-01-26.md")


def test_a_pinned_line_goes_by_an_answer_only_with_a_word_about_its_pin(nights: Nights) -> None:
    asked(nights, "faded")
    with nights.memory() as memory:
        memory.pin(entry_id(DUE))
        (step,) = memory.answer([Answer(entry_id(DUE), REFUSE)])
    assert (step.action, step.reason) == ("demote", "your answer; the line was pinned")


def test_a_line_that_went_meanwhile_is_no_trouble(nights: Nights) -> None:
    asked(nights, "faded")
    nights.lay("MEMORY.md", f"# Mine\n\n- {SAFETY}\n")
    nights.answer(ACCEPT, DUE)
    assert not nights.questions()
    assert nights.kept() == [SAFETY]


def test_a_dry_run_tells_the_steps_and_changes_nothing(nights: Nights) -> None:
    asked(nights, "clash")
    before = nights.files()
    with nights.memory() as memory:
        (item,) = memory.questions()
        (step,) = memory.answer([Answer(item.id, ACCEPT)], dry_run=True)
    assert (step.action, step.detail) == ("replace", VITEST)
    assert step.reason
    assert nights.files() == before


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([Answer("ffffffffff", ACCEPT)], NotFound),
        ([Answer("", ACCEPT)], NotFound),
        ([Answer("{id}", ACCEPT), Answer("{id}", REFUSE)], BadInput),
        ([Answer("{id}", ACCEPT, "  ")], BadInput),
        ([Answer("{id}", ACCEPT, "token ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5")], SecretRefused),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error_and_changes_nothing(
    nights: Nights, answers: list[Answer], error: type[Exception]
) -> None:
    asked(nights, "clash")
    before = nights.files()
    with nights.memory() as memory:
        known = memory.questions()[0].id
        given = [Answer(one.id.format(id=known), one.verb, one.words) for one in answers]
        with pytest.raises(error):
            memory.answer(given)
    assert nights.files() == before


def test_the_beginning_of_an_id_is_enough(nights: Nights) -> None:
    asked(nights, "clash")
    with nights.memory() as memory:
        memory.answer([Answer(memory.questions()[0].id[:4], ACCEPT)])
    assert nights.kept() == [VITEST]


def test_in_a_group_there_are_no_questions_and_no_answers(nights: Nights) -> None:
    asked(nights, "clash")
    with Memory.open(nights.root, scope="group:team") as memory:
        for work in (memory.questions, memory.tidy, memory.adopting, lambda: memory.answer([Answer("a", ACCEPT)])):
            with pytest.raises(BadInput):
                work()


def test_a_file_that_is_edited_while_the_answer_is_carried_out_is_left_alone(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(nights, "clash")
    real = apply.apply_plan

    def late(*given: object, **named: object) -> object:
        nights.lay("MEMORY.md", "# Mine\n\n- edited meanwhile\n")
        return real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(apply, "apply_plan", late)
    with pytest.raises(ChangedOutside):
        nights.answer(ACCEPT, VITEST)
    assert nights.kept() == ["edited meanwhile"]
    assert list(nights.questions()) == [VITEST]
