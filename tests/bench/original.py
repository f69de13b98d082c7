"""Runs the same work with the original library, in its own interpreter; prints JSON."""

import json
import logging
import os
import shutil
import sys
import time

os.environ["SMDEBUG_LOG_LEVEL"] = "off"
os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"

import numpy as np
from smdebug.core.access_layer.utils import training_has_ended
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.modes import ModeKeys
from smdebug.core.reductions import get_numpy_reduction
from smdebug.core.writer import FileWriter
from smdebug.trials import create_trial

KIB, MIB = 1 << 10, 1 << 20


def record(path: str, size: int, tensors: int, steps: int) -> float:
    """Returns the seconds to record this many float32 tensors of `size` bytes."""
    shutil.rmtree(path, ignore_errors=True)
    array = np.full(size // 4, 1.5, np.float32)
    names = [f"gradient/layer_{i}" for i in range(tensors)]
    begin = time.perf_counter()
    for step in range(steps):
        writer = FileWriter(trial_dir=path, step=step, worker="worker_0")
        for name in names:
            writer.write_tensor(tdata=array, tname=name, mode=ModeKeys.GLOBAL, mode_step=step)
        writer.close()
    return time.perf_counter() - begin


def finish(path: str) -> None:
    manager = CollectionManager()
    manager.set_num_workers(1)
    manager.export(path, "worker_0_collections.json")
    training_has_ended(path)


def open_trial(path: str) -> float:
    begin = time.perf_counter()
    create_trial(path).steps()
    return time.perf_counter() - begin


def read(path: str, tensors: int, steps: int) -> float:
    trial = create_trial(path)
    handles = [trial.tensor(f"gradient/layer_{i}") for i in range(tensors)]
    begin = time.perf_counter()
    for step in range(steps):
        for tensor in handles:
            tensor.value(step)
    return time.perf_counter() - begin


def reduce_all(elements: int) -> float:
    array = np.tile(np.linspace(-1, 1, 1000, dtype=np.float32), elements // 1000 + 1)[:elements]
    begin = time.perf_counter()
    for name in ("min", "max", "mean", "std", "variance", "sum", "prod", "l1", "l2"):
        for absolute in (False, True):
            get_numpy_reduction(name, array, absolute)
    return time.perf_counter() - begin


def main(folder: str) -> None:
    logging.disable(logging.CRITICAL)
    path = os.path.join(folder, "original")
    results = {}
    results["record_1KiB"] = 100 * 30 / record(path, KIB, 100, 30)
    finish(path)
    results["read_1KiB"] = 100 * 30 / read(path, 100, 30)
    results["record_1MiB"] = 16 * 16 * MIB / record(path, MIB, 16, 16)
    finish(path)
    results["read_1MiB"] = 16 * 16 * MIB / read(path, 16, 16)
    results["record_128MiB"] = 4 * 128 * MIB / record(path, 128 * MIB, 1, 4)
    record(path, 64, 100, 2000)
    finish(path)
    results["open_2000x100"] = open_trial(path)
    results["reduce_16MiB"] = 16 * MIB / reduce_all(4 * MIB)
    shutil.rmtree(path)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1])
