"""What lasts becomes long-term memory: each new line of the logs is judged, compared with what is there, and fitted in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nacre.errors import MemoryFull, SecretRefused
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.verdict import Verdict
from nacre.text.sentences import clauses
from nacre.tidy import budget, compare, draft, judge, memory_files
from nacre.tidy.apply import Demoted, DistilPlan
from nacre.tidy.collect import LogLine, TidyContext, decided_lines, field_in, new_lines
from nacre.tidy.compare import Comparison
from nacre.tidy.draft import Draft, confidence
from nacre.tidy.judge import Candidate, make_candidates
from nacre.tidy.memory_files import Line, LongTermFile, OwnField
from nacre.vault import tombstones
from nacre.vault.entries import entry_id
from nacre.vault.ledger import EntryState, Record
from nacre.vault.provenance import undone_mark


def _set_field(night: Draft, one: Candidate) -> bool:
    """Whether the candidate was such a fact, and its file has a field for it."""
    wanted = None if one.agents or one.said.group else field_in(one.text)  # only the owner gives names, in private
    own = night.library.field(wanted) if wanted else None
    if wanted is None or own is None:
        return False
    known = _field_id(own, wanted.value)
    if own.value == wanted.value:
        if known not in night.known:
            night.record(night.record_of(one, "merged", None, more={"into": known}))
        return True
    night.library.set(own, wanted.value)
    more: dict[str, object] = {"file": own.file, "field": own.name}
    old = _field_id(own, own.value) if own.value else None
    if old:
        text = f"{own.name}: {own.value}"
        night.record(Record(old, night.at, "superseded", text, section=own.name, valid_to=one.said.day, more=more))
    made = night.record_of(one, "admitted", None, section=own.name, supersedes=old, more=more)
    night.record(replace(made, id=known, text=f"{own.name}: {wanted.value}"))
    story = f"{own.name}: {_story(night, own, wanted.value)}"
    reason = say(f"said on {one.said.day}: {one.text}", f"{one.said.day} 说过：{one.text}")
    night.step("set", own.file, reason, story)
    night.notes = [note for note in night.notes if not note.startswith(f"{own.file} {own.name}: ")]
    night.notes.append(f"{own.file} {story}")
    return not _says_more(one.text, wanted.value)


def _says_more(text: str, value: str) -> bool:
    """Whether a statement tells more than the name: that is offered like any other."""
    rest = [clause for clause in clauses(text) if value not in clause]
    return any(len(clause) > (24 if clause.isascii() else 8) for clause in rest)


def _field_id(own: OwnField, value: str | None) -> str:
    return entry_id(f"{own.file} {own.name}: {value}")


def _story(night: Draft, own: OwnField, value: str) -> str:
    """All values that a field had, as one story: "阿木 → 小明 → 小红"."""
    told = [
        one.text.partition(": ")[2]
        for one in (*night.before, *night.records)
        if one.more.get("field") == own.name
        and one.more.get("file") == own.file
        and one.verdict == "admitted"
        and one.text
    ]
    values = [own.before] if own.before else []
    for each in (*told, value):
        if not values or values[-1] != each:
            values.append(each)
    return " → ".join(values)


# What becomes of a candidate: admitted, taking the place of what it overtakes, merged, or refused; room is made where
# needed.

BETTER = 0.03  # by how much surer a new wording must be to take the place of the old
Place = tuple[LongTermFile, Line]


def _admit(night: Draft, one: Candidate, verdict: Verdict, home: LongTermFile) -> None:
    value = confidence(one)
    kind = one.tested.kind
    cuts = budget.make_space(
        home, lambda: home.has_room(one.text, kind), night.known, night.worth, night.nearly_same, value
    )
    if cuts is None:
        draft.ask_about_space(night, one, verdict, home)
        return
    _cut(night, home, cuts)
    try:
        section = home.add(one.text, kind)
    except SecretRefused:
        night.record(night.record_of(one, "refused", verdict, failed="secret", text=None))
        return
    more = memory_files.file_field(home)
    night.record(night.record_of(one, "admitted", verdict, section=section, confidence=value, more=more))
    because = say(f"without it {verdict.without_it}", f"没有它：{verdict.without_it}")
    night.step("add", home.shown, because, one.text)


def _record_refusal(night: Draft, one: Candidate, verdict: Verdict) -> None:
    night.record(night.record_of(one, "refused", verdict, failed=verdict.failed[0]))
    failed = ", ".join(verdict.failed)
    night.step("refuse", one.said.day, say(f"fails: {failed}", f"未通过：{failed}"), one.text)


def _supersede(
    night: Draft, one: Candidate, verdict: Verdict, home: LongTermFile, over: Sequence[tuple[Place, Comparison]]
) -> None:
    """The new line takes the place of the first that it overtakes; of a line that says more, only the stale part goes."""
    (book, line), first = over[0]
    if night.careful or not budget.may_change(line, night.known.get(line.id)):
        draft.ask_about_conflict(night, one, verdict, book, line, "many" if night.careful else "kept")
        return
    in_place = book is home and not night.library.without_part(line.words, first.part)
    if not in_place and (home.over or not home.has_room(one.text, one.tested.kind)):
        draft.ask_about_space(night, one, verdict, home)
        return
    closed: list[Line] = []
    for number, ((where, old), stand) in enumerate(over):
        now = where.find(old.id)
        if now is None or not budget.may_change(now, night.known.get(now.id)):
            continue
        rest = night.library.without_part(now.words, stand.part)
        try:
            _take_out(where, now, rest, one.text if number == 0 and in_place else None)
        except MemoryFull:
            if not closed:
                draft.ask_about_space(night, one, verdict, home)
                return
            continue
        if closed:
            night.step("close", where.shown, say(f"overtaken by “{one.text}”", f"被“{one.text}”取代"), now.words)
        closed.append(now)
        _close(night, one, where, now, rest)
    section = line.section if home.find(one.id) else home.add(one.text, one.tested.kind)
    more = memory_files.file_field(home)
    made = night.record_of(one, "admitted", verdict, section=section, confidence=confidence(one), more=more)
    night.record(replace(made, supersedes=closed[0].id))
    why = say(f"overtakes “{line.words}” ({first.odds:.2f})", f"取代“{line.words}”（{first.odds:.2f}）")
    night.step("supersede", home.shown, why, one.text)


def _take_out(where: LongTermFile, now: Line, rest: str | None, instead: str | None) -> None:
    """Leave of a line what still holds; put the new one in its place where it stands in the same file."""
    if rest:
        where.replace(now, rest)
    elif instead:
        where.replace(now, instead)
    else:
        where.remove(now)


def _close(night: Draft, one: Candidate, where: LongTermFile, old: Line, rest: str | None) -> None:
    more: dict[str, object] = {**memory_files.file_field(where), "by": one.id}
    night.record(Record(old.id, night.at, "superseded", valid_to=one.said.day, more=more))
    if rest:
        _goes_on(night, where, old, rest)


def _goes_on(night: Draft, where: LongTermFile, old: Line, words: str) -> None:
    """What is left of an entry stands on its own, with its origin."""
    was = night.known.get(old.id)
    made = Record(
        entry_id(words),
        night.at,
        "admitted",
        words,
        section=old.section,
        source=was.source if was else {},
        brain="local",
        valid_from=was.valid_from if was else None,
        supersedes=old.id,
        confidence=was.confidence if was else None,
        more=memory_files.file_field(where),
    )
    night.record(made)


def _merge(night: Draft, one: Candidate, verdict: Verdict | None, book: LongTermFile, line: Line) -> None:
    """Said before, in these words or others; the surer wording stays. Seen in a second project it holds for all of them."""
    was = night.known.get(line.id)
    better = (
        not one.agents
        and verdict
        and was
        and budget.may_change(line, was)
        and confidence(one) >= (was.confidence or 0.5) + BETTER
    )
    if verdict and was and better and line.id != one.id and _reword(night, one, verdict, book, line, was):
        line = book.find(one.id) or line
    else:
        night.record(night.record_of(one, "merged", verdict, more={"into": line.id, **memory_files.file_field(book)}))
        reason = say(f"says what “{line.words}” says", f"与“{line.words}”意思相同")
        night.step("merge", book.shown, reason, one.text)
    if book is night.library.general or one.said.group or book.path.parent.name == one.said.project:
        return
    was = night.known.get(line.id)
    if budget.may_change(line, was) and not night.library.general.over:
        _to_all_projects(night, book, line, was)


def _reword(night: Draft, one: Candidate, verdict: Verdict, book: LongTermFile, line: Line, was: EntryState) -> bool:
    """The better wording in the place of the old, which is merged into it."""
    try:
        book.replace(line, one.text)
    except MemoryFull:
        return False
    more = memory_files.file_field(book)
    into = {**more, "into": one.id}
    night.record(Record(line.id, night.at, "merged", line.words, valid_to=night.today.isoformat(), more=into))
    made = night.record_of(one, "admitted", verdict, section=line.section, confidence=confidence(one), more=more)
    night.record(replace(made, supersedes=line.id, valid_from=was.valid_from))
    reason = say(f"says better what “{line.words}” says", f"比“{line.words}”说得更好")
    night.step("merge", book.shown, reason, one.text)
    return True


def _to_all_projects(night: Draft, book: LongTermFile, line: Line, was: EntryState | None) -> None:
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


def _cut(night: Draft, book: LongTermFile, cuts: Iterable[budget.Cut]) -> None:
    """Tell the ledger what made room."""
    today = night.today.isoformat()
    for cut in cuts:
        more = memory_files.file_field(book)
        if cut.words is not None:
            into = {**more, "into": entry_id(cut.words)}
            night.record(Record(cut.line.id, night.at, "superseded", valid_to=today, more=into))
            _goes_on(night, book, cut.line, cut.words)
        else:
            verdict = "merged" if cut.action == budget.MERGE else "demoted"
            night.record(Record(cut.line.id, night.at, verdict, cut.line.words, valid_to=today, more=more))
            if verdict == "demoted":
                _demote(night, book, cut.line)
        night.step(cut.action, book.shown, cut.reason, cut.line.words)


def _demote(night: Draft, book: LongTermFile, line: Line) -> None:
    was = night.known.get(line.id)
    day = (was.source.get("day") if was else None) or (was.valid_from if was else None) or night.today.isoformat()
    mark = was.source.get("bullet") if was else None
    if mark and mark in night.library.pressed.get(day, ()):
        return  # it stands in the digest of its week already
    project = None if book is night.library.general else book.path.parent.name
    kind = night.library.tested(line.words).judged.best("category")
    night.demoted.append(Demoted(line.words, day, project, kind))


# What lasts becomes long-term memory: each new line of the logs is tested, routed, weighed against what is there, and
# fitted in.

Only = Callable[[LogLine], bool]
AT_ONCE = 400  # lines of the logs whose sentences are in memory together
PROVEN = 0.3  # odds of lasting that a statement has which corrects a remembered one in so many words
UPDATES = 1.0  # what speaks for a statement that corrects a remembered one: the stale line would mislead
AGAIN = 0.7  # what speaks for a statement that came up in another talk too
ALSO = 0.3  # odds above which a statement that overtakes one entry overtakes another, too
SURE = 0.7  # odds above which a clash is put to the user, though the statement itself would not be kept


def plan(
    room: TidyContext, *, careful: bool = False, only: Only | None = None, said: Sequence[LogLine] | None = None
) -> DistilPlan:
    """What tonight's lines would change; reads, and writes nothing. `careful`: nothing that stands there is touched without asking.
    `only`: which of the new lines are looked at. `said`: lines from elsewhere, looked at instead."""
    night = Draft(room, careful=careful)
    known = decided_lines(night.trail, night.before, night.asked)
    new, night.lately, problems = new_lines(room, known, night.trail, night.known)
    if said is not None:
        new = [one for one in said if (one.day, one.mark) not in known]
    new = [one for one in new if only(one)] if only else new
    night.problems += problems
    _adopt_hand_edits(night)
    stones = tombstones.load_tombstones(room.workspace)
    for start in range(0, len(new), AT_ONCE):
        for one in _ready(night, new[start : start + AT_ONCE], stones):
            _offer(night, one)
    draft.ask_about_outdated(night)
    draft.drop_obsolete_questions(night)
    return night.planned(new)


def _adopt_hand_edits(night: Draft) -> None:
    """Lines that somebody wrote or took out become known; lines that would fail the tests are put to the user."""
    found = memory_files.hand_edits(night.library.books, night.known)
    night.record(*memory_files.hand_edit_records(found, night.at, night.today.isoformat()))
    night.library.read([line for _, line in found.adopted])
    for book, line in found.adopted:
        reason = say("written by somebody else; known from now on", "由他人写入；从现在起记录在案")
        night.step("adopt", book.shown, reason, line.words)
        verdict = judge.four_way_test(night.library.tested(line.words))
        if not verdict.admitted and line.whole:
            draft.ask_about_adopted(night, book, line, verdict)
    for book, line, was in found.edited:
        night.step("adopt", book.shown, say(f"edited; was “{was.text}”", f"已被修改；原为“{was.text}”"), line.words)
    for one in found.gone:
        reason = say("taken out by hand; it is not added again", "已被手动移除；不会再次添加")
        night.step("close", one.file, reason, one.text or "")
    night.problems += [_over(book) for book in night.library.books if book.over]


def _ready(night: Draft, said: Sequence[LogLine], stones: tombstones.Tombstones) -> list[Candidate]:
    """The candidates of some lines, without what is forgotten, in the order in which they were said. Of what was said in a group only
    the owner's words count, and only where capture vouches for them."""
    owners = [one for one in said if not one.group or (one.day, one.mark) in night.library.owners_word]
    found = make_candidates(owners, night.room.judge(), night.library.agents_word)
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


