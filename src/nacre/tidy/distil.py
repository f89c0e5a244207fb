"""What lasts becomes long-term memory: each new line of the logs is judged, compared with what is there, and fitted in."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from nacre.brain.local.likeness import Statement
from nacre.brain.local.relation import bears_out, is_close, is_repeated
from nacre.brain.local.wording import pieces
from nacre.errors import MemoryFull, SecretRefused
from nacre.i18n import say
from nacre.model import ASK, KEEP, REFUSE, Problem, Step, Verdict
from nacre.text.blocks import real_day
from nacre.text.tokens import clauses
from nacre.tidy import budget, compare, judge, memory_files
from nacre.tidy.apply import Demoted, DistilPlan, offered_by_day
from nacre.tidy.collect import DecidedLines, Field, LogLine, TidyContext, fields_in, new_lines
from nacre.tidy.compare import Comparison, EntryParts
from nacre.tidy.judge import Candidate, candidate_by_model, make_candidates
from nacre.tidy.memory_files import Line, LongTermFile, MemoryFiles, file_field, names_project
from nacre.tidy.summary import consequence, failure
from nacre.vault import ledger, review
from nacre.vault.entries import entry_id
from nacre.vault.ledger import EntryState, LedgerStates, Record, Tombstones, load_tombstones
from nacre.vault.provenance import Offered, Trail, undone_mark
from nacre.vault.review import Question

if TYPE_CHECKING:
    from nacre.brain.orders import Change

Only = Callable[[LogLine], bool]


@dataclass(frozen=True)
class Advice:
    """What the user's own model says of the new lines of the logs, by their day and mark."""

    brain: str = "local"
    changes: Mapping[tuple[str, str], Change] = field(default_factory=dict)  # their targets are ids of entries
    shown: frozenset[str] = frozenset()  # the entries of memory that it was given
    waiting: frozenset[tuple[str, str]] = frozenset()  # lines on which it has not decided yet


Place = tuple[LongTermFile, Line]
AT_ONCE = 400  # lines of the logs whose sentences are in memory together
UPDATES_FROM = 0.05  # odds of being worth keeping from which a statement may change an entry
AGAIN = 0.7  # what speaks for a statement that came up in another session too
_SURE = 0.9  # of what the user's own model says
BETTER = 0.03  # by how much surer a new wording must be to take the place of the old
MAX_UNWANTED = 200  # entries taken out by hand that are remembered, the newest
QUESTIONS = 3  # that are put to the user in a day
PATIENCE = 30  # days after which a question that nobody answered is refused


