"""What OpenClaw's plugin is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import BadInput
from nacre.hooks import answer
from nacre.memory import Memory
from nacre.sources.registry import chat_hash
from nacre.vault import spool
from nacre.vault.rules import has_block, rules_block

NOON = "2026-02-12T12:00:00+00:00"
PROMPT = "Where does the Braldor project keep its backup key?"


def told(root: Path, event: str, *, scope: str = "main", now: str = NOON, **more: Any) -> Any:
    with Memory.open(root, now=now, scope=scope) as memory:
        return answer(memory, "openclaw", {"hook_event_name": event, **more})


def test_an_event_that_nobody_knows_has_no_answer(root: Path) -> None:
    assert told(root, "llm_input") is None
    assert told(root, "SessionStart") is None


def test_who_listens_is_told_by_the_key(root: Path) -> None:
    assert told(root, "scope", sessionKey="agent:main:main") == {"scope": "main"}
    assert told(root, "scope", sessionKey="agent:main:discord:channel:12") == {
        "scope": f"group:group-{chat_hash('discord:channel:12')}"
    }
    assert told(root, "scope", sessionKey="agent:main:subagent:12") == {"scope": None}


def test_a_turn_is_given_what_answers_with_its_place_every_time(root: Path) -> None:
    for _ in range(2):
        text = told(root, "before_prompt_build", prompt=PROMPT, sessionId="s1")["prependContext"]
        assert "memory/harbour.md#L3-L3" in text
        assert text.startswith("<nacre-memory>")


def test_what_openclaw_gives_itself_is_not_given_twice(root: Path) -> None:
    longterm = root / "MEMORY.md"
    longterm.write_text(
        "# Long-Term Memory\n\n## Key Decisions\n- The Braldor project keeps its backup key with Ada alone\n", "utf8"
    )
    prompt = "Where does the Braldor project keep its backup key?"
    text = told(root, "before_prompt_build", prompt=prompt)["prependContext"]
    assert "Ada alone" not in text
    assert "third floor" in text


def test_what_is_being_done_goes_with_every_turn_of_the_owner_and_with_none_of_a_group(root: Path) -> None:
    with Memory.open(root, now=NOON) as memory:
        memory.state.task("Move the harbour office")
    assert "Move the harbour office" in told(root, "before_prompt_build", prompt="ok")["prependContext"]
    assert told(root, "before_prompt_build", prompt="ok", scope="group:family") is None


def test_a_group_is_given_only_what_is_its_own(root: Path) -> None:
    assert told(root, "before_prompt_build", prompt=PROMPT, scope="group:family") is None
    text = told(root, "before_prompt_build", prompt="Where is dinner on Friday, at Rosa's?", scope="group:family")
    assert "Dinner is at Rosa's" in text["prependContext"]


@pytest.mark.parametrize("switch", ["hooks.enabled", "context.enabled", "hooks.prompt"])
def test_it_is_switched_off_by_one_setting(root: Path, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv(f"NACRE_{switch.replace('.', '_').upper()}", "false")
    assert told(root, "before_prompt_build", prompt=PROMPT) is None


def test_the_flush_has_a_plan_for_today_and_for_tomorrow(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_TIMEZONE", "Asia/Shanghai")
    today, tomorrow = told(root, "flush_plan", now="2026-02-12T17:00:00+00:00")["plans"]  # one in the morning there
    assert today["plan"]["relativePath"] == "memory/2026-02-13.md"
    assert tomorrow["plan"]["relativePath"] == "memory/2026-02-14.md"
    assert "memory/2026-02-14.md" in tomorrow["plan"]["prompt"]
    assert tomorrow["until"] - today["until"] == 86_400_000
    assert set(today["plan"]) == {
        *(
            "softThresholdTokens",
            "reserveTokensFloor",
            "forceFlushTranscriptBytes",
            "prompt",
            "systemPrompt",
            "relativePath",
        )
    }


def test_where_nothing_is_to_be_written_there_is_no_flush(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_FLUSH_ENABLED", "false")
    assert [one["plan"] for one in told(root, "flush_plan")["plans"]] == [None, None]


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "state" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    return path


def test_a_turn_queues_its_talk_and_a_reset_wants_it_captured_at_once(root: Path, database: Path) -> None:
    about = {"sessionKey": "agent:main:main", "sessionId": "61871d67"}
    assert told(root, "agent_end", trigger="user", success=True, **about) is None
    (waiting,) = spool.waiting(str(root))
    assert (waiting.agent, waiting.session, waiting.transcript, waiting.now) == (
        "openclaw",
        "61871d67",
        str(database),
        False,
    )
    assert told(root, "before_reset", reason="new", **about) == {"ended": str(database)}
    (waiting,) = spool.waiting(str(root))
    assert waiting.now is True


def test_who_wants_nothing_captured_has_nothing_queued(
    root: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_HOOKS_CAPTURE", "false")
    assert told(root, "before_reset", sessionKey="agent:main:main", sessionId="61871d67") is None
    assert spool.waiting(str(root)) == []


def test_what_a_flush_wrote_is_found_after_it(root: Path, database: Path) -> None:
    (root / "memory" / "2026-02-12.md").write_text(
        "# 2026-02-12\n\n## 11:00 note\n- [TECH] The lighthouse runs on diesel\n", "utf8"
    )
    assert told(root, "agent_end", trigger="memory", sessionKey="agent:main:main", sessionId="61871d67") is None
    assert spool.waiting(str(root)) == []
    with Memory.open(root) as memory:
        assert memory.search("lighthouse diesel")[0].snippet == "- [TECH] The lighthouse runs on diesel"


def test_a_fresh_start_is_for_the_owner_alone(root: Path) -> None:
    text = told(root, "refresh", sessionKey="agent:main:main", sessionId="unknown")["text"]
    assert "promote_report.md" in text


@pytest.mark.parametrize("event", ["scope", "prompt_section", "flush_plan", "agent_end", "before_reset", "refresh"])
def test_a_group_is_given_something_and_may_ask_nothing_else(root: Path, database: Path, event: str) -> None:
    with pytest.raises(BadInput, match="not available in groups"):
        told(root, event, scope="group:family", sessionKey="agent:main:main", sessionId="61871d67")
    assert spool.waiting(str(root)) == []


def test_a_session_that_wants_to_leave_no_trace_is_given_nothing_and_nothing_is_noted(root: Path) -> None:
    key = "agent:main:incognito-1"
    assert told(root, "before_prompt_build", prompt=PROMPT, sessionId="61871d67-1", sessionKey=key) is None
    assert told(root, "scope", sessionKey=key) == {"scope": None}
    assert not list((root / ".nacre").glob("hooks/*"))


def test_an_answer_is_plain_values(root: Path) -> None:
    for event in (
        "scope",
        "prompt_section",
        "flush_plan",
        "before_prompt_build",
        "agent_end",
        "before_reset",
        "refresh",
    ):
        json.dumps(told(root, event, sessionKey=7, sessionId=None, prompt=["x"]))


def test_rules_that_stand_in_the_injected_file_are_not_told_again(root: Path) -> None:
    agents = root / "AGENTS.md"
    assert told(root, "prompt_section")["elsewhere"] is has_block(agents.read_text("utf8"))
    agents.write_text(rules_block("en"), "utf8")
    assert told(root, "prompt_section")["elsewhere"] is True
    agents.write_text("x" * 20_000 + "\n\n" + rules_block("en"), "utf8")  # beyond what OpenClaw shows its model
    assert told(root, "prompt_section")["elsewhere"] is False
    agents.unlink()
    assert told(root, "prompt_section")["elsewhere"] is False
