"""Orders that wait for the user's agent: written once, answered once, bounded in time, counted when they are answered."""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.brain.conftest import ANSWER, ENTRY
from tests.brain.test_model import NOW, order
from tests.brain.test_summarise import LINES, TEXT

from nacre.brain.journal import forget_orders, orders_file, read_orders
from nacre.brain.model import chosen_model, spent_today
from nacre.brain.orders import Order, parse_answer
from nacre.brain.turn import next_order, take_answer, waiting_orders
from nacre.clock import Clock
from nacre.config.settings import BrainSettings, Config
from nacre.errors import BadInput, BrainFailed, Waiting
from nacre.layers.organise import by_brain, organise
from nacre.model import Context, Workspace
from nacre.sources.registry import begin_pause
from nacre.text.tokens import tokens_estimate


def at(tmp_path: Path, hours: float = 0, **brain: Any) -> Context:
    workspace = Workspace(tmp_path / "ws")
    workspace.machine.mkdir(parents=True, exist_ok=True)
    settings = BrainSettings(**({"extract": "turn", "summarise": "turn"} | brain))
    return Context(workspace, Config(brain=settings), Clock(dt.UTC, NOW + dt.timedelta(hours=hours)))


def ask(context: Context, asked: Order | None = None) -> str:
    model = chosen_model(context)
    assert model
    return model.ask(asked or order())


def leave(context: Context, *texts: str) -> None:
    for text in texts:
        with pytest.raises(Waiting):
            ask(context, order(text))


def test_an_order_is_written_once_and_waits_whatever_the_budget(tmp_path: Path) -> None:
    for hours in (0, 1, 11.9):
        leave(at(tmp_path, hours, calls_per_day=0, tokens_per_day=0), "a")
    assert len(orders_file(at(tmp_path).workspace).read_bytes().splitlines()) == 1
    assert spent_today(at(tmp_path)).calls == 0


def test_the_answer_is_given_from_then_on_and_counts_on_its_own_day(tmp_path: Path) -> None:
    leave(at(tmp_path), "a")
    take_answer(at(tmp_path, 15), order("a").key[:8], f"Here it is:\n```json\n{ANSWER}\n```")
    assert parse_answer("extract", ask(at(tmp_path, 99), order("a"))) == parse_answer("extract", ANSWER)
    assert spent_today(at(tmp_path)).calls == 0
    spent = spent_today(at(tmp_path, 15))
    assert (spent.calls, spent.reused) == (1, 0)
    assert spent.tokens >= tokens_estimate(order("a").text)


