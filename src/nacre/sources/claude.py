"""Claude Code: one JSONL file for each session below ~/.claude/projects (CLAUDE_CONFIG_DIR moves it)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nacre.model.session import Kind, Message, Speaker
from nacre.sources.reading import Notes, as_dict, as_list, as_text, follow, list_files, text_blocks, time_field
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

AGENT = "claude-code"
_NO_MESSAGE = frozenset(
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
    *("<command-name>", "<command-message>", "<command-args>", "<local-command-stdout>", "<local-command-stderr>"),
    *("<local-command-caveat>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<system-reminder>"),
    *("<task-notification>", "<teammate-message", "<user-memory-input>", "Caveat: The messages below"),
    *("[Request interrupted by user", "This session is being continued from a previous conversation"),
)
_PLAIN_ID = re.compile(r"[\w-]{1,100}")


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project; those of sub-agents lie in folders below and are left out."""
    root = places.root(AGENT, "CLAUDE_CONFIG_DIR", ".claude") / "projects"
    return list_files(AGENT, (path for path in sorted(root.glob("*/*.jsonl")) if not path.name.startswith("agent-")))


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    take = partial(_take, transcript.path)
    reading, notes = follow(transcript.path, mark, until, take, skip=_is_tool_output, time=time_field("timestamp"))
    kind = Kind.ISOLATED if notes.facts.get("sidechain") else Kind.MAIN
    return replace(reading, session=notes.session(transcript.path.stem, AGENT, kind))


def _is_tool_output(head: bytes) -> bool:
    return b'"toolUseResult"' in head or (b'"tool_result"' in head and b'"type":"text"' not in head)


def _take(path: Path, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
    facts, kind = notes.facts, entry.get("type")
    if _is_copy(path, entry):
        return True
    if isinstance(cwd := entry.get("cwd"), str) and cwd:
        facts.setdefault("cwd", cwd)
    if at:
        facts.setdefault("started", at.isoformat())
    if kind in _NO_MESSAGE:
        return True
    by_sub_agent = entry.get("isSidechain") or entry.get("agentId")
    if kind == "attachment":
        # What the user typed while the agent was at work stands only in an attachment, when it went into that very turn.
        queued = as_dict(entry.get("attachment"))
        is_prompt = (queued.get("type"), queued.get("commandMode")) == ("queued_command", "prompt")
        if is_prompt and not by_sub_agent and not queued.get("isMeta") and _is_by_program(queued) is False:
            _add(entry, Speaker.OWNER, _text(queued.get("prompt")), at, start, notes)
        return True
    if kind not in ("user", "assistant"):
        return False
    if by_sub_agent:
        facts.setdefault("sidechain", True)
        return True
    if any(entry.get(flag) for flag in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "turnCompanion")):
        return True
    message = entry.get("message")
    if not isinstance(message, dict) or not at:
        return False
    # The program speaks in the agent's place when a request failed or a limit is reached.
    notice = bool(entry.get("isApiErrorMessage")) or message.get("model") == "<synthetic>"
    by_program = _is_by_program(entry) if kind == "user" else notice
    if by_program is None:
        return False
    facts["sidechain"] = False
    if not by_program:
        _add(entry, Speaker.OWNER if kind == "user" else Speaker.AGENT, _text(message.get("content")), at, start, notes)
    return True


def _add(entry: dict[str, Any], speaker: Speaker, text: str, at: dt.datetime | None, start: int, notes: Notes) -> None:
    if text and at and not (speaker is Speaker.OWNER and text.startswith(_INJECTED)):
        notes.messages.append(Message(as_text(entry.get("uuid")) or str(start), at, speaker, text))


def _is_copy(path: Path, entry: dict[str, Any]) -> bool:
    """Whether another session's file holds this entry already: a fork or a resumption repeated it here.

    A fork marks each entry that it repeats. Older versions kept the other session's id on it; such an entry
    counts as a copy only while that session's own file is there, else this is the only one left.
    """
    if isinstance(entry.get("forkedFrom"), dict):
        return True
    other = entry.get("sessionId")
    if not isinstance(other, str) or other == path.stem or not _PLAIN_ID.fullmatch(other):
        return False
    return path.with_name(f"{other}.jsonl").exists()


def _is_by_program(entry: dict[str, Any]) -> bool | None:
    """Whether a program put a user's message there, not a person; None when it names a sender nobody knows."""
    if entry.get("promptSource") == "system":
        return True
    kind = as_text(as_dict(entry.get("origin")).get("kind"))
    if not kind or kind in _PERSONS:
        return False
    return True if kind in _PROGRAMS else None


def _text(content: object) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    blocks = as_list(content)
    if any(as_dict(block).get("type") == "tool_result" for block in blocks):
        return ""
    parts = [part.strip() for part in text_blocks(content)]
    return "\n".join(part for part in parts if part and not (blocks and part.startswith(_INJECTED)))


SOURCE = Source(AGENT, find, read)
