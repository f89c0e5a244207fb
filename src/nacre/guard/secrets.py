"""Secrets are taken out of a text before it is written: each value gives way to its kind, the fact around it stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache

from nacre.errors import SecretRefused
from nacre.guard.finding import Finding, Findings, Redaction
from nacre.guard.folding import fold
from nacre.guard.merging import Spans, joined, marked, merged
from nacre.guard.sanitise import clean
from nacre.guard.scan import scan
from nacre.words import say

__all__ = ["Finding", "Redaction", "hashed", "name_kept", "redact", "refuse_secrets"]

# No expression reaches further than this from a mark, so a second look need not read the rest again.
REACH = 6_000


def redact(text: str) -> Redaction:
    """The text with every secret replaced by its kind; what was marked before stays as it is."""
    found = list(_found(text))
    while found:
        plain, origin, marks = marked(text, found)
        # A mark may bring two parts of a line together: look again around each until nothing new shows.
        again = [
            Finding(one.kind, origin(begin + one.start), origin(begin + one.end))
            for begin, end in _around(plain, marks)
            for one in _found(plain[begin:end])
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


def name_kept(name: str) -> str:
    """A name as it may be kept where it must be known again: itself, or its hash where it holds a secret."""
    return name if _is_clean(name) else hashed(name)


def hashed(name: str) -> str:
    return "#" + hashlib.blake2b(name.encode("utf-8", errors="replace"), digest_size=12).hexdigest()


@lru_cache(maxsize=4096)
def _is_clean(text: str) -> bool:
    """Whether a text can be written and holds no secret; the name of a file may be no text at all."""
    return redact(clean(text)).text == text


def _found(text: str) -> Findings:
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
