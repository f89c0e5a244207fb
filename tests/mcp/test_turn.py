"""An agent works through the orders that wait for it: over MCP with the SDK's client, and by commands."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import subprocess
from pathlib import Path

import pytest
from mcp import Client
from tests.capture.talks import Desk
from tests.mcp.conftest import nacre
from tests.mcp.every import TOOLS, called, refused
from tests.mcp.test_stdio import over_stdio

PNPM = {"text": "Use pnpm in every repository, never npm", "speaker": "owner", "cites": ["m1"], "type": "PREF"}
ANSWER = json.dumps({"entries": [PNPM]})


@pytest.fixture
def turn(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace where two sessions wait for the agent."""
    monkeypatch.setenv("NACRE_BRAIN_EXTRACT", "turn")
    said = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=30)
    for number in (1, 2):
        words = ("We use pnpm in every repository, never npm.", f"This is session number {number}.")
        lines = [(f"{said + dt.timedelta(minutes=at):%Y-%m-%d %H:%M}", "user", text) for at, text in enumerate(words)]
        Desk(Path.home()).claude(*lines, session=f"{number}1871d67-1111-4222-8333-444455556666")
    assert "2 sessions are waiting for your agent." in run(root, "sync")
    return root


def run(root: Path, *arguments: str, code: int = 0, stdin: str = "") -> str:
    done = subprocess.run([*nacre(root), *arguments], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def logged(root: Path) -> int:
    return sum(path.read_text("utf8").count(str(PNPM["text"])) for path in (root / "memory").glob("*.md"))


def test_over_mcp_one_call_after_the_other_until_none_waits(turn: Path) -> None:
    async def talk() -> None:
        async with Client(over_stdio(turn), mode="legacy") as client:
            listed = (await client.list_tools()).tools
            assert [one.name for one in listed] == [*TOOLS, "memory_orders", "memory_answer"]
            first = await called(client, "memory_orders")
            assert (first["waiting"], first["work"]) == (2, "extract")
            assert first["order"].startswith("nacre-order v1 extract")
            told = await refused(client, "memory_answer", id=first["id"], answer='{"entries": [{"text": "x"}]}')
            assert "$.entries[0]: 'speaker' is a required property" in told
            second = await called(client, "memory_answer", id=first["id"], answer=ANSWER)
            assert second["waiting"] == 1
            assert "no longer needs an answer" in await refused(client, "memory_answer", id=first["id"], answer=ANSWER)
            last = await called(client, "memory_answer", id=second["id"], answer=ANSWER)
            assert last["waiting"] == 0
            assert "You do not need to run anything" in last["note"]

    asyncio.run(talk())
    assert logged(turn) == 0
    run(turn, "sync")
    assert logged(turn) == 2
    assert "waiting for your agent" not in run(turn, "sync")


@pytest.mark.parametrize(("scope", "brain"), [("group:ops", "turn"), ("main", "local")])
def test_in_a_group_and_without_turn_there_is_no_such_tool(turn: Path, scope: str, brain: str) -> None:
    async def talk() -> None:
        env = {"NACRE_BRAIN_EXTRACT": brain}
        async with Client(over_stdio(turn, "--scope", scope, **env), mode="legacy") as client:
            assert "memory_orders" not in [one.name for one in (await client.list_tools()).tools]
            told = await refused(client, "memory_orders")
            assert "In a group" in told or "There is no tool" in told

    asyncio.run(talk())


def test_by_commands_as_the_cron_turn_does(turn: Path) -> None:
    for waiting in (2, 1):
        head, _, text = run(turn, "brain", "orders", "--next").partition("\n")
        assert head.endswith(f"({waiting} waiting)")
        assert "nacre-order v1 extract" in text
        order = head.split()[1]
        assert "not the JSON object" in run(turn, "brain", "answer", order, code=2, stdin="no")
        printed = run(turn, "brain", "answer", order, stdin=ANSWER)
    assert printed.startswith("No requests are waiting.")
    run(turn, "jobs", "run", "memory-sync")
    assert logged(turn) == 2


def test_brain_and_status_tell_how_many_wait_and_since_when(turn: Path) -> None:
    today = f"{dt.datetime.now():%Y-%m-%d}"  # noqa: DTZ005 - the user's day
    assert f"2 requests since {today}" in run(turn, "brain")
    assert f"waiting: 2 requests since {today}" in run(turn, "status", "--all")
    assert "waiting for your agent" in run(turn, "brain", "orders")
    assert "There is nothing to test" in run(turn, "brain", "test", code=2)


def test_turn_is_chosen_by_its_name(root: Path) -> None:
    assert "memory_orders" in run(root, "brain", "use", "turn", "--yes")
    facts = json.loads(run(root, "brain", "--json").splitlines()[0])
    assert (facts["extract"], facts["summarise"], facts["waiting"]) == ("turn", "turn", 0)
    assert "with programs and services" in run(root, "brain", "use", "turn", "--yes", "--hybrid", code=2)
