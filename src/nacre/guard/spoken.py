"""Secrets as people say them: a word that announces one, the values in its reach, and the words that take a value for themselves."""

from __future__ import annotations

import re
from functools import cache

from nacre.guard import values
from nacre.guard.assignments import GROUPS, random_groups
from nacre.guard.values import Finding, Findings, apply_rules, pattern, rule_rows

# What stands before a value that is told: a verb, a sign, a preposition, a change of mind.
LINK = (
    r"(?:(?<![a-z])(?:is|are|was|be|its|says?|reads?|said|to|from|with|uses?|using|try|then|types?|enter|press|punch(?: in)?|hit|dial|key in|put in|wants?|takes?|needs?|now|still|again|no|not|sorry|wait|shows?|wrote|"
    r"actually|as|old|new|number|code|pin|and|plus|set|tell (?:her|him|them|\w+)|gave me|instead of|rather than|used to be|meant|or|either|itself)|['’]s|n[o°]\.|[:→,/(>|–—-]|是|为|：|按|输入?|拨到?|[转换改调]到|[改换变设调]成了?|[改设]为|[从填用叫，、（的答即给]|然后|现在|那半|那个|写着|旧|新|名字|拼音|生日|不是|而是|[一二三四五六]个|原来|以前|之前|或者?|还是|跟)"
    r"[\s\"'`*“「『‘]{0,4}$"
)
# Where nothing but the value itself can follow.
SURE = r"(?:(?<![a-z])(?:is|are|was|be|its|says?|shows?|reads?|now|from|with|old|new|instead of|rather than|used to be|meant|no,|sorry,?|wait,?|actually,?)|['’]s|[:：→=]|写着|写的是?|就用|用的是?|[新旧]的?|不对，|错了，|改[过了好]{1,2}，|名字|拼音|生日|原来|现在|以前|之前|是|为|[改换变设]成了?|改为|从|换到|输入?|按)[\s\"'`*“「『‘]{0,4}$"
CHANGED = r"(?:(?<![a-z])(?:no|not|sorry|wait|actually|now|new|use|to|was|and|then|than|instead of|meant|be|its?|is|says?|again)|['’]s|是|不对|现在|[改换]成|新的?|到|用|[:：，,/]|……)[\s\"'`*“「]{0,4}$"
MISTAKEN = r"\b(?:sorry|wait|actually|no,)|不对|记错|打错|等下"
LEAD = r"(?:\s|[-–—*>•\"'`“「:,，：(]|\d{1,2}[.)、]\s|(?:sure|ok(?:ay)?|yes|yeah|it['’]?s|it is|here(?: it is| you go)?|that['’]?s|was|old|new|now|try|use|i found|[一二三四五六七八九十\d]{1,2}位|答|好的?|是|就是|给你|用)(?![a-z])){0,8}"
LISTED = r"\s*(?:[-*•]|\d{1,2}[.)、])?\s?[^\W\d_][^\n\d:：]{0,24}?\s?[ :：→-]\s?"
ITEM = r"\s*(?:[-*•]|\d{1,2}[.)、])\s?[^\n]{1,40}[:：→/]\s?"
COUNTED = (  # after a number: units, and what is counted
    r"\s?(?:%|°|€|£|×|(?:[kcm]?m|k?g|[kmg]?b|ml|px|ms|s|h|x|k|bucks|dollars|euros?|pounds|people|times|min\w*|sec\w*|hours?|days?|weeks?|months?|years?|steps?|chars?|characters|digits?|lines?|files?|items?|users?|"
    r"tokens?|rows?|high|wide|tall|long|deep|pieces|met(?:er|re)s|feet|records?|requests?|points?|yen|usd|eur|am|pm|an? (?:year|month|week|day|night)|per)\b|\((?:example|e\.g)|[年月日号点分秒元块米克个人次度层楼天周条张页行岁台箱斤种件平毫公美乘瓦多倍])"
)
# Addresses, dates, times, versions, amounts, files; and what things are called.
ORDINARY = (
    r"(?i)^(?:https?:|www\.|[\w.+-]+@[\w-]+\.|v?\d+(?:[.,:/]\d+)+[a-z]{0,3}\d?$|\d{4}-\d\d?(?:-\d\d?)?(?:t|$)|[\d.]+(?:%|[a-z]{1,2})$|0x[0-9a-f]{1,10}$|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|net|org|cn|io|dev|local|example|internal)\b|"
    r"(?:[0-9a-f]{2}:){5}|\$|[~.]{0,2}/\w|[\w-]+\.(?:py|js|ts|md|txt|json|ya?ml|java|sql|png|jpg|pdf|zip|csv|log|ics|env|exe|docx?|xlsx?)$|\w+[.(]\w*\(|[\w.-]+:\d+(?:\.\d+)*$|(?-i:[EHF]\d{1,4})$)|[_-](?:password|token|secret|key)s?$|[={}<>\\]"
)
PRODUCT = (
    r"^[A-Z]{1,6}-?\d+[A-Za-z]{0,2}$|^(?:[A-Z][a-z]+)+\d{1,4}$|^(?:[A-Za-z]+|\d+)(?:[-_.](?:[A-Za-z]+|\d+[a-z]?))+$"
)
NUMBER = r"[#*]?\d{3,10}[#*]{0,2}|[#*]\d[\d*]{2,10}#?|(?:[a-z]\d?[ -])?\d(?:[ -]\d){2,7}|\d{1,2}(?:-\d{1,2}){2,3}|\d{3,4}[ -]\d{3,4}"
SHORT = r"[A-Z]{0,2}\d{3,8}[A-Z]{0,2}[#*]?|(?=.*\d)[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6})*|[A-Z]\d?-\d{3,8}|(?=.*\d)[a-z0-9]{4,6}(?:-[a-z0-9]{4,6})+|[A-Z]{6}|\d{1,4}(?:-\d{1,4}){1,3}|(?=.*\d)(?=.*[a-z])[a-z0-9]{4}"
AFTER = frozenset({"password", "login", "token"})
KINDS = {
    "password": "password",
    "login": "password",
    "code": "pin",
    "pin": "pin",
    "opens": "pin",
    "token": "key",
    "key": "key",
}
DIGIT = "zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|hash|pound|star"
SPACED = (
    r"(?<![a-z0-9_.,/'’-])(?<!\d:)(?:(?:[a-z]\d?[ -])?\d(?:[ -]\d){2,7}(?![\d-]|\s?\d)|\d{3,4}[ -]\d{3,4}(?![\d-]|\s\d)|[a-z](?:[ -][a-z0-9]){4,30}(?![\w-])|(?:\d{1,2}\s(?:left|right)[\s,]{0,3}){2,6}|(?:(?:left|right|clockwise)\s(?:to\s)?\d{1,2}[\s,]{0,3}(?:then\s)?){1,6}(?:left|right|clockwise)\s(?:to\s)?\d{1,2}"
    rf"|(?:(?:{DIGIT})[ ,-]{{1,2}}){{2,9}}(?:{DIGIT})\b)|[零〇一二三四五六七八九幺洞拐勾两]{{4,10}}(?![十百千万年月点个])"
)


