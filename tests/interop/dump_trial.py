"""Prints what a package called smdebug reads from a trial, as JSON.

Runs with the original library and with this one, and uses only what both offer.
usage: python dump_trial.py TRIAL
"""

import json
import sys

import numpy as np
from smdebug import modes
from smdebug.trials import create_trial


def attempt(function):
    """What `function` returns, or the name of the exception it raises."""
    try:
        return function()
    except Exception as error:
        return {"error": type(error).__name__}


def describe(value):
    array = np.asarray(value)
    content = array.tolist() if array.dtype.kind == "U" else array.tobytes().hex()
    kind = "text" if array.dtype.kind == "U" else str(array.dtype)
    return {"dtype": kind, "shape": list(array.shape), "content": content}


def place(trial, tensor, mode, step, worker):
    """Everything that is asked of a tensor at one place."""
    reductions = attempt(lambda: tensor.reduction_values(step, mode=mode, worker=worker))
    if "error" not in reductions:
        reductions = {
            f"{'abs_' if absolute else ''}{name}": describe(value)
            for (name, absolute), value in reductions.items()
        }
    value = attempt(lambda: describe(tensor.value(step, mode=mode, worker=worker)))
    return {
        "value": value,
        "shape": attempt(lambda: list(tensor.shape(step, mode=mode, worker=worker))),
        "reductions": reductions,
        "mean": value.get("dtype") != "text"
        and attempt(
            lambda: describe(tensor.reduction_value(step, "mean", mode=mode, worker=worker))
        ),
    }


def tensors(trial):
    found = {}
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for mode in modes:
            for step in tensor.steps(mode=mode, show_incomplete_steps=True):
                for worker in attempt(lambda: sorted(tensor.workers(step, mode))):
                    key = f"{name} {mode.name} {step} {worker}"
                    found[key] = place(trial, tensor, mode, step, worker)
    return found


def collections(trial):
    return {
        name: {
            "tensors": sorted(collection.tensor_names),
            "regexes": list(collection.include_regex or []),
            "found": trial.tensor_names(collection=name),
        }
        for name, collection in trial.collections().items()
    }


def dump(path):
    trial = create_trial(path)
    steps = trial.steps(show_incomplete_steps=True)
    return {
        "workers": trial.workers(),
        "steps": {mode.name: trial.steps(mode) for mode in modes},
        "all_steps": {mode.name: trial.steps(mode, show_incomplete_steps=True) for mode in modes},
        "modes": sorted(mode.name for mode in trial.modes()),
        "mode_steps": {step: [trial.mode(step).name, trial.mode_step(step)] for step in steps},
        "states": {step: trial.has_passed_step(step).name for step in range(max(steps) + 3)},
        "ended": trial.loaded_all_steps,
        "names": trial.tensor_names(),
        "names_at": {step: trial.tensor_names(step=step) for step in steps},
        "collections": collections(trial),
        "tensors": tensors(trial),
    }


if __name__ == "__main__":
    print("\n" + json.dumps(dump(sys.argv[1])))
