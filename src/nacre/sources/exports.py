"""What people download of their chats from ChatGPT and Claude.ai: read once by `nacre import`, so not in the registry.

An export is a zip, the folder it was unpacked into, or its one file conversations.json. A conversation of ChatGPT is a tree of
which one branch is what stood on the screen; one of Claude.ai lists its messages in order.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from nacre.model import Kind, Session, Speaker
from nacre.sources.transcript import (
    Notes,
    Take,
    When,
    as_text,
    parse_json,
    parse_time,
    take_entries,
    text_blocks,
    time_field,
)

_NAME = re.compile(r"conversations(?:-\d+)?\.json")
_NEXT = re.compile(r"[\s,]*+(?=[^\]])")  # element of an array
_LOOKED_AT = 20  # objects that may be of another form before the first conversation
_SPEAKERS = {"user": Speaker.OWNER, "human": Speaker.OWNER, "assistant": Speaker.AGENT}
_CITATION = re.compile("\ue200[^\ue201]{0,400}\ue201")  # the marks of what a search found


def export_at(path: Path) -> Iterator[Session] | None:
    """The conversations of an export that have messages; None when the format is unknown."""
    for conversation in islice(_conversations(path), _LOOKED_AT):
        for field, kind, read in (("mapping", dict, _of_chatgpt), ("chat_messages", list, _of_claude)):
            if isinstance(conversation.get(field), kind):
                same = (other for other in _conversations(path) if isinstance(other.get(field), kind))
                return (session for session in map(read, same) if session.messages)
    return None


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    """Every object that an export lists; unreadable ones are skipped."""
    for file in _files(path):
        try:
            with file:
                text = file.read().decode("utf-8-sig", errors="replace").lstrip()
        except (zipfile.BadZipFile, zlib.error, EOFError):
            continue  # the zip is damaged
        if text.startswith("["):
            yield from filter(None, map(parse_json, _elements(text)))
        elif document := parse_json(text):
            inside = document.get("conversations")
            listed = inside if isinstance(inside, list) else [document]
            yield from (conversation for conversation in listed if isinstance(conversation, dict))


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


def _elements(text: str) -> Iterator[str]:
    """The text of each element of an array, so that only one conversation at a time is parsed."""
    decoder, end = json.JSONDecoder(), 1
    while start := _NEXT.match(text, end):
        try:
            _, end = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            return
        yield text[start.end() : end]


def _of_claude(conversation: dict[str, Any]) -> Session:
    def take(message: dict[str, Any], at: Any, name: str, notes: Notes) -> None:
        # Attached files stand apart, and `text` may hold what tools returned: it comes second.
        texts = text_blocks(message.get("content") or message.get("text"))
        text = "\n".join(text.strip() for text in texts if text.strip())
        if speaker := _SPEAKERS.get(message["sender"]):
            notes.add(as_text(message.get("uuid")) or name, at, speaker, text)

    entries = ((message, str(place), 0) for place, message in enumerate(conversation["chat_messages"]))
    times = (conversation.get("created_at"), conversation.get("updated_at"))
    return _session("claude-ai", conversation.get("uuid"), times, entries, take, time_field("created_at"))


def _of_chatgpt(conversation: dict[str, Any]) -> Session:
    def take(message: dict[str, Any], at: Any, name: str, notes: Notes) -> None:
        speaker, text = _said_in_chatgpt(message)
        if speaker:
            notes.add(as_text(message.get("id")) or name, at, speaker, text)

    name = conversation.get("conversation_id") or conversation.get("id")
    times = (conversation.get("create_time"), conversation.get("update_time"))
    return _session("chatgpt", name, times, _branch(conversation), take, time_field("create_time"))


def _session(
    agent: str, name: object, times: tuple[Any, Any], entries: Iterable[tuple[Any, str, int]], take: Take, time: When
) -> Session:
    """The session of a conversation; a message without a time has that of the one before, or one of the conversation's `times`."""
    notes = Notes({"at": next((at for at in times if parse_time(at)), None)})
    take_entries(entries, 0, notes, None, take, time)
    first = notes.messages[0].id if notes.messages else ""
    return Session(as_text(name) or first, agent, Kind.MAIN, tuple(notes.messages))


def _branch(conversation: dict[str, Any]) -> list[tuple[Any, str, int]]:
    """The messages of the branch that was shown last, in order."""
    nodes = {name: node for name, node in conversation["mapping"].items() if isinstance(node, dict)}
    name = as_text(conversation.get("current_node"))
    if name not in nodes:  # then the last leaf
        name = next((name for name in reversed(nodes) if not nodes[name].get("children")), "")
    branch: list[tuple[Any, str, int]] = []
    while node := nodes.pop(name, None):  # each is met once, also where they go round in a circle
        branch.append((node.get("message") or {}, name, 0))
        name = as_text(node.get("parent"))
    return branch[::-1]


def _said_in_chatgpt(message: dict[str, Any]) -> tuple[Speaker | None, str]:
    """Speaker and text of a message: what was typed or spoken, no tool calls, thoughts or notes of the program."""
    speaker, content = _SPEAKERS.get(message["author"]["role"]), message["content"]
    about = message.get("metadata") or {}
    hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    to_tool = message.get("recipient") not in (None, "all") or message.get("channel") == "analysis"
    if hidden or (to_tool and speaker is Speaker.AGENT) or content["content_type"] not in ("text", "multimodal_text"):
        return None, ""
    spoken, parts = ("text", "audio_transcription"), content.get("parts") or ()
    texts = (
        part if isinstance(part, str) else part.get("content_type") in spoken and part.get("text") for part in parts
    )
    text = "\n".join(text for text in texts if isinstance(text, str) and text.strip()).strip()
    return speaker, _CITATION.sub("", text).strip() if speaker is Speaker.AGENT else text
