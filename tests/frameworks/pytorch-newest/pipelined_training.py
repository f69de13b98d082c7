"""Trains the stages of a pipeline in two processes, for each kind: pipelined_training.py FOLDER.

Each process writes what its hook should have recorded to FOLDER/<kind>/<rank>.pt, and what it says
on standard error to FOLDER/<kind>/<rank>.log.
"""

import os
import sys
from pathlib import Path

import smdebug
import smdebug.pytorch as smd
import torch
import torch.distributed as dist
from ranks import run_ranks
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
)

STEPS = 3
MICRO_BATCHES = 4
KINDS = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B, "interleaved": ScheduleInterleaved1F1B}


def stages_of(rank, kind):
    """The numbers of the stages of a process, and their parts of the model."""
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)] + [nn.Linear(4, 1)]
    if kind == "interleaved":
        return {rank: parts[rank], rank + 2: parts[rank + 2]}
    return {rank: nn.Sequential(*parts[2 * rank : 2 * rank + 2])}


def train(folder, kind, rank):
    os.dup2(os.open(folder / f"{rank}.log", os.O_CREAT | os.O_WRONLY), 2)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/store", rank=rank, world_size=2)
    parts = stages_of(rank, kind)
    count = 4 if kind == "interleaved" else 2
    stages = [PipelineStage(part, i, count, torch.device("cpu")) for i, part in parts.items()]
    loss = nn.MSELoss()
    losses = []

    def loss_of(outputs, targets):
        losses.append(loss(outputs, targets))
        return losses[-1]

    schedule = KINDS[kind](stages if count == 4 else stages[0], MICRO_BATCHES, loss_fn=loss_of)
    optimizer = torch.optim.SGD([p for part in parts.values() for p in part.parameters()], 0.1)
    hook = smd.Hook(
        str(folder / "run"), save_config=smdebug.SaveConfig(save_interval=1), save_all=True,
        include_workers="all", raise_errors=True,
    )  # fmt: skip
    for i, part in parts.items():
        hook.register_module(part, name=f"stage{i}")
    hook.register_loss(loss)
    hook.register_optimizer(optimizer)
    samples = torch.randn(16, 4)
    expected = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        step = {
            f"stage{i}_{name}": parameter.detach().clone()
            for i, part in parts.items()
            for name, parameter in part.named_parameters()
        }
        if rank == 0:
            schedule.step(samples)
        else:
            schedule.step(target=samples.sum(1, keepdim=True))
        for i, part in parts.items():
            for name, parameter in part.named_parameters():
                step[f"gradient/stage{i}_{name}"] = parameter.grad.clone()
        for i, each in enumerate(losses[-MICRO_BATCHES:]):
            step[f"MSELoss_output_{i}"] = each.detach()
        expected.append(step)
        optimizer.step()
    hook.close()
    torch.save(expected, folder / f"{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    for kind in KINDS:
        folder = Path(sys.argv[1]) / kind
        folder.mkdir()
        run_ranks(2, train, folder, kind)
