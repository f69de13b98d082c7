"""Tests that the same faults are found under each usual optimizer, with clipping and a schedule.

WHOLE in the environment trains each with ten seeds in place of one, and with the newest PyTorch too.
"""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, List

import pytest
import smdebug.pytorch as smd
import torch
from job import FEATURES, Job, mlp
from torch import nn

SEEDS = range(10 if os.environ.get("WHOLE") else 1)


def clip(job: Job) -> None:
    def update(optimizer: Any) -> None:
        nn.utils.clip_grad_norm_(job.model.parameters(), 1.0)
        optimizer.step()

    job.update = update


def cosine(job: Job) -> None:
    job.factor = lambda step: 0.5 + 0.5 * math.cos(math.pi * step / job.steps)


OPTIMIZERS: Dict[str, Callable[[List[Any]], Any]] = {
    "sgd": lambda of: torch.optim.SGD(of, lr=0.1),
    "momentum": lambda of: torch.optim.SGD(of, lr=0.02, momentum=0.9),
    "adam": lambda of: torch.optim.Adam(of, lr=3e-3),
    "adamw": lambda of: torch.optim.AdamW(of, lr=3e-3),
}
MORE: Dict[str, Callable[[Job], None]] = {"": lambda job: None, "clipped": clip, "cosine": cosine}


@pytest.fixture(params=SEEDS)
def job(request: Any, optimizer: str, more: str) -> Job:
    made = Job(request.param)
    made.optimizer = OPTIMIZERS[optimizer]
    MORE[more](made)
    return made


pytestmark = [
    pytest.mark.parametrize("optimizer", OPTIMIZERS),
    pytest.mark.parametrize("more", MORE),
    *([] if torch.__version__.startswith("1.") else [pytest.mark.whole]),
]


def checks(job: Job, folder: Any) -> Dict[str, Any]:
    """Returns the first finding of each rule and check."""
    found: Dict[str, Any] = {}
    for each in job.run(folder):
        found.setdefault(f"{each.rule}/{each.check}", each)
    return found


def test_gradients_never_reset(job: Job, tmp_path: Any) -> None:
    def step(optimizer: Any) -> float:
        value = job.value(job.batch())
        value.backward()
        job.update(optimizer)
        return value.item()

    job.step = step  # type: ignore[method-assign]
    found = checks(job, tmp_path / "run")
    assert any(name.endswith(("/accumulating", "/not_reset")) for name in found), found


@pytest.mark.parametrize("by", [8, 64])
def test_a_bit_flips(job: Job, by: int, tmp_path: Any) -> None:
    update, steps = job.update, 0
    weight = job.model[2].weight

    def flipped(optimizer: Any) -> None:
        nonlocal steps
        update(optimizer)
        steps += 1
        if steps == 60:
            with torch.no_grad():  # a bit of the exponent of one weight
                weight[3, 5] *= 2.0**by

    job.update = flipped
    found = checks(job, tmp_path / "run")
    assert found["WeightUpdateRatio/element"].tensor == "Sequential_2.weight"
    assert min(each.step for each in found.values()) >= 59


def test_updates_lost_to_low_precision(job: Job, tmp_path: Any) -> None:
    """Weights of eight bits, and updates of which most are too small for them."""
    job.model = mlp().bfloat16()
    optimizer = job.optimizer

    def small(of: List[Any]) -> Any:
        made = optimizer(of)
        for group in made.param_groups:
            group["lr"] /= 300
        return made

    job.optimizer = small
    job.value = lambda pair: job.loss(job.model(pair[0].bfloat16()).float(), pair[1])
    found = checks(job, tmp_path / "run")
    assert {name.split("/")[0] for name in found} & {
        "UpdateNotApplied", "WeightUpdateRatio", "LowPrecisionUpdateLost",
    }, found  # fmt: skip


def test_a_model_learns_its_samples_by_heart(job: Job, tmp_path: Any) -> None:
    x, y = job.clusters()
    wrong = torch.randint(5, y.shape)
    job.model, job.steps = mlp(96), 400

    def batch() -> Any:
        chosen = torch.randperm(len(x))[:16]
        return x[chosen], wrong[chosen]

    def evaluate(hook: smd.Hook) -> None:
        hook.set_mode(smd.modes.EVAL)
        with torch.no_grad():
            job.loss(job.model(torch.randn(64, FEATURES)), torch.randint(5, (64,)))
        hook.set_mode(smd.modes.TRAIN)

    job.batch, job.after = batch, evaluate
    found = checks(job, tmp_path / "run")
    assert {name.split("/")[0] for name in found} & {"Overfit", "Overtraining"}, found
