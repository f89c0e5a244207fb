"""Tokens that are known by their own shape, wherever they stand."""

from __future__ import annotations

from functools import cache

from nacre.guard.finding import LONG_RUN, Finding, Findings, pattern
from nacre.guard.values import changes, classes, is_hex, is_made_up, is_random, is_uuid
from nacre.guard.vendors import PREFIXED, SHAPED

# Ids that programs print all day: they look like keys and open nothing.
KNOWN_IDS = frozenset(
    """
    toolu msg call chatcmpl cmpl req resp rs fc ws asst thread file run step session sess_id org user proj batch ft ftjob cus pi sub evt price
    prod ch in txn acct card seti src gen id uid usr task job trace span img vol subnet vpc eni ami sg rtb igw snap eip build commit sha
    sha1 sha256 sha384 sha512 md5 integrity chunk index main vendor bundle style class css asset hash etag node page block item key_id
    event message channel conversation room agent srvtoolu container att dpl team cache sticky data ubuntu python node linux darwin
    """.split()
)
PUBLISHABLE = ("pk_live_", "pk_test_", "sb_publishable_", "phc_")
# No token is longer; without an end a text of nothing but beginnings would be read again for each.
LONGEST = 5_000


@cache
def _table() -> tuple[frozenset[str], dict[str, list[tuple[str, str, str]]], tuple[tuple[str, str, str], ...]]:
    """The plain beginnings by their first two characters, and those with a dot or slash that cut a run in two."""
    plain: dict[str, list[tuple[str, str, str]]] = {}
    cut: list[tuple[str, str, str]] = []
    for kind, prefixes, rest in PREFIXED:
        for prefix in prefixes.split():
            row = (kind, prefix, rest)
            # Where the rest may hold a slash or a plus sign, a run may end early.
            if pattern(r"^[A-Za-z0-9_-]{2,}$").match(prefix) and "+/" not in rest:
                plain.setdefault(prefix[:2], []).append(row)
            else:
                cut.append(row)
    for rows in plain.values():
        rows.sort(key=lambda row: -len(row[1]))
    return frozenset(plain), plain, tuple(cut)


def tokens(text: str) -> Findings:
    """Every token of a known shape, and every lone run of characters that only a machine makes."""
    seed = pattern(r"^\s{0,8}([A-Z2-7]{16}|[A-Z2-7]{26}|[A-Z2-7]{32}|[A-Z2-7]{52})\s*$").match(text)
    if seed and len(pattern("[2-7]").findall(seed[1])) >= 2 and not is_made_up(seed[1]):
        yield Finding("one-time code seed", *seed.span(1))
    starts, plain, cut = _table()
    public = _public_blocks(text)
    for match in pattern(LONG_RUN).finditer(text):
        start, end = match.span()
        if public and any(begin <= start < stop for begin, stop in public):
            continue
        places = [start]
        before = text[start - 1] if start else ""
        if before == "\\" and text[start] in "nrt":
            places.append(start + 1)
        elif before == "%":
            places.append(start + 2)
        # In names of files and folders a token follows other words.
        places += [at for at in range(start + 1, min(start + 60, end)) if text[at - 1] in "-_" and text[at].isalpha()]
        found = False
        for place in places:
            if text[place : place + 2] in starts:
                for kind, prefix, rest in plain[text[place : place + 2]]:
                    if text.startswith(prefix, place) and (one := _match(kind, prefix, rest, text, place)):
                        yield one
                        found = True
                        break
            if found:
                break
        if not found and (one := _unknown(text, start, end)):
            yield one
    for kind, prefix, rest in cut:
        place = text.find(prefix)
        while place >= 0:
            one = None if place and text[place - 1].isalnum() else _match(kind, prefix, rest, text, place)
            if one:
                yield one
            place = text.find(prefix, one.end if one else place + len(prefix))
    if pattern(r"(?:AK|AS)IA[A-Z0-9]{16}").search(text):
        yield from _aws_secrets(text)
    for kind, sign, shape in SHAPED:
        if pattern(sign).search(text):
            for match in pattern(r"(?<![A-Za-z0-9_/+-])(?:" + shape + r")(?![A-Za-z0-9_-])").finditer(text):
                if not is_made_up(match.group()) and not _even_start(match.group()):
                    yield Finding(kind, *match.span())


