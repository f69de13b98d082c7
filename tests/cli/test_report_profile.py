"""Tests the chapter of smdebug report about a profile."""

import json
import shutil

import numpy as np
import pytest
from cli_program import Program
from profiles import Timeline, write_samples
from report_page import Page, report
from report_profiles import SLOWEST, STEPS, record_profiled, write_profile
from report_trials import EVERY_STEP, HOSTILE

import smdebug as smd


def record_small(path):
    with smd.Hook(str(path), save_config=EVERY_STEP, include_collections=["losses"]) as hook, hook.step(smd.modes.TRAIN):
        hook.save("loss", np.float32(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profiled")
    record_profiled(folder)
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return report(folder, "run")


def test_a_profile_beside_the_trial_is_found(page):
    said = page.words()
    assert "Where the time goes" in said and "profiler-output" in said
    assert {"profile", "profile-finding-1"} <= page.ids()
    assert "DataLoaderStarves" in said and "What to do:" in said
    # A table for each worker, with all percentiles.
    assert f"A step of algo-1-1 {STEPS} steps" in said and f"A step of algo-1-2 {STEPS} steps" in said
    for words in ("data wait", "Share", "p50 ms", "p95 ms", "p99 ms"):
        assert words in said


def test_the_charts_have_the_figures_of_the_profile(page):
    profile = page.data["profile"]
    assert [worker["count"] for worker in profile["workers"]] == [STEPS, STEPS]
    assert [flame["title"] for flame in profile["flames"]] == ["a usual step", "the slowest step"]
    assert profile["flames"][1]["step"] == SLOWEST
    assert {each["metric"] for each in profile["series"]} == {"GPUUtilization", "GPUMemoryUtilization", "CPUUtilization"}


def test_findings_of_a_profile_change_no_exit_code(folder, tmp_path):
    record_small(tmp_path / "run")
    plain = Program(tmp_path).run("report run")
    profiled = Program(tmp_path).run(f"report run --profile-path {folder / 'profiler-output'}")
    assert plain.returncode == profiled.returncode
    assert "of the profile" in profiled.stdout and "of the profile" not in plain.stdout


def test_findings_of_both_kinds_are_on_one_page(folder, tmp_path):
    with smd.Hook(str(tmp_path / "run"), save_config=EVERY_STEP, include_collections=["losses"]) as hook:
        for step in range(8):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", np.float32(np.nan if step > 4 else 1 / (step + 1)))
    shutil.copytree(folder / "profiler-output", tmp_path / "profiler-output")
    page = report(tmp_path, "run")
    assert {"finding-1", "profile-finding-1"} <= page.ids()
    said = page.words()
    assert "FirstNonFinite" in said and "DataLoaderStarves" in said


def test_nothing_is_shown_without_a_profile(tmp_path):
    record_small(tmp_path / "run")
    (tmp_path / "profiler").mkdir()  # holds neither system nor framework
    page = report(tmp_path, "run")
    assert "profile" not in page.ids() and "profile" not in page.data
    assert "Where the time goes" not in page.words()


def test_a_link_to_a_profile_is_not_followed(folder, tmp_path):
    record_small(tmp_path / "run")
    (tmp_path / "run/profiler").symlink_to(folder / "profiler-output")
    (tmp_path / "profiler").mkdir()
    (tmp_path / "profiler/system").symlink_to(folder / "profiler-output/system")
    (tmp_path / "profiler/framework").symlink_to(folder / "profiler-output/framework")
    Program(tmp_path).run("report run")
    assert "Where the time goes" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["run/profiler", "run/profiler-output", "profiler"])
def test_places_of_profiles(place, folder, tmp_path):
    record_small(tmp_path / "run")
    shutil.copytree(folder / "profiler-output", tmp_path / place)
    for trial in ("run", "run/"):
        said = report(tmp_path, trial).words()
        assert f"Of the profile in {place.split('/')[-1]} ." in said and str(tmp_path) not in said


def test_a_profile_that_is_asked_for_must_exist(folder, tmp_path):
    record_small(tmp_path / "run")
    missing = Program(tmp_path).run("report run --profile-path nowhere")
    assert missing.returncode not in (0, 10) and "nowhere" in missing.stderr
    assert not (tmp_path / "report.html").exists()
    several = Program(folder).run("report run run --profile-path profiler-output")
    assert several.returncode == 2 and "--profile-path needs a single trial" in several.stderr


def test_damaged_files_are_listed(folder, tmp_path):
    record_small(tmp_path / "run")
    shutil.copytree(folder / "profiler-output", tmp_path / "profiler")
    first = next(iter(sorted((tmp_path / "profiler/framework").rglob("*.json"))))
    first.write_text("[\nnonsense", encoding="utf-8")
    page = report(tmp_path, "run")
    assert "profile" in page.ids() and first.name in page.words()


def test_names_and_numbers_do_no_harm(tmp_path):
    record_small(tmp_path / "run")
    timeline = Timeline(tmp_path / "profiler")
    for step in range(30):
        timeline.step(step, **{HOSTILE: 30.0})
    timeline.write()
    values = {("gpu", HOSTILE, "GPUUtilization"): lambda part: float("nan") if part < 0.5 else 1e300}
    write_samples(tmp_path / "profiler", values, seconds=30)
    Program(tmp_path).run("report run -o page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert HOSTILE in json.dumps(Page(text).data["profile"], ensure_ascii=False)


def test_a_profile_without_steps(tmp_path):
    record_small(tmp_path / "run")
    write_samples(tmp_path / "profiler", {("cpu", "cpu0", "CPUUtilization"): lambda part: 50.0}, seconds=30)
    page = report(tmp_path, "run")
    assert "profile" in page.ids() and page.data["profile"]["workers"] == []


def test_many_workers_and_series_make_a_small_page(tmp_path):
    record_small(tmp_path / "run")
    for node in range(24):
        timeline = Timeline(tmp_path / "profiler", f"1-algo-{node}")
        for step in range(450):
            timeline.step(step)
        timeline.write()
        values = {("gpu", f"gpu{i}", "GPUUtilization"): lambda part: 100 * part for i in range(4)}
        write_samples(tmp_path / "profiler", values, seconds=450, node=f"algo-{node}")
    page = report(tmp_path, "run")
    assert len(page.text) < 1_500_000
    assert "more workers are not shown" in page.words()


def test_the_profile_s_rules_follow_the_chosen_profile(folder, tmp_path):
    record_small(tmp_path / "run")
    write_profile(tmp_path / "profiler")
    aws = report(tmp_path, "run", "--profile aws").words()
    assert "DataLoaderStarves" not in aws and "Where the time goes" in aws
