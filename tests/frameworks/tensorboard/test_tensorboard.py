"""Stock TensorBoard reads the files of hooks and trials."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest
from reading import histograms, records, scalars

import smdebug
from smdebug import Collection, Hook, ReductionConfig, SaveConfig, create_trial, modes
from smdebug.core.writer import FileWriter

sys.path.insert(0, str(Path(__file__).parents[2] / "cli"))

from browser import Browser  # noqa: E402
from serve_page import Address  # noqa: E402
from served import until  # noqa: E402

GOLDEN = Path(__file__).parents[2] / "golden" / "tensorboard" / "trial"
EVERY_STEP = SaveConfig(save_interval=1)


def record(out_dir: str, **settings: object) -> Path:
    """Records three steps of training and one of evaluation; returns TensorBoard's folder."""
    random = np.random.default_rng(7)
    with Hook(
        out_dir,
        save_config=EVERY_STEP,
        include_collections=["weights", "gradients"],
        **{"export_tensorboard": True, **settings},
    ) as hook:
        for step in range(3):
            with hook.step(modes.TRAIN):
                hook.save("net.weight", random.normal(size=(4, 3)).astype("float32") * 10**step)
                hook.save("gradient/net.weight", np.zeros((2, 2)))
                hook.save("loss", np.float32(1 / (step + 1)))
                hook.save_scalar("rate", 0.5)
        with hook.step(modes.EVAL):
            hook.save("net.weight", np.arange(5))
    return Path(hook.tensorboard_dir or out_dir)


def test_runs_are_modes(out_dir: str) -> None:
    folder = record(out_dir)
    assert sorted(path.name for path in folder.iterdir()) == ["EVAL", "TRAIN"]
    assert folder == Path(out_dir) / "tensorboard"
    names = [path.name for path in sorted((folder / "TRAIN").iterdir())]
    me = f"{os.getpid()}_{socket.gethostname()}"
    assert names == [f"{step:012d}_{me}.tfevents" for step in range(3)]


def test_scalars_are_losses_and_what_save_scalar_took(out_dir: str) -> None:
    assert scalars(record(out_dir) / "TRAIN") == {
        "loss": [1.0, 0.5, pytest.approx(1 / 3)],
        "scalar/rate": [0.5, 0.5, 0.5],
    }


def test_histograms_are_those_of_numpy(out_dir: str) -> None:
    shown = histograms(record(out_dir) / "TRAIN")
    assert sorted(shown) == ["gradients/gradient/net.weight", "weights/net.weight"]
    trial = create_trial(out_dir)
    for step, histogram in enumerate(shown["weights/net.weight"]):
        value = trial.tensor("net.weight").value(step).astype(float)
        assert (histogram.num, histogram.min, histogram.max) == (12, value.min(), value.max())
        assert histogram.sum == pytest.approx(value.sum())
        assert histogram.sum_squares == pytest.approx((value**2).sum())
        counts, _ = np.histogram(value, bins=histogram.bucket_limit)
        assert histogram.bucket == [0, *counts]


def test_histograms_are_those_of_the_original(out_dir: str) -> None:
    original = create_trial(str(GOLDEN))
    with Hook(
        out_dir,
        export_tensorboard=True,
        save_config=EVERY_STEP,
        include_collections=["weights"],
    ) as hook:
        for step in original.steps():
            with hook.step(modes.TRAIN):
                for name in original.tensor_names(step=step):
                    hook.save(name, original.tensor(name).value(step))

    def values(folder: Path) -> Iterator[object]:
        for file in sorted((folder / "TRAIN").iterdir()):
            for event in records(file):
                yield from ((event.step, value) for value in event.summary.value)

    theirs = sorted(values(GOLDEN / "tensorboard"), key=str)
    assert len(theirs) == 4
    assert sorted(values(Path(out_dir) / "tensorboard"), key=str) == theirs


def test_files_begin_with_their_version(out_dir: str) -> None:
    for file in record(out_dir).rglob("*.tfevents"):
        events = list(records(file))
        assert events[0].file_version == "brain.Event:2"
        assert all(event.wall_time > 1e9 for event in events)


