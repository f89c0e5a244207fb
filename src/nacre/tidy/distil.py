"""What lasts becomes long-term memory: each new line of the logs is tested, routed, weighed against what is there, and fitted in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nacre.model.problem import Problem
from nacre.model.verdict import Verdict
from nacre.tidy import admit, conflict, deeds, naming, questions, standing
from nacre.tidy.book import Book, Line
from nacre.tidy.candidates import Candidate, candidates
from nacre.tidy.conflict import Stand
from nacre.tidy.days import Said
from nacre.tidy.night import Night
from nacre.tidy.offered import offered, seen
from nacre.tidy.planned import DistilPlan
from nacre.tidy.room import Room
from nacre.vault import tombstones
from nacre.vault.ledger import Standing
from nacre.vault.trail import taken_back
from nacre.words import say

Only = Callable[[Said], bool]
AT_ONCE = 400  # lines of the logs whose sentences are in memory together
PROVEN = 0.3  # odds of lasting that a statement has which corrects a remembered one in so many words
UPDATES = 1.0  # what speaks for a statement that corrects a remembered one: the stale line would mislead
AGAIN = 0.7  # what speaks for a statement that came up in another talk too
ALSO = 0.3  # odds above which a statement that overtakes one entry overtakes another, too
SURE = 0.7  # odds above which a clash is put to the user, though the statement itself would not be kept


def plan(
    room: Room, *, careful: bool = False, only: Only | None = None, said: Sequence[Said] | None = None
) -> DistilPlan:
    """What tonight's lines would change; reads, and writes nothing. `careful`: nothing that stands there is touched without asking.
    `only`: which of the new lines are looked at. `said`: lines from elsewhere, looked at instead."""
    night = Night(room, careful=careful)
    known = seen(night.trail, night.before, night.asked)
    new, night.lately, problems = offered(room, known, night.trail, night.known)
    if said is not None:
        new = [one for one in said if (one.day, one.mark) not in known]
    new = [one for one in new if only(one)] if only else new
    night.problems += problems
    _adopt(night)
    stones = tombstones.load(room.workspace)
    for start in range(0, len(new), AT_ONCE):
        for one in _ready(night, new[start : start + AT_ONCE], stones):
            _offer(night, one)
    questions.about_fading(night)
    questions.settle(night)
    return night.planned(new)


def _adopt(night: Night) -> None:
    """Lines that somebody wrote or took out become known; lines that would fail the tests are put to the user."""
    found = standing.compare(night.library.books, night.known)
    night.record(*standing.records(found, night.at, night.today.isoformat()))
    night.library.read([line for _, line in found.adopted])
    for book, line in found.adopted:
        reason = say("written by somebody else; known from now on", "由他人写入；从现在起记录在案")
        night.step("adopt", book.shown, reason, line.words)
        verdict = admit.verdict(night.library.tested(line.words))
        if not verdict.admitted and line.whole:
            questions.about_adopted(night, book, line, verdict)
    for book, line, was in found.edited:
        night.step("adopt", book.shown, say(f"edited; was “{was.text}”", f"已被修改；原为“{was.text}”"), line.words)
    for one in found.gone:
        reason = say("taken out by hand; it is not added again", "已被手动移除；不会再次添加")
        night.step("close", one.file, reason, one.text or "")
    night.problems += [_over(book) for book in night.library.books if book.over]


def _ready(night: Night, said: Sequence[Said], stones: tombstones.Tombstones) -> list[Candidate]:
    """The candidates of some lines, without what is forgotten, in the order in which they were said. Of what was said in a group only
    the owner's words count, and only where capture vouches for them."""
    owners = [one for one in said if not one.group or (one.day, one.mark) in night.library.owners_word]
    found = candidates(owners, night.room.judge(), night.library.agents_word)
    if stones:
        gone = stones.matches([one.text for one in found], [_signs(one) for one in found])
        very = stones.exactly([one.text for one in found])  # a note was written on purpose, and may be a correction
        same = (met if one.said.session else known for one, met, known in zip(found, gone, very, strict=True))
        found = [one for one, forgotten in zip(found, same, strict=True) if not forgotten]
    return _with_repetition(found)


def _signs(one: Candidate) -> tombstones.Vectors:
    from nacre.brain.local import classifier

    vector = one.tested.judged.vector
    return {} if vector is None else {classifier.load(one.tested.judged.language, "full").model: vector}


def _with_repetition(found: Sequence[Candidate]) -> list[Candidate]:
    """What comes up in several talks counts more."""
    from nacre.brain.local.relation import relations, says_the_same

    made: list[Candidate] = []
    read = [one.tested.statement for one in found]
    for place, one in enumerate(found):
        again = any(
            found[near.place].said.session != one.said.session and says_the_same(read[near.place], read[place], near)
            for near in relations(read[:place], read[place])
        )
        made.append(replace(one, support=one.support + AGAIN) if again else one)
    return made


