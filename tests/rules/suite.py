"""Measures how well rules find the faults of real trainings and spare healthy ones.

Trains each architecture with each fault that fits it, and in each healthy scenario, with
several seeds.  Evaluates all rules over the runs in both profiles, and prints the results.
The calibrated defaults were chosen with the architectures and seeds of `--set tuning`; the
documentation reports the results of `--set held-out`.  Run this in the environment of PyTorch
that tools/test_frameworks.sh makes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")

import torch
from architectures import HELD_OUT, TUNING, Architecture
from faults import FAULTS, Fault
from healthy import HEALTHY, Healthy
from trainer import Training

from smdebug import SaveConfig
from smdebug.rules import Finding, Level, RuleSet, builtin_rules
from smdebug.trials import create_trial

PROFILES = ("aws", "calibrated")
SETS = {"tuning": (TUNING, (1, 2)), "held-out": (HELD_OUT, (201, 202))}

# For rules without defaults: the examples in the service's documentation.
EXAMPLES = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {
        "collection_names": "weights", "max_threshold": "10", "min_threshold": "0.00001",
    },
    "UnchangedTensor": {"collection_names": "losses"},
}


@dataclass(frozen=True)
class Case:
    """One training."""

    kind: Union[Fault, Healthy]
    architecture: Architecture
    seed: int

    def __str__(self) -> str:
        return f"{self.kind.name}-{self.architecture.name}-{self.seed}"

    @property
    def is_fault(self) -> bool:
        return isinstance(self.kind, Fault)


@dataclass
class Finding:
    """The first finding of a rule in a run.

    Attributes
    ----------
    is_right : bool
        True if the run has a fault at that step that the rule must or may find.
    is_expected : bool
        True if the rule must find that fault.
    names_culprit : bool
        True if the finding names a tensor that causes the fault.
    latency : int
        The number of steps since the fault began, including steps of evaluation.
    """

    rule: str
    tensor: str
    label: str
    step: int
    message: str
    is_right: bool
    is_expected: bool
    names_culprit: bool
    latency: int


@dataclass
class RunResult:
    """The results of one profile's rules over one training."""

    case: str
    kind: str
    architecture: str
    seed: int
    is_fault: bool
    profile: str
    findings: List[Finding] = field(default_factory=list)
    live_is_stored: Optional[bool] = None

    @property
    def expected(self) -> List[Finding]:
        return [finding for finding in self.findings if finding.is_expected]


def rule_set_of(profile: str, saves: Optional[SaveConfig]) -> RuleSet:
    """Returns all rules with their defaults."""
    rule_set = RuleSet(profile, saves)
    for rule, parameters in EXAMPLES.items() if profile == "aws" else ():
        rule_set.add(rule, parameters)
    return rule_set.add_all()


def cases_of(
    architectures: Sequence[Architecture], seeds: Sequence[int], only: str
) -> Iterator[Case]:
    for kind in [*FAULTS, *HEALTHY]:
        for architecture in architectures:
            for seed in seeds:
                case = Case(kind, architecture, seed)
                if kind.fits(architecture) and re.search(only, str(case)):
                    yield case


def run(
    case: Case, folder: Path, profiles: Sequence[str] = PROFILES, saves: Optional[SaveConfig] = None
) -> List[RunResult]:
    """Trains, unless the folder has the trial already, and evaluates the rules over the trial."""
    culprits = folder / f"{case}.json"
    trial = folder / str(case)
    live: Optional[List[Finding]] = None
    if not culprits.exists():
        training = Training(case.architecture, case.seed)
        patterns = case.kind.inject(training) if case.is_fault else case.kind.vary(training)
        is_attached = training.workers == 1
        live = training.run(trial, rule_set_of("calibrated", saves) if is_attached else None)
        live = live if is_attached else None
        evaluations = training.evaluates_every, training.batches_of_evaluation
        culprits.write_text(json.dumps([patterns or [], *evaluations]))
    return [
        evaluate_stored(case, trial, culprits, profile, rule_set_of(profile, saves), live)
        for profile in profiles
    ]


