"""All built-in rules find the same in the running job as in its trial."""

from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np
import pytest

from smdebug import Hook, SaveConfig, create_trial, modes
from smdebug.rules import Finding, RuleSet, RuleStatus, builtin_rules

STEPS = 64
COLLECTIONS = {
    "weights": "weight$",
    "biases": "bias$",
    "gradients": "^gradient/",
    "losses": "loss$",
    "trees": "^trees/",
}
# The tensors to check, and a patience that a short run exhausts.
GIVEN = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {"collection_names": "weights", "max_threshold": 100},
    "UnchangedTensor": {"tensor_regex": "^Net_input_0$"},
    "Overtraining": {"patience_train": 3, "patience_validation": 3},
    "Confusion": {"patience": 2},
    "TreeDepth": {"depth": 4},
}
# This run is never slow, one process has one worker, and its weights are of no layers in a row.
WITHOUT_FINDING = {
    "InputScale": RuleStatus.WORTH_A_LOOK,
    "MissingActivation": RuleStatus.PASSED,
    "StalledTrainingRule": RuleStatus.PASSED,
    "WorkerDivergence": RuleStatus.NOT_ENOUGH_DATA,
}

EVERY_STEP = SaveConfig(save_interval=1)


def rule_set_of(profile: str, other: str, saves: Optional[SaveConfig] = None) -> RuleSet:
    rule_set = RuleSet(profile, saves)
    for rule in (each.name for each in builtin_rules() if not each.set):
        given = {"other_trials": other} if rule == "SimilarAcrossRuns" else {}
        rule_set.add(rule, {**given, **GIVEN.get(rule, {})})
    return rule_set


def classified(random: np.random.Generator, step: int) -> Tuple[np.ndarray, np.ndarray]:
    """Returns labels of five classes, of which one is rare and one never occurs."""
    labels = random.choice(5, 100, p=[0.4, 0.3, 0.195, 0.1, 0.005])
    scores = np.eye(5, dtype="float32")[np.where(labels == 3, 2, labels)]
    return labels, scores + 0.01 * np.float32(step % 3)


def zeros_but(shape: Tuple[int, ...], value: float) -> np.ndarray:
    """Returns an array with one element that is not zero in each row."""
    array = np.zeros(shape, "float32")
    array[..., 0] = value
    return array


class LargeTraining:
    """The steps of a training with every fault that the set "llm" finds in one process."""

    steps = 130
    without_finding = {"SharedShard": "NOT_ENOUGH_DATA", "WorkerDivergence": "NOT_ENOUGH_DATA"}

    def __init__(self) -> None:
        self.random = np.random.default_rng(3)
        self.weight = self.normal(16, 16)
        self.squares = np.ones((16, 16), "float32")
        self.half = np.ones((16, 16), "float16")
        self.rows = np.zeros((8, 8), "float32")

    def normal(self, *shape: int) -> np.ndarray:
        return self.random.standard_normal(shape, "float32")

    def save(self, hook: Hook, step: int) -> None:
        self.save_batch(hook, step)
        self.save_trained(hook, step)
        hook.save("block0_router_load_output_0", np.array([5, 0, 3]))
        hook.save("block1_router_load_output_0", np.array([29, 1, 1, 1]))
        hook.save("block0_attention_logits_output_0", np.float32(step) + self.normal(4, 4))
        hook.save("block0_attention_probs_output_0", zeros_but((4, 8), 1))
        hook.save("e4m3_mlp_output_0", self.normal(64))
        hook.save("e4m3_mlp_scale_output_0", np.float32(1000))
        hook.save("lm_head_output_0", self.normal(4, 8) - np.float32(4 * step))

    def save_batch(self, hook: Hook, step: int) -> None:
        batch = np.random.default_rng(40 if step == 100 else step).integers(0, 99, (16, 8))
        hook.save("Net_input_0", batch)
        loss = np.float32((20 if step == 110 else 1) * (2 + 0.01 * self.normal(1)[0]))
        hook.save("loss_output_0", loss)
        hook.save("recomputed_loss_output_0", loss * np.float32(1.5 if step == 105 else 1))
        hook.save("late_loss", np.float32(np.nan if step > 125 else 1))
        hook.save("learning_rate/AdamW_0", np.float32(1e-3 if step < 115 else 1e-2))

    def save_trained(self, hook: Hook, step: int) -> None:
        gradient = self.normal(16, 16) * np.float32(50 if step == 112 else 1)
        hook.save("gradient/linear.weight", gradient)
        if step == 60:
            self.weight[3, 5] *= np.float32(2.0**40)
        self.weight -= 1e-3 * gradient
        hook.save("linear.weight", self.weight)
        self.squares *= 0 if step == 120 else 0.99
        self.squares += 0.01 * gradient**2
        hook.save("optimizer_state/linear.weight/exp_avg_sq", self.squares)
        hook.save("optimizer_state/small.weight/exp_avg_sq", np.full((4, 4), 1e-20, "float32"))
        self.half[:4] = 1.5 - self.half[:4] % 1
        hook.save("gradient/half.weight", self.normal(16, 16))
        hook.save("half.weight", self.half)
        self.rows[step % 8] += self.normal(8)
        hook.save("gradient/tokens.weight", self.rows)
        hook.save("embed.weight", self.weight)
        hook.save("lm_head.weight", self.weight + np.float32(step > 50))
        hook.save("gradient/fixed.weight", self.normal(6, 6))
        hook.save("fixed.weight", np.full((6, 6), 0.5, "float32"))


