"""Secrets given as values of names, and as arguments of commands."""

from __future__ import annotations

import re

from nacre.guard.finding import Finding, Findings, holds_any, pattern
from nacre.guard.names import NAME, TAIL, Promise, promise, tail_allows
from nacre.guard.values import (
    DESCRIBING,
    NOT_A_SECRET,
    can_be_password,
    can_be_token,
    classes,
    entropy,
    is_basic,
    is_hex,
    is_identifier,
    is_named_so,
    is_one_case,
    is_placeholder,
    is_random,
    is_reference,
    is_uuid,
    only_a_password,
    only_a_token,
)

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
OPENING = frozenset(opening[0] for opening in QUOTES)
CLOSED = r"(?:\\?[\"'`\])]|&quot;|\*{1,3}|~~|[.…]{2,40}){0,2}"
# A sentence may say for whom ("password for the router is ..."), a note where ("password (staging): ...").
WHOM = (
    r"(?P<whom>\s{1,8}(?:for|of|to|on|in|at|de|del|du|der|do|da|für|fürs|vom|zum|zur|pour|para|per)\s{1,8}(?:[\w@.\-]{1,30}\s){0,3}?[\w@.\-]{1,30}?"
    r"|\s?[(\[][^()\[\]\n:=]{1,30}[)\]]|\s/\s[A-Za-z]{2,12}|\s(?:nueva|nova|neu|nuova|nouveau)|\s\d{1,2})?"
)
LINK = (
    CLOSED
    + WHOM
    + r"(?:\s{0,8}(?P<mark>:=|=>|->|→|⟶|➜|⇒|➡|👉|►|▶|»|={1,3}|!=|:-|:|=|是|为|改成|改为|改成了)(?:[*_~]{1,3}(?=\s))?\s{0,8}"
    r"|\s{1,3}(?P<verb>is now|is still|is set to|is|was|will be|set to|changed to|should be|equals)(?::\s{0,3}|\s{1,3})(?:now |still )?"
    r"|\s{1,3}(?P<foreign>ist|lautet|c'est|est|es|é|è|ist jetzt|jest|är|er|on|to be)(?:\s?:)?\s{1,3})"
)
# Where only what no word looks like is taken: "pw x", "password - x", "changed the password to x", f("password", "x").
LOOSE = (
    CLOSED
    + r"(?:\s{1,3}[-–—]{1,2}\s{1,3}|['’]s\s|,\s{0,2}|\s?\(\s{0,2}|[.…]{2,40}\s?|\.(?:set|send_keys|sendkeys|type|fill|setvalue|settext|write|put|of|from|value)\(\s?(?=[\"'])|\s{1,3}(?:(?:for|of)\s(?:[\w@.'-]{1,30}\s){1,4}?)?(?:(?:to|from|as|into|with|is)\s{1,2})?)"
    # Nothing is read further than to see that it cannot be one.
    r"(?=[\"'`“「]|[^\s\d!#$%^*?]{0,40}[\d!#$%^*?]|\S{20})"
)
BARE = r"[^\s\"'`]{1,400}"
OBJECT_THEN = r"\{\s{0,4}[\"']?(?:value|default)[\"']?\s{0,3}:\s{0,3}|!!str\s{1,3}"
TYPE_THEN = r"(?:[A-Za-z_][\w.]{0,60}(?:\[[\w\[\], |.]{1,60}\])?(?:\s?\|\s?None)?\??)\s{0,3}=\s{0,3}(?=[bru]?[\"'])"
FALLBACK = r"[\w.]{0,40}(?:getenv|environ\.get|environ|env|ENV|fetch|get)\b[^\"'\n]{0,20}(?:\(|\[)[^\n]{0,80}?(?:,|\bor\b|\|\||\?\?|:)\s{0,3}(?=b?\\?[\"'][^\"'\n]{4,})"
KINDS = {Promise.PASSWORD: "password", Promise.FOREIGN: "password", Promise.TOKEN: "secret", Promise.KEY: "key"}


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
        place = match.end() + len(extra)
        link = pattern(LINK).match(lower, place)
        loose = None if link else pattern(LOOSE).match(lower, place)
        found = link or loose
        if not found or lower.startswith("[redacted", found.end()) or (strength := promise(match, line)) is None:
            continue
        span = None
        if link:
            if link["foreign"] and strength is Promise.PASSWORD:
                strength = Promise.FOREIGN
            span = value_span(line, link.end(), core, strength, spoken=bool(link["verb"]))
            if not span and strength is Promise.KEY and (link["verb"] or link["mark"] in {"是", "为"}):
                span = _spoken_key(line, link.end())
            loose = None if span else pattern(LOOSE).match(lower, place)
        if loose and strength is not Promise.KEY:
            span = _loose_span(line, loose, core, extra, strength)
        if span:
            reached = span[1]
            yield Finding(kind_of(core, strength), offset + span[0], offset + span[1])


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


