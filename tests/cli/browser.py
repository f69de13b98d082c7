"""Runs a browser without a window, and collects its errors and requests."""

from __future__ import annotations

import base64
import json

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
# Charts are drawn when their size is known, in the first frame after they are added.
TWO_FRAMES = "requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))"


class Browser:
    """Runs Debian's Chromium with an empty profile.

    Without `is_logging` it has no complaints() and requests(), whose collection takes time.
    """

    def __init__(self, folder, is_logging=True):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in [*FLAGS, f"--user-data-dir={folder}"]:
            options.add_argument(flag)
        if is_logging:
            options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def open(self, path, width=1240, height=900, dark=False, scripts=True):
        """Shows a file in a window of this size, and returns when it is drawn."""
        preferences = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferences.items()]
        self.command("Emulation.setEmulatedMedia", media="", features=features)
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get(path.as_uri())
        self.command("Emulation.setScriptExecutionDisabled", value=False)
        if scripts:
            self.settle()
        return self

    def settle(self):
        """Returns when charts that were just added are drawn."""
        self.driver.execute_async_script(TWO_FRAMES)

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns its result."""
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def complaints(self):
        """Returns the messages on the console since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Returns the addresses that the page requested."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"
        ]

    def print_to_pdf(self):
        """Returns a PDF with pages of A4."""
        printed = self.command("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(printed["data"])

    def screenshot(self, height):
        """Returns a PNG of the upper part of the page."""
        clip = {"x": 0, "y": 0, "width": self.run("return innerWidth"), "height": height, "scale": 1}
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(taken["data"])

    def close(self):
        self.driver.quit()
