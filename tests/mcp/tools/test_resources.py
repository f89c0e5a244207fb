"""What agents are told and may read beside the tools: rules, resources, prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.errors import NotFound
from nacre.i18n import use_language
from nacre.mcp import resources
from nacre.memory import Memory
from nacre.vault.rules import rules_block


@pytest.mark.parametrize("tongue", ["en", "zh"])
def test_the_block_in_agents_md_says_the_same_as_the_instructions(tongue: str) -> None:
    instructions, told = resources.instructions(tongue), rules_block(tongue)
    plain = [line for line in instructions.splitlines() if line.startswith("- ") and "`memory_" not in line]
    assert len(plain) >= 6
    assert [line for line in plain if line not in told] == []


def test_instructions_name_the_tools_and_every_rule() -> None:
    told = resources.instructions("en")
    for words in (
        "Search before you answer anything about prior work, decisions, dates, people, preferences or todos",
        "Write things down as they happen",
        "Never read whole memory files",
        "Four signs",
        "say that you searched and found nothing",
        "`memory_state`",
        "forgotten",
    ):
        assert words in told
    assert "{" not in told
    assert "nacre search" not in told


def test_a_group_is_told_nothing_of_writing() -> None:
    for tongue in ("en", "zh"):
        told = resources.instructions(tongue, group=True)
        assert "`memory_search`" in told
        assert "memory_write" not in told
        assert "memory_state" not in told


def test_resources_give_long_term_memory_today_and_the_context(memory: Memory) -> None:
    assert resources.read_resource(memory, resources.TODAY) == ""
    memory.remember("Ann owns billing")
    assert "Use pnpm" in resources.read_resource(memory, resources.MEMORY)
    assert "Ann owns billing" in resources.read_resource(memory, resources.TODAY)
    context = resources.read_resource(memory, resources.CONTEXT)
    assert "Use pnpm" in context
    assert "Ann owns billing" in context
    with pytest.raises(NotFound, match="nacre://memory"):
        resources.read_resource(memory, "nacre://secrets")


def test_reading_a_resource_is_no_recall(root: Path, memory: Memory) -> None:
    resources.read_resource(memory, resources.MEMORY)
    assert not (root / "memory" / "recalls.jsonl").exists()


def test_a_resource_that_leads_out_of_the_workspace_is_not_read(root: Path, memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("the moat is deep\n", "utf8")
    (root / "MEMORY.md").unlink()
    (root / "MEMORY.md").symlink_to(tmp_path / "outside.md")
    try:
        told = resources.read_resource(memory, resources.MEMORY)
    except Exception as refusal:  # noqa: BLE001
        told = str(refusal)
    assert "moat" not in told


def test_a_group_has_its_context_and_no_prompts(group: Memory) -> None:
    assert [one["uri"] for one in resources.resources(group=True)] == [resources.CONTEXT]
    for uri in (resources.MEMORY, resources.TODAY):
        with pytest.raises(NotFound):
            resources.read_resource(group, uri)
    assert "pnpm" not in resources.read_resource(group, resources.CONTEXT)
    assert resources.prompts(group=True) == []
    with pytest.raises(NotFound):
        resources.get_prompt(group, "flush")


@pytest.mark.parametrize("tongue", ["en", "zh"])
def test_prompts_are_filled_with_how_memory_stands(memory: Memory, tongue: str) -> None:
    use_language(tongue)
    memory.state.pending("Ask Ann")
    assert "memory/2026-03-20.md" in resources.get_prompt(memory, "flush")
    distil = resources.get_prompt(memory, "distil")
    assert "- memory/2026-03-19.md" in distil
    assert "80" in distil
    review = resources.get_prompt(memory, "weekly_review")
    assert "nacre review" in review
    for told in (distil, review):
        assert "{" not in told
    with pytest.raises(NotFound):
        resources.get_prompt(memory, "dance")