def test_nobody_came_and_this_machine_does_it(tmp_path: Path) -> None:
    leave(at(tmp_path), "a")
    for hours in (12, 13):
        with pytest.raises(BrainFailed, match="within 12h") as failed:
            ask(at(tmp_path, hours), order("a"))
        assert not isinstance(failed.value, Waiting)
    with pytest.raises(BadInput, match="no longer needs"):
        take_answer(at(tmp_path, 13), order("a").key, ANSWER)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I would rather not", "not the JSON object"),
        ('{"entries": [', "not the JSON object"),
        ('{"lines": []}', "'entries' is a required property"),
        ('{"entries": {}}', r"\$\.entries: .* is not of type 'array'"),
        (json.dumps({"entries": [ENTRY, ENTRY | {"type": "FACT"}]}), r"\$\.entries\[1\]\.type: 'FACT' is not one of"),
        (json.dumps({"entries": [{"text": "x"}]}), "'cites' is a required property"),
        ('{"entries": ["\\ud800"]}', "not a JSON object"),
        ("{" * 100_000 + "}", "not the JSON object"),
        ("x" * 500_000, "too long"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason_and_the_order_waits_on(
    tmp_path: Path, answer: str, why: str
) -> None:
    leave(at(tmp_path), "a")
    with pytest.raises(BadInput, match=why):
        take_answer(at(tmp_path), order("a").key, answer)
    assert len(waiting_orders(at(tmp_path))) == 1
    take_answer(at(tmp_path), order("a").key, ANSWER)


def test_a_secret_in_an_answer_is_kept_nowhere(tmp_path: Path) -> None:
    leave(at(tmp_path), "a")
    secret = "ghp_R7k2mQx9vLp4TzW1nB8sYc5dFgHj3KeUa6oX"
    take_answer(at(tmp_path), order("a").key, json.dumps({"entries": [ENTRY | {"text": f"The token is {secret}"}]}))
    assert secret.encode() not in orders_file(at(tmp_path).workspace).read_bytes()


def test_unknown_answered_and_forgotten_orders_are_told_apart(tmp_path: Path) -> None:
    leave(at(tmp_path), "a", "b")
    with pytest.raises(BadInput, match='no request with the id "zz"'):
        take_answer(at(tmp_path), "zz", ANSWER)
    take_answer(at(tmp_path), order("a").key, ANSWER)
    with pytest.raises(BadInput, match="no longer needs"):
        take_answer(at(tmp_path), order("a").key, ANSWER)
    forget_orders(at(tmp_path).workspace)
    with pytest.raises(BadInput, match="no longer needs"):
        take_answer(at(tmp_path), order("b").key, ANSWER)
    leave(at(tmp_path, 1), "b")  # still to be done, and asked for again
    assert [record.key for record in waiting_orders(at(tmp_path, 1))] == [order("b").key]
    with pytest.raises(BrainFailed, match="within"):  # from the first time on
        ask(at(tmp_path, 12.5), order("b"))


def test_of_many_who_answer_at_once_one_is_heard(tmp_path: Path) -> None:
    leave(at(tmp_path), "a")

    def answer(_: int) -> bool:
        try:
            take_answer(at(tmp_path), order("a").key, ANSWER)
        except BadInput:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(answer, range(16))) == 1


def test_the_budget_bounds_what_the_agent_is_given_in_a_day(tmp_path: Path) -> None:
    leave(at(tmp_path), "a", "b")
    take_answer(at(tmp_path), order("a").key, ANSWER)
    coming = next_order(at(tmp_path, calls_per_day=1))
    assert (coming.waiting, coming.order) == (1, None)
    assert next_order(at(tmp_path, 15, calls_per_day=1)).order


def test_nothing_is_given_during_a_pause_or_when_the_work_is_another_brains_or_too_late(tmp_path: Path) -> None:
    leave(at(tmp_path), "a")
    assert next_order(at(tmp_path)).waiting == 1
    assert next_order(at(tmp_path, extract="local")).waiting == 0
    assert next_order(at(tmp_path, 24)).waiting == 0
    begin_pause(at(tmp_path).workspace, NOW, None)
    assert next_order(at(tmp_path)).waiting == 0


@pytest.mark.parametrize("answered", [True, False])
def test_a_checkpoint_stays_warm_until_its_summary_is_there(tmp_path: Path, *, answered: bool) -> None:
    layers = tmp_path / "ws" / "memory_fs"
    (layers / "warm").mkdir(parents=True)
    (layers / "warm" / "2026-02-20-0900-61871d67.md").write_text(TEXT.replace("2026-03-02", "2026-02-20"), "utf8")
    for hours in (0, 1):
        context = at(tmp_path, hours)
        report = organise(context, by_brain(lambda: None, context))
        assert (report.left, report.after["gist"]) == ((), 0)
    (record,) = read_orders(at(tmp_path).workspace)
    if answered:
        answer = {"title": "Slow cache", "tags": ["cache"], "lines": LINES}
        take_answer(at(tmp_path, 2), record.key, json.dumps(answer))
    context = at(tmp_path, 3 if answered else 12)
    assert organise(context, by_brain(lambda: None, context)).after["gist"] == 1
    (gist,) = (layers / "gist").glob("*.md")
    assert ("# Slow cache" in gist.read_text("utf8")) == answered
