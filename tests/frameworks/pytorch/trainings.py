"""Trainings as users of the original write them, for both libraries.

usage: python trainings.py FOLDER [NAME...]    records trainings as FOLDER/NAME
"""

import sys
from pathlib import Path

import smdebug.pytorch as smd
import torch
from torch import nn
from torch.nn import functional

EPOCHS, BATCHES, BATCH = 2, 5, 8


class Block(nn.Module):
    """A part that uses one of its modules twice, and returns a nested tuple."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU()

    def forward(self, x):
        y = self.relu(self.norm(self.conv(x)))
        return y, [self.relu(y - x), (x,)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.block = Block()
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(36, 3)
        self.frozen = nn.Linear(3, 3, bias=False)
        self.frozen.weight.requires_grad_(False)

    def forward(self, x):
        y, [z, _] = self.block(self.stem(x))
        return self.frozen(self.head(self.drop(torch.flatten(y + z, 1))))


def batch():
    return torch.randn(BATCH, 1, 8, 8), torch.randint(3, (BATCH,))


def train(hook, model):
    """Trains and evaluates in turn."""
    loss_module = nn.CrossEntropyLoss()
    hook.register_module(model)
    hook.register_loss(loss_module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(EPOCHS):
        hook.set_mode(smd.modes.TRAIN)
        model.train()
        for _ in range(BATCHES):
            x, y = batch()
            optimizer.zero_grad()
            out = model(x)
            loss = loss_module(out, y) + 0.1 * out.square().mean()
            hook.record_tensor_value("total_loss", loss)
            loss.backward()
            optimizer.step()
        hook.set_mode(smd.modes.EVAL)
        model.eval()
        with torch.no_grad():
            for _ in range(2):
                x, y = batch()
                out = model(x)
                hook.record_tensor_value("nll_loss", functional.nll_loss(out, y))
        hook.save_scalar("epoch", epoch)
    hook.close()


def every(interval):
    return smd.SaveConfig(save_interval=interval)


REDUCTIONS = ["min", "max", "mean", "std", "variance", "sum", "prod"]
REDUCTION_CONFIG = smd.ReductionConfig(
    reductions=REDUCTIONS,
    abs_reductions=REDUCTIONS,
    norms=["l1", "l2"],
    abs_norms=["l1", "l2"],
)


def defaults(out_dir):
    train(smd.Hook(out_dir=out_dir), Net())


def everything(out_dir):
    train(smd.Hook(out_dir=out_dir, save_all=True, save_config=every(2)), Net())


def reductions(out_dir):
    included = ["weights", "gradients", "biases"]
    hook = smd.Hook(
        out_dir=out_dir,
        include_collections=included,
        reduction_config=REDUCTION_CONFIG,
        save_config=every(3),
    )
    train(hook, Net())


def modes(out_dir):
    config = smd.SaveConfig(
        {
            smd.modes.TRAIN: smd.SaveConfigMode(save_interval=4, start_step=1),
            smd.modes.EVAL: smd.SaveConfigMode(save_steps=[1, 3], save_interval=100),
        }
    )
    hook = smd.Hook(
        out_dir=out_dir, include_collections=["weights", "gradients"], save_config=config
    )
    hook.get_collection("gradients").save_config = every(2)
    train(hook, Net())


def regex(out_dir):
    hook = smd.Hook(
        out_dir=out_dir, include_regex=["relu.*output", "head"], save_config=every(3)
    )
    train(hook, Net())


def modules(out_dir):
    hook = smd.Hook(out_dir=out_dir, include_collections=["parts"], save_config=every(5))
    model = Net()
    parts = hook.get_collection("parts")
    parts.add_module_tensors(model.block, inputs=True)
    parts.add_module_tensors(model.head, inputs=True, outputs=False)
    parts.reduction_config = smd.ReductionConfig(["mean"], save_raw_tensor=True)
    train(hook, model)


def parallel(out_dir):
    hook = smd.Hook(out_dir=out_dir, save_all=True, save_config=every(4))
    train(hook, nn.DataParallel(Net()))


TRAININGS = [defaults, everything, reductions, modes, regex, modules, parallel]


def run(training, folder):
    torch.manual_seed(7)
    training(str(Path(folder) / training.__name__))


if __name__ == "__main__":
    for training in TRAININGS:
        if not sys.argv[2:] or training.__name__ in sys.argv[2:]:
            run(training, sys.argv[1])
