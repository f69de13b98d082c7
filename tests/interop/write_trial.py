"""Writes a trial with a package called smdebug, tensor by tensor.

Runs with the original library and with this one, and uses only functions of both.
usage: python write_trial.py TRIAL
"""

import os
import sys

import numpy as np
from smdebug import ReductionConfig, SaveConfig, SaveConfigMode, modes
from smdebug.core.access_layer import training_has_ended
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.writer import FileWriter

WORKERS = ("worker_0", "worker_1")
WHEN = 1600000000.25


def values(step):
    """Returns tensors of every type that the original reads correctly."""
    counted = np.arange(6).reshape(2, 3) + step
    named = {f"types/{name}": counted.astype(name) for name in READABLE}
    return {
        **named,
        "shapes/scalar": np.array(2.5),
        "shapes/fortran": np.asfortranarray(counted.astype("f4")),
        "shapes/strided": np.arange(24.0).reshape(4, 6)[::2, ::-3],
        "shapes/deep": np.zeros((1, 2, 1, 3, 1), "f4"),
        "text": np.array(["foo", "b\u00e4r", 'a "quoted" \\ text']),
        "number": 0.5,
        "list": [1, 2, 3],
        "truth": True,
        "nan": np.array([np.nan, np.inf, -np.inf, -0.0]),
        'name with spaces, \u00fcmlauts & "quotes":0': np.ones(1),
    }


READABLE = ["float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex128"]


def write_collections(path):
    manager = CollectionManager()
    manager.add("default")
    manager.get("default").include("^types/")
    manager.get("default").tensor_names = ["b", "a"]
    special = Collection(
        "special",
        include_regex=["shapes", "\\\\d+"],
        reduction_config=ReductionConfig(["min"], ["max"], ["l1"], ["l2"], save_shape=True),
        save_config=SaveConfig({modes.EVAL: SaveConfigMode(save_interval=3, save_steps=[1])}),
    )
    manager.add(special)
    manager.set_num_workers(len(WORKERS))
    for worker in WORKERS:
        manager.export(path, f"{worker}_collections.json")


def write_steps(path):
    counts = {mode: 0 for mode in modes}
    for step, mode in enumerate([modes.TRAIN, modes.EVAL, modes.TRAIN, modes.PREDICT]):
        for worker in WORKERS[: 1 if step == 2 else 2]:
            with FileWriter(path, worker=worker, step=step) as writer:
                for name, value in values(step).items():
                    writer.write_tensor(
                        value, name, mode=mode, mode_step=counts[mode], timestamp=WHEN
                    )
                writer.write_shape("only a shape", (4, 5), mode, counts[mode], "framework/name:0")
        counts[mode] += 1
    for step in (1999, 2000):
        for worker in WORKERS:
            with FileWriter(path, worker=worker, step=step) as writer:
                writer.write_tensor(np.ones(2), "late", timestamp=WHEN)


if __name__ == "__main__":
    os.environ.pop("TRAINING_JOB_NAME", None)
    write_collections(sys.argv[1])
    write_steps(sys.argv[1])
    training_has_ended(sys.argv[1])
