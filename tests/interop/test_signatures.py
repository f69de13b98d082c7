"""Tests that the original's public API has the same signatures here."""

import pytest

# Defaults that differ because of the documentation or a fix.
OTHER_DEFAULTS = {
    "Rule": {"action_str"},
    "RequiredTensors": {"other_trials"},
    "create_trial": {"path"},
    "Tensor": {"cache"},
    "Tensor.step": {"mode"},
}
ADDED = {
    "SMDebugFileNotFoundError",
    "SMDebugOSError",
    "SMDebugPermissionError",
    "SMDebugConnectionError",
    "SMDebugTimeoutError",
    "TrainingStopped",
}


@pytest.fixture(scope="module")
def both(original, ours):
    return original("print_signatures.py"), ours("print_signatures.py")


def test_parameters_have_the_same_names_order_and_defaults(both):
    theirs, mine = (found["signatures"] for found in both)
    assert len(theirs) > 80
    for name, expected in theirs.items():
        assert name in mine, name
        # This library may accept more positional arguments.
        owns = [each for each in mine[name] if each[1] != "VAR_POSITIONAL"]
        for (parameter, kind, default), own in zip(expected, owns + [None] * 9):
            if kind in ("VAR_KEYWORD", "VAR_POSITIONAL"):
                continue
            assert own is not None, (name, parameter)
            assert own[:2] == [parameter, kind], name
            if parameter not in OTHER_DEFAULTS.get(name, ()):
                assert own[2] == default, (name, parameter)


def test_exceptions_have_the_same_bases_and_parameters(both):
    theirs, mine = (found["exceptions"] for found in both)
    assert set(mine) - set(theirs) == ADDED
    for name, (bases, parameters) in theirs.items():
        assert mine[name][0] == bases, name
        names = [parameter[0] for parameter in mine[name][1]]
        assert names == [parameter[0] for parameter in parameters], name
