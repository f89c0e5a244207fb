"""Secrets here are invented at run time, so that no scanner finds one in this repository."""

from __future__ import annotations

import random
import string

import pytest

from nacre.guard.secrets import redact

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


def characters(count: int, alphabet: str = LETTERS, seed: int = 11) -> str:
    """The same random characters each time; at least two digits among letters, as real tokens have."""
    source = random.Random(f"{seed}/{count}/{alphabet}")
    while True:
        made = "".join(source.choice(alphabet) for _ in range(count))
        if alphabet is not LETTERS or sum(c.isdigit() for c in made) >= 2:
            return made


def vendor_tokens() -> dict[str, str]:
    """One token for each of many vendors, by the kind it must be called."""
    c = characters
    return {
        "openai key": "sk-" + "proj-" + c(64),
        "anthropic key": "sk-" + "ant-api03-" + c(90),
        "openrouter key": "sk-" + "or-v1-" + c(64, HEX),
        "api key": "sk-" + c(32, HEX),
        "google key": "AI" + "za" + c(35),
        "google oauth secret": "GOC" + "SPX-" + c(28),
        "google oauth token": "ya" + "29." + c(80),
        "groq key": "gs" + "k_" + c(52),
        "xai key": "xa" + "i-" + c(80),
        "hugging face token": "h" + "f_" + c(34),
        "github token": "gh" + "p_" + c(36),
        "gitlab token": "gl" + "pat-" + c(20),
        "npm token": "np" + "m_" + c(36),
        "pypi token": "py" + "pi-AgEIcHlwaS5vcmc" + c(80),
        "docker token": "dckr" + "_pat_" + c(27),
        "clawhub token": "cl" + "h_" + c(32),
        "aws key": "AK" + "IA" + c(16, UPPER),
        "aliyun key": "LT" + "AI5t" + c(18),
        "tencent key": "AK" + "ID" + c(32),
        "cloudflare token": "cf" + "ut_" + c(48),
        "digitalocean token": "dop" + "_v1_" + c(64, HEX),
        "databricks token": "da" + "pi" + c(32, HEX),
        "vault token": "hv" + "s." + c(90),
        "doppler token": "dp" + ".pt." + c(43),
        "slack token": "xo" + "xb-" + c(12, "123456789") + "-" + c(24),
        "twilio key": "S" + "K" + c(32, HEX),
        "sendgrid key": "S" + "G." + c(22) + "." + c(43),
        "stripe key": "sk" + "_live_" + c(24),
        "shopify token": "shp" + "at_" + c(32, HEX),
        "linear key": "lin" + "_api_" + c(40),
        "airtable token": "pa" + "t" + c(14) + "." + c(64, HEX),
        "telegram token": c(10, "123456789") + ":A" + "A" + c(33),
        "discord token": "M" + c(23) + "." + c(6) + "." + c(27),
        "mailchimp key": c(32, HEX) + "-us" + "12",
        "new relic key": "NR" + "AK-" + c(27, UPPER),
        "age key": "AGE-SECRET" + "-KEY-1" + c(58, UPPER),
        "jwt": "eyJ" + c(20) + ".eyJ" + c(30) + "." + c(43),
    }


def private_key(kind: str = "RSA ", *, lines: int = 6, end: bool = True) -> str:
    body = "\n".join(characters(64, LETTERS + "+/", seed) for seed in range(lines))
    closing = f"\n-----END {kind}PRIVATE" + " KEY-----" if end else ""
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{body}{closing}"


@pytest.mark.parametrize(("kind", "token"), vendor_tokens().items())
def test_a_vendors_token_is_named_and_taken_out(kind: str, token: str) -> None:
    redaction = redact(f"we now use {token} for the deploy")
    assert redaction.text == f"we now use [redacted: {kind}] for the deploy"


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""])
def test_a_private_key_goes_as_one_block(kind: str) -> None:
    redaction = redact(f"before\n{private_key(kind)}\nafter")
    assert redaction.text == "before\n[redacted: private key]\nafter"


def test_a_private_key_without_its_last_line_goes_as_far_as_it_reaches() -> None:
    redaction = redact(f"before\n{private_key(end=False)}\n\nThen we met for lunch.")
    assert redaction.text == "before\n[redacted: private key]\n\nThen we met for lunch."


def test_a_private_key_with_escaped_line_ends_goes_too() -> None:
    escaped = private_key().replace("\n", "\\n")
    assert redact(f'{{"private_key": "{escaped}\\n", "x": 1}}').text.endswith('[redacted: private key]\\n", "x": 1}')


def test_a_token_of_an_unknown_vendor_is_known_by_its_shape() -> None:
    token = "zq" + "x_live_" + characters(32)
    assert redact(f"the bot uses {token} now").text == "the bot uses [redacted: access token] now"


def test_overlapping_findings_become_one_with_the_most_telling_kind() -> None:
    token = "gh" + "p_" + characters(36)
    redaction = redact(f'GITHUB_TOKEN="{token}"')
    assert redaction.text == 'GITHUB_TOKEN="[redacted: github token]"'
    assert len(redaction.findings) == 1


def test_an_example_of_a_vendor_is_left_alone() -> None:
    text = "AKIA" + "IOSFODNN7EXAMPLE and gh" + "p_" + "x" * 36
    assert redact(text).text == text


@pytest.mark.parametrize("token", [*vendor_tokens().values(), private_key(), private_key(end=False)])
def test_a_second_pass_over_a_token_finds_nothing(token: str) -> None:
    assert redact(redact(f"token: {token}, and {token}").text).findings == ()
