"""Tests that the client corrects region, clock and credentials, and explains what it cannot."""

from __future__ import annotations

import time

import pytest
from credential_servers import Container, Mint
from fault_server import (
    ACCESS,
    BUCKET,
    TOKEN,
    URL,
    FaultServer,
    error,
    hook_to,
    open_trial,
    record,
    running,
    save_step,
)

import smdebug as smd
from smdebug.exceptions import SMDebugError

ALWAYS = float("inf")
HOUR = 3600


@pytest.fixture
def service():
    yield from running()


@pytest.fixture(autouse=True)
def no_secret_is_printed(said):
    yield
    assert "SENTINEL" not in said()


def refused(action, *arguments, **named) -> SMDebugError:
    """Runs an action that must fail, and returns its error."""
    with pytest.raises(SMDebugError) as caught:
        action(*arguments, **named)
    assert "SENTINEL" not in f"{caught.value} {caught.value!r}"
    return caught.value


def examine(service, **options: str) -> dict[str, smd.doctor.Finding]:
    findings = smd.doctor.examine(URL, service.options(**options))
    assert "SENTINEL" not in " ".join(map(str, findings)) + repr(findings)
    return {finding.name: finding for finding in findings}


# ---- region ---------------------------------------------------------------------------


def moved(status: int, code: str, region: str = "eu-west-1", location: str = "") -> object:
    headers = {"x_amz_bucket_region": region, "location": location}
    return error(status, code, **{name: value for name, value in headers.items() if value})


@pytest.mark.parametrize(
    "fault",
    [
        moved(301, "PermanentRedirect"),
        moved(307, "TemporaryRedirect"),
        moved(301, ""),
        error(400, "AuthorizationHeaderMalformed", extra="<Region>eu-west-1</Region>"),
    ],
    ids=["301", "307", "301 without body", "400"],
)
@pytest.mark.parametrize("operation", ["ListObjectsV2", "PutObject", "GetObject"])
def test_the_region_is_corrected_once(service, fault, operation):
    record(service, 1)
    service.requests.clear()
    service.fail(fault, operation)
    assert {finding.code for finding in examine(service).values()} == {"OK"}
    first, second = service.asked(operation)[:2]
    assert (first.region, second.region) == ("us-east-1", "eu-west-1")
    assert first.key == second.key and first.body == second.body
    assert {r.region for r in service.requests[service.requests.index(second) :]} == {"eu-west-1"}


@pytest.mark.parametrize("fault", [moved(301, ""), moved(400, ""), moved(307, "")])
def test_the_region_is_corrected_by_a_head(service, fault):
    service.fail(fault, "HeadObject")
    record(service, 1)
    regions = [request.region for request in service.requests]
    assert regions[0] == "us-east-1" and set(regions[1:]) == {"eu-west-1"}


def test_a_service_of_one_region(service):
    service.region = "eu-central-1"
    record(service, 2)
    assert open_trial(service).steps() == [0, 1]
    assert examine(service)["list"].message.startswith("region eu-central-1")
    # Each of the three corrects it once; after a HEAD, a GET asks for the region.
    assert [request.region for request in service.requests].count("us-east-1") <= 5


def test_a_region_that_stays_wrong(service):
    service.fail(moved(301, "PermanentRedirect"), "ListObjectsV2", times=ALWAYS)
    failure = refused(open_trial, service)
    assert failure.code == "WRONG_REGION"
    assert "set the region to eu-west-1" in str(failure)
    assert len(service.asked("ListObjectsV2")) == 2


