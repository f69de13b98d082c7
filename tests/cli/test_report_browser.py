"""Tests pages of smdebug report in a real browser."""

import os
from pathlib import Path

import pytest
from browser import Browser
from cli_trials import record_workers
from report_page import report
from report_profiles import SLOWEST, record_profiled
from report_trials import HOSTILE, record_booster, record_hostile, record_reductions, record_training, record_uneven
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

PHONE = 360
PAGES = ["training", "booster", "numbers", "workers", "reductions", "hostile", "uneven", "profiled", "several"]
AXE = Path(os.environ.get("SMDEBUG_AXE", "")) / "node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Browser(tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Returns a page about each kind of trial, by name."""
    folder = tmp_path_factory.mktemp("pages")
    record_training(str(folder / "training"))
    record_booster(str(folder / "booster"), [0, 0, 1, 1, 1], [0.1, 0.6, 0.4, 0.8, 0.9])
    record_booster(str(folder / "numbers"), [1.5, 2.5, -1.0], [1.0, 3.0, -1.0])
    record_workers(folder / "workers")
    record_reductions(str(folder / "reductions"), steps=20, tensors=80)
    record_hostile(str(folder / "hostile"))
    record_uneven(str(folder / "uneven"))
    record_profiled(folder / "job", "profiled")
    (folder / "job/profiled").rename(folder / "profiled")
    (folder / "job/profiler-output").rename(folder / "profiled/profiler-output")
    paths = {}
    for name in PAGES:
        report(folder, "training booster uneven" if name == "several" else name)
        paths[name] = (folder / "page.html").rename(folder / f"{name}.html")
    return paths


@pytest.fixture
def training(browser, pages):
    yield browser.open(pages["training"])
    assert browser.complaints() == []


def tip(browser):
    """Returns the tips at the pointer."""
    return browser.run("return [...document.querySelectorAll('.tip')].filter((tip) => !tip.hidden).map((tip) => tip.innerText)")


def hover(browser, selector, x, y):
    """Moves the pointer to a place in an element, in fractions of its size, and returns the tip."""
    element = browser.find(selector)
    browser.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    size = element.size
    ActionChains(browser.driver).move_to_element_with_offset(
        element, int(size["width"] * (x - 0.5)), int(size["height"] * (y - 0.5))
    ).perform()
    [said] = tip(browser)
    return said


def test_the_chart_of_a_finding_has_the_limit_that_its_check_crossed(training):
    limits = training.run("return report.rules.map((rule) => [rule.rule, rule.findings[0].limit])")
    assert limits[0] == ["VanishingGradient", 0.001]
    drawn = training.run("""
        return [...document.querySelectorAll('[data-rule="0"] .limit')].map((limit) => {
          const points = limit.closest('svg').querySelector('.curve').getAttribute('d').match(/[ML][^ ]+ [-0-9.]+/g);
          return [Number(limit.getAttribute('y1')), limit.nextElementSibling.textContent, points.map((each) => Number(each.split(' ')[1]))];
        })""")
    [(y, text, points)] = drawn
    assert text == "limit 0.001"
    # All values of the check are below the limit, hence further down.
    assert len(points) > 10 and min(points) > y


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1240, PHONE])
def test_pages_are_drawn_without_requests(name, width, browser, pages):
    browser.open(pages[name], width=width, dark=width == PHONE)
    assert browser.complaints() == []
    assert all(url.startswith(("file:", "data:")) for url in browser.requests())
    empty = browser.run("return [...document.querySelectorAll('.drawn')].filter((e) => !e.innerText).map((e) => e.dataset.part)")
    assert empty == []
    # Only elements with scroll bars of their own may be wider than the window.
    assert browser.run("return document.documentElement.scrollWidth") <= width
    drawn = browser.run("return [...document.querySelectorAll('svg, canvas')].every((e) => e.getBoundingClientRect().width > 0)")
    assert drawn


@pytest.mark.parametrize("name", PAGES)
def test_focusable_elements_have_names(name, browser, pages):
    browser.open(pages[name])
    nameless = browser.run("""
        return [...document.querySelectorAll('a, button, select, input, summary, [tabindex], [role=img]')]
          .filter((e) => !(e.innerText || e.getAttribute('aria-label') || (e.labels && e.labels.length && e.labels[0].innerText)))
          .map((e) => e.outerHTML)""")
    assert nameless == []
    assert browser.run("const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.length - new Set(ids).size") == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(1240, False), (PHONE, True)])
def test_pages_are_accessible(name, width, dark, browser, pages):
    """axe finds no violations: tools/axe.sh installs it."""
    browser.open(pages[name], width=width, dark=dark)
    for details in browser.driver.find_elements("css selector", "details"):
        browser.run("arguments[0].open = true", details)
    browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.driver.execute_async_script(
        "axe.run(document, {resultTypes: ['violations']}).then((result) => arguments[0](result.violations))"
    )
    assert [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found] == []


