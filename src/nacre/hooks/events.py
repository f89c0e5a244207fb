"""What a hook was fired with, whichever agent it was: its kind, its session, its folder, what was asked.

Nothing but the standard library, and little of that: this is read while an agent waits.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

    from nacre.memory import Memory

START, PROMPT, COMPACT, STOP, END = "start", "prompt", "compact", "stop", "end"
AGENTS = ("claude-code", "codex", "cursor", "openclaw")
SILENCE = "NACRE_HOOK"  # set in the environment of whatever Nacre starts: a hook fired from there says nothing
LONGEST_PROMPT = 2000  # characters that are looked at of a prompt, and so sent to the daemon
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
    __slots__ = ("here", "kind", "name", "prompt", "session", "source", "sub_agent", "transcript")

    def __init__(self, kind: str, name: str, event: dict[str, Any]) -> None:
        self.kind = kind
        self.name = name  # as the agent spells it
        self.session = word(event.get("session_id")) or word(event.get("conversation_id"))
        roots = event.get("workspace_roots")
        self.here = word(event.get("cwd")) or word(roots[0] if isinstance(roots, list) and roots else "")
        self.prompt = shortened(word(event.get("prompt"), LONGEST_PROMPT * 1000))
        self.transcript = word(event.get("transcript_path"))
        self.source = word(event.get("source")) or "startup"
        self.sub_agent = any(event.get(name) for name in _OF_SUB_AGENTS)

    def as_plain(self) -> dict[str, Any]:
        return {
            "hook_event_name": self.name,
            "session_id": self.session,
            "cwd": self.here,
            "prompt": self.prompt,
            "transcript_path": self.transcript,
            "source": self.source,
        }


def read(event: dict[str, Any], named: str = "") -> Fired | None:
    """The event; None where there is none of ours. The agent's own name for it counts before the one on the command line."""
    own_name = word(event.get("hook_event_name"))
    kind = _KINDS.get("".join(filter(str.isalnum, own_name or named)).lower())
    return Fired(kind, own_name or _NAMES[kind], event) if kind else None


def answer(memory: Memory, agent: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """What the agent is to read on its hook's stdout, as that agent wants it; None where there is nothing to say."""
    if agent == "openclaw":
        from nacre.hooks import openclaw

        return openclaw.answer(memory, event)
    from nacre.hooks import answering

    return answering.answer(memory, agent, event)


def speaker(agent: str | None) -> str:
    """Which agent a hook speaks to. Cursor also runs the hooks of Claude Code, and says so in their environment."""
    if os.environ.get("CURSOR_VERSION") and agent in (None, "", "claude-code"):
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
