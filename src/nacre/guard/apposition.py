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

NAME = (
    r"(?:(?<![a-z])(?:(?P<password>pass ?(?:words?|phrases?|codes?|wd)|pw|pwd|logins?|passwort|kennwort|contraseña|mot de passe|credentials?)|(?P<number>pin|puk|(?:access|door|alarm|entry|unlock|gate|safe|security) code)"
    r"|(?P<token>tokens?|secrets?|(?:api|access|secret|license|private|wifi|wi-fi|wlan)[ -]keys?|keys?))(?![a-z])"
    r"(?:\s(?:for|of|to|on|at|in|für|vom|del?|du|para|pour)\s(?:[\w@.'’-]{1,30}\s){0,4}?[\w@.'’-]{1,30})?"
    r"|(?P<chinese_password>密码|密碼|口令|暗号|暗號)|(?P<chinese_number>PIN ?码|pin ?码|门禁码|開門碼|开门码|取件码|提取码)|(?P<chinese_token>密钥|秘钥|令牌|授权码|激活码))"
)
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
        if kind := _kind(match, value):
            yield Finding(kind, offset + start, offset + start + len(value))


def _kind(match: re.Match[str], value: str) -> str:
    """What it is, by its name, if it can be that; nothing otherwise."""
    sort = next(name for name, text in match.groupdict().items() if text).removeprefix("chinese_")
    if value.isdigit():
        year = pattern(r"^(?:19|20)\d\d$").match(value)
        return KINDS[sort] if sort != "token" and 4 <= len(value) <= 8 and not year else ""
    if sort == "token" and (only_a_token(value) or is_one_case(value)):
        return KINDS[sort]
    if "/" in value or pattern(PRODUCT).match(value) or is_slug(value) or is_named_so(value):
        return ""
    # "for Windows11, Office365, and Teams" counts up.
    if pattern(r",\s(?:and|or)\s").match(match.string, match.end()) and pattern(r"^[A-Za-z]+\d{1,3}$").match(value):
        return ""
    if not (only_a_password(value) and can_be_password(value, quoted=True)):
        return ""
    marked = pattern(r"[!#$%^*?&@+]").search(value) and pattern(r"\d").search(value)
    enough = marked if sort == "token" else classes(value) >= 3 or len(value) >= 8
    return KINDS[sort] if enough else ""
