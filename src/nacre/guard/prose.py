"""Secrets told in a sentence, in English and in Chinese: passwords, PINs, one-time codes, a login with its password."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import (
    DESCRIBING,
    FUNCTION_WORDS,
    NOT_A_SECRET,
    can_be_password,
    can_be_token,
    classes,
    is_identifier,
    is_placeholder,
)

CHINESE_HINTS = (
    "密码",
    "口令",
    "密钥",
    "秘钥",
    "令牌",
    "验证码",
    "校验码",
    "动态码",
    "授权码",
    "密匙",
    "暗号",
    "凭证",
    "激活码",
    "密碼",
    "驗證碼",
    "金鑰",
)
CHINESE_NAME = r"(?P<password>密码|密碼|口令|暗号|PIN码)|(?P<code>验证码|校验码|动态码|驗證碼|动态密码)|(?P<token>密钥|秘钥|密匙|金鑰|令牌|授权码|凭证|激活码|私钥)"
CHINESE_LINK = (
    r"(?:[(（][^)）\n]{0,12}[)）])?[”」』\"'`*]{0,2}"
    r"(?:\s{0,2}(?:现在|目前|暂时|统一|默认|初始|已经|已|都|就|还|也|先|被|给你|给他|帮我|我|你)){0,3}\s{0,2}"
    r"(?P<link>[:：=]|=>|是|为|為|改成|改为|改為|设成|设为|设置为|设置成|换成|变成|重置为|重置成|更新为|用的是|用|叫|填|输入)?(?:了|的是)?[:：]?\s{0,3}"
    r"[“「『‘\"'`*]{0,2}"
)
CHINESE_VALUE = r"[!-~]{4,200}"
ALGORITHMS = r"(?i)^(?:md5|sha-?\d*|bcrypt|scrypt|argon2\w*|aes[-\d\w]*|rsa[-\d]*|base64|hash|token|jwt|oauth2?|api|https?|json|redis|mysql|vault|kms|sm[234]|des|null|none|string|admin-only)$"

CODE_NAME = (
    r"\b(?:(?:verification|security|confirmation|one[- ]?time|login|log[- ]in|sign[- ]in|auth(?:entication|orization)?|2fa|mfa|otp|sms|two[- ]factor|"
    r"recovery|backup|access|unlock|door|gate|alarm|safe|activation|your|the sms)\s(?:pass)?(?:code|pin|number)|otp|passcode)"
    r"(?:\s(?:for|to)\s(?:[\w.-]{1,20}\s){0,2}?[\w.-]{1,20})?\s{0,2}(?:is|was|:|=|:)?\s{0,2}(?:now |still )?[\"'`*]{0,2}(?:[a-z]-)?(\d{3}[- ]\d{3}|\d{4,10})(?![\d.]|\s?(?:times|people|users|chars|tokens|ms|px|%))\b"
)
CODE_FIRST = r"(?<![\w.-])(?:use\s+)?(?:[a-z]-)?(\d{3}[- ]\d{3}|\d{4,8})\s(?:is|as)\s(?:your|the|my)\s(?:[\w-]{1,20}\s){0,4}?(?:code|otp|pin|passcode|password)\b"
CODE_USED = (
    r"\b(?:use|enter|type)\s(\d{3}[- ]\d{3}|\d{4,8})\s(?:to|when)\s(?:verify|log|sign|confirm|complete|unlock|continue)"
)
PIN = r"\bpin(?:\s?code|\snumber)?(?:\s(?:for|of|to)\s(?:[\w'-]{1,20}\s){0,3}?[\w'-]{1,20})?\s{0,2}(?:is|was|:|=|:)\s{0,2}[\"'`*]{0,2}(\d{4,8})\b(?!\.\d)"

LOGIN = (
    r"\b(?:log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?[ -]?in|ssh(?:ed)?(?: in)?|connect|credentials?|creds|account|admin access|default login|authenticate|user(?:name)?\s?/\s?pass(?:word)?|id\s?/\s?(?:pw|pass(?:word)?))\b"
    r"\s{0,2}(?:is|are|:|=|-)?\s{0,2}(?:with|as|using|via|by)?\s{0,2}(?:the\s)?(?:credentials?\s|creds\s|user\s|account\s)?[\"'`*(]{0,2}"
    r"(?P<user>[\w.@+-]{2,60})[\"'`*]{0,2}(?:\s?[/|]\s?|\s?:\s?|\s(?:and|with)\s(?:the\s)?(?:password|pass|pw|pwd)\s)[\"'`*]{0,2}(?P<value>[^\s\"'`*,;]{3,100})"
)
USERS = frozenset(
    "root admin administrator user test postgres sa guest ubuntu pi oracle mysql demo operator sysadmin ec2-user debian centos service support manager tomcat jenkins".split()
)
SAID = (
    r"\b(?:(?:with|use|using|used|try|the|this|set|new|my|your|our|and|whose|its|temporary|temp|default|initial|change|reset|enter|typed?)\s"
    r"|(?:user(?:name)?|login|account|ssh|sftp|scp)\b[^\n]{1,60}?\s)(?:password|passwd|passphrase|passcode|pwd|pw)\s"
    r"(?:(?:for|of|to|on|in)\s(?:[\w@.'-]{1,30}\s){0,4}?[\w@.'-]{1,30}\s)?(?:to|with|as|into|is)?\s{0,2}[\"'`]?(?P<value>[^\s\"'`]{4,100})"
)
WORDS = r"\bpass ?phrase\s{0,2}(?:is|:|=|:)\s{0,3}[\"'`]?((?:[a-z0-9]{2,12}[ -]){3,9}[a-z0-9]{2,12})[\"'`.]{0,2}\s*$"
NAMED_AFTER = r"(?<!\S)[\"'`]?(?P<value>[^\s\"'`]{4,100})[\"'`]?\s(?:is|as)\s(?:the|my|your|our|his|her|a)\s(?:[\w-]{1,20}\s){0,3}?(?:password|passphrase|passcode|pwd)\b"
SEED = r"(?:\b(?:seed|recovery|mnemonic|backup|wallet)\s?(?:phrase|words|seed|mnemonic)?|助记词)\s{0,2}(?:is|are|:|=|:|是|为)\s{0,2}[\"'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"


def english(line: str, lower: str, offset: int) -> Findings:
    """What a sentence gives away; expressions run over the lower-cased line, values are taken from the line itself."""
    digits = pattern(r"\d").search(line) is not None
    if digits and ("code" in lower or "otp" in lower or "pin" in lower or "verify" in lower):
        for expression in (CODE_NAME, CODE_FIRST, CODE_USED):
            for match in pattern(expression).finditer(lower):
                if not _ordinary_code(lower, match.start()):
                    yield Finding("one-time code", offset + match.start(1), offset + match.end(1))
        for match in pattern(PIN).finditer(lower):
            yield Finding("pin", offset + match.start(1), offset + match.end(1))
    if "/" in line or ":" in line or "|" in line or " password " in lower:
        yield from _logins(line, lower, offset)
    if digits and ("pass" in lower or "pw" in lower):
        for expression in (SAID, NAMED_AFTER):
            for match in pattern(expression).finditer(lower):
                value = line[match.start("value") : match.end("value")].rstrip(".,;:?)")
                if _only_a_password(value) and can_be_password(value, quoted=False):
                    yield Finding("password", offset + match.start("value"), offset + match.start("value") + len(value))
        yield from _passphrase(lower, offset)
    elif "phrase" in lower:
        yield from _passphrase(lower, offset)
    if "seed" in lower or "recovery" in lower or "mnemonic" in lower or "wallet" in lower or "助记词" in line:
        for match in pattern(SEED).finditer(lower):
            yield Finding("seed phrase", offset + match.start(1), offset + match.end(1))


def _passphrase(lower: str, offset: int) -> Findings:
    """Four words or more that no sentence would put in a row."""
    if match := pattern(WORDS).search(lower):
        words = pattern(r"[ -]").split(match[1])
        if not FUNCTION_WORDS.intersection(words) and not any(pattern(DESCRIBING).match(word) for word in words[:1]):
            yield Finding("passphrase", offset + match.start(1), offset + match.end(1))


def _ordinary_code(line: str, start: int) -> bool:
    """A status, error or postal code is no secret."""
    return bool(
        pattern(
            r"(?i)(?:status|error|exit|zip|postal|post|area|country|currency|response|return|http|source|promo|product)\s?$"
        ).search(line[max(0, start - 20) : start])
    )


def _only_a_password(value: str) -> bool:
    """Letters mixed with digits or marks, as no word of a sentence is."""
    if pattern(r"^\d+(?:[.,:/-]\d+)*\w{0,2}$").match(value) or pattern(r"^[A-Za-z]+[-'’/][A-Za-z]+$").match(value):
        return False
    return (
        bool(pattern(r"\d").search(value))
        and bool(pattern("[A-Za-z]").search(value))
        and not is_identifier(value)
        and len(value) >= 5
        and not pattern(r"^(?:v?\d|[A-Z]+-\d+$|[\w.-]+\(|https?:|\w+\d?:$)|[=({]|\.\w{2,4}$").search(value)
    )


def _logins(line: str, lower: str, offset: int) -> Findings:
    for match in pattern(LOGIN).finditer(lower):
        user, value = match["user"], line[match.start("value") : match.end("value")].rstrip(".,;:?!)")
        if (
            user.lower() in NOT_A_SECRET - {"user"}
            or is_placeholder(value)
            or value.startswith(("/", "("))
            or len(value) < 3
        ):
            continue
        end = match.start("value") + len(value)
        known = (
            user.lower() in USERS
            and (not value.isalpha() or _ends_clause(line, end))
            and not value.lower().startswith(("http", "user", "admin/"))
        )
        if value.isdigit() and not known:
            continue
        if (known and value.lower() not in NOT_A_SECRET | USERS - {"admin"}) or (
            classes(value) >= 3 and len(value) >= 6 and "/" not in value and "@" not in value
        ):
            yield Finding("password", offset + match.start("value"), offset + end)


def chinese(line: str, offset: int) -> Findings:
    for match in pattern(CHINESE_NAME).finditer(line):
        link = pattern(CHINESE_LINK).match(line, match.end())
        assert link is not None
        value = pattern(CHINESE_VALUE).match(line, link.end())
        if not value:
            continue
        found = value.group()
        if cut := pattern(r"[,;](?=\s|$|[A-Za-z_]+[:=])").search(found):
            found = found[: cut.start()]
        found = found.rstrip(".,;:?)]}\"'`*")
        if len(found) < 4 or pattern(ALGORITHMS).match(found):
            continue
        linked = bool(link["link"])
        if match["code"]:
            if digits := pattern(r"\d{4,8}(?![\d.])").match(found):
                found = digits.group()
            fits = bool(pattern(r"^\d{4,8}$").match(found)) or (
                linked and bool(pattern(r"^(?=.*\d)[A-Za-z0-9]{4,8}$").match(found))
            )
        elif match["token"]:
            fits = can_be_token(found) and (linked or len(found) >= 16)
        else:
            number = found.isdigit() and (
                linked or (len(found) in {6, 8} and _ends_clause(line, link.end() + len(found)))
            )
            mixed = classes(found) >= 2 or number
            fits = can_be_password(found, quoted=True) and (
                mixed or (linked and link["link"] not in {"用", "为"} and _ends_clause(line, link.end() + len(found)))
            )
        if fits:
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            yield Finding(kind, offset + link.end(), offset + link.end() + len(found))
    for match in pattern(
        r"(?<![\d.])(\d{4,8})\s{0,2}(?:是|为)(?:您|你|我)?的?[^\s,。,]{0,10}(?:验证码|校验码|动态码)"
    ).finditer(line):
        yield Finding("one-time code", offset + match.start(1), offset + match.end(1))


def _ends_clause(line: str, end: int) -> bool:
    return bool(pattern(r"[”」』\"'`*)）]{0,2}\s*(?:$|[，。；！、,.;!\n])").match(line, end))
