"""Losses that are recorded after their backward pass, or as numbers: as most scripts do."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any, Callable, Dict, List

import pytest
import smdebug.pytorch as smd
import torch
import torch.nn.functional as F
from test_loss_graphs import CROSS_ENTROPY, batch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from smdebug.pytorch import emptiness
from smdebug.pytorch.losses import graphs
from smdebug.rules import RuleSet

ORIGINAL = torch.autograd.backward
EVERY = smd.SaveConfig(save_interval=1)

# Computes a loss, runs its backward pass, and records it.
Step = Callable[[Any, Tensor, Tensor], None]


def run(out_dir: str, step: Step, steps: int = 2, **settings: Any) -> Any:
    """Runs steps of a training, and returns its trial."""
    torch.manual_seed(0)
    model = nn.Linear(8, 3)
    settings = {"include_regex": [".*"], "save_config": EVERY, **settings}
    with smd.Hook(out_dir, raise_errors=True, **settings) as hook:
        hook.register_module(model)
        for _ in range(steps):
            x, y = batch()
            step(hook, model(x), y)
    assert torch.autograd.backward is ORIGINAL
    return smd.create_trial(out_dir)


def inputs_in(trial: Any) -> Dict[str, List[int]]:
    names = [each for each in trial.tensor_names() if "_input_" in each and "/" in each]
    return {each: trial.tensor(each).steps() for each in sorted(names)}


def number(hook: Any, loss: Tensor) -> None:
    loss.backward()
    hook.record_tensor_value("loss", loss.item())


def detached(hook: Any, loss: Tensor) -> None:
    loss.backward()
    hook.record_tensor_value("loss", loss.detach())


def with_graph(hook: Any, loss: Tensor) -> None:
    loss.backward()
    hook.record_tensor_value("loss", loss)


def number_first(hook: Any, loss: Tensor) -> None:
    hook.record_tensor_value("loss", loss.item())
    loss.backward()


def by_keyword(hook: Any, loss: Tensor) -> None:
    torch.autograd.backward(tensors=[loss])
    hook.record_tensor_value("loss", loss.item())


def scaled(hook: Any, loss: Tensor) -> None:
    (loss / 3 * torch.tensor(65536.0)).backward()
    hook.record_tensor_value("loss", loss.item())


def divided(hook: Any, loss: Tensor) -> None:
    (loss * 4).backward()
    hook.record_tensor_value("loss", loss)


@pytest.mark.parametrize(
    "record", [number, detached, with_graph, number_first, by_keyword, scaled, divided]
)
def test_inputs_are_those_of_the_loss(record: Callable[[Any, Tensor], None], out_dir: str) -> None:
    targets: List[Tensor] = []

    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        targets.append(y)
        record(hook, F.cross_entropy(scores, y))

    trial = run(out_dir, step, steps=3)
    later = [1, 2] if record is not number_first else [0, 1, 2]
    assert inputs_in(trial) == {f"{CROSS_ENTROPY}{each}": later for each in (0, 1)}
    for each in later:
        assert trial.tensor(f"{CROSS_ENTROPY}1").value(each).tolist() == targets[each].tolist()


def test_a_scalar(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores, y)
        loss.backward()
        hook.save_scalar("train_loss", loss.item())

    assert list(inputs_in(run(out_dir, step))) == [
        f"scalar/train_loss/CrossEntropyLoss_input_{each}" for each in (0, 1)
    ]


def test_parts_of_a_sum(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        first = F.cross_entropy(scores, y)
        loss = first + F.mse_loss(scores[:, 0], y.float())
        loss.backward()
        hook.record_tensor_value("loss", loss.item())

    names = [f"loss/term/{each}Loss_input_{n}" for each in ("CrossEntropy", "MSE") for n in (0, 1)]
    assert list(inputs_in(run(out_dir, step))) == names


def test_a_part_that_is_recorded_alone(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        first = F.cross_entropy(scores, y)
        (first + F.mse_loss(scores[:, 0], y.float())).backward()
        hook.record_tensor_value("loss", first)

    assert list(inputs_in(run(out_dir, step))) == [f"{CROSS_ENTROPY}{n}" for n in (0, 1)]


@pytest.mark.parametrize("record", [number, with_graph, number_first])
def test_a_loss_with_two_names_has_its_inputs_once(
    record: Callable[[Any, Tensor], None], out_dir: str, caplog: pytest.LogCaptureFixture
) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores, y)
        record(hook, loss)
        hook.record_tensor_value("also", loss)

    found = inputs_in(run(out_dir, step, steps=12))
    assert list(found) == [f"{CROSS_ENTROPY}{n}" for n in (0, 1)]
    assert "graph was freed" not in caplog.text


def test_evaluations_under_the_same_name(out_dir: str) -> None:
    """They have no pass, so that the loss is not sought there in vain."""
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, include_regex=[".*"], save_config=EVERY, raise_errors=True) as hook:
        hook.register_module(model)
        for _ in range(2):
            for _ in range(3):
                x, y = batch()
                number(hook, F.cross_entropy(model(x), y))
            model.eval()
            with torch.no_grad():
                for _ in range(20):
                    x, y = batch()
                    hook.record_tensor_value("loss", F.cross_entropy(model(x), y).item())
            model.train()
    targets = smd.create_trial(out_dir).tensor(f"{CROSS_ENTROPY}1")
    assert targets.steps(smd.modes.TRAIN) == [1, 2, 3, 4, 5]
    assert targets.steps(smd.modes.EVAL) == []


def test_a_number_before_its_pass_beside_others(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        hook.record_tensor_value("accuracy", 0.5)
        loss = F.cross_entropy(scores, y)
        hook.record_tensor_value("loss", loss.item())
        loss.backward()

    steps = list(range(20))
    assert inputs_in(run(out_dir, step, steps=20)) == {f"{CROSS_ENTROPY}{n}": steps for n in (0, 1)}


def test_each_pass_has_its_own(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        real = F.binary_cross_entropy_with_logits(scores[:, 0], torch.ones(32))
        fake = F.binary_cross_entropy_with_logits(scores[:, 1], torch.zeros(32))
        real.backward(retain_graph=True)
        fake.backward()
        hook.record_tensor_value("fake_loss", fake.item())
        hook.record_tensor_value("real_loss", real.item())

    trial = run(out_dir, step)
    for name, target in (("fake_loss", 0.0), ("real_loss", 1.0)):
        targets = trial.tensor(f"{name}/BCEWithLogitsLoss_input_1").value(1)
        assert targets.tolist() == [target] * 32


def test_of_many_passes_the_last_is_known(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        for _ in range(9):
            loss = F.cross_entropy(scores * torch.rand(()), y)
            (loss / 9).backward(retain_graph=True)
        hook.record_tensor_value("loss", loss.item())

    assert list(inputs_in(run(out_dir, step))) == [f"{CROSS_ENTROPY}{n}" for n in (0, 1)]


@pytest.mark.parametrize("other", [0.0, 0.5, float("nan"), True])
def test_other_numbers_are_no_losses(other: Any, out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        F.cross_entropy(scores, y).backward()
        hook.record_tensor_value("accuracy", other)

    assert not inputs_in(run(out_dir, step, steps=20))


def test_a_loss_that_is_not_a_number(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores * float("nan"), y)
        loss.backward()
        hook.record_tensor_value("loss", loss.item())

    assert not inputs_in(run(out_dir, step))


def test_what_was_changed_since_is_left_out(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores, y)
        loss.backward()
        y.zero_()
        hook.record_tensor_value("loss", loss.item())

    assert not inputs_in(run(out_dir, step))


def test_nothing_is_wrapped_for_a_loss_that_is_recorded_before(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores, y)
        hook.record_tensor_value("loss", loss)
        assert torch.autograd.backward is ORIGINAL
        loss.backward()

    assert inputs_in(run(out_dir, step)) == {f"{CROSS_ENTROPY}{n}": [0, 1] for n in (0, 1)}


def test_nothing_is_wrapped_where_nothing_wants_it(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        number(hook, F.cross_entropy(scores, y))
        assert torch.autograd.backward is ORIGINAL

    assert not inputs_in(run(out_dir, step, include_regex=None))


def test_a_number_beside_a_registered_loss_has_no_inputs_of_its_own(out_dir: str) -> None:
    model, loss_module = nn.Linear(8, 3), nn.CrossEntropyLoss()
    with smd.Hook(out_dir, include_regex=[".*"], save_config=EVERY, raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_loss(loss_module)
        for _ in range(3):
            x, y = batch()
            number(hook, loss_module(model(x), y))
    names = [each for each in smd.create_trial(out_dir).tensor_names() if "_input_" in each]
    assert names == ["CrossEntropyLoss_input_0", "CrossEntropyLoss_input_1", "Linear_input_0"]


def test_no_pass_is_read_when_losses_are_never_recorded(out_dir: str) -> None:
    wrapped: List[bool] = []

    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        F.cross_entropy(scores, y).backward()
        hook.record_tensor_value("mean_loss", 7.5)
        wrapped.append(torch.autograd.backward is not ORIGINAL)

    run(out_dir, step, steps=1030, include_regex=["_input_1$"])
    assert wrapped[1] and not wrapped[-1]


def test_what_others_wrapped_stays(out_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[int] = []

    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        number(hook, F.cross_entropy(scores, y))
        if not calls:
            inner = torch.autograd.backward

            def outer(*args: Any, **kwargs: Any) -> None:
                calls.append(1)
                inner(*args, **kwargs)

            monkeypatch.setattr(torch.autograd, "backward", outer)

    with pytest.raises(AssertionError):  # that the original is back
        run(out_dir, step, steps=3)
    before = len(calls)
    F.mse_loss(torch.ones(2, requires_grad=True), torch.zeros(2)).backward()
    assert len(calls) == before + 1


def test_a_failure_stays_in_the_hook(out_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(roots: Any) -> None:
        raise OSError("a failure")

    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, include_regex=[".*"], save_config=EVERY, raise_errors=False) as hook:
        hook.register_module(model)
        monkeypatch.setattr(hook._loss_graphs, "on_backward", failing)
        for _ in range(3):
            x, y = batch()
            model.zero_grad()
            number(hook, F.cross_entropy(model(x), y))
            assert model.weight.grad is not None
    assert hook.failures == 2


def test_failures_in_a_loss_and_at_the_end_stay_in_the_hook(
    out_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise OSError("a failure")

    monkeypatch.setattr(graphs, "are_of_parts", failing)
    monkeypatch.setattr(emptiness, "_warnings", failing)
    model, loss = nn.Linear(8, 3), nn.CrossEntropyLoss()
    hook = smd.Hook(out_dir, save_config=EVERY, raise_errors=False)
    hook.register_module(model)
    hook.register_loss(loss)
    for _ in range(3):
        x, y = batch()
        loss(model(x), y).backward()
    assert hook.failures == 1
    hook.close()
    assert hook.failures == 2
    assert smd.create_trial(out_dir).tensor("CrossEntropyLoss_output_0").steps() == [0, 1, 2]


def test_scores_are_let_go_with_their_step(out_dir: str) -> None:
    kept: List[Any] = []

    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        if len(kept) == 2:
            gc.collect()
            assert kept[0]() is None
        scores = scores * 2
        kept.append(weakref.ref(scores.untyped_storage() if hasattr(scores, "untyped_storage") else scores))
        F.cross_entropy(scores, y).backward()
        hook.record_tensor_value("mean_loss", 7.5)

    run(out_dir, step, steps=3)


def test_other_threads_have_other_losses(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = F.cross_entropy(scores, y)
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()
        hook.record_tensor_value("loss", loss.item())

    assert not inputs_in(run(out_dir, step))


def test_a_checkpoint_runs_passes_of_its_own(out_dir: str) -> None:
    def step(hook: Any, scores: Tensor, y: Tensor) -> None:
        loss = checkpoint(lambda s: F.cross_entropy(s, y) * 3, scores, use_reentrant=True)
        loss.backward()
        hook.record_tensor_value("loss", loss.item())

    assert not inputs_in(run(out_dir, step))


@pytest.mark.parametrize("record", [number, with_graph])
def test_two_hooks_in_one_thread(record: Callable[[Any, Tensor], None], out_dir: str) -> None:
    """Each knows the losses that it records."""
    models = [nn.Linear(8, 3), nn.Linear(8, 3)]
    hooks = [
        smd.Hook(f"{out_dir}/{n}", include_regex=[".*"], save_config=EVERY, raise_errors=True)
        for n in (0, 1)
    ]
    for hook, model in zip(hooks, models):
        hook.register_module(model)
    targets: List[List[Tensor]] = [[], []]
    for _ in range(3):
        for n, (hook, model) in enumerate(zip(hooks, models)):
            x, y = batch()
            targets[n].append(y)
            record(hook, F.cross_entropy(model(x), y))
    for n, hook in enumerate(hooks):
        hook.close()
        found = smd.create_trial(f"{out_dir}/{n}").tensor(f"{CROSS_ENTROPY}1")
        assert found.value(2).tolist() == targets[n][2].tolist()
    assert torch.autograd.backward is ORIGINAL


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    ("compute", "check"),
    [
        (lambda s, y: F.cross_entropy(s.softmax(1), y), "probabilities"),
        (lambda s, y: F.mse_loss(s[:, :1], y.float()), "broadcast"),
        (F.cross_entropy, None),
    ],
)
def test_rules_see_them(compute: Callable[[Tensor, Tensor], Tensor], check: Any, out_dir: str) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with smd.Hook(out_dir, raise_errors=True) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet().add_all())
        for _ in range(100):
            x, y = batch()
            optimizer.zero_grad()
            loss = compute(model(x), y)
            loss.backward()
            optimizer.step()
            hook.record_tensor_value("loss", loss.item())
        hook.end_step()
        found = hook.take_findings()
    told = {each.check for each in found if each.level.name == "FINDING"}
    assert told == ({check} if check else set())


def test_what_no_rule_wants_is_not_read(out_dir: str) -> None:
    """A rule that wants it is attached later."""
    model = nn.Linear(8, 3)
    with smd.Hook(out_dir, include_collections=[], raise_errors=True) as hook:
        hook.attach(RuleSet().add("LossSpike").add("GradNormSpike"))
        hook.register_module(model)
        for is_wanted in (False, True):
            if is_wanted:
                hook.end_step()
                hook.attach(RuleSet("calibrated").add("LossInput"))
            for _ in range(2):
                x, y = batch()
                number(hook, F.cross_entropy(model(x), y))
            assert (torch.autograd.backward is ORIGINAL) == (not is_wanted)
    assert torch.autograd.backward is ORIGINAL
