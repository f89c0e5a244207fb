"""A night by the user's own model: what it says is carried out as far as the gates let it, and the local brain does the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.tidy.conftest import killed_at
from tests.tidy.nights import CONTACT, JEST, RULE, SAFETY, VITEST, Nights

PROGRAM = """\
import json, pathlib, re, sys
here = pathlib.Path(__file__).parent
order = sys.stdin.read()
work = order.split("\\n", 1)[0].split()[-1]
with (here / "orders").open("a", encoding="utf8") as file:
    file.write(json.dumps(order) + "\\n")
ids = {text: name for name, text in re.findall(r"(?m)^(\\w\\d+) \\w+[^:\\n]*: (.*)$", order.partition("<data")[2])}
answer = json.loads((here / "answers.json").read_text("utf8")).get(work)
if answer is None:
    sys.exit("no answer")
def named(value):
    if isinstance(value, dict):
        return {name: named(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [named(inner) for inner in value]
    return ids.get(value[1:], value) if isinstance(value, str) and value.startswith("@") else value
print(json.dumps(named(answer)))
"""


class Brain:
    """A program that answers each kind of order as it was told to; "@words" in an answer is the id of what says these words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM, "utf8")
        self.will({})

    def will(self, answers: Mapping[str, Any]) -> None:
        (self.folder / "answers.json").write_text(json.dumps(answers), "utf8")

    def distil(self, *changes: Mapping[str, Any]) -> None:
        self.will({"distil": {"changes": changes}})

    @property
    def orders(self) -> list[str]:
        path = self.folder / "orders"
        return [json.loads(line) for line in path.read_text("utf8").splitlines()] if path.exists() else []


@pytest.fixture
def brain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Brain:
    made = Brain(tmp_path / "brain")
    monkeypatch.setenv("NACRE_BRAIN_DISTIL", "command")
    monkeypatch.setenv("NACRE_BRAIN_DIGEST", "command")
    monkeypatch.setenv("NACRE_BRAIN_COMMAND_ARGV", json.dumps([sys.executable, str(made.folder / "program.py")]))
    return made


def change(entry: str, verdict: str, *targets: str, text: str = "", relation: str = "none") -> dict[str, Any]:
    about = {"type": "TECH", "scope": "everywhere", "relation": relation, "verdict": verdict}
    return {"entry": f"@{entry}", "targets": [f"@{target}" for target in targets], "text": text, **about}


def test_what_the_model_keeps_drops_and_asks_about_becomes_of_the_lines(nights: Nights, brain: Brain) -> None:
    aside, doubt = "The badge of the build stayed red until a rerun", "The office may move to Lyon"
    nights.log("2026-03-19", RULE, aside, doubt)
    brain.distil(
        change(RULE, "keep", text="Use pnpm, never npm"), change(aside, "drop"), change(doubt, "ask", text=doubt)
    )
    nights.tidy()
    assert nights.kept() == ["Use pnpm, never npm"]
    assert list(nights.questions()) == [doubt]
    assert nights.verdicts(aside) == ["refused"]
    assert nights.ledger("Use pnpm, never npm")[0]["source"]["day"] == "2026-03-19"
    assert len(brain.orders) == 1
    nights.tidy("2026-03-21")
    assert len(brain.orders) == 1


def test_an_update_takes_the_place_of_what_it_is_about(nights: Nights, brain: Brain) -> None:
    nights.entries(JEST, SAFETY)
    nights.log("2026-03-19", VITEST)
    brain.distil(
        change(VITEST, "update", JEST, text="Unit tests are written with Vitest in every project", relation="replaces")
    )
    nights.tidy()
    assert nights.kept() == ["Unit tests are written with Vitest in every project", SAFETY]
    assert nights.verdicts(JEST)[-1] == "superseded"
    nights.undo()
    assert nights.kept() == [JEST, SAFETY]


def test_nothing_of_another_matter_is_replaced_whatever_the_model_says(nights: Nights, brain: Brain) -> None:
    nights.entries(SAFETY)
    nights.log("2026-03-19", CONTACT)
    brain.distil(change(CONTACT, "update", SAFETY, text=CONTACT, relation="replaces"))
    nights.tidy()
    assert nights.kept() == [SAFETY]
    assert list(nights.questions()) == [CONTACT]


def test_two_lines_become_one_only_when_nothing_is_lost(nights: Nights, brain: Brain) -> None:
    old, new = "Staging runs Postgres 15 on port 5433", "Staging runs on the host heron"
    nights.entries(old)
    nights.log("2026-03-19", new)
    brain.distil(change(new, "merge", old, text="Staging runs Postgres 15 on the host heron", relation="adds"))
    nights.tidy()
    assert nights.kept() == [old, new]
    again = "Staging runs on the host osprey"
    nights.log("2026-03-20", again)
    brain.distil(
        change(again, "merge", old, text="Staging runs Postgres 15 on port 5433, host osprey", relation="adds")
    )
    nights.tidy("2026-03-21")
    assert nights.kept() == ["Staging runs Postgres 15 on port 5433, host osprey", new]


def test_the_local_brain_decides_where_the_model_fails(nights: Nights, brain: Brain) -> None:
    nights.log("2026-03-19", RULE)
    nights.tidy()
    assert nights.kept() == [RULE]
    assert len(brain.orders) == 1


def test_the_persons_own_note_stays_in_its_words(nights: Nights, brain: Brain) -> None:
    nights.entries(JEST)
    nights.log("2026-03-19", f"[TECH] {VITEST}", session=None)
    brain.distil(change(VITEST, "update", JEST, text="Vitest for unit tests", relation="replaces"))
    nights.tidy()
    assert nights.kept() == [VITEST]


def test_a_dry_run_sends_no_order(nights: Nights, brain: Brain) -> None:
    nights.log("2026-03-19", RULE)
    nights.tidy(dry_run=True)
    assert brain.orders == []


def test_nothing_private_is_in_an_order(nights: Nights, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_BRAIN_PRIVATE", '["bank"]')
    nights.entries(JEST, file="projects/bank/MEMORY.md")
    nights.log("2026-03-19", RULE, stamp=" | project:bank")
    nights.log("2026-03-19", SAFETY, session="71871d67")
    for day in ("2026-03-10", "2026-03-20"):
        nights.log(day, RULE, "Karim signs off every release of the bank in the afternoon", stamp=" | project:bank")
        nights.tidy("2026-03-21")
    assert brain.orders == []


DAY = ["The restore drill runs on the first Sunday of every month", "Agent: the restore drill took 41 minutes this time", "Odile only reads email, never Slack", "Agent: the old export took two hours because every row was read twice, which a cache of the rows avoids now"]  # fmt: skip


def test_an_old_day_is_pressed_in_the_models_words_and_forgotten_with_its_line(nights: Nights, brain: Brain) -> None:
    nights.log("2026-03-09", *DAY)
    drill = {
        "text": "Restore drill first Sunday of every month",
        "speaker": "owner",
        "category": "decision",
        "cites": [f"@{DAY[0]}"],
    }
    odile = {"text": "Odile: email, never Slack", "speaker": "owner", "category": "preference", "cites": [f"@{DAY[2]}"]}
    brain.will({"digest": {"lines": [drill, odile]}, "distil": {"changes": []}})
    nights.tidy()
    digest = "memory/weekly/2026-03-09.md"
    assert "[Decision] Restore drill first Sunday of every month (src: 2026-03-09)\n" in nights.text(digest)
    assert "[Preference] Odile: email, never Slack (src: 2026-03-09)\n" in nights.text(digest)
    assert "41 minutes" not in nights.text(digest)
    with nights.memory() as memory:
        memory.forget(DAY[2])
    assert "Odile" not in nights.text(digest)
    assert "Restore drill" in nights.text(digest)


def test_what_the_gates_drop_from_a_digest_is_pressed_on_this_machine(nights: Nights, brain: Brain) -> None:
    nights.log("2026-03-09", *DAY)
    invented = {"text": "Odile reads email at 9", "speaker": "owner", "category": "preference", "cites": [f"@{DAY[2]}"]}
    brain.will({"digest": {"lines": [invented]}, "distil": {"changes": []}})
    nights.tidy()
    assert f"{DAY[2]} (src: 2026-03-09)" in nights.text("memory/weekly/2026-03-09.md")
    assert "at 9" not in nights.text("memory/weekly/2026-03-09.md")


def test_what_waits_for_the_agent_is_asked_for_as_it_was_whatever_the_next_day_brings(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_BRAIN_DISTIL", "turn")
    nights.log("2026-03-19", RULE)
    nights.tidy("2026-03-20")
    with nights.memory("2026-03-20", "10:00:00") as memory:
        order = memory.next_order().order
        assert order
        answer = {"changes": [change(RULE, "keep", text="Use pnpm, never npm") | {"entry": "e1"}]}
        assert memory.answer_order(order.key, json.dumps(answer)).waiting == 0
    assert nights.kept() == []
    nights.log("2026-03-20", CONTACT)
    nights.tidy("2026-03-21")
    assert nights.kept() == ["Use pnpm, never npm"]
    with nights.memory("2026-03-21", "10:00:00") as memory:
        assert memory.next_order().waiting == 1


def test_where_memory_changes_every_night_the_local_brain_decides_in_the_end(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_BRAIN_DISTIL", "turn")
    nights.log("2026-03-19", RULE)
    for day in range(20, 24):
        nights.entries(*(f"Fact number {number} of the handbook" for number in range(day)))
        nights.tidy(f"2026-03-{day}")
        assert (RULE in nights.kept()) == (day == 23)


@pytest.mark.parametrize("which", [*range(1, 60, 12), *range(60, 240, 45)])
def test_killed_at_any_call_and_run_again_no_answer_is_paid_twice_and_nothing_is_doubled(
    nights: Nights, brain: Brain, which: int
) -> None:
    nights.entries(JEST, SAFETY)
    nights.log("2026-03-09", *DAY)
    nights.log("2026-03-19", VITEST)
    drill = {"text": "Restore drill first Sunday of every month", "speaker": "owner", "category": "decision", "cites": [f"@{DAY[0]}"]}  # fmt: skip
    update = change(VITEST, "update", JEST, text="Unit tests are written with Vitest in every project", relation="replaces")  # fmt: skip
    brain.will({"digest": {"lines": [drill]}, "distil": {"changes": [update]}})
    killed_at(which, nights.tidy)
    journal = nights.root / ".nacre" / "orders.jsonl"
    answered = journal.read_text("utf8").count('"state":"answered"') if journal.exists() else 0
    asked = len(brain.orders)
    nights.tidy(time="03:30:00")
    assert len(brain.orders) - asked <= 2 - answered
    assert nights.kept()[:2] == ["Unit tests are written with Vitest in every project", SAFETY]
    assert len(nights.kept()) == len(set(nights.kept()))
    assert nights.text("memory/weekly/2026-03-09.md").count("Restore drill") == 1
