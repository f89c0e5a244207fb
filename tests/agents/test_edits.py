"""Edits of settings files: only what is meant changes, and taking back gives every byte back."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.agents.edits import JSON, TOML, Add, CannotEdit, Edit, Put, apply_edits, are_in_place, take_back_edits
from nacre.text import json5
from nacre.text.json5 import NotJson

SERVER = {"type": "stdio", "command": "/opt/nacre/bin/nacre", "args": ["mcp"]}
GROUP = {
    "matcher": "startup",
    "hooks": [
        {"type": "command", "command": "/opt/nacre/bin/nacre hook SessionStart --agent claude-code", "timeout": 10}
    ],
}
MARK = ("nacre", "hook SessionStart")
EDITS: tuple[Edit, ...] = (
    Put(("mcpServers", "nacre"), SERVER),
    Add(("hooks", "SessionStart"), GROUP, MARK),
    Add(("hooks", "Stop"), GROUP, MARK),
)
TABLE: tuple[Edit, ...] = (Put(("mcp_servers", "nacre"), {"command": "/opt/nacre/bin/nacre", "args": ["mcp"]}),)

names = st.sampled_from(
    ["mcpServers", "hooks", "SessionStart", "nacre", "a", "b.c", 'q"uote', "中文", "$x", "e\\s", ""]
)
flags = st.booleans()
spaces = st.sampled_from(
    ["", " ", "\n", "\t", "\n  ", "\r\n\t", " // note\n", " /* note */ ", "\n/* a\n b */\n", "  \n"]
)


@st.composite
def plain(draw: st.DrawFn) -> str:
    return draw(
        st.sampled_from(["1", "-2.5e3", "true", "null", '"text"', "'single'", '"中\\u0041"', ".5", "0x1F", "+Infinity"])
    )


@st.composite
def objects(draw: st.DrawFn, depth: int = 3) -> str:
    """An object as people and programs lay it out, and as neither would."""
    parts: list[str] = []
    keys = draw(st.lists(names, max_size=4))
    for key in keys:
        shown = key if key in ("a", "hooks", "nacre") and draw(flags) else json.dumps(key, ensure_ascii=False)
        if key in ("mcpServers", "hooks"):
            value = draw(objects(depth - 1)) if depth else "{}"
        elif key in ("SessionStart", "Stop"):
            value = draw(arrays(depth - 1)) if depth else "[]"
        else:
            value = draw(plain() if not depth else st.one_of(plain(), objects(depth - 1), arrays(depth - 1)))
        parts.append(f"{draw(spaces)}{shown}{draw(spaces)}:{draw(spaces)}{value}{draw(spaces)}")
    trailing = "," + draw(spaces) if draw(flags) and parts else ""
    return "{" + ",".join(parts) + trailing + (draw(spaces) if not parts else "") + "}"


@st.composite
def arrays(draw: st.DrawFn, depth: int) -> str:
    inner = st.one_of(plain(), objects(depth - 1)) if depth > 0 else plain()
    parts = [f"{draw(spaces)}{one}{draw(spaces)}" for one in draw(st.lists(inner, max_size=3))]
    trailing = "," + draw(spaces) if draw(flags) and parts else ""
    return "[" + ",".join(parts) + trailing + (draw(spaces) if not parts else "") + "]"


@st.composite
def files(draw: st.DrawFn) -> str:
    body = draw(st.one_of(objects(), st.just("")))
    return draw(st.sampled_from(["", "\ufeff"])) + draw(spaces) + body + draw(spaces)


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """An object as a program writes it."""
    value = draw(
        st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
            max_leaves=12,
        ).filter(lambda one: isinstance(one, dict))
    )
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    text = json.dumps(value, indent=indent, ensure_ascii=draw(flags))
    return (text + draw(st.sampled_from(["", "\n"]))).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def is_subsequence(part: str, whole: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in part)


@settings(deadline=None, max_examples=400)
@given(st.one_of(files(), laid_out()))
def test_taking_back_is_the_inverse_of_carrying_out_on_any_text(text: str) -> None:
    try:
        after, done = apply_edits(text, JSON, EDITS)
    except CannotEdit:
        return
    assert are_in_place(after, JSON, EDITS)
    if not any(one.previous for one in done):
        assert is_subsequence(text, after)  # it only added
    back, left = take_back_edits(after, JSON, done)
    assert left == []
    if json5.parse(text) is None:  # that nothing was there, the record of the file knows
        assert back.replace("{}", "").split() == text.split()
    else:
        assert back == text


@settings(deadline=None, max_examples=200)
@given(st.one_of(files(), laid_out()))
def test_what_was_there_means_the_same_afterwards(text: str) -> None:
    try:
        after, _ = apply_edits(text, JSON, (Put(("nacre-only-here", "x"), SERVER), Add(("new", "list"), 1)))
    except CannotEdit:
        return
    told = json5.loads(after)
    before = json5.loads(text) if json5.parse(text) else {}
    assert told.pop("nacre-only-here") == {"x": SERVER}
    assert told.pop("new") == {"list": [1]}
    assert told == before


@settings(deadline=None, max_examples=200)
@given(laid_out())
def test_a_program_that_rewrites_the_file_does_not_keep_us_from_taking_it_back(text: str) -> None:
    try:
        after, done = apply_edits(text, JSON, EDITS)
    except CannotEdit:
        return
    if any(one.previous for one in done):
        return
    told = {"first": 1, **json.loads(after), "last": [2]}
    back, left = take_back_edits(json.dumps(told, indent=2), JSON, done)
    assert left == []
    assert json.loads(back) == {"first": 1, **json.loads(text), "last": [2]}


tables = st.sampled_from(
    [
        'model = "x"', "# a comment", "", "[mcp_servers.other]", "[mcp_servers.other.env]", '"a.b" = 1', "[table]", "[[list]]",
        '["quoted.key"."中文"]', "'lit' = 'C:\\\\x' # why", "multi = [\n  1,\n  2, # two\n]", 'text = """\n[mcp_servers.nacre]\n"""',
        "day = 2026-11-16", "n = nan", "[features]", "hooks = true", "inline = { a = 1, b = { c = 2 } }",
        'mcp_servers = { old = { command = "x" } }', "mcp_servers.dotted.command = 'y'", "[mcp_servers]",
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.lists(tables, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["", "\ufeff"]))
def test_a_table_goes_into_any_toml_and_out_again(lines: list[str], newline: str, ends: bool, mark: str) -> None:
    text = mark + ("\n".join(lines) + ("\n" if ends else "")).replace("\n", newline)
    try:
        before = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return
    try:
        after, done = apply_edits(text, TOML, TABLE)
    except ValueError:  # an inline table in a file that tomlkit would put in another order
        assert "mcp_servers = {" in text
        return
    assert are_in_place(after, TOML, TABLE)
    told = tomllib.loads(after.removeprefix("\ufeff"))
    assert told["mcp_servers"].pop("nacre")["args"] == ["mcp"]
    assert "nan" in text or told in (before, {"mcp_servers": {}, **before})
    assert is_subsequence(text, after)
    back, left = take_back_edits(after, TOML, done)
    assert (back, left) == (text, [])
    later = f"[later]{newline}z = 1{newline}"
    grown = after + f"{newline}[mcp_servers.nacre.tools.x]{newline}ok = true{newline}{newline}"
    try:
        tomllib.loads((grown + later).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:  # behind an inline table nothing can be added
        return
    cut, left = take_back_edits(grown + later, TOML, done)
    if left:  # a comment would be lost
        assert (cut, left) == (grown + later, ["mcp_servers.nacre"])
        return
    assert "nacre" not in tomllib.loads(cut.removeprefix("\ufeff")).get("mcp_servers", {})
    assert cut.endswith(later)


def test_tables_below_ours_go_with_it_unless_a_comment_would_be_lost() -> None:
    text = 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"\n'
    after, done = apply_edits(text, TOML, TABLE)
    grown, later = f"{after}\n[mcp_servers.nacre.tools.x]\nok = true\n\n", "[later]\nz = 1\n"
    assert take_back_edits(grown + later, TOML, done) == (f"{text}\n{later}", [])
    commented = f"{grown}# about the next one\n{later}"
    assert take_back_edits(commented, TOML, done) == (commented, ["mcp_servers.nacre"])


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [('{\n  "a": 1\n  "b": 2\n}', 3, 3), ('{"a": "x\n}', 1, 7), ("{", 1, 2), ("{} {}", 1, 4), ("{a: /* x", 1, 5), ("[1 2]", 1, 4),
     ('{"a": yes}', 1, 7), ("{1a: 1}", 1, 2), ("{,}", 1, 2)],
)  # fmt: skip
def test_what_cannot_be_read_is_told_by_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(NotJson) as trouble:
        json5.parse(text)
    assert (trouble.value.line, trouble.value.column) == (line, column)


def shown(text: str, *edits: Edit) -> str:
    return apply_edits(text, JSON, edits)[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ("", '{\n  "a": 1\n}\n'),
        ('{\n    "b": 2\n}\n', '{\n    "b": 2,\n    "a": 1\n}\n'),
        ('{\n\t"b": 2, // two\n}\n', '{\n\t"b": 2, // two\n\t"a": 1,\n}\n'),
        ('{\n  "b": 2 // two\n}\n', '{\n  "b": 2, // two\n  "a": 1\n}\n'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ("{ // nothing yet\n}", '{ // nothing yet\n  "a": 1\n}'),
        ('{\r\n  "b": 2\r\n}\r\n', '{\r\n  "b": 2,\r\n  "a": 1\r\n}\r\n'),
    ],
)
def test_a_member_is_laid_out_as_its_neighbours_are(before: str, after: str) -> None:
    assert shown(before, Put(("a",), 1)) == after


def test_an_entry_of_another_version_is_replaced_in_its_place_and_comes_back() -> None:
    old = '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "nacre hook SessionStart"}]},\n      {"hooks": []}\n    ]\n  }\n}\n'
    edits = (Add(("hooks", "Stop"), GROUP, MARK),)
    after, done = apply_edits(old, JSON, edits)
    told: Any = json.loads(after)
    assert told["hooks"]["Stop"] == [GROUP, {"hooks": []}]
    assert take_back_edits(after, JSON, done) == (old, [])


def test_a_group_that_also_holds_a_hook_of_the_users_is_not_ours() -> None:
    mixed = {"hooks": [{"command": "nacre hook SessionStart"}, {"command": "mine.sh"}]}
    text = json.dumps({"hooks": {"Stop": [mixed]}}, indent=2)
    told = json.loads(shown(text, Add(("hooks", "Stop"), GROUP, MARK)))
    assert told["hooks"]["Stop"] == [mixed, GROUP]


def test_what_somebody_edited_is_left_and_named() -> None:
    after, done = apply_edits("{}", JSON, EDITS)
    edited = after.replace('"mcp"', '"mcp", "--scope", "group:x"').replace('"timeout": 10', '"timeout": 99', 1)
    text, left = take_back_edits(edited, JSON, done)
    assert sorted(left) == ["hooks.SessionStart", "mcpServers.nacre"]
    assert json.loads(text) == {
        "mcpServers": json.loads(edited)["mcpServers"],
        "hooks": {"SessionStart": json.loads(edited)["hooks"]["SessionStart"]},
    }


def test_settings_that_were_added_to_our_entry_go_with_it() -> None:
    after, done = apply_edits("{}", JSON, EDITS[:1])
    grown = after.replace('"type"', '"env": {"X": "1"}, "type"')
    assert take_back_edits(grown, JSON, done) == ("{}", [])


def test_a_default_stays_while_somebody_needs_it() -> None:
    edits = (Put(("version",), 1, default=True), Add(("hooks", "stop"), {"command": "nacre hook stop"}, ("nacre",)))
    after, done = apply_edits("", JSON, edits)
    assert json.loads(take_back_edits(after, JSON, done)[0]) == {}
    theirs = after.replace('"hooks": {', '"hooks": {"x": [],')
    assert json.loads(take_back_edits(theirs, JSON, done)[0]) == {"version": 1, "hooks": {"x": []}}


def test_of_members_with_one_name_the_last_is_edited_as_programs_read_it() -> None:
    text = '{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}'
    after, done = apply_edits(text, JSON, EDITS[:1])
    assert json.loads(after)["mcpServers"] == {"b": 2, "nacre": SERVER}
    assert take_back_edits(after, JSON, done) == (text, [])


@pytest.mark.parametrize(
    "text", ['{"mcpServers": []}', '{"mcpServers": null}', "[]", '{"hooks": {"SessionStart": {}}}']
)
def test_what_is_of_another_kind_is_not_written_over(text: str) -> None:
    with pytest.raises(CannotEdit):
        apply_edits(text, JSON, EDITS)
