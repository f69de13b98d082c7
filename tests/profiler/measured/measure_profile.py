"""Measures the calibrated rules over profiles on real trainings, with planted faults and without.

Each run trains a small model drawn from a seed, profiled by the hook, and evaluates the rules
afterwards.  Its number chooses a fault or a healthy way in turn.  seeds.json has the seeds.  Other
programs of the machine disturb runs; that is part of life, and each run notes what they used.  Run
this in the environment of PyTorch that tools/framework_environments.sh makes:

    python tests/profiler/measured/measure_profile.py --set tuning --runs 34 --keep profiles --mistakes
    python tests/profiler/measured/measure_profile.py --again profiles --mistakes

The second command evaluates the rules again over the profiles that the first one kept.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
sys.path.append(str(Path(__file__).resolve().parents[2] / "rules"))

import torch
from profiled_draws import draw
from profile_figures import print_figures, print_mistakes
from slow_trainings import FAULTS, HEALTHY
from torch import distributed
from profiled_training import Training

from smdebug.profiler.analysis.rules import evaluate_profile

SEEDS = Path(__file__).with_name("seeds.json")
KINDS = (*FAULTS, *HEALTHY)
LONGEST = 120  # seconds of a run, after which it is killed

fork = multiprocessing.get_context("fork")


@dataclass
class Run:
    """A training, and what rules found in its profile.

    Attributes
    ----------
    severity : float or None
        None: healthy.
    facts : dict
        What the training measured itself.
    found : list of dict
        The findings.
    """

    seed: int
    kind: str
    variant: str
    severity: Optional[float]
    drawn: str
    facts: Dict[str, float] = field(default_factory=dict)
    found: List[Dict[str, Any]] = field(default_factory=list)


def plan(seed: int, kind: str) -> Run:
    """Draws what is planted."""
    chance = random.Random(f"plant {seed}")
    severity, variant = None, ""
    if kind in FAULTS:
        severity = chance.random()
        variant = chance.choice(sorted(FAULTS[kind].variants))
    return Run(seed, kind, variant, severity, str(draw(seed)))


def train(run: Run, folder: Path, rank: int, ranks: int) -> None:
    """Is one process of a training."""
    if ranks > 1:
        store = distributed.FileStore(str(folder / "store"), ranks)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    training = Training(draw(run.seed), folder, rank, ranks)
    training.measure()
    if ranks > 1:
        usual = torch.tensor([training.usual], dtype=torch.float64)
        distributed.all_reduce(usual)
        training.usual = float(usual) / ranks
    if run.severity is not None:
        FAULTS[run.kind].plant(training, run.severity, run.variant)
    else:
        HEALTHY[run.kind].plant(training, random.Random(f"way {run.seed}"))
    training.run()
    if ranks > 1:
        distributed.destroy_process_group()


def burn_forever() -> None:
    while True:
        pass


@contextmanager
def hogs_of(run: Run) -> Iterator[None]:
    """Lets other programs burn cores."""
    count = 0
    if run.severity is not None:
        least, most = FAULTS[run.kind].hogs
        count = round(least + (most - least) * run.severity)
    hogs = [fork.Process(target=burn_forever) for _ in range(count)]
    for each in hogs:
        each.start()
    try:
        yield
    finally:
        for each in hogs:
            each.kill()
            each.join()


def measure(run: Run, folder: Path) -> Run:
    """Trains and evaluates.

    Raises
    ------
    RuntimeError
        If the training failed.
    """
    ranks = (FAULTS.get(run.kind) or HEALTHY[run.kind]).ranks
    folder.mkdir(parents=True)
    with hogs_of(run):
        processes = [fork.Process(target=train, args=(run, folder, i, ranks)) for i in range(ranks)]
        for each in processes:
            each.start()
        end = time.monotonic() + LONGEST
        for each in processes:
            each.join(max(0, end - time.monotonic()))
    codes = [each.exitcode for each in processes]
    for each in processes:
        if each.is_alive():
            each.kill()
    if any(code != 0 for code in codes):
        raise RuntimeError(f"run {run.seed} ({run.kind} {run.variant}) ended with {codes}")
    facts = [json.loads((folder / f"facts{i}.json").read_text()) for i in range(ranks)]
    # What the one that waits least for others spends.
    run.facts = {**facts[0], "exchanges": min(each["exchanges"] for each in facts)}
    evaluate(run, folder)
    return run


def evaluate(run: Run, folder: Path) -> None:
    run.found = [
        {
            "rule": each.rule, "check": each.check, "worker": each.worker,
            "culprit": each.tensor, "value": each.value, "message": each.message,
        }
        for each in evaluate_profile(folder / "profile").findings
    ]  # fmt: skip


def measure_all(plans: Sequence[Run], keep: Optional[Path]) -> List[Run]:
    runs = []
    room = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = keep or Path(tempfile.mkdtemp(prefix="smdebug-profiled-", dir=room))
    try:
        for run in plans:
            place = folder / str(run.seed)
            shutil.rmtree(place, ignore_errors=True)
            runs.append(measure(run, place))
            (place / "run.json").write_text(json.dumps(asdict(run)))
            print(f"\r{len(runs)} {run.kind:30}", end="", file=sys.stderr, flush=True)
            if keep is None:
                shutil.rmtree(place)
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return runs


def measure_again(folder: Path) -> List[Run]:
    """Evaluates the rules over profiles that were kept."""
    runs = []
    for path in sorted(folder.glob("*/run.json"), key=lambda each: int(each.parent.name)):
        run = Run(**json.loads(path.read_text()))
        evaluate(run, path.parent)
        runs.append(run)
    return runs


def main(arguments: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=("tuning", "claim"), default="tuning")
    parser.add_argument("--begin", type=int, default=0, help="the number of the first run")
    parser.add_argument("--runs", type=int, default=len(KINDS))
    parser.add_argument("--only", nargs="+", help="only these faults and healthy ways")
    parser.add_argument("--severity", type=float, help="of faults, instead of a drawn one")
    parser.add_argument("--keep", type=Path, help="keep profiles in this folder")
    parser.add_argument("--again", type=Path, help="evaluate the profiles of this folder instead")
    parser.add_argument("--mistakes", action="store_true", help="print each mistake")
    parser.add_argument("--json", type=Path, help="write all results to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if options.again:
        runs = measure_again(options.again)
    else:
        seeds = json.loads(SEEDS.read_text())[options.set]
        numbers = range(options.begin, options.begin + options.runs)
        if numbers.stop > seeds["most"]:
            raise SystemExit(f"seeds.json has {seeds['most']} seeds for {options.set}")
        plans = [plan(seeds["first"] + i, KINDS[i % len(KINDS)]) for i in numbers]
        if options.only:
            plans = [each for each in plans if each.kind in options.only]
        for each in plans:
            if options.severity is not None and each.severity is not None:
                each.severity = options.severity
        runs = measure_all(plans, options.keep)
    print_figures(runs)
    if options.mistakes:
        print_mistakes(runs)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in runs], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
