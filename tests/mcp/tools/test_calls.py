"""The seven tools, called as an agent calls them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre.daemon.requests import answer_search
from nacre.errors import BadInput, NacreError, NotFound, SecretRefused
from nacre.mcp.tools import Tool, call, tools
from nacre.memory import Memory
from nacre.vault import review
from nacre.vault.history import operation
from nacre.vault.ledger import load_tombstones
from nacre.vault.review import Question

TODAY = "memory/2026-03-20.md"


def tool(name: str) -> Tool | None:
    return next((tool for tool in tools() if tool.name == name), None)


def asked(memory: Memory, name: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives; every field is one that its schema names, and plain enough to be sent."""
    result = call(memory, name, arguments)
    found = tool(name)
    assert found is not None
    assert set(found.gives.get("required", ())) <= set(result) <= set(found.gives["properties"])
    assert json.loads(json.dumps(result)) == result
    return result


def test_search_finds_and_cites(memory: Memory) -> None:
    found = asked(memory, "memory_search", query="when is the launch", maxResults=3)
    best = found["results"][0]
    assert best["path"] == "memory/2026-03-19.md"
    assert best["citation"] == "memory/2026-03-19.md#L4-L4"
    assert "3 May" in best["snippet"]
    assert (found["disabled"], found["abstained"]) == (False, False)


def test_search_gives_what_the_command_prints_as_json(memory: Memory) -> None:
    printed = answer_search([memory], query="launch", as_json=True).parts
    told = json.loads(printed[0][1])
    found = asked(memory, "memory_search", query="launch")
    assert {**found, "tookMs": 0} == {**told, "tookMs": 0}


def test_search_says_when_nothing_answers(memory: Memory) -> None:
    found = asked(memory, "memory_search", query="the zeppelin timetable of Oslo")
    assert found["results"] == []


def test_search_is_narrowed_by_day_and_layer(memory: Memory) -> None:
    everything = asked(memory, "memory_search", query="launch pnpm", minScore=0)
    assert {row["layer"] for row in everything["results"]} == {"daily", "longterm"}
    longterm = asked(memory, "memory_search", query="launch pnpm", minScore=0, layer="longterm")
    assert {row["layer"] for row in longterm["results"]} == {"longterm"}
    assert asked(memory, "memory_search", query="launch", since="2026-03-20", minScore=0)["results"] == []


def test_search_keeps_to_the_project_of_the_folder_that_the_agent_works_in(root: Path, memory: Memory) -> None:
    for name, mark in (("shop", "lilac"), ("blog", "crimson")):
        place = root / "projects" / name / "MEMORY.md"
        place.parent.mkdir(parents=True)
        place.write_text(f"# Long-Term Memory: {name}\n\n> Project: /srv/{name}\n\n- The logo is {mark}\n", "utf8")
    found = call(memory, "memory_search", {"query": "logo", "minScore": 0}, here="/srv/shop/src")
    assert [row["project"] for row in found["results"]] == ["shop"]
    assert len(asked(memory, "memory_search", query="logo", minScore=0)["results"]) == 2
    for nowhere in ("\0", "", "x" * 5000):
        assert len(call(memory, "memory_search", {"query": "logo", "minScore": 0}, here=nowhere)["results"]) == 2


def test_get_reads_lines_and_says_where_it_goes_on(memory: Memory) -> None:
    found = asked(memory, "memory_get", path="memory/long.md", **{"from": 3, "lines": 2})
    assert found["text"] == "- line 3\n- line 4"
    assert (found["from"], found["lines"], found["truncated"], found["nextFrom"]) == (3, 2, True, 5)
    assert found["citation"] == "memory/long.md#L3-L4"
    assert asked(memory, "memory_get", path="memory/long.md")["lines"] == 120
    rest = asked(memory, "memory_get", path="memory/long.md", **{"from": 290, "lines": 10_000})
    assert (rest["truncated"], "nextFrom" in rest) == (False, False)


def test_get_takes_a_citation_as_it_was_given(memory: Memory) -> None:
    cited = asked(memory, "memory_search", query="launch")["results"][0]["citation"]
    assert asked(memory, "memory_get", path=cited)["text"] == "- [PROJ] The launch is on 3 May"


def test_get_counts_as_a_recall(root: Path, memory: Memory) -> None:
    asked(memory, "memory_get", path="memory/2026-03-19.md", lines=4)
    assert "2026-03-19.md" in (root / "memory" / "recalls.jsonl").read_text("utf8")


@pytest.mark.parametrize(
    "path", ["../secrets.md", "/etc/passwd", ".nacre/config.toml", "memory/none.md", "MEMORY.md:999"]
)
def test_get_refuses_what_is_no_memory(memory: Memory, path: str) -> None:
    with pytest.raises(NacreError):
        call(memory, "memory_get", {"path": path})