class Draft:
    """A plan in the making: the memory files and the ledger as they will be, and the steps that lead there."""

    def __init__(self, context: TidyContext, advice: Advice | None = None, *, careful: bool = False) -> None:
        self.context = context
        self.advice = advice or Advice()
        self.careful = careful  # nothing that stands there is touched without asking
        self.today = context.clock.today()
        self.at = context.clock.now().isoformat(timespec="seconds")
        self.states = LedgerStates(context.workspace)
        self.repeats: Counter[str] = Counter()  # how often an entry was said again in this plan
        self.questions = review.read_review(context.workspace)
        self.review_file = context.workspace.relative(context.workspace.review)
        self.trail = Trail(context.workspace)
        self.memory = MemoryFiles(context, self.trail)
        self.recent: list[LogLine] = []  # what the logs of the last days say
        self.deferred: dict[tuple[str, str], list[Candidate]] = {}  # by line: what is offered again when there is room
        self.steps: list[Step] = []
        self.records: list[Record] = []
        self.asks: list[Question] = []
        self.settled: list[str] = []
        self.demoted: list[Demoted] = []
        self.notes: list[str] = []
        self.problems: list[Problem] = list(self.states.problems(context.workspace))

    def plan(self, new: Sequence[LogLine]) -> DistilPlan:
        # Questions that a killed run put to the user before it could note that it did.
        unnoted = [question for question in self.questions if not self.trail.was_asked(question.key)]
        asked = [question.said for question in unnoted if question.said]
        keys = (*asked, *((line.day, line.mark) for line in new))
        offered = offered_by_day(key for key in keys if key not in self.deferred)
        if put := tuple(question.key for question in (*unnoted, *self.asks)):
            offered.append(Offered(self.today.isoformat(), put))
        return DistilPlan(
            self.steps,
            list(self.memory.edits()),
            self.records,
            self.asks,
            self.settled,
            self.demoted,
            self.notes,
            offered,
            [*self.problems, *self.memory.problems],
        )

    def step(self, action: str, path: str, reason: str, detail: str = "") -> None:
        self.steps.append(Step(action, path, reason, detail))

    def record(self, record: Record) -> None:
        """Add to the ledger, and go by it from now on."""
        self.records.append(record)
        self.states.add(record)
        if record.verdict == "merged" and record.more.get("into"):
            self.repeats[str(record.more["into"])] += 1

    def close(
        self, file: LongTermFile, line: Line, verdict: str, text: str | None, more: Mapping[str, object], to: str = ""
    ) -> None:
        """Note in the ledger that an entry no longer stands, with what it gave way to."""
        more = {**file_field(file), **more}
        self.record(Record(line.id, self.at, verdict, text, valid_to=to or self.today.isoformat(), more=more))

    def record_candidate(self, candidate: Candidate, verdict: str, test: Verdict | None, **fields: Any) -> None:
        """Note in the ledger what became of a candidate, with its origin and its tests."""
        brain = self.advice.brain if candidate.change else "local"
        source, tests = self.memory.source(candidate), dict(test.scores) if test else {}
        record = Record(candidate.id, self.at, verdict, candidate.text, brain=brain, source=source, tests=tests)
        if verdict == "admitted":
            record = record._replace(without_it=test.without_it if test else None, valid_from=candidate.said.day)
        self.record(record._replace(**fields))

    def is_pinned(self, line: Line) -> bool:
        was = self.states.get(line.id)
        return line.pinned or bool(was and was.pinned)

    def worth(self, line: Line, was: EntryState) -> tuple[float, str]:
        """What speaks for an entry (how sure it is, said again, whether its time is over), and why it would have to go."""
        begun = real_day((was.valid_from or "")[:10])
        age = (self.today - dt.date.fromisoformat(begun)).days if begun else 0
        if outdated := budget.outdated_reason(line.words, begun, self.today, self.recent):
            return 0.0, outdated
        repeats = self.repeats[line.id] + sum(state.verdict == "merged" for state in self.states.inside(line.id))
        confidence = min(0.99, (was.confidence or 0.5) + 0.05 * repeats)
        sure = f"{confidence:.2f}"
        reason = say(f"least important: confidence {sure}", f"最不重要：置信度 {sure}")
        return confidence - min(max(age, 0), 1000) / 4000, reason

    def make_room(self, file: LongTermFile, text: str, kind: str, value: float) -> bool:
        """Make room for an entry of this value, and note in the ledger what gave way: first what another entry says too, then the
        least needed; false where all that could go counts more."""
        while not file.has_room(text, kind) and (repeated := self.repeated(file)):
            line, kept = repeated
            file.remove(line)
            self.close(file, line, "merged", line.words, {"into": kept.id})
            reason = say(f"says the same as “{kept.words}”", f"与“{kept.words}”意思相同")
            self.step("merge", file.shown, reason, line.words)
        before = file.doc
        gone: list[tuple[Line, str]] = []
        while not file.has_room(text, kind):
            states = ((line, self.states.get(line.id)) for line in file.lines)
            loose = [(*self.worth(line, was), line) for line, was in states if was and budget.may_go(line, was)]
            least, reason, weakest = min(loose, key=lambda row: row[0], default=(value, "", None))
            if weakest is None or least >= value:
                file.doc = before
                return False
            file.remove(weakest)
            gone.append((weakest, reason))
        for line, reason in gone:
            self.demote(file, line, {})
            self.step("demote", file.shown, reason, line.words)
        return True

    def repeated(self, file: LongTermFile) -> tuple[Line, Line] | None:
        """An entry that may go because another one says all of it, and that other."""
        lines = [line for line in file.lines if line.whole]
        statements = self.memory.statements([line.words for line in lines])
        for place, line in enumerate(lines):
            if not budget.may_go(line, self.states.get(line.id)):
                continue
            others = [EntryParts(other) for other in (*statements[:place], *statements[place + 1 :])]
            compared, _ = compare.compare_with(statements[place], others)
            if compared and compared[0].kind == "same":
                at = compared[0].place
                return line, lines[at if at < place else at + 1]
        return None

    def demote(self, file: LongTermFile, line: Line, more: Mapping[str, object]) -> None:
        """An entry that left its file goes to the digest of its week, unless it stands there."""
        was = self.states.get(line.id)
        self.close(file, line, "demoted", line.words, more)
        day = (was.source.get("day") or was.valid_from if was else None) or self.today.isoformat()
        mark = was.source.get("bullet") if was else None
        if not mark or mark not in self.trail.entered(day):
            category = self.memory.tested(line.words).judged.best("category")
            self.demoted.append(Demoted(line.words, day, file.project, category))

    @cached_property
    def unwanted(self) -> list[Statement]:
        """What the user took out of a MEMORY.md by hand: it does not come back in other words."""
        ids = dict.fromkeys((*self.states.by_hand(), *(record.id for record in self.records)))
        gone = [state for id_ in ids if (state := self.states.get(id_)) and state.verdict == "forgotten"]
        by_hand = [state.text for state in gone if state.text and state.records[-1].more.get("by") == "hand"]
        return self.memory.statements(by_hand[-MAX_UNWANTED:])

    # Questions for the user: conflicts that nothing decides, lines without room, lines whose time may be over.

    def ask(self, question: Question) -> None:
        """Each question once: what the user answered, or deleted from the file, is left as it is."""
        was = self.states.get(question.id)
        answered = any(record.more.get("answer") == question.kind for record in (was.records if was else ()))
        if answered or self.trail.was_asked(question.key):
            return
        if question.id not in {other.id for other in (*self.questions, *self.asks)}:
            self.asks.append(question)

    def ask_about(
        self, candidate: Candidate, verdict: Verdict, kind: str, why: str, file: LongTermFile, against: str = ""
    ) -> None:
        about = {
            "file": file.shown,
            **({"against": against} if against else {}),
            "type": candidate.tested.kind,
            "source": self.memory.source(candidate),
            "odds": confidence(candidate),
            "tests": dict(verdict.scores),
        }
        self.ask(Question(candidate.id, kind, candidate.text, why, about))

    def ask_about_conflict(
        self, candidate: Candidate, verdict: Verdict, file: LongTermFile, line: Line, question: str
    ) -> None:
        conflict = say(f"conflicts with “{line.words}” in {file.shown}. ", f"与 {file.shown} 中的“{line.words}”冲突。")
        self.ask_about(candidate, verdict, review.CLASH, conflict + question, file, line.id)

    def ask_about_space(self, candidate: Candidate, verdict: Verdict, home: LongTermFile) -> None:
        self.ask_about(candidate, verdict, review.FULL, say(*review.no_room(home.shown)), home)

    def ask_about_outdated(self) -> None:
        """Entries whose time is over are put to the user, each once."""
        for file in self.memory.files:
            for line in file.lines:
                was = self.states.get(line.id)
                if self.is_pinned(line):
                    continue
                since = was.valid_from if was else None
                if why := budget.outdated_reason(line.words, since, self.today, self.recent):
                    closing = say(f"{why}. Keep it?", f"{why}。还要保留吗？")
                    self.ask(Question(line.id, review.FADED, line.words, closing, {"file": file.shown}))

    def withdraw_questions(self, candidate: Candidate) -> None:
        """Take back what is asked about earlier statements that this one supersedes, which was admitted or is asked about itself: to
        accept the old one then would make memory wrong. Beside what was admitted, nothing is offered that may conflict with it."""
        state = self.states.get(candidate.id)
        is_kept = bool(state and state.in_memory)
        if candidate.agents or not (is_kept or any(question.id == candidate.id for question in self.asks)):
            return
        day, home = candidate.said.day, self.memory.home(candidate).shown
        asked = (other for other in (*self.questions, *self.asks) if not other.about_entry and other.id != candidate.id)
        older = [other for other in asked if other.about.get("file") == home and other.said and other.said[0] <= day]
        parts = [EntryParts(statement) for statement in self.memory.statements([other.text for other in older])]
        compared, _ = compare.compare_with(candidate.tested.judged.statement, parts, candidate.lasting)
        for near in compared:
            question, by = older[near.place], candidate.text
            if near.kind == "replaces":
                more = {"by": candidate.id, "kind": question.kind}
                self.record_question(question, "superseded", valid_to=day, more=more)
                reason = say(f"superseded by “{by}”", f"被“{by}”取代")
            elif near.kind == "ask" and is_kept:
                self.record_question(question, "refused", failed="superseded")
                reason = say(f"may be superseded by “{by}”", f"可能已被“{by}”取代")
            else:
                continue
            self.questions, self.asks = (
                [other for other in questions if other.id != question.id] for questions in (self.questions, self.asks)
            )
            self.settled.append(question.id)
            self.step("withdraw", self.review_file, reason, question.text)

    def record_question(self, question: Question, verdict: str, **fields: Any) -> None:
        """Note in the ledger what became of what is asked about, with the origin and the tests that the question names."""
        source, tests = (
            value if isinstance(value := question.about.get(name), dict) else {} for name in ("source", "tests")
        )
        record = Record(question.id, self.at, verdict, question.text, brain="local", source=source, tests=tests)
        self.record(record._replace(**fields))

    def asked_on(self, question: Question) -> dt.date | None:
        """The day on which a question was put."""
        asked = (record for record in self.states.records(question.id) if record.verdict == "asked")
        days = [real_day(record.at[:10]) for record in asked if record.more.get("kind") == question.kind]
        return dt.date.fromisoformat(days[-1]) if days and days[-1] else None

    def waited(self, question: Question) -> int:
        """For how many days a question has been waiting."""
        return (self.today - (self.asked_on(question) or self.today)).days

    def drop_obsolete_questions(self) -> None:
        """Settle the questions about lines that are gone, those that offer what somebody wrote there meanwhile, and those that nobody
        answered in time: what was offered is refused, what stands stays."""
        here = {line.id for file in self.memory.files for line in file.lines}
        self.asks = [question for question in self.asks if not question.about_entry or question.id in here]
        for question in self.questions:
            gone = question.about_entry is not (question.id in here)
            if gone or self.waited(question) >= PATIENCE:
                self.settled.append(question.id)
                if gone:
                    continue
                why = say(f"not answered for {PATIENCE} days", f"{PATIENCE} 天没有答复")
                if not question.about_entry:
                    self.record_question(question, "refused", failed="unanswered")
                self.step("expire", self.review_file, why, question.text)

    def choose_questions(self) -> None:
        """Put the day's questions, conflicts first, then by the odds that it is worth keeping. What else was to be asked is refused, so
        that it never comes up again in these words; a line that stands stays, and may be asked about on another day, as may what
        contradicts it: else the older one would stay as if nothing had been said."""
        gone = set(self.settled)
        unnoted = [other for other in self.questions if other.id not in gone and not self.asked_on(other)]
        today = {(record.more.get("kind"), record.id) for record in self.states.asked(self.today.isoformat())}
        room = max(0, QUESTIONS - len(unnoted) - len(today))
        ranked = sorted(self.asks, key=lambda question: (question.kind != review.CLASH, -question.odds))
        self.asks = ranked[:room]
        for question in self.asks:
            self.step("ask", self.review_file, question.why, question.text)
        for question in ranked[room:]:
            day = real_day(question.said[0]) if question.kind == review.CLASH and question.said else None
            if day and question.said and (self.today - dt.date.fromisoformat(day)).days < PATIENCE:
                self.deferred.setdefault(question.said, [])
            elif not question.about_entry:
                self.record_question(question, "refused", failed="asked enough")
                why = say(f"limit of {QUESTIONS} questions a day reached", f"已达到每天 {QUESTIONS} 个问题的上限")
                self.step("refuse", self.review_file, why, question.text)
        for question in (*unnoted, *self.asks):
            self.record_question(question, "asked", more={"kind": question.kind})


