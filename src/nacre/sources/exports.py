"""What people download of their chats from ChatGPT and Claude.ai: read once by `nacre import`, so not in the registry.

An export is a zip, the folder it was unpacked into, or its one file conversations.json. A conversation of ChatGPT is a tree of
which one branch is what stood on the screen; one of Claude.ai lists its messages in order.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.reading import as_dict, as_list, as_text, parse_json, parse_time, text_blocks

_NAME = re.compile(r"conversations(?:-\d+)?\.json")
_BLOCK = 1 << 18
_OUTSIDE = re.compile(rb'["{}\[\]]')  # what matters between strings
_STRING_END = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LOOKED_AT = 20  # objects that may be of another form before the first conversation
_SPEAKERS = {"user": Speaker.OWNER, "human": Speaker.OWNER, "assistant": Speaker.AGENT}
_CITATION = re.compile("\ue200[^\ue201]{0,400}\ue201")  # the marks of what a search found


def export_at(path: Path) -> Iterator[Session] | None:
    """The conversations of an export in which something was said; None when it is none that is known."""
    for conversation in islice(_conversations(path), _LOOKED_AT):
        for field, kind, read in (("mapping", dict, _of_chatgpt), ("chat_messages", list, _of_claude)):
            if isinstance(conversation.get(field), kind):
                same = (other for other in _conversations(path) if isinstance(other.get(field), kind))
                return (session for session in map(read, same) if session.messages)
    return None


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    """Every object that an export lists, whatever it is. What cannot be understood is passed over."""
    for file in _files(path):
        with file:
            try:
                first = file.read(_BLOCK).lstrip(b"\xef\xbb\xbf \t\r\n")
                if first.startswith(b"["):
                    yield from (conversation for raw in _objects(file, first[1:]) if (conversation := parse_json(raw)))
                elif first.startswith(b"{"):
                    document = parse_json(first + file.read()) or {}
                    inside = document.get("conversations")
                    yield from filter(None, map(as_dict, inside if isinstance(inside, list) else [document]))
            except (zipfile.BadZipFile, zlib.error, EOFError):
                continue  # the zip is damaged from here on


def _files(path: Path) -> Iterator[IO[bytes]]:
    if path.is_dir() or not zipfile.is_zipfile(path):
        parts = (part for part in sorted(path.glob("conversations*.json")) if _NAME.fullmatch(part.name))
        yield from (part.open("rb") for part in (parts if path.is_dir() else [path]))
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if _NAME.fullmatch(PurePosixPath(name).name):
                    yield archive.open(name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, KeyError):
        return  # damaged, packed in a way this Python does not know, or encrypted


def _objects(file: IO[bytes], block: bytes) -> Iterator[bytes]:
    """The text of each object in an array. The standard library parses whole documents only, and exports are large."""
    kept: list[bytes] = []
    depth = 0
    in_string = False
    while block:
        place = begin = 0  # where the part of the object in this block begins
        while sign := _STRING_END.match(block, place) if in_string else _OUTSIDE.search(block, place):
            place = sign.end()
            if in_string or sign[0] == b'"':
                in_string = not in_string
            elif sign[0] in (b"{", b"["):
                begin = sign.start() if depth == 0 else begin
                depth += 1
            elif depth == 0:
                return  # the end of the array
            else:
                depth -= 1
                if depth == 0:
                    yield b"".join((*kept, block[begin:place]))
                    kept, begin = [], place
        rest = b""
        if in_string and (len(block) - len(block.rstrip(b"\\"))) % 2:
            rest, block = block[-1:], block[:-1]  # what it makes of the next sign, only the next block tells
        if depth:
            kept.append(block[begin:])
        more = file.read(_BLOCK)
        block = rest + more if more else b""


def _of_claude(conversation: dict[str, Any]) -> Session:
    started = parse_time(conversation.get("created_at"))
    at = started or parse_time(conversation.get("updated_at"))
    messages: list[Message] = []
    for place, message in enumerate(map(as_dict, conversation["chat_messages"])):
        at = parse_time(message.get("created_at")) or at
        speaker = _SPEAKERS.get(as_text(message.get("sender")))
        content = message.get("content")
        # Attached files stand apart, and `text` may hold what tools returned: it comes second.
        texts = text_blocks(as_list(content) or message.get("text"))
        text = "\n".join(text.strip() for text in texts if text.strip())
        if speaker and text and at:
            messages.append(Message(as_text(message.get("uuid")) or str(place), at, speaker, text))
    name = as_text(conversation.get("uuid")) or (messages[0].id if messages else "")
    return Session(name, "claude-ai", Kind.MAIN, started, tuple(messages))


def _of_chatgpt(conversation: dict[str, Any]) -> Session:
    started = parse_time(conversation.get("create_time"))
    at = started or parse_time(conversation.get("update_time"))
    messages: list[Message] = []
    for name, message in _branch(conversation):
        at = parse_time(message.get("create_time")) or at
        speaker, text = _said_in_chatgpt(message)
        if at and speaker and text:
            messages.append(Message(as_text(message.get("id")) or name, at, speaker, text))
    first = messages[0].id if messages else ""
    name = as_text(conversation.get("conversation_id")) or as_text(conversation.get("id")) or first
    return Session(name, "chatgpt", Kind.MAIN, started, tuple(messages))


def _branch(conversation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages from the first to the one that was shown last; other answers to the same prompt stand elsewhere."""
    nodes: dict[str, Any] = conversation["mapping"]
    name: Any = conversation.get("current_node")
    if not isinstance(name, str) or name not in nodes:  # then the newest leaf
        leaves = [name for name, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
        times = {name: parse_time(as_dict(nodes[name].get("message")).get("create_time")) for name in leaves}
        name = max(leaves, key=lambda leaf: at.timestamp() if (at := times[leaf]) else 0, default=None)
    branch: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(name, str) and name not in seen and isinstance(node := nodes.get(name), dict):
        seen.add(name)
        if isinstance(message := node.get("message"), dict):
            branch.append((name, message))
        name = node.get("parent")
    return branch[::-1]


def _said_in_chatgpt(message: dict[str, Any]) -> tuple[Speaker | None, str]:
    """Who said what in a message: what was typed or said aloud, not calls of tools, nor thoughts, nor the program's own notes."""
    author, content, about = (as_dict(message.get(key)) for key in ("author", "content", "metadata"))
    speaker = _SPEAKERS.get(as_text(author.get("role")))
    hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    if hidden or content.get("content_type") not in ("text", "multimodal_text"):
        return None, ""
    to_tool = message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"
    if speaker is Speaker.AGENT and to_tool:
        return None, ""
    spoken = (None, "text", "audio_transcription")
    parts = (part for part in as_list(content.get("parts")) if as_dict(part).get("content_type") in spoken)
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    text = "\n".join(text for text in texts if isinstance(text, str) and text.strip()).strip()
    return speaker, _CITATION.sub("", text).strip() if speaker is Speaker.AGENT else text
