"""Numbers that open accounts or name a person for good: cards, bank accounts, identity cards. Told by their check digits."""

from __future__ import annotations

import datetime as dt

from nacre.guard.finding import Finding, Findings, pattern

_CARD = r"(?<![\w.-])(?:\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{1,7}|3[47]\d{2}[ -]\d{6}[ -]\d{5})(?![\w-])"
_ANY_CARD = r"(?<![A-Za-z0-9_.-])\d(?:[ .-]{0,2}\d){12,18}(?![\w-])"  # in whatever groups
_CARD_WORDS = r"(?i)card|visa|mastercard|amex|credit|debit|kreditkarte|卡号|信用卡|银行卡|储蓄卡"
_CHECK = r"(?i)\b(?:cvv2?|cvc2?|cvn|安全码)\b\s{0,4}(?:is|[:：=是为])?\s{0,4}(\d{3,4})(?!\d)"
_ACCOUNT = r"(?<![\w-])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?!\w)"
_IDENTITY = r"(?<!\d)[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\w)"
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def numbers(text: str) -> Findings:
    """Card numbers with their check codes, international account numbers, Chinese identity numbers."""
    for match in pattern(_CARD).finditer(text):
        if _luhn(match[0]):
            yield Finding("card number", *match.span())
    if pattern(_CARD_WORDS).search(text):
        for match in pattern(_ANY_CARD).finditer(text):
            if _luhn(match[0]):
                yield Finding("card number", *match.span())
    for match in pattern(_CHECK).finditer(text):
        yield Finding("card code", *match.span(1))
    for match in pattern(_ACCOUNT).finditer(text):
        if _is_account(match[0]):
            yield Finding("bank account", *match.span())
    for match in pattern(_IDENTITY).finditer(text):
        if _is_identity(match[0]):
            yield Finding("identity number", *match.span())


def _luhn(number: str) -> bool:
    digits = [int(one) for one in number if one.isdigit()]
    if len(set(digits)) < 4 or not 13 <= len(digits) <= 19 or digits[0] not in (2, 3, 4, 5, 6):
        return False
    doubled = [sum(divmod(digit * 2, 10)) if place % 2 else digit for place, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _is_account(number: str) -> bool:
    plain = number.replace(" ", "")
    if not 15 <= len(plain) <= 34 or sum(one.isdigit() for one in plain) < 10:
        return False
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _is_identity(number: str) -> bool:
    try:
        dt.date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    rest = sum(int(digit) * weight for digit, weight in zip(number, _WEIGHTS, strict=False)) % 11
    return "10X98765432"[rest] == number[17].upper()
