"""What is said in several places is one statement; the newest of what changed stands first; what hardly answers says so."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import FakeEmbedder
from tests.search.conftest import lay_out

from nacre.embed.models import ModelId
from nacre.memory import Memory
from nacre.model import Hit, SearchReport
from nacre.search.candidates import Candidate
from nacre.search.evidence import CONTEXT, FEATURES, Statement
from nacre.search.query import Question, parse_question
from nacre.search.rank import PAIR, SURE, diversify, learned, supersede
from nacre.vault.entries import entry_id

KEY = {"en": "The spare key of the boathouse hangs behind the green clock", "zh": "船屋的备用钥匙挂在绿色挂钟后面"}
ASKED = {"en": "where is the spare key of the boathouse?", "zh": "船屋的备用钥匙在哪里？"}
CAPTURED = {"en": "Where do we keep the boathouse key, and the spare one?", "zh": "船屋的备用钥匙放在哪里？"}
OTHER = {
    "en": ("Painted the garden fence", "Otto slept all day", "Bought two kilos of flour", "Fed the ducks"),
    "zh": ("给阳台的番茄浇水", "小猫整天睡在钢琴上", "在市场买了两斤面粉", "喂了池塘里的鸭子"),
}
languages = pytest.mark.parametrize("language", ["en", "zh"])


def log(day: str, *lines: str, stamp: str = "", folder: str = "memory") -> dict[str, str]:
    heading = f"## 09:00 session:aa11bb22 | 3 messages | {stamp}\n" if stamp else ""
    return {f"{folder}/{day}.md": f"# {day}\n\n{heading}" + "".join(f"- {line}\n" for line in lines)}


def longterm(*lines: str) -> dict[str, str]:
    return {"MEMORY.md": "# Long-Term Memory\n\n## Key Decisions\n" + "".join(f"- {line}\n" for line in lines)}


def settings(**search: str | float) -> dict[str, str]:
    return {".nacre/config.toml": "[search]\n" + "".join(f"{name} = {json.dumps(search[name])}\n" for name in search)}


def ask(root: Path, query: str, *, now: str = "2026-03-20", scope: str = "main", **options: Any) -> SearchReport:
    with Memory.open(root, scope=scope) as memory:
        return memory.ask(query, now=now, mode="text", **options)


def said(hits: Sequence[Hit]) -> list[str]:
    return [hit.snippet.removeprefix("- ") for hit in hits]


# Copies.


@languages
def test_a_line_in_log_archive_digest_and_memory_is_one_hit_that_names_all_places(
    tmp_path: Path, language: str
) -> None:
    line, other = KEY[language], OTHER[language][0]
    digest = f"# 2026-01-05\n### 2026-01-06\n[Decision] {line} (src: 2026-01-06)\n"
    lay_out(tmp_path, longterm("Reports are set in Typst", line) | {"memory/weekly/2026-01-05.md": digest})
    lay_out(tmp_path, log("2026-01-06", f"[TECH] {line}", other, folder="memory/archive") | log("2026-02-06", line))
    (hit,) = (hit for hit in ask(tmp_path, ASKED[language]).hits if line in hit.snippet)
    assert hit.also == tuple(
        f"memory/{name}.md#L3-L3" for name in ("2026-02-06", "archive/2026-01-06", "weekly/2026-01-05")
    )
    assert hit.places[:2] == [("MEMORY.md", 5, 5), ("memory/2026-02-06.md", 3, 3)]
    assert [path for path, _, _ in hit.places[2:]] == ["memory/archive/2026-01-06.md", "memory/weekly/2026-01-05.md"]


def test_an_entry_that_was_made_of_a_longer_line_stands_for_both(tmp_path: Path) -> None:
    lay_out(tmp_path, longterm(KEY["en"]) | log("2026-01-06", f"Lin told us on the phone: {KEY['en']}", *OTHER["en"]))
    best, *rest = ask(tmp_path, ASKED["en"]).hits
    assert (best.path, best.also) == ("MEMORY.md", ("memory/2026-01-06.md#L3-L3",))
    assert not any("spare key" in text for text in said(rest))


def test_of_the_same_words_on_several_days_the_newest_is_shown(tmp_path: Path) -> None:
    for day in ("2026-01-06", "2026-02-06", "2026-01-20"):
        lay_out(tmp_path, log(day, KEY["en"], f"Day {day}"))
    best = ask(tmp_path, ASKED["en"]).hits[0]
    assert (best.date, best.superseded) == ("2026-02-06", False)
    assert best.also == ("memory/2026-01-06.md#L3-L3", "memory/2026-01-20.md#L3-L3")


# Questions that were captured.


@languages
@pytest.mark.parametrize("answered", ["at once", "on another day"])
def test_a_captured_question_ranks_below_its_answer(tmp_path: Path, language: str, answered: str) -> None:
    one, two, *others = OTHER[language]
    if answered == "at once":
        lay_out(tmp_path, log("2026-01-06", one, CAPTURED[language], KEY[language], two, *others))
    else:
        lay_out(tmp_path, log("2026-02-06", one, CAPTURED[language], two) | log("2026-01-06", KEY[language], *others))
    assert said(ask(tmp_path, ASKED[language]).hits)[:2] == [KEY[language], CAPTURED[language]]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the name of Mara's dentist?", "Mara's dentist is Dr. Okafor in Hill Street"),
        ("马兰的牙医叫什么名字？", "马兰的牙医是山街的欧卡医生"),
    ],
)
def test_a_question_asked_again_in_the_same_words_finds_its_answer(tmp_path: Path, question: str, answer: str) -> None:
    one, two, three, four = OTHER["en" if question.isascii() else "zh"]
    lay_out(tmp_path, log("2026-01-06", one, question, two) | log("2026-02-06", three, answer, four))
    assert said(ask(tmp_path, question).hits)[0] == answer


# What changed.

STANDUP = {
    "en": ("The weekly standup is at 9:30 on Monday", "The weekly standup moved to 11:00 on Thursday"),
    "zh": ("周会时间是周一上午九点半", "周会时间改到周四上午十一点"),
}


@pytest.mark.parametrize(
    ("language", "query", "newer_first"),
    [
        ("en", "what time is the weekly standup now?", True),
        ("en", "when is the weekly standup?", True),
        ("en", "when was the weekly standup originally?", False),
        ("zh", "周会时间现在是几点？", True),
        ("zh", "周会原来是几点？", False),
    ],
)
def test_the_newer_of_two_statements_comes_first_unless_asked_for_what_was_before(
    tmp_path: Path, language: str, query: str, newer_first: bool
) -> None:
    (older, newer), (one, two, *others) = STANDUP[language], OTHER[language]
    lay_out(tmp_path, log("2026-01-06", older, one, two) | log("2026-02-20", newer, *others))
    hits = ask(tmp_path, query).hits
    assert said(hits)[:2] == ([newer, older] if newer_first else [older, newer])
    assert said([hit for hit in hits if hit.superseded]) == [older]


def test_a_question_about_before_is_not_answered_by_an_unrelated_older_line(tmp_path: Path) -> None:
    older, newer = STANDUP["en"]
    lay_out(tmp_path, log("2026-01-06", older, "The cat slept on the piano") | log("2026-02-20", newer, "Swam"))
    assert said(ask(tmp_path, "when was the weekly standup originally?").hits)[:2] == [older, newer]


GALLERY = (
    (
        "I want to tidy up the page of my gallery before the fair in spring and I am not sure about the order of the columns. At the moment the gallery shows 8 cards in two rows, "
        "each with a photo, a title and a line about the material. Could you look at the spacing between them on a telephone, at the size of the titles and at the colour of the "
        "links, which I find too pale on the grey ground that we chose in autumn?"
    ),
    (
        "The modal windows still open behind the menu on my old tablet, which drives me mad, and the fonts load late. I have added the two bowls from last week, so the gallery now "
        "shows 10 cards. Please tell me how to keep the photos sharp without making the page heavy, and whether the menu should rather stay at the top while somebody scrolls down "
        "through the whole of it, as the one of the museum does."
    ),
)


@pytest.mark.parametrize(
    ("query", "newer_first"),
    [("how many cards does the gallery show?", True), ("how many cards did the gallery show originally?", False)],
)
def test_of_two_long_messages_the_newer_comes_first_where_it_tells_another_value(
    tmp_path: Path, query: str, newer_first: bool
) -> None:
    lay_out(tmp_path, log("2026-01-06", GALLERY[0], *OTHER["en"][:2]) | log("2026-02-20", GALLERY[1], *OTHER["en"][2:]))
    hits = ask(tmp_path, query).hits
    dates = ["2026-02-20", "2026-01-06"]
    assert [hit.date for hit in hits[:2]] == (dates if newer_first else dates[::-1])
    assert not any(hit.superseded for hit in hits)  # the rest of a long message may still hold


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("what do we know about Mara?", ["Mara plays the cello", "Mara was born in June 1984", "Mara prefers tea"]),
        ("马兰", ["马兰在乐团拉大提琴", "马兰出生于1984年6月", "马兰早上喜欢喝绿茶"]),
        ("which rooms are booked?", ["Room 1 is booked for the whole week", "Room 2 is booked for the whole week"]),
    ],
)
def test_nothing_is_superseded_among_lines_that_hold_side_by_side(tmp_path: Path, query: str, lines: list[str]) -> None:
    for month, line in enumerate(lines, start=1):
        lay_out(tmp_path, log(f"2026-0{month}-06", line, OTHER["en"][month]))
    hits = ask(tmp_path, query).hits
    assert set(lines) <= set(said(hits))
    assert not any(hit.superseded for hit in hits)


# What the ledger knows.

PNPM, BUN = "Install packages with pnpm, never with npm", "Bun builds the whole shop"
TOOLS = "install packages of the shop with pnpm or Bun?"


def lay_out_tools(root: Path) -> None:
    lay_out(root, log("2026-01-06", PNPM, "Swam", stamp="group:shop") | log("2026-02-20", BUN, stamp="group:shop"))


def write_ledger(root: Path, older: str, newer: str) -> None:
    old, new, at = entry_id(older), entry_id(newer), "2026-02-20T22:00:00+00:00"
    rows = (
        {"id": old, "at": "2026-01-06T22:00:00+00:00", "verdict": "admitted", "text": older},
        {"id": old, "at": at, "verdict": "superseded", "valid_to": "2026-02-20", "by": new},
        {"id": new, "at": at, "verdict": "admitted", "text": newer, "supersedes": old},
    )
    (root / "memory" / "ledger.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf8")


def test_what_the_ledger_calls_superseded_is_marked_and_stands_below_its_successor(tmp_path: Path) -> None:
    lay_out_tools(tmp_path)
    before = ask(tmp_path, TOOLS).hits
    assert said(before)[:2] == [PNPM, BUN]  # by its words alone it would be first
    assert not any(hit.superseded for hit in before)
    write_ledger(tmp_path, PNPM, BUN)
    after = ask(tmp_path, TOOLS).hits
    assert (said(after)[:2], [hit.superseded for hit in after[:2]]) == ([BUN, PNPM], [False, True])
    assert said(ask(tmp_path, f"originally, did we {TOOLS}").hits)[:2] == [PNPM, BUN]


@pytest.mark.parametrize(
    ("older", "newer", "rest", "query"),
    [
        (PNPM, BUN, "The ferry to Inchcolm runs until October.", "is the ferry to Inchcolm running in October"),
        ("周会时间是周一上午九点半", "周会时间改到周四上午十一点", "小满对海鲜过敏。", "小满对什么过敏"),
    ],
)
def test_of_a_checkpoint_only_the_line_is_marked_that_no_longer_holds(
    tmp_path: Path, older: str, newer: str, rest: str, query: str
) -> None:
    talk = f"# Talk\n\n**User** 2026-01-06 14:00\n\n{older}.\n\n**Agent** 2026-01-06 14:01\n\n{rest}\n"
    lay_out(tmp_path, log("2026-02-20", newer) | {"memory_fs/warm/2026-01-06-1400-61871d67-1.md": talk})
    write_ledger(tmp_path, older, newer)
    (hit,) = (hit for hit in ask(tmp_path, query).hits if hit.layer == "warm")
    assert not hit.superseded
    assert [line for line in hit.snippet.split("\n") if line.endswith("(superseded)")] == [f"{older}. (superseded)"]
    assert rest in hit.snippet.split("\n")


def test_what_was_said_again_after_the_ledger_closed_it_is_not_superseded(tmp_path: Path) -> None:
    lay_out_tools(tmp_path)
    write_ledger(tmp_path, PNPM, BUN)
    assert ask(tmp_path, "install packages with pnpm").hits[0].superseded
    lay_out(tmp_path, log("2026-03-10", PNPM))
    best = ask(tmp_path, "install packages with pnpm").hits[0]
    assert (said([best]), best.date, best.superseded) == ([PNPM], "2026-03-10", False)


def test_a_group_is_told_nothing_of_what_the_ledger_knows(tmp_path: Path) -> None:
    lay_out_tools(tmp_path)
    before = ask(tmp_path, TOOLS, scope="group:shop").hits
    write_ledger(tmp_path, PNPM, BUN)
    assert ask(tmp_path, TOOLS, scope="group:shop").hits == before
    assert said(before)[:2] == [PNPM, BUN]
    assert not any(hit.superseded for hit in before)


def test_a_group_is_not_told_where_else_the_same_was_said(tmp_path: Path) -> None:
    line = KEY["en"]
    lay_out(tmp_path, longterm(line) | log("2026-02-06", line, "Sang"))
    lay_out(tmp_path, log("2026-01-06", line, stamp="group:shop") | log("2026-01-20", line, stamp="group:divers"))
    (own,) = ask(tmp_path, ASKED["en"], scope="group:shop").hits
    assert (own.path, own.also) == ("memory/2026-01-06.md", ())
    assert len(ask(tmp_path, ASKED["en"]).hits[0].also) == 3


# How sure.


@pytest.mark.parametrize(
    ("query", "is_answered"),
    [
        (ASKED["en"], True),
        (ASKED["zh"], True),
        ("the clock of quantum chromodynamics lattice simulations in the accelerator hall", False),
        ("who conducted the premiere of the opera about a garden at the imperial theatre in Vienna", False),
        ("巴黎歌剧院首演的指挥家和市场经济学的发明者是谁", False),
    ],
)
def test_only_what_memory_answers_has_a_hit_that_is_not_weak(tmp_path: Path, query: str, is_answered: bool) -> None:
    lay_out(tmp_path, log("2026-01-06", KEY["en"], *OTHER["en"]) | log("2026-01-07", KEY["zh"], *OTHER["zh"]))
    for at in range(10, 20):
        lay_out(tmp_path, log(f"2026-01-{at}", f"Wound clock {at}", f"Weeded garden {at}", f"第{at}个市场开门了"))
    report = ask(tmp_path, query)
    assert report.hits
    assert (not report.hits[0].weak, not report.abstained) == (is_answered, is_answered)


def test_a_least_score_hides_what_scores_less(tmp_path: Path) -> None:
    lay_out(tmp_path, log("2026-01-06", KEY["en"], "The key of the shed is lost", *OTHER["en"]))
    best, *rest = hits = ask(tmp_path, ASKED["en"]).hits
    assert rest
    assert ask(tmp_path, ASKED["en"], min_score=best.score).hits == (best,)
    assert ask(tmp_path, ASKED["en"], min_score=1).hits == ()
    lay_out(tmp_path, settings(min_score=best.score))
    assert ask(tmp_path, ASKED["en"]).hits == (best,)
    assert ask(tmp_path, ASKED["en"], min_score=0).hits == hits


# Settings.


def test_without_decay_nothing_is_superseded_not_even_by_the_ledger(tmp_path: Path) -> None:
    older, newer = STANDUP["en"]
    lay_out(tmp_path, log("2026-01-06", older, "Swam") | log("2026-02-20", newer, "Sang"))
    write_ledger(tmp_path, older, newer)
    for decay, marked in (("off", []), ("tie", [older]), ("multiply", [older])):
        lay_out(tmp_path, settings(decay=decay))
        hits = ask(tmp_path, "when is the weekly standup?").hits
        assert said([hit for hit in hits if hit.superseded]) == marked


def test_decay_that_multiplies_puts_what_is_fresh_above_what_fits_better(tmp_path: Path) -> None:
    old, fresh = "The walnut desk in the study has three drawers", "Polished the desk with beeswax"
    lay_out(tmp_path, log("2025-01-06", old, "Swam") | log("2026-03-19", fresh, "Sang"))
    for decay, first in (("tie", old), ("off", old), ("multiply", fresh)):
        lay_out(tmp_path, settings(decay=decay))
        assert said(ask(tmp_path, "walnut desk in the study").hits)[0] == first, decay
    lay_out(tmp_path, longterm(old))  # which never fades
    assert said(ask(tmp_path, "walnut desk in the study").hits)[0] == old


def test_decay_that_multiplies_does_not_make_an_unrelated_line_sure(tmp_path: Path) -> None:
    lay_out(tmp_path, settings(decay="multiply") | log("2025-06-06", KEY["en"], "Swam"))
    lay_out(tmp_path, log("2026-03-19", "The clock of the church was mended", "Sang", *OTHER["en"]))
    assert ask(tmp_path, "the clock of quantum chromodynamics lattice simulations in the accelerator hall").abstained


class _Synonyms(FakeEmbedder):
    """Two words for a doctor and two for the coast mean the same."""

    def embed(
        self, model: ModelId, texts: Sequence[str], *, query: bool = False, hurry: bool = False
    ) -> npt.NDArray[np.float32]:
        same = [text.lower().replace("physician", "doctor").replace("seaside", "coast") for text in texts]
        return super().embed(model, same, query=query, hurry=hurry)


def test_the_weights_of_meaning_and_words_shift_the_order(tmp_path: Path) -> None:
    by_words = "The doctor mended a violin, then flew to the coast of Peru with eleven trombones"
    by_meaning = "Physician at the seaside"
    lay_out(tmp_path, log("2026-02-06", by_words, "Swam") | log("2026-02-07", by_meaning, "Sang"))

    def found(**weights: float) -> tuple[Hit, ...]:
        lay_out(tmp_path, settings(**weights))
        with Memory.open(tmp_path, embedder=_Synonyms()) as memory:
            return memory.ask("doctor at the coast", now="2026-03-20").hits

    for first, weights in ((by_meaning, {"vector_weight": 0.95}), (by_words, {"text_weight": 0.95})):
        assert said(found(**weights))[0] == first
    assert found(vector_weight=0.05, text_weight=0.95) == found(text_weight=0.95)
    assert found(vector_weight=0.5, text_weight=0.5) == found()


# Days.


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("what happened on 5 February?", {"Leek soup with barley", "Read to the children"}),
        ("2月5日发生了什么", {"Leek soup with barley", "Read to the children"}),
        ("what did I do last Sunday?", {"Picked mushrooms", "Chess with Otto"}),
        ("上周日做了什么？", {"Picked mushrooms", "Chess with Otto"}),
        ("what did we do last Sunday evening?", {"Chess with Otto"}),
        ("上周日上午干了什么？", {"Picked mushrooms"}),
        ("上周日我做了什么？", {"Picked mushrooms", "Chess with Otto"}),
    ],
)
def test_a_question_for_a_day_is_answered_by_what_was_said_then(tmp_path: Path, query: str, lines: set[str]) -> None:
    for day, morning, evening in (
        ("2026-02-05", "Leek soup with barley", "Read to the children"),
        ("2026-02-08", "Picked mushrooms", "Chess with Otto"),
        ("2026-02-10", "Oiled the sewing machine", "Wrote to grandmother"),
    ):
        text = f"# {day}\n\n## 08:30 note\n- {morning}\n\n## 20:15 note\n- {evening}\n"
        lay_out(tmp_path, {f"memory/{day}.md": text})
    report = ask(tmp_path, query, now="2026-02-11T12:00")
    assert set(said([hit for hit in report.hits if not hit.weak])) == lines
    assert not report.abstained


# What was learned, and what holds whatever was.


def test_every_feature_has_its_learned_weight_and_no_weight_is_left_over(tmp_path: Path) -> None:
    for kind in ("hybrid", "text"):
        assert set(learned()[kind]) == set(FEATURES)
        assert {len(row) for row in learned()[kind].values()} == {len(CONTEXT)}
    assert set(learned()["supersedes"]) == set(PAIR)
    assert set(learned()["answers"]) == {"hybrid latin", "hybrid han", "text latin", "text han"}
    assert all(set(table) == set(SURE) for table in learned()["answers"].values())
    lay_out(tmp_path, log("2026-01-06", KEY["en"]))
    assert set(FEATURES) <= set(ask(tmp_path, ASKED["en"]).hits[0].parts)


shares = st.floats(0, 1)
words = st.frozensets(st.sampled_from("abcdefgh"), max_size=5)


@given(st.lists(st.tuples(shares, words), max_size=15), shares, st.integers(0, 20))
def test_variety_takes_each_position_once(rows: list[tuple[float, frozenset[str]]], balance: float, count: int) -> None:
    scores = sorted((share for share, _ in rows), reverse=True)
    taken = diversify(scores, [row for _, row in rows], balance, count)
    assert len(taken) == len(set(taken)) == min(count, len(rows))
    assert set(taken) <= set(range(len(rows)))


rows_of_statements = st.tuples(
    st.floats(-5, 5),
    st.sampled_from([*STANDUP["en"], *STANDUP["zh"], *CAPTURED.values(), "Otto: not at 7"]),
    st.sampled_from([None, "2026-01-06", "2026-02-06", "2026-02-20"]),
    st.sampled_from(["daily", "longterm", "weekly"]),
)


@given(st.lists(rows_of_statements, min_size=2, max_size=14), shares, st.booleans(), st.lists(st.integers(0, 13)))
def test_whatever_supersedes_what_the_statements_stay_the_same_and_are_sorted(
    rows: list[tuple[float, str, str | None, str]], like: float, past: bool, closed: list[int]
) -> None:
    ranked = []
    for at, (score, text, date, layer) in enumerate(sorted(rows, key=lambda row: -row[0])):
        shown = Candidate(at, 1, at, date, None, layer, 12, text, body=f" {text.lower()} ")
        ranked.append(Statement([shown], shown, score=score, features=[0.5] * len(FEATURES)))
    best = ranked[0].score
    known = [(ranked[at % len(rows)], ranked[(at + 1) % len(rows)]) for at in closed]
    question = Question("the weekly standup", ("weekly", "standup"), present=not past, past=past)
    after = supersede(ranked, question, {"weekly": 1.0, "standup": 2.0}, lambda *_: like, lambda *_: None, known)
    assert sorted(statement.shown.id for statement in after) == list(range(len(rows)))
    assert [statement.score for statement in after] == sorted((one.score for one in after), reverse=True)
    assert after[0].score == best
    assert all(older.superseded for older, _ in known)


@pytest.mark.parametrize(
    ("question", "is_past"),
    [
        ("what port was it before?", True),
        ("之前用的哪个端口", True),
        ("which port is used by staging?", False),
        ("what must I do before deploying?", False),
        ("群晖升级之前要做什么", False),
    ],
)
def test_only_a_question_about_how_it_was_asks_for_the_past(question: str, is_past: bool) -> None:
    assert parse_question(question, dt.date(2026, 3, 20)).past is is_past
