"""Secrets are replaced by their kind before a text is written or displayed; those that are known by their own form are found here."""

from __future__ import annotations

import re
from binascii import a2b_base64
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING

from nacre.errors import SecretRefused
from nacre.guard import values
from nacre.guard.assignments import assignments, commands, elements, following, pairs, tables
from nacre.guard.prose import announced_values, answers, awaits, english, other_scripts
from nacre.guard.said import said
from nacre.guard.sanitise import Folded, clean, fold, one_line, replaced
from nacre.guard.values import (
    LONG_RUN,
    Finding,
    Findings,
    Redaction,
    any_of,
    apply_rules,
    form,
    listed,
    numbers,
    pattern,
    rule_rows,
)
from nacre.text.blocks import LABELS
from nacre.text.layout import beginning

if TYPE_CHECKING:
    from nacre.model import Message


LONG_LINE = 8_000
BEFORE, AFTER = 300, 1_300


def scan(text: str) -> Findings:
    """Every secret in a folded text; findings may overlap."""
    if "[redacted: " in text:
        # The kind that a mark names announces nothing.
        text = form("mark").sub(lambda match: "[redacted" + "·" * (len(match.group()) - 10) + "]", text)
    # Everything a machine makes is a long run of letters and digits; ordinary sentences have none.
    long_run = pattern(LONG_RUN).search(text)
    if long_run or "PRIVATE KEY" in text or "://" in text or "jdbc:" in text:
        yield from blocks(text)
        yield from tokens(text) if long_run else ()
        yield from logins(text)
    if "</" in text:
        yield from elements(text)
    if pattern(r"\d(?:[ .-]?\d){2}").search(text):
        yield from numbers(text)
    lower = text.lower()
    if len(lower) != len(text):  # every character stays in its place
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    yield from announced_values(text, lower)
    yield from said(text)
    named, spoken = set(_lines_with("hints", lower)), set(_lines_with("spoken hints", lower))
    foreign = set() if text.isascii() else set(_lines_with("script hints", text))
    lines = text.split("\n") if named or spoken or foreign else []
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for offset in sorted(named | spoken | foreign):
        at = bisect_right(offsets, offset) - 1
        line, low = lines[at], lower[offset : offset + len(lines[at])]
        if offset in named:
            yield from _shifted(offset, headers(line, low), assignments(line, low))
            yield from pairs(text, line, offset)
        if offset in named or offset in spoken:
            for begin, end in _pieces(low):
                piece = (line[begin:end], low[begin:end])
                yield from _shifted(offset + begin, commands(*piece), english(*piece))
        yield from _shifted(offset, other_scripts(line) if offset in foreign else ())
        yield from answers(text, lower, offset, offset + len(line))
        yield from following(lines, at, offsets)
        yield from tables(lines, at, offsets)


def _shifted(offset: int, *findings: Iterable[Finding]) -> Findings:
    return (Finding(finding.kind, offset + finding.start, offset + finding.end) for finding in chain(*findings))


def _pieces(lower: str) -> Iterator[tuple[int, int]]:
    """The line, or what lies about the hints in one that is too long for a sentence or a command."""
    if len(lower) <= LONG_LINE:
        yield 0, len(lower)
        return
    begin = end = 0
    for match in any_of("hints", "spoken hints").finditer(lower):
        first, last = max(0, match.start() - BEFORE), match.end() + AFTER
        if first > end:
            if end:
                yield begin, end
            begin = lower.find(" ", first, match.start()) + 1 or first
        end = last
    yield begin, end


def _lines_with(hints: str, text: str) -> Iterator[int]:
    place = 0
    while match := any_of(hints).search(text, place):
        yield text.rfind("\n", place, match.start()) + 1 or place
        place = text.find("\n", match.end()) + 1 or len(text) + 1


def redact(text: str) -> Redaction:
    """The text with every secret replaced by its kind; what was marked before stays as it is."""
    findings: list[Finding] = []
    marked = Folded(text)
    # A mark may bring two parts of a line together: look again until nothing new shows.
    while new := [_original(marked, finding) for finding in _findings_in(marked.text)]:
        findings = _joined(findings + new)
        marked = _marked(text, findings)
    return Redaction(marked.text, tuple(findings))


