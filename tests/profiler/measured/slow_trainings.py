"""Faults of a training's speed, and healthy ways to train, that change a training before it runs."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, FrozenSet, List, Tuple

import torch
from torch import Tensor, distributed, nn
from profiled_training import Training, burn

__all__ = ["FAULTS", "HEALTHY", "STARVES", "Fault", "Healthy"]


@dataclass(frozen=True)
class Fault:
    """A fault and the findings that name it.

    Attributes
    ----------
    plant : callable
        Makes a training faulty: gets the training, the severity in [0, 1] and the variant.
    rules : tuple of str
        Rules of which one must report the fault.
    variants : dict
        For each variant the names of the culprit, any of which is right.
    also : dict
        Further rules that are right about the fault, by variant; "" for all variants.
    ranks : int
        Processes of the training.
    hogs : tuple of float
        How many other programs burn cores, at severity 0 and 1.
    """

    plant: Callable[[Training, float, str], None]
    rules: Tuple[str, ...]
    variants: Dict[str, Tuple[str, ...]]
    also: Dict[str, FrozenSet[str]] = field(default_factory=dict)
    ranks: int = 1
    hogs: Tuple[float, float] = (0, 0)

    def right_rules(self, variant: str) -> FrozenSet[str]:
        none: FrozenSet[str] = frozenset()
        return frozenset(self.rules) | self.also.get("", none) | self.also.get(variant, none)


@dataclass(frozen=True)
class Healthy:
    """A way to train in which nothing is wrong."""

    plant: Callable[[Training, random.Random], None]
    ranks: int = 1


def added(share: float, usual: float) -> float:
    """Returns the time that must be added to `usual` to be this share of the whole."""
    return usual * share / (1 - share)


def pause_or_burn(variant: str) -> Callable[[float], None]:
    """Returns what takes time: a wait, as for a disk or a network, or computation."""
    return time.sleep if "wait" in variant else burn


def within_forward(training: Training, spend: Callable[[], None]) -> None:
    """Calls `spend` in each forward pass, after it has begun."""
    first = next(training.model.children())
    first.register_forward_pre_hook(lambda *unused: spend())


# ---- faults ------------------------------------------------------------------------------


def slow_loader(training: Training, severity: float, variant: str) -> None:
    """Each sample takes long to get: it is read from far away, or is transformed."""
    at_least = max(training.usual, 4e-3)  # a loader of very short steps has fixed costs
    extra = added(0.3 + 0.4 * severity, at_least)
    workers = max(1, training.drawn.workers)
    # Workers load while the training computes: the wait is what a batch takes longer.
    whole = extra if training.drawn.workers == 0 else workers * (training.usual + extra)
    spend = pause_or_burn(variant)
    training.data.before = lambda index: spend(whole / training.batch)
    training.extra = extra


def stalls(training: Training, severity: float, variant: str) -> None:
    """Each step copies what is logged of it, and waits until the copy is there."""
    extra = added(0.42 + 0.33 * severity, training.usual)
    copies = [each.detach() for each in training.model.parameters()]

    def copy(step: int) -> None:
        began = time.time()
        while time.time() < began + extra:
            if "copies" in variant:
                for each in copies:
                    each.numpy().copy()
                    if time.time() >= began + extra:
                        break
            else:
                time.sleep(max(0.0, began + extra - time.time()))
        if variant.startswith("named"):
            training.hook.record_trace_events(
                began, "log_weights", "log_weights", duration=time.time() - began, step_num=step
            )

    training.after_update.append(copy)
    training.extra = extra


def small_batches(training: Training, severity: float, variant: str) -> None:
    """Batches of one to four samples: most of a step are costs of each operation."""
    perceptron(training, width=64 if severity < 0.5 else 32, depth=3 if severity < 0.5 else 2)
    training.batch = {"one": 1, "two": 2, "four": 4}[variant]
    training.lasts = 2.5
    training.measure()


def checkpoints(training: Training, severity: float, variant: str) -> None:
    """A checkpoint is written to disk every few steps, and the training waits for it."""
    every = {"often": 12, "seldom": 25, "named": 18}[variant]
    share = 0.1 + 0.3 * severity
    length = every * added(share, training.usual)
    weights = {"weights": torch.randn(200_000), "state": training.optimizer.state_dict()}
    place = training.folder / f"checkpoint{training.rank}.pt"

    def save(step: int) -> None:
        if step % every != every - 1:
            return
        began = time.time()
        while time.time() < began + length:
            torch.save(weights, place)
            # What a larger model takes longer on a usual disk.
            time.sleep(min(0.02, max(0.0, began + length - time.time())))
        if variant == "named":
            training.hook.record_trace_events(
                began, "checkpoint", "checkpoint", duration=time.time() - began, step_num=step
            )

    training.after_update.append(save)
    training.extra = length / every
    training.lasts = max(training.lasts, 6.5 * every * (training.usual + training.extra))


def drift(training: Training, severity: float, variant: str) -> None:
    """Each step is a bit longer than the one before, as of a list that is gone through."""
    factor = 1.8 + 1.7 * severity  # of the last step
    extra = training.usual * (factor - 1) / 2
    steps = max(100.0, training.lasts / (training.usual + extra))
    slope = 2 * extra / steps

    def spend(step: int) -> None:
        burn(slope * step)

    training.extra = extra
    if variant == "forward":
        within_forward(training, lambda: spend(training.step))
    elif variant == "data":
        training.drawn.workers = 0
        training.data.before = lambda index: burn(slope * index / training.batch**2)
    else:
        training.after_update.append(spend)
    training.lasts = steps * (training.usual + extra)


def leak(training: Training, severity: float, variant: str) -> None:
    """Each step keeps something."""
    kept: List[Tensor] = []
    training.lasts = max(training.lasts, 3.5)
    steps = max(60.0, training.lasts / training.usual)
    whole = (150 + 350 * severity) * 1e6
    every = {"steps": 1, "tenths": 10}[variant]

    def keep(step: int) -> None:
        if step % every == 0:
            kept.append(torch.ones(int(whole / steps * every / 4)))

    training.after_update.append(keep)


def contention(training: Training, severity: float, variant: str) -> None:
    """Other programs burn the cores, from the first step to the last: measure_profile.py starts them."""
    training.lasts *= 1.3


def slow_rank(training: Training, severity: float, variant: str) -> None:
    """One process of two is slower."""
    joined(training, variant.split()[0])
    slow = training.drawn.seed % 2
    share = 0.25 + 0.35 * severity
    extra = added(share, training.usual)
    training.extra = extra
    if training.rank != slow:
        return
    # Waits, not computation: ranks of a test share the cores, those of a job do not.
    place = variant.split()[1]
    if place == "data":
        training.data.before = lambda index: time.sleep(extra / training.batch)
    elif place == "forward":
        within_forward(training, lambda: time.sleep(extra))
    else:
        training.after_update.append(lambda step: time.sleep(extra))


# ---- healthy -----------------------------------------------------------------------------


def joined(training: Training, how: str) -> None:
    """Averages gradients over processes, by DistributedDataParallel or step by step."""
    training.drawn.workers = 0
    if how == "ddp":
        training.trained = nn.parallel.DistributedDataParallel(training.model)
        return

    def average(step: int) -> None:
        gradients = [each.grad for each in training.model.parameters() if each.grad is not None]
        flat = torch.cat([each.flatten() for each in gradients])
        began = time.perf_counter()
        distributed.all_reduce(flat)
        training.exchanged += time.perf_counter() - began
        flat /= training.ranks
        for each, new in zip(gradients, flat.split([each.numel() for each in gradients])):
            each.copy_(new.view_as(each))

    training.before_update.append(average)


def perceptron(training: Training, width: int, depth: int) -> None:
    """Replaces the model by a small one, with a loader without workers."""
    size = math.prod(training.drawn.sample_shape())
    layers = [nn.Flatten(), nn.Linear(size, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    training.model = training.trained = nn.Sequential(*layers, nn.Linear(width, 10))
    training.optimizer = training.drawn.make_optimizer(training.model)
    training.drawn.workers = 0


def plain(training: Training, chance: random.Random) -> None:
    """As drawn."""


def tiny(training: Training, chance: random.Random) -> None:
    """Steps of a few milliseconds, whose loader takes its part of them.

    The batch is as large as it should be: twice the samples take 1.4 times as long at least.
    """
    perceptron(training, width=chance.choice((128, 192, 256)), depth=2)
    for training.batch in (32, 64, 128, 256):
        once, twice = (min(training.times(training.batch * each, 12)) for each in (1, 2))
        if twice >= 1.4 * once:
            break
    training.measure()


def evaluates(training: Training, chance: random.Random) -> None:
    """A short evaluation every few steps."""
    import smdebug.pytorch as smd

    every, count = chance.choice((20, 30)), chance.choice((3, 5))
    inputs = training.data.inputs[: training.batch]
    training.extra = training.usual * count / every / 3

    def evaluate(step: int) -> None:
        if step % every != every - 1:
            return
        training.hook.set_mode(smd.modes.EVAL)
        training.model.eval()
        with torch.no_grad():
            for _ in range(count):
                training.model(inputs)
        training.model.train()
        training.hook.set_mode(smd.modes.TRAIN)

    training.after_update.append(evaluate)


def light_checkpoints(training: Training, chance: random.Random) -> None:
    """Checkpoints that cost one or two percent of the time."""
    every = chance.choice((25, 40))
    length = chance.uniform(0.01, 0.02) * every * training.usual

    def save(step: int) -> None:
        if step % every == every - 1:
            burn(length)

    training.after_update.append(save)


def fills_a_cache(training: Training, chance: random.Random) -> None:
    """Memory rises in the first third of the run, until everything is in a cache."""
    kept: List[Tensor] = []
    part = chance.uniform(0.2, 0.33)
    whole = chance.uniform(100e6, 300e6)
    training.lasts = max(training.lasts, 3.5)

    def keep(step: int) -> None:
        if step < part * training.steps:
            kept.append(torch.ones(int(whole / (part * training.steps) / 4)))

    training.after_update.append(keep)


def lengths_vary(training: Training, chance: random.Random) -> None:
    """Batches differ in size by a half, as sentences do."""
    own = random.Random(training.drawn.seed)

    def cut(step: int, batch: Tensor) -> Tensor:
        return batch[: max(2, int(batch.shape[0] * own.uniform(0.5, 1)))]

    training.change_batch = cut


def loads_ahead(training: Training, chance: random.Random) -> None:
    """Samples take long, but the workers of the loader keep ahead of the training."""
    training.drawn.workers = 2
    share = chance.uniform(0.4, 0.7)  # of a step that one worker of two needs for half a batch
    training.data.before = lambda index: time.sleep(share * training.usual / training.batch)


def logs_a_little(training: Training, chance: random.Random) -> None:
    """Each step logs its loss, in a few percent of its time."""
    length = chance.uniform(0.03, 0.1) * training.usual
    training.after_update.append(lambda step: burn(length))


def two_ranks(training: Training, chance: random.Random) -> None:
    """Two processes with equal work."""
    joined(training, chance.choice(("ddp", "step")))


STARVES = frozenset({"DataLoaderStarves", "Dataloader"})
SPLIT = frozenset({"StepTimeSplit"})

FAULTS: Dict[str, Fault] = {
    "slow loader": Fault(
        slow_loader,
        ("DataLoaderStarves",),
        {"waits": ("data wait",), "computes": ("data wait",)},
        # Its processes take the cores that the training needs.
        {"": STARVES, "computes": frozenset({"CPUBottleneck"})},
    ),
    "stalls": Fault(
        stalls,
        ("StepTimeSplit",),
        {
            "copies": ("rest of the step",),
            "waits": ("rest of the step",),
            "named copies": ("log_weights",),
            "named waits": ("log_weights",),
        },
    ),
    "small batches": Fault(
        small_batches,
        ("BatchSize",),
        {"one": ("batch",), "two": ("batch",), "four": ("batch",)},
        {"": SPLIT},
    ),
    "checkpoints": Fault(
        checkpoints,
        ("CheckpointStalls",),
        {
            "often": ("rest of the step",),
            "seldom": ("rest of the step",),
            "named": ("checkpoint",),
        },
        {"": frozenset({"StepOutlier"})},
    ),
    "drift": Fault(
        drift,
        ("StepTimeDrift",),
        {"forward": ("forward",), "data": ("data wait",), "host": ("rest of the step",)},
        {"data": STARVES, "host": SPLIT},
    ),
    "memory leak": Fault(leak, ("HostMemoryLeak",), {"steps": ("process",), "tenths": ("process",)}),
    "contention": Fault(contention, ("CPUBottleneck",), {"all": ("CPU",)}, hogs=(3, 8)),
    "slow rank": Fault(
        slow_rank,
        ("Straggler",),
        {
            "step data": ("data wait",),
            "step forward": ("forward",),
            "step host": ("rest of the step",),
            "ddp data": ("data wait",),
            "ddp forward": ("forward",),
            "ddp host": ("rest of the step",),
        },
        # What makes that rank slow is reported of it, too.
        {
            "step data": STARVES, "ddp data": STARVES,
            "step host": SPLIT, "ddp host": SPLIT,
        },
        ranks=2,
    ),
}  # fmt: skip

HEALTHY: Dict[str, Healthy] = {
    "plain": Healthy(plain),
    "tiny": Healthy(tiny),
    "evaluates": Healthy(evaluates),
    "light checkpoints": Healthy(light_checkpoints),
    "fills a cache": Healthy(fills_a_cache),
    "lengths vary": Healthy(lengths_vary),
    "loads ahead": Healthy(loads_ahead),
    "logs a little": Healthy(logs_a_little),
    "two ranks": Healthy(two_ranks, ranks=2),
}
