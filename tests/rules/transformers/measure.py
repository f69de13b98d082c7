"""Measures the rule set "llm" on small transformers, with faults and in healthy ways.

Each run is drawn from a seed of seeds.json.  Run this in the environment of PyTorch that
tools/test_frameworks.sh makes:

    python tests/rules/transformers/measure.py --set tuning --each 1
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")
sys.path[:0] = [str(each) for each in Path(__file__).resolve().parents[:2]]

import torch
from healthy_ways import HEALTHY
from intervals import wilson
from planted import FAULTS
from seen import seen_by_diagnosis
from training import Training

from smdebug.rules import RuleSet

FROM_THE_BEGINNING = {
    "tie_broken", "bf16_updates_lost", "layer_not_trained", "other_copy_trained", "never_reset",
    "gradients_not_averaged", "never_reset_long_tail", "unscaled_twice", "z_loss_sign_wrong",
}  # fmt: skip
SEEDS = Path(__file__).with_name("seeds.json")


@dataclass
class Run:
    """What the rules found in a training."""

    kind: str
    seed: int
    is_fault: bool
    steps: int
    begins: int
    findings: int  # of all steps
    wrong: List[str]  # first findings of rules that must find nothing, or before the onset
    latency: Optional[int] = None  # steps to the first right finding
    is_culprit: bool = False
    first: str = ""
    spike: Optional[int] = None  # steps to the first spike of the loss after the onset
    ahead: Optional[int] = None  # steps from the first finding to it
    seconds: float = 0
    # As collect_causes.py collects them, for fit_causes.py.
    seen: List[Dict[str, Any]] = field(default_factory=list)
    statuses: Dict[str, str] = field(default_factory=dict)


def enlarge(training: Training) -> None:
    """Gives the model 1 to 10 million parameters."""
    chance = random.Random(f"large {training.seed}")
    training.shape = (chance.choice((192, 256)), chance.choice((3, 4)), 4)
    training.batch = min(8, training.batch)


def run(kind: str, seed: int, folder: Path, is_large: bool = False) -> Run:
    """Trains with a fault or in a healthy way."""
    began = time.perf_counter()
    fault = FAULTS.get(kind)
    training = Training(seed, fault.is_mixture if fault else None)
    begins = 0
    if fault is not None:
        begins = random.Random(f"onset {seed}").randint(105, 125)
        fault.plant(training, begins)
        if kind in FROM_THE_BEGINNING:
            begins = 0
    else:
        HEALTHY[kind](training)
    if is_large and training.workers == 1:  # jobs of two processes save all, 20 GB
        enlarge(training)
    out = folder / f"{kind}-{seed}"
    rules = RuleSet("llm")
    findings = training.run(out, rules)
    shutil.rmtree(out, ignore_errors=True)
    steps = len(training.losses) or training.steps
    result = Run(kind, seed, fault is not None, steps, begins, len(findings), [])
    for each in findings:
        text = f"{each.step} {each.rule} {each.check}: {each.message}"
        is_right = fault is not None and each.step >= begins
        if not is_right and each.rule not in [one.split()[1] for one in result.wrong]:
            result.wrong.append(text)
        if is_right and each.rule in fault.rules and result.latency is None:
            result.latency = each.step - begins
            result.is_culprit = re.search(fault.culprit, each.tensor) is not None
            result.first = text
    if fault is not None:
        result.spike = spike_of(training.losses, begins)
        steps_before = [each.step for each in findings if each.step >= begins]
        if result.spike is not None and steps_before:
            result.ahead = begins + result.spike - min(steps_before)
    result.seen = seen_by_diagnosis(rules, findings)
    result.statuses = {each.rule: each.status.name for each in rules.results()}
    result.seconds = time.perf_counter() - began
    return result


def spike_of(losses: Sequence[float], begins: int) -> Optional[int]:
    """Returns how many steps after the onset the loss first spikes, as LossSpike defines it."""
    for step in range(max(begins, 64), len(losses)):
        last = [each for each in losses[max(0, step - 128) : step] if math.isfinite(each)]
        mean, deviation = statistics.mean(last), statistics.stdev(last)
        if not losses[step] <= mean + max(6 * deviation, 0.25 * mean):
            return step - begins
    return None


def share(flags: Sequence[bool]) -> str:
    low, high = wilson(sum(flags), len(flags))
    return f"{sum(flags)} of {len(flags)} ({low:.1%} to {high:.1%})"


def print_figures(runs: Sequence[Run]) -> None:
    faulty = [each for each in runs if each.is_fault]
    healthy = [each for each in runs if not each.is_fault]
    found = [each for each in faulty if each.latency is not None]
    kinds = sorted({each.kind for each in faulty})
    always = [all(e.latency is not None for e in faulty if e.kind == kind) for kind in kinds]
    of_state = [each for each in faulty if FAULTS[each.kind].is_of_state]
    alarms = sum(len(each.wrong) for each in healthy)
    steps = sum(each.steps for each in healthy)
    rights = [True] * len(found) + [False] * sum(len(each.wrong) for each in runs)
    print("| figure | value |\n|---|---|")
    print(f"| runs with a fault in which it is found | {share([e in found for e in faulty])} |")
    print(f"| faults found in all their runs | {sum(always)} of {len(kinds)} |")
    quick = [e.latency is not None and e.latency <= 1 for e in of_state]
    print(f"| visible in the state: found within one step | {share(quick)} |")
    print(f"| precision of first findings | {share(rights)} |")
    print(f"| culprit right | {share([each.is_culprit for each in found])} |")
    print(f"| healthy runs silent | {share([not each.wrong for each in healthy])} |")
    # A spike in the step in which a fault begins cannot be announced.
    spikes = [each for each in faulty if each.spike is not None and each.spike > 0]
    announced = [each.ahead is not None and each.ahead > 0 for each in spikes]
    print(f"| spikes of the loss announced a step ahead or more | {share(announced)} |")
    rate = 1000 * alarms / steps if steps else 0
    print(f"| false alarms in 1,000 healthy steps | {rate:.2f}, in {steps} steps |")
    print(f"| seconds a run | {statistics.mean(each.seconds for each in runs):.1f} |")
    print("\n| fault | found | steps | spikes announced |\n|---|---|---|---|")
    for kind in kinds:
        of = [each for each in faulty if each.kind == kind]
        late = [each.latency for each in of if each.latency is not None]
        median = f"{statistics.median(late):g}" if late else ""
        ahead = [flag for each, flag in zip(spikes, announced) if each.kind == kind]
        told = f"{sum(ahead)} / {len(ahead)}" if ahead else ""
        print(f"| {kind} | {len(late)} / {len(of)} | {median} | {told} |")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=("tuning", "claim", "large"), default="tuning")
    parser.add_argument("--each", type=int, default=1, help="runs of each fault and way")
    parser.add_argument("--begin", type=int, default=0, help="the number of the first run")
    parser.add_argument("--only", default="", help="run only kinds whose names match")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--lines", type=Path, help="append a line of JSON a run to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    first = json.loads(SEEDS.read_text())[options.set]["first"]
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-llm-", dir=memory))
    began = time.perf_counter()
    runs: List[Run] = []
    try:
        for number in range(options.begin, options.begin + options.each):
            for place, kind in enumerate([*FAULTS, *HEALTHY]):
                if not re.search(options.only, kind):
                    continue
                if time.perf_counter() - began > options.seconds:
                    continue
                seed = first + 100 * number + place
                runs.append(run(kind, seed, folder, options.set == "large"))
                each = runs[-1]
                if options.lines:
                    with options.lines.open("a") as lines:
                        lines.write(json.dumps({"set": options.set, **asdict(each)}) + "\n")
                late = "missed" if each.is_fault and each.latency is None else ""
                if late or each.wrong or (each.is_fault and not each.is_culprit):
                    print(f"{kind} {each.seed} {late} {each.wrong} {each.first}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_figures(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
