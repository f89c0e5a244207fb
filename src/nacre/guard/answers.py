"""Secrets that an earlier sentence asks for or announces: "what is the password?" "it's …", "the key is" and the value after it."""

from __future__ import annotations

import re

from nacre.guard.apposition import CHINESE_NAME, KINDS, LATIN_NAME, sort_of, stands_out
from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.labels import CODES
from nacre.guard.values import DESCRIBING, NOT_A_SECRET, can_be_password, can_be_token, classes, is_identifier

NAME = rf"(?:{LATIN_NAME}|(?P<code>(?<![a-z])(?:{CODES}))(?![a-z])|{CHINESE_NAME}|(?P<chinese_code>验证码|校验码|动态码|驗證碼))"
_BEFORE, _REST, _AFTER = 120, 60, 240  # characters of the sentence before and after the name, and of the answer
_END = r"[.!?。！？\n]"
# "The password is", "the key:", "密码如下" at the end of a sentence or message.
_ANNOUNCES = r"[^.!?,;，；。！？\n]{0,40}?(?:\s(?:is|are|was|as follows|below)|是|为|如下|[:：=])[\s\"'`*]{0,4}$"
_ASKS = (
    r"\b(?:what(?:['’]?s| is| was| are)|which|send|give|tell|need|want|like|require|paste|share|provide|enter|type(?! of)|missing|don['’]?t have|do you (?:have|know|remember)|still know|get me|"
    r"could i (?:get|have)|can i (?:get|have)|remind|forgot|follows)\b"
    r"|发|给|查|找|告诉|需要|提供|输入|没有|忘了|知道|记得|多少|是什么|要一?下?"
)
# What follows the name where it is not the name of something else: no "password policy", no "key points".
_ITSELF = (
    r"\s*(?:$|[,;:：=\"'`*)…-]|(?:for|of|to|is|are|was|as|below|please|again|so|now|and|at|in|on|from|that|which|you|we|i|with|it|if|before|then|opens?|still|first|here|by|via|or|too|will|would|should|shall|do|does|did|can|could|needed)\b(?! your\b)"
    r"|(?!规则|策略|长度|框|管理|字段|重置|找回|过期|要不要)[^\x00-\x7f])"
)
_LEAD = (
    r"(?:\s|[-–—*>\"'`“「:,.!…，。：！]|(?:(?:sure|ok(?:ay)?|yes|yeah|yep|of course|fine|right|well|here(?: you go| it is| you are)?|there you go|good|try|use|uses|just|with|to|as|now|currently|still|"
    r"(?:it|that|this)(?:['’]?s| is| was| would be| should be)|this one|here['’]?s|here is|is|was|should be|set|i set it|we set it|i think|i (?:went|chose|took|picked)|the (?:pass\w+|key|token|code|pin|secret)|one|mine)(?![\w'’-]))"
    r"|好的?|嗯|哦|噢|对|行|可以|当然|就?是|这是|这个|给你?|发你|用|现在|目前|应该|我?记得|知道|试试|改成了?|设成了?|叫|的){0,8}"
)
_VALUE = r"(?P<value>[!-~À-ɏ]{4,100})"
_SEED = r"(?i)(?P<value>(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})(?![\w-])"
_SPACED = r"(?P<value>\d{3}[- ]\d{3})(?!\d)"
_ACKNOWLEDGES = frozenset("sorry later maybe thanks thank great sure nope dunno nothing hello please tomorrow today perfect coffee".split())  # fmt: skip


def awaits(text: str) -> bool:
    """Whether the end of a text asks for a secret or announces one that is still to come."""
    tail = text[-_BEFORE - _REST :].lower()
    return any(_announced(match, tail) is not None for match in pattern(NAME).finditer(tail))


def answers(text: str, lower: str, begin: int, end: int) -> Findings:
    """What the sentence after one between these places gives away."""
    reached = 0
    for match in pattern(NAME).finditer(lower, begin, end):
        place = _announced(match, lower)
        if place is None or place < reached:
            continue
        reached = place
        if found := _answer(text, place, _sort(match)):
            yield found


