"""Names that announce a secret, and how much they promise: a password may be any word, a key must look like one."""

from __future__ import annotations

import re
from enum import IntEnum

from nacre.guard.finding import pattern


class Promise(IntEnum):
    """What the name lets us expect of the value."""

    KEY = 1
    TOKEN = 2
    PASSWORD = 3
    FOREIGN = 4  # a password in a language whose words we do not know: only what no word looks like


# Found anywhere in a lower-cased line, at the cost of a substring search each; only then is the line read.
HINTS = (
    "pass", "pwd", "pw", "psw", "bearer", "basic", "secret", "token", "key", "auth", "cred", "sig", "session", "cookie", "otp", "mfa", "jwt", "sas",
    "cert", "seed", "webhook", "dsn", "kennwort", "contrase", "psk", "_sk", "sk:", "senha", "clave", "mdp", "parola", "woord", "haslo", "hasło", "parool",
    "sifre", "şifre", "sandi", "adgangskode", "salasana", "lösenord", "mật khẩu", "p@", "p a s", "_pat", "pat:", "license", "heslo", "jelsz", "palavra", "p/w", "schlüssel",
)  # fmt: skip
# Between the letters of a word that somebody took apart: p a s s w o r d, "pass" + "word".
APART = r"[\s\"'`.+_*-]{0,5}"
BEFORE_KEY = (
    "api access secret private auth encryption encrypt signing master shared account service client app deploy subscription license activation "
    "product admin storage webhook hmac session refresh bot rest server consumer security unseal setup user instrumentation preshared aes wlan "
    "wifi wi-fi wpa wpa2 recovery"
)
ANY_KEY = r"[ _.-]?(?:keys?|code)(?![a-z])"
WORDS = (
    "passwort", "p" + APART + APART.join("assword") + "s?", "pass(?:wds?|wrd)", "pass[ _-]?(?:phrases?|codes?|keys?)(?![a-z])", "p/w", "passes", "pass", "pswd", "paswd", "pwds?", "psw", "pw", "psk",
    r"p[a@4][s$5]{2}w[o0]rds?", "palavra[ _-]?(?:passe|chave)", "parola(?: d'ordine| chiave)", "parool", "kennwort", "contrase[nñ]a", "clave",
    "mots?[ _-]de[ _-]passe", "mdp", "senha", "wachtwoord", "has[lł]o", "l[oö]senord", "adgangskode", "salasana", "sifre", "şifre", "heslo", "jelszó", "kata sandi",
    "mật khẩu", "wlan-?schlüssel", "netzwerk-?schlüssel", "secret keys?(?![a-z])", "secrets?", "tokens?", "credentials?", "creds?", "apikey", "apisecret", "otp", "totp", "jwt", "bearer",
    *(word + ANY_KEY for word in BEFORE_KEY.split()), "pat(?=[ _]?[:=])", "sk(?=[ _]?[:=])",
    "keys?", "authorization", "authentication", "auth", "signature", "sig", "session[ _-]?id", "session", "sas", "cookie", "dsn", "seed",
)  # fmt: skip
# Sorted by their first letter, so that at most places none is tried; no groups, for what was found is told apart afterwards.
NAME = "|".join(
    f"{first}(?:{'|'.join(word[1:] for word in WORDS if word[0] == first)})"
    for first in dict.fromkeys(word[0] for word in WORDS)
)
FOREIGN = r"passwort|palavra.*|parola.*|parool|kennwort|contrase.a|clave|mots?.de.passe|mdp|senha|wachtwoord|has.o|l.senord|adgangskode|salasana|.ifre|heslo|jelszó|kata sandi|mật khẩu|\w+-?schlüssel"
KEYS = frozenset(
    "key keys authorization authentication auth signature sig session sessionid sas cookie dsn seed".split()
)
TAIL = r"[A-Za-z0-9_\-]{0,40}"
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
NEUTRAL_KEYS = frozenset("public primary foreign sort partition cache hot arrow enter shift tab".split())
OWNERS = frozenset(
    """
    my db user root admin app smtp ftp ssh sql mysql pg ldap mail wifi new old sudo redis mongo set http proxy git nas vpn rdp vnc login account
    bind default temp tmp
    """.split()
)
# Services whose keys have no beginning of their own, so that only the name before "key" gives them away.
SERVICES = frozenset(
    """
    ably adafruit alchemy algolia amplitude assemblyai azure baidu bing bugsnag circleci cloudflare cloudinary cohere contentful coze datadog
    deepgram deepl deepseek dify dingtalk etherscan fastly feishu finnhub freshdesk gaode amap giphy gitea heroku huawei hunter infura intercom
    ipinfo jenkins kimi lark linkedin mailjet minimax mistral mixpanel moonshot newsapi okta opencage openweather openweathermap pagerduty pexels
    pinata pixabay polygon postmark pusher qianfan quickbooks rapidapi rollbar segment sendbird serpapi shodan siliconflow sparkpost splunk
    spotify tencent tmdb trello twitter unsplash virustotal volcengine weatherapi wechat xunfei yandex youtube zendesk zhipu zoom wandb serper
    helicone alphavantage coingecko mailgun sendgrid bitly geoapify locationiq nasa guardian openai anthropic gemini groq stripe twilio pushover
    ifttt steam riot yelp foursquare tomtom maptiler tinify tinypng uptimerobot statuspage opsgenie hetzner linode vultr ovh gandi namecheap
    godaddy porkbun dnsimple imgbb imgur pastebin todoist raindrop readwise feedly dd xi fal
    """.split()
)
CHINESE_SERVICES = r"(?:高德|百度|腾讯|阿里|讯飞|和风|微信|钉钉|飞书|企微|七牛|极光|个推)\w{0,8} ?$"


