"""A session as sentences: what surrounds each, what each is worth, and which must not be used because the user asked so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.brain.local import classifier
from nacre.brain.local.judge import Judged
from nacre.guard.privacy import asks_for_privacy, forbids_things, means_what_was_said, reach
from nacre.model.session import Message, Speaker
from nacre.text.quoting import own_words
from nacre.text.sentences import sentences
from nacre.text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


NEAR = 120  # sentences within which one may repeat another


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a session."""

    text: str
    speaker: Speaker
    turn: int  # which message
    place: int  # which sentence of it
    of: int  # how many it has
    message: str  # id
    to_owner: bool  # an agent's words: whether they answer the owner


def sentences_of(messages: Sequence[Message]) -> list[Sentence]:
    """Every sentence of the owner and the agent. Code, quotations and logs are data, not what somebody says."""
    found: list[Sentence] = []
    asked_by = Speaker.OWNER
    for turn, message in enumerate(messages):
        if message.speaker is not Speaker.AGENT:
            asked_by = message.speaker
        if message.speaker is Speaker.OTHER:
            continue
        texts = sentences(own_words(message.text, typed=message.speaker is Speaker.OWNER))
        for place, text in enumerate(texts):
            to_owner = asked_by is Speaker.OWNER
            found.append(Sentence(text, message.speaker, turn, place, len(texts), message.id, to_owner))
    return found


CONTEXT = (
    "owner",
    "first turn",
    "last turn",
    "place in message",
    "last of message",
    "alone in message",
    "answers a question",
    "assent follows",
    "refusal follows",
    "request before",
    "question before",
    "said before",
    "agent spoke last",
    "share of talk",
)


def context(session: Sequence[Sentence], judged: Sequence[Judged]) -> npt.NDArray[np.float32]:
    """What stands around each sentence, as numbers."""
    import numpy as np

    rows = np.zeros((len(session), len(CONTEXT)), np.float32)
    turns = sorted({one.turn for one in session})
    order = {turn: place for place, turn in enumerate(turns)}
    by_turn: dict[int, list[int]] = {}
    for place, one in enumerate(session):
        by_turn.setdefault(one.turn, []).append(place)
    asked = {turn: _most(places, judged, ("question",)) for turn, places in by_turn.items()}
    wanted = {turn: _most(places, judged, ("request", "instruct")) for turn, places in by_turn.items()}
    for place, one in enumerate(session):
        here = order[one.turn]
        before = by_turn[turns[here - 1]] if here else []
        after = by_turn[turns[here + 1]] if here + 1 < len(turns) else []
        asked_before, wanted_before = (asked[turns[here - 1]], wanted[turns[here - 1]]) if here else (0.0, 0.0)
        rows[place] = (
            one.speaker is Speaker.OWNER,
            here == 0,
            here == len(turns) - 1,
            one.place / max(one.of - 1, 1),
            one.place == one.of - 1,
            one.of == 1,
            asked_before if before and session[before[0]].speaker != one.speaker else 0.0,
            _first(after, judged, ("agree",)),
            _first(after, judged, ("correct",)),
            wanted_before,
            asked_before,
            _likeness(place, judged),
            bool(before) and session[before[0]].speaker is Speaker.AGENT,
            min(len(session), 40) / 40,
        )
    return rows


def _most(places: Sequence[int], judged: Sequence[Judged], acts: tuple[str, ...]) -> float:
    return max((sum(judged[place].chance("act", act) for act in acts) for place in places), default=0.0)


def _first(places: Sequence[int], judged: Sequence[Judged], acts: tuple[str, ...]) -> float:
    return _most(places[:1], judged, acts)


def _likeness(place: int, judged: Sequence[Judged]) -> float:
    """How near the sentence comes to one that was said not long before it."""
    mine = judged[place].vector
    if mine is None:
        return 0.0
    earlier = [
        one.vector
        for one in judged[max(0, place - NEAR) : place]
        if one.vector is not None and one.language == judged[place].language
    ]
    return max((float(mine @ other) for other in earlier), default=0.0)


# Whether a sentence of a session is worth a line in the day's log.

VECTOR_SCALE = 2.0


