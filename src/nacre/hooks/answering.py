"""What an agent is told when one of its hooks fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nacre.hooks.claims import Claim
from nacre.hooks.events import COMPACT, END, PROMPT, START, Fired, read
from nacre.hooks.framing import answer_of

if TYPE_CHECKING:
    from nacre.memory import Memory


def answer(memory: Memory, agent: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """What the agent is to read on its hook's stdout, as that agent wants it; None where there is nothing to say."""
    if agent == "openclaw":
        from nacre.hooks import openclaw

        return openclaw.answer(memory, event)
    fired = read(event)
    if fired is None or fired.sub_agent or not memory.config.hooks.enabled:
        return None
    if fired.kind not in (START, PROMPT):
        if memory.scope.group is None:  # what is captured is the owner's to say
            queue(memory, agent, fired)
        return None
    claim = Claim(memory, agent, fired)
    if not claim.take():
        return None
    try:
        made = _given(memory, fired)
    except BaseException:
        claim.give_back()  # whoever else was fired, or asks again without the daemon, may answer
        raise
    if made is None:
        return None
    text, about = made
    note(memory, agent, fired, text, about)
    return answer_of(agent, fired, text) if text else None


def queue(memory: Memory, agent: str, fired: Fired) -> bool:
    """Let the talk be captured by the next sync; at once where it ended, or where its agent is about to forget the beginning."""
    from nacre.vault import inbox

    if not (memory.config.hooks.enabled and memory.config.hooks.capture):
        return False
    at = memory.clock.now().timestamp()
    now = fired.kind in (COMPACT, END)
    return inbox.queue(str(memory.workspace.root), agent, fired.session, fired.transcript, at=at, now=now)


def _given(memory: Memory, fired: Fired) -> tuple[str, dict[str, Any]] | None:
    settings = memory.config.hooks
    if fired.kind == START and settings.session_start:
        from nacre.hooks.starting import given as given_at_start

        return given_at_start(memory, fired)
    if fired.kind == PROMPT and settings.prompt:
        from nacre.hooks.prompting import given as given_for_prompt

        return given_for_prompt(memory, fired)
    return None


def note(memory: Memory, agent: str, fired: Fired, text: str, about: dict[str, Any]) -> None:
    """For `nacre hook --last` and `nacre context --last`: what was given, when, by which hook and why; or why nothing was."""
    from nacre.recall.pack import tokens, weight
    from nacre.vault import given

    if not memory.config.context.log:
        return
    told: dict[str, Any] = {
        "at": memory.clock.now().isoformat(timespec="seconds"),
        "scope": "main" if memory.scope.group is None else f"group:{memory.scope.group}",
        "hook": fired.name,
        "agent": agent,
        "session": fired.session[:8],
    }
    if text:
        given.write(memory.workspace, told | {"tokens": tokens(weight(text))} | about, text + "\n")
    else:
        given.write_silence(memory.workspace, told | about)
