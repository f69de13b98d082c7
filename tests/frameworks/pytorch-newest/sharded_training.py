"""One of two processes that train a model together, with a hook.

usage: python sharded_training.py FOLDER RANK

For each kind, records FOLDER/<kind>/trial, and writes FOLDER/<kind>/<rank>.pt: for each step and
parameter the weights before the step and the gradients that were applied, as plain PyTorch has
them in this process.
"""

import sys
from pathlib import Path

import smdebug.pytorch as smd
import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

STEPS, MICRO, WORKERS = 3, 2, 2
KINDS = ["ddp", "fsdp1", "fsdp1_flat", "fsdp2", "fsdp2_bfloat16", "tensor_parallel"]


def model_of_two(width):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 4))


def sharded(kind):
    """Returns the model, and the module to register."""
    # Parts of fully_shard may differ in size.
    model = model_of_two(8 if kind == "tensor_parallel" else 9)
    mesh = init_device_mesh("cpu", (WORKERS,))
    if kind == "ddp":
        return DistributedDataParallel(model)
    if kind.startswith("fsdp1"):
        use_orig_params = kind == "fsdp1"
        return FullyShardedDataParallel(
            model, use_orig_params=use_orig_params, device_id=torch.device("cpu")
        )
    if kind == "tensor_parallel":
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        return parallelize_module(model, mesh, plan)
    settings = {}
    if kind == "fsdp2_bfloat16":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        settings["mp_policy"] = policy
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh, **settings)
    return fully_shard(model, mesh=mesh, **settings)


def local(tensor):
    """Returns this process's part; None for a gradient of a parameter that it has no part of."""
    if tensor is None:
        return None
    return (tensor.to_local() if isinstance(tensor, DTensor) else tensor).detach().clone()


def whole(tensor):
    if tensor is None:
        return None
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().clone()


def train(kind, folder, rank):
    model = sharded(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    hook = smd.Hook(
        out_dir=str(folder / "trial"),
        include_collections=["weights", "biases", "gradients", "optimizer_state"],
        save_config=smd.SaveConfig(save_interval=1),
        include_workers="all",
        include_regex="^net_.*_flat_param$",  # a name of the first FSDP's
    )
    hook.register_module(model, name="net")
    hook.register_optimizer(optimizer)
    # The parts of a tensor-parallel model get the same batch.
    torch.manual_seed(20 if kind == "tensor_parallel" else 20 + rank)
    facts, wholes = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(MICRO):
            loss = model(torch.randn(5, 6)).float().square().mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        now = {name: (local(each), local(each.grad)) for name, each in model.named_parameters()}
        wholes.append(
            {name: (whole(each), whole(each.grad)) for name, each in model.named_parameters()}
        )
        optimizer.step()
        facts.append(now)
    hook.close()
    torch.save(facts, folder / f"{rank}.pt")
    if rank == 0:
        torch.save(wholes, folder / "whole.pt")


if __name__ == "__main__":
    root, rank = Path(sys.argv[1]), int(sys.argv[2])
    meeting = f"file://{root.resolve()}/meeting"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=WORKERS)
    for kind in KINDS:
        (root / kind).mkdir(exist_ok=True)
        train(kind, root / kind, rank)
        distributed.barrier()
    distributed.destroy_process_group()