def test_names_do_no_harm(browser, pages):
    browser.open(pages["hostile"])
    assert browser.run("return window.harmed ?? null") is None
    assert browser.run("return document.images.length") == 0
    assert HOSTILE in browser.find("body").text
    assert HOSTILE in browser.driver.title or "hostile" in browser.driver.title


def test_the_pointer_shows_values(training):
    assert hover(training, "#curves .surface", 0.02, 0.5).split("\n") == ["step 0", "TRAIN: 2"]
    said = hover(training, "#layers .heat-plot", 0.001, 0.03)
    assert said.startswith("gradient/layer1.weight\nstep 0 (TRAIN 0): ")
    said = hover(training, "#layers .heat-plot", 0.5, 0.03)
    assert "a rule has a finding here" in said
    assert hover(training, "#histograms .surface", 0.5, 0.95).startswith("step ")


def test_keys_move_through_charts(training):
    chart = training.find("#curves .surface")
    chart.send_keys(Keys.ARROW_RIGHT)
    assert tip(training) == ["step 0\nTRAIN: 2"]
    chart.send_keys(Keys.ARROW_RIGHT)
    assert tip(training) == ["step 1\nTRAIN: 1.905"]
    assert training.find("body > [role=status]").get_attribute("textContent") == "step 1; TRAIN 1.905"
    chart.send_keys(Keys.END)
    assert tip(training)[0].startswith("step 59\nTRAIN: NaN (at 58)")
    chart.send_keys(Keys.ESCAPE)
    assert tip(training) == []

    heat = training.find("#layers .heat-plot")
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.END):
        heat.send_keys(key)
    assert tip(training)[0].startswith("gradient/layer2.weight\nstep 58 (TRAIN 53): NaN")

    ridges = training.find("#histograms .surface")
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.HOME):
        ridges.send_keys(key)
    assert "elements" in tip(training)[0]


def test_measures_and_groups_can_be_selected(training):
    labels = "return [...document.querySelectorAll('#layers .heat-labels div')].map((e) => e.title)"
    assert training.run(labels) == [f"gradient/layer{i}.weight" for i in range(1, 13)]
    measure, group = training.driver.find_elements("css selector", "#layers select")
    Select(group).select_by_visible_text("weights (12)")
    assert training.run(labels) == [f"layer{i}.weight" for i in range(1, 13)]
    Select(measure).select_by_visible_text("largest |x|")
    training.find("#layers input[type=search]").send_keys("Layer3")
    assert training.run(labels) == ["layer3.weight"]
    training.find("#layers input[type=search]").send_keys("none of them")
    assert "No tensor shown here has this in its name." in training.find("#layers").text
    search = training.find("#layers input[type=search]")
    search.clear()
    search.send_keys("gradient/layer3")
    assert "Of all tensors, 1 more have it: choose another group." in training.find("#layers").text
    Select(training.find("#histograms select")).select_by_index(5)
    assert training.find("#histograms h3").text == training.run(
        "return report.histograms[5].tensor"
    )


def test_lines_can_be_hidden_and_scaled(training):
    lines = "return document.querySelectorAll('#curves .surface svg .curve').length"
    before = training.run(lines)
    button = training.find("#curves .legend button")
    button.click()
    assert (training.run(lines), button.get_attribute("aria-pressed")) == (before - 1, "false")
    button.click()
    path = "return document.querySelector('#curves .surface svg .curve').getAttribute('d')"
    linear = training.run(path)
    training.find("#curves .legend input").click()
    assert training.run(lines) == before and training.run(path) != linear


def test_the_legend_names_the_colours(training):
    ticks = "const scale = makeScale(arguments[0], 100, 0, {isLog: true}); return scale.ticks(5).map((tick) => [tick, scale(tick)])"
    assert training.run(ticks, [0, 1, 10]) == [[0, 100], [1, 92], [10, 0]]
    assert training.run(ticks, []) == []


def test_tensors_that_are_left_out_are_found(browser, tmp_path):
    record_reductions(str(tmp_path / "many"), steps=2, tensors=400)
    page = report(tmp_path, "many")
    hidden = page.data["statistics"]["hidden"]
    assert len(hidden) == 100
    browser.open(tmp_path / "page.html")
    browser.find("#layers input[type=search]").send_keys(hidden[7])
    said = browser.find("#layers").text
    assert "No tensor shown here has this in its name." in said
    assert "This report leaves out" in said and hidden[7] in said


def test_charts_share_the_cursor(training):
    training.find("#layers .heat-plot").send_keys(Keys.ARROW_RIGHT, Keys.END)
    shown = "return [...document.querySelectorAll('#curves .cursor')].map((e) => e.getAttribute('visibility'))"
    assert set(training.run(shown)) == {"visible"}


def test_a_cell_shows_its_tensor(training):
    training.find("#layers .heat-plot").send_keys(Keys.ARROW_RIGHT, Keys.ENTER)
    assert training.find("#layers .chosen figcaption").text == "gradient/layer1.weight"


