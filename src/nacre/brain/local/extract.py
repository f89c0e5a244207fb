"""From a session to the lines of a log: what was asked and came of it, what was settled, found, wished, learnt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nacre.brain.local import dialogue
from nacre.brain.local.dialogue import NEAR, Sentence, sentences_of, worth
from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.settled import affirms
from nacre.brain.local.wording import (
    LONGEST,
    asked,
    is_only_when,
    is_question,
    joined,
    only_blacked_out,
    shorten,
    starts_with_pronoun,
    tidy,
)
from nacre.model.entry import Bullet
from nacre.model.session import Message, Speaker
from nacre.text.quoting import demands, reports
from nacre.text.tokens import tokens

# Worth: takes a line of its own · the owner's words take one · joins a neighbour's · only where lines are missing.
GOOD, FAIR, SLIGHT, POOR = 0.5, 0.25, 0.13, 0.04
_LASTS = 0.15  # chance to hold for long, from which a plain statement of the owner is told however little is made of it
_STATES = ("inform", "instruct", "decide")
_ECHO = {"en": 0.78, "zh": 0.86}  # likeness by which an agent only repeats the owner; the models' scales differ
_TOGETHER = {"en": 180, "zh": 80}  # characters up to which neighbours in a message are told together
_SAME = 0.8  # share of words by which a line repeats an earlier one
_YES = re.compile(r"\A[^,，.。!！:：]{0,20}[,，.。!！:：]\s*")  # what an answer begins with: "Got it, "
_ASKS = ("request", "question")
_SURELY = 0.75
_NODS = {"en": 6, "zh": 10}  # words or signs up to which a "sounds good to me" can say nothing else
_SPECIFIC = re.compile(r"[\d`/_]|(?<=\s)[A-Z]\w")
_LEANS = 0.75  # chance that a sentence needs what stands before it, from which an answer is told with its question or not at all
_EMPTY = ("social", "agree", "speculate", "offrecord")
_OWNERS_ALONE = ("PREF",)  # only the owner's words become these


@dataclass(frozen=True)
class _Line:
    """A line in the making: the sentences that it says, and those of the agent that tell what came of it."""

    places: tuple[int, ...]
    outcome: tuple[int, ...] = ()
    score: float = 0.0


@dataclass(frozen=True)
class _Session:
    sentences: Sequence[Sentence]
    judged: Sequence[Judged]
    worth: Sequence[float]
    usable: frozenset[int]
    spent: set[int] = field(default_factory=set)
    questions: dict[int, int | None] = field(default_factory=dict)  # that a turn may answer


def extract(messages: Sequence[Message], judge: Judge, *, least: int = 3, most: int = 10) -> list[Bullet]:
    """The lines that a session is worth, in the order in which things were said; none when there is nothing to tell."""
    sentences = sentences_of(messages)
    if not sentences:
        return []
    judged = judge.read([one.text for one in sentences])
    hidden = dialogue.off_record(sentences, judged)
    usable = frozenset(
        place
        for place, one in enumerate(sentences)
        if place not in hidden and not only_blacked_out(one.text) and (one.speaker is Speaker.OWNER or one.to_owner)
    )
    session = _Session(sentences, judged, worth(sentences, judged), usable)
    best = sorted(_of_owner(session) + _of_agent(session), key=lambda one: -one.score)[: 6 * most]
    lines = sorted(_distinct(best, session), key=lambda one: -one.score)[:most]
    lines = _filled_up(lines, session, least)
    ordered = sorted(lines, key=lambda one: one.places[0])
    return [_bullet(one, session) for one in ordered]


def _of_owner(session: _Session) -> list[_Line]:
    """The owner's sentences, neighbours that belong together on one line, requests with what came of them."""
    made: list[_Line] = []
    run: list[int] = []

    def close() -> None:
        if run and (line := _with_outcome(tuple(run), session)):
            made.append(line)
        run.clear()

    for place, one in enumerate(session.sentences):
        if one.speaker is not Speaker.OWNER or place not in session.usable or not _counts(place, session):
            continue
        if _nods(place, session) or _lacks_question(place, session):
            continue
        if run and not _belongs(run, place, session):
            close()
        run.append(place)
    close()
    return made


