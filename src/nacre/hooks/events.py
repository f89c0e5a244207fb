"""What a hook was fired with, whichever agent it was: its kind, its session, its folder, what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.memory import Memory

START, PROMPT, COMPACT, STOP, END = "start", "prompt", "compact", "stop", "end"
AGENTS = ("claude-code", "codex", "cursor", "openclaw")
LONGEST_PROMPT = 2000  # characters that are looked at of a prompt
_HEAD = 1300  # of these, from its beginning; the rest from its end: a pasted page stands in the middle
_LONGEST = 4096  # characters of a path or an id
_KINDS = {
    "sessionstart": START,
    "userpromptsubmit": PROMPT,
    "beforesubmitprompt": PROMPT,
    "precompact": COMPACT,
    "stop": STOP,
    "sessionend": END,
}
_NAMES = {START: "SessionStart", PROMPT: "UserPromptSubmit", COMPACT: "PreCompact", STOP: "Stop", END: "SessionEnd"}
_OF_SUB_AGENTS = ("agent_id", "subagent_id", "parent_conversation_id", "parent_thread_id")


class Fired:
    """One event: what happened in which session, and what was asked."""

    def __init__(self, kind: str, name: str, event: dict[str, Any]) -> None:
        self.kind = kind
        self.prompted = kind == PROMPT
        self.name = name  # as the agent spells it
        self.session = word(event.get("session_id")) or word(event.get("conversation_id"))
        self.here = folder_of(event)
        self.prompt = shortened(word(event.get("prompt"), LONGEST_PROMPT * 1000))
        self.transcript = word(event.get("transcript_path"))
        self.source = word(event.get("source")) or "startup"
        self.sub_agent = any(event.get(name) for name in _OF_SUB_AGENTS)


def parse_event(data: bytes, named: str) -> dict[str, Any]:
    """What an agent told on stdin. Its own name for the event counts before the one on the command line."""
    event = json.loads(data.decode("utf-8-sig", "replace"))
    event = event if isinstance(event, dict) else {}
    if not word(event.get("hook_event_name")):
        event["hook_event_name"] = _NAMES.get(_kind_of(named) or "", named)
    return event


def _kind_of(name: str) -> str | None:
    return _KINDS.get("".join(filter(str.isalnum, name)).lower())


def folder_of(event: dict[str, Any]) -> str:
    """The folder that the session works in."""
    roots = event.get("workspace_roots")
    return word(event.get("cwd")) or word(roots[0] if isinstance(roots, list) and roots else "")


def read(event: dict[str, Any]) -> Fired | None:
    name = word(event.get("hook_event_name"))
    kind = _kind_of(name)
    return Fired(kind, name, event) if kind else None


def answer(memory: Memory, agent: str, event: dict[str, Any], *, in_a_hurry: bool = False) -> dict[str, Any] | None:
    """What the agent is to read on its hook's stdout, as that agent wants it; None where there is nothing to say."""
    if agent == "openclaw":
        from nacre.hooks import openclaw

        return openclaw.answer(memory, event)
    fired, settings = read(event), memory.config.hooks
    if agent not in AGENTS or fired is None or fired.sub_agent or not settings.enabled:
        return None
    if fired.kind not in (START, PROMPT):
        if memory.scope.group is None:  # what is captured is the owner's to say
            memory.queue(agent, fired.session, fired.transcript, now=fired.kind in (COMPACT, END))
        return None
    from nacre.context import answering

    if in_a_hurry:
        answering.hurry(memory)
    if not (settings.prompt if fired.prompted else settings.session_start):
        return None
    text = answering.prompt_context(memory, fired) if fired.prompted else answering.session_context(memory, fired)
    if not text:
        return None
    if agent == "cursor":
        return {"continue": True, "additional_context": text} if fired.prompted else {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": fired.name, "additionalContext": text}}


def speaker(agent: str | None, environment: Mapping[str, str]) -> str:
    """Which agent a hook speaks to. Cursor also runs the hooks of Claude Code, and says so in their environment."""
    if environment.get("CURSOR_VERSION") and agent in (None, "", "claude-code"):
        return "cursor"
    return agent or "claude-code"


def shortened(prompt: str) -> str:
    if len(prompt) <= LONGEST_PROMPT:
        return prompt
    return f"{prompt[:_HEAD]}\n{prompt[_HEAD - LONGEST_PROMPT :]}"


def word(value: object, most: int = _LONGEST) -> str:
    """The value where it is a text that can be written, else an empty one."""
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")
