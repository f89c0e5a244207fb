"""Secrets announced by a label: a field, a column of a table, the line before."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from nacre.guard.assignments import GROUPS, NAME, TAIL, Promise, accepts, kind_of, promise, random_groups, tail_allows
from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import can_be_password, is_identifier, only_a_password, only_a_token

KOREAN_NAME = r"비밀 ?번호|비번|암호|패스워드"
SCRIPT_NAME = (
    r"(?P<code>验证码|校验码|动态码|驗證碼|校驗碼|动态密码|認証コード|認証番号|確認コード|セキュリティコード|ワンタイムパスワード|인증 ?번호(?:는|가)?|인증 ?코드(?:는|가)?|확인 ?코드|보안 ?코드|"
    r"[Кк]од(?: подтверждения| доступа| для входа| входа| безопасности)|[Вв]аш(?: \w{1,20})? код|[Оо]дноразовый (?:код|пароль))"
    r"|(?P<password>密码|密碼|口令|暗号|暗號|密語|PIN码|提取码|提取碼|访问码|パスワード|パスコード|パスフレーズ|暗証番号|合言葉|[Пп]арол[ьяюем]{1,2}|ПАРОЛЬ)"
    r"|(?P<token>密钥|秘钥|密匙|密鑰|金鑰|令牌|授权码|凭证|激活码|私钥|私鑰|API ?キー|秘密鍵|アクセストークン|トークン|토큰|API ?키|[Тт]окен)"
)
CODE_LABELS = (
    r"(?:one[- ]time|verification|security|recovery|backup|2fa|mfa|login|sign-in|confirmation)\s(?:pass)?codes?|otp"
)


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
    for match in pattern(NAME).finditer(lower):
        core = text[match.start() : match.end()]
        tail = pattern(TAIL).match(text, match.end())
        extra = tail.group().rstrip("-_") if tail else ""
        if tail_allows(core, extra) and (strength := promise(match, text)) is not None:
            label = Label(kind_of(core, strength), strength, core, match.start(), match.end() + len(extra))
    for match in pattern(CODE_LABELS).finditer(lower):
        label = Label("one-time code", Promise.TOKEN, match.group(), *match.span())
    if not text.isascii():
        for match in pattern(KOREAN_NAME).finditer(text):
            label = Label("password", Promise.FOREIGN, match.group(), *match.span())
        for match in pattern(SCRIPT_NAME).finditer(text):
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
        return only_a_token(value) or bool(pattern(GROUPS).match(value) and random_groups(value))
    return only_a_password(value) and not pattern(r"^[\w-]+[:=]").match(value) and can_be_password(value, quoted=True)


# Names and values that stand in separate fields: name/value pairs, elements, tuples of a login.

NAMED = r"(?<![A-Za-z])(?:name|key|id|field|label|title|variable|param|property)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?(?P<name>[\w.:-]{2,60})\\?[\"']?"
VALUED = r"(?:[\s,;]|\\[\"'nt]|type\s?[:=]\s?[\"']?\w{2,20}[\"']?|[\"']){0,60}?(?:value|default|content|text)\\?[\"']?\s{0,3}[:=]\s{0,3}\\?(?:[\"'](?P<quoted>[^\"'\n\\]{4,400})\\?[\"']|(?P<bare>[^\s\"',}<>]{4,400}))"
ELEMENT = r"<(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,200})?>\s{0,4}(?P<bare>[^<>\s]{4,400})\s{0,4}</(?P=name)>"
LABELLED = r"<\w[\w:.-]{0,40}\s[^<>]{0,80}?(?:name|key|id)=[\"'](?P<name>[\w.:-]{2,60})[\"'][^<>]{0,80}>\s{0,4}(?P<bare>[^<>\s]{4,400})\s{0,4}</"
KEY_THEN_STRING = r"<key>(?P<name>[\w.:-]{2,60})</key>\s{0,12}<string>\s{0,4}(?P<bare>[^<>\n]{4,400}?)\s{0,4}</string>"


def _is_secret(value: str, label: Label, *, quoted: bool) -> bool:
    return not is_identifier(value) and accepts(value, label.core, label.strength, quoted=quoted)


def pairs(text: str, line: str, offset: int) -> Findings:
    """name: DB_PASSWORD, value: x; the value may stand on the line after, so it is looked for in the text."""
    for match in pattern(NAMED).finditer(line):
        if label := _label(match["name"]):
            value = pattern(VALUED).match(text, offset + match.end())
            group = "quoted" if value and value["quoted"] else "bare"
            if value and _is_secret(value[group], label, quoted=group == "quoted"):
                yield Finding(label.kind, *value.span(group))


def elements(text: str) -> Findings:
    """<password>value</password>, <entry key="password">value</entry>, <key>password</key><string>value</string>"""
    for expression in (ELEMENT, LABELLED, KEY_THEN_STRING):
        for match in pattern(expression).finditer(text):
            if (label := _label(match["name"])) and _is_secret(match["bare"], label, quoted=False):
                yield Finding(label.kind, *match.span("bare"))


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
        cells = _cells(line, "|")
        for (name, _), cell in pairwise(cells):
            yield from _in_cell(_column(name), cell, offsets[at])
        if at + 1 < len(lines) and pattern(RULE).match(lines[at + 1]):
            yield from _below(lines, at, offsets, cells, "|")
    elif pattern(r"[\w .\t,;\"-]{3,400}").fullmatch(line) and (mark := next((m for m in ",\t;" if m in line), "")):
        cells = _cells(line, mark)
        # Only the first line of a table names its columns.
        first = not at or lines[at - 1].count(mark) != line.count(mark)
        if first and len(cells) > 1 and all(pattern(r"^\w[\w .-]{0,30}$").match(cell) for cell, _ in cells):
            yield from _below(lines, at, offsets, cells, mark)


def _cells(line: str, mark: str) -> list[Cell]:
    """Each cell without its emphasis and quotes, and where it begins."""
    cells: list[Cell] = []
    place = 0
    for part in line.split(mark):
        plain = part.lstrip(" \t*_`\"'>")
        cells.append((plain.rstrip(" \t*_`\"'\r"), place + len(part) - len(plain)))
        place += len(part) + 1
    return cells


def _below(lines: list[str], at: int, offsets: list[int], header: list[Cell], mark: str) -> Findings:
    columns = {number: label for number, (name, _) in enumerate(header) if (label := _column(name))}
    for place in range(at + 1, min(at + ROWS, len(lines))) if columns else ():
        line = lines[place]
        row = _cells(line, mark) if len(line) <= 4000 else []
        if len(row) != len(header) or mark not in line or (place > at + 1 and pattern(RULE).match(line)):
            return
        for number, label in columns.items():
            yield from _in_cell(label, row[number], offsets[place])


def _in_cell(label: Label | None, cell: Cell, offset: int) -> Findings:
    value, place = cell
    if label and value and _stands_for(label, value):
        yield Finding(label.kind, offset + place, offset + place + len(value))


def _column(name: str) -> Label | None:
    label = _label(name) if 2 <= len(name) <= 40 else None
    return label if label and not name[label.end :].strip(" :?()*_") else None


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
    label = _announced(lines[at])
    if not label:
        return
    many = label.core.lower().endswith("s") or label.kind == "one-time code"
    taken = False
    for place in range(at + 1, min(at + 1 + (12 if many else AHEAD), len(lines))):
        line = lines[place]
        if len(line) > 600:
            return
        if not line.strip() or pattern(r"^\s*(?:(?:```|~~~)[\w-]{0,20}|={3,}|-{3,})\s*$").match(line):
            if taken:
                return
            continue
        match = pattern(VALUE_ALONE).match(line)
        value = match["value"].rstrip(".,;") if match else ""
        if not match or not _stands_for(label, value):
            return
        taken = True
        start = offsets[place] + match.start("value")
        yield Finding(label.kind, start, start + len(value))
        if not many:
            return


def _announced(line: str) -> Label | None:
    """The label at the end of the line: before a colon, in emphasis, as an opening element, or all that stands there."""
    tail = pattern(r"<<-?[\"']?\w{2,20}[\"']?$").sub("", line[-120:].rstrip()).rstrip()
    if not tail or (tail[-1] not in ENDS and len(line) > 60):
        return None
    head = pattern(CLOSING).sub("", tail)
    marks = tail[len(head) :].strip()
    if spoken := pattern(SPOKEN).search(head):
        head = head[: spoken.start()]
    label = _label(head)
    rest = head[label.end :] if label else ""
    if not label or (rest and not pattern(FOR_WHOM).match(rest)):
        return None
    if marks and (spoken or set(marks) & set(":=|>") or marks[0] in "*_`"):
        return label
    # In code "pass" stands alone on its line and announces nothing.
    alone = not rest and not head[: label.start].strip("#*_ \t>-") and len(label.core) > 4
    return label if alone else None
