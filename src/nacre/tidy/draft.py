"""A distillation while it is being planned: the state so far, and the questions for review."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from nacre.brain.local.likeness import Statement
from nacre.i18n import say
from nacre.model.report import Plan, Problem, Step
from nacre.model.verdict import Verdict
from nacre.text.stamps import real_day
from nacre.tidy import budget
from nacre.tidy.apply import Demoted, DistilPlan
from nacre.tidy.budget import Worth
from nacre.tidy.collect import LogLine, TidyContext
from nacre.tidy.judge import Candidate
from nacre.tidy.memory_files import Line, LongTermFile, MemoryFiles
from nacre.vault import ledger, provenance, review
from nacre.vault.ledger import EntryState, Record
from nacre.vault.provenance import Offered
from nacre.vault.review import Question

MAX_UNWANTED = 200  # entries taken out by hand that are remembered, the newest


class Draft:
    """The books, the ledger as it will be, and the plan in the making."""

    def __init__(self, room: TidyContext, *, careful: bool = False) -> None:
        self.room = room
        self.careful = careful  # nothing that stands there is touched without asking
        self.today = room.clock.today()
        self.at = room.clock.now().isoformat(timespec="seconds")
        told = ledger.read_ledger(room.workspace)
        self.before = told.records
        self.known: dict[str, EntryState] = ledger.entry_states(told.records)
        self.repeats = Counter(one.into for one in self.known.values() if one.verdict == "merged" and one.into)
        self.asked = review.read_review(room.workspace)
        self.trail = provenance.read_provenance(room.workspace)
        self.library = MemoryFiles(room, self.trail)
        self.asked_before = {mark for one in self.trail.offered for mark in one.bullets if ":" in mark}
        self.told_apart: set[tuple[str, str]] = set()  # lines that were compared, and do not say the same
        self.lately: list[LogLine] = []
        self.deferred: set[tuple[str, str]] = set()  # lines that are offered again when there is room
        self.steps: list[Step] = []
        self.records: list[Record] = []
        self.asks: list[Question] = []
        self.settled: list[str] = []
        self.demoted: list[Demoted] = []
        self.notes: list[str] = []
        self.problems: list[Problem] = list(told.problems)

    def planned(self, new: Sequence[LogLine]) -> DistilPlan:
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
            self.known |= ledger.entry_states([*(was.records if was else ()), one])
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
        faded = budget.outdated_reason(line.words, begun, self.today, self.lately) or ""
        sure = min(0.99, ((was.confidence if was else None) or 0.5) + 0.05 * self.repeats[line.id])
        return Worth(sure, self.library.recalls(line), faded, max(age, 0))

    @cached_property
    def unwanted(self) -> list[Statement]:
        """What the user took out of a MEMORY.md by hand: it does not come back in other words."""
        gone = [one for one in self.known.values() if one.verdict == "forgotten" and one.text]
        mine = [one.text or "" for one in gone if one.records[-1].more.get("by") == "hand"][-MAX_UNWANTED:]
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


# What a night puts to the user: clashes that nothing decides, lines without room, lines whose time may be over.


def ask(night: Draft, item: Question) -> None:
    """Each question once: what the user answered, or deleted from the file, is left as it is."""
    if f"{item.kind}:{item.id}" in night.asked_before or _answered(night, item):
        return
    if item.id not in {one.id for one in (*night.asked, *night.asks)}:
        night.asks.append(item)
        night.step("ask", night.room.workspace.relative(night.room.workspace.review), item.why, item.text)


def _answered(night: Draft, item: Question) -> bool:
    was = night.known.get(item.id)
    return any(record.more.get("answer") == item.kind for record in (was.records if was else ()))


def ask_about_conflict(
    night: Draft, one: Candidate, verdict: Verdict, book: LongTermFile, line: Line, why: str
) -> None:
    told = {
        "unsure": say("it is said with doubt", "说法不确定"),
        "clash": say("both cannot hold, and nothing says which does", "二者不能同时成立，且无从判断哪个为准"),
        "kept": say("that line is pinned or was written by you", "那一行已固定或由您写下"),
        "many": say("too many lines would go in one night", "一夜之间会有太多行被移除"),
        "weak": say("the new one would not be kept for itself", "新的一条本身不足以保留"),
    }[why]
    sentence = say(
        f"clashes with “{line.words}” in {book.shown}: {told}.", f"与 {book.shown} 中的“{line.words}”冲突：{told}。"
    )
    ask(night, _item(night, one, review.CLASH, sentence, verdict, {"file": book.shown, "against": line.id}))


def ask_about_space(night: Draft, one: Candidate, verdict: Verdict, home: LongTermFile) -> None:
    why = say(
        f"{home.shown} is full and everything in it counts more; accept it to let the least needed line go.",
        f"{home.shown} 已满，且其中内容都更重要；接受则移出最不需要的一行。",
    )
    ask(night, _item(night, one, review.FULL, why, verdict, {"file": home.shown}))


def ask_about_undone(night: Draft, one: Candidate, verdict: Verdict, home: LongTermFile) -> None:
    why = say("you took this back once; accept it to take it in after all.", "您曾撤销过这一条；接受则重新收录。")
    ask(night, _item(night, one, review.DOUBT, why, verdict, {"file": home.shown}))


def ask_about_agent_note(night: Draft, one: Candidate, verdict: Verdict, home: LongTermFile) -> None:
    why = say("an agent noted this; accept it if it is so.", "这是代理记下的；如果属实，请接受。")
    ask(night, _item(night, one, review.DOUBT, why, verdict, {"file": home.shown}))


def ask_about_adopted(night: Draft, book: LongTermFile, line: Line, verdict: Verdict) -> None:
    failed = ", ".join(verdict.failed)
    why = say(
        f"stands in {book.shown}, but fails: {failed}. Keep it, or take it out?",
        f"位于 {book.shown}，但未通过：{failed}。保留还是移除？",
    )
    ask(night, Question(line.id, review.ADOPTED, line.words, why, {"file": book.shown}))


def ask_about_outdated(night: Draft) -> None:
    """Entries whose time is over are put to the user, each once."""
    for book in night.library.books:
        for line in book.lines:
            was = night.known.get(line.id)
            if (was and was.pinned) or line.pinned:
                continue
            why = budget.outdated_reason(line.words, was.valid_from if was else None, night.today, night.lately)
            if why:
                closing = say(f"{why}; let it go?", f"{why}；要移除吗？")
                ask(night, Question(line.id, review.FADED, line.words, closing, {"file": book.shown}))


MAX_QUESTIONS = 100  # questions that wait for the user; nobody answers more


def drop_obsolete_questions(night: Draft) -> None:
    """Questions about lines that are no longer there have answered themselves. The oldest of too many give way: what nobody
    answered is left as it is, and is not asked again."""
    here = {line.id for book in night.library.books for line in book.lines}
    for one in night.asked:
        if one.kind in (review.FADED, review.ADOPTED) and one.id not in here:
            night.settled.append(one.id)
    gone = set(night.settled)
    waiting = [one for one in night.asked if one.id not in gone]
    over = max(0, len(waiting) + len(night.asks) - MAX_QUESTIONS)
    night.settled += [one.id for one in waiting[:over]]
    if over > len(waiting):
        night.asks = night.asks[over - len(waiting) :]


def _item(night: Draft, one: Candidate, kind: str, why: str, verdict: Verdict, about: dict[str, object]) -> Question:
    source = night.library.source(one.said)
    more = {**about, "type": one.tested.kind, "source": source, "tests": dict(verdict.scores)}
    return Question(one.id, kind, one.text, why, more)
