"""A session as sentences: what surrounds each, what each is worth, and which must not be used because the user asked so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

from nacre.brain.local import classifier
from nacre.brain.local.judge import Judge, Judged
from nacre.guard.privacy import (
    asks_for_privacy,
    forbids_things,
    means_what_was_said,
    named,
    points_back,
    promises_silence,
    reach,
)
from nacre.model import Message, Speaker
from nacre.text.quoting import own_words
from nacre.text.tokens import STOP_HAN, STOP_WORDS, sentences, tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


NEAR = 120  # sentences within which one may repeat another


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    speaker: Speaker
    turn: int  # which message
    place: int  # which sentence of it
    of: int  # how many it has
    message: str  # id
    to_owner: bool  # an agent's words: whether they answer the owner


def sentences_of(messages: Sequence[Message]) -> list[Sentence]:
    """Every sentence of the owner and the agent. Code, quotations and logs are data, not what somebody says."""
    result: list[Sentence] = []
    asked_by = Speaker.OWNER
    for turn, message in enumerate(messages):
        if message.speaker is not Speaker.AGENT:
            asked_by = message.speaker
        if message.speaker is Speaker.OTHER:
            continue
        texts = sentences(own_words(message.text, typed=message.speaker is Speaker.OWNER))
        for place, text in enumerate(texts):
            to_owner = asked_by is Speaker.OWNER
            result.append(Sentence(text, message.speaker, turn, place, len(texts), message.id, to_owner))
    return result


def context(session: Sequence[Sentence], judged: Sequence[Judged]) -> npt.NDArray[np.float32]:
    """What stands around each sentence, as numbers. Their order is part of the weights."""
    import numpy as np

    turns = [list(places) for _, places in groupby(range(len(session)), key=lambda place: session[place].turn)]

    def chance(places: Sequence[int], *acts: str) -> float:
        return max((sum(judged[place].chance("act", act) for act in acts) for place in places), default=0.0)

    rows: list[tuple[float, ...]] = []
    for number, places in enumerate(turns):
        before = turns[number - 1] if number else []
        after = turns[number + 1][:1] if number + 1 < len(turns) else []
        speaker = session[places[0]].speaker
        asked, requested = chance(before, "question"), chance(before, "request", "instruct")
        answers = bool(before) and session[before[0]].speaker != speaker
        agreed, corrected = chance(after, "agree"), chance(after, "correct")
        for place in places:
            sentence = session[place]
            rows.append(
                (
                    speaker is Speaker.OWNER,
                    number == 0,  # first turn
                    number == len(turns) - 1,  # last turn
                    sentence.place / max(sentence.of - 1, 1),
                    sentence.place == sentence.of - 1,
                    sentence.of == 1,  # alone in its message
                    asked if answers else 0.0,
                    agreed,
                    corrected,
                    requested,
                    asked,
                    _said_before(place, judged),
                    bool(before) and session[before[0]].speaker is Speaker.AGENT,
                    min(len(session), 40) / 40,
                )
            )
    return np.array(rows, np.float32).reshape(len(session), 14)


def _said_before(place: int, judged: Sequence[Judged]) -> float:
    mine = judged[place]
    if mine.vector is None:
        return 0.0
    earlier = (other for other in judged[max(0, place - NEAR) : place] if other.language == mine.language)
    return max((float(mine.vector @ other.vector) for other in earlier if other.vector is not None), default=0.0)


# Whether a sentence of a session is worth a line in the day's log.

VECTOR_SCALE = 2.0


def inputs(judged: Judged, around: npt.NDArray[np.float32], center: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """One sentence as numbers: embedding, structure, the odds of every label, what stands around it, and 1."""
    import numpy as np

    odds = np.concatenate([np.log(np.clip(chances, 1e-3, 1.0)) * 0.3 for chances in judged.odds.values()])
    vector = np.zeros(0, np.float32) if judged.vector is None else (judged.vector - center) * VECTOR_SCALE
    # Whose words they are changes what everything else means, so the odds count once for each speaker.
    mine = odds * around[0]
    return np.concatenate([vector, judged.features, odds, mine, around, np.ones(1, np.float32)]).astype(np.float32)


def worth(session: Sequence[Sentence], judged: Sequence[Judged]) -> list[float]:
    """The chance of each sentence that a good minute-taker would have written it down."""
    import numpy as np

    around = context(session, judged)
    chances: list[float] = []
    for place, labels in enumerate(judged):
        weights = classifier.load(labels.language, "bare" if labels.vector is None else "full")
        assert weights.worth is not None
        score = float(inputs(labels, around[place], weights.center) @ weights.worth)
        chances.append(float(1 / (1 + np.exp(-score))))
    return chances


# What must be written nowhere: what the user asks not to keep, and everything that repeats it.

# By feeling alone, without the plain words: by itself, and where the agent answers that it keeps nothing of it.
CERTAIN, SURE = 0.8, 0.3
ENOUGH = 2  # how much of a hidden matter a sentence may not tell


def off_record(session: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The sentences that a wish for silence covers, with the agent's answers, and those that repeat their telling words."""
    hidden: set[int] = set()
    private: set[int] = set()
    owner_turns = sorted({sentence.turn for sentence in session if sentence.speaker is Speaker.OWNER})
    first_words = (sentence for sentence in session if sentence.speaker is Speaker.AGENT and sentence.place < 2)
    promised = {sentence.turn - 1 for sentence in first_words if promises_silence(sentence.text)}
    for place, (sentence, labels) in enumerate(zip(session, judged, strict=True)):
        least = SURE if sentence.turn in promised else CERTAIN
        felt = labels.chance("act", "offrecord") > least and not forbids_things(sentence.text)
        if felt:
            private.add(place)
        if sentence.speaker is Speaker.OWNER and (felt or asks_for_privacy(sentence.text)):
            hidden |= _covered(place, session, judged, owner_turns)
    words = [set(tokens(sentence.text)) for sentence in session]
    elsewhere = Counter(token for place, of_place in enumerate(words) if place not in hidden for token in of_place)
    owners = (words[place] for place in hidden if session[place].speaker is Speaker.OWNER)
    # Words of what was hidden that hardly occur in the rest: names, numbers, the matter itself.
    telling = {token for of_place in owners for token in of_place if _weight(token) and elsewhere[token] <= 3}
    repeats = {place for place, of_place in enumerate(words) if sum(map(_weight, telling & of_place)) >= ENOUGH}
    return hidden | repeats | private


