"""What rules cost: on a stored trial, and within a training.

Stored: all rules over 1,000 steps of 200 tensors, of which statistics were saved.  Live: three
trainings alike of a million parameters, whose steps take turns: one without a hook, one with a
hook that saves nothing, one with such a hook on which all rules look.  Where tensors come to
lie changes a step's time by as much as rules take, so there are several sets of three; told
are the median and the spread of their medians.  Run in the environment of PyTorch that
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
from smdebug.rules import RuleSet, builtin_rules
from smdebug.trials import create_trial

PROFILES = ("aws", "calibrated")
# Profiles, and every how many steps rules look.
LIVE = (("aws", 1), ("aws", 16), ("calibrated", 1), ("calibrated", 5))
# Of a training, as docs/rules.md has rules look at its beginning.
FIRST, WHOLE = 50, 1000
# Evaluates a run by another one.
NOT_ASKED = {"SimilarAcrossRuns"}
# By name, a figure of each set.
Measured = Dict[str, List[float]]
# As the service's documentation has them, where rules have no defaults.
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
GOALS = {"stored": 1.0, "live": 0.01}


def rule_set_of(profile: str, interval: int = 1) -> RuleSet:
    """All rules."""
    rule_set = RuleSet(profile, SaveConfig(save_interval=interval))
    for rule in (each.name for each in builtin_rules()):
        if rule not in NOT_ASKED:
            rule_set.add(rule, EXAMPLES.get(rule))
    return rule_set


# ---- stored ------------------------------------------------------------------------------


def record(folder: str) -> None:
    """Statistics of 100 weights and their gradients, and losses."""
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
    """The seconds that all rules take, without opening the trial."""
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
    """What a step takes, by each clock: medians, of those that rules look at and of the others."""

    def medians(some: Sequence[List[float]]) -> List[float]:
        return [statistics.median(clock) for clock in zip(*some)]

    looked_at = medians(steps[::interval])
    if interval == 1:
        return looked_at
    others = medians([each for step, each in enumerate(steps) if step % interval])
    return [(look + (interval - 1) * other) / interval for look, other in zip(looked_at, others)]


def evaluate_set(folder: str, profile: str, interval: int) -> List[List[float]]:
    """Without, with a hook, with rules: what a step typically takes, by each clock."""
    trainings = [Training() for _ in range(3)]
    hooks = [hooked(trainings[i], f"{folder}/{i}") for i in (1, 2)]
    hooks[1].attach(rule_set_of(profile, interval))
    seconds: List[List[List[float]]] = [[], [], []]
    warm_up = -(-WARM_UP // interval) * interval
    for step in range(warm_up + STEPS_OF_SET):
        for training in trainings:
            # One that has learned its only batch is stuck, which rules would tell each step.
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
    """Of each set: shares of a step, by the clock and of the training thread's work."""
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
    """Of a whole training, the first steps of which are looked at one by one."""

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
            print(f"| {what} | {profile} | {seconds:.2f} | < 1 | {reached} |")
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
