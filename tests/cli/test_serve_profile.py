"""Tests what smdebug serve shows of a run's profile."""

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from browser import Browser
from profiles import Timeline
from report_profiles import STEPS, record_profiled
from report_trials import HOSTILE
from served import Served, until

PICTURES = os.environ.get("SMDEBUG_PICTURES")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    record_profiled(folder)
    return folder


@pytest.fixture(scope="module")
def served(folder):
    with Served(folder, ".") as server:
        server.id_of("run")
        yield server


def test_the_profile_of_a_run_is_found(served):
    run = served.id_of("run")
    assert served.get("/api/run", id=run)["profile"] is True
    profile = served.get("/api/profile", id=run)
    assert profile["name"] == "profiler-output" and profile["skipped"] == []
    assert "DataLoaderStarves" in profile["findings"] and "data wait" in profile["html"]
    assert [worker["count"] for worker in profile["charts"]["workers"]] == [STEPS, STEPS]
    assert served.ask("/api/profile", id="0000")[0] == 404


def test_a_run_without_a_profile(folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "runs" / "run")
    with Served(tmp_path / "runs", ".") as served:
        run = served.id_of("run")
        assert served.get("/api/run", id=run)["profile"] is False
        assert served.get("/api/profile", id=run) == {}


def test_names_are_text_and_damage_is_told(folder, tmp_path):
    shutil.copytree(folder / "run", tmp_path / "run")
    timeline = Timeline(tmp_path / "profiler")
    for step in range(30):
        timeline.step(step, **{HOSTILE: 30.0})
    timeline.write()
    (file,) = (tmp_path / "profiler/framework").rglob("*.json")
    shutil.copy(file, file.with_name(f"1{file.name}"))
    file.with_name(f"1{file.name}").write_text("[\nnonsense", encoding="utf-8")
    with Served(tmp_path, ".") as served:
        profile = served.get("/api/profile", id=served.id_of("run"))
    assert HOSTILE not in profile["html"] + profile["findings"] and HOSTILE in json.dumps(profile["charts"], ensure_ascii=False)
    assert any(f"1{file.name}" in sentence for sentence in profile["skipped"])


def test_many_requests_evaluate_it_once(served):
    run = served.id_of("run")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(served.ask("/api/profile", id=run)[2])) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 30 and len(set(answers)) == 1


@pytest.mark.parametrize(("width", "dark"), [(1240, True), (360, False)])
def test_the_page_has_a_chapter(served, width, dark, tmp_path):
    browser = Browser(tmp_path)
    try:
        browser.open(_Address(served.address(f"runs/{served.id_of('run')}")), width=width, dark=dark)
        shown = "return document.querySelectorAll('#profile .flame svg, #profile svg .area').length"
        until(lambda: browser.run(shown))
        said = browser.run("return document.getElementById('profile').innerText")
        assert "Where the time goes" in said and "DataLoaderStarves" in said and "A step of algo-1-1" in said
        assert "loss over the time" in said and "Parts over the steps" in said
        browser.run("document.querySelector('#profile button').click()")
        until(lambda: not browser.run("return document.querySelector('#profile button').disabled"))
        time.sleep(0.3)
        assert browser.complaints() == []
        assert browser.run("return document.documentElement.scrollWidth") <= width
        taken = browser.screenshot(4200)
        if PICTURES:
            (Path(PICTURES) / f"serve-profile-{width}.png").write_bytes(taken)
        assert len(taken) > 5000
    finally:
        browser.close()


class _Address:
    """An address that a browser can open, as a path."""

    def __init__(self, url):
        self.url = url

    def as_uri(self):
        return self.url
