"""Tests the sources of credentials, by the access keys of the requests."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from credential_servers import (
    SECRET_OF,
    Container,
    Machine,
    Mint,
    Portal,
    Reply,
    START_URL,
    Sts,
    write_profiles,
    write_program,
    write_sso_token,
)
from fault_server import URL, FaultServer, late, running, value_of

import smdebug as smd
from smdebug.exceptions import SMDebugError

ROLE = "arn:aws:iam::123456789012:role/the-role"
PART = 8 << 20


@pytest.fixture
def service():
    yield from running()


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def no_secret_is_printed(said):
    yield
    assert "SENTINEL" not in said()


def options_for(service: FaultServer, **more: str) -> dict[str, str]:
    """Returns options without keys."""
    return {"s3_endpoint": service.endpoint, "s3_region": "us-east-1", **more}


def findings_for(service: FaultServer, **more: str) -> dict[str, smd.doctor.Finding]:
    findings = smd.doctor.examine(URL, options_for(service, **more))
    assert "SENTINEL" not in repr(findings)
    return {finding.name: finding for finding in findings}


def signer(service: FaultServer, **more: str) -> str:
    """Returns the access key that signed the requests."""
    before = len(service.requests)
    findings = findings_for(service, **more)
    assert {finding.code for finding in findings.values()} == {"OK"}, findings
    (key,) = {request.access_key for request in service.requests[before:]}
    return key


def complaint(service: FaultServer, code: str = "CREDENTIALS", **more: str) -> str:
    """Returns the message about missing or invalid credentials."""
    before = len(service.requests)
    (finding,) = [f for f in findings_for(service, **more).values() if f.code != "OK"]
    assert finding.code == code
    assert finding.name in ("address", "credentials")
    assert len(service.requests) == before
    with pytest.raises(SMDebugError) as caught:
        smd.create_trial(URL, timeout=1, options=options_for(service, **more))
    assert caught.value.code == code and "SENTINEL" not in repr(caught.value)
    return finding.message


def keys_of(service: FaultServer, name: str, with_token: bool = False) -> tuple[str, str, str]:
    """Registers a key with the service; returns access key, secret and token."""
    minted = Mint(service, name).next()
    if not with_token:
        service.tokens[minted.access_key] = ""
    return minted.access_key, minted.secret_key, minted.token if with_token else ""


def ini_keys(service: FaultServer, name: str) -> str:
    access_key, secret, token = keys_of(service, name, with_token=True)
    return (
        f"aws_access_key_id = {access_key}\naws_secret_access_key = {secret}\n"
        f"aws_session_token = {token}\n"
    )


# ---- the order ------------------------------------------------------------------------

PLACES = [
    "GIVEN",
    "ENVIRONMENT",
    "ROLE",
    "WEBIDENTITY",
    "SSO",
    "CREDENTIALSFILE",
    "PROCESS",
    "CONFIGFILE",
    "CONTAINER",
    "MACHINE",
]


SSO_PROFILE = f"""\
sso_start_url = {START_URL}
sso_region = eu-west-1
sso_account_id = 123456789012
sso_role_name = r
"""


@pytest.mark.parametrize("first", PLACES)
def test_the_order_of_sources(service, home, monkeypatch, first):
    """All sources from `first` on have credentials; those of `first` are used."""
    there = PLACES[PLACES.index(first) :]
    more: dict[str, str] = {}
    config, credentials = "[default]\n", "[default]\n"
    with (
        Container(Mint(service, "CONTAINER")) as container,
        Machine(Mint(service, "MACHINE")) as machine,
        Sts(Mint(service, "STS"), {"CALLER": SECRET_OF.format("CALLER")}) as sts,
        Portal(Mint(service, "SSO")) as portal,
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.address)
        if "CONTAINER" in there:
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.uri)
        if "CONFIGFILE" in there:
            config += ini_keys(service, "CONFIGFILE")
        if "PROCESS" in there:
            program = write_program(home / "program", Mint(service, "PROCESS"))
            config += f"credential_process = {program}\n"
        if "CREDENTIALSFILE" in there:
            credentials += ini_keys(service, "CREDENTIALSFILE")
        if "SSO" in there:
            monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", portal.address)
            write_sso_token(home, START_URL, portal.cached_token(3600))
            config += SSO_PROFILE
        if "WEBIDENTITY" in there:
            (home / "token").write_text("a web token")
            monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(home / "token"))
            monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        if "ROLE" in there:
            config += f"role_arn = {ROLE}\nsource_profile = caller\n"
            secret = SECRET_OF.format("CALLER")
            credentials += "[caller]\naws_access_key_id = CALLER\n"
            credentials += f"aws_secret_access_key = {secret}\n"
        if "ENVIRONMENT" in there:
            access_key, secret, token = keys_of(service, "ENVIRONMENT", with_token=True)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
            monkeypatch.setenv("AWS_SESSION_TOKEN", token)
        if "GIVEN" in there:
            access_key, secret, token = keys_of(service, "GIVEN", with_token=True)
            more = {"s3_access_key": access_key, "s3_secret_key": secret}
            more["s3_session_token"] = token
        write_profiles(home, credentials, config)
        found = signer(service, **more)
        actions = [asked.form["Action"] for asked in sts.asked]
    expected = {"ROLE": "STS", "WEBIDENTITY": "STS"}.get(first, first)
    assert found == expected + "0"
    wanted = {"ROLE": ["AssumeRole"], "WEBIDENTITY": ["AssumeRoleWithWebIdentity"]}
    assert actions == wanted.get(first, [])


def test_an_explicit_profile_overrides_the_environment(service, home, monkeypatch):
    access_key, secret, _ = keys_of(service, "ENVIRONMENT")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    write_profiles(home, "[work]\n" + ini_keys(service, "WORK"))
    assert signer(service, s3_profile="work") == "WORK0"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert signer(service) == "ENVIRONMENT0"


def test_files_elsewhere(service, home, monkeypatch):
    (home / "keys").write_text("[a]\n" + ini_keys(service, "KEYS"))
    (home / "settings").write_text(
        f"[profile a]\nregion = eu-west-3\nendpoint_url = {service.endpoint}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(home / "keys"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(home / "settings"))
    monkeypatch.setenv("AWS_PROFILE", "a")
    assert smd.doctor.examine(URL)[-1].name == "remove"
    assert {(r.access_key, r.region) for r in service.requests} == {("KEYS0", "eu-west-3")}


def test_without_credentials_all_sources_are_named(service, home):
    said = complaint(service)
    for place in ("environment", "web identity", ".aws/credentials", "container", "metadata"):
        assert place in said
    assert "aws configure" in said


@pytest.mark.parametrize(
    "environment, config, code, words",
    [
        ({"AWS_ACCESS_KEY_ID": "A"}, "", "CREDENTIALS", "AWS_SECRET_ACCESS_KEY is not; set both"),
        ({"AWS_PROFILE": "wrok"}, "[profile work]\nx = y\n", "CREDENTIALS", "work"),
        ({}, "[default]\nsso_session = corp\n", "CREDENTIALS", "aws configure sso"),
        ({}, "[default]\nsso_start_url = https://x\n", "CREDENTIALS", "aws configure sso"),
        ({}, "[default]\nlogin_session = arn\n", "CREDENTIALS", "export-credentials"),
        ({}, "[default]\naws_access_key_id = A\n", "CREDENTIALS", "secret_access_key is missing"),
        ({}, f"[default]\nrole_arn = {ROLE}\n", "CREDENTIALS", "neither source_profile nor"),
        (
            {},
            f"[default]\nrole_arn = {ROLE}\nsource_profile = b\n"
            f"[profile b]\nrole_arn = {ROLE}\nsource_profile = default\n",
            "CREDENTIALS",
            "default -> b -> default",
        ),
        (
            {},
            f"[default]\nrole_arn = {ROLE}\nsource_profile = x\nmfa_serial = y\n",
            "CREDENTIALS",
            "mfa_serial",
        ),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere"}, "", "CREDENTIALS", "AWS_ROLE_ARN is not"),
    ],
)
def test_incomplete_credentials_are_reported(
    service, home, monkeypatch, environment, config, code, words
):
    write_profiles(home, "", config)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert words in complaint(service, code)


# ---- containers -----------------------------------------------------------------------


def test_a_containers_token_is_read_from_its_file_each_time(service, home, monkeypatch):
    with Container(Mint(service, "POD"), token="first SENTINEL") as server:
        (home / "token").write_text("first SENTINEL")
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "not this SENTINEL")
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(home / "token"))
        with smd.Hook(URL, options=options_for(service)):
            server.token = "second SENTINEL"
            (home / "token").write_text("second SENTINEL")
            service.expired.add("POD0")
        assert [asked.headers["authorization"] for asked in server.asked] == [
            "first SENTINEL",
            "second SENTINEL",
        ]
    assert {request.access_key for request in service.requests} == {"POD0", "POD1"}


@pytest.mark.parametrize(
    "uri, words",
    [
        ("http://192.0.2.1/x", "is refused: use https"),
        ("http://169.254.169.254/x", "is refused: use https"),
        ("http://127.0.0.1@192.0.2.1/x", "user"),
        ("http://localhost.example/x", "is refused"),
        ("ftp://127.0.0.1/x", ""),
        ("nonsense", ""),
    ],
)
def test_a_containers_server_must_be_near_or_https(service, home, monkeypatch, uri, words):
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "SENTINEL")
    begun = time.monotonic()
    assert words in complaint(service)
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize(
    "reply, words",
    [
        (Reply(401), "status 401"),
        (Reply(200, "SENTINEL no JSON"), "is not valid JSON"),
        (Reply(200, '{"AccessKeyId": "A"}'), "lacks"),
        (
            Reply(
                200,
                '{"AccessKeyId": "A", "SecretAccessKey": "SENTINEL", '
                '"Expiration": "2001-01-01T00:00:00Z"}',
            ),
            "have already expired",
        ),
        (Reply(200, "x" * (2 << 20)), "longer than expected"),
    ],
)
def test_bad_replies_of_a_container(service, home, monkeypatch, reply, words):
    with Container(Mint(service, "POD")) as server:
        server.replies = [reply] * 9
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        assert words in complaint(service)


def test_a_containers_server_is_not_followed_elsewhere(service, home, monkeypatch):
    with Container(Mint(service, "POD")) as server, Container(Mint(service, "OTHER")) as other:
        server.replies = [Reply(302, "", {"Location": other.uri})] * 9
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "SENTINEL")
        assert "302" in complaint(service)
        assert other.asked == []


def test_a_containers_token_has_no_line_end(service, home, monkeypatch):
    (home / "token").write_text("SENTINEL\r\nx-evil: yes")
    with Container(Mint(service, "POD")) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(home / "token"))
        assert "line end" in complaint(service)
        assert server.asked == []


def test_a_containers_server_that_fails_for_a_while(service, home, monkeypatch):
    with Container(Mint(service, "POD")) as server:
        server.replies = [Reply(500), Reply(503)]
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        assert signer(service) == "POD0"
        assert len(server.asked) == 3


# ---- the machine ----------------------------------------------------------------------


@pytest.fixture
def machine(service, home, monkeypatch):
    with Machine(Mint(service, "MACHINE")) as server:
        monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.address + "/")
        yield server


def test_only_version_2_of_the_machines_service_is_used(service, machine):
    assert signer(service) == "MACHINE0"
    token, *others = machine.asked
    assert (token.verb, token.path) == ("PUT", "/latest/api/token")
    assert [asked.headers["x-aws-ec2-metadata-token"] for asked in others] == [
        "session of the machine"
    ] * 2


@pytest.mark.parametrize("status", [403, 404, 405, 500])
def test_version_1_of_the_machines_service_is_never_used(service, machine, status):
    machine.replies = [Reply(status)] * 20
    complaint(service)
    assert {(asked.verb, asked.path) for asked in machine.asked} == {("PUT", "/latest/api/token")}


def test_a_machine_that_is_disabled(service, machine, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "TRUE")
    assert "AWS_EC2_METADATA_DISABLED" in complaint(service)
    assert machine.asked == []


def test_a_machines_old_credentials_survive_its_outage(service, machine):
    machine.mint.lifetime = 2
    with smd.Hook(URL, options=options_for(service)):
        machine.replies = [Reply(500)] * 50
        time.sleep(2.1)
    assert {request.access_key for request in service.requests} == {"MACHINE0"}


# ---- programs -------------------------------------------------------------------------


def test_a_program_is_run_without_a_shell(service, home, monkeypatch):
    program = write_program(home / "a program", Mint(service, "PROCESS"))
    write_profiles(home, "", f'[default]\ncredential_process = "{program}" $HOME "two words" ;ls\n')
    assert signer(service) == "PROCESS0"
    assert Path(f"{program}.runs").read_text() == "$HOME two words ;ls\n"


def test_a_program_is_run_again_when_its_credentials_expire(service, home):
    program = write_program(home / "program", Mint(service, "PROCESS"))
    write_profiles(home, "", f"[default]\ncredential_process = {program}\n")
    with smd.Hook(URL, options=options_for(service)):
        service.expired.add("PROCESS0")
    assert {request.access_key for request in service.requests} == {"PROCESS0", "PROCESS1"}
    assert len(Path(f"{program}.runs").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    "script, words",
    [
        ("echo SENTINEL >&2; exit 3", "3"),
        ("echo SENTINEL", "not valid JSON"),
        ('echo \'{"Version": 2, "AccessKeyId": "SENTINEL"}\'', "'Version' is not 1"),
        ("kill -9 $$", ""),
    ],
)
def test_a_program_that_fails(service, home, script, words):
    (home / "program").write_text(f"#!/bin/sh\n{script}\n")
    (home / "program").chmod(0o700)
    write_profiles(home, "", f"[default]\ncredential_process = {home}/program\n")
    assert words in complaint(service)


# ---- roles ----------------------------------------------------------------------------


def test_a_web_identity_shows_its_newest_token(service, home, monkeypatch):
    with Sts(Mint(service, "WEB")) as sts:
        (home / "token").write_text("SENTINEL-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(home / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "session")
        with smd.Hook(URL, options=options_for(service)):
            (home / "token").write_text("SENTINEL-2\n")
            service.expired.add("WEB0")
    forms = [asked.form for asked in sts.asked]
    assert [form["WebIdentityToken"] for form in forms] == ["SENTINEL-1", "SENTINEL-2"]
    assert {(form["RoleArn"], form["RoleSessionName"]) for form in forms} == {(ROLE, "session")}
    assert "authorization" not in sts.asked[0].headers
    assert {request.access_key for request in service.requests} == {"WEB0", "WEB1"}


def test_a_profiles_role_is_requested_with_a_signature(service, home, monkeypatch):
    secret = SECRET_OF.format("CALLER")
    with Sts(Mint(service, "ROLE"), {"CALLER": secret}) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        config = f"[default]\nrole_arn = {ROLE}\nsource_profile = caller\n"
        config += "external_id = a/b c\nrole_session_name = me\nduration_seconds = 900\n"
        keys = "[caller]\naws_access_key_id = CALLER\naws_secret_access_key = "
        write_profiles(home, keys + secret, config)
        assert signer(service) == "ROLE0"
        (asked,) = sts.asked
        assert asked.form["ExternalId"] == "a/b c" and asked.form["DurationSeconds"] == "900"
        write_profiles(home, keys + "SENTINELwrong", config)
        said = complaint(service)
        assert "SignatureDoesNotMatch" in said and "trust policy" in said


def test_a_role_by_the_environments_keys(service, home, monkeypatch):
    secret = SECRET_OF.format("CALLER")
    with Sts(Mint(service, "ROLE"), {"CALLER": secret}) as sts:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "CALLER")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        role = f"[profile role]\nrole_arn = {ROLE}\ncredential_source = Environment\n"
        write_profiles(home, "", role)
        assert signer(service, s3_profile="role") == "ROLE0"


def test_an_sts_that_repeats_the_token_is_not_quoted(service, home, monkeypatch):
    error = "<Code>InvalidIdentityToken</Code><Message>SENTINEL-1 is bad</Message>"
    said = f"<ErrorResponse><Error>{error}</Error></ErrorResponse>"
    with Sts(Mint(service, "WEB")) as sts:
        sts.replies = [Reply(400, said)] * 9
        (home / "token").write_text("SENTINEL-1")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", sts.address)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(home / "token"))
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        assert "STS refused" in complaint(service)


# ---- in the middle of an upload -------------------------------------------------------


@pytest.fixture
def container(service, home, monkeypatch):
    with Container(Mint(service, "SHORT")) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        yield server


def upload(service: FaultServer, parts: int) -> None:
    """Records one step with this number of parts, and reads it."""
    size = PART // 4 * parts
    config = smd.SaveConfig(save_interval=1)
    with smd.Hook(URL, save_all=True, save_config=config, options=options_for(service)) as hook:
        with hook.step():
            hook.save("weight", value_of(0, size))
    trial = smd.create_trial(URL, timeout=5, options=options_for(service))
    assert (trial.tensor("weight").value(0) == value_of(0, size)).all()


def test_credentials_expire_in_the_middle_of_an_upload(service, container):
    """Credentials are valid for at most two seconds; none is used later."""
    container.mint.lifetime = 2
    service.fail(late(0.7), "UploadPart", times=9)
    upload(service, 9)
    assert len({request.access_key for request in service.asked("UploadPart")}) >= 2
    ends = {minted.access_key: minted.expires_at for minted in container.mint.made}
    assert all(request.signed_at <= ends[request.access_key] for request in service.requests)
    assert len(service.asked("UploadPart")) == 10


def test_credentials_are_refused_in_the_middle_of_an_upload(service, container):
    def expire(request, serve):
        service.expired.add("SHORT0")
        return serve()

    service.fail(expire, "UploadPart", skip=2)
    upload(service, 5)
    used = {request.access_key for request in service.asked("UploadPart")}
    assert used == {"SHORT0", "SHORT1"}
    (completed,) = service.asked("CompleteMultipartUpload")
    assert completed.access_key == "SHORT1"
    # Requests in flight were repeated once.
    assert len(service.asked("UploadPart")) <= 6 + 3
