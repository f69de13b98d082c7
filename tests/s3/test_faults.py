"""Tests recording and reading while the service or the network fails."""

from __future__ import annotations

import contextlib
import re
import time

import numpy as np
import pytest
from fault_server import (
    BUCKET,
    SECRET,
    TOKEN,
    URL,
    Answer,
    FaultServer,
    altered,
    cut,
    error,
    half_a_head,
    hook_to,
    listing,
    lost,
    open_trial,
    record,
    reset,
    running,
    save_step,
    silence,
    slow,
    text,
    value_of,
)

import smdebug as smd
from smdebug.exceptions import MissingCollectionFiles, SMDebugConnectionError, SMDebugError

ALWAYS = float("inf")
EVENTS, INDEX = "/events/", "/index/"
STORMS = {
    "InternalError": error(500, "InternalError"),
    "500 without body": error(500),
    "502": error(502),
    "503 without body": error(503),
    "504": error(504),
    "RequestTimeout": error(400, "RequestTimeout"),
    "SlowDown": error(503, "SlowDown"),
    "reset": reset,
    "lost answer": lost,
    "half a head": half_a_head,
}
PART = 8 << 20
LARGE = PART // 4 * 3  # elements of float32: two and a half parts, including the framing


@pytest.fixture
def service():
    yield from running()


@pytest.fixture(autouse=True)
def no_secret_is_printed(said):
    """Includes the log at the level debug."""
    yield
    output = said()
    assert SECRET not in output
    assert TOKEN not in output


def refused(action, *arguments, **named) -> SMDebugError:
    """Runs an action that must fail, and returns its error."""
    with pytest.raises((SMDebugError, MemoryError)) as caught:
        action(*arguments, **named)
    said = f"{caught.value} {caught.value!r}"
    assert SECRET not in said and TOKEN not in said
    return caught.value


def weights(trial, size: int = 1000) -> list[int]:
    """Reads all steps, checks their values, and returns their numbers."""
    steps = trial.steps()
    for step in steps:
        np.testing.assert_array_equal(trial.tensor("weight").value(step), value_of(step, size))
    return steps


def closed(hook: smd.Hook) -> SMDebugError | None:
    try:
        hook.close()
    except SMDebugError as failure:
        return failure
    return None


def finished(hook: smd.Hook, steps: int, size: int = 1000) -> SMDebugError | None:
    """Saves steps, closes the hook, and returns the first reported error."""
    reported = [save_step(hook, size) for _ in range(steps)]
    return next(filter(None, [*reported, closed(hook)]), None)


# ---- storms ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", STORMS)
def test_storms_while_recording_are_survived(service, name):
    service.fail(STORMS[name], "PutObject", EVENTS, times=2)
    service.fail(STORMS[name], "PutObject", INDEX)
    record(service, 3)
    assert service.most_attempts() <= 3
    assert weights(open_trial(service)) == [0, 1, 2]


@pytest.mark.parametrize("name", STORMS)
def test_storms_while_reading_are_survived(service, name):
    record(service, 2)
    for operation in ("HeadObject", "ListObjectsV2", "GetObject"):
        service.fail(STORMS[name], operation)
    service.requests.clear()
    trial = open_trial(service)
    service.fail(STORMS[name], "GetObject", EVENTS)
    assert weights(trial) == [0, 1]


def test_attempts_are_limited(service):
    service.fail(error(500, "InternalError"), "PutObject", "000000001_worker_0.tfevents", ALWAYS)
    hook = hook_to(service)
    failure = finished(hook, 3)
    assert failure.code == "NETWORK"
    assert "InternalError" in str(failure) and "000000001_worker_0" in str(failure)
    assert hook.count("steps_written") == 2
    assert hook.count("steps_failed") == 1
    assert service.most_attempts() == 3
    assert weights(open_trial(service)) == [0, 2]


def test_the_number_of_attempts_is_an_option(service):
    service.fail(error(500), "HeadObject", times=ALWAYS)
    assert refused(hook_to, service, s3_max_attempts="1").code == "NETWORK"
    assert len(service.requests) == 1
    assert refused(hook_to, service, s3_max_attempts="5").code == "NETWORK"
    assert len(service.requests) == 6


def test_throttling_has_its_own_code(service):
    service.fail(error(503, "SlowDown"), "ListObjectsV2", times=ALWAYS)
    failure = refused(open_trial, service, s3_max_attempts="1")
    assert failure.code == "THROTTLED"
    assert "save less often" in str(failure)


def test_retry_after_is_respected(service):
    service.fail(error(503, "SlowDown", x_amz_retry_after="1500"), "PutObject", EVENTS)
    record(service, 1)
    first, second = service.asked("PutObject", EVENTS)
    assert 1.5 <= second.at - first.at < 5


