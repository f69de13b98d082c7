"""Recording to and reading from a real, strict server."""

from __future__ import annotations

import re
import subprocess
import threading
import time

import numpy as np
import pytest
from servers import ACCESS, SECRET, SERVERS

import smdebug as smd
import smdebug.rules
from smdebug.exceptions import SMDebugError
from smdebug.trials import S3Trial, create_trial

EVERY_STEP = smd.SaveConfig(save_interval=1)


def hook_to(server, url: str, worker: str = "worker_0", workers: int = 1, **options: str) -> smd.Hook:
    return smd.Hook(
        url,
        save_all=True,
        save_config=EVERY_STEP,
        include_workers="all",
        worker=worker,
        num_workers=workers,
        options=server.options(**options),
    )


def record(
    server, url: str, steps: range, worker: str = "worker_0", workers: int = 1, **options: str
) -> None:
    with hook_to(server, url, worker, workers, **options) as hook:
        for step in steps:
            with hook.step():
                hook.save("weight", np.full(100, step, np.float32))


def keys_in(server, bucket: str) -> list[str]:
    pages = server.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]


def requests_in(server, bucket: str) -> list[str]:
    """What the server did for the bucket, as "PutObject" """
    pattern = re.compile(rf"^\S+ {bucket} .*? s3_(\w+) ")
    lines = server.log.read_text().splitlines()
    return [found[1] for line in lines if (found := pattern.match(line))]


def test_what_is_recorded_is_read_back(server, bucket):
    url = f"s3://{bucket}/jobs/first run"
    with hook_to(server, url) as hook:
        for step in range(5):
            hook.set_mode(smd.modes.TRAIN if step % 2 == 0 else smd.modes.EVAL)
            with hook.step():
                hook.save("weight", np.arange(1000, dtype=np.float32) * step)
                hook.save("loss", 0.5 * step)
    assert "jobs/first run/training_job_end.ts" in keys_in(server, bucket)
    with create_trial(url, options=server.options()) as trial:
        assert isinstance(trial, S3Trial)
        assert trial.steps() == [0, 1, 2, 3, 4]
        assert trial.steps(mode=smd.modes.EVAL) == [0, 1]
        np.testing.assert_array_equal(
            trial.tensor("weight").value(3), np.arange(1000, dtype=np.float32) * 3
        )
        assert trial.tensor("loss").value(4) == 2.0


def test_a_finished_trial_is_not_recorded_over(server, bucket):
    url = f"s3://{bucket}/run"
    record(server, url, range(1))
    with pytest.raises(SMDebugError, match="finished"):
        record(server, url, range(1))


@pytest.mark.versitygw
def test_large_tensors_go_in_parts(server, bucket):
    url = f"s3://{bucket}/run"
    large = np.random.default_rng(7).standard_normal(7 << 20).astype(np.float32)
    with hook_to(server, url) as hook:
        for step in range(2):
            with hook.step():
                hook.save("small", np.float32([step]))
                hook.save("large", large + step)
    assert requests_in(server, bucket).count("UploadPart") == 2 * 4
    trial = create_trial(url, options=server.options())
    np.testing.assert_array_equal(trial.tensor("large").value(1), large + 1)
    np.testing.assert_array_equal(trial.tensor("small").value(1), [1])
    assert not server.client().list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_several_workers_are_read_while_they_write(server, bucket):
    url = f"s3://{bucket}/run"
    workers = [f"worker_{number}" for number in range(3)]
    ends = [threading.Event() for _ in workers]

    def work(worker: str, end: threading.Event) -> None:
        with hook_to(server, url, worker, len(workers)) as hook:
            for step in range(6):
                with hook.step():
                    hook.save("weight", np.full(10, step, np.float32))
                hook.flush()
                time.sleep(0.02)
            end.wait(60)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(workers, ends)]
    for thread in threads:
        thread.start()
    with create_trial(url, options=server.options()) as trial:
        trial.wait_for_steps([0, 5])
        assert trial.steps() == list(range(6))
        assert trial.workers() == workers
        assert sorted(trial.tensor("weight").workers(5)) == workers
        for end in ends:
            end.set()
        for thread in threads:
            thread.join()
        with pytest.raises(SMDebugError):
            trial.wait_for_steps([7])