def _counts(place: int, session: _Session) -> bool:
    """Whether a sentence of the owner is told: by its own worth, or with a neighbour in its message that surely is."""
    if session.worth[place] >= FAIR or _is_lasting_statement(place, session):
        return True
    if session.worth[place] < SLIGHT or session.judged[place].best("act") in _EMPTY:
        return False
    if _asks_for(session.judged[place]) and any(session.worth[other] >= FAIR for other in _answers(place, session)):
        return True  # what came of it makes it worth telling
    turn = session.sentences[place].turn
    beside = [other for other in (place - 1, place + 1) if 0 <= other < len(session.sentences)]
    return any(session.sentences[other].turn == turn and session.worth[other] >= GOOD for other in beside)


def _is_lasting_statement(place: int, session: _Session) -> bool:
    """Whether the owner plainly says how something is, for long: "Karim signs off releases" is said in order to be known."""
    judged = session.judged[place]
    return (
        session.worth[place] >= POOR
        and judged.lasting >= _LASTS
        and sum(judged.chance("act", act) for act in _STATES) >= 0.6
        and judged.chance("c", "yes") < 0.6
        and not judged.text.rstrip().endswith(("?", "？"))
    )


def _belongs(run: Sequence[int], place: int, session: _Session) -> bool:
    """Whether a sentence goes on with what the sentences before it say."""
    last, this = session.sentences[run[-1]], session.sentences[place]
    if last.turn != this.turn or this.place != last.place + 1:
        return False
    language = session.judged[place].language
    if sum(len(session.sentences[one].text) for one in (*run, place)) > LONGEST[language]:
        return False
    size = sum(len(session.sentences[one].text) for one in (*run, place))
    if size <= _TOGETHER[language] or session.judged[place].chance("c", "yes") > 0.5:
        return _asks_for(session.judged[run[-1]]) == _asks_for(session.judged[place])
    return _topic(session.judged[run[-1]]) == _topic(session.judged[place])


def _topic(judged: Judged) -> tuple[str, bool]:
    return judged.best("type"), _asks_for(judged)


def _asks_for(judged: Judged) -> bool:
    return judged.best("act") in _ASKS


def _asks(place: int, session: _Session) -> bool:
    """Whether a sentence is a question, and not work that is asked for."""
    judged = session.judged[place]
    act = judged.best("act")
    return act == "question" or (act not in ("request", "instruct") and is_question(judged.text, judged.language))


def _nods(place: int, session: _Session) -> bool:
    """Whether a sentence only says yes, thanks or well done. A yes to a question of the agent is told with it."""
    judged = session.judged[place]
    text = judged.text.strip()
    size = len(text) if judged.language == "zh" else len(text.split())
    if judged.chance("act", "agree") + judged.chance("act", "social") < _SURELY or size > _NODS[judged.language]:
        return False
    return not _SPECIFIC.search(text) and _question_before(place, session) is None


def _leans(place: int, session: _Session) -> bool:
    """Whether a sentence says nothing without what stands before it."""
    judged = session.judged[place]
    return judged.chance("c", "yes") >= _LEANS or is_only_when(judged.text)


def _question_before(place: int, session: _Session) -> int | None:
    """The question that a sentence may answer: the last one of the other speaker's turn just before. It is that of its whole turn."""
    turn = session.sentences[place].turn
    if turn not in session.questions:
        session.questions[turn] = _find_question(place, session)
    return session.questions[turn]


def _find_question(place: int, session: _Session) -> int | None:
    mine = session.sentences[place]
    other = place
    while other >= 0 and session.sentences[other].speaker is mine.speaker:
        other -= 1
    if mine.speaker is Speaker.OWNER and any(one.turn != mine.turn for one in session.sentences[other + 1 : place]):
        return None  # said something else meanwhile
    turn = session.sentences[other].turn if other >= 0 else -1
    while other >= 0 and session.sentences[other].turn == turn:
        if _asks(other, session):
            return other
        other -= 1
    return None