def test_other_refusals_are_not_repeated(service):
    record(service, 1)
    service.fail(error(403, "AccessDenied"), "ListObjectsV2", times=ALWAYS)
    failure = refused(open_trial, service)
    assert failure.code == "PERMISSION"
    assert "policy" in str(failure) and BUCKET in str(failure)
    assert len(service.asked("ListObjectsV2")) == 1


# ---- bodies ---------------------------------------------------------------------------


def test_a_cut_value_is_resumed_at_the_break(service):
    record(service, 1, size=100_000)
    trial = open_trial(service)
    trial.steps()
    service.fail(cut(150_000), "GetObject", EVENTS)
    service.fail(cut(50_000), "GetObject", EVENTS)
    np.testing.assert_array_equal(trial.tensor("weight").value(0), value_of(0, 100_000))
    ranges = [request.headers["range"] for request in service.asked("GetObject", EVENTS)]
    first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", ranges[0]).groups())
    assert last - first >= 400_000
    assert ranges[1:] == [f"bytes={first + n}-{last}" for n in (150_000, 200_000)]


def test_a_cut_index_or_listing_is_requested_again(service):
    record(service, 1)
    service.fail(cut(10), "GetObject", INDEX)
    service.fail(cut(60), "ListObjectsV2")
    service.fail(cut(5), "GetObject", "collections")
    assert weights(open_trial(service)) == [0]


def test_a_slow_value_is_resumed_where_it_stalled(service):
    record(service, 1, size=20_000)
    trial = open_trial(service, s3_stall_seconds="0.4")
    trial.steps()
    service.fail(slow(piece=50, pause=0.05), "GetObject", EVENTS)
    begun = time.monotonic()
    np.testing.assert_array_equal(trial.tensor("weight").value(0), value_of(0, 20_000))
    assert time.monotonic() - begun < 5
    first, second = [r.headers["range"] for r in service.asked("GetObject", EVENTS)]
    assert int(second[6:].split("-")[0]) > int(first[6:].split("-")[0])


def test_a_body_that_always_stalls_is_an_error(service):
    record(service, 1, size=50_000)
    trial = open_trial(service, s3_stall_seconds="0.3")
    trial.steps()
    service.fail(slow(piece=20, pause=0.1), "GetObject", EVENTS, times=ALWAYS)
    begun = time.monotonic()
    assert refused(trial.tensor("weight").value, 0).code == "TIMEOUT"
    assert time.monotonic() - begun < 5
    assert len(service.asked("GetObject", EVENTS)) == 3


def test_no_answer_at_all(service):
    record(service, 1)
    service.fail(silence, "GetObject|ListObjectsV2|HeadObject", times=1)
    assert weights(open_trial(service, s3_first_byte_seconds="0.2")) == [0]
    service.fail(silence, times=ALWAYS)
    begun = time.monotonic()
    failure = refused(open_trial, service, s3_first_byte_seconds="0.2")
    assert failure.code == "TIMEOUT"
    assert "no response within 200 ms" in str(failure)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "change",
    [
        {"status": 200},
        {"headers": {"Content-Range": "bytes 7-99/100000"}},
        {"headers": {}},
        {"body": b"short", "headers": {"Content-Range": "bytes 24-28/29"}},
        {"body": bytes(1 << 20)},
    ],
    ids=["200", "another range", "no range", "object cut", "too long"],
)
def test_an_answer_with_another_range(service, change):
    record(service, 1)
    trial = open_trial(service)
    trial.steps()
    service.fail(altered(lambda a: a.__dict__.update(change)), "GetObject", EVENTS, times=ALWAYS)
    assert refused(trial.tensor("weight").value, 0).code == "CORRUPT_DATA"
    service.heal()
    np.testing.assert_array_equal(trial.tensor("weight").value(0), value_of(0))


def test_an_object_that_ends_before_the_value(service):
    record(service, 1)
    trial = open_trial(service)
    trial.steps()
    (name,) = [key for key in service.objects if EVENTS in key]
    for kept in (2000, 10):
        service.objects[name] = service.objects[name][:kept]
        assert refused(trial.tensor("weight").value, 0).code == "CORRUPT_DATA"
    del service.objects[name]
    assert refused(trial.tensor("weight").value, 0).code in ("NOT_FOUND", "VALUE_UNAVAILABLE")


def test_a_damaged_value_is_not_returned(service):
    def damage(answer: Answer) -> None:
        answer.body = answer.body[:500] + bytes([answer.body[500] ^ 1]) + answer.body[501:]

    record(service, 1)
    trial = open_trial(service)
    trial.steps()
    service.fail(altered(damage), "GetObject", EVENTS)
    assert refused(trial.tensor("weight").value, 0).code == "CORRUPT_DATA"


