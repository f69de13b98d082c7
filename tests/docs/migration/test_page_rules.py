"""Tests the page "programming model": rules."""

import importlib.util
import json

import numpy as np
import pytest
import smdebug as smd
from jobs import record_resnet
from smdebug.analysis.utils import no_refresh, refresh
from smdebug.exceptions import NoMoreData, RuleEvaluationConditionMet, TensorUnavailableForStep
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial

VANISHING_GRADIENT_RULE = """
from smdebug.rules import Rule
class VanishingGradientRule(Rule):
    def __init__(self, base_trial, threshold=0.0000001):
        super().__init__(base_trial, other_trials=None)
        self.threshold = float(threshold)
    def invoke_at_step(self, step):
        for tensorname in self.base_trial.tensors(collection='gradients'):
            tensor = self.base_trial.tensor(tensorname)
            abs_mean = tensor.reduction_value(step, 'mean', abs=True)
            if abs_mean < self.threshold:
                return True
            else:
                return False
"""

RULE_CONFIGURATION = """
{
    "RuleConfigurationName": "VGRule",
    "InstanceType": "ml.t3.medium",
    "VolumeSizeInGB": 30,
    "RuleEvaluatorImage": "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest",
    "RuleParameters": {
        "source_s3_uri": "s3://path/to/vanishing_gradient_rule.py",
        "rule_to_invoke": "VanishingGradientRule",
        "threshold": "20.0"
    }
}
"""  # noqa: E501


@pytest.fixture
def rules_file(tmp_path):
    """Writes the module rules/vanishing_gradient_rule.py."""
    path = tmp_path / "vanishing_gradient_rule.py"
    path.write_text(VANISHING_GRADIENT_RULE)
    specification = importlib.util.spec_from_file_location("vanishing_gradient_rule", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def steps_met(rule, **bounds):
    """Returns the steps at which the rule's condition is met."""
    met, start = [], bounds.pop("start_step", 0)
    while True:
        try:
            invoke_rule(rule, start_step=start, raise_eval_cond=True, **bounds)
            return met
        except RuleEvaluationConditionMet as finding:
            met.append(finding.step)
            start = finding.step + 1
        except NoMoreData:
            return met


def test_the_vanishing_gradient_rule(resnet, rules_file):
    # The gradient of training step s is -s/1000 everywhere.
    trial = create_trial(resnet)
    of_training = [trial.global_step(smd.modes.TRAIN, step) for step in range(0, 121, 10)]
    assert steps_met(rules_file.VanishingGradientRule(trial)) == of_training[:1]
    assert steps_met(rules_file.VanishingGradientRule(trial, threshold="0.015")) == of_training[:2]
    assert steps_met(rules_file.VanishingGradientRule(trial, threshold=20.0)) == of_training


def test_a_rule_from_a_configuration(resnet, rules_file):
    parameters = json.loads(RULE_CONFIGURATION)["RuleParameters"]
    del parameters["source_s3_uri"]
    rule_class = getattr(rules_file, parameters.pop("rule_to_invoke"))
    rule_obj = rule_class(create_trial(resnet), **parameters)
    assert rule_obj.threshold == 20.0
    with pytest.raises(RuleEvaluationConditionMet):
        invoke_rule(rule_obj, raise_eval_cond=True)


def test_invoking_a_rule_on_a_trial_in_s3(s3, rules_file):
    s3("smdebug-dev-test")
    record_resnet("s3://smdebug-dev-test/mnist-job/", 11)
    trial = create_trial("s3://smdebug-dev-test/mnist-job/")
    rule_obj = rules_file.VanishingGradientRule(trial, threshold=0.0001)
    with pytest.raises(NoMoreData):
        invoke_rule(rule_obj, start_step=0, end_step=None)
    assert steps_met(rule_obj) == [0]


class Seen(Rule):
    """Is met at every step, and keeps the evaluated steps."""

    def __init__(self, base_trial):
        super().__init__(base_trial)
        self.steps = []

    def invoke_at_step(self, step):
        self.steps.append(step)
        return True


def test_the_bounds_are_global_steps_and_the_end_is_exclusive(resnet):
    trial = create_trial(resnet)
    rule = Seen(trial)
    invoke_rule(rule, start_step=1, end_step=22)
    assert rule.steps == [step for step in trial.steps() if 1 <= step < 22]


def test_without_an_end_the_rule_runs_to_the_end_of_the_job(resnet):
    trial = create_trial(resnet)
    rule = Seen(trial)
    with pytest.raises(NoMoreData) as caught:
        invoke_rule(rule)
    assert rule.steps == trial.steps()
    assert caught.value.last_step == trial.steps()[-1]


def test_the_condition_is_raised_or_goes_into_the_log(resnet, caplog):
    trial = create_trial(resnet)
    with caplog.at_level("INFO", logger="smdebug"):
        invoke_rule(Seen(trial), end_step=2, raise_eval_cond=False)
    assert caplog.text.count("Seen") == 2
    with pytest.raises(RuleEvaluationConditionMet) as caught:
        invoke_rule(Seen(trial), end_step=2, raise_eval_cond=True)
    assert (caught.value.rule_name, caught.value.step) == ("Seen", 0)


def test_a_rule_may_read_other_trials(resnet, tmp_path):
    class Differs(Rule):
        def __init__(self, base_trial, other_trial):
            super().__init__(base_trial, other_trials=[other_trial])

        def invoke_at_step(self, step):
            values = [trial.tensor("relu0_output_0").value(step) for trial in self.trials]
            return not np.array_equal(*values)

    record_resnet(str(tmp_path / "other"), 121)
    other = create_trial(str(tmp_path / "other"))
    assert steps_met(Differs(create_trial(resnet), other)) == []


def test_future_steps_are_not_available_to_a_rule(out_dir):
    class Ahead(Rule):
        def invoke_at_step(self, step):
            return self.base_trial.tensor("loss").value(step + 1) is not None

    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:
        with hook.step():
            hook.save("loss", 1.0)
        hook.flush()
        rule = Ahead(create_trial(out_dir))
        with pytest.raises(smd.exceptions.StepNotYetAvailable):
            rule.invoke(0)


def test_tensors_that_a_rule_requires(resnet):
    class Required(Seen):
        def set_required_tensors(self, step):
            self.req_tensors.add("relu0_output_0", steps=[step])

        def invoke_at_step(self, step):
            assert [tensor.name for tensor in self.req_tensors.get()] == ["relu0_output_0"]
            assert self.req_tensors.get_tensor_steps("relu0_output_0") == [step]
            return super().invoke_at_step(step)

    trial = create_trial(resnet)
    rule = Required(trial)
    invoke_rule(rule, end_step=100)
    # Evaluation steps lack the tensor, and are skipped.
    assert rule.steps == [step for step in trial.tensor("relu0_output_0").steps() if step < 100]
    with pytest.raises(TensorUnavailableForStep):
        rule.invoke(1)


def test_refreshing(out_dir):
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=1)) as hook:

        def next_step():
            with hook.step():
                hook.save("loss", 1.0)
            hook.flush()

        next_step()
        trials = [create_trial(out_dir)]
        with no_refresh(trials):
            next_step()
            assert trials[0].steps() == [0]
            with refresh(trials):
                assert trials[0].steps() == [0, 1]
        with no_refresh(trials[0]) as trial:
            next_step()
            assert trial.steps() == [0, 1]
        assert trial.steps() == [0, 1, 2]
