"""Gemini CLI: one file for each session in ~/.gemini/tmp/<project>/chats, of lines, or in older versions one JSON document.

The lines are a log: a message is written again whole when its tools return, `$rewindTo` takes messages back, and
`$set.messages` tells what the model is sent from then on, where a summary may stand for what was said.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.reading import (
    Mark,
    Notes,
    Places,
    Reading,
    Source,
    Transcript,
    as_text,
    digest_of,
    follow,
    list_files,
    parse_json,
    parse_time,
    resume_at,
)

AGENT = "gemini"
LARGEST = 64_000_000  # bytes of one JSON document, which has to be read whole; a larger one holds dumps, not talk
_SPEAKERS = {"user": Speaker.OWNER, "gemini": Speaker.AGENT, "model": Speaker.AGENT}
_NOT_TALK = frozenset({"info", "error", "warning", "system"})
_INJECTED = ("<session_context>", "<hook_context>", "<state_snapshot>", "This is the Gemini CLI. We are setting up")
_SUMMARY = "<state_snapshot>"
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)|\?\Z")
_FILES = re.compile(r"\s*--- Content from referenced files ---.*?(?:--- End of content ---|\Z)", re.DOTALL)
_TOOL_ANSWER = re.compile(rb'"type":\s?"user",\s?"content":\s?\[\{"functionResponse"')
_RECENT = 16  # a message is written again only while it is among the last ones


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project; sub-agents talk in folders below. A document that became lines is left behind."""
    root = places.root(AGENT, None, ".gemini") / "tmp"
    files = sorted({*root.glob("*/chats/session-*.json*"), *root.glob("*/chats/*/*.jsonl")})
    known = {path for path in files if path.suffix == ".jsonl"}
    wanted = (
        path for path in files if path in known or (_is_document(path) and path.with_suffix(".jsonl") not in known)
    )
    return list_files(AGENT, wanted)


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment."""
    if _is_document(transcript.path):
        return _document(transcript.path, mark, until)

    def session(notes: Notes) -> Session:
        return _session(notes.facts, transcript.path, tuple(notes.messages))

    return follow(transcript.path, mark, until, _Taker(), session, uninteresting=_tool_output)


def _is_document(path: Path) -> bool:
    return path.suffix == ".json"


def _tool_output(head: bytes) -> bool:
    return bool(_TOOL_ANSWER.search(head, 0, 400))


def _session(facts: dict[str, Any], path: Path, messages: tuple[Message, ...]) -> Session:
    if not facts.get("cwd") and (root := _project_root(path)):
        facts["cwd"] = root
    isolated = facts.get("kind") == "subagent" or path.parent.parent.name == "chats"
    return Session(
        str(facts.get("sessionId") or path.stem),
        AGENT,
        Kind.ISOLATED if isolated else Kind.MAIN,
        parse_time(facts.get("startTime")),
        messages,
        cwd=str(facts.get("cwd", "")),
    )


def _project_root(path: Path) -> str:
    """The folder of the project that a session's file lies under, as the program notes it beside the chats."""
    folder = next((parent.parent for parent in path.parents if parent.name == "chats"), None)
    try:
        told = (folder / ".project_root").read_bytes() if folder else b""
    except OSError:
        return ""  # older versions write none
    return told[:4096].decode("utf-8", errors="replace").strip()


def _note(facts: dict[str, Any], told: dict[str, Any]) -> None:
    """What a header or an update tells of the session itself."""
    for name in ("sessionId", "startTime", "kind"):
        if isinstance(value := told.get(name), str):
            facts[name] = value
    if isinstance(value := told.get("start_time"), str):
        facts.setdefault("startTime", value)
    folders = told.get("directories")
    if isinstance(folders, list) and folders and isinstance(folders[0], str):
        facts.setdefault("cwd", folders[0])


