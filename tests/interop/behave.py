"""Prints the behaviour of a library that scripts for the original depend on.

Runs with the original library and with this one.
usage: python behave.py FOLDER ROW
"""

import json
import os
import shutil
import struct
import sys

import numpy as np
from smdebug import SaveConfig, SaveConfigMode, modes
from smdebug.analysis.utils import no_refresh
from smdebug.core.access_layer import check_dir_exists, has_training_ended, training_has_ended
from smdebug.core.collection import Collection
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.reader import FileReader
from smdebug.core.writer import FileWriter
from smdebug.exceptions import ShapeUnavailableForStep
from smdebug.trials import create_trial

NAMES = ("conv.weight", "gradient/conv.weight", "CrossEntropyLoss_output_0", "mine/a", "other/b")
ROWS = {}


def row(function):
    ROWS[function.__name__] = function
    return function


def hook_class():
    """Returns the library's hook class that is not bound to a framework."""
    try:
        from smdebug import Hook
    except ImportError:
        from original_hook import ArrayHook as Hook
    return Hook


def configured(folder, configuration):
    """Returns the names that a hook with this configuration saves in ten TRAIN steps, by step."""
    path = os.path.join(folder, "hook.json")
    with open(path, "w") as file:
        json.dump({"LocalPath": os.path.join(folder, "run"), **configuration}, file)
    return saved(hook_class().create_from_json_file(path))


def saved(hook, steps=10):
    values = {name: np.ones(3) for name in NAMES}
    for _ in range(steps):
        if hasattr(hook, "run_step"):
            hook.run_step(modes.TRAIN, values)
            continue
        with hook.step(modes.TRAIN):
            for name, value in values.items():
                hook.save(name, value)
    hook.close()
    trial = create_trial(hook.out_dir)
    return {step: trial.tensor_names(step=step) for step in trial.steps()}


