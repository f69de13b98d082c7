"""Tests what smdebug serve answers."""

import gzip
import json
import math
import re
import shutil
import signal

import numpy as np
import pytest
from cli_trials import EVERY_STEP, record_run
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from report_page import report
from served import Served, until

import smdebug as smd
from smdebug.core.writer import FileWriter


@pytest.fixture(scope="module")
def served(trials):
    with Served(trials, ".") as server:
        until(lambda: len(server.rows()) == 3)
        yield server
        assert server.stop() == (0, "")


def test_the_list_has_what_a_run_is_known_by(served):
    run = until(lambda: next((row for row in served.rows() if row["name"] == "run" and row["summary"]), None))
    assert (run["state"], run["steps"], run["last_step"], run["workers"]) == ("finished", 30, 29, 1)
    assert 0 <= run["age"] < 600
    summary = until(lambda: next(row["summary"] for row in served.rows() if row["name"] == "run"))
    assert summary["loss_name"] == "loss"
    assert summary["loss"] == pytest.approx(1 / 30, rel=1e-6)
    assert len(summary["sparkline"]) == 30


def test_findings_and_the_likely_cause_are_listed(served):
    def found():
        summary = next(row["summary"] for row in served.rows() if row["name"] == "workers")
        return summary if summary and summary["findings"] else None

    assert until(found)["cause"]
    findings = next(run for run in served.get("/findings.json")["runs"] if run["name"] == "workers")
    assert {finding["tensor"] for finding in findings["findings"]} == {"w"}


@pytest.mark.parametrize(
    ("regex", "names"), [("", 3), ("run$", 2), ("^w", 1), ("(?i)WORK", 1), ("nothing", 0)]
)
def test_the_list_is_filtered(served, regex, names):
    answer = served.get("/api/runs", regex=regex)
    assert (answer["all"], answer["matching"], len(answer["rows"])) == (3, names, names)


def test_the_list_is_sorted_and_has_pages(served):
    names = [row["name"] for row in served.rows(sort="name")]
    assert names == ["other_run", "run", "workers"]
    assert [row["name"] for row in served.rows(sort="name", order="descending")] == names[::-1]
    assert served.rows(sort="steps")[0]["name"] == "workers"
    assert [row["name"] for row in served.rows(sort="name", first=1, count=1)] == ["run"]


def test_series_are_those_that_were_recorded(served):
    answer = served.get("/api/series", id=served.id_of("run"), tensor="loss")
    lines = {line["mode"]: line["points"] for line in answer["lines"]}
    assert lines["EVAL"]["steps"] == [5, 11, 17, 23, 29]
    assert lines["TRAIN"]["values"] == pytest.approx([1 / (1 + step) for step in lines["TRAIN"]["steps"]], rel=1e-6)


def test_smooth_lines_are_averages(served):
    [line, _] = served.get("/api/series", id=served.id_of("run"), tensor="loss", smooth=0.5)["lines"]
    total = weights = 0.0
    for value, smooth in zip(line["points"]["values"], line["smooth"], strict=True):
        total, weights = total * 0.5 + value, weights * 0.5 + 1
        assert smooth == pytest.approx(total / weights, rel=1e-5)


def test_thinned_lines_keep_extremes_and_what_is_not_finite(tmp_path):
    values = np.sin(np.arange(5000) / 7)
    values[1234], values[4321], values[3000] = 9, -9, np.nan
    with smd.Hook(str(tmp_path / "run"), save_config=EVERY_STEP, save_all=True) as hook:
        for value in values:
            with hook.step(smd.modes.TRAIN):
                hook.save_scalar("loss", float(value))
    with Served(tmp_path, "run") as served:
        [line] = served.get("/api/series", id=served.id_of("run"), tensor="scalar/loss", pixels=100)["lines"]
        points = dict(zip(line["points"]["steps"], map(float, line["points"]["values"]), strict=True))
        assert line["count"] == 5000 and len(points) <= 500
        assert (points[1234], points[4321]) == (9, -9) and math.isnan(points[3000])
        assert {0, 4999} <= points.keys()
        # A part of it, in detail.
        [line] = served.get("/api/series", id=served.id_of("run"), tensor="scalar/loss", first=1000, end=1100)["lines"]
        assert line["points"]["steps"] == list(range(1000, 1100))


