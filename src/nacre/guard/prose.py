"""Secrets told in an English sentence: one-time codes, PINs, a login with its password, phrases of words."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, any_of, holds_any, pattern
from nacre.guard.languages import LATIN_CODE_HINTS, ends_clause, latin_codes
from nacre.guard.values import (
    DESCRIBING,
    FUNCTION_WORDS,
    NOT_A_SECRET,
    can_be_password,
    classes,
    is_made_up,
    is_named_so,
    is_placeholder,
    only_a_password,
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
    if digits and holds_any(lower, LATIN_CODE_HINTS):
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
