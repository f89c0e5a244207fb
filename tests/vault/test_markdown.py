from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.errors import BadInput
from nacre.vault.entries import (
    Document,
    Section,
    add_bullet,
    add_section,
    document,
    insert_lines,
    replace_lines,
    set_field,
    words_of,
)

PIECES = st.sampled_from(
    ["# A", "## B", "- x", "  - y", "* z", "1. one", "```", "~~~py", "<!-- c", "-->", "---", "", "  ", "text", "\ufeff",
     "- **Name:** v", "\x0c# no", "a\u2028b", "tab\t", "===", "> quote", "- x <!-- importance: 8 -->", "\r"]
)  # fmt: skip
FILES = st.lists(st.tuples(PIECES, st.sampled_from(["\n", "\r\n"])), max_size=14).flatmap(
    lambda lines: st.booleans().map(
        lambda cut: (
            "".join(line + end for line, end in lines).removesuffix("\n")
            if cut
            else "".join(line + end for line, end in lines)
        ).encode()
    )
)


def doc_of(text: str | bytes) -> Document:
    return document(Path("x.md"), text if isinstance(text, bytes) else text.encode())


def section_of(doc: Document, title: str) -> Section:
    return next(section for section in doc.sections if section.title == title)


@given(st.one_of(FILES, st.text().map(str.encode)))
def test_joining_the_lines_gives_the_same_bytes(data: bytes) -> None:
    doc = doc_of(data)
    assert "".join(doc.lines).encode() == data
    assert len(doc.bare) == len(doc.lines)
    covered = [number for section in doc.sections for number in range(section.start, section.end + 1)]
    assert covered == list(range(1, len(doc.lines) + 1))


@given(FILES, st.data())
def test_replacing_lines_leaves_the_others_alone(data: bytes, draw: st.DataObject) -> None:
    doc = doc_of(data)
    if not doc.lines:
        return
    start = draw.draw(st.integers(1, len(doc.lines)))
    end = draw.draw(st.integers(start, len(doc.lines)))
    new = replace_lines(doc, start, end, ["ONE", "TWO"])
    head, tail = "".join(doc.lines[: start - 1]).encode(), "".join(doc.lines[end:]).encode()
    assert new.startswith(head)
    assert new.endswith(tail)
    middle = new[len(head) : len(new) - len(tail)].decode()
    assert middle.removeprefix("\ufeff").rstrip("\r\n").split(doc.newline) == ["ONE", "TWO"]
    mark = "\ufeff".encode() if start == 1 and data.startswith("\ufeff".encode()) else b""
    assert replace_lines(doc, start, end, ()) == mark + head + tail


@given(FILES, st.data())
def test_inserting_only_inserts(data: bytes, draw: st.DataObject) -> None:
    doc = doc_of(data)
    after = draw.draw(st.integers(0, len(doc.lines)))
    new = insert_lines(doc, after, ["ONE"])
    place = new.index(b"ONE")
    added = len(new) - len(data)
    starts = [start for start in range(max(0, place - 2), place + 1) if new[:start] + new[start + added :] == data]
    assert starts


@given(FILES, st.data())
def test_a_bullet_lands_in_its_section_and_nothing_else_changes(data: bytes, draw: st.DataObject) -> None:
    doc = doc_of(data)
    if not doc.sections:
        return
    section = draw.draw(st.sampled_from(doc.sections))
    try:
        new = add_bullet(doc, section, "NEW entry")
    except BadInput:
        return
    now = doc_of(new)
    (item,) = [item for item in now.items if item.words == "NEW entry"]
    added = len(new) - len(data)
    assert any(new[:start] + new[start + added :] == data for start in range(len(data) + 1))
    holder = next(one for one in now.sections if one.start <= item.start <= one.end)
    assert holder.title == section.title


def test_headings_in_fences_comments_and_frontmatter_are_none() -> None:
    doc = doc_of("---\n# no\n---\n# A\n```\n# no\n```\n<!--\n# no\n-->\n## B\n")
    assert [section.title for section in doc.sections] == ["", "A", "B"]
    assert doc.frontmatter == "# no"