@cache
def _words() -> re.Pattern[str]:
    """Every word that announces a value or takes it for itself, the ends of sentences, and whatever can be a value."""
    names = [f"(?P<{sort}{at}>{words})" for at, (sort, _, words) in enumerate(rule_rows("announces"))]
    end = r"(?P<end>(?<!\bno)[.!?](?=\s|$)|\.{3}|[。！？\n]|……)"
    value = r"(?P<value>(?<![a-z0-9@_/.-])(?!(?<=\d:)\d)(?=[^\s\"`“”「」，。；：！？、（）():]{0,60}[\d!#$%^*&+_.-])[a-z0-9#*$@!%^&+][^\s\"'`“”「」‘’，。；：:！？、（）(){}|…\u2e80-\uffff]{2,99})"
    return re.compile("|".join([r"(?P<mark>\[redacted[^\]\n]{0,40}\])", *names, end, f"(?P<spaced>{SPACED})", value]))


def told(text: str, lower: str) -> Findings:
    """The values that a word before them announces: in its sentence, at the start of the next, in a list under it, or corrected."""
    yield from apply_rules("said", text, _is_no_rule, lower)
    yield from apply_rules("passphrase", lower, _is_phrase)
    yield from apply_rules("words", lower, _is_plain_phrase)
    yield from apply_rules("certain password", text, _is_pass, ends=".,;")
    yield from apply_rules("pair of lines", text, _is_pair, ends=".,;")
    yield from apply_rules("said word", lower, _is_no_description)
    sort, place, start, age, taken, listed, ordinary = "", 0, 0, 0, False, False, 0
    plural, waiting = False, (0, 0)
    for match in _words().finditer(lower):
        what = (match.lastgroup or "").rstrip("0123456789")
        if what == "end":
            if lower[start : match.start()].strip():
                age += 1
                sort = sort if age < 2 else ""
                listed = match[0] == "\n" and (lower[match.start() - 1] in ":：" or (listed and taken))
            start = match.end()
        elif what == "ordinary":
            ordinary = match.end()
        elif what == "mark":
            taken, place = True, match.end()
        elif what not in {"value", "spaced"}:
            # "door code", "login password": the plainer name says what to expect.
            if (
                age
                or taken
                or sort not in {"password", "code", "pin", "token"}
                or what not in {"login", "opens", "key"}
            ):
                sort, taken = what, False
            place, age, plural = match.end(), 0, match[0].endswith("s")
            if what in AFTER and (late := _late(text, lower, waiting, match.start())):
                yield Finding(KINDS[what], *late)
                taken = True
        elif not sort:
            waiting = match.span() if match.lastgroup == "value" else waiting
        elif sort != "nothing":
            begin = match.start()
            value = text[begin : match.end()].rstrip(".,;:?!)/ ")
            end = begin + len(value)
            if pattern(r"\w\([\"']?$").search(lower, max(0, begin - 3), begin):
                continue  # code
            around = (lower[max(place, start, begin - 40) : begin], lower[end : end + 12])
            alone = bool(age) and not lower[start:begin].strip(" \t-*>•`\"'") and around[1][:1] in {"", "\n", "`"}
            item = pattern(LISTED if listed else ITEM).fullmatch(lower[max(start, begin - 80) : begin]) is not None
            # Several under one name: my pins are visa 4417 and debit 0932.
            alone = alone or (
                plural
                and value.isdigit()
                and bool(pattern(r"[:：,，/(-]\s?(?:[^\W\d]{1,12}\s){1,2}$").search(around[0]))
            )
            alone = alone or (listed and item and around[1][:1] in {"", "\n", ",", "，", "."})
            if (not age or item or _follows(lower[start:begin][-60:], taken=taken, more=plural or listed)) and (
                _tells(
                    sort, value, *around, spaced=what == "spaced", alone=alone, taken=taken, blocked=ordinary > place
                )
                or (
                    item
                    and taken
                    and _tells("login", value, *around, spaced=False, alone=False, taken=False, blocked=False)
                )
            ):
                yield Finding(KINDS[sort], begin, end)
                taken, place, age = True, end, 0


