"""Writes or reads a small trial in S3 with the original library; prints JSON.

Runs with the original library only.
usage: python original_s3.py facts|read|write s3://bucket/prefix
"""

import json
import os
import sys

os.environ["SMDEBUG_LOG_LEVEL"] = "off"
os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"

import numpy as np
from smdebug.core.access_layer.utils import has_training_ended, training_has_ended
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.modes import ModeKeys
from smdebug.core.writer import FileWriter
from smdebug.trials import create_trial


def write(url):
    for step in range(3):
        writer = FileWriter(trial_dir=url, step=step, worker="worker_0")
        array = np.arange(4, dtype=np.float32) + step
        writer.write_tensor(tdata=array, tname="weight", mode=ModeKeys.GLOBAL, mode_step=step)
        writer.close()
    manager = CollectionManager()
    manager.set_num_workers(1)
    manager.export(url, "worker_0_collections.json")
    training_has_ended(url)
    return {}


def facts(url):
    trial = create_trial(url)
    trial.steps()
    return {"ended": has_training_ended(url), "token": trial.last_index_token}


def read(url):
    trial = create_trial(url)
    steps = trial.steps()
    weight = trial.tensor("weight")
    return {"steps": steps, "weight": [weight.value(step).tolist() for step in steps]}


if __name__ == "__main__":
    print(json.dumps({"facts": facts, "read": read, "write": write}[sys.argv[1]](sys.argv[2])))
