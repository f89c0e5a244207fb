"""OpenClaw's plugin with a real daemon: tools, turns, groups, the flush, and what happens when nobody answers."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from tests.plugins.conftest import INDEX, Host, end_daemon

from nacre.daemon.process import daemon_process
from nacre.model import Workspace

GROUP = "agent:main:telegram:group:-100"
PROMPT = "Where is the backup key of the Braldor project?"


@pytest.mark.parametrize("name", ["index.js", "daemon.js"])
def test_it_is_javascript_as_it_stands(name: str, host: Host) -> None:
    assert subprocess.run(["node", "--check", str(INDEX.with_name(name))], check=False).returncode == 0


def test_the_first_question_starts_a_daemon_and_the_next_ones_use_it(host: Host, root: Path) -> None:
    plugin = host()
    assert daemon_process(Workspace(root)) is None
    found = plugin.tool("memory_search", query="backup key of the Braldor project")
    assert found["details"]["results"][0]["path"] == "memory/harbour.md"
    assert (
        plugin.tool("memory_search", query="备份密钥存放在哪里")["details"]["results"][0]["path"] == "memory/garden.md"
    )
    pid = daemon_process(Workspace(root))
    assert plugin.tool("memory_get", path="memory/harbour.md#L3-L3")["details"]["text"].startswith(
        "The Braldor project"
    )
    assert daemon_process(Workspace(root)) == pid
    assert plugin.ends() == 0  # an idle connection keeps no process


def test_what_is_written_is_found_and_a_secret_is_refused_in_a_sentence(host: Host, root: Path) -> None:
    plugin = host()
    written = plugin.tool("memory_write", text="The ferry leaves at nine", type="TECH")["details"]
    assert written["path"].startswith("memory/")
    found = plugin.tool("memory_search", query="when does the ferry leave")["details"]["results"]
    assert found[0]["snippet"] == "- [TECH] The ferry leaves at nine"
    refused = plugin.tool("memory_write", text="password: hunter2-Xk93mPq7")
    assert "error" in refused["details"]
    assert refused["content"][0]["text"] == refused["details"]["error"]
    assert "hunter2" not in str(refused)


def test_a_group_hears_nothing_private_and_writes_nothing(host: Host) -> None:
    plugin = host()
    assert plugin.tool("memory_search", GROUP, query="backup key of the Braldor project")["details"]["results"] == []
    assert "error" in plugin.tool("memory_get", GROUP, path="memory/harbour.md")["details"]
    assert "error" in plugin.tool("memory_write", GROUP, text="The ferry leaves at nine")["details"]
    assert "error" in plugin.tool("memory_search", "agent:main:subagent:1", query="Braldor")["details"]
    told = plugin.do(
        "hook", name="before_prompt_build", event={"prompt": PROMPT}, ctx={"trigger": "user", "sessionKey": GROUP}
    )
    assert told is None


def test_a_turn_of_the_user_is_given_what_memory_knows_about_it(host: Host) -> None:
    plugin = host()
    plugin.tool("memory_state", action="task", text="Move the harbour office")
    ctx = {"trigger": "user", "sessionKey": "agent:main:main", "sessionId": "s1"}
    told = plugin.do("hook", name="before_prompt_build", event={"prompt": PROMPT, "messages": []}, ctx=ctx)
    assert "archive on the third floor" in told["prependContext"]
    assert "Move the harbour office" in told["prependContext"]
    again = plugin.do("hook", name="before_prompt_build", event={"prompt": PROMPT, "messages": []}, ctx=ctx)
    assert "archive on the third floor" in again["prependContext"]  # OpenClaw keeps none of it


@pytest.mark.parametrize(
    "ctx",
    [
        {"trigger": "heartbeat"},
        {"trigger": "cron"},
        {},
        {"trigger": "user", "inputProvenance": {"kind": "inter_session"}},
        {"trigger": "user", "toolAuthority": None},
    ],
)
def test_nobody_else_s_turn_is_given_anything(host: Host, ctx: dict[str, object]) -> None:
    told = host().do(
        "hook", name="before_prompt_build", event={"prompt": PROMPT}, ctx={"sessionKey": "agent:main:main", **ctx}
    )
    assert told is None


def test_the_prompt_has_our_rules_and_none_where_the_tools_are_forbidden(host: Host) -> None:
    plugin = host()
    private, group = plugin.do("prompt", key="agent:main:main"), plugin.do("prompt", key=GROUP)
    assert private[0] == "## Memory"
    assert any("memory_write" in line for line in private)
    assert not any("memory_write" in line for line in group)
    assert plugin.do("prompt", key="agent:main:main", tools=["exec"]) == []


def test_what_one_copy_of_the_plugin_was_told_is_known_to_the_next(host: Host, root: Path) -> None:
    (root / ".nacre" / "config.toml").write_text('language = "zh"\n', "utf8")
    plugin = host()
    before = plugin.do("prompt", key="agent:main:main")
    plugin.do("start")
    until = time.monotonic() + 60
    while (told := plugin.do("prompt", key="agent:main:main")) == before:
        assert time.monotonic() < until
        plugin.do("wait", ms=100)
    plugin.do("again")
    assert plugin.do("prompt", key="agent:main:main") == told


def test_the_flush_has_a_plan_before_anybody_answered_and_the_workspace_s_own_after(host: Host, root: Path) -> None:
    plugin = host()
    at = time.mktime((2026, 3, 5, 12, 0, 0, 0, 0, -1)) * 1000
    plan = plugin.do("flush", nowMs=at)
    assert plan["relativePath"] == "memory/2026-03-05.md"
    assert "memory/2026-03-05.md" in plan["prompt"]
    (root / ".nacre" / "config.toml").write_text("[flush]\nsoft_threshold_tokens = 5000\n", "utf8")
    until = time.monotonic() + 60
    while plan and plan["softThresholdTokens"] != 5000:
        assert time.monotonic() < until
        plugin.tool("memory_status")  # the daemon may answer once more by the settings it knew
        plugin.do("wait", ms=100)
        plan = plugin.do("flush", nowMs=time.time() * 1000)
    assert plan["relativePath"].startswith("memory/")


def test_a_daemon_that_ended_is_started_again(host: Host, root: Path) -> None:
    plugin = host()
    assert plugin.tool("memory_search", query="Braldor")["details"]["results"]
    before = daemon_process(Workspace(root))
    end_daemon(root)
    assert plugin.tool("memory_search", query="Braldor")["details"]["results"]
    assert daemon_process(Workspace(root)) not in (None, before)


def test_without_nacre_the_model_reads_a_sentence_and_the_turn_goes_on(host: Host, tmp_path: Path) -> None:
    plugin = host(command=str(tmp_path / "nowhere"))
    told = plugin.tool("memory_search", query="Braldor")
    assert told["content"][0]["text"].startswith("Nacre cannot be reached")
    assert told["details"]["unavailable"] is True
    for name in ("before_prompt_build", "agent_end", "before_reset"):
        assert plugin.do("hook", name=name, event={"prompt": PROMPT}, ctx={"trigger": "user"}) is None
    assert plugin.do("command", name="refresh")["text"].startswith("Nacre cannot be reached")
    assert plugin.do("flush", nowMs=0)["relativePath"].startswith("memory/")
    assert any("could not start its daemon" in line for line in plugin.do("logged"))


def test_a_fresh_start_is_told_to_the_owner_and_refused_to_a_group(host: Host) -> None:
    plugin = host()
    told = plugin.do("command", name="refresh", ctx={"sessionKey": "agent:main:main"})["text"]
    assert "promote_report.md" in told
    assert "not available in groups" in plugin.do("command", name="refresh", ctx={"sessionKey": GROUP})["text"]


def test_a_question_that_takes_long_keeps_nobody_waiting(host: Host, tmp_path: Path) -> None:
    plugin = host()
    plugin.tool("memory_search", query="Braldor")
    refresh = {"do": "command", "name": "refresh", "ctx": {"sessionKey": "agent:main:main"}}
    told = plugin.do("together", deeds=[refresh, {"do": "tool", "name": "memory_status"}])
    assert told["first"] == 1  # the second was answered first
    assert "promote_report.md" in told["answers"][0]["text"]


def test_a_pasted_book_is_no_trouble(host: Host) -> None:
    plugin = host()
    event = {"prompt": PROMPT + "\n" + "lorem ipsum " * 200_000}
    plugin.do("hook", name="before_prompt_build", event=event, ctx={"trigger": "user", "sessionKey": "agent:main:main"})
    assert plugin.do("logged") == []
    assert plugin.tool("memory_search", query="Braldor")["details"]["results"]
