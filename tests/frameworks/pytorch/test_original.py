"""The original and this library record equal trials of the same seeded trainings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

import numpy as np
import pytest
import signatures
import trainings
from conftest import Run, output_of

from smdebug import Trial, create_trial, modes
from smdebug.exceptions import TensorUnavailableForStep

NAMES = [training.__name__ for training in trainings.TRAININGS]
# Names that PyTorch and the profiler call, or only the hook itself.
NOT_FOR_USERS = {
    "Hook.backward_hook",
    "Hook.bhook",
    "Hook.count_parameters",
    "Hook.fhook",
    "Hook.forward_hook",
    "Hook.forward_pre_hook",
    "Hook.has_default_configuration",
    "Hook.log_outstanding_backward_stats_and_reset",
    "Hook.log_outstanding_forward_stats_and_reset",
    "Hook.log_outstanding_timeline_metrics",
    "Hook.log_trace_event",
    "Hook.record_trace_events",
    "Hook.reset_backward_module_profile_stats",
    "Hook.reset_forward_module_profile_stats",
}
DUMP = Path(__file__).parents[2] / "interop" / "dump_trial.py"
Place = Tuple[str, str, int]

# With PyTorch the original divides by n - 1 instead of n.  The value is the exponent of the ratio.
DIVIDED_BY_LESS = {"std": 0.5, "variance": 1.0}


@pytest.fixture(scope="module")
def trials(
    tmp_path_factory: pytest.TempPathFactory, original: Run, ours: Run
) -> Tuple[Path, Path]:
    """Returns the folders of the original's trials and of ours."""
    folder = tmp_path_factory.mktemp("trials")
    running = [
        run("trainings.py", folder / name) for name, run in (("theirs", original), ("ours", ours))
    ]
    for process in running:
        output_of(process)
    return folder / "theirs", folder / "ours"


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def collections(folder: Path) -> Dict[str, Any]:
    [file] = (folder / "collections" / "000000000").iterdir()
    assert file.name == "worker_0_collections.json"
    return json.loads(file.read_text())


def places(trial: Trial) -> Iterator[Place]:
    for name in trial.tensor_names():
        for mode in trial.modes():
            for step in trial.tensor(name).steps(mode):
                yield name, mode.name, step


def value(trial: Trial, place: Place) -> Any:
    """Returns the tensor's value; None if only reductions were saved."""
    name, mode, step = place
    try:
        return trial.tensor(name).value(step, modes[mode])
    except TensorUnavailableForStep:
        return None


def test_names_modes_and_steps(trials, name):
    theirs, ours = (create_trial(folder / name) for folder in trials)
    assert ours.tensor_names() == theirs.tensor_names()
    assert list(ours.modes()) == list(theirs.modes())
    assert ours.steps() == theirs.steps()
    for step in theirs.steps():
        assert ours.mode(step) is theirs.mode(step)
        assert ours.mode_step(step) == theirs.mode_step(step)
        assert ours.tensor_names(step=step) == theirs.tensor_names(step=step)
    assert sorted(places(ours)) == sorted(places(theirs))
    assert ours.workers() == theirs.workers() == ["worker_0"]


def test_values(trials, name):
    theirs, ours = (create_trial(folder / name) for folder in trials)
    for place in places(theirs):
        expected, found = value(theirs, place), value(ours, place)
        assert (found is None) == (expected is None), place
        if expected is not None:
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), place
            np.testing.assert_array_equal(found, expected, err_msg=str(place))


def test_reductions(trials):
    theirs, ours = (create_trial(folder / "reductions") for folder in trials)
    parameters = dict(trainings.Net().named_parameters())
    compared = 0
    for name, mode, step in places(theirs):
        expected = theirs.tensor(name).reduction_values(step, modes[mode])
        found = ours.tensor(name).reduction_values(step, modes[mode])
        assert set(found) == set(expected)
        for (kind, absolute), reduced in expected.items():
            elements = parameters[name.removeprefix("gradient/").removeprefix("Net_")].numel()
            factor = ((elements - 1) / elements) ** DIVIDED_BY_LESS.get(kind, 0)
            result = found[kind, absolute]
            assert (result.dtype, result.shape) == (reduced.dtype, (1,))
            assert result.item() == pytest.approx(reduced.item() * factor, rel=1e-4, abs=1e-7), (
                f"{name} {mode} {step} {kind} {absolute}"
            )
            compared += 1
    assert compared > 500


@pytest.mark.parametrize("name", ["everything", "reductions"])
def test_the_original_reads_ours(trials, name, original, ours):
    _, folder = trials
    said = [output_of(run(DUMP, folder / name)) for run in (original, ours)]
    theirs, mine = (json.loads(text.splitlines()[-1]) for text in said)
    for tensor in (*theirs["tensors"].values(), *mine["tensors"].values()):
        del tensor["mean"]  # computed: here from the tensor's elements, in double precision
    assert theirs == mine


def test_collections(trials, name):
    theirs, ours = (collections(folder / name) for folder in trials)
    assert {**ours["_meta"], "metadata": None} == {**theirs["_meta"], "metadata": None}
    # Others tell rules that read the trial later what the training did.
    told = {"frozen", "not_used", "once_frozen", "reset_gradients"}
    assert set(ours["collections"]) - told == set(theirs["collections"])
    for key, expected in theirs["collections"].items():
        found = ours["collections"][key]
        # The original's file holds the first steps; ours holds all steps.
        assert set(found.pop("tensor_names")) >= set(expected.pop("tensor_names"))
        assert found == expected


def test_calls_are_the_same(original):
    theirs = json.loads(output_of(original("signatures.py")).splitlines()[-1])
    ours = signatures.signatures()
    for name in theirs.keys() - NOT_FOR_USERS:
        parameters = theirs[name]
        assert ours[name][: len(parameters)] == parameters, name
