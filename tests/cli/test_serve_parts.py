"""Tests the parts of a live page that are the report's: what checks measured, features and trees, predictions."""

from __future__ import annotations

import numpy as np
import pytest
from cli_trials import EVERY_STEP
from serve_page import open_runs
from served import Served, until

import smdebug as smd


class Job:
    """A training in this process that learns nothing, and records what `values(step)` returns."""

    def __init__(self, path):
        self.hook = smd.Hook(str(path), save_config=EVERY_STEP, save_all=True)
        self.step = 0

    def record(self, count, values):
        for _ in range(count):
            with self.hook.step(smd.modes.TRAIN):
                self.hook.save_scalar("loss", 2.3 + self.step % 7 / 100)
                for name, value in values(self.step).items():
                    self.hook.save(name, value)
            self.step += 1


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "runs/job")
    yield made
    made.hook.close()


def vanishing(step):
    """The first layer's gradient is far smaller than the last one's."""
    gradient = np.random.default_rng(step).normal(size=(4, 4)).astype(np.float32)
    return {f"gradient/layer{i}.weight": gradient * 10.0 ** (i - 5) for i in range(5)}


def boosted(step):
    importances = {f"feature_importance/gain/f{i}": np.float32(i + step) for i in range(3)}
    return {**importances, "average_shap/f1": np.float32(2), "trees/Node": np.arange(2 ** (2 + step // 4) - 1)}


def predicted(step):
    labels = np.arange(30) % 3
    scores = np.random.default_rng(step).random((30, 3))
    scores[np.arange(30), labels] += step
    return {"labels": labels.astype(np.float32), "predictions": scores.astype(np.float32)}


def labels_of(browser, part):
    return browser.run("return [...document.querySelectorAll(`${arguments[0]} .surface`)].map((each) => each.ariaLabel)", part)


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)


def open_findings(browser):
    until(lambda: browser.run("return document.querySelector('.headline.bad') !== null"))
    browser.run("document.querySelector('details.found').open = true")


def test_findings_have_charts_that_grow(browser, job, tmp_path):
    job.record(45, vanishing)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        open_findings(browser)
        until(lambda: browser.run("return document.querySelector('.found .lane') !== null"))
        lanes = "return [...document.querySelectorAll('.found .lane')].map((each) => each.ariaLabel)"
        first = next(each for each in browser.run(lanes) if each.startswith("VanishingGradient: "))
        assert "findings, the first at step" in first
        card = until(lambda: [each for each in labels_of(browser, ".found .card") if "first against last layer" in each])
        assert "relative to the last at each finding" in card[0]
        assert browser.run("return document.querySelector('.found .card .limit') !== null")
        until(lambda: any("gradient/layer0.weight: l2 norm" in each for each in labels_of(browser, ".found .card")))
        job.record(40, vanishing)
        until(lambda: next(each for each in browser.run(lanes) if each.startswith("VanishingGradient: ")) != first)
        assert browser.run("return document.querySelectorAll('.found .card h3').length") == len(browser.run(lanes))
        assert browser.complaints() == []


def test_findings_keep_numbers_as_more_come(browser, job, tmp_path):
    job.record(45, vanishing)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        open_findings(browser)
        cards = "return [...document.querySelectorAll('.found .card h3')].map((each) => each.textContent)"
        before = until(lambda: browser.run(cards))
        job.record(1, lambda step: {**vanishing(step), "weights/layer3": np.full((4, 4), np.nan, np.float32)})
        after = until(lambda: (now := browser.run(cards)) != before and now)
        assert [each.split()[0] for each in after] == [str(i + 1) for i in range(len(after))]
        numbers = browser.run("return [...document.querySelectorAll('.found tbody tr')].map((row) => row.innerText.trim().split(/\\s+/))")
        for number, level, rule, *_ in (row for row in numbers if row[1] == "finding"):
            assert f"{number} {rule}" in after, (level, rule)


def test_findings_of_a_run(job, tmp_path):
    job.record(45, vanishing)
    with Served(tmp_path, "runs") as served:
        run = served.id_of("job")
        found = until(lambda: served.get("/api/findings", id=run)["rules"])
        rule = next(each for each in found if each["rule"] == "VanishingGradient")
        first = rule["first"]
        assert rule["status"] == "finding"
        assert rule["count"] == len(rule["steps"]) >= len(first["steps"]) > 0
        assert len(first["values"]) == len(first["limits"]) == len(first["steps"])
        assert all(value < limit for value, limit in zip(first["values"], first["limits"], strict=True))
        assert first["curve"] == {"tensor": "gradient/layer0.weight", "worker": first["curve"]["worker"], "measure": "l2", "is_evaluated": False, "is_scalar": False}
        assert served.ask("/api/findings", id="nothing")[0] == 404


def test_findings_are_thinned(tmp_path, job):
    """A long run with a finding at each step."""
    job.record(900, lambda step: {"weights/fc": np.full(4, np.nan if step > 5 else 1, np.float32)})
    with Served(tmp_path, "runs") as served:
        run = served.id_of("job")
        until(lambda: served.get("/api/run", id=run)["evaluated"] == 899)
        for rule in served.get("/api/findings", id=run)["rules"]:
            assert len(rule["first"]["steps"]) == len(rule["first"]["values"]) <= 256
            assert rule["first"]["steps"] == sorted(rule["first"]["steps"])
            assert len(rule["steps"]) <= 500


def test_features_and_trees_grow(browser, job, tmp_path):
    job.record(4, boosted)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        until(lambda: "Step 3: 3 features" in text_of(browser, "#booster"))
        assert browser.run("return [...document.querySelectorAll('#booster .bars > span')].map((each) => each.textContent)") == ["f2", "f1", "f0"]
        browser.run("const kinds = document.querySelector('#booster select'); kinds.value = [...kinds.options].findIndex((each) => each.text === 'SHAP'); kinds.dispatchEvent(new Event('change'))")
        assert browser.run("return [...document.querySelectorAll('#booster .bars > span')].map((each) => each.textContent)") == ["f1"]
        browser.run("document.querySelector('#booster').scrollIntoView()")
        job.record(8, boosted)
        until(lambda: any(each == "Chart of Depth of the deepest tree, depth: from 1 to 3" for each in labels_of(browser, "#booster")))
        assert "Step 11: 1 feature that" in text_of(browser, "#booster")  # as chosen
        assert browser.run("return document.querySelector('#predictions').hidden")
        assert browser.complaints() == []


def test_predictions_come_late(browser, job, tmp_path):
    job.record(3, lambda step: {})
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        assert browser.run("return document.querySelector('#predictions').hidden && document.querySelector('#booster').hidden")
        job.record(2, predicted)
        until(lambda: "Step 4, 30 predictions." in text_of(browser, "#predictions"))
        browser.run("document.querySelector('#predictions').scrollIntoView()")
        assert browser.run("return document.querySelectorAll('#predictions .confusion td').length") > 9
        job.record(2, predicted)
        until(lambda: "Step 6, 30 predictions." in text_of(browser, "#predictions"))
        assert browser.complaints() == []


def test_labels_alone_are_no_predictions(browser, job, tmp_path):
    job.record(3, lambda step: {"labels": np.arange(4, dtype=np.float32)})
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        assert served.get("/api/predictions", id=served.id_of("job")) is None
        assert browser.run("return document.querySelector('#predictions').hidden")


def test_what_is_no_number_is_left_out(job, tmp_path):
    """Labels that are texts, and numbers of nodes that no tree has."""
    nodes = np.array([0.0, 2.0, np.nan, -3.0, np.inf, 1e300])
    job.record(2, lambda step: {"labels": np.array(["cat", "dog"]), "predictions": np.ones(2, np.float32), "trees/Node": nodes})
    with Served(tmp_path, "runs") as served:
        run = served.id_of("job")
        assert served.get("/api/predictions", id=run) is None
        assert served.get("/api/booster", id=run)["trees"] == {"steps": [0, 1], "depths": [1, 1], "nodes": [6, 6]}


def test_alerts_are_one_for_a_run(browser, job, tmp_path):
    job.record(45, vanishing)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        open_findings(browser)
        assert browser.find("#alerts").text == ""  # what was there before is in the headline
        job.record(2, lambda step: {f"weights/w{i}": np.full(4, np.nan, np.float32) for i in range(8)})
        until(lambda: "more finding" in browser.find("#alerts").text)
        assert browser.run("return document.querySelectorAll('.alert').length") == 1
        browser.find(".alert button").click()
        assert browser.find("#alerts").text == ""


def test_side_by_side_has_no_charts_of_findings(browser, job, tmp_path):
    other = Job(tmp_path / "runs/other")
    job.record(45, vanishing)
    other.record(45, vanishing)
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job", "other")
        open_findings(browser)
        assert browser.run("return document.querySelector('.found .lane, #booster') === null")
        assert browser.complaints() == []
    other.hook.close()
