"""A built-in rule, called through the C interface.

The Python package is one user of the C interface; any language that can call C may be
another.  This file uses `ctypes`, with the functions of smdebug/trial.h and
smdebug/rule_set.h.
"""

import ctypes
import json
from pathlib import Path

import smdebug


WARN, FOLLOW = 1, 1


class Finding(ctypes.Structure):
    """smd_finding."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("rule", ctypes.c_char_p),
        ("check", ctypes.c_char_p),
        ("tensor", ctypes.c_char_p),
        ("worker", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
        ("step", ctypes.c_int64),
        ("mode_step", ctypes.c_int64),
        ("mode", ctypes.c_int32),
        ("action", ctypes.c_int32),
        ("value", ctypes.c_double),
        ("limit", ctypes.c_double),
    )


def _load():
    library = ctypes.CDLL(str(Path(smdebug.__file__).with_name("libsmdebug.so.1")))
    handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
    flags = ctypes.c_uint32
    for name, result, arguments in (
        ("smd_error_message", text, [handle]),
        ("smd_error_free", None, [handle]),
        ("smd_trial_open", handle, [text, handle, handle]),
        ("smd_trial_free", None, [handle]),
        ("smd_rule_set_new", handle, [text, handle]),
        ("smd_rule_set_add", handle, [handle, text, text, ctypes.c_int32]),
        ("smd_rule_set_evaluate", handle, [handle, handle, number, number, flags, handle]),
        ("smd_rule_set_free", None, [handle]),
        ("smd_findings_count", ctypes.c_size_t, [handle]),
        ("smd_findings_get", ctypes.POINTER(Finding), [handle, ctypes.c_size_t]),
        ("smd_findings_free", None, [handle]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class BuiltinRule:
    """A built-in rule that evaluates the trial in a folder.

    Attributes
    ----------
    steps : list of int
        The global steps at which its condition held.
    last_finding : str
        The message of the last finding.
    """

    def __init__(self, name, folder, **parameters):
        self._c = _load()
        trial, rules, found = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        settings = json.dumps({key: str(value) for key, value in parameters.items()})
        try:
            self._check(self._c.smd_trial_open(str(folder).encode(), None, ctypes.byref(trial)))
            self._check(self._c.smd_rule_set_new(b"aws", ctypes.byref(rules)))
            self._check(
                self._c.smd_rule_set_add(rules, name.encode(), settings.encode(), WARN)
            )
            self._check(
                self._c.smd_rule_set_evaluate(rules, trial, 0, -1, FOLLOW, ctypes.byref(found))
            )
            count = self._c.smd_findings_count(found)
            findings = [self._c.smd_findings_get(found, i).contents for i in range(count)]
            self.steps = [finding.step for finding in findings]
            self.last_finding = findings[-1].message.decode() if findings else ""
        finally:
            self._c.smd_findings_free(found)
            self._c.smd_rule_set_free(rules)
            self._c.smd_trial_free(trial)

    def _check(self, error):
        if error:
            message = self._c.smd_error_message(error).decode()
            self._c.smd_error_free(error)
            raise RuntimeError(message)
