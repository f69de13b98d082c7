"""Runs real S3 servers on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

import boto3
from botocore.config import Config

SERVERS = Path(os.environ.get("SMDEBUG_SERVERS", ""))
ACCESS, SECRET = "AKIDTESTEXAMPLE", "test/secret+key"


@dataclass
class Server:
    """An S3 service: `endpoint` is its URL."""

    endpoint: str
    folder: Path
    log: Path
    ca_bundle: str = ""

    def client(self, **kwargs):
        """Returns a client of boto3, to check the library's client."""
        settings = {
            "endpoint_url": self.endpoint,
            "aws_access_key_id": ACCESS,
            "aws_secret_access_key": SECRET,
            "region_name": "us-east-1",
            "verify": self.ca_bundle or None,
            "config": Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
        }
        return boto3.client("s3", **{**settings, **kwargs})

    def options(self, **more: str) -> dict[str, str]:
        """Returns the options of a hook or trial for this service."""
        options = {
            "s3_endpoint": self.endpoint,
            "s3_access_key": ACCESS,
            "s3_secret_key": SECRET,
            "s3_region": "us-east-1",
        }
        if self.ca_bundle:
            options["s3_ca_bundle"] = self.ca_bundle
        return {**options, **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        assert process.poll() is None, "the server exited at once"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not start")


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run_versitygw(folder: Path, *extra: str, scheme: str = "http") -> Iterator[Server]:
    program = SERVERS / "versitygw"
    assert program.exists(), "run the tests through `make test`, which builds the server"
    port = free_port()
    root = folder / "root"
    (folder / "iam").mkdir(parents=True)
    root.mkdir()
    log = folder / "access.log"
    command = [program, "--port", f"127.0.0.1:{port}", "--virtual-domain", "localhost", "--quiet",
               "--access-log", log, "--iam-dir", folder / "iam", *extra, "posix", root]
    environment = {"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET}
    output = (folder / "output").open("wb")
    process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        await_port(port, process)
        yield Server(f"{scheme}://127.0.0.1:{port}", root, log)
    finally:
        end(process)
        output.close()
        shutil.rmtree(folder, ignore_errors=True)


def run_minio(folder: Path) -> Iterator[Server]:
    """Runs MinIO instead of versitygw; SMDEBUG_TEST_S3=minio selects it."""
    program = SERVERS / "minio"
    assert program.exists(), "run the tests through `make test-s3-minio`, which builds the server"
    port = free_port()
    root = folder / "root"
    root.mkdir(parents=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MINIO_ROOT_USER": ACCESS,
        "MINIO_ROOT_PASSWORD": SECRET,
        "MINIO_SITE_REGION": "us-east-1",
        "MINIO_DOMAIN": "localhost",
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
    }
    output = (folder / "output").open("wb")
    command = [program, "server", "--address", f"127.0.0.1:{port}", root]
    process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        await_port(port, process)
        server = Server(f"http://127.0.0.1:{port}", root, folder / "output")
        await_service(server)
        yield server
    finally:
        end(process)
        output.close()
        shutil.rmtree(folder, ignore_errors=True)


def await_service(server: Server) -> None:
    """Waits until the service answers; it listens earlier."""
    last: Exception | None = None
    for _ in range(200):
        try:
            server.client().list_buckets()
            return
        except Exception as error:
            last = error
            time.sleep(0.05)
    raise AssertionError(f"the server does not answer: {last}")


def new_bucket(server: Server, test: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in test.lower())
    name = f"t-{kept[:40].strip('-')}-{time.monotonic_ns() % 10**9}"
    server.client().create_bucket(Bucket=name)
    return name