def test_smoothing(training):
    slider = training.find("#curves input[type=range]")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert training.run("return document.querySelectorAll('#curves .curve.raw').length") == 4


def test_several_runs_are_drawn(browser, pages):
    browser.open(pages["several"])
    legend = browser.find("#curves .legend").text.split("\n")
    assert {"training loss TRAIN", "uneven val_loss EVAL"} <= set(legend)
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return document.documentElement.scrollWidth") <= 1240


def test_more_small_multiples(browser, pages):
    browser.open(pages["reductions"])
    count = "return document.querySelectorAll('#layers .multiples figure').length"
    assert browser.run(count) == 24
    browser.find("#layers .more").click()
    assert browser.run(count) == 40 and not browser.find("#layers .more").is_displayed()


def test_a_booster_is_drawn(browser, pages):
    browser.open(pages["booster"])
    assert browser.find(".bars").text.split("\n") == ["<i>tax</i>", "0.75", "age", "0.25"]
    assert browser.find("table.confusion").text.split("\n") == ["0 1", "0 1 1", "1 1 2"]
    assert "class 1: area 0.8333" in browser.find("#predictions").text
    browser.open(pages["numbers"])
    assert browser.run("return document.querySelectorAll('#predictions .dot').length") == 3


def test_workers_are_side_by_side(browser, pages):
    browser.open(pages["workers"])
    text = browser.find("#workers").text
    assert "worker_0" in text and "worker_1" in text and "Difference between workers" in text
    assert browser.run("return document.querySelectorAll('#workers .multiples figure').length") == 2


def test_it_prints(browser, pages):
    browser.open(pages["training"], dark=True)
    printed = browser.print_to_pdf()
    assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") >= 3
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not browser.find("nav").is_displayed()


def test_a_heat_map_is_printed_on_one_page(browser, tmp_path):
    record_reductions(str(tmp_path / "long"), steps=4, tensors=400)
    report(tmp_path, "long")
    browser.open(tmp_path / "page.html")
    browser.command("Emulation.setEmulatedMedia", media="print")
    heights = """return ['labels', 'plot', 'scroll'].map((name) =>
        document.querySelector(`#layers .heat-${name}`).getBoundingClientRect().height)"""
    labels, plot, both = browser.run(heights)
    assert labels == pytest.approx(plot, abs=2) and 800 < both < 900
    rows = "return [...document.querySelectorAll('#layers .heat-labels div')].map((e) => e.getBoundingClientRect().height)"
    rows = browser.run(rows)
    assert rows[0] == pytest.approx(plot / len(rows), rel=0.01)


def test_rules_are_readable_without_scripts(browser, pages):
    browser.open(pages["training"], scripts=False)
    said = browser.find("body").text
    assert "VanishingGradient in gradient/layer1.weight, step 22" in said
    assert "Charts need scripts, which are switched off." in said and "Collections" in said


def test_a_profile_is_drawn(browser, pages):
    browser.open(pages["profiled"])
    titles = [each.text for each in browser.driver.find_elements("css selector", "#profile figcaption")]
    assert titles[0] == "Parts over the steps" and titles[1].startswith("A usual step")
    assert titles[2].startswith(f"The slowest step (step {SLOWEST})")
    assert titles[3:] == ["loss over the time", "Use of cores", "Use of GPUs", "Use of the memory of GPUs"]
    # Charts over the time share their axis.
    ends = browser.run("""
        return [...document.querySelectorAll('#profile .card:last-child svg[viewBox$=" 174"]')]
          .map((svg) => [...svg.querySelectorAll('.x-tick')].map((tick) => [tick.textContent, tick.getAttribute('x')]).join())""")
    assert len(ends) == 4 and len(set(ends)) == 1
    assert browser.complaints() == []


def test_keys_move_through_a_profile(browser, pages):
    browser.open(pages["profiled"])
    stack, usual = browser.driver.find_elements("css selector", "#profile .surface")[:2]
    stack.send_keys(Keys.ARROW_RIGHT)
    assert tip(browser)[0].startswith("step 0: ") and "data wait: " in tip(browser)[0]
    stack.send_keys(Keys.END, Keys.ESCAPE)
    usual.send_keys(Keys.ARROW_RIGHT)
    assert tip(browser)[0].startswith("Step:ModeKeys.TRAIN\n")
    usual.send_keys(Keys.ARROW_DOWN)
    assert tip(browser)[0].startswith("Forward\n") and "% of the step" in tip(browser)[0]
    usual.send_keys(Keys.ARROW_UP)
    assert tip(browser)[0].startswith("Step:ModeKeys.TRAIN\n")
    Select(browser.find("#profile select")).select_by_index(1)
    browser.settle()
    assert browser.run("return document.querySelectorAll('#profile .area').length") == 7


def test_a_page_without_a_profile_has_no_chapter_about_it(browser, pages):
    browser.open(pages["training"])
    assert browser.driver.find_elements("css selector", "#profile, [href='#profile']") == []
