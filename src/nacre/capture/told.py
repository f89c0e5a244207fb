"""What of a single text is worth remembering: the owner tells it, nobody answers."""

from __future__ import annotations

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.errors import BadInput
from nacre.guard.together import redacted
from nacre.model.bullet import Bullet
from nacre.model.session import Message, Speaker
from nacre.words import say


def told(text: str, clock: Clock, judge: Judge) -> list[Bullet]:
    """The lines that a text is worth; none where nothing in it would be missed."""
    if not text.strip():
        raise BadInput(say("There is nothing to read: the text is empty.", "没有可读取的内容：文本为空。"))
    messages = redacted([Message("text", clock.now(), Speaker.OWNER, text)])
    return extract(messages, judge, least=1)
