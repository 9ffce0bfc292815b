"""A real headless Chromium with the network off, and what it logged."""

import base64
import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parts import need

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """A page at a given width, in light or dark, with JavaScript or without."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1400, *, dark: bool = False, scripts: bool = True) -> None:
        self._send("Network.enable")
        self._send(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0
        )
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self._send("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get(page.as_uri())

    def ask(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def wait_for(self, script: str) -> None:
        from selenium.webdriver.support.wait import WebDriverWait

        WebDriverWait(self.driver, 10).until(lambda _: self.ask(script))

    def click(self, selector: str) -> None:
        self.driver.execute_script("document.querySelector(arguments[0]).click()", selector)

    def choose(self, selector: str, value: str) -> None:
        self.driver.execute_script(
            "const c = document.querySelector(arguments[0]); c.value = arguments[1];"
            "c.dispatchEvent(new Event('input', {bubbles: true}))",
            selector,
            value,
        )

    def screenshot(self, path: Path, selector: str = "", most: int = 12000) -> None:
        """The whole page, or what one element covers of it; at most so many pixels from the top."""
        size = self._send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        if selector:
            box = self.ask("document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector)
            height = min(box["height"], most)
            clip |= {"x": box["x"], "y": box["y"] + self.ask("scrollY"), "width": box["width"], "height": height}
        image = self._send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(image["data"]))

    def console_messages(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested_addresses(self) -> list[str]:
        """What pages asked for; the browser's own first page may still be loading its parts."""
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [address for address in asked if not address.startswith("chrome://")]

    def _send(self, command: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.driver.execute_cdp_cmd(command, arguments)
        return answer


def start_browser(profile: Path) -> Iterator[Browser]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    need(chromium and driver, "there is no chromium and chromedriver (Debian: chromium, chromium-driver)")
    need(find_spec("selenium"), "selenium is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(started)
    finally:
        started.quit()
