"""What must be written nowhere: what the user asks not to keep, and everything that repeats it."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.brain.local.dialogue import Sentence
from nacre.brain.local.judge import Judged
from nacre.guard.silence import asks_for_silence, forbids_things, means_what_was_said, reach
from nacre.model.session import Speaker
from nacre.text.tokens import tokens

# By feeling alone, without the plain words: to cover a whole message with its answers, and to pass one sentence over.
CERTAIN, SURE = 0.7, 0.6
ENOUGH = 2  # how much of a hidden matter a sentence may not tell


def hidden(talk: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The sentences that must not be used.

    A remark that asks for silence covers its whole message; one that stands alone covers what the owner said just before. What
    the agent answers to it, and whatever repeats its telling words anywhere in the talk, goes too.
    """
    asked = [place for place, one in enumerate(talk) if one.speaker is Speaker.OWNER and _asks(judged[place])]
    found: set[int] = set()
    turns: set[int] = set()
    for place in asked:
        turns |= _scope(place, talk, judged)
    for place, one in enumerate(talk):
        if one.turn in turns:
            found.add(place)
    secret = _telling([talk[place].text for place in found if talk[place].speaker is Speaker.OWNER], talk, found)
    for place, one in enumerate(talk):
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
    return asks_for_silence(judged.text) or (chance > CERTAIN and not forbids_things(judged.text))


def _scope(place: int, talk: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The turns that a wish for silence covers: its own, those that it means before and after it, and their answers."""
    turn = talk[place].turn
    owner = sorted({one.turn for one in talk if one.speaker is Speaker.OWNER})
    mine = owner.index(turn)
    back, forward = reach(judged[place].text)
    if back == 1 and not means_what_was_said(judged[place].text) and not _only_asks(place, talk, judged):
        back = 0
    begin = owner[max(mine - back, 0)]
    end = owner[mine + 1 + forward] if mine + 1 + forward < len(owner) else 10**9
    return {one.turn for one in talk if begin <= one.turn < end}


def _only_asks(place: int, talk: Sequence[Sentence], judged: Sequence[Judged]) -> bool:
    """Whether the rest of its message tells nothing either."""
    others = [one for one, sentence in enumerate(talk) if sentence.turn == talk[place].turn and one != place]
    return all(judged[one].best("act") in ("social", "agree", "question", "offrecord") for one in others)


def _telling(texts: Sequence[str], talk: Sequence[Sentence], found: set[int]) -> set[str]:
    """Words of what was hidden that hardly occur in the rest of the talk: names, numbers, the matter itself."""
    elsewhere: dict[str, int] = {}
    for place, one in enumerate(talk):
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
