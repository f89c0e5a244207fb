"""Gemini CLI: one file for each session in ~/.gemini/tmp/<project>/chats, of lines, or in older versions one JSON document.

The lines are a log: a message is written again whole when its tools return, `$rewindTo` takes messages back, and
`$set.messages` tells what the model is sent from then on, where a summary may stand for what was said.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.reading import (
    Notes,
    as_dict,
    as_list,
    as_text,
    digest_of,
    follow,
    list_files,
    parse_json,
    parse_time,
    resume_at,
)
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

AGENT = "gemini"
_SPEAKERS = {"user": Speaker.OWNER, "gemini": Speaker.AGENT, "model": Speaker.AGENT}
_NO_MESSAGE = frozenset({"info", "error", "warning", "system"})
_INJECTED = ("<session_context>", "<hook_context>", "<state_snapshot>", "This is the Gemini CLI. We are setting up")
_SUMMARY = "<state_snapshot>"
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)|\?\Z")
_FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
_TOOL_ANSWER = re.compile(rb'"type":\s?"user",\s?"content":\s?\[\{"functionResponse"')
_RECENT = 16  # a message is written again only while it is among the last ones


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project, and of sub-agents in folders below. A document that became lines is left behind."""
    root = places.root(AGENT, None, ".gemini") / "tmp"
    names = ("session-*.json", "session-*.jsonl", "*/*.jsonl")
    files = {path for name in names for path in root.glob(f"*/chats/{name}")}
    return list_files(AGENT, sorted(p for p in files if p.suffix == ".jsonl" or p.with_suffix(".jsonl") not in files))


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    path = transcript.path
    if path.suffix == ".json":
        return _read_document(path, mark, until)
    reading, notes = follow(path, mark, until, _Taker(), skip=partial(_TOOL_ANSWER.search, endpos=400))
    return replace(reading, session=_session(notes, path))


def _session(notes: Notes, path: Path) -> Session:
    facts = notes.facts
    if not facts.get("cwd") and (folder := next((p.parent for p in path.parents if p.name == "chats"), None)):
        # The program notes the folder of the project beside the chats; older versions do not.
        root = folder / ".project_root"
        if cwd := root.read_bytes()[:4096].decode("utf-8", errors="replace").strip() if root.is_file() else "":
            facts["cwd"] = cwd
    isolated = facts.get("kind") == "subagent" or path.parent.parent.name == "chats"
    kind, name = Kind.ISOLATED if isolated else Kind.MAIN, str(facts.get("sessionId") or path.stem)
    return notes.session(name, AGENT, kind, started=facts.get("startTime"))


def _note_session(facts: dict[str, Any], about: dict[str, Any]) -> None:
    for name in ("sessionId", "startTime", "kind"):
        if isinstance(value := about.get(name), str):
            facts[name] = value
    if isinstance(value := about.get("start_time"), str):
        facts.setdefault("startTime", value)
    if (folders := as_list(about.get("directories"))) and isinstance(folders[0], str):
        facts.setdefault("cwd", folders[0])


