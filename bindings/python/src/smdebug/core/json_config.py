"""Reads a hook's configuration file part by part.

`Hook.create_from_json_file` makes a hook of such a file.  These functions are for code that
looks at its parts.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional

from smdebug.analysis.utils import parse_bool
from smdebug.core.collection_manager import CollectionManager
from smdebug.core.config_constants import (
    CONFIG_COLLECTION_CONFIG_KEY,
    CONFIG_COLLECTION_NAME_KEY,
    CONFIG_COLLECTION_PARAMS_KEY,
    CONFIG_FILE_PATH_ENV_STR,
    CONFIG_HOOK_PARAMS_KEY,
    CONFIG_INCLUDE_REGEX_KEY,
    CONFIG_INCLUDE_WORKERS_KEY,
    CONFIG_OUTDIR_KEY,
    CONFIG_RDN_CFG_KEY,
    CONFIG_REDUCTION_CONFIGS_KEY,
    CONFIG_SAVE_ALL_KEY,
    CONFIG_SAVE_CONFIGS_KEY,
    DEFAULT_CONFIG_FILE_PATH,
    DEFAULT_RESOURCE_CONFIG_FILE,
    DEFAULT_SAGEMAKER_OUTDIR,
    DEFAULT_SAGEMAKER_TENSORBOARD_PATH,
    EXPORT_TENSORBOARD_KEY,
    TENSORBOARD_CONFIG_FILE_PATH_ENV_STR,
    TENSORBOARD_DIR_KEY,
)
from smdebug.core.modes import ModeKeys
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfigMode
from smdebug.core.utils import split
from smdebug.exceptions import SMDebugValueError

__all__ = [
    "CONFIG_FILE_PATH_ENV_STR",
    "DEFAULT_RESOURCE_CONFIG_FILE",
    "DEFAULT_SAGEMAKER_OUTDIR",
    "add_collections_to_manager",
    "collect_hook_config_params",
    "get_include_collections",
    "get_json_config_as_dict",
    "get_node_id_from_resource_config",
    "get_tensorboard_dir_from_json_config",
    "parse_save_config_modes_dict",
]

Params = Dict[str, Any]
_SAVE_KEYS = ("save_interval", "save_steps", "start_step", "end_step")


def get_json_config_as_dict(json_config_path: Optional[str]) -> Params:
    """Returns the content of a configuration file.

    Parameters
    ----------
    json_config_path : str or None
        The file.  If it is None, the file that SMDEBUG_CONFIG_FILE_PATH names, else the
        service's own.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    SMDebugValueError
        If it holds no JSON object.
    """
    path = json_config_path
    if path is None:
        path = os.environ.get(CONFIG_FILE_PATH_ENV_STR, DEFAULT_CONFIG_FILE_PATH)
    return _object_in(path)


def collect_hook_config_params(params_dict: Mapping[str, Any]) -> Params:
    """Returns the settings of the hook itself, under the names of its parameters.

    "save_config_modes" holds a dict of settings for each mode.
    """
    given = params_dict.get(CONFIG_HOOK_PARAMS_KEY) or {}
    params: Params = {
        "out_dir": params_dict.get(CONFIG_OUTDIR_KEY, DEFAULT_SAGEMAKER_OUTDIR),
        "save_config_modes": parse_save_config_modes_dict(given),
        CONFIG_RDN_CFG_KEY: None,
        CONFIG_REDUCTION_CONFIGS_KEY: {},
        CONFIG_SAVE_CONFIGS_KEY: {},
        CONFIG_INCLUDE_REGEX_KEY: None,
        EXPORT_TENSORBOARD_KEY: parse_bool(given.get(EXPORT_TENSORBOARD_KEY), False),
        TENSORBOARD_DIR_KEY: given.get(TENSORBOARD_DIR_KEY),
    }
    if "reductions" in given:
        params[CONFIG_RDN_CFG_KEY] = ReductionConfig.from_dict(given)
    if CONFIG_SAVE_ALL_KEY in given:
        params[CONFIG_SAVE_ALL_KEY] = parse_bool(given[CONFIG_SAVE_ALL_KEY], False)
    if CONFIG_INCLUDE_REGEX_KEY in given:
        params[CONFIG_INCLUDE_REGEX_KEY] = split(given[CONFIG_INCLUDE_REGEX_KEY])
    if CONFIG_INCLUDE_WORKERS_KEY in given:
        params[CONFIG_INCLUDE_WORKERS_KEY] = given[CONFIG_INCLUDE_WORKERS_KEY]
    return params


def get_include_collections(params_dict: Mapping[str, Any]) -> Optional[List[str]]:
    """Returns the names of the configured collections; None if none are configured."""
    configured = params_dict.get(CONFIG_COLLECTION_CONFIG_KEY)
    return None if configured is None else [_name_in(each) for each in configured]


def add_collections_to_manager(
    collection_manager: CollectionManager,
    params_dict: Mapping[str, Any],
    hook_params: Mapping[str, Any],
) -> None:
    """Adds the configured collections with their settings.

    Parameters
    ----------
    collection_manager : CollectionManager
        Where they are added.
    params_dict : dict
        The configuration, from `get_json_config_as_dict`.
    hook_params : dict
        The hook's settings, from `collect_hook_config_params`.  They apply where a
        collection has none of its own.
    """
    for configured in params_dict.get(CONFIG_COLLECTION_CONFIG_KEY) or ():
        collection = collection_manager.get(_name_in(configured))
        params = configured.get(CONFIG_COLLECTION_PARAMS_KEY) or {}
        modes = parse_save_config_modes_dict(params, hook_params["save_config_modes"])
        collection.save_config = {
            mode: SaveConfigMode.from_dict(settings) for mode, settings in modes.items()
        }
        if "reductions" in params:
            collection.reduction_config = ReductionConfig.from_dict(params)
        if "include_regex" in params:
            collection.include(split(params["include_regex"]))
        if "save_histogram" in params:
            collection.save_histogram = bool(parse_bool(params["save_histogram"], True))


def parse_save_config_modes_dict(
    params: Mapping[str, Any], base_config_modes: Optional[Mapping[ModeKeys, Params]] = None
) -> Dict[ModeKeys, Params]:
    """Returns the settings of each mode: "train.save_interval" before "save_interval".

    Parameters
    ----------
    params : dict
        The settings, with the prefix of a mode or without one.
    base_config_modes : dict, optional
        Settings for what `params` does not say.
    """
    if not isinstance(params, Mapping):
        raise SMDebugValueError(f"parameters are an object, not {params!r}")
    return {
        mode: {
            **(base_config_modes or {}).get(mode, {}),
            **_save_settings(params, ""),
            **_save_settings(params, f"{mode.name.lower()}."),
        }
        for mode in ModeKeys
    }


def get_tensorboard_dir_from_json_config() -> Optional[str]:
    """Returns the folder that TensorBoard's configuration names; None without one."""
    path = os.environ.get(TENSORBOARD_CONFIG_FILE_PATH_ENV_STR, DEFAULT_SAGEMAKER_TENSORBOARD_PATH)
    return _object_in(path).get("LocalPath") if os.path.isfile(path) else None


def get_node_id_from_resource_config() -> Optional[str]:
    """Returns this host's name in the service's list of resources; None without one."""
    path = DEFAULT_RESOURCE_CONFIG_FILE
    return _object_in(path).get("current_host") if os.path.isfile(path) else None


def _save_settings(params: Mapping[str, Any], prefix: str) -> Params:
    found = {key: params[prefix + key] for key in _SAVE_KEYS if prefix + key in params}
    if isinstance(found.get("save_steps"), str):
        found["save_steps"] = [int(step) for step in split(found["save_steps"])]
    return found


def _name_in(configured: Mapping[str, Any]) -> str:
    name = configured.get(CONFIG_COLLECTION_NAME_KEY)
    if not isinstance(name, str):
        raise SMDebugValueError(
            f"a collection has no {CONFIG_COLLECTION_NAME_KEY}: {dict(configured)!r}"
        )
    return name


def _object_in(path: str) -> Params:
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise SMDebugValueError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise SMDebugValueError(f"{path}: not a JSON object")
    return content
