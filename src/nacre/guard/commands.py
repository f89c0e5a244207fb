"""Secrets on command lines and in SQL statements."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, holds_any, pattern
from nacre.guard.values import can_be_password, can_be_token, is_identifier, is_placeholder

QUOTED = r"(?:\\?\"([^\"\\]{1,200})\\?\"|\\?'([^'\\]{1,200})\\?'|([^\s\"'`;|&<>\\)]{1,300}))"
# Kind, what must be in the line, the expression; the value is whichever of its groups took part.
FLAGS: tuple[tuple[str, str, str], ...] = (
    ("password", "-", r"(?<![\w-])--?(?:[a-z0-9]{1,20}[-_]){0,3}(?:password|passwd|passphrase|passwort|pass|pwd|storepass|keypass)(?:[ =]{1,2}|:)" + QUOTED),
    ("token", "-", r"(?<![\w-])--?(?:[a-z0-9]{1,20}[-_]){0,3}(?:token|secret|api[-_]?key|access[-_]?key|secret[-_]?key|auth[-_]?key|oauth2-bearer|bearer|key|authtoken)[ =]{1,2}" + QUOTED),
    ("password", "requirepass", r"\brequirepass\s+" + QUOTED),
    ("password", "rootpw", r"\brootpw\s+" + QUOTED),
    ("password", ":password ", r":password\s+" + QUOTED),
    ("password", "mysql", r"\bmysql\w*\s(?:[^|;\n]{0,120}?\s)?-p" + QUOTED),
    ("password", "maria", r"\bmariadb\w*\s(?:[^|;\n]{0,120}?\s)?-p" + QUOTED),
    ("password", "sshpass", r"\bsshpass\s+-p\s?" + QUOTED),
    ("password", " login", r"\b(?:docker|podman|az|oc|skopeo|helm registry|buildah|nerdctl)\s+login\b[^|;\n]{0,120}?\s-p[ =]" + QUOTED),
    ("password", "redis-cli", r"\bredis-cli\b[^|;\n]{0,120}?\s-a\s" + QUOTED),
    ("password", "sqlcmd", r"\b(?:sqlcmd|bcp|isql)\b[^|;\n]{0,160}?\s-P\s?" + QUOTED),
    ("password", "zip ", r"\b(?:un)?zip\s[^|;\n]{0,80}?-P\s?" + QUOTED),
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
    ("password", "docker login", r"\becho\s+(?:-n\s+)?[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?docker\s+login"),
    ("password", "--stdin", r"\becho\s+(?:-n\s+)?[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?passwd\s+--stdin"),
    ("password", "--password-stdin", r"\becho\s+(?:-n\s+)?[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*[^|\n]{1,120}--password-stdin"),
    ("password", "openssl", r"\bopenssl\s+enc\b[^|;\n]{0,160}?\s-k\s" + QUOTED),
    ("password", "rar ", r"\b(?:un)?rar\s[^|;\n]{0,80}?\s-h?p" + QUOTED),
    ("password", "net user", r"\bnet\s+user\s+[\"']?[\w.-]{1,60}[\"']?\s+([^\s/*\"']{3,100})"),
    ("password", "/p:", r"(?:^|\s)/p:" + QUOTED),
    ("password", "impacket", r"\bimpacket\S*\s[^|;\n]{0,80}?[\w.\\/-]{1,60}:([^\s\"'@]{3,100})@"),
    ("password", "ssh-keygen", r"\bssh-keygen\b[^|;\n]{0,160}?\s-[NP]\s+(?:\"([^\"\\]{4,200})\"|'([^'\\]{4,200})'|([^\s\"'-]{4,200}))"),
    ("password", "mysqladmin", r"\bmysqladmin\s[^|;\n]{0,120}?\bpassword\s+" + QUOTED),
    ("password", "http ", r"\bhttps?\s[^|;\n]{0,120}?(?:-a|--auth)[ =][\"']?[^\s:\"']{1,60}:([^\s\"']{3,100})"),
    ("password", "security add", r"\bsecurity\s+add-\w+-password\b[^|;\n]{0,160}?\s-w\s" + QUOTED),
    ("password", "psexec", r"\bpsexec\S*\s[^|;\n]{0,160}?\s-p\s" + QUOTED),
    ("password", "snmp", r"\bsnmp\w+\s[^|;\n]{0,200}?\s-A\s" + QUOTED),
    ("password", "snmp", r"\bsnmp\w+\s[^|;\n]{0,200}?\s-X\s" + QUOTED),
    ("password", "nmcli", r"\bnmcli\b[^|;\n]{0,160}?\bpassword\s+" + QUOTED),
    ("password", "send ", r"\bsend\s+(?:--\s+)?\"([^\s\"\\]{4,100})\\[rn]\""),
    ("token", "wandb login", r"\bwandb\s+login\s+(?:--relogin\s+)?([0-9a-f]{40})\b"),
    ("token", "vault login", r"\bvault\s+login\s+(?:-no-print\s+)?([A-Za-z0-9.]{20,})"),
    ("token", "configure set", r"\bconfigure\s+set\s+\S{0,60}?(?:secret|token|key)\S{0,30}\s+([A-Za-z0-9+/=_-]{16,})"),
    ("token", "config set", r"\bconfig\s+set\s+\S{0,80}?(?:secret|token|_?auth|key|password)\S{0,30}[ =]+([A-Za-z0-9+/=_.-]{12,})"),
    ("password", "mount ", r"\bmount\b[^|;\n]{0,200}?password=([^\s,\"']{3,100})"),
)  # fmt: skip
PGPASS = r"(?<!\S)[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.@*-]{1,60}:(?!/)([^\s:]{4,100})$"
PLAIN_COMMANDS = ("net use", "mount", "pass", "impacket", "login", "configure set", "config set", "send ")
# Their case tells nothing; that of -p and -P does.
CASELESS = frozenset({"-", "securestring", "net use", "net user", "mount "})
CURL = r"(?<!\S)(?:-u|--user|--proxy-user|-U)[ =]?[\"']?([^\s:\"'/]{1,80}):([^\s\"']{3,200})"
IDENTIFIED = (
    r"\bidentified\s+(?:with\s+[\"'`]?\w{1,60}[\"'`]?\s+)?(?:by|as|using)\s+(?:password\s+)?(?:values\s+)?" + QUOTED
)
INSERTED = r"\binsert\s+into\s+[\w.\"`]{1,60}\s{0,3}\((?P<columns>[^()]{1,300})\)\s{0,3}values\s{0,3}\((?P<values>[^()]{1,600})\)"
IN_STATEMENT = r"\bpassword\s{0,3}(?:=\s{0,3}|\(\s{0,3}|\s)(?:n?\\?\"([^\"\\]{1,200})|n?\\?'([^'\\]{1,200})|([^\s\"'`;|&<>\\(),=]{1,100}))"
STATEMENT = r"\b(?:create|alter|set|grant|drop)\s+(?:or\s+replace\s+)?(?:user|role|login|password|group|server|subscription|database|credential)\b"
SQL_WORDS = frozenset(
    "expire expires never default null valid until encrypted unencrypted reuse history require lock unlock option for is = to".split()
)


def commands(line: str, lower: str, offset: int) -> Findings:
    """Statements and long flags are read in lower case, short flags as written; values are taken from the line itself."""
    if line.count(":") >= 4 and len(line) < 400:
        entry = pattern(PGPASS).search(line)
        if entry and not is_placeholder(entry[1]):
            yield Finding("password", offset + entry.start(1), offset + entry.end(1))
    if "-" in line or "|" in line or "/p:" in lower or holds_any(lower, PLAIN_COMMANDS):
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
    if "insert into" in lower:
        yield from _inserted(line, lower, offset)
    if "identified" in lower or "password" in lower:
        certain = pattern(STATEMENT).search(lower) is not None
        if "identified" in lower:
            yield from _statement(line, lower, IDENTIFIED, offset, certain=certain)
        if certain:
            yield from _statement(line, lower, IN_STATEMENT, offset, certain=certain)


def _inserted(line: str, lower: str, offset: int) -> Findings:
    """The value in the place of a password's column."""
    for match in pattern(INSERTED).finditer(lower):
        columns = match["columns"].split(",")
        cells = list(pattern(r"'[^']*'|\"[^\"]*\"|[^,]+").finditer(line, *match.span("values")))
        for name, cell in zip(columns, cells, strict=False):
            value = cell.group().strip(" '\"")
            if (
                pattern(r"pass|pwd|secret|token").search(name)
                and can_be_password(value, quoted=False)
                and not is_identifier(value)
            ):
                start = cell.start() + cell.group().index(value)
                yield Finding("password", offset + start, offset + start + len(value))


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
