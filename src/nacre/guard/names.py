"""Names that announce a secret, in English and in other languages."""

from __future__ import annotations

import re
from enum import IntEnum

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import can_be_password, can_be_token, classes, only_a_password


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


# Secrets told in Chinese, Japanese, Korean and Russian, and one-time codes in the languages that use our letters.

SCRIPT_HINTS = (
    "密", "口令", "令牌", "证码", "證碼", "校验码", "动态码", "授权码", "暗号", "暗証", "凭证", "激活码", "提取码", "提取碼", "访问码", "金鑰", "私钥", "私鑰", "钥",
    "パス", "コード", "認証", "비밀", "비번", "암호", "패스워드", "인증", "парол", "Парол", "ПАРОЛ", "код", "Код", "通關",
)  # fmt: skip
SCRIPT_NAME = (
    r"(?P<code>验证码|校验码|动态码|驗證碼|校驗碼|动态密码|認証コード|認証番号|確認コード|セキュリティコード|ワンタイムパスワード|인증 ?번호(?:는|가)?|인증 ?코드(?:는|가)?|확인 ?코드|보안 ?코드|"
    r"[Кк]од(?: подтверждения| доступа| для входа| входа| безопасности)|[Вв]аш(?: \w{1,20})? код|[Оо]дноразовый (?:код|пароль))"
    r"|(?P<password>密码|密碼|口令|暗号|暗號|密語|PIN码|提取码|提取碼|访问码|パスワード|パスコード|パスフレーズ|暗証番号|合言葉|[Пп]арол[ьяюем]{1,2}|ПАРОЛЬ)"
    r"|(?P<token>密钥|秘钥|密匙|密鑰|金鑰|令牌|授权码|凭证|激活码|私钥|私鑰|API ?キー|秘密鍵|アクセストークン|トークン|토큰|API ?키|[Тт]окен)"
)
FILLER = r"现在|目前|暂时|统一|默认|初始|已经|已|都|就|还|也|先|被|给你|给他|帮我|我|你|您|串|如下|现|目前的"
LINK = (
    r"(?:[(（\[][^)）\]\n]{0,12}[)）\]])?[”」』\"'`*]{0,3}"
    rf"(?:\s{{0,2}}(?:{FILLER})){{0,3}}"
    r"(?:\s(?:от|для|к|на|в|у)\s\S{1,20}(?:\s\S{1,20})?(?=\s))?\s{0,2}"
    r"(?P<link>[:：=]|=>|->|→|➡|👉|⇒|►|[-–—]{1,2}(?=\s)|是|为|為|改成|改为|改為|设成|设为|设置为|設為|设置成|换成|变成|重置为|重置成|更新为|用的是|用|叫|填|输入|は|が|を|теперь)?"
    r"(?:了|的是)?[:：]?[*_~]{0,3}\s{0,3}"
    r"[“「『‘\"'`*【\[]{0,2}"
)  # fmt: skip
VALUE = r"[!-~]{4,200}"
ALGORITHMS = r"(?i)^(?:md5|sha-?\d*|bcrypt|scrypt|argon2\w*|aes[-\d\w]*|rsa[-\d]*|base64|hash|token|jwt|oauth2?|api|https?|json|redis|mysql|vault|kms|sm[234]|des|null|none|string|admin-only|1password|bitwarden)$"
CODE_FIRST = (
    r"(?<![\d.])(\d{4,8})\s{0,2}(?:是|为|[(（【])(?:您|你|我)?的?[^\s,。，]{0,10}(?:验证码|校验码|动态码|驗證碼)"
    r"|(?<![\d.])(\d{4,8})\s?(?:が|は)[^\s。]{0,12}(?:認証コード|確認コード)"
)  # fmt: skip
LATIN_CODE_HINTS = ("código", "codigo", "codice", "code de ", "code d'", "votre code", "ton code", "ihr code", "dein code", "scode", "lcode", "kennwort", "passwort", "weryfik", "verificatie")  # fmt: skip
NUMBER = (
    r"(?P<value>\d{3}[- ]\d{3}|\d{4,8})(?![\d.]\d|\s?(?:%|€|euros?|zeichen|caract|linhas|zeilen|lignes|líneas|righe))\b"
)
LATIN_CODES = (
    r"\b(?:(?:bestätigungs|sicherheits|verifizierungs|einmal|anmelde|freischalt|zugangs)-?(?:code|kennwort|passwort)|ihr code|dein code|"
    r"(?:votre |ton |le )?code (?:de |d')(?:vérification|sécurité|confirmation|accès|connexion)|votre code|ton code|"
    r"(?:tu|su|el|seu|teu|o seu)? ?c[óo]digo (?:de )?(?:verifica[cç][iã][óo]n?|verificação|seguridad|segurança|acceso|acesso|confirma\w+)|(?:tu|su|seu|teu) c[óo]digo|"
    r"(?:il tuo |il )?codice (?:di |d')(?:verifica|sicurezza|accesso|conferma)|il tuo codice|verificatiecode|weryfikacyjny)"
    r"(?:\s[\w@.-]{1,20}){0,2}?\s{0,2}(?:ist|lautet|est|es|é|è|is|:)?\s{0,2}[:\"'`*]{0,3}\s?" + NUMBER
)