def test_a_folder_of_its_own_asks_for_it_too(out_dir: str, tmp_path: Path) -> None:
    folder = record(out_dir, export_tensorboard=False, tensorboard_dir=str(tmp_path / "board"))
    assert folder == tmp_path / "board"
    assert scalars(folder / "TRAIN")["loss"][0] == 1.0
    assert not (Path(out_dir) / "tensorboard").exists()


def test_collections_may_go_without_histograms(out_dir: str) -> None:
    with Hook(
        out_dir,
        export_tensorboard=True,
        save_config=EVERY_STEP,
        include_collections=["plain", "shown"],
    ) as hook:
        hook.add_collection(Collection("plain", include_regex=["^a"], save_histogram=False))
        hook.add_collection(Collection("shown", include_regex=["b$"]))
        with hook.step():
            for name in ("a", "b", "ab"):
                hook.save(name, np.ones(3))
    shown = histograms(Path(hook.tensorboard_dir) / "GLOBAL")
    assert sorted(shown) == ["shown/ab", "shown/b"]


def test_what_has_no_histogram_is_left_out(out_dir: str) -> None:
    odd = {
        "empty": np.zeros(0),
        "flags": np.array([True, False]),
        "complex": np.ones(2, "complex64"),
        "text": ["a", "b"],
        "nothing finite": np.array([np.nan, np.inf]),
    }
    with Hook(out_dir, export_tensorboard=True, save_all=True, save_config=EVERY_STEP) as hook:
        with hook.step():
            for name, value in odd.items():
                hook.save(name, value)
            hook.save("mixed", np.array([np.nan, -1.0, np.inf, 3.0]))
            hook.save("/a tensor:0", np.ones(1, "uint8"))
    shown = histograms(Path(hook.tensorboard_dir) / "GLOBAL")
    assert sorted(shown) == ["all//a_tensor_0", "all/mixed"]
    (mixed,) = shown["all/mixed"]
    assert (mixed.num, mixed.min, mixed.max, mixed.sum) == (2, -1.0, 3.0, 2.0)


def test_a_stored_trial_is_converted(out_dir: str, tmp_path: Path) -> None:
    record(out_dir, export_tensorboard=False)
    trial = create_trial(out_dir)
    for _ in range(2):  # the second call overwrites
        trial.export_tensorboard(tmp_path / "board")
    shown = scalars(tmp_path / "board" / "TRAIN")
    weights = [trial.tensor("net.weight").value(step, modes.TRAIN) for step in range(3)]
    for name, of in {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std}.items():
        assert shown[f"net.weight/{name}"] == pytest.approx([of(w) for w in weights], rel=1e-6)
    assert shown["net.weight/l2"] == pytest.approx([np.linalg.norm(w) for w in weights], rel=1e-6)
    assert shown["0_losses/loss"] == [1.0, 0.5, pytest.approx(1 / 3)]
    assert shown["scalar/rate"] == [0.5] * 3
    assert len(histograms(tmp_path / "board" / "TRAIN")["net.weight"]) == 3
    assert scalars(tmp_path / "board" / "EVAL")["net.weight/max"] == [4.0]


def test_saved_reductions_are_scalars(out_dir: str, tmp_path: Path) -> None:
    reductions = ReductionConfig(reductions=["mean", "max"], abs_reductions=["mean"])
    with Hook(
        out_dir, save_config=EVERY_STEP, reduction_config=reductions, save_all=True
    ) as hook:
        with hook.step(modes.TRAIN):
            hook.save("w", np.array([-3.0, 1.0]))
    create_trial(out_dir).export_tensorboard(tmp_path / "board")
    assert scalars(tmp_path / "board" / "TRAIN") == {
        "w/mean": [-1.0],
        "w/max": [1.0],
        "w/abs_mean": [2.0],
    }