def save_step(hook: Hook, random: np.random.Generator, step: int, is_eval: bool) -> None:
    """Returns a step of a training with every fault."""

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, "float32")

    hook.save("Net_input_0", np.full((128, 3, 2, 2), 7, "float32"))
    hook.save("evaluation_mode/Net", np.float32(step > 5))
    hook.save("inputs", np.full((50, 4), 70, "float32"))
    tokens = random.integers(1, 9, (8, 12))
    tokens[:, 1:] = 0
    hook.save("embedding_input_0", tokens)
    hook.save("relu0_input_0", 100 * normal(50, 20))
    hook.save("relu0_output_0", np.maximum(normal(50, 20) - 9, 0))
    hook.save("tanh0_input_0", 100 * normal(50, 20) + np.float32(900))
    labels, scores = classified(random, step)
    hook.save("CrossEntropyLoss_input_0", scores)
    hook.save("CrossEntropyLoss_input_1", labels)
    hook.save("BCEWithLogitsLoss_input_0", np.maximum(normal(50, 4), 0))
    hook.save("loss", np.float32(1 + step / 4 if is_eval else 1 / (1 + 0.2 * min(step, 20))))
    hook.save("stuck_loss", np.float32(2))
    hook.save("rising_loss", np.float32(1 + step))
    hook.save("CrossEntropyLoss_output_0", np.float32(9))
    hook.save("feature_importance/weight", np.array([9, 9, 9] + [0.1] * 9, "float32"))
    hook.save("trees/ID", np.array(["0-0", "0-1", f"{step}-40000"]))
    if is_eval:
        return
    hook.save("encoder_output_0", np.float32(1 if step < 10 else 0.01) * scores[:16])
    hook.save("reward", np.float32(0.5 + 0.1 * np.sin(step) if step < 8 else 0))
    hook.save("dropout/Net_drop", np.float32(0.9))
    for i, size in enumerate((1e-12, 1e-5, 1)):
        hook.save(f"gradient/linear{i}.weight", np.float32(size) * normal(6, 6))
        hook.save(f"linear{i}.weight", normal(6, 6) * np.float32(4.0 ** (step if i == 0 else 0)))
    hook.save("gradient/fixed.weight", normal(6, 6))
    hook.save("fixed.weight", np.full((6, 6), 0.5, "float32"))
    hook.save("zeros.weight", np.zeros((6, 6), "float32"))
    hook.save("gradient/fixed.bias", np.full(6, np.nan if step > 50 else 1.5**step, "float32"))
    hook.save("fixed.bias", normal(6) if step < 52 else np.full(6, np.nan, "float32"))


def record(
    path: str, seed: int, rule_set: Optional[RuleSet] = None, saves: SaveConfig = EVERY_STEP
) -> List[Finding]:
    random = np.random.default_rng(seed)
    with Hook(path, save_all=True, save_config=saves) as hook:
        for name, pattern in COLLECTIONS.items():
            hook.get_collection(name).include(pattern)
        if rule_set is not None:
            hook.attach(rule_set)
        for step in range(STEPS):
            is_eval = step % 4 == 3
            with hook.step(modes.EVAL if is_eval else modes.TRAIN):
                save_step(hook, random, step, is_eval)
        return hook.take_findings() if rule_set is not None else []


@pytest.mark.parametrize("profile", ["aws", "calibrated"])
def test_findings_and_results_of_all_rules(tmp_path, profile):
    run, other = str(tmp_path / "run"), str(tmp_path / "other")
    record(other, seed=2)
    watching, reading = rule_set_of(profile, other), rule_set_of(profile, other)
    live = record(run, seed=1, rule_set=watching)
    stored = list(reading.evaluate(create_trial(run)))
    # The text of a dataclass has all its fields, and makes NaNs equal.
    assert list(map(repr, live)) == list(map(repr, stored))
    results = reading.results()
    assert list(map(repr, watching.results())) == list(map(repr, results))
    assert len(results) == 30
    expected = {
        each.rule: WITHOUT_FINDING.get(each.rule, RuleStatus.HAS_FINDINGS) for each in results
    }
    assert {each.rule: each.status for each in results} == expected


def test_a_rule_set_with_a_save_config_is_one_of_a_job_saved_so(tmp_path):
    whole, some, other = (str(tmp_path / name) for name in ("whole", "some", "other"))
    saves = SaveConfig(save_interval=4, save_steps=list(range(9)))
    record(other, seed=2)
    live = record(whole, seed=1, rule_set=rule_set_of("calibrated", other, saves))
    record(some, seed=1, saves=saves)
    of_whole = list(rule_set_of("calibrated", other, saves).evaluate(create_trial(whole)))
    of_some = list(rule_set_of("calibrated", other).evaluate(create_trial(some)))
    assert len(live) > 20
    assert list(map(repr, live)) == list(map(repr, of_whole)) == list(map(repr, of_some))


def test_findings_and_results_of_the_rules_for_large_trainings(tmp_path):
    run, training = str(tmp_path / "run"), LargeTraining()
    watching, reading = RuleSet("llm"), RuleSet("llm")
    with Hook(run, save_all=True, save_config=EVERY_STEP) as hook:
        for name, pattern in COLLECTIONS.items():
            hook.get_collection(name).include(pattern)
        hook.attach(watching)
        for step in range(training.steps):
            with hook.step(modes.TRAIN):
                training.save(hook, step)
        live = hook.take_findings()
    stored = list(reading.evaluate(create_trial(run)))
    assert list(map(repr, live)) == list(map(repr, stored))
    results = reading.results()
    assert list(map(repr, watching.results())) == list(map(repr, results))
    assert {each.rule: each.status.name for each in results} == {
        each.rule: training.without_finding.get(each.rule, "HAS_FINDINGS") for each in results
    }
    large = {each.name for each in builtin_rules() if each.set == "llm"}
    assert large <= {each.rule for each in results}
