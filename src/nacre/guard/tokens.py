"""Secrets known by their own form: tokens of vendors, addresses, key blocks, headers."""

from __future__ import annotations

import base64
import binascii
from functools import cache

from nacre.guard.finding import LONG_RUN, Finding, Findings, pattern
from nacre.guard.values import (
    changes,
    classes,
    is_hex,
    is_identifier,
    is_made_up,
    is_path,
    is_placeholder,
    is_random,
    is_uuid,
)
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


# Secrets in addresses: passwords before the host, webhooks whose path is the key, signatures in the query.

DATABASES = "postgres postgresql mysql mariadb mongodb redis rediss amqp amqps mssql sqlserver oracle clickhouse cassandra jdbc".split()

# Kind, a part that must be in the text, the expression whose first group is the secret.
WEBHOOKS: tuple[tuple[str, str, str], ...] = (
    ("slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+-]{20,})"),
    ("discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(\d{10,}/[A-Za-z0-9_-]{30,})"),
    ("teams webhook", ".webhook.office.com", r"webhook\.office\.com/(webhookb2/[A-Za-z0-9@/_-]{40,})"),
    ("webhook", "logic.azure.com", r"logic\.azure\.com[^\s\"'<>]{0,300}[?&]sig=([A-Za-z0-9%_-]{20,})"),
    (
        "feishu webhook",
        "/open-apis/bot/",
        r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([A-Za-z0-9-]{16,})",
    ),
    ("dingtalk webhook", "oapi.dingtalk.com", r"dingtalk\.com/robot/send\?[^\s\"']{0,80}?access_token=([0-9a-f]{32,})"),
    (
        "wechat webhook",
        "qyapi.weixin.qq.com",
        r"weixin\.qq\.com/cgi-bin/webhook/send\?[^\s\"']{0,40}?key=([0-9a-f-]{30,})",
    ),
    ("zapier webhook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/(\d{4,}/[A-Za-z0-9]{5,})"),
    ("ifttt key", "maker.ifttt.com", r"maker\.ifttt\.com/trigger/[^\s/]{1,60}/(?:json/)?with/key/([A-Za-z0-9_-]{16,})"),
    ("telegram token", "api.telegram.org", r"api\.telegram\.org/(?:file/)?bot(\d{6,12}:[A-Za-z0-9_-]{30,})"),
    ("sentry dsn", "ingest", r"https://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{0,60}ingest"),
    (
        "google chat webhook",
        "chat.googleapis.com",
        r"chat\.googleapis\.com/v1/spaces/[^\s\"']{1,200}?[?&]token=([A-Za-z0-9%_-]{20,})",
    ),
    ("pipedream webhook", ".m.pipedream.net", r"(?<![\w.-])([a-z0-9]{20,})\.m\.pipedream\.net"),
    ("infura key", "infura.io/", r"infura\.io/(?:ws/)?v3/([0-9a-f]{32})"),
    ("alchemy key", "alchemy.com/v2/", r"alchemy\.com/v2/([A-Za-z0-9_-]{28,})"),
    ("rpc key", ".quiknode.pro/", r"quiknode\.pro/([0-9a-f]{32,})"),
    ("rpc key", "rpc.ankr.com/", r"rpc\.ankr\.com/\w{1,30}/([0-9a-f]{40,})"),
    ("make webhook", ".make.com/", r"hook\.\w{2,4}\d?\.make\.com/([a-z0-9]{24,})"),
    ("mattermost webhook", "/hooks/", r"https?://[\w.-]{3,80}/hooks/([a-z0-9]{26})(?![\w-])"),
    ("n8n webhook", "/webhook/", r"https?://[\w.-]{3,80}/webhook/([0-9a-f]{8}-[0-9a-f-]{27})"),
    ("rocket chat webhook", "/hooks/", r"https?://[\w.-]{3,80}/hooks/([A-Za-z0-9]{17,24}/[A-Za-z0-9]{40,})"),
    ("healthcheck key", "hc-ping.com/", r"hc-ping\.com/([0-9a-f]{8}-[0-9a-f-]{27}|[A-Za-z0-9_-]{22})"),
    ("pushplus key", "pushplus.plus/", r"pushplus\.plus/send\?token=([0-9a-f]{32})"),
    ("calendar address", "calendar.google.com/", r"calendar/ical/[^\s/]{3,120}/private-([0-9a-f]{32})"),
    ("bark key", "api.day.app/", r"api\.day\.app/([A-Za-z0-9]{20,})"),
    ("serverchan key", ".ftqq.com/", r"(?:sctapi|sc)\.ftqq\.com/([A-Za-z0-9]{20,})"),
)


