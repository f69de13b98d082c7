"""The PyTorch hook around a training: copies, failures, and its end."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, recorded
from torch import nn

X = torch.ones(2, 3)


def model_of_two() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))


# ---- the end -----------------------------------------------------------------------------


def test_a_closed_hook_has_left_the_model(out_dir):
    model, loss_module = model_of_two(), nn.MSELoss()
    hook = recorded(out_dir, model)
    hook.register_loss(loss_module)
    model(X).sum().backward()
    hook.close()
    for module in (*model.modules(), loss_module):
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert not any(parameter._backward_hooks for parameter in model.parameters())
    model(X).sum().backward()
    hook.close()
    assert smd.create_trial(out_dir).steps() == [0]


def test_a_with_block_closes(out_dir):
    model = model_of_two()
    with pytest.raises(ZeroDivisionError), recorded(out_dir, model):
        model(X)
        raise ZeroDivisionError
    assert not model._forward_hooks
    assert os.path.exists(os.path.join(out_dir, "training_job_end.ts"))


def test_another_hook_may_follow(out_dir, tmp_path):
    model = model_of_two()
    for folder in (out_dir, str(tmp_path / "another")):
        with recorded(folder, model):
            model(X).sum().backward()
        assert smd.create_trial(folder).tensor("gradient/Sequential_0.weight").steps() == [0]


def test_an_open_hook_does_not_keep_a_model(out_dir):
    model = model_of_two()
    hook = recorded(out_dir, model)
    model(X)
    gone = weakref.ref(model[0])
    del model
    gc.collect()
    assert gone() is None
    hook.close()


# ---- copies --------------------------------------------------------------------------------


def test_a_copied_model_records_nothing(out_dir):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        model(X).sum().backward()
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        # PyTorch 2 requires a flag for trusted files.
        trusted = {} if torch.__version__.startswith("1.") else {"weights_only": False}
        for twin in (
            copy.deepcopy(model),
            pickle.loads(pickle.dumps(model)),
            torch.load(buffer, **trusted),
        ):
            twin(X).sum().backward()
            np.testing.assert_array_equal(twin(X).detach(), model(X).detach())
        assert hook.step == 3
        assert copy.deepcopy(hook).close() is None
    assert smd.create_trial(out_dir).steps() == [0, 1, 2, 3]


# ---- failures ------------------------------------------------------------------------------


def test_an_exception_in_the_training_leaves_the_hook_usable(out_dir):
    model = model_of_two()
    with recorded(out_dir, model):
        model(X)
        with pytest.raises(RuntimeError):
            model(torch.ones(2, 5))
        model(X).sum().backward()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert trial.tensor("Sequential_0.weight").steps() == [0, 1, 2]
    assert trial.tensor("0_output_0").steps() == [0, 2]


def test_a_tensor_that_cannot_be_saved_costs_no_other(out_dir, caplog):
    model = nn.Sequential(nn.Linear(3, 4, device="meta"), nn.Identity())
    x = torch.ones(2, 3, device="meta")
    with recorded(out_dir, model, raise_errors=False) as hook:
        hook.record_tensor_value("other_loss", torch.ones(()))
        model(x)
        hook.record_tensor_value("my_loss", torch.ones(()))
        failures = hook.failures
    assert failures == 2 + 2 * 3  # parameters; inputs and outputs of three modules
    assert caplog.text.count("saving Sequential_0.weight failed") == 1
    assert smd.create_trial(out_dir).tensor_names() == ["my_loss_output_0"]


def test_failures_are_raised_if_asked_for(out_dir):
    model = nn.Linear(3, 4, device="meta")
    with recorded(out_dir, model, raise_errors=True), pytest.raises(Exception, match="meta"):
        model(torch.ones(2, 3, device="meta"))


# ---- the source of the elements ----------------------------------------------------------------


def test_nothing_is_taken_of_tensors_that_nobody_wants(out_dir):
    # A tensor on the device "meta" has no elements.
    model = nn.Sequential(nn.Linear(3, 4, device="meta"), nn.Linear(4, 2, device="meta"))
    with recorded(out_dir, model, save_all=False, include_regex="^only_this_output") as hook:
        for _ in range(3):
            model(torch.ones(2, 3, device="meta"))
            hook.record_tensor_value("only_this", torch.ones(2))
        assert hook.failures == 0
    assert smd.create_trial(out_dir).tensor("only_this_output_0").steps() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "complex64"])
def test_values_keep_their_type(out_dir, dtype):
    class Doubled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.arange(6).reshape(2, 3).to(getattr(torch, dtype)))

        def forward(self) -> torch.Tensor:
            return (self.weight.t() * 2).conj()

    model = Doubled()
    with recorded(out_dir, model):
        model().abs().sum().backward()
    trial = smd.create_trial(out_dir)
    weight = trial.tensor("Doubled_weight").value(0)
    assert trial.tensor("Doubled_weight").buffer(0).dtype == dtype
    assert str(weight.dtype) == ("float32" if dtype == "bfloat16" else dtype)
    assert weight.astype(complex).real.tolist() == [[0, 1, 2], [3, 4, 5]]
    output = trial.tensor("Doubled_output_0").value(0)
    assert output.astype(complex).real.tolist() == [[0, 6], [2, 8], [4, 10]]
    assert trial.tensor("gradient/Doubled_weight").buffer(0).dtype == dtype


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_tensors_stay_as_they_are(out_dir):
    # A tensor that shares its memory with numpy can no longer be resized.
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with recorded(out_dir, model):
        out = model(X)
        out.sum().backward()
        tensors = [out.detach(), model[0].weight.data, model[0].weight.grad]
        for tensor in tensors:
            tensor.storage().resize_(0)
    assert smd.create_trial(out_dir).tensor("0_output_0").value(0).shape == (2, 4)


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_truth_values(out_dir):
    class Positive(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x > 0

    model = Positive()
    with recorded(out_dir, model):
        mask = model(torch.tensor([1.0, -1.0]))
        mask.storage().resize_(0)
    value = smd.create_trial(out_dir).tensor("Positive_output_0").value(0)
    assert value.dtype == bool
    assert value.tolist() == [True, False]


def test_scalars_and_tensors_by_hand(out_dir):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        out = model(X)
        hook.save_scalar("level", out.sum())
        hook.save_scalar("rate", 0.1)
        hook.save_tensor("batch", out, "default")
    trial = smd.create_trial(out_dir)
    assert trial.tensor("scalar/level").value(0) == out.sum().item()
    assert trial.tensor("scalar/rate").value(0) == 0.1
    np.testing.assert_array_equal(trial.tensor("batch").value(0), out.detach())


# ---- places and configurations ------------------------------------------------------------------


def test_workers_of_horovod(out_dir, monkeypatch):
    # Horovod must be built on each machine; this test needs only its interface.
    horovod = types.SimpleNamespace(is_initialized=lambda: True, rank=lambda: 1, size=lambda: 2)
    monkeypatch.setitem(sys.modules, "horovod.torch", horovod)
    model = model_of_two()
    with recorded(out_dir, model, include_workers="all") as hook:
        model(X)
        assert hook.worker == "worker_1"
    monkeypatch.setattr(horovod, "rank", lambda: 0)
    with recorded(out_dir + "_one", model) as hook:
        assert hook.worker == "worker_0"


def test_the_hook_of_a_configuration(out_dir, tmp_path, monkeypatch):
    configuration = tmp_path / "debughookconfig.json"
    configuration.write_text(
        """{"LocalPath": "%s",
            "HookParameters": {"save_interval": "2", "include_regex": "relu"},
            "CollectionConfigurations": [{"CollectionName": "weights"}]}"""
        % out_dir
    )
    assert smd.get_hook() is None
    assert smd.get_hook(create_if_not_exists=True) is None
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(configuration))
    hook = smd.get_hook(create_if_not_exists=True)
    assert smd.get_hook() is hook
    assert isinstance(hook, smd.Hook)
    assert isinstance(hook.get_collection("weights"), smd.Collection)
    model = model_of_two()
    hook.register_module(model)
    for _ in range(3):
        model(X)
    hook.close()
    assert smd.create_trial(out_dir).tensor("Sequential_0.weight").steps() == [0, 2]


def test_smdebug_may_be_switched_off(monkeypatch, out_dir):
    hook = smd.Hook(out_dir)
    assert smd.get_hook() is hook
    monkeypatch.setenv("USE_SMDEBUG", "0")
    assert smd.get_hook() is None
    smd.del_hook()


def test_the_hook_begins_with_its_collections(out_dir):
    hook = smd.Hook(out_dir, save_config=EVERY_STEP)
    collections = hook.get_collections()
    assert set(collections) == {"all", "default", "weights", "biases", "gradients", "losses"}
    manager = smd.collection.CollectionManager()
    for name, collection in manager.get_collections().items():
        assert collections[name].include_regex == collection.include_regex
    assert hook.has_default_hook_configuration()


# ---- imports ---------------------------------------------------------------------------------


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout + done.stderr


def test_smdebug_alone_imports_no_pytorch():
    assert run("import smdebug, sys; print('torch' in sys.modules)") == "False\n"


@pytest.mark.parametrize("module", ["smdebug.pytorch", "smdebug.pytorch.hook"])
def test_without_pytorch_one_sentence_says_so(module):
    said = run(f"import sys; sys.modules['torch'] = None; import {module}").splitlines()
    expected = "smdebug.pytorch needs torch, which is not installed: pip install torch"
    assert said[-1] == f"ModuleNotFoundError: {expected}"
