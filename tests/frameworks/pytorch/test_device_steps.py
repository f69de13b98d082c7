"""When the results of a device are taken."""

from __future__ import annotations

import itertools
import math
from typing import Any, List

import pytest
import torch
from smdebug.exceptions import TrainingStopped
from smdebug.pytorch import late_tensors
from smdebug.rules import RuleSet
from test_device import batches, hook_for, model_of_two, on_a_device


@pytest.fixture(autouse=True)
def device():
    with on_a_device():
        yield


def test_they_are_taken_when_the_device_has_work(out_dir, monkeypatch):
    events: List[str] = []
    send = late_tensors.LateTensors._send

    def noting(self: Any, launched: Any) -> None:
        events.append(f"results of {launched.step}")
        send(self, launched)

    monkeypatch.setattr(late_tensors.LateTensors, "_send", noting)
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with hook_for(out_dir) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        hook.attach(RuleSet("aws").add("FirstNonFinite", action="stop"))
        model[0].register_forward_hook(lambda *unused: events.append("model"))
        with pytest.raises(TrainingStopped):
            for step, x in enumerate(batches(4)):
                if step == 2:
                    model[0].weight.data[0, 0] = math.nan
                model(x).square().mean().backward()
                optimizer.step()
        # The call that raised has run the model; no optimizer applies what comes of it.
        assert (step, hook.step) == (3, 3)
    in_order = [event for event, _ in itertools.groupby(events)]
    assert in_order == [
        "model", "results of 0", "model", "results of 1", "model", "results of 2", "results of 3",
    ]  # fmt: skip


def test_a_model_that_fails_delays_them_by_a_step_at_most(out_dir):
    model = model_of_two()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with hook_for(out_dir) as hook:
        hook.register_module(model)
        hook.register_optimizer(optimizer)
        for x in batches(3):
            model(x).square().mean().backward()
            optimizer.step()
            with pytest.raises(RuntimeError):
                model(torch.zeros(5, 7))
            assert len({each.step for each in hook._late._launched}) <= 2
        assert hook.failures == 0
