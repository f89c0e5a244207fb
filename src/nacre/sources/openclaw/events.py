"""OpenClaw's events, the same in both generations: which carry talk, whose it is, what kind of session they make."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.openclaw.envelope import answer, called, is_isolated, is_silence, opened
from nacre.sources.reading import Notes, as_text, parse_time

AGENT = "openclaw"
_NOT_TALK = frozenset(
    {"model_change", "thinking_level_change", "custom", "custom_message", "compaction", "reset", "branch_summary"}
    | {"label", "session_info", "leaf"}
)
_BROUGHT_OVER = "-catalog-import"  # of another agent, whose own transcripts are read where they stand
_EARLIEST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)  # a clock that tells an earlier time is wrong
_AGENT_OF_KEY = re.compile(r"\Aagent:[^:]*:")  # an agent may be called "node" or "hook"
_ISOLATED_KEY = re.compile(
    r"(?:\A|:)(?:(?:cron|hook|subagent|acp|internal|internal-session-effects|dreaming|boot|node|update-repair|setup-inference):"
    r"|heartbeat(?:\Z|-recovered-))"
)
_GROUP_KEY = re.compile(r"(?:\A|:)(?:group|channel):")
_DIRECT_KEY = re.compile(r":([a-z0-9_-]+):(?:direct|dm):([^:]+)")


def kind_of_key(key: str) -> Kind:
    """The kind of a session by its key."""
    key = _AGENT_OF_KEY.sub("", key)
    if _ISOLATED_KEY.search(key):
        return Kind.ISOLATED
    return Kind.GROUP if _GROUP_KEY.search(key) else Kind.MAIN


def owner_ids(keys: Iterable[str]) -> tuple[str, ...]:
    """The owner's ids on the channels where one person alone talks to the agent directly."""
    people: dict[str, set[str]] = {}
    for key in keys:
        if found := _DIRECT_KEY.search(key):
            people.setdefault(found[1], set()).add(found[2])
    return tuple(sorted(next(iter(ids)) for ids in people.values() if len(ids) == 1))


def tool_output(head: bytes) -> bool:
    """Whether a line is what a tool returned, by its first bytes."""
    return b'"role":"toolResult"' in head[:400] or b'"role": "toolResult"' in head[:400]


class Taker:
    """Takes events in, one after the other; what it must know of earlier ones lies in the notes' facts."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.owners = frozenset(known.get("owners", ()))
        self.in_group = known.get("kind") is Kind.GROUP
        self.doubtful: str | None = None  # a message that only its answer tells to be the user's or the program's

    def __call__(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        facts = notes.facts
        kind = entry.get("type")
        if kind == "session":
            for name in ("id", "cwd"):
                if isinstance(value := entry.get(name), str):
                    facts.setdefault(name, value)
            if at:
                facts.setdefault("started", at.isoformat())
            return True
        if kind in _NOT_TALK:
            return True
        message = entry.get("message")
        if kind != "message" or not isinstance(message, dict):
            return False
        role = message.get("role")
        if role in ("toolResult", "tool", "system", "custom", "bashExecution"):
            return True
        at = _written(message.get("timestamp"), at)
        if role not in ("user", "assistant") or at is None:
            return False
        marks = message.get("__openclaw")
        marks = marks if isinstance(marks, dict) else {}
        if as_text(marks.get("mirrorOrigin")).endswith(_BROUGHT_OVER):
            return True
        text = words(message.get("content"))
        entry_id = str(entry.get("id") or start)
        if role == "assistant":
            self._answer(entry_id, at, text, message, notes)
        else:
            self._said(entry_id, at, text, message, marks, notes)
        return True

    def _said(
        self, entry_id: str, at: dt.datetime, text: str, message: dict[str, Any], marks: dict[str, Any], notes: Notes
    ) -> None:
        facts = notes.facts
        if not facts.get("begun"):
            facts["begun"] = True
            facts["isolated"] = is_isolated(text)
        said = opened(text)
        facts.pop("program", None)
        if said.program or message.get("display") is False or not _by_a_person(message.get("provenance")):
            facts["program"] = True  # and so is what the agent answers
            return
        in_group = self.in_group or said.in_group
        if said.in_group:
            facts["group"] = said.group or facts.get("group") or "group"
        flag = marks.get("senderIsOwner")
        is_owner = flag if isinstance(flag, bool) else None
        if is_owner is None and in_group:
            # What the program itself says of the sender goes before what stands in the text, where anybody can write.
            is_owner = (as_text(marks.get("senderId")) or said.sender_id) in self.owners
        self.doubtful = None if said.sent or "senderIsOwner" in marks or "transport" in marks else entry_id
        if not said.words:
            return
        speaker = Speaker.OTHER if is_owner is False else Speaker.OWNER
        named = in_group or speaker is Speaker.OTHER
        name = (said.name or called(marks.get("senderName"))) if named else ""
        notes.messages.append(Message(entry_id, at, speaker, said.words, name))

    def _answer(self, entry_id: str, at: dt.datetime, text: str, message: dict[str, Any], notes: Notes) -> None:
        if is_silence(text):
            if notes.messages and notes.messages[-1].id == self.doubtful:
                notes.messages.pop()
            return
        if notes.facts.get("program") or _is_the_programs(message):
            return
        if spoken := answer(text):
            notes.messages.append(Message(entry_id, at, Speaker.AGENT, spoken))


def _written(told: object, stored: dt.datetime | None) -> dt.datetime | None:
    """When somebody wrote a message: it may have waited long before it was stored, but was never written after that."""
    at = parse_time(told)
    if stored is None or at is None:
        return stored or at
    return at if _EARLIEST <= at <= stored else stored


def _by_a_person(provenance: object) -> bool:
    """Whether a user message came from outside: what other sessions and the program itself send says so."""
    return not isinstance(provenance, dict) or provenance.get("kind") in (None, "external_user")


def _is_the_programs(message: dict[str, Any]) -> bool:
    """Whether an answer is no answer of the model: a notice, or what was delivered, told once more.

    What the agent said by its message tool stands only there.
    """
    mirror = message.get("openclawDeliveryMirror")
    kind = mirror.get("kind") if isinstance(mirror, dict) else None
    if kind == "message-tool-source-reply":
        return False
    is_own = message.get("provider") == AGENT and message.get("model") in ("delivery-mirror", "gateway-injected")
    return is_own or kind in ("channel-final", "channel-final-suppressed", "cron-direct-delivery-context")


def words(content: object) -> str:
    """The text of a message: a string, or its text blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def session_of(notes: Notes, session_id: str, known: Mapping[str, Any]) -> Session:
    """The session that events made. Its first prompt tells what it is only where nothing else does."""
    facts = notes.facts
    kind: Kind | None = known.get("kind")
    if kind is None:
        kind = Kind.ISOLATED if facts.get("isolated") else Kind.MAIN
    if "group" in facts and kind is Kind.MAIN:
        kind = Kind.GROUP
    group = str(known.get("group") or facts.get("group") or "group") if kind is Kind.GROUP else ""
    return Session(
        session_id,
        AGENT,
        kind,
        parse_time(facts.get("started")),
        tuple(notes.messages),
        cwd=str(facts.get("cwd", "")),
        group=group,
        chat=str(known.get("chat") or "") if group else "",
    )
