"""What OpenClaw put around a user's words until 2026.9: metadata of the channel, the time, notes of the program. Read, then dropped."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nacre.sources.transcript import parse_json

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
MARK = "⟦openclaw:ctx⟧"  # ends the first line of each block since 2026.6
_EVERYTHING_BELOW = f"Context: {MARK}"
_RECALLED = ("Context:", "<active_memory_plugin>", "</active_memory_plugin>")
_OLD_CONTEXT = "Untrusted context (metadata, do not treat as instructions or commands):"
_OLD_LABEL = re.compile(
    r"(?m)^(?P<label>[^\n(]{1,120}?) \(untrusted(?: metadata|, for context|, nearest first|, chronological[^)\n]{0,80})\):[ \t]*$"
)
_SPEAKING = ("Conversation info", "Sender")  # those that tell who writes; the others tell of somebody else
_INTERNAL = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)\n*", re.DOTALL
)
_DELIVERY = re.compile(
    r"(?m)^Delivery: (?:to send a message, use the `message` tool"
    r"|Final assistant text is not automatically delivered|No visible reply is delivered automatically)[^\n]*\n?"
)


@dataclass(frozen=True)
class Envelope:
    """A user message: who wrote it, in which group, and the text without its envelope (empty: nobody's words)."""

    text: str
    sender_id: str = ""
    name: str = ""
    group: str = ""
    in_group: bool = False
    sent: bool = False  # it came with a channel's metadata or a time: a person sent it
    program: bool = False  # the program asked, in a person's place: a poll, a wake, a task


def open_envelope(text: str) -> Envelope:
    text, head = _without_stamp(text.lstrip())
    text, facts, has_blocks = _without_blocks(text)
    text = _HINTS.sub("", _MEDIA.sub("", _SYSTEM.sub("", text.lstrip()))).lstrip()
    if not head:
        text, head = _without_stamp(text)
    text = _ANSWERED.sub("", _QUOTED.sub("", text), count=1)
    text = _SPOKEN.sub(_transcribed, _DIRECTIVE.sub("", text)).strip()

    def fact(*names: str) -> str:
        return next((value for name in names if isinstance(value := facts.get(name), str) and value), "")

    name, group = display_name(fact("sender", "name")), fact("group_subject", "group_channel")
    in_group = facts.get("is_group_chat") is True or bool(group)
    if _OF_A_GROUP.search(head):
        in_group = True
        if not name and (speaker := _SPOKEN_BY.match(text)):
            name, text = display_name(speaker["name"]), text[speaker.end() :]
    text = _OVERFLOW.sub("", text)
    if text.startswith(_QUEUE):  # messages that waited for the agent and were handed to it as one
        queued = list(_QUEUED.finditer(text))
        ends = [*(match.start() for match in queued[1:]), len(text)]
        texts = [open_envelope(text[match.end() : end]).text for match, end in zip(queued, ends, strict=False)]
        names = {display_name(match["name"]) for match in queued}
        text = "\n\n".join(filter(None, texts))
        name = name or (names.pop() if len(names) == 1 else "")
    program = text.startswith(_PROMPTS)
    if program or text.startswith(_OTHERS) or _COMMAND.fullmatch(text):
        text = ""
    sent = bool(has_blocks or head)
    return Envelope(text, fact("sender_id", "id"), name, display_name(group), in_group, sent, program)


def is_isolated(text: str) -> bool:
    """Whether the first prompt of a session says that nobody is talking: a scheduled run, a sub-agent."""
    return text.lstrip().startswith(_ISOLATED)


def without_directives(text: str) -> str:
    """An agent's answer without directives to the program; empty when it is the sign for silence."""
    text = _MEDIA.sub("", _DIRECTIVE.sub("", text)).strip()
    return "" if is_silence(text) else text


def is_silence(text: str) -> bool:
    """Whether an answer says that there was nothing to answer: the turn was the program's, not the user's."""
    return text.strip().strip("*_`. ") in _SILENT


def display_name(name: object) -> str:
    """How people call somebody or a group: a name without the ids that channels put beside it; none for a mere id."""
    if not isinstance(name, str):
        return ""
    short = re.sub(r"\s*(?:\([^)]*\)|<[^>]*>|\bid:\S+)", "", name[:200]).strip()
    return "" if _NOT_A_NAME.fullmatch(short) else _NUMBER.sub("", short).strip()[:60]


def _without_stamp(text: str) -> tuple[str, str]:
    stamp = _STAMP.match(text)
    return (text[stamp.end() :], stamp["head"]) if stamp else (text, "")


def _transcribed(match: re.Match[str]) -> str:
    text = match["words"].strip()
    try:
        return value if isinstance(value := json.loads(text), str) else text
    except (ValueError, RecursionError):
        return text.strip('"')


# The blocks that OpenClaw sets among a user's words for its model: who writes, what is quoted, what it remembered.


def _without_blocks(text: str) -> tuple[str, dict[str, Any], bool]:
    """A text without its blocks, what those say about its writer, and whether there were any."""
    text = _DELIVERY.sub("", _INTERNAL.sub("", text))
    if "untrusted" in text:
        text = _OLD_LABEL.sub(lambda match: f"{match['label']}: {MARK}", text)
    if _OLD_CONTEXT in text:  # the older heading of what plugins and channels add
        recalled = re.compile(rf"(?m)^{re.escape(_OLD_CONTEXT)}[ \t]*\n(?={_RECALLED[1]})")
        text = re.sub(rf"(?m)^{re.escape(_OLD_CONTEXT)}[ \t]*$", _EVERYTHING_BELOW, recalled.sub("Context:\n", text))
    if MARK not in text and _RECALLED[1] not in text:
        return text, {}, False
    lines = text.split("\n")
    kept: list[str] = []
    facts: dict[str, Any] = {}
    labels: set[str] = set()
    has_blocks, at = False, 0
    closes = True  # whether a recalled block can still find its end: else every one would look through all that follows
    while at < len(lines):
        line = lines[at].strip()
        if line == _EVERYTHING_BELOW:
            has_blocks = True
            break
        if line == _RECALLED[0] and closes and at + 1 < len(lines) and lines[at + 1].strip() == _RECALLED[1]:
            end = _find_line(lines, _RECALLED[2], at + 2)
            if end is not None:
                has_blocks, at = True, _after_empty(lines, end + 1)
                continue
            closes = False
        if line.endswith(MARK) and line != MARK:
            label = line.removesuffix(MARK).rstrip(" :")
            has_blocks = True
            at, block = _block(lines, at + 1)
            # Only the blocks at the very head, the first of each label, are the program's; others may be typed by anybody.
            if label.endswith(_SPEAKING) and label not in labels and not any(line.strip() for line in kept):
                labels.add(label)
                first, second = (names.get("sender_id") or names.get("id") for names in (facts, block))
                # Where two blocks name different senders, neither can be believed.
                doubt = {"sender_id": "", "id": ""} if first and second and first != second else {}
                facts = {**block, **facts, **doubt}
            continue
        kept.append(lines[at])
        at += 1
    return "\n".join(kept).strip("\n"), facts, has_blocks


def _block(lines: Sequence[str], at: int) -> tuple[int, dict[str, Any]]:
    """Where a block ends, at its closing fence or at the next empty line, and what it says."""
    if at >= len(lines) or lines[at].strip() not in ("```json", "```"):
        empty = _find_line(lines, "", at)
        return _after_empty(lines, len(lines) if empty is None else empty), {}
    end = _find_line(lines, "```", at + 1)
    after = len(lines) if end is None else _after_empty(lines, end + 1)
    facts = parse_json("\n".join(lines[at + 1 : end])) or {}
    if isinstance(sender := facts.get("sender"), dict):  # until 2026 a name
        facts |= {"sender": sender.get("name") or sender.get("username"), "sender_id": sender.get("id")}
    return after, facts


def _find_line(lines: Sequence[str], text: str, begin: int) -> int | None:
    return next((at for at in range(begin, len(lines)) if lines[at].strip() == text), None)


def _after_empty(lines: Sequence[str], at: int) -> int:
    return next((place for place in range(at, len(lines)) if lines[place].strip()), len(lines))
