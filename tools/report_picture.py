#!/usr/bin/env python3
"""Renews docs/report.png: the demo's faulty training, as smdebug report shows it.

make; tools/setup.sh browser
PYTHONPATH=build/python .venv/bin/python tools/report_picture.py
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

PICTURE = ROOT / "docs/report.png"
WIDTH, HEIGHT = 1000, 900


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        digits = Digits(np.random.default_rng(0))
        Trainer(FAULTY, digits, str(folder / "digits")).train(lambda loss: None)
        command = [ROOT / "build/bin/smdebug", "report", "digits", "--profile", "calibrated"]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 10):
            sys.exit(done.stderr)
        browser = Browser(folder / "profile")
        try:
            taken = browser.open(folder / "report.html", width=WIDTH).screenshot(HEIGHT)
        finally:
            browser.close()
    # A palette is enough for it, and takes a third of the bytes.
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(200).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes; {done.stdout.strip()}")


if __name__ == "__main__":
    main()
