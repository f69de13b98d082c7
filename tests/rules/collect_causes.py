"""Collects what rules find in trainings with known causes, for fit_causes.py.

Appends one line of JSON a run.  Run it in the environment of PyTorch; several processes may
write to files of their own.

    python tests/rules/collect_causes.py --runs 400 --out build/causes.jsonl
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")

import torch
from causes import MORE, choose
from drawing import draw
from generator import SEEDS, learns
from seen import seen_by_diagnosis
from suite import rule_set_of

from smdebug.trials import create_trial

# Of seven runs, so many are of each set.
SETS = ("table", "table", "table", "confidence", "measure", "measure", "table")


def seed_of(number: int) -> "tuple[str, int]":
    """Returns the set and the seed of a run."""
    name = SETS[number % len(SETS)]
    before = SETS[: number % len(SETS)].count(name)
    seeds = json.loads(SEEDS.read_text())[f"diagnosis-{name}"]
    index = number // len(SETS) * SETS.count(name) + before
    if index >= seeds["most"]:
        raise SystemExit(f"seeds.json has {seeds['most']} seeds for diagnosis-{name}")
    return name, seeds["first"] + index


def fits(fault: str, seed: int) -> bool:
    """Reports whether a fault of causes.MORE can be planted in the training of that seed."""
    return fault not in MORE or MORE[fault][1](draw(seed)[0])


def collect(seed: int, folder: Path, only: str) -> Dict[str, Any]:
    """Trains, and returns what was planted and what rules found."""
    began = time.perf_counter()
    drawn, training = draw(seed)
    chosen = choose(training, drawn, only)
    trial_dir = folder / str(seed)
    is_stored = training.workers > 1 or bool(training.hides)
    training.saves = is_stored
    rules = rule_set_of("calibrated", None)
    findings: List[Any] = training.run(trial_dir, None if is_stored else rules)
    if is_stored:
        findings = list(rules.evaluate(create_trial(str(trial_dir)), wait=False))
    shutil.rmtree(trial_dir, ignore_errors=True)
    return {
        "seed": seed, "kind": chosen.kind, "cause": chosen.cause, "severity": chosen.severity,
        "begins": chosen.begins, "drawn": str(drawn),
        "learns": training.workers > 1 or learns(training),
        "seconds": time.perf_counter() - began,
        "seen": seen_by_diagnosis(rules, findings),
        "statuses": {each.rule: each.status.name for each in rules.results()},
    }  # fmt: skip


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--begin", type=int, default=0, help="the number of the first run")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--sets", nargs="*", default=sorted(set(SETS)), help="only runs of these")
    parser.add_argument("--only", default="", help="plant this fault in each run")
    parser.add_argument("--out", type=Path, required=True, help="appends to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-causes-", dir=memory))
    try:
        with options.out.open("a") as out:
            for index in range(options.begin, options.begin + options.runs):
                name, seed = seed_of(index)
                if name not in options.sets or not fits(options.only, seed):
                    continue
                row = {"set": name, **collect(seed, folder, options.only)}
                out.write(json.dumps(row) + "\n")
                out.flush()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
