"""Servers for the tests, and the library's environment cleared of the machine's."""

from __future__ import annotations

import logging
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest
from servers import new_bucket, run_minio, run_versitygw

HERE = Path(__file__).parent


ON_MINIO = os.environ.get("SMDEBUG_TEST_S3") == "minio"


def pytest_configure(config):
    config.addinivalue_line("markers", "versitygw: looks into that server's log or folder")


def pytest_collection_modifyitems(items):
    if ON_MINIO:
        items[:] = [item for item in items if not item.get_closest_marker("versitygw")]
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.timeout(120))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A server that verifies every signature."""
    run = run_minio if ON_MINIO else run_versitygw
    yield from run(tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for localhost and 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:*.localhost,IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True, timeout=60,
    )
    return folder / "cert.pem", folder / "key.pem"


@pytest.fixture(scope="session")
def tls_server(tmp_path_factory, certificate):
    cert, key = certificate
    folder = tmp_path_factory.mktemp("versitygw-tls")
    for server in run_versitygw(folder, "--cert", str(cert), "--key", str(key), scheme="https"):
        server.ca_bundle = str(cert)
        yield server


@pytest.fixture
def bucket(server, request):
    """A bucket of the test's own."""
    return new_bucket(server, request.node.name)


@pytest.fixture
def said(monkeypatch, capfd, caplog):
    """Returns what a test printed and logged, down to debug lines."""
    monkeypatch.setenv("SMDEBUG_LOG_LEVEL", "debug")
    caplog.set_level(logging.DEBUG, "smdebug")
    lines = partial(caplog.get_records, "call")
    return lambda: "\n".join([*capfd.readouterr(), *(each.getMessage() for each in lines())])


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """None of the machine's credentials, and short waits."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.startswith("SMDEBUG_S3_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "10")
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "1")
