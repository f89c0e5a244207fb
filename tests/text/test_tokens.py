"""Search tokens, and that the full-text index keeps each of them whole."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.index.store import create_full_text
from nacre.text.tokens import query_tokens, stop_tokens, tokens


def kept_by_fts(texts: Iterable[list[str]]) -> set[str]:
    """The terms that the index's own full-text table makes of tokens joined by spaces."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    create_full_text(db)
    db.executemany("insert into words(body, heading) values(?, '')", [(" ".join(one),) for one in texts])
    found = {row[0] for row in db.execute("select term from words_terms")}
    db.close()
    return found


ANY_TEXT = st.text(st.characters(), max_size=80)  # surrogates, controls, NUL and unassigned characters too
WORDLIKE = st.text(
    st.sampled_from(
        "aBcXyZ019_'’.:,/- éßİıŉǅªº²½ⅷﬁ™℃ﷺ\u0301\u0345\u200d\u00ad\x00\x1f\ud800你好々〇ガｶﾞ・ー한국ㅎㄱ😀👍🏽ＡＢ１："
    ),
    max_size=30,
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(ANY_TEXT, WORDLIKE))
@example('a" OR b* NEAR(c) ^d {e} col:f -g')
def test_the_full_text_index_keeps_every_token_whole(text: str) -> None:
    made = tokens(text)
    assert kept_by_fts([made]) == set(made)


def test_no_character_there_is_breaks_a_token() -> None:
    # All but the inside of the great uniform ranges: Han, Hangul, private use, unassigned planes.
    ranges = (
        (0, 0x3500),
        (0x9F00, 0xAD00),
        (0xD700, 0xE100),
        (0xF800, 0x20100),
        (0xE0000, 0xE0200),
        (0x10FF00, 0x110000),
    )
    every = [chr(code) for first, end in ranges for code in range(first, end)]
    found: list[list[str]] = []
    for start in range(0, len(every), 64):
        group = every[start : start + 64]
        found.append(tokens(" ".join(f"{c} a{c}B {c}{c}9" for c in group)))
    assert kept_by_fts(found) == {token for one in found for token in one}


@settings(max_examples=200, deadline=None)
@given(st.one_of(ANY_TEXT, WORDLIKE))
def test_any_token_in_quotes_finds_its_text(text: str) -> None:
    made = tokens(text)
    db = sqlite3.connect(":memory:", isolation_level=None)
    create_full_text(db)
    db.execute("insert into words(body, heading) values(?, '')", (" ".join(made),))
    for token in set(made):
        assert db.execute("select count(*) from words where words match ?", (f'"{token}"',)).fetchone() == (1,)
    db.close()


@settings(max_examples=200, deadline=None)
@given(st.one_of(ANY_TEXT, WORDLIKE))
def test_tokens_are_short_lower_case_and_without_spaces(text: str) -> None:
    for token in tokens(text):
        assert 0 < len(token) <= 64
        assert token.split() == [token]
        assert all(not c.isascii() or c == "_" or c.isdigit() or c.islower() for c in token)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_composed_and_decomposed_letters_are_the_same_word(text: str) -> None:
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("Preferences", "preference"),
        ("MIGRATED", "migrating"),
        ("iPhone", "iphone"),
        ("YouTube", "youtube"),
        ("GitHub", "github"),
        ("PostgreSQL", "postgresql"),
        ("café", "cafe"),
        ("Straße", "strasse"),
        ("ＡＰＩ", "api"),
        ("１２３", "123"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("O’Brien", "o'brien"),
        ("Ana's", "ana"),
        ("you're", "you"),
        ("v3.11.7", "3.11.7"),
    ],
)
def test_two_ways_of_writing_a_word_meet(one: str, other: str) -> None:
    assert tokens(one)[0] == tokens(other)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("max_injected_chars", ["max_injected_chars", "max", "inject", "char"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("utf8", ["utf8", "utf", "8"]),
        ("2026-02-10", ["2026_02_10", "2026", "02", "10"]),
        ("14:05", ["14_05", "14", "05"]),
        ("数据库", ["数", "据", "库", "数据", "据库"]),
        ("用API吗", ["用", "api", "吗"]),
        ("ジョン・スミス", ["ジ", "ョ", "ン", "ジョ", "ョン", "ス", "ミ", "ス", "スミ", "ミス"]),
        ("한국", ["한", "국", "한국"]),
        ("𠮷野", ["𠮷", "野", "𠮷野"]),
        ("🎉👍🏽", []),
        ("deploy🎉now", ["deploy", "now"]),
        ("__init__", ["init"]),
        ("___", []),
        ("", []),
        ("\x00 \ud800", []),
    ],
)
def test_tokens_of(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_identifiers_are_found_whole_and_by_their_parts() -> None:
    found = tokens("call memory.chunkTokens and NACRE_INDEX_CHUNK_TOKENS")
    for asked in ("chunkTokens", "chunk", "token", "NACRE_INDEX_CHUNK_TOKENS", "nacre"):
        assert set(tokens(asked)) <= set(found)


def test_a_hash_is_one_token_and_not_its_parts() -> None:
    assert len(tokens("9f86d081884c7d659a2feaa0c55ad015")) == 1


@pytest.mark.parametrize("unit", ["a", "aB1", "word ", "1.", "1", "你", "é", "_", "'", "a'", "\x00", "１"])
def test_a_megabyte_of_anything_gives_bounded_tokens(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert all(len(token) <= 64 for token in tokens(text))


def test_a_question_keeps_only_words_that_tell_something() -> None:
    assert query_tokens("What is the name of our billing service?") == ["name", "bill", "servic"]
    assert "数据" in query_tokens("我们的数据库是什么")
    assert not {"的", "是", "什么"} & set(query_tokens("我们的数据库是什么"))


def test_a_question_of_small_words_alone_keeps_them_all() -> None:
    assert query_tokens("who are you") == ["who", "are", "you"]
    assert query_tokens("的了") == ["的了"]


def test_a_question_names_each_token_once() -> None:
    assert query_tokens("pnpm pnpm PNPM") == ["pnpm"]


def test_stop_words_are_known_in_the_form_they_have_in_the_index() -> None:
    assert {"this", "的"} <= stop_tokens()
    assert all(token in stop_tokens() for token in tokens("what does this have"))
