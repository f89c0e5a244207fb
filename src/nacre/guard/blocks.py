"""Private keys and other secrets that stand in blocks, also when the block was cut off."""

from __future__ import annotations

import base64
import binascii

from nacre.guard.finding import Finding, Findings, pattern

# Editors turn the hyphens into dashes.
BEGIN = r"[-–—]{2,5} ?BEGIN (?P<what>[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?) ?[-–—]{2,5}"
END = r"[-–—]{2,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?[-–—]{2,5}"
# The first bytes of a private key in DER: RSA and PKCS #8, elliptic curves, Ed25519.
BARE = r"(?<![A-Za-z0-9+/])(?:MII[B-J][A-Za-z0-9+/]{2}IBA[AD][KA]|MII[C-J][A-Za-z0-9+/]{2}[A-Z]BOBgkqhkiG9w0BBQ0w|M[A-I][A-Za-z0-9+/]{1,2}C?AgEAMB[MAI]GByqGSM4|MHcCAQEEI|MC4CAQAwBQYDK2Vw)[A-Za-z0-9+/]{20,}={0,2}"
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
    if "MI" in text or "MHcCAQEE" in text or "MC4CAQ" in text:
        for match in pattern(BARE).finditer(text):
            yield Finding("private key", match.start(), max(match.end(), _end_of_lines(text, match.end())))
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
        # A sentence that goes on behind the line only speaks of it.
        spoken = pattern(r"[\"'`]? [a-z]{2,} [a-z]").match(text, begin.end())
        if body or ("ENCRYPTED" not in begin["what"] and not spoken):
            yield Finding("private key", begin.start(), place)
    yield from _ends(text)


def _ends(text: str) -> Findings:
    """The rest of a key whose first line was cut off."""
    for end in pattern(END).finditer(text):
        start = reached = end.start()
        for _ in range(400):
            before = text.rfind("\n", 0, max(0, start - 1)) + 1
            line = text[before:start]
            if before >= start or len(line) > 200 or not pattern(BODY_LINE + LINE_END).fullmatch(line):
                break
            if pattern(r"[A-Za-z0-9+/]{16,}").search(line):
                reached = before
            start = before
        if reached < end.start():
            begin = pattern(r"[\s>\"'`]*").match(text, reached)
            yield Finding("private key", begin.end() if begin else reached, end.end())


def _end_of_body(text: str, place: int) -> int:
    """How far a key without its last line reaches."""
    first = pattern(r"[\"'`,;+ \t]{0,6}" + LINE_END).match(text, place)
    if not first:
        one_line = pattern(r"[ \t]{0,4}[A-Za-z0-9+/=]{16,}").match(text, place)
        return one_line.end() if one_line else place
    return _end_of_lines(text, place, first.end())


def _end_of_lines(text: str, place: int, here: int | None = None) -> int:
    """Where the lines of base64 end that follow a place."""
    reached = place
    if here is None:
        first = pattern(LINE_END).match(text, place)
        here = first.end() if first else len(text)
    whole = pattern(BODY_LINE + LINE_END)
    while here < len(text) and (line := whole.match(text, here)) and line.end() > here:
        here = line.end()
        if line.group().strip():
            reached = line.start() + len(line.group().rstrip())
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