# Taken as sentences and notes have it, with a space before the value.
KOREAN_NAME = r"비밀 ?번호|비번|암호|패스워드"
KOREAN = rf"(?:{KOREAN_NAME})[\"'`*]{{0,3}}\s?(?:[:=]|는|은|이|가|를|을)\s?[*`\"']{{0,3}}(?<=[\s\"'`])(?P<value>[!-~]{{4,100}})"


def latin_codes(lower: str, offset: int) -> Findings:
    """One-time codes in German, French, Spanish, Portuguese and Italian."""
    for match in pattern(LATIN_CODES).finditer(lower):
        yield Finding("one-time code", offset + match.start("value"), offset + match.end("value"))


def other_scripts(line: str, offset: int) -> Findings:
    for match in pattern(KOREAN).finditer(line):
        found = _cut(match["value"])
        if can_be_password(found, quoted=True) and only_a_password(found):
            yield Finding("password", offset + match.start("value"), offset + match.start("value") + len(found))
    for match in pattern(SCRIPT_NAME).finditer(line):
        link = pattern(LINK).match(line, match.end())
        assert link is not None
        value = pattern(VALUE).match(line, link.end())
        found = _cut(value.group()) if value else ""
        if (len(found) < 4 and not match["code"]) or pattern(ALGORITHMS).match(found):
            continue
        if (
            match["password"]
            and (pair := pattern(r"^[\w.@+-]{2,40}/(?=\S{4,})").match(found))
            and pattern("[账帐賬帳][号户號戶]|用户").search(line[: match.start()])
        ):
            found = found[pair.end() :]
            start = link.end() + pair.end()
        else:
            start = link.end()
        if length := _length(match, link, line, start, found):
            kind = "one-time code" if match["code"] else "password" if match["password"] else "key"
            yield Finding(kind, offset + start, offset + start + length)
    for match in pattern(CODE_FIRST).finditer(line):
        group = match.lastindex or 1
        yield Finding("one-time code", offset + match.start(group), offset + match.end(group))


def _cut(value: str) -> str:
    if cut := pattern(r"[,;](?=\s|$|[A-Za-z_]+[:=])|\|").search(value):
        value = value[: cut.start()]
    return value.rstrip(".,;:?)]}\"'`*~")


def _length(name: re.Match[str], link: re.Match[str], line: str, start: int, found: str) -> int:
    """How much of what follows the name is the secret; nothing if it cannot be one."""
    linked = bool(link["link"])
    if name["code"]:
        if digits := pattern(r"\d{3}[- ]\d{3}(?!\d)|\d(?: \d){3,7}(?!\d)|\d{4,8}(?![\d.])").match(line, start):
            return len(digits.group())
        return len(found) if linked and pattern(r"^(?=.*\d)[A-Za-z0-9]{4,8}$").match(found) else 0
    if name["token"]:
        return len(found) if can_be_token(found) and (linked or len(found) >= 16) else 0
    ends = ends_clause(line, start + len(found))
    if name.group() in {"提取码", "提取碼", "访问码"}:
        return len(found) if linked and pattern(r"^[A-Za-z0-9]{4,8}$").match(found) else 0
    number = found.isdigit() and (linked or (len(found) in {6, 8} and ends))
    if not can_be_password(found, quoted=True):
        return 0
    # Russian sets words apart by spaces, so the name of a thing may follow where a value would.
    if not linked and "\u0400" <= line[name.start()] < "\u0500":
        return len(found) if only_a_password(found) else 0
    mixed = (classes(found) >= 2 and not _is_a_name(found)) or number
    plain = linked and link["link"] not in {"用", "为", "は", "が", "を", "-", "–", "—"} and ends
    return len(found) if mixed or plain else 0


def _is_a_name(value: str) -> bool:
    """Bitwarden, WeChat: a word with a capital letter."""
    return bool(pattern(r"^[A-Z]?[a-z]+(?:[A-Z][a-z]+)*$").match(value))


def ends_clause(line: str, end: int) -> bool:
    return bool(pattern(r"[”」』\"'`*)）]{0,2}\s*(?:$|[，。；！、,.;!\n|])").match(line, end))