def inputs(judged: Judged, around: npt.NDArray[np.float32], center: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """One sentence as numbers: embedding, structure, the odds of every label, what stands around it, and 1."""
    import numpy as np

    odds = np.concatenate([np.log(np.clip(one, 1e-3, 1.0)) * 0.3 for one in judged.odds.values()])
    vector = np.zeros(0, np.float32) if judged.vector is None else (judged.vector - center) * VECTOR_SCALE
    # Whose words they are changes what everything else means, so the odds count once for each speaker.
    mine = odds * around[0]
    return np.concatenate([vector, judged.features, odds, mine, around, np.ones(1, np.float32)]).astype(np.float32)


def worth(session: Sequence[Sentence], judged: Sequence[Judged]) -> list[float]:
    """The chance of each sentence that a good minute-taker would have written it down."""
    import numpy as np

    around = context(session, judged)
    found: list[float] = []
    for place, one in enumerate(judged):
        weights = classifier.load(one.language, "bare" if one.vector is None else "full")
        assert weights.worth is not None
        score = float(inputs(one, around[place], weights.center) @ weights.worth)
        found.append(float(1 / (1 + np.exp(-score))))
    return found


# What must be written nowhere: what the user asks not to keep, and everything that repeats it.

# By feeling alone, without the plain words: to cover a whole message with its answers, and to pass one sentence over.
CERTAIN, SURE = 0.7, 0.6
ENOUGH = 2  # how much of a hidden matter a sentence may not tell


def off_record(session: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The sentences that must not be used.

    A remark that asks for silence covers its whole message; one that stands alone covers what the owner said just before. What
    the agent answers to it, and whatever repeats its telling words anywhere in the session, goes too.
    """
    asked = [place for place, one in enumerate(session) if one.speaker is Speaker.OWNER and _asks(judged[place])]
    found: set[int] = set()
    turns: set[int] = set()
    for place in asked:
        turns |= _scope(place, session, judged)
    for place, one in enumerate(session):
        if one.turn in turns:
            found.add(place)
    secret = _telling(
        [session[place].text for place in found if session[place].speaker is Speaker.OWNER], session, found
    )
    for place, one in enumerate(session):
        if place not in found and sum(map(_weight, secret & set(tokens(one.text)))) >= ENOUGH:
            found.add(place)
    private = {
        place
        for place, one in enumerate(judged)
        if one.chance("act", "offrecord") > SURE and not forbids_things(one.text)
    }
    return found | private


def _asks(judged: Judged) -> bool:
    chance = judged.chance("act", "offrecord")
    return asks_for_privacy(judged.text) or (chance > CERTAIN and not forbids_things(judged.text))


def _scope(place: int, session: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The turns that a wish for silence covers: its own, those that it means before and after it, and their answers."""
    turn = session[place].turn
    owner = sorted({one.turn for one in session if one.speaker is Speaker.OWNER})
    mine = owner.index(turn)
    back, forward = reach(judged[place].text)
    if back == 1 and not means_what_was_said(judged[place].text) and not _only_asks(place, session, judged):
        back = 0
    begin = owner[max(mine - back, 0)]
    end = owner[mine + 1 + forward] if mine + 1 + forward < len(owner) else 10**9
    return {one.turn for one in session if begin <= one.turn < end}


def _only_asks(place: int, session: Sequence[Sentence], judged: Sequence[Judged]) -> bool:
    """Whether the rest of its message tells nothing either."""
    others = [one for one, sentence in enumerate(session) if sentence.turn == session[place].turn and one != place]
    return all(judged[one].best("act") in ("social", "agree", "question", "offrecord") for one in others)


def _telling(texts: Sequence[str], session: Sequence[Sentence], found: set[int]) -> set[str]:
    """Words of what was hidden that hardly occur in the rest of the session: names, numbers, the matter itself."""
    elsewhere: dict[str, int] = {}
    for place, one in enumerate(session):
        if place not in found:
            for token in set(tokens(one.text)):
                elsewhere[token] = elsewhere.get(token, 0) + 1
    mine = {token for text in texts for token in tokens(text)}
    return {token for token in mine if _weight(token) and elsewhere.get(token, 0) <= 3}


def _weight(token: str) -> int:
    """How much a shared word gives away: a longer number is enough by itself, other words only with company."""
    if token.isdigit():
        return 2 if len(token) >= 3 else 1
    if token.isascii():
        return 1 if len(token) >= 5 else 0
    return 1 if len(token) >= 2 else 0
