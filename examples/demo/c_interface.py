"""The rule that comes with the library, called through the C interface.

The Python package is one user of the C interface; whatever can call C is another.  Here
it is `ctypes`, with the functions of smdebug/trial.h and smdebug/rule.h.
"""

import ctypes
import json
from pathlib import Path

import smdebug


def _load():
    library = ctypes.CDLL(str(Path(smdebug.__file__).with_name("libsmdebug.so.1")))
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    for name, result, arguments in (
        ("smd_error_message", text, [handle]),
        ("smd_error_free", None, [handle]),
        ("smd_trial_open", handle, [text, handle, handle]),
        ("smd_trial_free", None, [handle]),
        ("smd_rule_new_builtin", handle, [text, text, handle]),
        ("smd_rule_run", handle, [handle, handle, number, number, ctypes.c_int32, handle]),
        ("smd_rule_last_finding", text, [handle]),
        ("smd_rule_free", None, [handle]),
        ("smd_steps_count", ctypes.c_size_t, [handle]),
        ("smd_steps_get", number, [handle, ctypes.c_size_t]),
        ("smd_steps_free", None, [handle]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class BuiltinRule:
    """A built-in rule, run over the trial in a folder.

    Attributes
    ----------
    steps : list of int
        The global steps at which its condition held.
    last_finding : str
        What it said of the last of them.
    """

    def __init__(self, name, folder, **parameters):
        self._c = _load()
        trial, rule, steps = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        settings = json.dumps({key: str(value) for key, value in parameters.items()})
        try:
            self._check(self._c.smd_trial_open(str(folder).encode(), None, ctypes.byref(trial)))
            self._check(
                self._c.smd_rule_new_builtin(
                    name.encode(), settings.encode(), ctypes.byref(rule)
                )
            )
            self._check(self._c.smd_rule_run(rule, trial, 0, -1, 0, ctypes.byref(steps)))
            count = self._c.smd_steps_count(steps)
            self.steps = [self._c.smd_steps_get(steps, index) for index in range(count)]
            self.last_finding = self._c.smd_rule_last_finding(rule).decode()
        finally:
            self._c.smd_steps_free(steps)
            self._c.smd_rule_free(rule)
            self._c.smd_trial_free(trial)

    def _check(self, error):
        if error:
            message = self._c.smd_error_message(error).decode()
            self._c.smd_error_free(error)
            raise RuntimeError(message)
