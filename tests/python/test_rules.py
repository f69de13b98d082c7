"""Rules: evaluating a trial step by step."""

import logging
import threading

import numpy as np
import pytest
from helpers import Recorder, record
from smdebug.analysis.utils import no_refresh
from smdebug.exceptions import (
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from smdebug.rules import BuiltinRule, Rule, invoke_rule
from smdebug.rules.rule_invoker import invoke_rule as the_same_invoke_rule


class Threshold(Rule):
    """Holds if the tensor foo is greater than a limit."""

    def __init__(self, base_trial, limit="1", **kwargs):
        super().__init__(base_trial, **kwargs)
        self.limit = float(limit)
        self.seen = []

    def set_required_tensors(self, step):
        self.req_tensors.add("foo", steps=[step])

    def invoke_at_step(self, step):
        self.seen.append(step)
        return any(tensor.value(step).max() > self.limit for tensor in self.req_tensors.get())


@pytest.fixture
def trial(recorder):
    """foo is 0, 1, 2, 4 at these steps; step 3 was not saved; the job has ended."""
    for step in (0, 1, 2, 4):
        recorder.step(step)
    return recorder.end().open()


def test_a_rule_says_where_its_condition_holds(trial):
    rule = Threshold(trial)
    rule.invoke(0)
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        rule.invoke(2)
    assert (caught.value.rule_name, caught.value.step) == ("Threshold", 2)
    assert not caught.value.end_of_rule


def test_a_rule_is_invoked_at_one_step_after_another(trial):
    rule = Threshold(trial)
    invoke_rule(rule, start_step=1, end_step=3)
    assert rule.seen == [1, 2]
    assert invoke_rule is the_same_invoke_rule


def test_steps_that_were_not_saved_are_passed_over(trial):
    rule = Threshold(trial)
    invoke_rule(rule, end_step=5)
    assert rule.seen == [0, 1, 2, 4]


def test_the_end_of_the_job_ends_the_run(trial):
    rule = Threshold(trial)
    with pytest.raises(NoMoreData) as caught:
        invoke_rule(rule, start_step=None)
    assert caught.value.last_step == 4
    assert rule.seen == [0, 1, 2, 4]


def test_a_condition_may_end_the_run(trial):
    rule = Threshold(trial)
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        invoke_rule(rule, end_step=5, raise_eval_cond=True)
    assert caught.value.step == 2
    assert rule.seen == [0, 1, 2]


def test_a_finding_may_say_that_it_is_the_last(trial):
    class Once(Threshold):
        def invoke_at_step(self, step):
            self.seen.append(step)
            raise RuleEvaluationConditionMet(self.rule_name, step, end_of_rule=True)

    rule = Once(trial)
    invoke_rule(rule, end_step=5)
    assert rule.seen == [0]


def test_a_missing_tensor_passes_over_the_step(recorder):
    recorder.step(0, names=["bar"]).step(1)
    rule = Threshold(recorder.end().open(), limit="0.5")
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        invoke_rule(rule, end_step=2, raise_eval_cond=True)
    assert caught.value.step == 1
    with pytest.raises(TensorUnavailableForStep):
        rule.invoke(0)


def test_other_errors_of_a_rule_are_its_own(trial):
    class Broken(Threshold):
        def invoke_at_step(self, step):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        invoke_rule(Broken(trial), end_step=3)
    assert trial.dynamic_refresh


def test_a_rule_waits_for_its_step(recorder):
    trial = recorder.step(0).open()
    timer = threading.Timer(0.1, recorder.step, [1])
    timer.start()
    rule = Threshold(trial)
    invoke_rule(rule, end_step=2)
    timer.join()
    assert rule.seen == [0, 1]


def test_a_rule_sees_nothing_that_came_after_its_step(recorder):
    class Ahead(Threshold):
        def invoke_at_step(self, step):
            recorder.step(step + 1)
            with pytest.raises(StepNotYetAvailable):
                self.base_trial.tensor("foo").value(step + 1)
            assert self.base_trial.steps()[-1] == step
            self.seen.append(step)

    rule = Ahead(recorder.step(0).open())
    rule.invoke(0)
    assert rule.seen == [0]
    assert rule.base_trial.steps() == [0, 1]


def test_required_tensors_by_name_and_by_regex(trial):
    rule = Threshold(trial)
    rule.req_tensors.add("f.*", [0, 1], should_match_regex=True)
    rule.req_tensors.add("foo", [2])
    assert list(rule.req_tensors.get_names()) == ["foo"]
    assert rule.req_tensors.get_tensor_steps("foo") == [0, 1, 2]
    assert [tensor.name for tensor in rule.req_tensors.get()] == ["foo"]
    rule.req_tensors.fetch()
    with pytest.raises(TensorUnavailable):
        rule.req_tensors.add("bar", [0])
    rule.req_tensors.clear()
    assert list(rule.req_tensors.get()) == []


def test_a_rule_may_compare_with_other_trials(trial, tmp_path):
    other = Recorder(str(tmp_path / "other")).step(0).open()

    class Compare(Threshold):
        def set_required_tensors(self, step):
            self.req_tensors.add("foo", [0], trial=self.other_trials[0])

        def invoke_at_step(self, step):
            assert not other.dynamic_refresh
            self.seen += [tensor.trial for tensor in self.req_tensors.get(other)]

    rule = Compare(trial, other_trials=[other])
    rule.invoke(0)
    assert rule.trials == [trial, other]
    assert rule.seen == [other]
    assert other.dynamic_refresh


class Silent(Rule):
    def invoke_at_step(self, step):
        return False


def test_the_forms_of_the_constructor(trial, caplog):
    other = [trial]
    assert Silent(trial).other_trials is None
    assert Silent(trial, other_trials=other).other_trials == other
    assert Silent(trial, "", other).other_trials == other
    assert Silent(trial, other).other_trials == other
    assert Silent(base_trial=trial, action_str="").trials == [trial]
    with caplog.at_level(logging.WARNING, "smdebug"):
        Silent(trial, '{"name": "stoptraining"}')
    assert "the action stoptraining needs 'training_job_prefix'" in caplog.text


def test_a_rule_needs_a_trial_and_a_judgement(trial):
    with pytest.raises(SMDebugTypeError):
        Silent("path/of/a/trial")
    with pytest.raises(TypeError):
        Rule(trial)


def test_a_rule_has_a_name_a_report_and_a_logger(trial):
    rule = Silent(trial)
    assert rule.rule_name == "Silent"
    assert rule.report["RuleTriggered"] == 0
    assert rule.logger.name == "smdebug"


def test_a_rule_can_be_invoked_where_nothing_refreshes(recorder):
    trial = recorder.step(0).step(1).open()
    rule = Threshold(trial, limit=5)
    with no_refresh(trial):
        rule.invoke(1)
    assert rule.seen == [1]


def test_the_vanishing_gradient_of_the_documentation(out_dir):
    class VanishingGradientRule(Rule):
        def __init__(self, base_trial, threshold=0.0000001):
            super().__init__(base_trial, other_trials=None)
            self.threshold = float(threshold)

        def invoke_at_step(self, step):
            for name in self.base_trial.tensors(collection="gradients"):
                abs_mean = self.base_trial.tensor(name).reduction_value(step, "mean", abs=True)
                if abs_mean < self.threshold:
                    return True
            return False

    gradients = [{"gradient/w": np.full(3, 10.0**-step)} for step in range(0, 12, 3)]
    trial = record(out_dir, gradients, include_collections=["gradients"])
    invoke_rule(VanishingGradientRule(trial, threshold="1e-12"), end_step=4, raise_eval_cond=True)
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        invoke_rule(VanishingGradientRule(trial), end_step=4, raise_eval_cond=True)
    assert caught.value.step == 3


def test_a_rule_of_the_library_runs_like_any_other(out_dir):
    gradients = [{"gradient/w": np.full(3, 10.0**-step)} for step in range(12)]
    trial = record(out_dir, gradients, include_collections=["gradients"])
    rule = BuiltinRule(trial, "VanishingGradient", {"threshold": "1e-9"}, "aws")
    assert rule.rule_name == "VanishingGradient"
    assert rule.last_finding == ""
    invoke_rule(rule, end_step=9, raise_eval_cond=True)
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        invoke_rule(rule, end_step=12, raise_eval_cond=True)
    assert (caught.value.rule_name, caught.value.step) == ("VanishingGradient", 10)
    assert "gradient/w" in rule.last_finding
    assert trial.dynamic_refresh


def test_what_a_rule_of_the_library_does_not_know(trial):
    with pytest.raises(SMDebugValueError, match="NoSuchRule"):
        BuiltinRule(trial, "NoSuchRule")
    with pytest.raises(SMDebugValueError, match="treshold"):
        BuiltinRule(trial, "VanishingGradient", {"treshold": "1e-9"})
    with pytest.raises(SMDebugValueError, match="unknown profile 'default'"):
        BuiltinRule(trial, "VanishingGradient", profile="default")
    with pytest.raises(SMDebugTypeError):
        BuiltinRule("path/of/a/trial", "VanishingGradient")
