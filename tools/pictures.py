#!/usr/bin/env python3
"""Takes the pictures of the docs that show pages again, from real trainings: pictures.py [--into FOLDER] [NAME...]

`make pictures` installs what it needs, and tests/docs/test_pictures.py takes them to compare.  SMDEBUG_TENSORBOARD is a
Python with TensorBoard.
"""

from __future__ import annotations

import argparse
import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples/demo"), str(ROOT / "tests/cli")]

import numpy as np  # noqa: E402
from browser import Browser  # noqa: E402
from PIL import Image  # noqa: E402
from serve_page import Address  # noqa: E402
from served import Served, until  # noqa: E402
from training import FAULTY, HEALTHY, Digits, Trainer  # noqa: E402

import smdebug  # noqa: E402

WIDTH = 1000
# Where the training that a live page shows stands when its picture is taken.
PAUSE = 280


def train(settings, path, progress=lambda loss: None):
    Trainer(settings, Digits(np.random.default_rng(0)), str(path)).train(progress)


def save(name, png, into, top=0, height=None):
    """Writes a part of a picture."""
    taken = Image.open(io.BytesIO(png)).convert("RGB")
    taken = taken.crop((0, top, taken.width, top + height if height else taken.height))
    path = into / name
    # A palette suffices, and takes a third of the bytes.
    taken.quantize(200).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size} bytes")


# ---- smdebug serve ----


@contextmanager
def running(settings, path):
    """Trains until a step, and goes on after the block."""
    is_there, may_go_on = threading.Event(), threading.Event()
    steps = 0

    def progress(_):
        nonlocal steps
        steps += 1
        if steps == PAUSE:
            is_there.set()
            may_go_on.wait(120)

    job = threading.Thread(target=train, args=(settings, path, progress))
    job.start()
    try:
        assert is_there.wait(120)
        yield
    finally:
        may_go_on.set()
        job.join()


def live(browser, folder, names, into):
    train(HEALTHY, folder / "runs" / "relu")
    with running(FAULTY, folder / "runs" / "sigmoid"), Served(folder, "runs") as served:
        is_judged = lambda row: row["summary"] and row["summary"]["evaluated"] == row["last_step"]  # noqa: E731
        until(lambda: len(served.rows()) == 2 and all(map(is_judged, served.rows())))
        browser.open(Address(served.url), width=WIDTH)
        until(lambda: browser.run("return document.querySelectorAll('svg.spark').length") == 2)
        if "live-list.png" in names:
            save("live-list.png", browser.screenshot(290), into)
        browser.find(f"a[href='/runs/{served.id_of('sigmoid')}']").click()
        until(lambda: browser.run("return document.querySelectorAll('.heat-plot canvas').length"))
        time.sleep(1)
        # Not that of the machine that takes the picture.
        browser.run("document.querySelector('.facts code').textContent = 'runs/sigmoid'")
        if "live-run.png" in names:
            end = "return document.querySelector('#layers .card').getBoundingClientRect().bottom + scrollY"
            save("live-run.png", browser.screenshot(int(browser.run(end)) + 16), into)


# ---- smdebug report ----

# For each picture: the trial, the heading at its top (none: top of page), its height in pixels.
REPORTS = {
    "report.png": ("digits", None, 900),
    "tutorial-findings.png": ("run", None, 860),
    "tutorial-layers.png": ("run", "Losses and metrics", 810),
}


def report(folder, trial):
    """Records the demo's faulty training or the tutorial's, and returns the page about it."""
    page = folder / f"{trial}.html"
    if not page.exists():
        if trial == "digits":
            train(FAULTY, folder / trial)
        else:
            script = ROOT / "examples/tutorial/train.py"
            subprocess.run([sys.executable, script, trial], cwd=folder, check=True, capture_output=True)
        command = [ROOT / "build/bin/smdebug", "report", trial, "-o", page]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 10):
            sys.exit(done.stderr)
    return page


def reports(browser, folder, names, into):
    for name in names:
        trial, heading, height = REPORTS[name]
        browser.open(report(folder, trial), width=WIDTH)
        # The name of the machine is nobody's business.
        browser.run("for (const dt of document.querySelectorAll('dt')) if (dt.textContent === 'Host') dt.parentNode.remove()")
        top = 0
        if heading:
            find = "return [...document.querySelectorAll('h2')].find(h => h.textContent == arguments[0])"
            top = int(browser.run(f"{find}.getBoundingClientRect().top + scrollY", heading)) - 12
        save(name, browser.screenshot(top + height), into, top, height)


# ---- TensorBoard ----


def tensorboard(browser, folder, _, into):
    train(HEALTHY, folder / "relu")
    smdebug.create_trial(str(folder / "relu")).export_tensorboard(folder / "board")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["-m", "tensorboard.main", "--logdir", folder / "board", "--host", "127.0.0.1", "--port", str(port), "--load_fast=false"]
    server = subprocess.Popen([os.environ["SMDEBUG_TENSORBOARD"], *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_read():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/data/plugin/histograms/tags", timeout=5) as answer:
                return b"TRAIN" in answer.read()
        except OSError:
            return False

    try:
        until(is_read)
        browser.open(Address(f"http://127.0.0.1:{port}"), width=1400, height=1020)
        until(lambda: browser.run("return document.querySelectorAll('card-view tb-histogram').length"))
        time.sleep(3)
        save("tensorboard.png", browser.screenshot(1020), into)
    finally:
        server.terminate()
        server.wait(30)


def main():
    kinds = {"live-list.png": live, "live-run.png": live, **dict.fromkeys(REPORTS, reports), "tensorboard.png": tensorboard}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0].split(":")[0])
    parser.add_argument("--into", type=Path, default=ROOT / "docs", metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(kinds))
    options = parser.parse_args()
    chosen = options.names or list(kinds)
    for name in chosen:
        if name not in kinds:
            parser.error(f"no picture is called {name}; these are: {', '.join(kinds)}")
    for take in dict.fromkeys(kinds[name] for name in chosen):
        with tempfile.TemporaryDirectory() as name:
            browser = Browser(Path(name) / "profile")
            try:
                take(browser, Path(name), [each for each in chosen if kinds[each] is take], options.into)
            finally:
                browser.close()


if __name__ == "__main__":
    main()