def off_record_messages(messages: Sequence[Message], judge: Judge) -> set[str]:
    """The ids of the messages that hold any such sentence, for where whole messages are kept."""
    session = sentences_of(messages)
    hidden = off_record(session, judge.read([sentence.text for sentence in session]))
    return {session[place].message for place in hidden}


def without_off_record(messages: Sequence[Message], judge: Judge) -> list[Message]:
    """The messages without such sentences; one that says nothing else is left out."""
    session = sentences_of(messages)
    hidden = off_record(session, judge.read([sentence.text for sentence in session]))
    kept: list[Message] = []
    for message in messages:
        own = [place for place, sentence in enumerate(session) if sentence.message == message.id]
        gone = [session[place].text for place in own if place in hidden]
        if gone and (len(gone) == len(own) or not all(words in message.text for words in gone)):
            continue
        text = reduce(lambda text, words: text.replace(words, " "), gone, message.text)
        kept.append(replace(message, text=text) if gone else message)
    return kept


def _covered(place: int, session: Sequence[Sentence], judged: Sequence[Judged], owner_turns: Sequence[int]) -> set[int]:
    """The sentences that a wish for silence covers: its own turn, those that it means before and after it, and their answers."""
    turn, text = session[place].turn, judged[place].text
    number = owner_turns.index(turn)
    back, forward = reach(text)
    said = dict.fromkeys(owner_turns[:number], "")
    for sentence in session:
        if sentence.turn in said:
            said[sentence.turn] += sentence.text + "\n"
    meant = named(text, list(said.values()))
    if meant is not None:
        back = 0
    elif back == 1 and not means_what_was_said(text) and not points_back(text):
        others = (labels for at, labels in enumerate(judged) if session[at].turn == turn and at != place)
        if any(labels.best("act") not in ("social", "agree", "question", "offrecord") for labels in others):
            back = 0  # the rest of its message tells what is meant
    begin = owner_turns[max(number - back, 0)]
    later = owner_turns[number + 1 + forward :]
    end = later[0] if later else session[-1].turn + 1
    turns = set(range(begin, end))
    if meant is not None:
        turns.update(range(owner_turns[meant], owner_turns[meant + 1]))
    return {at for at, sentence in enumerate(session) if sentence.turn in turns}


def _weight(token: str) -> int:
    """How much a shared word gives away: a longer number is enough by itself, other words only with company."""
    if token.isdigit():
        return 2 if len(token) >= 3 else 1
    return int(token not in STOP_WORDS | STOP_HAN and len(token) >= (5 if token.isascii() else 2))