def evaluate_stored(
    case: Case,
    trial: Path,
    culprits: Path,
    profile: str,
    rule_set: RuleSet,
    live: Optional[List[Finding]],
) -> RunResult:
    kind = case.kind
    architecture = case.architecture.name
    result = RunResult(str(case), kind.name, architecture, case.seed, case.is_fault, profile)
    stored = list(rule_set.evaluate(create_trial(str(trial)), wait=False))
    if live is not None and profile == "calibrated":
        result.live_is_stored = [repr(each) for each in live] == [repr(each) for each in stored]
    patterns, evaluates_every, batches = json.loads(culprits.read_text())
    begins = kind.begins + kind.begins // evaluates_every * batches if case.is_fault else 0
    seen = set()
    for finding in stored:
        if finding.rule in seen or finding.level is Level.WORTH_A_LOOK:
            continue
        seen.add(finding.rule)
        is_there = case.is_fault and finding.step >= begins
        is_expected = is_there and finding.rule in kind.rules
        result.findings.append(
            Finding(
                finding.rule, finding.tensor, finding.check, finding.step, finding.message,
                is_right=is_expected or (is_there and finding.rule in kind.also),
                is_expected=is_expected,
                names_culprit=any(re.search(each, finding.tensor) for each in patterns),
                latency=finding.step - begins,
            )
        )
    return result


# ---- figures -----------------------------------------------------------------------------


@dataclass
class Figures:
    """The figures of one profile over many trainings.

    Attributes
    ----------
    precision : float
        The fraction of first findings that are right.
    recall : float
        The fraction of faulty runs in which an expected rule finds the fault.
    culprit : float
        The fraction of expected first findings that name a tensor that causes the fault.
    healthy_silent : float
        The fraction of healthy runs without findings.
    latency : float
        The median of the steps until the first expected finding.
    """

    faults: int
    healthy: int
    precision: float
    recall: float
    culprit: float
    healthy_silent: float
    latency: float


def share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else float("nan")


def figures_of(results: Sequence[RunResult]) -> Figures:
    faults = [each for each in results if each.is_fault]
    healthy = [each for each in results if not each.is_fault]
    found = [each for each in faults if each.expected]
    latencies = [min(finding.latency for finding in each.expected) for each in found]
    return Figures(
        faults=len(faults),
        healthy=len(healthy),
        precision=share([finding.is_right for each in results for finding in each.findings]),
        recall=share([bool(each.expected) for each in faults]),
        culprit=share([finding.names_culprit for each in found for finding in each.expected]),
        healthy_silent=share([not each.findings for each in healthy]),
        latency=statistics.median(latencies) if latencies else float("nan"),
    )


def print_figures(results: Sequence[RunResult]) -> None:
    print("| profile | faults | healthy | precision | recall | culprit | silent | latency |")
    print("|---|---|---|---|---|---|---|---|")
    for profile in PROFILES:
        of = figures_of([each for each in results if each.profile == profile])
        print(
            f"| {profile} | {of.faults} | {of.healthy} | {of.precision:.1%} | {of.recall:.1%} "
            f"| {of.culprit:.1%} | {of.healthy_silent:.1%} | {of.latency:g} |"
        )


