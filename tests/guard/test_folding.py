from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.guard.sanitise import fold
from nacre.guard.secrets import redact

ODD = st.text("ab:1 \nａＺ９：＝　\u200b\u00ad\ufeff\u2060аеоρ𝐩①ﬁe\u0301ñ密码👩\u200d💻")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ｐａｓｓ：ｗ１", "pass:w1"),
        ("pass\u200bword", "password"),
        ("pаsswоrd", "password"),
        ("пароль от сервера", "пароль от сервера"),
        ("𝐩𝐚𝐬𝐬", "pass"),
        ("contrasen\u0303a", "contraseña"),
        ("密码，。（）", "密码，。（）"),
        ("a\u00a0b\u3000c", "a b c"),
    ],
)
def test_a_text_is_searched_as_the_eye_reads_it(text: str, plain: str) -> None:
    assert fold(text).text == plain


@given(ODD)
def test_every_stretch_of_the_plain_text_is_found_again_in_the_original(text: str) -> None:
    folded = fold(text)
    for start in range(len(folded.text)):
        begin, end = folded.original(start, start + 1)
        assert 0 <= begin < end <= len(text)
        assert (
            fold(text[begin:end]).text in {folded.text[start], text[begin:end]}
            or len(text[begin:end]) > 1
            or (folded.text[start] in unicodedata.normalize("NFKC", text[begin:end]))
        )


@given(ODD, ODD)
def test_what_surrounds_a_hidden_secret_stays(before: str, after: str) -> None:
    # Beside a password a word or number on a line of its own may be one too.
    before, after = ("".join(char for char in text if not char.isalnum()) for text in (before, after))
    text = f"{before}\nｐａｓｓ\u200bｗｏｒｄ: Opal77\u200briver\n{after}"
    redaction = redact(text)
    assert "Opal77" not in redaction.text
    assert redaction.text.startswith(before)
    assert redaction.text.endswith(after)
