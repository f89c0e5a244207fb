from __future__ import annotations

import json

import pytest
from tests.storage import add_to_file, file_bytes, put_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import SecretRefused
from nacre.model import Context, Workspace
from nacre.vault import ledger, refcount
from nacre.vault.entries import entry_id
from nacre.vault.history import operation
from nacre.vault.ledger import Record
from nacre.vault.storage import dump_row
from nacre.vault.writing import REDACT, append

FULL = Record(
    id=entry_id("Use pnpm, never npm"),
    at="2026-02-17T03:00:12+08:00",
    verdict="admitted",
    text="Use pnpm, never npm",
    section="User Preferences",
    tests={"prevents_error": 0.94, "broad": 0.9, "self_contained": 0.97, "novel": 0.99},
    without_it="the agent would run npm",
    source={"day": "2026-02-10", "session": "61871d67", "bullet": "b1946ac9", "message": "813a837d"},
    brain="local",
    valid_from="2026-02-10",
    confidence=0.9,
)


def test_what_is_written_is_read_again(workspace: Workspace, clock: Clock) -> None:
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        ledger.write_records(op, FULL)
        ledger.write_records(op, Record("0" * 10, FULL.at, "refused", "记住这个", failed="broad", more={"new": [1]}))
    first = json.loads(file_bytes(workspace.ledger).decode().split("\n")[0])
    assert (
        list(first)
        == "id at verdict text section tests without_it source brain valid_from valid_to supersedes confidence".split()
    )
    found = ledger.read_ledger(workspace)
    assert found.records[0] == FULL
    assert found.records[1].more == {"new": [1]}
    assert not found.problems


def test_broken_lines_are_problems_and_good_ones_are_kept(workspace: Workspace, clock: Clock) -> None:
    good = '{"id":"a","at":"t","verdict":"admitted"}'
    put_file(workspace.ledger, f'{good}\nnonsense\n{{"id":1}}\n[]\n\n{good}\n{{"id":"torn')
    found = ledger.read_ledger(workspace)
    assert len(found.records) == 2
    assert [problem.line for problem in found.problems] == [2, 3, 4, 7]
    assert found.problems[-1].kind == "torn line"
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        ledger.write_records(op, FULL)
    assert ledger.read_ledger(workspace).records[-1] == FULL


def test_secrets_stay_out(workspace: Workspace, clock: Clock) -> None:
    value = "AKIA" + "Z7QXNT3MPLR5VWKD"
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        with pytest.raises(SecretRefused):
            ledger.write_records(op, Record("a", "t", "refused", f'say "{value}"'))
        ledger.write_records(op, Record("a", "t", "refused", f'say "{value}"'), on_secret="redact")
    (record,) = ledger.read_ledger(workspace).records
    assert value not in (record.text or "")


def test_recalls_are_appended_and_read(workspace: Workspace, clock: Clock) -> None:
    one = refcount.new_recall(clock, "memory/2026-02-10.md", "abc", (3, 9), "search", "f" * 64)
    two = refcount.new_recall(clock, "MEMORY.md", "def", (1, 1), "get")
    refcount.write_recalls(workspace, [one, two])
    refcount.write_recalls(workspace, [])
    assert json.loads(file_bytes(workspace.recalls).decode().split("\n")[1]) == {
        "at": "2026-02-10T14:05:07+00:00",
        "path": "MEMORY.md",
        "id": "def",
        "lines": [1, 1],
        "via": "get",
    }
    add_to_file(workspace.recalls, '{"at":"x"}\n{"torn')
    found = refcount.read_recalls(workspace)
    assert found.recalls == (one, two)
    assert [problem.line for problem in found.problems] == [3, 4]
    refcount.write_recalls(workspace, [one], durable=False)
    assert refcount.read_recalls(workspace).recalls == (one, two, one)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"text": [1]}, {"text": None}),
        ({"text": 5, "section": {}, "brain": True}, {"text": None, "section": None, "brain": None}),
        (
            {"valid_from": 5, "valid_to": 7, "supersedes": [1]},
            {"valid_from": None, "valid_to": None, "supersedes": None},
        ),
        ({"confidence": "high"}, {"confidence": None}),
        ({"confidence": 1}, {"confidence": 1}),
        ({"source": {"day": [1], "bullet": {}, "session": "a"}}, {"source": {}}),
        ({"tests": {"broad": "yes", "novel": 0.5}}, {"tests": {}}),
        ({"tests": 3, "source": "x"}, {"tests": {}, "source": {}}),
    ],
)
def test_a_field_of_the_wrong_kind_is_passed_over_and_the_line_kept(
    workspace: Workspace, told: dict[str, object], kept: dict[str, object]
) -> None:
    line = {"id": "aaaaaaaaaa", "at": "2026-01-01", "verdict": "admitted"} | told
    put_file(workspace.ledger, json.dumps(line) + "\n")
    (record,) = ledger.read_ledger(workspace).records
    assert {name: getattr(record, name) for name in kept} == kept
    assert not record.more


@pytest.mark.parametrize("text", ["I will send you the db password", "我把密码发给你了", "what is the token?"])
def test_a_line_of_the_ledger_stays_json_whatever_its_text_announces(
    workspace: Workspace, clock: Clock, text: str
) -> None:
    row = dump_row({"id": "0123456789", "text": text, "tests": {"prevents_error": 0.94}, "bullet": "b1946ac9"})
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        append(op, workspace.ledger, row, on_secret=REDACT)
    assert file_bytes(workspace.ledger).decode() == row
