"""Tests https: the library trusts the named certificates and refuses all others."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from servers import ACCESS, SECRET, new_bucket, run_versitygw

import smdebug as smd
from smdebug.exceptions import SMDebugConnectionError, SMDebugError


@pytest.fixture
def tls_bucket(tls_server, request):
    return new_bucket(tls_server, request.node.name)


def codes(server, url: str, **changes: str) -> list[str]:
    return [finding.code for finding in smd.doctor.examine(url, server.options(**changes))]


def record(server, url: str, **changes: str) -> None:
    every_step = smd.SaveConfig(save_interval=1)
    options = server.options(**changes)
    with smd.Hook(url, save_all=True, save_config=every_step, options=options) as hook:
        with hook.step():
            hook.save("weight", np.arange(5_000_000, dtype=np.float32))


@pytest.mark.parametrize("signs", ["true", "false"])
def test_recording_over_tls(tls_server, tls_bucket, signs):
    url = f"s3://{tls_bucket}/run"
    record(tls_server, url, s3_sign_payload=signs)
    trial = smd.create_trial(url, options=tls_server.options())
    assert trial.tensor("weight").value(0)[-1] == 4_999_999


def test_a_bundle_of_the_environment(tls_server, tls_bucket, monkeypatch):
    monkeypatch.setenv("AWS_CA_BUNDLE", tls_server.ca_bundle)
    options = tls_server.options()
    del options["s3_ca_bundle"]
    assert smd.doctor.examine(f"s3://{tls_bucket}/run", options)[-1].code == "OK"


def test_an_untrusted_certificate(tls_server, tls_bucket):
    options = tls_server.options()
    del options["s3_ca_bundle"]
    with pytest.raises(SMDebugConnectionError) as caught:
        smd.create_trial(f"s3://{tls_bucket}/run", options=options)
    assert caught.value.code == "TLS"
    assert "certificate" in str(caught.value)


def test_an_invalid_bundle(tls_server, tls_bucket, tmp_path):
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(SMDebugError, match="nothing.pem"):
        record(tls_server, f"s3://{tls_bucket}/run", s3_ca_bundle=str(nothing))


def make_certificate(folder, name: str, days: int, alternative: str) -> tuple[str, str]:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
               "-days", str(days), "-addext", f"subjectAltName={alternative}",
               "-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_a_certificate_of_another_host(tmp_path):
    cert, key = make_certificate(tmp_path, "other.example", 2, "DNS:other.example")
    extra = ("--cert", cert, "--key", key)
    for server in run_versitygw(tmp_path / "server", *extra, scheme="https"):
        server.ca_bundle = cert
        assert codes(server, "s3://some-bucket/run")[-1] == "TLS"


def test_http_payloads_are_always_signed(server, bucket):
    """The service refuses payloads that are marked as unsigned."""
    url = f"s3://{bucket}/run"
    record(server, url, s3_sign_payload="false")
    head = server.client().head_object(Bucket=bucket, Key="run/training_job_end.ts")
    assert head["ContentLength"] == 0


def test_keys_are_sent_to_no_other_scheme(tls_server):
    """An http endpoint at the https port gets no credentials."""
    endpoint = tls_server.endpoint.replace("https://", "http://")
    findings = smd.doctor.examine("s3://some-bucket/run", tls_server.options(s3_endpoint=endpoint))
    assert findings[-1].code != "OK"
    assert SECRET not in findings[-1].message
    assert ACCESS not in findings[-1].message
