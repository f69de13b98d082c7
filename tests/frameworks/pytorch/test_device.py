"""What the PyTorch hook records of tensors on a device, against what it records of the host's.

SMDEBUG_TEST_DEVICE_PATH makes the hook treat tensors of the CPU as those of a device.
"""

from __future__ import annotations

import math
import os
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List

import numpy as np
import pytest
import smdebug.pytorch as smd
import torch
from helpers import EVERY_STEP, recorded
from smdebug.integrations import recording
from smdebug.pytorch import device_batch, host_copies, late_tensors
from smdebug.rules import RuleSet
from torch import nn

ALL_OF_IT = [
    "weights", "biases", "gradients", "updates", "optimizer_state", "learning_rate",
]  # fmt: skip
KINDS = ["min", "max", "mean", "std", "variance", "sum", "prod", "median"]
FIGURES = smd.ReductionConfig(KINDS, KINDS, ["l1", "l2"], ["l1", "l2"])
NUMBERS = [(kind, is_absolute) for kind in (*KINDS, "l1", "l2") for is_absolute in (False, True)]
EXACT = {"min", "max", "median"}

Training = Callable[[str], None]


@contextmanager
def on_a_device(is_forced: bool = True) -> Iterator[None]:
    if is_forced:
        os.environ["SMDEBUG_TEST_DEVICE_PATH"] = "1"
    try:
        yield
    finally:
        os.environ.pop("SMDEBUG_TEST_DEVICE_PATH", None)


@pytest.fixture
def device() -> Iterator[None]:
    with on_a_device():
        yield


def assert_alike(expected: smd.Trial, found: smd.Trial, figures: bool) -> None:
    """Compares two trials: the names, the steps, the values or figures of all tensors."""
    assert sorted(found.tensor_names()) == sorted(expected.tensor_names())
    assert expected.tensor_names()
    for name in expected.tensor_names():
        ours, theirs = found.tensor(name), expected.tensor(name)
        for mode in (smd.modes.TRAIN, smd.modes.EVAL):
            assert ours.steps(mode) == theirs.steps(mode), name
            for step in theirs.steps(mode):
                if figures and name.partition("/")[0] not in ("scalar", "learning_rate"):
                    assert_same_figures(theirs, ours, step, mode)
                if not figures or "oss" in name:
                    np.testing.assert_array_equal(
                        ours.value(step, mode), theirs.value(step, mode), f"{name} at {step}"
                    )
    for collection, content in expected.collections().items():
        if collection == "reset_gradients":
            continue  # To read zeros on a device, the hook would have to wait.
        assert found.collection(collection).tensor_names == content.tensor_names, collection


def assert_same_figures(theirs: Any, ours: Any, step: int, mode: Any) -> None:
    magnitude = np.ravel(theirs.reduction_value(step, "l1", mode=mode))[0]
    for kind, is_absolute in NUMBERS:
        expected = theirs.reduction_value(step, kind, mode=mode, abs=is_absolute)
        found = ours.reduction_value(step, kind, mode=mode, abs=is_absolute)
        about = f"{kind} of {ours.name} at {step}"
        assert found.dtype == expected.dtype, about
        if kind in EXACT:
            np.testing.assert_array_equal(found, expected, about)
        else:
            # Sums of both signs may be near 0.
            most = 1e-6 * magnitude if np.isfinite(magnitude) else 0.0
            np.testing.assert_allclose(found, expected, 1e-5, most, err_msg=about)


def model_of_two() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.Linear(40, 20))


def batches(count: int) -> List[torch.Tensor]:
    torch.manual_seed(4)
    return [torch.randn(5, 30) for _ in range(count)]


def hook_for(out_dir: str, **settings: Any) -> smd.Hook:
    settings.setdefault("include_collections", ALL_OF_IT)
    return smd.Hook(out_dir, save_config=EVERY_STEP, **settings)


# ---- trainings, which are recorded by both paths ---------------------------------------------