@pytest.mark.versitygw
def test_more_keys_than_a_page_and_than_ten(server, bucket):
    """Index files of 10,050 steps are put as objects; pages have 1,000 keys."""
    url = f"s3://{bucket}/run"
    record(server, url, range(1))
    first = server.folder / bucket / "run/index/000000000/000000000000_worker_0.json"
    text = first.read_text()
    for step in range(1, 10_050):
        path = first.parents[1] / f"{step // 1000:09}" / f"{step:012}_worker_0.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace('"mode_step":0', f'"mode_step":{step}'))
    before = len(requests_in(server, bucket))
    trial = create_trial(url, options=server.options())
    assert trial.steps() == list(range(10_050))
    lists = requests_in(server, bucket)[before:].count("ListObjectsV2")
    assert lists <= 11 + 4  # those of the collections besides


@pytest.mark.versitygw
def test_requests_for_a_step_a_value_and_a_refresh(server, bucket):
    """2 PUT a step, 1 GET a value, 1 LIST and the end marker's HEAD a refresh."""
    url = f"s3://{bucket}/run"
    hook = hook_to(server, url)
    for step in range(3):
        with hook.step():
            hook.save("weight", np.full(10_000, step, np.float32))
    hook.flush()
    before = len(requests_in(server, bucket))
    for step in range(3, 10):
        with hook.step():
            hook.save("weight", np.full(10_000, step, np.float32))
    hook.flush()
    assert requests_in(server, bucket)[before:] == ["PutObject"] * 14

    trial = create_trial(url, options=server.options())
    assert len(trial.steps()) == 10
    weight = trial.tensor("weight")
    with smd.analysis.utils.no_refresh(trial):
        before = len(requests_in(server, bucket))
        weight.value(7)
        assert requests_in(server, bucket)[before:] == ["GetObject"]
    before = len(requests_in(server, bucket))
    trial.steps()
    assert sorted(requests_in(server, bucket)[before:]) == ["HeadObject", "ListObjectsV2"]
    hook.close()


@pytest.mark.versitygw
def test_values_that_are_wanted_together_are_read_together(server, bucket):
    url = f"s3://{bucket}/run"
    with hook_to(server, url) as hook:
        for step in range(8):
            with hook.step():
                for name in ("a", "b", "c", "d"):
                    hook.save(name, np.full(5000, step + ord(name), np.float32))
    trial = create_trial(url, options=server.options())
    assert trial.tensor_names() == ["a", "b", "c", "d"]
    with smd.analysis.utils.no_refresh(trial):
        before = len(requests_in(server, bucket))
        trial.prefetch(["a", "b", "d"], [3])
        assert requests_in(server, bucket)[before:] == ["GetObject"]
        for name in ("a", "b", "d"):
            assert trial.tensor(name).value(3)[-1] == 3 + ord(name)
        assert requests_in(server, bucket)[before:] == ["GetObject"]
        # Given out once; then it is read again.
        assert trial.tensor("a").value(3)[0] == 3 + ord("a")
        assert len(requests_in(server, bucket)) == before + 2
        values = trial.tensor("c").values()
    assert [values[step][0] - ord("c") for step in range(8)] == list(range(8))
    with pytest.raises(SMDebugError) as caught:
        trial.prefetch(["a"], [99])
    assert caught.value.code in ("STEP_UNAVAILABLE", "NO_MORE_DATA")


def test_a_rule_reads_what_it_needs_together(server, bucket):
    url = f"s3://{bucket}/run"
    record(server, url, range(3))

    class Positive(smd.rules.Rule):
        def set_required_tensors(self, step):
            for name in self.base_trial.tensor_names():
                self.req_tensors.add(name, [step])

        def invoke_at_step(self, step):
            return bool(self.base_trial.tensor("weight").value(step).min() > 1)

    with create_trial(url, options=server.options()) as trial:
        with pytest.raises(smd.exceptions.RuleEvaluationConditionMet):
            smd.rules.invoke_rule(Positive(trial), end_step=3, raise_eval_cond=True)


