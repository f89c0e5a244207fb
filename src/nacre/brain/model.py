"""The user's own model as the settings choose it: asked one order at a time, within the day's budget, never twice for the same."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nacre.brain import journal
from nacre.brain.gates import Gated, Proof, check_changes, check_claims
from nacre.brain.journal import TURN, Record, Spent
from nacre.brain.orders import Answer, Item, Order, Work, own_prompt, parse_answer
from nacre.clock import duration
from nacre.disk import hold
from nacre.errors import BrainFailed, Locked, Waiting
from nacre.guard.secrets import redact
from nacre.model import Context
from nacre.text.tokens import tokens_estimate

if TYPE_CHECKING:
    from nacre.brain.command import Reply

_ANSWER = 2_000  # tokens that are kept free in the budget for an answer
_MARGIN = 60  # seconds more than an order may take, until another is no longer waited for
_PAUSE = dt.timedelta(minutes=10)  # after a failure


@dataclass(frozen=True)
class Model:
    context: Context
    kind: str  # "command", "api" or "turn"

    @property
    def name(self) -> str:
        """Which model it is, for people."""
        if self.kind == TURN:
            return TURN
        command, api = self.context.config.brain.command, self.context.config.brain.api
        if self.kind == "command":
            return command.argv[0] if command.argv else command.preset or "command"
        return f"{api.model} ({urlsplit(api.base_url).hostname if api.base_url else api.kind})"

    @property
    def key(self) -> str:
        """Which model it is, for the cache: the same program with other arguments may be another model."""
        argv = self.context.config.brain.command.argv
        if self.kind != "command" or len(argv) < 2:
            return self.name
        return f"{self.name} {hashlib.blake2b(json.dumps(list(argv)).encode(), digest_size=4).hexdigest()}"

    def ask(self, order: Order, *, anew: bool = False) -> str:
        """The answer, from the journal where the order was answered before; `BrainFailed` where there is none to be had now, `Waiting` where
        the user's agent may still give it. Asked `anew` it is sent in any case that the budget allows."""
        workspace = self.context.workspace
        try:
            with hold(workspace.machine / "orders.lock", timeout=self._timeout + _MARGIN):
                return self._ask(order, anew=anew)
        except Locked as error:
            raise BrainFailed("Another request has not finished yet.", "另一个请求尚未完成。") from error

    def _ask(self, order: Order, *, anew: bool) -> str:
        workspace = self.context.workspace
        records = journal.read_orders(workspace)
        own = [] if anew else [record for record in records if record.brain == self.key]
        if self.kind == TURN:
            return self._answer_of_agent(order, [record for record in own if record.key == order.key])
        for record in reversed(own):
            if record.key == order.key and record.answer is not None:
                journal.note(workspace, order, "reused", self._now)
                return record.answer
        self._refuse_if_spent(order, records)
        self._refuse_if_failing(own)
        _refuse_secrets(order)
        journal.note_asked(workspace, order, self.key, self._now)
        spent = 0
        try:
            text, tokens = self._send(order)
            answer = redact(text).text
            spent = max(tokens or 0, tokens_estimate(order.text) + tokens_estimate(answer))
            parse_answer(order.work, answer)
        except BrainFailed as error:
            journal.note(workspace, order, "failed", self._now, why=redact(str(error)).text[:300], tokens=spent)
            raise
        journal.note(workspace, order, "answered", self._now, answer=answer, tokens=spent)
        return answer

    def _answer_of_agent(self, order: Order, asked: list[Record]) -> str:
        """What the user's agent answered. The order is put into the journal once, or again where its words were taken out."""
        workspace, now = self.context.workspace, self._now
        for record in reversed(asked):
            if record.answer is not None:
                return record.answer
        wait = self.context.config.brain.turn_wait
        if asked and abs(now - asked[0].at) >= duration(wait):
            late = BrainFailed(f"No agent picked up the request within {wait}.", f"{wait} 内没有智能体领取该请求。")
            if asked[-1].waits:
                journal.note(workspace, order, "failed", now, why=str(late), tokens=0)
            raise late
        if not asked or not asked[-1].waits:
            _refuse_secrets(order)
            journal.note_asked(workspace, order, TURN, now)
        raise Waiting(order.key)

    def order(
        self, work: Work, language: str, items: Sequence[Item], memory: Sequence[Item] = (), *, most: int, room: int = 0
    ) -> Order:
        """What is asked, with the workspace's own prompt where it has one."""
        prompt = own_prompt(work, language, self.context.workspace)
        return Order(work, language, tuple(items), tuple(memory), most, room, prompt)

    def claims(self, order: Order, proves: Proof | None = None, *, anew: bool = False) -> tuple[Answer, Gated[Any]]:
        """The answer to an order, and what of it passed the gates; the journal is told. Changes of memory need a proof."""
        answer = parse_answer(order.work, self.ask(order, anew=anew))
        gated: Gated[Any] = (
            check_changes(order, answer.claims, proves) if proves else check_claims(order, answer.claims)
        )
        self._note_checked(order, gated, gated.reasons | ({"malformed": answer.malformed} if answer.malformed else {}))
        return answer, gated

    def _note_checked(self, order: Order, gated: Gated[Any], dropped: dict[str, int]) -> None:
        """Record what the gates made of an answer, once."""
        records = journal.read_orders(self.context.workspace)
        if any(record.key == order.key and record.answer is not None and record.kept is None for record in records):
            claims = [(claim.reason, redact(claim.text).text) for claim in gated.dropped]
            row = {"kept": len(gated.kept), "dropped": dropped, "claims": claims}
            journal.note(self.context.workspace, order, "checked", self._now, **row)

    def _send(self, order: Order) -> Reply:
        settings = self.context.config.brain
        if self.kind == "command":
            from nacre.brain.command import ask_command

            return ask_command(settings.command.preset, settings.command.argv, order, self._timeout)
        from nacre.brain.api import ask_api

        return ask_api(settings.api, order, timeout=self._timeout)

    @property
    def _timeout(self) -> float:
        return duration(self.context.config.brain.command.timeout).total_seconds()

    @property
    def _now(self) -> dt.datetime:
        return self.context.clock.now()

    def _refuse_if_spent(self, order: Order, records: list[Record]) -> None:
        limits, spent = self.context.config.brain, spent_today(self.context, records)
        needed = tokens_estimate(order.text) + _ANSWER
        if spent.calls + 1 > limits.calls_per_day or spent.tokens + needed > limits.tokens_per_day:
            raise BrainFailed("Today's budget for requests to the model is used up.", "今天的模型请求额度已用完。")

    def _refuse_if_failing(self, records: list[Record]) -> None:
        """After a failure the model is left alone for a while."""
        if records and records[-1].why and abs(self._now - (records[-1].failed or records[-1].at)) < _PAUSE:
            raise BrainFailed(
                "The model failed a moment ago; Nacre will try again later.", "模型刚刚出错，稍后会重试。"
            )


def _refuse_secrets(order: Order) -> None:
    if redact(order.text).findings:
        raise BrainFailed("The request would contain a secret, so it was not sent.", "请求中含有敏感信息，没有发出。")


def spent_today(context: Context, records: list[Record] | None = None) -> Spent:
    records = journal.read_orders(context.workspace) if records is None else records
    return journal.spent_on(records, context.clock.today(), context.clock.now().tzinfo)


def chosen_model(context: Context, work: str = "extract") -> Model | None:
    """The model that the settings choose for a kind of work; none where it is done on this machine. `hybrid` takes the program where one
    is set, else the service."""
    settings = context.config.brain
    mode: str = getattr(settings, work)
    if mode == "local":
        return None
    if mode == "hybrid":
        mode = "command" if settings.command.preset or settings.command.argv else "api"
    return Model(context, mode)
