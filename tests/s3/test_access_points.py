"""Access points in place of a bucket, next to what boto3 does with the same ARN."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import boto3
import numpy as np
import pytest
from botocore.config import Config
from credential_servers import Asked, Loopback, Reply
from servers import ACCESS, SECRET

import smdebug as smd
from smdebug import create_trial
from smdebug.core.access_layer.s3handler import ListRequest, S3Handler
from smdebug.exceptions import SMDebugError
from smdebug.trials import S3Trial

PROGRAM = Path(__file__).resolve().parents[2] / "build/bin/smdebug"
ACCOUNT = "123456789012"
POINT = f"arn:aws:s3:us-east-1:{ACCOUNT}:accesspoint"


@pytest.fixture
def point(server):
    """An access point's name: the server takes its host for that of a bucket, and signs so."""
    name = f"ap-{time.monotonic_ns() % 10**9}"
    server.client().create_bucket(Bucket=f"{name}-{ACCOUNT}")
    return name


@pytest.fixture
def environment(server, monkeypatch):
    """Everything from the environment, and a region that is not the ARN's."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint.replace("127.0.0.1", "localhost"))


def record(url: str) -> None:
    with smd.Hook(url, save_all=True, save_config=smd.SaveConfig(save_interval=1)) as hook:
        with hook.step():
            hook.save("x", np.float32([1, 2]))


@pytest.mark.parametrize("mark", ["/", ":"])
def test_a_trial_behind_an_access_point(server, environment, point, mark, command):
    url = f"s3://{POINT}{mark}{point}/a/run"
    record(url)
    assert create_trial(url).tensor("x").value(0).tolist() == [1, 2]
    assert smd.doctor.examine(url)[-1].name == "remove"
    assert "x" in command("ls", url)
    assert "write" in command("doctor", url)
    theirs = server.client().list_objects_v2(Bucket=f"{point}-{ACCOUNT}")["Contents"]
    assert all(entry["Key"].startswith("a/run/") for entry in theirs)


def test_the_originals_names_take_an_access_point(server, environment, point):
    record(f"s3://{POINT}/{point}/run")
    trial = S3Trial("name", f"{POINT}/{point}", "run")
    assert trial.tensor_names() == ["x"]
    assert trial.last_index_token.startswith("run/")
    keys = S3Handler.list_prefix(ListRequest(f"{POINT}:{point}", "run/"))
    assert "run/collections/000000000/worker_0_collections.json" in keys


@pytest.fixture
def command():
    def run(*words: str) -> str:
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


class Kept(Exception):
    """Ends a request before it is sent: Python cannot resolve names below localhost everywhere."""


class Keeper(Loopback):
    """Answers every listing with an empty one."""

    def reply(self, asked: Asked) -> Reply:
        return Reply(200, "<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>")


@pytest.mark.parametrize("mark", ["/", ":"])
@pytest.mark.parametrize("client_region", ["us-east-1", "eu-west-1"])
def test_host_and_scope_are_those_of_boto3(mark, client_region):
    arn = f"arn:aws:s3:eu-west-1:{ACCOUNT}:accesspoint{mark}my-point"
    with Keeper() as server:
        endpoint = server.address.replace("127.0.0.1", "localhost") + "/base"
        settings = {"s3_endpoint": endpoint, "s3_region": client_region}
        keys = {"s3_access_key": ACCESS, "s3_secret_key": SECRET}
        smd.doctor.examine(f"s3://{arn}/run", {**settings, **keys})
        ours = server.asked[0]
        client = boto3.client(
            "s3", endpoint_url=endpoint, region_name=client_region, aws_access_key_id=ACCESS,
            aws_secret_access_key=SECRET, config=Config(retries={"max_attempts": 1}),
        )
        sent = []

        def keep(request, **unused):
            sent.append(request)
            raise Kept

        client.meta.events.register("before-send.s3", keep)
        with pytest.raises(Kept):
            client.list_objects_v2(Bucket=arn, Prefix="run/")
    theirs = sent[0]
    host, path = re.match(r"http://([^/]+)([^?]*)", theirs.url).groups()
    assert ours.headers["host"] == host
    assert ours.path.partition("?")[0].rstrip("/") == path.rstrip("/")
    scope = re.compile(r"Credential=[^/]+/\d+/([^,]+)")
    assert scope.search(ours.headers["authorization"])[1] == "eu-west-1/s3/aws4_request"
    signed = theirs.headers["Authorization"]
    assert scope.search(signed if isinstance(signed, str) else signed.decode())[1] == (
        "eu-west-1/s3/aws4_request"
    )


@pytest.mark.parametrize(
    "bucket",
    [
        f"arn:aws:s3:eu-west-1:{ACCOUNT}:accesspoint/my-point",
        f"arn:aws:s3:eu-west-1:{ACCOUNT}:accesspoint:my-point",
        f"arn:aws-cn:s3:cn-north-1:{ACCOUNT}:accesspoint/my-point",
        f"arn:aws-us-gov:s3:us-gov-west-1:{ACCOUNT}:accesspoint/my-point",
        "my-point-hrzrlukc5m36ft7okagglf3gmwluquse1b-s3alias",
    ],
)
def test_addresses_at_aws_are_those_of_boto3(bucket):
    region = bucket.split(":")[3] if bucket.startswith("arn:") else "eu-west-1"
    address, credentials = smd.doctor.examine(f"s3://{bucket}/run", {"s3_region": region})
    assert credentials.code == "CREDENTIALS"  # so nothing was sent
    client = boto3.client("s3", region_name=region, aws_access_key_id="A",
                          aws_secret_access_key="B")
    theirs = client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "k"})
    expected = theirs.partition("/k?")[0].replace(
        ".s3.amazonaws.com", f".s3.{region}.amazonaws.com"
    )
    assert address.message == expected


@pytest.mark.parametrize(
    "bucket, words",
    [
        (f"arn:aws:s3-outposts:us-west-2:{ACCOUNT}:outpost/op-1/accesspoint/abc", "Outposts"),
        (f"arn:aws:s3-object-lambda:us-west-2:{ACCOUNT}:accesspoint/abc", "Object Lambda"),
        (f"arn:aws:s3::{ACCOUNT}:accesspoint/abc.mrap", "version 4A"),
        ("abc.mrap", "version 4A"),
    ],
)
def test_others_are_refused_with_the_reason(bucket, words):
    with pytest.raises(SMDebugError, match=words) as caught:
        create_trial(f"s3://{bucket}/run")
    assert caught.value.code == "UNSUPPORTED"


def test_an_access_point_has_no_path_addressing(environment):
    with pytest.raises(SMDebugError, match="no path addressing"):
        create_trial(f"s3://{POINT}/abc/run", options={"s3_addressing": "path"})
