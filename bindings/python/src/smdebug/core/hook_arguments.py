"""Arguments of a hook: from options of the C library, and as the user may give them."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional

from smdebug import _raw
from smdebug._handles import (
    HookOptions,
    ReductionConfigHandle,
    SaveConfigHandle,
    out,
    out_strings,
    out_text,
    text,
)
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig
from smdebug.core.utils import flatten, split
from smdebug.exceptions import SMDebugValueError

__all__ = ["collection_names", "hook_arguments", "tensorboard_folder"]


def hook_arguments(options: HookOptions) -> Dict[str, Any]:
    """What options say, as arguments of `Hook`."""
    save_config = SaveConfigHandle(out("save_config", _raw.smd_hook_options_save_config, options))
    reductions = ReductionConfigHandle(
        out("reduction_config", _raw.smd_hook_options_reduction_config, options)
    )
    included = options.get("include_collections")
    return {
        "out_dir": options.get("out_dir"),
        "export_tensorboard": options.get("export_tensorboard") == "true",
        "tensorboard_dir": options.get("tensorboard_dir") or None,
        "dry_run": options.get("dry_run") == "true",
        "reduction_config": ReductionConfig.from_json(
            out_text(_raw.smd_reduction_config_to_json, reductions)
        ),
        "save_config": SaveConfig.from_json(out_text(_raw.smd_save_config_to_json, save_config)),
        "include_regex": out_strings(_raw.smd_hook_options_regexes, options) or None,
        "include_collections": split(included) if included else None,
        "save_all": options.get("save_all") == "true",
        "include_workers": options.get("include_workers"),
    }


def tensorboard_folder(is_wanted: bool, folder: Any, out_dir: str) -> Optional[str]:
    """Where TensorBoard's files go; None: nowhere."""
    if folder is not None:
        return os.path.expanduser(text(os.fspath(folder), "tensorboard_dir"))
    return os.path.join(out_dir, "tensorboard") if is_wanted else None


def collection_names(names: Optional[List[Any]]) -> List[str]:
    """Names as a user gives them, without doubles: a list, nested lists, or one text.

    Raises
    ------
    SMDebugTypeError, SMDebugValueError
        If one is no name.
    """
    if names is None:
        return []
    flat = split(names) if isinstance(names, str) else flatten(list(names))
    for name in flat:
        if "," in text(name, "collection name"):
            raise SMDebugValueError(f"the collection name {name!r} holds a comma")
    return list(dict.fromkeys(flat))
