"""The S3 part of `make bench`: compares this library, boto3, s5cmd and awscrt on one server.

Writes and reads 1,000 objects of 100 KiB with 32 requests in flight, lists 10,000 keys, and
records and reads a trial of 100 steps, which the original does too.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/s3"))

import awscrt.auth  # noqa: E402
import awscrt.http  # noqa: E402
import awscrt.io  # noqa: E402
import awscrt.s3  # noqa: E402
import numpy as np  # noqa: E402
from botocore.config import Config  # noqa: E402
from page import table, tell  # noqa: E402
from servers import ACCESS, SECRET, Server, run_versitygw  # noqa: E402

import smdebug as smd  # noqa: E402

ROUNDS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
COUNT, SIZE, CONCURRENCY, LISTED = 1000, 100 << 10, 32, 10_000
STEPS, TENSORS, ELEMENTS = 100, 10, 2560


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def environment(server: Server) -> dict[str, str]:
    return {
        **os.environ,
        "AWS_ENDPOINT_URL": server.endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0",
    }


def output(server: Server, *command: object) -> str:
    done = subprocess.run(
        list(map(str, command)), env=environment(server), capture_output=True, text=True,
        timeout=600, check=True,
    )
    return done.stdout


# ---- objects ----------------------------------------------------------------


def ours(server: Server, _: Path) -> dict[str, float]:
    def run(what: str, prefix: str, count: int) -> float:
        program = ROOT / "build/bin/smdebug_s3_client"
        return float(output(server, program, what, prefix, count, SIZE, CONCURRENCY))

    return {
        "put": run("put", "s3://bench/ours", COUNT),
        "get": run("get", "s3://bench/ours", COUNT),
        "list": run("list", "s3://bench/listed", LISTED),
    }


def boto3(server: Server, _: Path) -> dict[str, float]:
    config = Config(max_pool_connections=CONCURRENCY, s3={"addressing_style": "path"})
    client = server.client(config=config)
    body = b"x" * SIZE
    keys = [f"boto3/{i}" for i in range(COUNT)]

    def put(key: str) -> None:
        client.put_object(Bucket="bench", Key=key, Body=body)

    def get(key: str) -> None:
        client.get_object(Bucket="bench", Key=key)["Body"].read()

    def list_all() -> None:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix="listed/")
        assert sum(len(page["Contents"]) for page in pages) == LISTED

    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return {
            "put": seconds(lambda: list(pool.map(put, keys))),
            "get": seconds(lambda: list(pool.map(get, keys))),
            "list": seconds(list_all),
        }


def s5cmd(server: Server, folder: Path) -> dict[str, float]:
    """Includes the start of the process, which takes some hundredths of a second."""
    source, target = folder / "source", folder / "target"
    source.mkdir(exist_ok=True)
    for i in range(COUNT):
        (source / str(i)).write_bytes(b"x" * SIZE)
    command = (ROOT / ".venv/bin/s5cmd", "--endpoint-url", server.endpoint,
               "--numworkers", CONCURRENCY)
    results = {
        "put": seconds(lambda: output(server, *command, "cp", f"{source}/*", "s3://bench/s5cmd/")),
        "get": seconds(lambda: output(server, *command, "cp", "s3://bench/s5cmd/*", f"{target}/")),
        "list": seconds(lambda: output(server, *command, "ls", "s3://bench/listed/*")),
    }
    shutil.rmtree(source)
    shutil.rmtree(target)
    return results


def through_awscrt(server: Server, folder: Path) -> dict[str, float]:
    bootstrap = awscrt.io.ClientBootstrap.get_or_create_static_default()
    provider = awscrt.auth.AwsCredentialsProvider.new_static(ACCESS, SECRET)
    client = awscrt.s3.S3Client(
        bootstrap=bootstrap,
        region="us-east-1",
        tls_mode=awscrt.s3.S3RequestTlsMode.DISABLED,
        signing_config=awscrt.s3.create_default_s3_signing_config(
            region="us-east-1", credential_provider=provider
        ),
        throughput_target_gbps=10,
    )
    host = server.endpoint.removeprefix("http://")
    source = folder / "body"
    source.write_bytes(b"x" * SIZE)

    def start(kind: str, i: int) -> object:
        headers = awscrt.http.HttpHeaders([("host", host)])
        if kind == "PUT":
            headers.add("content-length", str(SIZE))
        request = awscrt.http.HttpRequest(kind, f"/bench/awscrt/{i}", headers)
        put = kind == "PUT"
        return client.make_request(
            request=request,
            type=awscrt.s3.S3RequestType.PUT_OBJECT if put else awscrt.s3.S3RequestType.GET_OBJECT,
            send_filepath=str(source) if put else None,
            on_body=None if put else lambda chunk, offset, **_: None,
        ).finished_future

    def run(kind: str) -> None:
        for future in [start(kind, i) for i in range(COUNT)]:
            future.result(60)

    return {"put": seconds(lambda: run("PUT")), "get": seconds(lambda: run("GET"))}


# ---- trials -----------------------------------------------------------------


def our_trial(server: Server, _: Path) -> dict[str, float]:
    url = f"s3://bench/trial-{time.monotonic_ns()}"
    data = [np.full(ELEMENTS, i, np.float32) for i in range(TENSORS)]
    every_step = smd.SaveConfig(save_interval=1)

    def record() -> None:
        options = server.options()
        with smd.Hook(url, save_all=True, save_config=every_step, options=options) as hook:
            for _ in range(STEPS):
                with hook.step():
                    for i, array in enumerate(data):
                        hook.save(f"layer_{i}", array)

    def read() -> None:
        with smd.create_trial(url, options=server.options()) as trial:
            for name in trial.tensor_names():
                tensor = trial.tensor(name)
                for step in tensor.steps():
                    tensor.value(step)

    return {"record": seconds(record), "read": seconds(read)}


def original_trial(server: Server, _: Path) -> dict[str, float]:
    program = ROOT / "tests/bench/original_s3.py"
    python = os.environ["SMDEBUG_ORIGINAL_PYTHON"]
    command = ["env", "-u", "PYTHONPATH", python, program]
    url = f"s3://bench/original-{time.monotonic_ns()}"
    printed = output(server, *command, url, STEPS, TENSORS, ELEMENTS)
    return dict(json.loads(printed.splitlines()[-1]))


# ---- the table --------------------------------------------------------------

FIGURES = [
    ("put 1,000 objects of 100 KiB", "s5cmd", "put", "objects", ">= 1"),
    ("put 1,000 objects of 100 KiB", "boto3", "put", "objects", ">= 2"),
    ("put 1,000 objects of 100 KiB", "awscrt", "put", "objects", ""),
    ("get 1,000 objects of 100 KiB", "s5cmd", "get", "objects", ">= 1"),
    ("get 1,000 objects of 100 KiB", "boto3", "get", "objects", ">= 2"),
    ("get 1,000 objects of 100 KiB", "awscrt", "get", "objects", ""),
    ("list 10,000 keys", "s5cmd", "list", "objects", ">= 1"),
    ("list 10,000 keys", "boto3", "list", "objects", ">= 2"),
    ("record 100 steps of 10 tensors of 10 KiB in S3", "original", "record", "trial", ">= 10"),
    ("read them back, value by value", "original", "read", "trial", ">= 10"),
]


def prepare(server: Server) -> None:
    server.client().create_bucket(Bucket="bench")
    listed = server.folder / "bench" / "listed"
    listed.mkdir()
    for i in range(LISTED):
        (listed / f"{i:06}").write_bytes(b"")


def one_round(server: Server, folder: Path) -> dict[str, dict[str, float]]:
    return {
        "objects": ours(server, folder),
        "boto3": boto3(server, folder),
        "s5cmd": s5cmd(server, folder),
        "awscrt": through_awscrt(server, folder),
        "trial": our_trial(server, folder),
        "original": original_trial(server, folder),
    }


def rounds() -> Iterator[dict[str, dict[str, float]]]:
    shared = Path("/dev/shm")
    base = shared if shared.is_dir() and shutil.disk_usage(shared).free > 4 << 30 else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-bench-s3-", dir=base))
    try:
        for server in run_versitygw(folder / "server"):
            prepare(server)
            for number in range(ROUNDS):
                print(f"round {number + 1} of {ROUNDS} ...", file=sys.stderr, flush=True)
                yield one_round(server, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    results = list(rounds())
    (ROOT / "build/bench_s3.json").write_text(json.dumps(results, indent=1))
    rows = []
    for what, peer, key, side, goal in FIGURES:
        values = [r[peer][key] / r[side][key] for r in results]
        median = statistics.median(values)
        reached = "" if not goal else "yes" if median >= float(goal.split()[1]) else "NO"
        spread = f"{min(values):.3g} to {max(values):.3g}"
        rows.append([what, peer, f"{median:.3g}", spread, goal, reached])
    columns = ["what", "peer", "median of peer's time / ours", "spread", "to reach", "reached"]
    tell("s3", table(columns, rows))


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    main()