def test_steps_may_be_far_apart(tmp_path):
    """As times in nanoseconds are."""
    steps = [3, 2**40, 2**62, 2**63 - 2]
    with smd.Hook(str(tmp_path / "run"), save_config=EVERY_STEP, save_all=True) as hook, hook.step(smd.modes.TRAIN):
        hook.save("loss", 5.0)
    for step in steps:
        with FileWriter(tmp_path / "run", "worker_0", step=step) as writer:
            writer.write_tensor(float(step), "loss", mode=smd.modes.TRAIN, mode_step=step)
    with Served(tmp_path, "run") as served:
        [line] = served.get("/api/series", id=served.id_of("run"), tensor="loss")["lines"]
        assert line["points"]["steps"] == [0, *steps]


def test_layers_histograms_and_values(served):
    run = served.id_of("run")
    answer = served.get("/api/heat", id=run, group="gradients", measure="abs_mean", columns=100)
    [row] = answer["rows"]
    assert row["tensor"] == "gradient/fc1.weight" and not row["sampled"]
    assert row["values"] == pytest.approx([0.5**step for step in row["steps"]], rel=1e-6)
    # Fewer columns than steps: one step of each.
    [row] = served.get("/api/heat", id=run, group="weights", measure="l2", columns=5)["rows"]
    assert row["sampled"] and len(row["steps"]) == 5
    cell = served.get("/api/cell", id=run, tensor="fc1.weight", step=3)
    assert (cell["mode"], cell["value"]["shape"], cell["value"]["elements"]) == ("TRAIN", [4, 3], 12)
    assert sum(cell["value"]["histogram"]["counts"]) == 12
    assert cell["statistics"]["max"] == pytest.approx(11 / 8 + 3 / 16)
    assert served.get("/api/cell", id=run, tensor="relu_1", step=3)["value"] is None


def test_histograms_over_the_steps(served):
    run = served.id_of("run")
    answer = served.get("/api/histograms", id=run, tensor="fc1.weight", step=3)
    steps = [row["step"] for row in answer["rows"]]
    assert 3 in steps and steps == sorted(steps) and 1 < len(steps) <= 17
    assert all(sum(row["counts"]) == 12 and len(row["counts"]) == len(answer["edges"]) - 1 for row in answer["rows"])
    for query in ({"tensor": "relu_1", "step": 3}, {"tensor": "fc1.weight", "step": 10**6}, {"tensor": "none", "step": 3}):
        assert served.ask("/api/histograms", id=run, **query)[0] == 404


def test_few_steps_are_all_in_the_heat_map_however_far_apart(tmp_path):
    steps = [0, 1, 2, 3, 10, 11, 500, 999]
    config = smd.SaveConfig(save_steps=steps)
    with smd.Hook(str(tmp_path / "run"), save_config=config, include_collections=["weights"]) as hook:
        for step in range(1000):
            with hook.step(smd.modes.TRAIN):
                for i in range(2):
                    hook.save(f"layer{i}.weight", np.full(3, (step * 7 + i * 3) % 5, np.float32))
    with Served(tmp_path, "run") as served:
        answer = served.get("/api/heat", id=served.id_of("run"), group="weights", measure="l2", columns=100)
        assert [row["steps"] for row in answer["rows"]] == [steps, steps]
        assert not any(row["merged"] for row in answer["rows"])
        answer = served.get("/api/heat", id=served.id_of("run"), group="weights", measure="l2", columns=5)
        assert all(row["merged"] for row in answer["rows"]) and (answer["first"], answer["end"], answer["columns"]) == (0, 1000, 5)


