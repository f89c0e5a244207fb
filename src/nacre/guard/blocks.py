"""Private keys and other secrets that stand in blocks, also when the block was cut off."""

from __future__ import annotations

import base64
import binascii

from nacre.guard.finding import Finding, Findings, pattern

BEGIN = r"-{4,5} ?BEGIN (?P<what>[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?) ?-{4,5}"
END = r"-{4,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}"
# What may stand between the two lines: base64, headers such as "Proc-Type: 4,ENCRYPTED", quoting, escaped line ends,
# and what a log or a diff puts before each line.
BODY_LINE = (
    r"(?:[ \t>|+#\"'`,*/.\d:\[\]T-]{0,40}(?:[A-Za-z0-9+/=]{16,}|=[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{1,15}={1,2})[\"'`,;\\ \t+]{0,8}"
    r"|[ \t>+#\"'-]{0,10}(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|Subject|X-[\w-]+): ?[^\n]{0,120}|[ \t>+#\"']{0,8})"
)
LINE_END = r"(?:\r?\n|(?:\\{1,4}[rn]){1,2}|$)"


def blocks(text: str) -> Findings:
    if "PRIVATE KEY" in text:
        yield from _armoured(text)
    if "PuTTY-User-Key-File" in text:
        lines = pattern(r"Private-Lines: ?\d+((?:\r?\n[A-Za-z0-9+/=]+){1,200})(?:\r?\nPrivate-MAC: ?[0-9a-f]+)?")
        for match in lines.finditer(text):
            yield Finding("private key", match.start(1), match.end())
    if '"kty"' in text:
        yield from _web_keys(text)
    yield from _encoded(text)


def _armoured(text: str) -> Findings:
    place = 0
    while begin := pattern(BEGIN).search(text, place):
        following = pattern(BEGIN).search(text, begin.end())
        end = pattern(END).search(text, begin.end(), following.start() if following else len(text))
        closed = end and end.start() - begin.end() < 40_000
        place = end.end() if end and closed else _end_of_body(text, begin.end())
        body = pattern(r"[A-Za-z0-9+/]{16,}").search(text, begin.end(), place)
        # An encrypted key without its body says nothing; a plain one is marked even so, for the rest may follow.
        if body or "ENCRYPTED" not in begin["what"]:
            yield Finding("private key", begin.start(), place)


def _end_of_body(text: str, place: int) -> int:
    """How far a key without its last line reaches."""
    first = pattern(r"[\"'`,;+ \t]{0,6}" + LINE_END).match(text, place)
    if not first:
        one_line = pattern(r"[ \t]{0,4}[A-Za-z0-9+/=]{16,}").match(text, place)
        return one_line.end() if one_line else place
    reached = place
    here = first.end()
    whole = pattern(BODY_LINE + LINE_END)
    while here < len(text) and (line := whole.match(text, here)) and line.end() > here:
        here = line.end()
        if line.group().strip():
            reached = len(text[: line.end()].rstrip()) if text[line.end() - 1 : line.end()] == "\n" else line.end()
    return reached


def _web_keys(text: str) -> Findings:
    for match in pattern(r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,4}:\s{0,4}\"([A-Za-z0-9_=-]{16,})\"").finditer(text):
        yield Finding("private key", *match.span(1))


def _encoded(text: str) -> Findings:
    """Base64 that hides a key or a login: read once, in the few forms that begin like structured text."""
    if not pattern(r"eyJ|ewog|ewoJ|Wwog|W3si|[MNO][DTjz][A-Za-z][wxyz0-5]").search(text):
        return
    run = r"(?<![A-Za-z0-9+/=_-])(?:eyJ|ewo|Wwo|W3si|[MNO][DTjz][A-Za-z][wxyz0-5])[A-Za-z0-9+/]{28,20000}={0,2}(?![A-Za-z0-9+/_.-])"
    for match in pattern(run).finditer(text):
        try:
            plain = base64.b64decode(match.group()[: len(match.group()) // 4 * 4])
        except (binascii.Error, ValueError):
            continue
        if pattern(r'"kty".{0,400}"d"|"d".{0,400}"kty"|private_key|"(?:password|secret|auth)"', 16).search(
            plain.decode("latin-1")
        ):
            yield Finding("private key" if b"k" in plain[:200] and b"kty" in plain else "credentials", *match.span())
        elif pattern(r"^\d{10,12}:[^\x20-\x7e]*").match(plain.decode("latin-1")) and len(match.group()) == 44:
            yield Finding("atlassian token", *match.span())
