"""Claude Code: one JSONL file for each session below ~/.claude/projects (CLAUDE_CONFIG_DIR moves it)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from nacre.model import Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text

AGENT = "claude-code"
_PERSONS = ("human", "user", "cli")  # kinds of origin that mean: somebody typed it
_INJECTED = (
    *("<command-name>", "<command-message>", "<command-args>", "<local-command-stdout>", "<local-command-stderr>"),
    *("<local-command-caveat>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<system-reminder>"),
    *("<task-notification>", "<teammate-message", "<user-memory-input>", "Caveat: The messages below"),
    *("[Request interrupted by user", "This session is being continued from a previous conversation"),
)
_PLAIN_ID = re.compile(r"[\w-]{1,100}")


def find(places: Places) -> Iterator[Transcript]:
    """The sessions of every project; those of sub-agents lie in folders below and are left out."""
    root = places.root(AGENT) / "projects"
    return reading.list_files(
        AGENT, (path for path in sorted(root.glob("*/*.jsonl")) if not path.name.startswith("agent-"))
    )


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    path, time = transcript.path, reading.time_field("timestamp")

    def make(notes: Notes) -> Session:
        return notes.session(path.stem, AGENT, isolated=notes.facts.get("sidechain"))

    return reading.follow(path, mark, until, partial(_take, path), make, skip=_is_tool_output, time=time)


def _is_tool_output(head: bytes) -> bool:
    return b'"toolUseResult"' in head or (b'"tool_result"' in head and b'"type":"text"' not in head)


def _take(path: Path, entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
    facts, kind = notes.facts, entry.get("type")
    if _is_copy(path, entry):
        return
    if cwd := as_text(entry.get("cwd")):
        facts.setdefault("cwd", cwd)

    by_sub_agent = entry.get("isSidechain") or entry.get("agentId")
    speaker, content = Speaker.OWNER, None
    if kind == "attachment" and not by_sub_agent:
        # What the user typed while the agent was at work stands only in an attachment, when it went into that very turn.
        queued = entry["attachment"]
        is_prompt = (queued.get("type"), queued.get("commandMode")) == ("queued_command", "prompt")
        if is_prompt and not queued.get("isMeta") and not _is_by_program(queued):
            content = queued["prompt"]
    elif kind in ("user", "assistant") and by_sub_agent:
        facts.setdefault("sidechain", True)
    elif kind in ("user", "assistant") and not any(
        entry.get(flag) for flag in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "turnCompanion")
    ):
        message = entry["message"]
        speaker = Speaker.OWNER if kind == "user" else Speaker.AGENT
        # The program speaks in the agent's place when a request failed or a limit is reached.
        is_notice = entry.get("isApiErrorMessage") or message.get("model") == "<synthetic>"
        content = None if _is_by_program(entry) or (kind == "assistant" and is_notice) else message.get("content")
        facts["sidechain"] = False
    text = _text(content)
    if text and not (speaker is Speaker.OWNER and text.startswith(_INJECTED)):
        notes.add(as_text(entry.get("uuid")) or start, at, speaker, text)


def _is_copy(path: Path, entry: dict[str, Any]) -> bool:
    """Whether an entry is a fork's copy from another session. Older versions only left that session's id on it: then it is a copy while
    that session's file exists."""
    other = as_text(entry.get("sessionId"))
    is_others = other != path.stem and _PLAIN_ID.fullmatch(other) and path.with_name(f"{other}.jsonl").exists()
    return bool(entry.get("forkedFrom") or is_others)


def _is_by_program(entry: dict[str, Any]) -> bool:
    """Whether something other than a person put a user's message there."""
    origin = (entry.get("origin") or {}).get("kind") or "human"
    return entry.get("promptSource") == "system" or origin not in _PERSONS


def _text(content: Any) -> str:
    """The text of a message; nothing for one that carries what a tool returned."""
    is_text = isinstance(content, str)
    if not is_text and any(block.get("type") == "tool_result" for block in content or ()):
        return ""
    parts = [part.strip() for part in reading.text_blocks(content)]
    return "\n".join(part for part in parts if part and (is_text or not part.startswith(_INJECTED)))


SOURCE = Source(AGENT, find, read)
