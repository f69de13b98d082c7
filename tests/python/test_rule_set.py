"""Rules that evaluate a job together."""

from __future__ import annotations

import gc
import math
import os
import pickle
import threading
import time
import weakref
from pathlib import Path

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
from smdebug.rules import Action, Finding, Rule, RuleSet, RuleStatus, builtin_rules


def record(hook: Hook, gradients: list[float]) -> None:
    """Runs a training step for each gradient."""
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


def test_a_stored_trial_is_evaluated(out_dir):
    recorded(out_dir, [1, 1e-9, 1, 1e-10]).close()
    rule_set = RuleSet("aws").add("VanishingGradient")
    first, second = rule_set.evaluate(create_trial(out_dir))
    assert first == Finding(
        rule="VanishingGradient",
        action=Action.WARN,
        step=1,
        mode=modes.TRAIN,
        mode_step=1,
        worker="worker_0",
        tensor="gradient/w",
        value=pytest.approx(1e-9),
        limit=1e-7,
        check="small",
        message=first.message,
    )
    assert second.step == 3
    assert str(first).startswith("VanishingGradient at step 1: the gradient 'gradient/w' has")
    (result,) = rule_set.results()
    assert (result.status, result.first) == (RuleStatus.HAS_FINDINGS, first)
    assert result.finding_count == 2
    assert result.message.startswith("2 findings, first: ")


def test_a_save_config_counts_each_mode_by_itself(out_dir):
    saves = SaveConfig({modes.TRAIN: SaveConfigMode(3, save_steps=[1])})
    with Hook(out_dir, save_all=True, save_config=SaveConfig(save_interval=1)) as hook:
        hook.attach(RuleSet("aws", save_config=saves).add("VanishingGradient"))
        for step in range(14):
            with hook.step(modes.TRAIN if step % 2 == 0 else modes.EVAL):
                hook.save("gradient/w", np.zeros(3, "float32"))
        live = hook.take_findings()
    found = {mode: [each.mode_step for each in live if each.mode == mode] for mode in modes}
    assert found[modes.TRAIN] == [0, 1, 3, 6]
    assert found[modes.EVAL] == list(range(7))
    rule_set = RuleSet("aws", save_config=saves).add("VanishingGradient")
    assert list(map(repr, rule_set.evaluate(create_trial(out_dir)))) == list(map(repr, live))


def test_a_save_config_must_be_one():
    with pytest.raises(SMDebugTypeError, match="5 does not stand for a SaveConfig"):
        RuleSet("aws", save_config=5)


def test_steps_before_the_first_are_not_reported(out_dir):
    recorded(out_dir, [1e-9] * 4).close()
    rule_set = RuleSet("aws").add("VanishingGradient")
    trial = create_trial(out_dir)
    assert [finding.step for finding in rule_set.evaluate(trial, start_step=1, end_step=3)] == [1, 2]
    assert [finding.step for finding in rule_set.evaluate(trial)] == [3]


def test_a_running_job_is_followed(out_dir):
    hook = recorded(out_dir, [1])
    hook.flush()
    job = threading.Thread(target=lambda: (record(hook, [1e-9, 1, 1e-9]), hook.close()))
    found = []
    for finding in RuleSet("aws").add("VanishingGradient").evaluate(_following(out_dir, job)):
        found.append(finding.step)
    job.join()
    assert found == [1, 3]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("end_step", "steps"), [(5, [0]), (15, [0, 10]), (20, [0, 10])])
def test_a_running_job_is_followed_to_an_end_that_it_does_not_save(recorder, end_step, steps):
    for step in (0, 10, 20):
        recorder.step(step)
    seen = []
    rules = RuleSet("aws").add(lambda trial, step: seen.append(step))
    assert list(rules.evaluate(recorder.open(), end_step=end_step)) == []
    assert seen == steps


@pytest.mark.timeout(20)
def test_following_waits_for_the_step_that_passes_the_end(recorder):
    trial = recorder.step(0).open()
    rules, seen = RuleSet("aws"), []

    def sees(trial, step):
        seen.append(step)

    threading.Timer(0.5, recorder.step, [10]).start()
    assert list(rules.add(sees).evaluate(trial, end_step=5)) == []
    assert seen == [0] and trial.steps() == [0, 10]


