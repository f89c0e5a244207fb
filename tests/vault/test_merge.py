from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nacre.vault.merge import lines_of, merge

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\r\n"]), max_size=8).map(b"".join)


def test_changes_in_different_places_both_stand() -> None:
    assert merge(b"a\nX\nb\nc\n", b"a\nX\nb\nc\nuser\n", b"a\nb\nc\n") == b"a\nb\nc\nuser\n"
    assert merge(b"1\n2\n3\n4\n", b"1\n2\n3\nuser\n", b"one\n2\n3\n4\n") == b"one\n2\n3\nuser\n"


def test_a_line_that_was_removed_comes_back_before_what_was_added_there() -> None:
    assert merge(b"a\n", b"a\nuser\n", b"a\nX\n") == b"a\nX\nuser\n"


def test_changes_in_the_same_place_do_not_merge() -> None:
    assert merge(b"a\nX\nb\n", b"a\nX edited\nb\n", b"a\nb\n") is None
    assert merge(b"a\nb\n", b"a\nB\n", b"a\nX\nb\n") is None
    assert merge(b"a\nX\n", b"", b"a\n") is None


@given(LINES, LINES)
def test_merging_with_an_untouched_side_gives_the_other(base: bytes, other: bytes) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other


@given(LINES, LINES, LINES)
def test_a_merge_never_invents_lines(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged = merge(base, ours, theirs)
    if merged is not None:
        assert set(lines_of(merged)) <= set(lines_of(ours)) | set(lines_of(theirs))


@given(st.binary())
def test_lines_join_to_the_same_bytes(data: bytes) -> None:
    assert b"".join(lines_of(data)) == data
