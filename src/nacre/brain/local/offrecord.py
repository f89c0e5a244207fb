"""What must be written nowhere: what the user asks not to keep, and everything that repeats it."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.brain.local.dialogue import Sentence
from nacre.brain.local.judge import Judged
from nacre.guard.silence import asks_for_silence, tells_nothing_else
from nacre.model.session import Speaker
from nacre.text.tokens import tokens

# The words are only half of it ("don't save the file yet"): the classifier has to agree, less strictly the plainer they are.
CERTAIN, SURE, LIKELY = 0.85, 0.6, 0.03
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
    private = {place for place, one in enumerate(judged) if one.chance("act", "offrecord") > SURE}
    return found | private


def _asks(judged: Judged) -> bool:
    chance = judged.chance("act", "offrecord")
    return chance > CERTAIN or (chance > LIKELY and asks_for_silence(judged.text))


def _scope(place: int, talk: Sequence[Sentence], judged: Sequence[Judged]) -> set[int]:
    """The turns that a wish for silence covers: its own, the one before when it says nothing itself, and their answers."""
    turn = talk[place].turn
    found = {turn}
    owner = [one.turn for one in talk if one.speaker is Speaker.OWNER]
    if _only_asks(place, talk, judged):
        found |= {max((one for one in owner if one < turn), default=turn)}
    following = min((one for one in owner if one > turn), default=10**9)
    return found | {one.turn for one in talk if one.speaker is Speaker.AGENT and min(found) < one.turn < following}


def _only_asks(place: int, talk: Sequence[Sentence], judged: Sequence[Judged]) -> bool:
    """Whether a message asks for silence and tells nothing itself, so that what came before it is meant."""
    turn = talk[place].turn
    others = [one for one, sentence in enumerate(talk) if sentence.turn == turn and one != place]
    if any(judged[one].best("act") not in ("social", "agree", "question", "offrecord") for one in others):
        return False
    return tells_nothing_else(judged[place].text)


def _telling(texts: Sequence[str], talk: Sequence[Sentence], found: set[int]) -> set[str]:
    """Words of what was hidden that hardly occur in the rest of the talk: names, numbers, the matter itself."""
    elsewhere: dict[str, int] = {}
    for place, one in enumerate(talk):
        if place not in found:
            for token in set(tokens(one.text)):
                elsewhere[token] = elsewhere.get(token, 0) + 1
    mine = {token for text in texts for token in tokens(text)}
    return {token for token in mine if _weight(token) and elsewhere.get(token, 0) <= 1}


def _weight(token: str) -> int:
    """How much a shared word gives away: a longer number is enough by itself, other words only with company."""
    if token.isdigit():
        return 2 if len(token) >= 3 else 1
    if token.isascii():
        return 1 if len(token) >= 5 else 0
    return 1 if len(token) >= 2 else 0
