"""Tests smdebug serve with jobs that record while it runs."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from cli_trials import EVERY_STEP
from served import Events, Served, until

import smdebug as smd


class Job:
    """A training that records in this process, step by step."""

    def __init__(self, path, **options):
        self.hook = smd.Hook(str(path), save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"], **options)
        self.step = 0

    def record(self, count=1, loss=None, gradient=0.01):
        for _ in range(count):
            with self.hook.step(smd.modes.TRAIN):
                self.hook.save("loss", np.float32(1 / (1 + self.step) if loss is None else loss))
                self.hook.save("fc.weight", np.full((4, 4), 1 + self.step / 100, np.float32))
                self.hook.save("gradient/fc.weight", np.full((4, 4), gradient, np.float32))
            self.step += 1

    def close(self):
        self.hook.close()


@pytest.fixture
def job(tmp_path):
    made = Job(tmp_path / "runs" / "job")
    made.record(3)
    yield made
    made.close()


@pytest.fixture
def served(job, tmp_path):
    with Served(tmp_path, "runs") as server:
        yield server


def watch(served, run, last_id=None, cursor=None):
    """Watches the loss of a run, from now on unless `cursor` or `last_id` says from where."""
    start = cursor or served.get("/api/run", id=run)["cursor"]
    return Events(served, last_id, run=[run], s=["0\t\tmean\tloss"], **{"from": [start]})


def points_of(events, enough):
    """Returns the points of events until there are enough."""
    got = []
    while len(got) < enough:
        for run in events.next()["runs"]:
            for series in run.get("series", []):
                assert not series["again"]
                got += zip(series["points"]["steps"], series["points"]["values"], strict=True)
    return got


def test_steps_come_as_they_end(served, job):
    events = watch(served, served.id_of("job"))
    job.record(5)
    got = points_of(events, 5)
    assert [step for step, _ in got] == [3, 4, 5, 6, 7]
    assert [value for _, value in got] == pytest.approx([1 / (1 + step) for step in range(3, 8)], rel=1e-6)
    events.close()


def test_a_connection_that_is_cut_resumes_without_loss_or_repetition(served, job):
    run = served.id_of("job")
    cursor = served.get("/api/run", id=run)["cursor"]
    recording = threading.Thread(target=lambda: [(job.record(), time.sleep(0.01)) for _ in range(200)])
    recording.start()
    steps, last_id = [], None
    while len(steps) < 200:
        events = watch(served, run, last_id, cursor)
        assert events.status == 200
        steps += [step for step, _ in points_of(events, min(20, 200 - len(steps)))]
        last_id = events.id
        events.close()
    recording.join()
    assert steps == list(range(3, 203))


def test_a_server_that_was_started_again_resumes_too(job, tmp_path):
    with Served(tmp_path, "runs") as first:
        run = first.id_of("job")
        events = watch(first, run)
        job.record(4)
        steps = [step for step, _ in points_of(events, 4)]
        last_id = events.id
        events.close()
    job.record(4)
    with Served(tmp_path, "runs") as second:
        assert second.id_of("job") == run
        events = watch(second, run, last_id)
        steps += [step for step, _ in points_of(events, 4)]
        events.close()
    assert steps == list(range(3, 11))


@pytest.mark.parametrize(("clients", "most"), [(1, 10), (24, 5)])
def test_events_a_second_are_limited(served, job, clients, most):
    """With many clients, an event has several steps."""
    others = [watch(served, served.id_of("job")) for _ in range(clients - 1)]
    events = watch(served, served.id_of("job"))
    recording = threading.Thread(target=lambda: [(job.record(), time.sleep(0.005)) for _ in range(300)])
    recording.start()
    begin, count, steps = time.monotonic(), 0, 0
    while steps < 250:
        for run in events.next()["runs"]:
            for series in run.get("series", []):
                steps += len(series["points"]["steps"])
        count += 1
    seconds = time.monotonic() - begin
    recording.join()
    assert count <= 1.1 * most * seconds + 2
    for each in [events, *others]:
        each.close()


def test_findings_come_as_events_and_in_the_list(served, job):
    run = served.id_of("job")
    events = watch(served, run)
    job.record(2, loss=np.nan)
    findings = []
    while not findings:
        for news in events.next()["runs"]:
            findings += news.get("findings", [])
    assert findings[0]["tensor"] == "loss" and findings[0]["step"] == 3
    until(lambda: [row for row in served.rows() if row["summary"] and row["summary"]["findings"]])
    events.close()


def test_the_evaluation_lets_others_go_first(served):
    threads = Path(f"/proc/{served.process.pid}/task")
    own = os.getpriority(os.PRIO_PROCESS, 0)

    def niceness():
        return sorted(int(each.read_text().rpartition(")")[2].split()[16]) for each in threads.glob("*/stat"))

    until(lambda: niceness()[-1] == min(own + 10, 19))
    assert niceness()[-2] == own


def test_the_end_of_a_job_is_told(served, job):
    run = served.id_of("job")
    events = watch(served, run)
    job.close()
    while not any(news["ended"] for news in events.next()["runs"]):
        pass
    until(lambda: next(row["state"] for row in served.rows()) == "finished")
    events.close()


def test_why_a_job_failed_is_told(served, job):
    run = served.id_of("job")
    events = watch(served, run)
    job.hook.set_metadata({"run.failure": "ValueError: bad"})
    job.close()
    news = {}
    while not news.get("ended"):
        news = events.next()["runs"][-1]
    assert news["failure"] == "ValueError: bad"
    until(lambda: next(row["state"] for row in served.rows()) == "failed")
    assert next(row["problem"] for row in served.rows()) == "ValueError: bad"
    events.close()


def test_a_new_run_is_listed_and_announced(served, tmp_path):
    served.id_of("job")
    events = Events(served, list=["1"])
    first = events.next()["list"]
    other = Job(tmp_path / "runs" / "other")
    other.record(2)
    while events.next().get("list", 0) <= first:
        pass
    assert served.id_of("other")
    other.close()
    events.close()


# ---- alerts ----


def test_a_command_runs_once_per_finding(job, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    command = f'cat > "$(mktemp {out}/XXXXXX)"; echo "$SMDEBUG_FINDING_RUN $SMDEBUG_FINDING_RULE $SMDEBUG_FINDING_STEP" >> {tmp_path}/names'
    with Served(tmp_path, "runs", "--on-finding", command, "--rule", "FirstNonFinite", "--rule", "ExplodingTensor") as served:
        served.id_of("job")
        job.record(1)
        job.record(10, loss=np.inf)
        until(lambda: len(list(out.iterdir())) >= 2)
        job.record(10, loss=np.inf)
        time.sleep(1)
    alerts = [json.loads(path.read_text()) for path in out.iterdir()]
    kinds = [(each["finding"]["rule"], each["finding"]["check"], each["finding"]["tensor"]) for each in alerts]
    assert len(kinds) == len(set(kinds)) and {kind[2] for kind in kinds} == {"loss"}
    assert {each["run"] for each in alerts} == {"job"}
    assert set((tmp_path / "names").read_text().splitlines()) == {f"job {rule} 4" for rule in ("FirstNonFinite", "ExplodingTensor")}


def test_a_job_recorded_again_into_the_same_folder_alerts_again(tmp_path):
    alerts = tmp_path / "alerts"
    alerts.touch()

    def record(last, name="job"):
        with smd.Hook(str(tmp_path / "runs" / name), save_config=EVERY_STEP, include_collections=["losses"]) as hook:
            for step in range(last + 1):
                with hook.step(smd.modes.TRAIN):
                    hook.save("loss", np.float32(np.nan if step == last else 1 / (step + 1)))

    record(1, name="before")
    command = f"echo $SMDEBUG_FINDING_STEP >> {alerts}"
    with Served(tmp_path, "runs", "--on-finding", command, "--rule", "FirstNonFinite") as served:
        served.id_of("before")  # What the first list has is old.
        record(6)
        until(lambda: alerts.read_text() == "6\n")
        shutil.rmtree(tmp_path / "runs" / "job")
        record(4)
        until(lambda: alerts.read_text() == "6\n4\n")


def test_the_end_does_not_wait_for_all_alerts(job, tmp_path):
    command = f"echo >> {tmp_path}/begun; sleep 10"
    with Served(tmp_path, "runs", "--on-finding", command, "--rule", "FirstNonFinite", "--rule", "ExplodingTensor") as served:
        served.id_of("job")
        job.record(1)
        job.record(10, loss=np.inf, gradient=np.nan)
        until(lambda: [row for row in served.rows() if row["summary"] and row["summary"]["findings"] >= 3])
        code, said = served.stop()
    assert code == 0 and "--on-finding was not run for" in said
    assert len((tmp_path / "begun").read_text()) < 3


def test_old_findings_cause_no_alerts(job, tmp_path):
    job.record(2, loss=np.nan)
    job.close()
    with Served(tmp_path, "runs", "--on-finding", f"touch {tmp_path}/alert") as served:
        until(lambda: [row for row in served.rows() if row["summary"] and row["summary"]["findings"]])
        time.sleep(0.3)
    assert not (tmp_path / "alert").exists()


def break_link(path):
    """Makes a path one that cannot be listed; returns where its folder went."""
    away = path.with_name(f"{path.name}_away")
    path.rename(away)
    path.symlink_to(path.name)
    return away


def problems_of(served):
    return served.get("/api/runs")["problems"]


def test_old_findings_cause_no_alerts_if_the_first_listing_failed(job, tmp_path):
    job.record(2, loss=np.nan)
    job.close()
    away = break_link(tmp_path / "runs")
    with Served(tmp_path, "runs", "--on-finding", f"touch {tmp_path}/alert") as served:
        until(lambda: problems_of(served))
        (tmp_path / "runs").unlink()
        away.rename(tmp_path / "runs")
        until(lambda: [row for row in served.rows() if row["summary"] and row["summary"]["findings"]])
        time.sleep(0.3)
    assert not (tmp_path / "alert").exists()


@pytest.mark.parametrize("path", ["runs", "./runs"])
def test_runs_stay_while_they_cannot_be_listed(job, tmp_path, path):
    job.record(2)
    job.close()
    with Served(tmp_path, path) as served:
        run = served.id_of("job")
        away = break_link(tmp_path / "runs")
        until(lambda: problems_of(served))
        assert [row["id"] for row in served.rows()] == [run]
        (tmp_path / "runs").unlink()
        away.rename(tmp_path / "runs")
        until(lambda: not problems_of(served))
        assert [row["id"] for row in served.rows()] == [run]


def test_what_only_the_end_of_a_job_tells_is_listed_and_alerted(tmp_path):
    hook = smd.Hook(str(tmp_path / "runs" / "job"), save_config=EVERY_STEP, save_all=True)

    def warm_up(first, end):
        for step in range(first, end):
            with hook.step(smd.modes.TRAIN):
                hook.save("learning_rate/SGD_0", np.float32(step))
        hook.flush()

    warm_up(0, 1)
    with Served(tmp_path, "runs", "--on-finding", f"cat >> {tmp_path}/alerts") as served:
        served.id_of("job")
        warm_up(1, 100)
        summary = lambda: next(row["summary"] for row in served.rows()) or {}  # noqa: E731
        until(lambda: summary().get("evaluated") == 99)
        assert summary()["findings"] == 0
        hook.close()
        until(lambda: summary()["findings"] == 1)
        until(lambda: (tmp_path / "alerts").exists() and b'"warmup"' in (tmp_path / "alerts").read_bytes())


def test_names_are_no_part_of_the_command(tmp_path):
    name = "x'; touch harmed; '$(touch harmed)"
    hook = smd.Hook(str(tmp_path / "runs" / "job"), save_config=EVERY_STEP, save_all=True)
    with Served(tmp_path, "runs", "--on-finding", "cat > alert") as served:
        for step in range(4):
            if step == 3:
                served.id_of("job")  # findings of steps before the server saw the run cause no alerts
            with hook.step(smd.modes.TRAIN):
                hook.save(name, np.full(4, np.nan if step == 3 else step, np.float32))
        until(lambda: (tmp_path / "alert").exists() and (tmp_path / "alert").read_text().endswith("\n"))
    hook.close()
    assert json.loads((tmp_path / "alert").read_text())["finding"]["tensor"] == name
    assert not (tmp_path / "harmed").exists()


@pytest.fixture
def receiver():
    """A web server that keeps what is posted; its first answer is an error."""
    posts = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            posts.append((self.path, self.headers["Content-Type"], json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(302 if self.path == "/redirects" else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", posts
    server.shutdown()
    server.server_close()


def test_a_webhook_gets_findings_and_redirects_lead_nowhere(job, tmp_path, receiver):
    url, posts = receiver
    with Served(tmp_path, "runs", "--on-finding", f"{url}/hook?key=secret", "--on-finding", f"{url}/redirects", "--rule", "FirstNonFinite") as served:
        served.id_of("job")
        job.record(3, loss=np.nan)
        until(lambda: len(posts) >= 2)
        time.sleep(0.5)
        code, said = served.stop()
    assert sorted(path for path, _, _ in posts) == ["/hook?key=secret", "/redirects"]
    assert {kind for _, kind, _ in posts} == {"application/json"}
    assert posts[0][2]["finding"]["tensor"] == "loss"
    assert code == 0 and "status 302" in said and "secret" not in said


def test_a_command_that_fails_is_told_and_stops_nothing(job, tmp_path):
    with Served(tmp_path, "runs", "--on-finding", "touch ran; exit 3", "--rule", "FirstNonFinite") as served:
        served.id_of("job")
        job.record(1, loss=np.nan)
        until(lambda: (tmp_path / "ran").exists())
        time.sleep(0.5)
        code, said = served.stop()
    assert code == 0 and "exited with 3" in said


def test_a_job_in_another_process_is_followed(tmp_path):
    script = (
        "import sys, time, numpy as np, smdebug as smd\n"
        "with smd.Hook(sys.argv[1], save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:\n"
        "    for step in range(60):\n"
        "        with hook.step(smd.modes.TRAIN):\n"
        "            hook.save_scalar('loss', 1 / (1 + step))\n"
        "        time.sleep(0.05)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, tmp_path / "runs" / "training"])
    try:
        (tmp_path / "runs").mkdir(exist_ok=True)
        with Served(tmp_path, "runs") as served:
            run = served.id_of("training")
            assert next(row["state"] for row in served.rows()) == "running"
            last = served.get("/api/run", id=run)["last"]
            until(lambda: served.get("/api/run", id=run)["last"] > last)
            until(lambda: served.get("/api/run", id=run)["ended"])
            assert served.get("/api/run", id=run)["last"] == 59
    finally:
        process.wait(60)
