from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import forked


def nacre(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NACRE_MODELS_PATH": str(folder / "none")}
    return forked.run(arguments, env=env, cwd=folder)


@pytest.fixture
def two_agents(tmp_path: Path) -> Path:
    """A home in which OpenClaw has two agents, each with a note about a boat."""
    home = Path(os.environ["HOME"])
    state = home / ".openclaw"
    for agent, colour in (("main", "red"), ("work", "blue")):
        place = state / ("workspace" if agent == "main" else f"workspace-{agent}") / "memory"
        place.mkdir(parents=True)
        (place / "boat.md").write_text(f"The {colour} boat lies in the harbour.\n", encoding="utf8")
    (state / "openclaw.json").write_text(
        '{ // two agents\n agents: { list: [{ id: "main", default: true }, { id: "work" },] },\n}\n', encoding="utf8"
    )
    return tmp_path


def test_without_a_name_every_agent_is_searched_and_each_hit_says_whose_it_is(two_agents: Path) -> None:
    found = json.loads(nacre(two_agents, "search", "boat in the harbour", "--json").stdout)["results"]
    assert {(hit["agent"], hit["snippet"].split()[1]) for hit in found} == {("main", "red"), ("work", "blue")}


def test_a_named_agent_is_searched_alone(two_agents: Path) -> None:
    found = json.loads(nacre(two_agents, "search", "boat in the harbour", "--agent", "work", "--json").stdout)[
        "results"
    ]
    assert [hit["snippet"] for hit in found] == ["The blue boat lies in the harbour."]
    assert nacre(two_agents, "status", "--agent", "nobody").returncode == 10


def test_status_and_index_go_through_all_of_them(two_agents: Path) -> None:
    assert [one["files"] for one in json.loads(nacre(two_agents, "index", "--json").stdout)] == [1, 1]
    assert [one["agent"] for one in json.loads(nacre(two_agents, "status", "--json").stdout)] == ["main", "work"]


@pytest.mark.parametrize("whose", ["openclaw", "nacre"])
def test_agents_that_have_no_default_workspace_beside_them_are_found(tmp_path: Path, whose: str) -> None:
    home = Path(os.environ["HOME"])
    for agent, colour in (("sea", "red"), ("land", "blue")):
        (home / agent / "memory").mkdir(parents=True)
        (home / agent / "memory" / "boat.md").write_text(f"The {colour} boat lies in the harbour.\n", encoding="utf8")
    if whose == "openclaw":
        (home / ".openclaw").mkdir()
        listed = [{"id": agent, "workspace": f"~/{agent}"} for agent in ("sea", "land")]
        (home / ".openclaw" / "openclaw.json").write_text(json.dumps({"agents": {"list": listed}}), encoding="utf8")
    else:
        (home / ".config" / "nacre").mkdir(parents=True, exist_ok=True)
        (home / ".config" / "nacre" / "config.toml").write_text('[agents]\nsea = "~/sea"\nland = "~/land"\n')
    done = nacre(tmp_path, "search", "boat in the harbour", "--json")
    assert done.returncode == 0, done.stderr
    assert {hit["agent"] for hit in json.loads(done.stdout)["results"]} == {"sea", "land"}
    assert [one["agent"] for one in json.loads(nacre(tmp_path, "status", "--json").stdout)] == ["sea", "land"]
    assert nacre(tmp_path, "remember", "Paint it green").returncode == 0
    assert list((home / "sea" / "memory").glob("20*.md"))


def test_extra_paths_are_searched_and_read_beside_the_workspace(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tide.txt").write_text("High tide at six.\n", encoding="utf8")
    (notes / "tide.md").write_text("# Tides\n\nLow tide at noon in the bay.\n", encoding="utf8")
    workspace = str(tmp_path / "ws")
    assert nacre(tmp_path, "init", workspace).returncode == 0
    value = f'[{{path = "{notes}", pattern = "*.md"}}]'
    assert (
        nacre(tmp_path, "--workspace", workspace, "config", "set", "--user", "index.extra_paths", value).returncode == 0
    )
    (hit,) = json.loads(nacre(tmp_path, "--workspace", workspace, "search", "tide in the bay", "--json").stdout)[
        "results"
    ]
    assert hit["path"] == f"{notes}/tide.md"
    assert hit["layer"] == "extra"
    assert "noon" in nacre(tmp_path, "--workspace", workspace, "get", f"{hit['path']}:3").stdout
    assert nacre(tmp_path, "--workspace", workspace, "get", f"{notes}/tide.txt").returncode == 2
