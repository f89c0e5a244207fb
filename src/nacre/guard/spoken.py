"""Secrets as people say them: a word that announces one, the values in its reach, and the words that take a value for themselves."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from nacre.guard import values
from nacre.guard.assignments import GROUPS, random_groups
from nacre.guard.values import Finding, Findings, apply_rules, pattern, rule_rows

KINDS = {"password": "password", "login": "password", "code": "pin", "pin": "pin", "opens": "pin", "token": "token", "key": "key"}  # fmt: skip
REACH = 80  # characters between a word and the value that it announces
PLAINER = frozenset({"password", "code", "pin", "token"})  # names that say what to expect, beside "door" or "login"


@cache
def _is(name: str) -> re.Pattern[str]:
    """What stands before, after and in a value, by its name in the table."""
    return re.compile(next(expression for kind, _, expression in rule_rows("spoken") if kind == name))


@cache
def _words() -> re.Pattern[str]:
    """Every word that announces a value or takes it for itself, the ends of sentences, and whatever can be a value."""
    names = [f"(?P<{sort}{at}>{words})" for at, (sort, _, words) in enumerate(rule_rows("announces"))]
    rest = [_is(name).pattern for name in ("end", "spaced", "value")]
    return re.compile("|".join([r"(?P<mark>\[redacted[^\]\n]{0,40}\])", *names, *rest]))


class Place(NamedTuple):
    """Where a value stands: the words before and after it, alone on its line or in a list, after another one, after an ordinary name."""

    before: str
    after: str
    spaced: bool
    alone: bool
    taken: bool
    blocked: bool


def announced_values(text: str, lower: str) -> Findings:
    """The values that a word announces: in its sentence, at the start of the next, in a list under it, corrected, or before it."""
    yield from apply_rules("said", text, _is_no_rule, lower)
    yield from apply_rules("said word", lower, _is_no_description)
    yield from apply_rules("passphrase", lower, _is_phrase)
    yield from apply_rules("seed phrase", lower)
    yield from apply_rules("groups", text, _is_grouped)
    yield from apply_rules("mixed with marks", text, _is_mixed)
    yield from apply_rules("paired", text, _is_paired, ends=".,;")
    sort, place, start, age, ordinary, waiting = "", 0, 0, 0, 0, (0, 0)
    taken = listed = plural = False
    for match in _words().finditer(lower):
        what = (match.lastgroup or "").rstrip("0123456789")
        begin = match.start()
        if what == "end":
            if lower[start:begin].strip():
                age += 1
                sort = sort if age < 2 else ""
                listed = bool(sort) and match[0] == "\n" and (lower[begin - 1] in ":：" or (listed and taken))
            start = match.end()
        elif what == "ordinary":
            ordinary = match.end()
        elif what == "mark":
            taken, place = True, match.end()
        elif what not in {"value", "spaced"}:
            if age or taken or sort not in PLAINER or what not in {"login", "opens", "key"}:
                sort, taken = what, False
            place, age, plural = match.end(), 0, match[0].endswith("s")
            if what != "nothing" and ordinary < waiting[1] and (late := _late(text, lower, waiting, begin, what)):
                yield Finding(KINDS[what], *late)
            continue
        elif (
            sort not in {"", "nothing"}
            and begin - place < REACH
            and not pattern(r"\w\([\"']?$").search(lower, max(0, begin - 3), begin)
        ):
            value = text[begin : match.end()].rstrip(".,;:?)/ ")
            end = begin + len(value)
            before, head = lower[max(place, start, begin - 40) : begin], lower[max(start, begin - 80) : begin]
            item = _is("listed" if listed else "item").fullmatch(head) is not None
            alone = (age > 0 and not head.strip(" \t-*>•`\"'")) or (listed and item)
            alone = alone and lower[end : end + 1] in {"", "\n", ",", "，", ".", "`"}
            alone = alone or bool(plural and value.isdigit() and _is("one of many").search(before))
            there = Place(before, lower[end : end + 12], what == "spaced", alone, taken, ordinary > place)
            if (not age or item or _follows(head, taken=taken, more=plural or listed)) and (
                _tells(sort, value, there) or (item and taken and _tells("login", value, there))
            ):
                yield Finding(KINDS[sort], begin, end)
                taken, place, age = True, end, 0
                continue
        if what in {"value", "spaced"}:
            waiting = match.span()


def _follows(head: str, *, taken: bool, more: bool) -> bool:
    """Whether what stands before a value leads to it from the sentence before: nothing, or that the other was wrong."""
    if (more or not taken) and _is("lead").fullmatch(head):
        return True
    return bool(_is("mistaken").search(head) or (taken and _is("changed").search(head)))


def _late(text: str, lower: str, waiting: tuple[int, int], name: int, sort: str) -> tuple[int, int] | None:
    """What was told before the word that says what it is: "try x for the password", "x – that's the alarm"."""
    begin, end = waiting
    value = text[begin:end].rstrip(".,;:?)/ ")
    end = begin + len(value)
    first = _is("late").search(lower, max(0, begin - 16), begin) and "\n" not in lower[end:name]
    if not first or not _is("until name").fullmatch(lower, end, name):
        return None
    there = Place(": ", lower[end : end + 12], " " in value, alone=False, taken=False, blocked=False)
    return (begin, end) if _tells(sort, value, there) and not _is("product").match(value) else None


def _tells(sort: str, value: str, there: Place) -> bool:
    """Whether a value in the reach of such a word can be nothing else."""
    before, random = there.before, values.is_random(value)
    known = _is("ordinary").search(value) or values.is_placeholder(value) or pattern(values.TERMS).match(value)
    near = not before.strip(" :：#\"'`“「")
    digits = there.spaced and sort in {"code", "pin", "opens"}  # 0-6-8 by itself is no number of anything else
    linked = near or there.alone or digits or bool(_is("link").search(before))
    # What a name further off announces is no value of another name in data: "session":"7c1f2a90", db:5432.
    labelled = not near and (_is("structure").search(before) or _is("label").search(before))
    if (known and not random and not there.spaced) or labelled or not (linked or random):
        return False
    quoted = before[-1:] in set("\"'`“「‘")
    sure = there.alone or (linked and (there.taken or quoted)) or not before or bool(_is("sure").search(before))
    named = _is("product").match(value) or values.is_slug(value) or "/" in value or (sort == "login" and before == "/")
    if there.spaced or _is("number").fullmatch(value):
        if there.blocked or _is("counted").match(there.after) or sort in {"token", "key", "login"}:
            return False
        year = pattern(r"(?:19|20)\d\d").fullmatch(value) and not pattern(r"\s?to \d{3}").match(there.after)
        # "Locker 4471" is its number, and what stands in brackets is about something else.
        short = len(value) < 6 and not set("#*- ") & set(value[1:])
        own = sort == "opens" and short and (before == " " or before.endswith(("(", "number ")))
        own = own or (value[0] == "#" and before.endswith("("))
        loose = sort != "code" or before.endswith(", ") or (near and len(value) >= 6)
        return not own and (sure or (loose and not year))
    if sort in {"code", "pin", "opens"}:
        return not there.blocked and bool((sure or near or not named) and _is("short").fullmatch(value))
    if sort == "login" and (value == value.upper() or values.is_hex(value) or values.is_uuid(value)):
        return False
    if (random and sort != "password") or (pattern(GROUPS).match(value) and random_groups(value)):
        return not there.blocked
    if sort in {"token", "key"}:
        made = values.only_a_token(value) or values.is_one_case(value)
        mixed = sort == "token" or (len(value) >= 16 and len(pattern(r"\d+").findall(value)) >= 3)
        fits = mixed and (sure or not named) and values.can_be_token(value)
        return not there.blocked and bool(made or fits)
    if (sure and (sort == "password" or quoted)) or there.alone:
        word = values.is_identifier(value) and values.classes(value) < (2 if there.alone else 3)
        return values.can_be_password(value, quoted=False) and not word
    after_user = _is("user").search(before) or (sort == "login" and _is("account name").search(before))
    user = after_user and "/" not in value
    named = named or (values.is_named_so(value) and not sure)
    return bool(user or not named) and values.is_password(value, quoted=False)


# What the expressions of the table find must be.


def _is_no_rule(value: str) -> bool:
    return values.is_real(value) and not _is("rule").search(value)


def _is_no_description(value: str) -> bool:
    joined = pattern(r"[-_.&]").sub("", value)
    other = pattern(values.DESCRIBING).match(value) or pattern(r".*(?:er|en|where|thing|one|body)$").match(value)
    return values.is_real(joined) and (joined != value or not other) and not pattern(values.NAME_PARTS).search(value)


def _is_mixed(value: str) -> bool:
    """Letters and digits with a mark among them, as nothing else in a sentence has: no package, issue, address or firm."""
    return values.classes(value) >= 3 and values.is_real(value) and not _is("no password").search(value)


def _is_grouped(value: str) -> bool:
    """Groups of letters and digits as keys, vouchers and recovery codes have them, not words and not numbers."""
    groups = pattern(r"[ -]").split(value)
    mixed = sum(not group.isdigit() and pattern(r"\d").search(group) is not None for group in groups)
    return mixed >= 2 and (len(groups) > 2 or "-" in value) and not values.is_placeholder(value)


def _is_paired(value: str) -> bool:
    other = _is("ordinary").search(value) or value.isdigit()
    return values.can_be_password(value, quoted=False) and not other and len(value) > 4


_STARTS = {"the", "a", "an", "my", "our", "two", "three", "every", "some", "both"}  # of phrases, and of no description


def _is_phrase(value: str) -> bool:
    words = pattern(r"[ -]").split(value)
    plain = words[0] in _STARTS or not values.FUNCTION_WORDS.intersection(words)
    first = words[0] in values.NOT_A_SECRET and (len(words) < 4 or not plain)
    about = first or words[0] in {"ask", "see", "use", "check", "get"} or values.TELLING.intersection(words)
    return not about and not pattern(values.DESCRIBING).fullmatch(words[0])
