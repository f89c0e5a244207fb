"""Secrets told in passing, between commas, brackets or dashes: "the password for the printer, x, changes on Monday"."""

from __future__ import annotations

import re

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import (
    can_be_password,
    classes,
    is_named_so,
    is_one_case,
    is_slug,
    only_a_password,
    only_a_token,
)

LATIN_NAME = (
    r"(?:(?<![a-z])(?:(?P<password>pass ?(?:words?|phrases?|codes?|wd)|pw|pwd|logins?|passwort|kennwort|contraseña|mot de passe|credentials?)|(?P<number>pin|puk|(?:access|door|alarm|entry|unlock|gate|safe|security) code)"
    r"|(?P<token>tokens?|secrets?|(?:api|access|secret|license|private|wifi|wi-fi|wlan)[ -]keys?|keys?))(?![a-z]))"
)
CHINESE_NAME = r"(?:(?P<chinese_password>密码|密碼|口令|暗号|暗號)|(?P<chinese_number>PIN ?码|pin ?码|门禁码|開門碼|开门码|取件码|提取码)|(?P<chinese_token>密钥|秘钥|令牌|授权码|激活码))"
FOR_WHOM = r"(?:\s(?:for|of|to|on|at|in|für|vom|del?|du|para|pour)\s(?:[\w@.'’-]{1,30}\s){0,4}?[\w@.'’-]{1,30})?"
NAME = rf"(?:{LATIN_NAME}{FOR_WHOM}|{CHINESE_NAME})"
BETWEEN = r"(?:\s?[,，]\s{0,2}|\s?[(（]\s?|\s?[-–—]{1,2}\s|\s?——\s?)(?:(?:now|currently|still|namely|i\.e\.|that is|which is|which was|at present)\s|(?:现在是|目前是|就是|即|也就是|暂时是)\s?)?"
VALUE = r"[\"'`“「]?(?P<value>(?:[^\s\"'`“”「」,，。；;、（）()\u4e00-\u9fff]|,(?=[^\s,])){4,60})[\"'`”」]?(?=\s?[,，。；;、)）—–]|\s-\s|\s*$)"
# HP4200, RTX3090Ti; FritzBox7590; MacBook-Pro-14, srv-db-01: what the secret is for, named once more.
PRODUCT = (
    r"^[A-Z]{1,6}-?\d+[A-Za-z]{0,2}$|^(?:[A-Z][a-z]+){2,}\d{1,4}$|^(?:[A-Za-z]+|\d+)(?:[-_.](?:[A-Za-z]+|\d+[a-z]?))+$"
)
KINDS = {"password": "password", "number": "pin", "token": "token"}


def apposition(line: str, lower: str, offset: int) -> Findings:
    """Values that follow a name and for whom it is, set apart from the rest of the sentence."""
    if not pattern("[,，(（–—-]").search(line):
        return
    for match in pattern(NAME + BETWEEN + VALUE).finditer(lower):
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
