"""Prints, as JSON, the signatures of the public functions and classes.

Runs with the original library and with this one.
"""

import importlib
import inspect
import json

PUBLIC = {
    "smdebug": ["ReductionConfig", "SaveConfig", "SaveConfigMode"],
    "smdebug.analysis.utils": ["no_refresh", "refresh", "parse_bool", "parse_list_from_str"],
    "smdebug.core.collection": ["Collection"],
    "smdebug.core.collection_manager": ["CollectionManager"],
    "smdebug.core.locations": [
        "IndexFileLocationUtils",
        "TensorFileLocation",
        "TensorLocation",
        "TensorShape",
    ],
    "smdebug.core.reader": ["FileReader"],
    "smdebug.core.reductions": [
        "get_numpy_reduction",
        "get_reduction_tensor_name",
        "reverse_reduction_tensor_name",
    ],
    "smdebug.core.tensor": ["Tensor"],
    "smdebug.core.utils": ["flatten", "is_s3", "match_inc", "split", "step_in_range"],
    "smdebug.core.writer": ["FileWriter"],
    "smdebug.rules": ["RequiredTensors", "RequiredTensorsForTrial", "Rule", "invoke_rule"],
    "smdebug.trials": ["LocalTrial", "S3Trial", "create_trial"],
}

# Internals of the original, and functions for files that this library does not write.
INTERNAL = {
    "FileWriter": {
        "index_writer",
        "proto_writer",
        "write_graph",
        "write_histogram_summary",
        "write_pytorch_graph",
        "write_scalar_summary",
        "write_summary",
    },
    "IndexFileLocationUtils": {"get_step_from_idx_filename"},
    "LocalTrial": {"refresh_tensor"},
    "S3Trial": {"refresh_tensor"},
    "Tensor": {"add_reduction_step", "add_step"},
}


def parameters(function):
    return [
        [name, parameter.kind.name, repr(parameter.default)]
        for name, parameter in inspect.signature(function).parameters.items()
        if name != "self"
    ]


def members(name, item):
    found = {name: parameters(item)}
    if inspect.isclass(item):
        for member in dir(item):
            value = inspect.getattr_static(item, member)
            public = not member.startswith("_") and member not in INTERNAL.get(name, ())
            if public and callable(getattr(item, member)) and not inspect.isclass(value):
                found[f"{name}.{member}"] = parameters(getattr(item, member))
    return found


def exceptions():
    module = importlib.import_module("smdebug.exceptions")
    return {
        name: [
            [base.__name__ for base in item.__mro__],
            parameters(item) if inspect.isfunction(item.__init__) else [],
        ]
        for name, item in vars(module).items()
        if inspect.isclass(item) and issubclass(item, Exception)
    }


signatures = {}
for module, names in PUBLIC.items():
    for name in names:
        signatures.update(members(name, getattr(importlib.import_module(module), name)))
print("\n" + json.dumps({"signatures": signatures, "exceptions": exceptions()}))
