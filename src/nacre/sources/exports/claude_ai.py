"""A Claude.ai export: conversations.json, each conversation with its messages in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.exports.archive import conversations_in
from nacre.sources.reading import as_text, parse_time

AGENT = "claude-ai"
_SPEAKERS = {"human": Speaker.OWNER, "assistant": Speaker.AGENT}


def is_one(told: dict[str, Any]) -> bool:
    """Whether an object is a conversation of Claude.ai."""
    return isinstance(told.get("chat_messages"), list)


def conversations(path: Path) -> Iterator[Session]:
    """The conversations in which something was said."""
    for told in conversations_in(path):
        if is_one(told) and (session := _session(told)).messages:
            yield session


def _session(told: dict[str, Any]) -> Session:
    started = parse_time(told.get("created_at"))
    last = started or parse_time(told.get("updated_at"))
    messages: list[Message] = []
    for place, one in enumerate(told["chat_messages"]):
        if not isinstance(one, dict):
            continue
        last = parse_time(one.get("created_at")) or last
        speaker, words = _SPEAKERS.get(as_text(one.get("sender"))), _words(one)
        if speaker and words and last:
            messages.append(Message(as_text(one.get("uuid")) or str(place), last, speaker, words))
    name = as_text(told.get("uuid")) or (messages[0].id if messages else "")
    return Session(name, AGENT, Kind.MAIN, started, tuple(messages))


def _words(message: dict[str, Any]) -> str:
    """What was typed or said. Attached files stand apart, and `text` may hold what tools returned: it comes second."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if not blocks:
        text = message.get("text")
        return text.strip() if isinstance(text, str) else ""
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return "\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
