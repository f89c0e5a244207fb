"""Gemini CLI: one file for each session in ~/.gemini/tmp/<project>/chats, of lines, or in older versions one JSON document.

The lines are a log: a message is written again whole when its tools return, `$rewindTo` takes messages back, and
`$set.messages` tells what the model is sent from then on, where a summary may stand for what was said.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nacre.model import Message, Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text, parse_time

AGENT = "gemini"
_SPEAKERS = {"user": Speaker.OWNER, "gemini": Speaker.AGENT, "model": Speaker.AGENT}
_INJECTED = ("<session_context>", "<hook_context>", "<state_snapshot>", "This is the Gemini CLI. We are setting up")
_SUMMARY = "<state_snapshot>"
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)|\?\Z")
_FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
_TOOL_ANSWER = re.compile(rb'"type":\s?"user",\s?"content":\s?\[\{"functionResponse"')
_RECENT = 16  # a message is written again only while it is among the last ones


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project, and of sub-agents in folders below. A document that became lines is left behind."""
    root = places.root(AGENT) / "tmp"
    names = ("session-*.json", "session-*.jsonl", "*/*.jsonl")
    files = {path for name in names for path in root.glob(f"*/chats/{name}")}
    newest = (path for path in files if path.suffix == ".jsonl" or path.with_suffix(".jsonl") not in files)
    return reading.list_files(AGENT, sorted(newest))


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    path = transcript.path
    if path.suffix == ".jsonl":
        skip = partial(_TOOL_ANSWER.search, endpos=400)
        return reading.follow(path, mark, until, _take, partial(_session, path), skip=skip, time=_time)
    # One JSON document, rewritten whole as the session goes on.
    document = reading.parse_json(path.read_bytes())
    messages = document.get("messages", document.get("history")) if document else None
    if document is None or not isinstance(messages, list):  # half written, or no transcript at all
        return Reading(None, mark or Mark(), whole=document is not None, unknown=1)

    def make(notes: Notes) -> Session:
        _note_session(notes.facts, document)
        return _session(path, notes)

    entries = [entry for entry in messages if isinstance(entry, dict)]
    named = [{**entry, "id": as_text(entry.get("id")) or str(place)} for place, entry in enumerate(entries)]
    by_id = {entry["id"]: entry for entry in named}
    return reading.follow_list(list(by_id), by_id.__getitem__, mark, until, _take, make, _time)


def _session(path: Path, notes: Notes) -> Session:
    facts = notes.facts
    if not facts.get("cwd") and (folder := next((p.parent for p in path.parents if p.name == "chats"), None)):
        # The program notes the folder of the project beside the chats; older versions do not.
        root = folder / ".project_root"
        if cwd := root.read_bytes()[:4096].decode("utf-8", errors="replace").strip() if root.is_file() else "":
            facts["cwd"] = cwd
    isolated = facts.get("kind") == "subagent" or path.parent.parent.name == "chats"
    return notes.session(str(facts.get("sessionId") or path.stem), AGENT, isolated=isolated)


def _note_session(facts: dict[str, Any], about: dict[str, Any]) -> None:
    facts |= {name: about[name] for name in ("sessionId", "kind") if isinstance(about.get(name), str)}
    folders = about.get("directories")
    if isinstance(folders, list) and folders and as_text(folders[0]):
        facts.setdefault("cwd", folders[0])


def _time(entry: dict[str, Any], _: Notes | None = None) -> dt.datetime | None:
    return parse_time(entry.get("timestamp")) or parse_time(entry.get("ts"))


def _take(entry: dict[str, Any], _at: dt.datetime | None, start: str, notes: Notes) -> None:
    places = notes.scratch  # for each entry of this reading, how many messages stood before it
    update = entry.get("$set", None if "id" in entry else entry)  # the header is such an entry too
    if target := entry.get("$rewindTo"):
        # A message and all after it are taken back; one that an earlier reading gave out means to read all again.
        if target in places:
            place = places[target]
            del notes.messages[place:]
            notes.scratch = {name: at for name, at in places.items() if at < place}
        elif notes.resumed:
            raise reading.TakenBack
    elif update is not None:
        _note_session(notes.facts, update)
        _take_sent(update.get("messages") or [], notes)
    else:
        places.setdefault(str(entry["id"]), len(notes.messages))
        if message := _message(entry, start):
            _add(message, notes)


def _add(message: Message, notes: Notes) -> None:
    facts = notes.facts
    recent = facts.get("recent") or []
    if message.id in recent or not message.text:
        return
    facts["recent"] = [*recent, message.id][-_RECENT:]
    facts["words"] = [*(facts.get("words") or []), _digest(message)][-_RECENT:]
    facts["last"] = max(facts.get("last", ""), message.at.isoformat())
    notes.scratch.setdefault(message.id, len(notes.messages))
    notes.messages.append(message)


def _take_sent(sent: list[Any], notes: Notes) -> None:
    """What the model is sent from now on: new in it is what is younger than all that was taken before; nothing, where it holds a
    summary. A resumed session is sent what was taken before under new ids and times: its beginning is known by its words."""
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
            _add(message, notes)


def _digest(message: Message) -> str:
    return reading.digest_of((message.speaker, message.text))


def _message(entry: dict[str, Any], otherwise: str) -> Message | None:
    """The message of an entry, with an empty text where its speaker said nothing; None for an entry of another kind."""
    speaker = _SPEAKERS.get(entry.get("type") or entry.get("role") or "")
    if speaker is None:
        return None
    at = _time(entry)
    if at is None:
        raise ValueError("no time")
    content = entry.get("content", entry.get("parts"))
    words = _text(content).strip()
    if speaker is Speaker.OWNER:
        # Where files were put in for the model, this is what was typed.
        words = _FILES.sub("", _text(entry.get("displayContent") or content).strip()).strip()
        words = "" if words.startswith(_INJECTED) or _COMMAND.match(words) else words
    return Message(as_text(entry.get("id")) or otherwise, at, speaker, words)


def _text(content: Any) -> str:
    """The text of a message: a string, or its text parts that are neither thoughts nor the program's."""
    if isinstance(content, str):
        return content
    blocks = [content] if isinstance(content, dict) else content or ()
    texts = (part if isinstance(part, str) else not part.get("thought") and part.get("text") for part in blocks)
    parts = [text for text in texts if isinstance(text, str)]
    if any(part.lstrip().startswith(_SUMMARY) for part in parts):
        return _SUMMARY
    return "\n".join(part for part in parts if not part.lstrip().startswith(_INJECTED))


SOURCE = Source(AGENT, find, read)
