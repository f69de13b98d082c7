"""Trainings of transformers, Lightning and plain loops, each recorded by one line."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from typing import Any, List

import lightning
import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
import transformers
from helpers import EVERY_STEP, names_of
from lightning_modules import Lit, fit
from smdebug import modes
from smdebug.exceptions import SMDebugValueError
from smdebug.integrations import LightningCallback, TrainerCallback, recording
from smdebug.rules import RuleSet
from torch import nn
from trainers import language_model, sentences, settings_of, stopping, trainer_of

# ---- transformers -------------------------------------------------------------------------


class Gradients(transformers.TrainerCallback):
    """Keeps a gradient as the optimizer gets it, and the learning rates."""

    def __init__(self) -> None:
        self.gradients: List[Any] = []
        self.rates: List[float] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self.gradients.append(given["model"].transformer.wte.weight.grad.clone())
        self.rates.append(given["optimizer"].param_groups[0]["lr"])


def test_a_trainer(out_dir, tmp_path, caplog):
    reference = Gradients()
    callback = TrainerCallback(
        out_dir, include_collections=["gradients", "weights"], save_config=EVERY_STEP
    )
    trainer = trainer_of(
        tmp_path / "out", [callback, reference], eval_strategy="steps", eval_steps=2
    )
    trainer.train()
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2, 3]
    assert trial.steps(modes.EVAL) == [0, 1, 2, 3]
    gradient = trial.tensor("gradient/GPT2LMHeadModel_transformer.wte.weight")
    rate = trial.tensor("learning_rate/AdamW_0")
    for step in range(4):
        value = gradient.value(step, modes.TRAIN)
        np.testing.assert_allclose(value, reference.gradients[step], rtol=1e-6)
        assert rate.value(step, modes.TRAIN) == np.float32(reference.rates[step])
    losses = names_of(trial, "loss_output")
    assert losses == [f"GPT2LMHeadModel_loss_output_{number}" for number in range(2)]
    assert set(losses) <= set(trial.tensor_names(collection="losses"))
    assert trial.tensor(losses[0]).steps(modes.EVAL) == [0, 1, 2, 3]
    assert trial.has_tensor("scalar/grad_norm") and trial.has_tensor("scalar/eval_loss")
    facts = trial.metadata()
    assert float(facts["learning_rate"]) == 1e-2 and facts["gradient_accumulation_steps"] == "2"
    assert facts["eval_strategy"] == "steps" and "output_dir" not in facts
    assert "was recorded" not in caplog.text
    assert callback.hook.failures == 0


def test_a_trainer_that_is_compiled(out_dir, tmp_path):
    reference = Gradients()
    callback = TrainerCallback(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    trainer = trainer_of(
        tmp_path / "out", [callback, reference], torch_compile=True,
        torch_compile_backend="aot_eager",
    )  # fmt: skip
    trainer.train()
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2, 3]
    for step in range(4):
        value = trial.tensor("gradient/GPT2LMHeadModel_transformer.wte.weight").value(step)
        np.testing.assert_allclose(value, reference.gradients[step], rtol=1e-6)


def test_a_trainer_stops_by_its_own_means(out_dir, tmp_path):
    trainer = trainer_of(tmp_path / "out", [TrainerCallback(out_dir, rules=stopping())])
    result = trainer.train()
    assert result.global_step == 1
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps
    assert trial.tensor("GPT2LMHeadModel_loss_output_0").steps(modes.TRAIN) == [0]


def test_a_second_training_of_a_callback_is_not_recorded(out_dir, tmp_path, caplog):
    trainer = trainer_of(tmp_path / "out", [TrainerCallback(out_dir)])
    trainer.train()
    trainer.train()
    assert "holds a finished trial: this training is not recorded" in caplog.text
    loss = smd.create_trial(out_dir).tensor("GPT2LMHeadModel_loss_output_0")
    assert loss.steps(modes.TRAIN) == [0]


class Failing(transformers.TrainerCallback):
    """Raises after two steps, which the trainer reports to no callback."""

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if state.global_step == 2:
            raise ZeroDivisionError


def test_a_trainer_that_fails_in_a_block_leaves_a_finished_trial(out_dir, tmp_path):
    with pytest.raises(ZeroDivisionError):
        with TrainerCallback(out_dir, save_config=EVERY_STEP) as callback:
            trainer_of(tmp_path / "out", [callback, Failing()]).train()
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps(modes.TRAIN) == [0, 1]


def test_a_deleted_callback_of_a_trainer_finishes_the_trial(out_dir, tmp_path):
    trainer = trainer_of(tmp_path / "out", [TrainerCallback(out_dir), Failing()])
    with pytest.raises(ZeroDivisionError) as raised:
        trainer.train()
    del trainer, raised
    gc.collect()
    assert smd.create_trial(out_dir).loaded_all_steps


def test_a_callback_is_sent_to_another_process_before_the_training(out_dir, tmp_path, caplog):
    callback = pickle.loads(pickle.dumps(TrainerCallback(out_dir, save_config=EVERY_STEP)))
    trainer_of(tmp_path / "out", [callback]).train()
    assert smd.create_trial(out_dir).steps(modes.TRAIN) == [0, 1, 2, 3]
    # Afterwards a copy is one of a recorded training: it records nothing.
    of_recorded = pickle.loads(pickle.dumps(callback))
    trainer_of(tmp_path / "out", [of_recorded]).train()
    assert of_recorded.hook is None and "not recorded" not in caplog.text


class RunsOut(transformers.Trainer):
    """Runs out of memory in the second update, which it tries with too large batches."""

    calls = 0

    def compute_loss(self, *arguments: Any, **keywords: Any) -> Any:
        self.calls += 1
        if self.calls == 4:
            raise RuntimeError("CUDA out of memory. (simulated)")
        return super().compute_loss(*arguments, **keywords)


@pytest.mark.parametrize("rules", [None, stopping])
def test_a_trainer_that_looks_for_its_batch_size(out_dir, tmp_path, caplog, rules):
    class Late(transformers.TrainerCallback):
        """Attaches the rules after the first attempt."""

        attempts = 0

        def on_train_begin(self, *unused: Any, **given: Any) -> None:
            self.attempts += 1
            if rules is not None and self.attempts == 2:
                callback.hook.attach(rules())

    callback = TrainerCallback(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    arguments = settings_of(
        tmp_path / "out", max_steps=4, gradient_accumulation_steps=2, auto_find_batch_size=True
    )
    late, reference = Late(), Gradients()
    trainer = RunsOut(
        model=language_model(), args=arguments, train_dataset=sentences(16),
        callbacks=[callback, late, reference],
    )  # fmt: skip
    result = trainer.train()
    assert late.attempts == 2 and result.global_step == (4 if rules is None else 1)
    assert "not recorded" not in caplog.text and callback.hook.failures == 0
    # Step 1 is the one that ran out of memory.
    steps = [0, 2, 3, 4, 5] if rules is None else [0, 2]
    trial = smd.create_trial(out_dir)
    gradient = trial.tensor("gradient/GPT2LMHeadModel_transformer.wte.weight")
    assert trial.loaded_all_steps and gradient.steps(modes.TRAIN) == steps
    for step, expected in zip(steps, reference.gradients):
        np.testing.assert_allclose(gradient.value(step, modes.TRAIN), expected, rtol=1e-6)
    assert trial.tensor("learning_rate/AdamW_0").steps(modes.TRAIN) == steps
    assert trial.tensor("GPT2LMHeadModel_loss_output_1").steps(modes.TRAIN) == steps
    assert "compute_loss" not in vars(trainer)


def test_a_second_training_is_no_search_for_a_batch_size(out_dir, tmp_path, caplog):
    callback = TrainerCallback(out_dir, save_config=EVERY_STEP)
    trainer = trainer_of(tmp_path / "out", [callback, Failing()], auto_find_batch_size=True)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            trainer.train()
    assert "holds a finished trial: this training is not recorded" in caplog.text


def test_adapters_of_peft(out_dir, tmp_path):
    import peft

    model = peft.get_peft_model(
        language_model(), peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
    )
    trainer = trainer_of(
        tmp_path / "out",
        [
            callback := TrainerCallback(
                out_dir,
                include_collections=["gradients"],
                save_config=EVERY_STEP,
                rules=RuleSet().add("UpdateNotApplied"),
            )
        ],
    )
    trainer.model = trainer.model_wrapped = model
    trainer.train()
    trial = smd.create_trial(out_dir)
    gradients = names_of(trial, "^gradient/")
    assert len(gradients) == 2 and all("lora_" in name for name in gradients)
    assert trial.tensor(gradients[0]).steps(modes.TRAIN) == [0, 1, 2, 3]
    assert callback.hook.take_findings() == []


def test_generating_makes_no_steps(out_dir):
    model = language_model()
    optimizer = torch.optim.AdamW(model.parameters())
    batch = {key: value[None] for key, value in sentences(1)[0].items()}
    with recording(out_dir, model, optimizer, save_config=EVERY_STEP):
        for _ in range(2):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
            model.eval()
            model.generate(batch["input_ids"][:, :2], max_new_tokens=4, pad_token_id=0)
            model.train()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == trial.steps(modes.TRAIN) == [0, 1]


# ---- Lightning ---------------------------------------------------------------------------------


def test_lightning(out_dir, tmp_path, caplog):
    callback = LightningCallback(
        out_dir, include_collections=["gradients", "activations"], save_config=EVERY_STEP
    )
    model = Lit()
    trainer = fit(
        model, [callback, Activations(callback)], tmp_path,
        accumulate_grad_batches=3, gradient_clip_val=0.01,
    )  # fmt: skip
    assert trainer.global_step == 4
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2, 3]
    assert trial.steps(modes.EVAL) == [0, 1]
    assert len(model.seen) == 4
    for step, gradient in enumerate(model.seen):
        value = trial.tensor("gradient/Lit_net.0.weight").value(step, modes.TRAIN)
        np.testing.assert_array_equal(value, gradient)
        assert np.linalg.norm(value) <= 0.01
    assert names_of(trial, "^loss_output") == [f"loss_output_{number}" for number in range(3)]
    assert trial.tensor("net_output_2").steps(modes.TRAIN) == [0, 1, 2, 3]
    assert trial.tensor("learning_rate/AdamW_0").value(0, modes.TRAIN) == np.float32(0.01)
    assert trial.tensor("loss_output_0").steps(modes.EVAL) == [0, 1]
    assert trial.has_tensor("scalar/val_loss")
    assert callback.hook.failures == 0 and "was recorded" not in caplog.text


class Classifier(Lit):
    def training_step(self, batch: Any, number: int) -> Any:
        return nn.functional.cross_entropy(self(batch).repeat(1, 2), (batch[:, 0] > 0).long())


@pytest.mark.parametrize("passes", [1, 3])
def test_lightning_records_what_a_loss_is_computed_from(passes, out_dir, tmp_path):
    callback = LightningCallback(
        out_dir, include_regex=["^loss/|^Classifier_input"], save_config=EVERY_STEP, raise_errors=True
    )
    fit(Classifier(), [callback], tmp_path, accumulate_grad_batches=passes)
    trial = smd.create_trial(out_dir)
    assert sorted(names_of(trial, "^loss/")) == [
        f"loss/CrossEntropyLoss_input_{number}" for number in range(2 * passes)
    ]
    inputs = trial.tensor("Classifier_input_0").value(1, modes.TRAIN)
    targets = trial.tensor("loss/CrossEntropyLoss_input_1").value(1, modes.TRAIN)
    assert targets.tolist() == (inputs[:, 0] > 0).astype(int).tolist() or passes > 1


class Activations(lightning.Callback):
    """Selects the outputs of a module, as a script of one's own does."""

    def __init__(self, callback: LightningCallback) -> None:
        self._callback = callback

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._callback.hook.get_collection("activations").include("^net_output")