def value_span(line: str, place: int, core: str, strength: Promise, *, spoken: bool) -> tuple[int, int] | None:
    """Where the value stands, if what follows the name can be one."""
    if wrapped := pattern(OBJECT_THEN).match(line, place):
        place = wrapped.end()
    if typed := pattern(TYPE_THEN).match(line, place):
        place = typed.end()
    elif fallback := pattern(FALLBACK).match(line, place):
        place = fallback.end()
    if line[place : place + 1] in {"b", "r", "f", "u"} and line[place + 1 : place + 2] in {'"', "'"}:
        place += 1
    if quoted := _quoted(line, place):
        begin, end, value = quoted
        if link := pattern(r"[bru]?[\"']?\s{0,2}(?:or|\|\||\?\?)\s{0,2}(?=[\"'])").match(line, end + 1):
            return value_span(line, link.end(), core, strength, spoken=spoken)
        return (begin, end) if accepts(value, core, strength, quoted=True) else None
    in_query = bool(pattern(r"[?&][\w.-]{0,40}$").search(line[max(0, place - 60) : max(0, place - 1)]))
    value = bare_value(line, place, in_query=in_query)
    end = place + len(value)
    if not accepts(value, core, strength, quoted=False, in_query=in_query):
        return None
    if (
        is_identifier(value)
        and strength is not Promise.TOKEN
        and not _plain_word_is_a_password(line, place, end, core, strength, spoken=spoken)
    ):
        return None
    return place, end


def _loose_span(line: str, link: re.Match[str], core: str, extra: str, strength: Promise) -> tuple[int, int] | None:
    """What follows the name without a sign between, where it can be nothing else."""
    begin = link.end()
    if extra and "," in link.group():
        return None
    if quoted := _quoted(line, begin):
        begin, end, value = quoted
    else:
        value = bare_value(line[begin : begin + 120], 0, in_query=False).rstrip(")")
        end = begin + len(value)
    if is_placeholder(value) or pattern(r"^[A-Za-z_-]{2,20}[:=]").match(value):
        return None
    if strength is Promise.TOKEN:
        groups = pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value)
        fits = (random_groups(value) if groups else only_a_token(value)) or _is_seed(core, value) or is_one_case(value)
        return (begin, end) if fits and core.lower() not in {"otp", "jwt", "sk", "pat"} else None
    if not only_a_password(value) or not can_be_password(value, quoted=True) or is_named_so(value):
        return None
    # "pass" is also a verb, a ticket and a road: alone it says little.
    if core.lower() in {"passes", "passcodes"}:
        return None
    if core.lower() in {"pass", "pw", "clave"} and not extra and not _is_mixed(value):
        return None
    return begin, end


def _spoken_key(line: str, place: int) -> tuple[int, int] | None:
    """In "the key is x" only what mixes capital letters, small ones, digits or marks as no name of a column does."""
    begin, end, value = _quoted(line, place) or (place, 0, bare_value(line, place, in_query=False))
    end = end or begin + len(value)
    mixed = only_a_password(value) and classes(value) >= 3 and sum(map(str.isdigit, value)) >= 2
    if len(value) < 8 or not mixed or "_" in value or "/" in value or not can_be_token(value):
        return None
    return (begin, end)


def _is_seed(core: str, value: str) -> bool:
    """What an authenticator is set up with."""
    return core.lower() in {"secret", "totp", "otp"} and bool(pattern(r"^(?=.*[2-7])[A-Z2-7]{16,64}$").match(value))


