"""Secrets announced by a label: a field, a column of a table, the line before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from nacre.guard.assignments import accepts, kind_of, random_groups
from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.names import KOREAN_NAME, NAME, SCRIPT_NAME, TAIL, Promise, promise, tail_allows
from nacre.guard.values import can_be_password, is_identifier, only_a_password, only_a_token

CODE_LABELS = (
    r"(?:one[- ]time|verification|security|recovery|backup|2fa|mfa|login|sign-in|confirmation)\s(?:pass)?codes?|otp"
)


@dataclass(frozen=True)
class Label:
    """A name that announces a secret, the kind of it, and where the name stands in its text."""

    kind: str
    strength: Promise
    core: str
    start: int
    end: int


def label(text: str) -> Label | None:
    """The last name of a secret in the text; none when it speaks of something else."""
    found = None
    lower = text.lower() if len(text.lower()) == len(text) else text
    for match in pattern(NAME).finditer(lower):
        core = text[match.start() : match.end()]
        tail = pattern(TAIL).match(text, match.end())
        extra = tail.group().rstrip("-_") if tail else ""
        if tail_allows(core, extra) and (strength := promise(match, text)) is not None:
            found = Label(kind_of(core, strength), strength, core, match.start(), match.end() + len(extra))
    for match in pattern(CODE_LABELS).finditer(lower):
        found = Label("one-time code", Promise.TOKEN, match.group(), *match.span())
    if not text.isascii():
        for match in pattern(KOREAN_NAME).finditer(text):
            found = Label("password", Promise.FOREIGN, match.group(), *match.span())
        for match in pattern(SCRIPT_NAME).finditer(text):
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            strength = Promise.TOKEN if match["token"] else Promise.FOREIGN
            found = Label(kind, strength, match.group(), *match.span())
    return found


def fits(one: Label, value: str) -> bool:
    """Whether a value that stands apart from its label can be nothing but the secret."""
    if one.kind == "one-time code":
        return bool(
            pattern(r"^(?:\d{4,8}|\d{3}[- ]\d{3}|(?=.*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3})$").match(value.lower())
        )
    if one.strength is Promise.KEY:
        return accepts(value, one.core, one.strength, quoted=True)
    if one.strength is Promise.TOKEN:
        return only_a_token(value) or bool(
            pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value) and random_groups(value)
        )
    return only_a_password(value) and not pattern(r"^[\w-]+[:=]").match(value) and can_be_password(value, quoted=True)


# Names and values that stand in separate fields: name/value pairs, elements, tuples of a login.

NAMED = r"(?<![A-Za-z])(?:name|key|id|field|label|title|variable|param|property)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?P<name>[\w.:-]{2,60})\\?[\"']?"
VALUED = r"(?:[\s,;]|\\[\"'nt]|type\s?[:=]\s?[\"']?\w{2,20}[\"']?|[\"']){0,60}?(?:value|default|content|text)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?(?:[\"'](?P<quoted>[^\"'\n\\]{4,400})\\?[\"']|(?P<bare>[^\s\"',}<>]{4,400}))"
ELEMENT = r"<([A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,200})?>\s{0,4}([^<>\s]{4,400})\s{0,4}</\1>"
LABELLED = r"<\w[\w:.-]{0,40}\s[^<>]{0,80}?(?:name|key|id)=[\"'](?P<name>[\w.:-]{2,60})[\"'][^<>]{0,80}>\s{0,4}(?P<bare>[^<>\s]{4,400})\s{0,4}</"
KEY_THEN_STRING = r"<key>(?P<name>[\w.:-]{2,60})</key>\s{0,12}<string>\s{0,4}(?P<bare>[^<>\n]{4,400}?)\s{0,4}</string>"
LOGIN_PAIR = (
    r"(?:auth|BasicAuth|Credentials?(?:\.\w{2,20})?|login|Login|authenticate|setCredentials|PasswordAuthentication|PlainTextAuthProvider)(?:\s{0,2}=)?\s{0,2}[(\[]\s{0,2}"
    r"[\"'][^\"'\n]{1,60}[\"']\s{0,2},\s{0,2}[bru]?[\"'](?P<quoted>[^\"'\n]{4,100})[\"']"
)


def login_pairs(line: str, lower: str, offset: int) -> Findings:
    """auth=("bob", "value")"""
    if "auth" in lower or "cred" in lower or "login" in lower:
        for match in pattern(LOGIN_PAIR).finditer(line):
            if only_a_password(match["quoted"]) and can_be_password(match["quoted"], quoted=True):
                yield Finding("password", offset + match.start("quoted"), offset + match.end("quoted"))


def pairs(text: str, line: str, offset: int) -> Findings:
    """name: DB_PASSWORD, value: x; the value may stand on the line after, so it is looked for in the text."""
    if not pattern("name|key|id|field|label|title|variable|param|property").search(line):
        return
    for match in pattern(NAMED).finditer(line):
        if found := label(match["name"]):
            value = pattern(VALUED).match(text, offset + match.end())
            group = "quoted" if value and value["quoted"] else "bare"
            if value and _fits(value[group], found, quoted=group == "quoted"):
                yield Finding(found.kind, *value.span(group))


def elements(text: str) -> Findings:
    """<password>value</password>, <entry key="password">value</entry>, <key>password</key><string>value</string>"""
    for match in pattern(ELEMENT).finditer(text):
        if (found := label(match[1])) and _fits(match[2], found, quoted=False):
            yield Finding(found.kind, *match.span(2))
    for expression in (LABELLED, KEY_THEN_STRING):
        for match in pattern(expression).finditer(text):
            if (found := label(match["name"])) and _fits(match["bare"], found, quoted=False):
                yield Finding(found.kind, *match.span("bare"))


def _fits(value: str, label: Label, *, quoted: bool) -> bool:
    return not is_identifier(value) and accepts(value, label.core, label.strength, quoted=quoted)


# Secrets in tables: a cell beside the cell with their name, or a column under it.

ROWS = 400
RULE = r"^[\s:|]*-[\s:|-]*$"
Cell = tuple[str, int]


def tables(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What line `at` holds beside a name, or what the column holds that it names."""
    line = lines[at]
    if len(line) > 4000:
        return
    if "|" in line:
        cells = list(_cells(line, "|"))
        yield from _beside(cells, offsets[at])
        ruled = at + 1 < len(lines) and pattern(RULE).match(lines[at + 1])
        if ruled:
            yield from _below(lines, at, offsets, cells, "|")
        return
    if not pattern(r"[\w .\t,;\"-]{3,400}").fullmatch(line):
        return
    for mark in (",", "\t", ";"):
        if mark in line:
            cells = list(_cells(line, mark))
            # Only the first line of a table names its columns.
            first = not at or lines[at - 1].count(mark) != line.count(mark)
            if first and len(cells) > 1 and all(pattern(r"^\w[\w .-]{0,30}$").match(cell) for cell, _ in cells):
                yield from _below(lines, at, offsets, cells, mark)
            return


