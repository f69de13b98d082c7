#!/usr/bin/env python3
"""Writes the pictures of reports in docs again: report.png and tutorial-*.png.

make; tools/setup.sh browser
PYTHONPATH=build/python .venv/bin/python tools/report_pictures.py [NAME...]
"""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples/demo"), str(ROOT / "tests/cli")]

import numpy as np  # noqa: E402
from browser import Browser  # noqa: E402
from PIL import Image  # noqa: E402
from training import FAULTY, Digits, Trainer  # noqa: E402

WIDTH = 1000
# For each picture: the trial, the heading at its top (none: top of page), its height in pixels.
PICTURES = {
    "report.png": ("digits", None, 900),
    "tutorial-findings.png": ("run", None, 860),
    "tutorial-layers.png": ("run", "Losses and metrics", 810),
}


def record(trial, folder):
    """Records the demo's faulty training, or the tutorial's training."""
    if trial == "digits":
        digits = Digits(np.random.default_rng(0))
        Trainer(FAULTY, digits, str(folder / trial)).train(lambda loss: None)
    else:
        script = ROOT / "examples/tutorial/train.py"
        subprocess.run([sys.executable, script, trial], cwd=folder, check=True, capture_output=True)


def report(trial, folder):
    """Writes the page about a trial."""
    page = folder / f"{trial}.html"
    command = [ROOT / "build/bin/smdebug", "report", trial, "-o", page]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 10):
        sys.exit(done.stderr)
    return page


def take(browser, page, heading, height):
    """Returns a part of a page as pixels."""
    shown = browser.open(page, width=WIDTH)
    # The name of the machine is nobody's business.
    shown.run("for (const dt of document.querySelectorAll('dt')) if (dt.textContent === 'Host') dt.parentNode.remove()")
    top = 0
    if heading:
        find = "return [...document.querySelectorAll('h2')].find(h => h.textContent == arguments[0])"
        top = int(shown.run(f"{find}.getBoundingClientRect().top + scrollY", heading)) - 12
    taken = Image.open(io.BytesIO(shown.screenshot(top + height)))
    return taken.convert("RGB").crop((0, top, WIDTH, top + height))


def main():
    chosen = sys.argv[1:] or list(PICTURES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = {}
        for trial in dict.fromkeys(PICTURES[each][0] for each in chosen):
            record(trial, folder)
            pages[trial] = report(trial, folder)
        browser = Browser(folder / "profile")
        try:
            for each in chosen:
                trial, heading, height = PICTURES[each]
                path = ROOT / "docs" / each
                # A palette suffices, and takes a third of the bytes.
                take(browser, pages[trial], heading, height).quantize(200).save(path, optimize=True)
                print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
