"""Tests that pages of smdebug serve show what a job records late."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cli_trials import EVERY_STEP
from serve_page import open_runs
from served import Served, until

import smdebug as smd


class Job:
    """A training in this process; each step names the tensors that it records."""

    def __init__(self, path):
        self.hook = smd.Hook(str(path), save_config=EVERY_STEP, save_all=True)
        self.step = 0

    def record(self, count, *names, mode=smd.modes.TRAIN):
        for _ in range(count):
            with self.hook.step(mode):
                for name in names:
                    if "loss" in name or name == "accuracy":
                        self.hook.save_scalar(name, 1 / (1 + self.step))
                    else:
                        self.hook.save(name, np.full((4, 4), 1 + self.step / 100, np.float32))
            self.step += 1


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "runs/job")
    yield made
    made.hook.close()


def facts(browser):
    return dict(browser.run("return [...document.querySelectorAll('.facts > div')].map((each) => [...each.children].map((e) => e.textContent))"))


def titles(browser):
    return browser.run("return [...document.querySelectorAll('#curves .card figcaption')].map((each) => each.textContent)")


def test_tensors_that_come_late_are_shown(browser, job, tmp_path):
    job.record(3, "loss", "fc.weight")
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        assert facts(browser)["Tensors"] == "2"
        browser.run("document.querySelector('#curves input[type=range]').value = 0.5; document.querySelector('#curves input[type=range]').dispatchEvent(new Event('input'))")
        job.record(2, "loss", "fc.weight", "gradient/fc.weight")
        job.record(1, "val_loss", "accuracy", mode=smd.modes.EVAL)
        until(lambda: facts(browser)["Tensors"] == "5")
        assert facts(browser)["Modes"] == "TRAIN 5, EVAL 1"
        until(lambda: any("accuracy" in title for title in titles(browser)))
        assert browser.run("return document.querySelector('#curves input[type=range]').value") == "0.5"  # as chosen
        until(lambda: any("gradients" in each for each in browser.run("return [...document.querySelectorAll('#layers option')].map((each) => each.textContent)")))
        # It goes on to grow.
        job.record(4, "loss", "accuracy")
        until(lambda: browser.run("return [...document.querySelectorAll('#curves .surface')].some((each) => each.ariaLabel.endsWith('to 0.1'))"))


def test_a_page_without_a_loss_gets_one(browser, job, tmp_path):
    job.record(2, "fc.weight")
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job", ready="#layers canvas, #layers svg")
        assert "No loss or metric" in browser.run("return document.querySelector('#curves').textContent")
        job.record(3, "loss")
        until(lambda: browser.run("return document.querySelector('#curves svg .curve') !== null"))
        assert "No loss or metric" not in browser.run("return document.querySelector('#curves').textContent")


def test_layers_that_come_late_have_a_map(browser, job, tmp_path):
    job.record(2, "loss")
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        assert browser.run("return document.querySelector('#layers').hidden")
        job.record(2, "loss", "fc.weight")
        until(lambda: browser.run("return !document.querySelector('#layers').hidden && document.querySelector('#layers option') !== null"))


def test_a_job_that_runs_is_not_called_good_for_good(browser, job, tmp_path):
    job.record(3, "loss", "fc.weight")
    with Served(tmp_path, "runs") as served:
        open_runs(browser, served, "job")
        until(lambda: facts(browser)["Evaluated"] == "all steps")
        headline = "return document.querySelector('.headline').textContent"
        assert "The rules have found nothing so far" in browser.run(headline)
        job.hook.close()
        until(lambda: "✓The rules found nothing" in browser.run(headline))


def test_programs_that_ask_get_findings(tmp_path):
    with smd.Hook(str(tmp_path / "runs/bad"), save_config=EVERY_STEP, save_all=True) as hook:
        for step in range(30):
            with hook.step(smd.modes.TRAIN):
                hook.save_scalar("loss", float("nan") if step > 20 else 1 / (1 + step))
    with Served(tmp_path, "runs") as served:
        def is_told():
            status, _, body = served.ask("/metrics")
            return status == 200 and b"smdebug_run_findings{" in body

        until(lambda: is_told() and any(run["findings"] for run in served.get("/findings.json")["runs"]))


def test_runs_of_one_name_are_told_apart(tmp_path):
    for folder in ("first", "second"):
        with smd.Hook(str(tmp_path / folder / "run"), save_config=EVERY_STEP, save_all=True) as hook, hook.step(smd.modes.TRAIN):
            hook.save_scalar("loss", 1)
    with Served(tmp_path, "first/run", "second/run") as served:
        until(lambda: len(served.rows()) == 2)
        assert sorted(row["name"] for row in served.rows()) == ["first/run", "second/run"]


def test_the_report_of_a_running_job_can_be_saved(job, tmp_path):
    job.record(4, "loss", "fc.weight")
    with Served(tmp_path, "runs") as served:
        status, headers, body = served.ask("/api/report", id=served.id_of("job"))
        assert status == 200 and headers["content-disposition"] == 'attachment; filename="job.html"'
        assert b"Histograms over the steps" in body and b"fc.weight" in body
        assert served.ask("/api/report", id="0123456789abcdef")[0] == 404
        assert served.ask("/api/report", id="../../etc/passwd")[0] == 404


def test_reports_at_the_same_time(job, tmp_path):
    job.record(4, "loss", "fc.weight")
    with Served(tmp_path, "runs") as served:
        run = served.id_of("job")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: served.ask("/api/report", id=run), range(16)))
        assert all(status == 200 and body.endswith(b"</html>\n") for status, _, body in answers)
