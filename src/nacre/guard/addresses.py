"""Secrets in addresses: passwords before the host, webhooks whose path is the key, signatures in the query."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import is_made_up, is_placeholder

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