def _is_answer(place: int, session: _Session) -> bool:
    """Whether a sentence of the agent says nothing without the owner's question before it."""
    return _leans(place, session) and _question_before(place, session) is not None


def _with_question(place: int, session: _Session) -> list[_Line]:
    """An answer of the agent with its question, on one line; nothing where the question may not be told, or is told already."""
    question = _question_before(place, session)
    if question is None or question not in session.usable or question in session.spent:
        return []
    session.spent.update((question, place))
    return [_Line((question,), (place,), session.worth[place])]


def _lacks_question(place: int, session: _Session) -> bool:
    """Whether a sentence answers a question that must not be told, and says nothing without it."""
    question = _question_before(place, session)
    return question is not None and question not in session.usable and _leans(place, session)


def _with_outcome(run: tuple[int, ...], session: _Session) -> _Line | None:
    """The line of what the owner said, a request or question with what came of it; none for a question without its answer."""
    score = max(session.worth[place] for place in run)
    only_asks = all(_asks(place, session) for place in run)
    if not only_asks and not _is_request(run, session):
        return _Line(run, (), score)
    least = SLIGHT if only_asks else FAIR
    answers = [
        place
        for place in _answers(run[-1], session)
        # What an agent says is to be done stands on a line of its own, under its name.
        if session.worth[place] >= least
        and _tells(session.judged[place])
        and not demands(session.sentences[place].text)
    ]
    best = sorted(sorted(answers, key=lambda place: -session.worth[place])[:2])
    if only_asks and not best:
        return None
    session.spent.update((*run, *best))
    return _Line(run, tuple(best), max([score, *(session.worth[place] for place in best)]))


def _is_request(run: Sequence[int], session: _Session) -> bool:
    odds = [sum(session.judged[place].chance("act", act) for act in _ASKS) for place in run]
    return max(odds) > 0.5 and session.judged[run[-1]].best("act") not in ("decide", "instruct")


def _answers(place: int, session: _Session) -> list[int]:
    """The agent's sentences between the owner's and his next."""
    found: list[int] = []
    turn = session.sentences[place].turn
    for other in range(place + 1, len(session.sentences)):
        one = session.sentences[other]
        if one.speaker is Speaker.OWNER and one.turn != turn:
            break
        if one.speaker is Speaker.AGENT and other in session.usable:
            found.append(other)
    return found


def _tells(judged: Judged) -> bool:
    return sum(judged.chance("act", act) for act in (*_EMPTY, *_ASKS)) < 0.6


def _of_agent(session: _Session) -> list[_Line]:
    """What the agent found or did, where no request of the owner carries it."""
    made: list[_Line] = []
    for place, one in enumerate(session.sentences):
        if one.speaker is not Speaker.AGENT or place not in session.usable or place in session.spent:
            continue
        if (
            session.worth[place] < GOOD
            or not _tells(session.judged[place])
            or _is_echo(place, session)
            or _rejected(place, session)
        ):
            continue
        if _is_answer(place, session):
            made += _with_question(place, session)
            continue
        before = made[-1] if made else None
        if before and place == before.places[-1] + 1 and _fits(before, place, session):
            made[-1] = replace(before, places=(*before.places, place), score=max(before.score, session.worth[place]))
        else:
            made.append(_Line((place,), (), session.worth[place]))
    # Where lines are scarce, what the owner said goes before what the agent did.
    return [replace(one, score=one.score * 0.8) for one in made]


def _is_echo(place: int, session: _Session) -> bool:
    """Whether the agent only says again what the owner said."""
    mine = session.judged[place]
    if mine.vector is None:
        return False
    figures = _figures(mine.text)
    return any(
        other.vector is not None
        and other.language == mine.language
        and float(mine.vector @ other.vector) > _ECHO[mine.language]
        and figures <= _figures(other.text)  # a date, a price, a number of its own is news
        for said, other in zip(
            session.sentences[max(0, place - NEAR) : place], session.judged[max(0, place - NEAR) : place], strict=True
        )
        if said.speaker is Speaker.OWNER
    )


