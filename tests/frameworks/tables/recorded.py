"""Trials for the tests of tables: healthy, torn and hostile ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

import smdebug as smd

ROOT = Path(__file__).resolve().parents[3]
EVERY_STEP = smd.SaveConfig(save_interval=1)
STEPS = 12
# Trials that the original wrote; "trial" is the folder in each.
GOLDEN = sorted(path.parent for path in (ROOT / "tests/golden").glob("*/trial"))


def record_run(path: Path, rate: float = 1.0, steps: int = STEPS, workers: int = 1) -> None:
    """Records weights, gradients, outputs of which only statistics are saved, and losses; every
    fourth step is one of evaluation."""
    hooks = [
        smd.Hook(
            str(path), worker=f"worker_{rank}", save_config=EVERY_STEP, num_workers=workers,
            include_workers="all", include_collections=["weights", "gradients", "losses", "relu_outputs"],
        )
        for rank in range(workers)
    ]  # fmt: skip
    for hook in hooks:
        relu = hook.get_collection("relu_outputs")
        relu.include("^relu")
        relu.reduction_config = smd.ReductionConfig(
            reductions=["min", "max"], abs_reductions=["mean"], norms=["l2"], save_shape=True
        )
    for step in range(steps):
        for rank, hook in enumerate(hooks):
            is_eval = step % 4 == 3
            with hook.step(smd.modes.EVAL if is_eval else smd.modes.TRAIN):
                weight = np.arange(12, dtype=np.float32).reshape(4, 3) * rate + step + rank
                hook.save("fc1.weight", weight)
                hook.save("relu_1", weight - 5)
                if not is_eval:
                    hook.save("gradient/fc1.weight", np.full((4, 3), 0.5**step, np.float32))
                hook.save("val_loss" if is_eval else "loss", rate / (1 + step + rank))
    for hook in hooks:
        hook.close()


def record_odd(path: Path) -> None:
    """Records what is rare: types, shapes, numbers that are not finite, names."""
    with smd.Hook(str(path), save_all=True, save_config=EVERY_STEP) as hook:
        for step in range(3):
            with hook.step(smd.modes.PREDICT):
                hook.save("none", np.zeros((0, 3), np.float32))
                hook.save("flags", np.array([True, False]))
                hook.save("largest", np.array([2**63 - 1, -(2**63)], np.int64))
                hook.save("half", np.array([[1.5, np.inf], [-np.inf, np.nan]], np.float16))
                hook.save("complex", np.array([1 + 2j]))
                hook.save("words", np.array(["one", "naïve"]))
                hook.save("scalar", np.float64(np.nan if step == 1 else step))
                hook.save("naïve'name\"%/x", np.arange(step + 1))


def tear(path: Path) -> None:
    """Cuts the event file of one step in half, and the index file of another."""
    events = sorted(path.glob("events/*/*.tfevents"))
    events[2].write_bytes(events[2].read_bytes()[: events[2].stat().st_size // 2])
    index = sorted(path.glob("index/*/*.json"))
    index[5].write_text(index[5].read_text()[:-30])


def make_hostile(path: Path) -> None:
    """Makes index files name places that are not there, and others' files."""
    for number, index in enumerate(sorted(path.glob("index/*/*.json"))):
        entry = json.loads(index.read_text())
        if number == 1:
            entry["meta"]["event_file_name"] = "../../../../../../etc/passwd"
        for tensor in entry["tensor_payload"]:
            if number == 2:
                tensor["start_idx"] = 2**63 - 1
            if number == 3:
                tensor["length"] = 2**40
        index.write_text(json.dumps(entry) if number != 4 else "[" * 100_000)


def make_farm(folder: Path) -> None:
    """Records the trials of most tests."""
    record_run(folder / "a")
    record_run(folder / "b", rate=2.0, workers=2)
    record_odd(folder / "odd")
    for name, damage in (("torn", tear), ("hostile", make_hostile)):
        shutil.copytree(folder / "a", folder / name)
        damage(folder / name)