def warmed_up(out_dir):
    """Records a learning rate that rises until the end; returns what attached rules find."""
    with Hook(out_dir, save_config=SaveConfig(save_interval=1), save_all=True) as hook:
        hook.attach(RuleSet().add("UnusualSettings"))
        for step in range(100):
            with hook.step(modes.TRAIN):
                hook.save("learning_rate/SGD_0", np.float32(step))
        assert hook.take_findings() == []
    return hook.take_findings()


def test_rules_hear_of_the_end_of_a_job(out_dir):
    [live] = warmed_up(out_dir)
    assert (live.check, live.step) == ("warmup", 99)
    rules = RuleSet().add("UnusualSettings")
    trial = create_trial(out_dir)
    assert list(rules.evaluate(trial, end_step=99)) == []
    assert list(rules.evaluate(trial)) == [live]
    assert list(rules.evaluate(trial)) == []


def test_rules_that_follow_a_job_hear_of_its_end(out_dir):
    hook = Hook(out_dir, save_config=SaveConfig(save_interval=1), save_all=True)

    def train(first, end):
        for step in range(first, end):
            with hook.step(modes.TRAIN):
                hook.save("learning_rate/SGD_0", np.float32(step))

    train(0, 1)
    hook.flush()
    job = threading.Thread(target=lambda: (train(1, 100), hook.flush(), time.sleep(0.3), hook.close()))
    found = list(RuleSet().add("UnusualSettings").evaluate(_following(out_dir, job)))
    job.join()
    assert [each.check for each in found] == ["warmup"]


def _following(out_dir, job):
    trial = create_trial(out_dir)
    job.start()
    return trial


def test_without_waiting_what_is_there_is_evaluated(out_dir):
    hook = recorded(out_dir, [1e-9])
    hook.flush()
    rule_set, trial = RuleSet("aws").add("VanishingGradient"), create_trial(out_dir)
    assert len(list(rule_set.evaluate(trial, wait=False))) == 1
    assert len(list(rule_set.evaluate(trial, wait=False))) == 0
    record(hook, [1e-9])
    hook.close()
    assert [finding.step for finding in rule_set.evaluate(trial, wait=False)] == [1]


def test_results_without_findings(out_dir):
    recorded(out_dir, [1]).close()
    rule_set = RuleSet("aws").add("VanishingGradient")
    assert rule_set.results()[0].status is RuleStatus.NO_TENSORS
    assert list(rule_set.evaluate(create_trial(out_dir))) == []
    (result,) = rule_set.results()
    assert (result.status, result.finding_count, result.first) == (RuleStatus.PASSED, 0, None)