def test_values_that_are_not_finite_or_no_numbers(served):
    run = served.id_of("workers")
    cell = served.get("/api/cell", id=run, tensor="w", step=2, worker="worker_1")
    assert cell["value"]["histogram"]["odd"] == 3
    assert cell["value"]["values"][1:4] == ["NaN", "Infinity", "-Infinity"]
    words = served.get("/api/cell", id=run, tensor="words", step=0)
    assert words["value"]["values"] == ["one", "naïve\x1b[31m"] and words["value"]["histogram"] is None


def test_a_run_comes_with_its_first_lines(served):
    run = served.id_of("run")
    assert all("series" not in each for each in served.get("/api/run", id=run)["curves"])
    curves = served.get("/api/run", id=run, pixels=300)["curves"]
    assert curves
    for curve in curves:
        assert curve["series"] == [served.get("/api/series", id=run, tensor=curve["tensor"], pixels=300)]


def test_a_run_of_workers_comes_with_a_line_of_each(tmp_path):
    options = {"save_all": True, "save_config": EVERY_STEP, "include_workers": "all", "num_workers": 3}
    hooks = [smd.Hook(str(tmp_path / "run"), worker=f"worker_{rank}", **options) for rank in range(3)]
    for rank, hook in enumerate(hooks):
        with hook, hook.step(smd.modes.TRAIN):
            hook.save_scalar("loss", float(rank))
    with Served(tmp_path, "run") as served:
        [curve] = served.get("/api/run", id=served.id_of("run"), pixels=300, workers=2)["curves"]
        assert [each["worker"] for each in curve["series"]] == ["worker_0", "worker_1"]
        assert [each["lines"][0]["points"]["values"] for each in curve["series"]] == [[0], [1]]


def test_responses_are_compressed_for_those_who_accept_it(served):
    run = served.id_of("run")
    _, _, page = served.ask("/")
    [script] = re.findall(r'src="(/page-[0-9a-f]+\.js)"', page.decode())
    [style] = re.findall(r'href="(/page-[0-9a-f]+\.css)"', page.decode())
    for path, query in ((script, {}), (style, {}), ("/api/run", {"id": run, "pixels": 800}), ("/metrics", {})):
        _, headers, plain = served.ask(path, **query)
        assert "content-encoding" not in headers
        for accepted in ("gzip", "br, gzip;q=0.5", "deflate, *"):
            _, headers, packed = served.ask(path, headers={"Accept-Encoding": accepted}, **query)
            assert headers["content-encoding"] == "gzip" and headers["vary"] == "Accept-Encoding"
            assert len(packed) < len(plain) / 2
            assert path == "/metrics" or gzip.decompress(packed) == plain
        for refused in ("identity", "gzip;q=0", "br", "", "gzip;q=0.0, identity"):
            _, headers, got = served.ask(path, headers={"Accept-Encoding": refused}, **query)
            assert "content-encoding" not in headers
            assert path == "/metrics" or got == plain
    # What is short does not gain, and the browser keeps what cannot change.
    assert "content-encoding" not in served.ask("/api/times", headers={"Accept-Encoding": "gzip"}, id="0" * 16)[1]
    assert "immutable" in served.ask(script)[1]["cache-control"]
    assert served.ask("/")[1]["cache-control"] == "private, no-cache"


def test_times_and_configuration(served):
    times = served.get("/api/times", id=served.id_of("run"), tensor="loss")
    assert times["steps"] == list(range(30)) and times["seconds"] == sorted(times["seconds"])
    configuration = served.get("/api/configuration", id=served.id_of("run"))
    assert configuration["collection gradients.regex"] == "^gradient"
    assert configuration["workers"] == "1"


