"""A pin stands in the ledger, on the verdict that the entry has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.forget.conftest import FACT, FILES, everything, ledger_of

from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.vault import ledger
from nacre.vault.entries import entry_id
from nacre.vault.undo import undo


def pinned(memory: Memory, words: str) -> bool:
    return ledger.entry_states(ledger.read_ledger(memory.workspace).records)[entry_id(words)].pinned


def test_an_entry_is_pinned_with_the_verdict_that_it_has(memory: Memory, root: Path) -> None:
    memory.pin("MEMORY.md:4")
    line = ledger_of(root)[-1]
    assert (line["id"], line["verdict"], line["pinned"]) == (entry_id(FACT), "admitted", True)
    assert pinned(memory, FACT)
    assert (root / "MEMORY.md").read_text("utf8") == FILES["MEMORY.md"]


def test_a_line_that_the_ledger_does_not_know_is_adopted_first(memory: Memory, root: Path) -> None:
    memory.pin("MEMORY.md:6")
    first, second = ledger_of(root)[-2:]
    assert (first["verdict"], first["section"], first.get("pinned")) == ("adopted", "User Preferences", None)
    assert (second["verdict"], second["pinned"]) == ("adopted", True)


def test_an_entry_of_a_project_names_its_file(memory: Memory, root: Path) -> None:
    memory.pin("projects/shop/MEMORY.md:5")
    assert ledger_of(root)[-1]["file"] == "projects/shop/MEMORY.md"


def test_pinning_twice_writes_once_and_off_takes_it_out(memory: Memory, root: Path) -> None:
    memory.pin("MEMORY.md:4")
    after = everything(root)
    memory.pin("MEMORY.md:4")
    assert everything(root) == after
    memory.pin("MEMORY.md:4", off=True)
    assert not pinned(memory, FACT)
    after = everything(root)
    memory.pin("MEMORY.md:4", off=True)
    assert everything(root) == after


def test_a_pin_is_undone(memory: Memory, root: Path) -> None:
    before = everything(root)
    memory.pin("MEMORY.md:6")
    undo(memory.opened)
    assert everything(root) == before


def test_a_bullet_leads_to_the_entry_that_was_made_of_it(memory: Memory) -> None:
    assert memory.pin("memory/2026-03-18.md:4").line.place == "MEMORY.md:4"


def test_what_is_nested_belongs_to_its_entry(memory: Memory, root: Path) -> None:
    (root / "MEMORY.md").write_text("# M\n\n## A\n- Tools\n  - Hammers are in the shed\n", "utf8")
    assert memory.pin("MEMORY.md:5").line.place == "MEMORY.md:4"


def test_only_entries_of_long_term_memory_can_be_pinned(memory: Memory) -> None:
    with pytest.raises(BadInput, match=r"Only entries in a MEMORY\.md"):
        memory.pin("memory/2026-03-18.md:5")


def test_a_dry_run_writes_nothing(memory: Memory, root: Path) -> None:
    before = everything(root)
    assert memory.pin("MEMORY.md:4", dry_run=True).records
    assert everything(root) == before
