"""Secrets on command lines and in SQL statements."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import can_be_password, can_be_token, is_identifier, is_placeholder

QUOTED = r"(?:\\?\"([^\"\\]{1,200})\\?\"|\\?'([^'\\]{1,200})\\?'|([^\s\"'`;|&<>\\)]{1,300}))"
# Kind, what must be in the line, the expression; the value is whichever of its groups took part.
FLAGS: tuple[tuple[str, str, str], ...] = (
    ("password", "-", r"(?<![\w-])--?(?:[a-z0-9]{1,20}[-_]){0,3}(?:password|passwd|passphrase|passwort|pass|pwd|storepass|keypass)(?:[ =]{1,2}|:)" + QUOTED),
    ("token", "-", r"(?<![\w-])--?(?:[a-z0-9]{1,20}[-_]){0,3}(?:token|secret|api[-_]?key|access[-_]?key|secret[-_]?key|auth[-_]?key|oauth2-bearer|bearer|key|authtoken)[ =]{1,2}" + QUOTED),
    ("password", "pass", r"(?:^|\s)(?::password|requirepass|rootpw)\s+" + QUOTED),
    ("password", "mysql", r"\bmysql\w*\s(?:[^|;\n]{0,120}?\s)?-p" + QUOTED),
    ("password", "maria", r"\bmariadb\w*\s(?:[^|;\n]{0,120}?\s)?-p" + QUOTED),
    ("password", "sshpass", r"\bsshpass\s+-p\s?" + QUOTED),
    ("password", "login", r"\b(?:docker|podman|az|oc|skopeo|helm registry|buildah|nerdctl)\s+login\b[^|;\n]{0,120}?\s-p[ =]" + QUOTED),
    ("password", "redis-cli", r"\bredis-cli\b[^|;\n]{0,120}?\s-a\s" + QUOTED),
    ("password", "sqlcmd", r"\b(?:sqlcmd|bcp|isql)\b[^|;\n]{0,160}?\s-P\s?" + QUOTED),
    ("password", "zip", r"\b(?:un)?zip\s[^|;\n]{0,80}?-P\s?" + QUOTED),
    ("password", "7z", r"\b7za?\s[^|;\n]{0,80}?\s-p" + QUOTED),
    ("password", "ldap", r"\bldap\w+\s[^|;\n]{0,160}?\s-w\s" + QUOTED),
    ("password", "mongo", r"\bmongo(?:sh|dump|restore|export|import)?\s[^|;\n]{0,160}?\s-p\s?" + QUOTED),
    ("password", "plink", r"\b(?:plink|pscp|psftp)\b[^|;\n]{0,120}?\s-pw\s" + QUOTED),
    ("password", "pass:", r"-pass(?:in|out)?\s+[\"']?pass:" + QUOTED),
    ("password", "htpasswd", r"\bhtpasswd\s+-\w*b\w*\s+\S{1,120}\s+\S{1,60}\s+" + QUOTED),
    ("password", "chpasswd", r"\becho\s+(?:-e\s+)?[\"']?[\w.-]{1,40}:([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    ("password", "securestring", r"convertto-securestring\s+(?:-string\s+)?" + QUOTED),
    ("password", "sudo -s", r"\becho\s+[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*sudo\s+-S"),
    ("password", "net use", r"\bnet\s+use\b[^|\n]{0,120}?/user:\S{1,60}\s+([^\s/]{3,100})"),
    ("password", "smb", r"\bsmb\w+\s[^|;\n]{0,120}?-U\s?[\"']?[\w\\.-]{1,60}%([^\s\"']{3,100})"),
    ("password", "password=", r"\bmount\b[^|;\n]{0,200}?password=([^\s,\"']{3,100})"),
)  # fmt: skip
# Their case tells nothing; that of -p and -P does.
CASELESS = frozenset({"-", "securestring", "net use", "password="})
CURL = r"(?<!\S)(?:-u|--user|--proxy-user|-U)[ =]?[\"']?([^\s:\"'/]{1,80}):([^\s\"']{3,200})"
IDENTIFIED = (
    r"\bidentified\s+(?:with\s+[\"'`]?\w{1,60}[\"'`]?\s+)?(?:by|as|using)\s+(?:password\s+)?(?:values\s+)?" + QUOTED
)
IN_STATEMENT = r"\bpassword\s{0,3}(?:=\s{0,3}|\(\s{0,3}|\s)(?:n?\\?\"([^\"\\]{1,200})|n?\\?'([^'\\]{1,200})|([^\s\"'`;|&<>\\(),=]{1,100}))"
STATEMENT = r"\b(?:create|alter|set|grant|drop)\s+(?:or\s+replace\s+)?(?:user|role|login|password|group|server|subscription|database|credential)\b"
SQL_WORDS = frozenset(
    "expire expires never default null valid until encrypted unencrypted reuse history require lock unlock option for is = to".split()
)


def commands(line: str, lower: str, offset: int) -> Findings:
    """Statements and long flags are read in lower case, short flags as written; values are taken from the line itself."""
    if "-" in line or "|" in line or "net use" in lower or "mount" in lower or "pass" in lower:
        for kind, part, expression in FLAGS:
            if part in lower:
                for match in pattern(expression).finditer(lower if part in CASELESS else line):
                    group = match.lastindex or 1
                    value = line[match.start(group) : match.end(group)]
                    # "the --password option" is no command.
                    named = is_identifier(value) and line[match.start(group) - 1] == " " and part == "-"
                    if _fits(kind, value) and not named:
                        yield Finding(kind, offset + match.start(group), offset + match.end(group))
        if "curl" in lower or "wget" in lower or "http " in lower:
            for match in pattern(CURL).finditer(line):
                if not is_placeholder(match[2]):
                    yield Finding("password", offset + match.start(2), offset + match.end(2))
    if "identified" in lower or "password" in lower:
        certain = pattern(STATEMENT).search(lower) is not None
        if "identified" in lower:
            yield from _statement(line, lower, IDENTIFIED, offset, certain=certain)
        if certain:
            yield from _statement(line, lower, IN_STATEMENT, offset, certain=certain)


def _fits(kind: str, value: str) -> bool:
    if value.startswith("-"):
        return False
    return can_be_token(value) if kind == "token" else can_be_password(value, quoted=False)


def _statement(line: str, lower: str, expression: str, offset: int, *, certain: bool) -> Findings:
    """Passwords in a statement; outside a certain one a bare word is only a word."""
    for match in pattern(expression).finditer(lower):
        group = match.lastindex or 1
        value = line[match.start(group) : match.end(group)].rstrip(",")
        if not certain and group == match.re.groups and is_identifier(value):
            continue
        if value.lower() in SQL_WORDS or is_placeholder(value) or len(value) < 3:
            continue
        yield Finding("password", offset + match.start(group), offset + match.start(group) + len(value))
