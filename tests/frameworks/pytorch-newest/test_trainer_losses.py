"""The losses of ``transformers.Trainer`` and of classes derived from it."""

from __future__ import annotations

import gc
import weakref
from typing import Any, List

import numpy as np
import pytest
import smdebug
import torch
import transformers
from smdebug import modes
from smdebug.integrations import TrainerCallback
from smdebug.trials import create_trial
from torch.nn import functional
from trainers import language_model, sentences, settings_of

EVERY_STEP = smdebug.SaveConfig(save_interval=1)
OWN = "GPT2LMHeadModel_loss_output_0"


class Weighted(transformers.Trainer):
    """Its loss has a part of its own, and the model's is another."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **_: Any) -> Any:
        outputs = model(**inputs)
        loss = 0.5 * outputs.loss + outputs.logits.square().mean()
        return (loss, outputs) if return_outputs else loss


class WithoutLabels(transformers.Trainer):
    """The model returns no loss."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **_: Any) -> Any:
        labels = inputs.pop("labels")
        loss = functional.cross_entropy(model(**inputs).logits.flatten(0, 1), labels.flatten())
        return (loss, None) if return_outputs else loss


class Unchanged(transformers.Trainer):
    def compute_loss(self, *arguments: Any, **keywords: Any) -> Any:
        return super().compute_loss(*arguments, **keywords)


