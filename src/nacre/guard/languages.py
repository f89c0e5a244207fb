"""Secrets told in Chinese, Japanese, Korean and Russian, and one-time codes in the languages that use our letters."""

from __future__ import annotations

import re

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import can_be_password, can_be_token, classes, only_a_password

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
