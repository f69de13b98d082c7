"""Runs trainings to measure: python pytorch_training.py FOLDER CONFIGURATION

Trains one model with a hook of either library, and an equal model without a hook, step by step
in turn.  Each line of standard input is a number of steps.  Prints JSON: the time of each step
without and with the hook, by three clocks.
"""

import json
import sys
import time

import smdebug.pytorch as smd
import torch
from torch import nn

BATCH = 16
# Wall time, processor time of the training thread, processor time of all threads.
CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


def hook_for(configuration, folder):
    if configuration == "default":
        return smd.Hook(folder)
    return smd.Hook(
        folder,
        include_collections=["weights", "biases", "gradients"],
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=smd.ReductionConfig(["min", "max", "mean", "std"], norms=["l2"]),
    )


class Training:
    """A network of a million parameters on noise."""

    def __init__(self):
        self.model = nn.Sequential(
            nn.Flatten(),
            nn.Linear(784, 640),
            nn.ReLU(),
            nn.Linear(640, 640),
            nn.ReLU(),
            nn.Linear(640, 128),
            nn.ReLU(),
            nn.Linear(128, 10),
        )
        self.loss_module = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        self.x, self.y = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))

    def step(self):
        """Trains on one batch, and returns the seconds by each clock."""
        begin = [clock() for clock in CLOCKS]
        self.optimizer.zero_grad()
        self.loss_module(self.model(self.x), self.y).backward()
        self.optimizer.step()
        return [clock() - start for clock, start in zip(CLOCKS, begin)]


def main(folder, configuration):
    torch.set_num_threads(1)
    without, with_hook = Training(), Training()
    hook = hook_for(configuration, folder)
    hook.register_module(with_hook.model)
    hook.register_loss(with_hook.loss_module)
    for line in sys.stdin:
        print(json.dumps([[without.step(), with_hook.step()] for _ in range(int(line))]))
        sys.stdout.flush()
    hook.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
