"""Which service an export came from, by what stands in it: both call their file conversations.json."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from nacre.model.session import Session
from nacre.sources.exports import chatgpt, claude_ai
from nacre.sources.exports.archive import conversations_in

_LOOKED_AT = 20  # objects that may be of another form before the first conversation


def export_at(path: Path) -> Iterator[Session] | None:
    """The conversations of an export; None when it is none that is known."""
    for told in islice(conversations_in(path), _LOOKED_AT):
        if chatgpt.is_one(told):
            return chatgpt.conversations(path)
        if claude_ai.is_one(told):
            return claude_ai.conversations(path)
    return None
