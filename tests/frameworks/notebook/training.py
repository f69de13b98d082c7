"""Records what notebooks show."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

import smdebug as smd

EVERY_STEP = smd.SaveConfig(save_interval=1)
HOSTILE = "</script><img src=x onerror='window.harmed = 1'>\u202e\u2028\x07$x^2"


def record_training(path: Path, steps: int = 60, nan_from: int = 50, pause: float = 0) -> None:
    """Records a training of eleven layers, whose loss is NaN at last."""
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((8, 8)).astype("float32") for _ in range(11)]
    with smd.Hook(path, save_config=EVERY_STEP, include_collections=["weights", "gradients", "losses"]) as hook:
        for step in range(steps):
            is_eval = step % 10 == 9
            factor = np.float32(np.nan if step >= nan_from else 1)
            with hook.step(smd.modes.EVAL if is_eval else smd.modes.TRAIN):
                hook.save("loss", np.float32(2 / (1 + step)) * factor)
                hook.save_scalar("accuracy", step / steps)
                for layer, weight in enumerate(weights, 1):
                    if is_eval:
                        continue
                    hook.save(f"fc{layer}.weight", weight * factor * np.float32(1 + math.sin(step / 9)))
                    hook.save(f"gradient/fc{layer}.weight", weight * factor / 100)
            time.sleep(pause)


def record_odd(path: Path) -> None:
    """Records text, nothing, complex numbers, reductions only, and names that are dangerous."""
    with smd.Hook(path, save_config=EVERY_STEP, include_collections=["others", "reduced"]) as hook:
        hook.get_collection("others").include("^(?!reduced)")
        reduced = hook.get_collection("reduced")
        reduced.include("^reduced")
        reduced.reduction_config = smd.ReductionConfig(abs_reductions=["max"], norms=["l2"])
        for step in range(3):
            with hook.step(smd.modes.TRAIN):
                hook.save(HOSTILE, np.float32(step))
                hook.save("text", np.array(["<b>one</b>"]))
                hook.save("nothing", np.zeros((0, 3), "float32"))
                hook.save("complex", np.array([1 + 2j]))
                hook.save("reduced", np.full(4, -2.0, "float32"))
                hook.save("huge", np.array([1.7e308, -1.7e308][step % 2]))


if __name__ == "__main__":
    import sys

    record_training(Path(sys.argv[1]), steps=int(sys.argv[2]), nan_from=10, pause=0.2)
