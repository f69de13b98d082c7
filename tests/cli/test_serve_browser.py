"""Tests the page of smdebug serve in a real browser, with jobs that record meanwhile."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from cli_trials import EVERY_STEP, record_workers
from report_trials import HOSTILE, record_hostile, record_training
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from serve_page import open_page, open_runs
from served import Served, until

import smdebug as smd

PHONE = 360
AXE = Path(os.environ.get("SMDEBUG_AXE", "")) / "node_modules/axe-core/axe.min.js"
# If set, the pictures that the tests take are written to this folder.
PICTURES = os.environ.get("SMDEBUG_PICTURES")


def record_rate(path, rate, steps=60):
    """Records a training with its hyper-parameters."""
    with smd.Hook(str(path), save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"]) as hook:
        hook.set_metadata({"rate": rate, "layers": int(rate * 100)})
        for step in range(steps):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", np.float32(np.exp(-rate * step) + 0.1))
                hook.save("fc.weight", np.full((4, 4), 1 - rate * step / 100, np.float32))
                hook.save("gradient/fc.weight", np.full((4, 4), rate / (1 + step), np.float32))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    record_training(str(folder / "training"))
    record_workers(folder / "workers")
    record_hostile(str(folder / "hostile"))
    for rate in (0.1, 0.2, 0.5):
        record_rate(folder / f"rate={rate}", rate)
    return folder


@pytest.fixture(scope="module")
def served(runs):
    with Served(runs, ".") as server:
        until(lambda: len(server.rows()) == 6 and all(row["summary"] for row in server.rows()))
        yield server


def picture(browser, name, height):
    taken = browser.screenshot(height)
    if PICTURES:
        (Path(PICTURES) / f"{name}.png").write_bytes(taken)
    assert len(taken) > 5000


@pytest.mark.parametrize(("width", "dark"), [(1240, False), (1240, True), (PHONE, False)])
@pytest.mark.parametrize("name", ["list", "training", "workers", "hostile", "compare"])
def test_pages_are_drawn(name, width, dark, browser, served):
    options = {"width": width, "dark": dark}
    if name == "list":
        open_page(browser, served, **options)
    elif name == "compare":
        open_runs(browser, served, "rate=0.1", "rate=0.2", "rate=0.5", ready=".parallel svg .curve", **options)
    else:
        open_runs(browser, served, name, ready=".heat-plot canvas" if name != "hostile" else "#curves", **options)
    time.sleep(0.5)
    assert browser.complaints() == []
    origin = served.url.split("?")[0]
    assert all(url.startswith((origin, "about:", "data:")) for url in browser.requests())
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert "token" not in browser.run("return location.href")
    assert browser.run("return document.cookie") == ""
    assert browser.run("return window.harmed ?? null") is None
    nameless = browser.run("""
        return [...document.querySelectorAll('a, button, select, input, summary, [tabindex], [role=img]')]
          .filter((e) => !e.closest('[hidden]') && !(e.innerText || e.getAttribute('aria-label') || (e.labels && e.labels.length && e.labels[0].innerText)))
          .map((e) => e.outerHTML)""")
    assert nameless == []
    picture(browser, f"{name}-{width}{'-dark' if dark else ''}", 1500)


@pytest.mark.parametrize(("width", "dark"), [(1240, False), (PHONE, True)])
@pytest.mark.parametrize("name", ["list", "training", "workers", "compare"])
def test_pages_are_accessible(name, width, dark, browser, served):
    """axe finds no violations: tools/axe.sh installs it."""
    options = {"width": width, "dark": dark}
    if name == "list":
        open_page(browser, served, **options)
    elif name == "compare":
        open_runs(browser, served, "rate=0.1", "rate=0.2", ready=".parallel svg .curve", **options)
    else:
        open_runs(browser, served, name, ready=".heat-plot canvas", **options)
        plot = browser.find(".heat-plot")
        plot.send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
        until(lambda: browser.run("return document.querySelectorAll('.cell figure').length"))
    for details in browser.driver.find_elements("css selector", "details"):
        browser.run("arguments[0].open = true", details)
    browser.command("Page.setBypassCSP", enabled=True)
    browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.driver.execute_async_script(
        "axe.run(document, {resultTypes: ['violations']}).then((result) => arguments[0](result.violations))"
    )
    assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found] == []


def test_a_phone_shows_what_matters_in_the_list(browser, served):
    open_page(browser, served, width=PHONE)
    right = "return Math.max(...[...document.querySelectorAll('.list tbody td:nth-child(6)')].map((e) => e.getBoundingClientRect().right))"
    assert 0 < browser.run(right) <= PHONE
    assert browser.run("return document.querySelector('.list tbody td').getBoundingClientRect().width") < 60


def test_the_sign_of_a_headline_overlaps_no_text(browser, served):
    open_runs(browser, served, "training", width=PHONE)
    sign, text = browser.run("return [...document.querySelector('.headline').children].map((e) => [e.getBoundingClientRect().left, e.getBoundingClientRect().right])")
    assert sign[0] + 8 < sign[1] <= text[0]


def test_findings_have_the_numbers_of_their_marks(browser, served):
    open_runs(browser, served, "training")
    assert browser.run("return document.querySelector('.headline .culprit').textContent").startswith(("Likely cause: ", "Possible cause: "))
    rows = browser.run("return [...document.querySelectorAll('.found tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    first = {}
    for number, level, _, step, *_ in rows:
        if level == "finding":
            first.setdefault(int(number), int(step))
    labels = browser.run("return [...document.querySelector('#curves .surface').querySelectorAll('.mark-label')].flatMap((e) => e.textContent.split(' '))")
    assert [int(label) for label in labels] == sorted(first) and list(first.values()) == sorted(first.values())
    assert len(browser.run("return [...document.querySelector('#curves .surface').querySelectorAll('.mark')]")) == len(set(first.values()))


def test_names_in_the_list_are_whole(browser, served):
    for width in (PHONE, 1000):
        open_page(browser, served, width=width)
        lines = browser.run("return [...document.querySelectorAll('.list tbody th a')].map((e) => e.getClientRects().length)")
        assert set(lines) == {1}


def test_a_page_is_few_requests(browser, served):
    """A slow tunnel costs a round trip each; the script and the style are kept."""
    for names in (["training"], ["training"], ["workers"], ["workers"], ["rate=0.1", "rate=0.2"], ["rate=0.1", "rate=0.2"]):
        open_runs(browser, served, *names, ready=".heat-plot canvas")
        asked = [url.removeprefix(served.url.split("?")[0]) for url in browser.requests()]
        assert sum(path.endswith((".js", ".css")) for path in asked) <= 3
        assert len([path for path in asked if path.startswith("api/series")]) == 0
        assert len([path for path in asked if path.startswith("api/")]) <= 4 + 2 * len(names)
    # The server has opened these runs, so the page comes with their first charts.
    assert len([path for path in asked if path.startswith("api/run?")]) == 0


def test_a_run_is_printed(browser, served):
    open_runs(browser, served, "training", ready=".heat-plot canvas", dark=True)
    printed = browser.print_to_pdf()
    if PICTURES:
        (Path(PICTURES) / "run.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") >= 1
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not browser.find(".bar").is_displayed()
    browser.command("Emulation.setEmulatedMedia", media="")


def test_names_are_shown_as_they_are(browser, served):
    for _ in range(2):  # what a page is sent with, and what it asks for
        open_runs(browser, served, "hostile", ready="#curves figure")
        assert browser.run("return document.images.length") == 0
        assert HOSTILE in browser.find("#curves").text


def test_the_list_filters_sorts_and_compares(browser, served):
    open_page(browser, served)
    names = "return [...document.querySelectorAll('tbody tr[data-id] a')].map((e) => e.textContent)"
    browser.find("input[type=search]").send_keys("^rate")
    until(lambda: browser.run(names) and all(name.startswith("rate") for name in browser.run(names)))
    heads = browser.driver.find_elements("css selector", "button.sort")
    heads[0].click()
    until(lambda: browser.run(names) == ["rate=0.1", "rate=0.2", "rate=0.5"])
    heads[0].click()
    until(lambda: browser.run(names) == ["rate=0.5", "rate=0.2", "rate=0.1"])
    for box in browser.driver.find_elements("css selector", "tbody input"):
        box.click()
    [compare] = [e for e in browser.driver.find_elements("css selector", "button") if e.text == "Compare 3 runs"]
    compare.click()
    until(lambda: browser.run("return document.querySelectorAll('#configurations table').length"))
    table = browser.find("#configurations table").text
    assert "rate 0.5 0.2 0.1" in table.replace("\n", " ")
    assert browser.run("return document.querySelectorAll('.parallel path.curve').length") == 3
    axes = browser.run("return [...document.querySelectorAll('.parallel text[y=\"16\"]')].map((e) => e.textContent)")
    assert "rate" in axes and axes[-1] == "last loss"
    assert browser.run("return document.querySelectorAll('#curves svg path.curve').length") >= 3


def test_a_cell_shows_curve_histogram_values_and_neighbours(browser, served):
    open_runs(browser, served, "training", ready=".heat-plot canvas")
    time.sleep(0.5)
    plot = browser.find(".heat-plot")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    ActionChains(browser.driver).move_to_element(plot).click().perform()
    until(lambda: browser.run("return document.querySelectorAll('.cell figure').length") >= 4)
    text = browser.find(".cell").text
    assert "gradient/layer" in text and "Histogram at step" in text and "Values: float32, 8 × 8" in text
    assert "Histograms over the steps" in text and "64 of 64" not in text
    titles = browser.run("return [...document.querySelectorAll('.cell figcaption')].map((e) => e.textContent)")
    assert {title.removeprefix("gradient/") for title in titles} == {titles[0].removeprefix("gradient/")} and len(titles) == 2


def test_workers_stand_side_by_side(browser, served):
    open_runs(browser, served, "workers", ready=".heat-plot canvas")
    time.sleep(0.5)
    Select(browser.driver.find_elements("css selector", "#layers select")[1]).select_by_visible_text("all")
    time.sleep(0.5)
    plot = browser.find(".heat-plot")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    ActionChains(browser.driver).move_to_element_with_offset(plot, 0, plot.size["height"] // 2 - 3).click().perform()
    until(lambda: "Difference between the workers" in browser.find(".cell").text)


def test_the_axis_and_smoothing(browser, served):
    open_runs(browser, served, "rate=0.1", "rate=0.2")
    axis = Select(browser.find("#curves select"))
    assert [option.text for option in axis.options] == ["step", "relative time", "wall time"]
    for name, title in (("relative time", "since the run's first step"), ("wall time", "UTC"), ("step", "step")):
        axis.select_by_visible_text(name)
        until(lambda title=title: title in browser.run("return document.querySelector('#curves .axis-title')?.textContent ?? ''"))
    browser.run("const s = document.querySelector('#curves input[type=range]'); s.value = 0.9; s.dispatchEvent(new Event('input'))")
    until(lambda: browser.run("return document.querySelectorAll('#curves .curve.raw').length"))
    assert browser.complaints() == []


def test_charts_zoom_together_and_share_a_cursor(browser, served):
    open_runs(browser, served, "training", ready=".heat-plot canvas")
    surface = browser.find("#curves .surface")
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", surface)
    ActionChains(browser.driver).move_to_element_with_offset(surface, -60, 0).click_and_hold().move_by_offset(120, 0).release().perform()
    until(lambda: browser.run("return [...document.querySelectorAll('.zoom-out')].filter((e) => !e.hidden).length") >= 2)
    ActionChains(browser.driver).move_to_element_with_offset(surface, 10, 5).perform()
    cursors = "return [...document.querySelectorAll('#curves .cursor')].filter((e) => e.getAttribute('visibility') === 'visible').length"
    assert browser.run(cursors) == 2
    assert browser.run("return document.querySelector('.heat-line').hidden") is False
    assert browser.complaints() == []


# ---- live ----


def test_a_running_job_grows_in_the_page(browser, tmp_path):
    hook = smd.Hook(str(tmp_path / "runs" / "job"), save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"])

    def record(step, loss):
        with hook.step(smd.modes.TRAIN):
            hook.save("loss", np.float32(loss))
            hook.save("fc.weight", np.full((4, 4), 1 + step, np.float32))

    record(0, 1.0)
    record(1, 0.5)
    # Steps are seen when the page has drawn them.
    drawn = "return Math.max(...[...document.querySelectorAll('#curves .surface')].map((e) => Number(/to ([\\d.e-]+)$/.exec(e.getAttribute('aria-label'))[1])))"
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        delays = []
        for step in range(2, 22):
            value = step / 100
            begin = time.monotonic()
            record(step, value)
            until(lambda value=value: abs(browser.run(drawn) - value) < 1e-9, 5)
            delays.append(time.monotonic() - begin)
        assert sorted(delays)[len(delays) // 2] < 0.5
        record(22, np.nan)
        until(lambda: "cause" in browser.find(".headline").text or "loss" in browser.find(".headline.bad").text)
        assert "finding" in browser.find("#alerts").get_attribute("aria-label")
        assert browser.find(".alert").text
        assert browser.driver.title.startswith("(")
        hook.set_metadata({"run.failure": "FloatingPointError: loss"})
        hook.close()
        until(lambda: "failed" in browser.find(".facts").text)
        assert "FloatingPointError: loss" in browser.find(".facts").text
        assert browser.complaints() == []


def test_the_page_says_when_the_server_stops(browser, runs):
    with Served(runs, ".") as served:
        until(lambda: len(served.rows()) == 6)
        open_page(browser, served)
        served.stop()
        until(lambda: "lost" in browser.find("#connection").text)
