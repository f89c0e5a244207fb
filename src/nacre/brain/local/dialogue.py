"""A talk as a row of sentences, each with what stands around it: who says it, where, in answer to what, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nacre.brain.local.judge import Judged
from nacre.model.session import Message, Speaker
from nacre.text.quoting import own_words
from nacre.text.sentences import sentences

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

NEAR = 120  # sentences within which one may repeat another


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a talk."""

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


def context(talk: Sequence[Sentence], judged: Sequence[Judged]) -> npt.NDArray[np.float32]:
    """What stands around each sentence, as numbers."""
    import numpy as np

    rows = np.zeros((len(talk), len(CONTEXT)), np.float32)
    turns = sorted({one.turn for one in talk})
    order = {turn: place for place, turn in enumerate(turns)}
    by_turn: dict[int, list[int]] = {}
    for place, one in enumerate(talk):
        by_turn.setdefault(one.turn, []).append(place)
    asked = {turn: _most(places, judged, ("question",)) for turn, places in by_turn.items()}
    wanted = {turn: _most(places, judged, ("request", "instruct")) for turn, places in by_turn.items()}
    for place, one in enumerate(talk):
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
            asked_before if before and talk[before[0]].speaker != one.speaker else 0.0,
            _first(after, judged, ("agree",)),
            _first(after, judged, ("correct",)),
            wanted_before,
            asked_before,
            _likeness(place, judged),
            bool(before) and talk[before[0]].speaker is Speaker.AGENT,
            min(len(talk), 40) / 40,
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