def _figures(text: str) -> set[str]:
    return {token for token in tokens(text) if any(character.isdigit() for character in token)}


def _rejected(place: int, session: _Session) -> bool:
    """Whether it is a proposal that the owner turns down at once."""
    if session.judged[place].best("act") == "report":
        return False
    following = (
        other for other in range(place + 1, len(session.sentences)) if session.sentences[other].speaker is Speaker.OWNER
    )
    answer = next(following, None)
    return answer is not None and session.judged[answer].chance("act", "correct") > 0.5


def _fits(line: _Line, place: int, session: _Session) -> bool:
    same_turn = session.sentences[line.places[-1]].turn == session.sentences[place].turn
    size = sum(len(session.sentences[one].text) for one in (*line.places, place))
    return same_turn and size <= LONGEST[session.judged[place].language]


def _distinct(lines: Sequence[_Line], session: _Session) -> list[_Line]:
    """The lines without those that only repeat another: the owner's words stay, the agent's echo goes."""
    kept: list[tuple[_Line, set[str]]] = []
    for line in sorted(
        lines, key=lambda one: (session.sentences[one.places[0]].speaker is Speaker.AGENT, one.places[0])
    ):
        words = {token for place in line.places for token in tokens(session.sentences[place].text)}
        if any(len(words & other) >= _SAME * len(words) for _, other in kept):
            continue
        kept.append((line, words))
    return [line for line, _ in kept]


def _filled_up(lines: list[_Line], session: _Session, least: int) -> list[_Line]:
    """Enough lines, where the session has them: outcomes on lines of their own, then the next best sentences."""
    while lines and len(lines) < least:
        splittable = next((one for one in lines if one.outcome and _may_be_split(one, session)), None)
        if splittable is None:
            break
        lines = [one for one in lines if one is not splittable]
        lines += [replace(splittable, outcome=()), _Line(splittable.outcome, (), splittable.score)]
    used = {place for line in lines for place in (*line.places, *line.outcome)}
    rest = sorted(session.usable - used, key=lambda place: -session.worth[place])
    for place in rest:
        if len(lines) >= least:
            break
        if not _fills(place, session):
            continue
        is_answer = session.sentences[place].speaker is Speaker.AGENT and _is_answer(place, session)
        line = _with_question(place, session) if is_answer else [_Line((place,), (), session.worth[place])]
        added = _distinct([*lines, *line], session)
        lines = added if len(added) > len(lines) else lines
    while len(lines) < least:  # a message of several sentences can be told in several lines
        several = (
            one for one in lines if len(one.places) > 1 and not any(_asks(place, session) for place in one.places)
        )
        longest = max(several, key=lambda one: len(one.places), default=None)
        if longest is None:
            break
        half = len(longest.places) // 2
        lines = [one for one in lines if one is not longest]
        lines += [
            replace(longest, places=longest.places[:half]),
            replace(longest, places=longest.places[half:], outcome=()),
        ]
    return lines


def _may_be_split(line: _Line, session: _Session) -> bool:
    """Whether a request and what came of it can each stand alone: no question can, nor an answer that needs it."""
    alone = (*line.places, *line.outcome)
    return not any(_asks(place, session) for place in alone) and not any(
        _leans(place, session) for place in line.outcome
    )


def _fills(place: int, session: _Session) -> bool:
    """Whether a sentence tells something, if little. That the agent took note, or what it says after the owner, does not; nor
    a question, a yes, or an answer whose question may not be told."""
    if _asks(place, session) or _nods(place, session) or _lacks_question(place, session):
        return False
    if session.judged[place].best("act") in ("social", "offrecord", "speculate"):
        return False
    if session.sentences[place].speaker is Speaker.OWNER:
        return session.worth[place] >= POOR
    return session.worth[place] >= 2 * POOR and not _is_echo(place, session) and not _only_assents(place, session)


