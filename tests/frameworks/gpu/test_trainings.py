"""Trainings on a GPU: what is recorded, that nothing waits, graphs, compilers and trainers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Iterator

import lightning
import numpy as np
import pytest
import smdebug.pytorch as smd
import test_device
import test_integrations
import torch
import transformers
from helpers import EVERY_STEP
from smdebug import modes
from smdebug.integrations import LightningCallback, TrainerCallback
from test_device import hook_for
from torch import nn

KINDS = ["min", "max", "mean", "std", "variance", "sum"]
NORMS = ["l1", "l2"]
BOTH = smd.ReductionConfig(KINDS, KINDS, NORMS, NORMS, save_raw_tensor=True)
HALVES = [torch.float16, torch.bfloat16]


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    torch.set_default_device("cuda")
    try:
        yield
    finally:
        torch.set_default_device(None)


# ---- what is recorded ------------------------------------------------------------------------


def figure(kind: str, value: np.ndarray) -> float:
    if kind in NORMS:
        return float(np.linalg.norm(value, 1 if kind == "l1" else 2))
    if kind == "variance":
        return float(np.var(value))
    return float(getattr(np, kind)(value))


def assert_figures_match_values(out_dir: str) -> None:
    trial = smd.create_trial(out_dir)
    compared = 0
    for name in trial.tensor_names():
        if name.startswith(("scalar/", "learning_rate/")):
            continue
        tensor = trial.tensor(name)
        for mode in (modes.TRAIN, modes.EVAL):
            for step in tensor.steps(mode):
                value = np.ravel(tensor.value(step, mode)).astype(np.float64)
                for kind in KINDS + NORMS:
                    for is_absolute in (False, True):
                        found = tensor.reduction_value(step, kind, mode=mode, abs=is_absolute)
                        expected = figure(kind, np.abs(value) if is_absolute else value)
                        most = 1e-6 * np.abs(value).sum()
                        np.testing.assert_allclose(
                            np.ravel(found)[0], expected, 1e-5, most, err_msg=f"{kind} {name}"
                        )
                        compared += 1
    assert compared > 100


@pytest.mark.parametrize("is_sync", [False, True], ids=["late", "sync"])
@pytest.mark.parametrize("training", test_device.TRAININGS[:-1], ids=test_device.NAMES[:-1])
def test_figures_of_a_training_are_those_of_its_values(out_dir, training, is_sync):
    training(out_dir, reduction_config=BOTH, **({"sync": True} if is_sync else {}))
    assert_figures_match_values(out_dir)


def test_rules_act_one_step_late(tmp_path):
    assert test_device.broken_at(1, str(tmp_path / "sync"), sync=True) == [1, 2, 3]
    found = test_device.broken_at(1, str(tmp_path / "late"))
    assert found and found[-1] == 3


# ---- nothing waits -----------------------------------------------------------------------------


@pytest.mark.parametrize("has_optimizer", [True, False], ids=["optimizer", "no_optimizer"])
def test_nothing_waits_for_the_gpu(out_dir, has_optimizer):
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(inplace=True), nn.Linear(512, 512))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    x = torch.randn(64, 512)
    settings: Any = {"reduction_config": test_device.FIGURES, "save_all": True}
    with smd.Hook(out_dir, save_config=EVERY_STEP, **settings) as hook:
        hook.register_module(model)
        if has_optimizer:
            hook.register_optimizer(optimizer)

        def step() -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        for _ in range(5):  # the first steps compile, and learn what changes in place
            step()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(10):
                step()
                time.sleep(0.01)  # a busy GPU is waited for after four steps
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert hook.failures == 0
    assert smd.create_trial(out_dir).steps(modes.TRAIN) == list(range(15))


def test_values_on_other_streams(out_dir):
    """What a stream of the training computes late is not read early."""
    stream = torch.cuda.Stream()
    model = nn.Linear(2048, 2048, bias=False)
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, reduction_config=BOTH) as hook:
        hook.register_module(model)
        x = torch.ones(64, 2048)
        for _ in range(5):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(20_000_000)
                model(x).sum().backward()
            torch.cuda.current_stream().wait_stream(stream)
            hook.end_step()
            model.zero_grad(set_to_none=False)
    gradient = smd.create_trial(out_dir).tensor("gradient/Linear_weight")
    found = [float(gradient.reduction_value(step, "max")[0]) for step in gradient.steps()]
    assert found == [64] * 5
    assert_figures_match_values(out_dir)


# ---- graphs and compilers ----------------------------------------------------------------------


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_captured_graph_replays_as_it_does_without_a_hook(out_dir, is_recorded):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.Linear(40, 20))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(5, 30)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    hook = smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, raise_errors=False)
    if is_recorded:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    found = []
    for _ in range(5):
        graph.replay()
        found.append(loss.item())
    step()
    hook.close()
    # What the graph's capture would have recorded is missing, and counted.
    assert (hook.failures > 0) == is_recorded
    assert found == sorted(found, reverse=True) and found[0] > found[-1]
    if is_recorded:
        trial = smd.create_trial(out_dir)
        assert trial.tensor("gradient/Sequential_0.weight").steps()[:3] == [0, 1, 2]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_model(out_dir, mode):
    model = test_device.model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    gradients = []
    included = ["gradients", "weights", "losses"]
    with smd.Hook(out_dir, include_collections=included, save_config=EVERY_STEP) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        compiled = torch.compile(model, mode=mode)
        for x in test_device.batches(6):
            optimizer.zero_grad()
            loss = compiled(x).square().mean()
            hook.record_tensor_value("loss", loss)
            loss.backward()
            gradients.append(model[0].weight.grad.cpu().numpy())
            optimizer.step()
        hook.flush()
        assert hook.failures == 0
    tensor = smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight")
    assert tensor.steps() == list(range(6))
    for step, gradient in enumerate(gradients):
        np.testing.assert_array_equal(tensor.value(step), gradient)


# ---- half precision ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_fused", [False, True])
def test_a_step_that_a_scaler_skips(out_dir, is_fused):
    model = test_device.model_of_two()
    optimizer = torch.optim.Adam(model.parameters(), fused=is_fused)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    included = ["weights", "gradients", "updates", "optimizer_state"]
    with hook_for(out_dir, include_collections=included, reduction_config=BOTH) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for number, x in enumerate(test_device.batches(4)):
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.float16):
                loss = model(x).square().mean()
            scaler.scale(loss * float("inf") if number == 1 else loss).backward()
            scaler.step(optimizer)
            scaler.update()
        hook.end_step()
        hook.flush()
        assert hook.skipped_steps == 1 and hook.failures == 0
    assert_figures_match_values(out_dir)
    update = smd.create_trial(out_dir).tensor("update/Sequential_0.weight")
    assert update.steps() == [0, 2, 3]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_model_in_half_precision(out_dir, dtype):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(300, 400), nn.GELU(), nn.Linear(400, 20)).to(dtype)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with smd.Hook(out_dir, save_all=True, save_config=EVERY_STEP, reduction_config=BOTH) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.randn(8, 300, dtype=dtype)).float().square().mean().backward()
            optimizer.step()
        hook.flush()
        assert hook.failures == 0
    assert_figures_match_values(out_dir)


# ---- trainers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [{}, {"bf16": True}, {"fp16": True}], ids=str)
def test_a_trainer(out_dir, tmp_path, precision):
    torch.set_default_device(None)  # the trainer moves its data itself
    callback = TrainerCallback(
        out_dir, include_collections=["gradients", "weights", "losses"], save_config=EVERY_STEP
    )
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"), per_device_train_batch_size=2, max_steps=4,
        report_to=[], save_strategy="no", disable_tqdm=True, logging_steps=1, **precision,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=test_integrations.language_model(), args=arguments,
        train_dataset=test_integrations.sentences(16), callbacks=[callback],
    )  # fmt: skip
    trainer.train()
    assert trainer.model.device.type == "cuda"
    trial = smd.create_trial(out_dir)
    assert trial.steps(modes.TRAIN) == [0, 1, 2, 3]
    gradient = trial.tensor("gradient/GPT2LMHeadModel_transformer.wte.weight")
    assert len(gradient.steps(modes.TRAIN)) >= 3
    assert callback.hook.failures == 0


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "16-mixed", "bf16-true"])
def test_lightning(out_dir: str, tmp_path: Path, precision: Any) -> None:
    torch.set_default_device(None)
    callback = LightningCallback(out_dir, include_collections=["gradients"], save_config=EVERY_STEP)
    model = test_integrations.Lit()
    trainer = lightning.Trainer(
        callbacks=[callback], max_epochs=1, accelerator="gpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=tmp_path, precision=precision,
    )  # fmt: skip
    data = [torch.ones(2, 3) * number for number in range(1, 7)]
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=None))
    trial = smd.create_trial(out_dir)
    assert len(trial.tensor("gradient/Lit_net.2.bias").steps(modes.TRAIN)) >= 5
    assert callback.hook.failures == 0
