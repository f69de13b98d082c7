"""Rules of the library that look at a job together."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from smdebug import Hook, SaveConfig, SaveConfigMode, create_trial, modes
from smdebug.core.framework_hook import FrameworkHook
from smdebug.core.singleton_utils import del_hook
from smdebug.exceptions import (
    RuleEvaluationConditionMet,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
    TrainingStopped,
)
from smdebug.rules import Action, Panel, Verdict, VerdictStatus


def record(hook: Hook, gradients: list[float]) -> None:
    """A step of training for each gradient."""
    for gradient in gradients:
        with hook.step(modes.TRAIN):
            hook.save("gradient/w", np.full(3, gradient, "float32"))


def recorded(out_dir: str, gradients: list[float], **settings: object) -> Hook:
    hook = Hook(
        out_dir,
        save_config=SaveConfig(save_interval=1),
        include_collections=["gradients"],
        **settings,
    )
    record(hook, gradients)
    return hook


def test_a_stored_trial_is_judged(out_dir):
    recorded(out_dir, [1, 1e-9, 1, 1e-10]).close()
    panel = Panel().add("VanishingGradient")
    first, second = panel.run(create_trial(out_dir))
    assert first == Verdict(
        rule="VanishingGradient",
        status=VerdictStatus.FINDING,
        action=Action.WARN,
        step=1,
        mode=modes.TRAIN,
        mode_step=1,
        worker="worker_0",
        tensor="gradient/w",
        value=pytest.approx(1e-9),
        limit=1e-7,
        label="small",
        message=first.message,
    )
    assert second.step == 3
    assert str(first).startswith("VanishingGradient at step 1: the gradient 'gradient/w' has")
    (outcome,) = panel.outcomes()
    assert (outcome.status, outcome.step) == (VerdictStatus.FINDING, 1)
    assert outcome.message.startswith("2 findings, first: ")


def test_a_save_config_counts_each_mode_by_itself(out_dir):
    saves = SaveConfig({modes.TRAIN: SaveConfigMode(3, save_steps=[1])})
    with Hook(out_dir, save_all=True, save_config=SaveConfig(save_interval=1)) as hook:
        hook.watch(Panel(save_config=saves).add("VanishingGradient"))
        for step in range(14):
            with hook.step(modes.TRAIN if step % 2 == 0 else modes.EVAL):
                hook.save("gradient/w", np.zeros(3, "float32"))
        live = hook.take_verdicts()
    found = {mode: [each.mode_step for each in live if each.mode == mode] for mode in modes}
    assert found[modes.TRAIN] == [0, 1, 3, 6]
    assert found[modes.EVAL] == list(range(7))
    panel = Panel(save_config=saves).add("VanishingGradient")
    assert list(map(repr, panel.run(create_trial(out_dir)))) == list(map(repr, live))


def test_a_save_config_must_be_one():
    with pytest.raises(SMDebugTypeError, match="5 does not stand for a SaveConfig"):
        Panel(save_config=5)


def test_steps_before_the_first_are_not_reported(out_dir):
    recorded(out_dir, [1e-9] * 4).close()
    panel = Panel().add("VanishingGradient")
    trial = create_trial(out_dir)
    assert [verdict.step for verdict in panel.run(trial, start_step=1, end_step=3)] == [1, 2]
    assert [verdict.step for verdict in panel.run(trial)] == [3]


def test_a_running_job_is_followed(out_dir):
    hook = recorded(out_dir, [1])
    hook.flush()
    job = threading.Thread(target=lambda: (record(hook, [1e-9, 1, 1e-9]), hook.close()))
    found = []
    for verdict in Panel().add("VanishingGradient").run(_following(out_dir, job)):
        found.append(verdict.step)
    job.join()
    assert found == [1, 3]


def _following(out_dir, job):
    trial = create_trial(out_dir)
    job.start()
    return trial


def test_without_waiting_what_is_there_is_judged(out_dir):
    hook = recorded(out_dir, [1e-9])
    hook.flush()
    panel, trial = Panel().add("VanishingGradient"), create_trial(out_dir)
    assert len(list(panel.run(trial, wait=False))) == 1
    assert len(list(panel.run(trial, wait=False))) == 0
    record(hook, [1e-9])
    hook.close()
    assert [verdict.step for verdict in panel.run(trial, wait=False)] == [1]


def test_outcomes_without_findings(out_dir):
    recorded(out_dir, [1]).close()
    panel = Panel().add("VanishingGradient")
    assert panel.outcomes()[0].status is VerdictStatus.NO_TENSOR
    assert list(panel.run(create_trial(out_dir))) == []
    (outcome,) = panel.outcomes()
    assert (outcome.status, outcome.step, outcome.value) == (VerdictStatus.NO_ISSUE, -1, None)


def test_parameters_are_those_of_the_rule(out_dir):
    recorded(out_dir, [0.5]).close()
    panel = Panel("aws").add("VanishingGradient", {"threshold": 0.6}, action="stop")
    (verdict,) = panel.run(create_trial(out_dir))
    assert (verdict.limit, verdict.action) == (0.6, Action.STOP)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Panel("default"), "'aws' and 'calibrated'"),
        (lambda: Panel().add("VanishingGradients"), "did you mean 'VanishingGradient'?"),
        (lambda: Panel().add("VanishingGradient", {"treshold": 1}), "did you mean 'threshold'?"),
        (lambda: Panel().add("VanishingGradient", {"threshold": -1}), "a number above 0"),
        (lambda: Panel().add("VanishingGradient", action="halt"), "'continue', 'warn' or 'stop'"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(SMDebugValueError, match=message.replace("?", r"\?")):
        make()


def test_a_panel_that_has_judged_takes_no_more_rules(out_dir):
    recorded(out_dir, [1]).close()
    panel = Panel().add("VanishingGradient")
    list(panel.run(create_trial(out_dir)))
    with pytest.raises(SMDebugRuntimeError):
        panel.add("VanishingGradient")
    with pytest.raises(SMDebugTypeError, match="a Trial is judged"):
        list(panel.run(out_dir))


def test_all_rules_are_listed():
    rules = {rule["name"]: rule for rule in Panel.rules()}
    (threshold,) = (
        each for each in rules["VanishingGradient"]["parameters"] if each["name"] == "threshold"
    )
    assert threshold["aws"] == "1e-7" and threshold["meaning"]
    for name in rules:
        assert rules[name]["summary"]


# ---- in the training process -------------------------------------------------------------


def test_a_hook_is_watched_whatever_it_saves(out_dir):
    hook = Hook(out_dir)
    hook.watch(Panel().add("VanishingGradient", action="stop"))
    record(hook, [1])
    assert hook.advice is Action.CONTINUE
    with hook.step(modes.TRAIN):
        assert hook.wants("gradient/w")
        assert not hook.wants("weight")
        hook.save("gradient/w", np.zeros(2))
        with pytest.raises(SMDebugRuntimeError, match="a step is open"):
            hook.watch(Panel())
    assert hook.advice is Action.STOP
    (verdict,) = hook.take_verdicts()
    assert (verdict.step, verdict.mode, verdict.value) == (1, modes.TRAIN, 0.0)
    assert hook.take_verdicts() == []
    hook.close()
    assert create_trial(out_dir).tensor_names() == []


def test_only_a_panel_watches(out_dir):
    with pytest.raises(SMDebugTypeError, match="a Panel watches, not a str"):
        Hook(out_dir).watch("VanishingGradient")


def test_live_and_stored_verdicts_are_the_same(out_dir):
    hook = Hook(out_dir, save_config=SaveConfig(save_interval=1), include_collections=["gradients"])
    hook.watch(Panel().add("VanishingGradient"))
    record(hook, [1, 1e-8, 0, 1, float("nan")])
    hook.close()
    stored = list(Panel().add("VanishingGradient").run(create_trial(out_dir)))
    assert hook.take_verdicts() == stored
    assert len(stored) == 2


class CountingHook(FrameworkHook):
    """A framework's hook whose steps the test counts."""

    def train(self, gradient):
        self._next_step()
        self._save("gradient/w", np.full(2, gradient))


def test_a_frameworks_hook_stops_before_the_next_step(out_dir, caplog):
    hook = CountingHook(out_dir)
    del_hook()
    hook.watch(Panel().add("VanishingGradient", action="stop"))
    hook.train(1.0)
    hook.train(0.0)
    with pytest.raises(TrainingStopped, match="the training is to stop: VanishingGradient") as stop:
        hook.train(1.0)
    assert stop.value.verdict.step == 1
    assert isinstance(stop.value, RuleEvaluationConditionMet)
    hook.train(1.0)  # who caught it may go on
    hook.close()
    assert "VanishingGradient at step 1" in caplog.text
    assert [verdict.step for verdict in hook.take_verdicts()] == [1]


def test_a_warning_stops_nothing(out_dir, caplog):
    hook = CountingHook(out_dir)
    del_hook()
    hook.watch(Panel().add("VanishingGradient"))
    for gradient in (0.0, 1.0, 1.0):
        hook.train(gradient)
    hook.close()
    assert hook.stop_verdict is None
    assert "VanishingGradient at step 0" in caplog.text
