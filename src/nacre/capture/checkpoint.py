"""A whole conversation as one Markdown file, written and read back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from nacre.capture.cursors import SHORT, load_cursors, storable
from nacre.capture.read import SyncSetup, list_transcripts, read_session
from nacre.clock import Clock
from nacre.errors import BadInput, NotFound
from nacre.guard import privacy
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact, redact_messages
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import slug_of
from nacre.sources.transcript import Source, Transcript
from nacre.text.blocks import FRONT, blocks
from nacre.text.quoting import own_words
from nacre.text.tokens import language_of
from nacre.vault import disk

_WHO = {
    "en": {Speaker.OWNER: "User", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"},
    "zh": {Speaker.OWNER: "用户", Speaker.AGENT: "助手", Speaker.OTHER: "他人"},
}
_TITLE = 60  # characters
NAME_LENGTH = 40  # characters of the name of a file that are made of its title
_SPEAKS = re.compile(r"(?m)^[^\S\n]*\*\*(?:User|Agent|Other|用户|助手|他人)(?: \([^)\n]*\))?\*\*")
_MARKS = re.compile(r"\A[#>*\s-]+")


class Checkpoint(NamedTuple):
    name: str
    text: str
    is_session: bool = True  # of a session, whose file is brought up to date; a text is always one of its own


def checkpoint_of_session(setup: SyncSetup, session_id: str | None) -> Checkpoint:
    """The session whose id begins so; without one, the session that went on last."""
    transcripts = _newest_first(setup)
    if session_id is not None:  # most transcripts are named for their session: those before the ones that must be read
        transcripts.sort(key=lambda pair: session_id not in pair[1].key)
    for source, transcript in transcripts:
        session = read_session(setup.context, source, transcript, setup.exclude)
        if session and session.kind is not Kind.ISOLATED and session.id.startswith(session_id or ""):
            return render(session, setup, transcript)
    if session_id is None:
        raise NotFound("No session with any agent was found on this machine.", "本机没有找到与任何代理的对话。")
    shown = redact(session_id).text
    raise NotFound(
        f'No session "{shown}" was found, or it is left out. The headings of the daily logs name sessions by their ids.',
        f"没有找到会话“{shown}”，或者它已被排除。每日日志的标题中写有会话的 id。",
    )


def checkpoint_of_text(setup: SyncSetup, text: str, title: str | None) -> Checkpoint:
    """Plain text from a pipe; a hook's JSON names its session."""
    if text.lstrip().startswith("{"):
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict) and ("transcript_path" in event or "session_id" in event):
            return _checkpoint_of_hook(setup, event)
    if not text.strip():
        raise BadInput("There is nothing to write: the input is empty.", "没有可写入的内容：输入为空。")
    safe = redact(clean(text)).text
    name = redact(one_line(title)).text if title and title.strip() else _first_line(safe)
    slug = slug_of(name)[:NAME_LENGTH].strip("-") or "note"
    body = safe if safe.lstrip().startswith("# ") else f"# {name}\n\n{safe}"
    return Checkpoint(f"{setup.context.clock.now():%Y-%m-%d-%H%M}-{slug}.md", body, is_session=False)


def _checkpoint_of_hook(setup: SyncSetup, event: dict[str, Any]) -> Checkpoint:
    """The session that an agent's hook names: by the path of its transcript, else by its id."""
    path, session_id = event.get("transcript_path"), event.get("session_id")
    if isinstance(path, str) and path:
        place = os.path.realpath(os.path.expanduser(path))
        for source, transcript in _newest_first(setup):
            if transcript.path.name == os.path.basename(place) and os.path.realpath(transcript.path) == place:
                if session := read_session(setup.context, source, transcript, setup.exclude):
                    return render(session, setup, transcript)
                break
        shown = redact(path).text
        raise NotFound(
            f"{shown} holds no session that Nacre may write down: it is empty, left out, or of an agent that it does not know.",
            f"{shown} 中没有 Nacre 可以记录的对话：它是空的、已被排除，或不属于 Nacre 所知的代理。",
        )
    if not isinstance(session_id, str) or not session_id:
        raise BadInput("The hook names neither a transcript nor a session.", "钩子既没有给出对话记录，也没有给出会话。")
    return checkpoint_of_session(setup, session_id)