def _offer(night: Draft, one: Candidate) -> None:
    """Put one candidate to the tests, and see to it."""
    if _set_field(night, one) or _decided(night, one, night.known.get(one.id)):
        return
    home = night.library.home(one)
    if home.over:
        night.deferred.add((one.said.day, one.said.mark))  # told once for the file; offered again when there is room
        return
    shelf = night.library.shelf(home)
    found, same = compare.compare_with(one.tested.statement, [entry for _, _, entry in shelf], one.core)
    stands = [stand for stand in found if _counts(night, one, home, shelf[stand.place][:2], stand)]
    overtakes = _surely([stand for stand in stands if stand.kind == "overtakes"])
    verdict = _verdict(one, overtakes, same)
    repeats = next((stand for stand in stands if stand.kind == "same"), None)
    unclear = next((stand for stand in stands if stand.kind == "unclear"), None)
    if verdict.admitted and _is_unwanted(night, one):
        _record_refusal(night, one, replace(verdict, admitted=False, failed=("novel",)))
    elif not verdict.admitted:
        _refuse(night, one, verdict, [(shelf[stand.place][:2], stand) for stand in overtakes])
    elif undone_mark(one.id) in night.asked_before:
        draft.ask_about_undone(night, one, verdict, home)
    elif repeats and not (overtakes and overtakes[0].odds > repeats.odds):
        _merge(night, one, verdict, *shelf[repeats.place][:2])
    elif one.agents:
        draft.ask_about_agent_note(night, one, verdict, home)
    elif overtakes:
        _supersede(night, one, verdict, home, [(shelf[stand.place][:2], stand) for stand in overtakes])
    elif unclear:
        draft.ask_about_conflict(night, one, verdict, *shelf[unclear.place][:2], unclear.why)
    else:
        _admit(night, one, verdict, home)


