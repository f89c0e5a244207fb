"""The user's word on what long-term memory could not decide alone: accept, refuse, edit, pin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nacre.errors import BadInput, MemoryFull, NotFound
from nacre.guard.sanitise import one_line
from nacre.model.plan import Step
from nacre.tidy import budget, standing, write
from nacre.tidy.book import Book, Line
from nacre.tidy.budget import Worth
from nacre.tidy.library import Library
from nacre.tidy.planned import Demoted, DistilPlan
from nacre.tidy.room import Room
from nacre.vault import ledger, review, trail
from nacre.vault.ledger import Record, Standing
from nacre.vault.operation import operation
from nacre.vault.review import Item
from nacre.words import say

ACCEPT, REFUSE, PIN = "accept", "refuse", "pin"
ALL = 10.0  # worth more than anything: the user said so


@dataclass(frozen=True)
class Answer:
    """What the user says to one question; `words` are other words for it."""

    id: str
    verb: str
    words: str | None = None


@dataclass
class _Answering:
    room: Room
    library: Library
    known: dict[str, Standing]
    at: str
    records: list[Record] = field(default_factory=list)
    demoted: list[Demoted] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def record(self, *made: Record) -> None:
        self.records += made
        for one in made:
            was = self.known.get(one.id)
            self.known |= ledger.standing([*(was.records if was else ()), one])


def find(room: Room, wanted: str) -> Item:
    """The open question whose id begins so."""
    fitting = [item for item in review.read(room.workspace) if item.id.startswith(wanted)] if wanted else []
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise BadInput(
            say(f'"{wanted}" begins several ids; give more of it.', f"“{wanted}”对应多个编号；请多输入几位。")
        )
    raise NotFound(
        say(
            f'There is no open question "{wanted}"; "nacre review" lists them.',
            f"没有待审项“{wanted}”；“nacre review”会列出全部。",
        )
    )


def give(room: Room, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
    """Carry the answers out as one operation; the steps taken, or that would be."""
    with operation(room.workspace, room.clock, "review", room.config) as op:
        if not dry_run:
            write.recover(room, op)
        desk = _Answering(
            room,
            Library(room, trail.read(room.workspace)),
            ledger.standing(ledger.read(room.workspace).records),
            room.clock.now().isoformat(timespec="seconds"),
        )
        done: list[str] = []
        for answer in answers:
            item = find(room, answer.id)
            if item.id in done:
                raise BadInput(
                    say(f"{item.id} is answered twice; give one answer.", f"{item.id} 被回答了两次；请只给一个回答。")
                )
            _ANSWERS[item.kind](desk, item, answer)
            done.append(item.id)
        planned = DistilPlan(
            edits=tuple(desk.library.edits()),
            records=tuple(desk.records),
            settled=tuple(done),
            demoted=tuple(desk.demoted),
        )
        if not dry_run:
            write.apply(room, op, planned, asked=True)
    return tuple(desk.steps)


def _offered(desk: _Answering, item: Item, answer: Answer) -> None:
    """A candidate: it goes in, in the place of what it clashes with, or is refused."""
    words = _words(answer, item)
    if answer.verb == REFUSE:
        desk.record(_record(desk, item, "refused", item.text, failed="user", more={"answer": item.kind}))
        desk.steps.append(Step("refuse", "MEMORY.md", say("your word", "按您的意思"), item.text))
        return
    book = _book(desk, item)
    kind = str(item.about.get("type") or "TECH")
    old = book.find(str(item.about.get("against", ""))) if item.kind == review.CLASH else None
    if old and old.words not in item.why:  # the file may have come with a clone, or been edited
        raise BadInput(
            say(
                f"It would take the place of “{old.words}”, which the question does not name; nothing was done.",
                f"它会取代“{old.words}”，而问题中并未提到；未做任何改动。",
            )
        )
    supersedes = None
    if old:
        book.replace(old, words)
        supersedes = old.id
    elif book.over:
        raise MemoryFull(
            say(
                f'{book.shown} is over its limits and takes nothing new; run "nacre review --adopt" first.',
                f"{book.shown} 已超出上限，不再接受新内容；请先运行“nacre review --adopt”。",
            )
        )
    else:
        _make_room(desk, book, words, kind)
        book.add(words, kind)
    if old:
        desk.record(Record(old.id, desk.at, "superseded", valid_to=_today(desk), more={"by": ledger.identity(words)}))
    more: dict[str, object] = {**standing.of_file(book), "answer": item.kind}
    if answer.verb == PIN:
        more["pinned"] = True
    made = _record(desk, item, "admitted", words, supersedes=supersedes, confidence=0.99, more=more)
    desk.record(replace(made, id=ledger.identity(words), valid_from=_today(desk)))
    instead = say(f"your word; in the place of “{old.words}”", f"按您的意思；取代“{old.words}”") if old else None
    desk.steps.append(Step("replace" if old else "add", book.shown, instead or say("your word", "按您的意思"), words))


def _standing(desk: _Answering, item: Item, answer: Answer) -> None:
    """A line that stands there: it stays, in other words or pinned, or leaves for the digest of its week."""
    book = _book(desk, item)
    line = book.find(item.id)
    if line is None:
        return  # it has gone meanwhile
    goes = answer.words is None and answer.verb == (ACCEPT if item.kind == review.FADED else REFUSE)
    was = desk.known.get(line.id)
    if goes:
        _demote(desk, book, line, item.kind)
        return
    more: dict[str, object] = {**standing.of_file(book), "answer": item.kind}
    if answer.verb == PIN:
        more["pinned"] = True
    words = line.words if answer.words is None else _words(answer, item)
    supersedes = line.id if words != line.words else None
    if supersedes:
        book.replace(line, words)
        desk.record(
            Record(line.id, desk.at, "superseded", valid_to=_today(desk), more={"into": ledger.identity(words)})
        )
    verdict = was.verdict if was and was.in_memory else "adopted"
    made = Record(ledger.identity(words), desk.at, verdict, words, section=line.section, more=more)
    source = was.source if was and supersedes else {}
    desk.record(replace(made, source=source, supersedes=supersedes))
    desk.steps.append(Step(PIN if answer.verb == PIN else "keep", book.shown, say("your word", "按您的意思"), words))


_ANSWERS: dict[str, Callable[[_Answering, Item, Answer], None]] = {
    review.CLASH: _offered,
    review.DOUBT: _offered,
    review.FULL: _offered,
    review.ADOPTED: _standing,
    review.FADED: _standing,
}


def _words(answer: Answer, item: Item) -> str:
    words = one_line(answer.words).strip() if answer.words is not None else item.text
    if not words:
        raise BadInput(say("The new words are empty.", "新的文字为空。"))
    return words


def _book(desk: _Answering, item: Item) -> Book:
    return desk.library.book(str(item.about.get("file") or "MEMORY.md"))


def _make_room(desk: _Answering, book: Book, words: str, kind: str) -> None:
    def worth(line: Line) -> Worth:
        was = desk.known.get(line.id)
        return Worth((was.confidence if was else None) or 0.5, desk.library.recalls(line))

    cuts = budget.make_room(book, lambda: book.has_room(words, kind), desk.known, worth, lambda _lines: (), ALL)
    if cuts is None:
        raise MemoryFull(
            say(
                f"{book.shown} is full, and every line in it is pinned or yours; take one out first.",
                f"{book.shown} 已满，且每一行都已固定或由您写下；请先移除一行。",
            )
        )
    for cut in cuts:
        if cut.words is None:
            _left(desk, book, cut.line, "full")
        else:
            was = desk.known.get(cut.line.id)
            desk.record(
                Record(
                    cut.line.id, desk.at, "superseded", valid_to=_today(desk), more={"into": ledger.identity(cut.words)}
                )
            )
            desk.record(
                Record(
                    ledger.identity(cut.words),
                    desk.at,
                    "admitted",
                    cut.words,
                    section=cut.line.section,
                    source=was.source if was else {},
                    supersedes=cut.line.id,
                    confidence=was.confidence if was else None,
                    more=standing.of_file(book),
                )
            )
        desk.steps.append(Step(cut.action, book.shown, cut.reason, cut.line.words))


def _demote(desk: _Answering, book: Book, line: Line, kind: str) -> None:
    book.remove(line)
    _left(desk, book, line, kind)
    desk.steps.append(Step("demote", book.shown, say("your word", "按您的意思"), line.words))


def _left(desk: _Answering, book: Book, line: Line, kind: str) -> None:
    was = desk.known.get(line.id)
    day = (was.source.get("day") if was else None) or _today(desk)
    project = None if book is desk.library.general else book.path.parent.name
    desk.demoted.append(Demoted(line.words, day, project, desk.library.tested(line.words).judged.best("category")))
    more = {**standing.of_file(book), "answer": kind}
    desk.record(Record(line.id, desk.at, "demoted", line.words, valid_to=_today(desk), more=more))


def _record(desk: _Answering, item: Item, verdict: str, text: str, **about: object) -> Record:
    source = item.about.get("source")
    tests = item.about.get("tests")
    made = Record(
        item.id,
        desk.at,
        verdict,
        text,
        tests=tests if isinstance(tests, dict) else {},
        source=source if isinstance(source, dict) else {},
        brain="user",
    )
    return replace(made, **about)  # type: ignore[arg-type]


def _today(desk: _Answering) -> str:
    return desk.room.clock.today().isoformat()
