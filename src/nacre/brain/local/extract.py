"""From a session to the lines of a log: what was asked and came of it, what was settled, found, wished, learnt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from nacre.brain.local import wording
from nacre.brain.local.dialogue import NEAR, Sentence, off_record, sentences_of, worth
from nacre.brain.local.judge import Judge, Judged
from nacre.brain.local.settled import affirms
from nacre.brain.local.wording import LONGEST, is_only_when, joined, shorten, starts_with_pronoun, tidy
from nacre.model import Bullet, Message, Speaker
from nacre.text.blocks import AGENT_MARK
from nacre.text.quoting import demands, reports
from nacre.text.tokens import has_question_mark, is_question, tokens

# Worth: takes a line of its own · the owner's words take one · joins a neighbour's · only where lines are missing.
GOOD, FAIR, SLIGHT, POOR = 0.5, 0.25, 0.13, 0.04
FULL = 7  # lines of a long session that are filled up with the next best sentences
_LASTS = 0.15  # chance to hold for long, from which a plain statement of the owner is told however little is made of it
_ECHO = {"en": 0.78, "zh": 0.86}  # likeness by which an agent only repeats the owner; the models' scales differ
_TOGETHER = {"en": 180, "zh": 80}  # characters up to which neighbours in a message are told together
_SAME = 0.8  # share of words by which a line repeats an earlier one
_YES = re.compile(r"\A[^,，.。!！:：]{0,20}[,，.。!！:：]\s*")  # what an answer begins with: "Got it, "
_NODS = {"en": 6, "zh": 10}  # words or signs up to which a "sounds good to me" can say nothing else
_SPECIFIC = re.compile(r"[\d`/_]|(?<=\s)[A-Z]\w")
_LEANS = 0.75  # chance that a sentence needs what stands before it, from which an answer is told with its question or not at all
_STATED = 0.6  # odds of lasting from which a sentence is a statement, whatever else it sounds like
_ASKS = ("request", "question")
_EMPTY = ("social", "agree", "speculate", "offrecord")


@dataclass(eq=False)
class _Item:
    place: int
    sentence: Sentence
    judged: Judged
    worth: float
    usable: bool
    question: _Item | None = None  # of the other speaker, that it may answer
    reply: _Item | None = None  # what the owner says next
    spent: bool = False  # told on the line of another sentence

    def __post_init__(self) -> None:
        self.text, self.language, self.turn = self.sentence.text, self.judged.language, self.sentence.turn
        self.of_owner = self.sentence.speaker is Speaker.OWNER
        self.act = self.judged.best("act")
        self.asks_for = self.act in _ASKS
        is_open = self.act not in ("request", "instruct")
        # What surely lasts is stated, though it may sound like a question: "12 years old, only ever the renal food, check with me first".
        self.lasts = self.judged.tuned and self.judged.lasting >= _STATED and not has_question_mark(self.text)
        sounds_asked = self.act == "question" or (is_open and is_question(self.text, self.language))
        self.asks = sounds_asked and not self.lasts
        self.needs_context = self.judged.needs_context

    @property
    def leans(self) -> bool:
        """Whether it says nothing without what stands before it."""
        return self.needs_context >= _LEANS or is_only_when(self.text)

    def chance(self, *acts: str) -> float:
        return sum(self.judged.chance("act", act) for act in acts)


@dataclass(frozen=True)
class _Line:
    """A line in the making: the sentences that it says, and those of the agent that tell what came of it."""

    items: tuple[_Item, ...]
    outcome: tuple[_Item, ...] = ()
    score: float = 0.0


def extract(messages: Sequence[Message], judge: Judge, *, least: int = 3, most: int = 10) -> list[Bullet]:
    """The lines that a session is worth, in the order in which things were said; none when there is nothing to tell."""
    session = _read(messages, judge)
    lines = _of_owner(session)
    lines += _of_agent(session)
    best = _distinct(sorted(lines, key=lambda line: -line.score)[: 6 * most])
    lines = _filled_up(sorted(best, key=lambda line: -line.score)[:most], session, least)
    # Who says much wants more of it told.
    said = len({item.turn for item in session if item.of_owner and item.usable})
    lines = _with_next_best(lines, session, min(said, FULL, most), SLIGHT)
    return [_bullet(line, session) for line in sorted(lines, key=lambda line: line.items[0].place)]


def _read(messages: Sequence[Message], judge: Judge) -> list[_Item]:
    sentences = sentences_of(messages)
    if not sentences:
        return []
    judged = judge.read([sentence.text for sentence in sentences])
    hidden = off_record(sentences, judged)
    own = [
        place for place, sentence in enumerate(sentences) if sentence.speaker is Speaker.OWNER and place not in hidden
    ]
    # What a sentence of the owner is worth for good is told in view of the one before it.
    kept = judge.with_keep(
        [judged[place] for place in own], [sentences[place - 1].text if place else "" for place in own]
    )
    by_place = dict(zip(own, kept, strict=True))
    items: list[_Item] = []
    for place, (sentence, labels, value) in enumerate(zip(sentences, judged, worth(sentences, judged), strict=True)):
        addressed = sentence.speaker is Speaker.OWNER or sentence.to_owner
        usable = addressed and place not in hidden and not wording.only_blacked_out(sentence.text)
        tuned = by_place.get(place, labels)
        items.append(_Item(place, sentence, tuned, max(value, tuned.lasting if tuned.tuned else 0.0), usable))
    question = last_question = reply = None
    speaker = None
    for _, turn in groupby(items, key=lambda item: item.turn):
        said = list(turn)
        if said[0].sentence.speaker is not speaker:
            question = last_question
        elif said[0].of_owner:
            question = None  # said something else meanwhile
        for item in said:
            item.question = question
        speaker = said[0].sentence.speaker
        last_question = next((item for item in reversed(said) if item.asks), None)
    for item in reversed(items):
        item.reply = reply
        reply = item if item.of_owner else reply
    return items


def _of_owner(session: Sequence[_Item]) -> list[_Line]:
    """The owner's sentences, neighbours that belong together on one line, requests with what came of them."""
    runs: list[list[_Item]] = []
    for item in session:
        if not item.of_owner or not item.usable or not _counts(item, session) or _says_nothing(item):
            continue
        if runs and _belongs(runs[-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return [line for run in runs if (line := _with_outcome(tuple(run), session))]


def _counts(item: _Item, session: Sequence[_Item]) -> bool:
    """Whether a sentence of the owner enters the log: by its own worth, or beside one in its message that surely does."""
    if item.worth >= FAIR:
        return True
    # Who plainly says how something is, for long, says it in order to be known: "Karim signs off releases".
    if (
        item.worth >= POOR
        and item.judged.lasting >= _LASTS
        and item.chance("inform", "instruct", "decide") >= 0.6
        and item.needs_context < 0.6
        and not has_question_mark(item.text)
    ):
        return True
    if item.worth < SLIGHT or item.act in _EMPTY:
        return False
    if item.asks_for and any(answer.worth >= FAIR for answer in _answers(item, session)):
        return True  # what came of it makes it worth telling
    beside = session[max(item.place - 1, 0) : item.place + 2]
    return any(other.turn == item.turn and other.worth >= GOOD for other in beside)


def _says_nothing(item: _Item) -> bool:
    """Whether a sentence only says yes, thanks or well done, or leans on a question that must not be told."""
    if item.question:
        return not item.question.usable and item.leans
    size = len(item.text.strip()) if item.language == "zh" else len(item.text.split())
    nods = item.chance("agree", "social") >= 0.75 and size <= _NODS[item.language]
    return nods and not _SPECIFIC.search(item.text.strip())


def _goes_on(run: Sequence[_Item], item: _Item) -> bool:
    """Whether a sentence stands right after the others in a message, and there is room for it on their line."""
    size = sum(len(other.text) for other in (*run, item))
    return run[-1].turn == item.turn and run[-1].place + 1 == item.place and size <= LONGEST[item.language]


def _belongs(run: Sequence[_Item], item: _Item) -> bool:
    last = run[-1]
    if not _goes_on(run, item) or last.asks_for != item.asks_for:
        return False
    size = sum(len(other.text) for other in (*run, item))
    together = size <= _TOGETHER[item.language] or item.needs_context > 0.5
    return together or last.judged.best("type") == item.judged.best("type")


def _with_outcome(run: tuple[_Item, ...], session: Sequence[_Item]) -> _Line | None:
    """The line of what the owner said, a request or question with what came of it; none for a question without its answer."""
    score = max(item.worth for item in run)
    only_asks = all(item.asks for item in run)
    if not only_asks and not _is_request(run):
        return _Line(run, (), score)
    least = SLIGHT if only_asks else FAIR
    # What an agent says is to be done stands on a line of its own, under its name.
    telling = (answer for answer in _answers(run[-1], session) if answer.worth >= least and _tells(answer))
    answers = [answer for answer in telling if not demands(answer.text)]
    best = sorted(sorted(answers, key=lambda answer: -answer.worth)[:2], key=lambda answer: answer.place)
    if only_asks and not best:
        return None
    for item in (*run, *best):
        item.spent = True
    return _Line(run, tuple(best), max([score, *(answer.worth for answer in best)]))


def _is_request(run: Sequence[_Item]) -> bool:
    asked = max(item.chance(*_ASKS) for item in run) > 0.5 and run[-1].act not in ("decide", "instruct")
    return asked and not any(item.lasts for item in run)


def _answers(item: _Item, session: Sequence[_Item]) -> list[_Item]:
    """The agent's sentences between the owner's and his next."""
    later = session[item.place + 1 :]
    until_next = takewhile(lambda other: not other.of_owner or other.turn == item.turn, later)
    return [other for other in until_next if not other.of_owner and other.usable]


def _tells(item: _Item) -> bool:
    return item.chance(*_EMPTY, *_ASKS) < 0.6


def _of_agent(session: Sequence[_Item]) -> list[_Line]:
    """What the agent found or did, where no request of the owner carries it."""
    lines: list[_Line] = []
    for item in session:
        if item.of_owner or not item.usable or item.spent or item.worth < GOOD or not _tells(item):
            continue
        rejected = item.act != "report" and item.reply is not None and item.reply.chance("correct") > 0.5
        if rejected or _is_echo(item, session) or not (line := _line_of(item)):
            continue
        before = lines[-1] if lines else None
        if before and not line.outcome and _goes_on(before.items, item):
            lines[-1] = replace(before, items=(*before.items, item), score=max(before.score, item.worth))
        else:
            lines.append(line)
    # Where lines are scarce, what the owner said goes before what the agent did.
    return [replace(line, score=line.score * 0.8) for line in lines]


def _line_of(item: _Item) -> _Line | None:
    """The line that a sentence makes; an answer of the agent that leans on its question takes that along, or makes none."""
    question = item.question
    if item.of_owner or question is None or not item.leans:
        return _Line((item,), (), item.worth)
    if not question.usable or question.spent:
        return None
    question.spent = item.spent = True
    return _Line((question,), (item,), item.worth)


def _owners_before(item: _Item, session: Sequence[_Item]) -> list[_Item]:
    return [other for other in session[max(0, item.place - NEAR) : item.place] if other.of_owner]


def _is_echo(item: _Item, session: Sequence[_Item]) -> bool:
    vector = item.judged.vector
    if vector is None:
        return False
    figures = _figures(item.text)
    return any(
        other.judged.vector is not None
        and other.language == item.language
        and float(vector @ other.judged.vector) > _ECHO[item.language]
        and figures <= _figures(other.text)  # a date, a price, a number of its own is news
        for other in _owners_before(item, session)
    )


def _figures(text: str) -> set[str]:
    return {token for token in tokens(text) if any(character.isdigit() for character in token)}


def _distinct(lines: Sequence[_Line]) -> list[_Line]:
    """The lines without those that only repeat another: the owner's words stay, the agent's echo goes."""
    kept: list[tuple[_Line, set[str]]] = []
    for line in sorted(lines, key=lambda line: (not line.items[0].of_owner, line.items[0].place)):
        words = {token for item in line.items for token in tokens(item.text)}
        if not any(len(words & other) >= _SAME * len(words) for _, other in kept):
            kept.append((line, words))
    return [line for line, _ in kept]


def _filled_up(lines: list[_Line], session: Sequence[_Item], least: int) -> list[_Line]:
    """At least so many lines, where the session has them: outcomes get lines of their own, then come the next best sentences."""
    while len(lines) < least:
        # Neither a question can stand alone, nor an answer that needs it.
        for line in lines:
            asks = any(item.asks for item in (*line.items, *line.outcome))
            if line.outcome and not asks and not any(item.leans for item in line.outcome):
                break
        else:
            break
        lines = [other for other in lines if other is not line]
        lines += [replace(line, outcome=()), _Line(line.outcome, (), line.score)]
    lines = _with_next_best(lines, session, least, POOR)
    while len(lines) < least:  # a message of several sentences can be told in several lines
        several = (line for line in lines if len(line.items) > 1 and not any(item.asks for item in line.items))
        longest = max(several, key=lambda line: len(line.items), default=None)
        if longest is None:
            break
        half = len(longest.items) // 2
        lines = [line for line in lines if line is not longest]
        lines.append(replace(longest, items=longest.items[:half]))
        lines.append(replace(longest, items=longest.items[half:], outcome=()))
    return lines


def _with_next_best(lines: list[_Line], session: Sequence[_Item], least: int, worth: float) -> list[_Line]:
    """At least so many lines, filled up with the best sentences of at least this worth that no line has yet."""
    used = {item for line in lines for item in (*line.items, *line.outcome)}
    for item in sorted(session, key=lambda item: -item.worth):
        if len(lines) >= least or item.worth < worth:
            break
        if item.usable and item not in used and _fills(item, session) and (new := _line_of(item)):
            added = _distinct([*lines, new])
            lines = added if len(added) > len(lines) else lines
    return lines


def _fills(item: _Item, session: Sequence[_Item]) -> bool:
    """Whether a sentence may fill up the lines: it is no question, no mere yes and no echo of the owner."""
    if item.asks or item.act in ("social", "offrecord", "speculate") or _says_nothing(item):
        return False
    if item.of_owner:
        return item.worth >= POOR
    if item.worth < 2 * POOR or _is_echo(item, session):
        return False
    if item.act != "agree":
        return True
    # "Got it, squash merge only": a yes and words of the owner.
    words = set(tokens(_YES.sub("", item.text)))
    heard = {token for other in _owners_before(item, session) for token in tokens(other.text)}
    return len(words & heard) < len(words) / 2


def _bullet(line: _Line, session: Sequence[_Item]) -> Bullet:
    first, last = line.items[0], line.items[-1]
    language = first.language
    parts = list(line.items)
    if first.of_owner and first.sentence.place > 0 and starts_with_pronoun(first.text, language):
        before = session[first.place - 1]  # says who "she" is, or what "it" is
        long = len(before.text) >= (5 if before.language == "zh" else 15)
        if long and before.usable and before.act not in ("agree", "question"):
            parts.insert(0, before)
    text = joined([tidy(item.text, item.language) for item in parts], language)
    question = first.question
    starts = first.of_owner and first.sentence.place == 0
    if starts and question and question.usable and (first.needs_context >= 0.35 or is_only_when(first.text)):
        lead = shorten(tidy(question.text, language), language, LONGEST[language] // 2)
        text = f"{lead} – {text}" if language == "en" else f"{lead} —— {text}"
    request = first.of_owner and (bool(line.outcome) or _is_request(line.items))
    if request:
        text = wording.asked(text, language)
    # By a yes that is more than a nod a proposal of the agent becomes the owner's word.
    affirmed = [last.reply] if not last.of_owner and last.reply and affirms(last.reply.text) else []
    by_agent = not first.of_owner and not affirmed
    if by_agent:
        text = AGENT_MARK[language] + text
    text = shorten(text, language)
    if line.outcome:
        outcome = joined([tidy(item.text, language) for item in line.outcome], language)
        text = f"{text} → {shorten(outcome, language)}"
    sources = dict.fromkeys(item.sentence.message for item in (*line.items, *line.outcome, *affirmed))
    best = max(line.items, key=lambda item: item.worth)
    kind: str | None = best.judged.best("type")
    over = kind == "TEMP" and best.judged.best("category") in ("task", "discovery", "-")
    # Only the owner's words become preferences; and of what is reported it is told that it was said, not that it is so.
    if request or over or (kind == "PREF" and not best.of_owner) or reports(best.text):
        kind = None
    return Bullet(text, kind, tuple(sources), by_agent)