def webhooks(text: str) -> Findings:
    """Addresses whose path or query is the secret."""
    for kind, part, expression in WEBHOOKS:
        if part in text:
            for match in pattern(expression).finditer(text):
                if not is_made_up(match[1]) and not _spells_words(match[1]):
                    yield Finding(kind, *match.span(1))
    if "sig=" in text:
        for match in pattern(r"[?&;]sig=([A-Za-z0-9%+/_-]{24,}(?:={0,2}))").finditer(text):
            if not is_placeholder(match[1]):
                yield Finding("azure signature", *match.span(1))
    if "appid=" in text:
        for match in pattern(r"[?&]appid=([0-9a-f]{32})\b").finditer(text):
            yield Finding("key", *match.span(1))
    if "Signature=" in text or "Credential=" in text:
        for match in pattern(r"[?&, ](?:X-Amz-)?(?:Signature|Security-Token)=([A-Za-z0-9%+/=_-]{24,})").finditer(text):
            yield Finding("signature", *match.span(1))


def _spells_words(value: str) -> bool:
    """A path of plain words joined by hyphens is a document's invention."""
    return len(pattern(r"(?<![A-Za-z])[a-z]{2,}(?![A-Za-z0-9])").findall(value)) >= 5


def logins(text: str) -> Findings:
    """Passwords and tokens before the host."""
    # The user's name cannot hold a colon and the password no slash, so each address is read once.
    login = r"://([^\s:/@\"'<>\\]{0,120}):([^\s/\"'<>`\\]{1,200})@(?=[\w\[$%{-])"
    for match in pattern(login).finditer(text):
        scheme = pattern(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}$").search(
            text, max(0, match.start() - 32), match.start()
        )
        if not scheme:
            continue
        if match[2].lower() in {"password", "pass", "passwd", "pwd", "pw", "secret", "token"} or is_placeholder(
            match[2]
        ):
            continue
        if match[1].lower() in {"user", "username"} and match[2].lower() in {"pass", "password"}:
            continue
        name = scheme.group().lower().split("+")[0]
        yield Finding("connection string" if name in DATABASES else "password", *match.span(2))
    if "://" in text and "@" in text:
        alone = r"(?<![A-Za-z0-9+.-])https?://([A-Za-z0-9_-]{20,200})@[\w.-]+"
        for match in pattern(alone).finditer(text):
            if not is_placeholder(match[1]) and pattern(r"\d").search(match[1]):
                yield Finding("access token", *match.span(1))
    if "://" in text and "@" in text:
        proxy = r"(?<![A-Za-z0-9])(?:trojan|vless|ssr?|hysteria2?|hy2|tuic|anytls)://([A-Za-z0-9+/=_:%.~-]{8,300})@(?=[\w\[])"
        for match in pattern(proxy).finditer(text):
            if not is_placeholder(match[1]):
                yield Finding("password", *match.span(1))
    if "jdbc:oracle" in text:
        for match in pattern(r"jdbc:oracle:\w{2,6}:[\w$#-]{1,40}/([^\s@\"']{1,80})@").finditer(text):
            if not is_placeholder(match[1]):
                yield Finding("connection string", *match.span(1))


# Private keys and other secrets that stand in blocks, also when the block was cut off.

# Editors turn the hyphens into dashes.
BEGIN = r"[-–—]{2,5} ?BEGIN (?P<what>[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?) ?[-–—]{2,5}"
END = r"[-–—]{2,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?[-–—]{2,5}"
# The first bytes of a private key in DER: RSA and PKCS #8, elliptic curves, Ed25519.
BARE = r"(?<![A-Za-z0-9+/])(?:MII[B-J][A-Za-z0-9+/]{2}IBA[AD][KA]|MII[C-J][A-Za-z0-9+/]{2}[A-Z]BOBgkqhkiG9w0BBQ0w|M[A-I][A-Za-z0-9+/]{1,2}C?AgEAMB[MAI]GByqGSM4|MHcCAQEEI|MC4CAQAwBQYDK2Vw)[A-Za-z0-9+/]{20,}={0,2}"
# What may stand between the two lines: base64, headers such as "Proc-Type: 4,ENCRYPTED", quoting, escaped line ends,
# and what a log or a diff puts before each line.
BODY_LINE = (
    r"(?:[ \t>|+#\"'`,*/.\d:\[\]T-]{0,40}(?:[A-Za-z0-9+/=]{16,}|=[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{1,15}={1,2})[\"'`,;\\ \t+]{0,8}"
    r"|[ \t>+#\"'-]{0,10}(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|Subject|X-[\w-]+): ?[^\n]{0,120}|[ \t>+#\"']{0,8})"
)
LINE_END = r"(?:\r?\n|(?:\\{1,4}[rn]){1,2}|$)"


