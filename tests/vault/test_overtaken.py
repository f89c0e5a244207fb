"""What the ledger closed is known by its words, wherever they still stand, and is made anew whenever the ledger changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.storage import is_there

from nacre.model import Workspace
from nacre.vault import ledger
from nacre.vault.entries import bullet_id, entry_id
from nacre.vault.ledger import Closed

PNPM, BUN, DENO = "Use pnpm, never npm", "We moved from pnpm to Bun", "Deno replaces Bun"
TODAY = "2026-03-20"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "memory").mkdir()
    return Workspace(tmp_path)


def tell(workspace: Workspace, *records: dict[str, Any]) -> None:
    with workspace.ledger.open("a", encoding="utf8") as file:
        for one in records:
            words = {"text": one["words"]} if one["verdict"] == "admitted" else {}
            told = {name: value for name, value in one.items() if name != "words"}
            file.write(json.dumps({"id": entry_id(one["words"]), "at": "2026-03-19T22:00"} | words | told) + "\n")


def admitted(words: str, **more: Any) -> dict[str, Any]:
    return {"words": words, "verdict": "admitted"} | more


def superseded(words: str, day: str = "2026-03-19", **more: Any) -> dict[str, Any]:
    return {"words": words, "verdict": "superseded", "valid_to": day} | more


@pytest.mark.parametrize(
    "line",
    [PNPM, f"- {PNPM}", f"* [PREF] {PNPM}", f"- [Preference] {PNPM} (src: 2026-03-11)", f"- [09:31] {PNPM.upper()}"],
)
def test_a_line_is_known_by_its_words_however_it_is_marked(workspace: Workspace, line: str) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, by=entry_id(BUN)), admitted(BUN))
    found = ledger.load_closed(workspace, TODAY)
    assert found.of(line) == Closed("2026-03-19", entry_id(BUN))
    assert found.of(f"- {BUN}") is None
    assert ledger.successor(workspace, Closed("2026-03-19", entry_id(BUN))) == BUN


def test_what_was_said_again_later_holds_and_what_is_closed_tomorrow_holds_today(workspace: Workspace) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, by=entry_id(BUN)), admitted(BUN))
    assert ledger.load_closed(workspace, TODAY).of(PNPM, "2026-03-19")
    assert ledger.load_closed(workspace, TODAY).of(PNPM, "2026-03-20") is None
    assert ledger.load_closed(workspace, "2026-03-18").of(PNPM) is None


def test_what_came_back_into_memory_holds(workspace: Workspace) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, by=entry_id(BUN)), {"words": PNPM, "verdict": "restored"})
    assert ledger.load_closed(workspace, TODAY).of(PNPM) is None


def test_a_line_that_the_entry_came_from_is_overtaken_with_it_unless_it_says_more_that_holds(
    workspace: Workspace,
) -> None:
    line, other = "I am Lin. Use pnpm, never npm", "Lin lives in Oslo, and uses pnpm"
    one, two = ({"bullet": bullet_id(words)} for words in (line, other))
    tell(workspace, admitted(PNPM, source=one), superseded(PNPM, by=entry_id(BUN)), admitted(BUN))
    tell(workspace, admitted("Lin uses pnpm", source=two), superseded("Lin uses pnpm", by=entry_id(BUN)))
    tell(workspace, admitted("Lin lives in Oslo", source=two))
    found = ledger.load_closed(workspace, TODAY)
    assert found.of(f"- {line}")
    assert found.of(f"- {other}") is None


def test_it_is_followed_to_what_holds_now(workspace: Workspace) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, by=entry_id(BUN)), admitted(BUN))
    tell(workspace, superseded(BUN, "2026-03-20", by="hand", into=entry_id(DENO)), admitted(DENO))
    tell(workspace, {"words": "pnpm it is", "verdict": "merged", "into": entry_id(PNPM)})
    found = ledger.load_closed(workspace, TODAY)
    assert found.of(PNPM) == Closed("2026-03-19", entry_id(DENO))
    assert found.of("pnpm it is") == Closed("2026-03-19", entry_id(DENO))


def test_what_was_only_put_in_other_words_or_made_room_holds(workspace: Workspace) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, into=entry_id("pnpm")), admitted("pnpm"))
    tell(workspace, admitted(BUN), {"words": BUN, "verdict": "demoted", "answer": "full"})
    tell(workspace, admitted(DENO), {"words": DENO, "verdict": "demoted", "answer": "faded", "valid_to": "2026-03-19"})
    found = ledger.load_closed(workspace, TODAY)
    assert (found.of(PNPM), found.of(BUN)) == (None, None)
    assert found.of(DENO) == Closed("2026-03-19")


def test_entries_that_overtake_each_other_end(workspace: Workspace) -> None:
    tell(workspace, superseded(PNPM, by=entry_id(BUN)), superseded(BUN, by=entry_id(PNPM)))
    assert ledger.load_closed(workspace, TODAY).of(PNPM)


def test_it_follows_the_ledger(workspace: Workspace) -> None:
    tell(workspace, admitted(PNPM), superseded(PNPM, by=entry_id(BUN)), admitted(BUN))
    assert ledger.load_closed(workspace, TODAY).of(PNPM)
    tell(workspace, {"words": PNPM, "verdict": "restored"})
    assert ledger.load_closed(workspace, TODAY).of(PNPM) is None


def test_without_a_ledger_nothing_is_overtaken_and_nothing_written(workspace: Workspace) -> None:
    assert ledger.load_closed(workspace, TODAY).of(PNPM) is None
    assert not is_there(workspace.machine)
