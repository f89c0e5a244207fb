"""What OpenClaw puts around a user's words: metadata of the channel, the time, notes of the program. Read, then dropped.

Since 2026.9 the words are stored bare; rows that are older, or were brought over, still carry all of it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from nacre.sources.openclaw.blocks import without_blocks

_CHANNELS = "WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|Teams|Matrix|Zalo"
_STAMP = re.compile(
    rf"\A\[(?P<head>[^\]\n]{{0,200}}\d{{4}}-\d{{2}}-\d{{2}}[ T]\d{{2}}:\d{{2}}[^\]\n]{{0,80}}|(?:{_CHANNELS}) [^\]\n]{{1,200}})\][ \t]*"
)
_OF_A_GROUP = re.compile(r"@g\.us|\bgroup\b|\bid:-\d|#\w", re.IGNORECASE)
_SPOKEN_BY = re.compile(r"\A(?P<name>[^\n:]{1,60}):[ \t]+")
_HINTS = re.compile(
    r"(?m)^[ \t]*(?:\[message_id:[^\]\n]*\]|\[from:[^\]\n]*\]|To send an image back, prefer the message tool[^\n]*)[ \t]*$\n?"
)
_DIRECTIVE = re.compile(r"\[\[[ \t]*(?:reply_to_current|reply_to:[^\]\n]{0,200}|audio_as_voice)[ \t]*\]\]")
_MEDIA = re.compile(
    r"(?m)^[ \t]*(?:\[media attached[^\]\n]*\]|\[Image: source:[^\]\n]*\]|\[User sent media without caption\]"
    r"|<media:[a-z]+>(?:[ \t]*\([^)\n]*\))?|MEDIA:[^\n]*)[ \t]*$\n?"
)
_SPOKEN = re.compile(r"(?m)^\[Audio transcript[^\]\n]*\]:[ \t]*(?P<words>[^\n]*)$")
_QUOTED = re.compile(
    r"\[(?:Replying to|Quoting)\b[^\]\n]{0,200}\]\n.{0,2000}?\n\[/(?:Replying|Quoting)\]\n*", re.DOTALL
)
_ANSWERED = re.compile(r'\A(?:Current message:[ \t]*\n)?\[Replying to: "[^\n]*"\][ \t]*\n(?:#[^\s:]+:[ \t]*)?')
_SYSTEM = re.compile(r"\A(?:System(?: \(untrusted\))?: \[[^\n]*\n*)+")
_QUEUE = "[Queued messages while agent was busy]"
_OVERFLOW = re.compile(r"\A\[Queue overflow\] Dropped [^\n]*\n(?:Summary:\n(?:- [^\n]*\n?)*)?\s*")
_QUEUED = re.compile(r"(?m)^---\nQueued #\d+(?: \(from (?P<name>[^\n]*)\))?[ \t]*$")
_COMMAND = re.compile(r"/[a-z][\w-]*")
_PROMPTS = (
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md",
    "[cron:",
    "[Subagent Context]",
    "[Subagent Task]",
    "Pre-compaction memory flush",
    "[OpenClaw heartbeat poll]",
    "[OpenClaw exec completion]",
    "[OpenClaw cron wake]",
    "[OpenClaw session ",
    "[Inter-session message]",
)
_OTHERS = "[Forwarded from "  # what follows is somebody else's
_ISOLATED = ("[cron:", "[Subagent Context]", "[Subagent Task]")
_SILENT = frozenset({"NO_REPLY", "HEARTBEAT_OK"})
_NUMBER = re.compile(r"\s*(?:\+\d[\d\s().-]{5,}\d|\b\d{8,}\b)")  # of a telephone, amid a name
_NOT_A_NAME = re.compile(r"[+@#]?[\d\s().:_-]{4,}|\S+@\S+|[UCGD][0-9A-Z]{8,}")


@dataclass(frozen=True)
class Said:
    """A user message without its envelope: who, in which group, and the words themselves (empty: nobody's)."""

    words: str
    sender_id: str = ""
    name: str = ""
    group: str = ""
    in_group: bool = False
    sent: bool = False  # it came with a channel's metadata or a time: a person sent it
    program: bool = False  # the program asked, in a person's place: a poll, a wake, a task


def opened(text: str) -> Said:
    """Take the envelope off a message."""
    text, head = _stamped(text.lstrip())
    bare = without_blocks(text)
    facts = bare.facts
    text = _HINTS.sub("", _MEDIA.sub("", _SYSTEM.sub("", bare.text.lstrip()))).lstrip()
    if not head:
        text, head = _stamped(text)
    text = _ANSWERED.sub("", _QUOTED.sub("", text), count=1)
    text = _SPOKEN.sub(_heard, _DIRECTIVE.sub("", text)).strip()

    def fact(*names: str) -> str:
        return next((value for name in names if isinstance(value := facts.get(name), str) and value), "")

    name, group = called(fact("sender", "name")), called(fact("group_subject", "group_channel"))
    in_group = facts.get("is_group_chat") is True or bool(fact("group_subject", "group_channel"))
    if _OF_A_GROUP.search(head):
        in_group = True
        if not name and (speaker := _SPOKEN_BY.match(text)):
            name, text = called(speaker["name"]), text[speaker.end() :]
    text = _OVERFLOW.sub("", text)
    if text.startswith(_QUEUE):
        text, names = _collected(text)
        name = name or (names.pop() if len(names) == 1 else "")
    program = text.startswith(_PROMPTS)
    if program or text.startswith(_OTHERS) or _COMMAND.fullmatch(text):
        text = ""
    return Said(text, fact("sender_id", "id"), name, group, in_group, bool(bare.found or head), program)


def is_isolated(text: str) -> bool:
    """Whether the first prompt of a session says that nobody is talking: a scheduled run, a sub-agent."""
    return text.lstrip().startswith(_ISOLATED)


def answer(text: str) -> str:
    """An agent's answer without directives to the program; empty when it is the sign for silence."""
    text = _MEDIA.sub("", _DIRECTIVE.sub("", text)).strip()
    return "" if is_silence(text) else text


def is_silence(text: str) -> bool:
    """Whether an answer says that there was nothing to answer: the turn was the program's, not the user's."""
    bare = text.strip().strip("*_`. ")
    return bare in _SILENT


def called(name: object) -> str:
    """How people call somebody or a group: a name without the ids that channels put beside it; none for a mere id."""
    if not isinstance(name, str):
        return ""
    short = re.sub(r"\s*(?:\([^)]*\)|<[^>]*>|\bid:\S+)", "", name[:200]).strip()
    return "" if _NOT_A_NAME.fullmatch(short) else _NUMBER.sub("", short).strip()[:60]


def _stamped(text: str) -> tuple[str, str]:
    """A text without the channel and time before it, and those."""
    found = _STAMP.match(text)
    return (text[found.end() :], found["head"]) if found else (text, "")


def _heard(found: re.Match[str]) -> str:
    """What the user said aloud, as the program wrote it down."""
    words = found["words"].strip()
    try:
        told = json.loads(words)
    except (ValueError, RecursionError):
        return words.strip('"')
    return told if isinstance(told, str) else words


def _collected(text: str) -> tuple[str, set[str]]:
    """The messages that waited for the agent and were handed to it as one, and who sent them."""
    found = list(_QUEUED.finditer(text))
    ends = [*(one.start() for one in found[1:]), len(text)]
    words = [opened(text[one.end() : end]).words for one, end in zip(found, ends, strict=False)]
    return "\n\n".join(one for one in words if one), {called(one["name"]) for one in found}
