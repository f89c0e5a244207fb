"""At most three questions a day, the most valuable first; what nobody answers for a month is refused, and nothing is asked twice."""

from __future__ import annotations

import pytest
from tests.tidy.nights import JEST, RULE, SAFETY, VITEST, Nights, filler

from nacre.errors import BadInput, MemoryFull
from nacre.memory import Memory
from nacre.tidy import apply
from nacre.tidy.answers import ACCEPT, REFUSE, Answer
from nacre.tidy.distil import Draft
from nacre.tidy.summary import MemoryChanges, last_changes
from nacre.vault import review
from nacre.vault.entries import entry_id
from nacre.vault.history import operation
from nacre.vault.ledger import LedgerStates
from nacre.vault.review import CLASH, DOUBT, FADED, Question
from nacre.vault.timeline import changes_on

DUE = "The tax report is due 2026-02-28"


def offered(text: str, odds: float, kind: str = DOUBT) -> Question:
    source = {"day": "2026-03-19", "bullet": entry_id(text)[:8]}
    about = {"file": "MEMORY.md", "type": "TECH", "odds": odds, "source": source, "tests": {"broad": 0.5}}
    return Question(entry_id(text), kind, text, "is it so?", about)


def put(nights: Nights, *questions: Question, day: str = "2026-03-20") -> list[str]:
    """A night on which these came up; what it was that was asked, the first first."""
    room = nights.room(day)
    draft = Draft(room)
    for question in questions:
        draft.ask(question)
    draft.drop_obsolete_questions()
    draft.choose_questions()
    planned = draft.plan([])
    with operation(room, "tidy") as op:
        apply.apply_plan(room, op, planned)
    return [question.text for question in planned.asks]


FOUR = [offered(text, odds) for text, odds in zip(filler(4), (0.5, 0.8, 0.6, 0.7), strict=True)]


def test_three_questions_are_put_in_a_day_those_first_that_are_most_likely_worth_it(nights: Nights) -> None:
    low, best, third, second = (question.text for question in FOUR)
    assert put(nights, *FOUR) == [best, second, third]
    (refused,) = nights.ledger(low)
    assert (refused["verdict"], refused["failed"]) == ("refused", "asked enough")
    assert refused["source"] == FOUR[0].about["source"]
    assert nights.verdicts(best) == ["asked"]


def test_a_conflict_with_an_entry_is_asked_before_everything_else(nights: Nights) -> None:
    clash = offered(RULE, 0.1, CLASH)
    assert put(nights, *FOUR, clash)[0] == RULE


def test_what_was_not_asked_is_not_asked_on_another_day_and_the_same_day_has_three(nights: Nights) -> None:
    put(nights, *FOUR)
    assert put(nights, offered(RULE, 0.9)) == []
    assert nights.ledger(RULE)[-1]["failed"] == "asked enough"
    assert put(nights, offered(SAFETY, 0.9), day="2026-03-21") == [SAFETY]


def test_what_contradicts_an_entry_is_asked_on_another_day_where_the_day_has_three(nights: Nights) -> None:
    put(nights, *FOUR)
    clash = offered(RULE, 0.9, CLASH)
    assert put(nights, clash) == []
    assert nights.ledger(RULE) == []
    assert put(nights, clash, day="2026-03-21") == [RULE]


def test_answers_of_the_day_make_no_room_for_more(nights: Nights) -> None:
    put(nights, *FOUR)
    nights.answer("refuse", FOUR[1].text)
    assert put(nights, offered(RULE, 0.9)) == []


def test_a_line_that_stands_is_not_refused_but_asked_about_on_another_day(nights: Nights) -> None:
    nights.entries(DUE)
    faded = Question(entry_id(DUE), FADED, DUE, "its date has passed", {"file": "MEMORY.md"})
    assert DUE not in put(nights, *FOUR, faded)
    assert nights.verdicts(DUE) == ["admitted"]
    assert put(nights, faded, day="2026-03-21") == [DUE]
    assert nights.kept() == [DUE]


def test_a_question_put_by_a_run_that_was_killed_counts_for_its_day(nights: Nights) -> None:
    with operation(nights.room(), "tidy") as op:
        review.change_review(op, add=FOUR[:2])
    assert len(put(nights, *FOUR)) == 1
    assert [nights.verdicts(question.text) for question in FOUR[:2]] == [["asked"], ["asked"]]


