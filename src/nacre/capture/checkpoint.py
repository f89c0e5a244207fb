"""A whole conversation as one Markdown file: from a session of an agent, from what a hook says, or from plain text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from nacre.capture.redacted import redacted
from nacre.capture.sync import Setting
from nacre.errors import BadInput, NotFound
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.transcript import Source, Transcript
from nacre.text.language import language_of
from nacre.vault.workspace import slug_of
from nacre.words import say

_WHO = {
    "en": {Speaker.OWNER: "User", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"},
    "zh": {Speaker.OWNER: "用户", Speaker.AGENT: "助手", Speaker.OTHER: "他人"},
}
_TITLE = 60  # characters
_MARKS = re.compile(r"\A[#>*\s-]+")


class Checkpoint(NamedTuple):
    name: str
    text: str


def of_session(given: Setting, wanted: str | None) -> Checkpoint:
    """The session whose id begins with what is wanted; without one, the talk that went on last."""
    newest: Session | None = None
    for source, transcript in _newest_first(given):
        if wanted and not _may_be(transcript, wanted):
            continue
        session = source.read(transcript, None, given.clock.fixed).session
        if session is None or session.kind is Kind.ISOLATED or not session.messages:
            continue
        if wanted is None or session.id.startswith(wanted):
            newest = session
            break
    if newest is None:
        raise NotFound(
            say(
                f'No session "{wanted}" was found; "nacre sync --list" shows what there is.'
                if wanted
                else "No session of any agent was found on this machine.",
                f"没有找到会话“{wanted}”；可用“nacre sync --list”查看。" if wanted else "本机没有找到任何代理的会话。",
            )
        )
    return rendered(newest, given)


def _may_be(transcript: Transcript, wanted: str) -> bool:
    """Whether a transcript can hold the session: most are named for it; one file of many sessions says so in its key."""
    return wanted in transcript.key or "#" not in transcript.key


def of_hook(given: Setting, told: dict[str, object]) -> Checkpoint:
    """The session that an agent's hook speaks of: by the path of its transcript, else by its id."""
    path = told.get("transcript_path")
    if isinstance(path, str) and path:
        for source, transcript in _newest_first(given):
            if os.path.realpath(transcript.path) == os.path.realpath(os.path.expanduser(path)):
                session = source.read(transcript, None, given.clock.fixed).session
                if session and session.messages:
                    return rendered(session, given)
        raise NotFound(
            say(
                f"{path} is not a transcript of an agent that Nacre knows.",
                f"{path} 不是 Nacre 所知代理的对话记录。",
            )
        )
    wanted = told.get("session_id")
    if not isinstance(wanted, str) or not wanted:
        raise BadInput(
            say("The hook names neither a transcript nor a session.", "钩子既没有给出对话记录，也没有给出会话。")
        )
    return of_session(given, wanted)


def of_text(given: Setting, text: str, title: str | None) -> Checkpoint:
    """Plain text from a pipe; a hook's JSON is understood too."""
    if text.lstrip().startswith("{"):
        try:
            told = json.loads(text)
        except ValueError:
            told = None
        if isinstance(told, dict) and ("transcript_path" in told or "session_id" in told):
            return of_hook(given, told)
    if not text.strip():
        raise BadInput(say("There is nothing to write: the input is empty.", "没有可写入的内容：输入为空。"))
    now = given.clock.now()
    name = title or _first_line(text)
    slug = slug_of(name)[:40].strip("-") or "note"
    body = text if text.lstrip().startswith("# ") else f"# {name}\n\n{text}"
    return Checkpoint(f"{now:%Y-%m-%d-%H%M}-{slug}.md", body)


def rendered(session: Session, given: Setting) -> Checkpoint:
    """The conversation as Markdown: who, when, what."""
    messages = redacted(session.messages)
    spoken = [one for one in messages if one.speaker is Speaker.OWNER] or messages
    language = language_of(" ".join(one.text for one in spoken))
    local = given.clock.local(messages[0].at)
    title = _first_line(spoken[0].text)
    lines = [f"# {title}", ""]
    about = f"session:{session.id} | {session.agent} | {local:%Y-%m-%d %H:%M}"
    lines += [about + (f" | {session.cwd}" if session.cwd else ""), ""]
    for message in messages:
        lines += _block(message, given, language)
    slug = "".join(one for one in session.id if one.isalnum() or one in "-_")[:8]
    return Checkpoint(f"{local:%Y-%m-%d-%H%M}-{slug}.md", "\n".join(lines))


def _block(message: Message, given: Setting, language: str) -> list[str]:
    who = _WHO[language][message.speaker]
    if message.name:
        who += f" ({message.name})"
    return [f"**{who}** {given.clock.local(message.at):%Y-%m-%d %H:%M}", "", message.text.strip(), ""]


def _first_line(text: str) -> str:
    bare = (_MARKS.sub("", line).strip() for line in text.splitlines())
    line = next((line for line in bare if line), "checkpoint")
    return line if len(line) <= _TITLE else line[: _TITLE - 1] + "…"


def _newest_first(given: Setting) -> Iterator[tuple[Source, Transcript]]:
    found = [
        (source, transcript)
        for source in given.sources
        for transcript in source.find(given.places)
        if given.wanted(transcript)
    ]
    return iter(sorted(found, key=lambda one: -one[1].changed))
