"""A training in C++, by PyTorch's C++ interface, recorded and checked by rules through smdebug.hpp."""

from __future__ import annotations

import os
import re
import sys

import pytest
from installing import BUILD, COMPILING, ROOT, run

EXAMPLE = ROOT / "examples/cpp"
PACKAGE = os.environ.get("PYTHONPATH") or str(BUILD / "python")


@pytest.fixture(scope="module")
def trained(installed, tmp_path_factory):
    """The folder of the trial, and what the program printed."""
    folder = tmp_path_factory.mktemp("torch")
    run(["cmake", "-S", EXAMPLE, "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}"], folder)
    run(["cmake", "--build", "build"], folder, COMPILING)
    return folder, run(["build/train_iris", EXAMPLE / "iris.csv", "run"], folder)


def means(printed, name):
    """The means of the absolute values of a tensor at the first and the last step."""
    found = re.search(rf"^{re.escape(name)} .* values (\S+) to (\S+)$", printed, re.MULTILINE)
    return float(found.group(1)), float(found.group(2))


def test_it_learned(trained):
    _, printed = trained
    first, last = means(printed, "loss")
    assert first > 1 and last < 0.1
    assert means(printed, "scalar/accuracy")[1] > 0.95
    for parameter in ("0.weight", "0.bias", "2.weight", "2.bias"):
        first, last = means(printed, f"gradient/{parameter}")
        assert 0 < last < first
        assert means(printed, parameter)[1] > means(printed, parameter)[0]


def test_the_rules_evaluated(trained):
    _, printed = trained
    assert "LossRises: nothing found" in printed
    found = r"^VanishingGradient: 1\d findings, first: the gradient 'gradient/\d\.\w+' has a mean"
    assert re.search(found, printed, re.MULTILINE)


def test_python_reads_the_same(trained):
    folder, printed = trained
    program = (
        "import smdebug as smd\n"
        "trial = smd.create_trial('run')\n"
        "loss = trial.tensor('loss')\n"
        "steps = loss.steps()\n"
        "print(len(steps), trial.tensor('0.weight').value(95).shape)\n"
        "print(*(f'{float(loss.value(step)):.3f}' for step in (steps[0], steps[-1])))\n"
    )
    lines = run([sys.executable, "-c", program], folder, PYTHONPATH=PACKAGE).splitlines()
    assert lines[0] == "20 (16, 4)"
    assert list(map(float, lines[1].split())) == list(means(printed, "loss"))
