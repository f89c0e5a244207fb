"""Secrets announced by a name, in English and in other languages: values given to it, arguments of commands, fields, tables, the line after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

from nacre.guard import values
from nacre.guard.values import Finding, Findings, apply_rules, form, listed, pattern, rule_rows


class Promise(IntEnum):
    """What the name lets us expect of the value."""

    KEY = 1
    TOKEN = 2
    PASSWORD = 3
    FOREIGN = 4  # a password in a language whose words we do not know: only what no word looks like


def promise(match: re.Match[str], line: str) -> Promise | None:
    """What the name promises that was found in the lower-cased `line`; none when it is part of another word."""
    start = match.start()
    core = line[start : match.end()]
    head = line[max(0, start - 40) : start]
    last = head[-1:]
    words = [word.lower() for word in pattern(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+").findall(head[-24:])]
    nearest = words[-1] if words else ""
    if last.isalpha() and last.isascii() and len(core) <= 4:
        camel = last.islower() and core[0].isupper()
        if not camel and not (nearest in listed("owners") and not head[: -len(nearest)][-1:].isalpha()):
            return None
    kind = _kind(match[0])
    joined = last in "_-.abcdefghijklmnopqrstuvwxyz"
    if kind in {Promise.TOKEN, Promise.KEY} and joined and nearest in listed("neutral head"):
        return None
    if kind is Promise.KEY and nearest in listed("neutral keys"):
        return None
    if match[0] == "key" and (listed("services").intersection(words[-2:]) or form("chinese services").search(head)):
        return Promise.TOKEN
    return kind


def _kind(plain: str) -> Promise:
    if plain in listed("key names") or plain in {"session_id", "session-id", "session id"}:
        return Promise.KEY
    other = plain in {"pat", "passwort"} or plain.startswith(("pal", "par", "private", "product", "preshared"))
    if plain[0] == "p" and not other:
        return Promise.PASSWORD
    return Promise.FOREIGN if form("foreign name").fullmatch(plain) else Promise.TOKEN


def _names(line: str, lower: str, dashes: str) -> Iterator[tuple[re.Match[str], str, str]]:
    """The names of secrets in a line: each as found in lower case, as written, and what follows in the same word but for `dashes`.

    What follows must leave the meaning of the name: password_2, PasswordAdmin, secrets; not passengers, token_type.
    """
    for match in form("name").finditer(lower):
        core = line[match.start() : match.end()]
        tail = form("tail").match(line, match.end())
        extra = tail[0].rstrip(dashes) if tail else ""
        if extra[:1].isalpha() and not (extra[0].isupper() and core[-1].islower()):
            continue
        words = pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(extra)
        if listed("neutral tail").isdisjoint(map(str.lower, words)):
            yield match, core, extra


# Values

QUOTES = {pair[0]: pair[1] for pair in ('""', "''", "``", "“”", "「」", "‘’", "『』")} | {
    quote: quote for quote in ('\\"', "\\'", "&quot;", "&#39;", "**")
}
KINDS = {Promise.PASSWORD: "password", Promise.FOREIGN: "password", Promise.TOKEN: "secret", Promise.KEY: "key"}


def assignments(line: str, lower: str) -> Findings:
    reached = 0
    for match, core, extra in _names(line, lower, "-"):  # a hyphen may belong to the link: "PASS - x" and "password->x"
        if match.start() < reached:
            continue
        place = match.end() + len(extra)
        link, loose = form("link").match(lower, place), form("loose").match(lower, place)
        first = link or loose
        if not first or lower.startswith("[redacted", first.end()) or (strength := promise(match, line)) is None:
            continue
        span = None
        if link:
            if link["foreign"] and strength is Promise.PASSWORD:
                strength = Promise.FOREIGN
            span = _value_span(line, link.end(), core, strength, spoken=bool(link["verb"]))
            if not span and strength is Promise.KEY and (link["verb"] or link["mark"] in {"是", "为"}):
                # In "the key is x" only what mixes capital letters, small ones, digits or marks as no name of a column does.
                begin, end, value = _quoted(line, link.end()) or _bare(line, link.end())
                mixed = values.classes(value) >= 3 and sum(map(str.isdigit, value)) >= 2 and not set("_/") & set(value)
                if mixed and len(value) >= 8 and values.only_a_password(value) and values.can_be_token(value):
                    span = begin, end
        if loose and not span and strength is not Promise.KEY:
            span = _loose_span(line, loose, core, extra, strength)
        if span:
            reached = span[1]
            yield Finding(kind_of(core, strength), span[0], span[1])


def kind_of(core: str, strength: Promise) -> str:
    lower = core.lower()
    if "token" in lower or lower in {"jwt", "bearer"}:
        return "token"
    if lower.startswith("secret"):
        return "secret"
    if "key" in lower:
        return "key"
    if strength is Promise.PASSWORD and "phrase" in lower:
        return "passphrase"
    return {"cookie": "session cookie", "session": "session id"}.get(lower, KINDS[strength])


def _value_span(line: str, place: int, core: str, strength: Promise, *, spoken: bool) -> tuple[int, int] | None:
    for before in ("object then", "type or fallback then", "prefix of a string"):
        if match := form(before).match(line, place):
            place = match.end()
    if quoted := _quoted(line, place):
        begin, end, value = quoted
        if link := pattern(r"[bru]?[\"']?\s{0,2}(?:or|\|\||\?\?)\s{0,2}(?=[\"'])").match(line, end + 1):
            return _value_span(line, link.end(), core, strength, spoken=spoken)
        return (begin, end) if accepts(value, core, strength, quoted=True) else None
    in_query = bool(pattern(r"[?&][\w.-]{0,40}$").search(line[max(0, place - 60) : max(0, place - 1)]))
    place, end, value = _bare(line, place, in_query=in_query)
    fits = accepts(value, core, strength, quoted=False, in_query=in_query)
    if fits and values.is_identifier(value) and strength is not Promise.TOKEN:
        fits = strength is Promise.PASSWORD and _plain_word_is_a_password(line, place, end, core, spoken=spoken)
    return (place, end) if fits else None


def _loose_span(line: str, link: re.Match[str], core: str, extra: str, strength: Promise) -> tuple[int, int] | None:
    """What follows the name without a sign between, where it can be nothing else."""
    begin = link.end()
    if extra and "," in link.group():
        return None
    if quoted := _quoted(line, begin):
        begin, end, value = quoted
    else:
        value = _bare(line[begin : begin + 120], 0)[2].rstrip(")")
        end = begin + len(value)
    name = core.lower()
    if values.is_placeholder(value) or pattern(r"^[A-Za-z_-]{2,20}[:=]").match(value):
        return None
    if strength is Promise.TOKEN:
        # What an authenticator is set up with.
        seed = name in {"secret", "totp"} and pattern(r"^(?=.*[2-7])[A-Z2-7]{16,64}$").match(value)
        made = random_groups(value) if form("groups").match(value) else values.only_a_token(value)
        is_token = (made or seed or values.is_one_case(value)) and name not in {"otp", "jwt", "sk", "pat"}
        return (begin, end) if is_token else None
    if not values.is_password(value) or values.is_named_so(value):
        return None
    # "pass" is also a verb, a ticket and a road: alone it takes what is too mixed for the number of a flight or a model.
    mixed = values.classes(value) >= 3 or pattern(r"[a-z]{3}\d{2}|\d[a-z]{3}|[a-z]\d[a-z]").search(value)
    if name in {"passes", "passcodes"} or (name in {"pass", "pw", "clave"} and not extra and not mixed):
        return None
    return begin, end


def _quoted(line: str, place: int) -> tuple[int, int, str] | None:
    """Begin, end and text of what quotes hold at this place; pieces that are joined in code are one value."""
    braced = pattern(r"\{([^{}\s]{4,100})\}(?=;|$)").match(line, place)
    if braced and values.only_a_password(braced[1]):
        return braced.start(1), braced.end(1), braced[1]
    opening = next((opening for opening in QUOTES if line.startswith(opening, place)), "")
    if not opening:
        return None
    closing, begin = QUOTES[opening], place + len(opening)
    end = _closing(line, closing, begin)
    value = line[begin:end]
    while len(closing) == 1 and (more := pattern(rf"{closing}\s{{0,3}}[+.]?\s{{0,3}}([\"'])").match(line, end)):
        closing = more[1]  # the next piece may stand in other quotes
        stop = _closing(line, closing, more.end())
        if stop <= more.end():
            break
        value += line[more.end() : stop]
        end = stop
    return begin, end, value


def _closing(line: str, closing: str, begin: int) -> int:
    end = line.find(closing, begin, begin + 4000)
    while end > 0 and len(closing) == 1 and line[end - 1] == "\\" and line[end - 2 : end - 1] != "\\":
        end = line.find(closing, end + 1, begin + 4000)
    return end if end >= 0 else _bare(line, begin)[1]


def _bare(line: str, place: int, *, in_query: bool = False) -> tuple[int, int, str]:
    """Begin, end and text of an unquoted value: to the next space, without what closes or separates it."""
    match = form("bare value").match(line, place)
    value = match.group() if match else ""
    if value.count("=") > 4 or value.count(":") > 6:
        value = ""
    cut = r"</|<br|&lt;/?\w|;$|,$|[,;/](?=[A-Za-z_가-힣一-鿿 -]{1,24}[:=](?:[^=\s]|$)(?<!=$))|,(?=\w+/)|&(?=[A-Za-z_]\w{0,30}=)|~~|\*\*|\|$|[，。；！？]"
    value = pattern(cut + "|&|#" if in_query else cut).split(value, maxsplit=1)[0]
    value = pattern(r"[.,;:?。]+$").sub("", value)
    for opening, closing in ("()", "[]", "{}"):
        while value.endswith(closing) and value.count(closing) > value.count(opening):
            value = value[:-1].rstrip(",;")
    value = value.removesuffix("\\n").removesuffix("\\")
    return place, place + len(value), value


def accepts(value: str, core: str, strength: Promise, *, quoted: bool, in_query: bool = False) -> bool:
    name = core.lower()
    if strength is Promise.FOREIGN:
        return values.is_password(value, quoted=quoted)
    if strength is Promise.PASSWORD:
        return not (name in {"pass", "passes"} and value.isdigit()) and values.can_be_password(value, quoted=quoted)
    if strength is Promise.TOKEN:
        return random_groups(value) if form("groups").match(value) else values.can_be_token(value)
    if name == "auth" and values.is_basic(value):
        return True
    if not values.can_be_token(value, least=16) or values.is_reference(value):
        return False
    # KEY of a settings file may be hexadecimal; "key" in a sentence or a log may be anything's.
    specific = name not in {"key", "keys", "session", "signature", "sig"} or core in {"KEY", "KEYS"} or in_query
    made = (values.is_hex(value) and values.entropy(value[:200]) > 3) or values.is_uuid(value)
    return values.is_random(value) or (specific and made)


def random_groups(value: str) -> bool:
    """Groups of letters and digits in no order: 7QX2-9RFM-K3VT."""
    letters = value.replace("-", "") if form("groups").match(value) else ""
    return len(set(letters)) >= 10 and not letters.isalpha() and values.is_real(value)


def _plain_word_is_a_password(line: str, place: int, end: int, core: str, *, spoken: bool) -> bool:
    """A bare word after "password" is the password itself only where no variable and no description can stand."""
    value = line[place:end]
    if value.lower() in listed("not a secret"):
        return False
    camel = values.classes(value) >= 2 and pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]").search(value)
    if camel and line[place - 1] in ":=" and not spoken:
        # Fk3lXq-like passwords without digits pass only when they are no camelCase name.
        return not pattern(r"^[a-z]+(?:[A-Z][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$").match(value)
    if len(core) < 5 and not (core.isupper() and line[place - 1] == "="):
        return False
    at_end = pattern(r"[.!。]?\s*(?:$|[,;。,](?:\s|$))|[\"')\]]{1,3}$").match(line, end)
    plain = len(value) >= 5 and value.islower() and not form("describing").match(value)
    if spoken:
        return bool(at_end) and plain
    # NAME=word of a shell or settings file, "name: word" of a note.
    named = r"^[\s\-*>#+\d.]*(?:export |set |ENV |let )?[\w .\-\"']{0,40}[:=]\s{0,2}$"
    return bool(place <= 80 and at_end and pattern(named).match(line[:place])) and (line[place - 1] == "=" or plain)


# Secrets on command lines and in SQL statements.


def commands(line: str, lower: str) -> Findings:
    """Statements and long flags are read in lower case, short flags as written; values are taken from the line itself."""
    yield from apply_rules("pair", line, values.is_password)
    yield from apply_rules("argument", line, values.is_real)
    for section in ("flag", "any-case", "command"):
        searched = line if section == "command" else lower
        for kind, hint, expression in rule_rows(section):
            for match in pattern(expression).finditer(searched) if hint in lower else ():
                begin, end = match.span(match.lastindex or 1)
                value = line[begin:end]
                fits = values.can_be_token(value) if kind == "token" else values.can_be_password(value, quoted=False)
                # "the --password option" is no command.
                named = section == "flag" and values.is_identifier(value) and line[begin - 1] == " "
                if fits and not named and not value.startswith("-"):
                    yield Finding(kind, begin, end)
    for match in form("inserted").finditer(lower) if "insert into" in lower else ():
        cells = pattern(r"'[^']*'|\"[^\"]*\"|[^,]+").finditer(line, *match.span("values"))
        for name, cell in zip(match["columns"].split(","), cells, strict=False):
            value = cell[0].strip(" '\"")
            secret = pattern(r"pass|pwd|secret|token").search(name) and not values.is_identifier(value)
            if secret and values.can_be_password(value, quoted=False):
                start = cell.start() + cell[0].index(value)
                yield Finding("password", start, start + len(value))
    certain = ("password" in lower or "identified" in lower) and form("statement").search(lower) is not None
    for name in ("identified", "in statement") if certain else ("identified",):
        for match in form(name).finditer(lower):
            group = match.lastindex or 1
            value = line[match.start(group) : match.end(group)].rstrip(",")
            # Outside a certain statement a bare word is only a word.
            bare = not certain and group == match.re.groups and values.is_identifier(value)
            if not bare and len(value) >= 3 and value.lower() not in listed("sql words") and values.is_real(value):
                yield Finding("password", match.start(group), match.start(group) + len(value))


# Labels: a field, a column of a table, the line before.


class Label(NamedTuple):
    """A name that announces a secret, the kind of it, and where the name stands in its text."""

    kind: str
    strength: Promise
    core: str
    start: int
    end: int


def _label(text: str) -> Label | None:
    label = None
    lower = text.lower() if len(text.lower()) == len(text) else text
    for match, core, extra in _names(text, lower, "-_"):
        if (strength := promise(match, text)) is not None:
            label = Label(kind_of(core, strength), strength, core, match.start(), match.end() + len(extra))
    for match in form("code labels").finditer(lower):
        label = Label("one-time code", Promise.TOKEN, match.group(), *match.span())
    if not text.isascii():
        for match in form("korean name").finditer(text):
            label = Label("password", Promise.FOREIGN, match.group(), *match.span())
        for match in form("script name").finditer(text):
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            strength = Promise.TOKEN if match["token"] else Promise.FOREIGN
            label = Label(kind, strength, match.group(), *match.span())
    return label


def _stands_for(label: Label, value: str) -> bool:
    """Whether a value that stands apart from its label can be nothing but the secret."""
    if label.kind == "one-time code":
        code = r"^(?:\d{4,8}|\d{3}[- ]\d{3}|(?=.*\d)[a-z0-9]{4,8}(?:-[a-z0-9]{4,8}){1,3})$"
        return bool(pattern(code).match(value.lower()))
    if label.strength is Promise.KEY:
        return accepts(value, label.core, label.strength, quoted=True)
    if label.strength is Promise.TOKEN:
        return values.only_a_token(value) or random_groups(value)
    return values.is_password(value) and not pattern(r"^[\w-]+[:=]").match(value)


# Names and values that stand in separate fields: name/value pairs, elements, tuples of a login.


def _is_secret(value: str, label: Label, *, quoted: bool) -> bool:
    return not values.is_identifier(value) and accepts(value, label.core, label.strength, quoted=quoted)


def pairs(text: str, line: str, offset: int) -> Findings:
    """name: DB_PASSWORD, value: x; the value may stand on the line after, so it is looked for in the text."""
    for match in form("named").finditer(line):
        if label := _label(match["name"]):
            value = form("valued").match(text, offset + match.end())
            group = "quoted" if value and value["quoted"] else "bare"
            if value and _is_secret(value[group], label, quoted=group == "quoted"):
                yield Finding(label.kind, *value.span(group))


def elements(text: str) -> Findings:
    """<password>value</password>, <entry key="password">value</entry>, <key>password</key><string>value</string>"""
    for name in ("element", "labelled", "key then string"):
        for match in form(name).finditer(text):
            if (label := _label(match["name"])) and _is_secret(match["bare"], label, quoted=False):
                yield Finding(label.kind, *match.span("bare"))


# Secrets in tables: a cell beside the cell with their name, or a column under it.

ROWS = 400
SPACED = (r"\S+(?: \S+)*", r"\S+")  # cells that two spaces set apart, or one
Cell = tuple[str, int]


def tables(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What line `at` holds beside a name, or what the column holds that it names."""
    line = lines[at]
    if len(line) > 4000:
        return
    if "|" in line:
        cells = _cells(line, "|")
        for (name, _), cell in pairwise(cells):
            yield from _in_cell(_column(name), cell, offsets[at])
        below = lines[at + 1] if at + 1 < len(lines) else ""
        first = not (at and "|" in lines[at - 1]) and below.count("|") == line.count("|")
        if form("table rule").match(below) or (first and pattern(r"[^\W\d][^\d\n:=]{0,80}").fullmatch(line)):
            yield from _below(lines, at, offsets, [name for name, _ in cells], "|")
    elif pattern(r"[\w .\t,;\"-]{3,400}").fullmatch(line) and (mark := next((m for m in ",\t;" if m in line), "")):
        names = [name for name, _ in _cells(line, mark)]
        # Only the first line of a table names its columns.
        first = not at or lines[at - 1].count(mark) != line.count(mark)
        if first and len(names) > 1 and all(map(pattern(r"^\w[\w .-]{0,30}$").match, names)):
            yield from _below(lines, at, offsets, names, mark)
    elif len(names := pattern(r"[^\s/]+(?: [^\s/]+)*").findall(line)) > 2 and len(line) < 80:
        yield from _below(lines, at, offsets, names, "")


