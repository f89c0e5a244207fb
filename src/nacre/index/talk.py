"""A talk as a document: one block of lines for each message, numbered alike in the index and for whoever reads it.

Secrets are taken out here, whole messages at a time, before a line of them goes anywhere.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from nacre.guard.sanitise import clean
from nacre.guard.secrets import name_kept, redact
from nacre.index.document import Part
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.chats import group_stamp
from nacre.sources.whose import project_name
from nacre.text.chunk import stretches
from nacre.text.stamps import Stamp
from nacre.text.tokens import tokens
from nacre.vault.projects import project_of
from nacre.vault.workspace import Workspace, slug_of

LAYER = "session"
FOLDER = "sessions/"
FIRST = 3  # where the first message begins: the title and an empty line stand above it
_NAMES = {Speaker.OWNER: "Owner", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"}
_UNUSUAL = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100
Local = Callable[[dt.datetime], dt.datetime]


class About(NamedTuple):
    """What holds for every message of a session."""

    agent: str
    session: str
    project: str | None = None
    group: str | None = None

    @property
    def title(self) -> str:
        parts = [f"{self.agent} session:{plain(self.session)}"]
        parts += [f"project:{self.project}"] if self.project else []
        parts += [f"group:{self.group}"] if self.group else []
        return " | ".join(parts)


class Block(NamedTuple):
    """One message: its heading, then its words, from line `first` on."""

    message: Message
    at: dt.datetime  # as the user's clock told it
    first: int
    lines: tuple[str, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def plain(name: str) -> str:
    """A name that can stand in a path and in a heading."""
    return _UNUSUAL.sub("-", redact(name).text)[:_LONGEST_NAME].strip(".-") or "unnamed"


def about(workspace: Workspace, session: Session) -> About:
    project = project_name(session, lambda cwd: project_of(workspace, Path(cwd)), str(workspace.root))
    group = session.group if session.kind is Kind.GROUP else ""
    stamp = group_stamp(group, session.chat) if group else None
    return About(session.agent, name_kept(session.id), slug_of(redact(project).text) if project else None, stamp)


def path_of(about: About) -> str:
    return f"{FOLDER}{plain(about.agent)}/{plain(about.session)}.md"


def lines_of(message: Message, local: Local) -> tuple[str, ...]:
    """The heading of a message and its words; nothing where no word is left."""
    words = redact(clean(message.text)).text.strip()
    if not words:
        return ()
    return (f"## {local(message.at):%Y-%m-%d %H:%M} {_NAMES[message.speaker]}", *words.split("\n"))


def blocks(messages: Iterable[Message], first: int, local: Local) -> list[Block]:
    """The messages one below the other, from a line on, with an empty line after each."""
    found: list[Block] = []
    for message in messages:
        if lines := lines_of(message, local):
            found.append(Block(message, local(message.at), first, lines))
            first = found[-1].last + 2
    return found


def parts_of(about: About, path: str, block: Block, *, size: int, overlap: int) -> list[Part]:
    """A message as chunks: one, unless it is long. The first begins with the line that says who speaks."""
    heading = f"{about.title} > {block.lines[0].removeprefix('## ')}"
    found: list[Part] = []
    for piece, chunk in enumerate(stretches(list(block.lines[1:]), size=size, overlap=overlap)):
        basis = f"{path}\n{heading}\n{block.message.id}\n{piece}\n{chunk.text}"
        found.append(
            Part(
                key=hashlib.blake2b(basis.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest(),
                first=block.first + (chunk.start if piece else 0),
                last=block.first + chunk.end,
                heading=heading,
                text=chunk.text,
                date=block.at.date().isoformat(),
                stamp=Stamp(block.at.isoformat(), about.session, about.project, about.group),
                project=about.project,
                audience=about.group,
                label=block.message.speaker.value,
                tags=(),
                context="",
            )
        )
    return found


def heading_tokens(part: Part) -> str:
    """The words above a message by which it is found too: its project and its group."""
    return " ".join(tokens(f"{part.project or ''} {part.audience or ''}"))