def _original(folded: Folded, finding: Finding) -> Finding:
    return Finding(finding.kind, *folded.original(finding.start, finding.end))


def _marked(text: str, findings: Iterable[Finding]) -> Folded:
    return replaced(text, ((finding.start, finding.end, _mark(finding.kind)) for finding in findings))


def refuse_secrets(text: str) -> None:
    """Stop a write that would store a secret; the sentence names its kind and never its value."""
    if findings := redact(text).findings:
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in findings))
        raise SecretRefused(
            f"Not stored: it contains a secret ({kinds}). Leave out the value and try again.",
            f"未保存：内容中含有敏感信息（{kinds}）。请去掉具体的值后再试。",
        )


@lru_cache(maxsize=4096)
def storable_name(name: str) -> str:
    """A name as it may be kept where it must be known again: itself, or its hash where it holds a secret or is no text."""
    return name if redact(clean(name)).text == name else hash_name(name)


def hash_name(name: str) -> str:
    import hashlib

    return "#" + hashlib.blake2b(name.encode("utf-8", errors="replace"), digest_size=12).hexdigest()


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


# The label of a log line, and "User asked": they announce nothing of what stands behind them, and are no value of what was announced above.
LABEL = rf"(?m)^(\s{{0,8}}(?:- )?)(?=\S)(?:\[(?:{'|'.join(LABELS)})\](?=\s))?\s?(?:User asked(?: to\b|:)|用户要求：)?"


def _findings_in(text: str) -> Findings:
    """Secrets in the text as the eye reads it, at their places in the text as it is."""
    folded = fold(pattern(LABEL).sub(lambda match: match[1] + " " * (len(match[0]) - len(match[1])), text))
    for finding in _merged(folded.text, list(scan(folded.text))):
        yield _original(folded, finding)


# Findings brought together: apart from each other, outside earlier marks, and the same value wherever it stands.

# A block swallows all, a vendor's name (0) says more than "password", and that more than "key".
PLAIN_KINDS = {"private key": -1, "password": 1, "token": 2, "secret": 3, "access token": 4, "key": 5, "pin": 6}
# How many characters may be searched for values that were found already: keeps a text full of secrets linear.
REPEAT_BUDGET = 200_000_000
LEAST = 4  # letters and digits of what is left of a value beside a mark


def _merged(text: str, findings: list[Finding]) -> list[Finding]:
    """What was found in `text`, with the same values elsewhere in it and without what was marked before."""
    if not findings:
        return []
    marks = [match.span() for match in form("mark").finditer(text)]
    pieces: list[Finding] = []
    for finding in findings:
        start, end = finding.start, finding.end
        first, last = bisect_right(marks, start, key=itemgetter(1)), bisect_left(marks, end, key=itemgetter(0))
        edges = (start, *chain.from_iterable(marks[first:last]), end)
        for begin, stop in zip(edges[::2], edges[1::2], strict=True):
            if first == last or sum(map(str.isalnum, text[begin:stop])) >= LEAST:
                pieces.append(Finding(finding.kind, begin, stop))
    # The same value where nothing announces it: who writes a password twice names it once.
    kinds = {text[piece.start : piece.end]: piece.kind for piece in pieces if 4 <= piece.end - piece.start <= 200}
    for value in list(kinds)[: max(50, REPEAT_BUDGET // len(text))]:
        place = text.find(value)
        while place >= 0:
            end = place + len(value)
            mark = bisect_left(marks, end, key=itemgetter(0)) - 1  # the last one that begins before
            if (mark < 0 or marks[mark][1] <= place) and _stands_alone(text, value, place, end):
                pieces.append(Finding(kinds[value], place, end))
            place = text.find(value, end)
    return _joined(pieces)


def _joined(findings: list[Finding]) -> list[Finding]:
    """In order and apart from each other; the most telling kind names what overlapped."""
    apart: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.start, finding.end)):
        if apart and finding.start < apart[-1].end:
            last = apart.pop()
            kind = min(last.kind, finding.kind, key=lambda kind: PLAIN_KINDS.get(kind, 0))
            finding = Finding(kind, last.start, max(last.end, finding.end))  # noqa: PLW2901
        apart.append(finding)
    return apart