def test_what_nobody_answers_for_thirty_days_is_refused_and_the_run_says_so(nights: Nights) -> None:
    put(nights, FOUR[0])
    assert not nights.tidy("2026-04-18").counts["distil expire"]
    report = nights.tidy("2026-04-19")
    assert [(step.action, step.detail) for _, step in report.steps] == [("expire", FOUR[0].text)]
    assert "30 days" in report.steps[0][1].reason
    assert nights.ledger(FOUR[0].text)[-1]["failed"] == "unanswered"
    assert not nights.questions()
    assert put(nights, FOUR[0], day="2026-05-01") == []


def test_a_line_about_which_nobody_answers_stays(nights: Nights) -> None:
    nights.entries(DUE)
    nights.tidy()
    assert list(nights.questions()) == [DUE]
    nights.tidy("2026-04-19")
    assert not nights.questions()
    assert nights.kept() == [DUE]
    assert nights.verdicts(DUE) == ["admitted", "asked"]
    assert not nights.tidy("2026-04-20").changed


def test_a_question_of_an_earlier_version_begins_to_wait_when_it_is_first_seen(nights: Nights) -> None:
    with operation(nights.room("2026-01-01"), "tidy") as op:
        review.change_review(op, add=FOUR[:1])
    nights.tidy()
    assert list(nights.questions()) == [FOUR[0].text]
    assert nights.tidy("2026-04-19").counts["distil expire"] == 1


@pytest.mark.parametrize(("verb", "stands"), [(ACCEPT, True), (REFUSE, False)])
def test_accepting_and_refusing_say_whether_it_stands_afterwards_whatever_the_question(
    nights: Nights, verb: str, *, stands: bool
) -> None:
    nights.entries(DUE)
    nights.tidy()
    put(nights, FOUR[0])
    for text in (DUE, FOUR[0].text):
        nights.answer(verb, text)
        assert (text in nights.kept()) == stands


# What an agent answers.


def agent_says(nights: Nights, text: str, verb: str, words: str | None = None) -> None:
    with nights.memory("2026-03-20", "09:00:00") as memory:
        memory.answer([Answer(entry_id(text), verb, words, by_agent=True)])


def test_what_an_agent_keeps_is_recorded_as_the_agents_word_and_can_be_undone(nights: Nights) -> None:
    put(nights, FOUR[0])
    before = nights.files()
    agent_says(nights, FOUR[0].text, ACCEPT)
    assert FOUR[0].text in nights.kept()
    told = nights.ledger(FOUR[0].text)[-1]
    assert (told["verdict"], told["brain"], "answer" in told, "confidence" in told) == (
        "admitted",
        "agent",
        False,
        False,
    )
    assert not nights.questions()
    nights.undo()
    assert nights.files() == before


def test_an_agent_may_refuse_or_say_it_in_other_words(nights: Nights) -> None:
    put(nights, *FOUR[1:3])
    agent_says(nights, FOUR[1].text, REFUSE)
    assert (nights.ledger(FOUR[1].text)[-1]["failed"], nights.kept()) == ("agent", [])
    agent_says(nights, FOUR[2].text, ACCEPT, SAFETY)
    assert nights.kept() == [SAFETY]
    assert nights.ledger(SAFETY)[-1]["brain"] == "agent"
    assert not nights.questions()


@pytest.mark.parametrize("verb", [ACCEPT, REFUSE])
def test_a_conflict_and_a_line_that_stands_wait_for_the_person(nights: Nights, verb: str) -> None:
    nights.entries(DUE, JEST)
    nights.tidy()
    clash = offered(RULE, 0.9, CLASH)
    clash = clash._replace(why=f"conflicts with “{JEST}”", about={**clash.about, "against": entry_id(JEST)})
    put(nights, clash)
    before = nights.files()
    for text in (DUE, RULE):
        with pytest.raises(BadInput, match="Only the user can decide"):
            agent_says(nights, text, verb)
    assert nights.files() == before


def test_an_agent_brings_back_nothing_that_the_person_took_back_forgot_or_wrote(nights: Nights) -> None:
    nights.entries(JEST, SAFETY)
    with nights.memory() as memory:
        memory.forget(entry_id(JEST))
    put(nights, FOUR[0])
    for words in (JEST, SAFETY):
        with pytest.raises(BadInput, match="Only the user can decide"):
            agent_says(nights, FOUR[0].text, ACCEPT, words)
    assert nights.kept() == [SAFETY]


