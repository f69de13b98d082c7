"""Prints, as JSON, the results of names that only the original's own tests import.

Runs with the original and with this library: dropin_facts.py FOLDER.
"""

import json
import logging
import os
import sys
from pathlib import Path

from smdebug.core.access_layer import (
    DEFAULT_GRACETIME_FOR_RULE_STOP_SEC,
    ENV_RULE_STOP_SIGNAL_FILENAME,
    has_training_ended,
    is_rule_signalled_gracetime_passed,
    training_has_ended,
)
from smdebug.core.access_layer.file import SMDEBUG_TEMP_PATH_SUFFIX, get_temp_path
from smdebug.core.access_layer.utils import is_s3
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.config_constants import PAPERMILL_EXECUTION_ENV_VAR, PROFILER_REPORT_VERSION
from smdebug.core.hook_utils import verify_and_get_out_dir
from smdebug.core.index_reader import LocalIndexReader
from smdebug.core.json_config import (
    CONFIG_FILE_PATH_ENV_STR,
    DEFAULT_RESOURCE_CONFIG_FILE,
    DEFAULT_SAGEMAKER_OUTDIR,
    add_collections_to_manager,
    collect_hook_config_params,
    get_include_collections,
    get_json_config_as_dict,
)
from smdebug.core.logger import DuplicateLogFilter
from smdebug.core.state_store import StateStore
from smdebug.core.tfevent.util import _get_proto_dtype
from smdebug.core.utils import (
    error_handling_agent,
    get_aws_region_from_processing_job_arn,
    get_logger,
)
from smdebug.rules.action.action import Actions

CONFIGURATION = {
    "S3Path": "s3://bucket/prefix",
    "LocalPath": "/tmp/somewhere",
    "HookParameters": {
        "save_all": "true",
        "include_workers": "one",
        "include_regex": "regex1, regex2",
        "reductions": "min,abs_max",
        "save_interval": 100,
        "eval.save_interval": 1,
        "save_steps": "1,2,3",
        "export_tensorboard": True,
        "tensorboard_dir": "/tmp/tensorboard",
    },
    "CollectionConfigurations": [
        {
            "CollectionName": "weights",
            "CollectionParameters": {"save_histogram": "false", "train.save_interval": 7},
        },
        {
            "CollectionName": "mine",
            "CollectionParameters": {"include_regex": "a, b", "reductions": "mean"},
        },
        {"CollectionName": "plain"},
    ],
}


def named(params):
    """Replaces enumeration keys by their names, and objects by text."""
    if isinstance(params, dict):
        return {getattr(key, "name", key): named(value) for key, value in params.items()}
    return params if isinstance(params, (str, int, list, type(None))) else str(type(params).__name__)


def refusal(call, *args):
    try:
        call(*args)
    except Exception as error:
        return sorted(base.__name__ for base in type(error).__mro__ if "Error" in base.__name__)
    return None


def configuration(folder):
    path = folder / "hook.json"
    path.write_text(json.dumps(CONFIGURATION))
    read = get_json_config_as_dict(str(path))
    os.environ[CONFIG_FILE_PATH_ENV_STR] = str(path)
    assert get_json_config_as_dict(None) == read
    params = collect_hook_config_params(read)
    manager = CollectionManager()
    add_collections_to_manager(manager, read, params)
    return {
        "read": read,
        "params": named(params),
        "missing": refusal(get_json_config_as_dict, str(folder / "none.json")),
        "included": get_include_collections(read),
        "not included": get_include_collections({}),
        "nameless": refusal(get_include_collections, {"CollectionConfigurations": [{}]}),
        "collections": {
            name: [
                each.save_histogram,
                sorted(each.include_regex),
                each.reduction_config is not None and sorted(each.reduction_config.reductions),
                sorted((mode.name, each.save_config.get_save_config(mode).save_interval)
                       for mode in params["save_config_modes"]),
            ]
            for name, each in manager.get_collections().items()
        },
    }


def states(folder):
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir()
    told = folder / "checkpoint.json"
    told.write_text(json.dumps({"LocalPath": str(checkpoints)}))
    os.environ["CHECKPOINT_CONFIG_FILE_PATH"] = str(told)
    state = {"training-run": 1, "latest-global-step-saved": 9, "latest-global-step-seen": 10,
             "latest-mode-step": {}}
    store = StateStore()
    answers = [store.get_last_saved_state(), store.is_checkpoint_updated()]
    (checkpoints / "one").write_text("1")
    answers += [store.is_checkpoint_updated(), store.is_checkpoint_updated()]
    (checkpoints / "one").write_text("12")
    answers += [store.is_checkpoint_updated(), store.is_checkpoint_updated()]
    store.update_state(state)
    answers += [store.is_checkpoint_updated(), StateStore().get_last_saved_state()]
    store.update_state({**state, "latest-global-step-seen": 20})
    store.update_state({**state, "latest-global-step-seen": 15})
    return [*answers, StateStore().get_last_saved_state()]


