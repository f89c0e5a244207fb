"""Debian's Chromium without a window, one for all tests, and a page that is open in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.waiting import until
from tests.mcp.conftest import Serve, _own_places, serve  # noqa: F401 - fixtures
from tests.web.conftest import link, root  # noqa: F401 - fixtures


class Browser:
    """Chromium, and the few things that a test does with it."""

    def __init__(self, driver: Any, base: str) -> None:
        self.driver, self.base = driver, base

    def go(self, path: str) -> None:
        self.driver.get(self.base + path)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def one(self, css: str) -> Any:
        self.wait(lambda: bool(self.all(css)))
        return self.all(css)[0]

    def text(self, css: str = "main") -> str:
        return str(self.run("return document.querySelector(arguments[0])?.innerText || ''", css))

    def click(self, css: str) -> None:
        element = self.one(css)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def drag(self, start: Any, end: Any) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).click_and_hold(start).move_to_element(end).release().perform()

    def keys(self, text: str) -> None:
        self.one("body").send_keys(text)

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def wait(self, happened: Callable[[], bool]) -> None:
        until(happened, 60.0)

    def emulate(self, what: str, **values: Any) -> None:
        self.driver.execute_cdp_cmd(f"Emulation.{what}", values)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    home = tmp_path_factory.mktemp("chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", f"user-data-dir={home}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(shutil.which("chromedriver") or "chromedriver", env={**os.environ, "HOME": str(home)})
    driver: Any = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def browser(root: Path, serve: Serve, driver: Any) -> Iterator[Browser]:  # noqa: F811 - fixtures
    driver.set_window_size(1100, 900)
    served = serve()
    driver.get(link(root))
    page = Browser(driver, served.url.removesuffix("/mcp"))
    yield page
    page.emulate("clearDeviceMetricsOverride")
    page.emulate("setEmulatedMedia")
    driver.delete_all_cookies()  # of the page, which must be there for it
    driver.get("about:blank")
    assert [row for row in driver.get_log("browser") if "Content Security Policy" in row["message"]] == []