def blocks(text: str) -> Findings:
    if "PRIVATE KEY" in text:
        yield from _armoured(text)
    if "PuTTY-User-Key-File" in text:
        lines = pattern(r"Private-Lines: ?\d+((?:\r?\n[A-Za-z0-9+/=]+){1,200})(?:\r?\nPrivate-MAC: ?[0-9a-f]+)?")
        for match in lines.finditer(text):
            yield Finding("private key", match.start(1), match.end())
    if "MI" in text or "MHcCAQEE" in text or "MC4CAQ" in text:
        for match in pattern(BARE).finditer(text):
            yield Finding("private key", match.start(), max(match.end(), _end_of_lines(text, match.end())))
    if '"kty"' in text:
        yield from _web_keys(text)
    yield from _encoded(text)


def _armoured(text: str) -> Findings:
    place = 0
    while begin := pattern(BEGIN).search(text, place):
        following = pattern(BEGIN).search(text, begin.end())
        end = pattern(END).search(text, begin.end(), following.start() if following else len(text))
        closed = end and end.start() - begin.end() < 40_000
        place = end.end() if end and closed else _end_of_body(text, begin.end())
        body = pattern(r"[A-Za-z0-9+/]{16,}").search(text, begin.end(), place)
        # An encrypted key without its body says nothing; a plain one is marked even so, for the rest may follow.
        # A sentence that goes on behind the line only speaks of it.
        spoken = pattern(r"[\"'`]? [a-z]{2,} [a-z]").match(text, begin.end())
        if body or ("ENCRYPTED" not in begin["what"] and not spoken):
            yield Finding("private key", begin.start(), place)
    yield from _ends(text)


def _ends(text: str) -> Findings:
    """The rest of a key whose first line was cut off."""
    for end in pattern(END).finditer(text):
        start = reached = end.start()
        for _ in range(400):
            before = text.rfind("\n", 0, max(0, start - 1)) + 1
            line = text[before:start]
            if before >= start or len(line) > 200 or not pattern(BODY_LINE + LINE_END).fullmatch(line):
                break
            if pattern(r"[A-Za-z0-9+/]{16,}").search(line):
                reached = before
            start = before
        if reached < end.start():
            begin = pattern(r"[\s>\"'`]*").match(text, reached)
            yield Finding("private key", begin.end() if begin else reached, end.end())


def _end_of_body(text: str, place: int) -> int:
    """How far a key without its last line reaches."""
    first = pattern(r"[\"'`,;+ \t]{0,6}" + LINE_END).match(text, place)
    if not first:
        one_line = pattern(r"[ \t]{0,4}[A-Za-z0-9+/=]{16,}").match(text, place)
        return one_line.end() if one_line else place
    return _end_of_lines(text, place, first.end())


def _end_of_lines(text: str, place: int, here: int | None = None) -> int:
    """Where the lines of base64 end that follow a place."""
    reached = place
    if here is None:
        first = pattern(LINE_END).match(text, place)
        here = first.end() if first else len(text)
    whole = pattern(BODY_LINE + LINE_END)
    while here < len(text) and (line := whole.match(text, here)) and line.end() > here:
        here = line.end()
        if line.group().strip():
            reached = line.start() + len(line.group().rstrip())
    return reached


def _web_keys(text: str) -> Findings:
    for match in pattern(r"\"(?:d|p|q|dp|dq|qi|k)\"\s{0,4}:\s{0,4}\"([A-Za-z0-9_=-]{16,})\"").finditer(text):
        yield Finding("private key", *match.span(1))


