"""Pinning an entry of MEMORY.md: it is never demoted or merged away. The ledger says so; the file carries no mark of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nacre.errors import BadInput
from nacre.lifecycle.connect import connected
from nacre.lifecycle.lines import Line
from nacre.lifecycle.target import Room, Target
from nacre.vault import ledger
from nacre.vault.ledger import IN_MEMORY, Record, Standing
from nacre.vault.operation import operation
from nacre.words import say


@dataclass(frozen=True)
class PinPlan:
    """The entry, and the lines of the ledger that change its standing; none when it is as wanted already."""

    line: Line
    pinned: bool
    records: tuple[Record, ...]


def plan(room: Room, target: Target, lines: Sequence[Line], *, off: bool = False) -> PinPlan:
    """What pinning the target, or taking its pin out, would write. A line that the ledger does not know is adopted first."""
    known = ledger.standing(ledger.read(room.workspace).records)
    line = _entry(target, lines, known)
    entry = next((known[one] for one in (line.id, *sorted(line.ids)) if one in known), None)
    if entry and entry.verdict not in IN_MEMORY:
        entry = None  # it was gone once, and was written back by hand
    if (entry.pinned if entry else False) is not off:
        return PinPlan(line, not off, ())
    at = room.clock.now().isoformat(timespec="seconds")
    of_line = {} if line.path == "MEMORY.md" else {"file": line.path}
    if entry:
        pinned = Record(
            entry.id, at, entry.verdict, entry.text, section=line.section, more={**of_line, "pinned": not off}
        )
        return PinPlan(line, not off, (pinned,))
    adopted = Record(line.id, at, "adopted", line.text, section=line.section, more=of_line)
    pinned = Record(line.id, at, "adopted", line.text, section=line.section, more={**of_line, "pinned": True})
    return PinPlan(line, not off, (adopted, pinned))


def _entry(target: Target, lines: Sequence[Line], known: dict[str, Standing]) -> Line:
    """The line of a MEMORY.md that is meant: itself, or the one that was made of it."""
    fact = connected(target, known, older=False)
    mine = [target.line] if target.line else []
    for line in (*mine, *(line for line in lines if fact.reason(line))):
        if line.layer == "longterm" and line.path.endswith("MEMORY.md"):
            around = (one for one in lines if one.path == line.path and one.start <= line.start and line.end <= one.end)
            return max(around, key=lambda one: one.end - one.start)  # what is nested belongs to its entry
    where = f" ({target.line.place})" if target.line else ""
    raise BadInput(
        say(
            f"Only entries of a MEMORY.md can be pinned, and this is none{where}. Logs and digests are kept anyway.",
            f"只能固定 MEMORY.md 中的条目，而这一条不是{where}。日志和周报本来就会保留。",
        )
    )


def apply(room: Room, made: PinPlan) -> None:
    """Write it into the ledger: one operation, undone as one."""
    if made.records:
        with operation(room.workspace, room.clock, "pin", room.config) as op:
            known = [ledger.as_json(one) for one in ledger.read(room.workspace).records]
            ledger.write(op, *(one for one in made.records if ledger.as_json(one) not in known))
