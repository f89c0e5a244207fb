"""Every view of a memory that was lived with for two weeks: the demo's sessions, captured and tidied. What a phone shows, what axe-core
finds, and the way from an entry to the words in the transcript."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import pwd
import shutil
from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.integration.npm import installed

from nacre.demo.weeks import live_through, prepare
from nacre.web.routes import VIEWS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("default"),  # selenium's own
]
AXE = "axe-core@4.14.0"
AXE_HASH = "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
PLACES = [view.path for view in VIEWS if view.title]
PLACES += [
    "/search?q=who+checks+the+invoices",
    "/file?path=MEMORY.md&line=4",
    "/about/harbour-shop",
    "/layers?layer=gist",
]
PLACES += ["/history?operation=3", "/problems?deep=1", "/growth?days=365", "/nowhere"]


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lived")
    live_through(prepare(folder, "en", dt.datetime.now(dt.UTC).date() - dt.timedelta(days=14)))[0].close()
    return folder


@pytest.fixture
def root(lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy; its owner's home is where the transcripts lie."""
    shutil.copytree(lived / "workspace", tmp_path / "ws")
    monkeypatch.setenv("HOME", str(lived))
    return tmp_path / "ws"


@pytest.fixture(scope="session")
def axe() -> str:
    with pytest.MonkeyPatch.context() as patched:  # the tests have a home of their own; npm's cache lies in the user's
        patched.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
        script = installed(None, (AXE,)) / "node_modules" / "axe-core" / "axe.min.js"
    assert hashlib.sha256(script.read_bytes()).hexdigest() == AXE_HASH
    return script.read_text("utf8")


def test_an_entry_leads_to_the_line_of_the_transcript_with_what_was_said_around_it(
    browser: Browser, lived: Path
) -> None:
    browser.go("/memory")
    browser.run("document.querySelectorAll('.entry .actions a').forEach((link) => link.click())")
    browser.click(".chain .message .label a")
    browser.wait(lambda: bool(browser.all(".chain .talk .marked")))
    assert browser.driver.current_url.endswith("/memory")
    path, label = browser.text("#conversation .path"), browser.text(".talk .marked .label")
    transcript = Path(path.replace("~", str(lived), 1)).read_text("utf8").splitlines()
    line = json.loads(transcript[int(label.rpartition("line ")[2]) - 1])
    words = browser.text(".talk .marked .text")
    assert words.split(".")[0] in json.dumps(line, ensure_ascii=False)
    assert len(browser.all(".talk li")) > 1


def test_a_transcript_that_is_gone_is_told_in_a_sentence(browser: Browser, lived: Path) -> None:
    browser.go("/search?q=who+checks+the+invoices&layer=longterm")
    browser.click(".explain summary")
    browser.click(".explain p a")
    place = browser.one(".chain .message .label a").get_attribute("href")
    transcript = lived / browser.text(".chain .session .label").partition("~/")[2].split()[0]
    hidden = transcript.rename(transcript.with_suffix(".away"))
    try:
        browser.driver.get(place)
        assert "is gone" in browser.text()
    finally:
        hidden.rename(transcript)


def test_nothing_serious_keeps_anybody_out(browser: Browser, axe: str) -> None:
    found: list[tuple[str, ...]] = []
    ask = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    for theme in ("light", "dark"):
        browser.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        for place in PLACES:
            browser.go(place)
            browser.run("document.querySelectorAll('details').forEach((panel) => { panel.open = true })")
            browser.run(axe)
            rows = browser.driver.execute_async_script(ask)["violations"]
            serious = [row for row in rows if row["impact"] in ("serious", "critical")]
            found += [(theme, place, row["id"], row["nodes"][0]["html"][:200]) for row in serious]
    assert not found, "\n".join(map(str, found))


def test_a_phone_reaches_every_view_and_never_scrolls_sideways(browser: Browser) -> None:
    browser.emulate("setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
    browser.go("/")
    for view in VIEWS:
        if view.title:
            if view.is_aside:
                browser.click(".menu summary")
            browser.click(f"header nav a[href='{view.path}']")
            browser.wait(lambda view=view: browser.driver.current_url == browser.base + view.path)  # type: ignore[misc]
    for place in PLACES:
        browser.go(place)
        wide, window = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert (place, wide, window) == (place, 390, 390)