def _stands_alone(text: str, value: str, place: int, end: int) -> bool:
    """Not a part of a longer word; a plain number or word not a part of a name or an amount either."""
    before, after = text[place - 1 : place], text[end : end + 1]
    if value.isalnum() and (len(value) < 6 or value.isalpha() or value.isdigit()):
        joins = "_-.,/$€"
        inside = bool(after) and after in joins and _letter(text[end + 1 : end + 2])
        return not (_letter(before) or _letter(after) or (before and before in joins) or inside)
    return not (_letter(before) and _letter(value[0])) and not (_letter(after) and _letter(value[-1]))


def _letter(char: str) -> bool:
    """A letter or digit of a script that sets words apart by spaces."""
    return char.isalnum() and char < "\u2e80"


# The messages of a session: what one gives away is a secret in the others.

_CONTEXT = 300  # characters of an earlier message that are read with the next one
_AGO = 3  # messages that may lie between a question and its answer
_SHORTEST = 6  # characters; what is shorter may be an ordinary word elsewhere


def redact_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages of a session without their secrets; what one of them gives away is a secret in all the others too.

    Whole messages at a time, because a key over several lines is found only while its lines stand together.
    """
    texts = [clean(message.text) for message in messages]
    values: dict[str, str] = {}
    redacted: list[str] = []
    for place, text in enumerate(texts):
        own = redact(text).findings
        # The end of the last message that asks for a secret or announces one, else of the last.
        tails = [earlier[-_CONTEXT:] + "\n" for earlier in reversed(texts[max(0, place - _AGO) : place]) if earlier]
        head = next((tail for tail in tails if awaits(tail)), tails[0] if tails else "")
        asked = redact(head + text).findings if head else ()
        late = list(_shifted(-len(head), (finding for finding in asked if finding.start >= len(head))))
        covered = all(any(mine.start <= other.start and other.end <= mine.end for mine in own) for other in late)
        for finding in (*own, *late):
            value = text[finding.start : finding.end].strip()
            if len(value) >= _SHORTEST and "\n" not in value:
                values[value] = finding.kind
        redacted.append(redact(_marked(text, own if covered else late).text).text)
    for value, kind in sorted(values.items(), key=lambda item: -len(item[0])):
        redacted = [text.replace(value, _mark(kind)) for text in redacted]
    return [replace(message, text=text) for message, text in zip(messages, redacted, strict=True)]


def safe_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Numbered lines of a file as they may be shown; those that a secret went over are one with the line where it began."""
    # A heading of ours names a key or a session, which would call the whole guard to look at it.
    ours = {number: text for number, text in lines if form("own heading").fullmatch(text)}
    redacted = redact_lines([(number, "" if number in ours else visible(text)) for number, text in lines])
    return [(number, ours.get(number, text)) for number, text in redacted]


AROUND = 60  # lines around what is to be shown, by which a secret of many lines is known


