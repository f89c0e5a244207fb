"""Takes the pictures of the page: two weeks of the demo's sessions in a scratch folder, a real daemon, Chromium without a window: docs/img/page*.png.

Needs what ./test-browser installs, and a font with Chinese characters. Run as: PYTHONPATH=.venv/browser .venv/bin/python docs/screenshots.py
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from nacre.daemon.client import daemon_status
from nacre.demo.weeks import live_through, prepare
from nacre.i18n import use_language

HERE = Path(__file__).resolve().parent
# The picture, the language, the view, the theme, and what is clicked before it is taken.
PICTURES = (
    ("page", "en", "/memory", "light", "li:nth-child(2) .actions a"),
    ("page-dark", "en", "/", "dark", None),
    ("page-zh", "zh", "/memory", "light", "li:nth-child(2) .actions a"),
    ("page-search", "en", "/search?q=who+checks+the+invoices", "light", ".explain summary"),
)
WIDTH, HEIGHT = 1080, 860


def main() -> None:
    os.environ["NACRE_MODELS_PATH"] = os.environ.get("NACRE_MODELS_PATH") or str(
        Path.home() / ".cache" / "nacre" / "models"
    )
    with tempfile.TemporaryDirectory(prefix="nacre-pictures-") as folder:
        driver = chromium(Path(folder) / "chromium")
        try:
            for language in dict.fromkeys(picture[1] for picture in PICTURES):
                take(driver, Path(folder) / language, language)
        finally:
            driver.quit()


def take(driver: Any, folder: Path, language: str) -> None:
    """All pictures in one language."""
    use_language(language)
    stage = prepare(folder, language, dt.datetime.now(dt.UTC).date() - dt.timedelta(days=14))
    live_through(stage)[0].close()
    os.environ |= {
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "NACRE_LANGUAGE": language,
        "TZ": stage.config.timezone,
    }
    command = [sys.executable, "-m", "nacre", "--workspace", str(stage.workspace.root)]
    daemon = subprocess.Popen([*command, "serve", "--no-jobs", "--http", "0"], stderr=subprocess.DEVNULL)
    try:
        while not daemon_status(str(stage.workspace.root)):
            time.sleep(0.2)
        told = subprocess.run([*command, "open", "--no-browser", "--json"], capture_output=True, check=True).stdout
        driver.get(url := json.loads(told)["url"])
        driver.execute_async_script(
            "setTimeout(arguments[0], 5000)"
        )  # until the index is made: the page tells of changes
        for name, spoken, place, theme, click in PICTURES:
            if spoken == language:
                media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
                driver.get(url.partition("/enter/")[0] + place)
                if click:
                    driver.execute_script("document.querySelector(arguments[0]).click()", click)
                    driver.execute_async_script("setTimeout(arguments[0], 1500)")
                shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (HERE / "img" / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
    finally:
        daemon.terminate()
        daemon.wait()


def chromium(home: Path) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-dev-shm-usage",
        "disable-gpu",
        "hide-scrollbars",
        f"user-data-dir={home}",
    ):
        options.add_argument(f"--{argument}")
    driver: Any = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or "chromedriver"))
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1.2, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return driver


if __name__ == "__main__":
    main()