def confidence(candidate: Candidate) -> float:
    """From the odds of passing, and what speaks for it: directness, repetition."""
    support = max(-2.0, min(2.0, candidate.support))
    return round(min(0.99, 0.35 + 0.55 * candidate.lasting + 0.05 * support), 2)


# What the new lines of the logs change.


def plan(
    context: TidyContext,
    *,
    advice: Advice | None = None,
    careful: bool = False,
    only: Only | None = None,
    lines: Sequence[LogLine] | None = None,
) -> DistilPlan:
    """What the new lines of the logs would change; reads, and writes nothing. `advice`: what the user's own model says of them.
    `careful`: nothing that stands there is touched without asking. `only`: which of the new lines are looked at. `lines`: lines from
    elsewhere, looked at instead."""
    draft = Draft(context, advice, careful=careful)
    decided = DecidedLines(draft.trail, draft.states, draft.questions)
    new, draft.recent, problems = new_lines(context, decided)
    if lines is not None:
        new = [line for line in lines if (line.day, line.mark) not in decided]
    new = [line for line in new if only(line)] if only else new
    new = [line for line in new if (line.day, line.mark) not in draft.advice.waiting]
    draft.problems += problems
    _adopt_hand_edits(draft)
    forgotten = load_tombstones(context.workspace)
    for start in range(0, len(new), AT_ONCE):
        for candidate in _candidates(draft, new[start : start + AT_ONCE], forgotten):
            _offer(draft, candidate)
            draft.withdraw_questions(candidate)
    for key, candidates in list(draft.deferred.items()):
        if all(_is_decided(draft, candidate) for candidate in candidates):  # said elsewhere too, where there was room
            del draft.deferred[key]
    draft.ask_about_outdated()
    draft.drop_obsolete_questions()
    draft.choose_questions()
    return draft.plan(new)


