"""Profiles of IAM Identity Center (SSO), next to what boto3 does with the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from credential_servers import (
    SECRET_OF,
    START_URL,
    Mint,
    Portal,
    Reply,
    Sts,
    write_profiles,
    write_sso_token,
)
from fault_server import URL, running
from test_credentials import (  # noqa: F401
    ROLE,
    complaint,
    home,
    no_secret_is_printed,
    options_for,
    signer,
)

import smdebug as smd

WHERE = f"sso_start_url = {START_URL}\nsso_region = eu-west-1\n"
WHO = "sso_account_id = 123456789012\nsso_role_name = a role\n"
SESSION = f"[default]\nsso_session = corp\n{WHO}[sso-session corp]\n{WHERE}"
LEGACY = f"[default]\n{WHERE}{WHO}"

BOTO3 = """
import boto3
keys = boto3.Session().get_credentials().get_frozen_credentials()
print(keys.access_key, keys.secret_key, keys.token, sep="\\n")
"""


@pytest.fixture
def service():
    yield from running()


@pytest.fixture
def portal(service, monkeypatch):
    with Portal(Mint(service, "SSO")) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def boto3_keys(home: Path) -> list[str]:  # noqa: F811
    """boto3 finds the cache when it is imported, so it has a process of its own."""
    environment = {**os.environ, "HOME": str(home), "AWS_DEFAULT_REGION": "us-east-1"}
    run = subprocess.run(
        [sys.executable, "-c", BOTO3], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


@pytest.mark.parametrize("config, name", [(SESSION, "corp"), (LEGACY, START_URL)])
def test_the_requests_are_those_of_boto3(service, home, portal, config, name):  # noqa: F811
    write_profiles(home, "", config)
    write_sso_token(home, name, portal.cached_token(3600))
    assert signer(service) == "SSO0"
    assert boto3_keys(home)[0] == "SSO1"
    (ours, theirs) = portal.asked
    assert (ours.verb, ours.path) == (theirs.verb, theirs.path.replace("+", "%20"))
    assert ours.headers["x-amz-sso_bearer_token"] == theirs.headers["x-amz-sso_bearer_token"]
    assert "authorization" not in ours.headers


@pytest.mark.parametrize("left", [600, -5])
def test_a_token_is_renewed_and_written_as_by_boto3(
    service, home, portal, tmp_path, left  # noqa: F811
):
    files = []
    registered = json.loads(portal.cached_token(left))["registrationExpiresAt"]
    for owner in (home, tmp_path / "theirs"):
        write_profiles(owner, "", SESSION)
        token = {**json.loads(portal.cached_token(left)), "registrationExpiresAt": registered}
        files.append(write_sso_token(owner, "corp", json.dumps(token)))
        if owner == home:
            assert signer(service) == "SSO0"
        else:
            assert boto3_keys(owner)[0] == "SSO1"
    ours, theirs = (json.loads(file.read_text()) for file in files)
    assert {**ours, "accessToken": 0, "refreshToken": 0, "expiresAt": 0} == {
        **theirs, "accessToken": 0, "refreshToken": 0, "expiresAt": 0,
    }
    assert (ours["accessToken"], ours["refreshToken"]) == (
        "SENTINEL-access-1", "SENTINEL-refresh-1",
    )
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert [len(list(file.parent.iterdir())) for file in files] == [1, 1]
    posts = [asked for asked in portal.asked if asked.verb == "POST"]
    bodies = [json.loads(asked.body) for asked in posts]
    assert [body.pop("refreshToken") for body in bodies] == [
        "SENTINEL-refresh-0", "SENTINEL-refresh-1",
    ]
    assert bodies[0] == bodies[1]
    assert {asked.headers["content-type"] for asked in posts} == {"application/json"}


def test_boto3_uses_the_token_that_was_renewed_here(service, home, portal):  # noqa: F811
    write_profiles(home, "", SESSION)
    write_sso_token(home, "corp", portal.cached_token(-5))
    assert signer(service) == "SSO0"
    assert boto3_keys(home)[0] == "SSO1"
    assert portal.renewals == 1


def test_the_workers_of_a_job_renew_a_token_once(service, home, portal):  # noqa: F811
    """Its refresh token is good for one renewal."""
    write_profiles(home, "", SESSION)
    write_sso_token(home, "corp", portal.cached_token(-5))
    program = f"import smdebug as smd; print(smd.doctor.examine({URL!r}, {options_for(service)!r}))"
    workers = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [worker.communicate(timeout=60)[0] for worker in workers]
    assert all("code='OK'" in text and "CREDENTIALS" not in text for text in said), said
    assert portal.renewals == 1


def test_a_role_by_a_profile_of_sso(service, home, portal, monkeypatch):  # noqa: F811
    with Sts(Mint(service, "ROLE"), {"SSO0": SECRET_OF.format("SSO0")}) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        config = f"[default]\nrole_arn = {ROLE}\nsource_profile = work\n[profile work]\n{WHERE}{WHO}"
        write_profiles(home, "", config)
        write_sso_token(home, START_URL, portal.cached_token(3600))
        assert signer(service) == "ROLE0"


def test_a_training_continues_when_the_user_signs_in_again(service, home, portal):  # noqa: F811
    write_profiles(home, "", LEGACY)
    write_sso_token(home, START_URL, portal.cached_token(3600))
    with smd.Hook(URL, options=options_for(service)) as hook:
        portal.token = "SENTINEL-access-9"
        write_sso_token(home, START_URL, portal.cached_token(3600))
        service.expired.add("SSO0")
        hook.flush()
    assert {request.access_key for request in service.requests} == {"SSO0", "SSO1"}


@pytest.mark.parametrize("profile", ["default", "work"])
def test_says_how_to_sign_in(service, home, portal, profile):  # noqa: F811
    section = "default" if profile == "default" else f"profile {profile}"
    write_profiles(home, "", LEGACY.replace("[default]", f"[{section}]"))
    more = {} if profile == "default" else {"s3_profile": profile}
    advice = f"run `aws sso login --profile {profile}`"
    for token, words in (
        (None, "there is no SSO token"),
        (portal.cached_token(-1), "has expired"),
        ("no JSON SENTINEL", "is not valid JSON"),
    ):
        if token is not None:
            write_sso_token(home, START_URL, token)
        said = complaint(service, **more)
        assert words in said and advice in said
    assert portal.asked == []
    write_sso_token(home, START_URL, portal.cached_token(3600).replace("access-0", "access-x"))
    said = complaint(service, **more)
    assert "no longer valid" in said and advice in said


@pytest.mark.parametrize(
    "reply, words",
    [
        (Reply(403, "SENTINEL", {"x-amzn-ErrorType": "ForbiddenException"}), "ForbiddenException"),
        (Reply(404, "SENTINEL"), "status 404"),
        (Reply(302, "", {"Location": "http://127.0.0.1:1/"}), "status 302"),
        (Reply(200, "SENTINEL"), "is not valid JSON"),
        (Reply(200, '{"roleCredentials": {"accessKeyId": "A"}}'), "lacks a key"),
        (Reply(200, "x" * (2 << 20)), "longer than expected"),
    ],
)
def test_a_portal_that_answers_badly(service, home, portal, reply, words):  # noqa: F811
    write_profiles(home, "", LEGACY)
    write_sso_token(home, START_URL, portal.cached_token(3600))
    portal.replies = [reply] * 9
    assert words in complaint(service)


def test_a_portal_that_fails_for_a_while(service, home, portal):  # noqa: F811
    write_profiles(home, "", LEGACY)
    write_sso_token(home, START_URL, portal.cached_token(3600))
    throttled = Reply(429, "{}", {"x-amzn-ErrorType": "TooManyRequestsException"})
    portal.replies = [Reply(500), throttled]
    assert signer(service) == "SSO0"
