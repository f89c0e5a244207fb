"""A session begins, comes back or was compacted: it is given its context, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nacre.hooks import sessions
from nacre.hooks.events import Fired
from nacre.hooks.framing import framed, notice
from nacre.hooks.sessions import Told
from nacre.recall.pack import Line

if TYPE_CHECKING:
    from nacre.memory import Memory

_TWICE = 60.0  # seconds in which a second start of the same session means that the hook is registered twice
_CLEAN = ("startup", "clear")  # starts of a context in which nothing stands yet


def given(memory: Memory, fired: Fired) -> tuple[str, dict[str, Any]] | None:
    """The context of a session, and what is to be noted of it; None where it needs none.

    A fork goes on with all that its session was given. So does one that is resumed: it is given what is new since, and everything
    where nobody knows any more what it was given. After a compaction the beginning is gone, so it is given anew.
    """
    if fired.source == "fork":
        return None
    now = memory.clock.now().timestamp()
    told = sessions.load(memory.workspace, fired.session)
    if fired.source in _CLEAN and abs(now - told.at) < _TWICE:
        return None
    budget = min(memory.config.hooks.session_tokens, memory.config.context.budget)
    pack = memory.context(budget, all_files=True, here=fired.here or None, noted=False)
    goes_on = fired.source == "resume"
    text = _new(pack.text, told) if goes_on else pack.text
    if not text:
        return None
    known = told if goes_on else Told()
    sessions.save(memory.workspace, fired.session, known.with_lines(text, now), now)
    about: dict[str, Any] = {
        "budget": budget,
        "source": fired.source,
        "parts": [{"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens} for one in pack.parts],
    }
    if pack.project:
        about["project"] = pack.project
    return framed(text, notice(memory.clock, for_prompt=False)), about


def _new(text: str, told: Told) -> str:
    """What of a context the session has not been given; all of it where nobody knows."""
    if not told.lines:
        return text
    lines = sessions.unsaid([Line(0, line) for line in text.split("\n")], told)
    return "\n".join(line.text for line in lines)
