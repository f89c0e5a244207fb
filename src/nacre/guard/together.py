"""The messages of a talk without their secrets: what one of them gives away is a secret in all the others too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nacre.guard.finding import Finding, mark, pattern
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.model.session import Message

_BEFORE = 300  # characters of the message before: "what's the password?" tells what the answer is
_ASKS = (
    r"(?i)(?:what|which|send|give|tell|need|paste|share|follows?|provide)\b[^.\n]{0,60}\b(?:passw\w+|passphrase|pass ?code|api key|token|secret|pin|credentials?|code)\b"
    r"|\b(?:passw\w+|passphrase|api key|token|secret key|pin|code)\b[^.\n]{0,30}\?|(?:密码|口令|验证码|密钥|令牌)[^。\n]{0,12}(?:[?？]|多少|是什么|发我|给我|发一下)"
)  # who asks for a secret announces it
_SHORTEST = 6  # characters; what is shorter may be an ordinary word elsewhere


def redacted(messages: Sequence[Message]) -> list[Message]:
    """Whole messages at a time, because a key over several lines is found only while its lines stand together."""
    texts = [clean(message.text) for message in messages]
    values: dict[str, str] = {}
    found: list[tuple[Finding, ...]] = []
    before = ""
    for text in texts:
        own = redact(text).findings
        head = "password: " if pattern(_ASKS).search(before[-_BEFORE:]) else before[-_BEFORE:] + "\n"
        asked = redact(head + text).findings if before else ()
        late = tuple(
            Finding(one.kind, one.start - len(head), one.end - len(head)) for one in asked if one.start >= len(head)
        )
        found.append(own if _covers(own, late) else late)
        for one in (*own, *late):
            value = text[one.start : one.end].strip()
            if len(value) >= _SHORTEST and "\n" not in value:
                values[value] = one.kind
        before = text
    return [
        replace(message, text=_without(text, findings, values))
        for message, text, findings in zip(messages, texts, found, strict=True)
    ]


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
