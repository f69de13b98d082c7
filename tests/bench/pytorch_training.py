"""Runs trainings to measure: python pytorch_training.py FOLDER CONFIGURATION [MODEL]

Trains one model with a hook of either library, and an equal model without a hook, step by step
in turn.  Each line of standard input is a number of steps.  Prints JSON: the time of each step
without and with the hook, by three clocks.  A line "register" registers the GPT with the hook.

MODEL is "small", "gpt" or "compiled".  With "gpt-memory" or "small-memory" it trains one model
for as many steps as CONFIGURATION says after a colon, and prints the largest memory it had; the
configuration "none" then imports no smdebug.
"""

import json
import resource
import sys
import time

import torch
from torch import nn

BATCH = 16
# Wall time, processor time of the training thread, processor time of all threads.
CLOCKS = (time.perf_counter, time.thread_time, time.process_time)


COLLECTIONS = {
    "reductions": ["weights", "biases", "gradients"],
    "gradients": ["gradients"],
}


def hook_for(configuration, folder):
    import smdebug.pytorch as smd

    if configuration.startswith("rules"):
        return hook_with_rules(folder, int(configuration[len("rules") :]))
    if configuration == "default":
        return smd.Hook(folder)
    return smd.Hook(
        folder,
        include_collections=COLLECTIONS[configuration],
        save_config=smd.SaveConfig(save_interval=1),
        reduction_config=smd.ReductionConfig(["min", "max", "mean", "std"], norms=["l2"]),
    )


def hook_with_rules(folder, interval):
    """Returns a hook whose rules evaluate every n-th step; the original has none."""
    import smdebug.pytorch as smd
    from bench_rules import rule_set_of

    hook = smd.Hook(folder)
    hook.attach(rule_set_of("calibrated", interval))
    return hook


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

    def register(self, hook):
        hook.register_module(self.model)
        hook.register_loss(self.loss_module)


def training_of(model):
    if model == "small":
        return Training()
    import gpt

    return gpt.Training(model == "compiled")


def train_alone(folder, configuration, model):
    """Prints the peak of memory of a training, in KiB."""
    configuration, _, steps = configuration.partition(":")
    training = training_of(model)
    hook = None
    if configuration != "none":
        hook = hook_for(configuration, folder)
        training.register(hook)
    for _ in range(int(steps)):
        training.step()
    if hook is not None:
        hook.close()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main(folder, configuration, model="small"):
    torch.set_num_threads(1)
    if model.endswith("-memory"):
        train_alone(folder, configuration, model[: -len("-memory")])
        return
    without, with_hook = training_of(model), training_of(model)
    hook = hook_for(configuration, folder)
    if model == "small":
        with_hook.register(hook)
    for line in sys.stdin:
        if line.startswith("register"):
            with_hook.register(hook)
            continue
        print(json.dumps([[without.step(), with_hook.step()] for _ in range(int(line))]))
        sys.stdout.flush()
    hook.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
