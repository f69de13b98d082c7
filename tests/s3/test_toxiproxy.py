"""Tests that a bad network leads to correct values or a clear error."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np
import pytest
from fault_server import hook_to, open_trial, save_step, value_of
from servers import new_bucket
from toxiproxy import BadNetwork

from smdebug.exceptions import SMDebugError

LIMITS = {
    "s3_connect_seconds": "1",
    "s3_first_byte_seconds": "0.5",
    "s3_stall_seconds": "0.5",
}
SIZE = 50_000  # elements of float32: 200 kB
NETWORK_CODES = {"NETWORK", "TIMEOUT"}


class Place:
    """A bucket behind a bad network; `near` reaches it without that network."""

    def __init__(self, server, network: BadNetwork, bucket: str) -> None:
        self.near = server
        self.network = network
        self.url = f"s3://{bucket}/run"

    def options(self, **more: str) -> dict[str, str]:
        return self.near.options(s3_endpoint=self.network.endpoint, **{**LIMITS, **more})


@pytest.fixture(scope="module")
def network(server):
    made = BadNetwork(server.endpoint)
    yield made
    made.close()


@pytest.fixture
def place(server, network, request):
    yield Place(server, network, new_bucket(server, request.node.name))
    network.heal()


def record_steps(place: Place, steps: int, size: int = SIZE, **options: str):
    """Records steps, and returns the closed hook and the reported errors."""
    hook = hook_to(place, place.url, **options)
    reported = [save_step(hook, size) for _ in range(steps)]
    try:
        hook.close()
    except SMDebugError as failure:
        reported.append(failure)
    return hook, [failure for failure in reported if failure]


def check_all(service, url: str, steps: int, size: int = SIZE) -> None:
    trial = open_trial(service, url)
    assert trial.steps() == list(range(steps))
    for step in range(steps):
        np.testing.assert_array_equal(trial.tensor("weight").value(step), value_of(step, size))


def check_those_written(place: Place, hook, size: int = SIZE) -> None:
    """Checks that every step is correct, or counted as failed."""
    trial = open_trial(place.near, place.url)
    steps = trial.steps()
    # If only the answer to the index was lost, the step exists and counts as failed.
    assert len(steps) >= hook.count("steps_written")
    assert hook.count("steps_written") + hook.count("steps_failed") == int(hook.step) + 1
    for step in steps:
        np.testing.assert_array_equal(trial.tensor("weight").value(step), value_of(step, size))


# ---- bad, but good enough -------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, settings",
    [
        ("latency", {"latency": 50, "jitter": 20}),
        ("slow_close", {"delay": 300}),
        ("bandwidth", {"rate": 1000}),
        ("slicer", {"average_size": 700, "size_variation": 300, "delay": 10}),
    ],
)
@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_a_slow_network_loses_nothing(place, kind, settings, stream):
    place.network.spoil(kind, stream, **settings)
    hook, reported = record_steps(place, 3)
    assert reported == [] and hook.count("steps_written") == 3
    check_all(place, place.url, 3)


def test_reading_many_steps_waits_for_them_together(place):
    hook, _ = record_steps(place, 30, 10)
    assert hook.count("steps_written") == 30
    with place.network.bad("latency", latency=100):
        begun = time.monotonic()
        assert len(open_trial(place, place.url).steps()) == 30
        # In sequence they would take 3 s longer.
        assert time.monotonic() - begun < 2.5


def test_connections_that_the_server_closes_early(place):
    """Each connection ends after some bytes, between answers or inside one."""
    record_steps(place, 3)
    with place.network.bad("limit_data", bytes=90_000):
        check_all(place, place.url, 3)


# ---- too bad for the moment -----------------------------------------------------------


@pytest.mark.parametrize(
    "kind, stream, settings",
    [
        ("reset_peer", "downstream", {"timeout": 0}),
        ("reset_peer", "upstream", {"timeout": 0}),
        ("limit_data", "downstream", {"bytes": 50}),
        ("limit_data", "upstream", {"bytes": 100}),
        ("timeout", "downstream", {"timeout": 0}),
        ("timeout", "upstream", {"timeout": 0}),
        ("timeout", "downstream", {"timeout": 100}),
    ],
)
def test_reading_fails_with_a_clear_error_and_continues_later(place, kind, stream, settings):
    record_steps(place, 2)
    trial = open_trial(place, place.url)
    assert trial.steps() == [0, 1]
    with place.network.bad(kind, stream=stream, **settings):
        begun = time.monotonic()
        with pytest.raises(SMDebugError) as caught:
            trial.tensor("weight").value(1)
        assert caught.value.code in NETWORK_CODES
        assert place.network.endpoint.partition("//")[2] in str(caught.value)
        with pytest.raises(SMDebugError) as caught:
            open_trial(place, place.url)
        assert caught.value.code in NETWORK_CODES
        assert time.monotonic() - begun < 6
    for step in (0, 1):
        np.testing.assert_array_equal(trial.tensor("weight").value(step), value_of(step, SIZE))


@pytest.mark.parametrize(
    "kind, stream, settings",
    [
        ("reset_peer", "downstream", {"timeout": 0}),
        ("limit_data", "upstream", {"bytes": 100_000}),
        ("timeout", "upstream", {"timeout": 0}),
    ],
)
def test_recording_continues_and_counts_lost_steps(place, kind, stream, settings):
    hook = hook_to(place, place.url)
    save_step(hook, SIZE)
    hook.flush()
    with place.network.bad(kind, stream=stream, **settings):
        for _ in range(3):
            begun = time.monotonic()
            save_step(hook, SIZE)
            assert time.monotonic() - begun < 0.5
        begun = time.monotonic()
        with suppress(SMDebugError):
            hook.flush()
        assert time.monotonic() - begun < 10
    assert hook.count("steps_failed") >= 1
    save_step(hook, SIZE)
    with suppress(SMDebugError):
        hook.close()
    assert hook.count("steps_written") >= 2
    check_those_written(place, hook)


@pytest.mark.parametrize(
    "kind, settings",
    [
        ("reset_peer", {"timeout": 20, "toxicity": 0.15}),
        ("limit_data", {"bytes": 150_000, "toxicity": 0.2}),
        ("timeout", {"timeout": 50, "toxicity": 0.15}),
    ],
)
def test_now_and_then_bad_both_ways(place, kind, settings):
    for stream in ("upstream", "downstream"):
        place.network.spoil(kind, stream, **settings)
    hook = None
    for _ in range(20):
        with suppress(SMDebugError):
            hook = hook_to(place, place.url)
            break
    for _ in range(12):
        save_step(hook, SIZE)
    with suppress(SMDebugError):
        hook.flush()
    place.network.heal()
    save_step(hook, SIZE)
    with suppress(SMDebugError):
        hook.close()
    check_those_written(place, hook)
    for stream in ("upstream", "downstream"):
        place.network.spoil(kind, stream, **settings)
    right = 0
    for _ in range(10):
        try:
            trial = open_trial(place, place.url)
            for step in trial.steps():
                np.testing.assert_array_equal(
                    trial.tensor("weight").value(step), value_of(step, SIZE)
                )
                right += 1
        except SMDebugError as failure:
            assert failure.code in NETWORK_CODES, failure
    assert right > 0


def test_parts_on_a_bad_network(place):
    """An upload in parts with broken connections is complete, or the object does not exist."""
    size = 5 << 20
    hook = hook_to(place, place.url)
    place.network.spoil("limit_data", "upstream", bytes=12_000_000)
    save_step(hook, size)
    with suppress(SMDebugError):
        hook.flush()
    place.network.heal()
    save_step(hook, size)
    with suppress(SMDebugError):
        hook.close()
    check_those_written(place, hook, size)
    bucket = place.url.split("/")[2]
    assert not place.near.client().list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_a_server_that_is_cut_off_and_comes_back(place):
    hook = hook_to(place, place.url)
    save_step(hook, SIZE)
    hook.flush()
    place.network.cut_off()
    for _ in range(5):
        begun = time.monotonic()
        save_step(hook, SIZE)
        assert time.monotonic() - begun < 0.5
    with suppress(SMDebugError):
        hook.flush()
    assert hook.count("steps_failed") == 5
    place.network.heal()
    begun = time.monotonic()
    while hook.count("steps_written") < 2:
        save_step(hook, SIZE)
        with suppress(SMDebugError):
            hook.flush()
        assert time.monotonic() - begun < 25
    with suppress(SMDebugError):
        hook.close()
    check_those_written(place, hook)
