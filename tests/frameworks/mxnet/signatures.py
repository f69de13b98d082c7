"""Prints the signatures of the public calls of a package called smdebug.mxnet, as JSON."""

import inspect
import json

import smdebug.mxnet as smd


def signatures():
    """Returns the name, the kind and the default of each parameter, by call."""
    found = {name: getattr(smd, name) for name in ("get_hook", "set_hook", "del_hook")}
    for kind in (smd.Hook, smd.Collection):
        public = [name for name in dir(kind) if not name.startswith("_")]
        for name in ("__init__", *public):
            call = getattr(kind, name)
            if inspect.isfunction(call) or inspect.ismethod(call):
                found[f"{kind.__name__}.{name}"] = call
    return {
        name: [
            [parameter.name, str(parameter.kind), repr(parameter.default)]
            for parameter in inspect.signature(function).parameters.values()
        ]
        for name, function in found.items()
    }


if __name__ == "__main__":
    print("\n" + json.dumps(signatures()))