def test_each_worker_is_a_run(out_dir: str, tmp_path: Path) -> None:
    for number in (0, 1):
        with Hook(
            out_dir,
            save_all=True,
            save_config=EVERY_STEP,
            include_workers="all",
            worker=f"worker_{number}",
            num_workers=2,
        ) as hook:
            with hook.step(modes.TRAIN):
                hook.save("w", np.float32(number))
        (Path(out_dir) / "training_job_end.ts").unlink()
    (Path(out_dir) / "training_job_end.ts").touch()
    create_trial(out_dir).export_tensorboard(tmp_path / "board")
    for number in (0, 1):
        assert scalars(tmp_path / "board" / "TRAIN" / f"worker_{number}") == {"w": [number]}


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def tensorboard(folder: Path, port: int) -> Iterator[str]:
    """Serves a folder, and returns the address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder)]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--load_fast=false"],
        stderr=subprocess.DEVNULL,
    )
    try:
        ask_until_there(f"http://127.0.0.1:{port}/data/plugin/histograms/tags")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def test_a_running_tensorboard_serves_it(out_dir: str, port: int) -> None:
    with tensorboard(record(out_dir), port) as address:
        tags = ask_until_there(f"{address}/data/plugin/histograms/tags")
        assert sorted(tags["TRAIN"]) == ["gradients/gradient/net.weight", "weights/net.weight"]
        tags = ask_until_there(f"{address}/data/plugin/scalars/tags")
        assert sorted(tags["TRAIN"]) == ["loss", "scalar/rate"]


def test_losses_and_metrics_are_shown_first(out_dir: str, tmp_path: Path, port: int) -> None:
    with Hook(
        out_dir, save_config=EVERY_STEP, include_collections=["weights", "metrics"]
    ) as hook:
        hook.get_collection("metrics").include("accuracy")
        for step in range(3):
            with hook.step(modes.TRAIN):
                # Digits, capitals and "a" sort before "loss".
                for name in ("0.weight", "Dense_0.weight", "a.weight"):
                    hook.save(name, np.ones(3))
                hook.save("val_loss", np.float32(step))
                hook.save("per_example_loss", np.ones(3))
                hook.save("train_accuracy", np.float32(step))
    create_trial(out_dir).export_tensorboard(tmp_path / "board")
    with tensorboard(tmp_path / "board", port) as address:
        shown = Browser(tmp_path / "profile")
        try:
            shown.open(Address(address), height=1200)  # cards out of sight have no tag
            script = "return [...document.querySelectorAll('.group-title')].map(e => e.textContent)"
            titles = until(lambda: (found := shown.run(script))[1:] and found)
            script = "return [...document.querySelectorAll('card-view .tag')].map(e => e.title)"
            cards = until(lambda: shown.run(script)[1:] and shown.run(script))
        finally:
            shown.close()
    assert titles[:4] == ["Pinned", "0_losses", "0_metrics", "0.weight"]
    assert "per_example_loss" in titles
    # These two groups are open when the page is.
    assert cards == ["0_losses/val_loss", "0_metrics/train_accuracy"]


def ask_until_there(url: str, seconds: float = 60) -> dict:
    """Returns the server's answer after it has read its folder."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                tags = json.load(answer)
            if tags:
                return tags
        except OSError:
            pass
        assert time.monotonic() < end, f"no answer from {url}"
        time.sleep(0.1)


def test_nothing_of_tensorboard_is_needed() -> None:
    modules = subprocess.run(
        [sys.executable, "-c", "import smdebug, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"tensorboard", "numpy"} & set(modules)
    assert smdebug.__version__


def test_a_file_writer_of_scalars_and_histograms(tmp_path):
    values = np.linspace(-1, 2.5, 40)
    for step in (0, 7):
        with FileWriter(tmp_path, "worker_0", step, "tensorboard", modes.EVAL) as writer:
            writer.write_scalar_summary("loss", 0.25 + step, step)
            writer.write_histogram_summary(values, "weight", step)
        assert [event.step for event in records(Path(writer.event_file_path))] == [0, step, step]
    assert scalars(tmp_path / "EVAL") == {"loss": [0.25, 7.25]}
    [first, _] = histograms(tmp_path / "EVAL")["weight"]
    assert (first.min, first.max, first.num) == (-1, 2.5, 40)
    assert sum(first.bucket) == 40 and len(first.bucket) == len(first.bucket_limit)
