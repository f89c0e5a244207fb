"""Secrets told in sentences: codes and PINs, logins, in passing, and as the answer to a question."""

from __future__ import annotations

import re

from nacre.guard.finding import Finding, Findings, any_of, pattern
from nacre.guard.labels import CODE_LABELS
from nacre.guard.names import LATIN_CODE_HINTS, ends_clause, latin_codes
from nacre.guard.values import (
    DESCRIBING,
    FUNCTION_WORDS,
    NOT_A_SECRET,
    can_be_password,
    can_be_token,
    classes,
    is_identifier,
    is_made_up,
    is_named_so,
    is_one_case,
    is_placeholder,
    is_slug,
    only_a_password,
    only_a_token,
)

DIGITS = r"(\d{3}[- ]\d{3}|\d{4,10})"
CODE_NAME = (
    r"\b(?:(?:verification|security|confirmation|one[- ]?time|login|log[- ]in|sign[- ]in|auth(?:entication|orization)?|2fa|mfa|otp|sms|two[- ]factor|"
    r"recovery|backup|access|unlock|door|gate|alarm|safe|activation|your|the sms)\s(?:pass)?(?:code|pin|number)|otp|passcode)"
    r"(?:\s(?:for|to)\s(?:[\w.-]{1,20}\s){0,2}?[\w.-]{1,20})?\s{0,2}(?:is|was|:|=)?\s{0,2}(?:now |still )?[\"'`*]{0,2}(?:[a-z]-)?"
    + DIGITS
    + r"(?![\d.]\d|\s?(?:times|people|users|chars|tokens|lines|files|bytes|ms|px|%|\(example))\b"
)
# A code without its name is one if the sentence says how long it lives, or if it is written as such codes are.
CODE_ALONE = (
    r"\bcode\s?[:=]?\s{0,2}[\"'`*]{0,2}(\d{3}[- ]\d{3}|\d{6})\b(?=\D{1,40}\b(?:expire|valid|minutes))"
    r"|\byour (?!zip|postal|post|area|country|promo|discount|coupon|referral|source|product|dial|error|status|exit)[\w-]{1,20} code is:?\s(\d{4,8})(?![\d.]\d|\s[a-z]+ ?long)\b"
    r"|\b[a-z]+ code:?\s(\d{3}-\d{3})\b|(?<=[a-z] )code(?: is)?:\s?(\d{3}[- ]\d{3}|\d{6})(?![\d.]\d)\b|^\W*code:?\s(\d{6})\W*$"
)
CODE_FIRST = r"(?<![\w.-])(?:use\s+)?(?:[a-z]-)?(\d{3}[- ]\d{3}|\d{4,8})\s(?:is|as)\s(?:your|the|my)\s(?:[\w-]{1,20}\s){0,4}?(?:code|otp|pin|passcode|password)\b"
CODE_USED = r"\b(?:use|enter|type)\s(?:code\s)?(\d{3}[- ]\d{3}|\d{4,8})\s(?:to|when)\s(?:verify|log(?:ging)? in|sign(?:ing)? in|confirm|complete|unlock|continue)"
CODE_MIXED = r"\b(?:backup|recovery|2fa|one[- ]time) codes?\s?(?:is|are|:|=)?\s{0,2}[\"'`*]{0,2}((?=[a-z0-9-]*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3})\b"
PIN = r"\b(?:pin|puk)(?:\s?code|\snumber)?(?:\s(?:for|of|to)\s(?:[\w'-]{1,20}\s){0,3}?[\w'-]{1,20})?\s{0,2}(?:is|was|lautet|ist|est|es|é|è|:|=|\s)\s{0,2}[\"'`*]{0,2}(\d{4,8})\b(?!\.\d|,\d{3})"
OF_AN_APP = r"\bapp(?:-specific| specific)? passwords?(?:\s(?:is|for \w{1,20}))?\s?[:=]?\s{0,2}[\"'`*]{0,2}((?:[a-z]{4}[ -]){3}[a-z]{4})\b"
ENCRYPTED_WITH = r"\b(?:encrypted|protected|locked|unlocks?|opens?|unlocked|opened|decrypt(?:s|ed)?) (?:with|using|by)\s(?:the\s)?[\"'`]?(?P<value>[^\s\"'`]{5,60})"
COMBINATION = r"\b(?:combination|combo|safe|locker|lockbox|padlock|vault)\b(?:\s[\w'-]{1,20}){0,3}?\s?(?:is|:|=|opens with)\s{0,2}[\"'`*]{0,2}(\d{1,2}(?:[- ]\d{1,2}){2,4})\b"
AUTHENTICATOR = r"(?i:\b2fa|\btotp|\bmfa|\bsetup key|\bauthenticator|\botp\b|两步验证|二次验证|双重验证|验证器|动态口令)[^\n]{0,40}?(?<![\w-])((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}|[A-Z2-7]{16,64}|[a-z2-7]{16,64})(?![\w-])"
CODES: tuple[tuple[str, str], ...] = (
    ("one-time code", CODE_NAME),
    ("one-time code", CODE_ALONE),
    ("one-time code", CODE_FIRST),
    ("one-time code", CODE_USED),
    ("one-time code", CODE_MIXED),
    ("pin", PIN),
    ("password", COMBINATION),
    ("password", OF_AN_APP),
)
USED = tuple(f"{verb} {digit}" for verb in ("use", "enter", "type") for digit in "0123456789")
CODE_HINTS = ("code", "otp", "pin", "verify", "puk", "safe", "locker", "combination", "2fa", *USED)