def test_parameters_are_those_of_the_rule(out_dir):
    recorded(out_dir, [0.5]).close()
    rule_set = RuleSet("aws").add("VanishingGradient", {"threshold": 0.6}, action="stop")
    (finding,) = rule_set.evaluate(create_trial(out_dir))
    assert (finding.limit, finding.action) == (0.6, Action.STOP)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: RuleSet("default"), "'calibrated', 'aws' or 'llm'"),
        (lambda: RuleSet("aws").add("VanishingGradients"), "did you mean 'VanishingGradient'?"),
        (lambda: RuleSet("aws").add("VanishingGradient", {"treshold": 1}), "did you mean 'threshold'?"),
        (lambda: RuleSet("aws").add("VanishingGradient", {"threshold": -1}), "a number above 0"),
        (lambda: RuleSet("aws").add("VanishingGradient", action="halt"), "'continue', 'warn' or 'stop'"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(SMDebugValueError, match=message.replace("?", r"\?")):
        make()


def test_a_rule_set_that_has_evaluated_takes_no_more_rules(out_dir):
    recorded(out_dir, [1]).close()
    rule_set = RuleSet("aws").add("VanishingGradient")
    list(rule_set.evaluate(create_trial(out_dir)))
    with pytest.raises(SMDebugRuntimeError):
        rule_set.add("VanishingGradient")
    with pytest.raises(SMDebugTypeError, match="expected a Trial"):
        list(rule_set.evaluate(out_dir))


def test_all_rules_are_listed():
    rules = {rule.name: rule for rule in builtin_rules()}
    (threshold,) = (
        each for each in rules["VanishingGradient"].parameters if each.name == "threshold"
    )
    assert threshold.aws == "1e-7" and threshold.meaning
    assert all(rule.summary for rule in rules.values())


@pytest.mark.parametrize("profile, count", [("calibrated", 29), ("aws", 26), ("llm", 23)])
def test_all_rules_without_required_parameters_are_added(profile, count):
    rules = RuleSet(profile).add_all(action="stop")
    names = [each.rule for each in rules.results()]
    assert len(names) == len(set(names)) == count
    assert "SimilarAcrossRuns" not in names, "which compares with another trial"
    assert [each.rule for each in rules.add_all().results()] == names
    assert pickle.loads(pickle.dumps(rules)).results() == rules.results()


def test_adding_all_rules_keeps_those_that_were_added(out_dir):
    recorded(out_dir, [0.5]).close()
    rules = RuleSet("aws").add("VanishingGradient", {"threshold": 0.6}, action="continue")
    first, *others = rules.add_all(action="stop").evaluate(create_trial(out_dir))
    assert (first.rule, first.limit) == ("VanishingGradient", 0.6)
    assert {each.action for each in (first, *others)} == {Action.STOP}
    assert "VanishingGradient" not in {each.rule for each in others}
    with pytest.raises(SMDebugRuntimeError):
        rules.add_all()


def test_the_rules_of_a_large_training_get_the_action_of_all(out_dir):
    with Hook(out_dir, save_config=SaveConfig(save_interval=1)) as hook, hook.step(modes.TRAIN):
        hook.save("loss", math.nan)
    (finding,) = RuleSet("llm").add_all(action="stop").evaluate(create_trial(out_dir))
    assert finding.action is Action.STOP


def test_a_rule_set_belongs_to_one_trial(out_dir, tmp_path):
    recorded(out_dir, [1, 1]).close()
    ill = str(tmp_path / "ill")
    recorded(ill, [1, 0]).close()
    rules = RuleSet("aws").add("VanishingGradient")
    assert list(rules.evaluate(create_trial(out_dir))) == []
    with pytest.raises(SMDebugRuntimeError, match="another trial or hook"):
        list(rules.evaluate(create_trial(ill)))
    rules.reset()
    assert [finding.step for finding in rules.evaluate(create_trial(ill))] == [1]


# ---- rules written in Python -------------------------------------------------------------


class Falls(Rule):
    """Holds from step 2 on, and requires an existing tensor."""

    def invoke_at_step(self, step):
        if step == 1:
            self.base_trial.tensor("missing")
        return step >= 2


def test_rules_written_in_python_mix_with_built_in_ones(out_dir):
    recorded(out_dir, [1, 1, 0]).close()
    trial = create_trial(out_dir)
    rules = RuleSet("aws").add("VanishingGradient").add(Falls(trial), action="stop")
    rules.add(lambda trial, step: f"step {step}" if step == 0 else None, name="Zero")
    found = [(each.rule, each.step, each.action) for each in rules.evaluate(trial)]
    assert found == [
        ("Zero", 0, Action.WARN),
        ("VanishingGradient", 2, Action.WARN),
        ("Falls", 2, Action.STOP),
    ]
    assert [each.status for each in rules.results()] == [RuleStatus.HAS_FINDINGS] * 3
    assert rules.results()[2].first.message == "step 0"
    with pytest.raises(SMDebugValueError, match="'Falls' is a function"):
        Hook(out_dir + "-other").attach(RuleSet("aws").add(Falls(trial)))


def test_what_a_function_raises_comes_out_after_the_findings(out_dir):
    recorded(out_dir, [0, 0, 0]).close()
    trial = create_trial(out_dir)

    def fails(trial, step):
        if step == 1:
            raise KeyError("as told")

    found = []
    with pytest.raises(KeyError, match="as told"):
        for finding in RuleSet("aws").add("VanishingGradient").add(fails).evaluate(trial):
            found.append(finding.step)
    assert found == [0, 1]


def test_steps_after_one_that_failed_are_evaluated_by_the_next_call(out_dir):
    recorded(out_dir, [0, 0, 0]).close()
    trial, seen = create_trial(out_dir), []

    def fails_once(trial, step):
        seen.append(step)
        if step == 1:
            raise KeyError("as told")

    rules = RuleSet("aws").add(fails_once)
    with pytest.raises(KeyError):
        list(rules.evaluate(trial))
    assert list(rules.evaluate(trial)) == []
    assert seen == [0, 1, 2]


def test_an_exception_survives_another_evaluation_between_the_findings(out_dir):
    recorded(out_dir, [0, 0, 0]).close()
    trial = create_trial(out_dir)

    def fails(trial, step):
        if step == 1:
            raise KeyError("as told")

    rules = RuleSet("aws").add("VanishingGradient").add(fails)
    with pytest.raises(KeyError, match="as told"):
        for finding in rules.evaluate(trial):
            if finding.step == 0:
                assert [each.step for each in rules.evaluate(trial)] == [2]


def test_what_an_abandoned_loop_did_not_take_comes_first_next_time(out_dir):
    hook = recorded(out_dir, [0] * 4)
    hook.flush()
    trial = create_trial(out_dir)
    rules = RuleSet("aws").add("VanishingGradient")
    taken = []
    for _ in range(2):
        for finding in rules.evaluate(trial, wait=False):
            taken.append(finding.step)
            break
    assert taken == [0, 1]
    record(hook, [0, 0])
    hook.close()
    rest = rules.evaluate(trial)
    assert next(rest).step == 2
    # What an open loop has not taken yet is its own.
    assert [each.step for each in rules.evaluate(trial)] == [4, 5]
    assert [each.step for each in rest] == [3]
    assert list(rules.evaluate(trial)) == []


def test_a_failure_after_an_abandoned_loop_is_raised_next_time(out_dir):
    recorded(out_dir, [0] * 3).close()
    trial = create_trial(out_dir)

    def fails(trial, step):
        if step == 1:
            raise KeyError("as told")

    rules = RuleSet("aws").add("VanishingGradient").add(fails)
    next(rules.evaluate(trial))
    rest = rules.evaluate(trial)
    assert next(rest).step == 1
    with pytest.raises(KeyError, match="as told"):
        next(rest)
    assert [each.step for each in rules.evaluate(trial)] == [2]


def test_a_reset_forgets_what_was_not_taken(out_dir, tmp_path):
    recorded(out_dir, [0, 0]).close()
    other = str(tmp_path / "other")
    recorded(other, [0]).close()
    rules = RuleSet("aws").add("VanishingGradient")
    loop = rules.evaluate(create_trial(out_dir))
    next(loop)
    with pytest.raises(SMDebugRuntimeError):
        next(rules.evaluate(create_trial(other)))
    rules.reset()
    loop.close()
    assert [each.step for each in rules.evaluate(create_trial(other))] == [0]


def test_an_abandoned_evaluation_releases_its_trial(out_dir):
    recorded(out_dir, [0, 0]).close()
    trial = create_trial(out_dir)
    rules = RuleSet("aws").add("VanishingGradient").add(lambda trial, step: False)
    next(rules.evaluate(trial))
    gone = weakref.ref(trial)
    del trial
    gc.collect()
    assert gone() is None


def test_a_function_may_ask_the_rule_set(out_dir):
    recorded(out_dir, [1]).close()
    trial = create_trial(out_dir)
    rules = RuleSet("aws")

    def asks(trial, step):
        with pytest.raises(SMDebugRuntimeError, match="being evaluated"):
            rules.reset()
        return len(rules.results()) == 1

    assert [finding.rule for finding in rules.add(asks).evaluate(trial)] == ["asks"]


def test_functions_and_built_in_rules_read_a_step_once(out_dir):
    recorded(out_dir, [1, 1e-9]).close()
    trial = create_trial(out_dir)
    values = []

    def empties_the_files(trial, step):
        for path in Path(out_dir).rglob("*.tfevents"):
            os.truncate(path, 0)

    def reads(trial, step):
        value = trial.tensor("gradient/w").value(step)
        values.append(value.tolist())
        value[:] = 7  # a caller's own copy

    rules = RuleSet("aws").add("VanishingGradient").add(empties_the_files).add(reads).add(reads)
    assert list(rules.evaluate(trial, end_step=1)) == []
    assert values == [[1, 1, 1]] * 2


# ---- in the training process -------------------------------------------------------------


def test_equal_selections_are_equal_answers(out_dir):
    names = ["gradient/w", "weight", "loss", "relu_output_0", "tapped", "other"]
    every = SaveConfig({modes.TRAIN: SaveConfigMode(3), modes.EVAL: SaveConfigMode(1)})
    hook = Hook(out_dir, include_collections=["weights", "losses", "mine"], save_config=every)
    hook.get_collection("mine").include("never")
    answers, counts = {}, []
    for step in range(60):
        if step == 10:
            hook.attach(RuleSet("aws").add("PoorWeightInitialization").add("VanishingGradient"))
        if step == 20:
            hook.get_collection("mine").include("tapped")
        if step == 30:
            hook.get_collection("relu_output").include("relu_output")
        if step == 40:
            rules = RuleSet(save_config=SaveConfig(save_interval=4))
            hook.attach(rules.add("DeadRelu").add("LossNotDecreasing"))
        with hook.step(modes.EVAL if step % 5 == 4 else modes.TRAIN):
            now = [hook.wants(name) for name in names]
            assert answers.setdefault(hook.count("selections"), now) == now
            counts.append(hook.count("selections"))
            for name in names:
                hook.save(name, np.full((4, 4), step, "float32"))
    assert counts == sorted(counts) and 15 < len(set(counts)) < 50
    hook.close()


def test_a_hook_with_rules_evaluates_whatever_it_saves(out_dir):
    hook = Hook(out_dir)
    hook.attach(RuleSet("aws").add("VanishingGradient", action="stop"))
    record(hook, [1])
    assert hook.action is Action.CONTINUE
    with hook.step(modes.TRAIN):
        assert hook.wants("gradient/w")
        assert not hook.wants("weight")
        hook.save("gradient/w", np.zeros(2))
        with pytest.raises(SMDebugRuntimeError, match="a step is open"):
            hook.attach(RuleSet("aws"))
    assert hook.action is Action.STOP
    (finding,) = hook.take_findings()
    assert (finding.step, finding.mode, finding.value) == (1, modes.TRAIN, 0.0)
    assert hook.take_findings() == []
    hook.close()
    assert create_trial(out_dir).tensor_names() == []


def test_only_a_rule_set_is_attached(out_dir):
    with pytest.raises(SMDebugTypeError, match="expected a RuleSet, not a str"):
        Hook(out_dir).attach("VanishingGradient")


def test_live_and_stored_findings_are_the_same(out_dir):
    hook = Hook(out_dir, save_config=SaveConfig(save_interval=1), include_collections=["gradients"])
    hook.attach(RuleSet("aws").add("VanishingGradient"))
    record(hook, [1, 1e-8, 0, 1, float("nan")])
    hook.close()
    stored = list(RuleSet("aws").add("VanishingGradient").evaluate(create_trial(out_dir)))
    assert hook.take_findings() == stored
    assert len(stored) == 2


class CountingHook(FrameworkHook):
    """A framework's hook whose steps the test counts."""

    def train(self, gradient):
        self._next_step()
        self._save("gradient/w", np.full(2, gradient))


def test_a_frameworks_hook_stops_before_the_next_step(out_dir, caplog):
    hook = CountingHook(out_dir)
    del_hook()
    hook.attach(RuleSet("aws").add("VanishingGradient", action="stop"))
    hook.train(1.0)
    hook.train(0.0)
    with pytest.raises(TrainingStopped, match="the training is to stop: VanishingGradient") as stop:
        hook.train(1.0)
    assert stop.value.finding.step == 1
    assert isinstance(stop.value, RuleEvaluationConditionMet)
    hook.train(1.0)  # a script that caught it may continue
    hook.close()
    assert "VanishingGradient at step 1" in caplog.text
    assert [finding.step for finding in hook.take_findings()] == [1]


def test_a_warning_stops_nothing(out_dir, caplog):
    hook = CountingHook(out_dir)
    del_hook()
    hook.attach(RuleSet("aws").add("VanishingGradient"))
    for gradient in (0.0, 1.0, 1.0):
        hook.train(gradient)
    hook.close()
    assert hook.stop_finding is None
    assert "VanishingGradient at step 0" in caplog.text
