"""One night of distilling while it is being planned: what is known, and what was decided so far."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from nacre.brain.local.likeness import Statement
from nacre.model.plan import Plan, Step
from nacre.model.problem import Problem
from nacre.model.verdict import Verdict
from nacre.text.stamps import real_day
from nacre.tidy import fading
from nacre.tidy.book import Line
from nacre.tidy.budget import Worth
from nacre.tidy.candidates import Candidate
from nacre.tidy.days import Said
from nacre.tidy.library import Library
from nacre.tidy.planned import Demoted, DistilPlan
from nacre.tidy.room import Room
from nacre.vault import ledger, review, trail
from nacre.vault.ledger import Record, Standing
from nacre.vault.review import Item
from nacre.vault.trail import Offered

MOST_UNWANTED = 200  # entries taken out by hand that are remembered, the newest


class Night:
    """The books, the ledger as it will be, and the plan in the making."""

    def __init__(self, room: Room, *, careful: bool = False) -> None:
        self.room = room
        self.careful = careful  # nothing that stands there is touched without asking
        self.today = room.clock.today()
        self.at = room.clock.now().isoformat(timespec="seconds")
        told = ledger.read(room.workspace)
        self.before = told.records
        self.known: dict[str, Standing] = ledger.standing(told.records)
        self.repeats = Counter(one.into for one in self.known.values() if one.verdict == "merged" and one.into)
        self.asked = review.read(room.workspace)
        self.trail = trail.read(room.workspace)
        self.library = Library(room, self.trail)
        self.asked_before = {mark for one in self.trail.offered for mark in one.bullets if ":" in mark}
        self.told_apart: set[tuple[str, str]] = set()  # lines that were compared, and do not say the same
        self.lately: list[Said] = []
        self.deferred: set[tuple[str, str]] = set()  # lines that are offered again when there is room
        self.steps: list[Step] = []
        self.records: list[Record] = []
        self.asks: list[Item] = []
        self.settled: list[str] = []
        self.demoted: list[Demoted] = []
        self.notes: list[str] = []
        self.problems: list[Problem] = list(told.problems)

    def planned(self, new: Sequence[Said]) -> DistilPlan:
        """The plan, all of these lines having been dealt with."""
        marks: dict[str, dict[str, None]] = {}
        # Questions that a killed run put to the user before it could note that it did.
        unnoted = [item for item in self.asked if f"{item.kind}:{item.id}" not in self.asked_before]
        for day, mark in (*(item.said for item in unnoted if item.said), *((said.day, said.mark) for said in new)):
            if (day, mark) not in self.deferred:
                marks.setdefault(day, {})[mark] = None
        put = tuple(f"{item.kind}:{item.id}" for item in (*unnoted, *self.asks))
        offered = [Offered(day, tuple(every)) for day, every in marks.items()]
        offered += [Offered(self.today.isoformat(), put)] if put else []
        return DistilPlan(
            Plan(tuple(self.steps)),
            tuple(self.library.edits()),
            tuple(self.records),
            tuple(self.asks),
            tuple(self.settled),
            tuple(self.demoted),
            tuple(self.notes),
            tuple(offered),
            (*self.problems, *self.library.problems),
            tuple(self.library.meant()),
            tuple(dict.fromkeys(one.words for one in self.lately)),
        )

    def step(self, action: str, path: str, reason: str, detail: str = "") -> None:
        self.steps.append(Step(action, path, reason, detail))

    def record(self, *made: Record) -> None:
        """Tell the ledger, and know it from now on."""
        self.records += made
        for one in made:
            was = self.known.get(one.id)
            self.known |= ledger.standing([*(was.records if was else ()), one])
            if one.verdict == "merged" and one.more.get("into"):
                self.repeats[str(one.more["into"])] += 1

    def record_of(
        self,
        one: Candidate,
        verdict: str,
        test: Verdict | None,
        *,
        more: dict[str, object] | None = None,
        **about: object,
    ) -> Record:
        """What the ledger is told of a candidate."""
        made = Record(
            one.id,
            self.at,
            verdict,
            one.text,
            tests=dict(test.scores) if test else {},
            without_it=test.without_it if test and verdict == "admitted" else None,
            source=self.library.source(one.said),
            brain="local",
            valid_from=one.said.day if verdict == "admitted" else None,
            more=more or {},
        )
        return replace(made, **about)  # type: ignore[arg-type]

    def worth(self, line: Line) -> Worth:
        """What speaks for an entry: how sure it is, said again, recalled, and whether its time is over."""
        was = self.known.get(line.id)
        begun = real_day((was.valid_from or "")[:10]) if was else None
        age = (self.today - dt.date.fromisoformat(begun)).days if begun else 0
        faded = fading.reason(line.words, begun, self.today, self.lately) or ""
        sure = min(0.99, ((was.confidence if was else None) or 0.5) + 0.05 * self.repeats[line.id])
        return Worth(sure, self.library.recalls(line), faded, max(age, 0))

    @cached_property
    def unwanted(self) -> list[Statement]:
        """What the user took out of a MEMORY.md by hand: it does not come back in other words."""
        gone = [one for one in self.known.values() if one.verdict == "forgotten" and one.text]
        mine = [one.text or "" for one in gone if one.records[-1].more.get("by") == "hand"][-MOST_UNWANTED:]
        return self.library.statements(mine)

    def nearly_same(self, lines: Sequence[Line]) -> list[tuple[Line, Line]]:
        """Two of the lines that say the same, if there are."""
        from nacre.brain.local.relation import are_close, relations, says_the_same

        read = self.library.statements([line.words for line in lines])
        for place, one in enumerate(read):
            close = [
                other
                for other in range(place)
                if (read[other].text, one.text) not in self.told_apart and are_close(read[other], one)
            ]
            for near in relations([read[other] for other in close], one):
                if says_the_same(read[close[near.place]], one, near):
                    return [(lines[close[near.place]], lines[place])]
            self.told_apart.update((read[other].text, one.text) for other in close)
        return []


def confidence(one: Candidate) -> float:
    """From the odds of passing, and what speaks for it: directness, repetition."""
    return round(min(0.99, 0.35 + 0.55 * one.lasting + 0.05 * max(-2.0, min(2.0, one.support))), 2)
