"""An event is understood whichever agent fires it, and nothing in it can break us."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.hooks import LONGEST_PROMPT, PROMPT, parse_event, read, shortened, speaker


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SessionStart", "start"), ("sessionStart", "start"), ("session-start", "start"),
        ("UserPromptSubmit", "prompt"), ("beforeSubmitPrompt", "prompt"),
        ("PreCompact", "compact"), ("preCompact", "compact"), ("Stop", "stop"), ("stop", "stop"), ("SessionEnd", "end"),
    ],
)  # fmt: skip
def test_every_agents_name_for_an_event_is_known(name: str, kind: str) -> None:
    found = read({"hook_event_name": name})
    assert found
    assert (found.kind, found.name) == (kind, name)


@pytest.mark.parametrize("name", ["PostCompact", "SubagentStop", "PreToolUse", "", "🙂"])
def test_any_other_event_is_none_of_ours(name: str) -> None:
    assert read({"hook_event_name": name}) is None


def test_the_agent_names_its_event_better_than_the_command_line() -> None:
    event = parse_event(b'{"hook_event_name": "SessionStart"}', "UserPromptSubmit")
    assert event == {"hook_event_name": "SessionStart"}


def test_without_a_name_the_command_line_counts_and_the_answer_carries_the_usual_one() -> None:
    found = read(parse_event(b'{"prompt": "x"}', "user-prompt-submit"))
    assert found
    assert (found.kind, found.name) == (PROMPT, "UserPromptSubmit")


@pytest.mark.parametrize("sign", ["agent_id", "subagent_id", "parent_conversation_id"])
def test_a_sub_agent_is_known_by_what_only_it_carries(sign: str) -> None:
    found = read({"hook_event_name": "Stop", sign: "a1"})
    assert found
    assert found.sub_agent


def test_an_agent_that_a_user_chose_by_its_type_is_no_sub_agent() -> None:
    found = read({"hook_event_name": "UserPromptSubmit", "agent_type": "reviewer", "prompt": "x"})
    assert found
    assert not found.sub_agent


def test_cursor_calls_a_session_a_conversation_and_its_folder_a_root() -> None:
    found = read({"hook_event_name": "stop", "conversation_id": "c1", "workspace_roots": ["/srv/shop"], "cwd": ""})
    assert found
    assert (found.session, found.here) == ("c1", "/srv/shop")


def test_of_a_long_prompt_the_beginning_and_the_end_are_looked_at() -> None:
    prompt = "Where is the key? " + "log line " * 5000 + " Please answer in Chinese."
    looked_at = shortened(prompt)
    assert len(looked_at) <= LONGEST_PROMPT + 1
    assert looked_at.startswith("Where is the key?")
    assert looked_at.endswith("answer in Chinese.")


def test_a_hook_of_claude_code_that_cursor_runs_speaks_to_cursor() -> None:
    assert speaker(None, {}) == speaker("claude-code", {}) == "claude-code"
    cursor = {"CURSOR_VERSION": "3.20.17"}
    assert speaker(None, cursor) == speaker("claude-code", cursor) == "cursor"
    assert speaker("codex", cursor) == "codex"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = ("hook_event_name", "session_id", "cwd", "workspace_roots", "prompt", "transcript_path", "source", "agent_id")


@given(st.dictionaries(st.sampled_from(FIELDS), anything))
def test_whatever_stands_in_an_event_it_is_read_or_passed_over(event: dict[str, object]) -> None:
    found = read(event)
    if found:
        f"{found.session}{found.here}{found.prompt}{found.transcript}{found.source}".encode()
