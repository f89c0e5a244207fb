"""Cursor's agent transcripts: ~/.cursor/projects/<project>/agent-transcripts/**/*.jsonl. Few of them tell times."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.cursor.ide import told_by_the_ide
from nacre.sources.cursor.words import AGENT, answer, own_words, sent_at
from nacre.sources.reading import Mark, Notes, Places, Reading, Source, Transcript, follow, list_files, parse_time

_NOT_TALK = frozenset({"turn_ended", "turn_started", "error", "status", "metadata"})


def find(places: Places) -> Iterator[Transcript]:
    """The transcripts that the IDE's database does not tell better: it writes its own talks here a second time."""
    told = told_by_the_ide(places)
    if told is None:
        return  # it is being written to: better none now than everything twice
    root = places.root(AGENT, None, ".cursor") / "projects"
    files = (path for path in sorted(root.glob("*/agent-transcripts/**/*.jsonl")) if path.stem not in told)
    yield from list_files(AGENT, files)


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment."""

    def when(entry: dict[str, Any], notes: Notes) -> dt.datetime | None:
        """The time a prompt tells, which holds for what follows too; else that of the file."""
        if entry.get("role") == "user" and (at := sent_at(_text(entry))):
            notes.facts["at"] = at.isoformat()
        return parse_time(notes.facts.get("at")) or parse_time(transcript.changed)

    def session(notes: Notes) -> Session:
        kind = Kind.ISOLATED if "subagents" in transcript.path.parts else Kind.MAIN
        started = parse_time(notes.facts.get("started"))
        return Session(transcript.path.stem, AGENT, kind, started, tuple(notes.messages))

    return follow(transcript.path, mark, until, _take, session, uninteresting=_tool_output, time=when)


def _tool_output(head: bytes) -> bool:
    return b'[{"type":"tool_result"' in head[:200] or b'[{"type":"tool-result"' in head[:200]


def _take(entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
    role = entry.get("role")
    if role is None:
        return entry.get("type") in _NOT_TALK
    if role in ("system", "tool"):
        return True
    if role not in ("user", "assistant") or not isinstance(entry.get("message"), dict) or at is None:
        return False
    notes.facts.setdefault("started", at.isoformat())
    speaker = Speaker.OWNER if role == "user" else Speaker.AGENT
    words = own_words(_text(entry)) if role == "user" else answer(_text(entry))
    if words:
        notes.messages.append(Message(str(start), at, speaker, words))
    return True


def _text(entry: dict[str, Any]) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content if isinstance(content, list) else ():
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("tool_result", "tool-result"):
            return ""
        if kind == "text" and isinstance(text := block.get("text"), str):
            parts.append(text)
    return "\n".join(parts)


SOURCE = Source(AGENT, find, read)