def print_table(columns: str, rows: Iterable[Sequence[object]]) -> None:
    names = columns.split(", ")
    print(f"\n| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def by_kind(results: Sequence[RunResult], of_faults: bool) -> Dict[str, Dict[str, List[RunResult]]]:
    kinds: Dict[str, Dict[str, List[RunResult]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        if result.is_fault == of_faults:
            kinds[result.kind][result.profile].append(result)
    return kinds


def print_kinds(results: Sequence[RunResult]) -> None:
    """Prints a row for each fault, each healthy scenario and each rule."""
    faults, healthy = by_kind(results, True), by_kind(results, False)
    print_table(
        "fault, runs, found: aws, calibrated, steps: aws, calibrated, culprit: aws, calibrated, "
        "first by (calibrated)",
        (
            [kind, len(of["aws"]), *_of_fault(of["aws"], of["calibrated"]),
             _firsts(of["calibrated"])]
            for kind, of in faults.items()
        ),
    )  # fmt: skip
    print_table(
        "healthy training, runs, silent: aws, calibrated, false findings (calibrated)",
        (
            [kind, len(of["aws"]), _silent(of["aws"]), _silent(of["calibrated"]),
             _mistakes(of["calibrated"])]
            for kind, of in healthy.items()
        ),
    )  # fmt: skip
    print_table("rule, right / findings: aws, calibrated", _of_rules(results))


def _of_fault(aws: Sequence[RunResult], ours: Sequence[RunResult]) -> List[str]:
    both = figures_of(aws), figures_of(ours)
    latencies = ["" if math.isnan(of.latency) else f"{of.latency:g}" for of in both]
    culprits = ["" if math.isnan(of.culprit) else f"{of.culprit:.0%}" for of in both]
    return [str(sum(bool(each.expected) for each in of)) for of in (aws, ours)] + latencies + culprits


def _firsts(results: Sequence[RunResult]) -> str:
    firsts = {min(each.expected, key=lambda one: one.step).rule for each in results if each.expected}
    return ", ".join(sorted(firsts))


def _silent(results: Sequence[RunResult]) -> int:
    return sum(not each.findings for each in results)


def _of_rules(results: Sequence[RunResult]) -> List[List[str]]:
    rows = []
    for rule in (each.name for each in builtin_rules() if not each.set):
        cells = []
        for profile in PROFILES:
            findings = [
                one for each in results if each.profile == profile for one in each.findings
            ]
            flags = [one.is_right for one in findings if one.rule == rule]
            cells.append(f"{sum(flags)} / {len(flags)}" if flags else "")
        if any(cells):
            rows.append([rule, *cells])
    return rows


def _mistakes(results: Sequence[RunResult]) -> str:
    counts: Dict[str, int] = defaultdict(int)
    for result in results:
        for finding in result.findings:
            counts[finding.rule] += not finding.is_right
    return ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items()) if count)


def print_mistakes(results: Sequence[RunResult], profile: str) -> None:
    for result in (each for each in results if each.profile == profile):
        for finding in result.findings:
            if not finding.is_right or (finding.is_expected and not finding.names_culprit):
                what = "culprit" if finding.is_right else "false"
                sentence = f"step {finding.step} {finding.rule} {finding.message}"
                print(f"{what}: {result.case}: {sentence}")
        if result.is_fault and not result.expected:
            others = [finding.rule for finding in result.findings]
            print(f"missed: {result.case}; found: {others}")
        if result.live_is_stored is False:
            print(f"live differs: {result.case}")


def run_all(cases: Iterable[Case], keep: Optional[Path], saves: SaveConfig) -> List[RunResult]:
    """Runs the cases one after the other.  Keeps trials only in the folder `keep`."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = keep or Path(tempfile.mkdtemp(prefix="smdebug-rules-", dir=memory))
    folder.mkdir(parents=True, exist_ok=True)
    results: List[RunResult] = []
    try:
        for case in cases:
            results += run(case, folder, saves=saves)
            if keep is None:
                shutil.rmtree(folder / str(case))
            if sys.stderr.isatty():
                print(f"\r{case!s:60}", end="", file=sys.stderr)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return results


def read_results(path: Path) -> List[RunResult]:
    results = [RunResult(**row) for row in json.loads(path.read_text())]
    for result in results:
        result.findings = [Finding(**row) for row in result.findings]
    return results


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=SETS, default="held-out")
    parser.add_argument("--only", default="", help="run only cases whose kind-architecture-seed matches this expression")
    parser.add_argument("--interval", type=int, default=1, help="the interval of steps that rules evaluate")
    parser.add_argument("--first", type=int, default=0, help="the number of first steps that rules evaluate as well")
    parser.add_argument("--keep", type=Path, help="keep the trials in this folder, or evaluate the trials in it again")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    parser.add_argument("--read", type=Path, help="print the results that --json wrote, without training")
    parser.add_argument("--mistakes", choices=PROFILES, help="print each mistake of this profile")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.read:
        results = read_results(options.read)
    else:
        cases = cases_of(*SETS[options.set], options.only)
        saves = SaveConfig(save_interval=options.interval, save_steps=list(range(options.first)))
        results = run_all(cases, options.keep, saves)
    print_figures(results)
    print_kinds(results)
    if options.mistakes:
        print_mistakes(results, options.mistakes)
    if options.json:
        rows: List[Dict[str, Any]] = [asdict(result) for result in results]
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
