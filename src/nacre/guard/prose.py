"""Secrets told in sentences: codes and PINs, logins, in passing, as the answer to a question, in other languages, as people say them."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from nacre.guard import values
from nacre.guard.assignments import random_groups
from nacre.guard.values import Finding, Findings, any_of, apply_rules, form, listed, pattern, rule_rows

ENDS = ".,;:?)"  # of a sentence, not of the value in it


def english(line: str, lower: str) -> Findings:
    """What a sentence gives away; expressions run over the lower-cased line, values are taken from the line itself."""
    digits = pattern(r"\d").search(line) is not None
    yield from apply_rules(
        "seed", line, lambda value: bool(set("234567") & set(value)) and not values.is_made_up(value)
    )
    has_code = (digits and any_of("code hints").search(lower)) or "app" in lower
    for kind, _, expression in rule_rows("code") if has_code else ():
        for match in pattern(expression).finditer(lower):
            # A status, error or postal code is no secret.
            if not form("ordinary code").search(lower[max(0, match.start() - 20) : match.start()]):
                yield Finding(kind, *match.span(match.lastindex or 1))
    if digits:
        yield from apply_rules("latin code", lower)
        yield from apply_rules("encrypted", line, _is_mixed_password, lower, ends=ENDS)
    if digits or " password " in lower or pattern("[/:|]").search(line):
        yield from _logins(line, lower)


def _is_mixed_password(value: str) -> bool:
    return values.classes(value) >= 3 and values.is_password(value, quoted=False)


def _logins(line: str, lower: str) -> Findings:
    announced = "log" in lower or "cred" in lower or "account" in lower or "sign" in lower
    for name in ("login", "pair") if "/" in line or ":" in line else ("login",):
        for match in form(name).finditer(lower):
            start = match.start("value")
            value = line[start : match.end("value")].rstrip(".,;:?!)")
            mixed = values.classes(value) >= 3 and not values.is_named_so(value)
            if values.is_placeholder(value):
                continue
            if name == "pair":
                is_secret = announced or (match["between"] == " / " and mixed)
                is_secret = is_secret and values.only_a_password(value) and "@" not in value
            elif match["between"].strip() in {"", "and", "with", "using"}:
                is_secret = values.only_a_password(value) and mixed and len(value) <= 40 and not set("/@") & set(value)
                is_secret = is_secret and match["user"] not in listed("not a secret")
            else:
                is_secret = _is_login(match["user"], value, line, start + len(value))
            if is_secret:
                yield Finding("password", start, start + len(value))


def _is_login(user: str, value: str, line: str, end: int) -> bool:
    if user in listed("not a secret") - {"user"} or value.startswith(("/", "(")) or len(value) < 3:
        return False
    address = value.lower().startswith(("http", "user", "admin/"))
    is_user = user in listed("users") and (not value.isalpha() or _ends_clause(line, end)) and not address
    if is_user and value.lower() not in listed("not a secret") | listed("users") - {"admin"}:
        return True
    if value.isdigit() and not is_user:
        return False
    return values.classes(value) >= 3 and len(value) >= 6 and "/" not in value and "@" not in value


# Secrets that an earlier sentence asks for or announces: "what is the password?" "it's …", "the key is" and the value
# after it.

KINDS = {"password": "password", "number": "pin", "code": "pin", "token": "token"}  # by the names of secrets
_BEFORE, _REST, _AFTER = 120, 60, 240  # characters of the sentence before and after the name, and of the answer


def awaits(text: str) -> bool:
    """Whether the end of a text asks for a secret or announces one that is still to come."""
    tail = text[-_BEFORE - _REST :].lower()
    return any(_announced(match, tail) is not None for match in form("asked name").finditer(tail))


def answers(text: str, lower: str, begin: int, end: int) -> Findings:
    """What the sentence after one between these places gives away."""
    reached = 0
    for match in form("asked name").finditer(lower, begin, end):
        place = _announced(match, lower)
        if place is not None and place >= reached:
            reached = place
            sort = next(name for name, words in match.groupdict().items() if words).removeprefix("chinese_")
            if answer := _answer(text, place, sort):
                yield answer


def _announced(match: re.Match[str], lower: str) -> int | None:
    """Where the answer begins if the name stands in a sentence that asks for it or announces it."""
    stop = form("end of sentence").search(lower, match.end(), match.end() + _REST)
    place = stop.start() if stop else min(len(lower), match.end() + _REST)
    rest = lower[match.end() : place]
    if (not stop and place < len(lower)) or "[redacted" in rest or not form("name itself").match(rest):
        return None  # the sentence goes on, told it itself, or speaks of something else
    head = lower[max(0, match.start() - _BEFORE) : match.start()]
    head = head[max(head.rfind(mark) for mark in ".!?。！？\n") + 1 :]
    asked = (stop and stop[0] in "?？") or form("announces it").match(rest)
    return place if asked or form("asks for it").search(head) or form("asks for it").search(rest) else None


def _answer(text: str, place: int, sort: str) -> Finding | None:
    """The value that the next words are, or the only one among them that looks like one."""
    window = text[place : place + _AFTER].partition("\n\n")[0]
    first = form("lead to answer").match(window)
    here = first.end() if first else 0
    for kind, name in (("one-time code seed", "answered seed"), ("one-time code", "answered digits")):
        if sort != "password" and (match := form(name).match(window, here)):
            return Finding(kind, place + match.start("value"), place + match.end("value"))
    if match := form("answered value").match(window, here):
        value = match["value"].rstrip(".,;:?!)\"'`*")
        if _can_answer(value, sort, window[here + len(value) :]):
            return Finding(KINDS[sort], place + here, place + here + len(value))
    if match := form("labelled answer").search(window, 1):
        value, start = match["value"].rstrip(".,;:?!)\"'`*"), place + match.start("value")
        if (sort == "token" or not values.is_identifier(value)) and _can_answer(value, sort, window[match.end() :]):
            return Finding(KINDS[sort], start, start + len(value))
    for match in form("answered value").finditer(window, here):
        value = match["value"].strip("\"'`*(").rstrip(".,;:?!)")
        if len(value) >= 8 and values.classes(value) >= 3 and _stands_out(value, sort):
            start = place + window.index(value, match.start())
            return Finding(KINDS[sort], start, start + len(value))
    return None


def _stands_out(value: str, sort: str) -> bool:
    """Whether a long mixed value among other words of an answer can be nothing else."""
    if sort == "token" and values.only_a_token(value):
        return True
    if "/" in value or form("product or host").match(value) or values.is_slug(value) or values.is_named_so(value):
        return False
    signed = pattern(r"[!#$%^*?&@+]").search(value) and pattern(r"\d").search(value)
    return values.is_password(value) and (sort != "token" or bool(signed))


def _can_answer(value: str, sort: str, after: str) -> bool:
    if value.isdigit():
        return sort != "token" and 4 <= len(value) <= 10
    if sort == "token":
        alone = not after.strip(" .!\n") and len(value) >= 12 and value in (value.lower(), value.upper())
        letters = value.isalpha() and len(set(value)) > 8 and 3 * sum(c in "aeiouAEIOU" for c in value) < len(value)
        return values.can_be_token(value) or (alone and letters) or bool(form("groups").match(value))
    if value.lower() in listed("not a secret") | listed("acknowledges") or not values.can_be_password(
        value, quoted=True
    ):
        return False
    if values.is_identifier(value):
        ends = pattern(r"[.!。\"'`*)]{0,3}\s*(?:$|[,，\n])").match(after)
        plain = value.islower() and len(value) >= 5 and not form("describing").match(value)
        return sort == "password" and bool(ends) and plain
    # "I'll", "v2.4" and "2026-05-08" are answers too, and no passwords.
    return not pattern(r"^[A-Za-z]+['’][a-z]+$|^v?\d+(?:[.:/-]\d+)+\w*$").match(value)


# Secrets told in Chinese, Japanese, Korean and Russian.


def other_scripts(line: str) -> Findings:
    for match in form("korean").finditer(line):
        value = _cut(match["value"])
        if values.is_password(value):
            yield Finding("password", match.start("value"), match.start("value") + len(value))
    for match in form("script name").finditer(line):
        link = form("script link").match(line, match.end())
        assert link is not None
        start = link.end()
        bare = pattern(r"[!-~]{4,200}").match(line, start)
        value = _cut(bare.group()) if bare else ""
        if (len(value) < 4 and not match["code"]) or form("algorithms").match(value):
            continue
        pair = pattern(r"^[\w.@+-]{2,40}/(?=\S{4,})").match(value) if match["password"] else None
        if pair and pattern("[账帐賬帳][号户號戶]|用户").search(line[: match.start()]):
            start, value = start + pair.end(), value[pair.end() :]
        if length := _length(match, link["link"], line, start, value):
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            yield Finding(kind, start, start + length)


def _cut(value: str) -> str:
    return pattern(r"[,;](?=\s|$|[A-Za-z_]+[:=])|\|").split(value, maxsplit=1)[0].rstrip(".,;:?)]}\"'`*~")


def _length(name: re.Match[str], link: str | None, line: str, start: int, value: str) -> int:
    """How much of what follows the name is the secret; nothing if it cannot be one."""
    fits: object
    if name["code"]:
        if digits := pattern(r"\d{3}[- ]\d{3}(?!\d)|\d(?: \d){3,7}(?!\d)|\d{4,8}(?![\d.])").match(line, start):
            return len(digits.group())
        fits = link and pattern(r"^(?=.*\d)[A-Za-z0-9]{4,8}$").match(value)
    elif name["token"]:
        fits = values.can_be_token(value) and (link or len(value) >= 16)
    elif name.group() in {"提取码", "提取碼", "访问码"}:
        fits = link and pattern(r"^[A-Za-z0-9]{4,8}$").match(value)
    elif not values.can_be_password(value, quoted=True):
        fits = False
    elif not link and "\u0400" <= line[name.start()] < "\u0500":
        # Russian sets words apart by spaces, so the name of a thing may follow where a value would.
        fits = values.only_a_password(value)
    else:
        ends = _ends_clause(line, start + len(value))
        number = value.isdigit() and (link or (len(value) in {6, 8} and ends))
        # Bitwarden, WeChat: a word with a capital letter.
        mixed = values.classes(value) >= 2 and not pattern(r"^[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$").match(value)
        fits = mixed or number or (link and link not in {"用", "为", "は", "が", "を", "-", "–", "—"} and ends)
    return len(value) if fits else 0


def _ends_clause(line: str, end: int) -> bool:
    return bool(pattern(r"[”」』\"'`*)）]{0,2}\s*(?:$|[，。；！、,.;!\n|])").match(line, end))


# As people say them: a word that announces one, the values in its reach, and the words that take a value for themselves.


ANNOUNCED = {"password": "password", "login": "password", "code": "pin", "pin": "pin", "opens": "pin", "token": "token", "key": "key"}  # fmt: skip
REACH = 80  # characters between a word and the value that it announces
PLAINER = frozenset({"password", "code", "pin", "token"})  # names that say what to expect, beside "door" or "login"


@cache
def _words() -> re.Pattern[str]:
    """Every word that announces a value or takes it for itself, the ends of sentences, and whatever can be a value."""
    names = [f"(?P<{sort}{at}>{words})" for at, (sort, _, words) in enumerate(rule_rows("announces"))]
    rest = [form(f"spoken {name}").pattern for name in ("end", "spaced", "value")]
    return re.compile("|".join([r"(?P<mark>\[redacted[^\]\n]{0,40}\])", *names, *rest]))


@cache
def _announcing() -> re.Pattern[str]:
    """The words that announce a value, by themselves: most texts have none."""
    return re.compile("|".join(words for sort, _, words in rule_rows("announces") if sort in ANNOUNCED))


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
    yield from apply_rules("paired", text, _is_paired, ends=".,;")
    if not _announcing().search(lower):
        return
    sort, place, start, age, ordinary, waiting = "", 0, 0, 0, 0, (0, 0)
    taken = in_list = plural = False
    for match in _words().finditer(lower):
        what = (match.lastgroup or "").rstrip("0123456789")
        begin = match.start()
        if what == "end":
            if lower[start:begin].strip():
                age += 1
                sort = sort if age < 2 else ""
                in_list = bool(sort) and match[0] == "\n" and (lower[begin - 1] in ":：" or (in_list and taken))
            start = match.end()
        elif what == "ordinary":
            ordinary = match.end()
        elif what == "mark":
            taken, place = True, match.end()
        elif what in ANNOUNCED or what == "nothing":
            if age or taken or sort not in PLAINER or what not in {"login", "opens", "key"}:
                sort, taken = what, False
            place, age, plural = match.end(), 0, match[0].endswith("s")
            if what in ANNOUNCED and ordinary < waiting[1] and (late := _late(text, lower, waiting, begin, what)):
                yield Finding(ANNOUNCED[what], *late)
        else:
            is_argument = pattern(r"\w\([\"']?$").search(lower, max(0, begin - 3), begin)
            if sort in ANNOUNCED and begin - place < REACH and not is_argument:
                value = text[begin : match.end()].rstrip(".,;:?)/ ")
                end = begin + len(value)
                before, head = lower[max(place, start, begin - 40) : begin], lower[max(start, begin - 80) : begin]
                item = form("spoken listed" if in_list else "spoken item").fullmatch(head) is not None
                alone = (age > 0 and not head.strip(" \t-*>•`\"'")) or (in_list and item)
                alone = alone and lower[end : end + 1] in {"", "\n", ",", "，", ".", "`"}
                alone = alone or bool(plural and value.isdigit() and form("spoken one of many").search(before))
                there = Place(before, lower[end : end + 12], what == "spaced", alone, taken, ordinary > place)
                if (not age or item or _follows(head, taken=taken, more=plural or in_list)) and (
                    _tells(sort, value, there) or (item and taken and _tells("login", value, there))
                ):
                    yield Finding(ANNOUNCED[sort], begin, end)
                    taken, place, age = True, end, 0
                    continue
            waiting = match.span()


def _follows(head: str, *, taken: bool, more: bool) -> bool:
    """Whether what stands before a value leads to it from the sentence before: nothing, or that the other was wrong."""
    if (more or not taken) and form("spoken lead").fullmatch(head):
        return True
    return bool(form("spoken mistaken").search(head) or (taken and form("spoken changed").search(head)))


def _late(text: str, lower: str, waiting: tuple[int, int], name: int, sort: str) -> tuple[int, int] | None:
    """What was told before the word that says what it is: "try x for the password", "x – that's the alarm"."""
    begin, end = waiting
    value = text[begin:end].rstrip(".,;:?)/ ")
    end = begin + len(value)
    first = form("spoken late").search(lower, max(0, begin - 16), begin) and "\n" not in lower[end:name]
    if not first or not form("spoken until name").fullmatch(lower, end, name):
        return None
    there = Place(": ", lower[end : end + 12], " " in value, alone=False, taken=False, blocked=False)
    return (begin, end) if _tells(sort, value, there) and not form("spoken product").match(value) else None


def _tells(sort: str, value: str, there: Place) -> bool:
    """Whether a value in the reach of such a word can be nothing else."""
    before, random = there.before, values.is_random(value)
    known = form("spoken ordinary").search(value) or values.is_placeholder(value) or form("terms").match(value)
    near = not before.strip(" :：#\"'`“「")
    digits = there.spaced and sort in {"code", "pin", "opens"}  # 0-6-8 by itself is no number of anything else
    linked = near or there.alone or digits or bool(form("spoken link").search(before))
    # What a name further off announces is no value of another name in data: "session":"7c1f2a90", db:5432.
    labelled = not near and (form("spoken structure").search(before) or form("spoken label").search(before))
    if (known and not random and not there.spaced) or labelled or not (linked or random):
        return False
    quoted = before[-1:] in set("\"'`“「‘")
    sure = there.alone or (linked and (there.taken or quoted)) or not before or bool(form("spoken sure").search(before))
    named = (
        form("spoken product").match(value)
        or values.is_slug(value)
        or "/" in value
        or (sort == "login" and before == "/")
    )
    if there.spaced or form("spoken number").fullmatch(value):
        if there.blocked or form("spoken counted").match(there.after) or sort in {"token", "key", "login"}:
            return False
        year = pattern(r"(?:19|20)\d\d").fullmatch(value) and not pattern(r"\s?to \d{3}").match(there.after)
        dated = year and pattern(r"\b(?:from|since|in|of|until|before|after)\s$").search(before)  # "the ipad from 2012"
        # "Locker 4471" is its number, and what stands in brackets is about something else.
        short = len(value) < 6 and not set("#*- ") & set(value[1:])
        own = sort == "opens" and short and (before == " " or before.endswith(("(", "number ")))
        own = own or (value[0] == "#" and before.endswith("("))
        loose = sort != "code" or before.endswith(", ") or (near and len(value) >= 6)
        return not own and not dated and (sure or (loose and not year))
    if sort in {"code", "pin", "opens"}:
        return not there.blocked and bool((sure or near or not named) and form("spoken short").fullmatch(value))
    if sort == "login" and (value == value.upper() or values.is_hex(value) or values.is_uuid(value)):
        return False
    if (random and sort != "password") or random_groups(value):
        return not there.blocked
    if sort in {"token", "key"}:
        made = values.only_a_token(value) or values.is_one_case(value)
        mixed = sort == "token" or (len(value) >= 16 and len(pattern(r"\d+").findall(value)) >= 3)
        fits = mixed and (sure or not named) and values.can_be_token(value)
        return not there.blocked and bool(made or fits)
    if (sure and (sort == "password" or quoted)) or there.alone:
        word = values.is_identifier(value) and values.classes(value) < (2 if there.alone else 3)
        return values.can_be_password(value, quoted=False) and not word
    after_user = form("spoken user").search(before) or (sort == "login" and form("spoken account name").search(before))
    user = after_user and "/" not in value
    named = named or (values.is_named_so(value) and not sure)
    return bool(user or not named) and values.is_password(value, quoted=False)


# What the expressions of the table find must be.


def _is_no_rule(value: str) -> bool:
    return values.is_real(value) and not form("spoken rule").search(value)


def _is_no_description(value: str) -> bool:
    joined = pattern(r"[-_.&]").sub("", value)
    other = form("describing").match(value) or pattern(r".*(?:er|en|where|thing|one|body)$").match(value)
    return values.is_real(joined) and (joined != value or not other) and not form("name parts").search(value)


def _is_paired(value: str) -> bool:
    other = form("spoken ordinary").search(value) or value.isdigit()
    return values.can_be_password(value, quoted=False) and not other and len(value) > 4


_STARTS = {"the", "a", "an", "my", "our", "two", "three", "every", "some", "both"}  # of phrases, and of no description


def _is_phrase(value: str) -> bool:
    words = pattern(r"[ -]").split(value)
    plain = words[0] in _STARTS or not listed("function words").intersection(words)
    first = words[0] in listed("not a secret") and (len(words) < 4 or not plain)
    about = first or words[0] in {"ask", "see", "use", "check", "get"} or listed("telling").intersection(words)
    return not about and not form("describing").fullmatch(words[0])