def test_metrics_are_open_metrics(served):
    _, headers, body = served.ask("/metrics")
    assert headers["content-type"].startswith("application/openmetrics-text")
    until(lambda: all(row["summary"] for row in served.rows()))
    families = {family.name: family for family in text_string_to_metric_families(served.ask("/metrics")[2].decode())}
    runs = {sample.labels["run"]: sample.value for sample in families["smdebug_run_last_step"].samples}
    assert runs == {"run": 29, "other_run": 29, "workers": 2}
    assert {sample.labels["run"]: sample.labels["id"] for sample in families["smdebug_run_steps"].samples}["run"] == served.id_of("run")
    assert all(family.type == "gauge" and family.documentation for family in families.values())


def test_metrics_of_names_that_need_escapes(tmp_path):
    name = 'a "quote"\\ and\nline'
    with smd.Hook(str(tmp_path / "runs" / name), save_config=EVERY_STEP, save_all=True) as hook, hook.step(smd.modes.TRAIN):
        hook.save_scalar("loss", np.nan)
    with Served(tmp_path, "runs") as server:
        until(lambda: server.rows() and server.rows()[0]["summary"])
        families = {family.name: family for family in text_string_to_metric_families(server.ask("/metrics")[2].decode())}
        [sample] = families["smdebug_run_loss"].samples
        assert sample.labels["run"] == name and np.isnan(sample.value)


@pytest.mark.parametrize("column", ["loss", "findings"])
def test_sorting_evaluates_what_it_sorts(tmp_path, column):
    """The best and the worst of many runs are found, also those that nobody has looked at."""
    for number in range(60):
        with smd.Hook(str(tmp_path / "runs" / f"run{number}"), save_config=EVERY_STEP, save_all=True) as hook:
            for _ in range(3):
                with hook.step(smd.modes.TRAIN):
                    hook.save_scalar("loss", np.nan if number == 40 else 100 - number)
    with Served(tmp_path, "runs") as server:
        until(lambda: server.get("/api/runs", count=0)["all"] == 60)
        query = {"sort": column, "order": "ascending" if column == "loss" else "descending", "count": 1}
        assert server.get("/api/runs", **query)["ranked"] <= 60
        answer = until(lambda: (got := server.get("/api/runs", **query))["ranked"] == 60 and got)
        assert answer["rows"][0]["name"] == ("run59" if column == "loss" else "run40")
        # Those without a loss are last in both orders.
        if column == "loss":
            for order in ("ascending", "descending"):
                assert server.rows(sort="loss", order=order)[-1]["name"] != "run40"
                assert server.rows(sort="loss", order=order, first=59)[0]["name"] == "run40"


def test_report_and_page_group_curves_alike(tmp_path):
    names = ["train_loss", "val_loss", "epoch_acc/train", "epoch_acc/validation", "dev.f1", "Eval-f1", "lr", "test", "rate"]
    with smd.Hook(str(tmp_path / "runs" / "run"), save_config=EVERY_STEP, save_all=True) as hook:
        for step in range(3):
            with hook.step(smd.modes.TRAIN):
                for name in names:
                    hook.save_scalar(name, step)
    with Served(tmp_path, "runs") as server:
        curves = server.get("/api/run", id=server.id_of("run"))["curves"]
    charts = report(tmp_path, "runs/run").data["charts"]
    assert {curve["tensor"]: curve["measure"] for curve in curves} == {line["tensor"]: chart["measure"] for chart in charts for line in chart["lines"]}
    assert {curve["measure"] for curve in curves} == {"loss", "epoch_acc", "f1", "lr", "test", "rate"}


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/api/run", {"id": "0" * 16}, 404),
        ("/api/run", {"id": "../../etc/passwd"}, 404),
        ("/api/runs", {"regex": "("}, 400),
        ("/api/runs", {"count": "-1"}, 400),
        ("/api/runs", {"sort": "beauty"}, 400),
        ("/api/runs", {"count": "9999999999999999999999"}, 400),
        ("/api/series", {"tensor": "loss", "pixels": "many"}, 400),
        ("/api/cell", {"tensor": "no such tensor", "step": "1"}, 404),
        ("/api/cell", {"tensor": "loss", "step": "1000000"}, 404),
        ("/api/heat", {"measure": "no such measure", "group": "weights"}, 400),
        ("/api/nothing", {}, 404),
        ("/page/../../etc/passwd", {}, 404),
        ("/events", {"from": "list:x"}, 400),
    ],
)
def test_requests_that_make_no_sense_are_refused(served, path, query, status):
    if path.startswith("/api/") and path != "/api/runs" and "id" not in query:
        query = {**query, "id": served.id_of("run")}
    got, _, body = served.ask(path, **query)
    assert (got, body != b"") == (status, True)


