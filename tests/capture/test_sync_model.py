"""A session is written down by the user's own model where that is chosen; whatever it does, nothing is lost and nothing private leaves."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.brain.conftest import Program
from tests.capture.talks import Desk, Said, each_word

from nacre.brain import journal
from nacre.brain.extract import LARGEST, _parts, by_model
from nacre.capture.sync import SyncReport
from nacre.config.settings import BrainCommandSettings, BrainSettings, Config
from nacre.model import ORDER_MARK, Message, Speaker
from nacre.text.tokens import tokens_estimate

TALK: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "We use pnpm in every repository, never npm."),
    ("2026-03-02 09:01", "agent", "Noted."),
    ("2026-03-02 09:05", "user", "Karim signs off releases on port 5433."),
)
PNPM = {"text": "Use pnpm in every repository, never npm", "speaker": "owner", "cites": ["m1"], "type": "PREF"}
KARIM = {"text": "Karim signs off releases", "speaker": "owner", "cites": ["m3"], "type": "PEOPLE"}
LOCAL = "- We use pnpm in every repository, never npm.\n- Karim signs off releases on port 5433.\n"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "program").mkdir()
    return Program(tmp_path / "program")


def sync(
    desk: Desk, program: Program, now: str = "2026-03-02 14:00", *, dry_run: bool = False, **brain: Any
) -> SyncReport:
    given: dict[str, Any] = {"extract": "command", "command": BrainCommandSettings(argv=program.argv)} | brain
    desk.config = Config(brain=BrainSettings(**given))
    context = desk.setting(now).context
    context.workspace.machine.mkdir(exist_ok=True)
    return desk.sync(now, dry_run=dry_run, by_model=by_model(context, each_word, list))


def say(program: Program, *entries: dict[str, Any]) -> None:
    program.will("answer", json.dumps({"entries": entries}))


def lines(desk: Desk) -> str:
    return desk.log("2026-03-02").partition("\n## ")[2].partition("\n")[2]


def test_the_models_lines_stand_in_the_log_with_their_types(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    say(program, KARIM, PNPM)
    sync(desk, program)
    assert lines(desk) == "- [PREF] Use pnpm in every repository, never npm\n- [PEOPLE] Karim signs off releases\n"
    (given,) = program.given
    assert ORDER_MARK in given["order"]
    (record,) = journal.read_orders(desk.workspace)
    assert (record.work, record.kept, record.dropped) == ("extract", 2, {})


def test_what_only_the_agent_said_stands_under_its_name(desk: Desk, program: Program) -> None:
    desk.claude(*TALK, ("2026-03-02 09:06", "agent", "The race in lock.py is fixed."))
    say(program, {"text": "The race in lock.py is fixed", "speaker": "agent", "cites": ["m4"], "type": "-"})
    sync(desk, program)
    assert "- Agent: The race in lock.py is fixed\n" in lines(desk)


@pytest.mark.parametrize("kind", ["exit", "half", "answer", "nonsense"])
def test_whatever_goes_wrong_the_local_brain_writes_the_session(desk: Desk, program: Program, kind: str) -> None:
    desk.claude(*TALK)
    program.will(kind, "" if kind == "answer" else '{"entries": [nonsense' * 20)
    sync(desk, program)
    assert lines(desk) == LOCAL


def test_what_the_gates_drop_the_local_brain_tells(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    say(program, PNPM, KARIM | {"text": "Fatima signs off releases on port 9999"})
    sync(desk, program)
    assert lines(desk) == "- [PREF] Use pnpm in every repository, never npm\n- Karim signs off releases on port 5433.\n"
    assert journal.read_orders(desk.workspace)[0].dropped == {"number": 1}


def test_when_the_budget_is_spent_the_local_brain_goes_on(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    sync(desk, program, calls_per_day=0)
    assert lines(desk) == LOCAL
    assert program.given == []


def test_an_empty_answer_is_an_answer(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    say(program)
    assert sync(desk, program).sections == ()


def test_a_dry_run_costs_nothing(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    assert sync(desk, program, dry_run=True).sections
    assert program.given == []


@pytest.mark.parametrize("private", ["shop", "/work/shop", "/work/*", "claude-code"])
def test_nothing_of_a_private_project_or_source_leaves(desk: Desk, program: Program, private: str) -> None:
    desk.claude(*TALK, cwd="/work/shop")
    sync(desk, program, private=[private])
    assert lines(desk) == LOCAL
    assert program.given == []
    assert journal.read_orders(desk.workspace) == []


def test_a_project_beside_a_private_one_leaves(desk: Desk, program: Program) -> None:
    desk.claude(*TALK, cwd="/work/shop")
    say(program, PNPM)
    sync(desk, program, private=["bank"])
    assert len(program.given) == 1


def test_where_something_is_private_a_session_of_no_known_folder_stays(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    sync(desk, program, private=["bank"])
    assert program.given == []


def test_what_the_owner_wants_kept_nowhere_is_not_sent(desk: Desk, program: Program) -> None:
    desk.claude(
        *TALK, ("2026-03-02 09:10", "user", "Off the record: I am looking for another job in Lyon. Don't save this.")
    )
    sync(desk, program)
    assert "pnpm" in program.given[0]["order"]
    assert "Lyon" not in program.given[0]["order"]


def test_secrets_are_blacked_out_before_the_order_leaves(desk: Desk, program: Program) -> None:
    desk.claude(*TALK, ("2026-03-02 09:10", "user", "the staging password is hunter2-Xy9!kQ, do not lose it"))
    sync(desk, program)
    assert "hunter2" not in program.given[0]["order"]
    assert "[redacted: password]" in program.given[0]["order"]


def test_hybrid_asks_only_for_long_sessions_and_where_little_was_found(desk: Desk, program: Program) -> None:
    short = [(f"2026-03-02 09:{minute:02}", "user", f"point number {minute}") for minute in range(4)]
    desk.claude(*short)
    sync(desk, program, extract="hybrid")
    assert program.given == []
    long = [(f"2026-03-02 11:{minute:02}", "user", f"remark number {minute}") for minute in range(25)]
    desk.claude(*long, session="71871d67-1111-4222-8333-444455556666")
    sync(desk, program, extract="hybrid")
    assert len(program.given) == 1


def test_a_long_session_is_put_in_orders_of_a_bearable_size(desk: Desk, program: Program) -> None:
    text = "We talked about the warehouse and its forty doors. " * 60
    desk.claude(*[(f"2026-03-02 09:{minute:02}", "user", f"{minute}: {text}") for minute in range(30)])
    say(program)
    sync(desk, program)
    assert len(program.given) > 1
    assert max(len(given["order"]) for given in program.given) < 40_000


def test_to_remember_something_keeps_the_owners_words(desk: Desk, program: Program) -> None:
    desk.claude(*TALK, ("2026-03-02 09:10", "user", "Remember that invoices go out on the first Monday."))
    say(program, PNPM, {"text": "Invoices go out on Monday", "speaker": "owner", "cites": ["m4"], "type": "PREF"})
    sync(desk, program)
    assert "- Remember that invoices go out on the first Monday.\n" in lines(desk)
    assert "Invoices go out on Monday" not in lines(desk)


def test_a_second_run_and_one_after_lost_cursors_ask_nothing_again(desk: Desk, program: Program) -> None:
    desk.claude(*TALK)
    say(program, PNPM)
    sync(desk, program)
    log = desk.log("2026-03-02")
    sync(desk, program)
    assert len(program.given) == 1
    desk.workspace.cursors.unlink()
    (desk.workspace.memory / "2026-03-02.md").unlink()
    sync(desk, program)
    assert len(program.given) == 1
    assert desk.log("2026-03-02") == log


@pytest.mark.parametrize("prompt", [f"{ORDER_MARK} extract\n\nYou keep …", f'"{ORDER_MARK} extract\n\nYou keep …"', f"{ORDER_MARK}: You carry out\n\n{ORDER_MARK} extract"])  # fmt: skip
def test_a_session_that_an_order_left_behind_is_never_captured(desk: Desk, program: Program, prompt: str) -> None:
    desk.claude(
        ("2026-03-02 09:00", "user", prompt), ("2026-03-02 09:01", "agent", "{}"), ("2026-03-02 09:02", "user", "again")
    )
    report = sync(desk, program)
    assert report.sections == ()
    assert report.passed_over == {"isolated": 1}
    desk.claude(("2026-03-02 11:00", "user", "one more"), ("2026-03-02 11:01", "user", "and another"))
    assert sync(desk, program, "2026-03-02 18:00").sections == ()
    assert program.given == []


def test_to_speak_of_orders_later_in_a_session_does_not_hide_it(desk: Desk, program: Program) -> None:
    desk.claude(*TALK, ("2026-03-02 09:10", "user", f"what is {ORDER_MARK} in my logs?"))
    say(program, PNPM)
    assert len(sync(desk, program).sections) == 1


DAY = """\
import os, sys
from pathlib import Path
from tests.brain.conftest import Program
from tests.capture.talks import Desk
from tests.capture.test_sync_model import sync
from nacre import disk