def _adopt_hand_edits(draft: Draft) -> None:
    """Record in the ledger what somebody wrote, edited or removed; ask about lines that would fail the tests."""
    in_ledger = {state.id: state for state in draft.states.in_memory()}
    adopted, edited, removed = memory_files.hand_edits(draft.memory.files, in_ledger)
    at, today = draft.at, draft.today.isoformat()
    by_hand: dict[str, object] = {"by": "hand"}
    for file, line in adopted:
        more = file_field(file)
        draft.record(Record(line.id, at, "adopted", line.words, section=line.section, valid_from=today, more=more))
        reason = say("not written by Nacre; recorded in the ledger from now on", "并非由 Nacre 写入；从现在起记入账本")
        draft.step("adopt", file.shown, reason, line.words)
        verdict = judge.judge_alone(draft.memory.tested(line.words))
        if not verdict.admitted and line.whole:
            failed = failure(verdict.failed[0])
            why = say(
                f"may not belong in {file.shown} ({failed}). Keep it?",
                f"可能不适合放在 {file.shown} 中（{failed}）。还要保留吗？",
            )
            draft.ask(Question(line.id, review.ADOPTED, line.words, why, {"file": file.shown}))
    for file, line, was in edited:
        more = file_field(file) | ({"pinned": True} if was.pinned else {}) | by_hand
        draft.record(Record(was.id, at, "superseded", valid_to=today, more={**by_hand, "into": line.id}))
        record = Record(line.id, at, "adopted", line.words, section=line.section, source=was.source, more=more)
        draft.record(record._replace(valid_from=today, supersedes=was.id))
        draft.step("adopt", file.shown, say(f"edited; was “{was.text}”", f"已被修改；原为“{was.text}”"), line.words)
    for state in removed:
        draft.record(Record(state.id, at, "forgotten", valid_to=today, more=by_hand))
        reason = say("removed by hand; it will not be added again", "已被手动移除；不会再次添加")
        draft.step("close", state.file, reason, state.text or "")
    for file in draft.memory.files:
        if file.over:
            size, most = file.size, file.settings
            sentence = say(
                f'{file.shown} is over its limits ({size.lines} of {most.max_lines} lines, {size.bytes} of {most.max_bytes} bytes): nothing is added until "nacre review --adopt" has brought it back under them.',
                f"{file.shown} 已超出上限（{size.lines}/{most.max_lines} 行，{size.bytes}/{most.max_bytes} 字节），不再添加新内容；"
                "请运行“nacre review --adopt”使其回到上限以内。",
            )
            remedy = "nacre review --adopt"
            draft.problems.append(Problem("over its limits", sentence, file.shown, remedy=remedy, severity="error"))