def test_a_path_that_does_not_exist_is_told(tmp_path):
    (tmp_path / "there").mkdir()
    with Served(tmp_path, "there", "nothere", "runs-*") as served:
        _, said = served.stop()
    assert said == "smdebug: warning: nothere does not exist; its runs are shown once it does\n"


def test_a_file_is_no_run(smdebug, tmp_path):
    (tmp_path / "notes.txt").write_text("notes")
    said = smdebug.complaint(f"serve {tmp_path}/notes.txt", 2)
    assert "notes.txt is a file; give a folder that is a run or has some" in said


def test_a_folder_without_runs_may_get_some(tmp_path):
    with Served(tmp_path, ".") as served:
        assert served.rows() == []
        record_run(tmp_path / "run")
        assert served.id_of("run")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(trials, number):
    with Served(trials, ".") as served:
        assert served.stop(number) == (0, "")


def test_a_bucket_is_served(server, tmp_path):
    record_run("s3://my-bucket/runs/one")
    with Served(tmp_path, "s3://my-bucket/runs") as served:
        run = served.id_of("one")
        assert served.get("/api/run", id=run)["last"] == 29
        [line, _] = served.get("/api/series", id=run, tensor="loss")["lines"]
        assert line["count"] == 25


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        ("serve", 2, "PATH"),
        ("serve . --listen 0.0.0.0", 2, "--insecure"),
        ("serve . --listen nowhere", 2, "address"),
        ("serve . --port 70000", 2, "65535"),
        ("serve . --tls-key key.pem", 2, "together"),
        ("serve . --rule NoSuchRule", 2, "NoSuchRule"),
        ("serve . --unix s --port 1", 2, "--unix"),
        ("serve . --on-finding http://user:password@localhost/", 2, "--on-finding"),
    ],
)
def test_bad_options_are_told(smdebug, words, code, part):
    assert part in smdebug.complaint(words, code)


def test_json_is_what_it_says(served):
    for path in ("/api/runs", "/findings.json"):
        _, headers, body = served.ask(path)
        assert headers["content-type"] == "application/json"
        json.loads(body)


@pytest.mark.parametrize("is_seen_gone", [False, True])
def test_a_job_that_is_recorded_again_is_read_anew(tmp_path, is_seen_gone):
    def record(steps, value):
        with smd.Hook(str(tmp_path / "runs/job"), save_config=EVERY_STEP, include_collections=["losses"]) as hook:
            for step in range(steps):
                with hook.step():
                    hook.save("loss", np.float32(value(step)))

    record(40, lambda step: math.nan if step == 30 else 1 / (step + 1))
    with Served(tmp_path, "runs") as served:
        job = served.id_of("job")
        until(lambda: served.get("/api/run", id=job)["last"] == 39)
        assert until(lambda: (served.rows()[0]["summary"] or {}).get("findings"))
        shutil.rmtree(tmp_path / "runs/job")
        if is_seen_gone:
            until(lambda: served.rows() == [])
        record(10, lambda step: 2 / (step + 1))
        until(lambda: served.rows() and (served.rows()[0]["summary"] or {}).get("evaluated") == 9)
        until(lambda: served.get("/api/run", id=job)["last"] == 9)
        assert served.rows()[0]["summary"]["findings"] == 0
        assert served.get("/api/run", id=job)["loss"] == pytest.approx(0.2)
