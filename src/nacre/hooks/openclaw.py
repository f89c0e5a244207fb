"""What OpenClaw's plugin asks: who listens, what a turn is given, the plan of the flush, a session to be captured, a fresh start."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.errors import BadInput, NotFound
from nacre.hooks.events import PROMPT, Fired, word
from nacre.i18n import language, say

if TYPE_CHECKING:
    from nacre.memory import Memory

AGENT = "openclaw"
# Files that OpenClaw puts before its model itself; what they say is not said to it twice.
INJECTED = frozenset({"MEMORY.md", "USER.md", "AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md"})
INJECTED_BYTES = 20_000  # of each, beyond which it is cut
STATE_TOKENS = 400  # most tokens of SESSION-STATE.md that go with a turn
FORCED_AT = 2_000_000  # bytes of a transcript from which OpenClaw flushes whatever it counted


def answer(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """What the plugin is told; None where there is nothing to say. An event that we do not know has no answer."""
    name = str(event.get("hook_event_name"))
    if name not in _ANSWERS:
        return None
    if memory.scope.group is not None and name != "before_prompt_build":  # asked over the owner's connection alone
        raise BadInput(f"{name} is for the owner alone, not for a group.", f"{name} 仅供所有者使用，群组中不可用。")
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
            remember_delivered(memory, word(event.get("sessionId")), text)
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
    queued = memory.queue(AGENT, word(event.get("sessionId")), path, now=now)
    return {"ended": path} if now and queued else None


def _refresh(memory: Memory, event: dict[str, Any]) -> dict[str, Any]:
    """`/refresh`: the session is put away, the layers are put in order; what the owner is told of it."""
    try:
        done = memory.refresh(word(event.get("sessionId")) or None)
    except NotFound:
        done = memory.refresh()
    put_away = done.checkpoint.path if done.checkpoint else done.missing
    steps, candidates = len(done.organised.steps), len(done.promoted.promoted)
    text = say(
        f"Session put away: {put_away}\nLayers: {steps} changes. Nominated for promotion: {candidates} (promote_report.md).",
        f"对话已存入：{put_away}\n分层：{steps} 处变动。晋升候选：{candidates} 个（promote_report.md）。",
    )
    left = [problem.message for problem in (*done.organised.left, *done.promoted.left)]
    return {"text": "\n".join([text, *left])}


_ANSWERS: dict[str, Callable[[Memory, dict[str, Any]], dict[str, Any] | None]] = {
    "scope": _scope,
    "prompt_section": _prompt_section,
    "flush_plan": _flush_plan,
    "before_prompt_build": _before_prompt_build,
    "agent_end": _agent_end,
    "before_reset": partial(_queue, now=True),  # a session is over, or begins anew: it is captured at once
    "refresh": _refresh,
}
