"""Claude Code: one JSONL file for each session below ~/.claude/projects (CLAUDE_CONFIG_DIR moves it)."""

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
    follow,
    list_files,
    parse_time,
    time_field,
)

AGENT = "claude-code"
_NOT_TALK = frozenset(
    {"system", "summary", "file-history-snapshot", "queue-operation", "progress", "last-prompt", "content-replacement"}
    | {"custom-title", "ai-title", "agent-name", "agent-color", "agent-setting", "tag", "pr-link", "frame-link"}
    | {"permission-mode", "mode", "started", "result", "relocated", "worktree-state", "bridge-session", "atis-latch"}
    | {"continued-in", "tool_use", "tool_result", "api-request", "api-request-shape", "api-request-blob", "cost-state"}
    | {"tools-used", "ended-by-model", "artifact-comment-monitor", "artifact-autoreact-ledger", "history-suppression"}
    | {"file-history-delta", "attribution-snapshot", "isolation-latch", "session-owner", "dev-mods", "memory-mode"}
    | {"data-flow-records", "data-flow-incomplete", "derived-from", "fork-context-ref", "observer-ref", "repl-mode"}
    | {"resume-head-vouch"}
)  # entries of the program itself
_PERSONS = frozenset({"human", "user", "cli"})  # kinds of origin that mean: somebody typed it
_PROGRAMS = frozenset({"task-notification", "peer", "coordinator", "channel", "system", "hook", "auto-continuation"})
_INJECTED = (
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<task-notification>",
    "<teammate-message",
    "<user-memory-input>",
    "Caveat: The messages below",
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
)
_PLAIN_ID = re.compile(r"[\w-]{1,100}")


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project. What sub-agents said lies in folders below and is nobody's talk."""
    root = places.root(AGENT, "CLAUDE_CONFIG_DIR", ".claude") / "projects"
    return list_files(AGENT, (path for path in sorted(root.glob("*/*.jsonl")) if not path.name.startswith("agent-")))


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment."""

    def session(notes: Notes) -> Session:
        facts = notes.facts
        kind = Kind.ISOLATED if facts.get("sidechain") else Kind.MAIN
        started, cwd = parse_time(facts.get("started")), str(facts.get("cwd", ""))
        return Session(transcript.path.stem, AGENT, kind, started, tuple(notes.messages), cwd=cwd)

    return follow(
        transcript.path,
        mark,
        until,
        _Taker(transcript.path),
        session,
        uninteresting=_tool_output,
        time=time_field("timestamp"),
    )


def _tool_output(head: bytes) -> bool:
    return b'"toolUseResult"' in head or (b'"tool_result"' in head and b'"type":"text"' not in head)


class _Taker:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.beside: dict[str, bool] = {}  # for each other session named here: whether its own file stands beside

    def __call__(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        facts, kind = notes.facts, entry.get("type")
        if self._is_copy(entry):
            return True
        if isinstance(cwd := entry.get("cwd"), str) and cwd:
            facts.setdefault("cwd", cwd)
        if at:
            facts.setdefault("started", at.isoformat())
        if kind in _NOT_TALK:
            return True
        if kind == "attachment":
            _queued(entry, at, start, notes)
            return True
        if kind not in ("user", "assistant"):
            return False
        if entry.get("isSidechain") or entry.get("agentId"):
            facts.setdefault("sidechain", True)
            return True
        if any(
            entry.get(sign) for sign in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "turnCompanion")
        ):
            return True
        message = entry.get("message")
        if not isinstance(message, dict) or not at:
            return False
        by_program = _by_program(entry) if kind == "user" else _is_notice(entry, message)
        if by_program is None:
            return False
        facts["sidechain"] = False
        words = _words(message.get("content"))
        if words and not by_program and not (kind == "user" and words.startswith(_INJECTED)):
            speaker = Speaker.OWNER if kind == "user" else Speaker.AGENT
            notes.messages.append(Message(as_text(entry.get("uuid")) or str(start), at, speaker, words))
        return True

    def _is_copy(self, entry: dict[str, Any]) -> bool:
        """Whether another session's file tells this entry already: a fork or a resumption repeated it here.

        A fork marks each entry that it repeats. Older versions kept the other session's id on it; such an entry
        counts as a copy only while that session's own file is there, else these are the only words left.
        """
        if isinstance(entry.get("forkedFrom"), dict):
            return True
        other = entry.get("sessionId")
        if not isinstance(other, str) or other == self.path.stem or not _PLAIN_ID.fullmatch(other):
            return False
        if other not in self.beside:
            self.beside[other] = self.path.with_name(f"{other}.jsonl").exists()
        return self.beside[other]


def _by_program(entry: dict[str, Any]) -> bool | None:
    """Whether a program put a user's message there, not a person; None when it names a sender nobody knows."""
    if entry.get("promptSource") == "system":
        return True
    origin = entry.get("origin")
    kind = as_text(origin.get("kind")) if isinstance(origin, dict) else ""
    if not kind or kind in _PERSONS:
        return False
    return True if kind in _PROGRAMS else None


def _is_notice(entry: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether the program speaks in the agent's place: that a request failed, that a limit is reached."""
    return bool(entry.get("isApiErrorMessage")) or message.get("model") == "<synthetic>"


def _queued(entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> None:
    """What the user typed while the agent was at work stands only in an attachment, when it went into that very turn."""
    told = entry.get("attachment")
    if not isinstance(told, dict) or told.get("type") != "queued_command" or told.get("commandMode") != "prompt":
        return
    words = _words(told.get("prompt"))
    if not words or not at or entry.get("isSidechain") or entry.get("agentId") or words.startswith(_INJECTED):
        return
    if told.get("isMeta") or _by_program(told) is not False:
        return
    notes.messages.append(Message(as_text(entry.get("uuid")) or str(start), at, Speaker.OWNER, words))


def _words(content: object) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for block in content:
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            return ""
        if block.get("type") == "text" and isinstance(text := block.get("text"), str):
            parts.append(text.strip())
    return "\n".join(part for part in parts if part and not part.startswith(_INJECTED))


SOURCE = Source(AGENT, find, read)