def _is_no_rule(value: str) -> bool:
    return values.is_real(value) and not pattern(
        r"(?i)at least|must|should|contain|need|[至最]少|必须|都要|要有|可以|什么|每|位|^星号|[的了吗呢]$|随机|自动|动态|统一|默认|生成|一样|相同|过期|错|正确|管理|设置|之前|刚才|[你他她]"
    ).search(value)


def _is_no_description(value: str) -> bool:
    return value not in values.NOT_A_SECRET and not pattern(
        values.DESCRIBING + "|.*(?:er|en|where|thing|one|body)$"
    ).match(value)


def _is_phrase(value: str) -> bool:
    words = pattern(r"[ -]").split(value)
    first = words[0] in values.NOT_A_SECRET and (len(words) < 4 or values.FUNCTION_WORDS.intersection(words))
    about = first or words[0] in {"ask", "see", "use", "check", "get"} or values.TELLING.intersection(words)
    return not about and not pattern(values.DESCRIBING).fullmatch(words[0])


def _is_plain_phrase(value: str) -> bool:
    return _is_phrase(value) and not values.NOT_A_SECRET.intersection(value.split())


def _is_pass(value: str) -> bool:
    return values.is_password(value) and values.classes(value) >= 3 and not pattern(r"^[A-Z][a-z]+\d+$").match(value)


