"""The page on PyTorch, what the README has of it, and the example."""

import re

from pages import ROOT, run_page, run_readme, run_script


def test_the_page(tmp_path):
    run_page("pytorch.md", tmp_path, without=["transformers", "lightning"])


def test_the_readme(tmp_path):
    run_readme("torch", tmp_path)


def test_the_example(tmp_path):
    printed = run_script(ROOT / "examples/pytorch/train_digits.py", tmp_path, "run")
    assert "recorded 16 steps of 9 tensors" in printed
    [losses] = re.findall(r"^loss (\S+) at first, (\S+) at last$", printed, re.M)
    assert float(losses[1]) < 0.3 < 2 < float(losses[0])
    assert len(re.findall(r"^of the ReLU's outputs \d+% are zero at step \d+$", printed, re.M)) == 2
    [step] = re.findall(r"^GoodEnough: met at step (\d+)$", printed, re.M)
    assert int(step) < 115
