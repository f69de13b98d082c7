"""Trains with a hook that profiles the training.  Faults and healthy ways change attributes."""

from __future__ import annotations

import itertools
import json
import os
import resource
import statistics
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import torch
from profiled_draws import CLASSES, Drawn
from torch import Tensor, distributed, nn

__all__ = ["Samples", "Training", "burn"]

WARM_UP = 6
FEWEST, MOST = 60, 1500  # steps


def burn(seconds: float) -> None:
    """Computes for a time of this thread's own, as much as the work would be on an idle core."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


class Samples(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Samples in memory; `before` is called for each."""

    def __init__(self, drawn: Drawn, count: int) -> None:
        generator = torch.Generator().manual_seed(drawn.seed)
        self.inputs = torch.randn((512, *drawn.sample_shape()), generator=generator)
        self.labels = torch.randint(CLASSES, (512,), generator=generator)
        self.count = count
        self.before: Callable[[int], None] = lambda index: None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tuple[Tensor, Tensor]:
        self.before(index)
        return self.inputs[index % 512], self.labels[index % 512]


class Training:
    """One process of a training.

    Attributes
    ----------
    usual : float
        Seconds of a step without data and without a fault, measured during the warm-up.
    before_update, after_update : list of callable
        Called with the step's number at these places of a step.
    change_batch : callable
        Returns the inputs that a step uses.
    extra : float
        Seconds by which a fault makes each step longer; shortens the run's number of steps.
    lasts : float
        Seconds that the training shall last.
    exchanged : float
        Seconds in which steps have exchanged gradients, and done nothing else.
    """

    def __init__(self, drawn: Drawn, folder: Path, rank: int = 0, ranks: int = 1) -> None:
        self.drawn, self.folder, self.rank, self.ranks = drawn, folder, rank, ranks
        self.model: nn.Module = drawn.model()
        self.trained = self.model
        self.optimizer = drawn.make_optimizer(self.model)
        self.batch = drawn.batch
        self.before_update: List[Callable[[int], None]] = []
        self.after_update: List[Callable[[int], None]] = []
        self.change_batch: Callable[[int, Tensor], Tensor] = lambda step, batch: batch
        self.data = Samples(drawn, 0)
        self.extra = 0.0
        self.lasts = drawn.seconds
        self.usual = 0.0
        self.hook: Any = None
        self.steps = 0
        self.exchanged = 0.0
        self.facts: Dict[str, float] = {}
        self.step = 0
        self._waited: List[float] = []
        self._spent = 0.0  # seconds after updates

    def measure(self) -> None:
        """Trains for a few steps without a hook, and sets `usual`."""
        self.usual = statistics.quantiles(self.times(self.batch, WARM_UP), n=4)[0]

    def times(self, batch: int, count: int) -> List[float]:
        """Returns the seconds of steps of this batch size, without a hook and a loader."""
        inputs = torch.stack([self.data.inputs[i % 512] for i in range(batch)])
        labels = torch.zeros(batch, dtype=torch.long)
        times = []
        for _ in range(count):
            began = time.perf_counter()
            self.pass_through(0, inputs, labels)
            times.append(time.perf_counter() - began)
        return times

    def pass_through(self, step: int, inputs: Tensor, labels: Tensor) -> None:
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.trained(inputs), labels).backward()
        for each in self.before_update:
            each(step)
        self.optimizer.step()

    def batches(self) -> Iterator[Tuple[Tensor, Tensor]]:
        return iter(
            torch.utils.data.DataLoader(
                self.data, batch_size=self.batch, num_workers=self.drawn.workers
            )
        )

    def run(self) -> None:
        """Trains with a hook; writes what was measured beside the profile."""
        import smdebug.pytorch as smd

        length = self.usual + self.extra
        self.steps = int(min(MOST, max(FEWEST, self.lasts / max(length, 1e-4))))
        self.data.count = self.steps * self.batch
        config = self.folder / "profilerconfig.json"
        settings = {"LocalPath": str(self.folder / "profile"), "ProfilingIntervalInMilliseconds": 100}
        # Each rank writes the same text.
        if self.rank == 0:
            config.write_text(json.dumps({"ProfilingParameters": settings}))
        if self.ranks > 1:
            distributed.barrier()
        os.environ["SMPROFILER_CONFIG_PATH"] = str(config)
        self.hook = smd.Hook(self.folder / "trial", raise_errors=True)
        self.hook.register_module(self.model)
        before = machine_times()
        began = time.perf_counter()
        loader = self.batches()
        for step in itertools.count():
            asked = time.perf_counter()
            batch = next(loader, None)
            self._waited.append(time.perf_counter() - asked)
            # A machine without a free core would take minutes.  Ranks must stop at the same step.
            is_late = self.ranks == 1 and step > FEWEST // 2 and asked - began > 4 * self.lasts
            if batch is None or is_late:
                break
            self.one_step(step, *batch)
        seconds = time.perf_counter() - began
        self.hook.close()
        self.note(before, seconds)

    def one_step(self, step: int, inputs: Tensor, labels: Tensor) -> None:
        self.step = step
        inputs = self.change_batch(step, inputs)
        self.pass_through(step, inputs, labels[: len(inputs)])
        began = time.perf_counter()
        for each in self.after_update:
            each(step)
        self._spent += time.perf_counter() - began

    def note(self, before: Tuple[float, float, float], seconds: float) -> None:
        busy, own, wall = (after - was for after, was in zip(machine_times(), before))
        cores = os.cpu_count() or 1
        self.facts.update(
            seconds=seconds,
            steps=self.steps,
            usual_ms=1e3 * self.usual,
            waits=sum(self._waited) / seconds,
            # Without the first batch, for which the loader's processes start.
            later_waits=sum(self._waited[1:]) / (seconds - self._waited[0]),
            host=self._spent / seconds,
            exchanges=self.exchanged / seconds,
            # Of the machine's cores, in [0, 1]: what others used, and what anyone used.
            others=max(0.0, busy - own) / (cores * wall),
            busy=busy / (cores * wall),
        )
        (self.folder / f"facts{self.rank}.json").write_text(json.dumps(self.facts))


def machine_times() -> Tuple[float, float, float]:
    """Returns seconds in which cores were busy, in which this process and its children computed,
    and the time."""
    numbers = [int(each) for each in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    busy = (sum(numbers) - numbers[3] - numbers[4]) / os.sysconf("SC_CLK_TCK")
    own = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        own += used.ru_utime + used.ru_stime
    return busy, own, time.perf_counter()
