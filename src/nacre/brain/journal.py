"""What was ordered, answered and spent: `.nacre/orders.jsonl`, read back as the cache of answers and the day's account.

A line before an order is sent and one when its answer is there: what was paid for is known even when the run is killed in between.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre import disk
from nacre.brain.orders import Order
from nacre.clock import Clock
from nacre.disk import hold
from nacre.guard.secrets import legible, redact
from nacre.model import Workspace, fields
from nacre.text.tokens import tokens_estimate

TURN = "turn"  # the brain of orders that wait for the user's agent
_MOST_CLAIMS = 30
LARGEST = 8_000_000  # bytes, from which on the oldest lines are dropped
_WORDLESS = frozenset({"order", "at", "state", "work", "brain", "tokens", "kept", "dropped"})


@dataclass(frozen=True)
class Record:
    """One order that was sent."""

    key: str
    at: dt.datetime
    work: str
    brain: str
    text: str
    tokens: int  # of order and answer; of the order alone until there is one
    answer: str | None = None
    answered: dt.datetime | None = None
    why: str = ""  # it failed
    failed: dt.datetime | None = None
    kept: int | None = None  # None before the gates have looked at it
    dropped: Mapping[str, int] = field(default_factory=dict)
    claims: tuple[tuple[str, str], ...] = ()  # those that were dropped, each with its reason
    reused: tuple[dt.datetime, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the user's agent may still answer it."""
        return self.brain == TURN and bool(self.text) and self.answer is None and not self.why

    def as_plain(self, clock: Clock) -> dict[str, Any]:
        """By the names that scripts know, without its words."""
        head = {"id": self.key[:8], "at": clock.local(self.at).isoformat(timespec="minutes")}
        row = fields(
            self, "work brain tokens kept dropped", dropped=dict(self.dropped), failed=self.why, waits=self.waits
        )
        return {**head, **row, "reused": len(self.reused)}


class Spent(NamedTuple):
    calls: int = 0
    tokens: int = 0
    reused: int = 0  # orders that an earlier answer served
    saved: int = 0  # tokens that these would have cost


def orders_file(workspace: Workspace) -> Path:
    return workspace.machine / "orders.jsonl"


def read_orders(workspace: Workspace) -> list[Record]:
    """Every order that was sent, the oldest first; lines that make no sense are passed over: a journal is no memory."""
    records: dict[str, Record] = {}
    older: list[Record] = []
    for line in (disk.read_bytes(orders_file(workspace)) or b"").split(b"\n"):
        try:
            row = json.loads(line)
            key, at, state = str(row["order"]), dt.datetime.fromisoformat(row["at"]).astimezone(dt.UTC), row["state"]
            if state == "asked":
                older += [records.pop(key)] if key in records else []
                records[key] = Record(
                    key, at, str(row["work"]), str(row["brain"]), str(row["text"]), max(int(row["tokens"]), 0)
                )
                continue
            record = records[key]
            if state == "answered":
                record = replace(record, tokens=max(int(row["tokens"]), record.tokens), answered=at)
                if row["answer"] is not None:  # its words may have been taken out
                    record = replace(record, answer=str(row["answer"]))
            elif state == "failed":
                record = replace(record, why=str(row["why"]), failed=at)
                record = replace(record, tokens=max(int(row.get("tokens", 0)), record.tokens))
            elif state == "checked":
                dropped = {str(reason): int(count) for reason, count in row["dropped"].items()}
                claims = tuple((str(reason), str(text)) for reason, text in row.get("claims", ()))
                record = replace(record, kept=int(row["kept"]), dropped=dropped, claims=claims)
            elif state == "reused":
                record = replace(record, reused=(*record.reused, at))
            records[key] = record
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
            continue
    return sorted([*older, *records.values()], key=lambda record: record.at)


