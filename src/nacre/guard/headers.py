"""Secrets that HTTP carries: Authorization, cookies, and tokens of three signed parts."""

from __future__ import annotations

from nacre.guard.finding import Finding, Findings, pattern
from nacre.guard.values import is_identifier, is_made_up, is_path, is_placeholder, is_random

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