def test_write_goes_where_remember_goes_and_is_found_at_once(root: Path, memory: Memory) -> None:
    written = asked(memory, "memory_write", text="Ann owns billing", type="PEOPLE")
    assert (written["path"], written["type"], written["already"]) == (TODAY, "PEOPLE", False)
    assert (root / TODAY).read_text("utf8").splitlines()[written["line"] - 1] == "- [PEOPLE] Ann owns billing"
    assert asked(memory, "memory_write", text="Ann owns billing", type="PEOPLE")["already"] is True
    assert asked(memory, "memory_search", query="who owns billing")["results"][0]["citation"] == written["citation"]


def test_importance_is_kept_as_the_mark_that_openclaw_knows(root: Path, memory: Memory) -> None:
    asked(memory, "memory_write", text="Never deploy on Fridays", type="LESSON", importance=9)
    assert "- [LESSON] Never deploy on Fridays <!-- importance: 9 -->\n" in (root / TODAY).read_text("utf8")
    assert asked(memory, "memory_write", text="Never deploy on Fridays", type="LESSON", importance=9)["already"] is True


def test_what_was_forgotten_may_be_known_again_when_the_person_says_it_and_not_when_an_agent_does(
    memory: Memory,
) -> None:
    asked(memory, "memory_write", text="The heron stands in the vault")
    found = asked(memory, "memory_search", query="heron stands vault")["results"][0]
    asked(memory, "memory_forget", id=found["id"])
    asked(memory, "memory_write", text="The heron stands in the vault", importance=7)
    assert load_tombstones(memory.workspace).stones
    memory.remember("The heron stands in the vault", importance=7)
    assert not load_tombstones(memory.workspace).stones


def test_a_secret_is_refused_and_not_repeated(root: Path, memory: Memory) -> None:
    secret = "ghp_R7k2mQx9vLp4TzW1nB8sYc5dFgHj3KeUa6oX"
    for name, arguments in (
        ("memory_write", {"text": f"the token is {secret}"}),
        ("memory_state", {"action": "context", "key": "token", "value": secret}),
    ):
        with pytest.raises(SecretRefused) as refused:
            call(memory, name, arguments)
        assert secret not in str(refused.value)
    assert secret not in "".join(path.read_text("utf8") for path in root.rglob("*.md"))


def test_forget_takes_out_by_id_and_says_what_went(root: Path, memory: Memory) -> None:
    found = asked(memory, "memory_search", query="when is the launch")["results"][0]
    gone = asked(memory, "memory_forget", id=found["id"])
    assert gone["forgotten"] == 1
    assert gone["places"] == ["memory/2026-03-19.md:4"]
    assert "3 May" not in (root / "memory/2026-03-19.md").read_text("utf8")
    with pytest.raises(NacreError):
        call(memory, "memory_forget", {"id": found["id"]})


def test_forget_does_not_take_words_for_a_name(memory: Memory) -> None:
    with pytest.raises(BadInput, match="specify one by its id"):
        call(memory, "memory_forget", {"id": "launch"})


def test_status_tells_the_owner_how_memory_stands(memory: Memory) -> None:
    told = asked(memory, "memory_status")
    assert told["scope"] == "main"
    assert told["longterm"]["maxLines"] == 80
    assert told["files"]["daily"] == 1
    assert len(told["tools"]) == 7


def put(memory: Memory, *questions: Question) -> None:
    with operation(memory.opened, "tidy") as op:
        review.change_review(op, add=questions)


def test_review_lists_what_waits_and_takes_an_agents_answer(root: Path, memory: Memory) -> None:
    assert asked(memory, "memory_review") == {"waiting": []}
    told = {"file": "MEMORY.md", "type": "PEOPLE"}
    put(
        memory,
        Question("aaaaaaaaaa", review.DOUBT, "Ann owns billing", "noted by an agent", told),
        Question("bbbbbbbbbb", review.DOUBT, "Tom owns the printer", "noted by an agent", told),
        Question("cccccccccc", review.CLASH, "Use npm everywhere", "conflicts with “Use pnpm”", told),
    )
    waiting = asked(memory, "memory_review")["waiting"]
    assert waiting[0] == {
        "id": "aaaaaaaaaa",
        "statement": "Ann owns billing",
        "why": "noted by an agent",
        "yours": True,
    }
    assert [row["yours"] for row in waiting] == [True, True, False]
    kept = asked(memory, "memory_review", id="aaaaaaaaaa", answer="Keep")
    assert kept["done"] == ["add MEMORY.md: Ann owns billing"]
    assert [row["id"] for row in kept["waiting"]] == ["bbbbbbbbbb", "cccccccccc"]
    assert asked(memory, "memory_review", id="bbbbbbbbbb", answer="Tom owns both printers")["done"]
    text = (root / "MEMORY.md").read_text("utf8")
    assert "- Ann owns billing\n" in text
    assert "- Tom owns both printers\n" in text
    with pytest.raises(BadInput, match="Only the user can decide"):
        call(memory, "memory_review", {"id": "cccccccccc", "answer": "keep"})
    for given in ({"id": "cccccccccc"}, {"answer": "keep"}):
        with pytest.raises(BadInput, match="memory_review needs"):
            call(memory, "memory_review", given)
    ledger = [json.loads(line) for line in (root / "memory/ledger.jsonl").read_text("utf8").splitlines()]
    assert [row["brain"] for row in ledger if row["verdict"] == "admitted"] == ["agent", "agent"]


