"""A whole conversation as one Markdown file, written and read back."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nacre.capture import cursors
from nacre.capture.cursors import any_opted_out, storable
from nacre.capture.sections import SHORT, with_the_owner
from nacre.capture.sync import SyncSetup
from nacre.clock import Clock
from nacre.errors import BadInput, NotFound
from nacre.guard import privacy
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact, redact_messages
from nacre.i18n import say
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import slug_of
from nacre.sources import consent
from nacre.sources.reading import Source, Transcript
from nacre.sources.registry import listed_as, project_name
from nacre.text.blocks import FRONT, blocks
from nacre.text.quoting import own_words
from nacre.text.tokens import language_of
from nacre.vault import disk
from nacre.vault.discover import project_of

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
    is_talk: bool = True  # of a session, whose file is brought up to date; a text is always one of its own


def checkpoint_of_session(given: SyncSetup, wanted: str | None) -> Checkpoint:
    """The session whose id begins with what is wanted; without one, the talk that went on last."""
    for source, transcript in _likely_first(given, wanted):
        session = _said(given, source, transcript)
        if session and session.kind is not Kind.ISOLATED and session.id.startswith(wanted or ""):
            return render(session, given, _of_origin(given, transcript))
    if wanted is None:
        raise NotFound(
            say("No talk with any agent was found on this machine.", "本机没有找到与任何代理的对话。"),
        )
    shown = redact(wanted).text
    raise NotFound(
        say(
            f'No session "{shown}" was found, or it is left out; "nacre sync --list" shows which talks there are.',
            f"没有找到会话“{shown}”，或者它已被排除；可用“nacre sync --list”查看有哪些对话。",
        )
    )


def checkpoint_of_hook(given: SyncSetup, told: dict[str, object]) -> Checkpoint:
    """The session that an agent's hook speaks of: by the path of its transcript, else by its id."""
    path, wanted = told.get("transcript_path"), told.get("session_id")
    if isinstance(path, str) and path:
        place = os.path.realpath(os.path.expanduser(path))
        for source, transcript in _newest_first(given):
            if transcript.path.name == os.path.basename(place) and os.path.realpath(transcript.path) == place:
                if session := _said(given, source, transcript):
                    return render(session, given, _of_origin(given, transcript))
                break
        shown = redact(path).text
        raise NotFound(
            say(
                f"{shown} holds no talk that Nacre may write down: it is empty, left out, or of an agent that it does not know.",
                f"{shown} 中没有 Nacre 可以记录的对话：它是空的、已被排除，或不属于 Nacre 所知的代理。",
            )
        )
    if not isinstance(wanted, str) or not wanted:
        raise BadInput(
            say("The hook names neither a transcript nor a session.", "钩子既没有给出对话记录，也没有给出会话。")
        )
    return checkpoint_of_session(given, wanted)


def checkpoint_of_text(given: SyncSetup, text: str, title: str | None) -> Checkpoint:
    """Plain text from a pipe; a hook's JSON is understood too."""
    if text.lstrip().startswith("{"):
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and ("transcript_path" in told or "session_id" in told):
            return checkpoint_of_hook(given, told)
    if not text.strip():
        raise BadInput(say("There is nothing to write: the input is empty.", "没有可写入的内容：输入为空。"))
    now, safe = given.clock.now(), redact(clean(text)).text
    name = redact(one_line(title)).text if title and title.strip() else _first_line(safe)
    slug = slug_of(name)[:NAME_LENGTH].strip("-") or "note"
    body = safe if safe.lstrip().startswith("# ") else f"# {name}\n\n{safe}"
    return Checkpoint(f"{now:%Y-%m-%d-%H%M}-{slug}.md", body, is_talk=False)


def render(session: Session, given: SyncSetup, told: str = "") -> Checkpoint:
    """The conversation as Markdown: who, when, what; without the messages that stand in a text already."""
    said = redact_messages(privacy.drop_private(with_the_owner(session.messages)))
    messages = [one for one in said if not any("\n".join(_block(one, given, each)) in told for each in _WHO)]
    messages = messages or [replace(session.messages[0], text="…")]
    spoken = [one for one in messages if one.speaker is Speaker.OWNER] or messages
    language = language_of(" ".join(one.text for one in spoken))
    local, last = (given.clock.local(one.at) for one in (messages[0], messages[-1]))
    title = _first_line(next(filter(str.strip, (own_words(one.text) for one in spoken)), ""))
    lines = [f"# {title}", ""]
    # From this line the layers know how old the talk is: a talk that went on is as young as its last message.
    until = f" – {last:%Y-%m-%d %H:%M}" if f"{last:%Y-%m-%d %H:%M}" > f"{local:%Y-%m-%d %H:%M}" else ""
    about = f"session:{storable(session.id)} | {session.agent} | {local:%Y-%m-%d %H:%M}{until}"
    lines += [about + (f" | {session.cwd}" if session.cwd else ""), ""]
    for message in messages:
        lines += _block(message, given, language)
    return Checkpoint(f"{local:%Y-%m-%d-%H%M}-{_short(session.id)}.md", "\n".join(lines))