def promise(match: re.Match[str], line: str) -> Promise | None:
    """What the name promises that was found in the lower-cased `line`; none when it is part of another word."""
    start = match.start()
    core = line[start : match.end()]
    plain = match.group()
    head = line[max(0, start - 40) : start]
    last = head[-1:]
    words = [word.lower() for word in pattern(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+").findall(head[-24:])] if head else []
    if last.isalpha() and last.isascii() and len(core) <= 4:
        camel = last.islower() and core[0].isupper()
        if not camel and not (words and words[-1] in OWNERS and not head[: -len(words[-1])][-1:].isalpha()):
            return None
    kind = _kind(plain)
    nearest = words[-1] if words and not head.endswith(" ") else ""
    if kind in {Promise.TOKEN, Promise.KEY} and nearest in NEUTRAL_HEAD and last in "_-.abcdefghijklmnopqrstuvwxyz":
        return None
    if kind is Promise.KEY:
        if words and words[-1] in NEUTRAL_KEYS:
            return None
        if plain == "key" and (SERVICES.intersection(words[-2:]) or _is_chinese_service(head)):
            return Promise.TOKEN
    return kind


def _kind(plain: str) -> Promise:
    if plain in KEYS or plain in {"session_id", "session-id", "session id"}:
        return Promise.KEY
    if (
        plain[0] == "p"
        and plain not in {"pat", "passwort"}
        and not plain.startswith(("pal", "par", "private", "product", "preshared"))
    ):
        return Promise.PASSWORD
    return Promise.FOREIGN if pattern(FOREIGN).fullmatch(plain) else Promise.TOKEN


def _is_chinese_service(head: str) -> bool:
    return not head.isascii() and bool(pattern(CHINESE_SERVICES).search(head))


def tail_allows(core: str, tail: str) -> bool:
    """Whether what follows the name leaves its meaning: password_2, PasswordAdmin, secrets; not passengers, token_type."""
    if not tail:
        return True
    if tail[0].isalpha() and not (tail[0].isupper() and core[-1].islower()):
        return False
    words = [word.lower() for word in pattern(r"[A-Z]?[a-z]+|[A-Z]+|\d+").findall(tail)]
    return not any(word in NEUTRAL_TAIL for word in words)
