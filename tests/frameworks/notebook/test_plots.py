"""Plots by matplotlib."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot
from training import HOSTILE, record_odd

import smdebug as smd
from smdebug.exceptions import SMDebugTypeError, SMDebugValueError


@pytest.fixture
def trial(run):
    with smd.create_trial(run) as opened:
        yield opened
    pyplot.close("all")


def drawn(axes):
    """Draws the figure, so that bad text fails, and returns its lines by label."""
    axes.figure.canvas.draw()
    return {line.get_label(): line for line in axes.get_lines()}


def test_a_tensor_with_two_modes(trial):
    axes = trial.tensor("loss").plot()
    lines = drawn(axes)
    assert lines["TRAIN"].get_xdata()[:3].tolist() == [0, 1, 2]
    assert lines["EVAL"].get_xdata().tolist() == [9, 19, 29, 39, 49, 59]
    assert lines["EVAL"].get_ydata()[0] == pytest.approx(0.2)
    assert np.isnan(lines["EVAL"].get_ydata()[-1])
    assert "not finite: 9 steps, from 50" in lines
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("loss", "step", "value")


def test_a_band_from_the_least_to_the_largest_element(trial):
    axes = trial.tensor("fc3.weight").plot()
    [band] = axes.collections
    value = trial.tensor("fc3.weight").value(0)
    at_first = [y for x, y in band.get_paths()[0].vertices if x == 0]
    assert min(at_first) == pytest.approx(value.min()) and max(at_first) == pytest.approx(value.max())
    assert drawn(axes)["fc3.weight"].get_ydata()[0] == pytest.approx(value.mean())
    assert axes.get_ylabel() == "mean"


def test_a_reduction_of_one_mode_in_the_callers_axes(trial):
    _, axes = pyplot.subplots()
    assert trial.tensor("loss").plot("abs_max", smd.modes.EVAL, axes=axes) is axes
    assert drawn(axes)["loss"].get_xdata().tolist() == [0, 1, 2, 3, 4, 5]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("EVAL step", "abs_max")


def test_a_trial(trial):
    axes = trial.plot("^fc")
    labels = [label for label in drawn(axes) if "finite" not in label]
    assert labels[:3] == ["fc1.weight", "fc2.weight", "fc3.weight"] and labels[-1] == "fc11.weight"
    assert axes.get_title() == "run"
    assert trial.plot("weight").get_title() == "run: 20 of 22 tensors"


def test_mistakes_are_explained(trial):
    with pytest.raises(SMDebugValueError, match="no tensor of trial run matches 'los_'; did you mean 'loss'"):
        trial.plot("los_")
    with pytest.raises(SMDebugValueError, match="l7"):
        trial.tensor("loss").plot("l7")
    with pytest.raises(SMDebugValueError):
        trial.plot("(")


def test_odd_tensors(tmp_path):
    record_odd(tmp_path / "odd")
    with smd.create_trial(tmp_path / "odd") as trial:
        with pytest.raises(SMDebugTypeError, match="text"):
            trial.tensor("text").plot()
        with pytest.raises(SMDebugTypeError, match="text"):
            trial.plot("^text$")
        assert len(drawn(trial.plot("^(text|reduced)$"))) == 1  # a text among others is left out
        assert trial.tensor("reduced").plot().get_ylabel() in ("l2", "abs_max")
        assert trial.tensor("reduced").plot("l2").get_ylabel() == "l2"
        assert trial.tensor("complex").plot()
        for name in ("nothing", "huge", HOSTILE):
            drawn(trial.tensor(name).plot())
    pyplot.close("all")
