"""Asking not to be remembered: the plain words for it, and which messages of a talk they cover."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nacre.model.session import Message, Speaker
from nacre.text.language import language_of

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
    r"|(?:就?当(?:我)?没(?:说|讲|提))|你知我知|(?:咱|你)(?:俩|们|我)?(?:两个)?知道就(?:行|好|可以)|天知地知|仅限(?:我|咱|你)|不入档|别外传|不留(?:记录|痕)|阅后即焚|听过就(?:算|忘)|说完就忘|不落纸"
)


def asks_for_silence(text: str) -> bool:
    """Whether a text has the plain words for it. By words alone: "don't save it yet" is told apart, not everything is."""
    return (_PLAIN_CHINESE if language_of(text) == "zh" else _PLAIN).search(text) is not None


def tells_nothing_else(text: str) -> bool:
    """Whether a text that asks for silence says nothing besides, so that what came before it is meant."""
    chinese = language_of(text) == "zh"
    rest = (_PLAIN_CHINESE if chinese else _PLAIN).sub("", text)
    return sum(character.isalnum() for character in rest) < (8 if chinese else 14)


def kept(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that are not to be kept: the one that asks, the one that it is about, and the answers to them.

    By the plain words alone, for where whole messages are kept and nothing judges their sentences.
    """
    silent: set[int] = set()
    for place, message in enumerate(messages):
        if message.speaker is not Speaker.OWNER or not asks_for_silence(message.text):
            continue
        begin = place
        if tells_nothing_else(message.text):
            owners = (other for other in range(place - 1, -1, -1) if messages[other].speaker is Speaker.OWNER)
            begin = next(owners, place)
        end = place + 1
        while end < len(messages) and messages[end].speaker is not Speaker.OWNER:
            end += 1
        silent.update(range(begin, end))
    return [message for place, message in enumerate(messages) if place not in silent]
