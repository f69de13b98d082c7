"""Jobs of several workers that do not end at the same time."""

import os
import time
from pathlib import Path

import pytest
from helpers import EVERY_STEP
from smdebug import Hook, create_trial, modes
from smdebug.exceptions import NoMoreData, SMDebugRuntimeError


def worker(out_dir, number, count=2):
    return Hook(
        out_dir,
        save_config=EVERY_STEP,
        save_all=True,
        include_workers="all",
        worker=f"worker_{number}",
        num_workers=count,
    )


def save(hook, steps):
    for step in steps:
        with hook.step(modes.TRAIN):
            hook.save("w", [float(step)])
    hook.flush()


@pytest.fixture
def two(out_dir):
    """The hooks of two workers with three steps each."""
    hooks = [worker(out_dir, number) for number in (0, 1)]
    for hook in hooks:
        save(hook, range(3))
    return hooks


def test_a_trial_ends_with_its_last_worker(out_dir, two):
    first, second = two
    trial = create_trial(out_dir)
    first.close()
    trial.steps()
    assert not trial.loaded_all_steps
    save(second, range(3, 6))
    trial.steps()
    assert trial.steps(show_incomplete_steps=True) == [0, 1, 2, 3, 4, 5]
    assert not trial.loaded_all_steps
    assert not create_trial(out_dir).loaded_all_steps
    second.close()
    trial.steps()
    assert trial.loaded_all_steps
    assert trial.steps() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(NoMoreData):
        trial.wait_for_steps([6])
    assert create_trial(out_dir).loaded_all_steps


def test_a_worker_that_was_killed_is_not_waited_for(out_dir, two):
    first, killed = two
    trial = create_trial(out_dir)
    first.close()
    long_ago = time.time() - 301
    os.utime(Path(out_dir) / "training_job_end.ts", (long_ago, long_ago))
    trial.steps()
    assert trial.loaded_all_steps
    assert create_trial(out_dir).loaded_all_steps
    killed.close()


def test_a_worker_may_begin_after_another_has_ended(out_dir):
    with worker(out_dir, 0) as first:
        save(first, range(2))
    late = worker(out_dir, 1)
    save(late, range(2))
    assert not create_trial(out_dir).loaded_all_steps
    late.close()
    assert create_trial(out_dir).workers() == ["worker_0", "worker_1"]
    for number in (0, 1):
        with pytest.raises(SMDebugRuntimeError, match="a finished trial is already there"):
            worker(out_dir, number)


def test_one_worker_notes_no_end(out_dir):
    with worker(out_dir, 0, count=1) as hook:
        save(hook, range(2))
    text = (Path(out_dir) / "collections/000000000/worker_0_collections.json").read_text()
    assert "has_ended" not in text
    assert create_trial(out_dir).loaded_all_steps


@pytest.mark.parametrize(("name", "is_told"), [("trainer", True), ("worker_1", False)])
def test_a_worker_that_records_nothing_is_told(out_dir, name, is_told, caplog):
    with Hook(out_dir, save_all=True, worker=name) as hook:
        assert not hook.is_recording
    told = f"the worker '{name}' records nothing: include_workers is 'one', which is 'worker_0'"
    assert (told in caplog.text) == is_told