@pytest.mark.parametrize("region", ["", "evil.example/", "us-east-1.evil", "a b", "x" * 200])
def test_an_invalid_region_is_not_used(service, region):
    service.fail(moved(301, "PermanentRedirect", region), "ListObjectsV2", times=ALWAYS)
    assert refused(open_trial, service).code == "WRONG_REGION"
    assert {request.region for request in service.requests} == {"us-east-1"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_other_host_is_contacted(service, status):
    with FaultServer() as other:
        target = f"{other.endpoint}/{BUCKET}/run"
        for region in ("eu-west-1", ""):
            service.heal()
            service.fail(moved(status, "Elsewhere", region, target), times=ALWAYS)
            refused(open_trial, service)
            refused(hook_to, service)
        assert other.requests == [] and other.strange == []


# ---- clock ----------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [HOUR, -HOUR, 86400 * 3])
def test_a_wrong_clock_is_corrected_by_one_replay(service, offset):
    service.clock = offset
    with hook_to(service) as hook:
        assert save_step(hook) is None
    # The answer to a HEAD has only the date.
    first, second = service.requests[:2]
    assert [first.verb, second.verb] == ["HEAD", "HEAD"]
    assert abs(first.signed_at - time.time()) < 60
    assert abs(second.signed_at - (time.time() + offset)) < 60
    assert all(abs(r.signed_at - time.time() - offset) < 60 for r in service.requests[1:])
    assert len(service.requests) == 2 + 6
    assert open_trial(service).steps() == [0]


def test_the_doctor_finds_a_wrong_clock(service):
    service.clock = HOUR
    findings = examine(service)
    assert findings["clock"].code == "CLOCK_SKEWED"
    assert "behind" in findings["clock"].message and "chrony" in findings["clock"].message
    # The doctor continues after it.
    assert findings["remove"].code == "OK"
    dates = [request.signed_at for request in service.asked("ListObjectsV2")]
    assert len(dates) == 2 and abs(dates[1] - dates[0] - HOUR) < 60


@pytest.mark.parametrize("headers", [{"Date": ""}, {"Date": "yesterday"}, {}])
def test_a_clock_that_cannot_be_corrected(service, headers):
    service.fail(error(403, "RequestTimeTooSkewed", **headers), "ListObjectsV2", times=ALWAYS)
    failure = refused(open_trial, service)
    assert failure.code == "CLOCK_SKEWED"
    assert "this machine's clock is wrong" in str(failure)
    assert len(service.asked("ListObjectsV2")) == (1 if headers else 2)


def test_a_403_at_the_right_time_is_not_a_clock_error(service):
    service.fail(error(403), "HeadObject", times=ALWAYS)
    service.fail(error(403, "AccessDenied"), "GetObject", times=ALWAYS)
    assert refused(hook_to, service).code == "PERMISSION"
    assert len(service.asked("HeadObject")) == 1


# ---- expired credentials --------------------------------------------------------------


@pytest.fixture
def container(service, monkeypatch):
    """Serves the credentials ROTATED0, ROTATED1, ..."""
    with Container(Mint(service, "ROTATED")) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.uri)
        yield server


def without_keys(service) -> dict[str, str]:
    return {"s3_endpoint": service.endpoint, "s3_region": "us-east-1"}


@pytest.mark.parametrize("operation", ["HeadObject", "PutObject", "ListObjectsV2", "GetObject"])
def test_expired_credentials_are_renewed_and_the_request_repeated(service, container, operation):
    def expire(request, serve):
        service.expired.add(request.access_key)
        return serve()

    service.fail(expire, operation)
    options = without_keys(service)
    config = smd.SaveConfig(save_interval=1)
    with smd.Hook(URL, save_all=True, save_config=config, options=options) as hook:
        assert save_step(hook) is None
    assert smd.create_trial(URL, timeout=5, options=options).steps() == [0]
    # The first credentials of the hook and the trial, and the replacement of the expired ones.
    assert len(container.asked) == 3
    expired = next(iter(service.expired))
    most = 1 if operation != "PutObject" else 3  # includes other requests in flight
    tried = [request for request in service.asked(operation) if request.access_key == expired]
    assert 1 <= len(tried) <= most


def test_a_head_with_400_is_repeated_as_a_get(service, container):
    """S3 answers a HEAD with expired credentials like this."""
    options = without_keys(service)
    service.expired.add("ROTATED0")
    smd.Hook(URL, options=options).close()
    assert len(container.asked) == 2
    assert "run/training_job_end.ts" in service.objects


def test_credentials_that_stay_expired(service, container):
    service.fail(error(400, "ExpiredToken"), "ListObjectsV2", times=ALWAYS)
    failure = refused(smd.create_trial, URL, timeout=5, options=without_keys(service))
    assert failure.code == "CREDENTIALS_EXPIRED"
    assert "renew the credentials of container at 127.0.0.1" in str(failure)
    assert len(container.asked) == 2
    assert len(service.asked("ListObjectsV2")) == 2


