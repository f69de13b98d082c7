"""The page on JAX, and the example."""

import re

import smdebug as smd
from pages import ROOT, run_page, run_script


def test_the_page(tmp_path):
    run_page("jax.md", tmp_path)


def test_train_spirals(tmp_path):
    printed = run_script(ROOT / "examples/jax/train_spirals.py", tmp_path, "spirals")
    first, plateau, vanishing = printed.splitlines()
    assert first == "recorded 100 steps of 10 tensors"
    [step] = re.findall(r"^Plateau: met at step (\d+)$", plateau)
    assert int(step) >= 590, "60 saved steps are needed to tell"
    assert vanishing == "VanishingGradient: never met"
    losses = smd.create_trial(tmp_path / "spirals").tensor("loss").values(smd.modes.TRAIN)
    losses = [loss.item() for loss in losses.values()]
    assert losses[0] > 0.5 and sum(losses[-10:]) / 10 < 0.35, "it learns"