class _Taker:
    def __init__(self) -> None:
        self.places: dict[str, int] = {}  # where in what was said each entry of this reading stands

    def __call__(self, entry: dict[str, Any], _at: dt.datetime | None, start: int, notes: Notes) -> bool:
        if isinstance(target := entry.get("$rewindTo"), str):
            self._rewind(target, notes)
            return True
        update = entry.get("$set")
        if not isinstance(update, dict) and "id" not in entry and isinstance(entry.get("sessionId"), str):
            update = entry  # the header
        if isinstance(update, dict):
            _note(notes.facts, update)
            if isinstance(told := update.get("messages"), list):
                self._take_sent(told, notes)
            return True
        kind, name = entry.get("type"), entry.get("id")
        if not isinstance(name, str) or (kind not in _NOT_TALK and kind not in _SPEAKERS):
            return False
        self.places.setdefault(name, len(notes.messages))
        if kind in _NOT_TALK:
            return True
        message = _message(entry, str(start))
        if message:
            self._add(message, notes)
        return message is not None

    def _add(self, message: Message, notes: Notes) -> None:
        facts = notes.facts
        recent = facts.get("recent") or []
        if message.id in recent or not message.text:
            return
        facts["recent"] = [*recent, message.id][-_RECENT:]
        facts["words"] = [*(facts.get("words") or []), _print(message)][-_RECENT:]
        facts["last"] = max(facts.get("last", ""), message.at.isoformat())
        self.places.setdefault(message.id, len(notes.messages))
        notes.messages.append(message)

    def _take_sent(self, told: list[Any], notes: Notes) -> None:
        """What the model is sent from now on: only what is younger than all that was taken before is new in it.

        Where a summary stands in it, every message in it has a new id and a new time, and none is new.
        """
        last = str(notes.facts.get("last", ""))
        found = [one for one in told if isinstance(one, dict) and isinstance(one.get("id"), str)]
        messages = [message for one in found if (message := _message(one, "")) is not None]
        if any(_SUMMARY in _text(one.get("content")) for one in found):
            notes.facts["last"] = max([last, *(message.at.isoformat() for message in messages)])
            return
        for message in messages[_copies([_print(message) for message in messages], notes.facts.get("words") or []) :]:
            if message.at.isoformat() > last:
                self._add(message, notes)

    def _rewind(self, target: str, notes: Notes) -> None:
        """Take back a message and all after it; one that an earlier reading gave out means to read all again."""
        place = self.places.get(target)
        if place is None:
            notes.taken_back = True
            self.places.clear()
            return
        del notes.messages[place:]
        self.places = {name: at for name, at in self.places.items() if at < place}


def _copies(prints: list[str], taken: list[str]) -> int:
    """How many messages at the beginning repeat what was taken before. A session that was resumed is sent it under new ids and times."""
    count = next((place for place, one in enumerate(prints) if one in taken), len(prints))
    if count == len(prints):
        return 0
    rest = taken
    while count < len(prints) and prints[count] in rest:
        rest = rest[rest.index(prints[count]) + 1 :]
        count += 1
    return count


def _print(message: Message) -> str:
    return digest_of((message.speaker, message.text))


def _document(path: Path, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """One JSON document, rewritten whole as the talk goes on: the mark counts its messages."""
    same = mark or Mark()
    with path.open("rb") as file:
        raw = file.read(LARGEST + 1)
    told = parse_json(raw) if len(raw) <= LARGEST else None
    if told is None:
        return Reading(None, same, whole=False, unknown=1)  # half written, or no transcript at all
    entries = next((told[name] for name in ("messages", "history") if isinstance(told.get(name), list)), None)
    if entries is None:
        return Reading(None, same, unknown=1)
    facts: dict[str, Any] = {}
    _note(facts, told)
    ids = [(as_text(one.get("id")) if isinstance(one, dict) else "") or str(place) for place, one in enumerate(entries)]
    begin, rewritten = resume_at(ids, mark)
    messages: list[Message] = []
    unknown, end = 0, begin
    for name, entry in zip(ids[begin:], entries[begin:], strict=True):
        message = _message(entry, name) if isinstance(entry, dict) else None
        if message and until and message.at > until:
            break
        end += 1
        if message and message.text:
            messages.append(message)
        elif not message and not (isinstance(entry, dict) and _kind(entry) in _NOT_TALK):
            unknown += 1
    session = _session(facts, path, tuple(messages))
    return Reading(session, Mark(end, digest_of(ids[:end]), facts), end == len(ids), unknown, rewritten)


def _kind(entry: dict[str, Any]) -> str:
    return as_text(entry.get("type")) or as_text(entry.get("role"))


def _message(entry: dict[str, Any], otherwise: str) -> Message | None:
    """A message, with an empty text where it holds no words of its speaker; None for an entry that is none."""
    speaker = _SPEAKERS.get(_kind(entry))
    at = parse_time(entry.get("timestamp")) or parse_time(entry.get("ts"))
    if speaker is None or at is None:
        return None
    content = entry.get("content") if "content" in entry else entry.get("parts")
    if speaker is Speaker.OWNER:
        content = entry.get("displayContent") or content  # what was typed, where files were put in for the model
    words = _text(content).strip()
    if speaker is Speaker.OWNER:
        words = _FILES.sub("", words).strip()
        if words.startswith(_INJECTED) or _COMMAND.match(words):
            words = ""
    return Message(as_text(entry.get("id")) or otherwise, at, speaker, words)


def _text(content: object) -> str:
    """The text of a message: a string, or its text parts that are neither thoughts nor the program's."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) and not part.get("thought") else part
        if isinstance(text, str):
            parts.append(text)
    if any(part.lstrip().startswith(_SUMMARY) for part in parts):
        return _SUMMARY
    return "\n".join(part for part in parts if not part.lstrip().startswith(_INJECTED))


SOURCE = Source(AGENT, find, read)