def test_lightning_with_manual_optimization(out_dir, tmp_path):
    model = Lit(manual=True)
    callback = LightningCallback(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    fit(model, [callback], tmp_path)
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == list(range(12))
    assert trial.tensor("gradient/Lit_net.2.bias").steps(modes.TRAIN) == list(range(12))


class Adversaries(Lit):
    """Two losses, which only the log has, and hyper-parameters."""

    def __init__(self, rate: float, secret: Any = None) -> None:
        super().__init__(manual=True)
        self.save_hyperparameters()

    def training_step(self, batch: Any, number: int) -> None:
        loss = super().training_step(batch, number)
        self.log_dict({"generator": loss, "critic": -loss.detach()})
        if self.logger is not None:  # of another kind than this module expects
            self.logger.experiment.add_scalar("mine", loss, number)
            self.logger.watch(self)


def test_lightning_records_what_is_logged(out_dir, tmp_path):
    callback = LightningCallback(out_dir, save_config=EVERY_STEP)
    model = Adversaries(rate=0.5, secret=object())
    trainer = fit(model, [callback], tmp_path, log_every_n_steps=1)
    assert trainer.loggers == [] and trainer.log_dir == str(tmp_path)
    trial = smd.create_trial(out_dir)
    generator = trial.tensor("scalar/generator")
    assert generator.steps(modes.TRAIN) == list(range(12))
    assert all(
        trial.tensor("scalar/critic").value(step, modes.TRAIN) == -generator.value(step, modes.TRAIN)
        for step in range(12)
    )
    assert trial.has_tensor("scalar/val_loss")
    assert float(trial.metadata()["rate"]) == 0.5 and "secret" not in trial.metadata()


def test_lightning_stops_by_its_own_means(out_dir, tmp_path):
    trainer = fit(Lit(), [LightningCallback(out_dir, rules=stopping())], tmp_path)
    assert trainer.global_step == 1 and trainer.should_stop
    trial = smd.create_trial(out_dir)
    assert trial.loaded_all_steps and trial.steps(modes.TRAIN) == [0]


def test_lightning_that_fails_leaves_a_finished_trial(out_dir, tmp_path):
    class Fails(Lit):
        def training_step(self, batch: Any, number: int) -> Any:
            if number == 2:
                raise ZeroDivisionError
            return super().training_step(batch, number)

    with pytest.raises(ZeroDivisionError):
        fit(Fails(), [LightningCallback(out_dir, save_config=EVERY_STEP)], tmp_path)
    assert smd.create_trial(out_dir).loaded_all_steps


def test_lightning_records_after_a_failure_before_the_training(out_dir, tmp_path, caplog):
    class Fails(Lit):
        is_broken = True

        def validation_step(self, batch: Any, number: int) -> Any:
            if self.is_broken:
                raise ZeroDivisionError
            return super().validation_step(batch, number)

    callback, model = LightningCallback(out_dir, save_config=EVERY_STEP), Fails()
    with pytest.raises(ZeroDivisionError):
        fit(model, [callback], tmp_path)
    model.is_broken = False
    fit(model, [callback], tmp_path)
    assert "not recorded" not in caplog.text
    assert smd.create_trial(out_dir).steps(modes.TRAIN) == list(range(12))


# ---- plain loops --------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", [None, stopping])
def test_a_loop(out_dir, rules):
    model, loss_module = nn.Linear(3, 1), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    twin = copy.deepcopy(model)
    settings = {"save_config": EVERY_STEP, "include_collections": ["gradients"]}
    settings["rules"] = rules and rules()
    steps = 0
    with recording(out_dir, model, optimizer, loss=loss_module, **settings) as hook:
        for _ in range(3):
            optimizer.zero_grad()
            loss_module(model(torch.ones(2, 3)), torch.zeros(2, 1)).backward()
            optimizer.step()
            steps += 1
            hook.end_step()
            if hook.stop_finding is not None:
                break
    assert steps == (3 if rules is None else 1)
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == list(range(steps))
    loss_module(twin(torch.ones(2, 3)), torch.zeros(2, 1)).backward()
    value = trial.tensor("gradient/Linear_weight").value(0)
    np.testing.assert_array_equal(value, twin.weight.grad)


def test_a_loop_of_several_models(out_dir):
    models = [nn.Linear(3, 3), nn.Linear(3, 3), nn.Sequential(nn.Linear(3, 1))]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models[1:]]
    settings = {"save_config": EVERY_STEP, "include_collections": ["gradients"]}
    with recording(out_dir, models, *optimizers, **settings):
        for _ in range(2):
            hidden = models[1](models[0](torch.ones(2, 3)))
            models[2](hidden).square().mean().backward()
            for optimizer in optimizers:
                optimizer.step()
    names = smd.create_trial(out_dir).tensor_names(regex="weight$")
    assert names == [
        "gradient/Linear_2_weight",
        "gradient/Linear_weight",
        "gradient/Sequential_0.weight",
    ]


