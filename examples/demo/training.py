"""Trains a network on the UCI digits and records the training."""

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import List, Optional

import numpy as np
import smdebug as smd
from sklearn.datasets import load_digits

from network import Network, accuracy, cross_entropy

EPOCHS = 16
BATCH = 64
LEARNING_RATE = 0.1
WEIGHT_DECAY = 0.01


@dataclass
class Run:
    """The settings of a training: the data and the recipe are the same, the network differs."""

    name: str
    sizes: List[int]
    activation: str
    deviation: Optional[float]  # of the initial weights; None: He initialisation

    @property
    def network(self):
        return f"{'-'.join(map(str, self.sizes))} {self.activation}"

    @property
    def start(self):
        return "as by He" if self.deviation is None else f"deviation {self.deviation}: tiny"


HEALTHY = Run("healthy", [64, 64, 48, 32, 10], "relu", None)
FAULTY = Run("faulty", [64, 32, 32, 32, 32, 32, 32, 10], "sigmoid", 0.13)


class Digits:
    """1,797 images of 8 x 8 grey values; a fifth of them is kept for evaluation."""

    def __init__(self, rng):
        digits = load_digits()
        order = rng.permutation(len(digits.target))
        pictures = (digits.data[order] / 16).astype(np.float32)
        labels = digits.target[order]
        self.train = pictures[360:], labels[360:]
        self.test = pictures[:360], labels[:360]

    def batches(self, rng):
        pictures, labels = self.train
        order = rng.permutation(len(labels))
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[begin : begin + BATCH]
            yield pictures[chosen], labels[chosen]

    @property
    def steps_per_epoch(self):
        return len(self.train[1]) // BATCH


def make_hook(out_dir):
    """Creates a hook, which selects what is recorded, and when."""
    hook = smd.Hook(
        out_dir=out_dir,
        include_collections=["weights", "biases", "gradients", "activations"],
        save_config=smd.SaveConfig(
            mode_save_configs={
                smd.modes.TRAIN: smd.SaveConfigMode(save_interval=10),
                smd.modes.EVAL: smd.SaveConfigMode(save_interval=4),
            }
        ),
    )
    activations = hook.get_collection("activations")
    activations.include("_output$")
    activations.reduction_config = smd.ReductionConfig(
        reductions=["min", "max", "mean", "std"], abs_reductions=["mean"], norms=["l2"]
    )
    hook.get_collection("losses").save_config = smd.SaveConfig(save_interval=1)
    return hook


def save_tensors(hook, network, loss):
    """Passes everything to the hook; an unselected tensor costs one hash look-up."""
    for layer in network.layers:
        hook.save(f"{layer.name}.weight", layer.weight)
        hook.save(f"{layer.name}.bias", layer.bias)
        hook.save(f"gradient/{layer.name}.weight", layer.weight_gradient)
        hook.save(f"gradient/{layer.name}.bias", layer.bias_gradient)
        hook.save(f"{layer.name}.{layer.activation}_output", layer.output)
    hook.save("loss", loss)


@dataclass
class RunResult:
    run: Run
    loss: float
    accuracy: float
    steps: int
    seconds: float  # duration of the training, with recording
    recording: float  # seconds of that in the hook
    tensors: int  # written, with reductions
    payload: int  # size of these tensors in bytes


class Trainer:
    """Runs one training, and measures the time for recording."""

    def __init__(self, run, digits, out_dir):
        self.run = run
        self.rng = np.random.default_rng(2)
        self.network = Network(run.sizes, run.activation, run.deviation, self.rng)
        self.digits = digits
        self.hook = make_hook(out_dir)
        self.recording = 0.0

    def train(self, progress):
        begin = time.perf_counter()
        for _ in range(EPOCHS):
            for pictures, labels in self.digits.batches(self.rng):
                progress(self.train_step(pictures, labels))
            loss, share = self.evaluate()
        with self.stopwatch():
            self.hook.close()
        written = self.hook.count("tensors_written"), self.hook.count("bytes_written")
        steps, seconds = self.hook.step + 1, time.perf_counter() - begin
        return RunResult(self.run, loss, share, steps, seconds, self.recording, *written)

    def train_step(self, pictures, labels):
        loss = cross_entropy(self.network.forward(pictures), labels)
        self.network.backward(labels)
        self.record(smd.modes.TRAIN, loss)
        self.network.update(LEARNING_RATE, WEIGHT_DECAY)
        return loss

    def evaluate(self):
        pictures, labels = self.digits.test
        probabilities = self.network.forward(pictures)
        loss, share = cross_entropy(probabilities, labels), accuracy(probabilities, labels)
        self.record(smd.modes.EVAL, loss, accuracy=share)
        return loss, share

    def record(self, mode, loss, **scalars):
        with self.stopwatch():
            self.hook.set_mode(mode)
            with self.hook.step():
                save_tensors(self.hook, self.network, loss)
                for name, value in scalars.items():
                    self.hook.save_scalar(name, value)

    @contextmanager
    def stopwatch(self):
        begin = time.perf_counter()
        yield
        self.recording += time.perf_counter() - begin
