"""Several processes train a model together, with a hook.

usage: python sharded_training.py FOLDER

For each kind, records FOLDER/<kind>/trial, and each process writes
FOLDER/<kind>/<rank>.pt: for each step and parameter the weights before the step and the gradients
that were applied, as plain PyTorch has them in this process.  FOLDER/<kind>/whole.pt has those of the whole, and
FOLDER/<kind>/<rank>.log what the hook warned of.
"""

import logging
import sys
from pathlib import Path

import smdebug.pytorch as smd
import torch
from ranks import run_ranks
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

STEPS, MICRO = 3, 2
# How many workers train each kind.  Those that end in "_one" record only one of them, those in
# "_statistics" no elements.
KINDS = {
    "ddp": 2,
    "ddp_one": 2,
    "fsdp1": 2,
    "fsdp1_flat": 2,
    "fsdp1_statistics": 2,
    "fsdp2": 2,
    "fsdp2_one": 2,
    "fsdp2_bfloat16": 2,
    "fsdp2_statistics": 2,
    "tensor_parallel": 2,
    "hybrid": 4,
    "hybrid_statistics": 4,
    "fsdp2_of_tensor_parallel": 4,
}


def model_of_two(width):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 4))


def sharded(kind):
    """Returns the model, and the module to register."""
    # Parts of fully_shard may differ in size, and be empty.
    model = model_of_two(8 if "tensor_parallel" in kind else 9)
    if kind.startswith("ddp"):
        return DistributedDataParallel(model)
    if kind.startswith("fsdp1"):
        use_orig_params = kind != "fsdp1_flat"
        return FullyShardedDataParallel(
            model, use_orig_params=use_orig_params, device_id=torch.device("cpu")
        )
    shape = (2, 2) if KINDS[kind] == 4 else (2,)
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("outer", "inner")[-len(shape) :])
    if "tensor_parallel" in kind:
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(model, mesh["inner"], plan)
        if kind == "tensor_parallel":
            return model
        mesh = mesh["outer"]
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


def wholes_of(kind, model):
    """Returns the whole weights and gradients."""
    if kind in ("fsdp1", "fsdp1_statistics"):
        names = [name for name, _ in model.named_parameters()]  # they differ in the context
        with FullyShardedDataParallel.summon_full_params(model, with_grads=True):
            values = [(whole(each), whole(each.grad)) for each in model.parameters()]
        return dict(zip(names, values))
    return {name: (whole(each), whole(each.grad)) for name, each in model.named_parameters()}


def hook_of(kind, folder):
    reductions = smd.ReductionConfig(
        reductions=["min", "max", "mean", "std", "sum"],
        abs_reductions=["mean"],
        norms=["l1", "l2"],
    )
    return smd.Hook(
        out_dir=str(folder / "trial"),
        include_collections=["weights", "biases", "gradients", "optimizer_state"],
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=reductions if kind.endswith("_statistics") else None,
        include_workers="one" if kind.endswith("_one") else "all",
        include_regex="^net_.*_flat_param$",  # a name of the first FSDP's
    )


def train(kind, folder, rank):
    model = sharded(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    hook = hook_of(kind, folder)
    hook.register_module(model, name="net")
    hook.register_optimizer(optimizer)
    # The parts of a tensor-parallel model get the same batch.
    same = {"tensor_parallel": 2, "fsdp2_of_tensor_parallel": 2}.get(kind, 1)
    torch.manual_seed(20 + rank // same)
    facts, wholes = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(MICRO):
            loss = model(torch.randn(5, 6)).float().square().mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        now = {name: (local(each), local(each.grad)) for name, each in model.named_parameters()}
        wholes.append(wholes_of(kind, model))
        optimizer.step()
        facts.append(now)
    hook.close()
    torch.save(facts, folder / f"{rank}.pt")
    if rank == 0:
        torch.save(wholes, folder / "whole.pt")


def train_kinds(root, workers, rank):
    """Trains all kinds that have so many workers."""
    torch.set_num_threads(1)
    meeting = f"file://{root.resolve()}/meeting_of_{workers}"
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=workers)
    for kind, of_kind in KINDS.items():
        if of_kind != workers:
            continue
        (root / kind).mkdir(exist_ok=True)
        log = logging.FileHandler(root / kind / f"{rank}.log")
        logging.getLogger("smdebug").addHandler(log)
        train(kind, root / kind, rank)
        logging.getLogger("smdebug").removeHandler(log)
        distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    for workers in sorted(set(KINDS.values())):
        run_ranks(workers, train_kinds, Path(sys.argv[1]), workers)
