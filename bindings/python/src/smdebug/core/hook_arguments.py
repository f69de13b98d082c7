"""Arguments of a hook, from options of the C library and as the user gives them."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from smdebug import _raw
from smdebug._handles import (
    HookOptions,
    ReductionConfigHandle,
    SaveConfigHandle,
    check,
    out,
    out_strings,
    out_text,
    text,
)
from smdebug.core.collection import Collection
from smdebug.core.reduction_config import ReductionConfig
from smdebug.core.save_config import SaveConfig
from smdebug.core.utils import flatten, split
from smdebug.exceptions import SMDebugValueError

__all__ = [
    "collection_names",
    "collections_in",
    "hook_arguments",
    "load_options",
    "make_options",
    "tensorboard_folder",
]


def make_options(
    builtin_collections: Optional[Mapping[str, Sequence[str]]],
    settings: Optional[Mapping[str, Any]] = None,
    regexes: Union[str, List[Any], None] = None,
    save_config: Optional[SaveConfig] = None,
    reduction_config: Optional[ReductionConfig] = None,
) -> HookOptions:
    """Makes options for the C library.

    Parameters
    ----------
    builtin_collections : mapping, optional
        The collections that a hook begins with, by name with their regular expressions, in
        place of the library's own.
    settings : mapping, optional
        Options by name.
    regexes, save_config, reduction_config
        As `Hook` takes them.
    """
    options = HookOptions()
    if builtin_collections is not None:
        options.set("builtin_collections", False)
        for name, expressions in builtin_collections.items():
            handle = Collection(name, include_regex=list(expressions))._handle()
            check(_raw.smd_hook_options_add_collection(options, handle))
    for name, value in (settings or {}).items():
        options.set(name, value)
    for regex in flatten(
        regexes if isinstance(regexes, list) else [regexes] if regexes else []
    ):
        check(_raw.smd_hook_options_include_regex(options, text(regex, "regular expression")))
    if save_config is not None:
        check(_raw.smd_hook_options_set_save_config(options, save_config._handle()))
    if reduction_config is not None:
        check(_raw.smd_hook_options_set_reduction_config(options, reduction_config._handle()))
    return options


def load_options(
    options: HookOptions, path: str, save_interval: int, is_logged: bool = True
) -> HookOptions:
    """Loads a configuration file into options.

    Parameters
    ----------
    options : HookOptions
        The settings that the file builds on.
    path : str
        The file; "" for the service's.
    save_interval : int
        The default of the hook and of the collections in the file.
    is_logged : bool
        Whether the file's unknown keys and bad values are logged.
    """
    default = SaveConfig(save_interval=save_interval)
    check(_raw.smd_hook_options_set_save_config(options, default._handle()))
    if not is_logged:
        check(_raw.raw_hook_options_silence(options))
    check(_raw.smd_hook_options_load(options, path))
    return options


def collections_in(
    options: HookOptions, make: Callable[..., Collection], fills_in: bool
) -> Iterator[Collection]:
    """Yields the collections of options.

    Parameters
    ----------
    options : HookOptions
        The options.
    make : function
        Makes a collection from a raw function that returns it, and its arguments.
    fills_in : bool
        Whether a collection that a file lists without save settings gets those of the
        options.
    """
    arguments = hook_arguments(options)
    listed = arguments["include_collections"] if fills_in else None
    for name in out_strings(_raw.smd_hook_options_collections, options):
        collection = make(_raw.smd_hook_options_collection, options, name)
        if collection.save_config is None and name in (listed or ()):
            collection.save_config = arguments["save_config"]
        yield collection


def hook_arguments(options: HookOptions) -> Dict[str, Any]:
    """Returns options as arguments of `Hook`."""
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
