"""Tests that the program never prints, logs or writes a secret, not even if it fails."""

import json
import subprocess
import sys
from urllib.parse import quote

import pytest
from cli_trials import record_run
from servers import ACCESS, SECRET

TOKEN = "SENTINEL/token+of=a session"
COMMANDS = [
    "ls {}",
    "show {} gradient/fc1.weight --step 3",
    "rules {} --profile calibrated --json",
    "report {} -o report.html",
    "verify {}",
    "diff {} run",
    "tensorboard {} board",
    "doctor {}",
]
JOB = """
import logging
import smdebug as smd
logging.basicConfig()
with smd.Hook(out_dir="s3://my-bucket/job", save_all=True) as hook:
    with hook.step():
        hook.save("loss", 1.0)
print(hook, repr(hook), vars(hook))
"""


@pytest.fixture
def run(server, tmp_path, smdebug, monkeypatch):
    """Runs commands with full logging in an empty folder, and checks that it then holds no secret."""
    folder = tmp_path / "here"
    folder.mkdir()
    record_run(folder / "run")
    monkeypatch.setattr(smdebug, "folder", folder)
    monkeypatch.setenv("SMDEBUG_LOG_LEVEL", "debug")
    monkeypatch.setenv("SMDEBUG_TRIAL_WAIT_SECONDS", "0")
    said = []

    def runner(command, **variables):
        done = smdebug.run(command, **variables)
        said.append(done.stdout + done.stderr)
        return done

    yield runner
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert said and written
    for secret in (SECRET, TOKEN):
        for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], secret.replace("/", "\\/")):
            assert not any(form in text for text in said)
            assert not any(form.encode() in data for data in written)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_a_trial(run, command):
    record_run("s3://my-bucket/run")
    assert run(command.format("s3://my-bucket/run")).returncode in (0, 10)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "variables",
    [
        {"AWS_SESSION_TOKEN": TOKEN},
        {"AWS_ACCESS_KEY_ID": "AKIDNOBODY"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
        {"AWS_ENDPOINT_URL": f"http://{ACCESS}:{quote(SECRET, safe='')}@127.0.0.1:9"},
        {"AWS_REGION": "not a region"},
        {"AWS_SECRET_ACCESS_KEY": SECRET + "\n"},
    ],
    ids=["token", "key", "nobody there", "in the URL", "region", "line"],
)
def test_unreadable_trials(run, command, variables):
    attempts = {"AWS_MAX_ATTEMPTS": "1", "SMDEBUG_S3_CONNECT_SECONDS": "1"}
    run(command.format("s3://my-bucket/run"), **{**attempts, **variables})


@pytest.mark.parametrize("text", ["[default]\naws_secret_access_key = {}", "[default\n{}", "{}"])
def test_a_bad_credentials_file(run, tmp_path, monkeypatch, text):
    path = tmp_path / "credentials"
    path.write_text(text.format(SECRET))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert run("ls s3://my-bucket/run", AWS_SHARED_CREDENTIALS_FILE=str(path)).returncode not in (0, 10)


def test_a_job(run, server, tmp_path, monkeypatch):
    for variables in ({}, {"AWS_SESSION_TOKEN": TOKEN}):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = subprocess.run(
            [sys.executable, "-c", JOB], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert SECRET not in done.stdout + done.stderr and TOKEN not in done.stdout + done.stderr
    run("ls s3://my-bucket/job")
    for path in server.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
