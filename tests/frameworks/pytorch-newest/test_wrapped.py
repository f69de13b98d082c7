"""Tensors without elements of their own: nested ones, and those of functions of torch.func."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import smdebug
import smdebug.pytorch as smd
import torch
from smdebug.trials import create_trial
from torch.func import functional_call, grad, vmap

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(params=["host", "device"], autouse=True)
def path_of_tensors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "device":
        monkeypatch.setenv("SMDEBUG_TEST_DEVICE_PATH", "1")
    return request.param


@pytest.fixture
def failures(caplog: pytest.LogCaptureFixture) -> Any:
    yield
    assert not [each.getMessage() for each in caplog.records if "failed" in each.getMessage()]


def hook_of(folder: Path, **settings: Any) -> Any:
    return smd.Hook(
        out_dir=str(folder / "run"), save_config=smdebug.SaveConfig(save_interval=1), **settings
    )


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
@pytest.mark.parametrize("reductions", [None, ["mean", "max"]])
def test_nested_tensors_are_recorded(
    layout: Any, reductions: Any, tmp_path: Path, failures: None
) -> None:
    model = torch.nn.Linear(4, 2)
    settings = {} if reductions is None else {"reduction_config": smdebug.ReductionConfig(reductions)}
    hook = hook_of(tmp_path, save_all=True, **settings)
    hook.register_module(model)
    parts = [torch.randn(2, 4), torch.randn(3, 4)]
    for _ in range(2):
        model.zero_grad()
        output = model(torch.nested.nested_tensor(parts, layout=layout))
        sum(each.sum() for each in output.unbind()).backward()
    hook.close()
    tensor = create_trial(str(tmp_path / "run")).tensor("Linear_input_0")
    assert tensor.steps() == [0, 1]
    expected = torch.cat(parts).numpy()
    if reductions is None:
        assert np.array_equal(np.ravel(tensor.value(1)), expected.ravel())
    else:
        assert tensor.reduction_value(1, "max") == expected.max()
        assert tensor.reduction_value(1, "mean") == pytest.approx(expected.mean(), rel=1e-6)


@pytest.mark.parametrize("each_sample", [False, True])
def test_calls_in_functions_of_torch_func_are_recorded(
    each_sample: bool, tmp_path: Path, failures: None
) -> None:
    model = torch.nn.Linear(4, 2)
    hook = hook_of(tmp_path, save_all=True)
    hook.register_module(model)
    samples = torch.randn(3, 4)

    def loss_of(parameters: Any, sample: Any) -> Any:
        return functional_call(model, parameters, (sample,)).sum()

    function = vmap(grad(loss_of), (None, 0)) if each_sample else grad(loss_of)
    parameters = dict(model.named_parameters())
    for _ in range(4):
        gradients = function(parameters, samples)
    hook.close()
    expected = samples if each_sample else samples.sum(0).expand(2, 4)
    got = gradients["weight"][:, 0] if each_sample else gradients["weight"]
    assert torch.allclose(got, expected)
    trial = create_trial(str(tmp_path / "run"))
    assert trial.tensor("Linear_input_0").steps() == [0, 1, 2, 3]
    assert np.array_equal(trial.tensor("Linear_input_0").value(1), samples.numpy())
    assert np.array_equal(trial.tensor("Linear_weight").value(1), model.weight.detach().numpy())


class Coded(torch.Tensor):
    """Keeps its elements as bytes and a scale, as quantized tensors of other packages do."""

    @staticmethod
    def __new__(cls, codes: torch.Tensor, scale: float) -> Coded:
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32)

    def __init__(self, codes: torch.Tensor, scale: float) -> None:
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self) -> Any:
        return ["codes"], self.scale

    def dequantize(self) -> torch.Tensor:
        return self.codes.float() * self.scale

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten.detach.default:
            return cls(args[0].codes, args[0].scale)
        plain = [each.dequantize() if isinstance(each, cls) else each for each in args]
        return function(*plain, **(kwargs or {}))


def test_quantized_weights_are_recorded(tmp_path: Path, failures: None) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 1))
    codes = torch.randint(-128, 127, (4, 4), dtype=torch.int8)
    model[0].weight = torch.nn.Parameter(Coded(codes, 0.01), requires_grad=False)
    hook = hook_of(tmp_path, save_all=True)
    hook.register_module(model)
    for _ in range(2):
        model.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
    hook.close()
    weight = create_trial(str(tmp_path / "run")).tensor("Sequential_0.weight")
    assert np.array_equal(weight.value(1), (codes.float() * 0.01).numpy())


class CodedState(torch.optim.SGD):
    def step(self, closure: Any = None) -> None:
        super().step(closure)
        for parameter in self.param_groups[0]["params"]:
            self.state[parameter]["codes"] = Coded(torch.full_like(parameter, 3).to(torch.int8), 0.5)


def test_quantized_states_are_recorded(tmp_path: Path, failures: None) -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = CodedState(model.parameters(), 0.1)
    hook = hook_of(tmp_path, include_collections=["optimizer_state"])
    hook.register_module(model)
    hook.register_optimizer(optimizer)
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    hook.close()
    state = create_trial(str(tmp_path / "run")).tensor("optimizer_state/Linear_weight/codes")
    assert np.array_equal(state.value(0), np.full((4, 4), 1.5))