def optimized(make: Callable[[Any], Any], closure: bool = False) -> Callable[..., None]:
    def train(out_dir: str, **settings: Any) -> None:
        model = model_of_two()
        optimizer = make(model.parameters())
        with hook_for(out_dir, **settings) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            for x in batches(4):

                def evaluate(x: torch.Tensor = x) -> torch.Tensor:
                    optimizer.zero_grad()
                    loss = model(x).square().mean()
                    hook.record_tensor_value("loss", loss)
                    loss.backward()
                    return loss

                if closure:
                    optimizer.step(evaluate)
                else:
                    evaluate()
                    optimizer.step()

    return train


sgd = optimized(lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9))
adam = optimized(lambda parameters: torch.optim.Adam(parameters, 0.1))
closure = optimized(lambda parameters: torch.optim.SGD(parameters, 0.1), closure=True)


def two_optimizers(out_dir: str, **settings: Any) -> None:
    model = model_of_two()
    pair = [torch.optim.SGD(model[i].parameters(), 0.1) for i in (0, 2)]
    with hook_for(out_dir, **settings) as hook:
        hook.register_module(model)
        hook.register_optimizer(*pair)
        for x in batches(4):
            model.zero_grad()
            model(x).square().mean().backward()
            for optimizer in pair:
                optimizer.step()


def without_optimizer(out_dir: str, **settings: Any) -> None:
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    settings["include_collections"] = ["weights", "biases", "gradients"]
    with hook_for(out_dir, **settings) as hook:
        hook.register_module(model)
        for number, x in enumerate(batches(4)):
            optimizer.zero_grad(set_to_none=number % 2 == 0)
            loss = model(x).square().mean()
            loss.backward(retain_graph=True)
            loss.sqrt().backward()
            optimizer.step()


def evaluated(out_dir: str, **settings: Any) -> None:
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with hook_for(out_dir, **settings) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(3):
            model.train()
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                hook.record_tensor_value("test_loss", model(x).mean())


