"""Two processes that train together: which of them records, and under which name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Tuple

import numpy as np
import pytest
from conftest import Run, output_of
from distributed_training import WORKERS

from smdebug import create_trial, modes

NAMES = {"one": ["worker_0"], "all": ["worker_0", "worker_1"]}


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory, original: Run, ours: Run
) -> Tuple[Path, Path]:
    """Returns the folders of the original's trials and of ours."""
    folder = tmp_path_factory.mktemp("distributed")
    running = [
        run("distributed_training.py", folder / name, rank)
        for name, run in (("theirs", original), ("ours", ours))
        for rank in range(WORKERS)
    ]
    for process in running:
        output_of(process)
    return folder / "theirs", folder / "ours"


@pytest.mark.parametrize("workers", ["one", "all"])
def test_workers_are_those_of_the_original(folders, workers):
    theirs, ours = (create_trial(folder / workers) for folder in folders)
    assert ours.workers() == theirs.workers() == NAMES[workers]
    assert ours.steps(modes.TRAIN) == theirs.steps(modes.TRAIN) == [0, 2, 4]
    assert ours.tensor_names() == theirs.tensor_names()
    assert ours.has_tensor("gradient/DistributedDataParallel_module.0.weight")
    for name in theirs.tensor_names():
        for step in theirs.tensor(name).steps(modes.TRAIN):
            found, expected = (trial.tensor(name) for trial in (ours, theirs))
            assert found.workers(step, modes.TRAIN) == NAMES[workers]
            for worker in NAMES[workers]:
                np.testing.assert_array_equal(
                    found.value(step, modes.TRAIN, worker),
                    expected.value(step, modes.TRAIN, worker),
                )


def test_each_worker_says_how_many_there_are(folders):
    for folder in folders:
        for workers, names in NAMES.items():
            files = sorted((folder / workers / "collections" / "000000000").iterdir())
            assert [file.name for file in files] == [f"{name}_collections.json" for name in names]
            for file in files:
                assert json.loads(file.read_text())["_meta"]["num_workers"] == len(names)


def test_losses_of_workers_are_their_own(folders):
    _, ours = folders
    loss = create_trial(ours / "all").tensor("CrossEntropyLoss_output_0")
    values = [loss.value(0, modes.TRAIN, worker) for worker in NAMES["all"]]
    assert values[0] != values[1]
