"""Orders that wait for the user's own agent, which fetches and answers them one after the other."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from nacre.brain import journal
from nacre.brain.journal import TURN, Record
from nacre.brain.model import spent_today
from nacre.brain.orders import CLAIMS, Work, json_object, schema
from nacre.clock import duration
from nacre.errors import BadInput, BrainFailed
from nacre.guard.secrets import legible, redact
from nacre.i18n import say
from nacre.model import Context
from nacre.sources.registry import paused_at, pauses
from nacre.text.tokens import tokens_estimate

_FAULTS = 3  # that are named of an answer
_KEPT = 2  # times the wait: from then on nobody can need the answer


def waiting_orders(context: Context, records: list[Record] | None = None) -> list[Record]:
    """The orders that the user's agent may answer, the oldest first; none during a pause."""
    works, now = [work for work in CLAIMS if getattr(context.config.brain, work) == TURN], context.clock.now()
    if not works or paused_at(pauses(context.workspace), now):
        return []
    longest = _KEPT * duration(context.config.brain.turn_wait)
    records = journal.read_orders(context.workspace) if records is None else records
    return [record for record in records if record.waits and record.work in works and now - record.at < longest]


@dataclass(frozen=True)
class NextOrder:
    """How many orders wait, and the first of them: none where none waits or the budget of the day is spent."""

    waiting: int
    order: Record | None

    @property
    def note(self) -> str:
        """Why there is no order to work on."""
        if self.waiting:
            english = "Today's budget is used up; the remaining requests wait until tomorrow."
            return say(english, "今天的额度已用完，其余请求留到明天。")
        english = "No requests are waiting. You do not need to run anything: the next sync or tidy uses the answers."
        return say(english, "没有等待的请求。无需运行任何命令：下一次采集或整理会使用这些回答。")


def next_order(context: Context) -> NextOrder:
    records, limits = journal.read_orders(context.workspace), context.config.brain
    waiting, spent = waiting_orders(context, records), spent_today(context, records)
    is_spent = spent.calls >= limits.calls_per_day or spent.tokens >= limits.tokens_per_day
    return NextOrder(len(waiting), waiting[0] if waiting and not is_spent else None)


def take_answer(context: Context, key: str, answer: str) -> None:
    """Put an answer into the journal, where the next run finds it; what does not fit the order is refused with the reason."""
    workspace = context.workspace
    with journal.hold_file(workspace):
        records = [record for record in journal.read_orders(workspace) if record.brain == TURN]
        record = next((record for record in reversed(records) if len(key) > 3 and record.key.startswith(key)), None)
        if record is None:
            raise BadInput(
                f'There is no request with the id "{key[:40]}"; "nacre brain orders --next" shows the next one.',
                f"没有编号为“{key[:40]}”的请求；“nacre brain orders --next”可查看下一个。",
            )
        if not record.waits:
            raise BadInput(
                f"Request {key} no longer needs an answer: it was answered, withdrawn or timed out. Take the next one.",
                f"请求 {key} 无需再回答：已有回答、已撤回或已超时。请领取下一个。",
            )
        safe = redact(answer).text
        _refuse_misfit(record.work, safe)
        spent = tokens_estimate(record.text) + tokens_estimate(safe)
        journal.note(workspace, record, "answered", context.clock.now(), answer=safe, tokens=spent)


def _refuse_misfit(work: str, answer: str) -> None:
    from jsonschema import Draft202012Validator

    try:
        errors = Draft202012Validator(schema(work)).iter_errors(json_object(answer))
        faults = [f"{error.json_path}: {legible(error.message)[:200]}" for error in errors][:_FAULTS]
    except BrainFailed as error:
        faults = [str(error)]
    if faults:
        listed = "; ".join(faults)
        raise BadInput(
            f"The answer is not the JSON object that the request asks for ({listed}). Correct it and answer again.",
            f"回答不是请求中要求的 JSON 对象（{listed}）。请改正后重新回答。",
        )


def withdraw_orders(context: Context, work: Work | None, kept: Container[str]) -> None:
    """Take the words out of the orders of a kind of work, or of all, that wait and that nobody needs any more."""
    records = journal.read_orders(context.workspace)
    old = {record.key for record in records if record.waits and work in (None, record.work) and record.key not in kept}
    if old:
        journal.forget_orders(context.workspace, old)
