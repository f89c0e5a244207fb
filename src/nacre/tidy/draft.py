"""A distillation while it is being planned: the state so far, and the questions for review."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from nacre.brain.local.likeness import Statement
from nacre.i18n import say
from nacre.model.report import Problem, Step
from nacre.model.verdict import Verdict
from nacre.text.stamps import real_day
from nacre.tidy import budget
from nacre.tidy.apply import Demoted, DistilPlan
from nacre.tidy.budget import Worth
from nacre.tidy.collect import LogLine, TidyContext
from nacre.tidy.judge import Candidate
from nacre.tidy.memory_files import Line, LongTermFile, MemoryFiles, file_field
from nacre.vault import ledger, provenance, review
from nacre.vault.entries import entry_id
from nacre.vault.ledger import EntryState, Record
from nacre.vault.provenance import Offered
from nacre.vault.review import Question

MAX_UNWANTED = 200  # entries taken out by hand that are remembered, the newest
MAX_QUESTIONS = 100  # questions that wait for the user; nobody answers more


class Draft:
    """The memory files, the ledger as it will be, and the plan in the making."""

    def __init__(self, context: TidyContext, *, careful: bool = False) -> None:
        self.context = context
        self.careful = careful  # nothing that stands there is touched without asking
        self.today = context.clock.today()
        self.at = context.clock.now().isoformat(timespec="seconds")
        book = ledger.read_ledger(context.workspace)
        self.before = book.records
        self.states: dict[str, EntryState] = ledger.entry_states(book.records)
        self.repeats = Counter(state.into for state in self.states.values() if state.verdict == "merged" and state.into)
        self.questions = review.read_review(context.workspace)
        self.provenance = provenance.read_provenance(context.workspace)
        self.memory = MemoryFiles(context, self.provenance)
        self.asked_before = {mark for offered in self.provenance.offered for mark in offered.bullets if ":" in mark}
        self.recent: list[LogLine] = []  # what the logs of the last days say
        self.deferred: set[tuple[str, str]] = set()  # lines that are offered again when there is room
        self.steps: list[Step] = []
        self.records: list[Record] = []
        self.asks: list[Question] = []
        self.settled: list[str] = []
        self.demoted: list[Demoted] = []
        self.notes: list[str] = []
        self.problems: list[Problem] = list(book.problems)

    def plan(self, new: Sequence[LogLine]) -> DistilPlan:
        marks: dict[str, dict[str, None]] = {}
        # Questions that a killed run put to the user before it could note that it did.
        unnoted = [question for question in self.questions if _key(question) not in self.asked_before]
        keys = [question.said for question in unnoted if question.said]
        for day, mark in (*keys, *((line.day, line.mark) for line in new)):
            if (day, mark) not in self.deferred:
                marks.setdefault(day, {})[mark] = None
        offered = [Offered(day, tuple(every)) for day, every in marks.items()]
        if put := tuple(map(_key, (*unnoted, *self.asks))):
            offered.append(Offered(self.today.isoformat(), put))
        return DistilPlan(
            tuple(self.steps),
            tuple(self.memory.edits()),
            tuple(self.records),
            tuple(self.asks),
            tuple(self.settled),
            tuple(self.demoted),
            tuple(self.notes),
            tuple(offered),
            (*self.problems, *self.memory.problems),
        )

    def step(self, action: str, path: str, reason: str, detail: str = "") -> None:
        self.steps.append(Step(action, path, reason, detail))

    def record(self, *records: Record) -> None:
        """Add to the ledger, and go by it from now on."""
        self.records += records
        for record in records:
            was = self.states.get(record.id)
            self.states |= ledger.entry_states([*(was.records if was else ()), record])
            if record.verdict == "merged" and record.more.get("into"):
                self.repeats[str(record.more["into"])] += 1

    def record_of(
        self,
        candidate: Candidate,
        verdict: str,
        test: Verdict | None,
        *,
        more: dict[str, object] | None = None,
        **about: object,
    ) -> Record:
        record = Record(
            candidate.id,
            self.at,
            verdict,
            candidate.text,
            tests=dict(test.scores) if test else {},
            without_it=test.without_it if test and verdict == "admitted" else None,
            source=self.memory.source(candidate.said),
            brain="local",
            valid_from=candidate.said.day if verdict == "admitted" else None,
            more=more or {},
        )
        return record._replace(**about)  # type: ignore[arg-type]

    def worth(self, line: Line) -> Worth:
        """What speaks for an entry: how sure it is, said again, recalled, and whether its time is over."""
        was = self.states.get(line.id)
        begun = real_day((was.valid_from or "")[:10]) if was else None
        age = (self.today - dt.date.fromisoformat(begun)).days if begun else 0
        outdated = budget.outdated_reason(line.words, begun, self.today, self.recent) or ""
        confidence = min(0.99, ((was.confidence if was else None) or 0.5) + 0.05 * self.repeats[line.id])
        return Worth(confidence, self.memory.recalls(line), outdated, max(age, 0))

    def make_room(self, file: LongTermFile, text: str, kind: str, value: float) -> bool:
        """Make room for an entry of this value, and note in the ledger what gave way; false where all that could go counts more."""
        gone = budget.make_space(file, lambda: file.has_room(text, kind), self.states, self.worth, value)
        for line, reason in gone or ():
            self.demote(file, line, file_field(file))
            self.step("demote", file.shown, reason, line.words)
        return gone is not None

    def record_rest(self, file: LongTermFile, old: Line, words: str) -> None:
        """What is left of an entry stands on its own, with its origin."""
        record = Record(entry_id(words), self.at, "admitted", words, section=old.section, brain="local")
        if was := self.states.get(old.id):
            record = record._replace(source=was.source, valid_from=was.valid_from, confidence=was.confidence)
        self.record(record._replace(supersedes=old.id, more=file_field(file)))

    def demote(self, file: LongTermFile, line: Line, more: dict[str, object]) -> None:
        """An entry that left its file goes to the digest of its week, unless it stands there."""
        was, today = self.states.get(line.id), self.today.isoformat()
        self.record(Record(line.id, self.at, "demoted", line.words, valid_to=today, more=more))
        day = (was.source.get("day") or was.valid_from if was else None) or today
        mark = was.source.get("bullet") if was else None
        if not mark or mark not in self.memory.digested.get(day, ()):
            project = None if file is self.memory.general else file.path.parent.name
            category = self.memory.tested(line.words).judged.best("category")
            self.demoted.append(Demoted(line.words, day, project, category))

    @cached_property
    def unwanted(self) -> list[Statement]:
        """What the user took out of a MEMORY.md by hand: it does not come back in other words."""
        gone = [state for state in self.states.values() if state.verdict == "forgotten" and state.text]
        by_hand = [state.text or "" for state in gone if state.records[-1].more.get("by") == "hand"]
        return self.memory.statements(by_hand[-MAX_UNWANTED:])

    # Questions for the user: conflicts that nothing decides, lines without room, lines whose time may be over.

    def ask(self, question: Question) -> None:
        """Each question once: what the user answered, or deleted from the file, is left as it is."""
        was = self.states.get(question.id)
        answered = any(record.more.get("answer") == question.kind for record in (was.records if was else ()))
        if answered or _key(question) in self.asked_before:
            return
        if question.id not in {other.id for other in (*self.questions, *self.asks)}:
            self.asks.append(question)
            review_file = self.context.workspace.relative(self.context.workspace.review)
            self.step("ask", review_file, question.why, question.text)

    def ask_about(
        self, candidate: Candidate, verdict: Verdict, kind: str, why: str, file: LongTermFile, against: str = ""
    ) -> None:
        about: dict[str, object] = {"file": file.shown, **({"against": against} if against else {})}
        about |= {"type": candidate.tested.kind, "source": self.memory.source(candidate.said)}
        about["tests"] = dict(verdict.scores)
        self.ask(Question(candidate.id, kind, candidate.text, why, about))

    def ask_about_conflict(
        self, candidate: Candidate, verdict: Verdict, file: LongTermFile, line: Line, why: str
    ) -> None:
        reason = {
            "unsure": say("it is said with doubt", "说法不确定"),
            "clash": say("both cannot hold, and nothing says which does", "二者不能同时成立，且无从判断哪个为准"),
            "kept": say("that line is pinned or was written by you", "那一行已固定或由您写下"),
            "many": say("too many lines would go in one night", "一夜之间会有太多行被移除"),
            "weak": say("the new one would not be kept for itself", "新的一条本身不足以保留"),
        }[why]
        sentence = say(
            f"clashes with “{line.words}” in {file.shown}: {reason}.",
            f"与 {file.shown} 中的“{line.words}”冲突：{reason}。",
        )
        self.ask_about(candidate, verdict, review.CLASH, sentence, file, line.id)

    def ask_about_space(self, candidate: Candidate, verdict: Verdict, home: LongTermFile) -> None:
        why = say(
            f"{home.shown} is full and everything in it counts more; accept it to let the least needed line go.",
            f"{home.shown} 已满，且其中内容都更重要；接受则移出最不需要的一行。",
        )
        self.ask_about(candidate, verdict, review.FULL, why, home)

    def ask_about_outdated(self) -> None:
        """Entries whose time is over are put to the user, each once."""
        for file in self.memory.files:
            for line in file.lines:
                was = self.states.get(line.id)
                if (was and was.pinned) or line.pinned:
                    continue
                since = was.valid_from if was else None
                if why := budget.outdated_reason(line.words, since, self.today, self.recent):
                    closing = say(f"{why}; let it go?", f"{why}；要移除吗？")
                    self.ask(Question(line.id, review.FADED, line.words, closing, {"file": file.shown}))

    def drop_obsolete_questions(self) -> None:
        """Questions about lines that are no longer there have answered themselves. The oldest of too many give way: what nobody
        answered is left as it is, and is not asked again."""
        here = {line.id for file in self.memory.files for line in file.lines}
        for question in self.questions:
            if question.kind in (review.FADED, review.ADOPTED) and question.id not in here:
                self.settled.append(question.id)
        gone = set(self.settled)
        waiting = [question for question in self.questions if question.id not in gone]
        over = max(0, len(waiting) + len(self.asks) - MAX_QUESTIONS)
        self.settled += [question.id for question in waiting[:over]]
        if over > len(waiting):
            self.asks = self.asks[over - len(waiting) :]


def _key(question: Question) -> str:
    """The mark by which provenance notes that a question was put."""
    return f"{question.kind}:{question.id}"


def confidence(candidate: Candidate) -> float:
    """From the odds of passing, and what speaks for it: directness, repetition."""
    support = max(-2.0, min(2.0, candidate.support))
    return round(min(0.99, 0.35 + 0.55 * candidate.lasting + 0.05 * support), 2)
