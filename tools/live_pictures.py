#!/usr/bin/env python3
"""Writes the pictures of docs/live.md again: live-list.png and live-run.png.

make; tools/setup.sh browser
PYTHONPATH=build/python .venv/bin/python tools/live_pictures.py
"""

import io
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples/demo"), str(ROOT / "tests/cli")]

import numpy as np  # noqa: E402
from browser import Browser  # noqa: E402
from PIL import Image  # noqa: E402
from serve_page import Address  # noqa: E402
from served import Served, until  # noqa: E402
from training import FAULTY, HEALTHY, Digits, Trainer  # noqa: E402

WIDTH = 1000


def save(browser, name, height):
    taken = Image.open(io.BytesIO(browser.screenshot(height))).convert("RGB")
    path = ROOT / "docs" / name
    # A palette suffices, and takes a third of the bytes.
    taken.quantize(200).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for run, settings in (("healthy", HEALTHY), ("faulty", FAULTY)):
            digits = Digits(np.random.default_rng(0))
            Trainer(settings, digits, str(folder / "runs" / run)).train(lambda loss: None)
        browser = Browser(folder / "profile")
        try:
            with Served(folder, "runs") as served:
                last = lambda row: row["summary"] and row["summary"]["evaluated"] == row["last_step"]  # noqa: E731
                until(lambda: len(served.rows()) == 2 and all(map(last, served.rows())))
                browser.open(Address(served.url), width=WIDTH)
                until(lambda: browser.run("return document.querySelectorAll('svg.spark').length") == 2)
                save(browser, "live-list.png", 400)
                browser.run(f"location.hash = '#/runs/{served.id_of('faulty')}'")
                until(lambda: browser.run("return document.querySelectorAll('.heat-plot canvas').length"))
                time.sleep(1)
                # Not that of the machine that takes the picture.
                browser.run("document.querySelector('.facts code').textContent = 'runs/faulty'")
                save(browser, "live-run.png", 1150)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
