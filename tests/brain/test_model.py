"""One order at a time, within the day's budget, none paid twice, and all of it can be read afterwards."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.brain.conftest import ANSWER, Program, Service

from nacre.brain import journal
from nacre.brain.gates import Dropped, Gated
from nacre.brain.model import Model, chosen_model, spent_today
from nacre.brain.orders import Order, items_of
from nacre.clock import Clock
from nacre.config.settings import BrainApiSettings, BrainCommandSettings, BrainSettings, Config
from nacre.errors import BadInput, BrainFailed
from nacre.memory import Memory
from nacre.model import Context, Speaker, Workspace
from nacre.text.tokens import tokens_estimate

NOW = dt.datetime(2026, 3, 2, 10, tzinfo=dt.UTC)


def order(text: str = "We use pnpm, never npm") -> Order:
    return Order("extract", "en", items_of([(text, Speaker.OWNER, "")]))


def model(tmp_path: Path, program: Program, now: dt.datetime = NOW, **settings: Any) -> Model:
    workspace = Workspace(tmp_path / "ws")
    workspace.machine.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"extract": "command", "command": BrainCommandSettings(argv=program.argv)} | settings
    found = chosen_model(Context(workspace, Config(brain=BrainSettings(**given)), Clock(dt.UTC, now)))
    assert found
    return found


def later(found: Model, **span: float) -> Model:
    return replace(found, context=replace(found.context, clock=Clock(dt.UTC, found.context.clock.now() + dt.timedelta(**span))))  # fmt: skip


def test_the_settings_choose_the_model_and_hybrid_takes_the_program_first(tmp_path: Path, program: Program) -> None:
    assert model(tmp_path, program).kind == "command"
    assert model(tmp_path, program, extract="hybrid").kind == "command"
    assert model(tmp_path, program, extract="hybrid", command=BrainCommandSettings()).kind == "api"
    context = replace(model(tmp_path, program).context, config=Config())
    assert chosen_model(context) is None


def test_the_same_order_is_paid_once_and_saved_from_then_on(tmp_path: Path, program: Program) -> None:
    asked = model(tmp_path, program)
    assert asked.ask(order()) == asked.ask(order()) == later(asked, hours=1).ask(order()) == ANSWER
    assert len(program.given) == 1
    spent = spent_today(asked.context)
    assert (spent.calls, spent.reused) == (1, 2)
    assert spent.tokens == tokens_estimate(order().text) + tokens_estimate(ANSWER)
    assert spent.saved == 2 * spent.tokens


def test_another_model_is_asked_anew(tmp_path: Path, program: Program, service: Service) -> None:
    model(tmp_path, program).ask(order())
    service.will_say(ANSWER, 9_077)
    api = model(tmp_path, program, extract="api", api=BrainApiSettings(base_url=service.url, model="m"))
    api.ask(order())
    assert [record.brain for record in journal.read_orders(api.context.workspace)] == [
        model(tmp_path, program).key,
        "m (127.0.0.1)",
    ]
    assert journal.read_orders(api.context.workspace)[-1].tokens == 9_077


def test_another_argument_may_be_another_model(tmp_path: Path, program: Program) -> None:
    model(tmp_path, program).ask(order())
    other = model(tmp_path, program, command=BrainCommandSettings(argv=[*program.argv, "--model=other"]))
    other.ask(order())
    assert [given["argv"] for given in program.given] == [[], ["--model=other"]]
    assert other.name == sys.executable


@pytest.mark.parametrize("nonsense", ["", "I would rather not.", '{"entries": 3}', '{"lines": []}', "[" * 5000])
def test_nonsense_is_a_failure_that_is_paid_and_not_kept(tmp_path: Path, program: Program, nonsense: str) -> None:
    program.will("answer", nonsense)
    asked = model(tmp_path, program)
    with pytest.raises(BrainFailed, match="answer"):
        asked.ask(order())
    with pytest.raises(BrainFailed, match="a moment ago"):
        asked.ask(order("another"))
    assert spent_today(asked.context).tokens == tokens_estimate(order().text) + tokens_estimate(nonsense)
    program.will("answer", ANSWER)
    assert later(asked, minutes=11).ask(order()) == ANSWER


def test_the_calls_of_a_day_are_a_hard_limit(tmp_path: Path, program: Program) -> None:
    asked = model(tmp_path, program, calls_per_day=2)
    for text in ("one", "two"):
        asked.ask(order(text))
    with pytest.raises(BrainFailed, match="budget"):
        asked.ask(order("three"))
    assert asked.ask(order("one")) == ANSWER  # was paid
    assert len(program.given) == 2
    assert later(asked, days=1).ask(order("three")) == ANSWER


def test_the_tokens_of_a_day_are_a_hard_limit_with_room_for_the_answer(tmp_path: Path, program: Program) -> None:
    asked = model(tmp_path, program, tokens_per_day=tokens_estimate(order().text) + 1_999)
    with pytest.raises(BrainFailed, match="budget"):
        asked.ask(order())
    assert program.given == []


@pytest.mark.parametrize("told", [-1_000_000, 0, 1])
def test_no_service_talks_its_cost_down(tmp_path: Path, program: Program, service: Service, told: int) -> None:
    service.will_say(ANSWER, told)
    asked = model(tmp_path, program, extract="api", api=BrainApiSettings(base_url=service.url, model="m"))
    asked.ask(order())
    least = tokens_estimate(order().text) + tokens_estimate(ANSWER)
    assert spent_today(asked.context).tokens == least
    path = journal.orders_file(asked.context.workspace)
    path.write_bytes(path.read_bytes().replace(f'"tokens":{least}'.encode(), b'"tokens":-100000'))
    assert spent_today(asked.context).tokens == tokens_estimate(order().text)


def test_a_failing_model_is_left_alone_for_a_while(tmp_path: Path, program: Program) -> None:
    program.will("exit")
    asked = model(tmp_path, program)
    for _ in range(2):
        with pytest.raises(BrainFailed, match="exited with code 1"):
            asked.ask(order())
        with pytest.raises(BrainFailed, match="a moment ago"):
            later(asked, minutes=9).ask(order())
        asked = later(asked, minutes=11)
    program.will("answer", ANSWER)
    assert asked.ask(order()) == ANSWER
    records = journal.read_orders(asked.context.workspace)
    assert [bool(record.why) for record in records] == [True, True, False]
    assert spent_today(asked.context).calls == 3  # a call that failed may have been paid


HOLDER = """\
import sys
from pathlib import Path
from nacre.disk import hold
with hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_an_order_that_another_run_holds_up_is_given_up(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.brain.model._MARGIN", 0)
    asked = model(tmp_path, program, command=BrainCommandSettings(argv=program.argv, timeout="1s"))
    command = [sys.executable, "-c", HOLDER, str(asked.context.workspace.machine / "orders.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout
        run.stdout.readline()
        with pytest.raises(BrainFailed, match="has not finished"):
            asked.ask(order())
        run.kill()


def test_orders_and_answers_can_be_read_afterwards_without_secrets(tmp_path: Path, program: Program) -> None:
    program.will("answer", ANSWER.replace("pnpm", "sk-proj-Zk3v9QmT7wLx2RbN8dFyH4sJ"))
    asked = model(tmp_path, program)
    asked.ask(order())
    claim = Dropped("Use npm with sk-proj-Zk3v9QmT7wLx2RbN8dFyH4sJ", "name")
    asked._note_checked(order(), Gated((), (claim,)), {"name": 1})
    asked._note_checked(order(), Gated(), {})  # a second look changes nothing
    (record,) = journal.read_orders(asked.context.workspace)
    assert record.text == order().text
    assert "sk-proj" not in (record.answer or "")
    assert (record.kept, record.dropped) == (0, {"name": 1})
    assert [reason for reason, _ in record.claims] == ["name"]
    assert "sk-proj" not in record.claims[0][1]


def test_an_order_with_a_secret_never_leaves(tmp_path: Path, program: Program) -> None:
    with pytest.raises(BrainFailed, match="secret"):
        model(tmp_path, program).ask(order("the password is hunter2-Xy9!kQ"))
    assert program.given == []


def test_broken_lines_of_the_journal_are_passed_over(tmp_path: Path, program: Program) -> None:
    asked = model(tmp_path, program)
    asked.ask(order())
    path = journal.orders_file(asked.context.workspace)
    path.write_bytes(
        b'{"order": 1}\nnull\n[]\n{"order":"x","at":"never","state":"asked"}\n' + path.read_bytes() + b'{"order"'
    )
    assert len(journal.read_orders(asked.context.workspace)) == 1
    assert asked.ask(order()) == ANSWER
    assert len(program.given) == 1


def test_a_large_journal_loses_its_oldest_lines(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LARGEST", 20_000)
    asked = model(tmp_path, program, calls_per_day=100)
    for number in range(12):
        asked.ask(order(f"order {number}"))
    assert journal.orders_file(asked.context.workspace).stat().st_size <= 20_000
    assert asked.ask(order("order 11")) == ANSWER
    assert len(program.given) == 12


def test_forgetting_takes_every_word_and_leaves_the_account(tmp_path: Path, program: Program) -> None:
    asked = model(tmp_path, program)
    asked.ask(order())
    program.will("exit", "pnpm")
    with pytest.raises(BrainFailed):
        asked.ask(order("another pnpm"))
    spent = spent_today(asked.context)
    journal.forget_orders(asked.context.workspace)
    assert b"pnpm" not in journal.orders_file(asked.context.workspace).read_bytes()
    assert spent_today(asked.context) == spent
    assert spent.calls == 2
    with pytest.raises(BrainFailed, match="a moment ago"):
        asked.ask(order())  # the answer is gone, and the model still rests


FORGETS = """\
import sys
from pathlib import Path
from nacre.brain.journal import forget_orders
from nacre.model import Workspace
forget_orders(Workspace(Path(sys.argv[1])))
print(sys.argv[2], end="")
sys.exit(int(sys.argv[3]))
"""


@pytest.mark.parametrize("code", [0, 1])
def test_what_is_forgotten_while_the_model_is_busy_stays_forgotten(tmp_path: Path, program: Program, code: int) -> None:
    argv = [sys.executable, "-c", FORGETS, str(tmp_path / "ws"), ANSWER, str(code)]
    asked = model(tmp_path, program, command=BrainCommandSettings(argv=argv))
    if code:
        with pytest.raises(BrainFailed, match="exited with code 1"):
            asked.ask(order())
    else:
        assert asked.ask(order()) == ANSWER
    assert b"pnpm" not in journal.orders_file(asked.context.workspace).read_bytes()
    spent = spent_today(asked.context)
    answer = 0 if code else tokens_estimate(ANSWER)
    assert (spent.calls, spent.tokens) == (1, tokens_estimate(order().text) + answer)


APPENDS = """\
import sys
from tests.brain.test_model import NOW, model, order
from tests.brain.conftest import Program
from nacre.brain import journal
from nacre.brain.gates import Dropped, Gated
from pathlib import Path
program = Program.__new__(Program)
program.folder = Path(sys.argv[1]) / "program"
workspace = model(Path(sys.argv[1]), program).context.workspace
print("begins", flush=True)
for number in range(20):
    journal.note_asked(workspace, order(f"number {number}"), "x", NOW)
"""


def test_forgetting_loses_no_call_of_a_run_beside_it(memory_disk: Path, program: Program) -> None:
    workspace = model(memory_disk, program).context.workspace
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", APPENDS, str(memory_disk)]
    env = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, env=env) as run:
        assert run.stdout
        run.stdout.readline()
        while run.poll() is None:
            journal.forget_orders(workspace)
    assert len(journal.read_orders(workspace)) == 20


KILLED = """\
import sys
from tests.brain.test_model import NOW, model, order
from tests.brain.conftest import Program
from pathlib import Path
program = Program.__new__(Program)
program.folder = Path(sys.argv[1]) / "program"
asked = model(Path(sys.argv[1]), program)
print(asked.ask(order()), flush=True)
asked.ask(order("another"))
"""


def test_a_run_that_is_killed_pays_nothing_twice_for_what_was_answered(tmp_path: Path, program: Program) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    ) as run:
        assert run.stdout
        assert json.loads(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
    before = len([given for given in program.given if given["order"] == order().text])
    assert before == 1
    asked = model(tmp_path, program)
    assert asked.ask(order()) == ANSWER
    assert asked.ask(order("another")) == ANSWER
    assert len([given for given in program.given if given["order"] == order().text]) == 1


def test_a_group_is_told_of_no_order(tmp_path: Path) -> None:
    Memory.init(tmp_path / "ws")
    group = Memory.open(tmp_path / "ws", scope="group:rowing")
    for asked in (group.orders, group.test_brain):
        with pytest.raises(BadInput):
            asked()
