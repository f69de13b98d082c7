"""Records trials with known numbers."""

import numpy as np

import smdebug as smd

EVERY_STEP = smd.SaveConfig(save_interval=1)
STEPS = 30


def record_run(path, wrong_at=None):
    """Records 25 training steps and 5 evaluation steps; gradients halve at each step.  From step
    `wrong_at` on, one weight differs."""
    weight = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
    with smd.Hook(
        str(path),
        save_config=EVERY_STEP,
        include_collections=["weights", "gradients", "losses", "relu_outputs"],
    ) as hook:
        relu = hook.get_collection("relu_outputs")
        relu.include("^relu")
        relu.reduction_config = smd.ReductionConfig(
            reductions=["min", "max"], abs_reductions=["mean"], save_shape=True
        )
        for step in range(STEPS):
            is_eval = step % 6 == 5
            with hook.step(smd.modes.EVAL if is_eval else smd.modes.TRAIN):
                changed = weight + np.float32(step / 16)
                if wrong_at is not None and step >= wrong_at:
                    changed[2, 1] += np.float32(0.25)
                hook.save("fc1.weight", changed)
                hook.save("relu_1", changed)
                if not is_eval:
                    hook.save("gradient/fc1.weight", np.full((4, 3), 0.5**step, np.float32))
                hook.save("loss", 1 / (1 + step))


def record_workers(path):
    """Records three steps of two workers, one of which saves non-finite values."""
    hooks = [
        smd.Hook(
            str(path), save_all=True, save_config=EVERY_STEP, include_workers="all",
            worker=f"worker_{rank}", num_workers=2,
        )
        for rank in range(2)
    ]  # fmt: skip
    for step in range(3):
        for rank, hook in enumerate(hooks):
            with hook.step(smd.modes.TRAIN):
                values = np.full(5, rank + step, np.float32)
                if rank == 1 and step == 2:
                    values[1:4] = [np.nan, np.inf, -np.inf]
                hook.save("w", values)
                hook.save("words", np.array(["one", "naïve\x1b[31m"]))
                hook.save("mask", np.array([[True, False]]))
    for hook in hooks:
        hook.close()
