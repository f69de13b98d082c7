"""Compares this library with other ways to store tensors and figures of a training: NumPy,
safetensors and tensorboardX.  All run in Python, on the same data, in turns.  The result is the
peer's time divided by the library's.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Callable

import numpy as np
import tensorboardX
from safetensors import safe_open
from safetensors.numpy import save_file

import smdebug as smd
from bench import KIB, MIB, bench_folder, every_step
from page import table, tell
from smdebug.trials import create_trial

# A round takes little time compared with bench.py.
ROUNDS = 3 * int(os.environ.get("SMDEBUG_BENCH_ROUNDS", "3"))
Tensors = dict[str, np.ndarray]


def tensors_of(size: int, count: int) -> Tensors:
    return {f"layer_{i}": np.full(size // 4, 1.5, np.float32) for i in range(count)}


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def emptied(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def record_ours(path: Path, tensors: Tensors, steps: int) -> None:
    with every_step(path) as hook:
        for _ in range(steps):
            with hook.step():
                for name, array in tensors.items():
                    hook.save(name, array)


def record_numpy(path: Path, tensors: Tensors, steps: int) -> None:
    for step in range(steps):
        folder = path / str(step)
        folder.mkdir()
        for name, array in tensors.items():
            np.save(folder / f"{name}.npy", array)


def record_safetensors(path: Path, tensors: Tensors, steps: int) -> None:
    for step in range(steps):
        save_file(tensors, path / f"{step}.safetensors")


def read_ours(path: Path, tensors: Tensors, steps: int) -> None:
    trial = create_trial(str(path))
    handles = [trial.tensor(name) for name in tensors]
    for step in range(steps):
        for tensor in handles:
            tensor.value(step)


def read_numpy(path: Path, tensors: Tensors, steps: int) -> None:
    for step in range(steps):
        for name in tensors:
            np.load(path / str(step) / f"{name}.npy")


def read_safetensors(path: Path, tensors: Tensors, steps: int) -> None:
    for step in range(steps):
        with safe_open(path / f"{step}.safetensors", framework="numpy") as file:
            for name in tensors:
                file.get_tensor(name)


def for_tensorboard(path: Path) -> smd.Hook:
    every = smd.SaveConfig(save_interval=1)
    return smd.Hook(out_dir=str(path), save_all=True, save_config=every, export_tensorboard=True)


def scalars_ours(path: Path, names: list[str], steps: int) -> None:
    with for_tensorboard(path) as hook:
        for step in range(steps):
            with hook.step():
                for name in names:
                    hook.save_scalar(name, 0.5 * step)


def scalars_tensorboardx(path: Path, names: list[str], steps: int) -> None:
    with tensorboardX.SummaryWriter(str(path)) as writer:
        for step in range(steps):
            for name in names:
                writer.add_scalar(name, 0.5 * step, step)


def histograms_ours(path: Path, arrays: Tensors, steps: int) -> None:
    with for_tensorboard(path) as hook:
        for _ in range(steps):
            with hook.step():
                for name, array in arrays.items():
                    hook.save(name, array)


def histograms_tensorboardx(path: Path, arrays: Tensors, steps: int) -> None:
    with tensorboardX.SummaryWriter(str(path)) as writer:
        for step in range(steps):
            for name, array in arrays.items():
                writer.add_histogram(name, array, step, bins="tensorflow")


Work = Callable[[Path], None]


def works() -> list[tuple[str, str, Work, Work, bool]]:
    """Returns rows of: description, peer, the library's work, the peer's work, and true if the work
    reads the files of the previous row."""
    small, large = tensors_of(KIB, 100), tensors_of(MIB, 16)
    random = np.random.default_rng(1)
    arrays = {f"weight_{i}": random.normal(size=10_000).astype(np.float32) for i in range(10)}
    names = [f"metric_{i}" for i in range(100)]
    found: list[tuple[str, str, Work, Work, bool]] = []
    peers = {"numpy.save, a file each": (record_numpy, read_numpy),
             "safetensors, a file a step": (record_safetensors, read_safetensors)}  # fmt: skip
    for size, tensors, steps in (("1 KiB", small, 100), ("1 MiB", large, 16)):
        what = f"{len(tensors)} tensors of {size} a step"
        for peer, (record, read) in peers.items():
            found.append((
                f"record {what}", peer,
                lambda path, t=tensors, n=steps: record_ours(path, t, n),
                lambda path, t=tensors, n=steps, record=record: record(path, t, n), False,
            ))  # fmt: skip
            found.append((
                f"read them, value by value, {size}", peer,
                lambda path, t=tensors, n=steps: read_ours(path, t, n),
                lambda path, t=tensors, n=steps, read=read: read(path, t, n), True,
            ))  # fmt: skip
    found.append(("100 scalars a step for TensorBoard", "tensorboardX",
                  lambda path: scalars_ours(path, names, 100),
                  lambda path: scalars_tensorboardx(path, names, 100), False))  # fmt: skip
    found.append(("10 histograms of 10,000 floats a step, and the tensors",
                  "tensorboardX, histograms",
                  lambda path: histograms_ours(path, arrays, 30),
                  lambda path: histograms_tensorboardx(path, arrays, 30), False))  # fmt: skip
    return found


def main() -> None:
    folder = bench_folder()
    ratios: dict[tuple[str, str], list[float]] = {}
    try:
        for number in range(ROUNDS):
            print(f"peers, round {number + 1} of {ROUNDS} ...", file=sys.stderr, flush=True)
            for what, peer, ours, theirs, reads in works():
                seconds = []
                for name, work in (("ours", ours), ("theirs", theirs)):
                    path = folder / name if reads else emptied(folder / name)
                    seconds.append(timed(lambda: work(path)))
                ratios.setdefault((what, peer), []).append(seconds[1] / seconds[0])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for (what, peer), values in ratios.items():
        median = statistics.median(values)
        spread = f"{min(values):.3g} to {max(values):.3g}"
        rows.append([what, peer, f"{median:.3g}", spread])
    tell("peers", table(["what", "peer", "median of peer's time / ours", "spread"], rows))


if __name__ == "__main__":
    os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
    main()