def of_function(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    return functional.cross_entropy(outputs.logits.flatten(0, 1), labels.flatten())


class Steps(transformers.TrainerCallback):
    """Keeps the losses that a trainer's backward passes begin with."""

    def __init__(self, trainer: Any) -> None:
        self.losses: List[float] = []
        backward = trainer.accelerator.backward

        def seen(loss: Any, **keywords: Any) -> None:
            self.losses.append(loss.item())
            backward(loss, **keywords)

        trainer.accelerator.backward = seen


def trained(trainer_class: Any, out_dir: str, folder: Any, given: Any = None, **settings: Any) -> Any:
    callback = TrainerCallback(out_dir, save_config=EVERY_STEP, raise_errors=True)
    trainer = trainer_class(
        model=language_model(), args=settings_of(folder, max_steps=3, **settings),
        train_dataset=sentences(16), eval_dataset=sentences(4), callbacks=[callback],
        **(given or {}),
    )  # fmt: skip
    steps = Steps(trainer)
    trainer.train()
    return trainer, steps.losses


@pytest.mark.parametrize(
    "trainer_class, given, settings, name",
    [
        (transformers.Trainer, {}, {}, OWN),
        (transformers.Trainer, {}, {"gradient_accumulation_steps": 2}, OWN),
        (transformers.Trainer, {}, {"bf16": True}, OWN),
        (transformers.Trainer, {}, {"torch_compile": True, "torch_compile_backend": "eager"}, OWN),
        (transformers.Trainer, {}, {"label_smoothing_factor": 0.1}, "loss_output_0"),
        (transformers.Trainer, {"compute_loss_func": of_function}, {}, "loss_output_0"),
        (Unchanged, {}, {}, OWN),
        (Weighted, {}, {}, "loss_output_0"),
        (WithoutLabels, {}, {}, "loss_output_0"),
    ],
)
def test_the_loss_is_the_one_that_is_trained(
    trainer_class, given, settings, name, out_dir, tmp_path, caplog
):
    trainer, losses = trained(trainer_class, out_dir, tmp_path / "out", given, **settings)
    trial = create_trial(out_dir)
    names = [each for each in trial.tensor_names(collection="losses") if "_output_" in each]
    passes = settings.get("gradient_accumulation_steps", 1)
    assert names == [f"{name[:-1]}{number}" for number in range(passes)]
    recorded = [trial.tensor(each).value(step).item() for step in range(3) for each in names]
    np.testing.assert_allclose(recorded, losses, rtol=1e-6)
    assert "no loss was recorded" not in caplog.text
    assert "compute_loss" not in vars(trainer)


@pytest.mark.parametrize(
    "trainer_class, loss", [(transformers.Trainer, "GPT2LMHeadModel_loss"), (WithoutLabels, "loss")]
)
def test_what_the_loss_is_computed_from(trainer_class, loss, out_dir, tmp_path):
    seen = []
    callback = TrainerCallback(
        out_dir, include_regex=["^.*loss/"], save_config=EVERY_STEP, raise_errors=True
    )
    trainer = trainer_class(
        model=language_model(), args=settings_of(tmp_path / "out", max_steps=3),
        train_dataset=sentences(16), callbacks=[callback],
    )  # fmt: skip
    compute = trainer.compute_loss
    trainer.compute_loss = lambda model, inputs, *rest, **keywords: (
        seen.append(inputs["labels"].numpy()) or compute(model, inputs, *rest, **keywords)
    )
    trainer.train()
    targets = create_trial(out_dir).tensor(f"{loss}/CrossEntropyLoss_input_1")
    labels = seen[1]
    # The model's own loss compares each token with the next.
    last = np.full((2, 1), -100)
    expected = np.hstack([labels[:, 1:], last]) if trainer_class is transformers.Trainer else labels
    assert targets.value(1).tolist() == expected.flatten().tolist()


def test_losses_of_evaluations(out_dir, tmp_path):
    trainer, _ = trained(Weighted, out_dir, tmp_path / "out", eval_strategy="epoch")
    trial = create_trial(out_dir)
    loss = trial.tensor("loss_output_0")
    assert loss.steps(modes.TRAIN) == [0, 1, 2]
    values = [loss.value(step, modes.EVAL).item() for step in loss.steps(modes.EVAL)]
    (logged,) = [each["eval_loss"] for each in trainer.state.log_history if "eval_loss" in each]
    assert len(values) == 2 and np.mean(values) == pytest.approx(logged, rel=1e-5)


class Failing(transformers.Trainer):
    def compute_loss(self, *arguments: Any, **keywords: Any) -> Any:
        if self.state.global_step == 1:
            raise RuntimeError("on purpose")
        return super().compute_loss(*arguments, **keywords)


def test_a_trainer_that_fails_trains_again_with_another_callback(out_dir, tmp_path):
    with TrainerCallback(out_dir, save_config=EVERY_STEP) as callback:
        trainer = Failing(
            model=language_model(), args=settings_of(tmp_path / "out", max_steps=3),
            train_dataset=sentences(16), callbacks=[callback],
        )  # fmt: skip
        with pytest.raises(RuntimeError, match="on purpose"):
            trainer.train()
    assert "compute_loss" not in vars(trainer)
    assert create_trial(out_dir).tensor(OWN).steps() == [0]
    trainer.remove_callback(callback)
    with TrainerCallback(f"{out_dir}2", save_config=EVERY_STEP) as another:
        trainer.add_callback(another)
        with pytest.raises(RuntimeError, match="on purpose"):
            trainer.train()
    assert create_trial(f"{out_dir}2").tensor(OWN).steps() == [0]


def test_a_method_of_the_trainer_itself_stays(out_dir, tmp_path):
    callback = TrainerCallback(out_dir, save_config=EVERY_STEP)
    trainer = transformers.Trainer(
        model=language_model(), args=settings_of(tmp_path / "out", max_steps=2),
        train_dataset=sentences(16), callbacks=[callback],
    )  # fmt: skip

    def mine(model: Any, inputs: Any, **_: Any) -> Any:
        return 3 * model(**inputs).loss

    trainer.compute_loss = mine
    trainer.train()
    assert trainer.compute_loss is mine
    assert create_trial(out_dir).tensor("loss_output_0").steps() == [0, 1]


def test_a_trainer_is_freed(out_dir, tmp_path):
    trainer, _ = trained(transformers.Trainer, out_dir, tmp_path / "out")
    gone = weakref.ref(trainer.model.transformer.wte.weight)
    del trainer
    gc.collect()
    assert gone() is None
