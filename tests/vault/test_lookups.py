"""What is looked up in ledger and trail is what reading all of them tells, with the database behind it and without."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nacre.model import Workspace
from nacre.vault import ledger, provenance
from nacre.vault import storage as lines
from nacre.vault.ledger import VERDICTS, LedgerStates, Record
from nacre.vault.provenance import Captured, Digested, Offered, Trail
from nacre.vault.storage import dump_row

DAYS = [f"2026-03-{day:02}" for day in range(1, 20)]
MARKS = [f"{number:08x}" for number in range(12)]
IDS = [f"{mark}aa" for mark in MARKS]


def some_record(chance: random.Random) -> Record:
    known, verdict = chance.choice(IDS), chance.choice(VERDICTS)
    more: dict[str, object] = {"into": chance.choice(IDS)} if verdict == "merged" else {}
    more |= {"by": chance.choice([*IDS, "hand"])} if verdict in ("superseded", "forgotten") else {}
    more |= {"kind": "doubt"} if verdict == "asked" else {}
    more |= {"file": "USER.md", "field": "Name"} if chance.random() < 0.1 else {}
    source = {"day": chance.choice(DAYS), "bullet": chance.choice(MARKS)} if chance.random() < 0.5 else {}
    at = f"{chance.choice(DAYS)}T03:00:00+00:00"
    return Record(known, at, verdict, f"Name: {chance.random():.3f}", source=source, more=more)


def some_line(chance: random.Random) -> Captured | Digested | Offered:
    day, marks = chance.choice(DAYS), tuple(chance.sample(MARKS, 3))
    own = Captured(day, "s", "a", dict.fromkeys(marks, ("m",)), place=chance.choice(["", "/work/shop", "C:\\my app"]))
    asked = Offered(day, (f"doubt:{chance.choice(IDS)}",))
    every: list[Captured | Digested | Offered] = [
        own,
        Digested(day, "w", marks, chance.randrange(1000)),
        Offered(day, marks),
        asked,
    ]
    return chance.choice(every)


@pytest.mark.parametrize("batch", [500, 10**9])
@pytest.mark.parametrize("seed", range(4))
def test_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, seed: int) -> None:
    monkeypatch.setattr(lines, "_BATCH", batch)
    chance, workspace = random.Random(seed), Workspace(tmp_path)
    workspace.memory.mkdir()
    for _ in range(4):
        with workspace.ledger.open("a", encoding="utf8") as file:
            file.writelines(dump_row(ledger.as_json(some_record(chance))) for _ in range(20))
        states, records = LedgerStates(workspace), ledger.read_ledger(workspace).records
        every = ledger.entry_states(records)
        assert {known: states.get(known) for known in every} == every
        assert {state.id for state in states.in_memory()} == {state.id for state in every.values() if state.in_memory}
        assert states.asked(DAYS[0]) == [row for row in records if row.verdict == "asked" and row.at[:10] == DAYS[0]]
        assert set(states.by_hand()) == {row.id for row in records if row.more.get("by") == "hand"}
        decided = {(row.source["day"], row.source["bullet"]) for row in records if row.source}
        assert {(day, mark) for day in DAYS for mark in MARKS if states.is_decided(day, mark)} == decided
        named = [row for row in records if "field" in row.more and row.verdict == "admitted"]
        assert states.values_of("USER.md", "Name") == [(row.text or "").partition(": ")[2] for row in named]
        assert not states.problems(workspace)
    assert (tmp_path / ".nacre").exists() is (batch == 500)


@pytest.mark.parametrize("batch", [500, 10**9])
@pytest.mark.parametrize("seed", range(4))
def test_the_trail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, seed: int) -> None:
    monkeypatch.setattr(lines, "_BATCH", batch)
    chance, workspace = random.Random(seed), Workspace(tmp_path)
    workspace.memory.mkdir()
    for _ in range(4):
        with workspace.trail.open("a", encoding="utf8") as file:
            file.writelines(provenance.provenance_line(some_line(chance)) for _ in range(20))
        trail, whole = Trail(workspace), provenance.read_provenance(workspace)
        assert trail.sizes() == {row.day: row.size for row in whole.pressed}
        entered = {(row.day, mark) for row in whole.pressed for mark in row.bullets}
        assert {(day, mark) for day in DAYS for mark in trail.entered(day)} == entered
        assert trail.captured(MARKS[:1]) == tuple(row for row in whole.captured if MARKS[0] in row.bullets)
        offered = {(row.day, mark) for row in whole.offered for mark in row.bullets}
        assert all(trail.is_offered(day, mark) is ((day, mark) in offered) for day in DAYS for mark in MARKS)
        assert all(
            trail.was_asked(f"doubt:{known}") is (f"doubt:{known}" in {mark for _, mark in offered}) for known in IDS
        )
        assert set(trail.unoffered()) == entered - offered
        places = [row.place for row in whole.captured if row.place.endswith("app")]
        assert trail.place("my-app") == (places[-1] if places else None)
    assert (tmp_path / ".nacre").exists() is (batch == 500)


def test_a_broken_line_of_a_long_ledger_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BATCH", 500)
    workspace, chance = Workspace(tmp_path), random.Random(1)
    workspace.memory.mkdir()
    rows = [dump_row(ledger.as_json(some_record(chance))) for _ in range(40)]
    workspace.ledger.write_text("".join([*rows[:5], "{\n", *rows[5:]]), encoding="utf8")
    assert [problem.line for problem in LedgerStates(workspace).problems(workspace)] == [6]
