"""Samples of a bucket as matrices, and the files that they are copied to, as the original has both."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from servers import ACCESS, SECRET

from smdebug.exceptions import SMDebugValueError
from smdebug.profiler import S3NumpySystemMetricsReader, TimeUnits

PROGRAM = Path(__file__).with_name("dump_numpy_metrics.py")
BEGIN = 1_706_745_600  # seconds since 1970
METRICS = [
    ("cpu", "cpu0", "CPUUtilization"),
    ("cpu", "cpu1", "CPUUtilization"),
    ("gpu", "gpu0", "GPUUtilization"),
    ("gpu", "gpu0", "GPUMemoryUtilization"),
    ("memory", "MemoryUsedPercent", "Memory"),
    ("network", "ReceiveBytesPerSecond", "Algorithm"),
    ("i/o", "IOPS", "Disk"),
]


@pytest.fixture
def environment(server, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "us-east-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, server.endpoint)


@pytest.fixture
def profile(server, bucket, environment):
    """Fifteen minutes of two nodes, each 500 ms.  One loses samples, and pauses for four minutes."""
    client, chance = server.client(), random.Random(4)
    for node in (1, 2):
        for minute in range(15):
            lines = []
            for tick in range(120):
                at = BEGIN + 60 * minute + tick / 2 + chance.random() / 10
                is_paused = node == 2 and (5 <= minute < 9 or chance.random() < 0.2)
                for kind, name, dimension in METRICS[: 0 if is_paused else None]:
                    sample = {"Type": kind, "Name": name, "Dimension": dimension,
                              "Value": round(chance.uniform(0, 100), 2), "NodeId": f"algo-{node}",
                              "Timestamp": at}  # fmt: skip
                    lines.append(json.dumps(sample) + "\n")
            stamp = BEGIN + 60 * minute
            hour = time.strftime("%Y%m%d%H", time.gmtime(stamp))
            key = f"job/system/incremental/{hour}/{stamp}.algo-{node}.json"
            if lines:  # the original stops at an empty file
                client.put_object(Bucket=bucket, Key=key, Body="".join(lines).encode())
    return f"s3://{bucket}/job"


def dump(python: str, url: str, store: Path) -> object:
    environment = dict(os.environ)
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, PROGRAM, url, store, str(BEGIN * 1_000_000)],
        env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_matrices_and_files_are_those_of_the_original(profile, tmp_path):
    ours = dump(sys.executable, profile, tmp_path / "ours")
    theirs = dump(os.environ["SMDEBUG_ORIGINAL_PYTHON"], profile, tmp_path / "theirs")
    assert len(ours["files"]) == 36
    assert ours == theirs


def reader(url: str, store: object, **changes: object) -> S3NumpySystemMetricsReader:
    settings = {"col_names": ["cpu0#CPUUtilization"], "extra_col_names": [],
                "col_dict": {"cpu0#CPUUtilization": 0}, "np_store": str(store), "store_chunk_size": 600,
                "store_time_file_prefix": "t", "group_size": 2, "n_nodes": 1, "frequency": 500}  # fmt: skip
    return S3NumpySystemMetricsReader(url, False, **{**settings, **changes})


def test_the_store_may_be_a_bucket(profile, server, bucket):
    found = reader(profile, f"s3://{bucket}/store").get_events(BEGIN, BEGIN + 60, False, unit=TimeUnits.SECONDS)
    (matrix,), ((first, end),), ((begins, lengths),), written = found
    assert matrix.shape == (60, 1) and (first, end) == (BEGIN * 10**6, (BEGIN + 60) * 10**6)
    assert written is None and lengths[0].tolist() == [120]
    client = server.client()
    for name, dtype in ((f"{begins[0]}#1.npy", "int32"), (f"t#{begins[0]}#1.npy", "int64")):
        body = client.get_object(Bucket=bucket, Key=f"store/algo-1/{name}")["Body"].read()
        array = pickle.loads(body)
        assert array.shape == (606, 1) and array.dtype == dtype
        assert (array[120:] == -1).all() and (array[:120] >= 0).all()


def test_a_time_without_samples_gives_empty_matrices(profile, tmp_path):
    found = reader(profile, tmp_path, n_nodes=3).get_events(BEGIN - 3600, BEGIN - 60, True, unit=TimeUnits.SECONDS)
    assert [matrix.shape for matrix in found[0]] == [(0, 1)] * 3
    assert found[1:] == ([[(BEGIN - 3600) * 10**6] * 2], [[[], []]] * 3, None)
    assert list(tmp_path.iterdir()) == []


def test_values_beyond_all_limits_are_cut(server, bucket, environment, tmp_path, recwarn):
    lines = "".join(
        json.dumps({"Type": "cpu", "Name": "cpu0", "Dimension": "CPUUtilization", "Value": value,
                    "NodeId": "algo-1", "Timestamp": BEGIN + i / 2}) + "\n"
        for i, value in enumerate([1e300, 1e300, -1e300, -1e300])
    )  # fmt: skip
    key = f"job/system/incremental/2024020100/{BEGIN}.algo-1.json"
    server.client().put_object(Bucket=bucket, Key=key, Body=lines.encode())
    found = reader(f"s3://{bucket}/job", tmp_path).get_events(BEGIN, BEGIN + 2, False, unit=TimeUnits.SECONDS)
    assert found[0][0].tolist() == [[255], [0]]
    values = np.fromfile(tmp_path / f"algo-1/{found[2][0][0][0]}#1.npy", np.int32)
    assert values[:4].tolist() == [2**31 - 1] * 2 + [-(2**31) + 1] * 2
    assert not [each for each in recwarn if issubclass(each.category, RuntimeWarning)]


def test_what_is_wrong_is_named(profile, tmp_path):
    with pytest.raises(SMDebugValueError, match=r"start_time is .* multiple of frequency \* group_size, .* 1000000 us"):
        reader(profile, tmp_path).get_events(BEGIN * 10**6 + 1, BEGIN * 10**6 + 10**6, False)
    for name in ("store_chunk_size", "n_nodes", "frequency"):
        with pytest.raises(SMDebugValueError, match=f"{name} is 0; it must be at least 1"):
            reader(profile, tmp_path, **{name: 0})
    with pytest.raises(SMDebugValueError, match="group_size is 0; it must be at least 1"):
        reader(profile, tmp_path).set_group_size(0)
    forward = reader(profile, tmp_path, accumulate_forward=True, accumulate_minutes=1)
    with pytest.raises(SMDebugValueError, match="a forward read of 2 minutes; it must be shorter than .* 1"):
        forward.get_events(BEGIN, BEGIN + 120, True, unit=TimeUnits.SECONDS)


def test_names_of_its_static_functions_stay(tmp_path):
    static = S3NumpySystemMetricsReader
    assert static.node_name_from_index(0) == "algo-1"
    assert static.split_s3_path("s3://bucket/a/b") == ("bucket", "a/b")
    assert static.stored_fnames(1, 7, "t", "accu_") == ("accu_7#2.npy", "accu_t#7#2.npy")
    static.store_vals(1, str(tmp_path), (2, 2), np.arange(4.0), "mean")
    assert np.fromfile(tmp_path / "algo-2/mean#2.npy", np.int32).tolist() == [0, 1, 2, 3]
