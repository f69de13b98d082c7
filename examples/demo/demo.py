#!/usr/bin/env python3
"""Trains two networks, records both trainings, and finds the faulty one.

    python demo.py --out demo_output

The first network is healthy.  The second has a planted fault: it has many sigmoid layers
whose initial weights are too small, so almost no gradient reaches the first layer.
"""

import argparse
import os
import shutil
import sys
import time

# Networks of this size train faster without threads for linear algebra.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
import smdebug as smd  # noqa: E402
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet  # noqa: E402
from smdebug.rules import invoke_rule  # noqa: E402

import tables  # noqa: E402
from c_interface import BuiltinRule  # noqa: E402
from picture import draw  # noqa: E402
from training import EPOCHS, FAULTY, HEALTHY, Digits, Trainer  # noqa: E402
from vanishing_gradient import VanishingGradientRule  # noqa: E402

THRESHOLD = "1e-7"
MARKER = ".smdebug-demo"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="demo_output", help="folder for trials and picture")
    out = parser.parse_args().out
    begin = time.perf_counter()
    sys.stdout.reconfigure(errors="replace")  # for terminals without line characters
    print(f"smdebug {smd.__version__}: which of these two trainings is faulty?")

    prepare(out)
    train(out)
    trials = {run.name: smd.create_trial(os.path.join(out, run.name)) for run in (HEALTHY, FAULTY)}
    healthy, faulty = trials.values()
    show(healthy, faulty)
    findings = {name: Finding(trial) for name, trial in trials.items()}
    report(findings)

    caught = findings["faulty"].mode_step
    if caught is not None:
        picture = os.path.join(out, "demo.png")
        draw(picture, healthy, faulty, float(THRESHOLD), caught)
        print(f"\n  Picture: {picture}")
    print(f"  Trials:  {healthy.path}, {faulty.path}")
    seconds = time.perf_counter() - begin
    is_right = findings["healthy"].step is None and caught is not None
    is_right = is_right and all(finding.rules_agree for finding in findings.values())
    result = "The rule found the faulty training, and only that one." if is_right else "WRONG."
    print(f"\n{result}  ({seconds:.1f} s)")
    return 0 if is_right else 1


def prepare(out):
    """Empties the output folder if an earlier run of this program created it."""
    if os.path.isdir(out) and os.listdir(out):
        if not os.path.exists(os.path.join(out, MARKER)):
            sys.exit(f"{out} holds files that are not from this demo; choose another --out")
        shutil.rmtree(out)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, MARKER), "w"):
        pass


def train(out):
    digits = Digits(np.random.default_rng(0))
    tables.heading(1, "Training two networks on the UCI digits, recorded")
    trained = {}
    for run in (HEALTHY, FAULTY):
        progress = tables.Progress(run.name, EPOCHS * digits.steps_per_epoch)
        trained[run.name] = Trainer(run, digits, os.path.join(out, run.name)).train(progress)
    print()
    tables.facts(
        trained,
        {
            "network": lambda it: it.run.network,
            "initial weights": lambda it: it.run.start,
            "loss at the end": lambda it: f"{it.loss:.3f}",
            "accuracy": lambda it: f"{it.accuracy:.1%}",
            "training": lambda it: f"{it.seconds:.2f} s, {it.steps} steps",
            "recording": lambda it: f"{1000 * it.recording / it.steps:.2f} ms a step",
            "recorded": lambda it: f"{it.tensors:,} tensors, {tables.size(it.payload)}",
        },
    )


def show(healthy, faulty):
    tables.heading(2, "What the trials hold")
    tables.trials_table([healthy, faulty])
    print(f"\n  Collections of {healthy.name}:")
    tables.collections_table(healthy)
    for name in ("layer1.weight", "layer1.relu_output"):
        steps = healthy.tensor(name).steps(smd.modes.TRAIN)
        print(f"\n  Tensor {name} of {healthy.name}:")
        tables.tensor_table(healthy, name, [steps[0], steps[len(steps) // 2], steps[-1]])
    accuracies = list(healthy.tensor("scalar/accuracy").values(smd.modes.EVAL).items())
    text = ", ".join(f"{value.item():.1%} at {step}" for step, value in accuracies[::5])
    print(f"\n  Scalar accuracy of {healthy.name}, by EVAL step: {text}")


class Finding:
    """The findings of the rule in vanishing_gradient.py and of the built-in rule in a trial."""

    def __init__(self, trial):
        self.rule = VanishingGradientRule(trial, threshold=THRESHOLD)
        self.step = self.mode_step = None
        try:
            invoke_rule(self.rule, raise_eval_cond=True)
        except RuleEvaluationConditionMet as met:
            self.step, self.mode_step = met.step, trial.mode_step(met.step)
        except NoMoreData:
            pass  # all steps of the finished trial were evaluated
        gradient = trial.tensor_names(collection="gradients")[0]
        checked = trial.tensor(gradient).steps()
        self.checked = [step for step in checked if self.step is None or step <= self.step]
        self.builtin = BuiltinRule("VanishingGradient", trial.path, threshold=THRESHOLD)
        self.rules_agree = self.builtin.steps[:1] == ([] if self.step is None else [self.step])

    def where(self):
        return "" if self.step is None else f"step {self.step} (TRAIN step {self.mode_step})"


def report(findings):
    tables.heading(3, f"Does some gradient vanish?  (mean |gradient| below {THRESHOLD})")
    tables.facts(
        findings,
        {
            "result": lambda it: "passes" if it.step is None else "CAUGHT",
            "steps checked": lambda it: len(it.checked),
            "first met at": Finding.where,
            "by the tensor": lambda it: it.rule.culprit[0] if it.rule.culprit else "",
            "its mean": lambda it: f"{it.rule.culprit[1]:.2e}" if it.rule.culprit else "",
            "built-in rule": lambda it: "agrees" if it.rules_agree else "DIFFERS",
        },
    )


if __name__ == "__main__":
    sys.exit(main())