def test_a_rule_set_judges_one_training_and_stops_no_other(out_dir, caplog):
    """As in a cross-validation that makes its rule set before the loop."""
    settings = {"save_config": EVERY_STEP, "include_collections": ["gradients"]}
    settings["rules"] = RuleSet().add("VanishingGradient")
    for fold in range(2):
        model = nn.Linear(4, 2)
        with recording(f"{out_dir}/{fold}", model, **settings) as hook:
            model(torch.ones(3, 4)).sum().backward()
        assert hook.take_findings() == []
        assert smd.create_trial(f"{out_dir}/{fold}").steps() == [0]
    assert "make one rule set for each" in caplog.text
    assert "no rule evaluates this training" in caplog.text


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_loop_with_accelerate(out_dir, order):
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = (model, optimizer)
    model, optimizer = accelerator.prepare(model, optimizer)
    given = given if order == "before" else (model, optimizer)
    gradients = []
    settings = {"save_config": EVERY_STEP, "include_collections": ["gradients"]}
    with recording(out_dir, *given, **settings) as hook:
        for number in range(6):
            with accelerator.accumulate(model):
                loss = model(torch.full((2, 3), float(number))).square().mean()
                hook.record_tensor_value("loss", loss)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    gradients.append(model.weight.grad.clone())
                optimizer.step()
                optimizer.zero_grad()
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2]
    assert names_of(trial, "loss") == ["loss_output_0", "loss_output_1"]
    for step, gradient in enumerate(gradients):
        value = trial.tensor("gradient/Linear_weight").value(step)
        np.testing.assert_array_equal(value, gradient)


def test_a_callback_needs_one_place(out_dir):
    with pytest.raises(SMDebugValueError, match="either out_dir or hook"):
        TrainerCallback()
    with pytest.raises(SMDebugValueError, match="settings of a hook that exists"):
        LightningCallback(hook=smd.Hook(out_dir), save_all=True)


def test_frameworks_are_imported_when_they_are_used():
    program = (
        "import sys, smdebug.integrations as i; "
        "print([m for m in ('torch', 'transformers', 'lightning') if m in sys.modules]); "
        "i.recording; print([m for m in ('transformers', 'lightning') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n[]\n"
