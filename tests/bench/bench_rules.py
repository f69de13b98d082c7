"""Measures the cost of rules on a stored trial and inside a training.

Stored: all rules over 1,000 steps of 200 tensors with saved statistics.  Live: three equal
trainings of a million parameters, whose steps take turns: without a hook, with a hook that saves
nothing, and with such a hook and all rules attached.  The addresses of tensors change a step's
time by as much as the rules, so there are several sets of three.  The results are the median and
the spread of their medians.  Run this in the environment of PyTorch that
tools/test_frameworks.sh makes.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")

import numpy as np
import smdebug.pytorch as smd
import torch
from pytorch_training import Training

from smdebug import Hook, ReductionConfig, SaveConfig, modes
from smdebug.rules import RuleSet
from smdebug.trials import create_trial

PROFILES = ("aws", "calibrated")
# Profiles, and the interval of steps that rules evaluate.
LIVE = (("aws", 1), ("aws", 16), ("calibrated", 1), ("calibrated", 5))
# The first steps of a training that rules evaluate in docs/rules.md.
FIRST, WHOLE = 50, 1000
# The figures of the sets, by name.
Measured = Dict[str, List[float]]
# For rules without defaults: the examples in the service's documentation.
EXAMPLES: Dict[str, Dict[str, str]] = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {
        "collection_names": "weights", "max_threshold": "10", "min_threshold": "0.00001",
    },
    "UnchangedTensor": {"collection_names": "losses"},
}  # fmt: skip

STEPS, WEIGHTS = 1000, 100
SETS = int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "10"))
STEPS_OF_SET = 48
WARM_UP = 16
GOALS = {"stored": 0.3, "live": 0.01}


def rule_set_of(profile: str, interval: int = 1) -> RuleSet:
    """Returns all rules."""
    rule_set = RuleSet(profile, SaveConfig(save_interval=interval))
    for rule, parameters in EXAMPLES.items():
        rule_set.add(rule, parameters)
    return rule_set.add_all()


# ---- stored ------------------------------------------------------------------------------


def record(folder: str) -> None:
    """Records statistics of 100 weights and their gradients, and losses."""
    reductions = ReductionConfig(["min", "max", "mean", "std"], ["max", "mean"], norms=["l1", "l2"])
    hook = Hook(
        folder,
        save_config=SaveConfig(save_interval=1),
        include_collections=["weights", "gradients", "losses"],
        reduction_config=reductions,
    )
    patterns = {"weights": "^layer", "gradients": "^gradient/", "losses": "^loss$"}
    for name, pattern in patterns.items():
        hook.get_collection(name).include(pattern)
    random = np.random.default_rng(1)
    for step in range(STEPS):
        with hook.step(modes.TRAIN):
            for i in range(WEIGHTS):
                hook.save(f"layer{i}.weight", random.standard_normal(32, "float32"))
                hook.save(f"gradient/layer{i}.weight", random.standard_normal(32, "float32"))
            hook.save("loss", np.array(1 / (1 + step), "float32"))
    hook.close()


def evaluate_stored(folder: str, profile: str) -> float:
    """Returns the seconds of all rules, without the time to open the trial."""
    trial = create_trial(folder)
    trial.tensor_names()
    begin = time.perf_counter()
    for _ in rule_set_of(profile).evaluate(trial, wait=False):
        pass
    return time.perf_counter() - begin


# ---- live --------------------------------------------------------------------------------


def hooked(training: Training, folder: str) -> smd.Hook:
    hook = smd.Hook(folder, save_config=SaveConfig(save_interval=10**9, start_step=10**9))
    hook.register_module(training.model)
    hook.register_loss(training.loss_module)
    hook.set_mode(modes.TRAIN)
    return hook


def typical(steps: Sequence[List[float]], interval: int) -> List[float]:
    """Returns the median time of a step by each clock, weighted by the evaluated and other steps."""

    def medians(some: Sequence[List[float]]) -> List[float]:
        return [statistics.median(clock) for clock in zip(*some)]

    looked_at = medians(steps[::interval])
    if interval == 1:
        return looked_at
    others = medians([each for step, each in enumerate(steps) if step % interval])
    return [(look + (interval - 1) * other) / interval for look, other in zip(looked_at, others)]


def evaluate_set(folder: str, profile: str, interval: int) -> List[List[float]]:
    """Returns the typical time of a step by each clock: without a hook, with a hook, with rules."""
    trainings = [Training() for _ in range(3)]
    hooks = [hooked(trainings[i], f"{folder}/{i}") for i in (1, 2)]
    hooks[1].attach(rule_set_of(profile, interval))
    seconds: List[List[List[float]]] = [[], [], []]
    warm_up = -(-WARM_UP // interval) * interval
    for step in range(warm_up + STEPS_OF_SET):
        for training in trainings:
            # A model that has learned its only batch makes rules report findings at each step.
            training.x.normal_()
            training.y.random_(10)
        for i in range(3):
            which = (step + i) % 3
            taken = trainings[which].step()
            if step >= warm_up:
                seconds[which].append(taken)
    for hook in hooks:
        hook.close()
    return [typical(each, interval) for each in seconds]


def evaluate_live(folder: str, profile: str, interval: int) -> Measured:
    """Returns the cost of each set as a fraction of a step, in wall time and in processor time of the
    training thread."""
    torch.set_num_threads(1)
    sets = [evaluate_set(f"{folder}/{number}", profile, interval) for number in range(SETS)]
    clock, thread = 0, 1
    return {
        "ms": [1e3 * without[clock] for without, _, _ in sets],
        "hook": [hook[clock] / without[clock] - 1 for without, hook, _ in sets],
        "rules": [(rules[clock] - hook[clock]) / without[clock] for without, hook, rules in sets],
        "thread": [
            (rules[thread] - hook[thread]) / without[thread] for without, hook, rules in sets
        ],
    }


def shares(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2%} ({min(values):.2%} to {max(values):.2%})"


def first_and_then(every: Measured, rarely: Measured) -> Measured:
    """Returns the cost of a whole training whose first steps are all evaluated."""

    def whole(first: float, then: float) -> float:
        return (FIRST * first + (WHOLE - FIRST) * then) / WHOLE

    return {name: [whole(*both) for both in zip(every[name], rarely[name])] for name in every}


def rows(live: Mapping[Tuple[str, int], Measured]) -> Iterator[Tuple[str, str, Measured]]:
    for (profile, interval), of in live.items():
        if interval == 1:
            yield profile, "every step", of
            continue
        yield profile, f"each {interval}th step", of
        steps = f"the first {FIRST} of {WHOLE:,} steps, then each {interval}th"
        yield profile, steps, first_and_then(live[profile, 1], of)


def report_live(live: Mapping[Tuple[str, int], Measured]) -> None:
    print(
        f"\n| live, {SETS} sets | looking at | ms a step without | a hook alone | rules | to reach | reached "
        "| rules, of the thread's work |\n|---|---|---|---|---|---|---|---|"
    )
    for profile, steps, of in rows(live):
        reached = "yes" if statistics.median(of["rules"]) < GOALS["live"] else "NO"
        print(
            f"| {profile} | {steps} | {statistics.median(of['ms']):.1f} | {shares(of['hook'])} "
            f"| {shares(of['rules'])} | < 1 % | {reached} | {shares(of['thread'])} |"
        )


def main() -> None:
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = tempfile.mkdtemp(prefix="smdebug-bench-", dir=base)
    try:
        record(f"{folder}/stored")
        stored = {
            profile: min(evaluate_stored(f"{folder}/stored", profile) for _ in range(3))
            for profile in PROFILES
        }
        print("| stored | rules | seconds | to reach | reached |\n|---|---|---|---|---|")
        for profile, seconds in stored.items():
            reached = "yes" if seconds < GOALS["stored"] else "NO"
            what = f"{STEPS:,} steps x {2 * WEIGHTS} tensors"
            print(f"| {what} | {profile} | {seconds:.2f} | < {GOALS['stored']:g} | {reached} |")
        live = {
            (profile, interval): evaluate_live(f"{folder}/{profile}-{interval}", profile, interval)
            for profile, interval in LIVE
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report_live(live)
    (ROOT / "build").mkdir(exist_ok=True)
    kept = {"stored": stored, "live": [[*of, figures] for of, figures in live.items()]}
    (ROOT / "build" / "bench_rules.json").write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