def _offer(night: Night, one: Candidate) -> None:
    """Put one candidate to the tests, and see to it."""
    if naming.set_field(night, one) or _decided(night, one, night.known.get(one.id)):
        return
    home = night.library.home(one)
    if home.over:
        night.deferred.add((one.said.day, one.said.mark))  # told once for the file; offered again when there is room
        return
    shelf = night.library.shelf(home)
    found, same = conflict.stand(one.tested.statement, [entry for _, _, entry in shelf], one.core)
    stands = [stand for stand in found if _counts(night, one, home, shelf[stand.place][:2], stand)]
    overtakes = _surely([stand for stand in stands if stand.kind == "overtakes"])
    verdict = _verdict(one, overtakes, same)
    repeats = next((stand for stand in stands if stand.kind == "same"), None)
    unclear = next((stand for stand in stands if stand.kind == "unclear"), None)
    if verdict.admitted and _is_unwanted(night, one):
        deeds.refuse(night, one, replace(verdict, admitted=False, failed=("novel",)))
    elif not verdict.admitted:
        _refuse(night, one, verdict, [(shelf[stand.place][:2], stand) for stand in overtakes])
    elif taken_back(one.id) in night.asked_before:
        questions.about_taken_back(night, one, verdict, home)
    elif repeats and not (overtakes and overtakes[0].odds > repeats.odds):
        deeds.merge(night, one, verdict, *shelf[repeats.place][:2])
    elif one.agents:
        questions.about_an_agents_note(night, one, verdict, home)
    elif overtakes:
        deeds.supersede(night, one, verdict, home, [(shelf[stand.place][:2], stand) for stand in overtakes])
    elif unclear:
        questions.about_clash(night, one, verdict, *shelf[unclear.place][:2], unclear.why)
    else:
        deeds.admit(night, one, verdict, home)


def _is_unwanted(night: Night, one: Candidate) -> bool:
    """Whether the user took this very thing out of memory, in whatever words."""
    from nacre.brain.local.relation import relations, says_the_same

    gone = night.unwanted
    return any(says_the_same(gone[near.place], one.core, near) for near in relations(gone, one.core))


def _verdict(one: Candidate, overtakes: Sequence[Stand], same: float) -> Verdict:
    support = one.support + (UPDATES if overtakes else 0.0)
    said_so = any(stand.why in ("goodbye", "slot", "change") for stand in overtakes)
    verdict = admit.verdict(one.tested, support=support, lasting=_proven(one) if said_so else one.lasting)
    return replace(verdict, scores={**verdict.scores, "novel": round(1 - same, 3)})


def _proven(one: Candidate) -> float:
    """The odds that a correction lasts. What it says goodbye to was worth remembering, so what takes its place is, too."""
    from nacre.brain.local.likeness import holds_once

    idle = one.tested.judged.best("act") in ("question", "speculate", "social", "offrecord")
    passing = idle or holds_once(one.text, one.tested.judged.language)
    return one.lasting if passing else max(one.lasting, PROVEN)


def _decided(night: Night, one: Candidate, before: Standing | None) -> bool:
    """Whether the ledger settles these very words already. What was overtaken or let go may come back on a later day."""
    if before is None:
        return False
    where = night.library.find(one.id)
    if before.in_memory and where:
        deeds.merge(night, one, None, *where)
        return True
    if before.verdict in ("superseded", "demoted"):
        return one.said.day <= (before.valid_to or "")
    return before.verdict in ("refused", "forgotten")


def _counts(night: Night, one: Candidate, home: Book, place: tuple[Book, Line], stand: Stand) -> bool:
    """In one talk a rule and the work that follows it look like a clash; there only a plain goodbye is one. The agent's word
    corrects nothing."""
    book, line = place
    was = night.known.get(line.id)
    if one.agents and stand.kind != "same":
        return False  # only the owner overrules the owner
    if book is not home and stand.kind != "same" and stand.why != "goodbye":
        return False  # what is said in one project leaves the others, and what holds for all, as they are
    if stand.kind == "same" or was is None or not one.said.session or was.source.get("session") != one.said.session:
        return True
    return stand.kind == "overtakes" and stand.why == "goodbye" and one.lasting >= admit.LASTING


def _surely(stands: Sequence[Stand]) -> list[Stand]:
    """The entry that a statement overtakes; others only where it says goodbye to them as well."""
    return [
        stand for place, stand in enumerate(stands) if place == 0 or (stand.why == "goodbye" and stand.odds >= ALSO)
    ]


def _refuse(night: Night, one: Candidate, verdict: Verdict, over: Sequence[tuple[tuple[Book, Line], Stand]]) -> None:
    """Refused, unless it surely contradicts an entry: then the user is to know."""
    if over and over[0][1].odds >= SURE and "broad" not in verdict.failed:
        questions.about_clash(night, one, verdict, *over[0][0], "weak")
    else:
        deeds.refuse(night, one, verdict)


def _over(book: Book) -> Problem:
    size, most = book.size, book.settings
    sentence = say(
        f"{book.shown} is over its limits ({size.lines} of {most.max_lines} lines, {size.bytes} of {most.max_bytes} bytes): "
        'nothing is added to it until "nacre review --adopt" has brought it under them.',
        f"{book.shown} 已超出上限（{size.lines}/{most.max_lines} 行，{size.bytes}/{most.max_bytes} 字节）："
        "在运行“nacre review --adopt”使其回到上限以内之前，不会添加任何内容。",
    )
    return Problem("over its limits", sentence, book.shown, remedy="nacre review --adopt", severity="error")
