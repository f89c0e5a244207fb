"""What becomes of a candidate: admitted, taking the place of what it overtakes, merged, or refused; room is made where needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nacre.errors import MemoryFull, SecretRefused
from nacre.model.verdict import Verdict
from nacre.tidy import budget, questions, standing
from nacre.tidy.book import Book, Line
from nacre.tidy.candidates import Candidate
from nacre.tidy.conflict import Stand
from nacre.tidy.night import Night, confidence
from nacre.tidy.planned import Demoted
from nacre.vault import ledger
from nacre.vault.ledger import Record, Standing
from nacre.words import say

BETTER = 0.03  # by how much surer a new wording must be to take the place of the old
Place = tuple[Book, Line]


def admit(night: Night, one: Candidate, verdict: Verdict, home: Book) -> None:
    value = confidence(one)
    kind = one.tested.kind
    cuts = budget.make_room(
        home, lambda: home.has_room(one.text, kind), night.known, night.worth, night.nearly_same, value
    )
    if cuts is None:
        questions.about_room(night, one, verdict, home)
        return
    _cut(night, home, cuts)
    try:
        section = home.add(one.text, kind)
    except SecretRefused:
        night.record(night.record_of(one, "refused", verdict, failed="secret", text=None))
        return
    more = standing.of_file(home)
    night.record(night.record_of(one, "admitted", verdict, section=section, confidence=value, more=more))
    because = say(f"without it {verdict.without_it}", f"没有它：{verdict.without_it}")
    night.step("add", home.shown, because, one.text)


def refuse(night: Night, one: Candidate, verdict: Verdict) -> None:
    night.record(night.record_of(one, "refused", verdict, failed=verdict.failed[0]))
    failed = ", ".join(verdict.failed)
    night.step("refuse", one.said.day, say(f"fails: {failed}", f"未通过：{failed}"), one.text)


def supersede(night: Night, one: Candidate, verdict: Verdict, home: Book, over: Sequence[tuple[Place, Stand]]) -> None:
    """The new line takes the place of the first that it overtakes; of a line that says more, only the stale part goes."""
    (book, line), first = over[0]
    if night.careful or not budget.may_go(line, night.known.get(line.id)):
        questions.about_clash(night, one, verdict, book, line, "many" if night.careful else "kept")
        return
    in_place = book is home and not night.library.without_part(line.words, first.part)
    if not in_place and (home.over or not home.has_room(one.text, one.tested.kind)):
        questions.about_room(night, one, verdict, home)
        return
    closed: list[Line] = []
    for number, ((where, old), stand) in enumerate(over):
        now = where.find(old.id)
        if now is None or not budget.may_go(now, night.known.get(now.id)):
            continue
        rest = night.library.without_part(now.words, stand.part)
        try:
            _take_out(where, now, rest, one.text if number == 0 and in_place else None)
        except MemoryFull:
            if not closed:
                questions.about_room(night, one, verdict, home)
                return
            continue
        if closed:
            night.step("close", where.shown, say(f"overtaken by “{one.text}”", f"被“{one.text}”取代"), now.words)
        closed.append(now)
        _close(night, one, where, now, rest)
    section = line.section if home.find(one.id) else home.add(one.text, one.tested.kind)
    more = standing.of_file(home)
    made = night.record_of(one, "admitted", verdict, section=section, confidence=confidence(one), more=more)
    night.record(replace(made, supersedes=closed[0].id))
    why = say(f"overtakes “{line.words}” ({first.odds:.2f})", f"取代“{line.words}”（{first.odds:.2f}）")
    night.step("supersede", home.shown, why, one.text)


def _take_out(where: Book, now: Line, rest: str | None, instead: str | None) -> None:
    """Leave of a line what still holds; put the new one in its place where it stands in the same file."""
    if rest:
        where.replace(now, rest)
    elif instead:
        where.replace(now, instead)
    else:
        where.remove(now)


def _close(night: Night, one: Candidate, where: Book, old: Line, rest: str | None) -> None:
    more: dict[str, object] = {**standing.of_file(where), "by": one.id}
    night.record(Record(old.id, night.at, "superseded", valid_to=one.said.day, more=more))
    if rest:
        _goes_on(night, where, old, rest)


def _goes_on(night: Night, where: Book, old: Line, words: str) -> None:
    """What is left of an entry stands on its own, with its origin."""
    was = night.known.get(old.id)
    made = Record(
        ledger.identity(words),
        night.at,
        "admitted",
        words,
        section=old.section,
        source=was.source if was else {},
        brain="local",
        valid_from=was.valid_from if was else None,
        supersedes=old.id,
        confidence=was.confidence if was else None,
        more=standing.of_file(where),
    )
    night.record(made)


def merge(night: Night, one: Candidate, verdict: Verdict | None, book: Book, line: Line) -> None:
    """Said before, in these words or others; the surer wording stays. Seen in a second project it holds for all of them."""
    was = night.known.get(line.id)
    better = (
        not one.agents
        and verdict
        and was
        and budget.may_go(line, was)
        and confidence(one) >= (was.confidence or 0.5) + BETTER
    )
    if verdict and was and better and line.id != one.id and _reword(night, one, verdict, book, line, was):
        line = book.find(one.id) or line
    else:
        night.record(night.record_of(one, "merged", verdict, more={"into": line.id, **standing.of_file(book)}))
        reason = say(f"says what “{line.words}” says", f"与“{line.words}”意思相同")
        night.step("merge", book.shown, reason, one.text)
    if book is night.library.general or one.said.group or book.path.parent.name == one.said.project:
        return
    was = night.known.get(line.id)
    if budget.may_go(line, was) and not night.library.general.over:
        _to_all_projects(night, book, line, was)


def _reword(night: Night, one: Candidate, verdict: Verdict, book: Book, line: Line, was: Standing) -> bool:
    """The better wording in the place of the old, which is merged into it."""
    try:
        book.replace(line, one.text)
    except MemoryFull:
        return False
    more = standing.of_file(book)
    into = {**more, "into": one.id}
    night.record(Record(line.id, night.at, "merged", line.words, valid_to=night.today.isoformat(), more=into))
    made = night.record_of(one, "admitted", verdict, section=line.section, confidence=confidence(one), more=more)
    night.record(replace(made, supersedes=line.id, valid_from=was.valid_from))
    reason = say(f"says better what “{line.words}” says", f"比“{line.words}”说得更好")
    night.step("merge", book.shown, reason, one.text)
    return True


def _to_all_projects(night: Night, book: Book, line: Line, was: Standing | None) -> None:
    general, kind = night.library.general, night.library.tested(line.words).kind
    if not general.has_room(line.words, kind):
        return
    section = general.add(line.words, kind)
    book.remove(line)
    source = was.source if was else {}
    made = Record(line.id, night.at, "admitted", line.words, section=section, source=source, brain="local")
    night.record(replace(made, confidence=was.confidence if was else None, more={"file": general.shown}))
    reason = say(f"seen in several projects; was in {book.shown}", f"多个项目中出现；原在 {book.shown}")
    night.step("move", general.shown, reason, line.words)


def _cut(night: Night, book: Book, cuts: Iterable[budget.Cut]) -> None:
    """Tell the ledger what made room."""
    today = night.today.isoformat()
    for cut in cuts:
        more = standing.of_file(book)
        if cut.words is not None:
            into = {**more, "into": ledger.identity(cut.words)}
            night.record(Record(cut.line.id, night.at, "superseded", valid_to=today, more=into))
            _goes_on(night, book, cut.line, cut.words)
        else:
            verdict = "merged" if cut.action == budget.MERGE else "demoted"
            night.record(Record(cut.line.id, night.at, verdict, cut.line.words, valid_to=today, more=more))
            if verdict == "demoted":
                _demote(night, book, cut.line)
        night.step(cut.action, book.shown, cut.reason, cut.line.words)


def _demote(night: Night, book: Book, line: Line) -> None:
    was = night.known.get(line.id)
    day = (was.source.get("day") if was else None) or (was.valid_from if was else None) or night.today.isoformat()
    mark = was.source.get("bullet") if was else None
    if mark and mark in night.library.pressed.get(day, ()):
        return  # it stands in the digest of its week already
    project = None if book is night.library.general else book.path.parent.name
    kind = night.library.tested(line.words).judged.best("category")
    night.demoted.append(Demoted(line.words, day, project, kind))