def write_steps(folder, steps, workers=("worker_0",), names=("t",)):
    path = os.path.join(folder, "run")
    manager = CollectionManager()
    manager.add(Collection("mine", include_regex=["^t"]))
    manager.set_num_workers(len(workers))
    for worker in workers:
        if not os.path.exists(os.path.join(path, "collections", "000000000", worker + "_collections.json")):
            manager.export(path, worker + "_collections.json")
    for step in steps:
        with FileWriter(path, worker=workers[0], step=step) as writer:
            for name in names:
                writer.write_tensor(np.full((2, 3), step), name, mode=modes.TRAIN, mode_step=step // 2)
    return path


INTERVAL = {"HookParameters": {"save_interval": "2"}}


@row
def unknown_keys(folder):
    return configured(
        folder,
        {
            "S3Path": "s3://bucket/prefix",
            "HookParameters": {"save_interval": 2, "color": "red"},
            "CollectionConfigurations": [
                {
                    "CollectionName": "weights",
                    "Priority": 1,
                    "CollectionParameters": {"save_intervall": 5},
                }
            ],
        },
    )


@row
def collection_listed_twice(folder):
    entries = [{"include_regex": "^mine", "save_interval": 5}, {"include_regex": "^other", "save_interval": 4}]
    return configured(
        folder,
        {
            **INTERVAL,
            "CollectionConfigurations": [
                {"CollectionName": "both", "CollectionParameters": each} for each in entries
            ],
        },
    )


@row
def end_step_0(folder):
    parameters = {"losses": {"end_step": 0}, "weights": {"train.end_step": "0"}, "gradients": {"end_step": 5}}
    return configured(
        folder,
        {
            **INTERVAL,
            "CollectionConfigurations": [
                {"CollectionName": name, "CollectionParameters": each}
                for name, each in parameters.items()
            ],
        },
    )


@row
def end_before_an_inherited_start(folder):
    return configured(
        folder,
        {
            "HookParameters": {"save_interval": 2, "start_step": 6},
            "CollectionConfigurations": [
                {"CollectionName": "losses", "CollectionParameters": {"end_step": 6}},
                {"CollectionName": "weights", "CollectionParameters": {"end_step": 3}},
                {"CollectionName": "gradients"},
            ],
        },
    )


@row
def end_step_0_in_python(folder):
    ends = [SaveConfigMode(1, end_step=0), SaveConfigMode(1, start_step=4, end_step=4), SaveConfigMode(1, -3)]
    config = SaveConfig(save_interval=1, end_step=-1, save_steps=[3])
    return [
        [[step for step in range(6) if each.should_save_step(step)] for each in ends],
        [step for step in range(6) if config.should_save_step(modes.TRAIN, step)],
        SaveConfig.from_json(SaveConfig(end_step=0).to_json()) == SaveConfig(end_step=0),
    ]


@row
def odd_switches(folder):
    return [
        configured(os.path.join(folder, "1"), {"HookParameters": {"save_all": 1, "save_interval": 5}}),
        configured(os.path.join(folder, "2"), {"HookParameters": {"include_workers": "two", "save_interval": 5}}),
        configured(
            os.path.join(folder, "3"),
            {"HookParameters": {"save_all": 0, "export_tensorboard": 0, "save_interval": "5"}},
        ),
    ]


@row
def training_end(folder):
    path = write_steps(folder, range(2))
    before = [has_training_ended(path), check_dir_exists(path)]
    training_has_ended(path)
    return [before, has_training_ended(path), check_dir_exists(path)]


@row
def first_no_refresh(folder):
    path = write_steps(folder, range(8))
    trial = create_trial(path)
    first = len(trial.steps())
    write_steps(folder, range(8, 16))
    with no_refresh(trial):
        frozen = len(trial.steps())
    return [first, frozen, len(trial.steps())]


@row
def dynamic_refresh_off_at_once(folder):
    trial = create_trial(write_steps(folder, range(8)))
    trial.dynamic_refresh = False
    write_steps(folder, range(8, 16))
    return len(trial.steps())


@row
def shape_without_its_event_file(folder):
    path = write_steps(folder, range(2))
    shutil.rmtree(os.path.join(path, "events"))
    training_has_ended(path)
    try:
        return create_trial(path).tensor("t").shape(1)
    except ShapeUnavailableForStep as error:
        return type(error).__name__


@row
def slow_worker(folder):
    os.environ["SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"] = "10"
    path = write_steps(folder, range(20), workers=("worker_0", "worker_1", "worker_2"))
    trial = create_trial(path)
    told = [[trial.last_complete_step, os.path.relpath(trial.last_index_token, path)]]
    for query in (trial.workers, trial.steps, trial.tensor_names):
        query()
        told.append([trial.last_complete_step, os.path.relpath(trial.last_index_token, path)])
    return told


@row
def collection_managers(folder):
    trial = create_trial(write_steps(folder, range(2)))
    trial.collection_manager.add(Collection("late", include_regex=["^t"]))
    hook = hook_class()(out_dir=os.path.join(folder, "other"))
    hook.collection_manager.get("custom").include("^mine")
    hook.collection_manager.add(Collection("second", include_regex=["^other"]))
    hook.collection_manager.add("third")
    return [
        trial.collection_manager.get("mine").include_regex,
        trial.tensor_names(collection="late"),
        [hook.get_collection(name).include_regex for name in ("custom", "second", "third")],
        set(hook.collection_manager.collections) >= {"weights", "custom", "second", "third"},
    ]


@row
def names_of_a_collection(folder):
    saved(hook_class()(out_dir=os.path.join(folder, "run"), include_collections=["weights"]))
    trial = create_trial(os.path.join(folder, "run"))
    return sorted(trial.collection("weights").tensor_names)


@row
def ignored_arguments(folder):
    path = os.path.join(folder, "run")
    writer = FileWriter(
        path, "worker_0", 3, max_queue=2, flush_secs=1, verbose=True, write_checksum=False
    )
    writer.write_tensor(np.arange(3.0), "t", write_index=True)
    writer.write_tensor(np.arange(4.0), "u", write_index=False)
    writer.close()
    CollectionManager(create_default=True).export(path, "worker_0_collections.json")
    found = FileReader(writer.event_file_path).read_tensors(check=True)
    trial = create_trial(path)
    return [
        [name for name, *_ in found],
        "t" in trial.tensor_names(show_prefixed_tensors=True),
    ]


def records(path):
    """Returns the payloads in an event file, without times and versions."""
    data, at, found = open(path, "rb").read(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        payload = data[at + 12 : at + 12 + size]
        assert payload[0] == 9
        # The original omits the first record of TensorBoard's own files.
        if payload[9:] != b"\x1a\x0dbrain.Event:2":
            found.append(payload[9:].hex())
        at += size + 16
    return found


@row
def tensorboard_writer(folder):
    with FileWriter(folder, "worker_0", 7, wtype="tensorboard", mode=modes.EVAL) as writer:
        writer.write_scalar_summary("/a loss:0", np.float32([0.25]), 7)
        writer.write_scalar_summary("b", 3, 8, timestamp=1600000000.5)
        for bins in ("default", 4, [-2.0, 0.5, 1.0, 9.0]):
            writer.write_histogram_summary(np.linspace(-1, 2.5, 40), "w/h", 7, bins)
        writer.write_histogram_summary(np.zeros(0), "none", 7)
    return [os.path.relpath(writer.event_file_path, folder), records(writer.event_file_path)]


@row
def star_imports(folder):
    names = {}
    exec("from smdebug.core.collection import *", names)
    return "CollectionKeys" in names and "Collection" in names


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for part in ("1", "2", "3"):
        os.makedirs(os.path.join(sys.argv[1], part), exist_ok=True)
    print("\n" + json.dumps(ROWS[sys.argv[2]](sys.argv[1])))