def _encoded(text: str) -> Findings:
    """Base64 that hides a key or a login: read once, in the few forms that begin like structured text."""
    if not pattern(r"eyJ|ewog|ewoJ|Wwog|W3si|[MNO][DTjz][A-Za-z][wxyz0-5]").search(text):
        return
    run = r"(?<![A-Za-z0-9+/=_-])(?:eyJ|ewo|Wwo|W3si|[MNO][DTjz][A-Za-z][wxyz0-5])[A-Za-z0-9+/]{28,20000}={0,2}(?![A-Za-z0-9+/_.-])"
    for match in pattern(run).finditer(text):
        try:
            plain = base64.b64decode(match.group()[: len(match.group()) // 4 * 4])
        except (binascii.Error, ValueError):
            continue
        if pattern(r'"kty".{0,400}"d"|"d".{0,400}"kty"|private_key|"(?:password|secret|auth)"', 16).search(
            plain.decode("latin-1")
        ):
            yield Finding("private key" if b"k" in plain[:200] and b"kty" in plain else "credentials", *match.span())
        elif pattern(r"^\d{10,12}:[^\x20-\x7e]*").match(plain.decode("latin-1")) and len(match.group()) == 44:
            yield Finding("atlassian token", *match.span())


# Secrets that HTTP carries: Authorization, cookies, and tokens of three signed parts.

SESSION_COOKIES = (
    r"(?:[\w.-]{0,30}(?:sess(?:ion)?(?:[_-]?id)?|sid|auth|token|jwt|csrf|xsrf|remember|sso|identity|credential)[\w.-]{0,20}|"
    r"connect\.sid|PHPSESSID|JSESSIONID|ASP\.NET_SessionId|SAPISID|HSID|SSID|APISID|li_at|c_user|xs|SESSDATA|bili_jct)"
)


def signed_tokens(text: str) -> Findings:
    """JSON web tokens: the second part is JSON too in a signed one, anything in an encrypted one."""
    signed = r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?|(?:[A-Za-z0-9_-]*\.){2,3}[A-Za-z0-9_-]+)"
    for match in pattern(signed).finditer(text):
        if not pattern(r"(?i)your|xxxx").search(match.group()):
            yield Finding("jwt", *match.span())


def headers(line: str, lower: str, offset: int) -> Findings:
    """What Authorization and Cookie carry in one line."""
    if "auth" in lower or "bearer" in lower or "basic" in lower:
        yield from _authorization(line, lower, offset)
    if "cookie" in lower:
        yield from _cookies(line, offset)


def _authorization(line: str, lower: str, offset: int) -> Findings:
    unknown = r"\bauthorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?[a-z][\w-]{2,30}\s{1,3}([a-z0-9._~+/%:=-]{16,4000})"
    for match in pattern(unknown).finditer(lower):
        value = line[match.start(1) : match.end(1)]
        if pattern(r"\d").search(value) and not is_placeholder(value) and not is_path(value):
            yield Finding("authorization", offset + match.start(1), offset + match.end(1))
    scheme = r"\b(bearer|basic|digest|ntlm|negotiate|token|apikey|key|hmac|aws4-hmac-sha256)\s{1,3}[\"']?([a-z0-9._~+/%:=-]{8,4000})"
    for match in pattern(scheme).finditer(lower):
        value = line[match.start(2) : match.end(2)].rstrip(".:")
        named = "authorization" in lower[max(0, match.start() - 30) : match.start()]
        word, start = match[1], offset + match.start(2)
        if is_placeholder(value) or is_identifier(value) or is_path(value):
            continue
        if named and len(value) >= 8 and pattern(r"\d").search(value):
            yield Finding("authorization", start, start + len(value))
        elif word == "bearer" and len(value) >= 12 and pattern(r"\d").search(value) and not is_made_up(value):
            yield Finding("bearer token", start, start + len(value))
        elif word == "basic" and len(value) >= 8 and (value.endswith("=") or is_random(value)):
            yield Finding("authorization", start, start + len(value))


def _cookies(line: str, offset: int) -> Findings:
    for header in pattern(r"(?i)(?:set-)?cookie[\"']?\s{0,3}[:=,]\s{0,3}[\"']?([^\n\"']{8,8000})").finditer(line):
        pair = pattern(rf"(?i)(?<![\w.-]){SESSION_COOKIES}=([^\s;,\"']{{8,4000}})")
        for match in pair.finditer(line, header.start(1), header.end(1)):
            if not is_placeholder(match[1]) and not is_identifier(match[1]):
                yield Finding("session cookie", offset + match.start(1), offset + match.end(1))
