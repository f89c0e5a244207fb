"""Names with their secret values, as code, settings, forms, notes and sentences give them."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.names import NAME, Promise, promise, tail_allows
from nacre.guard.values import (
    DESCRIBING,
    NOT_A_SECRET,
    can_be_password,
    can_be_token,
    classes,
    entropy,
    is_hex,
    is_identifier,
    is_placeholder,
    is_random,
    is_reference,
)

TAIL = r"[A-Za-z0-9_\-]{0,40}"
QUOTES = {
    '"': '"',
    "'": "'",
    "`": "`",
    "“": "”",
    "「": "」",
    "‘": "’",
    "『": "』",
    '\\"': '\\"',
    "\\'": "\\'",
    "&quot;": "&quot;",
    "&#39;": "&#39;",
    "**": "**",
}
# Between the name and its value. A sentence may say for whom ("password for the router is ..."), code may close a quote.
LINK = (
    r"(?:\\?[\"'`\])]|&quot;|\*\*){0,2}"
    r"(?P<whom>\s+(?:for|of|to|on|in|at)\s+(?:[\w@.\-]{1,30}\s){0,3}?[\w@.\-]{1,30}?)?"
    r"(?:\s{0,8}(?P<mark>:=|=>|->|={1,3}|!=|:|:|=|是|为|改成|改为|改成了)\s{0,8}|\s{1,3}(?P<verb>is now|is still|is set to|is|was|will be|set to|changed to|should be|equals)(?::\s{0,3}|\s{1,3})(?:now |still )?)"
)
BARE = r"[^\s\"'`]{1,400}"
TYPE_THEN = r"(?:[A-Za-z_][\w.]*(?:\[[\w\[\], |.]{1,60}\])?(?:\s?\|\s?None)?\??)\s{0,3}=\s{0,3}(?=[bru]?[\"'])"
FALLBACK = r"[\w.]*(?:getenv|environ\.get|environ|env|ENV|fetch|get)\b[^\"'\n]{0,20}(?:\(|\[)[^\n]{0,80}?(?:,|\bor\b|\|\||\?\?|:)\s{0,3}(?=b?\\?[\"'][^\"'\n]{4,})"
KINDS = {Promise.PASSWORD: "password", Promise.TOKEN: "secret", Promise.KEY: "key"}


def can_assign(lower: str) -> bool:
    """Whether anything in the line links a name to a value."""
    return (
        ":" in lower
        or "=" in lower
        or ":" in lower
        or " is " in lower
        or " was " in lower
        or " to " in lower
        or "->" in lower
        or " be " in lower
        or "</" in lower
        or " equals " in lower
        or not lower.isascii()
    )


def assignments(line: str, lower: str, offset: int) -> Findings:
    """Every named secret in one line; `offset` is where the line begins in the text."""
    reached = 0
    for match in pattern(NAME).finditer(lower):
        if match.start() < reached:
            continue
        core = line[match.start() : match.end()]
        tail = pattern(TAIL).match(line, match.end())
        # A hyphen may belong to the link: "PASS - x" and "password->x".
        extra = tail.group().rstrip("-") if tail else ""
        if not tail_allows(core, extra):
            continue
        link = pattern(LINK).match(line, match.end() + len(extra))
        strength = promise(match, line) if link else None
        if not link or strength is None:
            continue
        span = _value(line, link.end(), core, strength, spoken=bool(link["verb"]))
        if span:
            reached = span[1]
            yield Finding(_kind(core, strength), offset + span[0], offset + span[1])
    if "</" in line:
        yield from _elements(line, offset)


def _kind(core: str, strength: Promise) -> str:
    lower = core.lower()
    if "token" in lower or lower in {"jwt", "bearer"}:
        return "token"
    if "key" in lower:
        return "key"
    if strength is Promise.PASSWORD and "phrase" in lower:
        return "passphrase"
    return {"cookie": "session cookie", "session": "session id"}.get(lower, KINDS[strength])


def _value(line: str, place: int, core: str, strength: Promise, *, spoken: bool) -> tuple[int, int] | None:
    """Where the value stands, if what follows the name can be one."""
    if typed := pattern(TYPE_THEN).match(line, place):
        place = typed.end()
    elif fallback := pattern(FALLBACK).match(line, place):
        place = fallback.end()
    if line[place : place + 1] in {"b", "r", "f", "u"} and line[place + 1 : place + 2] in {'"', "'"}:
        place += 1
    for opening, closing in QUOTES.items():
        if line.startswith(opening, place):
            begin = place + len(opening)
            end = line.find(closing, begin, begin + 4000)
            while end > 0 and len(closing) == 1 and line[end - 1] == "\\" and line[end - 2 : end - 1] != "\\":
                end = line.find(closing, end + 1, begin + 4000)
            if end < 0:
                end = begin + len(_bare(line, begin, in_query=False))
            value = line[begin:end]
            if link := pattern(r"[bru]?[\"']?\s{0,2}(?:or|\|\||\?\?)\s{0,2}(?=[\"'])").match(line, end + 1):
                return _value(line, link.end(), core, strength, spoken=spoken)
            return (begin, end) if _accept(value, core, strength, quoted=True) else None
    in_query = bool(pattern(r"[?&][\w.-]{0,40}$").search(line[max(0, place - 60) : max(0, place - 1)]))
    value = _bare(line, place, in_query=in_query)
    end = place + len(value)
    if not _accept(value, core, strength, quoted=False):
        return None
    if is_identifier(value) and not _plain_word_is_a_password(line, place, end, core, strength, spoken=spoken):
        return None
    return place, end


def _bare(line: str, place: int, *, in_query: bool) -> str:
    """An unquoted value: to the next space, without what closes or separates it."""
    match = pattern(BARE).match(line, place)
    if not match:
        return ""
    value = match.group()
    if value.count("=") > 4:
        return ""
    cut = r"</|<br|&lt;/?\w|;$|,$|[,;/](?=[A-Za-z_가-힣一-鿿 -]{1,24}[:=])|,(?=\w+/)"
    if in_query:
        cut += "|&|#"
    if found := pattern(cut).search(value):
        value = value[: found.start()]
    value = pattern(r"[.,;:?。,;]+$").sub("", value)
    for opening, closing in ("()", "[]", "{}"):
        while value.endswith(closing) and value.count(closing) > value.count(opening):
            value = value[:-1].rstrip(",;")
    return value.removesuffix("\\n").removesuffix("\\")


def _accept(value: str, core: str, strength: Promise, *, quoted: bool) -> bool:
    if strength is Promise.PASSWORD:
        if core.lower() in {"pass", "passes"} and value.isdigit():
            return False
        return can_be_password(value, quoted=quoted)
    if strength is Promise.TOKEN:
        if pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value):
            return _random_groups(value)
        return can_be_token(value)
    if not can_be_token(value, least=16) or is_reference(value):
        return False
    return is_random(value) or (
        core.lower() not in {"key", "keys", "session", "signature", "sig"} and is_hex(value) and entropy(value) > 3
    )


def _random_groups(value: str) -> bool:
    letters = value.replace("-", "")
    return len(set(letters)) >= 10 and not is_placeholder(value)


def _plain_word_is_a_password(line: str, place: int, end: int, core: str, strength: Promise, *, spoken: bool) -> bool:
    """A bare word after "password" is the password itself only where no variable and no description can stand."""
    value = line[place:end]
    if strength is not Promise.PASSWORD or value.lower() in NOT_A_SECRET:
        return False
    if (
        classes(value) >= 2
        and pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]").search(value)
        and line[place - 1] in ":="
        and not spoken
    ):
        # Fk3lXq-like passwords without digits pass only when they are no camelCase name.
        return not pattern(r"^[a-z]+(?:[A-Z][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$").match(value)
    if len(core) < 5 and not (core.isupper() and line[place - 1] == "="):
        return False
    at_end = pattern(r"[.!。]?\s*(?:$|[,;。,](?:\s|$))|[\"')\]]{1,3}$").match(line, end)
    if spoken:
        return bool(at_end) and value.islower() and len(value) >= 5 and not pattern(DESCRIBING).match(value)
    if place > 80:
        return False
    # NAME=word of a shell or settings file, "name: word" of a note.
    name_first = pattern(r"^[\s\-*>#+\d.]*(?:export |set |ENV |let )?[\w .\-\"']{0,40}[:=]\s{0,2}$").match(line[:place])
    if not (name_first and at_end):
        return False
    return line[place - 1] == "=" or (len(value) >= 5 and value.islower() and not pattern(DESCRIBING).match(value))


def _elements(line: str, offset: int) -> Findings:
    """<password>value</password>"""
    element = r"<([A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,200})?>\s{0,4}([^<>\s]{4,400})\s{0,4}</\1>"
    for match in pattern(element).finditer(line):
        name = pattern(NAME).search(match[1].lower())
        if not name or not tail_allows(core := match[1][name.start() : name.end()], match[1][name.end() :]):
            continue
        strength = promise(name, match[1])
        if strength and not is_identifier(match[2]) and _accept(match[2], core, strength, quoted=False):
            yield Finding(_kind(core, strength), offset + match.start(2), offset + match.end(2))