def _sort(match: re.Match[str]) -> str:
    return "number" if match["code"] or match["chinese_code"] else sort_of(match)


def _announced(match: re.Match[str], lower: str) -> int | None:
    """Where the answer begins if the name stands in a sentence that asks for it or announces it."""
    stop = pattern(_END).search(lower, match.end(), match.end() + _REST)
    place = stop.start() if stop else min(len(lower), match.end() + _REST)
    if not stop and place < len(lower):
        return None
    rest = lower[match.end() : place]
    if "[redacted" in rest or not pattern(_ITSELF).match(rest):  # the sentence told it itself
        return None
    head = lower[max(0, match.start() - _BEFORE) : match.start()]
    head = head[max(head.rfind(mark) for mark in ".!?。！？\n") + 1 :]
    asked = stop is not None and stop.group() in "?？"
    announced = pattern(_ANNOUNCES).match(rest)
    if announced or asked or pattern(_ASKS).search(head) or pattern(_ASKS).search(rest):
        return place
    return None


def _answer(text: str, place: int, sort: str) -> Finding | None:
    """The value that the next words are, or the only one among them that looks like one."""
    window = text[place : place + _AFTER].partition("\n\n")[0]
    first = pattern(r"[?？.。!！:：\s]*" + _LEAD, re.IGNORECASE).match(window)
    here = first.end() if first else 0
    for expression in (_SEED, _SPACED) if sort != "password" else ():
        if match := pattern(expression).match(window, here):
            return Finding(
                "one-time code" if expression is _SPACED else "one-time code seed",
                place + match.start("value"),
                place + match.end("value"),
            )
    value = pattern(_VALUE).match(window, here)
    if value:
        told = value["value"].rstrip(".,;:?!)\"'`*")
        if _is_told(told, sort, window[here + len(told) :]):
            return Finding(KINDS[sort], place + here, place + here + len(told))
    if marked := pattern(r"[:：]\s{0,2}[\"'`*“「]{0,2}" + _VALUE).search(window, 1):
        told = marked["value"].rstrip(".,;:?!)\"'`*")
        if (sort == "token" or not is_identifier(told)) and _is_told(told, sort, window[marked.end() :]):
            return Finding(KINDS[sort], place + marked.start("value"), place + marked.start("value") + len(told))
    for word in pattern(_VALUE).finditer(window, here):
        told = word["value"].strip("\"'`*(").rstrip(".,;:?!)")
        if not told.isdigit() and len(told) >= 8 and stands_out(sort, told) and classes(told) >= 3:
            at = window.index(told, word.start())
            return Finding(KINDS[sort], place + at, place + at + len(told))
    return None


def _is_told(value: str, sort: str, after: str) -> bool:
    """Whether a value that is the answer itself can be the secret."""
    if value.isdigit():
        return sort != "token" and 4 <= len(value) <= 10
    if sort == "token":
        alone = not after.strip(" .!\n") and len(value) >= 12 and value in (value.lower(), value.upper())
        letters = value.isalpha() and len(set(value)) > 8 and 3 * sum(c in "aeiouAEIOU" for c in value) < len(value)
        return (
            can_be_token(value)
            or (alone and letters)
            or bool(pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value))
        )
    if value.lower() in NOT_A_SECRET | _ACKNOWLEDGES or not can_be_password(value, quoted=True):
        return False
    if is_identifier(value):
        ends = pattern(r"[.!。\"'`*)]{0,3}\s*(?:$|[,，\n])").match(after)
        return (
            sort == "password"
            and bool(ends)
            and value.islower()
            and len(value) >= 5
            and not pattern(DESCRIBING).match(value)
        )
    # "I'll", "v2.4" and "2026-05-08" are answers too, and no passwords.
    return not pattern(r"^[A-Za-z]+['’][a-z]+$|^v?\d+(?:[.:/-]\d+)+\w*$").match(value)
