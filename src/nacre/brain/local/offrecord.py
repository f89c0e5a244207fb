"""What must be written nowhere: what the user asks not to keep, and everything that repeats it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nacre.brain.local.dialogue import Sentence
from nacre.brain.local.judge import Judged
from nacre.model.session import Speaker
from nacre.text.tokens import tokens

# The words are only half of it ("don't save the file yet"): the classifier has to agree, less strictly the plainer they are.
_PLAIN = re.compile(
    r"\boff[ -](?:the )?record\b|\bforget (?:i|that i|what i) (?:just )?(?:said|told|mentioned)\b|\b(?:between|just) (?:you and me|us|ourselves)\b"
    r"|(?:\bnot?\b|n['’]?t\b|\bnever\b|\bwithout\b)[^.!?]{0,25}\b(?:remember|memor\w+|(?:write|note|put|jot)[^.!?]{0,12}\bdown|on record"
    r"|(?:keep|save|store|log|note|record|remember|repeat)\w*[^.!?]{0,12}\b(?:this|that|it|any of (?:this|it)|a word|notes?|memory|anywhere))\b"
    r"(?!\s+(?:(?:yet|until|unless|before|first|as|under|to|on|with)\b|in (?:the|a|our|my) (?!notes?|log\b|memory|record)))"
    r"|\b(?:stays?|leave|keep|kept)\b[^.!?]{0,20}\b(?:out of (?:the |your |my |any )?(?:notes?|log|memory|record|files?)|to yourself|between us|in this room)\b"
    r"|\bnot for (?:the |your )?(?:notes?|log|memory|record)\b|\bstrike (?:that|this)\b|\bno (?:record|trace|notes?) of\b|\bnever heard (?:this|that|it)\b",
    re.IGNORECASE,
)
_NOT_CHINESE = r"(?:别|不要|不用|不必|勿|莫|甭|不许|不能|唔好|不准)"
_PLAIN_CHINESE = re.compile(
    rf"{_NOT_CHINESE}[^，。！？,!?]{{0,8}}?记(?![错账仇混恨名号分工得性者])"
    rf"|(?:这|那|刚才|上面|以上|下面|以下|此)[^，。！？,!?]{{0,10}}{_NOT_CHINESE}[^，。！？,!?]{{0,6}}?(?:存|保存|写|留|录)(?!到|在(?!记忆|任何|哪))"
    rf"|{_NOT_CHINESE}[^，。！？,!?]{{0,6}}?(?:存|保存|写进|写到|写入|留存|录入|留下?)(?:下来|起来|进)?(?:记忆|笔记|备忘|任何地方|哪里|档案|小本|本子|底\b|痕|档\b|$)"
    r"|(?:就?当(?:我)?没(?:说|讲|提))|你知我知|天知地知|仅限(?:我|咱|你)|不入档|别外传|不留(?:记录|痕)|阅后即焚|听过就(?:算|忘)|说完就忘|不落纸"
)
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
    pattern = _PLAIN_CHINESE if judged.language == "zh" else _PLAIN
    return chance > CERTAIN or (chance > LIKELY and pattern.search(judged.text) is not None)


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
    chinese = judged[place].language == "zh"
    rest = (_PLAIN_CHINESE if chinese else _PLAIN).sub("", judged[place].text)
    return sum(character.isalnum() for character in rest) < (8 if chinese else 24)


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
