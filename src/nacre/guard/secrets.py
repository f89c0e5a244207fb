"""Secrets are taken out of a text before it is written: each value gives way to its kind, the fact around it stays."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from nacre.errors import SecretRefused
from nacre.guard.addresses import logins, webhooks
from nacre.guard.assignments import assignments, can_assign
from nacre.guard.blocks import blocks
from nacre.guard.commands import commands
from nacre.guard.finding import MARK, Finding, Findings, Redaction, holds_any, lowered, mark, pattern
from nacre.guard.headers import headers, signed_tokens
from nacre.guard.names import HINTS
from nacre.guard.prose import CHINESE_HINTS, chinese, english
from nacre.guard.tokens import LONG_RUN, tokens
from nacre.words import say

ENGLISH_HINTS = ("code", "verify", "pin", "log", "sign", "ssh", "connect", "identified", "助记词", "wallet", "recovery", "curl", "redis-cli", "zip", "7z", "sudo -s", "net use", "smb", "mnemonic", "plink", "mysql", "maria", "mongo", "ldap", "sqlcmd", "securestring", "docker", "podman")  # fmt: skip
__all__ = ["Finding", "Redaction", "redact", "refuse_secrets"]


def redact(text: str) -> Redaction:
    """The text with every secret replaced by its kind; what was marked before stays as it is."""
    found = _merged(text, list(_scan(text)))
    while found:
        marked, origin = _marked(text, found)
        # A mark may bring two parts of a line together: look again until nothing new shows.
        again = _merged(marked, list(_scan(marked)))
        if not again:
            return Redaction(marked, tuple(found))
        found = _merged(text, found + [Finding(one.kind, origin(one.start), origin(one.end)) for one in again])
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


def _scan(text: str) -> Findings:
    # Everything a machine makes is a long run of letters and digits; ordinary sentences have none.
    if pattern(LONG_RUN).search(text):
        yield from blocks(text)
        if "eyJ" in text:
            yield from signed_tokens(text)
        yield from tokens(text)
        yield from webhooks(text)
    elif "PRIVATE KEY" in text:
        yield from blocks(text)
    if "://" in text or "jdbc:" in text:
        yield from logins(text)
    offset = 0
    for line in text.split("\n"):
        if line:
            yield from _scan_line(line, offset)
        offset += len(line) + 1


def _scan_line(line: str, offset: int) -> Findings:
    lower = lowered(line)
    named = holds_any(lower, HINTS)
    if named or holds_any(lower, ENGLISH_HINTS):
        if named:
            yield from headers(line, lower, offset)
            if can_assign(lower):
                yield from assignments(line, lower, offset)
        yield from commands(line, lower, offset)
        yield from english(line, lower, offset)
    if not line.isascii() and holds_any(line, CHINESE_HINTS):
        yield from chinese(line, offset)


def _merged(text: str, findings: list[Finding]) -> list[Finding]:
    """In order, apart from each other, outside earlier marks; the most telling kind names what overlapped."""
    if not findings:
        return []
    marks = [match.span() for match in pattern(MARK).finditer(text)]
    pieces = [piece for finding in findings for piece in _outside(text, finding, marks)]
    pieces += _repeated(text, pieces, marks)
    pieces.sort(key=lambda piece: (piece.start, piece.end))
    merged: list[Finding] = []
    for piece in pieces:
        if merged and piece.start < merged[-1].end:
            last = merged.pop()
            kind = last.kind if _telling(last) <= _telling(piece) else piece.kind
            piece = Finding(kind, last.start, max(last.end, piece.end))  # noqa: PLW2901 - the two are one now
        merged.append(piece)
    return merged


PLAIN_KINDS = ("password", "token", "secret", "access token", "key")


def _telling(finding: Finding) -> int:
    """A block swallows all, a vendor's name says more than "password", and that more than "key"."""
    if finding.kind == "private key":
        return -1
    return PLAIN_KINDS.index(finding.kind) + 1 if finding.kind in PLAIN_KINDS else 0


def _outside(text: str, finding: Finding, marks: list[tuple[int, int]]) -> Findings:
    start = finding.start
    for begin, end in marks:
        if end <= start or begin >= finding.end:
            continue
        if _holds_something(text[start:begin]):
            yield Finding(finding.kind, start, begin)
        start = end
    if start == finding.start or _holds_something(text[start : finding.end]):
        yield Finding(finding.kind, start, finding.end)


def _holds_something(piece: str) -> bool:
    return sum(map(str.isalnum, piece)) >= 4


def _repeated(text: str, findings: list[Finding], marks: list[tuple[int, int]]) -> list[Finding]:
    """The same value where nothing announces it: who writes a password twice names it once."""
    kinds = {text[one.start : one.end]: one.kind for one in findings if 6 <= one.end - one.start <= 200}
    more: list[Finding] = []
    if len(kinds) > 50:
        return more
    for value, kind in kinds.items():
        if value.isalpha() or value.isdigit():
            continue
        place = text.find(value)
        while place >= 0:
            end = place + len(value)
            apart = not (text[place - 1 : place].isalnum() and value[0].isalnum()) and not (
                text[end : end + 1].isalnum() and value[-1].isalnum()
            )
            if apart and not any(begin < end and place < stop for begin, stop in marks):
                more.append(Finding(kind, place, end))
            place = text.find(value, end)
    return more


def _marked(text: str, findings: list[Finding]) -> tuple[str, Callable[[int], int]]:
    """The text with marks, and the way back from a place in it to the place in the original."""
    parts: list[str] = []
    kept: list[tuple[int, int]] = []
    place = length = 0
    for finding in findings:
        kept.append((length, place))
        parts += (text[place : finding.start], mark(finding.kind))
        length += finding.start - place + len(parts[-1])
        place = finding.end
    kept.append((length, place))
    parts.append(text[place:])

    def origin(at: int) -> int:
        begin, original = kept[bisect_right(kept, at, key=lambda one: one[0]) - 1]
        return original + at - begin

    return "".join(parts), origin
