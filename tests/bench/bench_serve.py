"""The part of `make bench` about smdebug serve: how fast its page is, and what the server costs.

Needs Chromium (tools/setup.sh browser) and the environment of the tests.  With
SMDEBUG_BENCH_RENEW=1 also updates docs/live.md.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/cli"))

import numpy as np  # noqa: E402
import page  # noqa: E402
from browser import Browser  # noqa: E402
from served import Events, Served, until  # noqa: E402

import smdebug as smd  # noqa: E402

TENSORS = int(os.environ.get("SMDEBUG_BENCH_TENSORS", "5000"))
STEPS = int(os.environ.get("SMDEBUG_BENCH_STEPS", "100000"))
EVERY = 1000  # steps from one save of the layers to the next
RUNS = int(os.environ.get("SMDEBUG_BENCH_RUNS", "10000"))
CLIENTS = 50
LIVE_STEPS = 300
FRAMES = 120

# Notes when the first curve was painted, and each later change of it.  What observers of sizes draw is painted in the same
# frame, else in the next.
OBSERVER = """
window.drawnAt = null; window.labels = [];
let isInFrame = false;
const Sizes = window.ResizeObserver;
window.ResizeObserver = class extends Sizes {
  constructor(callback) {
    super((...news) => {
      isInFrame = true;
      setTimeout(() => { isInFrame = false; });
      callback(...news);
    });
  }
};
const note = () => {
  const figure = document.querySelector('#curves .surface');
  if (!figure || !document.querySelector('#curves svg .curve')) return;
  const label = figure.getAttribute('aria-label');
  if (label === window.lastLabel) return;
  window.lastLabel = label;
  const tell = () => setTimeout(() => {
    if (window.drawnAt === null) window.drawnAt = performance.now();
    window.labels.push([label, Date.now()]);
  });
  isInFrame ? tell() : requestAnimationFrame(tell);
};
new MutationObserver(note).observe(document, {childList: true, subtree: true, attributes: true, attributeFilter: ['aria-label']});
"""
ZOOM = """
const [frames, done] = arguments;
const surface = document.querySelector('#curves .surface');
surface.focus();
surface.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
let count = 0, last = performance.now();
const gaps = [];
function frame(now) {
  gaps.push(now - last);
  last = now;
  surface.dispatchEvent(new KeyboardEvent('keydown', {key: count % 8 < 4 ? '+' : '-', bubbles: true}));
  if (++count < frames) requestAnimationFrame(frame);
  else done(gaps.slice(2));
}
requestAnimationFrame(frame);
"""


class Address:
    def __init__(self, url: str) -> None:
        self.url = url

    def as_uri(self) -> str:
        return self.url


def record_large(path: Path) -> None:
    """A loss at each step, and statistics of many layers now and then."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((TENSORS, 16)).astype(np.float32)
    names = [f"layers.{i // 10}.block{i % 10}.weight" for i in range(TENSORS)]
    reductions = smd.ReductionConfig(reductions=["min", "max"], norms=["l2"])
    every = smd.SaveConfig(save_interval=1)
    layers = smd.SaveConfig(save_interval=EVERY)
    with smd.Hook(str(path), save_config=every, include_collections=["weights", "losses"], reduction_config=reductions) as hook:
        hook.get_collection("weights").save_config = layers
        hook.get_collection("losses").reduction_config = smd.ReductionConfig(save_raw_tensor=True)
        for step in range(STEPS):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", np.float32(np.exp(-step / STEPS) + rng.standard_normal() / 10))
                if step % EVERY == 0:
                    for name, value in zip(names, values):
                        hook.save(name, value)


