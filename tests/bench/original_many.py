"""Reads a trial with the original library, in its own interpreter; prints JSON: seconds a value.

usage: original_many.py FOLDER TENSORS STEPS
"""

import json
import logging
import os
import sys
import time

os.environ["SMDEBUG_LOG_LEVEL"] = "off"
os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"

from smdebug.trials import create_trial


def opened(path: str, tensors: int) -> list:
    trial = create_trial(path)
    trial.steps()
    return [trial.tensor(f"gradient/layer_{i}") for i in range(tensors)]


def values(path: str, tensors: int, steps: int) -> float:
    handles = opened(path, tensors)
    begin = time.perf_counter()
    for tensor in handles:
        assert len(tensor.values()) == steps
    return time.perf_counter() - begin


def value(path: str, tensors: int, steps: int) -> float:
    handles = opened(path, tensors)
    begin = time.perf_counter()
    for step in range(steps):
        for tensor in handles:
            tensor.value(step)
    return time.perf_counter() - begin


def main(path: str, tensors: int, steps: int) -> None:
    logging.disable(logging.CRITICAL)
    count = tensors * steps
    results = {
        "values": values(path, tensors, steps) / count,
        "value": value(path, tensors, min(steps, 100)) / (tensors * min(steps, 100)),
    }
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