LOGIN = (
    r"\b(?:log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?[ -]?in|ssh(?:ed)?(?: in)?(?!-)|connect|credentials?|creds|account|admin access|default login|authenticate|zugangsdaten|identifiants|credenciales|"
    r"user(?:name)?\s?/\s?pass(?:word)?|id\s?/\s?(?:pw|pass(?:word)?))\b"
    r"\s{0,2}(?:is|are|:|=|-)?\s{0,2}(?:with|as|using|via|by)?\s{0,2}(?:the\s)?(?:credentials?\s|creds\s|user\s|account\s)?[\"'`*(]{0,2}"
    r"(?P<user>[\w.@+-]{2,60})[\"'`*]{0,2}(?P<between>\s?[/|]\s?|\s?:\s?|\s(?:and|with)\s(?:the\s)?(?:password|pass|pw|pwd)\s|\s(?:and|with|using)\s|\s)[\"'`*]{0,2}(?P<value>[^\s\"'`*,;]{3,100})"
)
# The other way round: "admin / x to log in".
PAIR = r"(?:\b(?:root|admin|administrator|user|test|guest|sa|pi|operator|support)|@[\w-]{1,40}\.\w{2,6})(?P<between>\s?[/:]\s?)(?P<value>[^\s\"'`*,;/]{5,60})(?=[\s.,;)]|$)"
USERS = frozenset(
    "root admin administrator user test postgres sa guest ubuntu pi oracle mysql demo operator sysadmin ec2-user debian centos service support manager tomcat jenkins".split()
)
FROM_TO = r"\b(?:password|passphrase|pw|pwd|passcode)\b[^\n]{0,30}?\sfrom\s[\"'`]?\S{4,100}\sto\s[\"'`]?(?P<value>[^\s\"'`]{4,100})"
NAMED_AFTER = r"(?<!\S)[\"'`(]?(?P<value>[^\s\"'`()]{4,100})[\"'`]?\s(?:(?:(?:is|as)\s(?:the|my|your|our|his|her|a)|as)\s(?:[\w-]{1,20}\s){0,3}?(?:password|passphrase|passcode|pwd)\b|\((?:the )?(?:password|pw|pwd)\))"
WORDS = r"\bpass ?phrase\b[^\n:=]{0,30}?\s{0,2}(?:is|:|=)\s{0,3}[\"'`]?((?:[a-z0-9]{2,12}[ -]){3,9}[a-z0-9]{2,12})[\"'`.]{0,2}\s*$"
SEED = r"(?:\b(?:seed|recovery|mnemonic|backup|wallet)\s?(?:phrase|words|seed|mnemonic)?|助记词|助記詞)\s{0,2}(?:is|are|:|=|是|为)\s{0,2}[\"'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
ANSWER = r"\b(?:answer to (?:my|the|your|our) (?:security|secret) question|security answer)\b[^\n:=]{0,30}?\s?(?:is|:|=)\s{0,2}[\"'`]?(?P<value>[^\s\"'`]{4,60})"


