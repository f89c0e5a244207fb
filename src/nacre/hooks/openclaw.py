"""What OpenClaw's plugin asks: who listens, what a turn is given, the plan of the flush, a talk to be captured, a fresh start."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.errors import BadInput
from nacre.hooks.events import PROMPT, Fired, shortened
from nacre.i18n import language, say

if TYPE_CHECKING:
    from nacre.memory import Memory

AGENT = "openclaw"
_FOR_GROUPS = (
    "before_prompt_build",
)  # all else is asked by the plugin itself, for which the owner's connection is there
# Files that OpenClaw puts before its model itself; what they say is not said to it twice.
INJECTED = frozenset({"MEMORY.md", "USER.md", "AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md"})
INJECTED_BYTES = 20_000  # of each, beyond which it is cut
STATE_TOKENS = 400  # most tokens of SESSION-STATE.md that go with a turn
FORCED_AT = 2_000_000  # bytes of a transcript from which OpenClaw flushes whatever it counted


def answer(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """What the plugin is told; None where there is nothing to say. An event that we do not know has no answer."""
    name = str(event.get("hook_event_name"))
    known = _ANSWERS.get(name)
    if known and memory.scope.group is not None and name not in _FOR_GROUPS:
        raise BadInput(
            say(f"{name} is for the owner alone, not for a group.", f"{name} 仅供所有者使用，群组中不可用。")
        )
    return known(memory, event) if known else None


def _scope(memory: Memory, event: dict[str, Any]) -> dict[str, Any]:
    """Who listens in a session. Nobody where that cannot be told: the plugin then gives nothing."""
    from nacre.sources.openclaw.listener import scope_of
    from nacre.sources.registry import places_of

    return {"scope": scope_of(places_of(memory.config), _word(event, "sessionKey"))}


def _prompt_section(memory: Memory, _event: dict[str, Any]) -> dict[str, Any]:
    """In which language the rules are told, of which the plugin has the words; and whether AGENTS.md, which OpenClaw injects, tells them."""
    from nacre.vault import disk
    from nacre.vault.rules import has_block

    chosen = memory.config.language
    agents = disk.read_bytes(memory.workspace.root / "AGENTS.md") or b""
    told = has_block(agents[:INJECTED_BYTES].decode("utf-8", "replace"))
    return {"language": chosen if chosen in ("en", "zh") else language(), "elsewhere": told}


def _flush_plan(memory: Memory, _event: dict[str, Any]) -> dict[str, Any]:
    """The plan of today, and that of tomorrow: OpenClaw asks at a moment when nobody can be waited for."""
    return {"plans": [_plan(memory, days) for days in (0, 1)]}


def _plan(memory: Memory, days: int) -> dict[str, Any]:
    from nacre.layers import flush

    settings, today = memory.config.flush, memory.clock.today()
    clock = memory.clock.at(today + dt.timedelta(days=days)) if days else memory.clock
    end = memory.clock.parse((today + dt.timedelta(days=days)).isoformat())
    plan = None
    if flush.flush_blocked(memory.opened) is None:
        path, told = flush.flush_prompts_for(replace(memory.opened, clock=clock))
        plan = {
            "softThresholdTokens": settings.soft_threshold_tokens,
            "reserveTokensFloor": settings.reserve_tokens,
            "forceFlushTranscriptBytes": FORCED_AT,
            "prompt": told.user,
            "systemPrompt": told.system,
            "relativePath": path,
        }
    return {"until": int(end.timestamp() * 1000), "plan": plan}


def _before_prompt_build(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """What goes with a turn of the user's: what is being done, and what memory knows about the prompt.

    OpenClaw keeps none of it in its transcript, so nothing counts as known from an earlier turn.
    """
    from nacre.hooks.answering import note
    from nacre.sources.openclaw.listener import is_incognito

    settings = memory.config.hooks
    if not settings.enabled or not memory.config.context.enabled or is_incognito(_word(event, "sessionKey")):
        return None
    fired = Fired(PROMPT, "before_prompt_build", {"prompt": shortened(_word(event, "prompt"))})
    parts = [_state(memory)] if settings.session_start and memory.scope.group is None else []
    if settings.prompt:
        from nacre.hooks import inject
        from nacre.hooks.inject import prompt_context

        text, about = prompt_context(memory, fired, without=INJECTED)
        parts.append(text)
        fired.session = _word(event, "sessionId")
        if text:  # not so that it is given less later, but so that what it repeats is not captured as new
            now = memory.clock.now().timestamp()
            known = inject.load_delivered(memory.workspace, fired.session)
            inject.save_delivered(memory.workspace, fired.session, known.with_lines(text), now)
        note(memory, AGENT, fired, text, about)
    text = "\n".join(filter(None, parts))
    return {"prependContext": text} if text else None


def _state(memory: Memory) -> str:
    from nacre.context.pack import pack
    from nacre.context.readable import Reader
    from nacre.hooks.answering import framed, notice

    piece = Reader(memory.workspace, None).state(memory.workspace.state, memory.clock.today())
    found = pack([piece], STATE_TOKENS, lead="") if piece else None
    return framed(found.text.lstrip("\n"), notice(memory.clock, for_prompt=False)) if found and found.text else ""


def _agent_end(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """A turn is over: its talk waits for the next capture. A flush has written into the day's log itself, which is read at once."""
    trigger = _word(event, "trigger")
    if trigger == "memory":
        memory.update()
    return _queued(memory, event, now=False) if trigger in ("", "user") else None


def _before_reset(memory: Memory, event: dict[str, Any]) -> dict[str, Any] | None:
    """A talk is over, or begins anew: what was said in it is captured at once."""
    return _queued(memory, event, now=True)


def _queued(memory: Memory, event: dict[str, Any], *, now: bool) -> dict[str, Any] | None:
    from nacre.sources.openclaw.listener import database, is_incognito
    from nacre.sources.registry import places_of
    from nacre.vault import spool

    key = _word(event, "sessionKey")
    if not (memory.config.hooks.enabled and memory.config.hooks.capture) or is_incognito(key):
        return None
    path = str(database(places_of(memory.config), key))
    at, root = memory.clock.now().timestamp(), str(memory.workspace.root)
    queued = spool.queue(root, AGENT, _word(event, "sessionId"), path, at=at, now=now)
    return {"ended": path} if now and queued else None


def _refresh(memory: Memory, event: dict[str, Any]) -> dict[str, Any]:
    """`/refresh`: the talk is put away, the layers are put in order; what the owner is told of it."""
    from nacre.errors import NotFound

    try:
        done = memory.refresh(_word(event, "sessionId") or None)
    except NotFound:
        done = memory.refresh()
    put_away = done.checkpoint.path if done.checkpoint else done.missing
    steps, candidates = len(done.organised.steps), len(done.promoted.promoted)
    text = say(
        f"Talk put away: {put_away}\nLayers: {steps} changes. Nominated for promotion: {candidates} (promote_report.md).",
        f"对话已存入：{put_away}\n分层：{steps} 处变动。晋升候选：{candidates} 个（promote_report.md）。",
    )
    left = [problem.message for problem in (*done.organised.left, *done.promoted.left)]
    return {"text": "\n".join([text, *left])}


def _word(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


_ANSWERS: dict[str, Callable[[Memory, dict[str, Any]], dict[str, Any] | None]] = {
    "scope": _scope,
    "prompt_section": _prompt_section,
    "flush_plan": _flush_plan,
    "before_prompt_build": _before_prompt_build,
    "agent_end": _agent_end,
    "before_reset": _before_reset,
    "refresh": _refresh,
}