def _newest_first(setup: SyncSetup) -> list[tuple[Source, Transcript]]:
    pairs = list_transcripts(setup.context, setup.places, setup.sources)
    return sorted((pair for pair in pairs if setup.wanted(pair[1])), key=lambda pair: -pair[1].changed)


def render(session: Session, setup: SyncSetup, transcript: Transcript) -> Checkpoint:
    """The conversation as Markdown: who, when, what; without the messages that stand in the checkpoint of its origin."""
    clock, origin = setup.context.clock, _text_of_origin(setup, transcript)
    with_owner: list[Message] = []  # without other people in a group, and what the agent said to them
    asked_by = Speaker.OWNER
    for message in session.messages:
        asked_by = asked_by if message.speaker is Speaker.AGENT else message.speaker
        if asked_by is Speaker.OWNER:
            with_owner.append(message)
    messages = [
        message
        for message in redact_messages(privacy.drop_private(with_owner))
        if not any("\n".join(_block(message, clock, language)) in origin for language in _WHO)
    ] or [replace(session.messages[0], text="…")]
    spoken = [message for message in messages if message.speaker is Speaker.OWNER] or messages
    language = language_of(" ".join(message.text for message in spoken))
    title = _first_line(next(filter(str.strip, (own_words(message.text) for message in spoken)), ""))
    first, last = (f"{clock.local(message.at):%Y-%m-%d %H:%M}" for message in (messages[0], messages[-1]))
    # From this line the layers know how old the session is: one that went on is as young as its last message.
    about = f"session:{storable(session.id)} | {session.agent} | {first}" + (f" – {last}" if last > first else "")
    lines = [f"# {title}", "", about + (f" | {session.cwd}" if session.cwd else ""), ""]
    for message in messages:
        lines += _block(message, clock, language)
    name = f"{clock.local(messages[0].at):%Y-%m-%d-%H%M}-{_short(session.id)}.md"
    return Checkpoint(name, "\n".join(lines))


def _text_of_origin(setup: SyncSetup, transcript: Transcript) -> str:
    """The checkpoint of the session that this one was forked from, while it stands whole."""
    cursors = load_cursors(setup.context.workspace).transcripts
    cursor = cursors.get(transcript.key) or cursors.get(storable(transcript.key))
    if cursor is None or not cursor.origin:
        return ""
    layers = setup.context.workspace.tiers(setup.context.config.tiers.path)
    paths = [path for layer in ("hot", "warm") for path in layers.glob(f"{layer}/*-{_short(cursor.origin)}.md")]
    return "\n".join((disk.read_bytes(path) or b"").decode("utf-8", "replace") for path in paths)


def _short(session: str) -> str:
    """A session's first characters, as its headings have them, and its last: ids made in the same minute may begin alike."""
    plain = "".join(sign for sign in storable(session) if sign.isalnum() or sign in "-_")
    return plain if len(plain) <= SHORT + 4 else f"{plain[:SHORT]}-{plain[-4:]}"


def _block(message: Message, clock: Clock, language: str) -> list[str]:
    who = _WHO[language][message.speaker] + (f" ({message.name})" if message.name else "")
    # What a page or an agent quotes must not be read back as the owner's.
    said = _SPEAKS.sub(r"\\\g<0>", message.text.strip())
    return [f"**{who}** {clock.local(message.at):%Y-%m-%d %H:%M}", "", said, ""]


def _first_line(text: str) -> str:
    bare = (_MARKS.sub("", line).strip() for line in text.splitlines())
    line = next(filter(None, bare), "checkpoint")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


