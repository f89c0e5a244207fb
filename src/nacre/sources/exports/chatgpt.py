"""A ChatGPT export: conversations.json, each conversation a tree of which one branch is what stood on the screen."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.exports.archive import conversations_in
from nacre.sources.reading import as_text, parse_time

AGENT = "chatgpt"
_SPEAKERS = {"user": Speaker.OWNER, "assistant": Speaker.AGENT}
_CITATION = re.compile("\ue200[^\ue201]{0,400}\ue201")  # the marks of what a search found


def is_one(told: dict[str, Any]) -> bool:
    """Whether an object is a conversation of ChatGPT."""
    return isinstance(told.get("mapping"), dict)


def conversations(path: Path) -> Iterator[Session]:
    """The conversations in which something was said."""
    for told in conversations_in(path):
        if is_one(told) and (session := _session(told)).messages:
            yield session


def _session(told: dict[str, Any]) -> Session:
    started = parse_time(told.get("create_time"))
    last = started or parse_time(told.get("update_time"))
    messages: list[Message] = []
    for name, message in _branch(told):
        last = parse_time(message.get("create_time")) or last
        if last and (said := _message(name, message, last)):
            messages.append(said)
    name = as_text(told.get("conversation_id")) or as_text(told.get("id")) or (messages[0].id if messages else "")
    return Session(name, AGENT, Kind.MAIN, started, tuple(messages))


def _branch(told: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The messages from the first to the one that was shown last; other answers to the same prompt stand elsewhere."""
    nodes: dict[str, Any] = told["mapping"]
    name: Any = told.get("current_node")
    if not isinstance(name, str) or name not in nodes:
        name = _newest_leaf(nodes)
    found: list[tuple[str, dict[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(name, str) and name not in seen and isinstance(node := nodes.get(name), dict):
        seen.add(name)
        if isinstance(message := node.get("message"), dict):
            found.append((name, message))
        name = node.get("parent")
    return found[::-1]


def _newest_leaf(nodes: dict[str, Any]) -> str | None:
    def written(name: str) -> dt.datetime:
        message = nodes[name].get("message")
        at = parse_time(message.get("create_time")) if isinstance(message, dict) else None
        return at or dt.datetime.fromtimestamp(0, dt.UTC)

    leaves = [name for name, node in nodes.items() if isinstance(node, dict) and not node.get("children")]
    return max(leaves, key=written, default=None)


def _message(name: str, told: dict[str, Any], at: dt.datetime) -> Message | None:
    author, content, about = (_object(told.get(key)) for key in ("author", "content", "metadata"))
    speaker = _SPEAKERS.get(as_text(author.get("role")))
    hidden = about.get("is_visually_hidden_from_conversation") or about.get("is_user_system_message")
    if speaker is None or hidden or content.get("content_type") not in ("text", "multimodal_text"):
        return None
    if speaker is Speaker.AGENT and (told.get("recipient") not in (None, "all") or told.get("channel") == "analysis"):
        return None  # a call of a tool, or a thought
    parts = content.get("parts")
    texts = [_text(part) for part in (parts if isinstance(parts, list) else ())]
    words = "\n".join(text for text in texts if text.strip()).strip()
    if speaker is Speaker.AGENT:
        words = _CITATION.sub("", words).strip()
    return Message(as_text(told.get("id")) or name, at, speaker, words) if words else None


def _text(part: object) -> str:
    """The text of a part: what was typed, or what was said aloud."""
    if isinstance(part, dict):
        part = part.get("text") if part.get("content_type") in (None, "text", "audio_transcription") else None
    return part if isinstance(part, str) else ""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
