"""Secrets are replaced by their kind before a text is written or displayed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING

from nacre.errors import SecretRefused
from nacre.guard.assignments import HINTS, assignments, commands, elements, following, pairs, tables
from nacre.guard.prose import SCRIPT_HINTS, USED, answers, awaits, english, other_scripts
from nacre.guard.sanitise import clean, fold, one_line
from nacre.guard.spoken import announced_values
from nacre.guard.tokens import blocks, headers, logins, tokens
from nacre.guard.values import LONG_RUN, Finding, Findings, Redaction, any_of, numbers, pattern

if TYPE_CHECKING:
    from nacre.model.session import Message

# Words of sentences and commands that may give a secret away without naming it.
SPOKEN_HINTS = (
    "code", "verify", "pin", "login", "log in", "logged", "log on", "sign in", "signed in", "ssh", "connect", "identified", "wallet", "recovery", "curl", "http -",
    "redis-cli", "zip -", "7z", "sudo -s", "net use", "smb", "mnemonic", "plink", "mysql", "maria", "mongo", "ldap", "sqlcmd", "docker", "podman", "códi", "codi",
    "puk", "safe", "locker", "combination", "zugang", "identifiants", "account", "openssl", "rar ", "/p:", "answer", "insert into", "助记", "助記",
    "2fa", "验证器", "步验证", "次验证", "重验证", "态口令", "门禁", "取件", "开门码", "impacket", "wget", "wandb", "configure set", "config set", "sign-in", "user/", "id/", "admin", "root", " / ", "crypted", "protected", "unlock", "opens", "psexec", "snmp", ":543", ":*:",
    *USED,
)  # fmt: skip
MARK = r"\[redacted: [a-z0-9 -]{1,40}\]"
LONG_LINE = 8_000
BEFORE, AFTER = 300, 1_300


def scan(text: str) -> Findings:
    """Every secret in a folded text; findings may overlap."""
    if "[redacted: " in text:
        # The kind that a mark names announces nothing.
        text = pattern(MARK).sub(lambda match: "[redacted" + "·" * (len(match.group()) - 10) + "]", text)
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
    named, spoken = set(_lines_with(HINTS, lower)), set(_lines_with(SPOKEN_HINTS, lower))
    foreign = set() if text.isascii() else set(_lines_with(SCRIPT_HINTS, text))
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
    for match in any_of(HINTS + SPOKEN_HINTS).finditer(lower):
        first, last = max(0, match.start() - BEFORE), match.end() + AFTER
        if first > end:
            if end:
                yield begin, end
            begin = lower.find(" ", first, match.start()) + 1 or first
        end = last
    yield begin, end


def _lines_with(hints: tuple[str, ...], text: str) -> Iterator[int]:
    place = 0
    while match := any_of(hints).search(text, place):
        yield text.rfind("\n", place, match.start()) + 1 or place
        place = text.find("\n", match.end()) + 1 or len(text) + 1


def redact(text: str) -> Redaction:
    """The text with every secret replaced by its kind; what was marked before stays as it is."""
    findings: list[Finding] = []
    plain, kept = text, [(0, 0)]  # where each part that is not a mark begins in the plain text, and in the original

    def original(at: int) -> int:
        begin, place = kept[bisect_right(kept, at, key=itemgetter(0)) - 1]
        return place + at - begin

    # A mark may bring two parts of a line together: look again until nothing new shows.
    while new := [
        Finding(finding.kind, original(finding.start), original(finding.end)) for finding in _findings_in(plain)
    ]:
        findings = _joined(findings + new)
        parts: list[str] = []
        kept = [(0, 0)]
        for finding in findings:
            length, place = kept[-1]
            parts += (text[place : finding.start], _mark(finding.kind))
            kept.append((length + len(parts[-2]) + len(parts[-1]), finding.end))
        plain = "".join((*parts, text[kept[-1][1] :]))
    return Redaction(plain, tuple(findings))


def refuse_secrets(text: str) -> None:
    """Stop a write that would store a secret; the sentence names its kind and never its value."""
    if findings := redact(text).findings:
        kinds = ", ".join(dict.fromkeys(finding.kind for finding in findings))
        raise SecretRefused(
            f"This was not stored because it holds a secret ({kinds}). Say it without the value.",
            f"未保存：内容中含有敏感信息（{kinds}）。请去掉具体值后再试。",
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


def _findings_in(text: str) -> Findings:
    """Secrets in the text as the eye reads it, at their places in the text as it is."""
    folded = fold(text)
    for finding in _merged(folded.text, list(scan(folded.text))):
        yield Finding(finding.kind, *folded.original(finding.start, finding.end))


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
    marks = [match.span() for match in pattern(MARK).finditer(text)]
    pieces: list[Finding] = []
    for finding in findings:
        start = finding.start
        for at in range(bisect_right(marks, start, key=itemgetter(1)), len(marks)):
            begin, end = marks[at]
            if begin >= finding.end:
                break
            if sum(map(str.isalnum, text[start:begin])) >= LEAST:
                pieces.append(Finding(finding.kind, start, begin))
            start = end
        if start == finding.start or sum(map(str.isalnum, text[start : finding.end])) >= LEAST:
            pieces.append(Finding(finding.kind, start, finding.end))
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
        for finding in sorted(own if covered else late, key=lambda finding: -finding.start):
            text = text[: finding.start] + _mark(finding.kind) + text[finding.end :]  # noqa: PLW2901
        redacted.append(redact(text).text)
    for value, kind in sorted(values.items(), key=lambda item: -len(item[0])):
        redacted = [text.replace(value, _mark(kind)) for text in redacted]
    return [replace(message, text=text) for message, text in zip(messages, redacted, strict=True)]


# Headings as we write them, in which nobody said anything: a name in them is a plain word, which cannot be a token.
_PLAIN_WORD = r"(?:[a-z]{1,20}|[\u4e00-\u9fff]{1,20})"
_OWN_HEADING = (
    r"# Session State|## (?:Key Decisions|Key Context|Blockers|\d\d:\d\d (?:note|session:[0-9a-f-]{1,12} \| \d{1,5} messages?)"
    rf"(?: \| (?:continued|(?:project|group):{_PLAIN_WORD}(?:-{_PLAIN_WORD}){{0,4}}(?:-[0-9a-f]{{6}})?))*)"
)


def safe_lines(lines: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Numbered lines of a file as they may be shown; those that a secret went over are one with the line where it began."""
    # A heading of ours names a key or a session, which would call the whole guard to look at it.
    ours = {number: text for number, text in lines if pattern(_OWN_HEADING).fullmatch(text)}
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
    return one_line(legible(text))[:most]
