"""What is shown of a file holds no secret, wherever in the file it stands."""

from __future__ import annotations

import pytest

from nacre.guard.secrets import safe_lines

TOKEN = "ghp_" + "a8Kd02mfPq93nXzLw81BvTr5YhJ6cS4eUiOo"


@pytest.mark.parametrize(
    "line",
    [
        f"## 10:00 note | group:{TOKEN}",
        f"## 10:00 session:61871d67 | 5 messages | project:{TOKEN}",
        f"## 10:00 session:61871d67 | 5 messages | continued | group:team | group:{TOKEN}",
        f"## {TOKEN}",
        f"- {TOKEN}",
    ],
)
def test_a_token_in_a_heading_of_ours_is_blacked_out(line: str) -> None:
    (shown,) = safe_lines([(7, line)])
    assert shown[0] == 7
    assert TOKEN not in shown[1]


def test_headings_and_lines_without_secrets_stay_as_they_are() -> None:
    lines = [
        "# Session State",
        "## Key Context",
        "## 10:00 session:61871d67 | 5 messages | continued | project:shop-api | group:攀岩",
        "## 10:05 note | project:shop2_api",
        "- The glacier hike is on Sunday",
        "",
    ]
    assert [text for _, text in safe_lines(list(enumerate(lines)))] == lines


def test_lines_keep_their_numbers_behind_a_secret_that_goes_over_several() -> None:
    key = ["-----BEGIN PRIVATE KEY-----", *["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2] * 3, "-----END PRIVATE KEY-----"]
    shown = safe_lines(list(enumerate(["before", *key, "after"], start=1)))
    assert (shown[0], shown[-1]) == ((1, "before"), (7, "after"))
    assert not any("MIIE" in text for _, text in shown)