# A checkpoint read back: the messages of the session that Nacre wrote down, or a text as its owner's.

_ABOUT = re.compile(
    r"session:(?P<session>\S+) \| (?P<agent>[^|]+) \| \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^|\n]*(?:\| (?P<cwd>.+))?"
)
_SPOKEN = re.compile(
    r"\*\*(?P<who>User|Agent|Other|用户|助手|他人)(?: \((?P<name>[^)\n]*)\))?\*\* (?P<at>\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s*"
)
# As people and other tools write conversations down: "**User:** …", "User: …", "**用户**：…".
_LABELLED = re.compile(
    r"(?:[-*+>]\s+)?(?P<bold>\*\*|__)?(?P<who>user|me|owner|human|agent|assistant|ai|bot|claude|codex|用户|我|助手|代理|助理)"
    r"(?:(?P=bold))?\s*[:：]\s*(?:\*\*|__)?\s*(?P<said>.*)",
    re.IGNORECASE,
)
_OWNERS = frozenset({"user", "me", "owner", "human", "用户", "我"})
_SPEAKERS = {"User": Speaker.OWNER, "用户": Speaker.OWNER, "Agent": Speaker.AGENT, "助手": Speaker.AGENT}
_HEADING = re.compile(r"#{1,6} .*")


class ParsedCheckpoint(NamedTuple):
    """What a checkpoint holds. Without a conversation there is one message: the text itself, as somebody wrote it down."""

    title: str
    session: str
    agent: str
    cwd: str
    messages: tuple[Message, ...]


def parse_checkpoint(text: str, clock: Clock) -> ParsedCheckpoint:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    front = next(iter(blocks(lines)), None) if lines[0].rstrip() == "---" else None
    if front and front.kind == FRONT:
        lines = lines[front.end :]
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")
    about = next(filter(None, map(_ABOUT.fullmatch, lines[:6])), None)
    with suppress(BadInput):  # a time that somebody changed to none makes it a text like any other
        if about and (messages := tuple(_messages(lines, clock))):
            cwd = (about["cwd"] or "").strip()
            return ParsedCheckpoint(title, about["session"], about["agent"].strip(), cwd, messages)
    if labelled := _labelled(lines, clock):
        return ParsedCheckpoint(title, "", "", "", labelled)
    body = "\n".join(line for line in lines if not _HEADING.fullmatch(line)).strip()
    whole = Message("text", clock.now(), Speaker.OWNER, body)
    return ParsedCheckpoint(title, "", "", "", (whole,) if body else ())


def _messages(lines: list[str], clock: Clock) -> Iterator[Message]:
    """The messages below the lines that name their speaker and time."""
    starts = [(number, match) for number, line in enumerate(lines) if (match := _SPOKEN.fullmatch(line))]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for place, ((number, match), end) in enumerate(zip(starts, ends, strict=True)):
        if words := "\n".join(lines[number + 1 : end]).strip():
            at, speaker = clock.parse(match["at"].replace(" ", "T")), _SPEAKERS.get(match["who"], Speaker.OTHER)
            yield Message(str(place), at, speaker, words, match["name"] or "")


def _labelled(lines: list[str], clock: Clock) -> tuple[Message, ...]:
    """A conversation whose lines name their speakers; nothing where fewer than two do."""
    turns: list[tuple[Speaker, list[str]]] = []
    for line in lines:
        if match := _LABELLED.fullmatch(line):
            speaker = Speaker.OWNER if match["who"].casefold() in _OWNERS else Speaker.AGENT
            turns.append((speaker, [match["said"]]))
        elif turns and not _HEADING.fullmatch(line):
            turns[-1][1].append(line)
    if len({speaker for speaker, _ in turns}) < 2:
        return ()
    said = ((speaker, "\n".join(parts).strip()) for speaker, parts in turns)
    return tuple(Message(str(at), clock.now(), speaker, words) for at, (speaker, words) in enumerate(said) if words)
