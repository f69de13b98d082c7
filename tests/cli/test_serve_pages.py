"""Tests what the page of smdebug serve does while jobs and servers come and go, and over a slow connection."""

import http.server
import socket
import threading
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from cli_trials import EVERY_STEP
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from serve_page import Address, open_page, open_runs
from served import Served, until

import smdebug as smd

CHARTS = 16
EPOCHS = 4
STEPS_PER_EPOCH = 10


class Job:
    """Records as many metrics as need several screens, and layers."""

    def __init__(self, path):
        self.hook = smd.Hook(str(path), save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"])
        self.step = 0

    def record(self, count=1, loss=None):
        for _ in range(count):
            with self.hook.step(smd.modes.TRAIN):
                self.hook.save("loss", np.float32(1 / (1 + self.step) if loss is None else loss))
                self.hook.save("fc.weight", np.full((4, 4), 1 + self.step / 100, np.float32))
                for number in range(CHARTS):
                    self.hook.save_scalar(f"m{number:02}", number + self.step)
            self.step += 1


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "runs" / "job")
    made.record(3)
    yield made
    made.hook.close()


def record_layers(path):
    """Weights, gradients and updates of a layer, many steps; a loss over ten orders of magnitude; and the epoch."""
    with smd.Hook(str(path), save_config=EVERY_STEP, save_all=True) as hook:
        for step in range(EPOCHS * STEPS_PER_EPOCH):
            with hook.step(smd.modes.TRAIN):
                hook.save_scalar("epoch", step // STEPS_PER_EPOCH)
                hook.save("loss", np.float32(10.0 ** (-step / 4)))
                hook.save("fc.weight", np.full((4, 4), 1 - step / 100, np.float32))
                hook.save("gradient/fc.weight", np.full((4, 4), 0.1, np.float32))
                hook.save("update/fc.weight", np.full((4, 4), 0.01, np.float32))


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    record_layers(folder / "layers")
    with Served(folder, ".") as server:
        yield server


TICKS = "return [...arguments[0].querySelectorAll('svg text.x-tick')].map((e) => Number(e.textContent))"


def card_of(browser, title):
    """Returns the chart with this heading."""
    return browser.run("return [...document.querySelectorAll('#curves .card')].find((e) => e.querySelector('figcaption').textContent === arguments[0])", title)


def label_of(browser, title):
    """Returns the label of the chart with this heading; "" while the page is drawn anew."""
    return browser.run("""
        const card = [...document.querySelectorAll('#curves .card')].find((e) => e.querySelector('figcaption').textContent === arguments[0]);
        return card ? card.querySelector('.surface').getAttribute('aria-label') : '';""", title)  # fmt: skip


# ---- axes ----


def test_the_horizontal_axis_shows_epochs_and_times(browser, layers):
    open_runs(browser, layers, "layers")
    axis = Select(browser.find("#curves select"))
    assert [option.text for option in axis.options] == ["step", "relative time", "wall time", "epoch"]
    title = "return arguments[0].querySelector('.axis-title')?.textContent ?? ''"
    steps = browser.run(TICKS, card_of(browser, "loss"))
    assert max(steps) > 20
    axis.select_by_visible_text("epoch")
    until(lambda: browser.run(title, card_of(browser, "loss")) == "epoch")
    assert browser.run(TICKS, card_of(browser, "loss")) == list(range(EPOCHS))
    for name, part in (("relative time", "seconds since the run's first step"), ("wall time", f"seconds since {time.strftime('%Y')}")):
        axis.select_by_visible_text(name)
        until(lambda part=part: part in browser.run(title, card_of(browser, "loss")))
        ticks = browser.run(TICKS, card_of(browser, "loss"))
        assert ticks[0] >= 0 and max(ticks) < 60


def test_a_logarithmic_scale_can_be_chosen(browser, layers):
    open_runs(browser, layers, "layers")
    ticks = "return [...arguments[0].querySelectorAll('svg text[text-anchor=end]')].map((e) => Number(e.textContent))"
    until(lambda: card_of(browser, "loss"))
    logarithmic = browser.run(ticks, card_of(browser, "loss"))
    assert all(abs(np.log10(tick) - round(np.log10(tick))) < 1e-9 for tick in logarithmic)
    browser.run("arguments[0].querySelector('input[type=checkbox]').click()", card_of(browser, "loss"))
    linear = until(lambda: (got := browser.run(ticks, card_of(browser, "loss"))) != logarithmic and got)
    assert np.allclose(np.diff(linear), linear[1] - linear[0])


# ---- layers ----


def test_weights_stand_next_to_gradients_and_updates(browser, layers):
    open_runs(browser, layers, "layers", ready=".heat-plot canvas")
    time.sleep(0.5)
    plot = browser.find(".heat-plot")
    plot.send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    until(lambda: browser.run("return document.querySelectorAll('.cell figcaption').length") >= 3)
    titles = browser.run("return [...document.querySelectorAll('.cell figcaption')].map((e) => e.textContent)")
    assert sorted(titles) == ["fc.weight", "gradient/fc.weight", "update/fc.weight"]


def test_a_heat_map_is_zoomed_into_single_steps(browser, layers):
    open_runs(browser, layers, "layers", ready=".heat-plot canvas")
    time.sleep(0.5)
    plot = browser.find(".heat-plot")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    width = plot.size["width"]
    tip = "return [...document.querySelectorAll('.heat .tip b, .heat-plot .tip b, #layers .tip b')].map((e) => e.textContent).filter(Boolean).join()"
    for _ in range(3):
        ActionChains(browser.driver).move_to_element_with_offset(plot, -width // 8, 0).click_and_hold().move_by_offset(width // 5, 0).release().perform()
        time.sleep(0.5)
    browser.requests()
    seen = set()
    for at in range(-width // 3, width // 3, max(width // 40, 1)):
        ActionChains(browser.driver).move_to_element_with_offset(plot, at, 0).perform()
        seen.add(browser.run(tip))
    # Few steps are left, and each is several pixels wide.
    assert 1 <= len(seen - {""}) <= 4
    assert browser.complaints() == []


def test_rows_of_merged_steps_share_columns(browser, layers):
    """Each row has the step of its largest value: a cell that was saved is not blank, and keeps its finding."""
    open_runs(browser, layers, "layers", ready=".heat-plot canvas")
    row = lambda steps, values, found=(), merged=True: {  # noqa: E731
        "tensor": "t", "steps": steps, "values": values, "found": list(found), "merged": merged}  # fmt: skip
    rows = [row([3, 12], [1, 2]), row([1, 17], [5, "NaN"], [4]), row([2, 4, 13], [-9, 8, 1], merged=False)]
    table = browser.run(
        "return modules.layers.toTable(arguments[0])", {"rows": rows, "first": 0, "end": 20, "columns": 2}
    )
    assert table["x"] == [4, 17]
    assert [each["steps"] for each in table["rows"]] == [[3, 12], [1, 17], [2, 13]]
    assert [each["marks"] for each in table["rows"]] == [[], [0], []]
    assert table["rows"][0]["values"] == [1, 2] and table["rows"][2]["values"] == [-9, 1]
    assert table["rows"][1]["labels"] == ["step 1", "step 17"]


def test_the_difference_between_workers_is_drawn(browser, tmp_path):
    hooks = [
        smd.Hook(str(tmp_path / "runs" / "pair"), save_config=EVERY_STEP, save_all=True, include_workers="all", worker=f"worker_{number}", num_workers=2)
        for number in range(2)
    ]
    for step in range(5):
        for number, hook in enumerate(hooks):
            with hook.step(smd.modes.TRAIN):
                hook.save("fc.weight", np.full((4, 4), 1 + number * (step + 1), np.float32))
    for hook in hooks:
        hook.close()
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "pair", ready=".heat-plot canvas")
        time.sleep(0.5)
        Select(browser.driver.find_elements("css selector", "#layers select")[0]).select_by_visible_text("mean")
        time.sleep(0.5)
        browser.find(".heat-plot").send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
        until(lambda: "Difference between the workers" in browser.find(".cell").text)
        labels = browser.run("return [...document.querySelectorAll('.cell .surface')].map((e) => e.getAttribute('aria-label'))")
        assert any("Workers side by side" in label and "worker_0: from 1 to 1; worker_1: from 2 to 6" in label for label in labels)
        assert any("Difference between the workers" in label and "from 1 to 5" in label for label in labels)


# ---- live ----


def subscriptions(browser):
    """Returns the tensors that each request for events names."""
    urls = [urlsplit(url) for url in browser.requests()]
    return [[each.split("\t")[3] for each in parse_qs(url.query).get("s", [])] for url in urls if url.path == "/events"]


def test_only_charts_on_the_screen_grow(browser, job, tmp_path):
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job", height=700)
        last = f"scalar/m{CHARTS - 1:02}"
        time.sleep(1)
        asked = subscriptions(browser)
        assert len(asked[-1]) < CHARTS and last not in asked[-1]
        job.record(4)
        until(lambda: label_of(browser, "loss").endswith("to 0.1429"))
        title = f"m{CHARTS - 1:02}"
        assert label_of(browser, title).endswith(f"to {CHARTS - 1 + 2}")
        browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", card_of(browser, title))
        until(lambda: label_of(browser, title).endswith(f"to {CHARTS - 1 + 6}"))
        assert last in subscriptions(browser)[-1]
        job.record(2)
        until(lambda: label_of(browser, title).endswith(f"to {CHARTS - 1 + 8}"))
        browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", card_of(browser, "loss"))
        until(lambda: label_of(browser, "loss").endswith("to 0.1111"))
        assert browser.complaints() == []


def test_the_list_alerts_of_new_findings_once(browser, job, tmp_path):
    with Served(tmp_path, "runs") as served:
        open_page(browser, served)
        until(lambda: served.rows()[0]["summary"])
        time.sleep(2)
        assert browser.find("#alerts").text == ""
        job.record(1, loss=np.nan)
        until(lambda: browser.find("#alerts").text)
        text = browser.find(".alert").text
        assert text.startswith("job ") and ", step 3: " in text
        job.record(5, loss=np.nan)
        time.sleep(3)
        texts = browser.run("return [...document.querySelectorAll('.alert')].map((e) => e.textContent)")
        assert len(texts) == len(set(texts))
        browser.find(".alert a").click()
        until(lambda: browser.run("return document.querySelectorAll('#curves').length"))


def test_a_page_says_that_the_server_was_started_again(browser, job, tmp_path):
    with Served(tmp_path, "runs") as first:
        open_page(browser, first)
        port = first.port
    sentence = "The server was started again; open the address that it printed."
    with Served(tmp_path, "runs", "--port", port) as second:
        until(lambda: browser.find("#connection").text == sentence)
        # Another tab gets the token; this page goes on.
        browser.run("return fetch(arguments[0])", second.url)
        until(lambda: browser.find("#connection").text == "")


def test_a_job_that_begins_again_is_read_anew(browser, tmp_path):
    path = tmp_path / "runs" / "job"
    first = Job(path)
    first.record(20)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        assert label_of(browser, "loss").endswith("to 0.05")
        first.hook.close()
        for file in sorted(path.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        second = Job(path)
        second.record(2)
        until(lambda: label_of(browser, "loss").endswith("to 0.5"))
        second.record(2)
        until(lambda: label_of(browser, "loss").endswith("to 0.25"))
        second.hook.close()


# ---- a slow tunnel ----


class Tunnel:
    """Passes bytes on to a server, slowly and late."""

    DELAY = 0.15  # seconds
    BYTES = 4096
    BYTES_PER_SECOND = 48_000

    def __init__(self, port):
        self.to = port
        self.passed = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # this end is closed, or the server has ended
                return
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=ends, daemon=True).start()

    def carry(self, source, sink):
        try:
            while data := source.recv(self.BYTES):
                time.sleep(self.DELAY if len(data) < self.BYTES else len(data) / self.BYTES_PER_SECOND)
                sink.sendall(data)
                self.passed += len(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


def test_a_slow_tunnel_is_enough(browser, job, tmp_path):
    with Served(tmp_path, "runs") as served:
        run = served.id_of("job")
        tunnel = Tunnel(served.port)
        browser.open(Address("about:blank"))
        browser.open(Address(f"http://127.0.0.1:{tunnel.port}/runs/{run}?token={served.token}"))
        until(lambda: browser.run("return document.querySelectorAll('#curves svg .curve').length"), 20)
        # The page, its script, style and first data.
        assert tunnel.passed < 120_000
        time.sleep(2)
        before = tunnel.passed
        for _ in range(20):
            job.record()
            time.sleep(0.1)
        until(lambda: label_of(browser, "loss").endswith(f"to {float(f'{1 / job.step:.4g}')}"), 20)
        assert tunnel.passed - before < 60_000
        tunnel.close()
        assert browser.complaints() == []


@pytest.mark.parametrize("address", ["0123456789abcdef", "nope", "<b>%00"])
def test_a_run_that_is_gone_is_explained(browser, layers, address):
    open_page(browser, layers, f"runs/{address}", ready=".note.bad:not(:empty)")
    assert "There is no such run: it was removed" in browser.find("main").text
    assert browser.find(".home").is_displayed()


def test_a_run_named_twice_is_shown_once(browser, layers):
    run = layers.id_of("layers")
    open_page(browser, layers, f"runs/{run},{run}", ready="#curves svg .curve")
    assert browser.find("h1").text == "layers"


class Opener(http.server.BaseHTTPRequestHandler):
    """A page of another server on this machine."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>opener</title>")

    def log_message(self, *_):
        pass


def test_a_page_that_opens_this_one_gets_no_hold_of_it(browser, layers):
    open_page(browser, layers)  # the cookie is set, and goes to all ports of this address
    server = http.server.HTTPServer(("127.0.0.1", 0), Opener)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    before = set(browser.driver.window_handles)
    try:
        browser.open(Address(f"http://127.0.0.1:{server.server_port}/"))
        browser.run("window.other = window.open(arguments[0])", layers.url.split("?")[0])
        until(lambda: browser.run("return other.closed"))  # what a page sees of one that is cut off
        [opened] = set(browser.driver.window_handles) - before
        own = browser.driver.current_window_handle
        browser.driver.switch_to.window(opened)
        until(lambda: browser.run("return document.querySelectorAll('tbody tr[data-id]').length"))
        assert browser.run("return window.opener") is None
        browser.driver.close()
        browser.driver.switch_to.window(own)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_links_change_the_address_and_back_returns(browser, layers):
    run = layers.id_of("layers")
    open_page(browser, layers)
    browser.find(f"a[href='/runs/{run}']").click()
    until(lambda: browser.run("return document.querySelectorAll('#curves svg .curve').length"))
    browser.driver.refresh()
    until(lambda: browser.run("return document.querySelectorAll('#curves svg .curve').length"))
    browser.run("document.querySelector('h1').id = 'as-before'")
    browser.find(".skip").send_keys(Keys.ENTER)
    assert browser.find("h1#as-before").text == "layers"
    browser.find(".home").click()
    until(lambda: browser.run("return document.querySelector('h1')?.textContent") == "Runs")
    for title in ("layers", "layers", "Runs"):
        browser.driver.back()
        until(lambda title=title: browser.run("return document.querySelector('h1')?.textContent") == title)
    assert browser.complaints() == []


def test_addresses_of_older_versions_lead_to_the_run(browser, layers):
    run = layers.id_of("layers")
    open_page(browser, layers)
    browser.driver.get(f"{layers.url.split('?')[0]}#/runs/{run}")
    browser.driver.refresh()
    until(lambda: browser.run("return document.querySelectorAll('#curves svg .curve').length"))
    assert browser.run("return location.pathname + location.hash") == f"/runs/{run}"


def test_a_slash_at_the_end_does_not_matter(browser, layers):
    open_page(browser, layers, f"runs/{layers.id_of('layers')}/", ready="#curves svg .curve")
    assert browser.find("h1").text == "layers"
