"""Exports of chats: one conversation after the other, of either service, from a zip, a folder or a file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.steps import NOON, stamp, write

from nacre.sources import exports
from nacre.sources.exports import export_at

START = NOON.timestamp()


def node(
    name: str, parent: str | None, role: str, parts: list[object], at: float | None = 0, **more: Any
) -> dict[str, Any]:
    message = {
        "id": name,
        "author": {"role": role},
        "create_time": None if at is None else START + at,
        "content": {"content_type": "text", "parts": parts},
    }
    return {"id": name, "parent": parent, "children": [], "message": message | more}


def tree(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "conversation_id": "c1",
        "create_time": START,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": nodes[-1]["id"],
    } | more


def human(text: object, at: float = 0, **more: Any) -> dict[str, Any]:
    return {"uuid": f"h{at}", "sender": "human", "created_at": stamp(at), "text": text} | more


CHATGPT = tree(
    {"id": "root", "parent": None, "children": ["a"], "message": None},
    node("sys", "root", "system", ["be helpful"]),
    node("a", "sys", "user", ["use tabs"], 1),
    node("dropped", "a", "assistant", ["another answer"], 2),
    node("b", "a", "assistant", ["done"], 3),
)
CLAUDE = {
    "uuid": "k1",
    "created_at": stamp(0),
    "chat_messages": [human("use tabs"), human("ok", 1, sender="assistant")],
}


def talk(path: Path) -> list[list[tuple[str, str]]]:
    found = export_at(path)
    assert found is not None
    return [[(message.speaker.value, message.text) for message in session.messages] for session in found]


def test_the_branch_that_was_shown_last_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "conversations.json", json.dumps([CHATGPT]).encode())
    (session,) = export_at(path) or iter(())
    assert (session.id, session.agent) == ("c1", "chatgpt")
    assert [(message.id, message.text) for message in session.messages] == [("a", "use tabs"), ("b", "done")]


@pytest.mark.parametrize(
    "other",
    [
        node("x", "a", "tool", ["result"]),
        node("x", "a", "assistant", ["search(1)"], recipient="browser"),
        node("x", "a", "assistant", ["hm"], channel="analysis"),
        node("x", "a", "user", ["hidden"], metadata={"is_visually_hidden_from_conversation": True}),
        node("x", "a", "user", ["about me"], metadata={"is_user_system_message": True}),
        node("x", "a", "assistant", [], content={"content_type": "thoughts", "thoughts": []}),
        node("x", "a", "user", [], content={"content_type": "user_editable_context", "user_profile": "me"}),
        node("x", "a", "user", [{"content_type": "image_asset_pointer"}]),
        node("x", "a", "user", [], content=None, author=7, metadata=[]),
    ],
)
def test_what_nobody_said_is_left_out(tmp_path: Path, other: dict[str, Any]) -> None:
    path = write(tmp_path / "conversations.json", json.dumps([tree(node("a", None, "user", ["mine"]), other)]).encode())
    assert talk(path) == [[("owner", "mine")]]


def test_what_was_said_aloud_counts_and_citations_do_not(tmp_path: Path) -> None:
    spoken = {"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "hello"}]}
    found = node("b", "a", "assistant", ["It is so\ue200cite\ue202turn0search1\ue201."], None)
    path = write(
        tmp_path / "conversations.json",
        json.dumps([tree(node("a", None, "user", [], 5, content=spoken), found)]).encode(),
    )
    (session,) = export_at(path) or iter(())
    assert [message.text for message in session.messages] == ["hello", "It is so."]
    assert session.messages[0].at == session.messages[1].at


def test_a_tree_without_its_current_node_or_with_a_loop_is_read_from_its_newest_leaf(tmp_path: Path) -> None:
    lost = tree(node("a", "b", "user", ["one"]), node("b", "a", "assistant", ["two"], 1), current_node="gone")
    path = write(tmp_path / "conversations.json", json.dumps([lost]).encode())
    assert talk(path) == [[("owner", "one"), ("agent", "two")]]


def test_claude_conversations_are_read_without_tools_and_files(tmp_path: Path) -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use"}, {"type": "text", "text": "done"}]
    told = {
        "uuid": "k1",
        "created_at": stamp(0),
        "chat_messages": [
            human("use tabs", 1, content=[], attachments=[{"extracted_content": "a file"}]),
            human("This block is not supported", 2, sender="assistant", content=blocks),
            human("", 3),
            human("untimed", 4, created_at=None),
            {"sender": "system", "text": "x"},
            "no message",
        ],
    }
    path = write(tmp_path / "conversations.json", json.dumps([told]).encode())
    (session,) = export_at(path) or iter(())
    assert (session.id, session.agent) == ("k1", "claude-ai")
    assert [(one.speaker.value, one.text) for one in session.messages] == [
        ("owner", "use tabs"),
        ("agent", "done"),
        ("owner", "untimed"),
    ]


@pytest.mark.parametrize(("told", "agent"), [(CHATGPT, "chatgpt"), (CLAUDE, "claude-ai")])
def test_an_export_is_known_by_what_stands_in_it(tmp_path: Path, told: dict[str, Any], agent: str) -> None:
    data = json.dumps([{"strange": 1}, told, told], indent=1).encode()
    file = write(tmp_path / "file/any name.json", data)
    folder = write(tmp_path / "folder/conversations.json", data).parent
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("user.json", "{}")
        out.writestr("deep/conversations-000.json", data)
        out.writestr("deep/conversations-001.json", data)
    for path, count in ((file, 2), (folder, 2), (packed, 4)):
        found = export_at(path)
        assert found is not None
        assert [session.agent for session in found] == [agent] * count


def test_a_single_conversation_and_a_listing_inside_an_object_are_read(tmp_path: Path) -> None:
    assert len(talk(write(tmp_path / "one.json", CLAUDE))) == 1
    assert len(talk(write(tmp_path / "all.json", {"conversations": [CLAUDE, CLAUDE, 7]}))) == 2


@pytest.mark.parametrize(
    "data", [b"", b"[", b"[]", b"{}", b"\xff" * 5000, b"[[[[", b'"x"', b"PK\x03\x04broken", b'[{"a":']
)
def test_what_is_no_export_is_none(tmp_path: Path, data: bytes) -> None:
    assert export_at(write(tmp_path / "x.json", data)) is None


def test_a_zip_without_conversations_or_with_damage_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("readme.txt", "hello")
    assert export_at(path) is None
    many = [{**CLAUDE, "uuid": f"k{number}", "more": "x" * 9000} for number in range(200)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("conversations.json", json.dumps(many))
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 2, len(data) // 2 + 40):
        data[place] ^= 0x5A
    path.write_bytes(bytes(data))
    found = export_at(path)
    assert found is None or len(list(found)) <= 200


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        export_at(tmp_path / "gone.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=6), st.sampled_from([None, 2]), st.booleans())
def test_every_element_of_an_array_is_found(values: list[Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only)
    assert [json.loads(element) for element in exports._elements(text)] == values