def test_form_feeds_and_exotic_separators_end_no_line() -> None:
    assert len(doc_of("a\x0cb\u2028c\x85d\n").lines) == 1


def test_items_know_their_lines_nested_ones_and_words() -> None:
    doc = doc_of("## A\n- one <!-- importance: 8 -->\n  more\n  - child\n    deep\n  - second\n\n- two\n")
    one, two = doc.items
    assert (one.start, one.end, two.start, two.end) == (2, 6, 8, 8)
    assert one.words == "one more - child deep - second"
    assert [(child.start, child.end, child.words) for child in doc.nested(one)] == [
        (4, 5, "child deep"),
        (6, 6, "second"),
    ]


def test_a_bullet_takes_the_marker_of_its_neighbours() -> None:
    doc = doc_of("## A\r\n* one\r\n\r\n## B\r\n")
    assert add_bullet(doc, section_of(doc, "A"), "two") == b"## A\r\n* one\r\n* two\r\n\r\n## B\r\n"
    assert add_bullet(doc, section_of(doc, "B"), "two") == b"## A\r\n* one\r\n\r\n## B\r\n* two\r\n"
    doc = doc_of("## A\n1. one\n2. two")
    assert add_bullet(doc, section_of(doc, "A"), "three") == b"## A\n1. one\n2. two\n3. three"


def test_a_bullet_is_never_put_into_an_open_fence() -> None:
    doc = doc_of("## A\n- one\n\n```\ncode\n")
    assert add_bullet(doc, section_of(doc, "A"), "two") == b"## A\n- two\n- one\n\n```\ncode\n"


def test_a_new_section_stands_below_a_blank_line() -> None:
    assert add_section(doc_of("## A\n- x"), "B", ["y"]) == b"## A\n- x\n\n## B\n- y"
    assert add_section(doc_of(""), "B", ["y"]) == b"## B\n- y\n"


def test_a_new_section_stands_above_a_fence_that_is_never_closed() -> None:
    assert add_section(doc_of("## A\n- x\n```\ncode\n"), "B", ["y"]) == b"## A\n- x\n\n## B\n- y\n\n```\ncode\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- **Name:** old\n- **Other:** x\n", "- **Name:** Ann\n- **Other:** x\n"),
        ("- **Name:**\n  _(pick something)_\n- x\n", "- **Name:** Ann\n- x\n"),
        ("* **name**: old\r\n", "* **name**: Ann\r\n"),
        ("```\n- **Name:** no\n```\nName: old", "```\n- **Name:** no\n```\nName: Ann"),
    ],
)
def test_a_field_is_edited_where_it_stands(before: str, after: str) -> None:
    assert set_field(doc_of(before), "Name", "Ann") == after.encode()


def test_a_chinese_field_with_its_own_colon_is_edited() -> None:
    assert set_field(doc_of("- **名字:** 旧\n"), "名字", "小明") == "- **名字:** 小明\n".encode()
    assert set_field(doc_of("- **名字:** 旧\n"), "时区", "x") is None


def test_bytes_that_are_no_utf8_are_not_edited() -> None:
    with pytest.raises(BadInput, match="Line 2"):
        replace_lines(doc_of(b"a\n\xff\n"), 1, 1, ["b"])


def test_a_line_holds_no_line_break() -> None:
    with pytest.raises(BadInput):
        replace_lines(doc_of("a\n"), 1, 1, ["b\nc"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a <!-- b --> c", "a c"),
        ("a<!-- b -->c <!--d-->", "a c"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("a --> b <!-- c", "a --> b <!-- c"),
        ("a <!-- over\ntwo lines --> b", "a <!-- over two lines --> b"),
        ("<!-- a <!-- b --> c -->", "c -->"),
        ("<!--> a -->", ""),
    ],
)
def test_comments_are_no_words(text: str, words: str) -> None:
    assert words_of(text) == words


def test_openings_without_end_are_gone_over_once() -> None:
    many = "<!-- " * 200_000
    assert words_of("--> " + many) == ("--> " + many).strip()