def test_an_agents_word_takes_nothing_out_of_a_full_file(nights: Nights) -> None:
    nights.entries(*filler(77), section="User Preferences", confidence=0.1)
    put(nights, offered(SAFETY, 0.9))
    with pytest.raises(MemoryFull, match="may not remove anything"):
        agent_says(nights, SAFETY, ACCEPT)
    assert list(nights.questions()) == [SAFETY]


# The line of the morning.


def test_the_last_night_is_told_from_history_until_it_is_undone(nights: Nights) -> None:
    workspace = nights.memory().workspace
    assert last_changes(workspace) is None
    nights.log("2026-03-19", RULE)
    report = nights.tidy()
    assert report.changes == MemoryChanges(added=1)
    put(nights, *FOUR[:2])
    at, night = last_changes(workspace) or ("", MemoryChanges())
    assert (at[:10], night, night.line) == ("2026-03-20", MemoryChanges(questions=2), "2 questions")
    nights.answer("refuse", FOUR[0].text)
    assert (last_changes(workspace) or ("", MemoryChanges()))[1] == MemoryChanges(questions=2)


def test_the_line_of_the_morning_says_what_was_added_replaced_and_asked(nights: Nights) -> None:
    with Memory.open(nights.root):
        assert MemoryChanges(3, 1, 2).line == "+3, 1 replaced, 2 questions"
        assert MemoryChanges(0, 0, 1).line == "1 question"
        assert MemoryChanges().line == "nothing new"


def test_what_a_later_statement_supersedes_is_no_longer_asked_about(nights: Nights) -> None:
    put(nights, offered(JEST, 0.5), offered(SAFETY, 0.5))
    nights.log("2026-03-20", VITEST)
    assert nights.tidy("2026-03-21").changes == MemoryChanges(added=1)
    assert nights.kept() == [VITEST]
    assert [*nights.questions()] == [SAFETY]
    *_, last = nights.ledger(JEST)
    assert (last["verdict"], last["by"], last["valid_to"]) == ("superseded", entry_id(VITEST), "2026-03-20")
    states = LedgerStates(nights.room().workspace)
    assert [change.text for change in changes_on(states, "2026-03-21")] == [VITEST]  # the other was never in memory
    assert nights.tidy("2026-03-21").counts == {}
    nights.undo("2026-03-21")
    assert {*nights.questions()} == {JEST, SAFETY}


def test_what_may_conflict_with_what_was_admitted_since_is_no_longer_asked_about(nights: Nights) -> None:
    older = "Use npm in every repository"
    put(nights, offered(older, 0.5))
    nights.log("2026-03-20", RULE)
    nights.tidy("2026-03-21")
    assert nights.kept() == [RULE]
    assert nights.questions() == {}
    assert nights.ledger(older)[-1]["failed"] == "superseded"


@pytest.mark.parametrize(("day", "stamp"), [("2026-03-20", " | project:shop"), ("2026-03-18", "")])
def test_no_question_is_withdrawn_for_another_project_or_an_earlier_statement(
    nights: Nights, day: str, stamp: str
) -> None:
    put(nights, offered(JEST, 0.5))
    newer = VITEST.replace("in every project", "in this repository")
    nights.log(day, newer, stamp=stamp)
    nights.tidy("2026-03-21")
    assert nights.kept("projects/shop/MEMORY.md" if stamp else "MEMORY.md") == [newer]
    assert [*nights.questions()] == [JEST]


def test_a_question_about_what_somebody_wrote_there_meanwhile_is_withdrawn(nights: Nights) -> None:
    put(nights, offered(JEST, 0.5))
    nights.lay("MEMORY.md", f"# Mine\n\n- {JEST}\n")
    nights.tidy("2026-03-21")
    assert JEST not in nights.questions()
    nights.tidy("2026-04-25")  # when nobody would have answered for a month
    assert nights.verdicts(JEST) == ["asked", "adopted"]


def test_to_refuse_what_somebody_wrote_there_meanwhile_leaves_it_as_the_ledger_has_it(nights: Nights) -> None:
    nights.lay("MEMORY.md", f"# Mine\n\n- {JEST}\n")
    nights.tidy("2026-03-20")
    put(nights, offered(SAFETY, 0.5))
    nights.lay("MEMORY.md", f"# Mine\n\n- {JEST}\n- {SAFETY}\n")
    nights.answer("refuse", SAFETY)
    nights.tidy("2026-03-21")
    assert nights.kept() == [JEST, SAFETY]
    assert nights.verdicts(SAFETY) == ["asked", "adopted"]
