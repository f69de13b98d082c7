"""What all built-in rules say of a job from within is what they say of its trial."""

from __future__ import annotations

from typing import List, Optional, Tuple

import numpy as np
import pytest

from smdebug import Hook, SaveConfig, create_trial, modes
from smdebug.rules import Panel, Verdict, VerdictStatus

STEPS = 64
COLLECTIONS = {
    "weights": "weight$",
    "biases": "bias$",
    "gradients": "^gradient/",
    "losses": "loss$",
    "trees": "^trees/",
}
# Where to look, and less patience than a short run has use for.
GIVEN = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {"collection_names": "weights", "max_threshold": 100},
    "UnchangedTensor": {"tensor_regex": "^Net_input_0$"},
    "Overtraining": {"patience_train": 3, "patience_validation": 3},
    "Confusion": {"patience": 2},
    "TreeDepth": {"depth": 4},
}
# Nothing is slow here, and one process is one worker.
WITHOUT_FINDING = {
    "StalledTrainingRule": VerdictStatus.NO_ISSUE,
    "WorkerDivergence": VerdictStatus.NOT_ENOUGH_DATA,
}

EVERY_STEP = SaveConfig(save_interval=1)


def panel_of(profile: str, other: str, saves: Optional[SaveConfig] = None) -> Panel:
    panel = Panel(profile, saves)
    for rule in (each["name"] for each in Panel.rules()):
        given = {"other_trials": other} if rule == "SimilarAcrossRuns" else {}
        panel.add(rule, {**given, **GIVEN.get(rule, {})})
    return panel


def classified(random: np.random.Generator, step: int) -> Tuple[np.ndarray, np.ndarray]:
    """Labels of five classes, of which one is rare and one is never found."""
    labels = random.choice(5, 100, p=[0.4, 0.3, 0.195, 0.1, 0.005])
    scores = np.eye(5, dtype="float32")[np.where(labels == 3, 2, labels)]
    return labels, scores + 0.01 * np.float32(step % 3)


def save_step(hook: Hook, random: np.random.Generator, step: int, is_eval: bool) -> None:
    """A step of a training in which everything goes wrong."""

    def normal(*shape: int) -> np.ndarray:
        return random.standard_normal(shape, "float32")

    hook.save("Net_input_0", np.full((100, 3, 2, 2), 7, "float32"))
    tokens = random.integers(1, 9, (8, 12))
    tokens[:, 3:] = 0
    hook.save("embedding_input_0", tokens)
    hook.save("relu0_input_0", 100 * normal(50, 20))
    hook.save("relu0_output_0", np.maximum(normal(50, 20) - 9, 0))
    hook.save("tanh0_input_0", 100 * normal(50, 20) + np.float32(900))
    labels, scores = classified(random, step)
    hook.save("CrossEntropyLoss_input_0", scores)
    hook.save("CrossEntropyLoss_input_1", labels)
    hook.save("loss", np.float32(1 + step / 4 if is_eval else 1 / (1 + 0.2 * min(step, 20))))
    hook.save("stuck_loss", np.float32(2))
    hook.save("feature_importance/weight", np.array([9, 9, 9] + [0.1] * 9, "float32"))
    hook.save("trees/ID", np.array(["0-0", "0-1", f"{step}-40000"]))
    if is_eval:
        return
    for i, size in enumerate((1e-12, 1e-5, 1)):
        hook.save(f"gradient/linear{i}.weight", np.float32(size) * normal(6, 6))
        hook.save(f"linear{i}.weight", normal(6, 6) * np.float32(4.0 ** (step if i == 0 else 0)))
    hook.save("gradient/fixed.weight", normal(6, 6))
    hook.save("fixed.weight", np.full((6, 6), 0.5, "float32"))
    hook.save("zeros.weight", np.zeros((6, 6), "float32"))
    hook.save("gradient/fixed.bias", np.full(6, np.nan if step > 50 else 1.5**step, "float32"))
    hook.save("fixed.bias", normal(6))


def record(
    path: str, seed: int, panel: Optional[Panel] = None, saves: SaveConfig = EVERY_STEP
) -> List[Verdict]:
    random = np.random.default_rng(seed)
    with Hook(path, save_all=True, save_config=saves) as hook:
        for name, pattern in COLLECTIONS.items():
            hook.get_collection(name).include(pattern)
        if panel is not None:
            hook.watch(panel)
        for step in range(STEPS):
            is_eval = step % 4 == 3
            with hook.step(modes.EVAL if is_eval else modes.TRAIN):
                save_step(hook, random, step, is_eval)
        return hook.take_verdicts() if panel is not None else []


@pytest.mark.parametrize("profile", ["aws", "calibrated"])
def test_verdicts_and_outcomes_of_all_rules(tmp_path, profile):
    run, other = str(tmp_path / "run"), str(tmp_path / "other")
    record(other, seed=2)
    watching, reading = panel_of(profile, other), panel_of(profile, other)
    live = record(run, seed=1, panel=watching)
    stored = list(reading.run(create_trial(run)))
    # The text of a dataclass has all its fields, and a NaN in it is as any other.
    assert list(map(repr, live)) == list(map(repr, stored))
    outcomes = reading.outcomes()
    assert list(map(repr, watching.outcomes())) == list(map(repr, outcomes))
    assert len(outcomes) == 23
    expected = {
        each.rule: WITHOUT_FINDING.get(each.rule, VerdictStatus.FINDING) for each in outcomes
    }
    assert {each.rule: each.status for each in outcomes} == expected


def test_a_panel_with_a_save_config_is_one_of_a_job_saved_so(tmp_path):
    whole, some, other = (str(tmp_path / name) for name in ("whole", "some", "other"))
    saves = SaveConfig(save_interval=4, save_steps=list(range(9)))
    record(other, seed=2)
    live = record(whole, seed=1, panel=panel_of("calibrated", other, saves))
    record(some, seed=1, saves=saves)
    of_whole = list(panel_of("calibrated", other, saves).run(create_trial(whole)))
    of_some = list(panel_of("calibrated", other).run(create_trial(some)))
    assert len(live) > 20
    assert list(map(repr, live)) == list(map(repr, of_whole)) == list(map(repr, of_some))
