"""A checkpoint read back as what was said: the messages of the talk that Nacre wrote down, or a text as its owner's."""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

from nacre.clock import Clock
from nacre.errors import BadInput
from nacre.model.session import Message, Speaker
from nacre.text.blocks import FRONT, blocks

# As `capture.checkpoint` writes them.
_ABOUT = re.compile(
    r"session:(?P<session>\S+) \| (?P<agent>[^|]+) \| \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^|\n]*(?:\| (?P<cwd>.+))?"
)
_SPOKEN = re.compile(
    r"\*\*(?P<who>User|Agent|Other|用户|助手|他人)(?: \((?P<name>[^)\n]*)\))?\*\* (?P<at>\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s*"
)
# As people and other tools write talks down: "**User:** …", "User: …", "**用户**：…".
_LABELLED = re.compile(
    r"(?:[-*+>]\s+)?(?P<bold>\*\*|__)?(?P<who>user|me|owner|human|agent|assistant|ai|bot|claude|codex|用户|我|助手|代理|助理)"
    r"(?:(?P=bold))?\s*[:：]\s*(?:\*\*|__)?\s*(?P<said>.*)",
    re.IGNORECASE,
)
_OWNERS = frozenset({"user", "me", "owner", "human", "用户", "我"})
_SPEAKERS = {"User": Speaker.OWNER, "用户": Speaker.OWNER, "Agent": Speaker.AGENT, "助手": Speaker.AGENT}
_HEADING = re.compile(r"#{1,6} .*")


class Reread(NamedTuple):
    """What a checkpoint holds. Without a talk there is one message: the text itself, as somebody wrote it down."""

    title: str
    session: str
    agent: str
    cwd: str
    messages: tuple[Message, ...]


def reread(text: str, clock: Clock) -> Reread:
    lines = _without_front(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")
    about = next((found for line in lines[:6] if (found := _ABOUT.fullmatch(line))), None)
    messages = tuple(_messages(lines, clock)) if about else ()
    if about and messages:
        return Reread(title, about["session"], about["agent"].strip(), (about["cwd"] or "").strip(), messages)
    if labelled := tuple(_labelled(lines, clock)):
        return Reread(title, "", "", "", labelled)
    body = "\n".join(line for line in lines if not _HEADING.fullmatch(line)).strip()
    whole = Message("text", clock.now(), Speaker.OWNER, body)
    return Reread(title, "", "", "", (whole,) if body else ())


def _without_front(lines: list[str]) -> list[str]:
    front = next(iter(blocks(lines)), None) if lines and lines[0].rstrip() == "---" else None
    return lines[front.end :] if front and front.kind == FRONT else lines


def _messages(lines: list[str], clock: Clock) -> list[Message]:
    found: list[Message] = []
    speaking: tuple[Speaker, str, dt.datetime] | None = None
    said: list[str] = []

    def close() -> None:
        words = "\n".join(said).strip()
        if speaking and words:
            who, name, at = speaking
            found.append(Message(str(len(found)), at, who, words, name))

    for line in lines:
        match = _SPOKEN.fullmatch(line)
        at = _moment(match["at"], clock) if match else None
        if match is None or at is None:
            said.append(line)
            continue
        close()
        speaking, said = (_SPEAKERS.get(match["who"], Speaker.OTHER), match["name"] or "", at), []
    close()
    return found


def _labelled(lines: list[str], clock: Clock) -> list[Message]:
    """A talk whose lines name their speakers; nothing where fewer than two do, or only one person speaks."""
    found: list[tuple[Speaker, list[str]]] = []
    for line in lines:
        if match := _LABELLED.fullmatch(line):
            who = Speaker.OWNER if match["who"].casefold() in _OWNERS else Speaker.AGENT
            found.append((who, [match["said"]]))
        elif found and not _HEADING.fullmatch(line):
            found[-1][1].append(line)
    if len({who for who, _ in found}) < 2:
        return []
    said = ((who, "\n".join(parts).strip()) for who, parts in found)
    return [Message(str(at), clock.now(), who, words) for at, (who, words) in enumerate(said) if words]


def _moment(text: str, clock: Clock) -> dt.datetime | None:
    try:
        return clock.parse(text.replace(" ", "T"))
    except BadInput:
        return None
