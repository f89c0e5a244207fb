"""The page in a real browser, by hand and by key, as a person uses it. A command of its own: ./test-browser."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from tests.browser.conftest import Browser

from nacre.memory import Memory

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("default"),  # selenium's own
]


@pytest.fixture(autouse=True)
def _a_night(root: Path) -> None:
    with Memory.open(root, now="2026-03-20T03:00") as memory:
        memory.remember("Deploys happen on Tuesdays, never on Fridays", "PREF", project="*")
        memory.tidy()


def test_a_question_is_searched_by_key_and_its_score_explained(browser: Browser) -> None:
    browser.keys("/")
    browser.driver.switch_to.active_element.send_keys("when is the launch\n")
    browser.wait(lambda: "3 May" in browser.text(".hits"))
    browser.click(".explain summary")
    browser.wait(lambda: "share of the question" in browser.text(".explain table"))
    assert browser.one(".explain svg rect:last-child").size["width"] > 0
    browser.click(".hit .label a")
    browser.wait(lambda: "3 May" in browser.text(".source .marked"))


def test_an_entry_leads_to_where_it_was_said(browser: Browser) -> None:
    browser.go("/memory")
    browser.click(".entry .actions a")
    browser.wait(lambda: "session" in browser.text(".from:not(:empty)"))
    assert browser.driver.current_url.endswith("/memory")
    browser.click(".from .chain .weekly a, .from .chain .daily a")
    browser.wait(lambda: "pnpm" in browser.text(".source .marked"))


def test_a_question_is_answered_by_one_key(browser: Browser) -> None:
    browser.go("/")
    count = len(browser.all(".question"))
    assert count
    browser.keys("k")
    browser.wait(lambda: "Answer saved." in browser.text(".notice") and len(browser.all(".question")) == count - 1)


def test_a_line_is_edited_and_the_file_has_it(browser: Browser, root: Path) -> None:
    browser.go("/memory")
    browser.click(".entry details.inline summary")
    field = browser.one(".entry details[open] textarea")
    field.clear()
    field.send_keys("Use bun in every repository")
    browser.click(".entry details[open] button")
    browser.wait(lambda: "Changed." in browser.text(".notice"))
    assert "- Use bun in every repository\n" in (root / "MEMORY.md").read_text("utf8")


def test_a_line_is_forgotten_and_brought_back(browser: Browser, root: Path) -> None:
    before = (root / "MEMORY.md").read_bytes()
    browser.go("/memory")
    words = browser.text(".entry .text")
    browser.click(".entry form[action='/forget'] button")
    browser.wait(lambda: "Forgotten." in browser.text(".notice") and words not in browser.text())
    browser.click(".notice form button")
    browser.wait(lambda: "Undone." in browser.text(".notice") and words in browser.text())
    assert (root / "MEMORY.md").read_bytes() == before


def test_the_page_follows_a_change_of_the_file(browser: Browser, root: Path) -> None:
    browser.go("/memory")
    with (root / "MEMORY.md").open("a", encoding="utf8") as file:
        file.write("- A line of an editor\n")
    browser.wait(lambda: "A line of an editor" in browser.text())


def test_the_strip_follows_organise_and_one_click_restores(browser: Browser, root: Path) -> None:
    with Memory.open(root, now=(dt.datetime.now(dt.UTC) - dt.timedelta(days=20)).isoformat()) as memory:
        memory.checkpoint(text="words\n", title="The ferry")
    browser.go("/layers?layer=forgotten")
    browser.wait(lambda: browser.text(".tiers .hot .figure") == "1")
    with Memory.open(root) as memory:
        memory.organise(local=True)
    browser.wait(lambda: browser.text(".tiers .forgotten .figure") == "1" and bool(browser.all(".strip .forgotten")))
    browser.click(".fading form button")
    browser.wait(lambda: "Restored." in browser.text(".notice") and browser.text(".tiers .warm .figure") == "1")


def test_a_line_of_a_day_leads_to_the_fact_over_time(browser: Browser) -> None:
    browser.go("/timeline?since=2026-03-19&until=2026-03-20")
    browser.click("#d2026-03-19 .said a")
    browser.wait(lambda: "2026-03-19" in browser.text(".chain .said") and "3 May" in browser.text(".chain .said"))


def test_a_drag_over_the_strip_chooses_the_days_and_a_click_one_of_them(browser: Browser, root: Path) -> None:
    for day in ("2026-03-02", "2026-03-09"):
        (root / "memory" / f"{day}.md").write_text(f"# {day}\n\n- [PROJ] Said on {day}\n", "utf8")
    browser.go("/timeline?since=2026-03-01&until=2026-03-20")
    browser.drag(browser.one(".days a[href*='2026-03-02'] rect"), browser.one(".days a[href*='2026-03-09'] rect"))
    browser.wait(lambda: browser.driver.current_url.endswith("/timeline?since=2026-03-02&until=2026-03-09"))
    assert [day.get_attribute("id") for day in browser.all("article.day")] == ["d2026-03-09", "d2026-03-02"]
    browser.click(".days a[href*='2026-03-19']")  # behind the range, and still there
    browser.wait(lambda: browser.driver.current_url.endswith("since=2026-03-19&until=2026-03-19"))


def test_language_and_theme_are_kept(browser: Browser) -> None:
    browser.go("/memory")
    shade = "return getComputedStyle(document.documentElement).backgroundColor"
    paper = browser.run(shade)
    browser.click("footer button[value=dark]")
    browser.wait(lambda: browser.run(shade) != paper)
    browser.click("footer button[value=zh]")
    browser.wait(lambda: "记忆" in browser.text("h1"))
    script = "return [document.documentElement.lang, getComputedStyle(document.documentElement).backgroundColor]"
    lang, dark = browser.run(script)
    assert lang == "zh-CN"
    assert dark != paper
