"""Describes the content of a trial for comparison: described.py FOLDER

Run as a script, it describes the trials in a folder with whatever smdebug is installed.
"""

import hashlib
import json
import os
import sys

from smdebug.trials import create_trial


def value(array):
    if array.dtype.kind == "U":
        return ["text", *array.tolist()]
    content = hashlib.sha256(array.tobytes()).hexdigest()
    return [str(array.dtype), list(array.shape), content]


def described(path):
    trial = create_trial(path)
    return {
        "steps": trial.steps(),
        "modes": sorted(mode.name for mode in trial.modes()),
        "workers": trial.workers(),
        "tensors": {
            name: {
                str(step): value(trial.tensor(name).value(step))
                for step in trial.tensor(name).steps()
            }
            for name in trial.tensor_names()
        },
        "collections": {
            name: sorted(trial.tensor_names(collection=name)) for name in trial.collections()
        },
        "regexes": {name: each.include_regex for name, each in trial.collections().items()},
    }


if __name__ == "__main__":
    folders = [entry.path for entry in os.scandir(sys.argv[1]) if entry.is_dir()]
    print(json.dumps({os.path.basename(path): described(path) for path in folders}))
