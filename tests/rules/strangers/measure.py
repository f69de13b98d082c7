"""Measures the rules on trainings whose writer knew nothing of them.

Writers who read neither the rules nor their documentation wrote healthy trainings, and pairs that
differ by one fault, and checked that each fault hurts.  The first figures, before anybody looked at
a run, are in docs/accuracy.md; rules have learned from some of the runs since.  Run this in the
environment pytorch-newest; with --keras in keras3, and the seventeenth with each KERAS_BACKEND in
one with Keras, JAX, Flax, Equinox and TensorFlow:

    python tests/rules/strangers/measure.py --seeds 0 1 --lines build/strangers.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("SMDEBUG_LOG_LEVEL", "off")
os.environ.setdefault("KERAS_BACKEND", "jax")
HERE = Path(__file__).parent
WRITERS = (
    "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth",
)  # fmt: skip
sys.path.append(str(HERE.parent))

import numpy as np
import registry
from intervals import wilson

import smdebug as smd
from smdebug import integrations
from smdebug.rules import Level, RuleSet

CALLBACKS = {
    "keras": "KerasCallback",
    "lightning": "LightningCallback",
    "transformers": "TrainerCallback",
}


@dataclass
class Outcome:
    """What rules say of one training."""

    name: str
    seed: int
    is_faulty: bool
    cause: str = ""
    severity: str = ""
    score: float | None = None
    error: str = ""
    findings: list[str] = field(default_factory=list)
    looks: list[str] = field(default_factory=list)
    causes: list[tuple[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Way:
    """How a training is recorded, and its rules are evaluated."""

    is_live: bool = True
    registers: bool = True
    interval: int = 500  # steps between two that are saved

    def settings(self) -> dict[str, Any]:
        saved = ["losses"] if self.is_live else ["losses", "weights", "biases", "gradients"]
        return {
            "include_collections": saved,
            "save_config": smd.SaveConfig(save_interval=self.interval),
        }


WAYS = {
    "live": Way(),
    "unregistered": Way(registers=False),
    "stored": Way(is_live=False, interval=1),
    "sparse": Way(is_live=False, interval=10),
    # As scripts for the original are, which has no optimizers.
    "original": Way(is_live=False, registers=False, interval=5),
}


class JaxLoop:
    """Records with a hook for JAX, in the mode that was set."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self.set_mode(smd.modes.TRAIN)

    def set_mode(self, mode: smd.modes) -> None:
        self._mode = mode

    def record(self, *given: Any, **values: Any) -> None:
        self._hook.record(*given, mode=self._mode, **values)


class Record:
    """What a training records with, as the writers of scripts do."""

    def __init__(self, folder: Path, way: Way) -> None:
        self._folder = folder
        self._way = way
        self._folders: list[str] = []
        self._rule_sets: list[RuleSet] = []  # one for each recording

    def _next(self) -> tuple[str, RuleSet | None]:
        """Returns the folder and the rules of a recording that begins."""
        self._rule_sets.append(RuleSet().add_all())
        self._folders.append(str(self._folder / str(len(self._rule_sets))))
        return self._folders[-1], self._rule_sets[-1] if self._way.is_live else None

    def evaluated(self) -> list[RuleSet]:
        """Returns the rules of all recordings, which have ended."""
        for out_dir, rules in zip(self._folders, self._rule_sets):
            if not self._way.is_live and list(Path(out_dir).glob("events/*")):
                list(rules.evaluate(smd.create_trial(out_dir)))
        return self._rule_sets

    @contextlib.contextmanager
    def __call__(self, model: Any, optimizer: Any = None, criterion: Any = None) -> Iterator[Any]:
        optimizers = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        given = [each for each in optimizers if each is not None and self._way.registers]
        out_dir, rules = self._next()
        with integrations.recording(
            out_dir, model, *given, loss=criterion, rules=rules, **self._way.settings()
        ) as hook:
            yield hook

    @contextlib.contextmanager
    def jax(self) -> Iterator[Any]:
        out_dir, rules = self._next()
        with integrations.jax_recording(out_dir, rules=rules, **self._way.settings()) as hook:
            yield JaxLoop(hook)

    @contextlib.contextmanager
    def tape(self) -> Iterator[Any]:
        import smdebug.tensorflow

        out_dir, rules = self._next()
        with smdebug.tensorflow.KerasHook(out_dir, **self._way.settings()) as hook:
            if rules is not None:
                hook.attach(rules)
            yield hook

    @contextlib.contextmanager
    def evaluation(self, hook: Any) -> Iterator[None]:
        hook.set_mode(smd.modes.EVAL)
        try:
            yield
        finally:
            hook.set_mode(smd.modes.TRAIN)

    def callback(self, framework: str) -> Any:
        out_dir, rules = self._next()
        kind = getattr(integrations, CALLBACKS[framework])
        return kind(out_dir, rules=rules, **self._way.settings())


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
        with contextlib.redirect_stderr(null):
            yield