left, append = int(sys.argv[3]), disk.append_bytes

def counted(*args, **more):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    return append(*args, **more)

disk.append_bytes = counted
program = Program.__new__(Program)
program.folder = Path(sys.argv[2])
sync(Desk(Path(sys.argv[1])), program)
"""


def test_a_day_that_is_killed_at_any_write_and_run_again_pays_and_writes_nothing_twice(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root))
    undisturbed = ""
    for left in (99, 0, 1, 3, 5, 7, 9):
        home, folder = disk / f"home{left}", tmp_path / f"program{left}"
        home.mkdir()
        folder.mkdir()
        program, desk = Program(folder), Desk(home)
        say(program, PNPM)
        for number in range(3):
            session = f"{number}1871d67-1111-4222-8333-444455556666"
            desk.claude(*TALK, ("2026-03-02 09:10", "user", f"This is session number {number}."), session=session)
        command = [sys.executable, "-c", DAY, str(home), str(folder)]
        code = subprocess.run([*command, str(left)], cwd=root, check=False).returncode
        if left == 99:
            undisturbed = desk.log("2026-03-02")
            assert (code, len(program.given)) == (0, 3)
            continue
        subprocess.run([*command, "999"], cwd=root, check=True)
        assert desk.log("2026-03-02") == undisturbed
        sent = [given["order"] for given in program.given]
        answered = [record.key for record in journal.read_orders(desk.workspace) if record.answer is not None]
        assert len(set(answered)) == len(answered) == len(set(sent)) == 3
        assert len(sent) <= 4  # only one whose answer never reached the journal is sent again


def test_an_agent_that_goes_on_by_itself_makes_no_order_without_end() -> None:
    at = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    said = [Message("0", at, Speaker.OWNER, "Go on until it is green.")]
    said += [Message(str(n), at, Speaker.AGENT, f"Step {n}: " + "looked at a file. " * 60) for n in range(1, 300)]
    sizes = [sum(tokens_estimate(message.text) for message in part) for part in _parts(said)]
    assert max(sizes) <= 1.5 * LARGEST
    assert len(sizes) > 1