def _cells(line: str, mark: str) -> Iterator[Cell]:
    """Each cell without its emphasis and quotes, and where it begins."""
    place = 0
    for part in line.split(mark):
        plain = part.lstrip(" \t*_`\"'>")
        yield plain.rstrip(" \t*_`\"'\r"), place + len(part) - len(plain)
        place += len(part) + 1


def _beside(cells: list[Cell], offset: int) -> Findings:
    for (name, _), (value, place) in pairwise(cells):
        found = _names_a_column(name)
        if found and value and fits(found, value):
            yield Finding(found.kind, offset + place, offset + place + len(value))


def _below(lines: list[str], at: int, offsets: list[int], header: list[Cell], mark: str) -> Findings:
    columns = {number: found for number, (name, _) in enumerate(header) if (found := _names_a_column(name))}
    for place in range(at + 1, min(at + ROWS, len(lines))) if columns else ():
        line = lines[place]
        if mark not in line or len(line) > 4000 or (place > at + 1 and pattern(RULE).match(line)):
            return
        row = list(_cells(line, mark))
        if len(row) != len(header):
            return
        for number, found in columns.items():
            value, start = row[number]
            if value and fits(found, value):
                yield Finding(found.kind, offsets[place] + start, offsets[place] + start + len(value))


def _names_a_column(name: str) -> Label | None:
    """A cell that is the name and little else."""
    found = label(name) if 2 <= len(name) <= 40 else None
    return found if found and not name[found.end :].strip(" :?()*_") else None


# Values on a line of their own, after a line that ends with their name: notes, forms, YAML blocks, fenced lines.

# What may stand between the name and the end of its line.
CLOSING = r"[\s:=*_`\"'>|\-–—{(\[~#]+$"
SPOKEN = r"\s(?:is|are|ist|est|es|as follows|below|is as follows)$|(?:如下|是|为)$"
FOR_WHOM = r"^\s(?:for|of|to|on|in)\s[\w@.' -]{1,40}$|^\s?[(\[][^()\[\]]{1,30}[)\]]$|^如下$"
VALUE_ALONE = r"[\s>*+•-]{0,16}(?:(?:value|default|stringdata)\s?:\s?)?[\"'`*“「<]{0,3}(?P<value>[^\s\"'`“”「」*<>]{4,400})[\"'`*”」]{0,3}[}\])]{0,3}(?:</[\w:.-]{1,40}>)?[,;.]?\s*$"
ENDS = frozenset(":=*_`\"'>|-–—{([~#")
AHEAD = 4


def following(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What the next lines give away if line `at` ends with the name of a secret."""
    announced = _announces(lines[at])
    if not announced:
        return
    many = announced.core.lower().endswith("s") or announced.kind == "one-time code"
    taken = False
    for place in range(at + 1, min(at + 1 + (12 if many else AHEAD), len(lines))):
        line = lines[place]
        if len(line) > 600:
            return
        if not line.strip() or pattern(r"^\s*(?:(?:```|~~~)[\w-]{0,20}|={3,}|-{3,})\s*$").match(line):
            if taken:
                return
            continue
        value = pattern(VALUE_ALONE).match(line)
        if not value or not fits(announced, value["value"].rstrip(".,;")):
            return
        taken = True
        start = offsets[place] + value.start("value")
        yield Finding(announced.kind, start, start + len(value["value"].rstrip(".,;")))
        if not many:
            return


def _announces(line: str) -> Label | None:
    """The label at the end of the line: before a colon, in emphasis, as an opening element, or all that stands there."""
    tail = pattern(r"<<-?[\"']?\w{2,20}[\"']?$").sub("", line[-120:].rstrip()).rstrip()
    if not tail or (tail[-1] not in ENDS and len(line) > 60):
        return None
    head = pattern(CLOSING).sub("", tail)
    marks = tail[len(head) :].strip()
    spoken = pattern(SPOKEN).search(head)
    if spoken:
        head = head[: spoken.start()]
    found = label(head)
    if not found:
        return None
    rest = head[found.end :]
    if rest and not pattern(FOR_WHOM).match(rest):
        return None
    if marks and (set(marks) & set(":=|>") or marks[0] in "*_`"):
        return found
    # In code "pass" stands alone on its line and announces nothing.
    alone = not rest and not head[: found.start].strip("#*_ \t>-") and len(found.core) > 4
    return found if alone or (spoken and marks) else None
