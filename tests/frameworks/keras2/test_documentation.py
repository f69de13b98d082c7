"""The page on Keras, and the example."""

import re

from pages import ROOT, run_page, run_script


def test_the_page(tmp_path):
    run_page("keras.md", tmp_path)


def test_the_example(tmp_path):
    printed = run_script(ROOT / "examples/keras/train_shapes.py", tmp_path, "run")
    accuracy = [float(value) for value in re.findall(r"^epoch \d+: accuracy (\S+),", printed, re.M)]
    assert len(accuracy) == 8
    assert accuracy[-1] > max(0.75, accuracy[0])
    [step] = re.findall(r"Plateau is met at step (\d+)$", printed, re.M)
    # The last step of a validation: each validation has 4 steps, and follows 10 of training.
    assert (int(step) + 1) % 14 == 0
