"""What is read elsewhere is made safe once: writing it changes nothing more."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.capture.imports.elsewhere import key

from nacre.capture.importing_files import safe_bytes, with_number
from nacre.vault.writing import guard_added

pieces = st.sampled_from(
    (
        b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xff", "\u200b\u202e".encode(), "密码".encode(), b"password: ", b"hunter2Xk9$",
        key().encode(), b"```", b"# A", b"- plain words", b"\0", b"-----BEGIN PRIVATE KEY-----",
    )
)  # fmt: skip


@given(st.lists(pieces, max_size=12).map(b"".join) | st.binary(max_size=60))
@example(b"password:\n\n\nhunter2Xk9$\n")
def test_what_is_safe_is_written_as_it_is_and_stays_safe(data: bytes) -> None:
    once = safe_bytes(data)
    assert guard_added(b"", once) == once
    assert key().encode() not in once


@pytest.mark.parametrize(
    "data", [b"# A\r\n\r\n- plain\r\n", b"\xef\xbb\xbf# A\n", b"caf\xe9\n", "下周二评审\n".encode(), b"no end of line"]
)
def test_text_without_secrets_keeps_its_bytes(data: bytes) -> None:
    assert safe_bytes(data) == data


def test_numbers_stand_before_the_ending() -> None:
    assert [with_number("x.md", n) for n in (1, 2)] == ["x.md", "x-2.md"]
    assert with_number("a/x.gist.md", 3) == "a/x-3.gist.md"
