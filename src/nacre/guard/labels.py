"""Labels: what the header of a column, the name of a field or a line that ends with a colon announces."""

from __future__ import annotations

from dataclasses import dataclass

from nacre.guard.assignments import accepts, kind_of, random_groups
from nacre.guard.finding import pattern
from nacre.guard.languages import KOREAN_NAME, SCRIPT_NAME
from nacre.guard.names import NAME, TAIL, Promise, promise, tail_allows
from nacre.guard.values import can_be_password, only_a_password, only_a_token

CODES = r"(?:one[- ]time|verification|security|recovery|backup|2fa|mfa|login|sign-in|confirmation)\s(?:pass)?codes?|otp"


@dataclass(frozen=True)
class Label:
    """A name that announces a secret, the kind of it, and where the name stands in its text."""

    kind: str
    strength: Promise
    core: str
    start: int
    end: int


def label(text: str) -> Label | None:
    """The last name of a secret in the text; none when it speaks of something else."""
    found = None
    lower = text.lower() if len(text.lower()) == len(text) else text
    for match in pattern(NAME).finditer(lower):
        core = text[match.start() : match.end()]
        tail = pattern(TAIL).match(text, match.end())
        extra = tail.group().rstrip("-_") if tail else ""
        if tail_allows(core, extra) and (strength := promise(match, text)) is not None:
            found = Label(kind_of(core, strength), strength, core, match.start(), match.end() + len(extra))
    for match in pattern(CODES).finditer(lower):
        found = Label("one-time code", Promise.TOKEN, match.group(), *match.span())
    if not text.isascii():
        for match in pattern(KOREAN_NAME).finditer(text):
            found = Label("password", Promise.FOREIGN, match.group(), *match.span())
        for match in pattern(SCRIPT_NAME).finditer(text):
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            strength = Promise.TOKEN if match["token"] else Promise.FOREIGN
            found = Label(kind, strength, match.group(), *match.span())
    return found


def fits(one: Label, value: str) -> bool:
    """Whether a value that stands apart from its label can be nothing but the secret."""
    if one.kind == "one-time code":
        return bool(
            pattern(r"^(?:\d{4,8}|\d{3}[- ]\d{3}|(?=.*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3})$").match(value.lower())
        )
    if one.strength is Promise.KEY:
        return accepts(value, one.core, one.strength, quoted=True)
    if one.strength is Promise.TOKEN:
        return only_a_token(value) or bool(
            pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value) and random_groups(value)
        )
    return only_a_password(value) and not pattern(r"^[\w-]+[:=]").match(value) and can_be_password(value, quoted=True)