def _cells(line: str, mark: str) -> list[Cell]:
    """Each cell without its emphasis and quotes, and where it begins."""
    cells: list[Cell] = []
    place = 0
    for part in line.split(mark):
        plain = part.lstrip(" \t*_`\"'>")
        cells.append((plain.rstrip(" \t*_`\"'\r"), place + len(part) - len(plain)))
        place += len(part) + 1
    return cells


def _below(lines: list[str], at: int, offsets: list[int], names: list[str], mark: str) -> Findings:
    """What stands in the columns with these names below line `at`, their cells set apart by a mark or else by spaces."""
    columns = [(number, label) for number, name in enumerate(names) if (label := _column(name))]
    for place in range(at + 1, min(at + ROWS, len(lines))) if columns else ():
        line = lines[place]
        if mark:
            ends = len(line) > 4000 or mark not in line or (place > at + 1 and form("table rule").match(line))
            ways = [] if ends else [_cells(line, mark)]
        else:
            ways = [[(cell[0], cell.start()) for cell in pattern(shape).finditer(line[:600])] for shape in SPACED]
        row = next((cells for cells in ways if len(cells) == len(names)), None)
        if not row:
            return
        for number, label in columns:
            yield from _in_cell(label, row[number], offsets[place], column=True)


def _in_cell(label: Label | None, cell: Cell, offset: int, *, column: bool = False) -> Findings:
    value, place = cell
    if label and value:
        is_column = column and label.strength >= Promise.PASSWORD  # of passwords: whatever is no word is one
        plain = is_column and not values.is_identifier(value) and values.can_be_password(value, quoted=False)
        if plain or _stands_for(label, value):
            yield Finding(label.kind, offset + place, offset + place + len(value))


