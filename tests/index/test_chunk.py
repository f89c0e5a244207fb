"""Chunks: nothing is lost, nothing crosses a heading, every line number is exact."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.index.document import PASSAGE_TOKENS, Chunk, chunks, passages
from nacre.text.blocks import FRONT, HEADING, blocks
from nacre.text.tokens import tokens_estimate

RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$|\s*")
WORDS = st.text(alphabet="abc de.。！?\t你好世界#-", min_size=1, max_size=60)
LONG = st.builds(lambda word, times: word * times, WORDS, st.integers(1, 40))
LINE = st.one_of(
    WORDS,
    LONG,
    st.sampled_from(["", "", "# One", "## Two", "### Three", "---", "- milk", "- buy eggs and bread for the week today",
                     "```", "    code", "> quote", "===", "1. first", "  - nested item", "  text"]),
)  # fmt: skip
LINES = st.lists(LINE, max_size=20)


def covered(found: list[Chunk]) -> set[int]:
    return {number for chunk in found for number in range(chunk.start, chunk.end + 1)}


def headings(lines: list[str]) -> list[tuple[int, int]]:
    return [(block.start, block.end) for block in blocks(lines) if block.kind == HEADING]


def without_space(text: str) -> str:
    return "".join(text.split())


def test_entries_below_a_code_fence_that_is_never_closed_are_chunks_of_their_section() -> None:
    lines = [
        "## 10:00 note",
        "```sh",
        "left open",
        "## 14:05 session:61871d67 | 3 messages",
        "- one thing",
        "- another thing",
    ]
    found = [(chunk.start, chunk.text, chunk.headings[-1]) for chunk in chunks(lines, every_item=True)]
    assert found == [
        (2, "```sh\nleft open", "10:00 note"),
        (5, "- one thing", "14:05 session:61871d67 | 3 messages"),
        (6, "- another thing", "14:05 session:61871d67 | 3 messages"),
    ]


@settings(max_examples=100, deadline=None)
@given(LINES, st.integers(16, 120), st.integers(0, 60), st.booleans())
def test_every_line_that_says_something_is_in_some_chunk(
    lines: list[str], size: int, overlap: int, every: bool
) -> None:
    elsewhere = {
        number
        for block in blocks(lines)
        if block.kind in (HEADING, FRONT)
        for number in range(block.start, block.end + 1)
    }
    wanted = {at for at, line in enumerate(lines, 1) if at not in elsewhere and not RULE.fullmatch(line)}
    assert wanted <= covered(chunks(lines, size=size, overlap=overlap, every_item=every))


@settings(max_examples=100, deadline=None)
@given(LINES, st.integers(16, 120), st.integers(0, 60), st.booleans())
def test_a_chunk_is_exactly_the_text_of_its_lines_or_a_part_of_it(
    lines: list[str], size: int, overlap: int, every: bool
) -> None:
    for chunk in chunks(lines, size=size, overlap=overlap, every_item=every):
        whole = "\n".join(lines[chunk.start - 1 : chunk.end])
        cut = any(tokens_estimate(line) > size for line in lines[chunk.start - 1 : chunk.end])
        title = any(start == chunk.start for start, _ in headings(lines))
        if cut or title:
            assert without_space(chunk.text) in without_space(whole)
        else:
            assert chunk.text == whole


@settings(max_examples=100, deadline=None)
@given(LINES, st.integers(16, 120), st.integers(0, 60), st.booleans())
def test_no_chunk_crosses_a_heading_or_is_larger_than_asked(
    lines: list[str], size: int, overlap: int, every: bool
) -> None:
    marks = headings(lines)
    for chunk in chunks(lines, size=size, overlap=overlap, every_item=every):
        between = chunk.text.count("\n") // 4 + 1  # line ends are not counted
        assert tokens_estimate(chunk.text) <= max(size, 60) + between
        for start, end in marks:
            assert chunk.end < start or chunk.start > end or (chunk.start, chunk.end) == (start, end)


@settings(max_examples=100, deadline=None)
@given(st.one_of(LONG, st.text(max_size=400), st.lists(LONG, max_size=8).map("\n".join)), st.integers(16, 200))
def test_passages_hold_the_whole_text_and_are_bounded(text: str, limit: int) -> None:
    parts = passages(text, limit)
    assert without_space("".join(parts)) == without_space(text)
    assert all(tokens_estimate(part) <= limit for part in parts)
    assert all(part.strip() for part in parts) or parts == [text]


def test_a_text_that_fits_is_one_passage_unchanged() -> None:
    assert passages("  short. text  ") == ["  short. text  "]


def test_passages_are_cut_between_sentences_in_both_languages() -> None:
    english = "The migration to version two took a week. " * 30
    assert all(part.endswith("week.") for part in passages(english))
    chinese = "迁移到第二版用了一周！我们很满意？当然；" * 30
    assert all(part[-1] in "！？；" for part in passages(chinese))
    assert "".join(passages(chinese)) == chinese


def test_a_passage_is_short_enough_for_every_sentence_to_count() -> None:
    assert all(tokens_estimate(part) <= PASSAGE_TOKENS for part in passages("word " * 5000))


def test_headings_make_a_path_and_siblings_replace_each_other() -> None:
    found = chunks("# A\n\none\n\n## B\n\ntwo\n\n### C\n\nthree\n\n## D\n\nfour".split("\n"))
    assert [(chunk.text, chunk.headings) for chunk in found] == [
        ("one", ("A",)),
        ("two", ("A", "B")),
        ("three", ("A", "B", "C")),
        ("four", ("A", "D")),
    ]


def test_a_heading_with_nothing_below_it_is_still_found() -> None:
    found = chunks(["# A", "## Call Bob back", "## B", "text", "## Last"])
    assert [(chunk.start, chunk.text, chunk.headings) for chunk in found] == [
        (2, "Call Bob back", ("A",)),
        (4, "text", ("A", "B")),
        (5, "Last", ("A",)),
    ]


def test_a_very_long_heading_is_found_whole_and_weighs_on_no_chunk() -> None:
    title = "word " * 2000 + "needle"
    found = chunks([f"# {title}", "text"], size=100)
    assert any("needle" in chunk.text for chunk in found)
    assert all(len("".join(chunk.headings)) <= 200 for chunk in found)
    assert all(tokens_estimate(chunk.text) <= 100 for chunk in found)


def test_list_items_in_a_log_are_one_entry_each() -> None:
    found = chunks(["- milk", "- bread", "  and butter", "", "- eggs"], every_item=True)
    assert [(chunk.start, chunk.end, chunk.text) for chunk in found] == [
        (1, 1, "- milk"),
        (2, 3, "- bread\n  and butter"),
        (5, 5, "- eggs"),
    ]


def test_short_items_of_a_note_are_found_with_their_neighbours() -> None:
    (shopping,) = chunks(["- milk", "- bread", "- eggs"])
    assert (shopping.start, shopping.end, shopping.text) == (1, 3, "- milk\n- bread\n- eggs")


def test_neighbouring_chunks_of_a_long_section_overlap() -> None:
    lines = [f"Line {number} says a little about the matter at hand, in some words." for number in range(100)]
    found = chunks(lines, size=100, overlap=30)
    for before, after in pairwise(found):
        shared = range(after.start, before.end + 1)
        assert len(shared) >= 1
        assert tokens_estimate("\n".join(lines[after.start - 1 : before.end])) <= 30
    assert found[0].start == 1
    assert found[-1].end == 100


def test_without_overlap_no_line_is_in_two_chunks() -> None:
    lines = [f"Line {number} says a little about the matter at hand, in some words." for number in range(100)]
    found = chunks(lines, size=100, overlap=0)
    assert [number for chunk in found for number in range(chunk.start, chunk.end + 1)] == list(range(1, 101))


def test_frontmatter_is_in_no_chunk_and_text_between_two_rules_is() -> None:
    assert [chunk.start for chunk in chunks(["---", "tags: [a]", "---", "text"])] == [4]
    assert covered(chunks(["---", "Just a thought.", "", "---", "text"])) >= {2, 5}


def test_a_rule_between_two_paragraphs_stays_where_it_was() -> None:
    (both,) = chunks(["one", "", "---", "", "two"])
    assert both.text == "one\n\n---\n\ntwo"


@pytest.mark.parametrize("size", [-5, 0, 1, 3])
def test_a_senseless_size_still_ends(size: int) -> None:
    found = chunks(["word " * 200, "没有空格的长句子" * 50], size=size, overlap=80)
    assert covered(found) == {1, 2}


def test_a_megabyte_on_one_line_is_cut_into_bounded_chunks() -> None:
    found = chunks(["x" * 1_000_000])
    assert all(tokens_estimate(chunk.text) <= 400 for chunk in found)
    assert sum(len(chunk.text) for chunk in chunks(["x" * 1_000_000], overlap=0)) == 1_000_000
