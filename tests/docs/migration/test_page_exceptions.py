"""Tests the page "programming model": when each exception is raised."""

import os

import pytest
import smdebug as smd
from smdebug.exceptions import *  # noqa: F403
from smdebug.rules import Rule, invoke_rule
from smdebug.trials import create_trial


@pytest.fixture
def running(out_dir):
    """Returns the hook of a job at step 4 that saves every second step."""
    with smd.Hook(out_dir, save_config=smd.SaveConfig(save_interval=2), save_all=True) as hook:
        for step in range(5):
            with hook.step():
                hook.save("tname", step)
                if step == 2:
                    hook.save("sometimes", step)
        hook.flush()
        yield hook


def test_tensor_unavailable_for_step(running, out_dir):
    trial = create_trial(out_dir)
    with pytest.raises(TensorUnavailableForStep) as caught:  # noqa: F405
        trial.tensor("sometimes").value(4)
    assert (caught.value.tname, caught.value.step) == ("sometimes", 4)
    assert trial.tensor("sometimes").steps() == [2]


def test_tensor_unavailable(running, out_dir):
    trial = create_trial(out_dir)
    with pytest.raises(TensorUnavailable):  # noqa: F405
        trial.tensor("later")
    for _ in range(2):
        with running.step():
            running.save("later", 1)
    running.flush()
    assert trial.tensor("later").steps() == [6]


def test_step_unavailable(running, out_dir):
    with pytest.raises(StepUnavailable) as caught:  # noqa: F405
        create_trial(out_dir).tensor("tname").value(3)
    assert caught.value.step == 3


def test_step_not_yet_available(running, out_dir):
    trial = create_trial(out_dir)
    with pytest.raises(StepNotYetAvailable):  # noqa: F405
        trial.tensor("tname").value(5)
    # Step 5 is known to be unsaved when a later step is saved.
    for _ in range(2):
        with running.step():
            running.save("tname", 1)
    running.flush()
    with pytest.raises(StepUnavailable):  # noqa: F405
        trial.tensor("tname").value(5)
    assert trial.tensor("tname").value(6) == 1


def test_no_more_data(running, out_dir):
    running.close()
    with pytest.raises(NoMoreData) as caught:  # noqa: F405
        create_trial(out_dir).wait_for_steps([6])
    assert (caught.value.step, caught.value.last_step) == (6, 4)


def test_rule_evaluation_condition_met(running, out_dir):
    class AtFour(Rule):
        def invoke_at_step(self, step):
            return step == 4

    with pytest.raises(RuleEvaluationConditionMet) as caught:  # noqa: F405
        invoke_rule(AtFour(create_trial(out_dir)), end_step=5, raise_eval_cond=True)
    assert (caught.value.rule_name, caught.value.step) == ("AtFour", 4)


def test_missing_collection_files(out_dir):
    os.makedirs(out_dir)
    open(os.path.join(out_dir, "training_job_end.ts"), "w").close()
    with pytest.raises(MissingCollectionFiles):  # noqa: F405
        create_trial(out_dir)


def test_all_exceptions_have_one_base_class():
    for name in (
        "TensorUnavailableForStep", "TensorUnavailable", "StepUnavailable", "StepNotYetAvailable",
        "NoMoreData", "RuleEvaluationConditionMet", "MissingCollectionFiles",
    ):  # fmt: skip
        assert issubclass(globals()[name], smd.exceptions.SMDebugError)