def _is_pair(value: str) -> bool:
    return values.can_be_password(value, quoted=False) and not pattern(ORDINARY).search(value) and not value.isdigit()


def _late(text: str, lower: str, waiting: tuple[int, int], name: int) -> tuple[int, int] | None:
    """What was told before the word that says what it is: "try x for the password"."""
    begin, end = waiting
    value = text[begin:end].rstrip(".,;:?!)/ ")
    told = pattern(
        r"(?:\b(?:try|use|it['’]?s|either|or|is|was|say|with)|用|是|小写的|就)[\s\"'`“「]{1,3}$|[是用的就]$"
    ).search(lower, max(0, begin - 16), begin)
    rest = pattern(
        r"[\"'`”」]?(?:[,，]?\s?(?:or|and|或者?)\s?\S{4,30})?[,，]?\s?(?:for|is|as|that['’]?s|to|是|就是)?\s?(?:the|my|our|your|那个|我的)?\s?(?:[a-z]{1,12}\s){0,2}"
    )
    named = pattern(PRODUCT).match(value) or pattern(ORDINARY).search(value) or values.is_named_so(value)
    if not told or named or not rest.fullmatch(lower, begin + len(value), name) or not values.is_password(value):
        return None
    return begin, begin + len(value)


def _follows(head: str, *, taken: bool, more: bool) -> bool:
    """Whether what stands before a value leads to it from the sentence before: nothing, or that the other was wrong."""
    if (more or not taken) and pattern(LEAD).fullmatch(head):
        return True
    return bool(pattern(CHANGED).search(head) and (taken or pattern(MISTAKEN).search(head)))


def _tells(
    sort: str, value: str, before: str, after: str, *, spaced: bool, alone: bool, taken: bool, blocked: bool
) -> bool:
    """Whether a value in the reach of such a word can be nothing else."""
    random = values.is_random(value)
    if (
        not random
        and not spaced
        and (pattern(ORDINARY).search(value) or values.is_placeholder(value) or pattern(values.TERMS).match(value))
    ):
        return False
    near = not before.strip(" :：#\"'`“「")
    quoted = before[-1:] in set("\"'`“「‘")
    linked = near or alone or bool(pattern(LINK).search(before))
    sure = alone or (taken and linked) or pattern(SURE).search(before) or (near and not before) or (linked and quoted)
    if not linked and not random:
        return False
    if spaced or pattern(NUMBER).fullmatch(value):
        port = not near and pattern(r"[a-z\d]:$").search(before)
        if blocked or port or pattern(COUNTED).match(after) or sort in {"token", "key", "login"}:
            return False
        year = pattern(r"(?:19|20)\d\d").fullmatch(value) and not pattern(r"\s?to \d{3}").match(after)
        if sort == "opens" and near and before == " " and not set("#*- ") & set(value):
            return False  # "locker 4471" is its number
        return bool(sure if sort == "code" else not year or sure)
    named = (
        pattern(PRODUCT).match(value) or values.is_slug(value) or "/" in value or (sort == "login" and before == "/")
    )
    if sort in {"code", "pin", "opens"}:
        return not blocked and bool((sure or near or not named) and pattern(SHORT).fullmatch(value))
    if (random and sort != "password") or (pattern(GROUPS).match(value) and random_groups(value)):
        return not blocked
    if sort in {"token", "key"}:
        made = values.only_a_token(value) or values.is_one_case(value)
        told = (sure or (near and not named)) and values.can_be_token(value, least=8 if sort == "token" else 16)
        mixed = sort == "token" or len(pattern(r"\d+").findall(value)) >= 3
        return not blocked and bool(made or (told and mixed))
    if (sure and (sort == "password" or quoted)) or alone:
        word = values.is_identifier(value) and values.classes(value) < (2 if alone else 3)
        return values.can_be_password(value, quoted=False) and not word
    user = pattern(r"@[\w-]+\.[\w.-]+\W{1,3}(?:and )?(?:then )?$|\s[\w.-]{2,40}\s/\s$|1\d{10}\W{1,3}$").search(before)
    named = named or (values.is_named_so(value) and not sure)
    return bool((user and "/" not in value) or not named) and values.is_password(value, quoted=False)
