"""A day in few bytes: what is told of it, whole statements in an order that can be read, no figure lost to a cut."""

from __future__ import annotations

from nacre.brain.local.digest import Line, ScoredSentence, press, weigh
from nacre.brain.local.judge import Judge


def scored(*lines: str) -> list[list[ScoredSentence]]:
    return weigh(Judge(None), [[(line, False) for line in lines]])


def pressed(sentences: list[ScoredSentence], room: int) -> str:
    result = press([Line(sentences, 30)], room)
    return result.get(0, "")


def test_a_question_tells_nothing_and_an_answered_question_is_told_with_its_answer() -> None:
    question, answered = scored(
        "what should we have for lunch?",
        "Which pool mode does prod use? – Transaction",
    )
    assert [sentence.clauses for sentence in question] == [()]
    assert [sentence.clauses for sentence in answered] == [("Which pool mode does prod use? – Transaction",)]


def test_what_an_agent_answers_stays_its_word_and_an_answer_ends_with_its_sentence() -> None:
    answered, asked, requested = scored(
        "User asked: is the preview up? → The preview answers with 200",
        "What is Ana's role? She leads billing. Never deploy on Fridays",
        "User asked to add the quote number TQ-20471 → Added TQ-20471 to the order",
    )
    assert pressed(answered, 500) == "Agent: The preview answers with 200"
    assert [sentence.clauses for sentence in asked] == [
        ("What is Ana's role? – She leads billing",),
        ("Never deploy on Fridays",),
    ]
    assert [(sentence.agents, sentence.answers) for sentence in requested] == [(False, False), (True, True)]
    assert pressed(requested, 500) == "Add the quote number TQ-20471 → Added TQ-20471 to the order"
    assert pressed(requested[1:], 500) == "Agent: Added TQ-20471 to the order"


def test_a_sentence_is_cut_behind_its_figures_and_never_before_them() -> None:
    [[plain], [figures]] = scored(
        "Prod runs Postgres behind PgBouncer in transaction mode, which nobody liked at first",
        "Dinner with the freight people is booked at the new place, 19:30",
    )
    assert plain.clauses[0] == "Prod runs Postgres behind PgBouncer in transaction mode"
    assert "".join(plain.clauses).endswith(", which nobody liked at first")
    assert figures.clauses == ("Dinner with the freight people is booked at the new place, 19:30",)


def test_the_rest_of_a_line_is_cheaper_than_a_line_of_its_own() -> None:
    [first], [second], [third] = scored(*(f"Service {n} of the shop listens on port 800{n}" for n in range(3)))
    both = "Service 0 of the shop listens on port 8000; Service 2 of the shop listens on port 8002"
    result = press([Line([first, third], 30), Line([second], 30)], len(both) + 30)
    assert result == {0: both}