def cpu_seconds(pid: int) -> float:
    """What the kernel counts by its clock: its ticks take a thread that always wakes up at one for a busy one."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9


def megabytes(pid: int) -> float:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1000


def first_picture(browser: Browser, served: Served, run: str) -> float:
    """Milliseconds from the navigation to the painted curve; the best of five."""
    best = float("inf")
    browser.driver.get(served.url)  # sets the cookie
    for _ in range(5):
        browser.driver.get("about:blank")
        browser.driver.get(f"{served.url.split('?')[0]}runs/{run}")
        best = min(best, until(lambda: browser.run("return window.drawnAt"), 120))
    return best


def chosen_picture(browser: Browser, served: Served) -> float:
    """Milliseconds from a click on the run in the list to the painted curve; the best of five."""
    link = "document.querySelector('a[href^=\"/runs/\"]')"
    best = float("inf")
    for _ in range(5):
        browser.driver.get("about:blank")
        browser.driver.get(served.url)
        until(lambda: browser.run(f"return {link} !== null"))
        browser.run(f"window.chosenAt = performance.now(); {link}.click()")
        best = min(best, until(lambda: browser.run("return window.drawnAt && window.drawnAt - window.chosenAt"), 120))
    return best


def smallest_picture(browser: Browser, served: Served) -> float:
    """Milliseconds from the navigation to the first paint of an icon; the best of five: what the browser itself needs."""
    best = float("inf")
    paint = "return performance.getEntriesByType('paint')[0]?.startTime ?? null"
    for _ in range(5):
        browser.driver.get("about:blank")
        browser.driver.get(f"{served.url.split('?')[0]}icon.svg")
        best = min(best, until(lambda: browser.run(paint), 120))
    return best


def frames(browser: Browser) -> tuple[float, float]:
    """The median and the 95th percentile of milliseconds between pictures while zooming."""
    gaps = sorted(browser.driver.execute_async_script(ZOOM, FRAMES))
    return statistics.median(gaps), gaps[int(0.95 * len(gaps))]


def large_run(folder: Path, browser: Browser) -> list[tuple[str, str, str]]:
    record_large(folder / "large/run")
    with Served(folder, "large") as served:
        begin = time.perf_counter()
        run = served.id_of("run")
        until(lambda: served.get("/api/run", id=run), 300)
        opened = time.perf_counter() - begin
        begin = time.perf_counter()
        served.get("/api/series", id=run, tensor="loss")
        curve = time.perf_counter() - begin
        picture = first_picture(browser, served, run)
        usual, slow = frames(browser)
        icon = smallest_picture(browser, served)
        chosen = chosen_picture(browser, served)
        memory = megabytes(served.process.pid)
    what = f"{TENSORS:,} tensors, {STEPS:,} steps of the loss, {STEPS // EVERY} of the others"
    return [
        (f"open the run the first time: {what}", f"{opened:.1f} s", ""),
        (f"read the curve of the loss the first time, from {STEPS:,} files", f"{curve:.1f} s", ""),
        ("first picture of the run, chosen in the list", f"{chosen:.0f} ms", "100 ms"),
        ("first picture of the run, by its address", f"{picture:.0f} ms", "100 ms"),
        ("first picture of a page that is only an icon, in the same browser", f"{icon:.0f} ms", ""),
        ("from one picture to the next while zooming, median and 95th percentile", f"{usual:.1f} and {slow:.1f} ms", "16.7 ms"),
        ("memory of the server with that run open", f"{memory:.0f} MB", "50 MB"),
    ]


def live_run(folder: Path, browser: Browser) -> list[tuple[str, str, str]]:
    hook = smd.Hook(str(folder / "live/run"), save_config=smd.SaveConfig(save_interval=1), save_all=True)
    ended: dict[str, float] = {}

    def record(step: int) -> None:
        value = (step + 1) / 8192  # exact, so that the page shows the digits that are looked for
        with hook.step(smd.modes.TRAIN):
            hook.save_scalar("loss", value)
        ended[f"{step}"] = time.time()

    record(0)
    record(1)
    with Served(folder, "live") as served:
        run = served.id_of("run")
        browser.driver.get("about:blank")
        browser.driver.get(served.address(f"runs/{run}"))
        until(lambda: browser.run("return window.drawnAt"))
        clients = [Events(served, run=[run], s=["0\t\tmean\tscalar/loss"]) for _ in range(CLIENTS - 1)]
        readers = [threading.Thread(target=drain, args=(client,), daemon=True) for client in clients]
        for reader in readers:
            reader.start()
        pid = served.process.pid
        time.sleep(1)
        cpu, wall = cpu_seconds(pid), time.monotonic()
        for step in range(2, LIVE_STEPS):
            record(step)
            time.sleep(0.1)
        share = (cpu_seconds(pid) - cpu) / (time.monotonic() - wall)
        time.sleep(1)
        seen = browser.run("return window.labels")
        memory = megabytes(pid)
        hook.close()
    delays = sorted(delays_of(seen, ended))
    return [
        (f"end of a step to the screen, {CLIENTS} clients, 99th percentile of {len(delays)}", f"{delays[int(0.99 * len(delays))]:.0f} ms", "250 ms"),
        (f"processor time at 10 steps a second, {CLIENTS} clients", f"{100 * share:.1f} % of a core", "1 %"),
        (f"memory with {CLIENTS} clients", f"{memory:.0f} MB", "50 MB"),
    ]


def drain(client: Events) -> None:
    try:
        while True:
            client.next()
    except (EOFError, OSError):  # the server has stopped
        pass


def delays_of(seen: list[tuple[str, int]], ended: dict[str, float]) -> list[float]:
    """Milliseconds from the end of each step to the first picture that has it."""
    steps = sorted((int(step), at) for step, at in ended.items())
    delays = []
    shown = 1
    for label, at in seen:
        value = float(re.search(r"to ([\d.e-]+)$", label)[1])
        last = round(value * 8192) - 1
        # The label has four digits, which name a step of the first thousands.
        for step, end in steps:
            if shown < step <= last:
                delays.append(at - 1000 * end)
        shown = max(shown, last)
    return delays


def many_runs(folder: Path) -> list[tuple[str, str, str]]:
    parent = folder / "many"
    with smd.Hook(str(parent / "run0"), save_config=smd.SaveConfig(save_interval=1), save_all=True) as hook:
        for step in range(3):
            with hook.step(smd.modes.TRAIN):
                hook.save_scalar("loss", 1 / (1 + step))
    for number in range(1, RUNS):
        shutil.copytree(parent / "run0", parent / f"run{number}", copy_function=os.link)
    rows = []
    for what in ("the first time", "again"):
        begin = time.perf_counter()
        with Served(folder, "many") as served:
            until(lambda: served.get("/api/runs", count=50)["all"] == RUNS, 120)
            listed = time.perf_counter() - begin
            begin = time.perf_counter()
            served.get("/api/runs", sort="name", regex="7$", count=50)
            answered = time.perf_counter() - begin
            memory = megabytes(served.process.pid)
        rows.append((f"{RUNS:,} runs listed, from the start of the program, {what}", f"{listed:.2f} s", "1 s" if what == "again" else ""))
    rows.append(("one page of them, filtered and sorted", f"{1000 * answered:.0f} ms", ""))
    rows.append(("memory with that list", f"{memory:.0f} MB", "50 MB"))
    return rows


def main() -> None:
    rows: list[tuple[str, str, str]] = []
    # Not on a disk: what the kernel still writes there would take turns with the browser.
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        browser = Browser(folder / "profile", is_logging=False)
        try:
            browser.command("Page.addScriptToEvaluateOnNewDocument", source=OBSERVER)
            browser.driver.set_script_timeout(60)
            rows += live_run(folder, browser)
            print(rows, flush=True)
            rows += many_runs(folder)
            print(rows, flush=True)
            rows += large_run(folder, browser)
        finally:
            browser.close()
    page.PAGE = ROOT / "docs/live.md"
    page.tell("serve", page.table(("what", "measured", "aim"), rows))


if __name__ == "__main__":
    main()
