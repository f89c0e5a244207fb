from __future__ import annotations

import datetime as dt
import re

import pytest

from nacre.daemon.requests import lines_around_best
from nacre.i18n import use_language
from nacre.model import Hit
from nacre.search.show import MATCHED, PLAIN, hit_lines
from nacre.text.layout import width_of

NOW = dt.datetime(2026, 3, 16, 9, tzinfo=dt.UTC)
ENTRY = "Mara Olsen checks every invoice before it goes out on the 25th"


def hit(text: str, layer: str, path: str, **about: object) -> Hit:
    values = {"heading": "Memory > Contacts", "date": None, "score": 0.6, **about}
    return Hit(f"{len(text):010x}", path, 18, 18, snippet=text, layer=layer, **values)  # type: ignore[arg-type] # few are named


def plain(lines: list[str]) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines))


def test_the_entry_is_shown_once_and_its_copies_are_counted() -> None:
    entry = hit(f"- {ENTRY}", "longterm", "MEMORY.md", also=("memory/2026-03-03.md#L5-L5",))
    copy = hit(f"Sort out the invoices\n- {ENTRY}", "gist", "memory_fs/gist/2026-03-03.md", date="2026-03-03")
    shown = hit_lines([(entry, None), (copy, None)], "who checks invoices?", NOW, 80)
    assert plain(shown) == f"{ENTRY}\n  MEMORY.md:18 · Contacts · 0000000040 · also in 2 other places"
    assert f"{MATCHED}checks{PLAIN} every {MATCHED}invoice{PLAIN} before" in shown[0]
    assert "memory_fs/gist" in plain(hit_lines([(entry, None), (copy, None)], "invoices", NOW, 80, explain=True))


def test_without_a_terminal_a_few_lines_around_the_best_are_shown() -> None:
    talk = hit("\n\n".join([*(f"message {at}" for at in range(20)), ENTRY, "agreed"]), "hot", "memory_fs/hot/a.md")
    shown = lines_around_best(talk, "who checks the invoices?")
    assert shown == ["message 16", "message 17", "message 18", "message 19", ENTRY, "agreed"]
    assert lines_around_best(hit("", "hot", "memory_fs/hot/a.md"), "invoices") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hits_fit_the_width_and_say_how_old_and_how_sure_they_are(language: str) -> None:
    use_language(language)
    old = hit(
        "- 发票每月 25 号开出之前都先给周敏核对一遍，" * 5,
        "daily",
        "memory/2026-03-13.md",
        date="2026-03-13",
        superseded=True,
    )
    weak = hit("- " + "a-very-long-word" * 12, "note", "memory/a/" + "long" * 30 + ".md", weak=True)
    lines = plain(hit_lines([(old, "work"), (weak, None)], "发票 核对", NOW, 60))
    assert max(map(width_of, lines.splitlines()[:6])) <= 60
    for words in (
        ("3 days ago", "superseded", "Less likely:") if language == "en" else ("3 天前", "已被取代", "可能性较小：")
    ):
        assert words in lines
    assert f"{MATCHED}发票{PLAIN}" in "".join(hit_lines([(old, None)], "发票", NOW, 60))
