"""The messages of a talk without their secrets: what one of them gives away is a secret in all the others too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.guard.answers import awaits
from nacre.guard.finding import Finding, mark
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.model.session import Message

_BEFORE = 300  # characters of an earlier message that are read with the next one
_AGO = 3  # messages that may lie between a question and its answer
_SHORTEST = 6  # characters; what is shorter may be an ordinary word elsewhere


def redacted(messages: Sequence[Message]) -> list[Message]:
    """Whole messages at a time, because a key over several lines is found only while its lines stand together."""
    texts = [clean(message.text) for message in messages]
    values: dict[str, str] = {}
    found: list[tuple[Finding, ...]] = []
    for place, text in enumerate(texts):
        own = redact(text).findings
        head = _context(texts[max(0, place - _AGO) : place])
        asked = redact(head + text).findings if head else ()
        late = tuple(
            Finding(one.kind, one.start - len(head), one.end - len(head)) for one in asked if one.start >= len(head)
        )
        found.append(own if _covers(own, late) else late)
        for one in (*own, *late):
            value = text[one.start : one.end].strip()
            if len(value) >= _SHORTEST and "\n" not in value:
                values[value] = one.kind
    return [
        replace(message, text=_without(text, findings, values))
        for message, text, findings in zip(messages, texts, found, strict=True)
    ]


def _context(earlier: Sequence[str]) -> str:
    """The end of the last message that asks for a secret or announces one, else of the last."""
    tails = [text[-_BEFORE:] + "\n" for text in reversed(earlier) if text]
    return next((tail for tail in tails if awaits(tail)), tails[0] if tails else "")


def _covers(own: Sequence[Finding], late: Sequence[Finding]) -> bool:
    """Whether a message by itself gives away all that it does after the one before."""
    return all(any(one.start <= other.start and other.end <= one.end for one in own) for other in late)


def _without(text: str, findings: Sequence[Finding], values: dict[str, str]) -> str:
    for one in sorted(findings, key=lambda one: -one.start):
        text = text[: one.start] + mark(one.kind) + text[one.end :]
    text = redact(text).text
    for value, kind in sorted(values.items(), key=lambda item: -len(item[0])):
        if value in text:
            text = text.replace(value, mark(kind))
    return text
