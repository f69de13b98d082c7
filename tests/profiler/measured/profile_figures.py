"""Counts which findings are right, and prints precision and recall with their intervals."""

from __future__ import annotations

import statistics
from typing import Any, Dict, List, Optional, Sequence

from intervals import wilson
from slow_trainings import FAULTS, HEALTHY, STARVES

__all__ = ["is_found", "is_right", "print_figures", "print_mistakes"]

Finding = Dict[str, Any]

# Others use this part of the machine's cores, and hardly any core time is left: then the job has
# too few cores, whatever was planted.
OTHERS, BUSY = 0.25, 0.85
# A training that waits for data in this part of its time, by its own clock, has a slow loader,
# planted or not: on some machines a loader of small steps takes as long as the steps.
STARVED = 0.2
# All its processes exchange gradients in this part of their time, and compute nothing meanwhile.
EXCHANGES = 0.25
# How far a share that a finding names may be from what the training measured.
REACH = 0.1
MEASURED = {"DataLoaderStarves": "waits", "StepTimeSplit": "host", "CheckpointStalls": "host"}


def is_contended(run: Any) -> bool:
    """Returns whether other programs took cores from the training, by the kernel's counts."""
    return run.facts["others"] >= OTHERS and run.facts["busy"] >= BUSY


def is_starved(run: Any) -> bool:
    """Returns whether the training has waited for data, by its own clock, without its start."""
    waits = run.facts.get("later_waits", run.facts["waits"])
    return bool(waits >= STARVED)


def is_of_contention(finding: Finding) -> bool:
    return finding["rule"] == "CPUBottleneck"


def is_right(run: Any, finding: Finding) -> bool:
    if is_of_contention(finding) and is_contended(run):
        return True
    if finding["rule"] in STARVES and is_starved(run):
        return True
    if finding["rule"] == "CommunicationOverlap" and run.facts.get("exchanges", 0) >= EXCHANGES:
        return True
    return run.kind in FAULTS and finding["rule"] in FAULTS[run.kind].right_rules(run.variant)


def expected(run: Any) -> Optional[Finding]:
    """Returns the finding that names the planted fault."""
    fault = FAULTS[run.kind]
    return next((each for each in run.found if each["rule"] in fault.rules), None)


def is_found(run: Any) -> bool:
    return expected(run) is not None


def names_cause(run: Any) -> bool:
    finding = expected(run)
    culprits = FAULTS[run.kind].variants[run.variant]
    if finding is None or finding["culprit"] not in culprits:
        return False
    # A worker's name begins with its rank.
    slow = f"{run.seed % 2}-"
    return FAULTS[run.kind].ranks == 1 or finding["worker"].startswith(slow)


def share_error(run: Any) -> Optional[float]:
    """Returns how far the share that the finding names is from what the training measured."""
    finding = expected(run)
    if finding is None or finding["rule"] not in MEASURED:
        return None
    return abs(finding["value"] - run.facts[MEASURED[finding["rule"]]])


def share(flags: Sequence[bool]) -> str:
    low, high = wilson(sum(flags), len(flags))
    part = sum(flags) / len(flags) if flags else float("nan")
    return f"{sum(flags)} of {len(flags)} = {part:.1%} ({low:.1%} to {high:.1%})"


def print_figures(runs: Sequence[Any]) -> None:
    faulty = [each for each in runs if each.kind in FAULTS]
    healthy = [each for each in runs if each.kind in HEALTHY]
    rights = [is_right(each, one) for each in runs for one in each.found]
    silent = [all(is_right(each, one) for one in each.found) for each in healthy]
    print("| figure | share, 95 % interval |\n|---|---|")
    print(f"| precision: findings right | {share(rights)} |")
    print(f"| recall: planted faults found | {share([is_found(each) for each in faulty])} |")
    print(f"| healthy trainings without a wrong finding | {share(silent)} |")
    found = [each for each in faulty if is_found(each)]
    print(f"| cause named right | {share([names_cause(each) for each in found])} |")
    errors = [error for error in map(share_error, found) if error is not None]
    print(f"| named share within {REACH:.0%} points | {share([e <= REACH for e in errors])} |")
    if errors:
        print(f"| median error of the share | {statistics.median(errors):.3f} |")
    busy = [is_contended(each) for each in runs if each.kind != "contention"]
    print(f"| runs whose cores other programs took | {share(busy)} |")
    starved = [is_starved(each) for each in healthy]
    print(f"| healthy trainings with a slow loader by their own clock | {share(starved)} |")
    print("\n| planted | found | cause right |\n|---|---|---|")
    for kind in FAULTS:
        of = [each for each in faulty if each.kind == kind]
        hits = [each for each in of if is_found(each)]
        print(f"| {kind} | {len(hits)} / {len(of)} | {sum(map(names_cause, hits))} |")
    print("\n| healthy | without a wrong finding |\n|---|---|")
    for kind in HEALTHY:
        flags = [flag for flag, each in zip(silent, healthy) if each.kind == kind]
        print(f"| {kind} | {sum(flags)} / {len(flags)} |")


def print_mistakes(runs: Sequence[Any]) -> None:
    lines: List[str] = []
    for each in runs:
        facts = " ".join(f"{name} {value:.3g}" for name, value in each.facts.items())
        severity = "" if each.severity is None else f" {each.severity:.2f}"
        what = f"{each.seed} {each.kind} {each.variant}{severity} [{each.drawn}; {facts}]"
        for one in each.found:
            if not is_right(each, one):
                lines.append(f"wrong: {what}: {one['worker']} {one['rule']}: {one['message']}")
        if each.kind in FAULTS and not is_found(each):
            lines.append(f"missed: {what}; found {[one['rule'] for one in each.found]}")
        elif each.kind in FAULTS and not names_cause(each):
            lines.append(f"cause: {what}: {expected(each)}")
        error = share_error(each) if each.kind in FAULTS else None
        if error is not None and error > REACH:
            lines.append(f"share: {what}: {expected(each)}")
    print("\n".join(["", *lines]))
