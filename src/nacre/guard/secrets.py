"""Secrets are replaced by their kind before a text is written or displayed."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from nacre.errors import SecretRefused
from nacre.guard.finding import (
    LONG_RUN,
    MARK,
    Finding,
    Findings,
    Redaction,
    Spans,
    any_of,
    joined,
    lowered,
    mark,
    marked,
    merged,
    pattern,
)
from nacre.guard.names import HINTS, SCRIPT_HINTS, other_scripts
from nacre.guard.prose import USED, awaits, english
from nacre.guard.sanitise import clean, fold, one_line
from nacre.i18n import say
from nacre.model.session import Message

# Words of sentences and commands that may give a secret away without naming it.
SPOKEN_HINTS = (
    "code", "verify", "pin", "login", "log in", "logged", "log on", "sign in", "signed in", "ssh", "connect", "identified", "wallet", "recovery", "curl", "http -",
    "redis-cli", "zip -", "7z", "sudo -s", "net use", "smb", "mnemonic", "plink", "mysql", "maria", "mongo", "ldap", "sqlcmd", "docker", "podman", "códi", "codi",
    "puk", "safe", "locker", "combination", "zugang", "identifiants", "account", "openssl", "rar ", "/p:", "answer", "insert into", "助记", "助記",
    "2fa", "验证器", "步验证", "次验证", "重验证", "态口令", "门禁", "取件", "开门码", "impacket", "wget", "wandb", "configure set", "config set", "sign-in", "user/", "id/", "admin", "root", " / ", "crypted", "protected", "unlock", "opens", "psexec", "snmp", ":543", ":*:",
    *USED,
)  # fmt: skip
LONG_LINE = 8_000
BEFORE, AFTER = 300, 1_300


def scan(text: str) -> Findings:
    """Every secret in a folded text; findings may overlap. What an ordinary sentence does not need is not even loaded."""
    if "[redacted: " in text:
        # The kind that a mark names announces nothing.
        text = pattern(MARK).sub(lambda match: "[redacted" + "·" * (len(match.group()) - 10) + "]", text)
    # Everything a machine makes is a long run of letters and digits; ordinary sentences have none.
    if pattern(LONG_RUN).search(text):
        from nacre.guard.tokens import blocks, signed_tokens, tokens, webhooks

        yield from blocks(text)
        if "eyJ" in text:
            yield from signed_tokens(text)
        yield from tokens(text)
        yield from webhooks(text)
    elif "PRIVATE KEY" in text:
        from nacre.guard.tokens import blocks

        yield from blocks(text)
    if "://" in text or "jdbc:" in text:
        from nacre.guard.tokens import logins

        yield from logins(text)
    if "</" in text:
        from nacre.guard.labels import elements

        yield from elements(text)
    if pattern(r"\d(?:[ .-]?\d){2}").search(text):
        from nacre.guard.values import numbers

        yield from numbers(text)
    lower = lowered(text)
    named = set(_begins(lower, HINTS))
    spoken = set(_begins(lower, SPOKEN_HINTS))
    foreign = set() if text.isascii() else set(_begins(text, SCRIPT_HINTS))
    if not (named or spoken or foreign):
        return
    yield from _in_lines(text, lower, named, spoken, foreign)


def _in_lines(text: str, lower: str, named: set[int], spoken: set[int], foreign: set[int]) -> Findings:
    """What stands in the lines that begin at these places, or follows from them."""
    from nacre.guard.assignments import assignments, commands
    from nacre.guard.labels import following, login_pairs, pairs, tables
    from nacre.guard.prose import answers, apposition
    from nacre.guard.tokens import headers

    lines = text.split("\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    for offset in sorted(named | spoken | foreign):
        at = bisect_right(offsets, offset) - 1
        line, low = lines[at], lower[offset : offset + len(lines[at])]
        if offset in named:
            yield from headers(line, low, offset)
            yield from assignments(line, low, offset)
            yield from pairs(text, line, offset)
        if offset in named or offset in spoken:
            for begin, end in _pieces(low):
                piece = (line[begin:end], low[begin:end], offset + begin)
                yield from commands(*piece)
                yield from english(*piece)
                yield from login_pairs(*piece)
        yield from apposition(line, low, offset)
        yield from answers(text, lower, offset, offset + len(line))
        if offset in foreign:
            yield from other_scripts(line, offset)
        yield from following(lines, at, offsets)
        yield from tables(lines, at, offsets)


def _pieces(lower: str) -> Iterator[tuple[int, int]]:
    """The line, or what lies about the hints in one that is too long for a sentence or a command."""
    if len(lower) <= LONG_LINE:
        yield 0, len(lower)
        return
    begin = end = 0
    for match in any_of(HINTS + SPOKEN_HINTS).finditer(lower):
        first, last = max(0, match.start() - BEFORE), match.end() + AFTER
        if first > end:
            if end:
                yield begin, end
            begin = lower.find(" ", first, match.start()) + 1 or first
        end = last
    yield begin, end


def _begins(text: str, hints: tuple[str, ...]) -> Iterator[int]:
    """Where each line begins that holds one of the words."""
    place = 0
    search = any_of(hints).search
    while match := search(text, place):
        yield text.rfind("\n", place, match.start()) + 1 or place
        place = text.find("\n", match.end()) + 1
        if not place:
            return


# Secrets are taken out of a text before it is written: each value gives way to its kind, the fact around it stays.

# No expression reaches further than this from a mark, so a second look need not read the rest again.
REACH = 6_000


def redact(text: str) -> Redaction:
    """The text with every secret replaced by its kind; what was marked before stays as it is."""
    found = list(_findings_in(text))
    while found:
        plain, origin, marks = marked(text, found)
        # A mark may bring two parts of a line together: look again around each until nothing new shows.
        again = [
            Finding(one.kind, origin(begin + one.start), origin(begin + one.end))
            for begin, end in _around(plain, marks)
            for one in _findings_in(plain[begin:end])
        ]
        if not again:
            return Redaction(plain, tuple(found))
        found = joined(found + again)
    return Redaction(text, ())


def refuse_secrets(text: str) -> None:
    """Stop a write that would store a secret; the sentence names its kind and never its value."""
    if findings := redact(text).findings:
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in findings))
        raise SecretRefused(
            say(
                f"This was not stored because it holds a secret ({kinds}). Say it without the value.",
                f"未保存：内容中含有敏感信息（{kinds}）。请去掉具体值后再试。",
            )
        )


def storable_name(name: str) -> str:
    """A name as it may be kept where it must be known again: itself, or its hash where it holds a secret."""
    return name if _is_clean(name) else hash_name(name)


def hash_name(name: str) -> str:
    return "#" + hashlib.blake2b(name.encode("utf-8", errors="replace"), digest_size=12).hexdigest()


@lru_cache(maxsize=4096)
def _is_clean(text: str) -> bool:
    """Whether a text can be written and holds no secret; the name of a file may be no text at all."""
    return redact(clean(text)).text == text


def _findings_in(text: str) -> Findings:
    """Secrets in the text as the eye reads it, at their places in the text as it is."""
    folded = fold(text)
    for one in merged(folded.text, list(scan(folded.text))):
        yield Finding(one.kind, *folded.original(one.start, one.end))


def _around(text: str, marks: Spans) -> Iterator[tuple[int, int]]:
    """Stretches of whole lines about the marks; a line that is longer than the reach is cut at a space."""
    begin = end = -1
    for start, stop in marks:
        first, last = _back(text, start), _forth(text, stop)
        if first <= end:
            end = last
        else:
            if end >= 0:
                yield begin, end
            begin, end = first, last
    if end >= 0:
        yield begin, end


def _back(text: str, place: int) -> int:
    limit = place - REACH
    if limit <= 0:
        return 0
    for cut in ("\n", " "):
        if (found := text.find(cut, limit, place)) >= 0:
            return found + 1
    return limit


def _forth(text: str, place: int) -> int:
    limit = place + REACH
    if limit >= len(text):
        return len(text)
    for cut in ("\n", " "):
        if (found := text.rfind(cut, place, limit)) >= 0:
            return found
    return limit


# The messages of a talk without their secrets: what one of them gives away is a secret in all the others too.

_CONTEXT = 300  # characters of an earlier message that are read with the next one
_AGO = 3  # messages that may lie between a question and its answer
_SHORTEST = 6  # characters; what is shorter may be an ordinary word elsewhere


def redact_messages(messages: Sequence[Message]) -> list[Message]:
    """Whole messages at a time, because a key over several lines is found only while its lines stand together."""
    texts = [clean(message.text) for message in messages]
    values: dict[str, str] = {}
    found: list[tuple[Finding, ...]] = []
    for place, text in enumerate(texts):
        own = redact(text).findings
        head = _question_before(texts[max(0, place - _AGO) : place])
        asked = redact(head + text).findings if head else ()
        late = tuple(
            Finding(one.kind, one.start - len(head), one.end - len(head)) for one in asked if one.start >= len(head)
        )
        found.append(own if _covers(own, late) else late)
        for one in (*own, *late):
            value = text[one.start : one.end].strip()
            if len(value) >= _SHORTEST and "\n" not in value:
                values[value] = one.kind
    return [
        replace(message, text=_without_values(text, findings, values))
        for message, text, findings in zip(messages, texts, found, strict=True)
    ]


def _question_before(earlier: Sequence[str]) -> str:
    """The end of the last message that asks for a secret or announces one, else of the last."""
    tails = [text[-_CONTEXT:] + "\n" for text in reversed(earlier) if text]
    return next((tail for tail in tails if awaits(tail)), tails[0] if tails else "")


def _covers(own: Sequence[Finding], late: Sequence[Finding]) -> bool:
    """Whether a message by itself gives away all that it does after the one before."""
    return all(any(one.start <= other.start and other.end <= one.end for one in own) for other in late)


def _without_values(text: str, findings: Sequence[Finding], values: dict[str, str]) -> str:
    for one in sorted(findings, key=lambda one: -one.start):
        text = text[: one.start] + mark(one.kind) + text[one.end :]
    text = redact(text).text
    for value, kind in sorted(values.items(), key=lambda item: -len(item[0])):
        if value in text:
            text = text.replace(value, mark(kind))
    return text


# Lines of a file as they may be shown: without secrets and what the eye cannot see, each still known by its number.

# Headings as we write them, in which nobody said anything: a name in them is a plain word, which cannot be a token.
_PLAIN_WORD = r"(?:[a-z]{1,20}|[\u4e00-\u9fff]{1,20})"
_OWN_HEADING = re.compile(
    r"# Session State|## (?:Key Decisions|Key Context|Blockers|\d\d:\d\d (?:note|session:[0-9a-f-]{1,12} \| \d{1,5} messages?)"
    rf"(?: \| (?:continued|(?:project|group):{_PLAIN_WORD}(?:-{_PLAIN_WORD}){{0,4}}(?:-[0-9a-f]{{6}})?))*)"
)


def safe_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines that may be shown; those that a secret went over are one with the line where it began."""
    # A heading of ours names a key or a session, which would call the whole guard to look at it.
    ours = {number: text for number, text in lines if _OWN_HEADING.fullmatch(text)}
    plain = "\n".join("" if number in ours else visible(text) for number, text in lines)
    redacted = redact(plain)
    hidden: set[int] = set()  # lines whose place a mark in the line before them took
    for one in redacted.findings:
        first = plain.count("\n", 0, one.start) + 1
        hidden.update(range(first, first + plain.count("\n", one.start, one.end)))
    kept = [line for at, line in enumerate(lines) if at not in hidden]
    texts = redacted.text.split("\n")
    return [(number, ours.get(number, new)) for (number, _), new in zip(kept, texts, strict=False)]


def visible(text: str) -> str:
    """A line without what the eye cannot see."""
    return clean(text.removesuffix("\r").replace("\r", " "))


def legible(text: str) -> str:
    """Words of memory as they may be shown: without secrets, nor what the eye cannot see."""
    return redact(clean(text)).text


def excerpt(text: str, most: int) -> str:
    """The beginning of such words on one line, as a sentence quotes them; a secret that the cut would halve is gone before."""
    return one_line(legible(text))[:most]
