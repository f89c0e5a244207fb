"""What Nacre says and does when an agent's session starts, is asked something, compacts or ends: what the hook was fired with, whichever agent it
was (its kind, its session, its folder, what was asked), and the answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.errors import BadInput, NotFound
from nacre.i18n import language, say

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
    """The event that an agent sent on stdin. Its own name for the event counts before the one on the command line."""
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
        return _answer_openclaw(memory, event)
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
    return prompt if len(prompt) <= LONGEST_PROMPT else f"{prompt[:_HEAD]}\n{prompt[_HEAD - LONGEST_PROMPT :]}"


def word(value: object, most: int = _LONGEST) -> str:
    """The value if it is a text of valid length without NUL, else an empty text."""
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")


# What OpenClaw's plugin asks: who listens, what a turn is given, the plan of the flush, a session to be captured, a fresh start.

# Files that OpenClaw puts before its model itself; what they say is not said to it twice.
INJECTED = frozenset({"MEMORY.md", "USER.md", "AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md"})
INJECTED_BYTES = 20_000  # of each, beyond which it is cut
STATE_TOKENS = 400  # most tokens of SESSION-STATE.md that go with a turn
FORCED_AT = 2_000_000  # bytes of a transcript from which OpenClaw flushes whatever it counted


def _answer_openclaw(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to the plugin; None when there is nothing to say or the event is unknown."""
    name = str(event.get("hook_event_name"))
    if name not in _ANSWERS:
        return None
    if memory.scope.group is not None and name != "before_prompt_build":  # asked over the owner's connection alone
        raise BadInput(f"{name} is not available in groups.", f"{name} 不能在群组中使用。")
    return _ANSWERS[name](memory, event)


def _scope(memory: Memory, event: dict[str, Any]) -> dict[str, Any]:
    """Who listens in a session. Nobody where that cannot be told: the plugin then gives nothing."""
    from nacre.sources.openclaw import scope_of

    return {"scope": scope_of(memory.places, word(event.get("sessionKey")))}


def _prompt_section(memory: Memory, _event: dict[str, Any]) -> dict[str, Any]:
    """In which language the plugin tells the rules, and whether AGENTS.md, which OpenClaw injects, tells them already."""
    chosen = memory.config.language
    return {
        "language": chosen if chosen in ("en", "zh") else language(),
        "elsewhere": memory.has_rules(within=INJECTED_BYTES),
    }


def _flush_plan(memory: Memory, _event: dict[str, Any]) -> dict[str, Any]:
    """The plan of today, and that of tomorrow: OpenClaw asks at a moment when nobody can be waited for."""
    settings, today = memory.config.flush, memory.clock.today()
    plans = []
    for day in (today, today + dt.timedelta(days=1)):
        flush = memory.flush_prompts(day)
        plan = flush and {
            "softThresholdTokens": settings.soft_threshold_tokens,
            "reserveTokensFloor": settings.reserve_tokens,
            "forceFlushTranscriptBytes": FORCED_AT,
            "prompt": flush[1].user,
            "systemPrompt": flush[1].system,
            "relativePath": flush[0],
        }
        plans.append({"until": int(memory.clock.parse(day.isoformat()).timestamp() * 1000), "plan": plan})
    return {"plans": plans}


def _before_prompt_build(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """What goes with a turn of the user's: what is being done, and what memory knows about the prompt.

    OpenClaw keeps none of it in its transcript, so nothing counts as known from an earlier turn.
    """
    from nacre.context.answering import framed, notice, prompt_context, remember_delivered
    from nacre.sources.openclaw import is_incognito

    settings = memory.config.hooks
    if not settings.enabled or not memory.config.context.enabled or is_incognito(word(event.get("sessionKey"))):
        return None
    parts: list[str] = []
    if settings.session_start and memory.scope.group is None and (state := memory.state_text(STATE_TOKENS)):
        parts.append(framed(state, notice(memory.clock, for_prompt=False)))
    if settings.prompt:
        fired = Fired(PROMPT, "before_prompt_build", {"prompt": event.get("prompt")})
        text = prompt_context(memory, fired, without=INJECTED)
        if text:  # not so that it is given less later, but so that what it repeats is not captured as new
            parts.append(text)
            remember_delivered(memory, word(event.get("sessionId")), text, "\n".join(parts))
    return {"prependContext": "\n".join(parts)} if parts else None


def _agent_end(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """A turn is over: its session waits for the next capture. A flush has written into the day's log itself, which is read at once."""
    trigger = word(event.get("trigger"))
    if trigger == "memory":
        memory.update()
    return _queue(memory, event, now=False) if trigger in ("", "user") else None


def _queue(memory: Memory, event: dict[str, Any], *, now: bool) -> dict[str, Any] | None:
    from nacre.sources.openclaw import database, is_incognito

    key = word(event.get("sessionKey"))
    if is_incognito(key):
        return None
    path = str(database(memory.places, key))
    queued = memory.queue("openclaw", word(event.get("sessionId")), path, now=now)
    return {"ended": path} if now and queued else None


def _refresh(memory: Memory, event: dict[str, Any]) -> dict[str, Any]:
    """`/refresh`: save the session as a checkpoint, organise the layers, and return what to tell the owner."""
    try:
        done = memory.refresh(word(event.get("sessionId")) or None)
    except NotFound:
        done = memory.refresh()
    put_away = done.missing
    if done.checkpoint:
        path = done.checkpoint.path
        put_away = say(f"The session was saved as a checkpoint: {path}", f"会话已存为检查点：{path}")
    left = [problem.message for problem in (*done.organised.left, *done.promoted.left)]
    return {"text": "\n".join([put_away, done.summary, *left])}


_ANSWERS: dict[str, Callable[[Memory, dict[str, Any]], dict[str, Any] | None]] = {
    "scope": _scope,
    "prompt_section": _prompt_section,
    "flush_plan": _flush_plan,
    "before_prompt_build": _before_prompt_build,
    "agent_end": _agent_end,
    "before_reset": partial(_queue, now=True),  # a session is over, or begins anew: it is captured at once
    "refresh": _refresh,
}