def spent_on(records: Iterable[Record], day: dt.date, zone: dt.tzinfo | None) -> Spent:
    """What a day of the user's cost, and what earlier answers saved. An order that waits costs nothing before it is answered."""
    total = Spent()
    for record in records:
        again = sum(at.astimezone(zone).date() == day for at in record.reused)
        total = total._replace(reused=total.reused + again, saved=total.saved + again * record.tokens)
        paid = record.answered if record.brain == TURN else record.at
        if paid and paid.astimezone(zone).date() == day:
            total = total._replace(calls=total.calls + 1, tokens=total.tokens + record.tokens)
    return total


def account(records: Sequence[Record], clock: Clock, days: int) -> dict[str, Any]:
    """What each of the last days cost, and what the gates dropped of the answers, by reason and the latest claims."""
    today = clock.today()
    dates = [today - dt.timedelta(days=number) for number in range(days)][::-1]
    recent = [record for record in records if clock.local(record.at).date() >= dates[0]]
    dropped: Counter[str] = Counter()
    for record in recent:
        dropped.update(record.dropped)
    claims = [(record.key[:8], *claim) for record in reversed(recent) for claim in record.claims]
    return {
        "days": [{"day": day.isoformat(), **spent_on(recent, day, clock.zone)._asdict()} for day in dates],
        "dropped": dict(dropped.most_common()),
        "claims": [{"id": key, "reason": reason, "text": legible(text)} for key, reason, text in claims[:_MOST_CLAIMS]],
    }


def note_asked(workspace: Workspace, order: Order, brain: str, at: dt.datetime) -> None:
    row = {"work": order.work, "brain": brain, "tokens": tokens_estimate(order.text), "text": redact(order.text).text}
    _append(workspace, order, at, "asked", row)


# What stands for words.
_FORGOTTEN: dict[str, dict[str, Any]] = {
    "answered": {"answer": None},
    "failed": {"why": "…"},
    "checked": {"claims": []},
}


def note(workspace: Workspace, order: Order | Record, state: str, at: dt.datetime, **row: Any) -> None:
    """Append what became of an order: "answered", "failed", "checked" or "reused". Without its words where these were forgotten while
    the model was busy; what failed may have cost tokens all the same: an answer of no use is paid for."""
    with hold_file(workspace):
        if not any(record.text for record in read_orders(workspace) if record.key == order.key):
            row |= _FORGOTTEN.get(state, {})
        _append(workspace, order, at, state, row)


def hold_file(workspace: Workspace) -> contextlib.AbstractContextManager[None]:
    """Lock the journal for a read and a write: `orders.lock` is held while a model thinks, and forgetting does not wait for that."""
    if not workspace.machine.is_dir():
        return contextlib.nullcontext()
    return hold(workspace.machine / "orders.file.lock")


def _append(workspace: Workspace, order: Order | Record, at: dt.datetime, state: str, more: Mapping[str, Any]) -> None:
    path = orders_file(workspace)
    row = {"order": order.key, "at": at.astimezone(dt.UTC).isoformat(), "state": state, **more}
    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    with hold_file(workspace):
        if not workspace.machine.is_dir():  # a workspace that was destroyed meanwhile is not made again
            return
        disk.append_bytes(path, disk.lines_for(path, line), root=workspace.root)
        if path.stat().st_size > LARGEST:
            data = path.read_bytes()
            begin = data.find(b"\n", len(data) - LARGEST // 2) + 1 or len(data)
            disk.write(path, data[begin:], root=workspace.root)


def forget_orders(workspace: Workspace, keys: Container[str] | None = None) -> None:
    """Take every word of orders and answers away, of all or of those named; what was spent stays known."""
    path = orders_file(workspace)
    with hold_file(workspace):
        lines: list[str] = []
        for line in (disk.read_bytes(path) or b"").split(b"\n"):
            try:
                row = dict(json.loads(line).items())
            except (AttributeError, ValueError, RecursionError):
                continue
            if keys is None or row.get("order") in keys:
                state = str(row.get("state"))
                row = {name: value for name, value in row.items() if name in _WORDLESS}
                row |= {"text": ""} if state == "asked" else _FORGOTTEN.get(state, {})
            lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        if lines:
            disk.write(path, "".join(lines).encode("utf-8", "replace"), root=workspace.root)