def test_a_secret_in_an_agents_answer_is_refused_and_one_in_the_file_is_not_shown(memory: Memory) -> None:
    secret = "ghp_R7k2mQx9vLp4TzW1nB8sYc5dFgHj3KeUa6oX"
    put(memory, Question("aaaaaaaaaa", review.DOUBT, "Ann owns billing", "noted by an agent"))
    path = memory.workspace.review
    path.write_text(path.read_text("utf8").replace("Ann owns billing", f"the token is {secret}"), "utf8")
    assert secret not in json.dumps(asked(memory, "memory_review"))
    with pytest.raises(SecretRefused):
        call(memory, "memory_review", {"id": "aaaaaaaaaa", "answer": f"the token is {secret}"})


def test_a_group_reads_and_does_nothing_else(root: Path, group: Memory) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    for name, arguments in (
        ("memory_write", {"text": "x"}),
        ("memory_forget", {"id": "MEMORY.md:4"}),
        ("memory_review", {}),
        ("memory_review", {"id": "7f3a9c41d2", "answer": "keep"}),
        *(("memory_state", {"action": action}) for action in ("get", "snapshot", "restore", "done")),
        ("memory_state", {"action": "task", "text": "x"}),
    ):
        with pytest.raises(BadInput, match="In a group"):
            call(group, name, arguments)
    assert asked(group, "memory_search", query="launch pnpm", minScore=0)["results"] == []
    with pytest.raises(NotFound):
        call(group, "memory_get", {"path": "MEMORY.md"})
    assert set(asked(group, "memory_status")) == {"version", "scope", "tools"}
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


def test_a_tool_that_is_not_there_is_named_with_those_that_are(memory: Memory) -> None:
    with pytest.raises(BadInput, match="memory_search"):
        call(memory, "memory_destroy", {})


def test_what_is_written_is_stamped_with_the_project_that_the_agent_works_in(root: Path, memory: Memory) -> None:
    log = root / "memory" / "2026-03-20.md"
    call(memory, "memory_write", {"text": "The logo is lilac"}, here="/srv/shop")
    assert log.read_text("utf8").endswith("## 18:00 note | agent | project:shop\n- The logo is lilac\n")
    call(memory, "memory_write", {"text": "The logo is crimson", "project": "Blog 2"}, here="/srv/shop")
    assert log.read_text("utf8").endswith("## 18:00 note | agent | project:blog-2\n- The logo is crimson\n")
    for nowhere in ({"here": None}, {"here": str(root)}, {"here": "\0"}, {"here": "relative"}):
        call(memory, "memory_write", {"text": f"Said in {nowhere!r}"}, **nowhere)
    call(memory, "memory_write", {"text": "Tea at four", "project": "*"}, here="/srv/shop")
    assert log.read_text("utf8").count("## 18:00 note | agent\n") == 1
    assert log.read_text("utf8").endswith("- Tea at four\n")


def test_a_note_of_one_project_is_given_at_the_start_of_no_session_in_another(memory: Memory) -> None:
    call(memory, "memory_write", {"text": "The logo is lilac"}, here="/srv/shop")
    call(memory, "memory_write", {"text": "Tea at four", "project": "*"}, here="/srv/shop")
    shop, blog = (memory.context(here=folder).text for folder in ("/srv/shop/src/..", "/srv/blog"))
    assert "The logo is lilac" in memory.context(here="/srv/shop").text
    assert "The logo is lilac" not in blog
    assert "Tea at four" in blog
    assert "Tea at four" in shop


def test_what_one_project_was_told_can_be_told_to_another(memory: Memory) -> None:
    first = call(memory, "memory_write", {"text": "The logo is lilac"}, here="/srv/shop")
    again = call(memory, "memory_write", {"text": "The logo is lilac"}, here="/srv/shop")
    other = call(memory, "memory_write", {"text": "The logo is lilac"}, here="/srv/blog")
    assert (again["already"], again["line"]) == (True, first["line"])
    assert not other["already"]
    call(memory, "memory_write", {"text": "Tea at four"})
    assert call(memory, "memory_write", {"text": "Tea at four"}, here="/srv/blog")["already"]