def english(line: str, lower: str, offset: int) -> Findings:
    """What a sentence gives away; expressions run over the lower-cased line, values are taken from the line itself."""
    digits = pattern(r"\d").search(line) is not None
    if (digits and any_of(CODE_HINTS).search(lower)) or "app" in lower:
        yield from _codes(lower, offset)
    for match in pattern(AUTHENTICATOR).finditer(line):
        if pattern("[2-7]").search(match[1]) and not is_made_up(match[1]):
            yield Finding("one-time code seed", offset + match.start(1), offset + match.end(1))
    if digits and any_of(LATIN_CODE_HINTS).search(lower):
        yield from latin_codes(lower, offset)
    if "/" in line or ":" in line or "|" in line or " password " in lower or digits:
        yield from _logins(line, lower, offset)
    if digits and ("pass" in lower or "pw" in lower or "answer" in lower):
        yield from _passwords(line, lower, offset, (FROM_TO, NAMED_AFTER, ANSWER))
    if digits and ("crypt" in lower or "protect" in lower or "lock" in lower or "open" in lower):
        yield from _passwords(line, lower, offset, (ENCRYPTED_WITH,), least=3)
    if "phrase" in lower:
        yield from _passphrase(lower, offset)
    if "seed" in lower or "recovery" in lower or "mnemonic" in lower or "wallet" in lower or "助" in line:
        for match in pattern(SEED).finditer(lower):
            yield Finding("seed phrase", offset + match.start(1), offset + match.end(1))


def _codes(lower: str, offset: int) -> Findings:
    for kind, expression in CODES:
        for match in pattern(expression).finditer(lower):
            group = match.lastindex or 1
            if not _ordinary_code(lower, match.start()):
                yield Finding(kind, offset + match.start(group), offset + match.end(group))


def _ordinary_code(line: str, start: int) -> bool:
    """A status, error or postal code is no secret."""
    return bool(
        pattern(
            r"(?i)(?:status|error|exit|zip|postal|post|area|country|currency|response|return|http|source|promo|product|discount|gpio|project|order|item|sku|stock|tariff|customs|bank|sort|branch|cost|coupon|voucher|referral|color|colour|course|tax|"
            r"dial|part|batch|customer|vendor|store|ticket|invoice|bar|qr|region|airport|department|category|reason|event)\s?$"
        ).search(line[max(0, start - 20) : start])
    )


def _passwords(line: str, lower: str, offset: int, expressions: tuple[str, ...], *, least: int = 2) -> Findings:
    for expression in expressions:
        for match in pattern(expression).finditer(lower):
            value = line[match.start("value") : match.end("value")].rstrip(".,;:?)")
            if only_a_password(value) and can_be_password(value, quoted=False) and classes(value) >= least:
                yield Finding("password", offset + match.start("value"), offset + match.start("value") + len(value))


def _passphrase(lower: str, offset: int) -> Findings:
    """Four words or more that no sentence would put in a row."""
    if match := pattern(WORDS).search(lower):
        words = pattern(r"[ -]").split(match[1])
        if not FUNCTION_WORDS.intersection(words) and not any(pattern(DESCRIBING).match(word) for word in words[:1]):
            yield Finding("passphrase", offset + match.start(1), offset + match.end(1))


def _logins(line: str, lower: str, offset: int) -> Findings:
    for match in pattern(LOGIN).finditer(lower):
        value = line[match.start("value") : match.end("value")].rstrip(".,;:?!)")
        end = match.start("value") + len(value)
        loose = match["between"].strip() in {"", "and", "with", "using"}
        told = (
            _is_plainly(value) and match["user"] not in NOT_A_SECRET
            if loose
            else _is_login(match["user"], value, line, end)
        )
        if told and not is_placeholder(value):
            yield Finding("password", offset + match.start("value"), offset + end)
    told = "log" in lower or "cred" in lower or "account" in lower or "sign" in lower
    for match in pattern(PAIR).finditer(lower) if "/" in line or ":" in line else ():
        value = line[match.start("value") : match.end("value")].rstrip(".,;:?!)")
        plain = told or (match["between"] == " / " and classes(value) >= 3 and not is_named_so(value))
        if plain and only_a_password(value) and not is_placeholder(value) and "@" not in value:
            yield Finding("password", offset + match.start("value"), offset + match.start("value") + len(value))


def _is_plainly(value: str) -> bool:
    return (
        only_a_password(value)
        and classes(value) >= 3
        and len(value) <= 40
        and "/" not in value
        and not is_named_so(value)
    )


def _is_login(user: str, value: str, line: str, end: int) -> bool:
    if user in NOT_A_SECRET - {"user"} or value.startswith(("/", "(")) or len(value) < 3:
        return False
    known = (
        user in USERS
        and (not value.isalpha() or ends_clause(line, end))
        and not value.lower().startswith(("http", "user", "admin/"))
    )
    if value.isdigit() and not known:
        return False
    if known and value.lower() not in NOT_A_SECRET | USERS - {"admin"}:
        return True
    return classes(value) >= 3 and len(value) >= 6 and "/" not in value and "@" not in value


# Secrets told in passing, between commas, brackets or dashes: "the password for the printer, x, changes on Monday".