def catching(agent):
    logging.getLogger("smdebug").setLevel(logging.CRITICAL)

    @agent.catch_smdebug_errors(default_return_val=False)
    def works():
        return True

    @agent.catch_smdebug_errors(default_return_val=lambda *args, **kwargs: [list(args), kwargs])
    def fails(*args, **kwargs):
        raise ValueError(args)

    before = [agent.disable_smdebug, agent.hook, works(), agent.disable_smdebug]
    after = [fails(1, a=2), agent.disable_smdebug, works(), fails(3)]
    agent.disable_smdebug = False
    return [before, after, works()]


def stops(folder):
    answers = [is_rule_signalled_gracetime_passed(str(folder))]
    os.environ[ENV_RULE_STOP_SIGNAL_FILENAME] = "signal"
    answers.append(is_rule_signalled_gracetime_passed(str(folder)))
    for content in ("100", "99999999999", "soon"):
        (folder / "signal").write_text(content)
        answers.append(is_rule_signalled_gracetime_passed(str(folder)))
    return answers


def ends(folder):
    trial = str(folder / "trial")
    answers = [verify_and_get_out_dir(trial) == trial, has_training_ended(trial)]
    training_has_ended(trial)
    return [*answers, has_training_ended(trial), refusal(verify_and_get_out_dir, trial),
            "RuntimeError" in refusal(verify_and_get_out_dir, None)]


def index(trial):
    reader = LocalIndexReader(trial)
    data, key = reader.load_tensor_data_from_index_files()
    found = {
        name: {step: {worker: sorted(places) for worker, places in workers.items()}
               for step, workers in steps.items()}
        for name, steps in data.items()
    }
    place = next(iter(data["foo"][1].values()))["tensor_location"]
    again, _ = reader.load_tensor_data_from_index_files(key)
    bounded, _ = LocalIndexReader(trial).load_tensor_data_from_index_files(None, (1, 2))
    return [found, os.path.basename(key), place.mode.name, place.mode_step,
            os.path.isabs(place.event_file_name), reader.fetch_tensor_value(place).tolist(),
            again, sorted(bounded["foo"])]


def main(folder, trial):
    import numpy as np

    filters = [each for each in get_logger().filters if isinstance(each, DuplicateLogFilter)]
    record = logging.makeLogRecord({"msg": "a line"})
    facts = {
        "constants": [
            DEFAULT_GRACETIME_FOR_RULE_STOP_SEC, ENV_RULE_STOP_SIGNAL_FILENAME,
            SMDEBUG_TEMP_PATH_SUFFIX, PAPERMILL_EXECUTION_ENV_VAR, PROFILER_REPORT_VERSION,
            CONFIG_FILE_PATH_ENV_STR, DEFAULT_RESOURCE_CONFIG_FILE, DEFAULT_SAGEMAKER_OUTDIR,
        ],
        "temporary": get_temp_path("/a/b"),
        "s3": [is_s3("s3://a/b/c"), is_s3("a/b"),
               is_s3("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint:p/k")],
        "region": get_aws_region_from_processing_job_arn("arn:aws:sagemaker:us-east-2:1:job/x"),
        "dtypes": [_get_proto_dtype(np.dtype(name))
                   for name in ("float16", "float32", "float64", "int8", "uint8", "int16", "int64",
                                "uint64", "bool", "complex64", "U5", "S3", "O")],
        "no dtype": refusal(_get_proto_dtype, np.dtype("M8[s]")),
        "filter": [len(filters), filters[0].repeat_threshold,
                   [filters[0].filter(record) for _ in range(5)]],
        "configuration": configuration(folder),
        "states": states(folder),
        "agent": catching(error_handling_agent),
        "stop": stops(folder),
        "end": ends(folder),
        "index": index(trial),
        "actions": [len(Actions(text, "r")._actions) for text in (
            None, "", "  ", "[]", '{"name": "sms"}', '{"name": "other", "endpoint": "x"}',
            '[1, {"name": "stoptraining"}]')],
    }
    print(json.dumps(facts, sort_keys=True))


main(Path(sys.argv[1]), sys.argv[2])
