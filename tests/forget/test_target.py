"""Every line of a memory file is known by its words and its exact place, and taking some out leaves the rest."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nacre.forget.target import MemoryLine, lines_of, without_lines


def lines(text: str, layer: str = "note") -> list[MemoryLine]:
    return list(lines_of("memory/x.md", Path("x.md"), layer, text.encode()))


def told(text: str) -> list[tuple[int, int, str]]:
    return [(line.start, line.end, line.words) for line in lines(text) if line.words]


def test_items_quotes_boxes_labels_and_times_are_dress() -> None:
    text = (
        "- [PREF] one\n\n> two\n\n- [x] three\n\n1. four (src: 2026-02-10)\n\n- [14:05] five <!-- importance: 8 -->\n"
    )
    assert [words for _, _, words in told(text)] == ["one", "two", "three", "four", "five"]


def test_nested_items_are_lines_of_their_own_inside_the_outer_one() -> None:
    assert told("- outer\n  - inner\n    more of it\n- next\n") == [
        (1, 3, "outer"),
        (2, 3, "inner more of it"),
        (4, 4, "next"),
    ]


def test_each_label_of_a_digest_begins_a_line() -> None:
    text = "### 2026-02-10\n[Decision] one\nthat goes on (src: 2026-02-10)\n[决策] 二 (src: 2026-02-10)\n"
    assert told(text) == [(2, 3, "one that goes on"), (4, 4, "二")]


def test_a_paragraph_is_one_line_and_each_of_its_lines_is_one_too() -> None:
    assert told("one\ntwo\n") == [(1, 2, "one two"), (1, 1, "one"), (2, 2, "two")]


def test_code_is_lines_and_a_heading_is_one_unless_it_says_only_when_or_names_a_section_of_long_term_memory() -> None:
    code = [(4, 4, "# code")]  # without its fence: what stands between the marks would no longer be code
    text = "# Title\n\n```\n# code\n```\n"
    assert told(text) == [(1, 1, "Title"), *code]
    assert [line.title for line in lines(text)] == ["# ", None]
    assert [(line.start, line.end, line.title) for line in lines("Two\nlines\n=====\n")] == [(1, 2, "")]
    assert not lines("# 2026-03-03\n\n## 14:05 session:61871d67 | 3 messages | project:shop\n\n## 15:00 lunch\n")
    assert not lines("# Long-Term Memory\n\n## User Preferences\n", "longterm")


@given(
    st.text(st.sampled_from("ab #->*1.`[]x\n\r\t 中，。\ufeff"), max_size=120),
    st.sets(st.integers(0, 30), max_size=5),
)
def test_taking_lines_out_leaves_every_other_line_byte_for_byte(text: str, chosen: set[int]) -> None:
    data = text.encode()
    every = lines(text)
    gone = [every[number] for number in chosen if number < len(every)]
    numbers = {number for line in gone for number in range(line.start, line.end + 1)}
    rows = text.split("\n")
    rows = [row + "\n" for row in rows[:-1]] + ([rows[-1]] if rows[-1] else [])
    kept = "".join(row for number, row in enumerate(rows, 1) if number not in numbers)
    mark = "\ufeff" if text.startswith("\ufeff") and 1 in numbers else ""
    assert without_lines(data, gone).decode() == mark + kept
    assert all(1 <= line.start <= line.end <= max(len(rows), 1) for line in every)
