"""One of two processes that train together, for both libraries.

usage: python distributed_training.py FOLDER RANK    records FOLDER/one and FOLDER/all
"""

import sys
from pathlib import Path

import smdebug.pytorch as smd
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

STEPS, WORKERS = 5, 2


def train(out_dir, include_workers, rank):
    torch.manual_seed(3)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2)))
    loss_module = nn.CrossEntropyLoss()
    hook = smd.Hook(
        out_dir=out_dir,
        include_collections=["weights", "gradients"],
        save_config=smd.SaveConfig(save_interval=2),
        include_workers=include_workers,
    )
    hook.register_module(model)
    hook.register_loss(loss_module)
    hook.set_mode(smd.modes.TRAIN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_module(model(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        optimizer.step()
    hook.close()


if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(exist_ok=True)
    meeting = f"file://{folder.resolve()}/meeting"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=WORKERS)
    for workers in ("one", "all"):
        train(str(folder / workers), workers, rank)
    distributed.barrier()
    distributed.destroy_process_group()
