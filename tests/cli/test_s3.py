"""Tests that trials in a bucket give the same output as trials in a folder."""

import pytest
from cli_trials import record_run

BUCKET = "s3://my-bucket/run"


@pytest.fixture
def stored(server):
    record_run(BUCKET)
    return server


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("ls {}", 0),
        ("show {} gradient/fc1.weight --last 0", 0),
        ("show {} fc1.weight --step 3", 0),
        ("rules {} --profile aws --rule VanishingGradient --all", 10),
        ("diff {} other_run", 10),
    ],
)
def test_same_answers_as_from_a_folder(command, code, stored, smdebug):
    of_bucket = smdebug(command.format(BUCKET), code)
    assert of_bucket.replace(BUCKET, "run") == smdebug(command.format("run"), code)


@pytest.mark.parametrize("at", [80, -10], ids=["a tensor", "a number that the index has too"])
def test_verify(stored, smdebug, at):
    records = smdebug("verify run").partition(": ")[2].partition(",")[0]
    assert smdebug(f"verify {BUCKET}") == f"{BUCKET}: {records}, no faults\n"
    [page] = stored.client().list_objects_v2(
        Bucket="my-bucket", Prefix="run/events/000000000007/"
    )["Contents"]
    body = stored.client().get_object(Bucket="my-bucket", Key=page["Key"])["Body"].read()
    damaged = bytearray(body)
    damaged[at] ^= 1
    stored.client().put_object(Bucket="my-bucket", Key=page["Key"], Body=bytes(damaged))
    [fault, _] = smdebug.objects(f"verify {BUCKET} --json", 10)
    assert (fault["code"], fault["step"]) == ("CORRUPT_DATA", 7)


def test_options_reach_the_service(stored, smdebug, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert smdebug(f"ls {BUCKET} --names --set s3_endpoint={stored.endpoint}").count("\n") == 4


def test_tensorboard_files_in_a_bucket(stored, smdebug):
    smdebug(f"tensorboard {BUCKET} s3://my-bucket/logs")
    found = stored.client().list_objects_v2(Bucket="my-bucket", Prefix="logs/")["Contents"]
    assert {item["Key"].split("/")[1] for item in found} == {"TRAIN", "EVAL"}


@pytest.mark.parametrize(
    ("command", "variables", "code", "sentence"),
    [
        ("ls s3://no-such-bucket/run", {}, 3, "no-such-bucket"),
        ("ls s3://my-bucket/nothing", {}, 3, "no collection files"),
        (f"ls {BUCKET}", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, 6, "127.0.0.1"),
        (f"ls {BUCKET}", {"AWS_SECRET_ACCESS_KEY": "wrong"}, 7, "secret"),
    ],
)
def test_complaints(command, variables, code, sentence, stored, smdebug, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    assert sentence in smdebug.complaint(command, code)


def test_doctor(server, smdebug):
    told = smdebug("doctor s3://my-bucket/jobs")
    for name in ("address", "credentials", "list", "clock", "write", "read", "remove"):
        assert f"{name} " in told