def test_given_credentials_that_have_expired(service):
    service.tokens[ACCESS] = TOKEN
    service.expired.add(ACCESS)
    failure = refused(open_trial, service)
    assert failure.code == "CREDENTIALS_EXPIRED"
    assert "the given options" in str(failure)
    assert refused(hook_to, service).code == "CREDENTIALS_EXPIRED"
    assert examine(service)["list"].code == "CREDENTIALS_EXPIRED"
    # There are no other credentials, so no request is repeated.
    assert len(service.asked("ListObjectsV2")) == 1
    assert len(service.asked("HeadObject")) == 2


# ---- codes and words ------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, s3_code, code, remedy",
    [
        (403, "AccessDenied", "PERMISSION", "policy in docs/s3.md"),
        (403, "InvalidAccessKeyId", "CREDENTIALS_REFUSED", "check the credentials of"),
        (403, "SignatureDoesNotMatch", "CREDENTIALS_REFUSED", "secret is wrong"),
        (400, "ExpiredToken", "CREDENTIALS_EXPIRED", "renew the credentials"),
        (400, "InvalidToken", "CREDENTIALS_REFUSED", "check the credentials of"),
        (403, "RequestTimeTooSkewed", "CLOCK_SKEWED", "set it"),
        (301, "PermanentRedirect", "WRONG_REGION", "set the region"),
        (404, "NoSuchBucket", "BUCKET_NOT_FOUND", "check its name"),
        (503, "SlowDown", "THROTTLED", "save less often"),
        (500, "InternalError", "NETWORK", "HTTP 500"),
        (418, "Unheard", "IO", "Unheard"),
    ],
)
def test_each_refusal_has_a_code_and_a_remedy(service, status, s3_code, code, remedy):
    service.fail(error(status, s3_code), "ListObjectsV2", times=ALWAYS)
    failure = refused(open_trial, service, s3_max_attempts="1")
    assert failure.code == code
    assert f"s3://{BUCKET}" in str(failure) and remedy in str(failure)
    finding = examine(service, s3_max_attempts="1")["list"]
    assert finding.code == code and remedy in finding.message


@pytest.mark.parametrize(
    "operation, name", [("PutObject", "write"), ("GetObject", "read"), ("DeleteObject", "remove")]
)
def test_the_doctor_names_the_denied_operation(service, operation, name):
    service.fail(error(403, "AccessDenied"), operation, times=ALWAYS)
    findings = examine(service)
    assert list(findings)[-1] == name
    assert findings[name].code == "PERMISSION"


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidToken", "AccessDenied", "Whatever"])
def test_a_service_that_repeats_a_secret_is_not_quoted(service, code):
    service.tokens[ACCESS] = TOKEN

    def chatty(request, serve):
        said = request.headers["x-amz-security-token"]
        return error(403, code, f"{said} is no good", f"<Token-0>{said}</Token-0>")(request, serve)

    service.fail(chatty, times=ALWAYS)
    refused(open_trial, service)
    assert list(examine(service))[-1] == "list"
    refused(hook_to, service)


def test_messages_of_a_service_stay_on_one_line(service):
    long = "one\ntwo\x1b[31m\u2028" + "x" * 5000
    service.fail(error(403, "AccessDenied", long), "ListObjectsV2", times=ALWAYS)
    said = str(refused(open_trial, service))
    assert "\n" not in said and "\x1b" not in said
    assert len(said) < 600


def test_options_show_no_secret(service):
    service.tokens[ACCESS] = TOKEN
    hook = hook_to(service)
    save_step(hook)
    hook.flush()
    trial = open_trial(service)
    shown = [repr(hook), str(hook), repr(trial), str(trial), str(vars(trial)), repr(hook.logger)]
    assert "SENTINEL" not in " ".join(shown)
    hook.close()
    assert not [key for key, body in service.objects.items() if b"SENTINEL" in body]


def test_half_a_pair_of_keys(service):
    failure = refused(open_trial, service, s3_secret_key="")
    assert failure.code == "INVALID_ARGUMENT"
