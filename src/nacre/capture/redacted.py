"""Messages without their secrets: taken out before anything else looks at them, whole messages at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.model.session import Message


def redacted(messages: Sequence[Message]) -> list[Message]:
    """A key over several lines is one secret: it is found only while its lines stand together."""
    return [replace(message, text=redact(clean(message.text)).text) for message in messages]
