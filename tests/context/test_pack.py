"""A pack never exceeds its budget, never cuts a line, and says what it left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nacre.context.pack import Packed, Piece, PieceLine, pack, tokens, weight, without_empty_sections
from nacre.text.blocks import HEADING, blocks
from nacre.text.tokens import tokens_estimate

LEAD = "> memory\n"
line_text = st.one_of(
    st.sampled_from(
        ["", "# Title", "## Part", "### Deeper", "```", "~~~~", "- milk", "> rule", "---", "===", "    code"]
    ),
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=60),
    st.text("预算会议上线", min_size=1, max_size=40),
)


def piece(path: str, *texts: str) -> Piece:
    return Piece(path, path, tuple(PieceLine(number, text) for number, text in enumerate(texts, 1)))


files = st.lists(st.lists(line_text, max_size=25), max_size=5).map(
    lambda lists: [piece(f"{at}.md", *texts) for at, texts in enumerate(lists)]
)


def body_of(packed: Packed, path: str) -> list[str]:
    """The lines below the heading of one source."""
    lines = packed.text.split("\n")
    first = lines.index(f"# {path}") + 2
    return lines[first:]


@given(files, st.integers(1, 400))
def test_a_pack_is_within_its_budget_made_of_whole_lines_and_always_the_same(pieces: list[Piece], budget: int) -> None:
    packed = pack(pieces, budget, lead=LEAD)
    assert tokens_estimate(packed.text) <= budget
    assert packed == pack(pieces, budget, lead=LEAD)
    whole = (
        {line.text for one in pieces for line in one.lines} | {f"# {one.path}" for one in pieces} | {"", LEAD.strip()}
    )
    fences = ("```", "~~~")
    assert [line for line in packed.text.split("\n") if line not in whole and not line.startswith(fences)] == []


@given(files, st.integers(1, 400))
def test_every_line_that_says_something_is_given_or_told_to_be_left_out(pieces: list[Piece], budget: int) -> None:
    packed = pack(pieces, budget, lead=LEAD)
    for one in pieces:
        told = [(left.first, left.last) for left in packed.left if left.path == one.path]
        for line in one.lines:
            says = line.text.strip() and not line.text.lstrip().startswith(("#", ">"))
            if says and (one.path, line.number) not in packed.known:
                assert any(first <= line.number <= last for first, last in told)


@given(files)
def test_with_room_enough_everything_is_given_and_no_source_swallows_the_next(pieces: list[Piece]) -> None:
    packed = pack(pieces, 100_000, lead=LEAD)
    assert packed.left == ()
    headings = {block.text for block in blocks(packed.text.split("\n")) if block.kind == HEADING}
    assert {given.path for given in packed.parts} <= headings


@given(st.lists(line_text, max_size=30))
def test_only_headings_and_blank_lines_are_dropped_as_empty(texts: list[str]) -> None:
    lines = piece("a.md", *texts).lines
    kept = set(without_empty_sections(lines))
    heads = {number for block in blocks(texts) if block.kind == HEADING for number in range(block.start, block.end + 1)}
    assert all(not line.text.strip() or line.number in heads for line in lines if line not in kept)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text("ab预算 "))
def test_weights_add_up_to_the_estimate_of_tokens(one: str, other: str) -> None:
    assert tokens(weight(one) + weight(other)) == tokens_estimate(one + other)


def test_the_most_important_comes_first_and_an_overgrown_file_leaves_room_for_the_rest() -> None:
    huge = piece("MEMORY.md", *(f"- entry number {at}" for at in range(1000)))
    packed = pack([huge, piece("today.md", "- rain at noon"), piece("yesterday.md", "- sun")], 200, lead=LEAD)
    assert [part.path for part in packed.parts] == ["MEMORY.md", "today.md", "yesterday.md"]
    assert body_of(packed, "MEMORY.md")[0] == "- entry number 0"
    (left,) = packed.left
    assert (left.path, left.last, left.reason) == ("MEMORY.md", 1000, "over the 200-token budget")
    assert tokens_estimate(packed.text) > 190  # and what the others do not need, it gets


def test_a_cut_leaves_no_heading_without_its_lines() -> None:
    one = piece("a.md", "## First", "- a short line", "", "## Second", "- " + "long " * 100)
    packed = pack([one], 40, lead=LEAD)
    assert body_of(packed, "a.md") == ["## First", "- a short line", ""]


def test_a_code_fence_that_the_cut_leaves_open_is_closed() -> None:
    one = piece("a.md", "~~~~ text", *(f"code {at}" for at in range(100)), "~~~~")
    packed = pack([one, piece("b.md", "- next")], 60, lead=LEAD)
    assert body_of(packed, "a.md")[:2] == ["~~~~ text", "code 0"]
    assert "~~~~" in body_of(packed, "a.md")
    assert [block.text for block in blocks(packed.text.split("\n")) if block.kind == HEADING] == ["a.md", "b.md"]


def test_a_line_is_given_once() -> None:
    hit = Piece("day.md", "day.md#L2-L2", (PieceLine(2, "- rain at noon"),))
    packed = pack([hit, piece("day.md", "## 09:00 note", "- rain at noon", "## 10:00 note", "- sun")], 500, lead=LEAD)
    assert packed.text.count("rain") == 1
    assert "09:00" not in packed.text  # nothing is left to stand below it


def test_nothing_to_say_is_an_empty_pack() -> None:
    assert pack([piece("a.md", "# Title", "", "> a rule")], 500, lead=LEAD).text == ""
    assert pack([piece("a.md", "- one line that does not fit at all")], 5, lead=LEAD).text == ""
