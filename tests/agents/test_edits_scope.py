"""An entry that somebody limited by hand is not written over: connecting never lets anybody hear more."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from nacre.agents.edits import JSON, TOML, Add, CannotEdit, Put, apply_edits, are_in_place, take_back_edits

SERVER = {"type": "stdio", "command": "/opt/scopes/nacre", "args": ["mcp"]}
TABLE = (Put(("mcp_servers", "nacre"), {"command": "/opt/nacre", "args": ["mcp"]}),)
MARK = ("nacre", " hook Stop ", "--agent claude-code")


@pytest.mark.parametrize(
    "now",
    [
        {"command": "/old/nacre", "args": ["mcp", "--scope", "group:team"]},
        {"command": "/old/nacre", "args": ["--scope=group:team", "mcp"]},
        {"command": ["nacre", "mcp", "--scope", "group:team"]},
        {"command": "nacre", "args": ["mcp", "--scope"]},
        {"command": "env", "args": ["NACRE_SCOPE=group:team", "nacre", "mcp"]},
        {"command": "sh", "args": ["-c", "nacre mcp --scope group:team"]},
        {"command": "/home/me/group-only.sh"},
        {"url": "http://127.0.0.1:8850/mcp"},
    ],
)
def test_a_server_that_is_or_may_be_limited_is_not_written_over(now: dict[str, Any]) -> None:
    with pytest.raises(CannotEdit, match="limited or added by hand"):
        apply_edits(json.dumps({"mcpServers": {"nacre": now}}), JSON, (Put(("mcpServers", "nacre"), SERVER),))


def test_settings_of_a_server_that_are_not_ours_stay() -> None:
    now = {"command": "/old/nacre", "args": ["mcp"], "env": {"NACRE_SCOPE": "group:team"}, "timeout": 9}
    edits = (Put(("mcpServers", "nacre"), SERVER),)
    text = json.dumps({"mcpServers": {"nacre": now}}, indent=2)
    after, done = apply_edits(text, JSON, edits)
    assert json.loads(after)["mcpServers"]["nacre"] == {**now, **SERVER}
    assert are_in_place(after, JSON, edits)
    assert take_back_edits(after, JSON, done) == (text, [])


TABLES = """# top
[mcp_servers.nacre] # mine
command = "/old/nacre"
args = ["mcp"]
startup_timeout_sec = 9
[mcp_servers.nacre.env]
X = "1" # note
"""
DOTTED = """mcp_servers.nacre.command = "nacre"
mcp_servers.nacre.args = ["mcp"]
mcp_servers.nacre.startup_timeout_sec = 9
mcp_servers.nacre.env.X = "1"
"""


@pytest.mark.parametrize("text", [TABLES, DOTTED])
def test_a_table_keeps_the_settings_that_are_not_ours_and_is_not_widened(text: str) -> None:
    after, done = apply_edits(text, TOML, TABLE)
    now = tomllib.loads(after)["mcp_servers"]["nacre"]
    assert now == {"command": "/opt/nacre", "args": ["mcp"], "startup_timeout_sec": 9, "env": {"X": "1"}}
    assert are_in_place(after, TOML, TABLE)
    back, left = take_back_edits(after, TOML, done)
    assert left == []
    assert tomllib.loads(back) == tomllib.loads(text)
    with pytest.raises(CannotEdit, match="limited or added by hand"):
        apply_edits(text.replace('"mcp"]', '"mcp", "--scope=group:team"]'), TOML, TABLE)


def test_a_date_in_a_table_is_still_one_when_it_is_taken_back() -> None:
    text = '[mcp_servers.nacre]\ncommand = "nacre"\nsince = 2020-01-01\n'
    after, done = apply_edits(text, TOML, TABLE)
    assert tomllib.loads(take_back_edits(after, TOML, done)[0]) == tomllib.loads(text)


@pytest.mark.parametrize("limited", ["nacre hook Stop --agent claude-code --scope group:team", "NACRE_SCOPE=group:team nacre hook Stop --agent claude-code"])  # fmt: skip
def test_a_hook_with_a_scope_is_not_written_over(limited: str) -> None:
    group = {"hooks": [{"type": "command", "command": "/opt/nacre hook Stop --agent claude-code", "timeout": 5}]}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": limited}]}]}})
    with pytest.raises(CannotEdit, match="limited or added by hand"):
        apply_edits(text, JSON, (Add(("hooks", "Stop"), group, MARK),))