@pytest.mark.parametrize(
    "changes, code, remedy",
    [
        ({"s3_secret_key": "wrong"}, "CREDENTIALS_REFUSED", "secret"),
        ({"s3_access_key": "AKIDUNKNOWN"}, "CREDENTIALS_REFUSED", "access key"),
        ({"s3_region": "eu-west-1"}, "WRONG_REGION", "us-east-1"),
    ],
)
def test_refusals_have_their_own_codes(server, bucket, changes, code, remedy):
    options = server.options(**changes, s3_max_attempts="1")
    if code == "WRONG_REGION":
        # The server names the right region, so the client corrects itself.
        assert smd.doctor.examine(f"s3://{bucket}/run", options)[-1].code == "OK"
        return
    with pytest.raises(SMDebugError) as caught:
        create_trial(f"s3://{bucket}/run", options=options)
    assert caught.value.code == code
    assert remedy in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_missing_bucket_is_said_so(server):
    with pytest.raises(SMDebugError, match="no such bucket") as caught:
        create_trial("s3://there-is-no-such-bucket/run", options=server.options())
    assert caught.value.code == "BUCKET_NOT_FOUND"
    findings = smd.doctor.examine("s3://there-is-no-such-bucket/run", server.options())
    assert [finding.code for finding in findings][-1] == "BUCKET_NOT_FOUND"


def test_the_doctor_finds_nothing_and_leaves_nothing(server, bucket):
    findings = smd.doctor.examine(f"s3://{bucket}/run", server.options())
    assert [finding.name for finding in findings] == [
        "address", "credentials", "list", "clock", "write", "read", "remove",
    ]
    assert {finding.code for finding in findings} == {"OK"}
    assert keys_in(server, bucket) == []
    assert not any(SECRET in str(finding) for finding in findings)


def test_without_credentials_every_place_is_named(server, bucket):
    findings = smd.doctor.examine(f"s3://{bucket}/run", {"s3_endpoint": server.endpoint})
    assert findings[-1].name == "credentials"
    assert findings[-1].code == "CREDENTIALS"
    assert "AWS_ACCESS_KEY_ID" in findings[-1].message


def test_settings_of_the_environment(server, bucket, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    monkeypatch.setenv("SMDEBUG_S3_ADDRESSING", "path")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    url = f"s3://{bucket}/run"
    with smd.Hook(url, save_all=True, save_config=EVERY_STEP) as hook:
        with hook.step():
            hook.save("x", np.float32([1, 2]))
    assert create_trial(url).tensor("x").value(0).tolist() == [1, 2]


def test_virtual_hosts(server, bucket):
    endpoint = server.endpoint.replace("127.0.0.1", "localhost")
    options = server.options(s3_endpoint=endpoint, s3_addressing="virtual")
    assert smd.doctor.examine(f"s3://{bucket}/run", options)[-1].name == "remove"
    assert smd.doctor.examine(f"s3://{bucket}/run", options)[0].message.startswith(
        f"http://{bucket}.localhost:"
    )


@pytest.mark.parametrize(
    "url", ["s3://", "s3://Upper/x", "s3://a", "s3:///x", "s3://bucket\n/x", "s3://a_b/x"]
)
def test_urls_that_are_none(url):
    with pytest.raises(SMDebugError) as caught:
        create_trial(url)
    assert caught.value.code in ("INVALID_ARGUMENT", "UNSUPPORTED")


def test_options_that_are_none():
    with pytest.raises(SMDebugError, match="s3_region"):
        create_trial("s3://bucket/x", options={"s3_regoin": "x"})
    with pytest.raises(SMDebugError, match="s3_addressing"):
        create_trial("s3://bucket/x", options={"s3_addressing": "sideways"})


@pytest.mark.versitygw
def test_denied_access(server, bucket):
    """A user without rights on the bucket."""
    user, password = "AKIDNOBODY", "nobody/secret"
    command = [SERVERS / "versitygw", "admin", "--access", ACCESS, "--secret", SECRET,
               "--endpoint-url", server.endpoint, "create-user", "--access", user,
               "--secret", password, "--role", "user"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    options = server.options(s3_access_key=user, s3_secret_key=password)
    findings = smd.doctor.examine(f"s3://{bucket}/run", options)
    assert (findings[-1].name, findings[-1].code) == ("list", "PERMISSION")
    assert "policy" in findings[-1].message
    with pytest.raises(SMDebugError) as caught:
        record(server, f"s3://{bucket}/run", range(1), **options)
    assert caught.value.code == "PERMISSION"
    assert password not in str(caught.value)
