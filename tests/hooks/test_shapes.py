"""What goes out is what each agent reads: the fields that it names, of the kinds that it wants, and none besides."""

from __future__ import annotations

from typing import Any

import pytest
from tests.hooks.conftest import Session

PROMPT = "Where does the Braldor project keep its backup key?"

# What Claude Code and Codex send: for each event the fields that are always there, with a value of their kind.
COMMON = {"session_id": "0199-a", "transcript_path": None, "cwd": "/srv/shop"}
TURN = {"model": "gpt-5.2-codex", "permission_mode": "default", "turn_id": "t1"}
CODEX_IN: dict[str, dict[str, Any]] = {
    "SessionStart": {"model": "gpt-5.2-codex", "permission_mode": "default", "source": "startup"},
    "UserPromptSubmit": TURN | {"prompt": PROMPT},
    "PreCompact": {"model": "gpt-5.2-codex", "turn_id": "t1", "trigger": "auto"},
    "Stop": TURN | {"stop_hook_active": False, "last_assistant_message": None},
    "SessionEnd": {"reason": "other"},
}
CLAUDE_IN: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup", "model": "claude-opus-5"},
    "UserPromptSubmit": {"prompt": PROMPT, "permission_mode": "default"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "Stop": {"stop_hook_active": False, "permission_mode": "default"},
    "SessionEnd": {"reason": "clear"},
}
# What they take: at the top, and inside `hookSpecificOutput`, which only these two events have.
TOP = {"continue": bool, "stopReason": str, "suppressOutput": bool, "systemMessage": str, "hookSpecificOutput": dict}
SPEAK = ("SessionStart", "UserPromptSubmit")


def fits(event: str, told: dict[str, Any]) -> bool:
    inner = told.get("hookSpecificOutput", {})
    return (
        all(name in TOP and isinstance(value, TOP[name]) for name, value in told.items())
        and set(inner) <= {"hookEventName", "additionalContext"}
        and inner.get("hookEventName") == event
        and isinstance(inner.get("additionalContext", ""), str)
    )


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("event", list(CODEX_IN))
def test_claude_code_and_codex_get_what_their_schemas_allow(agent: str, event: str, session: Session) -> None:
    session.agent = agent
    given = (CODEX_IN if agent == "codex" else CLAUDE_IN)[event]
    told = session.fire(event, **(COMMON | given))
    if event in SPEAK:
        assert told is not None
        assert fits(event, told)
        assert told["hookSpecificOutput"]["additionalContext"]
    else:
        assert told is None


def test_cursor_gets_its_context_at_the_start_and_with_a_prompt(session: Session) -> None:
    session.agent = "cursor"
    common = {
        "conversation_id": "c1",
        "generation_id": "g1",
        "workspace_roots": [str(session.project)],
        "session_id": "",
    }
    begun = session.fire("sessionStart", **common)
    assert begun is not None
    assert set(begun) == {"additional_context"}
    asked = session.fire("beforeSubmitPrompt", prompt=PROMPT, attachments=[], **common)
    assert asked is not None
    assert set(asked) == {"continue", "additional_context"}
    assert asked["continue"] is True
    assert "harbour.md#L3-L3" in asked["additional_context"]
    for event in ("stop", "sessionEnd", "preCompact"):
        assert session.fire(event, **common) is None


def test_a_sub_agent_is_told_nothing(session: Session) -> None:
    session.agent = "codex"
    assert session.fire("UserPromptSubmit", **(COMMON | CODEX_IN["UserPromptSubmit"]), agent_id="a1") is None
