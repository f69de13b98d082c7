"""Tensors that come after their step has ended."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import numpy as np
import pytest

from smdebug import Hook, ReductionConfig, SaveConfig, create_trial
from smdebug.core.late_tensors import (
    FIGURE_BITS,
    WANTS_SHAPE,
    WANTS_STATISTICS,
    WANTS_VALUE,
)
from smdebug.exceptions import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)
from smdebug.rules import RuleSet

SETTINGS = {"save_config": SaveConfig(save_interval=1), "save_all": True}
FIGURES_ONLY = ReductionConfig(reductions=["mean", "std"], save_shape=True)
WEIGHT = np.array([[1, -2, 0], [4, 0.5, -8]], "float32")


def vanishing_gradients() -> RuleSet:
    rules = RuleSet("aws")
    rules.add("VanishingGradient")
    return rules


def late_step(hook: Hook) -> int:
    step = hook.begin_step()
    assert hook.expect("w") != 0
    hook.end_step()
    return step


def test_a_step_waits_for_its_tensors(out_dir):
    with Hook(out_dir, **SETTINGS) as hook:
        steps = [late_step(hook) for _ in range(3)]
        hook.flush()
        assert hook.count("steps_written") == 0
        for step in reversed(steps):
            hook.save_late("w", step, WEIGHT * step)
    trial = create_trial(out_dir)
    assert trial.steps() == [0, 1, 2]
    assert np.array_equal(trial.tensor("w").value(2), WEIGHT * 2)


def test_expect_tells_what_is_selected(out_dir):
    with Hook(out_dir, reduction_config=FIGURES_ONLY, **SETTINGS) as hook:
        with pytest.raises(SMDebugRuntimeError):
            hook.expect("w")
        hook.attach(vanishing_gradients())
        hook.begin_step()
        figures = FIGURE_BITS["mean"] | FIGURE_BITS["variance"]
        assert hook.expect("w") == figures | WANTS_SHAPE
        assert hook.expect("gradient/w") == figures | WANTS_SHAPE | WANTS_STATISTICS
        hook.discard_step()
    every_step = SaveConfig(save_interval=1)
    with Hook(f"{out_dir}-raw", include_regex="^w$", save_config=every_step) as hook:
        hook.begin_step()
        assert hook.expect("w") == WANTS_VALUE
        assert hook.expect("v") == 0
        hook.forgo("w", 0)


def test_statistics_may_come_late(out_dir):
    statistics = {"mean": 0.5, "variance": math.nan}
    with Hook(out_dir, reduction_config=FIGURES_ONLY, **SETTINGS) as hook:
        step = late_step(hook)
        with pytest.raises(SMDebugValueError, match="std"):
            hook.save_late_statistics("w", step, (2, 3), "float32", {"mean": 0.5})
        with pytest.raises(SMDebugValueError, match="minimum"):
            hook.save_late_statistics("w", step, (2, 3), "float32", {"minimum": 0.5})
        hook.save_late_statistics("w", step, (2, 3), "float32", statistics)
    tensor = create_trial(out_dir).tensor("w")
    assert tensor.shape(0) == (2, 3)
    assert tensor.reduction_value(0, "mean") == 0.5
    assert np.isnan(tensor.reduction_value(0, "std"))


@pytest.mark.parametrize("value", [WEIGHT, WEIGHT[:, ::2], 2.5, [1, 2], "text", np.zeros((0, 2))])
def test_values_are_those_that_save_takes(out_dir, value):
    with Hook(out_dir, **SETTINGS) as hook:
        step = hook.begin_step()
        hook.save("in_time", value)
        hook.expect("w")
        hook.end_step()
        hook.save_late("w", step, value)
    trial = create_trial(out_dir)
    assert np.array_equal(trial.tensor("w").value(0), trial.tensor("in_time").value(0))


def test_what_no_step_expects_is_refused(out_dir):
    with Hook(out_dir, **SETTINGS) as hook:
        with pytest.raises(SMDebugRuntimeError, match="has not begun"):
            hook.save_late("w", 0, WEIGHT)
        step = late_step(hook)
        with pytest.raises(SMDebugRuntimeError, match="not expected"):
            hook.forgo("v", step)
        with pytest.raises(SMDebugNotImplementedError, match="raw value"):
            hook.save_late_statistics("w", step, (1,), "float32", {"mean": 0})
        for bad in ("0", 0.5, None):
            with pytest.raises(TypeError):
                hook.save_late("w", bad, WEIGHT)
        with pytest.raises(SMDebugTypeError):
            hook.save_late("w", step, object())
        hook.save_late("w", step, WEIGHT)
        with pytest.raises(SMDebugRuntimeError, match="waits for no tensor"):
            hook.save_late("w", step, WEIGHT)
    with pytest.raises(SMDebugRuntimeError, match="closed"):
        hook.forgo("w", step)


def test_close_reports_what_is_missing(out_dir):
    hook = Hook(out_dir, **SETTINGS)
    hook.begin_step()
    hook.save("a", WEIGHT)
    hook.expect("w")
    hook.end_step()
    with pytest.raises(SMDebugRuntimeError, match="without the late tensor 'w'"):
        hook.close()
    assert create_trial(out_dir).tensor_names(step=0) == ["a"]


def test_rules_evaluate_complete_steps(out_dir):
    with Hook(out_dir, **SETTINGS) as hook:
        hook.attach(vanishing_gradients())
        step = hook.begin_step()
        hook.expect("gradient/w")
        hook.end_step()
        assert hook.take_findings() == []
        hook.save_late("gradient/w", step, np.full(3, 1e-9, "float32"))
        assert [found.step for found in hook.take_findings()] == [step]


def contents(folder: str) -> dict:
    """The names of all files, and the sizes of event files, which hold wall times."""
    files = [each for each in Path(folder).rglob("*") if each.is_file()]
    return {
        str(each.relative_to(folder)): each.suffix == ".tfevents" and each.stat().st_size
        for each in files
    }


def test_tensors_come_from_another_thread(out_dir):
    names = [f"layer{i}/w" for i in range(20)]

    def record(folder, is_late):
        with Hook(folder, **SETTINGS) as hook:
            gate = threading.Semaphore(8)

            def deliver(step):
                for name in names:
                    hook.save_late(name, step, WEIGHT)
                gate.release()

            threads = []
            for _ in range(30):
                gate.acquire()
                step = hook.begin_step()
                for name in names:
                    if is_late:
                        assert hook.expect(name)
                    else:
                        hook.save(name, WEIGHT)
                hook.end_step()
                if is_late:
                    threads.append(threading.Thread(target=deliver, args=(step,)))
                    threads[-1].start()
                else:
                    gate.release()
            for thread in threads:
                thread.join()

    record(f"{out_dir}/late", True)
    record(f"{out_dir}/in_time", False)
    assert contents(f"{out_dir}/late") == contents(f"{out_dir}/in_time")