def judge(outcome: Outcome, training: Callable[[Record], None], way: Way = WAYS["live"]) -> Outcome:
    """Trains in a folder of its own, and notes what the rules say."""
    folder = Path(tempfile.mkdtemp(prefix="smdebug-strangers-"))
    before = os.getcwd()
    seed_all(outcome.seed)
    registry.SCORES.clear()
    record = Record(folder, way)
    try:
        os.chdir(folder)
        with silent():
            training(record)
    except Exception:
        outcome.error = traceback.format_exc()
    finally:
        os.chdir(before)
        rule_sets = record.evaluated()
        shutil.rmtree(folder, ignore_errors=True)
    if registry.SCORES:
        outcome.score = registry.SCORES[-1][0]
    for rules in rule_sets:
        for result in rules.results():
            if result.first is not None:
                told = outcome.findings if result.first.level is Level.FINDING else outcome.looks
                told.append(f"{result.rule}: {result.message}")
        outcome.causes += [(each.id, round(each.confidence, 3)) for each in rules.diagnose()]
    return outcome


def trainings(seeds: list[int], only: str) -> Iterator[tuple[Outcome, Callable[[Any], None]]]:
    for seed in seeds:
        for name, healthy in registry.HEALTHY.items():
            if re.search(only, name):
                yield Outcome(name, seed, False), partial(healthy, seed=seed)
        for name, pair in registry.PAIRS.items():
            for is_faulty in (False, True) if re.search(only, name) else ():
                outcome = Outcome(name, seed, is_faulty, pair.cause, pair.severity)
                yield outcome, partial(pair.run, seed=seed, faulty=is_faulty)


def load(options: argparse.Namespace) -> None:
    """Imports the modules that register the trainings."""
    folder = HERE if options.writer == WRITERS[0] else HERE / options.writer
    sys.path.insert(0, str(folder))
    kinds = ["torch"]
    if options.writer == "seventeenth":
        kinds = ["keras", "tape" if os.environ["KERAS_BACKEND"] == "tensorflow" else "jax"]
    names = sorted(path.stem for kind in kinds for path in folder.glob(f"{kind}_*.py"))
    if options.keras:
        names = ["keras_runs"]
    elif folder == HERE:
        names.insert(0, "frameworks")
    for name in names:
        importlib.import_module(name)


def share(right: int, of: int) -> str:
    least, most = (100 * each for each in wilson(right, of))
    return f"{right} of {of} ({least:.0f} to {most:.0f} %)"


def tell(outcomes: list[Outcome]) -> None:
    """Prints the figures, then what was blamed and what was missed."""
    healthy = [each for each in outcomes if not each.is_faulty]
    blamed = [each for each in healthy if each.findings]
    missed = []
    print(f"healthy without a finding: {share(len(healthy) - len(blamed), len(healthy))}")
    print(f"healthy without a cause: {share(sum(not e.causes for e in healthy), len(healthy))}")
    for severity in ("gross", "middling", "mild"):
        faulty = [each for each in outcomes if each.is_faulty and each.severity == severity]
        missed += [each for each in faulty if not each.findings]
        print(f"{severity} found: {share(sum(bool(e.findings) for e in faulty), len(faulty))}")
    for each in blamed:
        print(f"blamed: {each.name}, seed {each.seed}: {'; '.join(each.findings)}")
    for each in missed:
        print(f"missed: {each.name}, seed {each.seed}: {each.severity}, {each.cause}")
    for each in outcomes:
        if each.error:
            print(f"failed: {each.name}, seed {each.seed}: {each.error}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keras", action="store_true", help="the trainings with Keras")
    parser.add_argument("--writer", choices=WRITERS, default=WRITERS[0], help="whose trainings")
    parser.add_argument("--way", choices=WAYS, default="live", help="how trainings are recorded")
    parser.add_argument("--healthy", action="store_true", help="only trainings that are fine")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--only", default="", help="trainings whose names have a match of this")
    parser.add_argument("--lines", type=Path, help="appends a line of JSON for each training")
    options = parser.parse_args()
    load(options)
    outcomes = []
    for outcome, training in trainings(options.seeds, options.only):
        if options.healthy and (outcome.is_faulty or outcome.name in registry.PAIRS):
            continue
        outcomes.append(judge(outcome, training, WAYS[options.way]))
        if options.lines:
            with options.lines.open("a") as lines:
                lines.write(json.dumps(asdict(outcome)) + "\n")
    tell(outcomes)
    return int(any(each.error for each in outcomes))


if __name__ == "__main__":
    sys.exit(main())