def test_a_wrong_checksum_is_found_and_the_text_requested_again(service):
    record(service, 2)
    wrong = altered(lambda answer: answer.headers.update({"x-amz-checksum-crc32c": "AAAAAA=="}))
    service.fail(wrong, "GetObject", INDEX + ".*00_worker", times=1)
    assert weights(open_trial(service)) == [0, 1]
    service.fail(wrong, "GetObject", INDEX + ".*00_worker", times=ALWAYS)
    trial = open_trial(service)
    failure = refused(trial.steps)
    assert failure.code == "CORRUPT_DATA" and "checksum" in str(failure)
    assert weights(trial) == [1]


@pytest.mark.parametrize(
    "fault",
    [
        error(404, "NoSuchKey"),
        error(403, "AccessDenied"),
        error(500, "InternalError"),
        text("{"),
        text(""),
    ],
    ids=["missing", "denied", "500", "no JSON", "empty"],
)
def test_a_step_with_an_unreadable_index_appears_at_the_next_refresh(service, fault):
    hook = hook_to(service)
    for _ in range(3):
        save_step(hook)
    hook.flush()
    service.fail(fault, "GetObject", INDEX + ".*01_worker", times=3)
    trial = open_trial(service)
    seen: list[int] = []
    for _ in range(5):
        try:
            seen = trial.steps()
        except SMDebugError as failure:
            assert "000000000001_worker_0.json" in str(failure)
        if seen == [0, 1, 2]:
            break
    assert weights(trial) == [0, 1, 2]
    hook.close()


# ---- listings -------------------------------------------------------------------------


def page(body: bytes):
    return lambda request, serve: Answer(200, body)


BAD_LISTINGS = {
    "repeated token": page(listing(["run/collections/a"], "same")),
    "repeated token, no keys": page(listing([], "same")),
    "truncated, no token": page(listing(["run/collections/a"], "", truncated=True)),
    "404": error(404, "NoSuchKey"),
    "404 without body": error(404),
    "garbage": text("\x00\x01 this is no XML <<<"),
    "empty": text(""),
    "HTML": text("<html><body>Welcome to the hotel</body></html>"),
    "DTD": text('<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult>&a;</ListBucketResult>'),
    "cut XML": text("<ListBucketResult><Contents><Key>run/coll"),
    "bombs": text("<a>" * 100_000),
    "large header": error(200, x_padding="x" * 90_000),
    "many headers": error(200, **{f"x_padding_{n}": "x" for n in range(600)}),
}


@pytest.mark.parametrize("name", BAD_LISTINGS)
def test_a_bad_listing_is_an_error_never_empty_never_endless(service, name):
    record(service, 1)
    before = len(service.requests)
    service.fail(BAD_LISTINGS[name], "ListObjectsV2", times=ALWAYS)
    begun = time.monotonic()
    failure = refused(open_trial, service)
    assert failure.code in ("CORRUPT_DATA", "NOT_FOUND", "NETWORK")
    assert f"s3://{BUCKET}" in str(failure)
    assert time.monotonic() - begun < 3
    assert len(service.requests) - before <= 5


def test_endless_pages_without_keys_are_an_error(service):
    record(service, 1)

    def fault(request, serve):
        return Answer(200, listing([], f"token {len(service.requests)}"))

    service.fail(fault, "ListObjectsV2", times=ALWAYS)
    assert refused(open_trial, service).code == "CORRUPT_DATA"
    assert len(service.asked("ListObjectsV2")) <= 1100


def test_some_pages_without_keys_are_allowed(service):
    record(service, 2)
    for token in ("run/", "run/a", "run/c"):
        service.fail(page(listing([], token)), "ListObjectsV2")
    assert weights(open_trial(service)) == [0, 1]


@pytest.mark.parametrize("fault", [error(500), error(404, "NoSuchKey"), reset, text("")])
def test_a_missing_page_loses_no_step(service, fault):
    record(service, 25)
    service.page_size = 10
    # Opening lists the collections, then the first page of steps.
    service.fail(fault, "ListObjectsV2", skip=2, times=ALWAYS)
    trial = open_trial(service)
    assert refused(trial.steps).code in ("NETWORK", "NOT_FOUND", "CORRUPT_DATA")
    service.heal()
    assert trial.steps() == list(range(25))


# ---- large objects --------------------------------------------------------------------


@pytest.mark.parametrize(
    "answers, reason",
    [
        (error(200, "InternalError"), "InternalError"),
        (error(200, "AccessDenied"), "AccessDenied"),
        (error(500, "InternalError"), "InternalError"),
        (text("<Error></Error>"), ""),
        (text(""), ""),
        (text("<CompleteMultipartUploadRes"), ""),
    ],
    ids=["late 500", "late 403", "500", "no code", "empty", "cut"],
)
def test_an_upload_that_does_not_complete_is_never_a_success(service, answers, reason):
    service.fail(answers, "CompleteMultipartUpload", times=ALWAYS)
    hook = hook_to(service)
    failure = finished(hook, 1, LARGE)
    assert failure is not None and reason in str(failure)
    assert hook.count("steps_failed") == 1
    assert len(service.asked("CompleteMultipartUpload")) == (1 if reason == "AccessDenied" else 3)
    assert service.uploads == {}
    assert not service.asked("PutObject", INDEX)