LATIN_NAME = (
    r"(?:(?<![a-z])(?:(?P<password>pass ?(?:words?|phrases?|codes?|wd)|pw|pwd|logins?|passwort|kennwort|contraseña|mot de passe|credentials?)|(?P<number>pin|puk|(?:access|door|alarm|entry|unlock|gate|safe|security) code)"
    r"|(?P<token>tokens?|secrets?|(?:api|access|secret|license|private|wifi|wi-fi|wlan)[ -]keys?|keys?))(?![a-z]))"
)
CHINESE_NAME = r"(?:(?P<chinese_password>密码|密碼|口令|暗号|暗號)|(?P<chinese_number>PIN ?码|pin ?码|门禁码|開門碼|开门码|取件码|提取码)|(?P<chinese_token>密钥|秘钥|令牌|授权码|激活码))"
FOR_WHOM = r"(?:\s(?:for|of|to|on|at|in|für|vom|del?|du|para|pour)\s(?:[\w@.'’-]{1,30}\s){0,4}?[\w@.'’-]{1,30})?"
APPOSED_NAME = rf"(?:{LATIN_NAME}{FOR_WHOM}|{CHINESE_NAME})"
BETWEEN = r"(?:\s?[,，]\s{0,2}|\s?[(（]\s?|\s?[-–—]{1,2}\s|\s?——\s?)(?:(?:now|currently|still|namely|i\.e\.|that is|which is|which was|at present)\s|(?:现在是|目前是|就是|即|也就是|暂时是)\s?)?"
APPOSED_VALUE = r"[\"'`“「]?(?P<value>(?:[^\s\"'`“”「」,，。；;、（）()\u4e00-\u9fff]|,(?=[^\s,])){4,60})[\"'`”」]?(?=\s?[,，。；;、)）—–]|\s-\s|\s*$)"
# HP4200, RTX3090Ti; FritzBox7590; MacBook-Pro-14, srv-db-01: what the secret is for, named once more.
PRODUCT = (
    r"^[A-Z]{1,6}-?\d+[A-Za-z]{0,2}$|^(?:[A-Z][a-z]+){2,}\d{1,4}$|^(?:[A-Za-z]+|\d+)(?:[-_.](?:[A-Za-z]+|\d+[a-z]?))+$"
)
KINDS = {"password": "password", "number": "pin", "token": "token"}


def apposition(line: str, lower: str, offset: int) -> Findings:
    """Values that follow a name and for whom it is, set apart from the rest of the sentence."""
    if not pattern("[,，(（–—-]").search(line):
        return
    for match in pattern(APPOSED_NAME + BETWEEN + APPOSED_VALUE).finditer(lower):
        start = match.start("value")
        value = line[start : match.end("value")].rstrip(".:?")
        # "for Windows11, Office365, and Teams" counts up.
        counts = pattern(r",\s(?:and|or)\s").match(lower, match.end()) and pattern(r"^[A-Za-z]+\d{1,3}$").match(value)
        if not counts and stands_out(sort_of(match), value):
            yield Finding(KINDS[sort_of(match)], offset + start, offset + start + len(value))


def sort_of(match: re.Match[str]) -> str:
    """Password, number or token: which name of a secret was found."""
    return next(name for name, text in match.groupdict().items() if text).removeprefix("chinese_")


def stands_out(sort: str, value: str) -> bool:
    """Whether a value among other words can be nothing but a secret of this sort."""
    if value.isdigit():
        return sort != "token" and 4 <= len(value) <= 8 and not pattern(r"^(?:19|20)\d\d$").match(value)
    if sort == "token" and (only_a_token(value) or is_one_case(value)):
        return True
    if "/" in value or pattern(PRODUCT).match(value) or is_slug(value) or is_named_so(value):
        return False
    if not (only_a_password(value) and can_be_password(value, quoted=True)):
        return False
    if sort == "token":
        return bool(pattern(r"[!#$%^*?&@+]").search(value) and pattern(r"\d").search(value))
    return classes(value) >= 3 or len(value) >= 8


# Secrets that an earlier sentence asks for or announces: "what is the password?" "it's …", "the key is" and the value
# after it.

ASKED_NAME = rf"(?:{LATIN_NAME}|(?P<code>(?<![a-z])(?:{CODE_LABELS}))(?![a-z])|{CHINESE_NAME}|(?P<chinese_code>验证码|校验码|动态码|驗證碼))"
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
    return any(_announced(match, tail) is not None for match in pattern(ASKED_NAME).finditer(tail))


def answers(text: str, lower: str, begin: int, end: int) -> Findings:
    """What the sentence after one between these places gives away."""
    reached = 0
    for match in pattern(ASKED_NAME).finditer(lower, begin, end):
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
