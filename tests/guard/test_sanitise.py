from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.guard.sanitise import clean, one_line


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\x00b\x07c\x1b[0m\x7f\x9b", "abc[0m"),
        ("tab\tand\nline stay", "tab\tand\nline stay"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("user\u202etxt.exe\u202c \u2066x\u2069", "usertxt.exe x"),
        ("zero\u200bwidth\ufeff\u2060", "zerowidth"),
        ("half \ud83d of a character", "half  of a character"),
        ("hidden\U000e0041\U000e0042 words", "hidden words"),
        ("pass\u200dword and pass\u200cword", "password and password"),
    ],
)
def test_what_the_eye_cannot_see_goes(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d💻 and ❤️\u200d🔥 and 👩🏽\u200d🚀",
        "می\u200cخواهم",
        "क्\u200dष",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "全角ABC ① fi ligature, ½",
        "trailing spaces   \n\n",
    ],
)
def test_what_belongs_to_a_script_or_an_emoji_stays(text: str) -> None:
    assert clean(text) == text


@given(st.text(st.characters(codec=None)))
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text("\u200c\u200d\u200b\r\n\x00aक👩💻🏴\ufe0f\U000e0067\U000e0062\U000e007f\ud83d"))
def test_cleaning_twice_is_cleaning_once_for_joiners_too(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text())
def test_one_line_has_no_line_ends_and_no_double_spaces(text: str) -> None:
    line = one_line(text)
    assert line == " ".join(line.split())
    assert "\n" not in line