@pytest.mark.parametrize(
    "operation, fault",
    [
        ("CompleteMultipartUpload", error(200, "InternalError")),
        ("CompleteMultipartUpload", text("")),
        ("CompleteMultipartUpload", lost),
        ("CreateMultipartUpload", error(503)),
        ("UploadPart", reset),
        ("UploadPart", lost),
        ("UploadPart", error(400, "RequestTimeout")),
    ],
)
def test_an_upload_in_parts_survives(service, operation, fault):
    service.fail(fault, operation)
    record(service, 1, size=LARGE)
    assert service.most_attempts() <= 3
    assert service.uploads == {}
    assert weights(open_trial(service), LARGE) == [0]


@pytest.mark.parametrize(
    "fault",
    [error(500), altered(lambda answer: answer.headers.pop("ETag"))],
    ids=["500", "no ETag"],
)
def test_an_upload_that_fails_leaves_no_parts(service, fault):
    service.fail(fault, "UploadPart", times=ALWAYS)
    hook = hook_to(service)
    assert finished(hook, 1, LARGE) is not None
    assert len(service.asked("AbortMultipartUpload")) == 1
    assert service.uploads == {} and not [key for key in service.objects if EVENTS in key]


def test_an_upload_without_a_number_is_an_error(service):
    service.fail(text("<InitiateMultipartUploadResult/>"), "CreateMultipartUpload", times=ALWAYS)
    hook = hook_to(service)
    assert finished(hook, 1, LARGE).code == "CORRUPT_DATA"
    assert not service.asked("UploadPart")


# ---- outage ---------------------------------------------------------------------------


def test_training_continues_without_the_service(service):
    hook = hook_to(service, queue_bytes=str(4 << 20), queue_policy="drop")
    assert save_step(hook) is None
    hook.flush()
    service.stop()
    longest, reported = 0.0, []
    for _ in range(40):
        begun = time.monotonic()
        reported.append(save_step(hook, 100_000))
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.03)
        assert hook.count("bytes_queued") <= 5 << 20
    assert longest < 0.5
    service.start()
    begun = time.monotonic()
    while hook.count("steps_written") < 2:
        save_step(hook)
        time.sleep(0.05)
        assert time.monotonic() - begun < 25
    closed(hook)
    lost_ones = hook.count("steps_failed") + hook.count("steps_dropped")
    assert hook.count("steps_failed") > 0
    assert {failure.code for failure in reported if failure} <= {"NETWORK", "STEP_DROPPED"}
    trial = open_trial(service)
    assert len(trial.steps()) == hook.count("steps_written") == int(hook.step) + 1 - lost_ones


def test_flushing_reports_a_service_that_does_not_answer(service):
    hook = hook_to(service, s3_first_byte_seconds="0.3")
    service.fail(silence, "PutObject", times=ALWAYS)
    save_step(hook)
    failure = refused(hook.flush, 60)
    assert failure.code == "TIMEOUT"
    assert isinstance(failure, SMDebugConnectionError)  # not a timeout after 60 s
    service.heal()
    save_step(hook)
    hook.close()
    assert weights(open_trial(service)) == [1]


def test_an_outage_makes_at_most_three_times_the_requests(service):
    hook = hook_to(service)
    save_step(hook)
    hook.flush()
    before = len(service.requests)
    service.fail(error(503), times=ALWAYS)
    for _ in range(60):
        save_step(hook)
    try:
        hook.flush(30)
    except SMDebugError as failure:
        assert failure.code == "NETWORK"
    # The budget of 500 pays for 35 retries; steps without them fail at the first answer.
    assert len(service.requests) - before <= 60 + 500 // 14
    assert hook.count("steps_failed") == 60
    service.heal()
    assert save_step(hook) is None
    hook.close()
    assert weights(open_trial(service)) == [0, 61]


def test_an_outage_at_the_first_step_does_not_make_the_trial_unreadable(service):
    hook = hook_to(service)
    service.fail(error(500), "PutObject", times=ALWAYS)
    save_step(hook)
    while not service.asked("PutObject", "collections") or hook.count("steps_failed") < 1:
        time.sleep(0.01)
    with contextlib.suppress(SMDebugError):
        hook.flush()
    service.heal()
    save_step(hook)
    hook.close()
    assert weights(open_trial(service)) == [1]
