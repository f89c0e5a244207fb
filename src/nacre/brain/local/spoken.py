"""Who says what in a talk as it was written down, by Nacre or by somebody else."""

from __future__ import annotations

import re
from typing import NamedTuple

from nacre.model.session import Speaker

_DATED = re.compile(r"(?m)^\*\*(User|Agent|Other|用户|助手|他人)(?: \([^)\n]*\))?\*\* \d{4}-\d\d-\d\d \d\d:\d\d[ \t]*$")
# In a talk that Nacre did not write: "**User:** …", "用户：…", "## Assistant".
_NAMED = re.compile(
    r"(?mi)^(?:#{1,6}[ \t]+|\*\*)?(User|Human|Agent|Assistant|AI|Other|用户|助手|我|他人)(?: \([^)\n]{0,60}\))?"
    r"(?:(?:\*\*)?[ \t]*[:：](?:\*\*)?|(?<=\w)\*\*[ \t]*$|(?<=\w)[ \t]*$)[ \t]*"
)
_SPEAKERS = {
    **dict.fromkeys(("user", "human", "用户", "我"), Speaker.OWNER),
    **dict.fromkeys(("agent", "assistant", "ai", "助手"), Speaker.AGENT),
}


class Turn(NamedTuple):
    """What one speaker says at once."""

    speaker: Speaker
    text: str


def turns(body: str) -> list[Turn]:
    """The talk, turn by turn; none where nobody is said to speak."""
    marks = list(_marking(body).finditer(body))
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    return [
        Turn(_SPEAKERS.get(mark[1].lower(), Speaker.OTHER), body[mark.end() : end])
        for mark, end in zip(marks, ends, strict=False)  # a text may have no turns at all
    ]


def without_speakers(body: str) -> str:
    return _marking(body).sub("", body)


def is_mark(line: str) -> bool:
    """Whether a line says that somebody begins to speak, as Nacre writes it."""
    return _DATED.match(line) is not None


def _marking(body: str) -> re.Pattern[str]:
    """How the text says who speaks. In a talk that Nacre wrote down nobody can put words into another's mouth."""
    return _NAMED if not _DATED.search(body) and len(_NAMED.findall(body)) > 1 else _DATED