def _candidates(draft: Draft, lines: Sequence[LogLine], forgotten: Tombstones) -> list[Candidate]:
    """The candidates of some lines, without what is forgotten, in the order in which they were said. Of what was said in a group only
    the owner's words count, and only where capture vouches for them. What comes up in several sessions counts more."""
    from nacre.brain.local import classifier

    owners = [line for line in lines if not line.group or draft.memory.is_owners(line)]
    agents = {(line.day, line.mark) for line in owners if draft.memory.is_agents(line)}
    candidates = _with_advice(draft, owners, make_candidates(owners, draft.context.judge(), agents))
    if forgotten:
        texts = [candidate.text for candidate in candidates]
        vectors: list[ledger.Vectors] = [
            {} if judged.vector is None else {classifier.load(judged.language, "full").model: judged.vector}
            for judged in (candidate.tested.judged for candidate in candidates)
        ]
        # A note was written on purpose, and may be a correction: there only the very words count.
        matches = zip(candidates, forgotten.matches(texts, vectors), forgotten.exactly(texts), strict=True)
        candidates = [
            candidate for candidate, alike, exact in matches if not (alike if candidate.said.session else exact)
        ]
    # The person came back to it, to say it again or what it is now: it matters.
    earlier = _earlier(draft, candidates)
    result: list[Candidate] = []
    for candidate in candidates:
        said, statement, again = candidate.said, candidate.tested.judged.statement, False
        if UPDATES_FROM <= judge.with_support(candidate.lasting, candidate.support) < judge.KEEP_FROM:
            others = [old for line, old in earlier if line.session != said.session and line.day <= said.day]
            related, _ = compare.compare_with(statement, others, candidate.lasting)
            again = any(comparison.kind in ("same", "replaces") for comparison in related)
        result.append(replace(candidate, support=candidate.support + AGAIN) if again else candidate)
        earlier.append((said, EntryParts(statement)))
    return result