def _only_assents(place: int, session: _Session) -> bool:
    """Whether the agent says yes and repeats words of the owner, as in "Got it, squash merge only"."""
    if session.judged[place].best("act") != "agree":
        return False
    words = set(tokens(_YES.sub("", session.sentences[place].text)))
    owners = (one.text for one in session.sentences[max(0, place - NEAR) : place] if one.speaker is Speaker.OWNER)
    said = {token for text in owners for token in tokens(text)}
    return len(words & said) >= len(words) / 2


def _bullet(line: _Line, session: _Session) -> Bullet:
    first = session.sentences[line.places[0]]
    language = session.judged[line.places[0]].language
    told = [*_antecedent(line, session), *line.places]
    text = joined([tidy(session.sentences[place].text, session.judged[place].language) for place in told], language)
    text = _in_context(text, line, session)
    request = first.speaker is Speaker.OWNER and (bool(line.outcome) or _is_request(line.places, session))
    if request:
        text = asked(text, language)
    affirmed = _affirmed(line, session)
    by_agent = first.speaker is Speaker.AGENT and not affirmed
    if by_agent:
        text = f"助手：{text}" if language == "zh" else f"Agent: {text}"
    text = shorten(text, language)
    if line.outcome:
        outcome = joined([tidy(session.sentences[place].text, language) for place in line.outcome], language)
        text = f"{text} → {shorten(outcome, language)}"
    places = (*line.places, *line.outcome, *affirmed)
    sources = tuple(dict.fromkeys(session.sentences[place].message for place in places))
    return Bullet(text, None if request else _type(line, session), sources, by_agent)


def _affirmed(line: _Line, session: _Session) -> list[int]:
    """The owner's sentence by which a proposal of the agent becomes the owner's word: said next, and more than a nod."""
    last = line.places[-1]
    if session.sentences[last].speaker is not Speaker.AGENT:
        return []
    owners = (
        place for place in range(last + 1, len(session.sentences)) if session.sentences[place].speaker is Speaker.OWNER
    )
    answer = next(owners, None)
    return [answer] if answer is not None and affirms(session.sentences[answer].text) else []


def _antecedent(line: _Line, session: _Session) -> list[int]:
    """The sentence just before in the same message, where the line begins with "she" or "it" and that one says who."""
    place = line.places[0]
    one = session.sentences[place]
    if one.speaker is not Speaker.OWNER or one.place == 0 or place - 1 not in session.usable:
        return []
    before = session.judged[place - 1]
    if not starts_with_pronoun(one.text, session.judged[place].language) or before.best("act") in ("agree", "question"):
        return []
    return [place - 1] if len(before.text) >= (5 if before.language == "zh" else 15) else []


def _type(line: _Line, session: _Session) -> str | None:
    """The kind of memory; none for work that was asked for or done, which is told and over."""
    best = max(line.places, key=lambda place: session.worth[place])
    judged = session.judged[best]
    kind = judged.best("type")
    if kind == "TEMP" and judged.best("category") in ("task", "discovery", "-"):
        return None
    if session.sentences[best].speaker is Speaker.AGENT and kind in _OWNERS_ALONE:
        return None
    if reports(session.sentences[best].text):
        return None  # it is told that it was said, not that it is so
    return kind


def _in_context(text: str, line: _Line, session: _Session) -> str:
    """The line with the agent's question before it, where it cannot be understood without."""
    place = line.places[0]
    one, judged = session.sentences[place], session.judged[place]
    if one.speaker is not Speaker.OWNER or one.place != 0:
        return text
    if judged.chance("c", "yes") < 0.35 and not is_only_when(judged.text):
        return text
    words = _question_before(place, session)
    if words is None or words not in session.usable:
        return text  # only a question says what its answer is about
    language = judged.language
    lead = shorten(tidy(session.sentences[words].text, language), language, LONGEST[language] // 2)
    return f"{lead} – {text}" if language == "en" else f"{lead} —— {text}"
