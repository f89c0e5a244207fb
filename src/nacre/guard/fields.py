"""Names and values that stand in separate fields: name/value pairs, elements, tuples of a login."""

from __future__ import annotations

from nacre.guard.assignments import accepts
from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.labels import Label, label
from nacre.guard.values import can_be_password, is_identifier, only_a_password

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
