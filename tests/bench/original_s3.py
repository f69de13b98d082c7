"""Records and reads a trial in S3 with the original; prints the seconds as JSON.

usage: python original_s3.py s3://bucket/prefix STEPS TENSORS ELEMENTS
"""

import json
import logging
import os
import sys
import time

os.environ["SMDEBUG_LOG_LEVEL"] = "off"
os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"

import numpy as np
from smdebug.core.access_layer.utils import training_has_ended
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.modes import ModeKeys
from smdebug.core.writer import FileWriter
from smdebug.trials import create_trial


def record(url: str, steps: int, tensors: int, elements: int) -> None:
    manager = CollectionManager()
    manager.set_num_workers(1)
    manager.export(url, "worker_0_collections.json")
    for step in range(steps):
        writer = FileWriter(trial_dir=url, step=step, worker="worker_0")
        for i in range(tensors):
            array = np.full(elements, i, np.float32)
            writer.write_tensor(tdata=array, tname=f"layer_{i}", mode=ModeKeys.GLOBAL,
                                mode_step=step)
        writer.close()
    training_has_ended(url)


def read(url: str) -> None:
    trial = create_trial(url)
    for name in trial.tensor_names():
        tensor = trial.tensor(name)
        for step in tensor.steps():
            tensor.value(step)


def main(url: str, *sizes: str) -> None:
    logging.disable(logging.CRITICAL)
    begin = time.perf_counter()
    record(url, *map(int, sizes))
    recorded = time.perf_counter()
    read(url)
    print(json.dumps({"record": recorded - begin, "read": time.perf_counter() - recorded}))


if __name__ == "__main__":
    main(*sys.argv[1:])
