"""The callbacks record the numbers that a framework logs with their step and mode."""

from __future__ import annotations

from typing import Any, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import transformers
from helpers import EVERY_STEP
from lightning_modules import Lit, fit
from smdebug import modes
from smdebug.integrations import LightningCallback, TrainerCallback
from smdebug.rules import RuleSet
from trainers import stopping, trainer_of


def scalar_of(out_dir: Any, name: str, mode: Any) -> List[Any]:
    """Returns the steps and values of a logged number."""
    trial = smd.create_trial(out_dir)
    if not trial.has_tensor(f"scalar/{name}"):
        return []
    tensor = trial.tensor(f"scalar/{name}")
    return [(step, float(np.ravel(tensor.value(step, mode))[0])) for step in tensor.steps(mode)]


def harmless() -> RuleSet:
    return RuleSet("aws").add("VanishingGradient", {"threshold": 1e-30}, action="stop")


@pytest.mark.parametrize("rules", [None, harmless])
@pytest.mark.parametrize("saves", [{"save_config": EVERY_STEP}, {}])
def test_what_a_trainer_logs_belongs_to_its_step(out_dir, tmp_path, rules, saves):
    callback = TrainerCallback(out_dir, rules=rules and rules(), **saves)
    trainer = trainer_of(tmp_path / "out", [callback], eval_strategy="steps", eval_steps=2)
    trainer.train()
    history = trainer.state.log_history
    trained = [(each["step"] - 1, each["loss"]) for each in history if "loss" in each]
    evaluated = [each["eval_loss"] for each in history if "eval_loss" in each]
    assert len(trained) == 4 and len(evaluated) == 2
    recorded = scalar_of(out_dir, "loss", modes.TRAIN)
    assert recorded == [(step, pytest.approx(value)) for step, value in trained]
    assert scalar_of(out_dir, "loss", modes.EVAL) == []
    assert scalar_of(out_dir, "eval_loss", modes.TRAIN) == []
    recorded = scalar_of(out_dir, "eval_loss", modes.EVAL)
    assert recorded == [(1, pytest.approx(evaluated[0])), (3, pytest.approx(evaluated[1]))]
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2, 3]
    if not saves:  # nothing but the numbers at the steps that were not selected
        losses = trial.tensor("GPT2LMHeadModel_loss_output_0")
        assert losses.steps(modes.TRAIN) == [0]


@pytest.mark.parametrize("rules", [None, harmless])
def test_what_a_trainer_logs_at_the_end_of_an_epoch(out_dir, tmp_path, rules):
    callback = TrainerCallback(out_dir, rules=rules and rules(), save_config=EVERY_STEP)
    trainer = trainer_of(tmp_path / "out", [callback], logging_strategy="epoch")
    trainer.args.max_steps = 8
    trainer.train()
    assert [step for step, _ in scalar_of(out_dir, "loss", modes.TRAIN)] == [3, 7]
    assert [step for step, _ in scalar_of(out_dir, "train_runtime", modes.TRAIN)] == [7]
    assert smd.create_trial(out_dir).steps() == list(range(8))


def test_a_rule_stops_a_trainer_that_logs_nothing(out_dir, tmp_path):
    trainer = trainer_of(tmp_path / "out", [TrainerCallback(out_dir, rules=stopping())])
    trainer.args.logging_strategy = transformers.trainer_utils.IntervalStrategy.NO
    assert trainer.train().global_step == 1


class Logs(Lit):
    """Keeps what it logs."""

    def __init__(self) -> None:
        super().__init__()
        self.trained: List[float] = []
        self.validated: List[float] = []

    def training_step(self, batch: Any, number: int) -> Any:
        loss = super().training_step(batch, number)
        self.trained.append(loss.item())
        self.log("both", 4.0)
        return loss

    def on_train_epoch_end(self) -> None:
        self.log("of_epoch", float(self.current_epoch))

    def on_validation_epoch_end(self) -> None:
        self.log("both", 5.0)
        self.log("unlogged", 6.0, logger=False)
        if not self.trainer.sanity_checking:
            self.validated.append(float(self.trainer.callback_metrics["val_loss"]))


@pytest.mark.parametrize("rules", [None, harmless])
@pytest.mark.parametrize("saves", [{"save_config": EVERY_STEP}, {}])
def test_what_lightning_logs_belongs_to_its_step(out_dir, tmp_path, rules, saves):
    callback = LightningCallback(out_dir, rules=rules and rules(), **saves)
    model = Logs()
    fit(model, [callback], tmp_path, epochs=3, log_every_n_steps=5)
    steps = list(range(4, 36, 5))
    assert scalar_of(out_dir, "train_loss", modes.TRAIN) == [
        (step, pytest.approx(model.trained[step])) for step in steps
    ]
    assert scalar_of(out_dir, "train_loss", modes.EVAL) == []
    for name, values in (("val_loss", model.validated), ("unlogged", [6.0] * 3)):
        assert scalar_of(out_dir, name, modes.TRAIN) == []
        recorded = scalar_of(out_dir, name, modes.EVAL)
        assert recorded == [(2 * n + 1, pytest.approx(each)) for n, each in enumerate(values)]
    assert [value for _, value in scalar_of(out_dir, "both", modes.TRAIN)] == [4.0] * len(steps)
    assert [value for _, value in scalar_of(out_dir, "both", modes.EVAL)] == [5.0] * 3
    # After a validation, the next step of the training is the first one that can take it.
    assert scalar_of(out_dir, "of_epoch", modes.TRAIN) == [(12, 0.0), (24, 1.0)]
    if not saves:
        loss = smd.create_trial(out_dir).tensor("loss_output_0")
        assert loss.steps(modes.TRAIN) == [0]


def test_lightning_saves_no_metric_of_a_training_as_one_of_a_validation(out_dir, tmp_path):
    """With epochs that are shorter than the interval of the log."""
    fit(Logs(), [LightningCallback(out_dir, save_config=EVERY_STEP)], tmp_path, epochs=2)
    assert not smd.create_trial(out_dir).has_tensor("scalar/train_loss")
    assert [step for step, _ in scalar_of(out_dir, "val_loss", modes.EVAL)] == [1, 3]


@pytest.mark.parametrize("interval", [1, 2, 50])
def test_a_rule_stops_lightning_whatever_it_logs(out_dir, tmp_path, interval):
    callback = LightningCallback(out_dir, rules=stopping())
    assert fit(Lit(), [callback], tmp_path, log_every_n_steps=interval).global_step == 1