def _of_origin(given: SyncSetup, transcript: Transcript) -> str:
    """The checkpoint of the session that this one was forked from, while it stands whole; nothing where there is none."""
    known = cursors.load_cursors(given.workspace).transcripts
    cursor = known.get(transcript.key) or known.get(storable(transcript.key))
    if cursor is None or not cursor.origin:
        return ""
    layers = given.workspace.tiers(given.config.tiers.path)
    found = [path for layer in ("hot", "warm") for path in layers.glob(f"{layer}/*-{_short(cursor.origin)}.md")]
    return "\n".join((disk.read_bytes(path) or b"").decode("utf-8", "replace") for path in found)


def _short(session: str) -> str:
    """A session's first characters, as its headings have them, and its last: ids made in the same minute may begin alike."""
    plain = "".join(one for one in storable(session) if one.isalnum() or one in "-_")
    return plain if len(plain) <= SHORT + 4 else f"{plain[:SHORT]}-{plain[-4:]}"


def _block(message: Message, given: SyncSetup, language: str) -> list[str]:
    who = _WHO[language][message.speaker]
    if message.name:
        who += f" ({message.name})"
    said = _SPEAKS.sub(
        r"\\\g<0>", message.text.strip()
    )  # what a page or an agent quotes must not be read back as the owner's
    return [f"**{who}** {given.clock.local(message.at):%Y-%m-%d %H:%M}", "", said, ""]


def _first_line(text: str) -> str:
    bare = (_MARKS.sub("", line).strip() for line in text.splitlines())
    line = next((line for line in bare if line), "checkpoint")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _said(given: SyncSetup, source: Source, transcript: Transcript) -> Session | None:
    """What a transcript tells and the user does not leave out; None where nothing remains, or it cannot be read."""
    try:
        session = source.read(transcript, None, given.clock.fixed).session
    except OSError:
        return None
    if session is None:
        return None
    patterns = (*consent.settings_of(given.config, session.agent).exclude, *given.exclude)
    project = project_name(session, lambda cwd: project_of(given.workspace, Path(cwd)), str(given.workspace.root))
    if consent.left_out(session, patterns, listed_as(session, project), signed=lambda: any_opted_out(given.workspace)):
        return None
    messages = consent.outside_pauses(session.messages, consent.pauses(given.workspace))
    return replace(session, messages=messages) if messages else None


def _likely_first(given: SyncSetup, wanted: str | None) -> Iterator[tuple[Source, Transcript]]:
    """Most transcripts are named for their session: those before the ones that must be read to be known."""
    found = list(_newest_first(given))
    if wanted is None:
        return iter(found)
    return iter(sorted(found, key=lambda one: wanted not in one[1].key))


def _newest_first(given: SyncSetup) -> Iterator[tuple[Source, Transcript]]:
    found = [
        (source, transcript)
        for source in given.sources
        if consent.settings_of(given.config, source.agent).enabled
        for transcript in source.find(given.places)
        if given.wanted(transcript)
    ]
    return iter(sorted(found, key=lambda one: -one[1].changed))


# A checkpoint read back as what was said: the messages of the talk that Nacre wrote down, or a text as its owner's.

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


class ParsedCheckpoint(NamedTuple):
    """What a checkpoint holds. Without a talk there is one message: the text itself, as somebody wrote it down."""

    title: str
    session: str
    agent: str
    cwd: str
    messages: tuple[Message, ...]


def parse_checkpoint(text: str, clock: Clock) -> ParsedCheckpoint:
    lines = _without_front(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")
    about = next((found for line in lines[:6] if (found := _ABOUT.fullmatch(line))), None)
    messages = tuple(_messages(lines, clock)) if about else ()
    if about and messages:
        return ParsedCheckpoint(title, about["session"], about["agent"].strip(), (about["cwd"] or "").strip(), messages)
    if labelled := tuple(_labelled(lines, clock)):
        return ParsedCheckpoint(title, "", "", "", labelled)
    body = "\n".join(line for line in lines if not _HEADING.fullmatch(line)).strip()
    whole = Message("text", clock.now(), Speaker.OWNER, body)
    return ParsedCheckpoint(title, "", "", "", (whole,) if body else ())


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
