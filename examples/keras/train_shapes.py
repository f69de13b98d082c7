"""Trains a small network to tell drawn shapes apart, records it, and evaluates the training.

python train_shapes.py [FOLDER]    the folder of the trial; "shapes" if not given
Runs with Keras 2 or 3 and any backend: KERAS_BACKEND=jax python train_shapes.py
"""

import sys

import numpy as np
import smdebug.tensorflow as smd
from keras import Sequential, layers, optimizers, utils
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet
from smdebug.rules import Rule, invoke_rule

SIZE, EPOCHS, BATCH = 12, 8, 50


def drawn(count, seed):
    """Returns noisy pictures of disks, squares and crosses, and the shape in each."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:SIZE, :SIZE]
    kinds = rng.integers(3, size=count)
    pictures = 0.4 * rng.random((count, SIZE, SIZE, 1), dtype="float32")
    for picture, kind in zip(pictures, kinds):
        middle, radius = rng.integers(4, SIZE - 4, size=2), rng.integers(3, 5)
        down, right = np.abs(row - middle[0]), np.abs(column - middle[1])
        near, far = np.minimum(down, right), np.maximum(down, right)
        shapes = [np.hypot(down, right) <= radius, far < radius, (near < 1) & (far <= radius)]
        picture[shapes[kind]] += 0.6
    return pictures, kinds


def train(folder):
    utils.set_random_seed(1)
    model = Sequential([
        layers.Conv2D(8, 3, activation="relu", name="edges"), layers.MaxPooling2D(2),
        layers.Conv2D(8, 3, activation="relu", name="parts"), layers.Flatten(),
        layers.Dense(3, activation="softmax", name="shape"),
    ])  # fmt: skip
    model.build((None, SIZE, SIZE, 1))
    model.compile(optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    hook = smd.KerasHook(
        folder,
        save_config=smd.SaveConfig(save_interval=5),
        include_collections=["gradients", "active"],
        reduction_config=smd.ReductionConfig(["mean", "max"], norms=["l2"]),
    )
    hook.get_collection("active").include("^(edges|parts)/outputs")
    with hook:
        model.fit(*drawn(500, 1), batch_size=BATCH, epochs=EPOCHS, verbose=0,
                  validation_data=drawn(200, 2), callbacks=[hook])  # fmt: skip


class Plateau(Rule):
    """Holds if the validation's accuracy has hardly risen since the last epoch."""

    def set_required_tensors(self, step):
        self.req_tensors.add("val_accuracy", [step])

    def invoke_at_step(self, step):
        accuracy = self.base_trial.tensor("val_accuracy")
        past = [accuracy.value(at).item() for at in sorted(accuracy.prev_steps(step, 2))]
        return len(past) == 2 and past[1] - past[0] < 0.01


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "shapes"
    train(folder)
    trial = smd.create_trial(folder)
    gradient = trial.tensor("gradients/edges/kernelGrad")
    for epoch, (step, value) in enumerate(trial.tensor("val_accuracy").values().items()):
        norm = gradient.reduction_value(gradient.prev_steps(step, 1)[0], "l2").item()
        print(f"epoch {epoch}: accuracy {value.item():.2f}, gradient at the edges {norm:.3f}")
    try:
        invoke_rule(Plateau(trial), raise_eval_cond=True)
    except RuleEvaluationConditionMet as met:
        print(met)
    except NoMoreData:
        print("no plateau")