def redact_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Numbered lines without secrets, of those that a secret went over only the first."""
    plain = "\n".join(text for _, text in lines)
    redacted = redact(plain)
    hidden: set[int] = set()  # lines whose place a mark in the line before them took
    for finding in redacted.findings:
        first = plain.count("\n", 0, finding.start) + 1
        hidden.update(range(first, first + plain.count("\n", finding.start, finding.end)))
    kept = [line for at, line in enumerate(lines) if at not in hidden]
    texts = redacted.text.split("\n")
    return [(number, new) for (number, _), new in zip(kept, texts, strict=False)]


def visible(text: str) -> str:
    return clean(text.removesuffix("\r").replace("\r", " "))


def legible(text: str) -> str:
    """Words of memory as they may be shown: without secrets, nor what the eye cannot see."""
    return redact(clean(text)).text


def excerpt(text: str, most: int) -> str:
    """The beginning of such words on one line, as a sentence quotes them; a secret that the cut would halve is gone before."""
    return beginning(one_line(legible(text)), most)


# Secrets known by their own form: tokens of vendors, addresses, key blocks, headers.


PUBLISHABLE = ("pk_live_", "pk_test_", "sb_publishable_", "phc_")
# No token is longer; without an end a text of nothing but beginnings would be read again for each.
LONGEST = 5_000


@cache
def _beginnings() -> tuple[dict[str, list[tuple[str, str, str]]], list[tuple[str, str, str]]]:
    """The plain beginnings by their first two characters, and those with a dot or slash that cut a run in two."""
    plain: dict[str, list[tuple[str, str, str]]] = {}
    cut: list[tuple[str, str, str]] = []
    for kind, prefixes, rest in rule_rows("token"):
        for prefix in prefixes.split():
            # Where the rest may hold a slash or a plus sign, a run may end early.
            whole = pattern(r"^[A-Za-z0-9_-]{2,}$").match(prefix) and "+/" not in rest
            (plain.setdefault(prefix[:2], []) if whole else cut).append((kind, prefix, rest))
    for rows in plain.values():
        rows.sort(key=lambda row: -len(row[1]))
    return plain, cut


def tokens(text: str) -> Findings:
    """Every token of a known shape, and every lone run of characters that only a machine makes."""
    seed = pattern(r"^\s{0,8}([A-Z2-7]{16}|[A-Z2-7]{26}|[A-Z2-7]{32}|[A-Z2-7]{52})\s*$").match(text)
    if seed and len(pattern("[2-7]").findall(seed[1])) >= 2 and not values.is_made_up(seed[1]):
        yield Finding("one-time code seed", *seed.span(1))
    yield from apply_rules("jwt", text, lambda value: not pattern(r"(?i)your|xxxx").search(value))
    beginnings, cut = _beginnings()
    # Certificates and public keys are as random as private ones, and made to be shown.
    public = [block.span() for block in form("public block").finditer(text)] if "-----BEGIN " in text else []
    for run in pattern(LONG_RUN).finditer(text):
        start, end = run.span()
        if any(begin <= start < stop for begin, stop in public):
            continue
        places = [start]
        if before := pattern(r"\\[nrt]|%..").match(
            text, max(start - 1, 0)
        ):  # the end of a line or a byte, as written in code
            places.append(before.end())
        # In names of files and folders a token follows other words.
        places += [at for at in range(start + 1, min(start + 60, end)) if text[at - 1] in "-_" and text[at].isalpha()]
        rows = ((place, row) for place in places for row in beginnings.get(text[place : place + 2], ()))
        vendors = (_token_at(text, place, row) for place, row in rows)
        if finding := next(filter(None, vendors), None) or _unknown(text, start, end):
            yield finding
    for row in cut:
        place = text.find(row[1])
        while place >= 0:
            finding = None if place and text[place - 1].isalnum() else _token_at(text, place, row)
            if finding:
                yield finding
            place = text.find(row[1], finding.end if finding else place + len(row[1]))
    if pattern(r"(?:AK|AS)IA[A-Z0-9]{16}").search(text):  # the secret has no form of its own, and stands with its id
        yield from apply_rules("aws", text, _is_aws_secret)
    for kind, sign, shape in rule_rows("shape"):
        if pattern(sign).search(text):
            for match in pattern(r"(?<![A-Za-z0-9_/+-])(?:" + shape + r")(?![A-Za-z0-9_-])").finditer(text):
                even = len(set(match[0][:20])) < 4 and not match[0].startswith("AAAA")
                if not even and not values.is_made_up(match[0]):
                    yield Finding(kind, *match.span())
    yield from apply_rules("address", text, _is_address_key)


def _token_at(text: str, place: int, row: tuple[str, str, str]) -> Finding | None:
    kind, prefix, rest = row
    if not text.startswith(prefix, place):
        return None
    match = pattern(rf"(?:{rest})(?![A-Za-z0-9])").match(text, place + len(prefix), place + LONGEST)
    if not match or values.is_made_up(match[0]):
        return None
    end = match.end()
    # A token at the end of a sentence keeps its full stop out of the mark.
    while text[end - 1] in ".-" and end - place > 20:
        end -= 1
    return Finding(kind, place, end)


def _unknown(text: str, start: int, end: int) -> Finding | None:
    """A token of a vendor we do not know: a short beginning and a random rest, or a random run that stands alone."""
    value = text[start:end]
    if not 20 <= len(value) <= 300 or values.is_uuid(value) or values.is_made_up(value):
        return None
    if value.startswith(PUBLISHABLE) or pattern(r"[_-]").split(value.lower(), maxsplit=1)[0] in listed("known ids"):
        return None
    # Part of an address, a path, a checksum or a larger block of base64.
    last, first, second = text[max(0, start - 1) : start], text[end : end + 1], text[end + 1 : end + 2]
    inside = (last and last in "/+.@#~\\&?%") or (first and first in "/+(@") or (first == "." and second.isalnum())
    label = r"(?i)(?:sha\d*|md5|base64|integrity|hash|etag|digest|checksum|id|ref|commit|boundary|nonce|h1)[\"']?\s?[-:=,]+\s?[\"'<]?$"
    public = pattern("^AAAA[A-Z]..?(?:NzaC1|VjZHNh)").match(value)
    if public or inside or pattern(label).search(text[max(0, start - 12) : start]):
        return None
    vendor = r"^([A-Za-z]{2,12}(?:[_-][a-z0-9]{1,8}){0,2})[_-]([A-Za-z0-9]{20,}|[A-Za-z0-9_-]{24,})$"
    if match := pattern(vendor).match(value):
        name, body = match.groups()
        hexadecimal = values.is_hex(body) and len(body) >= 32 and "_" in value and name.islower()
        is_token = (values.is_random(body) or hexadecimal) and not values.is_made_up(body)
        return Finding("access token", start, end) if is_token else None
    joints = value.count("-") + value.count("_")
    if (len(value) >= 32 and joints <= 4) or (len(value) >= 24 and not joints):
        padding = len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))  # belongs to the value
        return Finding("key", start, end + padding) if values.is_random(value) else None
    return None


# Secrets in addresses: passwords before the host, webhooks whose path is the key, signatures in the query.

DATABASES = "postgres postgresql mysql mariadb mongodb redis rediss amqp amqps mssql sqlserver oracle clickhouse cassandra jdbc".split()


def _is_address_key(value: str) -> bool:
    """Not made up; a path of plain words joined by hyphens is a document's invention."""
    return not values.is_made_up(value) and len(pattern(r"(?<![A-Za-z])[a-z]{2,}(?![A-Za-z0-9])").findall(value)) < 5


