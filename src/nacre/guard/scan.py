"""What is looked for where: the whole text for shapes, each line for names, a line with those after it for labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from nacre.guard.finding import LONG_RUN, MARK, Findings, any_of, lowered, pattern
from nacre.guard.languages import SCRIPT_HINTS, other_scripts
from nacre.guard.names import HINTS
from nacre.guard.prose import USED, english

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
        from nacre.guard.addresses import webhooks
        from nacre.guard.blocks import blocks
        from nacre.guard.headers import signed_tokens
        from nacre.guard.tokens import tokens

        yield from blocks(text)
        if "eyJ" in text:
            yield from signed_tokens(text)
        yield from tokens(text)
        yield from webhooks(text)
    elif "PRIVATE KEY" in text:
        from nacre.guard.blocks import blocks

        yield from blocks(text)
    if "://" in text or "jdbc:" in text:
        from nacre.guard.addresses import logins

        yield from logins(text)
    if "</" in text:
        from nacre.guard.fields import elements

        yield from elements(text)
    if pattern(r"\d(?:[ .-]?\d){2}").search(text):
        from nacre.guard.numbers import numbers

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
    from nacre.guard.answers import answers
    from nacre.guard.apposition import apposition
    from nacre.guard.assignments import assignments
    from nacre.guard.commands import commands
    from nacre.guard.fields import login_pairs, pairs
    from nacre.guard.following import following
    from nacre.guard.headers import headers
    from nacre.guard.tables import tables

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
