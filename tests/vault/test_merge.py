from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nacre.vault.merge import merge, merge_records, split_lines

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


def test_a_line_comes_back_where_its_neighbours_are_gone_and_nothing_else_stands() -> None:
    assert merge(b"h\nB\nC\n", b"h\nC\n", b"h\nA\nB\nC\n") == b"h\nA\nC\n"
    assert merge(b"h\nA\nC\n", b"h\nC\n", b"h\nA\nB\nC\n") == b"h\nB\nC\n"
    assert merge(b"h\nA\nC\n", b"h\nuser\nC\n", b"h\nA\nB\nC\n") is None
    assert merge(b"h\nA\nC\n", b"h\nuser\nC\n", b"h\nA\nB\nC\n", log=True) == b"h\nB\nuser\nC\n"


def test_an_entry_never_comes_back_under_another_heading() -> None:
    base, gone = b"## 9:00 group:x\n- A\n## 10:00 note\n", b"## 9:00 group:x\n- A\n"
    assert merge(base, gone, base + b"- mine\n", log=True) is None
    assert merge(base, gone, base + b"## 11:00 note\n- mine\n", log=True) == gone + b"## 11:00 note\n- mine\n"


def test_records_merge_whatever_happened_to_their_neighbours() -> None:
    assert merge_records(b"a\nn4\nn5\n", b"a\nc\nn5\nnew\n", b"a\nb\nn4\n") == b"a\nb\nc\nnew\n"
    assert merge_records(b"", b"new", b"a\n") == b"a\nnew\n"


@given(LINES, LINES)
def test_merging_with_an_untouched_side_gives_the_other(base: bytes, other: bytes) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other


@given(LINES, LINES, LINES)
def test_a_merge_never_invents_lines(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged = merge(base, ours, theirs)
    if merged is not None:
        assert set(split_lines(merged)) <= set(split_lines(ours)) | set(split_lines(theirs))


@given(st.binary())
def test_lines_join_to_the_same_bytes(data: bytes) -> None:
    assert b"".join(split_lines(data)) == data


def test_a_section_that_comes_back_keeps_the_blank_lines_around_it() -> None:
    base, beta, gamma = b"- Alpha\n", b"\n## note | project:b\n- Beta\n", b"\n## note | project:c\n- Gamma\n"
    merged = merge(base, base + gamma, base + beta, log=True, earlier=[base + beta, base])
    assert merged == base + beta + gamma
