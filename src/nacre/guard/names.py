"""Names that announce a secret, and how much they promise: a password may be any word, a key must look like one."""

from __future__ import annotations

import re
from enum import IntEnum

from nacre.guard.finding import lowered, pattern


class Promise(IntEnum):
    """What the name lets us expect of the value."""

    KEY = 1
    TOKEN = 2
    PASSWORD = 3


# Found anywhere in a lower-cased line, at the cost of a substring search each; only then is the line read.
HINTS = (
    "pass", "pwd", "pw", "psw", "bearer", "basic", "secret", "token", "key", "auth", "cred", "sig", "session", "cookie", "otp", "totp", "mfa", "jwt", "sas",
    "cert", "seed", "webhook", "dsn", "kennwort", "contrase", "mot de passe",
)  # fmt: skip
NAME = (
    r"(?P<password>pass(?:words?|wds?|phrases?|codes?|wort|wrd)|passes|pass|pswd|paswd|pwds?|psw|pw|kennwort|contraseñ?a|mot de passe)"
    r"|(?P<token>secrets?|tokens?|credentials?|creds?|(?:api|access|secret|private|auth|encryption|signing|master|shared|account|service|client|app|deploy|"
    r"subscription|license|activation|product|admin|storage|webhook|hmac|session|refresh|bot|rest|server|consumer|security)[ _.-]?(?:keys?|code)(?![a-z])|apikey|otp|totp|jwt|bearer)"
    r"|(?P<key>keys?|authorization|authentication|auth|signature|sig|session[ _-]?id|session|sas|cookie|dsn|seed)"
)
# A word after or before the name that makes it speak of something else: token_type, next_page_token, public_key.
NEUTRAL_TAIL = frozenset(
    """
    file files path dir folder field fields length len size id ids name names url uri endpoint policy expiry expires expiration ttl type types
    count limit limits budget usage reset manager prompt label hint regex pattern env ref version algorithm alg format state status
    index position column table class input box form page required min max provider source callback function handler method map mapping
    strength validator rules rule error errors message manager rotation store storage vault ring chain board word words stroke frame
    value_from valuefrom from arn email user username hash hashed at date time window encoding count used changed created updated
    """.split()
)
NEUTRAL_HEAD = frozenset(
    """
    max min num total input output prompt completion page next prev previous cursor continuation sync public primary foreign sort partition
    cache translation i18n idempotency row object map dict hash storage_class context eos bos pad unk sep mask start stop end special
    publishable site no without forgot forget reset invalid wrong missing show hide confirm
    """.split()
)
# Services whose keys have no beginning of their own, so that only the name before "key" gives them away.
SERVICES = (
    r"\b(?:ably|adafruit|alchemy|algolia|amplitude|assemblyai|azure|baidu|bing|bugsnag|circleci|cloudflare|cloudinary|cohere|contentful|coze|datadog|deepgram|"
    r"deepl|deepseek|dify|dingtalk|etherscan|fastly|feishu|finnhub|freshdesk|gaode|amap|giphy|gitea|heroku|huawei|hunter|infura|intercom|ipinfo|jenkins|kimi|lark|"
    r"linkedin|mailjet|minimax|mistral|mixpanel|moonshot|newsapi|okta|opencage|openweather(?:map)?|pagerduty|pexels|pinata|pixabay|polygon|postmark|pusher|qianfan|"
    r"quickbooks|rapidapi|rollbar|segment|sendbird|serpapi|shodan|siliconflow|sparkpost|splunk|spotify|tencent|tmdb|trello|twitter|unsplash|virustotal|volcengine|"
    r"weatherapi|wechat|xunfei|yandex|youtube|zendesk|zhipu|zoom)[\w.-]{0,12}[ _-]$"
)


def promise(match: re.Match[str], line: str) -> Promise | None:
    """What the name promises that was found in the lower-cased `line`; none when it is part of another word."""
    start = match.start()
    core = line[start : match.end()]
    head = line[max(0, start - 40) : start]
    last = head[-1:]
    short = len(core) <= 4
    joined = last.isalpha() and last.isascii()
    if joined and short:
        camel = last.islower() and core[0].isupper()
        known = pattern(
            r"(?i)(?:^|[^a-z])(?:my|db|user|root|admin|app|smtp|ftp|ssh|sql|mysql|pg|ldap|mail|wifi|new|old|sudo|redis|mongo)$"
        ).search(head)
        if not (camel or known):
            return None
    words = [word.lower() for word in pattern(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+").findall(head[-24:].rpartition(" ")[2])]
    if (
        match.lastgroup != "password"
        and words
        and words[-1] in NEUTRAL_HEAD
        and last in "_-." + "abcdefghijklmnopqrstuvwxyz"
    ):
        return None
    if match.lastgroup == "key" and pattern(
        r"(?i)(?:public|primary|foreign|sort|partition|cache|hot|arrow|enter|shift|tab)[ _-]?$"
    ).search(head):
        return None
    if core.lower() == "key" and pattern(SERVICES).search(lowered(head)):
        return Promise.TOKEN
    return {"password": Promise.PASSWORD, "token": Promise.TOKEN, "key": Promise.KEY}[match.lastgroup or "key"]


def tail_allows(core: str, tail: str) -> bool:
    """Whether what follows the name leaves its meaning: password_2, PasswordAdmin, secrets; not passengers, token_type."""
    if not tail:
        return True
    if tail[0].isalpha() and not (tail[0].isupper() and core[-1].islower()):
        return False
    words = [word.lower() for word in pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(tail)]
    return not any(word in NEUTRAL_TAIL for word in words)