class Changing(nn.Module):
    """Changes outputs of its modules in place, in the module after and by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.relu = nn.Linear(30, 40), nn.ReLU(inplace=True)
        self.second, self.last = nn.Linear(40, 40), nn.Linear(40, 20)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.second(self.relu(self.first(x)))
        y += 1
        return {"loss": self.last(y).square().mean(), "rest": (y, self.last(y))}


def activations(out_dir: str, **settings: Any) -> None:
    torch.manual_seed(3)
    model = Changing()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    settings.pop("include_collections", None)
    with hook_for(out_dir, save_all=True, **settings) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(4):
            optimizer.zero_grad()
            loss = model(x)["loss"]
            loss.backward()
            loss.detach().mul_(0)
            optimizer.step()
            hook.end_step()
            with torch.no_grad():
                model(x)


def of_many_types(out_dir: str, **settings: Any) -> None:
    with hook_for(out_dir, include_regex=["."], **settings) as hook:
        hook.set_mode(smd.modes.TRAIN)
        for step in range(2):
            hook.begin_step()
            for name, tensor in special_tensors(step).items():
                hook._save(name, tensor)
            if "reduction_config" not in settings:
                hook._save("complex", torch.randn(100, dtype=torch.complex64))
            hook.end_step()


def special_tensors(seed: int) -> Any:
    torch.manual_seed(seed)
    numbers = torch.randn(3000)
    tensors = {
        "scalar": torch.tensor(2.5),
        "of_one_row": torch.randn(1024),
        "of_rows_and_one": torch.randn(4097),
        "transposed": torch.randn(70, 90).t(),
        "strided": torch.randn(50, 60)[:, ::2],
        "expanded": torch.randn(1, 90).expand(70, 90),
        "equal": torch.full((3000,), -0.1),
        "zeros": torch.zeros(100),
        "int64": torch.randint(-(2**62), 2**62, (100,)),
        "bool": numbers > 0,
        "far_from_zero": 1000 + 1e-3 * torch.randn(200_000, dtype=torch.float64),
        "huge": torch.randn(99, dtype=torch.float64) * 1e200,
    }
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for name, place, value in (("nan", 5, math.nan), ("inf", 6, -math.inf), ("none", 7, 0.5)):
            some = numbers.to(dtype)
            some[place] = value
            tensors[f"{dtype}_with_{name}"] = some
        tensors[f"tiny_{dtype}"] = (numbers * 1e-39).to(dtype)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
        tensors[str(dtype)] = (numbers * 20).abs().to(dtype)
    return tensors


TRAININGS = [
    sgd, adam, closure, two_optimizers, without_optimizer, evaluated, activations, of_many_types,
]  # fmt: skip
NAMES = [
    "sgd", "adam", "closure", "two_optimizers", "without_optimizer", "evaluated", "activations",
    "of_many_types",
]  # fmt: skip


@pytest.mark.parametrize("form", ["figures", "values", "sync", "rules"])
@pytest.mark.parametrize("training", TRAININGS, ids=NAMES)
def test_a_device_records_what_the_host_records(tmp_path, training, form):
    host, there = str(tmp_path / "host"), str(tmp_path / "device")
    settings: Any = {} if form == "values" else {"reduction_config": FIGURES}
    training(host, **settings)
    if form == "sync":
        settings["sync"] = True
    with on_a_device():
        training(there, **settings)
    assert_alike(smd.create_trial(host), smd.create_trial(there), form != "values")


# ---- when results come ------------------------------------------------------------------------


def broken_at(number: int, out_dir: str, **settings: Any) -> List[int]:
    """Trains with a NaN in a weight from a step on.  Returns the steps after which it was found."""
    model = nn.Linear(30, 20)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    found = []
    with hook_for(out_dir, **settings) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet("aws").add("FirstNonFinite", action="stop"))
        hook._stops_gracefully = True
        for step, x in enumerate(batches(4)):
            if step == number:
                model.weight.data[0, 0] = math.nan
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            hook.end_step()
            if hook.stop_finding is not None:
                assert hook.stop_finding.step == number
                found.append(step)
    return found


def test_rules_act_one_step_late(tmp_path):
    assert broken_at(1, str(tmp_path / "host")) == [1, 2, 3]
    with on_a_device():
        assert broken_at(1, str(tmp_path / "device")) == [2, 3]
        assert broken_at(1, str(tmp_path / "sync"), sync=True) == [1, 2, 3]


def test_integrations_pass_sync_on(out_dir, device):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with recording(
        out_dir, model, optimizer, include_collections=["gradients"], save_config=EVERY_STEP,
        sync=True,
    ) as hook:  # fmt: skip
        model(batches(1)[0]).square().mean().backward()
        optimizer.step()
        assert hook._late._launched
        hook.end_step()
        assert not hook._late._launched


def test_rules_find_the_same(tmp_path):
    rules = ["VanishingGradient", "ExplodingTensor", "WeightUpdateRatio",
             "UpdateNotApplied", "DeadRelu", "LossNotDecreasing"]  # fmt: skip

    def findings(out_dir: str) -> List[Any]:
        torch.manual_seed(5)
        model = nn.Sequential(nn.Linear(30, 400), nn.ReLU(), nn.Linear(400, 20))
        nn.init.constant_(model[0].bias, -1e6)
        # The optimizer has only one of the layers.
        optimizer = torch.optim.SGD(model[2].parameters(), 0.1)
        rule_set = RuleSet("aws")
        for rule in rules:
            rule_set.add(rule)
        with hook_for(out_dir) as hook:
            hook.register_module(model)
            hook.register_optimizer(optimizer)
            hook.attach(rule_set)
            for x in batches(30):
                optimizer.zero_grad()
                loss = model(x).square().mean()
                hook.record_tensor_value("loss", loss)
                loss.backward()
                optimizer.step()
        return [(each.rule, each.step, each.tensor) for each in hook.take_findings()]

    host = findings(str(tmp_path / "host"))
    assert host
    with on_a_device():
        assert findings(str(tmp_path / "device")) == host


def test_results_are_at_most_four_steps_behind(out_dir, device, monkeypatch):
    behind = []
    monkeypatch.setattr(host_copies._CopyOnDemand, "is_done", lambda self, is_past: False)
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with hook_for(out_dir, reduction_config=FIGURES) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(12):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            hook.end_step()
            behind.append(len({each.step for each in hook._late._launched}))
        hook.flush()
        assert not hook._late._launched
    assert max(behind) == behind[-1] == 4
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradient/Sequential_0.weight").steps() == list(range(12))


WAITING = ["item", "cpu", "tolist", "numpy", "__bool__", "__float__", "__int__", "__array__"]


def test_nothing_waits_for_the_device(out_dir, device, monkeypatch):
    collecting: List[str] = []
    waited: List[str] = []
    take = host_copies._CopyOnDemand.take

    def watched_take(self: Any) -> Any:
        collecting.append("")
        try:
            return take(self)
        finally:
            collecting.pop()

    def watched(name: str, method: Any) -> Any:
        def call(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            caller = traceback.extract_stack()[-2]
            if not collecting and "smdebug/pytorch/" in caller.filename:
                waited.append(f"{name} at {caller}")
            return method(self, *args, **kwargs)

        return call

    monkeypatch.setattr(host_copies._CopyOnDemand, "take", watched_take)
    for name in WAITING:
        monkeypatch.setattr(torch.Tensor, name, watched(name, getattr(torch.Tensor, name)))
    torch.tensor(1.0).item()
    assert waited == []
    adam(out_dir, reduction_config=FIGURES)
    without_optimizer(out_dir + "_2", reduction_config=FIGURES)
    activations(out_dir + "_3", reduction_config=FIGURES)
    assert waited == []


def test_nothing_is_reduced_one_by_one_in_a_backward_pass(out_dir, device, monkeypatch):
    launched: List[int] = []
    launch = device_batch.DeviceBatch.__init__

    def counting(self: Any, wanted: Any, on: Any) -> None:
        launched.append(len(wanted))
        launch(self, wanted, on)

    monkeypatch.setattr(device_batch.DeviceBatch, "__init__", counting)
    model = model_of_two()
    with recorded(out_dir, model, save_all=False, include_collections=["gradients"]) as hook:
        for x in batches(3):
            model(x).square().mean().backward()
            hook.end_step()
            model.zero_grad()
    assert launched == [4, 4, 4]


def test_held_memory_is_bounded(out_dir, device, monkeypatch):
    monkeypatch.setattr(late_tensors, "_MOST_HELD", 3000)
    without_optimizer(out_dir, reduction_config=FIGURES)
    assert smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight").steps() == [0, 1, 2, 3]


# ---- what may go wrong -------------------------------------------------------------------------


def test_close_in_the_middle_of_a_step(out_dir, device):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        model(batches(1)[0]).square().mean().backward()
        assert hook._late._launched
    trial = smd.create_trial(out_dir)
    assert trial.tensor("gradient/Sequential_0.weight").steps() == [0]
    assert trial.tensor("0_output_0").steps() == [0]
    assert not hook._late._launched


def test_an_exception_in_the_training(tmp_path):
    def train(out_dir: str) -> None:
        model = model_of_two()
        with pytest.raises(ZeroDivisionError), recorded(out_dir, model):
            for number, x in enumerate(batches(3)):
                loss = model(x).square().mean()
                loss.backward()
                model.zero_grad()
                1 / (1 - number)

    train(str(tmp_path / "host"))
    with on_a_device():
        train(str(tmp_path / "device"))
    assert_alike(
        smd.create_trial(str(tmp_path / "host")), smd.create_trial(str(tmp_path / "device")), False
    )


def test_a_failure_on_the_device_costs_its_tensors_only(out_dir, device, monkeypatch):
    steps: List[int] = []
    launch = device_batch.DeviceBatch.__init__

    def failing(self: Any, wanted: Any, on: Any) -> None:
        steps.append(len(steps))
        if len(steps) == 3:
            raise RuntimeError("CUDA out of memory")
        launch(self, wanted, on)

    monkeypatch.setattr(device_batch.DeviceBatch, "__init__", failing)
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with hook_for(out_dir, include_collections=["gradients"], raise_errors=False) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(5):
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert hook.failures == 1
    gradient = smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight")
    assert len(gradient.steps()) == 4


def test_results_that_cannot_be_taken(out_dir, device, monkeypatch):
    def fail(self: Any) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    model = model_of_two()
    with recorded(out_dir, model, raise_errors=False) as hook:
        model(batches(1)[0]).square().mean().backward()
        hook.end_step()
        monkeypatch.setattr(host_copies._CopyOnDemand, "take", fail)
        model(batches(1)[0])
        hook.end_step()
        assert hook.failures > 0
        monkeypatch.undo()
        model(batches(1)[0]).square().mean().backward()
    assert smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight").steps() == [2]


def test_a_tensor_that_begins_to_be_changed_in_place(out_dir, device):
    class Sometimes(nn.Module):
        changes = False

        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(30, 40)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            if self.changes:
                y.mul_(2)
            return y.square().mean()

    model = Sometimes()
    expected = []
    with recorded(out_dir, model, raise_errors=False) as hook:
        for number, x in enumerate(batches(5)):
            model.changes = number > 1
            expected.append(model.inner(x).detach())
            model(x).backward()
            hook.end_step()
        assert hook.failures == 1
    output = smd.create_trial(out_dir).tensor("inner_output_0")
    # Changed without notice, it is not recorded; from then on it is reduced before.
    assert set(output.steps()) >= {0, 1, 3, 4} and 2 not in output.steps()
    np.testing.assert_array_equal(output.value(4), expected[4].numpy())


def test_a_forked_process_leaves_the_results_to_its_parent(out_dir, device):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        model(batches(1)[0]).square().mean().backward()
        child = os.fork()
        if child == 0:
            hook.raise_errors = False
            try:
                # PyTorch itself may not run models in a forked process.
                hook._save("Sequential_0.weight", torch.zeros(3))
                hook._late.collect()
                hook.end_step()
                hook.close()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        hook.end_step()
    trial = smd.create_trial(out_dir)
    assert trial.steps() == [0]
    assert trial.tensor("gradient/Sequential_0.weight").steps() == [0]


def test_a_discarded_step_is_forgotten(out_dir, device):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        model(batches(1)[0]).square().mean().backward()
        hook.discard_step()
        assert not hook._late._launched
        model(batches(1)[0]).square().mean().backward()
    assert smd.create_trial(out_dir).tensor("gradient/Sequential_0.weight").steps() == [1]


def test_threads_that_run_parts_of_a_model(out_dir, device):
    model = nn.ModuleList(nn.Linear(30, 40) for _ in range(8))
    x = batches(1)[0]
    with recorded(out_dir, model) as hook, ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            hook._begin_batch(model)
            list(threads.map(lambda each: each(x).square().mean().backward(), model))
            hook.end_step()
    trial = smd.create_trial(out_dir)
    for number in range(8):
        assert trial.tensor(f"{number}_output_0").steps() == [0, 1, 2, 3, 4]
        assert trial.tensor(f"gradient/ModuleList_{number}.weight").steps() == [0, 1, 2, 3, 4]


def test_a_hook_without_its_setting_takes_the_tensors_of_the_host_at_once(out_dir):
    model = model_of_two()
    with recorded(out_dir, model) as hook:
        model(batches(1)[0])
        assert not hook._late._launched and not hook._late._waiting
