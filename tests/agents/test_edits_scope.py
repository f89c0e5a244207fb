"""An entry that somebody limited by hand stays as limited; what cannot be understood is not written over."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from nacre.agents.edits import JSON, TOML, Add, CannotEdit, Put, apply_edits, are_in_place, take_back_edits

SERVER = {"type": "stdio", "command": "/opt/nacre", "args": ["mcp"]}
PUT = (Put(("mcpServers", "nacre"), SERVER),)
TABLE = (Put(("mcp_servers", "nacre"), {"command": "/opt/nacre", "args": ["mcp"]}),)
MARK = ("nacre", " hook Stop ", "--agent claude-code")


def entry(text: str) -> Any:
    return json.loads(text)["mcpServers"]["nacre"]


@pytest.mark.parametrize("args", [["mcp", "--scope", "group:team"], ["--scope=group:team", "mcp"]])
def test_a_scope_and_settings_that_are_not_ours_stay(args: list[str]) -> None:
    now = {"command": "/old/nacre", "args": args, "env": {"X": "1"}, "timeout": 9}
    text = json.dumps({"mcpServers": {"nacre": now}}, indent=2)
    after, done = apply_edits(text, JSON, PUT)
    kept = {"env": {"X": "1"}, "timeout": 9}
    assert entry(after) == {**SERVER, "args": ["mcp", "--scope", "group:team"], **kept}
    assert are_in_place(after, JSON, PUT)
    assert apply_edits(after, JSON, PUT)[0] == after
    assert take_back_edits(after, JSON, done) == (text, [])


def test_a_command_of_one_list_keeps_its_scope() -> None:
    wanted = {"type": "local", "command": ["/opt/nacre", "mcp"], "enabled": True}
    text = '{"mcp": {"nacre": {"command": ["nacre", "mcp", "--scope", "group:team"] /* mine */, "environment": {"A": "b"}}}}'
    after, done = apply_edits(text, JSON, (Put(("mcp", "nacre"), wanted),))
    assert '["/opt/nacre", "mcp", "--scope", "group:team"]' in " ".join(after.split()).replace("[ ", "[").replace(
        " ]", "]"
    )
    assert "/* mine */" in after
    assert take_back_edits(after, JSON, done) == (text, [])


TABLES = """# top
[mcp_servers.nacre] # mine
command = "/old/nacre"
args = ["mcp", "--scope", "group:team"]
startup_timeout_sec = 9
[mcp_servers.nacre.env]
X = "1" # note
"""
DOTTED = """mcp_servers.nacre.command = "nacre"
mcp_servers.nacre.args = ["mcp", "--scope=group:team"]
mcp_servers.nacre.startup_timeout_sec = 9
mcp_servers.nacre.env.X = "1"
"""


@pytest.mark.parametrize("text", [TABLES, DOTTED])
def test_a_table_keeps_its_scope_and_the_settings_that_are_not_ours(text: str) -> None:
    after, done = apply_edits(text, TOML, TABLE)
    now = tomllib.loads(after)["mcp_servers"]["nacre"]
    assert now["command"] == "/opt/nacre"
    assert now["args"] == ["mcp", "--scope", "group:team"]
    assert (now["startup_timeout_sec"], now["env"]) == (9, {"X": "1"})
    assert are_in_place(after, TOML, TABLE)
    back, left = take_back_edits(after, TOML, done)
    assert left == []
    assert tomllib.loads(back) == tomllib.loads(text)


def test_a_date_in_a_table_is_still_one_when_it_is_taken_back() -> None:
    text = '[mcp_servers.nacre]\ncommand = "nacre"\nsince = 2020-01-01\n'
    after, done = apply_edits(text, TOML, TABLE)
    assert tomllib.loads(take_back_edits(after, TOML, done)[0]) == tomllib.loads(text)


@pytest.mark.parametrize(
    "now",
    [
        {"url": "http://127.0.0.1:8850/mcp"},
        {"command": "/home/me/group-only.sh"},
        {"command": "sh", "args": ["-c", "nacre mcp --scope group:team"]},
        {"command": "nacre", "args": ["mcp", "--scope"]},
    ],
)
def test_what_may_be_narrower_in_a_way_of_its_own_is_not_written_over(now: dict[str, Any]) -> None:
    with pytest.raises(CannotEdit, match="added by hand"):
        apply_edits(json.dumps({"mcpServers": {"nacre": now}}), JSON, PUT)


@pytest.mark.parametrize("told", ["--scope group:team", "--scope='group:team'"])
def test_a_hook_keeps_its_scope(told: str) -> None:
    group = {"hooks": [{"type": "command", "command": "/opt/nacre hook Stop --agent claude-code", "timeout": 5}]}
    edits = (Add(("hooks", "Stop"), group, MARK),)
    old = {"hooks": [{"type": "command", "command": f"nacre hook Stop --agent claude-code {told}"}]}
    text = json.dumps({"hooks": {"Stop": [old]}})
    after, done = apply_edits(text, JSON, edits)
    (now,) = json.loads(after)["hooks"]["Stop"]
    assert now["hooks"][0]["command"].startswith("/opt/nacre hook Stop --agent claude-code --scope ")
    assert "group:team" in now["hooks"][0]["command"]
    assert are_in_place(after, JSON, edits)
    assert take_back_edits(after, JSON, done) == (text, [])