def _with_advice(draft: Draft, lines: Sequence[LogLine], candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, those of lines on which the user's own model decided as it words them. The person's word stays as it is."""
    changes = draft.advice.changes
    if not changes:
        return list(candidates)
    result: list[Candidate] = []
    for line in lines:
        own = [candidate for candidate in candidates if candidate.said is line]
        if change := changes.get((line.day, line.mark)):
            explicit = [replace(candidate, change=change) for candidate in own if candidate.explicit]
            own = explicit or [candidate_by_model(line, change, draft.context.judge())]
        result += own
    return result


def _earlier(draft: Draft, candidates: Sequence[Candidate]) -> list[tuple[LogLine, EntryParts]]:
    """What the owner said in the sessions of the last days before these."""
    now = {(candidate.said.day, candidate.said.mark) for candidate in candidates}
    own = (line for line in draft.recent if line.session and not line.group and not line.by_agent)
    lines = [line for line in own if (line.day, line.mark) not in now]
    said = [(line, piece.text) for line in lines for piece in pieces(line.words) if not piece.agents]
    statements = draft.memory.statements([text for _, text in said])
    return [(line, EntryParts(statement)) for (line, _), statement in zip(said, statements, strict=True)]


def _offer(draft: Draft, candidate: Candidate) -> None:
    """Fit a candidate into memory: set a field, merge, supersede, admit, ask about it, or refuse it."""
    # Only the owner gives names, in private.
    words = candidate.said.words if candidate.change else candidate.text  # a model gives no names
    names = [] if candidate.agents or candidate.said.group else fields_in(words)
    if names:  # kept as a memory where no file has a field for it
        candidate = replace(candidate, explicit=True, tested=replace(candidate.tested, kind="PREF", without_it=None))
    are_set = [_set_field(draft, candidate, name) for name in names]
    rest = [clause for clause in clauses(candidate.text) if not any(name.value in clause for name in names)]
    tells_more = any(len(clause) > (24 if clause.isascii() else 8) for clause in rest)  # offered like any other
    if (names and all(are_set) and not tells_more) or _is_decided(draft, candidate):
        return
    home = draft.memory.home(candidate)
    if home.over:
        draft.deferred.setdefault((candidate.said.day, candidate.said.mark), []).append(candidate)
        return
    change = candidate.change
    if change and change.verdict == "merge" and not candidate.explicit:
        if _join(draft, candidate, change, home):
            return
        change = replace(change, verdict="keep", text=candidate.said.words)  # both stand
        candidate = candidate_by_model(candidate.said, change, draft.context.judge())
    is_gone = change and change.targets and not any(map(draft.memory.find, change.targets))
    decided = _by_model(draft, candidate, change) if change and not is_gone else _by_local_brain(draft, candidate, home)
    if decided is None:
        return
    verdict, related = decided
    # Only the very words stop what the person said on purpose.
    repeats = [pair for pair in related if pair[1].kind == "same" and not candidate.explicit]
    excepts = any(comparison.kind == "exception" for _, comparison in related)
    # What one project says changes nothing elsewhere without a word of the person.
    own = [pair for pair in related if pair[1].kind == "replaces" and _same_project(draft, candidate, home, *pair[0])]
    unclear = [place for place, comparison in related if comparison.kind in ("replaces", "ask")]
    gone = draft.unwanted if verdict.admitted and not candidate.explicit else []
    if is_repeated(gone, candidate.tested.judged.statement):
        _refuse(draft, candidate, replace(verdict, decision=REFUSE, failed=("novel",)))  # taken out by the user
    elif repeats and not (own and own[0][1].odds > repeats[0][1].odds):
        _merge(draft, candidate, verdict, *repeats[0][0])
    elif excepts and not own and not verdict.admitted:
        _refuse(draft, candidate, replace(verdict, decision=REFUSE, failed=("broad",)))
    elif candidate.agents:  # the agent's word corrects nothing
        draft.ask_about(candidate, verdict, review.DOUBT, say(*review.BY_AGENT), home)
    elif draft.trail.was_asked(undone_mark(candidate.id)) and verdict.decision != REFUSE:
        draft.ask_about(candidate, verdict, review.DOUBT, say(*review.REMOVED_BEFORE), home)
    elif own and not (candidate.dangling and verdict.decision == ASK):  # what dangles may be of another matter
        # What changes an entry is not tested again: the stale line would mislead.
        _supersede(draft, candidate, verdict, own[0][0][0], own if candidate.change else own[:1])
    elif unclear and verdict.decision == ASK:
        place = own[0][0] if own else unclear[0]
        why = say("Which of the two is right?", "两条不能同时成立，以哪一条为准？")
        draft.ask_about_conflict(candidate, verdict, *place, why)
    elif verdict.decision == ASK:
        draft.ask_about(candidate, verdict, review.DOUBT, say(*review.WORTH_KEEPING), home)
    elif not verdict.admitted:
        _refuse(draft, candidate, verdict)
    elif _admit(draft, candidate, verdict, home) and unclear:  # both stand until the person says which does
        file, line = unclear[0]
        why = say(f"may be superseded by “{candidate.text}”. Keep it?", f"可能已被“{candidate.text}”取代。还要保留吗？")
        about: dict[str, object] = {"file": file.shown, "odds": confidence(candidate)}
        draft.ask(Question(line.id, review.FADED, line.words, why, about))


Decision = tuple[Verdict, list[tuple[Place, Comparison]]]


def _by_local_brain(draft: Draft, candidate: Candidate, home: LongTermFile) -> Decision | None:
    """The verdict on a candidate, and the entries that it repeats, replaces, excepts from or may conflict with; none where it was
    refused at once."""
    verdict = judge.four_way_test(candidate.tested, support=candidate.support, lasting=candidate.lasting)
    if candidate.explicit:
        verdict = replace(verdict, decision=KEEP, failed=())
    elif candidate.dangling and verdict.decision != REFUSE:  # the person may know what it is about
        verdict = replace(verdict, decision=ASK if verdict.admitted else REFUSE, failed=("self_contained",))
    entries, statement = draft.memory.entries(home), candidate.tested.judged.statement
    parts = [entry for _, _, entry in entries]
    if (
        not candidate.explicit
        and verdict.worth < UPDATES_FROM
        and not any(is_close(old.whole, statement) for old in parts)
    ):
        _refuse(draft, candidate, verdict)
        return None
    compared, same = compare.compare_with(statement, parts, verdict.worth)
    if candidate.parts:  # two pieces together are like nothing that the models learnt: one must say so by itself
        alone = (compare.compare_with(part, parts, verdict.worth)[0] for part in candidate.parts)
        places = {comparison.place for comparisons in alone for comparison in comparisons}
        compared = [comparison for comparison in compared if comparison.place in places]
    verdict = replace(verdict, scores={**verdict.scores, "novel": round(1 - same, 3)})
    return verdict, [(entries[comparison.place][:2], comparison) for comparison in compared]


def _by_model(draft: Draft, candidate: Candidate, change: Change) -> Decision:
    """The same as the user's own model decided. What was added since it was asked is compared by the local brain."""
    decision = KEEP if candidate.explicit else judge.decision_of(change)
    failed = "broad" if change.relation == "exception" else "prevents_error"
    verdict = Verdict(
        decision, () if decision == KEEP else (failed,), candidate.tested.without_it, {}, candidate.lasting
    )
    kind = {"drop": "same", "update": "replaces", "ask": "ask"}.get(change.verdict)
    if change.relation == {"same": "same", "ask": "unclear"}.get(kind or "", change.relation):
        places = [place for target in change.targets if kind and (place := draft.memory.find(target))]
        if places and kind:
            return verdict, [(place, Comparison(kind, 0, _SURE)) for place in places]
    if decision != KEEP:
        return verdict, []
    entries = draft.memory.entries(draft.memory.home(candidate))
    unseen = [entry for entry in entries if entry[1].id not in draft.advice.shown]
    statement = candidate.tested.judged.statement
    compared, _ = compare.compare_with(statement, [parts for _, _, parts in unseen])
    return verdict, [
        (unseen[near.place][:2], near)
        for near in compared
        if near.kind == "same" and bears_out(unseen[near.place][2].whole, statement, "same")
    ]


def _join(draft: Draft, candidate: Candidate, change: Change, home: LongTermFile) -> bool:
    """Put the line that a model made of an entry and a new statement in the place of that entry, where it may be changed."""
    place = draft.memory.find(change.targets[0])
    was = draft.states.get(place[1].id) if place else None
    if not place or not was or not budget.may_go(place[1], was) or not _same_project(draft, candidate, home, *place):
        return False
    verdict = Verdict(KEEP, (), candidate.tested.without_it, {}, candidate.lasting)
    return _reword(draft, candidate, verdict, *place, was)


def _same_project(draft: Draft, candidate: Candidate, home: LongTermFile, file: LongTermFile, line: Line) -> bool:
    """Whether an entry stands where the candidate belongs, was said in the same project, or is of one that a model saw named."""
    project = candidate.said.project
    if candidate.change and file.project and names_project(candidate.said.words, file.project):
        return True
    return file is home or bool(project and project == draft.memory.project_of(file, draft.states.get(line.id)))


def _is_decided(draft: Draft, candidate: Candidate) -> bool:
    """Whether the ledger settles these very words already. What was superseded or let go may come back on a later day."""
    before = draft.states.get(candidate.id)
    if before is None:
        return False
    where = draft.memory.find(candidate.id)
    if before.in_memory and where:
        _merge(draft, candidate, None, *where)
        return True
    if before.verdict in ("superseded", "demoted"):
        return candidate.said.day <= (before.valid_to or "")
    return before.verdict == "forgotten" or (before.verdict == "refused" and not candidate.explicit)


# Fields of IDENTITY.md and USER.md.


def _set_field(draft: Draft, candidate: Candidate, new: Field) -> bool:
    """Set a field of IDENTITY.md or USER.md; False where the file has no such field."""
    said = candidate.said
    own = draft.memory.set_field(new)
    if own is None:
        return False
    id_ = entry_id(f"{own.file} {own.name}: {new.value}")
    if own.value == new.value:
        if draft.states.get(id_) is None and not draft.memory.find(candidate.id):
            draft.record_candidate(candidate, "merged", None, more={"into": id_})
        return True
    more: dict[str, object] = {"file": own.file, "field": own.name}
    old = entry_id(f"{own.file} {own.name}: {own.value}") if own.value else None
    if old:
        text = f"{own.name}: {own.value}"
        draft.record(Record(old, draft.at, "superseded", text, section=own.name, valid_to=said.day, more=more))
    text = f"{own.name}: {new.value}"
    draft.record_candidate(candidate, "admitted", None, id=id_, text=text, section=own.name, supersedes=old, more=more)
    # All values that the field had, as one story: "阿木 → 小明 → 小红".
    values = [own.before] if own.before else []
    values += draft.states.values_of(own.file, own.name)
    of_field = (
        record for record in draft.records if record.verdict == "admitted" and more.items() <= record.more.items()
    )
    values += [(record.text or "").partition(": ")[2] for record in of_field]
    values = [value for value, _ in groupby([*values, new.value])]
    story = f"{own.name}: {' → '.join(values)}"
    reason = say(f"said on {said.day}: {candidate.text}", f"{said.day} 说过：{candidate.text}")
    draft.step("set", own.file, reason, story)
    draft.notes = [note for note in draft.notes if not note.startswith(f"{own.file} {own.name}: ")]
    draft.notes.append(f"{own.file} {story}")
    return True


# What becomes of a candidate: admitted, taking the place of what it supersedes, merged, or refused; room is made where needed.


def _admit(draft: Draft, candidate: Candidate, verdict: Verdict, home: LongTermFile) -> bool:
    """Add the candidate to its file; False where there is no room, which is asked about, or where it holds a secret."""
    value, kind = confidence(candidate), candidate.tested.kind
    if not draft.make_room(home, candidate.text, kind, value):
        draft.ask_about_space(candidate, verdict, home)
        return False
    try:
        section = home.add(candidate.text, kind)
    except SecretRefused:
        draft.record_candidate(candidate, "refused", verdict, failed="secret", text=None)
        return False
    more = file_field(home) | ({"explicit": True} if candidate.explicit else {})
    draft.record_candidate(candidate, "admitted", verdict, section=section, confidence=value, more=more)
    reason = say("you asked to remember it", "你要求记住") if candidate.explicit else say("worth keeping", "值得保留")
    draft.step("add", home.shown, consequence(verdict.without_it) or reason, candidate.text)
    return True


def _refuse(draft: Draft, candidate: Candidate, verdict: Verdict) -> None:
    draft.record_candidate(candidate, "refused", verdict, failed=verdict.failed[0])
    draft.step("refuse", candidate.said.day, failure(verdict.failed[0]), candidate.text)


def _supersede(
    draft: Draft,
    candidate: Candidate,
    verdict: Verdict,
    home: LongTermFile,
    superseded: Sequence[tuple[Place, Comparison]],
) -> None:
    """Put the candidate in the place of the first line that it supersedes; of a line that says more, only the stale part goes."""
    (file, line), first = superseded[0]
    text = candidate.text
    if draft.careful or not budget.may_change(line, draft.states.get(line.id)):
        why = say("That line is pinned or was written by you. Replace it?", "那一行已固定或是你写的，要取代它吗？")
        if draft.careful:
            why = say("Too many lines would change in one night. Replace it?", "今晚改动的行已经太多，要取代它吗？")
        draft.ask_about_conflict(candidate, verdict, file, line, why)
        return
    in_place = file is home and not draft.memory.without_part(line.words, first.part)
    if not in_place and (home.over or not home.has_room(text, candidate.tested.kind)):
        draft.ask_about_space(candidate, verdict, home)
        return
    closed: list[Line] = []
    for number, ((where, old), comparison) in enumerate(superseded):
        now, was = where.find(old.id), draft.states.get(old.id)
        if now is None or was is None or not budget.may_change(now, was):
            continue
        rest = draft.memory.without_part(now.words, comparison.part)
        try:
            if rest:
                where.replace(now, rest)
            elif number == 0 and in_place:
                where.replace(now, text)
            else:
                where.remove(now)
        except MemoryFull:
            if not closed:
                draft.ask_about_space(candidate, verdict, home)
                return
            continue
        if closed:
            draft.step("close", where.shown, say(f"superseded by “{text}”", f"被“{text}”取代"), now.words)
        closed.append(now)
        draft.close(where, now, "superseded", None, {"by": candidate.id}, candidate.said.day)
        if rest:  # what is left stands on its own, with its origin
            record = Record(entry_id(rest), draft.at, "admitted", rest, section=now.section, brain="local")
            record = record._replace(source=was.source, valid_from=was.valid_from, confidence=was.confidence)
            draft.record(record._replace(supersedes=now.id, more=file_field(where)))
    section = line.section if home.find(candidate.id) else home.add(text, candidate.tested.kind)
    draft.record_candidate(
        candidate,
        "admitted",
        verdict,
        section=section,
        confidence=confidence(candidate),
        supersedes=closed[0].id,
        more=file_field(home),
    )
    reason = say(
        f"supersedes “{line.words}” (probability {first.odds:.2f})", f"取代“{line.words}”（概率 {first.odds:.2f}）"
    )
    draft.step("supersede", home.shown, reason, text)


def _merge(draft: Draft, candidate: Candidate, verdict: Verdict | None, file: LongTermFile, line: Line) -> None:
    """Note that a candidate repeats an entry; the surer wording stays. What a second project says too moves to the general file."""
    was = draft.states.get(line.id)
    may_change = not candidate.agents and line.id != candidate.id and budget.may_change(line, was)
    is_better = may_change and was and confidence(candidate) >= (was.confidence or 0.5) + BETTER
    if verdict and was and is_better and _reword(draft, candidate, verdict, file, line, was):
        line = file.find(candidate.id) or line
    else:
        more = {"into": line.id, **file_field(file)}
        draft.record_candidate(candidate, "merged", verdict, more=more)
        reason = say(f"says the same as “{line.words}”", f"与“{line.words}”意思相同")
        draft.step("merge", file.shown, reason, candidate.text)
    if file.project in (None, candidate.said.project) or candidate.said.group:
        return
    general, was, kind = draft.memory.general, draft.states.get(line.id), draft.memory.tested(line.words).kind
    if was is None or not budget.may_change(line, was) or general.over or not general.has_room(line.words, kind):
        return
    section = general.add(line.words, kind)
    file.remove(line)
    record = Record(line.id, draft.at, "admitted", line.words, section=section, brain="local", source=was.source)
    draft.record(record._replace(confidence=was.confidence, more={"file": general.shown}))
    reason = say(f"seen in several projects; was in {file.shown}", f"在多个项目中出现；原在 {file.shown}")
    draft.step("move", general.shown, reason, line.words)


def _reword(
    draft: Draft, candidate: Candidate, verdict: Verdict, file: LongTermFile, line: Line, was: EntryState
) -> bool:
    """Put the candidate's wording in the place of an entry's; False where it does not fit."""
    try:
        file.replace(line, candidate.text)
    except MemoryFull:
        return False
    draft.close(file, line, "merged", line.words, {"into": candidate.id})
    draft.record_candidate(
        candidate,
        "admitted",
        verdict,
        section=line.section,
        confidence=confidence(candidate),
        supersedes=line.id,
        valid_from=was.valid_from,
        more=file_field(file),
    )
    reason = say(f"a better wording of “{line.words}”", f"比“{line.words}”表述得更好")
    draft.step("merge", file.shown, reason, candidate.text)
    return True
