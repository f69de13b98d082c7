"""The same seeded training, recorded by the original and by this package."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import signatures
import train
from smdebug import create_trial, modes

HERE = Path(__file__).parent

# Calls for the profiler, which is not supported.
OF_THE_PROFILER = {
    "Hook.has_default_configuration",
    "Hook.log_outstanding_timeline_metrics",
    "Hook.record_trace_events",
}


def original(*arguments):
    """Returns the output of the original's interpreter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    python = os.environ["SMDEBUG_MXNET_ORIGINAL_PYTHON"]
    done = subprocess.run(
        [python, "-W", "ignore", *arguments],
        env=environment, check=True, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Returns the folder of the original's trials, by case."""
    folder = tmp_path_factory.mktemp("original")
    original(HERE / "train.py", folder, *train.CASES)
    return folder


def facts(trial):
    return {
        "names": trial.tensor_names(),
        "workers": trial.workers(),
        "steps": {mode: trial.steps(mode) for mode in modes},
        "collections": {
            name: (sorted(collection.tensor_names), collection.include_regex)
            for name, collection in trial.collections().items()
        },
    }


def values(trial):
    """Returns every value and saved reduction, by tensor, mode, step and reduction."""
    found = {}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for mode in trial.modes():
            for step in tensor.steps(mode):
                reductions = tensor.reduction_values(step, mode)
                found.update({(name, mode, step, *key): reductions[key] for key in reductions})
                if not reductions:
                    found[name, mode, step] = tensor.value(step, mode)
    return found


@pytest.mark.parametrize("case", train.CASES)
def test_both_record_the_same(originals, out_dir, case):
    train.run(out_dir, case)
    original, ours = create_trial(str(originals / case)), create_trial(out_dir)
    assert facts(ours) == facts(original)
    expected, found = values(original), values(ours)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert (found[key].dtype, found[key].shape) == (value.dtype, value.shape), key
        # The original sums in single precision.
        np.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-5, err_msg=str(key))


def test_the_training_is_one(originals):
    """Checks that the comparisons are not empty."""
    trial = create_trial(str(originals / "everything"))
    assert len(trial.tensor_names()) > 20
    assert trial.steps(modes.TRAIN) == [0, 2, 4, 6] and trial.steps(modes.EVAL) == [0, 2, 3]
    weight = trial.tensor("net_dense1_weight")
    assert not np.array_equal(weight.value(0, modes.TRAIN), weight.value(6, modes.TRAIN))


def test_calls_are_the_same():
    theirs = json.loads(original(HERE / "signatures.py").splitlines()[-1])
    ours = signatures.signatures()
    for name in theirs.keys() - OF_THE_PROFILER:
        parameters = theirs[name]
        assert ours[name][: len(parameters)] == parameters, name