class _Taker:
    def __init__(self) -> None:
        self.places: dict[str, int] = {}  # for each entry of this reading, how many messages stood before it

    def __call__(self, entry: dict[str, Any], _at: dt.datetime | None, start: int, notes: Notes) -> bool:
        if isinstance(target := entry.get("$rewindTo"), str):
            # A message and all after it are taken back; one that an earlier reading gave out means to read all again.
            notes.taken_back |= target not in self.places
            place = self.places.get(target, 0)
            del notes.messages[place if target in self.places else len(notes.messages) :]
            self.places = {name: at for name, at in self.places.items() if at < place}
            return True
        update = entry.get("$set")
        if not isinstance(update, dict) and "id" not in entry and isinstance(entry.get("sessionId"), str):
            update = entry  # the header
        if isinstance(update, dict):
            _note_session(notes.facts, update)
            if isinstance(sent := update.get("messages"), list):
                self._take_sent(sent, notes)
            return True
        kind, name = entry.get("type"), entry.get("id")
        if not isinstance(name, str) or (kind not in _NO_MESSAGE and kind not in _SPEAKERS):
            return False
        self.places.setdefault(name, len(notes.messages))
        if kind not in _NO_MESSAGE and (message := _message(entry, str(start))):
            self._add(message, notes)
            return True
        return kind in _NO_MESSAGE

    def _add(self, message: Message, notes: Notes) -> None:
        facts = notes.facts
        recent = facts.get("recent") or []
        if message.id in recent or not message.text:
            return
        facts["recent"] = [*recent, message.id][-_RECENT:]
        facts["words"] = [*(facts.get("words") or []), _digest(message)][-_RECENT:]
        facts["last"] = max(facts.get("last", ""), message.at.isoformat())
        self.places.setdefault(message.id, len(notes.messages))
        notes.messages.append(message)

    def _take_sent(self, sent: list[Any], notes: Notes) -> None:
        """What the model is sent from now on: only what is younger than all that was taken before is new in it.

        Where a summary stands in it, every message in it has a new id and a new time, and none is new. A session that was
        resumed is sent what was taken before under new ids and times: so much of its beginning is known by its words.
        """
        last = str(notes.facts.get("last", ""))
        entries = [entry for entry in sent if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
        messages = [message for entry in entries if (message := _message(entry, "")) is not None]
        if any(_SUMMARY in _text(entry.get("content")) for entry in entries):
            notes.facts["last"] = max([last, *(message.at.isoformat() for message in messages)])
            return
        taken = notes.facts.get("words") or []
        digests = [_digest(message) for message in messages]
        begin = next((place for place, digest in enumerate(digests) if digest in taken), 0)
        while begin < len(digests) and digests[begin] in taken:
            taken = taken[taken.index(digests[begin]) + 1 :]
            begin += 1
        for message in messages[begin:]:
            if message.at.isoformat() > last:
                self._add(message, notes)


def _digest(message: Message) -> str:
    return digest_of((message.speaker, message.text))


def _read_document(path: Path, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """One JSON document, rewritten whole as the session goes on: the mark counts its messages."""
    document = parse_json(path.read_bytes())
    if document is None:
        return Reading(None, mark or Mark(), whole=False, unknown=1)  # half written, or no transcript at all
    lists = [document[name] for name in ("messages", "history") if isinstance(document.get(name), list)]
    if not lists:
        return Reading(None, mark or Mark(), unknown=1)
    notes, entries = Notes(), list(map(as_dict, lists[0]))
    _note_session(notes.facts, document)
    ids = [as_text(entry.get("id")) or str(place) for place, entry in enumerate(entries)]
    begin, rewritten = resume_at(ids, mark)
    unknown, end = 0, begin
    for name, entry in zip(ids[begin:], entries[begin:], strict=True):
        message = _message(entry, name)
        if message and until and message.at > until:
            break
        end += 1
        if message and message.text:
            notes.messages.append(message)
        elif not message:
            unknown += _kind(entry) not in _NO_MESSAGE
    reached = Mark(end, digest_of(ids[:end]), notes.facts)
    return Reading(_session(notes, path), reached, end == len(ids), unknown, rewritten)


def _kind(entry: dict[str, Any]) -> str:
    return as_text(entry.get("type")) or as_text(entry.get("role"))


def _message(entry: dict[str, Any], otherwise: str) -> Message | None:
    """A message, with an empty text where it holds no words of its speaker; None for an entry that is none."""
    speaker = _SPEAKERS.get(_kind(entry))
    at = parse_time(entry.get("timestamp")) or parse_time(entry.get("ts"))
    if speaker is None or at is None:
        return None
    content = entry.get("content") if "content" in entry else entry.get("parts")
    words = _text(content).strip()
    if speaker is Speaker.OWNER:
        typed = _text(entry.get("displayContent") or content)  # where files were put in for the model
        words = _FILES.sub("", typed.strip()).strip()
        words = "" if words.startswith(_INJECTED) or _COMMAND.match(words) else words
    return Message(as_text(entry.get("id")) or otherwise, at, speaker, words)


def _text(content: object) -> str:
    """The text of a message: a string, or its text parts that are neither thoughts nor the program's."""
    if isinstance(content, str):
        return content
    blocks = [content] if isinstance(content, dict) else as_list(content)
    texts = (part.get("text") if isinstance(part, dict) and not part.get("thought") else part for part in blocks)
    parts = [text for text in texts if isinstance(text, str)]
    if any(part.lstrip().startswith(_SUMMARY) for part in parts):
        return _SUMMARY
    return "\n".join(part for part in parts if not part.lstrip().startswith(_INJECTED))


SOURCE = Source(AGENT, find, read)
