from __future__ import annotations

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from nacre.i18n import use_language
from nacre.text.layout import age, cut, cut_path, nested_quotes, padded, shortened, stretch, width_of, wrapped

NOW = dt.datetime(2026, 2, 14, 14, 5, tzinfo=dt.UTC)
texts = st.text(st.sampled_from("ab c记忆。，（）“” é…/"), max_size=60)


def test_a_han_character_takes_two_columns() -> None:
    assert width_of("记忆 a") == 6
    assert padded("记忆", 6) == "记忆  "


@given(texts, st.integers(4, 20))
def test_what_is_wrapped_fits_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width_of(line) <= width and line == line.strip() for line in lines)


@given(texts, st.integers(4, 20))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert width_of(cut(text, width)) <= max(width, 1)
    assert width_of(cut_path(text, width)) <= width


def test_a_line_does_not_begin_with_a_closing_mark() -> None:
    assert wrapped("每天压缩，提炼。", 8) == ["每天压", "缩，提", "炼。"]


def test_ages_in_both_languages() -> None:
    moments = {
        NOW - dt.timedelta(seconds=20): ("just now", "刚刚"),
        NOW - dt.timedelta(minutes=1): ("1 minute ago", "1 分钟前"),
        NOW - dt.timedelta(hours=3): ("3 hours ago", "3 小时前"),
        NOW - dt.timedelta(hours=20): ("yesterday", "昨天"),
        NOW.date(): ("today", "今天"),
        dt.date(2026, 2, 11): ("3 days ago", "3 天前"),
        dt.date(2026, 1, 20): ("3 weeks ago", "3 周前"),
        dt.date(2025, 11, 1): ("3 months ago", "3 个月前"),
        dt.date(2023, 1, 1): ("3 years ago", "3 年前"),
        dt.date(2026, 3, 1): ("2026-03-01", "2026-03-01"),
    }
    for language, place in (("en", 0), ("zh", 1)):
        use_language(language)
        assert {moment: age(moment, NOW) for moment in moments} == {m: said[place] for m, said in moments.items()}


def test_a_mark_of_what_was_taken_out_is_never_cut_in_two() -> None:
    text = "身份证 [redacted: identity number]，归属地是哪"
    for most in range(len(text)):
        for start in (0, 3, 8, 20):
            part = stretch(text, start, most)
            assert part.count("[redacted") == part.count("number]") == part.count("identity")
    assert shortened(text, 12) == "身份证…"
    assert shortened(text, 100) == text
    assert "[redacted" not in cut(text, 20)


def test_quotation_marks_inside_others_are_single_ones() -> None:
    assert nested_quotes("可能已被““听雨”改成亲子房”取代") == "可能已被“‘听雨’改成亲子房”取代"
    for text in ("被“甲”取代，不是“乙”", "没有“配对", "没有”配“对", 'English "quotes"'):
        assert nested_quotes(text) == text
