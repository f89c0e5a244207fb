from __future__ import annotations

import pytest

from nacre.guard.secrets import redact


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my card: 4539 1488 0343 6467 exp 09/28", "card number"),
        ("the credit card is 4539148803436467", "card number"),
        ("卡号 6222 0212 3456 7890 128".replace("6222 0212 3456 7890 128", "4539-1488-0343-6467"), "card number"),
        ("cvv 123", "card code"),
        ("transfer it to DE89 3704 0044 0532 0130 00 please", "bank account"),
        ("iban GB29NWBK60161331926819", "bank account"),
        ("身份证号 11010519491231002X，帮我填表", "identity number"),
    ],
)
def test_a_number_with_right_check_digits_is_a_secret(text: str, kind: str) -> None:
    found = redact(text)
    assert kind in {finding.kind for finding in found.findings}
    assert f"[redacted: {kind}]" in found.text


@pytest.mark.parametrize(
    "text",
    [
        "order 4539 1488 0343 6468 is late",
        "run 8123377120 took 6m",
        "snowflake id 1893745629384756224",
        "the commit DE89ABCD12345678 is fine",
        "ISBN 978-3-16-148410-0",
        "单号 110105194912310021 已发货",
        "timestamps 1772461216556 and 1773930042126",
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert redact(text).text == text