def _is_unwanted(night: Draft, one: Candidate) -> bool:
    """Whether the user took this very thing out of memory, in whatever words."""
    from nacre.brain.local.relation import relations, says_the_same

    gone = night.unwanted
    return any(says_the_same(gone[near.place], one.core, near) for near in relations(gone, one.core))


def _verdict(one: Candidate, overtakes: Sequence[Comparison], same: float) -> Verdict:
    support = one.support + (UPDATES if overtakes else 0.0)
    said_so = any(stand.why in ("goodbye", "slot", "change") for stand in overtakes)
    verdict = judge.four_way_test(one.tested, support=support, lasting=_proven(one) if said_so else one.lasting)
    return replace(verdict, scores={**verdict.scores, "novel": round(1 - same, 3)})


def _proven(one: Candidate) -> float:
    """The odds that a correction lasts. What it says goodbye to was worth remembering, so what takes its place is, too."""
    from nacre.brain.local.likeness import holds_once

    idle = one.tested.judged.best("act") in ("question", "speculate", "social", "offrecord")
    passing = idle or holds_once(one.text, one.tested.judged.language)
    return one.lasting if passing else max(one.lasting, PROVEN)


def _decided(night: Draft, one: Candidate, before: EntryState | None) -> bool:
    """Whether the ledger settles these very words already. What was overtaken or let go may come back on a later day."""
    if before is None:
        return False
    where = night.library.find(one.id)
    if before.in_memory and where:
        _merge(night, one, None, *where)
        return True
    if before.verdict in ("superseded", "demoted"):
        return one.said.day <= (before.valid_to or "")
    return before.verdict in ("refused", "forgotten")


