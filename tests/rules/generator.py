"""Measures rules on trainings drawn at random, with faults of drawn severity or none.

Half of the runs have a fault.  Recall is reported over severity, precision and the silence of
healthy runs with Wilson intervals.  seeds.json says which seeds are for tuning, and which for
claims.  Run this in the environment of PyTorch that tools/test_frameworks.sh makes:

    python tests/rules/generator.py --set tuning --runs 200 --lines results.jsonl

`--lines` appends each run to a file and skips those that it has, so that the same command goes on
after an interruption.  Several processes may measure parts with files of their own; `--read`
prints what all of them found.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")

import torch
from benign import BENIGN
from causes import cause_of
from drawing import Drawn, draw
from intervals import wilson
from seen import seen_by_diagnosis
from severities import GRADED, Graded, Planted
from suite import rule_set_of
from trainer import Training

from smdebug.rules import Finding, Level
from smdebug.trials import create_trial

SEEDS = Path(__file__).with_name("seeds.json")
BANDS = ((0.0, 1 / 3, "slight"), (1 / 3, 2 / 3, "middling"), (2 / 3, 1.01, "gross"))
STORED_EVERY = 5  # of the runs, those that are also saved and evaluated afterwards
LEAST_FALL = 0.15  # of the loss, for a run to count as a training that learns


@dataclass
class Found:
    """The first finding of a rule in a run."""

    rule: str
    check: str
    tensor: str
    step: int
    message: str
    is_right: bool
    is_expected: bool
    names_culprit: bool


@dataclass
class Run:
    """A training and what rules found in it."""

    seed: int
    kind: str
    severity: Optional[float]  # None: healthy
    drawn: str
    begins: int
    seconds: float
    learns: bool
    found: List[Found] = field(default_factory=list)
    looks: List[Found] = field(default_factory=list)  # worth a look
    live_is_stored: Optional[bool] = None
    causes: List[Tuple[str, float]] = field(default_factory=list)  # the diagnosis
    seen: List[Dict[str, Any]] = field(default_factory=list)  # for fit_causes.py

    @property
    def is_fault(self) -> bool:
        return self.severity is not None


# ---- running -----------------------------------------------------------------------------


def plant(
    seed: int, drawn: Drawn, training: Training, only: str, is_fault: Optional[bool]
) -> Optional[Tuple[str, Any, List[str]]]:
    """Makes the training faulty or varies it, by chance.

    Returns what was chosen, or None if nothing that `only` matches fits the training.
    """
    chance = random.Random(f"plant {seed}")
    wants_fault = chance.random() < 0.5 if is_fault is None else is_fault
    if wants_fault:
        fitting = [each for each in GRADED if each.fits(drawn) and re.search(only, each.name)]
        if not fitting:
            return None
        fault = chance.choice(fitting)
        begins = chance.randint(20, 60) if fault.begins_late else 0
        severity = chance.random() if is_fault is None else 1.0
        planted = Planted(training, drawn, severity, begins, chance)
        return fault.name, (fault, planted), fault.inject(planted)
    ways = [name for name, way in BENIGN.items() if re.search(only, name) and way.fits(training)]
    if not ways:
        return None
    way = chance.choice(ways)
    BENIGN[way].vary(training, drawn, chance)
    return way, None, []


def first_step_of(planted: Planted) -> int:
    """Returns the global step at which a fault begins, among steps of evaluation too."""
    training = planted.training
    calls = 1 if training.registers_optimizer else training.batches_of_step
    passes = planted.begins // training.evaluates_every
    return planted.begins * calls + passes * training.batches_of_evaluation


def run(
    seed: int,
    folder: Path,
    only: str = "",
    is_fault: Optional[bool] = None,
    is_strange: bool = False,
) -> Optional[Run]:
    """Trains and evaluates, or returns None if nothing that `only` matches fits the training.

    `is_fault` decides what the seed decides otherwise; faults are then as severe as can be.
    `is_strange` is that of `draw`.
    """
    began = time.perf_counter()
    drawn, training = draw(seed, is_strange=is_strange)
    planted = plant(seed, drawn, training, only, is_fault)
    if planted is None:
        return None
    kind, fault, culprits = planted
    severity = fault[1].severity if fault else None
    begins = first_step_of(fault[1]) if fault else 0
    trial_dir = folder / str(seed)
    training.saves = seed % STORED_EVERY == 0 or bool(training.hides)
    rules = rule_set_of("calibrated", None)
    findings = training.run(trial_dir, rules)
    result = Run(seed, kind, severity, str(drawn), begins, 0, learns(training))
    if training.saves:
        of_stored = rule_set_of("calibrated", None)
        stored = list(of_stored.evaluate(create_trial(str(trial_dir)), wait=False))
        if training.hides:
            findings, rules = stored, of_stored
        else:
            result.live_is_stored = list(map(told, findings)) == list(map(told, stored))
    sure = [each for each in findings if each.level is Level.FINDING]
    looks = [each for each in findings if each.level is Level.WORTH_A_LOOK]
    result.found = firsts(sure, fault[0] if fault else None, begins, culprits)
    result.looks = firsts(looks, fault[0] if fault else None, begins, culprits)
    result.causes = [(each.id, each.confidence) for each in rules.diagnose()]
    result.seen = seen_by_diagnosis(rules, findings)
    shutil.rmtree(trial_dir)
    result.seconds = time.perf_counter() - began
    return result


def told(finding: Finding) -> str:
    """Returns what a finding says, apart from the last digits of a sum.

    They depend on the order of elements in memory, which a transposed tensor of a running job does
    not share with a stored one.
    """
    value = float(f"{finding.value:.9g}") if finding.value is not None else None
    return repr(replace(finding, value=value))


def learns(training: Training) -> bool:
    """Returns whether the loss of training fell."""
    losses = training.losses
    first, last = sum(losses[:10]) / 10, sum(losses[-10:]) / 10
    return math.isfinite(last) and last < (1 - LEAST_FALL) * first


def firsts(
    stored: Iterable[Any], fault: Optional[Graded], begins: int, culprits: Sequence[str]
) -> List[Found]:
    found: List[Found] = []
    seen = set()
    for each in stored:
        if each.rule in seen:
            continue
        seen.add(each.rule)
        is_there = fault is not None and each.step >= begins
        is_expected = is_there and each.rule in fault.rules
        found.append(
            Found(
                each.rule, each.check, each.tensor, each.step, each.message,
                is_right=is_expected or (is_there and each.rule in fault.also),
                is_expected=is_expected,
                names_culprit=any(re.search(name, each.tensor) for name in culprits),
            )
        )  # fmt: skip
    return found


# ---- figures -----------------------------------------------------------------------------


def share(flags: Sequence[bool]) -> str:
    low, high = wilson(sum(flags), len(flags))
    part = sum(flags) / len(flags) if flags else float("nan")
    return f"{part:.1%} ({low:.1%} to {high:.1%}) of {len(flags)}"


def counted(runs: Sequence[Run]) -> List[Run]:
    """Leaves out healthy runs whose loss did not fall: whether they are healthy is not known."""
    return [each for each in runs if each.is_fault or each.learns]


def print_figures(runs: Sequence[Run]) -> None:
    kept = counted(runs)
    faulty = [each for each in kept if each.is_fault]
    healthy = [each for each in kept if not each.is_fault]
    print(f"{len(runs)} runs; {len(runs) - len(kept)} healthy ones left out, which did not learn")
    print("| figure | share, 95 % interval |\n|---|---|")
    print(f"| healthy runs silent | {share([not each.found for each in healthy])} |")
    print(f"| healthy runs not worth a look | {share([not each.looks for each in healthy])} |")
    rights = [one.is_right for each in kept for one in each.found]
    print(f"| findings right | {share(rights)} |")
    for low, high, name in BANDS:
        of = [each for each in faulty if low <= (each.severity or 0) < high]
        print(f"| found, {name} | {share([any(o.is_expected for o in e.found) for e in of])} |")
        right = [any(o.is_right for o in each.found) for each in of]
        print(f"| with a right finding, {name} | {share(right)} |")
    culprits = [one.names_culprit for each in faulty for one in each.found if one.is_expected]
    print(f"| culprit right | {share(culprits)} |")
    early = [any(one.step < each.begins for one in each.found) for each in faulty if each.begins]
    print(f"| nothing before onset | {share([not each for each in early])} |")
    live = [each.live_is_stored for each in runs if each.live_is_stored is not None]
    print_diagnosis(faulty, healthy)
    print(f"| live findings equal stored ones | {share([bool(each) for each in live])} |")
    print(f"| seconds a run | {sum(each.seconds for each in runs) / max(1, len(runs)):.2f} |")


def print_diagnosis(faulty: Sequence[Run], healthy: Sequence[Run]) -> None:
    of_gross = [each for each in faulty if (each.severity or 0) >= BANDS[-1][0]]
    of_found = [each for each in faulty if each.found]
    sets = (("all faults", faulty), ("gross", of_gross), ("with findings", of_found))
    for title, of in sets:
        named = [([cause for cause, _ in each.causes], cause_of(each.kind)) for each in of]
        print(f"| first cause right, {title} | {share([right in a[:1] for a, right in named])} |")
        print(f"| one of three right, {title} | {share([right in a for a, right in named])} |")
    print(f"| healthy runs without a diagnosis | {share([not e.causes for e in healthy])} |")


def print_kinds(runs: Sequence[Run]) -> None:
    kinds: Dict[str, List[Run]] = defaultdict(list)
    for each in counted(runs):
        kinds[each.kind].append(each)
    print("\n| fault | slight | middling | gross |\n|---|---|---|---|")
    for kind, of in sorted(kinds.items()):
        if not of[0].is_fault:
            continue
        cells = []
        for low, high, _ in BANDS:
            band = [each for each in of if low <= (each.severity or 0) < high]
            hits = sum(any(one.is_expected for one in each.found) for each in band)
            cells.append(f"{hits} / {len(band)}")
        print(f"| {kind} | {' | '.join(cells)} |")
    print("\n| healthy | silent | blamed by | worth a look |\n|---|---|---|---|")
    for kind, of in sorted(kinds.items()):
        if of[0].is_fault:
            continue
        blamed = Counter(f"{one.rule}/{one.check}" for each in of for one in each.found)
        silent = sum(not each.found for each in of)
        names = ", ".join(f"{name} {count}" for name, count in blamed.most_common())
        looks = Counter(f"{one.rule}/{one.check}" for each in of for one in each.looks)
        seen = ", ".join(f"{name} {count}" for name, count in looks.most_common())
        print(f"| {kind} | {silent} / {len(of)} | {names} | {seen} |")


def print_mistakes(runs: Sequence[Run]) -> None:
    for each in counted(runs):
        severity = "" if each.severity is None else f" severity {each.severity:.2f}"
        what = f"{each.seed} {each.kind}{severity} begins {each.begins} [{each.drawn}]"
        for one in each.found:
            if not one.is_right:
                print(f"false: {what}: step {one.step} {one.rule}/{one.check}: {one.message}")
        for one in each.looks:
            print(f"worth a look: {what}: step {one.step} {one.rule}/{one.check}: {one.message}")
        if each.is_fault and not any(one.is_expected for one in each.found):
            print(f"missed: {what}; found {[one.rule for one in each.found]}")
        if each.live_is_stored is False:
            print(f"live differs: {what}")


def run_all(
    seeds: Iterable[int], only: str, lines: Optional[Path], is_strange: bool
) -> List[Run]:
    """Returns the runs of the seeds, those that `lines` has and new ones, which it appends."""
    runs = read(lines) if lines and lines.exists() else []
    seeds = sorted(set(seeds) - {each.seed for each in runs})
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="smdebug-drawn-", dir=memory))
    try:
        for seed in seeds:
            drawn = run(seed, folder, only, is_strange=is_strange)
            if drawn is None:
                continue
            runs.append(drawn)
            if lines:
                with lines.open("a") as out:
                    out.write(json.dumps(asdict(drawn)) + "\n")
            print(f"\r{len(runs)} {runs[-1].kind:30}", end="", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return runs


def seeds_of(name: str, begin: int, runs: int) -> range:
    written = json.loads(SEEDS.read_text())[name]
    if begin + runs > written["most"]:
        raise SystemExit(f"seeds.json has {written['most']} seeds for {name}")
    return range(written["first"] + begin, written["first"] + begin + runs)


def read(path: Path) -> List[Run]:
    """Reads runs that --json or --lines wrote."""
    text = path.read_text()
    rows = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
    runs = [Run(**row) for row in rows]
    for each in runs:
        each.found = [Found(**row) for row in each.found]
        each.looks = [Found(**row) for row in each.looks]
    return runs


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=("tuning", "claim", "strangers"), default="tuning")
    parser.add_argument("--begin", type=int, default=0, help="the number of the first run")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="*", help="these seeds instead")
    parser.add_argument("--only", default="", help="draw only faults and ways whose names match")
    parser.add_argument("--mistakes", action="store_true", help="print each mistake")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--lines", type=Path, help="append each run, and skip those it has")
    parser.add_argument("--read", type=Path, nargs="*", help="print results that were written")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.read:
        runs = [each for path in options.read for each in read(path)]
    else:
        seeds = options.seeds or seeds_of(options.set, options.begin, options.runs)
        runs = run_all(seeds, options.only, options.lines, options.set == "strangers")
    print_figures(runs)
    print_kinds(runs)
    if options.mistakes:
        print_mistakes(runs)
    if options.json:
        rows: List[Dict[str, Any]] = [asdict(each) for each in runs]
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