def _is_aws_secret(value: str) -> bool:
    return values.classes(value) >= 3 and values.changes(value) >= 0.4 and not values.is_made_up(value)


def _has_digit(value: str) -> bool:
    return values.is_real(value) and pattern(r"\d").search(value) is not None


def logins(text: str) -> Findings:
    # The user's name cannot hold a colon and the password no slash, so each address is read once.
    for match in pattern(r"://([^\s:/@\"'<>\\]{0,120}):([^\s/\"'<>`\\]{1,200})@(?=[\w\[$%{-])").finditer(text):
        before = pattern(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}$")
        scheme = before.search(text, max(0, match.start() - 32), match.start())
        if scheme and values.is_real(match[2]):  # the names of a password are none
            database = scheme[0].lower().split("+")[0] in DATABASES
            yield Finding("connection string" if database else "password", *match.span(2))
    yield from apply_rules("login token", text, _has_digit)
    yield from apply_rules("real", text, values.is_real)


# Private keys and other secrets that stand in blocks, also when the block was cut off.


def blocks(text: str) -> Findings:
    """Private keys: between their lines, as much of them as is left, and bare or encoded in base64."""
    if "PRIVATE KEY" in text:
        yield from _between_lines(text)
        yield from _before_last_line(text)
    yield from apply_rules("certain", text)
    if "MI" in text or "MHcCAQEE" in text or "MC4CAQ" in text:
        for match in form("bare private key").finditer(text):
            first = form("line end").match(text, match.end())
            end = _end_of_lines(text, match.end(), first.end() if first else len(text))
            yield Finding("private key", match.start(), end)
    yield from _encoded(text)