def _counts(
    night: Draft, one: Candidate, home: LongTermFile, place: tuple[LongTermFile, Line], stand: Comparison
) -> bool:
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
    return stand.kind == "overtakes" and stand.why == "goodbye" and one.lasting >= judge.LASTING


def _surely(stands: Sequence[Comparison]) -> list[Comparison]:
    """The entry that a statement overtakes; others only where it says goodbye to them as well."""
    return [
        stand for place, stand in enumerate(stands) if place == 0 or (stand.why == "goodbye" and stand.odds >= ALSO)
    ]


def _refuse(
    night: Draft, one: Candidate, verdict: Verdict, over: Sequence[tuple[tuple[LongTermFile, Line], Comparison]]
) -> None:
    """Refused, unless it surely contradicts an entry: then the user is to know."""
    if over and over[0][1].odds >= SURE and "broad" not in verdict.failed:
        draft.ask_about_conflict(night, one, verdict, *over[0][0], "weak")
    else:
        _record_refusal(night, one, verdict)


def _over(book: LongTermFile) -> Problem:
    size, most = book.size, book.settings
    sentence = say(
        f"{book.shown} is over its limits ({size.lines} of {most.max_lines} lines, {size.bytes} of {most.max_bytes} bytes): "
        'nothing is added to it until "nacre review --adopt" has brought it under them.',
        f"{book.shown} 已超出上限（{size.lines}/{most.max_lines} 行，{size.bytes}/{most.max_bytes} 字节）："
        "在运行“nacre review --adopt”使其回到上限以内之前，不会添加任何内容。",
    )
    return Problem("over its limits", sentence, book.shown, remedy="nacre review --adopt", severity="error")
