"""Records trials with profiles for reports."""

import numpy as np
from profiles import Timeline, gpu, gpu_memory, noisy, write_samples
from report_trials import EVERY_STEP

import smdebug as smd

STEPS = 60
SLOWEST = 40


def record_profiled(folder, trial="run"):
    """Records a trial whose job waits for data, and its profile beside it in profiler-output."""
    with smd.Hook(str(folder / trial), save_config=EVERY_STEP, include_collections=["losses"]) as hook:
        for step in range(STEPS):
            with hook.step(smd.modes.TRAIN):
                hook.save("loss", np.float32(2 / (1 + step / 10)))
    write_profile(folder / "profiler-output")


def write_profile(folder):
    """Writes a profile of two workers on one node: each waits for data, and step SLOWEST of one is slow."""
    for worker in range(2):
        timeline = Timeline(folder, f"{worker + 1}-algo-1")
        for step in range(STEPS):
            # A step lasts until the next one begins.
            slow = 900.0 if (worker, step) == (1, SLOWEST + 1) else 0.0
            timeline.step(step, wait=300.0 + 10 * worker + slow, allreduce=30.0, rest=5.0)
            timeline.add("copies", timeline.now - 20, 8, step)  # inside of the rest and of allreduce
        timeline.write()
    samples = {gpu(): noisy(lambda part: 40 + 20 * part), gpu_memory(): noisy(lambda part: 30.0, seed=1)}
    samples["cpu", "cpu0", "CPUUtilization"] = noisy(lambda part: 80.0, seed=2)
    write_samples(folder, samples, seconds=24)