def _between_lines(text: str) -> Findings:
    place = 0
    while begin := form("begin private key").search(text, place):
        after = begin.end()
        following = form("begin private key").search(text, after)
        end = form("end private key").search(text, after, following.start() if following else len(text))
        if end and end.start() - after < 40_000:
            place = end.end()
        elif first := form("rest of begin line").match(text, after):
            place = _end_of_lines(text, after, first.end())
        else:
            one_line = pattern(r"[ \t]{0,4}[A-Za-z0-9+/=]{16,}").match(text, after)
            place = one_line.end() if one_line else after
        body = pattern(r"[A-Za-z0-9+/]{16,}").search(text, after, place)
        # An encrypted key without its body says nothing; a plain one is marked even so, for the rest may follow.
        # A sentence that goes on behind the line only speaks of it.
        spoken = pattern(r"[\"'`]? [a-z]{2,} [a-z]").match(text, after)
        if body or ("ENCRYPTED" not in begin["what"] and not spoken):
            yield Finding("private key", begin.start(), place)


def _before_last_line(text: str) -> Findings:
    for end in form("end private key").finditer(text):
        start = reached = end.start()
        for _ in range(400):
            before = text.rfind("\n", 0, max(0, start - 1)) + 1
            line = text[before:start]
            if before >= start or len(line) > 200 or not form("whole body line").fullmatch(line):
                break
            if pattern(r"[A-Za-z0-9+/]{16,}").search(line):
                reached = before
            start = before
        if reached < end.start():
            begin = pattern(r"[\s>\"'`]*").match(text, reached)
            yield Finding("private key", begin.end() if begin else reached, end.end())


def _end_of_lines(text: str, place: int, here: int) -> int:
    """Where the lines of base64 end that follow a place, from another on."""
    while here < len(text) and (line := form("whole body line").match(text, here)) and line.end() > here:
        here = line.end()
        if line[0].strip():
            place = line.start() + len(line[0].rstrip())
    return place


def _encoded(text: str) -> Findings:
    """Base64 that hides a key or a login: read once, in the few forms that begin like structured text."""
    if not pattern(r"eyJ|ewog|ewoJ|Wwog|W3si|[MNO][DTjz][A-Za-z][wxyz0-5]").search(text):
        return
    run = r"(?<![A-Za-z0-9+/=_-])(?:eyJ|ewo|Wwo|W3si|[MNO][DTjz][A-Za-z][wxyz0-5])[A-Za-z0-9+/]{28,20000}={0,2}(?![A-Za-z0-9+/_.-])"
    names = r'"kty".{0,400}"d"|"d".{0,400}"kty"|private_key|"(?:password|secret|auth)"'
    for match in pattern(run).finditer(text):
        try:
            plain = a2b_base64(match[0][: len(match[0]) // 4 * 4]).decode("latin-1")
        except ValueError:
            continue
        if pattern(names, re.DOTALL).search(plain):
            yield Finding("private key" if "k" in plain[:200] and "kty" in plain else "credentials", *match.span())
        elif pattern(r"^\d{10,12}:[^\x20-\x7e]*").match(plain) and len(match[0]) == 44:
            yield Finding("atlassian token", *match.span())


# Secrets that HTTP carries: Authorization and cookies.


def headers(line: str, lower: str) -> Findings:
    if "auth" in lower or "bearer" in lower or "basic" in lower:
        yield from apply_rules("scheme", line, lambda value: _has_digit(value) and not values.is_path(value), lower)
        for match in form("http scheme").finditer(lower):
            value = line[match.start(2) : match.end(2)].rstrip(".:")
            named = "authorization" in lower[max(0, match.start() - 30) : match.start()]
            has_digit = pattern(r"\d").search(value)
            if len(value) < 8 or not values.is_real(value) or values.is_identifier(value) or values.is_path(value):
                continue
            basic = match[1] == "basic" and (value.endswith("=") or values.is_random(value))
            if (named and has_digit) or basic:
                yield Finding("authorization", match.start(2), match.start(2) + len(value))
            elif match[1] == "bearer" and len(value) >= 12 and has_digit and not values.is_made_up(value):
                yield Finding("bearer token", match.start(2), match.start(2) + len(value))
    if "cookie" in lower:
        pair = form("session cookie")
        for header in pattern(r"(?i)(?:set-)?cookie[\"']?\s{0,3}[:=,]\s{0,3}[\"']?([^\n\"']{8,8000})").finditer(line):
            for match in pair.finditer(line, header.start(1), header.end(1)):
                if values.is_real(match[1]) and not values.is_identifier(match[1]):
                    yield Finding("session cookie", match.start(1), match.end(1))
