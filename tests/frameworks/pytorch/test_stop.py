"""Rules that stop a training of PyTorch."""

import pytest
import torch

import smdebug.pytorch as smd
from smdebug import SaveConfig
from smdebug.core import framework_hook
from smdebug.exceptions import TrainingStopped
from smdebug.rules import RuleSet


def train(model: torch.nn.Module, steps: int) -> int:
    """Counts the steps that were begun."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        try:
            loss = model(torch.ones(4, 3)).square().mean()
        except TrainingStopped:
            return step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return steps


def test_a_finding_stops_the_training_before_the_next_step(out_dir: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="stop"))
    assert train(model, 5) == 1
    assert hook.stop_finding is not None and hook.stop_finding.step == 0
    assert hook.stop_finding.tensor.startswith("gradient/Sequential_")
    assert train(model, 3) == 3
    hook.close()


def test_a_finding_that_repeats_is_logged_now_and_then(out_dir: str, caplog) -> None:
    model = torch.nn.Linear(3, 1)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="warn"))
    assert train(model, 25) == 25
    hook.close()
    assert len(hook.take_findings()) == 25
    logged = [each.getMessage() for each in caplog.records if "VanishingGradient" in each.getMessage()]
    assert len(logged) == 2 and logged[1].startswith("for the 10th time: ")


def test_the_newest_findings_are_kept(out_dir: str, monkeypatch) -> None:
    monkeypatch.setattr(framework_hook, "_MOST_HEARD", 10)
    model = torch.nn.Linear(3, 1)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="warn"))
    assert train(model, 25) == 25
    hook.close()
    assert [each.step for each in hook.take_findings()] == list(range(15, 25))
    assert hook.take_findings() == []


def test_rules_know_rectified_units_that_have_no_name(out_dir: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    torch.nn.init.constant_(model[0].bias, -1e6)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("DeadRelu", action="stop"))
    assert train(model, 5) == 1
    hook.close()
    assert hook.stop_finding is not None and hook.stop_finding.tensor == "1_output_0"
    # Tensors that rules evaluate are not saved because of that.
    assert "1_output_0" not in smd.create_trial(out_dir).tensor_names()


def test_a_healthy_training_goes_on(out_dir: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("VanishingGradient", action="stop"))
    assert train(model, 5) == 5
    hook.close()
    assert hook.take_findings() == [] and hook.failures == 0


def test_who_does_not_catch_it_gets_a_sentence(out_dir: str) -> None:
    model = torch.nn.Linear(3, 1)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    hook.attach(RuleSet("aws").add("VanishingGradient", {"threshold": 1e9}, action="stop"))
    model(torch.ones(1, 3)).sum().backward()
    with pytest.raises(TrainingStopped, match="the training is to stop: VanishingGradient at"):
        model(torch.ones(1, 3))
    hook.close()


def test_rules_look_at_the_steps_that_their_config_saves(out_dir: str) -> None:
    model = torch.nn.Linear(3, 1)
    hook = smd.Hook(out_dir)
    hook.register_module(model)
    rule_set = RuleSet("aws", SaveConfig(save_interval=3))
    hook.attach(rule_set.add("VanishingGradient", {"threshold": 1e9}))
    assert train(model, 8) == 8
    hook.close()
    assert sorted({each.mode_step for each in hook.take_findings()}) == [0, 3, 6]