def _is_mixed(value: str) -> bool:
    """Too mixed for the number of a flight or a model."""
    return classes(value) >= 3 or bool(pattern(r"[a-z]{3}\d{2}|\d[a-z]{3}|[a-z]\d[a-z]").search(value))


def _quoted(line: str, place: int) -> tuple[int, int, str] | None:
    """Begin, end and text of what quotes hold at this place; pieces that are joined in code are one value."""
    if (
        line[place : place + 1] == "{"
        and (braced := pattern(r"\{([^{}\s]{4,100})\}(?=;|$)").match(line, place))
        and only_a_password(braced[1])
    ):
        return braced.start(1), braced.end(1), braced[1]
    if line[place : place + 1] not in OPENING:
        return None
    for opening, closing in QUOTES.items():
        if line.startswith(opening, place):
            begin = place + len(opening)
            end = _closing(line, closing, begin)
            value = line[begin:end]
            while len(closing) == 1 and (more := pattern(rf"{closing}\s{{0,3}}[+.]?\s{{0,3}}([\"'])").match(line, end)):
                closing = more[1]  # noqa: PLW2901 - the next piece may stand in other quotes
                stop = _closing(line, closing, more.end())
                if stop <= more.end():
                    break
                value += line[more.end() : stop]
                end = stop
            return begin, end, value
    return None


def _closing(line: str, closing: str, begin: int) -> int:
    end = line.find(closing, begin, begin + 4000)
    while end > 0 and len(closing) == 1 and line[end - 1] == "\\" and line[end - 2 : end - 1] != "\\":
        end = line.find(closing, end + 1, begin + 4000)
    return end if end >= 0 else begin + len(bare_value(line, begin, in_query=False))


def bare_value(line: str, place: int, *, in_query: bool) -> str:
    """An unquoted value: to the next space, without what closes or separates it."""
    match = pattern(BARE).match(line, place)
    if not match:
        return ""
    value = match.group()
    if value.count("=") > 4 or value.count(":") > 6:
        return ""
    cut = r"</|<br|&lt;/?\w|;$|,$|[,;/](?=[A-Za-z_가-힣一-鿿 -]{1,24}[:=](?:[^=\s]|$)(?<!=$))|,(?=\w+/)|&(?=[A-Za-z_]\w{0,30}=)|~~|\*\*|\|$|[，。；！？]"
    if in_query:
        cut += "|&|#"
    if found := pattern(cut).search(value):
        value = value[: found.start()]
    value = pattern(r"[.,;:?。]+$").sub("", value)
    for opening, closing in ("()", "[]", "{}"):
        while value.endswith(closing) and value.count(closing) > value.count(opening):
            value = value[:-1].rstrip(",;")
    return value.removesuffix("\\n").removesuffix("\\")


def accepts(value: str, core: str, strength: Promise, *, quoted: bool, in_query: bool = False) -> bool:
    """Whether the value is what its name promises."""
    if strength is Promise.FOREIGN:
        return only_a_password(value) and can_be_password(value, quoted=quoted)
    if strength is Promise.PASSWORD:
        if core.lower() in {"pass", "passes"} and value.isdigit():
            return False
        return can_be_password(value, quoted=quoted)
    if strength is Promise.TOKEN:
        if pattern(r"^[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,}$").match(value):
            return random_groups(value)
        return can_be_token(value)
    if core.lower() == "auth" and is_basic(value):
        return True
    if not can_be_token(value, least=16) or is_reference(value):
        return False
    if is_random(value):
        return True
    # KEY of a settings file may be hexadecimal; "key" in a sentence or a log may be anything's.
    told = core.lower() not in {"key", "keys", "session", "signature", "sig"} or core in {"KEY", "KEYS"} or in_query
    return told and (_is_long_hex(value) or is_uuid(value))


def _is_long_hex(value: str) -> bool:
    return is_hex(value) and entropy(value[:200]) > 3


def random_groups(value: str) -> bool:
    letters = value.replace("-", "")
    return len(set(letters)) >= 10 and not letters.isalpha() and not is_placeholder(value)


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


# Secrets on command lines and in SQL statements.

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
