"""Exceptions: names, bases, arguments and attributes that users rely on."""

import pickle

import pytest
from smdebug import exceptions as ex
from smdebug import modes

CONSTRUCTED = [
    (ex.InvalidCollectionConfiguration("relu"), {"c_name": "relu"}),
    (ex.StepNotYetAvailable(3, modes.TRAIN), {"step": 3, "mode": modes.TRAIN}),
    (ex.StepUnavailable(3, modes.EVAL), {"step": 3, "mode": modes.EVAL}),
    (ex.MissingCollectionFiles(), {}),
    (ex.IndexReaderException("bad"), {"message": "bad"}),
    (
        ex.TensorUnavailableForStep("w", 3),
        {"tname": "w", "step": 3, "mode": modes.GLOBAL, "has_reductions": False},
    ),
    (
        ex.TensorUnavailableForStep(tname="w", step=3, mode=modes.EVAL, has_reductions=True),
        {"tname": "w", "step": 3, "mode": modes.EVAL, "has_reductions": True},
    ),
    (ex.ShapeUnavailableForStep("w", 3), {"tname": "w", "step": 3, "mode": modes.GLOBAL}),
    (ex.TensorUnavailable("w"), {"tname": "w"}),
    (ex.InvalidWorker("worker_1"), {"worker": "worker_1"}),
    (ex.NoMoreProfilerData(12.5), {"timestamp": 12.5}),
    (ex.NoMoreData(9, modes.TRAIN, 7), {"step": 9, "mode": modes.TRAIN, "last_step": 7}),
    (
        ex.RuleEvaluationConditionMet("Rule", 4),
        {"rule_name": "Rule", "step": 4, "end_of_rule": False},
    ),
    (
        ex.InsufficientInformationForRuleInvocation("Rule", "no threshold"),
        {"rule_name": "Rule", "message": "no threshold"},
    ),
]


@pytest.mark.parametrize(("error", "attributes"), CONSTRUCTED, ids=lambda case: type(case).__name__)
def test_arguments_become_attributes_and_text(error, attributes):
    assert isinstance(error, ex.SMDebugError)
    for name, value in attributes.items():
        assert getattr(error, name) == value
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            assert str(value) in str(error)
    assert str(error)


@pytest.mark.parametrize(("error", "attributes"), CONSTRUCTED, ids=lambda case: type(case).__name__)
def test_exceptions_travel_between_processes(error, attributes):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    for name, value in attributes.items():
        assert getattr(copy, name) == value


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (ex.SMDebugTypeError, TypeError),
        (ex.SMDebugValueError, ValueError),
        (ex.SMDebugRuntimeError, RuntimeError),
        (ex.SMDebugNotImplementedError, NotImplementedError),
        (ex.SMDebugOSError, OSError),
        (ex.SMDebugFileNotFoundError, FileNotFoundError),
        (ex.SMDebugPermissionError, PermissionError),
        (ex.SMDebugTimeoutError, TimeoutError),
        (ex.SMDebugCustomerError, Exception),
    ],
)
def test_exceptions_are_also_pythons_own(error, base):
    assert issubclass(error, base)
    assert issubclass(error, ex.SMDebugError)


def test_a_star_import_brings_the_documented_names():
    names = {}
    exec("from smdebug.exceptions import *", names)
    documented = {
        "TensorUnavailableForStep",
        "TensorUnavailable",
        "StepUnavailable",
        "StepNotYetAvailable",
        "NoMoreData",
        "RuleEvaluationConditionMet",
        "MissingCollectionFiles",
        "InvalidWorker",
        "IndexReaderException",
    }
    assert documented <= set(names)


def test_an_error_of_the_c_library_keeps_its_code(recorder):
    with pytest.raises(ex.TensorUnavailable) as caught:
        recorder.step(0).open().tensor("bar")
    assert caught.value.code == "TENSOR_UNAVAILABLE"
    assert ex.TensorUnavailable("bar").code == ""