def _aws_secrets(text: str) -> Findings:
    """Forty characters of base64, told by the id that stands with them."""
    for match in pattern(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_.-])").finditer(text):
        value = match.group()
        if classes(value) >= 3 and changes(value) >= 0.4 and not is_made_up(value):
            yield Finding("aws secret", *match.span())


def _public_blocks(text: str) -> list[tuple[int, int]]:
    """Certificates and public keys: as random as private ones, and made to be shown."""
    found: list[tuple[int, int]] = []
    place = text.find("-----BEGIN ")
    while 0 <= place < len(text) and len(found) < 200:
        end = text.find("-----END ", place)
        if end < 0:
            break
        begin = text.rfind("-----BEGIN ", place, end)
        if pattern("-----BEGIN (?![A-Z ]*PRIVATE)[A-Z0-9 ]{3,40}-----").match(text, begin):
            found.append((begin, end))
        place = text.find("-----BEGIN ", end)
    return found


def _even_start(value: str) -> bool:
    return len(set(value[:20])) < 4 and not value.startswith("AAAA")


def _match(kind: str, prefix: str, rest: str, text: str, place: int) -> Finding | None:
    match = pattern(rf"(?:{rest})(?![A-Za-z0-9])").match(text, place + len(prefix), place + LONGEST)
    if not match or is_made_up(match.group()):
        return None
    end = match.end()
    # A token at the end of a sentence keeps its full stop out of the mark.
    while end > place and text[end - 1] in ".-" and end - place > 20:
        end -= 1
    return Finding(kind, place, end)


def _unknown(text: str, start: int, end: int) -> Finding | None:
    """A token of a vendor we do not know: a short beginning and a random rest, or a random run that stands alone."""
    value = text[start:end]
    if not 20 <= len(value) <= 300 or is_uuid(value) or is_made_up(value):
        return None
    if (
        value.startswith(PUBLISHABLE)
        or pattern(r"[_-]").split(value.lower(), maxsplit=1)[0] in KNOWN_IDS
        or pattern("^AAAA[A-Z]..?(?:NzaC1|VjZHNh)").match(value)
    ):
        return None
    before = text[max(0, start - 12) : start]
    after = text[end : end + 2]
    if _inside_something(before, after):
        return None
    if match := pattern(r"^([A-Za-z]{2,12}(?:[_-][a-z0-9]{1,8}){0,2})[_-]([A-Za-z0-9]{20,}|[A-Za-z0-9_-]{24,})$").match(
        value
    ):
        name, body = match.groups()
        if is_made_up(body):
            return None
        if is_random(body) or (is_hex(body) and len(body) >= 32 and "_" in value and name.islower()):
            return Finding("access token", start, end)
        return None
    # Padding belongs to the value.
    stop = end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
    if len(value) >= 24 and "-" not in value and "_" not in value and is_random(value):
        return Finding("key", start, stop)
    return (
        Finding("key", start, stop)
        if len(value) >= 32 and is_random(value) and value.count("-") + value.count("_") <= 4
        else None
    )


def _inside_something(before: str, after: str) -> bool:
    """Part of an address, a path, a checksum or a larger block of base64."""
    last = before[-1:]
    if (
        (last and last in "/+.@#~\\&?%")
        or after[:1] in {"/", "+", "(", "@"}
        or (after[:1] == "." and after[1:2].isalnum())
    ):
        return True
    return bool(
        pattern(
            r"(?i)(?:sha\d*|md5|base64|integrity|hash|etag|digest|checksum|id|ref|commit|boundary|nonce|h1)[\"']?\s?[-:=,]+\s?[\"'<]?$"
        ).search(before)
    )