def _column(name: str) -> Label | None:
    label = _label(name) if 2 <= len(name) <= 40 else None
    return label if label and not name[label.end :].strip(" :?()*_") else None


# Values on a line of their own, after a line that ends with their name: notes, forms, YAML blocks, fenced lines.

ENDS = frozenset(":=*_`\"'>|-–—{([~#")
AHEAD = 4


def following(lines: list[str], at: int, offsets: list[int]) -> Findings:
    """What the next lines give away if line `at` ends with the name of a secret."""
    label = _announced(lines[at])
    if not label:
        return
    many = label.core.lower().endswith("s") or label.kind == "one-time code"
    taken = False
    for place in range(at + 1, min(at + 1 + (12 if many else AHEAD), len(lines))):
        line = lines[place]
        between = not line.strip() or pattern(r"^\s*(?:(?:```|~~~)[\w-]{0,20}|={3,}|-{3,})\s*$").match(line)
        if len(line) > 600 or (taken and (between or not many)):
            return
        if between:
            continue
        match = form("value alone").match(line)
        value = match["value"].rstrip(".,;") if match else ""
        if not match or not _stands_for(label, value):
            return
        taken = True
        start = offsets[place] + match.start("value")
        yield Finding(label.kind, start, start + len(value))


def _announced(line: str) -> Label | None:
    """The label at the end of the line: before a colon, in emphasis, as an opening element, or all that stands there."""
    tail = pattern(r"<<-?[\"']?\w{2,20}[\"']?$").sub("", line[-120:].rstrip()).rstrip()
    if not tail or (tail[-1] not in ENDS and len(line) > 60):
        return None
    head = form("end of label").sub("", tail)
    marks = tail[len(head) :].strip()
    if spoken := form("spoken end of label").search(head):
        head = head[: spoken.start()]
    label = _label(head)
    rest = head[label.end :] if label else ""
    if not label or (rest and not form("for whom").match(rest)):
        return None
    if marks and (spoken or set(marks) & set(":=|>") or marks[0] in "*_`"):
        return label
    # In code "pass" stands alone on its line and announces nothing.
    alone = not rest and not head[: label.start].strip("#*_ \t>-") and len(label.core) > 4
    return label if alone else None
